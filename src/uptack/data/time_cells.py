"""Cells of a text file as dates and times, as ISO 8601 writes them."""

from __future__ import annotations

from typing import Any

from uptack.columns.moments import DAY, Form, objects_as_ticks

_DATE, _CLOCK = "[0-9]{4}-[0-9]{2}-[0-9]{2}", r"[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
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

    So is the 30th of February, which makes Arrow's own cast fail for all.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    fits = pc.fill_null(pc.match_substring_regex(bare, PATTERNS[kind]), False)
    cells = pc.if_else(fits, bare, pa.scalar(None, pa.string()))
    if kind == "datetime-utc":
        zoned = pc.match_substring_regex(cells, f"{_ZONE}$")
        cells = pc.if_else(zoned, cells, pc.binary_join_element_wise(cells, "Z", ""))
    try:
        return cells.cast(arrow()[kind])
    except pa.ArrowInvalid:
        ticks, gone = objects_as_ticks(cells.to_pylist(), FORMS[kind])
    found = pa.array(ticks // DAY if kind == "date" else ticks, mask=gone)
    return (found.cast(pa.int32()) if kind == "date" else found).cast(arrow()[kind])
