"""Cells of a text file as values: the cell and the declared kind of its column decide, and nothing else.

A cell that is not of the declared kind is missing, whatever it holds. So is an empty cell, a declared word for missing
values, and a cell with invalid bytes. Blanks around numbers, truth values, times and words for missing values are
ignored. Blanks around texts are kept.

A kind may say how its cells are written, after a colon:

    boolean:ja/nein           the words for true and false
    number:€, integer:%       a sign before or after the number, which is ignored: "1.50 €" is 1.5, "45%" is 45
    number:1.234,5            a decimal comma, with points between thousands or without; so are number:1 234,5,
                              number:1,234.5 and, with a sign, number:1.234,5 €
    date:%d.%m.%Y             a format of dates, times or durations (`uptack.table.csv.time_cells`)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.table.csv import time_cells
from uptack.table.csv.recoding import LOST
from uptack.table.csv.time_cells import false_scalar, integer_scalar, null_scalar, text_array
from uptack.table.engine.connection import non_null
from uptack.table.names import column_name, is_unicode
from uptack.table.packages import pa, pc
from uptack.table.values.times import FORMS, TYPES

EXAMPLES = ("boolean:yes/no", "number:€", "number:1.234,5", "date:%d.%m.%Y")
"""Kinds that say how their cells are written."""
LONGEST_UNIT = 10
"""Characters of a unit, such as "€" or "kg"."""
TRUE, FALSE = ("true", "t", "yes", "y", "1", "1.0"), ("false", "f", "no", "n", "0", "0.0")
GAPS = ("", "na", "n/a", "n.a.", "nan", "null", "none", "-", "--", ".", "?")
"""Words that inference takes for a missing value, in upper or lower case."""
FEW = 64
"""Cells that inference tries first."""
BLANKS = " \u00a0\u2009\u202f"
"""Characters that count as a blank between thousands."""


@dataclass(frozen=True)
class Numbers:
    """How numbers are written: the decimal sign, and the separator of groups of three digits ("" for none).

    >>> german = Numbers(",", ".")
    >>> [bool(re.search(german.patterns["number"], text)) for text in ("1.234,5", "1234,5", "12.34", "1,234.5")]
    [True, True, False, False]
    """

    decimal: str = "."
    thousands: str = ""

    @property
    def _between(self) -> str:
        return f"[{BLANKS}]" if self.thousands == " " else re.escape(self.thousands)

    @property
    def patterns(self) -> dict[str, str]:
        """What integers and numbers look like. 62.0 is an integer. Groups of digits have three, but for the first."""
        digits = rf"(?:[1-9][0-9]{{0,2}}(?:{self._between}[0-9]{{3}})+|[0-9]+)" if self.thousands else "[0-9]+"
        point = re.escape(self.decimal)
        number = rf"(?:{digits}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        return {"integer": rf"^[+-]?{digits}(?:{point}0*)?$", "number": rf"^[+-]?(?:{number}|(?i:inf|infinity|nan))$"}

    def plain(self, texts: Any) -> Any:
        """Texts that fit a pattern, with a decimal point and without separators."""
        if self.thousands:
            texts = pc.replace_substring_regex(texts, self._between, "")
        return texts if self.decimal == "." else pc.replace_substring(texts, self.decimal, ".")


WRITTEN = {"1,234.5": Numbers(".", ","), "1.234,5": Numbers(",", "."), "1 234,5": Numbers(",", " ")}
"""Numbers that a kind may show as an example, and how all of its column are then written."""


def number_format(kind: str) -> tuple[str, Numbers | None]:
    """The sign beside the numbers of a kind, and how they are written; None for as in the whole file.

    >>> number_format("number:1.234,5 €"), number_format("integer:%")
    (('€', Numbers(decimal=',', thousands='.')), ('%', None))
    """
    how = kind.partition(":")[2]
    example = next((one for one in WRITTEN if one in how), "")
    return how.replace(example, "", 1).strip() if example else how, WRITTEN.get(example)


def numbers(decimal: object, thousands: object) -> Numbers:
    """How numbers are written, from the options."""
    point = "." if decimal is None else decimal
    if point not in (".", ","):
        raise InvalidArgument("decimal", "'.' or ','", checks.describe(decimal))
    between = thousands or ""
    if not isinstance(between, str) or between not in ("", ".", ",", "'", "’", "_", *BLANKS):
        raise InvalidArgument("thousands", "'.', ',', a blank or an apostrophe", checks.describe(thousands))
    if between == point:
        fix = "If a comma is the decimal sign, pass decimal=',' (--decimal ,)." if between == "." else ""
        raise InvalidArgument("thousands", "different from decimal", checks.describe(thousands), fix)
    return Numbers(str(point), " " if between and between in BLANKS else between)


def missing_words(na: object, columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The words for missing values of each column: the same for all, or by the names of columns."""
    if isinstance(na, Mapping):
        return {column_name(name, dict.fromkeys(columns, "other")): _word_list(words) for name, words in na.items()}
    words = _word_list(na)
    return dict.fromkeys(columns, words) if words else {}


def _word_list(na: object) -> tuple[str, ...]:
    words = () if na is None else (na,) if isinstance(na, str) else na
    if not isinstance(words, Sequence) or not all(isinstance(word, str) and is_unicode(word) for word in words):
        must = "a word for missing values such as 'NA', a list of words, or a dictionary of such by column"
        raise InvalidArgument("na", must, checks.describe(na))
    return tuple(dict.fromkeys(word.strip() for word in words))


def is_kind(kind: object) -> bool:
    """Whether a column can be declared to be of this kind."""
    if not isinstance(kind, str) or base(kind) not in TYPES:
        return False
    name, colon, how = kind.partition(":")
    if not colon:
        return True
    if name in FORMS:
        return time_cells.is_format(name, how)
    if name == "boolean":
        return _words(kind) is not None
    unit, form = number_format(kind)
    short = name in ("integer", "number") and (form is not None or unit != "") and len(unit) <= LONGEST_UNIT
    plain = unit == unit.strip() and unit.isprintable() and is_unicode(unit)  # and no part of a number
    return short and plain and not any(sign.isdigit() or sign in "+-.,'’_" for sign in unit)


def _words(kind: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The words for true and for false, in lower case; None if there are not two."""
    if kind == "boolean":
        return TRUE, FALSE
    words = [word.strip().lower() for word in kind.partition(":")[2].split("/")]
    two = len(words) == 2 and all(map(is_unicode, words)) and "" not in words and words[0] != words[1]
    return ((words[0],), (words[1],)) if two else None


def base(kind: str) -> str:
    """The kind without how its cells are written."""
    return kind.partition(":")[0]


def schema(kinds: Mapping[str, str]) -> Any:
    """The columns as an Arrow schema."""
    arrow = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "text": pa.string()}
    arrow |= time_cells.arrow()
    return pa.schema([(name, arrow[base(kind)]) for name, kind in kinds.items()])


def cell_texts(cells: Any, na: Sequence[str] = ()) -> Any:
    """Texts, in which empty cells, invalid bytes and words for missing values are null."""
    gone, text = pc.equal(pc.binary_length(cells), integer_scalar(0)), cells.buffers()[2]
    if text is not None and (np.frombuffer(text, np.uint8) == LOST.encode()[0]).any():  # sooner than to look for LOST
        gone = pc.or_(gone, pc.match_substring(cells, LOST))
    if na:
        gone = pc.or_(gone, pc.is_in(pc.ascii_trim_whitespace(cells), text_array(*na)))
    return pc.if_else(gone, null_scalar(pa.string()), cells) if pc.any(gone).as_py() else cells


def cast(found: Any, kind: str, form: Numbers) -> Any:
    """Texts as values of a kind; what does not fit is missing."""
    if kind == "text":
        return found
    simple = (kind == "integer" and not form.thousands) or (kind == "number" and form == Numbers())
    if simple and (plain := at_once(found, kind)) is not None:
        return plain
    bare = pc.ascii_trim_whitespace(found)
    if words := _words(kind) if base(kind) == "boolean" else None:
        lower = pc.utf8_lower(bare)
        known_words = pc.is_in(lower, text_array(*words[0], *words[1]))
        return pc.if_else(known_words, pc.is_in(lower, text_array(*words[0])), null_scalar(pa.bool_()))
    if base(kind) in FORMS:
        return time_cells.cast(bare, kind)
    if kind != base(kind):
        sign, own = number_format(kind)
        if unit := re.escape(sign):  # before or after the number, with the blanks next to it: -€ 5 is -5
            before, after = f"^([+-]?)[{BLANKS}]*{unit}[{BLANKS}]*", f"[{BLANKS}]*{unit}$"
            bare = pc.replace_substring_regex(pc.replace_substring_regex(bare, before, r"\1"), after, "")
        return cast(bare, base(kind), own or form)
    plain = form.plain(pc.if_else(fits(bare, kind, form), bare, null_scalar(pa.string())))
    if kind == "integer":
        plain = pc.replace_substring_regex(plain, r"\.0*$", "")
    dtype = pa.int64() if kind == "integer" else pa.float64()
    try:
        return plain.cast(dtype)
    except pa.ArrowInvalid:
        return pa.array([_number(text, kind) for text in plain.to_pylist()], dtype)


def fits(bare: Any, kind: str, form: Numbers) -> Any:
    """Which texts look like an integer or a number."""
    pattern = form.patterns[kind]
    if form.thousands:
        return pc.fill_null(pc.match_substring_regex(bare, pattern), false_scalar())
    digits = pc.ascii_ltrim(bare, characters="+-")  # the same as the pattern, in half of its time
    signs = pc.subtract(pc.binary_length(bare), pc.binary_length(digits))
    if kind == "number":
        digits = pc.replace_substring(digits, form.decimal, "", max_replacements=1)
    plain = pc.fill_null(pc.and_(pc.ascii_is_decimal(digits), pc.less_equal(signs, integer_scalar(1))), false_scalar())
    others = pc.invert(plain)  # 62.0, with an exponent, infinite, or no numbers
    matched = pc.match_substring_regex(bare.filter(others), pattern)
    return pc.replace_with_mask(plain, others, pc.fill_null(matched, false_scalar()))


def filled_cells(found: Any) -> Any:
    """Which cells are filled, as far as inference knows."""
    bare = pc.utf8_lower(pc.ascii_trim_whitespace(found))
    return pc.and_(pc.is_valid(bare), pc.invert(pc.is_in(bare, text_array(*GAPS))))


def any_filled(found: Any) -> bool:
    """Whether a cell is filled, as far as inference knows. If so, one of the first ones most likely is."""
    return any(pc.any(filled_cells(part)).as_py() for part in (found.slice(0, FEW), found))


def misfits(found: Any, kind: str, form: Numbers, values: Any = None) -> int:
    """How many filled cells are not of a kind, or of "text" are filled; `values` are the cells cast to it, if known."""
    some = filled_cells(found)
    if kind == "boolean":  # undeclared, 0 and 1 are numbers, and yes and no are texts
        lower = pc.utf8_lower(pc.ascii_trim_whitespace(found))
        some = pc.and_(some, pc.invert(pc.is_in(lower, text_array("true", "false"))))
    elif kind != "text":
        some = pc.and_(some, pc.is_null(cast(found, kind, form) if values is None else values))
    return int(pc.sum(some).as_py() or 0)


def cast_if_fitting(found: Any, kind: str, form: Numbers) -> Any | None:
    """Texts as values of a kind; None if a filled cell is not of it, which the first cells usually show."""
    if misfits(found.slice(0, FEW), kind, form):
        return None
    values = cast(found, kind, form)
    if kind != "boolean" and values.null_count == found.null_count:
        return values
    return None if misfits(found, kind, form, values) else values


def _number(text: str | None, kind: str) -> int | float | None:
    if text is None or kind == "number":
        return None if text is None else float(text)
    digits = text.lstrip("+-").lstrip("0")
    found = (-1 if text.startswith("-") else 1) * int(digits or "0") if len(digits) < 20 else 1 << 63
    return found if -(1 << 63) <= found < 1 << 63 else None


PLUS, MINUS, ZERO, NINE, EXPONENT = b"+-09e"


def at_once(cells: Any, kind: str) -> Any | None:
    """Texts as integers, if each is digits after an optional minus; or as floats, if each has only 0-9 + - . e E.

    It looks at the bytes of all cells, as Arrow stores them, and returns what reading cell by cell would return; None
    if the bytes alone do not show it. So it changes the time (by 40%), and no result. These characters make numbers in
    one way only. (A comma and a slash lie between them in ASCII, and Arrow accepts neither.) So Arrow accepts no text
    as a number that `Numbers` does not.
    """
    if not isinstance(cells, pa.StringArray) or cells.null_count == len(cells):
        return None
    _, offsets, text = cells.buffers()
    ends = np.frombuffer(offsets, np.int32, len(cells) + 1, 4 * cells.offset)
    written = np.frombuffer(text, np.uint8, int(ends[-1] - ends[0]), int(ends[0]))
    filled = ends[1:] > ends[:-1]
    if kind == "integer":
        signs = np.flatnonzero(written - np.uint8(ZERO) > 9)
        plain = filled.all() if not cells.null_count else np.array_equal(filled, non_null(cells))
        if plain and signs.size:  # each must be a minus that begins a longer cell
            begins = np.zeros(written.size + 1, bool)
            begins[ends - ends[0]] = True
            plain = (written[signs] == MINUS).all() and begins[signs].all() and not begins[signs + 1].any()
    else:
        letters = written[written - np.uint8(PLUS) > NINE - PLUS]
        plain = filled.any() and (letters | 0x20 == EXPONENT).all()
    try:
        return cells.cast(pa.int64() if kind == "integer" else pa.float64()) if plain else None
    except pa.ArrowInvalid:
        return None
