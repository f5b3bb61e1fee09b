"""Constants of Arrow, made from their bytes.

`pyarrow.array` and `pyarrow.scalar` import pandas, where it is installed, to see whether they were given something of
it. That takes as long as to read a small file.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np


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
    """The truth value that is none."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.bool_(), 1, [None, pa.py_buffer(b"\0")])[0]


def nothing(dtype: Any) -> Any:
    """A missing value of a type."""
    import pyarrow as pa

    return pa.nulls(1, dtype)[0]
