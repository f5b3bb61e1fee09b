"""Exact order statistics of rows that stay where they are: a sample, a count, and a fetch of a few rows.

The rows around a rank lie, most likely, between two values of a random sample, a few standard deviations to the left
and to the right. Such values are pivots: the engine counts how many rows lie below and up to each, and what is in doubt
then is only the rows strictly between two pivots. Few enough of them are fetched, too many are sampled again. A sample
decides how long it takes, never what comes out. Rows tied with a pivot are never fetched, so ties cost nothing.

Rows may have weights, whole numbers of *units*, as the rows of people do: see `uptack.columns.people`. Then places are
counted in units. With F(v) = the units of all rows up to v and U units to a rank,

    x(r) = the least v with F(v) ≥ (r - 1/2)·U,

which for rows of one unit each and U = 1 is the order statistic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from uptack.columns.selection import Floats, Window, as_integer, exact_sum
from uptack.columns.units import Integers, wide
from uptack.data.asking import Alone, Count, Fetch, Sample, Scans, Search, Together, together
from uptack.data.places import Counted, Gap, Known, Scale, Weighed
from uptack.errors import UptackError
from uptack.table.snapshots import CHANGED

SMALL = 1 << 17
"""So many rows are fetched without more ado."""
FETCHED = 1 << 22
"""Rows that may be fetched of a larger table."""
SAMPLED = 1 << 22
"""Rows that may be sampled."""
ROUNDS = 12
"""Samples, at most: after so many the rest is fetched, however much it is."""
DEVIATIONS = 4.0
"""How far pivots are from the rank they enclose. One in 10^4 of them misses it, which costs another sample."""


class Selected:
    """x(1) ≤ ... ≤ x(n) inside windows of ranks; what has no value comes last, as NaN.

    `valued` are the units of the rows with a value, which are so many `rows`: as many as units, if nobody says.
    """

    def __init__(
        self,
        scans: Scans,
        n: int,
        valued: int,
        windows: Sequence[Window],
        *,
        scale: Scale | None = None,
        rows: int | None = None,
    ) -> None:
        self.n, self._scans, self._scale = n, scans, scale or Scale()
        whole = Gap(None, None, 1, valued, valued if rows is None else rows, 0)
        self._pieces = together(Alone(scans), {0: search(whole, _inside(windows, n, valued, self._scale))})[0]
        self._totals: dict[Window, int] = {}

    @staticmethod
    def several(
        scans: Together,
        alone: Mapping[int, Scans],
        n: int,
        valued: int,
        windows: Sequence[Window],
        *,
        scale: Scale | None = None,
        rows: int | None = None,
    ) -> dict[int, Selected]:
        """The same windows of several columns that have a value in each row. Scans are shared by all of them."""
        made = {column: Selected(each, n, valued, (), scale=scale, rows=rows) for column, each in alone.items()}
        inside = _inside(windows, n, valued, scale or Scale())
        whole = Gap(None, None, 1, valued, valued if rows is None else rows, 0)
        found = together(scans, {column: search(whole, inside) for column in alone})
        for column, one in made.items():
            one._pieces = found[column]
        return made

    def at(self, ranks: NDArray[np.int64]) -> Floats:
        """x(r) for ranks inside the windows; -inf for r < 1 and +inf for r > n."""
        found = np.where(ranks < 1, -np.inf, np.where(ranks > self.n, np.inf, np.nan))
        places = self._scale.places(np.clip(ranks, 0, self.n + 1))
        for piece in self._pieces:
            here = (places >= piece.first) & (places <= piece.last) & (ranks >= 1) & (ranks <= self.n)
            found[here] = piece.at(places[here])
        return found

    def jumps(self, first: int, last: int) -> tuple[Floats, Integers]:
        """The values v with x(first) ≤ v ≤ x(last), each once, and F(v). The ranks are of one window."""
        low, high = self.at(np.array([first, last]))
        parts = [piece.jumps() for piece in sorted(self._pieces, key=lambda piece: piece.first)]
        values = np.concatenate([part[0] for part in parts]) if parts else np.empty(0)
        ends = np.concatenate([part[1] for part in parts]) if parts else np.empty(0, np.int64)
        here = (values >= low) & (values <= high)
        return values[here], ends[here]

    def total(self, first: int, last: int) -> int:
        """Σ of x(first), ..., x(last) in units of 2^-1074; both ends must lie in windows. Each is added up once."""
        if (first, last) not in self._totals:
            self._totals[first, last] = self._total(first, last) if first <= last else 0
        return self._totals[first, last]

    def _total(self, first: int, last: int) -> int:
        """Ranks tied with the lowest, ranks between, ranks tied with the highest."""
        start, end = self._piece(first), self._piece(last)
        if start is end and start.values.size > 1:
            return exact_sum(start.at(self._scale.places(np.arange(first, last + 1))))
        low, high = (float(self.at(np.array([rank]))[0]) for rank in (first, last))
        if low == high:
            return as_integer(low) * (last - first + 1)
        up_to, below = start.ties(low)[1], end.ties(high)[0] - 1
        lows, highs = self._scale.ranks(up_to) - first + 1, last - self._scale.ranks(below)
        return int(as_integer(low) * lows + self._scans.between(low, high, up_to) + as_integer(high) * highs)

    def _piece(self, rank: int) -> Known:
        place = self._scale.place(rank)
        return next(piece for piece in self._pieces if piece.first <= place <= piece.last)


def _inside(windows: Sequence[Window], n: int, valued: int, scale: Scale) -> list[Window]:
    """Windows of ranks as places. One that begins before all ranks has all rows from the first on."""
    wanted = [(a, b) for a, b in windows if a <= b and b >= 1 and a <= n]
    firsts = [scale.place(a) if a >= 1 else 1 for a, _ in wanted]
    lasts = [min(scale.place(b), valued) if b <= n else valued for _, b in wanted]
    return [(a, b) for a, b in zip(firsts, lasts, strict=True) if a <= b]


def search(whole: Gap, windows: Sequence[Window]) -> Search:
    """Known rows that cover the windows, which are of places."""
    known, gaps = list[Known](), _wanted([whole], windows)
    asked = 2 * sum(b - a + 1 for a, b in windows) * whole.rows / max(whole.units, 1)
    for turn in range(ROUNDS):
        if (rows := sum(gap.rows for gap in gaps)) <= max(FETCHED if turn else SMALL, asked):
            break
        sample = (yield Sample(gaps, min(sampled(rows) / rows, 1.0))).sorted()
        pivots = [_pivots(gap, sample, windows) for gap in gaps]
        counted, start, parts = (yield Count([float(p) for some in pivots for p in some])), 0, list[Gap]()
        for gap, some in zip(gaps, pivots, strict=True):
            runs, rest = _split(gap, some, counted.cut(start, start + len(some)))
            start += len(some)
            parts += _wanted(rest, windows)
            known += runs
        gaps = parts
    found = (yield Fetch(gaps)).sorted() if gaps else Weighed(np.empty(0))
    return known + list(_fetched(found, gaps))


def _fetched(found: Weighed, gaps: Sequence[Gap]) -> Iterator[Known]:
    """The rows of the gaps themselves, which must be as many as were counted."""
    if found.values.size != sum(gap.rows for gap in gaps):
        raise UptackError(CHANGED)
    start = 0
    for gap in gaps:
        here = slice(start, start := start + gap.rows)
        ends = None if found.weights is None else gap.first - 1 + np.cumsum(wide(found.weights[here], gap.last))
        if ends is not None and ends[-1] != gap.last:
            raise UptackError(CHANGED)
        yield Known(gap.first, gap.last, found.values[here], ends)


def sampled(rows: int) -> int:
    """How many rows to sample of so many: c·rows^(2/3), for then about as many lie between the pivots."""
    return int(min(4 * rows ** (2 / 3), SAMPLED))


def _wanted(gaps: Sequence[Gap], windows: Sequence[Window]) -> list[Gap]:
    """The gaps that hold places of a window."""
    return [gap for gap in gaps if any(a <= gap.last and b >= gap.first for a, b in windows)]


def _pivots(gap: Gap, sample: Weighed, windows: Sequence[Window]) -> list[float]:
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
            share = (place - gap.first + 0.5) / gap.units
            aside = (DEVIATIONS * np.sqrt(worth * share * (1 - share)) + 1) / worth
            target = total * (share + outward * aside)
            if 0 <= target < total:
                found.add(float(sample.values[start + int(np.searchsorted(sums, target, "right"))]) + 0.0)
    return sorted(found)


def _split(gap: Gap, pivots: list[float], counted: Counted) -> tuple[list[Known], list[Gap]]:
    """The rows tied with each pivot, and the gaps between the pivots."""
    runs = [
        Known(less + 1, most, np.array([value]))
        for value, less, most in zip(pivots, counted.below, counted.up_to, strict=True)
        if most > less
    ]
    bounds = [gap.low, *pivots, gap.high]
    starts, ends = [gap.first - 1, *counted.up_to], [*counted.below, gap.last]
    rows_up_to = counted.up_to if counted.rows_up_to is None else counted.rows_up_to
    rows_below = counted.below if counted.rows_below is None else counted.rows_below
    befores, afters = [gap.before, *rows_up_to], [*rows_below, gap.before + gap.rows]
    sides = zip(bounds[:-1], bounds[1:], starts, ends, befores, afters, strict=True)
    gaps = [
        Gap(low, high, start + 1, end, after - before, before)
        for low, high, start, end, before, after in sides
        if end > start
    ]
    return runs, gaps
