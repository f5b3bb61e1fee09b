"""Values on a command line: numbers, ranges, dates, NAME=VALUE, and conditions on rows.

    --where NAME=VALUE        rows that have this value; NAME= those that have none
    --where NAME!=VALUE       rows that have another one; NAME!= those that have any
    --where NAME<VALUE        and <=, >, >=
    --where NAME=LOW..HIGH    for columns of numbers and times: from LOW to HIGH, both ends included
    --where NAME=A|B|C        rows that have one of these values; NAME!=A|B|C another one

The name ends at the first =, !, < or >, unless a column has a longer name. A value is a number, true or false, or a
text, as the column's declared kind has it. A text with | in it is one value after ==, as in NAME==a|b.

The text that `Session.where` takes is understood, too: --where "age >= 18 and ward == 'Surgery'".
"""

from __future__ import annotations

import contextlib
import csv
import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import click

from uptack.errors import InvalidArgument
from uptack.exact import read
from uptack.session import Session
from uptack.table.names import known
from uptack.table.values.kinds import Kind
from uptack.table.values.times import UNITS, parse_time


class TextValue(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A value that `parse` reads from a text; a ValueError says that it is none."""

    def __init__(self, name: str, parse: Callable[[Any], Any], problem: str = "is not a number") -> None:
        self.name, self._parse, self._problem = name, parse, problem

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value of a text."""
        try:
            return self._parse(value)
        except ValueError:
            self.fail(f"{value!r} {self._problem}", param, ctx)


def _step(text: Any) -> Any:
    parsed = parse_time(text)
    return text if text in UNITS or (parsed is not None and parsed.word == "duration") else read(text)


def _missing(text: Any) -> Any:
    return text if text in MISSING_WORDS or parse_time(text) is not None else read(text)


def span(text: str) -> tuple[Any, Any]:
    """LOW:HIGH as two numbers, dates, times or durations. The colon in the middle separates them.

    >>> span("0:120"), span("0:05:00:3:00:00")
    ((0.0, 120.0), ('0:05:00', '3:00:00'))
    """
    parts = text.split(":")
    both = ":".join(parts[: len(parts) // 2]), ":".join(parts[len(parts) // 2 :])
    if all(parse_time(part) is not None for part in both):
        return both
    try:
        low, high = (float(read(end)) for end in text.split(":"))
    except OverflowError:
        raise ValueError(text) from None
    return low, high


MISSING_WORDS = ("drop", "error", "low", "high")
EXACT = TextValue("number", read)
"""An exact number: 0.1 is one tenth."""
STEP = TextValue("number|day|hour|...", _step)
"""A number, or a duration, which the function parses: its name such as day, or hours, minutes and seconds."""
EDGE = TextValue("number|date", lambda text: text if parse_time(text) is not None else read(text))
"""A number, or a date or time as ISO 8601 writes it, which the function parses."""
RANGE = TextValue("LOW:HIGH", span, "is not LOW:HIGH, such as 0:120")
"""Two numbers. The function checks their order."""
MISSING = TextValue("drop|error|low|high|NUMBER", _missing, f"is not one of {', '.join(MISSING_WORDS)}, nor a number")
"""What to do with missing values."""


def pairs(read: Callable[[str], Any], example: str) -> Callable[..., dict[str, Any]]:
    """A callback for repeated options of the form NAME=SOMETHING."""

    def found(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
        made = {}
        for value in values:
            name, equals, text = value.rpartition("=")
            try:
                made[name] = read(text)
            except ValueError:
                equals = ""
            if not equals:
                raise click.BadParameter(f"{value!r} is not of the form NAME={example}", ctx, param)
        return made

    return found


def stacked(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several decorators as one, in the given order."""
    return lambda f: functools.reduce(lambda inner, decorate: decorate(inner), reversed(decorators), f)


# ------------------------------------------------------------------------------------------------------ columns' values

SIGNS = ("==", "!=", "<=", ">=", "=", "<", ">")
OPTION = "--where"
MUST = "a condition such as ward=Surgery, age>=18, age=18..65 or ward=a|b"


def narrow(session: Session, text: str) -> Session:
    """The session on the rows that meet a condition. An error names the option."""
    try:
        if re.search(r"""['"]|\band\b""", text):
            with contextlib.suppress(InvalidArgument):
                return session.where(text)
        name, sign, value = _split(text.strip(), session.source.kinds)
        return session.where({name: _meant(sign, value, session.source.kinds[name])})
    except InvalidArgument as error:
        what = f"--missing beside {OPTION}" if error.name == "missing" else f"{OPTION} {text!r}"
        raise InvalidArgument(what, error.must, error.got, error.fix) from None


def _split(text: str, columns: Any) -> tuple[str, str, str]:
    """The column, the operator and the value. The column is the longest name that the text begins with."""
    for name in sorted(columns, key=len, reverse=True):
        rest = text[len(name) :].lstrip()
        sign = next((sign for sign in SIGNS if rest.startswith(sign)), None)
        if text.startswith(name) and sign is not None:
            return name, sign, rest[len(sign) :].strip()
    found = re.match(r"(.*?)\s*[=!<>]", text)
    if found is not None:
        known(found[1], columns)
    raise InvalidArgument(OPTION, MUST, repr(text))


def _meant(sign: str, text: str, kind: Kind) -> tuple[str, Any]:
    """The operation and the value that `Session.where` takes."""
    low, dots, high = text.partition("..")
    if sign == "=" and dots and kind in ("integer", "number", "time", "duration"):
        return "between", (value(kind, low), value(kind, high))
    if sign in ("=", "!=") and "|" in text:
        return "in" if sign == "=" else "not in", [value(kind, part.strip()) for part in text.split("|")]
    nothing = text == "" and sign in ("=", "==", "!=")
    if text == "" and not nothing:
        raise InvalidArgument("key", f"a value after {sign}", "nothing")
    return "==" if sign == "=" else sign, None if nothing else value(kind, text)


def keys(session: Session, columns: Sequence[str], text: str) -> Any:
    """A group or a category of the columns' kinds; for several columns a tuple, from a text with commas."""
    kinds = [session.source.kinds[known(name, session.source.kinds)] for name in columns]
    if len(kinds) == 1:
        return value(kinds[0], text)
    parts = _parts(text, "key")
    if len(parts) != len(kinds):
        must = f"{len(kinds)} values separated by commas, one for each of {', '.join(columns)}"
        raise InvalidArgument("key", must, repr(text))
    return tuple(value(kind, part) for kind, part in zip(kinds, parts, strict=True))


def levels(session: Session, texts: Sequence[str]) -> dict[str, list[Any]]:
    """The levels of columns from NAME=VALUE,VALUE. A value with a comma is quoted, or has its own option."""
    found: dict[str, list[Any]] = {}
    columns = session.source.kinds
    for text in texts:
        name = max((one for one in columns if text.startswith(f"{one}=")), key=len, default=None)
        if name is None:
            if "=" in text:
                known(text.partition("=")[0], columns)
            raise InvalidArgument("--levels", "NAME=VALUE,VALUE, such as cut=Fair,Good", repr(text))
        parts = _parts(text[len(name) + 1 :], "--levels", blanks=True)
        try:
            found.setdefault(name, []).extend(value(columns[name], part) for part in parts)
        except InvalidArgument as error:
            raise InvalidArgument(f"--levels {name}", error.must, error.got, error.fix) from None
    return found


def _parts(text: str, option: str, blanks: bool = False) -> list[str]:
    """Values separated by commas, and maybe blanks. A value with a comma or a line break is quoted."""
    try:
        return next(csv.reader([text], skipinitialspace=blanks), [])
    except csv.Error:
        must = 'values separated by commas, such as A,"B, C"'
        raise InvalidArgument(option, must, repr(text)) from None


def value(kind: Kind, text: str) -> Any:
    """A text as a value of a column of this kind."""
    return _KINDS.get(kind, str)(text)


def _truth(text: str) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if text.lower() not in words:
        raise InvalidArgument("key", "true or false for a column of truth values", repr(text))
    return words[text.lower()]


def _number(text: str) -> int | float:
    try:
        return float(text) if set(text.lower()) & set(".e") else int(text)
    except ValueError:
        raise InvalidArgument("key", "a number for a column of numbers", repr(text)) from None


_KINDS: dict[str, Callable[[str], Any]] = {"integer": _number, "number": _number, "boolean": _truth}
