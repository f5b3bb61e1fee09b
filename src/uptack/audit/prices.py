"""The price of noise: what a move of the value under it costs, by the theorem of its law."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from uptack.densities.caratheodory import BallNoise, CaratheodoryNoise, MomentNoise
from uptack.discrete.categories import Capped
from uptack.discrete.count_noise import SkewedLaplace
from uptack.exact import Real
from uptack.noise import Box, Ellipsoid, IntegerGaussian, IntegerLaplace, L1Ball, L2Ball

Floats = NDArray[np.float64]
Price = tuple[float, str]
FREE: Price = (0.0, "")


@dataclass
class Seen:
    """One mechanism in one run: what it was given and what came out, the noise (`laws`) and the thresholds (`notes`)
    drawn inside of it, those drawn before it (`loose`, `looks`), and how far the tape was read."""

    name: str
    state: Any
    output: Any = None
    asked: int = 0
    laws: list[tuple[Any, Any]] = field(default_factory=list)
    notes: list[tuple[Any, Any]] = field(default_factory=list)
    loose: list[tuple[Any, Any]] = field(default_factory=list)
    looks: list[tuple[Any, Any]] = field(default_factory=list)


# -------------------------------------------------------------------------------------------------------- noise


class Scaled(NamedTuple):
    """Noise for moments as it was when it was drawn."""

    kind: type
    scale: float


def as_drawn(law: Any) -> Any:
    """A law with its scale as it is now: that of noise for moments is worked out anew whenever it is asked for."""
    return Scaled(type(law), float(law.scale)) if isinstance(law, MomentNoise) else law


def noise_cost(law: Any, move: Any, delta: Fraction) -> float:
    """What noise of this law on a vector of integers (or of steps) costs for this move of it."""
    if isinstance(law, Capped):
        return noise_cost(law.law, move, delta)
    shift = np.asarray(move, np.float64).ravel()
    if not shift.any():
        return 0.0
    if isinstance(law, SkewedLaplace):
        up, down = float(law.up), float(law.down)
        rise, fall = shift[shift > 0].sum(), -shift[shift < 0].sum()
        return float(max(rise / up + fall / down, fall / up + rise / down))
    if isinstance(law, Scaled):
        if law.kind is BallNoise:
            return float(np.linalg.norm(shift)) / law.scale
        return (_toeplitz_cost if law.kind is CaratheodoryNoise else _total)(shift) / law.scale
    if isinstance(law, IntegerLaplace):
        return _total(shift) / float(law.scale)
    assert isinstance(law, IntegerGaussian)
    return gaussian_cost(math.sqrt(float(law.variance)) / float(np.linalg.norm(shift)), delta)


def gaussian_cost(multiplier: float, delta: Fraction) -> float:
    """The ε of Gaussian noise of so many times the move at the δ that is claimed (Balle and Wang 2018), in floats."""
    half, wanted = 0.5 / multiplier, float(delta)

    def failing(epsilon: float) -> float:
        low = log_ndtr(-half - epsilon * multiplier)
        return float(ndtr(half - epsilon * multiplier) - math.exp(min(epsilon + low, 0.0)))

    low, high = 0.0, 1.0
    while failing(high) > wanted and high < 1e12:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if failing(middle) <= wanted else (middle, high)
    return high


def _total(shift: Floats) -> float:
    return float(np.abs(shift).sum())


def _toeplitz_cost(shift: Floats) -> float:
    """At least min g(a) + g(b) over a - b = the move: (λ_max - λ_min)/(m + 1) of its Toeplitz matrix.

    For tI + T(a) ⪰ 0 and sI + T(b) ⪰ 0, both with trace 0, T(a) ⪯ mtI and T(b) ⪯ msI; so λ_max ≤ mt + s and
    -λ_min ≤ t + ms.
    """
    moments = shift.reshape(-1, 2) @ np.array([1, 1j])
    line = np.concatenate([[0], moments])
    place = np.subtract.outer(np.arange(line.size), np.arange(line.size))
    matrix = np.where(place >= 0, line[np.abs(place)], line[np.abs(place)].conj())
    values = np.linalg.eigvalsh(matrix)
    return float(values[-1] - values[0]) / line.size


def noise_price(d: Seen, e: Seen, delta: Fraction) -> Price:
    """Noise on a value."""
    (law, value), (_, other) = d.state, e.state
    return noise_cost(law, other - value, delta), ""


def first_law(seen: Seen) -> Any:
    """The law of the last noise that was drawn inside."""
    return seen.laws[-1][0] if seen.laws else None


def _in_steps(value: Any, step: float) -> list[int]:
    floats = np.nan_to_num(np.asarray(value, np.float64)).ravel().tolist()
    return [round(Fraction(v) / Fraction(step)) for v in floats]


def added(d: Seen, e: Seen, delta: Fraction) -> Price:
    """laplace and gaussian: the value on the grid of its noise."""
    (value, asked), (other, asked_prime) = d.state, e.state
    noise, law = d.output.noise, first_law(d)
    if asked != asked_prime:
        return math.inf, f"a sensitivity that depends on the data: {asked} or {asked_prime}"
    move = [b - a for a, b in zip(_in_steps(value, noise.step), _in_steps(other, noise.step), strict=True)]
    if law is None:
        return (math.inf, "no noise was drawn") if any(move) else FREE
    price, claimed = noise_cost(law, move, Fraction(asked.get("delta", 0))), float(asked["epsilon"])
    return price, above(price, claimed)


def above(price: float, claimed: float) -> str:
    """A step that costs more than its own share."""
    return f"costs ε = {price:.4g} of {claimed:.4g}" if price > claimed * (1 + 1e-6) else ""


def public(options: dict[str, Any]) -> dict[str, Any]:
    """What a mechanism is told, and may not depend on the data."""
    return {key: value for key, value in options.items() if key in ("sensitivity", "epsilon", "delta", "granularity")}


def counted(d: Seen, e: Seen, delta: Fraction) -> Price:
    """The number of rows, where it is secret."""
    law = first_law(d)
    if d.state == e.state:
        return FREE
    return (
        (math.inf, "the number of rows got no noise")
        if law is None
        else (noise_cost(law, [e.state - d.state], delta), "")
    )


def whole(d: Seen, e: Seen, delta: Fraction) -> Price:
    """Sums of whole numbers."""
    (sums, asked), (other, asked_prime) = d.state, e.state
    law, move = first_law(d), [b - a for a, b in zip(sums, other, strict=True)]
    if asked != asked_prime:
        return math.inf, f"a scale that depends on the data: {asked} or {asked_prime}"
    if law is None:
        return (math.inf, "no noise was drawn") if any(move) else FREE
    return noise_cost(law, move, delta), ""


def _gauge(body: Any, move: Floats) -> float:
    """‖move‖_K."""
    if isinstance(body, Box):
        return float(max(abs(m) / float(w) for m, w in zip(move, body.half_widths, strict=True)))
    if isinstance(body, Ellipsoid):
        return math.sqrt(float(move @ np.linalg.solve(np.asarray(body._matrix, np.float64), move)))
    ord_ = 2 if isinstance(body, L2Ball) else 1 if isinstance(body, L1Ball) else np.inf
    return float(np.linalg.norm(move, ord_))


def stretched(d: Seen, e: Seen, delta: Fraction) -> Price:
    """K-norm noise."""
    (x, body, scale), (y, _, _) = d.state, e.state
    move = np.array([float(Fraction(b) - Fraction(a)) for a, b in zip(x, y, strict=True)])
    return _gauge(body, move) / float(scale), ""


def nuclear(d: Seen, e: Seen, delta: Fraction) -> Price:
    """Matrix Laplace noise: the nuclear norm of the move."""
    (value, theta), (other, _) = d.state, e.state
    pairs = [[Fraction(b) - Fraction(a) for a, b in zip(*rows, strict=True)] for rows in zip(value, other, strict=True)]
    largest = max((abs(v) for row in pairs for v in row), default=Fraction(0)) or Fraction(1)
    move = np.array([[float(v / largest) for v in row] for row in pairs])
    return float(np.abs(np.linalg.eigvalsh(move)).sum() * (largest / theta)), ""


def vertex(d: Seen, e: Seen, delta: Fraction) -> Price:
    """The same on a rational point, with the scale that the noise came out with."""
    (beta, box), (other, _) = d.state, e.state
    move = np.array([float(b - a) for a, b in zip(beta, other, strict=True)])
    return _gauge(box, move) / d.output[1].scale, ""


def mean(d: Seen, e: Seen, delta: Fraction) -> Price:
    """TM's mean."""
    noise, law = d.output.noise, first_law(d)
    return abs(float((e.state - d.state) / Fraction(noise.step))) / float(law.scale), ""


def moved(d: Seen, e: Seen, delta: Fraction) -> Price:
    """The coordinates of a function, with noise that was drawn some way ahead."""
    (grid, one), (grid_prime, other) = d.state, e.state
    if grid != grid_prime:
        return math.inf, "a grid that depends on the data"
    law = next((law for law, _ in reversed(d.loose) if isinstance(law, IntegerGaussian)), None)
    move = np.linalg.norm(grid.steps(other) - grid.steps(one))
    if law is None or not move:
        return (math.inf, "no noise was drawn") if move else FREE
    return gaussian_cost(math.sqrt(float(law.variance)) / float(move), delta), ""


# -------------------------------------------------------------------------------------------------------- tables


def by_cell(cells: Any, counts: Any) -> dict[str, int]:
    """Counts by how their cells look."""
    return {f"{type(cell).__name__} {cell!r}": int(count) for cell, count in zip(cells, counts, strict=True) if count}


def shown(d: Seen, e: Seen, delta: Fraction) -> Price:
    """Cells with noise and a cutoff; where empty ones are silent, their chance to pass is δ."""
    (law, one, failing), (_, other, _) = d.state, e.state
    move = [other.get(cell, 0) - one.get(cell, 0) for cell in {**one, **other}]
    rise = max([abs(m) for m in move], default=0)
    problem = ""
    if isinstance(law, Capped) and rise and not _tail(law, law.most - rise + 1) <= failing:
        problem = "a category of few rows is shown with a chance above δ"
    return noise_cost(law, move, delta), problem


def _tail(law: Any, k: int) -> Real:
    found: Real = law.exact_tail(k)
    return found


def tabled(d: Seen, e: Seen, delta: Fraction) -> Price:
    """A draw from a table of probabilities, one row a count."""
    (weights, i), (_, j) = d.state, e.state
    return float(np.abs(np.log(weights[i].astype(float)) - np.log(weights[j].astype(float))).max()), ""
