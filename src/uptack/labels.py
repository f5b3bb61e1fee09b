"""Names from the data, shown to people: whatever they contain, they are shown as text and have no other effect.

A category is a text that somebody typed. On a terminal it could move the cursor or colour what follows, in Markdown
fetch a picture from a foreign host, and anywhere reverse the reading order. So everything that is printed passes
through here. JSON, which is for programs, is exact.
"""

from __future__ import annotations

import html
import json
import math
import re
import shlex
from collections.abc import Mapping
from typing import Any

MISSING = "∅ (missing)"
"""How a missing value is shown. A text that says "missing" is shown in quotes."""

_QUOTED = ("missing", "None", "nan")
_MARKS = re.compile(r"[\\`*\[\]|~$@]|:(?=//)|(?<![^\W_])_|_(?![^\W_])|(?<=www)\.", re.IGNORECASE)
"""What Markdown would read as a mark: also links without brackets, and underscores but for those inside a word."""

_FORMULA = re.compile(r"(^|[;\t\r\n])(?=[=+@|%\t\r-])")
"""Where a formula of a spreadsheet begins."""


def printable(text: str, keep: str = "") -> str:
    r"""The text with every control, format, separating, unassigned and private character written as an escape.

    These are the characters that Python's `str.isprintable` says no to: the direction marks are among them, and all
    spaces but the common one. Those in `keep` stay.

    >>> print(printable("a\x1b[2J\u202eb\r"), printable("é ∅ 漢"))
    a\x1b[2J\u202eb\r é ∅ 漢
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii") for c in text)


def lines(text: str) -> str:
    r"""Several lines that are printable, tabs included.

    >>> lines("a\tb\nc\x07")
    'a\tb\nc\\x07'
    """
    return printable(text, keep="\n\t")


def label(value: object) -> str:
    r"""A category, a group or a name as people read it: two that differ as texts are never shown alike.

    A text is shown unchanged if it cannot mislead. Otherwise it is in quotes, with escapes, as Python
    writes it: texts with what can't be printed, with spaces around them or quotes before them, the empty text, and
    those that say that something is missing.

    >>> print(*map(label, ["north", None, "missing", "", "\x1b[31mred", 3, ("a", 2.5)]), sep=" | ")
    north | ∅ (missing) | 'missing' | '' | '\x1b[31mred' | 3 | (a, 2.5)
    """
    if value is None:
        return MISSING
    if isinstance(value, tuple):
        return f"({', '.join(map(label, value))})"
    if not isinstance(value, str):
        return printable(str(value))
    text = str(value)
    plain = text.isprintable() and text == text.strip() and text[:1] not in ("", "'", '"', "∅") and text not in _QUOTED
    return text if plain else repr(text)


def shell_word(text: str) -> str:
    r"""A text as one word of a command line that can be pasted into a shell: bash, zsh or another that knows $'...'.

    Its characters are those of the text. What can't be printed is written as an escape of the shell.

    >>> print(shell_word("ward"), shell_word("it's 1"), shell_word("a'\x1b[2J"))
    ward 'it'"'"'s 1' $'a\'\033[2J'
    """
    if text.isprintable():
        return shlex.quote(text)
    signs = {"\\": "\\\\", "'": "\\'"}
    parts = [
        signs.get(c, c) if c.isprintable() else "".join(f"\\{byte:03o}" for byte in c.encode("utf-8", "surrogatepass"))
        for c in text
    ]
    return f"$'{''.join(parts)}'"


def escape_formulas(text: str) -> str:
    r"""A cell of a CSV file that no spreadsheet takes for a formula, also where it separates cells by ; or tabs.

    >>> [escape_formulas(text) for text in ("=1+1", "north", "a;@b", "-")]
    ["'=1+1", 'north', "a;'@b", "'-"]
    """
    return _FORMULA.sub(r"\1'", text)


def markdown(value: object) -> str:
    r"""A label in a line or a cell of Markdown, where it is text and nothing but text.

    >>> print(markdown("![x](https://example.org/a.png)|<b>"), markdown("wait_minutes"))
    !\[x\](https\://example.org/a.png)\|&lt;b&gt; wait_minutes
    """
    return escape_markdown(label(value))


def escape_markdown(text: str) -> str:
    r"""A sentence in Markdown, with no marks of whatever names are in it.

    >>> print(escape_markdown("--plausible a|b<i>=LOW:HIGH"))
    --plausible a\|b&lt;i&gt;=LOW:HIGH
    """
    return _MARKS.sub(lambda mark: "\\" + mark[0], html.escape(text, quote=False))


def json_text(value: Any, **options: Any) -> str:
    r"""The value as JSON, exactly, with all that can't be printed as JSON's own escapes. JSON has no infinity: null.

    >>> print(json_text({"name": "é\u202e\x7f\U000e0001", "interval": [2.5, float("inf")]}))
    {"name": "é\u202e\u007f\udb40\udc01", "interval": [2.5, null]}
    """
    options = {"ensure_ascii": False, "default": str, "allow_nan": False, **options}
    try:
        text = json.dumps(value, **options)
    except ValueError:
        text = json.dumps(_finite(value), **options)
    return _PERHAPS_UNPRINTABLE.sub(_escape, text)


def _finite(value: Any) -> Any:
    """Lists and dictionaries with None for numbers that are infinite or NaN."""
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


_PERHAPS_UNPRINTABLE = re.compile(r"[^\n -~]")
"""Outside of ASCII most characters can be printed too. A long text is searched for the few that must be looked at."""


def _escape(found: re.Match[str]) -> str:
    """The character if it can be printed, else JSON's escape: one for each 16 bits."""
    if found[0].isprintable():
        return found[0]
    code = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{code[i : i + 4]}" for i in range(0, len(code), 4))
