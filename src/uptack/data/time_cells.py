"""Cells of a text file as dates and times, as ISO 8601 writes them."""

from __future__ import annotations

from typing import Any

from uptack.columns.moments import DAY, FIRST, LAST, Form, objects_as_ticks
from uptack.data.constants import false, listed, nothing, whole

_YEAR = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_DATE, _CLOCK = f"{_YEAR}-[0-9]{{2}}-[0-9]{{2}}", r"[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
_ZONE = "(?:Z|[+-][0-9]{2}:?[0-9]{2})"
PATTERNS = {
    "date": f"^{_DATE}$",
    "datetime": f"^{_DATE}(?:{_CLOCK})?$",
    "datetime-utc": f"^{_DATE}{_CLOCK}{_ZONE}?$",
}
"""What a cell of a kind looks like. Without a zone it is in UTC where that is the kind."""

FORMS = {"date": Form("date"), "datetime": Form("clock"), "datetime-utc": Form("utc")}


def arrow() -> dict[str, Any]:
    """The types that the kinds have in Arrow."""
    import pyarrow as pa

    return {"date": pa.date32(), "datetime": pa.timestamp("us"), "datetime-utc": pa.timestamp("us", "UTC")}


def cast(bare: Any, kind: str) -> Any:
    """Texts as times of a kind; what does not fit is missing.

    So is the 30th of February, which makes Arrow's own cast fail for all. Then each is read by Python, which knows the
    years 1 to 9999 alone. So others are missing whoever reads them, also those that are others in UTC only, and no row
    decides how another one is read.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

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
