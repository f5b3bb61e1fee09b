"""One table with all that is hard to carry from engine to engine, and what is true of it, in plain Python."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa

ROWS = 600
TEXTS = ["O'Brien", 'say "no"', "back\\slash", "grüße ⊥", "100%_", "select", "", None]


def _every(values: list, places: list[int]) -> list:
    return [values[i % len(values)] for i in places]


def table() -> pa.Table:
    """Integers beyond 2^53, infinities, -0.0, the smallest and the largest floats, nulls, ties; awkward names."""
    rng = np.random.default_rng(7)
    places = rng.permutation(ROWS).tolist()
    edge = [np.inf, -np.inf, -0.0, 0.0, 5e-324, 1.7976931348623157e308, 0.1, np.nextafter(0.1, 1), 1 / 3, -1e-300]
    real = np.concatenate([edge, rng.standard_cauchy(ROWS - len(edge))])[places]
    odd = {0: None, 3: float("nan")}
    gaps = [odd.get(i % 11, value) for i, value in enumerate(rng.normal(size=ROWS).tolist())]
    return pa.table(
        {
            "row": pa.array(places, pa.int64()),
            "real": pa.array(real, pa.float64()),
            "gaps in it": pa.array(gaps, pa.float64()),
            "whole": pa.array([int((-1) ** i * (2**62 - i // 3)) for i in places], pa.int64()),
            "visits": pa.array(_every([None, 0, 1, 1, 1, 2, 3, 90071992547409931], places), pa.int64()),
            "select": pa.array(_every([1, 2, 2, 2, 2, 2, 2, 3], places), pa.int32()),
            "one; value": pa.array([42] * ROWS, pa.int16()),
            "unsigned": pa.array([int(2**64 - 1 - i // 2) for i in places], pa.uint64()),
            "größe ⊥": pa.array(rng.normal(size=ROWS).astype(np.float32), pa.float32()),
            "price's": pa.array([Decimal(int(v)) / 100 for v in rng.integers(-5000, 5000, ROWS)], pa.decimal128(10, 2)),
            'a "flag"': pa.array(_every([True, False, False, None], places), pa.bool_()),
            "text": pa.array(_every(TEXTS, places), pa.string()),
            "day": pa.array(_every([date(2024, 2, 29), date(1969, 12, 31), None], places), pa.date32()),
        }
    )


KINDS = {
    "row": "integer",
    "real": "number",
    "gaps in it": "number",
    "whole": "integer",
    "visits": "integer",
    "select": "integer",
    "one; value": "integer",
    "unsigned": "integer",
    "größe ⊥": "number",
    "price's": "number",
    'a "flag"': "boolean",
    "text": "text",
    "day": "time",
}


def floats(values: pa.ChunkedArray) -> np.ndarray:
    """A numeric column as it must be read: Python rounds integers and decimals to the nearest float."""
    return np.array([np.nan if value is None else float(value) for value in values.to_pylist()])


def keys(values: pa.ChunkedArray) -> list:
    """A column as keys: NaN is no value, decimals are floats, -0.0 is 0.0."""
    plain = [float(v) if isinstance(v, Decimal) else v for v in values.to_pylist()]
    return [None if v is None or v != v else v + 0.0 if isinstance(v, float) else v for v in plain]
