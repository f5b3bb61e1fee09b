"""Conditions on rows: public, about one row at a time, and met or not met by every row whatever it holds.

    where(ward="Surgery", age=(">=", 18), cost=("between", (0, 100)), sex=("in", ["f", "m"]), died=None)

| condition | rows that meet it |
|---|---|
| `value`, `("==", value)` | those that have this value; for None those that have none |
| `("!=", value)` | those that have another one; for None those that have any |
| `("<", value)`, `"<="`, `">"`, `">="` | those that have a value below it, and so on |
| `("between", (low, high))` | those that have a value from low to high, both ends included |
| `("in", values)` | those that have one of these values, or none where None is among them |
| `("not in", values)` | those that have a value, and none of these |

So a row without a value meets `== None` and `in` with None, and nothing else. Values are compared in their canonical
form (`uptack.table.values.kinds.canonical`), numbers as floats in a column of floats and exactly in one of integers,
texts by their code points. Times and durations are compared by their ticks as floats (`uptack.table.values.times`),
exactly up to the year 2255, and times may be written as ISO 8601 has it. In a column without a declared type a number
is compared with rows that are numbers, and a text with rows that are texts; other rows have another value.

What a value is compared with is checked by the declared kind of the column alone. After that nothing can fail: a row
meets a condition or it does not.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from numbers import Real
from typing import Any, NoReturn, cast

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.labels import label
from uptack.table.names import column_name, is_unicode
from uptack.table.values.kinds import Kind, canonical, in_order
from uptack.table.values.kinds import number as nearest
from uptack.table.values.times import Form, ticks_beside

ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
SAME, OTHER = ("==", "in"), ("!=", "not in")
LISTS = ("in", "not in")
OPERATIONS = (*SAME, *OTHER, *ORDER, "between")
MOST = 1000
"""Values in one list."""
MOST_CONDITIONS = 100
"""Conditions of one session, those of the sessions that it was made from included."""
COMPARED: tuple[Kind, ...] = ("integer", "number", "boolean", "text", "time", "duration", "any")
"""Kinds of columns that a condition can be about."""
MAPPING = "conditions by the names of columns: keyword arguments, or a dictionary"
FIX = "Such as age=('>=', 18), ward='Surgery', age=('between', (18, 65)) or ward=('in', ['Surgery', 'Maternity'])."


@dataclass(frozen=True)
class Condition:
    """One condition on one column. `values` are canonical: one, a list for "in" and "not in", two for "between".

    Times and durations are compared by the floats nearest to their ticks; `form` says how these are shown.
    """

    column: str
    kind: Kind
    operation: str
    values: tuple[Hashable, ...]
    form: Form | None = None

    def __str__(self) -> str:
        name, shown = label(self.column), [_value_text(value, self.kind, self.form) for value in self.values]
        if self.operation == "between":
            return f"{name} between {shown[0]} and {shown[1]}"
        return f"{name} {self.operation} " + (f"({', '.join(shown)})" if self.operation in LISTS else shown[0])

    @property
    def ends(self) -> tuple[tuple[str, Any], ...]:
        """Comparisons that all must hold. For integers x < 17.5 is x < 18, and x <= 17.5 is x <= 17."""
        pairs = zip((">=", "<="), self.values, strict=True) if self.operation == "between" else None
        found: Any = pairs or [(self.operation, self.values[0])]
        if self.kind != "integer":
            return tuple(found)
        return tuple((sign, (math.ceil if sign in ("<", ">=") else math.floor)(value)) for sign, value in found)

    def holds_for(self, value: Hashable) -> bool:
        """Whether a row with this canonical value meets it: the definition, which all else agrees with."""
        if self.operation in SAME:
            return value in self.values
        if value is None:
            return False
        if self.operation in OTHER:
            return value not in self.values
        return all(_alike(value, end) and ORDER[sign](value, end) for sign, end in self.ends)

    def mask(
        self,
        there: Any,
        same: Callable[[], Any],
        compare: Callable[[str, Any], Any],
        limits: tuple[int, int] | None,
        always: Callable[[bool], Any] = bool,
    ) -> Any:
        """Which rows meet it, as an array or as an expression of an engine.

        `there` says which rows have a value, `same` which have one of its values, `compare` which compare with an end.
        An end beyond the `limits` of the column's type is no value of that type: all rows compare with it alike, which
        `always` writes.
        """
        if self.operation in ORDER or self.operation == "between":
            tests = [
                compare(sign, end)
                if limits is None or limits[0] <= end <= limits[1]
                else always((end > limits[1]) == (sign in ("<", "<=")))
                for sign, end in self.ends
            ]
            return reduce(operator.and_, [there, *tests])
        if self.operation in OTHER:
            return there & ~same()
        return (there & same()) | ~there if None in self.values else there & same()


def _alike(value: Hashable, end: Hashable) -> bool:
    """Whether two canonical values can be compared: two numbers, or two texts."""
    return isinstance(value, str) == isinstance(end, str) and isinstance(value, int | float | str)


def _value_text(value: Hashable, kind: Kind, form: Form | None) -> str:
    if value is None:
        return "None"
    if form is not None:
        return str(form.show(cast(float, value)))
    return repr(bool(value)) if kind == "boolean" else repr(value)


# -------------------------------------------------------------------------------------------- what an analyst may write


def conditions(
    given: Mapping[str, Any], columns: Mapping[str, Kind], forms: Mapping[str, Form] | None = None
) -> tuple[Condition, ...]:
    """The conditions on the columns of these names. Looks at names, declared kinds and forms only.

    >>> print(*conditions({"age": (">=", 18), "ward": "Surgery"}, {"age": "integer", "ward": "text"}), sep=" and ")
    age >= 18 and ward == 'Surgery'
    """
    if not given:
        raise InvalidArgument("where", "one or more conditions", "none", FIX)
    return tuple(
        _condition(column_name(name, columns, COMPARED), columns[name], what, (forms or {}).get(name))
        for name, what in given.items()
    )


def _condition(name: str, kind: Kind, what: Any, form: Form | None) -> Condition:
    operation, value = what if isinstance(what, tuple) and len(what) == 2 else ("==", what)
    if isinstance(what, tuple) and (len(what) != 2 or operation not in OPERATIONS):
        must = f"a value, or a pair of one of {', '.join(map(repr, OPERATIONS))} and a value"
        raise InvalidArgument(_at(name), must, checks.describe(what), FIX)
    if kind == "boolean" and operation not in (*SAME, *OTHER):
        fix = "Truth values have no order."
        raise InvalidArgument(_at(name), "'==', '!=', 'in' or 'not in' for truth values", repr(operation), fix)
    compared: Kind = "number" if form is not None else kind
    if operation in LISTS:
        found = {_value(name, kind, one, form, missing=True) for one in _list_values(name, value)}
        return Condition(name, compared, operation, tuple(sorted(found, key=in_order)), form)
    if operation == "between":
        if not isinstance(value, tuple | list) or len(value) != 2:
            raise InvalidArgument(_at(name), "a pair (low, high) for 'between'", checks.describe(value), FIX)
        low, high = (_value(name, kind, end, form) for end in value)
        if not _alike(low, high):
            raise InvalidArgument(_at(name), "two numbers or two texts for 'between'", checks.describe(value), FIX)
        return Condition(name, compared, operation, (low, high), form)
    only = _value(name, kind, value, form, missing=operation not in ORDER)
    return Condition(name, compared, operation, (only,), form)


def _at(name: str) -> str:
    return f"where[{name!r}]"


def _list_values(name: str, value: Any) -> list[Any]:
    must = f"a list of 1 to {MOST:,} values for 'in' and 'not in'"
    listed = isinstance(value, list | tuple | set | frozenset | range)
    if not listed and not (isinstance(value, np.ndarray) and value.ndim == 1):
        raise InvalidArgument(_at(name), must, checks.describe(value), FIX)
    if not 0 < len(value) <= MOST:  # before anything is made of them
        raise InvalidArgument(_at(name), must, f"{len(value)} of them", FIX)
    return list(value)


def _value(name: str, kind: Kind, value: Any, form: Form | None, missing: bool = False) -> Hashable:
    """A public value that rows of this kind can be compared with, in canonical form; of times their ticks."""
    plain = canonical(value)
    if plain is None and missing:
        return None
    if form is not None:
        return ticks_beside(_at(name), value, form)
    truth = isinstance(value, bool | np.bool_)
    text = isinstance(value, str) and "\0" not in value and is_unicode(value)  # every engine can hold it
    real = isinstance(value, Real | Decimal) and isinstance(plain, int | float) and math.isfinite(plain)
    fits = {"boolean": truth, "text": text, "any": truth or text or real}.get(kind, real and not truth)
    if not fits:
        must = {
            "boolean": "True or False", "text": "a text in quotes, of Unicode characters other than NUL",
            "any": "a finite number, a truth value or a text",
        }.get(kind, "a finite number")  # fmt: skip
        fix = "A row without a value meets only == None, and 'in' with None." if plain is None else ""
        raise InvalidArgument(_at(name), f"{must}, as the column is of type {kind}", checks.describe(value), fix)
    return canonical(nearest(plain)) if kind == "number" else plain


# ------------------------------------------------------------------------------------------------- conditions as a text

LONGEST_TEXT = 20_000
"""Characters of a text."""
MUST = "conditions joined by 'and'"
EXAMPLE = "Such as \"age >= 18 and ward == 'Surgery'\", \"18 <= age < 65\" or \"ward in ['A', 'B']\"."
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Each comparison, and the same with its sides exchanged."""
WORDS = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
TOKEN = re.compile(
    r"""\s*(?:(?P<text>'[^']*'|"[^"]*")|(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\w))"""
    r"""|`(?P<quoted>[^`]+)`|(?P<name>[^\W0-9]\w*)|(?P<sign>==|!=|<=|>=|[=<>\[\](),])|(?P<wrong>\S))"""
)


def parse_conditions(text: str) -> list[tuple[str, tuple[str, Any]]]:
    """The conditions of a text: names of columns, each with an operation and a value, as `Session.where` takes them.

    The text is parsed, never evaluated.

        text       = condition { "and" condition }
        condition  = name operation value | value order name [order value]
                   | name ["not"] "in" list | name "is" ["not"] "None"
        operation  = "==" | "=" | "!=" | order            order = "<" | "<=" | ">" | ">="
        list       = "[" value { "," value } "]"          also in round brackets
        value      = number | 'text' | "text" | True | False | None
        name       = letters, digits and _ | any characters between `backticks`

    Dates and times are texts: day >= '2024-01-01'. What a condition means is in `uptack.table.conditions`.

    >>> parse_conditions("18 <= age < 65 and ward in ['A', 'B'] and `wait (min)` is not None")
    [('age', ('>=', 18)), ('age', ('<', 65)), ('ward', ('in', ['A', 'B'])), ('wait (min)', ('!=', None))]
    """
    if len(text) > LONGEST_TEXT:
        raise InvalidArgument("where", f"a text of at most {LONGEST_TEXT:,} characters", f"{len(text):,} characters")
    return list(_Parser(text).conditions())


class UnreadableCondition(InvalidArgument):
    """A text that is not a list of conditions: what was expected, and what is there."""

    def __init__(self, expected: str, got: str, fix: str) -> None:
        super().__init__("where", f"{MUST}, with {expected}", got, fix)
        self.args = (f"where can't be read: expected {expected}, got {got}. {fix}",)


class _Parser:
    """The tokens of a text, read from left to right: each a form (text, number, name, sign) and what it says."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str, int]] = []
        for found in TOKEN.finditer(text):
            form = found.lastgroup or "wrong"
            kind = "column" if form == "quoted" else form
            self.tokens.append((kind, found[form], found.start(form)))
        self.tokens.append(("end", "", len(text)))
        self.place = 0

    def conditions(self) -> Iterator[tuple[str, tuple[str, Any]]]:
        while True:
            yield from self.condition()
            if self.form == "end":
                return
            self.expect("and", "'and'")

    @property
    def form(self) -> str:
        return self.tokens[self.place][0]

    @property
    def word(self) -> str:
        """The token as it is written; that of a text or of a name in backticks means nothing here."""
        form, written, _ = self.tokens[self.place]
        return "" if form in ("text", "column") else written

    def take(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1][1]

    def expect(self, word: str, what: str) -> None:
        if self.word != word:
            self.refuse(what)
        self.take()

    def refuse(self, wanted: str) -> NoReturn:
        form, written, place = self.tokens[self.place]
        fix = {
            "or": "'or' is not supported. For several values of one column use 'in'.",
            "not": "'not' is only used in 'not in' and 'is not'.",
        }.get(self.word, EXAMPLE)
        if wanted == "'and'" and re.match(r"-\d\d?(-|\b)", written):
            fix = "Put dates in quotes: day >= '2024-01-31'."
        got = "the end of the text" if form == "end" else f"{written!r} at character {place + 1}"
        raise UnreadableCondition(wanted, got, fix)

    def condition(self) -> Iterator[tuple[str, tuple[str, Any]]]:
        if not self.at_column():
            value, sign = self.value(), self.order()
            column = self.column()
            yield column, (MIRRORED[sign], value)
            if self.word in MIRRORED:
                yield column, (self.take(), self.value())
            return
        column = self.column()
        if self.word == "is":
            self.take()
            sign = "!=" if self.word == "not" and self.take() else "=="
            if self.word not in ("None", "null"):
                self.refuse("None")
            yield column, (sign, self.value())
        elif self.word in ("in", "not"):
            sign = "not in" if self.take() == "not" else "in"
            if sign == "not in":
                self.expect("in", "'in'")
            yield column, (sign, self.list_values())
        elif self.word in ("==", "=", "!=", *MIRRORED):
            sign = self.take()
            yield column, ("==" if sign == "=" else sign, self.value())
        else:
            self.refuse("a comparison")

    def at_column(self) -> bool:
        return self.form == "column" or (self.form == "name" and self.word not in (*WORDS, "and", "or", "not"))

    def column(self) -> str:
        return self.take() if self.at_column() else self.refuse("the name of a column")

    def order(self) -> str:
        return self.take() if self.word in MIRRORED else self.refuse("one of <, <=, > and >=")

    def value(self) -> Any:
        if self.form == "text":
            return self.take()[1:-1]
        if self.form == "number":
            written = self.take()
            return int(written) if re.fullmatch("[+-]?[0-9]{1,400}", written) else float(written)
        if self.word in WORDS:
            return WORDS[self.take()]
        return self.refuse("a number, a text in quotes, True, False or None")

    def list_values(self) -> list[Any]:
        close = {"[": "]", "(": ")"}.get(self.word)
        if close is None:
            self.refuse("a list such as ['A', 'B']")
        self.take()
        values = [self.value()]
        while self.word == ",":
            self.take()
            values.append(self.value())
        self.expect(close, f"',' or {close!r}")
        return values
