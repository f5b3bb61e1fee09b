"""Exact order statistics: a sample, a count, and a fetch of a few rows, wherever the rows are.

The rows around a rank lie, most likely, between two values of a random sample, a few standard deviations to the left
and to the right. Such values are pivots: it is counted how many units lie below and up to each, and what is in doubt
then is only the rows strictly between two pivots. Few enough of them are fetched, too many are sampled again. A sample
decides how long it takes, never what comes out. Rows tied with a pivot are never fetched, so ties cost nothing.

Places are counted in units, of which a row may have several (`uptack.table.unit`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from uptack.errors import UptackError
from uptack.table.exact_sum import Floats, as_integer, exact_sum
from uptack.table.snapshots import CHANGED
from uptack.table.unit import ROOM, ROW, Integers, PrivacyUnit, roomy, wide

Window = tuple[int, int]
SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")

SMALL = 1 << 17
"""So many rows of an engine are fetched without sampling first."""
FETCHED = 1 << 22
"""Rows that may be fetched of a larger table."""
SAMPLED = 1 << 22
"""Rows that may be sampled."""
ROUNDS = 12
"""Samples, at most: after so many the rest is fetched, however much it is."""
DEVIATIONS = 4.0
"""How far pivots are from the rank they enclose. One in 10^4 of them misses it, which costs another sample."""


class WeightedRows(NamedTuple):
    """Values of rows, and their weights in units; None for one unit each."""

    values: NDArray[Any]
    weights: Integers | None = None

    def sorted(self) -> WeightedRows:
        if self.weights is None:
            return WeightedRows(np.sort(self.values))
        order = np.argsort(self.values)
        return WeightedRows(self.values[order], self.weights[order])


class PivotCounts(NamedTuple):
    """Units of the rows below each pivot and up to it, and how many rows these are."""

    below: list[int]
    up_to: list[int]
    rows_below: list[int]
    rows_up_to: list[int]


@dataclass(frozen=True)
class Gap:
    """The rows strictly between two values, with the units first..last; None: no end on that side."""

    low: float | None
    high: float | None
    first: int
    last: int
    rows: int
    before: int = 0
    """How many rows there are up to `low`."""

    def test(self, values: Any, end: Callable[[float], Any] = float) -> Any:
        """The condition that values lie in it, of an array or of an expression; None if it has no ends."""
        above = None if self.low is None else values > end(self.low)
        below = None if self.high is None else values < end(self.high)
        return below if above is None else above if below is None else above & below


# -------------------------------------------------------------------------------------------------------------- answers


@dataclass(frozen=True)
class Piece:
    """Units first..last of sorted values; one value stands for all of them.

    `ends` has the last unit of each value; None where each has one unit.
    """

    first: int
    last: int
    values: NDArray[Any]
    ends: Integers | None = None

    def at(self, places: Integers) -> NDArray[Any]:
        if self.ends is not None:
            return self.values[np.searchsorted(self.ends, places)]
        return self.values[np.minimum(places - self.first, self.values.size - 1).astype(np.int64, copy=False)]

    def ties(self, value: float) -> Window:
        """The first and the last place of a value among them."""
        if self.values.size == 1:
            return self.first, self.last
        below, up_to = (int(np.searchsorted(self.values, value, side)) for side in SIDES)
        if self.ends is None:
            return self.first + below, self.first + up_to - 1
        return int(self.ends[below - 1]) + 1 if below else self.first, int(self.ends[up_to - 1])

    def jumps(self) -> tuple[NDArray[Any], Integers]:
        """Its values, each once, and the last place of each."""
        if self.values.size == 1:
            return self.values, np.array([self.last], np.int64 if self.last < ROOM else object)
        lasts = np.flatnonzero(np.append(self.values[1:] != self.values[:-1], True))
        return self.values[lasts], (np.arange(self.first, self.last + 1) if self.ends is None else self.ends)[lasts]


Between = Callable[[float, float, int, int], int]
"""Σ x(r) over the ranks strictly between two values, in units of 2^-1074. Their places are after so many units up to
the lower value, and before the first of the higher one."""


@dataclass(frozen=True, eq=False)
class Order:
    """x(1) ≤ ... ≤ x(n) inside windows of ranks; -inf before and +inf after. Missing values come last, as NaN.

    `between` adds up the values between two windows.
    """

    n: int
    pieces: Sequence[Piece]
    between: Between
    unit: PrivacyUnit = ROW
    _totals: dict[Window, int] = field(default_factory=dict, repr=False)

    def at(self, ranks: NDArray[np.int64]) -> Floats:
        """x(r) for ranks inside the windows; -inf for r < 1 and +inf for r > n."""
        found = np.where(ranks < 1, -np.inf, np.where(ranks > self.n, np.inf, np.nan))
        inside, places = (ranks >= 1) & (ranks <= self.n), ranks
        if self.unit.most > 1:
            places = self.unit.place(wide(np.clip(ranks, 0, self.n + 1), (self.n + 1) * self.unit.most))
        for piece in self.pieces:
            here = inside & (places >= piece.first) & (places <= piece.last)
            found[here] = piece.at(places[here]).astype(np.float64) + 0.0  # -0.0 is 0.0: ties have no order
        return found

    def total(self, first: int, last: int) -> int:
        """Σ of x(first), ..., x(last) in units of 2^-1074, exactly; both ends must lie in windows. Added up once."""
        if (first, last) not in self._totals:
            self._totals[first, last] = self._total(first, last) if first <= last else 0
        return self._totals[first, last]

    def _total(self, first: int, last: int) -> int:
        """Ranks tied with the lowest, ranks between, ranks tied with the highest."""
        start, end = self._piece(first), self._piece(last)
        if start is end and start.values.size > 1:
            ranks = wide(np.arange(first, last + 1), (last + 1) * self.unit.most)
            return exact_sum(start.at(self.unit.place(ranks)).astype(np.float64, copy=False))
        low, high = (float(self.at(np.array([rank]))[0]) for rank in (first, last))
        if low == high:
            return as_integer(low) * (last - first + 1)
        up_to, below = start.ties(low)[1], end.ties(high)[0] - 1
        lows, highs = self.unit.ranks(up_to) - first + 1, last - self.unit.ranks(below)
        return int(as_integer(low) * lows + self.between(low, high, up_to, below) + as_integer(high) * highs)

    def jumps(self, first: int, last: int) -> tuple[Floats, Integers]:
        """The values from x(first) to x(last), each once, and F(v), the units up to it. Both ranks are of one window.

        Ranks before the first one and after the last stand for all values on that side.
        """
        low, high = self.at(np.array([first, last]))
        parts = [piece.jumps() for piece in sorted(self.pieces, key=lambda piece: piece.first)]
        if not parts:
            return np.empty(0), np.empty(0, np.int64)
        values, ends = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        values = values.astype(np.float64, copy=False) + 0.0
        here = (values >= low) & (values <= high)
        here[:-1] &= values[1:] != values[:-1]  # integers beyond 2^53 may be one float
        return values[here], ends[here]

    def _piece(self, rank: int) -> Piece:
        place = self.unit.place(rank)
        return next(piece for piece in self.pieces if piece.first <= place <= piece.last)


def sum_of_ranks(rows: WeightedRows, before: int, unit: PrivacyUnit) -> int:
    """Σ of x(r) over the ranks whose place lies in sorted rows, after so many units, in units of 2^-1074."""
    assert rows.weights is not None
    ends = before + np.cumsum(roomy(rows.weights, before))
    times = unit.ranks(ends) - unit.ranks(ends - rows.weights)
    return exact_sum(np.repeat(rows.values, times.astype(np.int64, copy=False)).astype(np.float64, copy=False))


# ----------------------------------------------------------------------------------------------------------- the search


class Scans(Protocol):
    """Rows with a value of several columns. Each question is about all columns that ask it: one query, if it can be."""

    @property
    def small(self) -> int:
        """So many rows are fetched without sampling first."""

    @property
    def fetched(self) -> int:
        """So many rows are fetched after a first sample."""

    def sample(self, asked: Mapping[int, tuple[Sequence[Gap], float]]) -> Mapping[int, WeightedRows]:
        """About such a part of the rows in the gaps of each column, at random."""

    def count(self, asked: Mapping[int, Sequence[float]]) -> Mapping[int, PivotCounts]:
        """Units and rows at the pivots of each column."""

    def fetch(self, asked: Mapping[int, Sequence[Gap]]) -> Mapping[int, WeightedRows]:
        """All rows in the gaps of each column."""

    def between(self, column: int, low: float, high: float, before: int, last: int) -> int:
        """Σ of x(r) strictly between two values of a column: see `Between`."""


class Size(NamedTuple):
    """The n of a column, and the units and the rows that have a value."""

    n: int
    units: int
    rows: int


def orders(scans: Scans, unit: PrivacyUnit, sizes: Mapping[int, Size], windows: Sequence[Window]) -> dict[int, Order]:
    """The same windows of several columns. Searches go on side by side: what they ask at the same time is one scan."""
    whole = {column: Gap(None, None, 1, size.units, size.rows) for column, size in sizes.items()}
    searches = {column: search(scans, whole[column], _places(windows, sizes[column], unit)) for column in sizes}
    found, waiting = dict[int, list[Piece]](), dict[int, tuple[str, Any]]()

    def go_on(column: int, answer: Any) -> None:
        try:
            waiting[column] = searches[column].send(answer)
        except StopIteration as end:
            found[column] = end.value

    for column in searches:
        go_on(column, None)
    while waiting:
        asked, waiting = waiting, {}
        for question in ("sample", "count", "fetch"):
            some = {column: what for column, (word, what) in asked.items() if word == question}
            for column, answer in (getattr(scans, question)(some) if some else {}).items():
                go_on(column, answer)
    return {
        column: Order(size.n, found[column], partial(scans.between, column), unit) for column, size in sizes.items()
    }


def _places(windows: Sequence[Window], size: Size, unit: PrivacyUnit) -> list[Window]:
    """Windows of ranks as places. One that begins before all ranks has all rows from the first on."""
    wanted = [(a, b) for a, b in windows if a <= b and b >= 1 and a <= size.n]
    firsts = [unit.place(a) if a >= 1 else 1 for a, _ in wanted]
    lasts = [min(unit.place(b), size.units) if b <= size.n else size.units for _, b in wanted]
    return [(a, b) for a, b in zip(firsts, lasts, strict=True) if a <= b]


def search(scans: Scans, whole: Gap, windows: Sequence[Window]) -> Generator[tuple[str, Any], Any, list[Piece]]:
    """Known rows that cover the windows, which are of places: asks for one thing after the other."""
    known, gaps = list[Piece](), _gaps_of_windows([whole], windows)
    asked = 2 * sum(b - a + 1 for a, b in windows) * whole.rows / max(whole.last, 1)
    for turn in range(ROUNDS):
        if (rows := sum(gap.rows for gap in gaps)) <= max(scans.fetched if turn else scans.small, asked):
            break
        sample = (yield "sample", (gaps, min(sample_size(rows) / rows, 1.0))).sorted()
        pivots = [_pivots(gap, sample, windows) for gap in gaps]
        counted, start, parts = (yield "count", [p for some in pivots for p in some]), 0, list[Gap]()
        for gap, some in zip(gaps, pivots, strict=True):
            here = PivotCounts(*(line[start : start + len(some)] for line in counted))
            start += len(some)
            runs, rest = _split_gap(gap, some, here)
            known += runs
            parts += _gaps_of_windows(rest, windows)
        gaps = parts
    found = (yield "fetch", gaps).sorted() if gaps else WeightedRows(np.empty(0))
    return known + list(_gap_pieces(found, gaps))


def sample_size(rows: int) -> int:
    """How many rows to sample of so many: c·rows^(2/3), for then about as many lie between the pivots."""
    return int(min(4 * rows ** (2 / 3), SAMPLED))


def _gap_pieces(found: WeightedRows, gaps: Sequence[Gap]) -> Iterator[Piece]:
    """The rows of the gaps themselves, which must be as many as were counted."""
    if found.values.size != sum(gap.rows for gap in gaps):
        raise UptackError(CHANGED)
    start = 0
    for gap in gaps:
        here = slice(start, start := start + gap.rows)
        ends = None if found.weights is None else gap.first - 1 + np.cumsum(wide(found.weights[here], gap.last))
        if ends is not None and ends[-1] != gap.last:
            raise UptackError(CHANGED)
        yield Piece(gap.first, gap.last, found.values[here], ends)


def _gaps_of_windows(gaps: Sequence[Gap], windows: Sequence[Window]) -> list[Gap]:
    """The gaps that hold places of a window."""
    return [gap for gap in gaps if any(a <= gap.last and b >= gap.first for a, b in windows)]


def _pivots(gap: Gap, sample: WeightedRows, windows: Sequence[Window]) -> list[float]:
    """Values of a sorted sample that enclose, most likely, the places of each window in the gap.

    A share p of the gap's units is found up to a standard deviation of sqrt(p(1 - p)/k), where k = (Σw)²/Σw² is the
    number of rows that the weighted sample is worth.
    """
    start = 0 if gap.low is None else int(np.searchsorted(sample.values, gap.low, "right"))
    end = sample.values.size if gap.high is None else int(np.searchsorted(sample.values, gap.high, "left"))
    if start >= end:
        return []
    weights = np.ones(end - start) if sample.weights is None else sample.weights[start:end].astype(np.float64)
    sums, worth = np.cumsum(weights), float(weights.sum() ** 2 / np.square(weights).sum())
    total, found = float(sums[-1]), set[float]()
    for a, b in windows:
        if a > gap.last or b < gap.first:
            continue
        for place, outward in ((max(a, gap.first), -1), (min(b, gap.last), 1)):
            share = (place - gap.first + 0.5) / (gap.last - gap.first + 1)
            target = total * (share + outward * (DEVIATIONS * np.sqrt(worth * share * (1 - share)) + 1) / worth)
            if 0 <= target < total:
                found.add(float(sample.values[start + int(np.searchsorted(sums, target, "right"))]) + 0.0)
    return sorted(found)


def _split_gap(gap: Gap, pivots: Sequence[float], counted: PivotCounts) -> tuple[list[Piece], list[Gap]]:
    """The rows tied with each pivot, and the gaps between the pivots."""
    runs = [
        Piece(below + 1, up_to, np.array([value]))
        for value, below, up_to in zip(pivots, counted.below, counted.up_to, strict=True)
        if up_to > below
    ]
    sides = zip(
        [gap.low, *pivots],
        [*pivots, gap.high],
        [gap.first - 1, *counted.up_to],
        [*counted.below, gap.last],
        [gap.before, *counted.rows_up_to],
        [*counted.rows_below, gap.before + gap.rows],
        strict=True,
    )
    return runs, [Gap(low, high, a + 1, b, after - q, q) for low, high, a, b, q, after in sides if b > a]
