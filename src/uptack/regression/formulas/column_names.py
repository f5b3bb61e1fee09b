"""Names of columns in a formula, which may be any texts: words that Python and formulaic leave as they are.

Both take names for others: Python those with equal compatible forms, such as the micro sign and the Greek letter, and
formulaic a column 1 for the intercept, or a name in backticks for a part of another one.
"""

from __future__ import annotations

import keyword
import re

MARK = "__named__"
NAMES = re.compile(r"`([^`]*)`|(?:[\w.]|[^\x00-\x7f\s])+")
"""Names in backticks, and words."""
MARKED = re.compile(rf"\b{MARK}\w*")
"""The words that stand for names."""


def escape_names(text: str) -> str:
    """A text in which names in backticks, and those that are not ASCII, are words of hexadecimal digits.

    >>> escape_names("log(`a b`) + x")
    'log(__named__612062) + x'
    """
    return NAMES.sub(_word, text)


def _word(found: re.Match[str]) -> str:
    name, quoted = found[1] or found[0], bool(found[1])
    if quoted or MARK in name or (name.isidentifier() and not name.isascii()):
        return MARK + name.encode("utf-8", "surrogatepass").hex()
    return name


def unescape_name(name: str) -> str:
    """The name that a word stands for."""
    digits = name.removeprefix(MARK)
    return bytes.fromhex(digits).decode("utf-8", "surrogatepass") if digits != name else name


def shown(text: str) -> str:
    """A text with all names as they are written: in backticks where they are no words of Python's.

    >>> shown(escape_names("log(`a b`) + `x`"))
    'log(`a b`) + x'
    """
    return MARKED.sub(_written, text)


def _written(found: re.Match[str]) -> str:
    name = unescape_name(found[0])
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"`{name}`"
