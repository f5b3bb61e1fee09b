"""Hostile values, and neighbouring tables that differ in one row that has one.

The row in question is the last one. Under SUBSTITUTE it has another value in D'; under ADD_REMOVE it is the hostile one
in D and missing in D' (`fewer`). Columns of packages that are not installed are left out.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.audit.scenario import Pairs

Floats = NDArray[np.float64]
ROWS = 120

FINITE = {
    "a tie": 3.0,
    "minus zero": -0.0,
    "a subnormal": 5e-324,
    "the next float": float(np.nextafter(3.0, 4.0)),
    "2^53": 2.0**53,
    "2^63": 2.0**63,
    "1e308": 1.7e308,
    "-1e308": -1.7e308,
}
NOT_FINITE = {"NaN": np.nan, "inf": np.inf, "-inf": -np.inf}
INSTANT = datetime(2024, 2, 29, 12, tzinfo=UTC)
ELSEWHERE = INSTANT.astimezone(timezone(timedelta(hours=5, minutes=30)))

EQUAL: dict[str, tuple[Any, Any]] = {
    "decimals": (Decimal("1.0"), Decimal("1.00")),
    "zones": (INSTANT, ELSEWHERE),
    "signed zeros": (0.0, -0.0),
    "a truth value and a number": (True, 1.0),
    "a fraction and an integer": (Fraction(2), 2),
    "sets": (frozenset((1, 9)), frozenset((9, 1, True))),
    "folds": (datetime(2024, 10, 27, 2, 30), datetime(2024, 10, 27, 2, 30, fold=1)),
}
"""Values that are equal, and can be told apart."""

MIXED: dict[str, tuple[Any, Any]] = {
    "none": (1, None),
    "NaN": (1, np.nan),
    "NaT": (1, np.datetime64("NaT")),
    "a text": (1, "1"),
    "bytes": ("a", b"a"),
    "a date": ("2024-02-29", date(2024, 2, 29)),
    "a text and a time": (str(INSTANT), INSTANT),
    "a wide integer": (1, 2**70),
    "a list": ("a", []),
    "a list in a tuple": ("a", ([],)),
    "a decimal NaN": (Decimal(1), Decimal("NaN")),
    "a signalling NaN": (Decimal(1), Decimal("sNaN")),
}
"""Values of which one is of another type than its column."""


RETYPED = ("pandas, an integer missing", "pandas, one missing")
"""Pairs of pandas columns of which one row decides the type."""


class Silent:
    """An object that neither prints, nor compares, nor hashes."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]


MIXED["an object without a text"] = ("a", Silent())


def base(n: int = ROWS) -> Floats:
    """Ties, a gap, and values without ties."""
    parts = np.zeros(n // 4), np.full(n // 4, 3.0), np.linspace(3, 9, n - 2 * (n // 4) - 8), np.full(8, 1e6)
    return np.concatenate(parts)


def ended(x: Any, value: Any) -> Any:
    """The column with another last row."""
    other = x.copy()
    rows = other.iloc if hasattr(other, "iloc") else other
    rows[-1] = value
    return other


def fewer(pairs: Pairs) -> Pairs:
    """The same columns where the row in question is there, or not: for ADD_REMOVE."""
    return {name: (other, _without(other)) for name, (_, other) in pairs.items()}


def _without(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _without(value) for key, value in data.items()}
    if isinstance(data, tuple):
        return tuple(_without(part) for part in data)
    return data.iloc[:-1] if hasattr(data, "iloc") else data[:-1]


# ------------------------------------------------------------------------------------------------------------- columns


def finite(n: int = ROWS) -> Pairs:
    """Columns of floats whose last row is an ordinary or a hostile one."""
    return {name: (base(n), ended(base(n), value)) for name, value in FINITE.items()}


def missing(n: int = ROWS) -> Pairs:
    """The same with what is no finite number, and columns of other types with one row that has no value."""
    x = base(n)
    pairs: Pairs = {name: (x, ended(x, value)) for name, value in NOT_FINITE.items()}
    whole = x.astype(np.int64)
    masks = [np.arange(n) == n - 1, np.zeros(n, bool)]
    pairs["masked"] = tuple(np.ma.MaskedArray(x, mask) for mask in masks[::-1])  # type: ignore[assignment]
    pairs["masked integers"] = tuple(np.ma.MaskedArray(whole, mask) for mask in masks[::-1])  # type: ignore[assignment]
    pairs["a list and None"] = [*x.tolist()], [*x[:-1].tolist(), None]
    pairs["a list and a text"] = [*x.tolist()], [*x[:-1].tolist(), "9"]
    pairs["a list and a wide integer"] = [*x.tolist()], [*x[:-1].tolist(), 2**2000]
    pairs["a list and a decimal"] = [*x.tolist()], [*x[:-1].tolist(), Decimal("sNaN")]
    for name, make in _nullable().items():
        pairs[name] = make([*whole.tolist()]), make([*whole[:-1].tolist(), None])
    return pairs


def _nullable() -> dict[str, Callable[[list[Any]], Any]]:
    """Columns of other packages that may lack values, by their types."""
    made: dict[str, Callable[[list[Any]], Any]] = {}
    if _there("pandas"):
        pandas = importlib.import_module("pandas")
        for kind in ("Int64", "Float64", "float64"):
            made[f"pandas {kind}"] = partial(pandas.Series, dtype=kind)
    if _there("pyarrow"):
        arrow = importlib.import_module("pyarrow")
        made["Arrow int64"] = partial(arrow.array, type=arrow.int64())
    if _there("polars"):
        polars = importlib.import_module("polars")
        made["polars Int64"] = partial(_polars, polars)
    return made


def _polars(polars: Any, rows: list[Any]) -> Any:
    return polars.Series(rows, dtype=polars.Int64)


def _there(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def narrow(n: int = ROWS) -> Pairs:
    """Columns of narrow and wide types, each with its own extremes."""
    pairs: Pairs = {}
    for kind in ("int8", "uint8", "int64", "uint64"):
        x, info = base(n).clip(0, 9).astype(kind), np.iinfo(kind)
        pairs[f"{kind}, the largest"] = x, ended(x, info.max)
        pairs[f"{kind}, the least"] = x, ended(x, info.min)
    pairs["int64, beyond 2^53"] = ended(base(n).astype(np.int64), 2**53), ended(base(n).astype(np.int64), 2**53 + 1)
    times = 1_699_920_000 * 10**9 + 86_400 * 10**9 * np.sort(np.r_[np.zeros(n // 2, int), np.arange(n - n // 2)])
    pairs["int64, nanoseconds"] = times, ended(times, times[0])
    for kind in ("float16", "float32", "longdouble"):
        x, largest = base(n).clip(0, 9).astype(kind), np.finfo(kind).max
        pairs[f"{kind}, the largest"] = x, ended(x, largest)
        pairs[f"{kind}, the least"] = x, ended(x, np.finfo(kind).smallest_subnormal)
    flags = base(n) > 3
    pairs["bool"] = flags, ended(flags, not flags[-1])
    return pairs


def times(n: int = ROWS) -> Pairs:
    """Columns of times and durations whose last row is missing, beyond the calendar, or the same moment elsewhere."""
    place = base(n).astype(np.int64) % 1000
    days, clock = np.datetime64("2024-01-01") + place, np.datetime64("2024-01-01T12", "us") + place
    far, late = np.datetime64(10**7, "D"), np.datetime64("9999-12-31T23:59:59.999999")
    pairs: Pairs = {
        "dates, NaT": (days, ended(days, np.datetime64("NaT"))),
        "dates, far off": (days, ended(days, far)),
        "times, the last": (clock, ended(clock, late)),
        "times beyond 2^53 ticks": (ended(clock, late), ended(clock, late - np.timedelta64(1, "us"))),
        "durations, NaT": (clock - clock[0], ended(clock - clock[0], np.timedelta64("NaT"))),
        "durations, the longest": (clock - clock[0], ended(clock - clock[0], np.timedelta64(2**63 - 1, "us"))),
    }
    if _there("pandas"):
        pandas = importlib.import_module("pandas")
        zoned = pandas.Series(clock).dt.tz_localize("UTC")
        pairs["a zone, NaT"] = zoned, ended(zoned, pandas.NaT)
        pairs["another zone"] = zoned, zoned.dt.tz_convert("Asia/Kolkata")
        rows = pandas.Series(pandas.PeriodIndex(days, freq="D"))
        pairs["periods, NaT"] = rows, ended(rows, pandas.NaT)
    return pairs


def other_types(n: int = ROWS) -> Pairs:
    """Columns that are no numbers, or that one row makes another type: what is said of them must not show it."""
    whole = base(n).astype(np.int64)
    objects = whole.astype(object)
    days = np.datetime64("2024-01-01") + whole % 100
    pairs: Pairs = {
        "objects": (objects, ended(objects, None)),
        "objects and a text": (objects, ended(objects, "a")),
        "dates": (days, ended(days, np.datetime64("NaT"))),
        "texts": (whole.astype(str), ended(whole.astype("U21"), "a text that is long")),
    }
    if _there("pandas"):
        pandas = importlib.import_module("pandas")
        rows = whole.tolist()
        pairs["pandas, an integer missing"] = pandas.Series(rows), pandas.Series([*rows[:-1], None])
        pairs["pandas categories"] = (
            pandas.Series(rows, dtype="category"),
            pandas.Series([*rows[:-1], 7], dtype="category"),
        )
    return pairs


# ---------------------------------------------------------------------------------------------- flags, labels, tables


def flags(n: int = ROWS) -> Pairs:
    """Columns of truth values, and lists of them."""
    x = np.arange(n) % 3 == 0
    pairs: Pairs = {
        "flags": (x, ended(x, not x[-1])),
        "a list and None": (x.tolist(), [*x[:-1].tolist(), None]),
        "a list and a text": (x.tolist(), [*x[:-1].tolist(), "no"]),
        "a list and a number": (x.tolist(), [*x[:-1].tolist(), 3.5]),
    }
    if _there("pandas"):
        pandas = importlib.import_module("pandas")
        boolean = partial(pandas.Series, dtype="boolean")
        pairs["pandas boolean"] = boolean([*x[:-1].tolist(), True]), boolean([*x[:-1].tolist(), None])
        pairs["pandas, one missing"] = pandas.Series(x.tolist()), pandas.Series([*x[:-1].tolist(), None])
    return pairs


def labels(n: int = ROWS) -> Pairs:
    """Columns of categories whose first row has another spelling, or whose last row has another type."""
    pairs: Pairs = {}
    for name, (one, other) in EQUAL.items():
        pairs[f"equal {name}"] = _objects([other, *[one] * (n - 1)]), _objects([one] * n)
        pairs[f"equal {name}, the last"] = _objects([*[one] * (n - 1), other]), _objects([one] * n)
    for name, (one, other) in MIXED.items():
        pairs[f"with {name}"] = _objects([one] * n), _objects([*[one] * (n - 1), other])
    return pairs | {f"{name}, a list": (list(d), list(e)) for name, (d, e) in pairs.items()}


def _objects(values: Iterable[Any]) -> NDArray[Any]:
    """An array of these objects, none of which NumPy is to look into."""
    rows = list(values)
    made = np.empty(len(rows), object)
    for place, value in enumerate(rows):
        made[place] = value
    return made


def tables(n: int = ROWS, gaps: bool = False) -> Pairs:
    """(X, y) whose last row has a hostile response, or a hostile regressor. y is not a function of X alone."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(n, 1))
    y = 2 * x[:, 0] + rng.normal(size=n)
    pairs: Pairs = {}
    for name, value in (NOT_FINITE if gaps else FINITE).items():
        pairs[f"y, {name}"] = (x, y), (x, ended(y, value))
        pairs[f"x, {name}"] = (x, y), (ended(x, value), y)
    return pairs
