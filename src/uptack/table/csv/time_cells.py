"""Cells of a text file as dates, times and durations.

Without a format dates and times are written as in ISO 8601, and durations as h:mm:ss. A format is a text with these
directives of `strftime`, as in "%d.%m.%Y" or "%I:%M %p". Months have English names. Everything else in it stands for
itself.

    %Y year   %y year of two digits, from 1969 to 2068   %m month   %b, %B name of the month   %d day
    %H hour   %I hour from 1 to 12   %p am or pm   %M minute   %S second   %f fraction of a second   %% percent sign

Zeros in front of %m, %d, %H and %I may be missing, unless two directives follow each other without anything between.
In a duration the first directive may have any number of digits: "90:30" is an hour and a half in "%M:%S".
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

from uptack.table.packages import pa, pc
from uptack.table.values.times import DAY, FIRST, FORMS, LAST, SECOND, SPAN, objects_as_ticks

_YEAR = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_DATE, _CLOCK = f"{_YEAR}-[0-9]{{2}}-[0-9]{{2}}", r"[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
_ZONE = "(?:Z|[+-][0-9]{2}:?[0-9]{2})"
PATTERNS = {
    "date": f"^{_DATE}$",
    "datetime": f"^{_DATE}(?:{_CLOCK})?$",
    "datetime-utc": f"^{_DATE}{_CLOCK}{_ZONE}?$",
}
"""What a cell of a kind looks like. Without a zone it is in UTC where that is the kind."""

DURATION = "duration"
_OF_DAY = r"^(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?$"


DIRECTIVES = {
    "Y": _YEAR, "y": "[0-9]{2}", "m": "[0-9]{1,2}", "b": "[A-Za-z]{3}", "B": "[A-Za-z]{3,9}", "d": "[0-9]{1,2}",
    "H": "[0-9]{1,2}", "I": "0?[1-9]|1[0-2]", "p": "[AaPp][Mm]", "M": "[0-5][0-9]", "S": "[0-5][0-9]",
    "f": "[0-9]{1,6}",
}  # fmt: skip
"""What each directive of a format matches."""
TIGHT = {"m": "[0-9]{2}", "d": "[0-9]{2}", "H": "[0-9]{2}", "I": "0[1-9]|1[0-2]"}
"""The same next to another directive."""
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_DAY_PARTS, _CLOCK_PARTS = (("Y", "y"), ("m", "b", "B"), ("d",)), (("H", "I"), ("M",))


@cache
def directives(text: str) -> tuple[str, ...] | None:
    """The letters of a format's directives, in their order; None if it has others, or one twice."""
    letters = tuple(found[1] for found in re.findall("%.?", text, re.DOTALL) if found != "%%" and found != "%")
    lone = re.sub("%.", "", text, flags=re.DOTALL).count("%")
    return letters if not lone and set(letters) <= {*DIRECTIVES} and len(set(letters)) == len(letters) else None


def is_format(kind: str, text: str) -> bool:
    """Whether a format says all that a value of the kind needs, each part once."""
    letters = directives(text)
    if letters is None or not text.isprintable():
        return False
    if kind == DURATION:
        order = [letter for letter in "HMSf" if letter in letters]
        return bool(letters) and letters[0] != "f" and order == list(letters)
    wanted = _DAY_PARTS if kind == "date" else _DAY_PARTS + _CLOCK_PARTS
    once = all(sum(letter in letters for letter in part) == 1 for part in wanted)
    allowed = {letter for part in wanted for letter in part} | (set() if kind == "date" else set("pSf"))
    clock = ("I" in letters) == ("p" in letters) and ("f" not in letters or "S" in letters)
    return once and clock and set(letters) <= allowed


@cache
def pattern(text: str, leading: str | None = None) -> str:
    """A format as a pattern with a group for each directive. The `leading` one may have any number of digits."""
    made, place = ["^"], 0
    parts = re.findall("%.|[^%]+", text, re.DOTALL)
    for place, part in enumerate(parts):
        letter = part[1:] if part[0] == "%" and part != "%%" else ""
        if not letter:
            made.append(re.escape("%" if part == "%%" else part))
            continue
        near = [parts[i] for i in (place - 1, place + 1) if 0 <= i < len(parts)]
        tight = any(one[0] == "%" and one != "%%" for one in near)
        digits = "[0-9]{1,9}" if letter == leading else TIGHT.get(letter) if tight else None
        made.append(f"(?P<{letter}>{digits or DIRECTIVES[letter]})")
    return "".join(made) + "$"


def arrow() -> dict[str, Any]:
    """The types that the kinds have in Arrow: of durations that of their ticks, since Parquet has no durations."""
    times = {"date": pa.date32(), "datetime": pa.timestamp("us"), "datetime-utc": pa.timestamp("us", "UTC")}
    return times | {DURATION: pa.int64()}


def cast(bare: Any, kind: str) -> Any:
    """Texts as times of a kind; what does not fit is missing.

    So is the 30th of February, which makes Arrow's own cast fail for all. Then each is read by Python, which knows the
    years 1 to 9999 alone. So other years are missing in both cases, also those that are so in UTC only, and no row
    decides how another one is read.
    """
    kind, _, written = kind.partition(":")
    if kind == DURATION:
        return _durations(bare, written)
    bare = _as_iso(bare, kind, written) if written else bare
    fits = pc.fill_null(pc.match_substring_regex(bare, PATTERNS[kind]), false_scalar())
    cells = pc.if_else(fits, bare, null_scalar(pa.string()))
    if kind == "datetime-utc":
        zoned = pc.match_substring_regex(cells, f"{_ZONE}$")
        cells = pc.if_else(zoned, cells, pc.binary_join_element_wise(cells, *text_array("Z", "")))
    dtype, bits, unit = (arrow()[kind], 32, DAY) if kind == "date" else (arrow()[kind], 64, 1)
    try:
        times = cells.cast(dtype)
    except pa.ArrowInvalid:
        ticks, gone = objects_as_ticks(cells.to_pylist(), FORMS[kind])
        return pa.array(ticks // unit, pa.int32() if bits == 32 else pa.int64(), mask=gone).cast(dtype)
    low, high = (integer_scalar(end // unit, bits).cast(dtype) for end in (FIRST, LAST))
    return pc.if_else(pc.and_(pc.greater_equal(times, low), pc.less_equal(times, high)), times, null_scalar(dtype))


def _durations(bare: Any, text: str = "") -> Any:
    """Cells as ticks of durations, rounded down to a tick: in a format, or else as h:mm:ss. A minus may come first."""
    letters = directives(text) or "HMSf"
    unsigned = pc.replace_substring_regex(bare, "^-", "")
    found = pc.extract_regex(unsigned, pattern(text, letters[0]) if text else f"^{SPAN}$")
    ticks, finer = integer_scalar(0, 64), integer_scalar(0, 64)
    for letter, seconds in (("H", 3600), ("M", 60), ("S", 1)):
        if letter in letters:
            part = pc.struct_field(found, letter).cast(pa.int64())
            ticks = pc.add(ticks, pc.multiply(part, integer_scalar(seconds * SECOND, 64)))
    if "f" in letters:
        below = pc.utf8_rpad(pc.struct_field(found, "f"), 9, "0").cast(pa.int64())
        whole_ticks = pc.divide(below, integer_scalar(1000))
        ticks = pc.add(ticks, whole_ticks)
        finer = pc.greater(below, pc.multiply(whole_ticks, integer_scalar(1000))).cast(pa.int64())
    return pc.if_else(pc.starts_with(bare, "-"), pc.negate(pc.add(ticks, finer)), ticks)


def beyond_a_day(bare: Any) -> bool:
    """Whether one of these texts is a duration, and can't be a time of day."""
    clock = pc.match_substring_regex(bare, _OF_DAY)
    return bool(pc.any(pc.and_(pc.is_valid(_durations(bare)), pc.invert(clock))).as_py())


def _as_iso(bare: Any, kind: str, text: str) -> Any:
    """Cells in a format as ISO 8601 writes them; a cell that is written otherwise is missing."""
    letters, found = directives(text) or (), pc.extract_regex(bare, pattern(text))

    def group(letter: str) -> Any:
        return pc.struct_field(found, letter)

    def join(sign: str, *parts: Any) -> Any:
        return pc.binary_join_element_wise(*parts, *text_array(sign))

    def two_digits(numbers: Any) -> Any:
        return pc.utf8_lpad(numbers.cast(pa.string()), 2, "0")

    if "Y" in letters:
        year = group("Y")
    else:
        short = group("y").cast(pa.int64())
        late = pc.greater_equal(short, integer_scalar(69, 64))
        year = pc.add(short, pc.if_else(late, integer_scalar(1900, 64), integer_scalar(2000, 64))).cast(pa.string())
    if "m" in letters:
        month = two_digits(group("m"))
    else:
        letter = "B" if "B" in letters else "b"
        names = text_array(*(name if letter == "B" else name[:3] for name in MONTHS))
        month = two_digits(pc.add(pc.index_in(pc.utf8_lower(group(letter)), names), integer_scalar(1)))
    day = join("-", year, month, two_digits(group("d")))
    if kind == "date":
        return day
    if "H" in letters:
        hour = two_digits(group("H"))
    else:
        twelve, later = group("I").cast(pa.int64()), pc.starts_with(pc.utf8_lower(group("p")), "p")
        early = pc.if_else(pc.equal(twelve, integer_scalar(12, 64)), integer_scalar(0, 64), twelve)
        hour = two_digits(pc.if_else(later, pc.add(early, integer_scalar(12, 64)), early))
    clock = join(":", hour, group("M"), *([group("S")] if "S" in letters else []))
    if "f" in letters:
        clock = join(".", clock, group("f"))
    return join("T", day, clock)


# --------------------------------------------------------------------------------------------------- constants of Arrow

# They are made of buffers: `pyarrow.array` and `pyarrow.scalar` import pandas, where it is installed.


@cache
def text_array(*words: str) -> Any:
    """An array of texts."""
    parts = [word.encode() for word in words]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(parts), pa.py_buffer(ends), pa.py_buffer(b"".join(parts)))


@cache
def integer_scalar(value: int, bits: int = 32) -> Any:
    """An integer of so many bits."""
    dtype = {32: pa.int32(), 64: pa.int64()}[bits]
    return pa.Array.from_buffers(dtype, 1, [None, pa.py_buffer(np.array([value], f"int{bits}"))])[0]


@cache
def false_scalar() -> Any:
    """False as an Arrow scalar."""
    return pa.Array.from_buffers(pa.bool_(), 1, [None, pa.py_buffer(b"\0")])[0]


def null_scalar(dtype: Any) -> Any:
    """A missing value of a type."""
    return pa.nulls(1, dtype)[0]
