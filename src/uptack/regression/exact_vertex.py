"""An exact minimiser of Σ|y_i - u_i·β| for rows of floats, on every table: a rational vertex with a rational proof.

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

Signs are exact (`uptack.regression.exact_residuals`), and so are sums over rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from uptack.regression.exact_residuals import TINY, Residuals, Vector, dot, exact, inverted, nearest
from uptack.table.exact_sum import SCALE, Floats, exact_sum

LEVEL = 200
"""Steps guessed at one vertex, where the sum stays as it is, before Bland's rule has it."""


def vertex(u: Floats, y: Floats, near: Floats | None = None, *, guesses: bool = True) -> tuple[Fraction, ...]:
    """A minimiser. `near` says where to start; without `guesses` each step is Bland's."""
    u, y = np.ascontiguousarray(u, dtype=np.float64), np.ascontiguousarray(y, dtype=np.float64)
    rows, columns = _independent(u, _proposed(u, y, near))
    found = [Fraction(0)] * u.shape[1]
    if rows:
        part = np.ascontiguousarray(u[:, columns])
        beta = _Search(part, y, np.ones(len(y), dtype=np.int64), guesses).run(rows, patience=0 if guesses else None)
        if beta is None:
            merged, z, weights, where = _merged(part, y)
            beta = _Search(merged, z, weights, guesses).run([int(where[i]) for i in rows])
        assert beta is not None
        for j, value in zip(columns, beta, strict=True):
            found[j] = value
    return tuple(found)


def _merged(u: Floats, y: Floats) -> tuple[Floats, Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Each plane once, how often it comes, and which one each row is: (u, y) and (-u, -y) are the same."""
    lead = u[np.arange(len(u)), np.argmax(u != 0, axis=1)]
    full = np.column_stack([u, y]) * np.where(lead < 0, -1.0, 1.0)[:, None] + 0.0
    order = np.lexsort(full.T)
    new = np.r_[True, (full[order[1:]] != full[order[:-1]]).any(axis=1)]
    where = np.empty(len(y), dtype=np.int64)
    where[order] = np.cumsum(new) - 1
    kept = full[order[new]]
    return np.ascontiguousarray(kept[:, :-1]), kept[:, -1].copy(), np.bincount(where), where


def _proposed(u: Floats, y: Floats, near: Floats | None) -> NDArray[np.int64]:
    """The rows that pass by the proposed point as near as rounding tells, or none."""
    if near is None or not np.isfinite(near).all():
        return np.zeros(0, dtype=np.int64)
    with np.errstate(all="ignore"):
        close = np.abs(y - u @ near) <= 2.0**-40 * (np.abs(y) + np.abs(u) @ np.abs(near)) + TINY
    return np.flatnonzero(close & u.any(axis=1))


# ------------------------------------------------------------------------------------------------------ rows, columns


def _independent(u: Floats, first: NDArray[np.int64]) -> tuple[list[int], list[int]]:
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


class _Search:
    """From vertex to vertex, down."""

    def __init__(self, u: Floats, y: Floats, weights: NDArray[np.int64], guesses: bool) -> None:
        self.u, self.y, self.weights, self.guesses = u, y, weights, guesses
        self.apart = np.random.default_rng(0).normal(size=len(y))

    def run(self, rows: list[int], patience: int | None = None) -> Vector | None:
        """From any independent rows to a minimiser; None if that takes more steps than `patience`."""
        state, level = self._state(rows, None), LEVEL
        while (leaving := self._violated(state)) is not None:
            if patience is not None and patience <= 0:
                return None
            patience = None if patience is None else patience - 1
            step = self._guess(state, *leaving, level > 0) if self.guesses else None
            found = step or self._bland(state, *leaving)
            level = LEVEL if found.total < state.total else level - 1 if step else 0
            state = found
        return state.beta

    def _violated(self, state: _VertexState) -> tuple[int, int] | None:
        """The place in B of the lowest row with |λ| above its weight, and the sign of that λ."""
        for k in sorted(range(len(state.rows)), key=lambda k: state.rows[k]):
            value = _multiplier(state, k)
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
        inverse = inverted([exact(self.u[i]) for i in rows])
        values = exact(self.y[rows])
        beta = [dot(line, values) for line in inverse]
        residuals = Residuals.of(self.u, self.y, beta)
        signs = residuals.signs()
        second = self._second(rows, inverse, signs == 0)
        signs = np.where(signs == 0, np.where(second < 0, -1.0, 1.0) if kept is None else kept, signs)
        signs[rows] = 0.0
        gradient = [self._sum(signs * c) for c in self.u.T]
        total = self._sum(signs * self.y) - dot(gradient, beta)
        return _VertexState(rows, inverse, beta, residuals, signs, second, gradient, total)

    def _second(self, rows: list[int], inverse: list[Vector], zero: NDArray[np.bool_]) -> Floats:
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

    def _guess(self, state: _VertexState, k: int, sign: int, level: bool) -> _VertexState | None:
        """The least sum along the ray, in floats, if the sum has fallen for sure, or `level` and it has not risen."""
        with np.errstate(all="ignore"):
            ray = self._ray(state, k, sign)
            slope, sure = -ray.floats, np.abs(ray.floats) > ray.error
            here = state.second != 0
            at, then = np.where(here, 0.0, state.residuals.floats / slope), state.second / slope
            ahead = np.flatnonzero(sure & ((at > 0) | (here & (then > 0))) & np.isfinite(at) & (state.signs != 0))
            order = ahead[np.lexsort((then[ahead], at[ahead]))]
            down = nearest(sign * _multiplier(state, k) - int(self.weights[state.rows[k]]))
            passed = np.cumsum(2 * self.weights[order] * np.abs(slope[order])) >= down
        if not passed.any():
            return None
        found = self._state(_swapped(state, k, int(order[np.argmax(passed)])), None)
        return found if found.total < state.total or (level and found.total == state.total) else None

    def _bland(self, state: _VertexState, k: int, sign: int) -> _VertexState:
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
        return self._state(_swapped(state, k, best[1]), kept)


def _swapped(state: _VertexState, k: int, i: int) -> list[int]:
    return [*state.rows[:k], i, *state.rows[k + 1 :]]


def _multiplier(state: _VertexState, k: int) -> Fraction:
    """λ_k."""
    return dot(state.gradient, [line[k] for line in state.inverse])
