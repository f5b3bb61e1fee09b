"""How many rows must change before a minimiser of Σ|y_i - u_i·β| leaves a cell (the query Q_2 of R_H), in O(n log n).

**Certificate.** Rows have ‖u_i‖ = 1 (or 0). Let C be a box with centre c. At a point b of its boundary let
d = (b - c)/‖b - c‖, and let φ(b) be the least g·d over the subgradients g of the sum at b: each row adds the derivative
±u_i·d of its own term, and -|u_i·d| if b lies on its hyperplane. The certificate is the least φ(b) on the boundary.

1. *It is a lower bound of the answer to Q_2.* Along a ray from c derivatives grow, so a point β beyond b has
   g·d ≥ φ(b) for each subgradient g: no point outside C has a subgradient shorter than the certificate. One added or
   removed row changes a subgradient by at most 1, and a minimiser has the subgradient 0.
2. *It is 1-Lipschitz in added and removed rows*, 2-Lipschitz in replaced ones: at each b a row adds at most 1 in size.

For p = 2 the least value is exact: along each edge rows change sign at their crossings, and between two of them the
least G·d over an arc of directions is at an end, or -‖G‖ if -G points into it. For other p each facet is halved along
all its sides, a fixed number of times. In a box Q of centre c + v and half-widths e, with R = ‖|v| + e‖ and G the
gradient of the rows that miss Q, the least φ is at least (G·v - |G|·e - Σ max|u_i·(v ± e)|)/R, the sum over the rows
that cross Q, where this is positive; and by the same count it is 1-Lipschitz. The certificate is the least over the
smallest boxes of the best bound among the boxes they lie in. Maxima and minima keep the constant, and a box whose bound
is good enough need not be halved. For p = 1 a facet is a point, and the value is exact.

**Rounding.** A sign is taken as known only where the residual exceeds its error bound, and a crossing is an interval as
long as its error; inside, a row counts -|u_i·d|. So errors of residuals only lower the value, row by row. Gradients are
sums of integers, u_i in units of 2^-36, hence exact up to 2^26 rows; that rounding and the few float operations
after it come to less than 2^-34 a row, which is taken off the result: it never exceeds the exact value, and is less by
at most 2^-33·n.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uptack.reach.protocol import Floats

Integers = NDArray[np.int64]

UNIT = 2.0**36
ALLOWANCE = 2.0**-34
"""What rounding may come to, for each row."""

ERROR = 2.0**-50
"""The error of y - u·β over |y| + Σ|u_j·β_j|: below (p + 2)·2^-53 for p ≤ 4, with some room."""

DEPTH = {1: 0, 3: 5, 4: 4}
"""How often a facet is halved, by p: public, as the constant of the certificate needs it."""

BATCH = 256
"""Boxes that are looked at together."""

CHUNK = 1 << 16
"""Integer sums of so many rows of 36 bits are exact in floats."""


@dataclass(frozen=True)
class Cell:
    """The box of all β with low ≤ β < high."""

    low: Floats
    high: Floats

    @property
    def centre(self) -> Floats:
        """The middle."""
        return self.low + (self.high - self.low) / 2


class Hyperplanes:
    """The rows of a table, made ready for questions about cells inside one box: most of them don't come near it."""

    def __init__(self, u: Floats, y: Floats, around: Cell) -> None:
        self.n, self.p = u.shape
        middle, half = around.centre, (around.high - around.low) / 2
        r = y - u @ middle
        far = np.abs(r) > np.abs(u) @ (half * (1 + 2**-40)) + ERROR * (np.abs(y) + np.abs(u) @ _size(around))
        signs = -np.sign(r[far]).astype(np.int64)
        self._far: Integers = (np.rint(u[far] * UNIT).astype(np.int64) * signs[:, None]).sum(axis=0)
        near = ~far & u.any(axis=1)
        self._u, self._y = u[near], y[near]
        self._whole = np.rint(self._u * UNIT)

    def certificate(self, cell: Cell) -> float:
        """The least number of added or removed rows, at the very least, that let a minimiser out of the cell."""
        return max(min(self._facets(cell, np.inf)), 0.0)

    def holds(self, cell: Cell, rows: float) -> bool:
        """Whether the certificate is at least so many rows: the search ends as soon as that is known."""
        return rows <= 0 or all(least >= rows for least in self._facets(cell, rows))

    def _facets(self, cell: Cell, enough: float) -> Iterator[float]:
        """The least value on each facet, or a number of at least `enough` where it is that large."""
        taken_off = self.n * ALLOWANCE
        for axis, side in itertools.product(range(self.p), (cell.low, cell.high)):
            if self.p == 2:
                yield self._edge(cell, axis, side[axis]) - taken_off
            else:
                yield self._facet(cell, axis, side[axis], enough + taken_off) - taken_off

    # ------------------------------------------------------------------------------------------------ p = 2: a sweep

    def _edge(self, cell: Cell, axis: int, side: float) -> float:
        """The least φ on one edge of a rectangle, exactly."""
        along, depth = 1 - axis, side - cell.centre[axis]
        low, high = cell.low[along], cell.high[along]
        across, slope = self._y - self._u[:, axis] * side, self._u[:, along]
        error = ERROR * (np.abs(self._y) + np.abs(self._u[:, axis] * side) + np.abs(slope) * max(abs(low), abs(high)))
        first, last = across - slope * low, across - slope * high
        known = (np.minimum(first, last) > error) | (np.maximum(first, last) < -error)
        steady = self._far - (self._whole[known] * np.sign(first[known])[:, None]).astype(np.int64).sum(axis=0)
        crossing = _Crossing.of(self._u[~known], across[~known], error[~known], slope[~known], low, high)
        penalty = np.ceil(UNIT * crossing.penalties(axis, depth, cell.centre[along])).astype(np.int64)
        jump = self._whole[~known].astype(np.int64) * np.sign(slope[~known]).astype(np.int64)[:, None]
        order = np.argsort(np.concatenate([crossing.start, crossing.end]), kind="stable")  # at a tie starts go first
        cuts = np.concatenate([[low], np.concatenate([crossing.start, crossing.end])[order], [high]])
        gradients = np.cumsum(np.vstack([steady - jump.sum(axis=0), np.vstack([jump, jump])[order]]), axis=0)
        penalties = np.cumsum(np.concatenate([[0], np.concatenate([penalty, -penalty])[order]]))
        lowest = _least_on_arcs(gradients / UNIT, _directions(cuts - cell.centre[along], axis, depth))
        return float((lowest - penalties / UNIT).min())

    # ---------------------------------------------------------------------------------------------- any p: sub-boxes

    def _facet(self, cell: Cell, axis: int, side: float, enough: float) -> float:
        """A lower bound of φ on one facet. If it is below `enough`, then with `enough` finite any number below."""
        middle, half = cell.centre, (cell.high - cell.low) / 2
        half[axis] = 0.0
        whole = np.where(np.arange(self.p) == axis, side - middle, 0.0)
        todo, least = [(0, whole[None, :], np.array([-np.inf]))], enough
        while todo:
            level, offsets, known = todo.pop()
            if len(offsets) > BATCH:
                order = np.argsort(-known, kind="stable")
                rest, now = order[:-BATCH], order[-BATCH:]
                todo.append((level, offsets[rest], known[rest]))
                offsets, known = offsets[now], known[now]
            bounds = np.maximum(known, self._bounds(cell, offsets, half * 0.5**level))
            low = bounds < enough
            if level < DEPTH[self.p]:
                todo.append((level + 1, *_halved(offsets[low], bounds[low], half * 0.5 ** (level + 1), axis)))
            else:
                least = min(least, float(bounds.min(initial=np.inf)))
                if low.any() and np.isfinite(enough):
                    break
        return least

    def _bounds(self, cell: Cell, offsets: Floats, half: Floats) -> Floats:
        """The lower bounds of φ on boxes with centres c + offset and the same half-widths."""
        middle, wider = cell.centre, half * (1 + 2**-40)
        largest = np.linalg.norm(np.abs(offsets) + wider, axis=1)
        gradient = np.tile(self._far, (len(offsets), 1))
        penalty = np.zeros(len(offsets))
        for rows in self._chunks(max(1, min(CHUNK, (1 << 21) // max(len(offsets), 1)))):
            u, y = self._u[rows], self._y[rows]
            part, blur = u @ offsets.T, np.abs(u) @ wider
            r = (y - u @ middle)[:, None] - part
            error = 2 * ERROR * (np.abs(y) + np.abs(u) @ _size(cell))
            crosses = np.abs(r) <= (blur + error)[:, None]
            gradient -= (np.where(crosses, 0.0, np.sign(r)).T @ self._whole[rows]).astype(np.int64)
            penalty += np.where(crosses, np.abs(part) + blur[:, None], 0.0).sum(axis=0)
        slope = gradient / UNIT
        bounds: Floats = ((slope * offsets).sum(axis=1) - np.abs(slope) @ wider - penalty) / largest
        return bounds

    def _chunks(self, size: int) -> Iterator[slice]:
        return (slice(start, start + size) for start in range(0, len(self._y), size))


def _size(cell: Cell) -> Floats:
    """The largest |β_j| in a cell."""
    return np.maximum(np.abs(cell.low), np.abs(cell.high))


def _halved(offsets: Floats, bounds: Floats, half: Floats, axis: int) -> tuple[Floats, Floats]:
    """The centres of the boxes of half the size, with the bounds of those they lie in."""
    signs = [(0.0,) if j == axis else (-1.0, 1.0) for j in range(half.size)]
    moves = np.array(list(itertools.product(*signs))) * half
    return (offsets[:, None, :] + moves).reshape(-1, half.size), np.repeat(bounds, len(moves))


@dataclass(frozen=True)
class _Crossing:
    """Where rows change sign along an edge: not before `start` and not after `end`."""

    u: Floats
    start: Floats
    end: Floats

    @staticmethod
    def of(u: Floats, across: Floats, error: Floats, slope: Floats, low: float, high: float) -> _Crossing:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            at, blur = across / slope, 2 * error / np.abs(slope) + 2 * ERROR * np.abs(across / slope)
            start, end = at - blur, at + blur
        start, end = np.where(np.isnan(start), low, start), np.where(np.isnan(end), high, end)
        return _Crossing(u, np.clip(start, low, high), np.clip(end, low, high))

    def penalties(self, axis: int, depth: float, centre: float) -> Floats:
        """At least |u_i·d| for all d between start and end: d turns by at most 1/|depth| per step along the edge."""
        d = _directions(self.start - centre, axis, depth)
        turned = (self.end - self.start) / abs(depth)
        size: Floats = np.minimum(np.abs((self.u * d).sum(axis=1)) + turned, 1.0)
        return size


def _directions(offsets: Floats, axis: int, depth: float) -> Floats:
    """Unit vectors from the centre to points of an edge."""
    v = np.empty((offsets.size, 2))
    v[:, axis], v[:, 1 - axis] = depth, offsets
    unit: Floats = v / np.hypot(v[:, 0], v[:, 1])[:, None]
    return unit


def _least_on_arcs(gradients: Floats, d: Floats) -> Floats:
    """The least G·d over the arc between each two neighbouring directions."""
    ends: Floats = np.minimum((gradients * d[:-1]).sum(axis=1), (gradients * d[1:]).sum(axis=1))
    turn = np.sign(_cross(d[:-1], d[1:]))
    # An arc of an edge is shorter than a half turn, so where -G lies inside it one end has a negative value; asking for
    # that keeps rounding from turning a tiny arc along +G into one along -G.
    inside = (ends < 0) & (_cross(d[:-1], -gradients) * turn > 0) & (_cross(-gradients, d[1:]) * turn > 0)
    return np.where(inside, -np.hypot(gradients[:, 0], gradients[:, 1]), ends)


def _cross(a: Floats, b: Floats) -> Floats:
    area: Floats = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    return area
