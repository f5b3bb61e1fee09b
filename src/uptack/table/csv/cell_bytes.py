"""Shortcuts for columns of a common form. They look at the bytes of all cells at once, as Arrow stores them.

Each function returns what reading cell by cell would return, or None if the bytes alone do not show it. So these
functions change the time, and no result.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

PLUS, MINUS, ZERO, NINE, EXPONENT = b"+-09e"


def _ends(cells: Any) -> NDArray[np.int32]:
    """The offsets at which cells begin, and the one at which the last cell ends."""
    _, ends, _ = cells.buffers()
    return np.frombuffer(ends, np.int32, len(cells) + 1, 4 * cells.offset)


def _written(cells: Any, ends: NDArray[np.int32]) -> NDArray[np.uint8]:
    """The bytes of all cells."""
    start, end = int(ends[0]), int(ends[-1])
    return np.frombuffer(cells.buffers()[2], np.uint8, end - start, start)


def without_empty(cells: Any, broken: str) -> Any | None:
    """Texts, with the empty ones null; None if a cell may have the sign that stands for invalid bytes."""
    import pyarrow as pa

    if not isinstance(cells, pa.StringArray) or cells.null_count or not len(cells):
        return None
    ends = _ends(cells)
    filled = ends[1:] > ends[:-1]
    if not filled.any() or (_written(cells, ends) == broken.encode()[0]).any():
        return None
    there = None if filled.all() else pa.py_buffer(np.packbits(filled, bitorder="little"))
    return pa.StringArray.from_buffers(len(cells), pa.py_buffer(ends), cells.buffers()[2], there)


def integers(cells: Any) -> Any | None:
    """Texts as integers, if each consists of digits, maybe after a minus, and none is too large."""
    import pyarrow as pa

    if not isinstance(cells, pa.StringArray) or cells.null_count == len(cells):
        return None
    ends = _ends(cells)
    filled = ends[1:] > ends[:-1]
    if not (filled.all() if not cells.null_count else np.array_equal(filled, _there(cells))):
        return None
    signs = np.flatnonzero(_written(cells, ends) - np.uint8(ZERO) > 9)
    if signs.size and not _are_minus(cells, ends, signs):
        return None
    try:
        return cells.cast(pa.int64())
    except pa.ArrowInvalid:
        return None


def numbers(cells: Any) -> Any | None:
    """Texts as floats, if each is a number and consists of digits and of + - . e E only.

    These characters make numbers in one way only. (A comma and a slash lie between them in ASCII, and Arrow accepts
    neither.) So Arrow accepts no text as a number that `uptack.table.csv.cells` does not.
    """
    import pyarrow as pa

    if not isinstance(cells, pa.StringArray) or cells.null_count == len(cells):
        return None
    ends = _ends(cells)
    if ends[0] == ends[-1]:
        return None
    written = _written(cells, ends)
    letters = written[written - np.uint8(PLUS) > NINE - PLUS]
    if letters.size and not (letters | 0x20 == EXPONENT).all():
        return None
    try:
        return cells.cast(pa.float64())
    except pa.ArrowInvalid:
        return None


def _there(cells: Any) -> NDArray[np.bool_]:
    bits = np.unpackbits(np.frombuffer(cells.buffers()[0], np.uint8), bitorder="little")
    return bits[cells.offset : cells.offset + len(cells)].astype(bool)


def _are_minus(cells: Any, ends: NDArray[np.int32], signs: NDArray[np.intp]) -> bool:
    """Whether each of these bytes, which are all that are not digits, is a minus that begins a longer cell."""
    written = _written(cells, ends)
    begins = np.zeros(written.size + 1, bool)
    begins[ends - ends[0]] = True
    return bool((written[signs] == MINUS).all() and begins[signs].all() and not begins[signs + 1].any())


@cache
def listed(*words: str) -> Any:
    """An array of texts."""
    import pyarrow as pa

    parts = [word.encode() for word in words]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(parts), pa.py_buffer(ends), pa.py_buffer(b"".join(parts)))


@cache
def whole(value: int, bits: int = 32) -> Any:
    """An integer of so many bits."""
    import pyarrow as pa

    dtype = {32: pa.int32(), 64: pa.int64()}[bits]
    return pa.Array.from_buffers(dtype, 1, [None, pa.py_buffer(np.array([value], f"int{bits}"))])[0]


@cache
def false() -> Any:
    """False as an Arrow scalar."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.bool_(), 1, [None, pa.py_buffer(b"\0")])[0]


def nothing(dtype: Any) -> Any:
    """A missing value of a type."""
    import pyarrow as pa

    return pa.nulls(1, dtype)[0]
