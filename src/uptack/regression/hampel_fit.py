"""H, the robust regression of Hampel that Dwork and Lei privatise: the β that minimises Σ|y_i - x_i·β|/‖x_i‖.

With u_i = x_i/‖x_i‖ and y'_i = y_i/‖x_i‖ it is the sum of the distances of β to the n hyperplanes u_i·β = y'_i. Near
the minimum almost no row is in doubt: a row further than ρ from a point keeps its sign within ρ of it, and counts by
its gradient alone. So a fit of every eighth row gives a start, and a small linear program over the rows in doubt the
answer (Portnoy and Koenker 1997), which a subgradient of the whole sum confirms.

All that is in floats, and proposes; `minimiser` then gives an exact one, by `uptack.regression.exact_vertex`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from uptack.regression.exact_vertex import vertex
from uptack.table.exact_sum import Floats

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


def normalised(x: Floats, y: Floats) -> tuple[Floats, Floats]:
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
    return vertex(u, y, proposal(u, y))


def proposal(u: Floats, y: Floats) -> Floats | None:
    """A point near a minimiser, if floats find one: errors of theirs must not depend on the data."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return minimise(u, y).beta
    except (ArithmeticError, ValueError, np.linalg.LinAlgError):
        return None


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
        found, inside = _round(u, y, beta, doubt, wider)
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


def _round(u: Floats, y: Floats, beta: Floats, doubt: int, wider: float) -> tuple[HampelFit, bool]:
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
    found = _meeting(u[near], y[near], beta - radius * np.asarray(solved.eqlin.marginals), radius)
    inside = bool((np.abs(found - beta) < half * radius * (1 - 1e-9)).all())
    return HampelFit(found, _subgradient(u, y, found, near, solved.x[: near.size], radius)), inside


def _meeting(u: Floats, y: Floats, close: Floats, radius: float) -> Floats:
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
