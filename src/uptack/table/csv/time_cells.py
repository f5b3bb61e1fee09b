"""Cells of a text file as dates and times, as ISO 8601 writes them, and as durations in hours, minutes and seconds."""

from __future__ import annotations

from typing import Any

from uptack.table.csv.cell_bytes import false, listed, nothing, whole
from uptack.table.values.times import DAY, FIRST, LAST, SECOND, SPAN, Form, objects_as_ticks

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
FORMS = {"date": Form("date"), "datetime": Form("clock"), "datetime-utc": Form("utc"), DURATION: Form("duration")}
_OF_DAY = r"^(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?$"


def arrow() -> dict[str, Any]:
    """The types that the kinds have in Arrow: of durations that of their ticks, since Parquet has no durations."""
    import pyarrow as pa

    times = {"date": pa.date32(), "datetime": pa.timestamp("us"), "datetime-utc": pa.timestamp("us", "UTC")}
    return times | {DURATION: pa.int64()}


def cast(bare: Any, kind: str) -> Any:
    """Texts as times of a kind; what does not fit is missing.

    So is the 30th of February, which makes Arrow's own cast fail for all. Then each is read by Python, which knows the
    years 1 to 9999 alone. So others are missing whoever reads them, also those that are others in UTC only, and no row
    decides how another one is read.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == DURATION:
        return _durations(bare)
    fits = pc.fill_null(pc.match_substring_regex(bare, PATTERNS[kind]), false())
    cells = pc.if_else(fits, bare, nothing(pa.string()))
    if kind == "datetime-utc":
        zoned = pc.match_substring_regex(cells, f"{_ZONE}$")
        cells = pc.if_else(zoned, cells, pc.binary_join_element_wise(cells, *listed("Z", "")))
    try:
        return _known(cells.cast(arrow()[kind]), kind)
    except pa.ArrowInvalid:
        ticks, gone = objects_as_ticks(cells.to_pylist(), FORMS[kind])
    found = pa.array(ticks // DAY if kind == "date" else ticks, mask=gone)
    return (found.cast(pa.int32()) if kind == "date" else found).cast(arrow()[kind])


def _known(times: Any, kind: str) -> Any:
    """The same without what is before the year 1 or after the year 9999, in UTC where that is the kind."""
    import pyarrow.compute as pc

    bits, unit = (32, DAY) if kind == "date" else (64, 1)
    low, high = (whole(end // unit, bits).cast(times.type) for end in (FIRST, LAST))
    inside = pc.and_(pc.greater_equal(times, low), pc.less_equal(times, high))
    return pc.if_else(inside, times, nothing(times.type))


def _durations(bare: Any) -> Any:
    """Texts as ticks of durations, what is finer cut off towards the past: see `uptack.table.values.times.SPAN`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.extract_regex(bare, f"^{SPAN}$")
    parts = {name: pc.struct_field(found, name) for name in ("sign", "hours", "minutes", "seconds", "parts")}
    hours, minutes, seconds = (parts[name].cast(pa.int64()) for name in ("hours", "minutes", "seconds"))
    below = pc.utf8_rpad(parts["parts"], 9, "0").cast(pa.int64())
    whole_parts = pc.divide(below, whole(1000))
    clock = pc.add(pc.multiply(hours, whole(3600)), pc.add(pc.multiply(minutes, whole(60)), seconds))
    ticks = pc.add(pc.multiply(clock, whole(SECOND)), whole_parts)
    finer = pc.greater(below, pc.multiply(whole_parts, whole(1000))).cast(pa.int64())
    return pc.if_else(pc.equal(parts["sign"], *listed("-")), pc.negate(pc.add(ticks, finer)), ticks)


def beyond_a_day(bare: Any) -> bool:
    """Whether one of these texts is a duration, and can't be a time of day."""
    import pyarrow.compute as pc

    clock = pc.match_substring_regex(bare, _OF_DAY)
    return bool(pc.any(pc.and_(pc.is_valid(_durations(bare)), pc.invert(clock))).as_py())
