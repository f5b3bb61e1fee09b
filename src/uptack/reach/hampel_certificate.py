"""How many rows must change before a minimiser of Σ|y_i - u_i·β| leaves a cell, in O(n log n): R_H's query Q_2.

**Certificate.** Rows have ‖u_i‖ = 1 (or 0). Let C be a box with centre c. At a point b of its boundary let
d = (b - c)/‖b - c‖, and let φ(b) be the least g·d over the subgradients g of the sum at b: each row adds the derivative
±u_i·d of its own term, and -|u_i·d| if b lies on its hyperplane. The certificate is the least φ(b) on the boundary.

1. *It is a lower bound of that number.* Along a ray from c derivatives grow, so a point β beyond b has
   g·d ≥ φ(b) for each subgradient g: no point outside C has a subgradient shorter than the certificate. One added or
   removed row changes a subgradient by at most 1, and a minimiser has the subgradient 0.
2. *It is 1-Lipschitz in added and removed rows*, 2-Lipschitz in replaced ones: at each b a row adds at most 1 in size.

**What is computed** is the same of other terms. With w_i = u_i up to 3.1·2^-36, in integers of 2^-36 and ‖w_i‖ ≤ 1,
row i adds f_i(b) = ±w_i·d where the sign of its residual is sure, and -P_i with |u_i·d|, |w_i·d| ≤ P_i ≤ 1 where it is
in doubt. What is sure, and P_i, are computed in floats from this row and the cell alone, by operations on single
numbers (a matrix product may round a row otherwise beside other rows). Let Φ(C) = max(0, least Σf_i on the boundary).

**Theorem.** (a) φ(b) ≥ Φ(C) - 3.1·2^-36·n at every b if Φ(C) > 0; (b) an added or removed row moves Φ(C) by at most 1;
(c) `certificate` is Φ(C) up to 2^-48·n. So up to n = `LARGEST` it is off by less than 2^-21 rows, and a certificate of
`DOUBT` rows says that all minimisers are in C.

*Proof.* (a) f_i(b) ≤ the least derivative of row i along d, but for |w_i·d - u_i·d|. (b) |f_i| ≤ 1 at every b. (c) The
sums of w_i and P_i are sums of integers below 2^63, which are exact; what is left is below.

*p = 2.* On an edge row i changes its sign at one point t_i (if it is not parallel), and is in doubt from s_i to e_i,
floats with s_i ≤ t_i ≤ e_i, with one P_i for all of that. So Σf_i is G·d - P between two neighbouring ends of such
intervals, with G and P fixed. If G·d - P > 0 at both, G·d > 0 on all of the arc, and least at one of them. Hence
Φ is the least over the ends, or 0 if one is not positive. Of the sums at several ends in one place the least has all
those rows in doubt, as starts go first; others have ±w_i·d in place of a -P_i, and are no less.

*Other p.* Each facet is halved along all its sides, a fixed number of times. In a box Q of centre c + v and half-widths
e let R = ‖|v| + e‖ ≥ ‖b - c‖, and let P_i·R be at least |u_i·v| + |u_i|·e, but P_i ≤ 1. Then Σf_i·‖b - c‖ is at least
N = G·v - |G|·e - R·ΣP_i, G of the rows that are sure on all of Q, and Σf_i ≥ N/R if N > 0. As G·v - |G|·e is the least
G·(v ± e), each row moves N/R by at most 1. Φ is the least over the smallest boxes of the best N/R among the boxes they
lie in: minima and maxima keep (a) and (b), and a box whose bound is good enough need not be halved. For p = 1 a facet
is a point.

*Floats.* Of a sum G·d of p ≤ 4 terms, less P, each rounding is at most 2^-53 of n, and there are fewer than 32. ∎
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uptack.reach.l_statistics import Floats

Integers = NDArray[np.int64]

UNIT = 2.0**36
LARGEST = 1 << 26
"""Rows: up to here sums of integers of 37 bits are exact in 64."""

DOUBT = 2.0**-8
"""The certificate, in rows, from which on no minimiser is outside: above 3.1·2^-36 + 2^-48 for each of `LARGEST`."""

ERROR = 2.0**-50
"""Of y - u·β over |y| + Σ|u_j·β_j|, for p ≤ 4: above (p + 2)·2^-53."""

DEPTH = {1: 0, 3: 5, 4: 4}
"""How often a facet is halved, by p: public, as (b) needs it."""

BATCH = 64
"""Boxes that are looked at together."""

CHUNK = 1 << 16
"""Sums of up to this many integers of 36 bits are exact in floats."""


@dataclass(frozen=True)
class GridCell:
    """The box of all β with low ≤ β < high. Its ends must be floats of which middle and half-widths are exact, and stay
    so after `DEPTH` halvings: multiples of q of up to 2^52·q, not more than 2^45·q apart.
    """

    low: Floats
    high: Floats

    @property
    def centre(self) -> Floats:
        return self.low + (self.high - self.low) / 2

    @property
    def half(self) -> Floats:
        return (self.high - self.low) / 2

    @property
    def size(self) -> Floats:
        """The largest |β_j|."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


class Hyperplanes:
    """The rows of a table, made ready for questions about cells inside one box: most of them don't come near it.

    Which rows are far may depend on the data, through the box `around`: a far row is sure for each cell anyway, if the
    box has a margin of h_j/32 or more on each side of each cell, h_j = its width, and no |β_j| in a cell is above
    2^38·h_j. *Proof.* On an edge let ρ = |u_axis/u_along|. The row misses the box, so it meets the line of the edge
    at t, away from the edge by D ≥ (h_along + ρ·h_axis)/32. Half the interval of doubt is at most 2^-49 of
    (|y| + |u_axis·side|)/|u_along| ≤ |t| + 2ρ·|side| ≤ D + 2^38·h_along + 2^39·ρ·h_axis: less than D. If u_along = 0,
    and on a box Q for other p, the residual is above Σ|u_j|·(e_j + h_j/32), and what it must exceed at most
    Σ|u_j|·e_j·(1 + 2^-39) + 2^-48·(|residual| + 2^39·Σ|u_j|·h_j): less. ∎
    """

    def __init__(self, u: Floats, y: Floats, around: GridCell) -> None:
        self.p = u.shape[1]
        weights = np.rint(u * (UNIT - 2)).astype(np.int64)  # ‖w‖ ≤ 1 + 2^-50 - 2·2^-36 + √p/2·2^-36 ≤ 1
        r = y - u @ around.centre
        far = np.abs(r) > np.abs(u) @ (around.half * (1 + 2**-40)) + ERROR * (np.abs(y) + np.abs(u) @ around.size)
        self._far: Integers = -(weights[far] * np.sign(r[far]).astype(np.int64)[:, None]).sum(axis=0)
        near = ~far & u.any(axis=1)
        self._y, self._weights = y[near], weights[near]
        self._u = [np.ascontiguousarray(column[near]) for column in u.T]

    def certificate(self, cell: GridCell) -> float:
        """The least number of added or removed rows, at the very least, that let a minimiser out of the cell."""
        return max(self._least(cell, np.inf, 0.0), 0.0)

    def holds(self, cell: GridCell, rows: float) -> bool:
        """Whether the certificate is at least this many rows. The search ends as soon as that is known."""
        return rows <= 0 or self._least(cell, rows, rows) >= rows

    def _least(self, cell: GridCell, least: float, stop: float) -> float:
        """The least value on the boundary, or `least` if that is less; or one below `stop`, where there is one."""
        for axis, side in itertools.product(range(self.p), (cell.low, cell.high)):
            if self.p == 2:
                least = min(least, self._edge(cell, axis, side[axis]))
            else:
                least = self._facet(cell, axis, side[axis], least, stop)
            if least < stop:
                break
        return least

    # ------------------------------------------------------------------------------------------------ p = 2: a sweep

    def _edge(self, cell: GridCell, axis: int, side: float) -> float:
        """The least Σf_i at the ends of the intervals of doubt on one edge of a rectangle, and at its corners."""
        along, centre = 1 - axis, cell.centre
        low, high, depth = cell.low[along], cell.high[along], side - centre[axis]
        start, end = self._doubt(axis, side)
        forward = np.where(self._u[along] < 0, -1, 1)[:, None] * self._weights  # a row adds -this before, this after
        before, after = start > high, end < low
        steady = self._far + forward[after].sum(axis=0) - forward[before].sum(axis=0)
        crossing = ~(before | after)
        start, end = np.clip(start[crossing], low, high), np.clip(end[crossing], low, high)
        jump, penalty = forward[crossing], self._penalties(crossing, start, end, axis, depth, centre[along])
        ends = np.concatenate([start, end])
        order = np.argsort(ends, kind="stable")  # at a tie starts go first
        cuts = np.concatenate([[low], ends[order], [high]]) - centre[along]
        gradients = np.cumsum(np.vstack([steady - jump.sum(axis=0), np.vstack([jump, jump])[order]]), axis=0)
        penalties = np.cumsum(np.concatenate([[0], np.concatenate([penalty, -penalty])[order]]))
        across, ahead = _direction(cuts, depth)
        g, h = gradients[:, axis] / UNIT, gradients[:, along] / UNIT
        slopes = np.minimum(g * across[:-1] + h * ahead[:-1], g * across[1:] + h * ahead[1:])
        return float((slopes - penalties / UNIT).min())

    def _doubt(self, axis: int, side: float) -> tuple[Floats, Floats]:
        """Where along an edge a row's residual y - u_axis·side - u_along·t may be 0: not before, and not after.

        Product, difference, sum and quotient are each off by at most 2^-53 of (|y| + |u_axis·side|)/|u_along|, which
        `ERROR` has room for. A parallel row crosses the edge nowhere, at ±inf, or if its sign is not sure everywhere.
        """
        slope = self._u[1 - axis] + 0.0  # no -0
        offset = self._u[axis] * side
        residual, error = self._y - offset, ERROR * (np.abs(self._y) + np.abs(offset))
        error = np.where(slope < 0, -error, error)
        with np.errstate(divide="ignore", invalid="ignore"):
            start, end = (residual - error) / slope, (residual + error) / slope
        return np.where(np.isnan(start), -np.inf, start), np.where(np.isnan(end), np.inf, end)

    def _penalties(
        self, rows: NDArray[np.bool_], start: Floats, end: Floats, axis: int, depth: float, centre: float
    ) -> Integers:
        """P_i: d turns by at most 1/|depth| per step along the edge."""
        across, ahead = _direction(start - centre, depth)
        size = np.abs(self._u[axis][rows] * across + self._u[1 - axis][rows] * ahead) + (end - start) / abs(depth)
        return _whole(size)

    # ---------------------------------------------------------------------------------------------- any p: sub-boxes

    def _facet(self, cell: GridCell, axis: int, side: float, least: float, stop: float) -> float:
        """The same for one facet, by the smallest boxes: one need not be looked at if it lies in one whose N/R is no
        less than what is found already."""
        half = np.where(np.arange(self.p) == axis, 0.0, cell.half)
        whole = np.where(np.arange(self.p) == axis, side - cell.centre, 0.0)
        todo = [(0, whole[None, :], np.array([-np.inf]))]
        while todo and least >= stop:
            level, offsets, known = todo.pop()
            if len(offsets) > BATCH:
                order = np.argsort(-known, kind="stable")
                rest, now = order[:-BATCH], order[-BATCH:]  # the lowest are the most likely to have the least
                todo.append((level, offsets[rest], known[rest]))
                offsets, known = offsets[now], known[now]
            low = known < least
            offsets, known = offsets[low], known[low]
            bounds = np.maximum(known, self._bounds(cell, offsets, half * 0.5**level))
            if level < DEPTH[self.p]:
                low = bounds < least
                todo.append((level + 1, *_halve(offsets[low], bounds[low], half * 0.5 ** (level + 1), axis)))
            else:
                least = min(least, float(bounds.min(initial=np.inf)))
        return least

    def _bounds(self, cell: GridCell, offsets: Floats, half: Floats) -> Floats:
        """N/R for boxes with centres c + offset and the same half-widths.

        |c| and |offset| are at most the size of the cell, so r is off by less than 2·`ERROR` of |y| + Σ|u_j|·size_j.
        """
        reach = [np.abs(v) + e for v, e in zip(offsets.T, half, strict=True)]
        largest = np.sqrt(_dot(reach, reach))
        gradient, penalty = np.tile(self._far, (len(offsets), 1)), np.zeros(len(offsets), dtype=np.int64)
        some = max(1, min(CHUNK, (1 << 20) // max(len(offsets), 1)))
        for rows in (slice(start, start + some) for start in range(0, len(self._y), some)):
            u, y = [column[rows] for column in self._u], self._y[rows]
            size = [np.abs(column) for column in u]
            away = _dot([column[:, None] for column in u], offsets.T)
            blur = _dot(size, half) * (1 + 2**-40)
            r = (y - _dot(u, cell.centre))[:, None] - away
            crosses = np.abs(r) <= (blur + 2 * ERROR * (np.abs(y) + _dot(size, cell.size)))[:, None]
            gradient -= (np.where(crosses, 0.0, np.sign(r)).T @ self._weights[rows]).astype(np.int64)
            row, box = np.nonzero(crosses)
            parts = _whole((np.abs(away[row, box]) + blur[row]) / largest[box])
            penalty += np.bincount(box, parts, minlength=len(offsets)).astype(np.int64)
        slope = (gradient / UNIT).T
        bounds: Floats = (_dot(slope, offsets.T) - _dot(np.abs(slope), half)) / largest - penalty / UNIT
        return bounds


def _dot(a: Sequence[Floats] | Floats, b: Sequence[Floats] | Floats) -> Floats:
    """Σ a_j·b_j from left to right: the same for a row whatever the others are, which a matrix product does not say."""
    total: Floats = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def _whole(size: Floats) -> Integers:
    """P_i in integers: at most 1, and no less than the size, of u_i as of w_i, as 4 is above 3.1 and rounding."""
    whole: Integers = np.minimum(np.ceil(UNIT * size) + 4, UNIT).astype(np.int64)
    return whole


def _halve(offsets: Floats, bounds: Floats, half: Floats, axis: int) -> tuple[Floats, Floats]:
    """The centres of the boxes of half the size, with the bounds of those they lie in."""
    signs = [(0.0,) if j == axis else (-1.0, 1.0) for j in range(half.size)]
    moves = np.array(list(itertools.product(*signs))) * half
    return (offsets[:, None, :] + moves).reshape(-1, half.size), np.repeat(bounds, len(moves))


def _direction(offsets: Floats, depth: float) -> tuple[Floats, Floats]:
    """The unit vectors from the centre to points of an edge: their parts across it and along it."""
    length = np.sqrt(depth * depth + offsets * offsets)
    return depth / length, offsets / length
