"""How large each part of a plan may be, where the plan is fixed beforehand and pays for all its parts together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, TypeVar

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.privacy import loss
from uptack.privacy.accounting import tight
from uptack.privacy.calibration import boundary, gaussian_epsilon, largest
from uptack.privacy.concentrated_dp import zcdp, zcdp_total
from uptack.privacy.cost import basic_total, cost, over
from uptack.privacy.guarantee import Adjacency, Privacy

Tree = TypeVar("Tree", bound=loss.Loss)

HALVINGS = 10
"""Bits of the search by `tight`: its answer is within a 2^-10 part of the best that it would admit."""

SLACK = Fraction(1, 1 << 20)
"""What that search leaves of ε, so that the same plan is within the budget on another machine too."""

SMALLEST = Fraction(1, 1 << 40)


def fair_shares(draws: Sequence[Tree], budget: Privacy) -> tuple[Tree, ...]:
    """The draws at the largest common scale at which all of them together are within the budget.

    Each draw is given as a loss node at its relative size: `BoundedRange(2)` gets twice the ε of `BoundedRange(1)`.
    For draws that are fixed before the first of them runs; what they are charged is `tight(shares, budget.delta)`.

    >>> shares = fair_shares([loss.BoundedRange(1)] * 15, Privacy(2, 1e-6))
    >>> round(float(shares[0].epsilon), 3)
    0.217
    """
    parts = tuple(draws)
    scale = fair_scale(lambda s: [scale_losses(part, s) for part in parts], budget)
    return tuple(scale_losses(part, scale) for part in parts)


def scale_losses(tree: Tree, scale: Fraction) -> Tree:
    """The tree with every ε multiplied by the scale, and Gaussian noise divided by it; δ's stay.

    >>> scale_losses(loss.Composed((loss.Pure(1), loss.BoundedRange(2))), Fraction(1, 4))
    Composed(parts=(Pure(epsilon=Fraction(1, 4)), BoundedRange(epsilon=Fraction(1, 2))))
    """
    if isinstance(tree, loss.Gaussian):
        multiplier = Fraction(tree.noise_multiplier) / scale
        epsilon = gaussian_epsilon(multiplier, tree.delta)
        return replace(tree, epsilon=epsilon, noise_multiplier=multiplier)
    changed: dict[str, Any] = {f.name: _scale_field(f.name, getattr(tree, f.name), scale) for f in fields(tree)}  # type: ignore[arg-type]
    return replace(tree, **changed)  # type: ignore[type-var]


def _scale_field(name: str, value: Any, scale: Fraction) -> Any:
    if isinstance(value, loss.Loss):
        return scale_losses(value, scale)
    if isinstance(value, tuple):
        return tuple(scale_losses(part, scale) for part in value)
    if name == "rho":
        return value * scale**2
    return value * scale if name == "epsilon" else value


def fair_scale(build: Callable[[Fraction], Sequence[loss.Loss]], budget: Privacy) -> Fraction:
    """The largest s found for which the trees `build(s)` together are within the budget, as a fixed plan.

    `build` must cost more for a larger s. First the best of the plain sum and zCDP, both exact, to a 2^-40 part. Then
    larger ones are tried with `tight`. Whichever s is returned, `tight(build(s), budget.delta)` is within the budget.
    """
    budget = checks.instance("budget", budget, Privacy, "a Privacy")
    checks.positive("budget.epsilon", budget.exact_epsilon)
    unit = basic_total(build(Fraction(1)), budget.adjacency)
    guess = budget.exact_epsilon / checks.positive("the cost of build(1)", unit.exact_epsilon)

    @cache
    def price(scale: Fraction) -> float:
        """How far the plan is over the budget, by the better of both ways."""
        trees = build(scale)
        ways = (basic_total(trees, budget.adjacency), zcdp_total(trees, budget.exact_delta, budget.adjacency))
        return min(over(way, budget) for way in ways if way is not None)

    if price(guess) > 0 and price(guess * SMALLEST) > 0:
        least = basic_total(build(guess * SMALLEST), budget.adjacency)
        fix = "Give the parts of build a smaller δ."
        raise InvalidArgument("budget", f"at least what build takes at the smallest scale, {least}", budget, fix)
    low = largest(price, guess)
    if budget.pure:
        return low
    strict = Privacy(budget.exact_epsilon * (1 - SLACK), budget.exact_delta, budget.adjacency)
    return boundary(
        lambda scale: over(tight(build(scale), budget.exact_delta, budget.adjacency), strict), low, 2 * low, HALVINGS
    )


class LinearLoss(NamedTuple):
    """A loss at scale s whose ε's are proportional to s: (s·ε, δ)-private, and δ-approximately s²·ρ-zCDP."""

    epsilon: float
    rho: float
    delta: float = 0.0

    @staticmethod
    def of(tree: loss.Loss, adjacency: Adjacency) -> LinearLoss:
        """The loss of a tree at scale 1."""
        plain, curve = cost(tree, adjacency), zcdp(tree, adjacency)
        return LinearLoss(plain.epsilon, float(curve.rho), float(curve.delta))


def rough_scale(losses: Iterable[LinearLoss], epsilon: float, delta: float) -> float:
    """About the largest s at which linear losses are together (ε, δ)-private, in floats: for a first choice.

    It is the better of the plain sum, s = ε/Σε_i, and of zCDP, s = √(ρ/Σρ_i) with the largest ρ that is (ε, δ)-private.
    At the best order, ρ = (ln(1/δ) - ln(1 + u))/u² and ε = ρ·(1 + 2u) - ln(1 + 1/u) (`concentrated_epsilon`), and ε
    falls in u.

    >>> round(rough_scale([LinearLoss(1, 1 / 8)] * 15, 2, 1e-6), 3)
    0.217
    """
    parts = list(losses)
    if not parts:
        return math.inf
    taken = sum(one.delta for one in parts)
    plain = epsilon / sum(one.epsilon for one in parts) if taken <= delta else 0.0
    if delta <= taken:
        return plain
    needed = -math.log((delta - taken) / (1 - taken))
    low, high = 1e-9, min(math.expm1(min(needed, 300.0)), 1e100)
    for _ in range(80):
        u = math.sqrt(low * high)
        rho = (needed - math.log1p(u)) / u**2
        low, high = (u, high) if rho * (1 + 2 * u) - math.log1p(1 / u) > epsilon else (low, u)
    return max(plain, math.sqrt(max(needed - math.log1p(high), 0.0) / high**2 / sum(one.rho for one in parts)))
