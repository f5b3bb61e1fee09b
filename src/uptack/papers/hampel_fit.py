"""H, the robust regression of Hampel that Dwork and Lei privatise: the β that minimises Σ|y_i - x_i·β|/‖x_i‖.

With u_i = x_i/‖x_i‖ and y'_i = y_i/‖x_i‖ it is the sum of the distances of β to the n hyperplanes u_i·β = y'_i. The
search goes from vertex to vertex, as Barrodale and Roberts (1973) do: the fit of every eighth row is the start, and
each step goes to the least sum along an edge. Steps are proposed in floats and compared exactly. The result is a
rational vertex with a rational proof, on every table.

**Optimality.** Let B be as many rows as the rank of u, independent, β = U_B⁻¹·y_B, s_i = ±1 a sign of the residual of
each other row (either one for 0), g = Σ s_i·u_i over those, and U_Bᵀλ = g. If |λ_k| ≤ 1 for all k in B, then g - U_Bᵀλ
= 0 is a subgradient at β, which is a minimiser.

**Termination.** If λ_k·σ > 1 for a sign σ, then along d with U_B·d = σ·e_k the sum has the slope 1 - λ_k·σ < 0. As a
linear program in r⁺, r⁻ ≥ 0 (and β, free and always basic) that is a simplex step with r^∓_k to enter, and the first
row whose residual comes to 0 to leave. With the lowest k, and the lowest row where several come first, it is Bland's
rule, as outside B each row has one basic variable and the order of rows is one of variables: no run of steps that leave
the sum as it is goes on for ever. A step proposed in floats is taken only where the exact sum falls, and at most 200
times, before the first step of Bland's, where it stays; and there are finitely many vertices. So the search ends on
every table, with |λ| ≤ 1.

**Where u has rank r < p**, a kernel N of p - r columns is computed exactly; the coordinates of its pivots are set to 0,
and the other r columns span the same space: a minimiser over those is one over all.

Residuals y - u·b at a rational point b are floats where that is enough. A sign is read off the float where that exceeds
a bound of its error, then off one of twice the digits, and else it is worked out in integers. Sums over
rows are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from uptack.table.exact_sum import SCALE, Floats, exact_sum

Vector = list[Fraction]
ERROR, TINY = 2.0**-48, 2.0**-1000
"""The error of y - u·b for a rational b, over |y| + |u|·|b|: (p + 3)·2^-53 for p ≤ 8 with some room; and underflow."""

FINE = 2.0**-92
"""The same in twice the digits: about 8·p roundings of 2^-106."""


def exact(row: Floats) -> Vector:
    """Floats as rationals."""
    return [Fraction(float(v)) for v in row]


def dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    """Σ a_j·b_j."""
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def inverse_matrix(matrix: list[Vector]) -> list[Vector]:
    """That of a regular matrix."""
    entries = [fmpq(v.numerator, v.denominator) for row in matrix for v in row]
    lines = fmpq_mat(len(matrix), len(matrix), entries).inv().tolist()
    return [[Fraction(int(v.p), int(v.q)) for v in line] for line in lines]


def nearest(x: Fraction) -> float:
    """The nearest float; NaN beyond the largest, which no filter believes."""
    try:
        return float(x)
    except OverflowError:
        return float("nan")


@dataclass(frozen=True)
class Residuals:
    """c_i - u_i·b for all rows: floats, a bound of their error, and exact values where asked for."""

    u: Floats
    c: Floats
    b: Vector
    floats: Floats
    error: Floats

    @staticmethod
    def of(u: Floats, c: Floats, b: Vector) -> Residuals:
        """In floats, and in twice the digits where these are in doubt."""
        near = np.array([nearest(v) for v in b])
        with np.errstate(all="ignore"):
            size = np.abs(c) + np.abs(u) @ np.abs(near)
            floats, error = c - u @ near, ERROR * size + TINY
            doubt = ~(np.abs(floats) > error)
            rest = np.array([nearest(v - Fraction(h)) if h == h else h for v, h in zip(b, near.tolist(), strict=True)])
            floats[doubt] = _double_residuals(u[doubt], c[doubt], near, rest)
            error[doubt] = FINE * size[doubt] + 2.0**-50 * np.abs(floats[doubt]) + TINY
            return Residuals(u, c, b, floats, error)

    def exact(self, i: int) -> Fraction:
        return Fraction(float(self.c[i])) - dot(exact(self.u[i]), self.b)

    def signs(self) -> Floats:
        """-1, 0 or 1, exactly."""
        with np.errstate(all="ignore"):
            doubt = ~(np.abs(self.floats) > self.error)
        out = np.where(doubt, 0.0, np.sign(self.floats))
        common = math.lcm(*(v.denominator for v in self.b))
        whole = [int(v * common) for v in self.b]
        touched = (self.c != 0) | self.u[:, [v != 0 for v in self.b]].any(axis=1)
        rows = np.flatnonzero(doubt & touched)
        out[rows] = _signs(np.column_stack([self.c[rows], self.u[rows]]), whole, common)
        return out


def _double_residuals(u: Floats, c: Floats, b: Floats, rest: Floats) -> Floats:
    """c - u·(b + rest) in twice the digits: sums and products with their rounding errors (Dekker 1971)."""
    high, low = c.copy(), np.zeros(len(c))
    for column, h, r in zip(u.T, b, rest, strict=True):
        product = column * h
        a, d = _split(column), _split(np.full(1, h))
        error = ((a * d - product) + a * (h - d) + (column - a) * d) + (column - a) * (h - d)
        total = high - product
        back = total - high
        low += (high - (total - back)) - (product + back) - error - column * r
        high = total
    return high + low


def _split(x: Floats) -> Floats:
    """The upper half of the digits."""
    large: Floats = x * (2.0**27 + 1)
    return large - (large - x)


def _signs(rows: Floats, whole: list[int], common: int) -> NDArray[np.int64]:
    """The signs of c - u·whole/common for rows (c, u) of floats, in integers as long as they need to be."""
    mantissa, power = np.frexp(rows)
    power = np.where(rows == 0, power.max(axis=1, keepdims=True), power)
    shift = (power - power.min(axis=1, keepdims=True)).astype(object)
    c, *u = ((mantissa * 2.0**53).astype(np.int64).astype(object) << shift).T
    value: NDArray[np.object_] = c * common - sum(column * b for column, b in zip(u, whole, strict=True))
    signs: NDArray[np.int64] = (value > 0).astype(np.int64) - (value < 0).astype(np.int64)
    return signs


LEVEL = 200
"""Steps proposed at one vertex, where the sum stays as it is, before Bland's rule has it."""

SMALL, THIN = 200, 8
"""Up to so many rows the search starts anywhere; of a larger table, at the fit of every eighth row."""


def minimiser(u: Floats, y: Floats, *, proposals: bool = True) -> tuple[Fraction, ...]:
    """An exact minimiser of Σ|y_i - u_i·β|: a rational vertex, on every table. Without `proposals` each step is
    Bland's."""
    u, y = np.ascontiguousarray(u, dtype=np.float64), np.ascontiguousarray(y, dtype=np.float64)
    _, columns, values = _minimal_vertex(u, y, proposals)
    beta = [Fraction(0)] * u.shape[1]
    for j, value in zip(columns, values, strict=True):
        beta[j] = value
    return tuple(beta)


def _minimal_vertex(u: Floats, y: Floats, proposals: bool) -> tuple[list[int], list[int], Vector]:
    """The rows that meet in a minimiser, the columns in which they are independent, and their coefficients."""
    start = [THIN * i for i in _minimal_vertex(u[::THIN], y[::THIN], proposals)[0]] if len(y) > SMALL else []
    rows, columns = _independent_rows(u, np.array(start, np.int64))
    if not rows:
        return [], [], []
    vertex = _Search(np.ascontiguousarray(u[:, columns]), y, proposals).run(rows)
    return vertex.rows, columns, vertex.beta


def _independent_rows(u: Floats, first: NDArray[np.int64]) -> tuple[list[int], list[int]]:
    """As many independent rows as there are, those of `first` preferred, and columns in which they stay independent."""
    p = u.shape[1]
    open_ = [[Fraction(int(i == j)) for j in range(p)] for i in range(p)]
    rows, kernel = list[int](), list[Vector]()
    while open_:
        z = open_.pop(0)
        i = _crossing(u, first, z)
        if i is None:
            kernel.append(z)
            continue
        rows.append(i)
        row = exact(u[i])
        slope = dot(row, z)
        open_ = [[a - dot(row, w) / slope * b for a, b in zip(w, z, strict=True)] for w in open_]
    return rows, [j for j in range(p) if j not in _pivots(kernel)]


def _crossing(u: Floats, first: NDArray[np.int64], z: Vector) -> int | None:
    """A row with u_i·z not 0; None only if there is none."""
    for some in (first, np.arange(len(u))):
        part = np.ascontiguousarray(u[some])
        values = Residuals.of(part, np.zeros(len(part)), z)
        with np.errstate(all="ignore"):
            sure = np.abs(values.floats) > values.error
        if sure.any():
            return int(some[np.argmax(np.where(sure, np.abs(values.floats), 0.0))])
        signs = values.signs()
        if signs.any():
            return int(some[np.flatnonzero(signs)[0]])
    return None


def _pivots(kernel: list[Vector]) -> set[int]:
    """As many coordinates as vectors, in which these are independent: the last ones possible."""
    out, rest = set[int](), list(kernel)
    while rest:
        z = rest.pop(0)
        j = max(j for j, v in enumerate(z) if v != 0)
        out.add(j)
        rest = [[a - w[j] / z[j] * b for a, b in zip(w, z, strict=True)] for w in rest]
    return out


@dataclass(frozen=True)
class _Vertex:
    """Its rows, the inverse of U_B, β, the residuals and their signs (0 in B, ±1 elsewhere), g, and the sum.

    `ties` orders residuals of 0: they are what these would be, were the planes moved a little apart; 0 for others.
    """

    rows: list[int]
    inverse: list[Vector]
    beta: Vector
    residuals: Residuals
    signs: Floats
    ties: Floats
    gradient: Vector
    total: Fraction

    def multiplier(self, k: int) -> Fraction:
        """λ_k."""
        return dot(self.gradient, [line[k] for line in self.inverse])

    def swap(self, k: int, i: int) -> list[int]:
        return [*self.rows[:k], i, *self.rows[k + 1 :]]


class _Search:
    """From vertex to vertex, down."""

    def __init__(self, u: Floats, y: Floats, proposals: bool) -> None:
        self.u, self.y, self.proposals = u, y, proposals
        self.shifts = np.random.default_rng(0).normal(size=len(y))

    def run(self, rows: list[int]) -> _Vertex:
        """From any independent rows to a minimiser."""
        vertex, left = self._vertex(rows, None), LEVEL
        while (leaving := self._leaving_row(vertex)) is not None:
            proposal = self._proposed_step(vertex, *leaving, left > 0) if self.proposals else None
            following = proposal or self._bland_step(vertex, *leaving)
            left = LEVEL if following.total < vertex.total else left - 1 if proposal else 0
            vertex = following
        return vertex

    @staticmethod
    def _leaving_row(vertex: _Vertex) -> tuple[int, int] | None:
        """The place in B of the lowest row with |λ| above 1, and the sign of that λ."""
        for k in sorted(range(len(vertex.rows)), key=lambda k: vertex.rows[k]):
            value = vertex.multiplier(k)
            if abs(value) > 1:
                return k, 1 if value > 0 else -1
        return None

    def _vertex(self, rows: list[int], signs_of_zeros: Floats | None) -> _Vertex:
        """The vertex of these rows. Residuals of 0 have these signs, or any."""
        inverse = inverse_matrix([exact(self.u[i]) for i in rows])
        values = exact(self.y[rows])
        beta = [dot(line, values) for line in inverse]
        residuals = Residuals.of(self.u, self.y, beta)
        signs, ties = residuals.signs(), np.zeros(len(self.y))
        zero = signs == 0
        with np.errstate(all="ignore"):
            move = np.array([[nearest(v) for v in line] for line in inverse]) @ self.shifts[rows]
            ties[zero] = self.shifts[zero] - self.u[zero] @ move
        ties[rows] = 0.0
        any_sign = np.where(ties < 0, -1.0, 1.0) if signs_of_zeros is None else signs_of_zeros
        signs = np.where(zero, any_sign, signs)
        signs[rows] = 0.0
        gradient = [_sum(signs * column) for column in self.u.T]
        total = _sum(signs * self.y) - dot(gradient, beta)
        return _Vertex(rows, inverse, beta, residuals, signs, ties, gradient, total)

    def _ray(self, vertex: _Vertex, k: int, sign: int) -> Residuals:
        """-u_i·d as values c - u·b with c = 0."""
        return Residuals.of(self.u, np.zeros(len(self.y)), [line[k] * sign for line in vertex.inverse])

    def _proposed_step(self, vertex: _Vertex, k: int, sign: int, level: bool) -> _Vertex | None:
        """The least sum along the ray, in floats, if the sum has fallen for sure, or `level` and it has not risen."""
        with np.errstate(all="ignore"):
            ray = self._ray(vertex, k, sign)
            slope, sure = -ray.floats, np.abs(ray.floats) > ray.error
            tied = vertex.ties != 0
            at, among_ties = np.where(tied, 0.0, vertex.residuals.floats / slope), vertex.ties / slope
            met = sure & ((at > 0) | (tied & (among_ties > 0))) & np.isfinite(at) & (vertex.signs != 0)
            ahead = np.flatnonzero(met)
            order = ahead[np.lexsort((among_ties[ahead], at[ahead]))]
            down = nearest(sign * vertex.multiplier(k) - 1)
            passed = np.cumsum(2 * np.abs(slope[order])) >= down
        if not passed.any():
            return None
        proposal = self._vertex(vertex.swap(k, int(order[np.argmax(passed)])), None)
        return proposal if proposal.total < vertex.total or (level and proposal.total == vertex.total) else None

    def _bland_step(self, vertex: _Vertex, k: int, sign: int) -> _Vertex:
        """To the first row that the ray meets, the lowest of several: exactly."""
        ray = self._ray(vertex, k, sign)
        with np.errstate(all="ignore"):
            distance, speed = np.abs(vertex.residuals.floats), np.abs(ray.floats)
            toward = (vertex.signs != 0) & ~((vertex.signs * ray.floats > 0) & (speed > ray.error))
            latest = (distance + vertex.residuals.error) / (speed - ray.error)
            sure = toward & (speed > ray.error) & (latest >= 0)
            bound = latest[sure].min(initial=np.inf) * (1 + 2.0**-40)
            earliest = np.maximum(distance - vertex.residuals.error, 0.0) / (speed + ray.error) * (1 - 2.0**-40)
            candidates = np.flatnonzero(toward & ~(earliest > bound)).tolist()
        speeds = {i: -ray.exact(i) for i in candidates}
        meetings = [(vertex.residuals.exact(i) / v, i) for i, v in speeds.items() if v * int(vertex.signs[i]) > 0]
        _, entering = min(meetings)  # there is one: a sum of distances is bounded below
        signs = vertex.signs.copy()
        signs[vertex.rows[k]] = -sign
        return self._vertex(vertex.swap(k, entering), signs)


def _sum(values: Floats) -> Fraction:
    return Fraction(exact_sum(np.ascontiguousarray(values)), 1 << SCALE)


LARGEST = 1e100
"""Larger y' are cut to this, row by row: no coefficient is as large, so their signs stay."""

LEAST_ENTRY, LEAST_RESPONSE = 2.0**-200, 2.0**-800
"""Smaller entries of u and y' are read as 0, row by row, so that no product of theirs underflows."""


def normalise(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """u and y', row by row. A row with x = 0 gets u = 0 and y' = 0: it adds nothing to the sum, and is still counted.

    ‖u_i‖ ≤ 1 + 2^-50: the sum of up to four squares, the root and the division are each off by a few parts of 2^-53.
    Each operation is on single numbers, so that what a row becomes does not depend on the rows beside it.
    """
    largest = np.abs(x).max(axis=1, initial=0.0)
    there = largest > 0
    size = np.where(there, largest, 1.0)
    u = x / size[:, None]
    length = np.where(there, np.sqrt(sum(column * column for column in u.T)), 1.0)
    with np.errstate(over="ignore"):
        scaled = np.where(there, y, 0.0) / size / length
    u, cut = u / length[:, None], np.clip(scaled, -LARGEST, LARGEST)
    return np.where(np.abs(u) < LEAST_ENTRY, 0.0, u), np.where(np.abs(cut) < LEAST_RESPONSE, 0.0, cut)
