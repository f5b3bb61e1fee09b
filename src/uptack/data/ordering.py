"""Exact order statistics of rows that stay where they are: a sample, a count, and a fetch of a few rows.

The rows around a rank lie, most likely, between two values of a random sample, a few standard deviations to the left
and to the right. Such values are pivots: the engine counts how many rows lie below and up to each, and what is in doubt
then is only the rows strictly between two pivots. Few enough of them are fetched, too many are sampled again. A sample
decides how long it takes, never what comes out. Rows tied with a pivot are never fetched, so ties cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from uptack.columns.selection import Floats, Window, as_integer, exact_sum
from uptack.data.states import CHANGED
from uptack.errors import UptackError

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


@dataclass(frozen=True)
class Gap:
    """The rows strictly between two values, of ranks first to last. None: no bound on that side."""

    low: float | None
    high: float | None
    first: int
    last: int

    @property
    def rows(self) -> int:
        """How many."""
        return self.last - self.first + 1


@dataclass(frozen=True)
class Known:
    """Rows of ranks first, first + 1, ... whose values are known; a single value stands for all of them."""

    first: int
    last: int
    values: Floats

    def at(self, ranks: NDArray[np.int64]) -> Floats:
        """Their values by rank."""
        return self.values[np.minimum(ranks - self.first, self.values.size - 1)]

    def ties(self, value: float) -> Window:
        """The first and the last rank of a value among them."""
        if self.values.size == 1:
            return self.first, self.last
        ends = (np.searchsorted(self.values, value, side) for side in ("left", "right"))
        below, up_to = (int(end) for end in ends)
        return self.first + below, self.first + up_to - 1


class Scans(Protocol):
    """What an engine is asked to do with the rows that have a value."""

    def counts(self, pivots: Sequence[float]) -> tuple[list[int], list[int]]:
        """How many rows are below each pivot, and how many are up to it, in one scan."""
        ...

    def sample(self, gaps: Sequence[Gap], part: float) -> Floats:
        """About such a part of the rows in the gaps, at random."""
        ...

    def fetch(self, gaps: Sequence[Gap]) -> Floats:
        """All rows in the gaps."""
        ...

    def between(self, low: float, high: float) -> int:
        """Σ of the rows strictly between two values in units of 2^-1074, exactly."""
        ...


class Selected:
    """x(1) ≤ ... ≤ x(n) inside windows of ranks; rows without a value come last, as NaN."""

    def __init__(self, scans: Scans, n: int, valued: int, windows: Sequence[Window]) -> None:
        self.n, self._valued, self._scans = n, valued, scans
        inside = [(max(a, 1), min(b, valued)) for a, b in windows if a <= valued and b >= 1 and a <= b]
        self._pieces = list(_pieces(scans, valued, inside))
        self._totals: dict[Window, int] = {}

    def at(self, ranks: NDArray[np.int64]) -> Floats:
        """x(r) for ranks inside the windows; -inf for r < 1 and +inf for r > n."""
        found = np.where(ranks < 1, -np.inf, np.where(ranks > self.n, np.inf, np.nan))
        for piece in self._pieces:
            here = (ranks >= piece.first) & (ranks <= piece.last)
            found[here] = piece.at(ranks[here])
        return found

    def total(self, first: int, last: int) -> int:
        """Σ of x(first), ..., x(last) in units of 2^-1074; both ends must lie in windows. Each is added up once."""
        if (first, last) not in self._totals:
            self._totals[first, last] = self._total(first, last) if first <= last else 0
        return self._totals[first, last]

    def _total(self, first: int, last: int) -> int:
        """Rows tied with the lowest, rows between, rows tied with the highest."""
        start, end = self._piece(first), self._piece(last)
        if start is end and start.values.size > 1:
            return exact_sum(start.values[first - start.first : last - start.first + 1])
        low, high = (float(piece.at(np.array([rank]))[0]) for piece, rank in ((start, first), (end, last)))
        if low == high:
            return as_integer(low) * (last - first + 1)
        lows, highs = start.ties(low)[1] - first + 1, last - end.ties(high)[0] + 1
        return as_integer(low) * lows + self._scans.between(low, high) + as_integer(high) * highs

    def _piece(self, rank: int) -> Known:
        return next(piece for piece in self._pieces if piece.first <= rank <= piece.last)


def _pieces(scans: Scans, n: int, windows: Sequence[Window]) -> Iterator[Known]:
    """Known rows that cover the windows."""
    gaps = _wanted([Gap(None, None, 1, n)], windows)
    asked = 2 * sum(b - a + 1 for a, b in windows)
    for turn in range(ROUNDS):
        if (rows := sum(gap.rows for gap in gaps)) <= max(FETCHED if turn else SMALL, asked):
            break
        sample = np.sort(scans.sample(gaps, min(sampled(rows) / rows, 1.0)))
        pivots = [_pivots(gap, sample, windows) for gap in gaps]
        below, up_to = scans.counts([float(p) for some in pivots for p in some])
        parts = []
        for gap, some in zip(gaps, pivots, strict=True):
            size = len(some)
            runs, rest = _split(gap, some, below[:size], up_to[:size])
            below, up_to = below[size:], up_to[size:]
            parts += _wanted(rest, windows)
            yield from runs
        gaps = parts
    values = np.sort(scans.fetch(gaps)) if gaps else np.empty(0)
    if values.size != sum(gap.rows for gap in gaps):
        raise UptackError(CHANGED)
    for gap in gaps:
        yield Known(gap.first, gap.last, values[: gap.rows])
        values = values[gap.rows :]


def sampled(rows: int) -> int:
    """How many rows to sample of so many: c·rows^(2/3), for then about as many lie between the pivots."""
    return int(min(4 * rows ** (2 / 3), SAMPLED))


def _wanted(gaps: Sequence[Gap], windows: Sequence[Window]) -> list[Gap]:
    """The gaps that hold ranks of a window."""
    return [gap for gap in gaps if any(a <= gap.last and b >= gap.first for a, b in windows)]


def _pivots(gap: Gap, sample: Floats, windows: Sequence[Window]) -> list[float]:
    """Values of a sorted sample that enclose, most likely, the ranks of each window in the gap."""
    start = 0 if gap.low is None else int(np.searchsorted(sample, gap.low, "right"))
    end = sample.size if gap.high is None else int(np.searchsorted(sample, gap.high, "left"))
    size, found = end - start, set[float]()
    for a, b in windows:
        if a > gap.last or b < gap.first:
            continue
        for rank, outward in ((max(a, gap.first), -1), (min(b, gap.last), 1)):
            share = (rank - gap.first + 0.5) / gap.rows
            place = size * share + outward * (DEVIATIONS * np.sqrt(size * share * (1 - share)) + 1)
            if 0 <= place < size:
                found.add(float(sample[start + int(place)]) + 0.0)
    return sorted(found)


def _split(gap: Gap, pivots: list[float], below: list[int], up_to: list[int]) -> tuple[list[Known], list[Gap]]:
    """The rows tied with each pivot, and the gaps between the pivots."""
    runs = [
        Known(less + 1, most, np.array([value]))
        for value, less, most in zip(pivots, below, up_to, strict=True)
        if most > less
    ]
    bounds, starts, ends = [gap.low, *pivots, gap.high], [gap.first - 1, *up_to], [*below, gap.last]
    gaps = [
        Gap(low, high, start + 1, end)
        for low, high, start, end in zip(bounds[:-1], bounds[1:], starts, ends, strict=True)
        if end > start
    ]
    return runs, gaps
