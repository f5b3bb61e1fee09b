"""Hostile values, and neighbouring tables that differ in one row that has one: the kinds of data of an audit.

The row in question is the last one. Columns of packages that are not installed are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.audit.containers import container_pairs, containers, installed
from uptack.audit.neighbours import with_last
from uptack.audit.scenario import Pairs, PersonRows
from uptack.registry import Declaration

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


class Silent:
    """An object that neither prints, nor compares, nor hashes."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]


EQUAL: dict[str, tuple[Any, Any]] = {
    "decimals": (Decimal("1.0"), Decimal("1.00")),
    "zones": (INSTANT, INSTANT.astimezone(timezone(timedelta(hours=5, minutes=30)))),
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
    "an object without a text": ("a", Silent()),
}
"""Values of which one is of another type than its column."""

RETYPED = ("pandas, an integer missing", "pandas, one missing")
"""Pairs of pandas columns of which one row decides the type."""


# ------------------------------------------------------------------------------------------------------------- columns


def base(n: int = ROWS) -> NDArray[np.float64]:
    """Ties, a gap, and values without ties."""
    parts = np.zeros(n // 4), np.full(n // 4, 3.0), np.linspace(3, 9, n - 2 * (n // 4) - 8), np.full(8, 1e6)
    return np.concatenate(parts)


def ends(x: Any, values: dict[str, Any]) -> Pairs:
    """A column, and the same with each of these values as its last row."""
    return {name: (x, with_last(x, v)) for name, v in values.items()}


def numbers() -> Pairs:
    """Floats whose last row is an ordinary or a hostile one, and narrow and wide types, each with its extremes."""
    x, flags = base(), base() > 3
    pairs = ends(x, FINITE)
    whole = with_last(x.astype(np.int64), 2**53)
    ticks = 1_699_920_000 * 10**9 + 86_400 * 10**9 * np.sort(np.r_[np.zeros(ROWS // 2, int), np.arange(ROWS // 2)])
    limits: dict[str, tuple[Any, Any]] = {}
    for kind in ("int8", "uint8", "int64", "uint64"):
        limits[kind] = np.iinfo(kind).max, np.iinfo(kind).min
    for kind in ("float16", "float32", "longdouble"):
        limits[kind] = np.finfo(kind).max, np.finfo(kind).smallest_subnormal
    for kind, (most, least) in limits.items():
        pairs |= ends(x.clip(0, 9).astype(kind), {f"{kind}, the largest": most, f"{kind}, the least": least})
        if kind == "uint64":
            pairs |= ends(whole, {"int64, beyond 2^53": 2**53 + 1}) | ends(ticks, {"int64, nanoseconds": ticks[0]})
    return pairs | ends(flags, {"bool": not flags[-1]})


def missing() -> Pairs:
    """What is no finite number, and columns of other types with one row that has no value."""
    x = base()
    pairs = ends(x, NOT_FINITE)
    strangers = {"None": None, "a text": "9", "a wide integer": 2**2000, "a decimal": Decimal("sNaN")}
    pairs |= ends(x.tolist(), {f"a list and {name}": value for name, value in strangers.items()})
    whole = x.astype(np.int64).tolist()
    types = "numpy masked f8, numpy masked i8, pandas Int64, pandas Float64, pandas float64, arrow int64, polars Int64"
    makers = {name: containers()[name][0] for name in types.split(", ") if name in containers()}
    return pairs | {name: (make(whole), make([*whole[:-1], None])) for name, make in makers.items()}


def gaps() -> Pairs:
    """Those, and columns that are no numbers, or that one row makes another type: no message must show it."""
    whole = base().astype(np.int64)
    rows = whole.tolist()
    pairs = missing() | ends(whole.astype(object), {"objects": None, "objects and a text": "a"})
    pairs |= ends(np.datetime64("2024-01-01") + whole % 100, {"dates": np.datetime64("NaT")})
    pairs["texts"] = whole.astype(str), with_last(whole.astype("U21"), "a text that is long")
    if pandas := installed("pandas"):
        pairs["pandas, an integer missing"] = pandas.Series(rows), pandas.Series([*rows[:-1], None])
        category = partial(pandas.Series, dtype="category")
        pairs["pandas categories"] = category(rows), category([*rows[:-1], 7])
    return pairs


def times() -> Pairs:
    """Columns of times and durations whose last row is missing, beyond the calendar, or the same moment elsewhere."""
    place = base().astype(np.int64) % 1000
    days, clock = np.datetime64("2024-01-01") + place, np.datetime64("2024-01-01T12", "us") + place
    late = np.datetime64("9999-12-31T23:59:59.999999")
    pairs = ends(days, {"dates, NaT": np.datetime64("NaT"), "dates, far off": np.datetime64(10**7, "D")})
    pairs |= ends(clock, {"times, the last": late})
    pairs |= ends(with_last(clock, late), {"times beyond 2^53 ticks": late - np.timedelta64(1, "us")})
    longest = np.timedelta64(2**63 - 1, "us")
    pairs |= ends(clock - clock[0], {"durations, NaT": np.timedelta64("NaT"), "durations, the longest": longest})
    if pandas := installed("pandas"):
        zoned = pandas.Series(clock).dt.tz_localize("UTC")
        pairs |= ends(zoned, {"a zone, NaT": pandas.NaT})
        pairs["another zone"] = zoned, zoned.dt.tz_convert("Asia/Kolkata")
        pairs |= ends(pandas.Series(pandas.PeriodIndex(days, freq="D")), {"periods, NaT": pandas.NaT})
    return pairs


def flags() -> Pairs:
    """Columns of truth values, and lists of them."""
    x = np.arange(ROWS) % 3 == 0
    pairs = ends(x, {"flags": not x[-1]})
    pairs |= ends(x.tolist(), {"a list and None": None, "a list and a text": "no", "a list and a number": 3.5})
    if pandas := installed("pandas"):
        boolean, rest = partial(pandas.Series, dtype="boolean"), x[:-1].tolist()
        pairs["pandas boolean"] = boolean([*rest, True]), boolean([*rest, None])
        pairs["pandas, one missing"] = pandas.Series(x.tolist()), pandas.Series([*rest, None])
    return pairs


def labels() -> Pairs:
    """Columns of categories whose first row has another spelling, or whose last row has another type."""

    def objects(*rows: Any) -> NDArray[Any]:
        """An array of these objects, none of which NumPy is to look into."""
        column = np.empty(len(rows), object)
        for place, value in enumerate(rows):
            column[place] = value
        return column

    n, pairs = ROWS - 1, {}
    for name, (one, other) in EQUAL.items():
        pairs[f"equal {name}"] = objects(other, *[one] * n), objects(one, *[one] * n)
        pairs[f"equal {name}, the last"] = objects(*[one] * n, other), objects(*[one] * n, one)
    for name, (one, other) in MIXED.items():
        pairs[f"with {name}"] = objects(*[one] * n, one), objects(*[one] * n, other)
    return pairs | {f"{name}, a list": (list(d), list(e)) for name, (d, e) in pairs.items()}


# ------------------------------------------------------------------------------------------ several columns, and values


def _each(pairs: Pairs, make: Callable[[Any], Any]) -> Pairs:
    """The same pairs with something made of each side."""
    return {name: (make(d), make(e)) for name, (d, e) in pairs.items()}


def tables(values: dict[str, Any]) -> Pairs:
    """(X, y) whose last row has a hostile response, or a hostile regressor. y is not a function of X alone."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(ROWS, 1))
    y = 2 * x[:, 0] + rng.normal(size=ROWS)
    pairs: Pairs = {}
    for name, value in values.items():
        pairs[f"y, {name}"] = (x, y), (x, with_last(y, value))
        pairs[f"x, {name}"] = (x, y), (with_last(x, value), y)
    return pairs


def formula_table(table: Any) -> dict[str, Any]:
    """With a column of texts that nobody listed; a hostile row has one of its own."""
    x, y = table[0][:, 0], table[1]
    kinds = ["b" if abs(a) < 9 and 0 != b < 99 else f"odd {a} {b}" for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    return {"x": x, "y": y, "kind": ["a"] * (ROWS // 2) + kinds[ROWS // 2 :]}


def classes() -> Pairs:
    """A classification: labels of ±1, and a row that has another label, or lies elsewhere."""
    (x, _), _ = tables(FINITE)["y, a tie"]
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    return _each(ends(x, FINITE), lambda moved: (moved, y)) | {"another label": ((x, y), (x, with_last(y, -y[-1])))}


def groups(gaps: bool = False, labels_move: bool = True) -> Pairs:
    """Numbers with the label of each row: a row that has another value, another label, or none."""
    x, label = np.arange(float(ROWS)) % 7, np.arange(ROWS) % 2
    moved = ends(x, NOT_FINITE if gaps else FINITE)
    pairs: Pairs = {f"x, {name}": ((d, label), (e, label)) for name, (d, e) in moved.items()}
    if not labels_move:
        return pairs
    if gaps:
        others = {"None": None, "a text": "1", "a float": 1.0, "a truth value": True, "NaN": np.nan}
        other = ends(label.tolist(), others)
    else:
        other = ends(label, {str(v): v for v in (0, 7, -(2**63))})
        pairs["both"] = (x, label), (with_last(x, 1e308), with_last(label, 0))
    return pairs | {f"label, {name}": ((x, d), (x, e)) for name, (d, e) in other.items()}


def block_rows() -> Pairs:
    """Rows of any kind, for functions of blocks."""
    records = [{"v": float(i % 7)} for i in range(ROWS)]
    pairs = labels() | {f"numbers, {name}": pair for name, pair in ends(base(), FINITE).items()}
    return pairs | ends(records, {"records": {"v": None}, "records, a key": {}})


VECTOR, PLACES = np.array([0.5, 0.25]), np.arange(ROWS)
DATA: dict[str, Callable[[], Pairs]] = {
    "numbers": numbers,
    "any numbers": lambda: numbers() | missing(),
    "gaps": gaps,
    "times": times,
    "flags": flags,
    "labels": labels,
    "containers": container_pairs,
    "containers by group": lambda: _each(container_pairs(), lambda labels: (np.zeros(len(labels)), labels)),
    "by group": lambda: _each(labels(), lambda labels: (PLACES % 7.0, labels)),
    "sides by group": lambda: _each(labels(), lambda labels: (PLACES % 2, PLACES % 2, labels)),
    "flags by group": lambda: _each(labels(), lambda labels: (PLACES % 7 > 3, labels)),
    "table by group": lambda: _each(tables(FINITE), lambda table: (*table, np.full(ROWS, "a", object))),
    "columns": lambda: {name: ({"a": d, "b": d}, {"a": e, "b": d}) for name, (d, e) in labels().items()},
    "integers": lambda: ends(PLACES % 5, {str(v): v for v in (0, 7, -1, 2**62, -(2**63))}),
    "plane": lambda: _each(ends(base(), FINITE), lambda x: np.column_stack([x, base()])),
    "plane with gaps": lambda: _each(ends(base(), NOT_FINITE), lambda x: np.column_stack([x, base()])),
    "table": lambda: tables(FINITE),
    "table with gaps": lambda: tables(NOT_FINITE),
    "formula": lambda: _each(tables(FINITE), formula_table),
    "formula with gaps": lambda: _each(tables(NOT_FINITE), formula_table),
    "sides": lambda: _each(tables(FINITE), lambda table: (table[0][:, 0], table[1])),
    "sides with gaps": lambda: _each(tables(NOT_FINITE), lambda table: (table[0][:, 0], table[1])),
    "classes": classes,
    "groups": groups,
    "groups with gaps": partial(groups, gaps=True),
    "values of groups": partial(groups, labels_move=False),
    "proportion": lambda: ends(np.arange(400) % 2 == 0, {"another flag": True}),
    "function": lambda: ends(base(), {**FINITE, **NOT_FINITE}),
    "blocks": block_rows,
    "number": lambda: {
        **{f"{a} and {b}": (a, b) for a, b in ((0.0, 1.0), (-0.0, 0.0), (2**64, 2**64 + 1), (1e308, -1e308))},
        "a number and NaN": (0.0, np.nan),
        "wide integers": (np.array(2**63 - 1), np.array(-(2**63))),
    },
    "vector": lambda: ends(VECTOR, {**FINITE, "NaN": np.nan}),
    "square": lambda: _each(ends(VECTOR, {**FINITE, "NaN": np.nan}), np.diag),
    "scores": lambda: {
        "a tie": ([3, 3, 0], [4, 2, 0]),
        "huge": ([1e308, 0, 0], [-1e308, 0, 0]),
        "NaN": ([1, 0, 0], [np.nan, 0, 0]),
    },
    "distance": lambda: {
        "far": (("a", 9), ("a", 8)),
        "near": (("a", 0), ("b", 0)),
        "wide": (("a", 2**70), ("a", 2**70 - 1)),
    },
}
VALUES = ("number", "vector", "square", "scores", "distance")
"""What is a number of the data already: neighbours are the same whatever the adjacency, and move by any amount."""


# ------------------------------------------------------------------------------------------------------ next to nobody


GONE = "gone"
"""A missing value, where the function takes them."""
SMALL: dict[tuple[bool, bool], dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]]] = {
    (False, False): {
        "one row, another": ((0.5,), (2.0,)),
        "one row, missing": ((0.5,), (GONE,)),
        "all missing but one": ((GONE, GONE, GONE), (GONE, GONE, 0.5)),
    },
    (True, False): {
        "one row or none": ((0.5,), ()),
        "two rows or one": ((0.5, 1.0), (0.5,)),
        "missing or not there": ((GONE,), ()),
    },
    (False, True): {
        "one person, other rows": ((0.5, 0.5, 0.5), (2.0,)),
        "one person, missing": ((0.5, 0.5, 0.5), (GONE, GONE)),
    },
    (True, True): {
        "one person or nobody": ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),  # rows without an id are nobody's
        "one person or no rows": ((0.5, 0.5, 0.5), ()),
    },
}
"""Rows of two neighbours, by whether the number of rows is secret, and whether all of them are one person's."""


def small_pairs(declaration: Declaration, secret: bool, people: bool) -> Pairs:
    """Neighbours of next to nobody, as the data of a declared function."""
    shape, least = declaration.reads.shape, declaration.reads.least
    gone = np.nan if "missing" in declaration.allowed else 7.0

    def table(values: Sequence[Any], owner: float) -> Any:
        """Rows as the data arguments of the function."""
        x = np.array([gone if v == GONE else v for v in values], np.float64)
        wide = np.tile(x[:, None], (1, max(least, 2)))
        pair = (x, np.ones(x.size)) if shape == "labelled" else (x, x) if shape == "sides" and least == 2 else x
        rows = {"flags": x > 1, "columns": wide, "design": (wide, x)}.get(shape, pair)
        return PersonRows(rows, np.full(x.size, owner)) if people else rows

    pairs = SMALL[secret, people].items()
    return {name: (table(d, 0.0), table(e, np.nan if name.endswith("nobody") else 0.0)) for name, (d, e) in pairs}
