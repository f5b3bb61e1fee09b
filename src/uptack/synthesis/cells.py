"""The cells of one column, from released numbers: which value is in which cell, and values for cells.

Categories have a cell each, one for all others and one for missing values. Numbers, times and durations have cells for
frequent values (atoms), for the intervals between edges, below the first and above the last, and for missing values.
Times and durations are ticks (`uptack.table.values.times`).
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.labels import label
from uptack.table.values.entrance import Field
from uptack.table.values.kinds import LARGEST, Kind
from uptack.table.values.times import DAY, FIRST, LAST, SECOND, TIMED, Form, parse_time

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]
Values = NDArray[Any]
"""Numbers of an ordered column: floats, or whole numbers of 64 bits."""

OTHER = "(other)"
LEAST, MOST = -(1 << 63), (1 << 63) - 1
LISTED = 4096
"""Points of an interval that are listed one by one."""
TAILS = 2.0 ** np.arange(-4, 5)
"""Widths of the cells of a tail, in ranges of what is inside."""
CLOCK = (DAY, 3600 * SECOND, 60 * SECOND, SECOND, 1000)
DECIMALS = (1.0, 0.1, 0.01, 0.001)


def is_ordered(kind: Kind) -> bool:
    """Whether values of this kind have an order and distances."""
    return kind in ("integer", "number", *TIMED)


def steps(kind: Kind, form: Form | None) -> tuple[float | None, ...]:
    """Steps that all values of a column may be multiples of, from the coarsest on; one, where the type says it."""
    if kind == "integer":
        return (1.0,)
    if kind == "number":
        return (*DECIMALS, None)
    return (float(DAY),) if form is not None and form.word == "date" else (*map(float, CLOCK), 1.0)


def multiples(x: Values, step: float | None) -> Mask:
    """Which values are multiples of a step; of floats, up to rounding."""
    if step is None:
        return np.ones(x.size, bool)
    if x.dtype.kind == "i":
        return np.asarray(x % int(step) == 0)
    scaled = x / step
    return np.asarray(np.abs(scaled - np.rint(scaled)) <= np.minimum(1e-9 * np.abs(scaled), 1e-3))


def numbers(labels: Sequence[Hashable], kind: Kind) -> tuple[Values, Mask]:
    """Values as numbers, and which have one. Infinities are the largest floats; times are ticks, or become them."""
    if kind == "number":
        floats = np.array([np.nan if value is None else value for value in labels], np.float64)
        return np.clip(floats, -LARGEST, LARGEST) + 0.0, ~np.isnan(floats)
    plain: list[Any] = [_tick(value) if isinstance(value, date | timedelta) else value for value in labels]
    there = np.array([value is not None for value in plain], bool)
    return np.array([min(max(int(value or 0), LEAST), MOST) for value in plain], np.int64), there


def _tick(value: Any) -> int | None:
    time = parse_time(value)
    return None if time is None else time.ticks


def whole(x: Values) -> NDArray[np.int64]:
    """Floats that are whole numbers as integers of 64 bits, the nearest that these have."""
    return np.clip(x, -(2.0**63), np.nextafter(2.0**63, 0)).astype(np.int64)


def row_numbers(field: Field) -> tuple[Values, Mask]:
    """The same of the rows of a column."""
    if field.kind in TIMED:
        ticks, gone = field.ticks()
        return ticks, ~gone
    values, missing = field.numbers()
    if field.kind == "number":
        return np.clip(values, -LARGEST, LARGEST) + 0.0, ~np.isnan(values)
    signed = np.minimum(values, np.uint64(MOST)).astype(np.int64) if values.dtype == np.uint64 else values
    return signed, np.ones(signed.size, bool) if missing is None else ~missing


def keys_of(x: Values) -> NDArray[np.uint64]:
    """Floats as unsigned integers in the same order: their leading bits are sign, exponent and first digits."""
    bits = (x.astype(np.float64) + 0.0).view(np.int64)
    return np.where(bits < 0, ~bits, bits | np.int64(LEAST)).view(np.uint64)


def numbers_of(keys: NDArray[np.uint64]) -> Floats:
    """The floats of such integers."""
    top = np.uint64(1 << 63)
    return np.where(keys >= top, keys & ~top, ~keys).view(np.float64)


@dataclass(frozen=True, eq=False)
class ColumnCells:
    """A partition of a column. `atoms` are in their order, of times and durations as ticks; `edges` are those of
    intervals, and `core` the range of edges without tails."""

    kind: Kind
    atoms: Any
    edges: Floats
    step: float | None = None
    core: tuple[float, float] = (0.0, 0.0)
    ordered: bool = False

    @staticmethod
    def of_categories(kind: Kind, atoms: Sequence[Hashable]) -> ColumnCells:
        return ColumnCells(kind, list(atoms), np.empty(0))

    @staticmethod
    def of_numbers(kind: Kind, atoms: Values, edges: Floats, step: float | None) -> ColumnCells:
        """Atoms, intervals between edges, and tails of doubling width on both sides.

        There are tails in gaps, too, that are wider than all that is on one side of them: a far value must not stretch
        what lies next to the others.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            if atoms.size:
                ends = [float(atoms.min()), np.nextafter(float(atoms.max()), np.inf)]
                edges = np.union1d(edges, ends)
            edges = edges[np.isfinite(edges)]
            core = (0.0, 0.0)
            if edges.size:
                low, high = core = float(edges[0]), float(edges[-1])
                wide = max(high - low, step or 0.0, 2.0**-20 * abs(high))
                zero = 0.0 if low - wide * TAILS[-1] < 0 < high + wide * TAILS[-1] else low
                gap, before, after = np.diff(edges), edges[:-1] - low, high - edges[1:]
                from_low, from_high = (np.flatnonzero((gap > side) & (side > 0)) for side in (before, after))
                tails = [edges[i] + before[i] * TAILS for i in from_low]
                tails += [edges[i + 1] - after[i] * TAILS for i in from_high]
                tails += [low - width * TAILS for width in (wide, *before[from_low])]
                tails += [high + width * TAILS for width in (wide, *after[from_high])]
                edges = np.unique(np.r_[zero, edges, *tails])
        return ColumnCells(kind, atoms, edges[np.isfinite(edges)] + 0.0, step, core, True)

    @property
    def inner(self) -> int:
        """The first cell after those of atoms: the first interval, or that of all other categories."""
        return len(self.atoms)

    @property
    def size(self) -> int:
        return len(self.atoms) + len(self.edges) + 2

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        return {atom: place for place, atom in enumerate(self.atoms)}

    def encode(self, field: Field) -> Codes:
        """The cell of each row of a column."""
        if not self.ordered and self.kind in TIMED:
            return self._encode_moments(field)
        if not self.ordered:
            labels, rows = field.codes()
            plain = (self.size - 1 if one is None else self._places.get(one, self.inner) for one in labels)
            return np.fromiter(plain, np.int64, len(labels))[rows]
        x, there = row_numbers(field)
        cells = self.inner + np.searchsorted(self.edges, x, side="right")
        if len(self.atoms):
            near = np.minimum(np.searchsorted(self.atoms, x), len(self.atoms) - 1)
            cells = np.where(self.atoms[near] == x, near, cells)
        return np.where(there, cells, self.size - 1)

    def _encode_moments(self, field: Field) -> Codes:
        """The same where atoms are listed ticks, by the nearest floats: an engine sends no others."""
        (x, there), ticks = row_numbers(field), np.array(self.atoms, np.float64)
        order = np.argsort(ticks)
        near = order[np.minimum(np.searchsorted(ticks[order], x.astype(np.float64)), len(ticks) - 1)]
        return np.where(there, np.where(ticks[near] == x, near, self.inner), self.size - 1)

    def tails(self) -> list[Codes]:
        """Cells outwards from the lowest and from the highest edge of what is inside."""
        if not self.edges.size:
            return []
        low, high = np.searchsorted(self.edges, self.core)
        cells = self.inner + np.arange(len(self.edges) + 1)
        return [cells[low::-1], cells[high + 1 :]]

    def order(self) -> Codes:
        """All cells but that of missing values, from low to high; categories in their order."""
        cells = np.arange(self.size - 1)
        if not self.ordered or not self.edges.size:
            return cells
        ends = np.r_[self.edges[0], self.edges, self.edges[-1]]
        with np.errstate(over="ignore"):
            middle = ends[:-1] / 2 + ends[1:] / 2
        return np.lexsort((cells < self.inner, np.r_[self.atoms.astype(np.float64), middle]))

    def labels(self, form: Form | None) -> list[str]:
        """What each cell holds, in words: a value, an interval, other categories, missing values."""

        def text(value: Any) -> str:
            shown = value if form is None else form.show(float(value))
            return f"{shown:.6g}" if isinstance(shown, float) else str(shown)

        if not self.ordered:
            return [*map(label if form is None else text, self.atoms), OTHER, "missing"]
        atoms = [text(value) for value in np.asarray(self.atoms).tolist()]
        ends = [text(edge) for edge in self.edges.tolist()]
        between = [f"{low} to {high}" for low, high in itertools.pairwise(ends)]
        outer = [f"below {ends[0]}", *between, f"from {ends[-1]}"] if ends else ["other"]
        return [*atoms, *outer, "missing"]

    def possible(self) -> Mask:
        """Which cells can hold a value at all: an interval needs a multiple of the step that is no atom."""
        found = np.ones(self.size, bool)
        if not self.ordered:
            found[self.inner] = self.kind != "boolean"
            return found
        found[self.inner] = self.edges.size > 0
        if self.kind == "time":  # none are before the year 1 or after 9999
            ends = np.r_[-np.inf, self.edges, np.inf]
            found[self.inner : -1] &= (ends[1:] > FIRST) & (ends[:-1] <= LAST)
        for i in range(1, len(self.edges) if self.step else 0):
            points = self._points(i)
            found[self.inner + i] = points is None or points.size > 0
        return found

    def _points(self, i: int) -> Values | None:
        """The multiples of the step in interval i that are no atoms, where they are few enough to be listed."""
        assert self.step is not None
        low, high = np.ceil(self.edges[i - 1 : i + 1] / self.step - 1e-9)
        if not high - low <= LISTED:
            return None
        points: Values = self._multiple(np.arange(low, high))
        if len(self.atoms) and self.atoms.dtype.kind == "i":
            points = whole(points)
        return np.setdiff1d(points, self.atoms)

    def _multiple(self, times: Floats) -> Floats:
        """So many times the step; of decimals the nearest floats."""
        assert self.step is not None
        return times * self.step if self.step >= 1 else np.round(times * self.step, 6)

    def values(self, cells: Codes, rng: np.random.Generator) -> tuple[Values, Mask]:
        """A value for each row from its cell, and which rows are missing. Other categories have one name for all."""
        if not self.ordered:
            return self._categories(cells)
        atom = cells < self.inner
        missing = cells == self.size - 1
        out = np.zeros(cells.size, np.float64 if self.kind == "number" else np.int64)
        out[atom] = np.asarray(self.atoms)[cells[atom]] if atom.any() else 0
        if not self.edges.size:
            return out, ~atom
        for cell in np.unique(cells[~atom & ~missing]):
            rows = np.flatnonzero(cells == cell)
            even = rng.permutation((np.arange(rows.size) + rng.random()) / rows.size)
            drawn = self._inside(int(cell) - self.inner, even)
            out[rows] = drawn if self.kind == "number" else whole(drawn)
        return np.clip(out, FIRST, LAST) if self.kind == "time" else out, missing

    def _inside(self, i: int, u: Floats) -> Values:
        """Values in interval i, at shares u of it."""
        e = self.edges
        if self.step and 0 < i < len(e) and (points := self._points(i)) is not None:
            drawn: Values = points[(u * points.size).astype(np.int64)]
            return drawn
        with np.errstate(over="ignore"):
            if 0 < i < len(e):
                out = e[i - 1] * (1 - u) + e[i] * u
            else:  # beyond all tails: exponential
                end, sign = (e[-1], 1) if i else (e[0], -1)
                out = end - sign * (e[-1] - e[0]) * np.log1p(-u)
            out = self._multiple(np.floor(out / self.step)) if self.step else out
            inside: Values = np.clip(out, -LARGEST, LARGEST)
        return inside

    def _categories(self, cells: Codes) -> tuple[Values, Mask]:
        """Categories in an array of their kind; those that have no value of it are missing."""
        named = OTHER if self.kind in ("text", "any", "other") else None
        labels = [*self.atoms, named, None]
        gone = np.array([label is None for label in labels])
        if self.kind == "boolean":
            held = np.array([bool(label) for label in labels])
        elif self.kind in ("integer", *TIMED):
            held = numbers(labels, self.kind)[0]
        elif self.kind == "number":
            held = np.nan_to_num(numbers(labels, self.kind)[0])
        else:
            held = np.fromiter(labels, object, len(labels))
        drawn: Values = held[cells]
        return drawn, gone[cells]
