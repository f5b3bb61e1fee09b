"""Random tables with all that is hard, every question that can be asked of one, and how answers are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from uptack.errors import UptackError
from uptack.registry.options import HOWS
from uptack.table.conditions import conditions
from uptack.table.memory.counts import sum_units
from uptack.table.protocol import Category, Column, Columns, RowDesign, Table
from uptack.table.unit import PrivacyUnit
from uptack.table.values.entrance import Field

NUMBERS = ("x", "i", "y", "t", "b")
MISSING = ("keep", "drop", 7.0)
PERSON = {"rows": None, "people": "id", "two columns": ["town", "number"]}
CONDITIONS = {
    "all": None,
    "some": {"h": ("<=", 2), "i": (">", 0)},
    "text": {"g": ("in", ["a", "A", None])},
    "none": {"h": 9},
}


def made(seed: int, n: int, zone: str | None = None) -> pa.Table:
    """Ties, NaN, infinities, integers beyond 2^53, texts, times; people with 1 to 50 rows, and rows of nobody."""
    rng = np.random.default_rng(seed)
    style = seed % 3
    x = np.round(rng.standard_cauchy(n), [0, 1, 17][style])
    for value, part in ((np.inf, 0.01), (-np.inf, 0.01), (np.nan, 0.03)):
        x[rng.random(n) < part] = value
    i = rng.integers(-(2**62), 2**62, n) if style else 2**60 + rng.integers(-300, 300, n)
    y = rng.normal(size=n) * 10.0 ** rng.integers(-300, 290, n) if style == 2 else rng.normal(size=n).round(1)
    ids = rng.permutation(np.repeat(np.arange(n), rng.integers(1, 51, n))[:n])
    words = rng.choice(np.array(["b", "A", "a", "ü", "zz"], object), n, p=[0.4, 0.3, 0.15, 0.1, 0.05])

    def gaps(values: Any, part: float = 0.03) -> list[Any]:
        return [None if gone else v for v, gone in zip(values.tolist(), rng.random(n) < part, strict=True)]

    return pa.table(
        {
            "x": pa.array(gaps(x), pa.float64()),
            "i": pa.array(gaps(i), pa.int64()),
            "y": pa.array(y, pa.float64()),
            "t": pa.array(gaps(rng.integers(0, 10**15, n) // 10**6 * 10**6), pa.timestamp("us", zone)),
            "b": pa.array(gaps(rng.random(n) < 0.3), pa.bool_()),
            "g": pa.array(gaps(words), pa.string()),
            "h": pa.array(rng.integers(0, 4, n), pa.int64()),
            "id": pa.array(gaps(np.array([f"ß {p}" if p % 3 else f"b'{p}" for p in ids], object)), pa.string()),
            "town": pa.array(gaps(np.where(ids % 2, -0.0, ids % 4 / 2.0)), pa.float64()),
            "number": pa.array(gaps(ids // 4), pa.int64()),
        }
    )


def narrowed(table: Table, where: str) -> Table:
    """The table with one of the conditions."""
    given = CONDITIONS[where]
    return table if given is None else table.where(conditions(given, table.kinds, table.forms))


def same(label: str, one: Any, other: Any) -> None:
    """Equal to the last bit, but for the sign of a zero."""
    a, b = np.asarray(one), np.asarray(other)
    assert a.shape == b.shape, (label, a.shape, b.shape)
    if a.dtype.kind == "f" or b.dtype.kind == "f":
        a, b = ((c.astype(np.float64) + 0.0).view(np.int64) * ~np.isnan(c.astype(np.float64)) for c in (a, b))
    assert np.array_equal(a, b), (label, one, other)


def windows_of(rng: np.random.Generator, n: int) -> list[tuple[int, int]]:
    """Windows in the middle, on both sides, at the ends, or over all ranks."""
    m, k = (n + 1) // 2, int(rng.integers(0, max(n // 20, 1) + 1))
    sides = [(m // 4 - k, m // 4 + k), (n - m // 4 - k, n - m // 4 + k)]
    return [[(m - k, m + k)], sides, [(-3, 4), (n - 4, n + 3)], [(1, n)]][int(rng.integers(4))]


def ready(column: Column, missing: Any) -> Column:
    """With missing values kept, dropped or filled."""
    return column if missing == "keep" else column.drop() if missing == "drop" else column.filled(missing)


def columns(table: Table) -> Iterator[tuple[str, Column]]:
    """Every expression of a row, and with every way to treat missing values."""
    for name in NUMBERS:
        plain = table.column(name)
        views = (
            {"": plain} if name == "t" else {"": plain, " distance": plain.distance(0.25), " clipped": plain.clipped()}
        )
        for view, column in views.items():
            for missing in MISSING:
                yield f"{name}{view} {missing}", ready(column, missing)
    yield "g coded", table.column("g").coded("a", "ü").drop()
    yield "h coded", table.column("h").coded(3, 1.0).drop()


def side_by_side(table: Table) -> Iterator[tuple[str, Columns, str]]:
    """Several columns, with both ways to treat infinities."""
    for infinite in ("drop", "clip"):
        yield f"x, y {infinite}", Columns([table.column("x"), table.column("y")]), infinite
        some = [table.column("y"), table.column("b").clipped(), table.column("x"), table.column("i")]
        yield f"y, b, x, i {infinite}", Columns(some), infinite
    yield "all there", Columns([table.column("y"), table.column("h")]), "drop"


def steps(lines: Any, weights: Any) -> list[Any]:
    """An additive function: sums of whole numbers, and units."""
    w = np.ones(lines.shape[1], np.int64) if weights is None else weights
    whole = np.floor(np.clip(np.where(np.isnan(lines), -7.0, lines), -1e6, 1e6)).astype(np.int64)
    return [np.array([int((w * line.astype(object)).sum()) for line in whole], object), int(w.astype(object).sum())]


def half(values: Any) -> Any:
    """A function of each row by itself."""
    return np.clip(values, -5, 5) / 3


def key(slots: Any, rows: Any) -> Any:
    """A key with ties."""
    return (np.abs(np.clip(rows[0], -1e3, 1e3)) * 10).astype(np.uint64) ^ (slots % 3).astype(np.uint64)


def place_number(values: Any) -> Any:
    """Four cells of numbers; -1 for rows without a value."""
    floats = values.floats()
    gone = np.isnan(floats)
    return np.where(gone, -1, np.searchsorted([-1.0, 0.0, 1.0], np.where(gone, 0.0, floats), side="right"))


def place_text(values: Any) -> Any:
    """Two cells of texts, and none for others."""
    found, codes = values.codes()
    return np.array([{"a": 0, "zz": 1}.get(label, -1) for label in found], np.int64)[codes]


def place_time(values: Any) -> Any:
    """Two cells of times, with those that have none in the second."""
    ticks, gone = values.ticks()
    return np.where(gone | (ticks > 4e14), 1, 0)


def make(reads: Any) -> list[Any]:
    """X and y of two columns of numbers and one of levels."""
    y, x, level = reads
    return [np.log(np.abs(x)), np.where(np.isnan(level), np.nan, level == 1.0), y * 2]


def _dummies(reads: Any) -> list[Any]:
    """The same as columns and dummies."""
    y, x, level = reads
    return [x, *(np.where(np.isnan(level), np.nan, level == number) for number in (1, 2)), y]


LEVELS = Category("g", ("b", "a"), "own")
DESIGNS = {
    "made": RowDesign(2, ["y", "x", LEVELS], make),
    "selected": RowDesign(3, ["y", "x", LEVELS], _dummies, [("y", None), ("x", None), (LEVELS, 1), (LEVELS, 2)]),
}  # fmt: skip


# --------------------------------------------------------------------------------------------------------- comparisons


def field_counts(fields: Sequence[Field], weights: Any) -> list[Any]:
    """Units by hashes of rows."""
    g, x, t, i, b = fields
    labels, places = g.codes()
    key = np.array([0 if one is None else len(str(one)) for one in labels], np.int64)[places]
    ticks, gone = t.ticks()
    whole, missing = i.numbers()
    key = key + 3 * (np.nan_to_num(x.floats(), posinf=1e9, neginf=-1e9) > 0) + 5 * np.where(gone, 1, ticks % 7)
    key = (
        key + np.where(False if missing is None else missing, 1, whole.astype(object) % 11).astype(np.int64) + b.flags()
    )
    units = np.ones(key.size, np.int64) if weights is None else weights
    return [sum_units(key % 64, units, 64)]


class Comparison:
    """Every question of two tables with the same rows, or a random `part` of all questions.

    Questions that are asked once or twice, and not of every column, have a part of their own: `rare`.
    `ordered` says that scans have the order of the table in memory.
    """

    def __init__(self, seed: int, part: float = 1.0, ordered: bool = True, rare: float = 1.0) -> None:
        self.rng, self._draw, self._part, self.ordered = np.random.default_rng(seed), Random(seed), part, ordered
        self._draw_rare, self._rare = Random(seed), rare

    def _asked(self) -> bool:
        return self._draw.random() < self._part

    def _asked_once(self) -> bool:
        return self._draw_rare.random() < self._rare

    def tables(self, ours: Table, theirs: Table) -> None:
        """Every question."""
        assert dict(ours.kinds) == dict(theirs.kinds), ours.kinds
        assert dict(ours.forms) == dict(theirs.forms)
        same("size", ours.size, theirs.size)
        same("spread", ours.spread(), theirs.spread())
        people = theirs.unit.people
        for unit in [theirs.unit, *([PrivacyUnit(theirs.unit.ids, "rows", 3)] if people else [])]:
            self._unit(unit, ours.with_unit(unit), theirs.with_unit(unit))
        if people:
            one = PrivacyUnit(theirs.unit.ids, "any", 2)
            self.counts("any", ours.with_unit(one), theirs.with_unit(one))
            self.per_person(ours, theirs)
        self.groups(ours, theirs)
        self.designs(ours, theirs)

    def _unit(self, unit: PrivacyUnit, ours: Table, theirs: Table) -> None:
        for (label, one), (_, other) in zip(columns(ours), columns(theirs), strict=True):
            if self._asked():
                same(f"{label} finite", one.finite(), other.finite())
                self.orders(f"{unit.share} {label}", one, other)
        if self._asked_once():
            self.rows(f"{unit.share} one", *(t.rows([t.column("x").drop()]) for t in (ours, theirs)))
        if unit.people and self._asked_once():
            same(f"{unit.share} means", *(np.sort(t.column("x").drop().person_means(half)) for t in (ours, theirs)))
        for (label, one, way), (_, other, _) in zip(side_by_side(ours), side_by_side(theirs), strict=True):
            if self._asked():
                rows, others = one.rows(way), other.rows(way)
                self.rows(f"{unit.share} {label}", rows, others)
                middle = others.n // 2
                windows, ranks = [(middle - 2, middle + 2)], np.arange(middle - 2, middle + 3)
                for column in range(rows.width):
                    same(label, *(each.order(column, windows).at(ranks) for each in (rows, others)))
        self.counts(unit.share, ours, theirs)

    def orders(self, label: str, ours: Column, theirs: Column) -> None:
        """n, order statistics, exact sums and jumps."""
        n = theirs.count()
        same(f"{label} n", ours.count(), n)
        windows = windows_of(self.rng, max(n, 1))
        a, b = ours.order(windows), theirs.order(windows)
        ranks = np.concatenate([np.arange(low, high + 1) for low, high in windows])
        same(f"{label} n of the order", a.n, b.n)
        same(f"{label} at", a.at(ranks), b.at(ranks))
        inside = ranks[(ranks >= 1) & (ranks <= n)]
        if inside.size and np.isfinite(b.at(inside)).all():
            for first, last in {(int(inside[0]), int(inside[-1])), (int(inside[0]), int(inside[inside.size // 3]))}:
                same(f"{label} total", a.total(first, last), b.total(first, last))
        first, last = max(windows[0][0], 1), min(windows[0][1], n)
        whole = ours.unit.weighted or (first, last) == (1, n)  # of rows, ties that go on after a window don't count
        if whole and first <= last and not np.isnan(b.at(np.array([first, last]))).any():
            for one, other in zip(a.jumps(first, last), b.jumps(first, last), strict=True):
                same(f"{label} jumps", one, other)

    def rows(self, label: str, ours: Any, theirs: Any) -> None:
        """Sizes, sums, and rows by place."""
        same(f"{label} numbers", [ours.width, ours.size, ours.n], [theirs.width, theirs.size, theirs.n])
        same(f"{label} lacking", ours.lacking(), theirs.lacking())
        for one, other in zip(ours.sum(steps), theirs.sum(steps), strict=True):
            same(f"{label} sum", one, other)
        whole, copied = ours.in_memory(), theirs.in_memory()
        same(f"{label} in memory", *(_sorted(rows.lines, rows.codes) for rows in (whole, copied)))
        if theirs.unit.at_most is not None:
            return
        for of in ("complete", "all"):
            n = theirs.n if of == "complete" else theirs.size
            places, slots, size = self.rng.permutation(n)[:40], self.rng.permutation(n) - 3, (n + 2) // 3 + 1
            (a, picked), (b, others) = ours.pick(places, key, of), theirs.pick(places, key, of)
            dealt = [list(rows.deal(slots, size, 3, of)) for rows in (ours, theirs)]
            if not self.ordered and not theirs.unit.people:
                same(f"{label} dealt {of}", [len(part) for part, _ in dealt[0]], [len(part) for part, _ in dealt[1]])
                continue
            same(f"{label} pick {of}", a, b)
            same(f"{label} picked {of}", picked, others)
            for one, other in zip(*dealt, strict=True):
                same(f"{label} dealt {of}", _sorted(one[1], one[0]), _sorted(other[1], other[0]))

    def counts(self, label: str, ours: Table, theirs: Table) -> None:
        """Combinations, cells and truth values."""
        for names in (["g"], ["h", "g"], ["x"], ["i", "b"], ["b"]):
            if self._asked():
                a, b = (table.counts([table.column(name) for name in names]) for table in (ours, theirs))
                assert list(map(repr, a.keys)) == list(map(repr, b.keys)), (label, names)
                same(f"{label} counts {names}", a.units, b.units)
        for every in ("hour", "month"):
            if not self._asked_once():
                continue
            a, b = (table.counts([table.column("t").floored(every)]) for table in (ours, theirs))
            assert a.keys == b.keys, (label, every)
            same(f"{label} {every}", a.units, b.units)
        cells: list[tuple[str, Callable[..., Any], int]] = [
            ("x", place_number, 4), ("y", place_number, 4), ("b", place_number, 4), ("g", place_text, 2),
            ("t", place_time, 2),
        ]  # fmt: skip
        for name, place, size in cells:
            if self._asked():
                a, b = (table.cells(table.column(name), place, size) for table in (ours, theirs))
                same(f"{label} cells {name}", a, b)
        if theirs.unit.share != "any":
            for name in ("g", "h", "x", "i", "b", "t"):
                if self._asked():
                    least = 1 + theirs.unit.step // 3
                    (a, m), (b, k) = (table.common(table.column(name), least) for table in (ours, theirs))
                    assert a == b, (label, name)
                    same(f"{label} common {name}", m, k)
            if self._asked_once():
                a, b = (table.field_sums([*map(table.column, "gxtib")], field_counts) for table in (ours, theirs))
                same(f"{label} field sums", a[0], b[0])
        for name, at_most in product(("b", None), (1, 3)):
            if self._asked_once():
                same(f"{label} trues {name}", ours.trues(name, at_most), theirs.trues(name, at_most))

    def groups(self, ours: Table, theirs: Table) -> None:
        """Sizes of groups, and their parts."""
        for by in (["g"], ["h", "b"], ["x"]):
            if not self._asked_once():
                continue
            a, b = ours.groups(by), theirs.groups(by)
            (groups, sizes), (others, many) = a.sizes(), b.sizes()
            assert list(map(repr, groups)) == list(map(repr, others)), by
            same("sizes", sizes, many)
            nowhere = "nowhere" if len(by) == 1 else (9, None)
            for group in [*others[:3], others[-1] if others else nowhere, nowhere]:
                if self._asked():
                    part, other = a.part(group), b.part(group)
                    self.orders(f"{by} {group}", part.column("y").drop(), other.column("y").drop())
                    same(f"{by} {group} trues", part.trues("b"), other.trues("b"))
                    for table in (part, other):
                        with pytest.raises(UptackError, match="no public size"):
                            _ = table.size
        assert ours.groups(["g"]).nothing().column("x").drop().count() == 0

    def per_person(self, ours: Table, theirs: Table) -> None:
        """One number per person of one column, and of several."""
        for how in HOWS:
            order = {"last": "i"}.get(how)
            for name in ("x", "i", "y", "t"):
                for missing in MISSING:
                    if (name == "t" and how == "sum") or not self._asked():
                        continue
                    made = [ready(t.column(name), missing).per_person(how, order) for t in (ours, theirs)]
                    self.orders(f"{how} of {name} {missing}", *made)
                    self.orders(f"{how} of {name} {missing} distance", *(c.distance(0.5) for c in made))
            if self._asked():
                both = (Columns([t.column("x"), t.column("y")]).per_person(how, order) for t in (ours, theirs))
                self.rows(f"{how} side by side", *(columns.rows("clip") for columns in both))

    def designs(self, ours: Table, theirs: Table) -> None:
        """X and y, selected and made."""
        for label, design in DESIGNS.items():
            if not self._asked_once():
                continue
            made = [Columns([*x, y]) for x, y in (table.design(design) for table in (ours, theirs))]
            same(f"{label} size", made[0].table.size, theirs.size)
            self.rows(f"design {label}", *(columns.rows("drop") for columns in made))
            self.orders(f"design {label}", *(columns[-1].drop() for columns in made))


def _sorted(lines: Any, first: Any = None) -> Any:
    """Rows in the order of what comes first, and of their values."""
    whole = lines if first is None else np.concatenate([first[None].astype(np.float64), lines])
    return whole[:, np.lexsort(whole[::-1] + 0.0)]
