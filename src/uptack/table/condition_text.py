"""Conditions written as one text, as in "age >= 18 and ward == 'Surgery'". The text is parsed, never evaluated.

    text       = condition { "and" condition }
    condition  = name operation value | value order name [order value]
               | name ["not"] "in" list | name "is" ["not"] "None"
    operation  = "==" | "=" | "!=" | order            order = "<" | "<=" | ">" | ">="
    list       = "[" value { "," value } "]"          also in round brackets
    value      = number | 'text' | "text" | True | False | None
    name       = letters, digits and _ | any characters between `backticks`

Dates and times are texts: day >= '2024-01-01'. What a condition means is in `uptack.table.conditions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn

from uptack.errors import InvalidArgument

LONGEST = 20_000
"""Characters of a text."""
MUST = "conditions joined by 'and'"
EXAMPLE = "Such as \"age >= 18 and ward == 'Surgery'\", \"18 <= age < 65\" or \"ward in ['A', 'B']\"."
ORDER = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Each comparison, and the same with its sides exchanged."""
WORDS = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
TOKEN = re.compile(
    r"""\s*(?:(?P<text>'[^']*'|"[^"]*")|(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\w))"""
    r"""|`(?P<quoted>[^`]+)`|(?P<name>[^\W0-9]\w*)|(?P<sign>==|!=|<=|>=|[=<>\[\](),])|(?P<wrong>\S))"""
)


def parse_conditions(text: str) -> list[tuple[str, tuple[str, Any]]]:
    """The conditions of a text: names of columns, each with an operation and a value, as `Session.where` takes them.

    >>> parse_conditions("18 <= age < 65 and ward in ['A', 'B'] and `wait (min)` is not None")
    [('age', ('>=', 18)), ('age', ('<', 65)), ('ward', ('in', ['A', 'B'])), ('wait (min)', ('!=', None))]
    """
    if len(text) > LONGEST:
        raise InvalidArgument("where", f"a text of at most {LONGEST:,} characters", f"{len(text):,} characters")
    return list(_Parser(text).conditions())


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
            "or": "There is no 'or'. For several values of one column use 'in'.",
            "not": "'not' only stands before 'in', or after 'is'.",
        }.get(self.word, EXAMPLE)
        got = "the end of the text" if form == "end" else f"{written!r} at character {place + 1}"
        raise InvalidArgument("where", f"{MUST}, with {wanted} here", got, fix)

    def condition(self) -> Iterator[tuple[str, tuple[str, Any]]]:
        """One condition, or two if a column is between two values."""
        if not self.at_column():
            value, sign = self.value(), self.order()
            column = self.column()
            yield column, (ORDER[sign], value)
            if self.word in ORDER:
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
            yield column, (sign, self.listed())
        elif self.word in ("==", "=", "!=", *ORDER):
            sign = self.take()
            yield column, ("==" if sign == "=" else sign, self.value())
        else:
            self.refuse("a comparison")

    def at_column(self) -> bool:
        return self.form == "column" or (
            self.form == "name" and self.word not in {**WORDS, "and": 0, "or": 0, "not": 0}
        )

    def column(self) -> str:
        return self.take() if self.at_column() else self.refuse("the name of a column")

    def order(self) -> str:
        return self.take() if self.word in ORDER else self.refuse("one of <, <=, > and >=")

    def value(self) -> Any:
        if self.form == "text":
            return self.take()[1:-1]
        if self.form == "number":
            written = self.take()
            return int(written) if re.fullmatch("[+-]?[0-9]+", written) else float(written)
        if self.word in WORDS:
            return WORDS[self.take()]
        return self.refuse("a number, a text in quotes, True, False or None")

    def listed(self) -> list[Any]:
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
