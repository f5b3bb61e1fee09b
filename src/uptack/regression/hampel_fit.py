"""H, the robust regression of Hampel that Dwork and Lei privatise: the β that minimises Σ|y_i - x_i·β|/‖x_i‖.

With u_i = x_i/‖x_i‖ and y'_i = y_i/‖x_i‖ it is the sum of the distances of β to the n hyperplanes u_i·β = y'_i. Near
the minimum almost no row is in doubt: a row further than ρ from a point keeps its sign within ρ of it, and counts by
its gradient alone. So a fit of every eighth row gives a start, and a small linear program over the rows in doubt the
answer (Portnoy and Koenker 1997), which a subgradient of the whole sum confirms.

All that is in floats, and proposes; `minimiser` then gives an exact one: a rational vertex with a
rational proof, on every table.

**Optimality.** Let B be as many rows as the rank of u, independent, β = U_B⁻¹·y_B, s_i = ±1 a sign of the residual of
each other row (either one for 0), g = Σ s_i·u_i over those, and U_Bᵀλ = g. If |λ_k| ≤ 1 for all k in B, then g - U_Bᵀλ
= 0 is a subgradient at β, which is a minimiser. Equal rows may be merged into one of weight w: then |λ_k| ≤ w_k.

**Termination.** If λ_k·σ > 1 for a sign σ, then along d with U_B·d = σ·e_k the sum has the slope 1 - λ_k·σ < 0. As a
linear program in r⁺, r⁻ ≥ 0 (and β, free and always basic) that is a simplex step with r^∓_k to enter, and the first
row whose residual comes to 0 to leave. With the lowest k, and the lowest row where several come first, it is Bland's
rule, as outside B each row has one basic variable and the order of rows is one of variables: no run of steps that leave
the sum as it is goes on for ever. A step guessed in floats is taken only where the exact sum falls, and at most 200
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
import warnings
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
        """The residual of one row."""
        return Fraction(float(self.c[i])) - dot(exact(self.u[i]), self.b)

    def signs(self) -> Floats:
        """-1, 0 or 1, exactly."""
        with np.errstate(all="ignore"):
            doubt = ~(np.abs(self.floats) > self.error)
        out = np.where(doubt, 0.0, np.sign(self.floats))
        whole, common = _common(self.b)
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


def _common(b: Vector) -> tuple[list[int], int]:
    """Numerators over a common denominator."""
    common = math.lcm(*(v.denominator for v in b))
    return [int(v * common) for v in b], common


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
"""Steps guessed at one vertex, where the sum stays as it is, before Bland's rule has it."""


def vertex(u: Floats, y: Floats, near: Floats | None = None, *, guesses: bool = True) -> tuple[Fraction, ...]:
    """A minimiser. `near` says where to start; without `guesses` each step is Bland's."""
    u, y = np.ascontiguousarray(u, dtype=np.float64), np.ascontiguousarray(y, dtype=np.float64)
    rows, columns = _independent_rows(u, _rows_through(u, y, near))
    found = [Fraction(0)] * u.shape[1]
    if rows:
        part = np.ascontiguousarray(u[:, columns])
        beta = _Search(part, y, np.ones(len(y), dtype=np.int64), guesses).run(rows, patience=0 if guesses else None)
        if beta is None:
            merged, z, weights, where = _merge_rows(part, y)
            beta = _Search(merged, z, weights, guesses).run([int(where[i]) for i in rows])
        assert beta is not None
        for j, value in zip(columns, beta, strict=True):
            found[j] = value
    return tuple(found)


def _merge_rows(u: Floats, y: Floats) -> tuple[Floats, Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Each plane once, how often it comes, and which one each row is: (u, y) and (-u, -y) are the same."""
    lead = u[np.arange(len(u)), np.argmax(u != 0, axis=1)]
    full = np.column_stack([u, y]) * np.where(lead < 0, -1.0, 1.0)[:, None] + 0.0
    order = np.lexsort(full.T)
    new = np.r_[True, (full[order[1:]] != full[order[:-1]]).any(axis=1)]
    where = np.empty(len(y), dtype=np.int64)
    where[order] = np.cumsum(new) - 1
    kept = full[order[new]]
    return np.ascontiguousarray(kept[:, :-1]), kept[:, -1].copy(), np.bincount(where), where


def _rows_through(u: Floats, y: Floats, near: Floats | None) -> NDArray[np.int64]:
    """The rows that pass by the proposed point as near as rounding tells, or none."""
    if near is None or not np.isfinite(near).all():
        return np.zeros(0, dtype=np.int64)
    with np.errstate(all="ignore"):
        close = np.abs(y - u @ near) <= 2.0**-40 * (np.abs(y) + np.abs(u) @ np.abs(near)) + TINY
    return np.flatnonzero(close & u.any(axis=1))


# ------------------------------------------------------------------------------------------------------ rows, columns


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


# ---------------------------------------------------------------------------------------------------------- the search


@dataclass(frozen=True)
class _VertexState:
    """A vertex: its rows, the inverse of U_B, β, the residuals, their signs (0 in B, ±1 elsewhere), and the sum."""

    rows: list[int]
    inverse: list[Vector]
    beta: Vector
    residuals: Residuals
    signs: Floats
    second: Floats
    gradient: Vector
    total: Fraction

    def multiplier(self, k: int) -> Fraction:
        """λ_k."""
        return dot(self.gradient, [line[k] for line in self.inverse])

    def swapped(self, k: int, i: int) -> list[int]:
        """Its rows with another one in place k."""
        return [*self.rows[:k], i, *self.rows[k + 1 :]]


class _Search:
    """From vertex to vertex, down."""

    def __init__(self, u: Floats, y: Floats, weights: NDArray[np.int64], guesses: bool) -> None:
        self.u, self.y, self.weights, self.guesses = u, y, weights, guesses
        self.apart = np.random.default_rng(0).normal(size=len(y))

    def run(self, rows: list[int], patience: int | None = None) -> Vector | None:
        """From any independent rows to a minimiser; None if that takes more steps than `patience`."""
        state, level = self._state(rows, None), LEVEL
        while (leaving := self._leaving_row(state)) is not None:
            if patience is not None and patience <= 0:
                return None
            patience = None if patience is None else patience - 1
            step = self._guess_step(state, *leaving, level > 0) if self.guesses else None
            found = step or self._bland_step(state, *leaving)
            level = LEVEL if found.total < state.total else level - 1 if step else 0
            state = found
        return state.beta

    def _leaving_row(self, state: _VertexState) -> tuple[int, int] | None:
        """The place in B of the lowest row with |λ| above its weight, and the sign of that λ."""
        for k in sorted(range(len(state.rows)), key=lambda k: state.rows[k]):
            value = state.multiplier(k)
            if abs(value) > int(self.weights[state.rows[k]]):
                return k, 1 if value > 0 else -1
        return None

    def _sum(self, values: Floats) -> Fraction:
        """Σ weight·value, exactly, a bit of the weights at a time."""
        bits = range(int(self.weights.max(initial=1)).bit_length())
        parts = (exact_sum(np.ascontiguousarray(values[(self.weights >> b) & 1 == 1])) << b for b in bits)
        return Fraction(sum(parts), 1 << SCALE)

    def _state(self, rows: list[int], kept: Floats | None) -> _VertexState:
        """The vertex of these rows. Residuals of 0 have the sign in `kept`, or any."""
        inverse = inverse_matrix([exact(self.u[i]) for i in rows])
        values = exact(self.y[rows])
        beta = [dot(line, values) for line in inverse]
        residuals = Residuals.of(self.u, self.y, beta)
        signs = residuals.signs()
        second = self._order_of_ties(rows, inverse, signs == 0)
        signs = np.where(signs == 0, np.where(second < 0, -1.0, 1.0) if kept is None else kept, signs)
        signs[rows] = 0.0
        gradient = [self._sum(signs * c) for c in self.u.T]
        total = self._sum(signs * self.y) - dot(gradient, beta)
        return _VertexState(rows, inverse, beta, residuals, signs, second, gradient, total)

    def _order_of_ties(self, rows: list[int], inverse: list[Vector], zero: NDArray[np.bool_]) -> Floats:
        """Where many planes meet: residuals as they would be, were the planes moved a little apart; 0 for others."""
        out = np.zeros(len(zero))
        with np.errstate(all="ignore"):
            move = np.array([[nearest(v) for v in line] for line in inverse]) @ self.apart[rows]
            out[zero] = self.apart[zero] - self.u[zero] @ move
        out[rows] = 0.0
        return out

    def _ray(self, state: _VertexState, k: int, sign: int) -> Residuals:
        """-u_i·d as values c - u·b with c = 0."""
        return Residuals.of(self.u, np.zeros(len(self.y)), [line[k] * sign for line in state.inverse])

    def _guess_step(self, state: _VertexState, k: int, sign: int, level: bool) -> _VertexState | None:
        """The least sum along the ray, in floats, if the sum has fallen for sure, or `level` and it has not risen."""
        with np.errstate(all="ignore"):
            ray = self._ray(state, k, sign)
            slope, sure = -ray.floats, np.abs(ray.floats) > ray.error
            here = state.second != 0
            at, then = np.where(here, 0.0, state.residuals.floats / slope), state.second / slope
            ahead = np.flatnonzero(sure & ((at > 0) | (here & (then > 0))) & np.isfinite(at) & (state.signs != 0))
            order = ahead[np.lexsort((then[ahead], at[ahead]))]
            down = nearest(sign * state.multiplier(k) - int(self.weights[state.rows[k]]))
            passed = np.cumsum(2 * self.weights[order] * np.abs(slope[order])) >= down
        if not passed.any():
            return None
        found = self._state(state.swapped(k, int(order[np.argmax(passed)])), None)
        return found if found.total < state.total or (level and found.total == state.total) else None

    def _bland_step(self, state: _VertexState, k: int, sign: int) -> _VertexState:
        """To the first row that the ray meets, the lowest of several: exactly."""
        ray = self._ray(state, k, sign)
        with np.errstate(all="ignore"):
            away, speed = np.abs(state.residuals.floats), np.abs(ray.floats)
            toward = (state.signs != 0) & ~((state.signs * ray.floats > 0) & (speed > ray.error))
            latest = (away + state.residuals.error) / (speed - ray.error)
            sure = toward & (speed > ray.error) & (latest >= 0)
            bound = latest[sure].min(initial=np.inf) * (1 + 2.0**-40)
            earliest = np.maximum(away - state.residuals.error, 0.0) / (speed + ray.error) * (1 - 2.0**-40)
            candidates = np.flatnonzero(toward & ~(earliest > bound))
        best: tuple[Fraction, int] | None = None
        for i in map(int, candidates):
            speed_ = -ray.exact(i)
            if speed_ * int(state.signs[i]) > 0:
                at = state.residuals.exact(i) / speed_, i
                best = at if best is None or at < best else best
        assert best is not None  # a sum of distances is bounded below
        kept = state.signs.copy()
        kept[state.rows[k]] = -sign
        return self._state(state.swapped(k, best[1]), kept)


LARGEST = 1e100
"""Larger y' are cut to this, row by row: no coefficient is as large, so their signs stay."""

SMALL, THIN, ROUNDS = 1000, 8, 20
"""Rows that make a linear program at once, the part of a larger table that gives the start, and the most rounds."""

GAP = 0.25
"""What a fit in floats aims for, with room: the length of the shortest subgradient, in rows."""

LEAST_ENTRY, LEAST_RESPONSE = 2.0**-200, 2.0**-800
"""Smaller entries of u and y' are read as 0, row by row, so that no product of theirs underflows."""


@dataclass(frozen=True)
class HampelFit:
    """A minimiser up to rounding, and the length of a subgradient there: 0 up to rounding says that it is one."""

    beta: Floats
    gap: float


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


def minimiser(u: Floats, y: Floats) -> tuple[Fraction, ...]:
    """An exact minimiser of Σ|y_i - u_i·β|: a rational vertex, on every table."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            near = minimise(u, y).beta
    except (ArithmeticError, ValueError, np.linalg.LinAlgError):  # errors of floats must not depend on the data
        return vertex(u, y)
    return vertex(u, y, near)


def minimise(u: Floats, y: Floats) -> HampelFit:
    """A minimiser of Σ|y_i - u_i·β| up to rounding, for rows of length 1 or 0. The same table gives the same one."""
    n, p = u.shape
    if p == 1:
        return _median(u[:, 0], y)
    if n > SMALL:
        beta = minimise(np.ascontiguousarray(u[::THIN]), np.ascontiguousarray(y[::THIN])).beta
    else:
        beta = _reweighted(u, y)
    best, doubt, wider = HampelFit(beta, np.inf), min(n, max(SMALL, round(2 * n ** (2 / 3)))), 1.0
    for _ in range(ROUNDS if n else 0):
        found, inside = _minimise_in_box(u, y, beta, doubt, wider)
        best = min(best, found, key=lambda fit: fit.gap)
        if best.gap <= GAP / 1000:
            break
        beta, doubt, wider = found.beta, min(n, 2 * doubt), wider / 64 if inside else wider * 8
    for start in (best.beta, np.zeros(p)):
        if best.gap > GAP / 1000:
            best = min(best, _descend(u, y, start), key=lambda fit: fit.gap)
    return best


def _median(u: Floats, y: Floats) -> HampelFit:
    """For one coefficient: the lower median of the points y'/u, which all count alike."""
    points = (y / np.where(u == 0, 1.0, u))[u != 0]
    middle = max(points.size - 1, 0) // 2
    return HampelFit(np.partition(points, middle)[middle : middle + 1] if points.size else np.zeros(1), 0.0)


def _reweighted(u: Floats, y: Floats, rounds: int = 25) -> Floats:
    """Near the minimum by least squares with weights 1/|residual|."""
    beta: Floats = np.zeros(u.shape[1])
    away = np.abs(y)
    for _ in range(rounds):
        weight = 1 / np.maximum(away, 1e-8 * np.median(away) + 1e-200)
        weight /= weight.max(initial=1e-300)
        gram = (u * weight[:, None]).T @ u + 1e-12 * np.eye(u.shape[1])
        beta = np.linalg.solve(gram, u.T @ (weight * y))
        away = np.abs(y - u @ beta)
    return beta


def _minimise_in_box(u: Floats, y: Floats, beta: Floats, doubt: int, wider: float) -> tuple[HampelFit, bool]:
    """The minimum within a box around β in which all but `doubt` rows keep their sign, and whether it is inside.

    The program is the dual one, with a bounded variable a row in doubt and one equation a coefficient:
    maximise r·a - ρ·Σ(w⁺ + w⁻) over |a| ≤ 1, w ≥ 0, Σ a_i·u_i + w⁺ - w⁻ = G, the gradient of the other rows. Lengths
    are in units of ρ. Its multipliers are the step. Where all rows are in doubt the box has the size of the typical
    residual that is not 0, times `wider`.
    """
    import scipy

    n, p = u.shape
    r = y - u @ beta
    away = np.abs(r)
    near = np.sort(np.argpartition(away, doubt - 1)[:doubt]) if doubt < n else np.arange(n)
    radius, half = float(away[near].max()), float(np.sqrt(1 / p))
    if doubt == n:
        apart = away[away > 2.0**-44 * (np.abs(y) + np.abs(u) @ np.abs(beta))]
        radius, half = 8 * wider * float(np.median(apart)) if apart.size else 0.0, 1.0
    if radius == 0:  # all rows meet in β
        return HampelFit(beta, 0.0), True
    sign = -np.sign(r)
    sign[near] = 0.0
    cost = np.concatenate([-np.clip(r[near] / radius, -1e4, 1e4), np.full(2 * p, half)])
    equations = np.vstack([u[near], np.eye(p), -np.eye(p)]).T
    bounds = [(-1, 1)] * near.size + [(0, None)] * (2 * p)
    solved = scipy.optimize.linprog(cost, A_eq=equations, b_eq=sign @ u, bounds=bounds, method="highs-ds")
    if solved.x is None:
        return HampelFit(beta, np.inf), False
    found = _meeting_point(u[near], y[near], beta - radius * np.asarray(solved.eqlin.marginals), radius)
    inside = bool((np.abs(found - beta) < half * radius * (1 - 1e-9)).all())
    return HampelFit(found, _subgradient(u, y, found, near, solved.x[: near.size], radius)), inside


def _meeting_point(u: Floats, y: Floats, close: Floats, radius: float) -> Floats:
    """The point where independent rows through (almost) a given point meet, to full precision."""
    import scipy

    r = y - u @ close
    rows = np.flatnonzero(np.abs(r) <= 1e-6 * radius)
    if rows.size == 0:
        return close
    triangle, order = scipy.linalg.qr(u[rows].T, mode="r", pivoting=True)
    rank = int((np.abs(np.diag(triangle)) > 1e-7).sum())
    chosen = rows[order[:rank]]
    step: Floats = np.linalg.lstsq(u[chosen], r[chosen], rcond=None)[0]
    exact = close + step
    step = np.linalg.lstsq(u[chosen], y[chosen] - u[chosen] @ exact, rcond=None)[0]
    return exact + step


def _descend(u: Floats, y: Floats, beta: Floats, rounds: int = 200) -> HampelFit:
    """Down along the shortest subgradient, each step to the least sum on its line, which a weighted median finds.

    A step ends on a row, and the next one then runs along it: so narrow valleys, where a program's tolerance is too
    coarse, are followed to their end.
    """
    import scipy

    best = HampelFit(beta, np.inf)
    for _ in range(rounds):
        r = y - u @ beta
        on = (np.abs(r) <= 2.0**-48 * (np.abs(y) + np.abs(u) @ np.abs(beta))) & u.any(axis=1)
        rest = -np.where(on, 0.0, np.sign(r)) @ u
        shortest = scipy.optimize.lsq_linear(u[on].T, -rest, (-1, 1), method="bvls").fun if on.any() else rest
        best = min(best, HampelFit(beta, float(np.linalg.norm(shortest))), key=lambda fit: fit.gap)
        if best.gap <= GAP / 1000:
            break
        slope = u @ shortest / -np.linalg.norm(shortest)
        moving = ~on & (slope != 0)
        at, weight = r[moving] / slope[moving], np.abs(slope[moving])
        order = np.argsort(at, kind="stable")
        passed = np.cumsum(weight[order])
        still = float(np.abs(slope[on]).sum())  # rows at the start: they count as met
        reached = passed + still * (at[order] >= 0) >= (passed[-1] + still) / 2 if at.size else np.array([False])
        step = float(at[order][np.argmax(reached)]) if reached.any() else 0.0
        if step <= 0:
            break
        beta = beta - step * shortest / np.linalg.norm(shortest)
    return best


def _subgradient(u: Floats, y: Floats, beta: Floats, near: NDArray[np.int64], dual: Floats, radius: float) -> float:
    """The length of Σ a_i·u_i with a_i = -sign(residual), and the program's own a_i where the residual is rounding."""
    r = y - u @ beta
    own = -np.sign(r)
    noise = 2.0**-44 * (np.abs(y[near]) + np.abs(u[near]) @ np.abs(beta) + radius)
    own[near] = np.where(np.abs(r[near]) <= noise, -dual, own[near])
    return float(np.linalg.norm(own @ u))
