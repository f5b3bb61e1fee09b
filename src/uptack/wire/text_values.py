"""Requests that people type, on a command line or in a form: numbers, ranges, categories, and conditions on rows.

What an option is, its declaration says (`uptack.registry`). `READERS` reads its text, and `typed_request` makes the
request. Conditions on rows are

    NAME=VALUE        rows that have this value; NAME= those that have none
    NAME!=VALUE       rows that have another one; NAME!= those that have any
    NAME<VALUE        and <=, >, >=
    NAME=LOW..HIGH    for columns of numbers and times: from LOW to HIGH, both ends included
    NAME=A|B|C        rows that have one of these values; NAME!=A|B|C another one

The name ends at the first =, !, < or >, unless a column has a longer name. A value is a number, true or false, or a
text, as the column's declared kind has it. A text with | in it is one value after ==, as in NAME==a|b.

The text that `Session.where` takes is understood, too: age >= 18 and ward == 'Surgery'.
"""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from uptack.errors import InvalidArgument, UnknownName
from uptack.exact import read
from uptack.registry import Declaration
from uptack.registry.options import GROUPING
from uptack.session import Request, Session
from uptack.table.names import column_name
from uptack.table.values.kinds import Kind
from uptack.table.values.times import UNITS, parse_time

MISSING_WORDS = ("drop", "error", "low", "high")


def step(text: str) -> Any:
    """A number, or a duration as a text: its name such as day, or hours, minutes and seconds."""
    parsed = parse_time(text)
    return text if text in UNITS or (parsed is not None and parsed.word == "duration") else read(text)


def missing(text: str) -> Any:
    """What to do with missing values: a word, a time or a number."""
    return text if text in MISSING_WORDS or parse_time(text) is not None else read(text)


def edge(text: str) -> Any:
    """A number, or a date or time as ISO 8601 writes it, which the function parses."""
    return text if parse_time(text) is not None else read(text)


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


READERS: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "number": (read, "a number", "number"),
    "numbers": (read, "a number", "number"),
    "integer": (int, "a whole number", "integer"),
    "step": (step, "a number, or a duration such as day", "number|day|hour|..."),
    "edges": (edge, "a number or a date", "number|date"),
    "range": (span, "LOW:HIGH, such as 0:120", "LOW:HIGH"),
    "missing": (missing, f"{', '.join(MISSING_WORDS)} or a number", f"{'|'.join(MISSING_WORDS)}|NUMBER"),
}
"""How a text of each form of an option is read, what it must be, and how help writes it. A text that is not raises
`ValueError`. A form that is not here is a text."""


def typed_request(
    session: Session, declaration: Declaration, columns: Sequence[str], options: Mapping[str, Any]
) -> Request:
    """The request of typed columns and options, in which categories, groups and levels are still texts.

    They become values of their columns' kinds.
    """
    given = dict(options)
    names = session.usual_columns(declaration.reads, tuple(columns), given)
    for option in declaration.options:
        if option.name in given and option.form == "levels":
            given[option.name] = levels(session, given[option.name], "--levels")
        if option.name in given and option.form == "keys":
            about = Request(declaration.name, *names, **given).columns  # a formula names them
            groups = given.get("by") or about[-1:]  # the labels, where there are any
            about = ((groups,) if isinstance(groups, str) else groups) if option.name in GROUPING else about[:1]
            given[option.name] = [keys(session, about, text) for text in given[option.name]]
    return Request(declaration.name, *names, **given)


SIGNS = ("==", "!=", "<=", ">=", "=", "<", ">")
MUST = "a condition such as ward=Surgery, age>=18, age=18..65 or ward=a|b"


Condition = str | dict[str, tuple[str, Any]]
"""What `Session.where` takes."""


def condition(session: Session, text: str, option: str = "where") -> Condition:
    """The condition that a text states. An error names the option."""
    try:
        if re.search(r"""['"]|\band\b""", text):
            with contextlib.suppress(InvalidArgument):
                session.where(text)
                return text
        name, sign, value = _split(text.strip(), session.source.kinds, option)
        made: Condition = {name: _parse_as(sign, value, session.source.kinds[name])}
        session.where(made)
    except UnknownName:  # it says which column there is not
        raise
    except InvalidArgument as error:
        what = f"--missing beside {option}" if error.name == "missing" else f"{option} {text!r}"
        raise InvalidArgument(what, error.must, error.got, error.fix) from None
    return made


def _split(text: str, columns: Any, option: str) -> tuple[str, str, str]:
    """The column, the operator and the value. The column is the longest name that the text begins with."""
    for name in sorted(columns, key=len, reverse=True):
        rest = text[len(name) :].lstrip()
        sign = next((sign for sign in SIGNS if rest.startswith(sign)), None)
        if text.startswith(name) and sign is not None:
            return name, sign, rest[len(sign) :].strip()
    found = re.match(r"[^=!<>\n]*(?=[=!<>])", text)
    if found is not None:
        column_name(found[0].rstrip(), columns)
    raise InvalidArgument(option, MUST, repr(text))


def _parse_as(sign: str, text: str, kind: Kind) -> tuple[str, Any]:
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
    kinds = [session.source.kinds[column_name(name, session.source.kinds)] for name in columns]
    if len(kinds) == 1:
        return value(kinds[0], text)
    parts = _parts(text, "key")
    if len(parts) != len(kinds):
        must = f"{len(kinds)} values separated by commas, one for each of {', '.join(columns)}"
        raise InvalidArgument("key", must, repr(text))
    return tuple(value(kind, part) for kind, part in zip(kinds, parts, strict=True))


def levels(session: Session, texts: Sequence[str], option: str = "levels") -> dict[str, list[Any]]:
    """The levels of columns from NAME=VALUE,VALUE. A value with a comma is quoted, or has its own option."""
    found: dict[str, list[Any]] = {}
    columns = session.source.kinds
    for text in texts:
        name = max((one for one in columns if text.startswith(f"{one}=")), key=len, default=None)
        if name is None:
            if "=" in text:
                column_name(text.partition("=")[0], columns)
            raise InvalidArgument(option, "NAME=VALUE,VALUE, such as cut=Fair,Good", repr(text))
        parts = _parts(text[len(name) + 1 :], option, blanks=True)
        try:
            found.setdefault(name, []).extend(value(columns[name], part) for part in parts)
        except InvalidArgument as error:
            raise InvalidArgument(f"{option} {name}", error.must, error.got, error.fix) from None
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
