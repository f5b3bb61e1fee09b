"""How large each part of a plan may be, where the plan is fixed beforehand and pays for all its parts together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from typing import Any, TypeVar

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.privacy import loss
from uptack.privacy.accounting import tight
from uptack.privacy.calibration import boundary, gaussian_epsilon, largest
from uptack.privacy.concentrated_dp import concentrated
from uptack.privacy.cost import over, summed
from uptack.privacy.guarantee import Privacy

Tree = TypeVar("Tree", bound=loss.Loss)

HALVINGS = 10
"""Bits of the search by `tight`: its answer is within a 2^-10 part of the best that it would admit."""

SLACK = Fraction(1, 1 << 20)
"""What that search leaves of ε, so that the same plan is within the budget on another machine too."""

SMALLEST = Fraction(1, 1 << 40)


def fair_shares(draws: Sequence[Tree], budget: Privacy, rough: bool = False) -> tuple[Tree, ...]:
    """The draws at the largest common scale at which all of them together are within the budget.

    Each draw is given as a loss node at its relative size: `BoundedRange(2)` gets twice the ε of `BoundedRange(1)`.
    For draws that are fixed before the first of them runs; what they are charged is `tight(shares, budget.delta)`. A
    `rough` scale is found in a moment, and may be a little smaller.

    >>> shares = fair_shares([loss.BoundedRange(1)] * 15, Privacy(2, 1e-6))
    >>> round(float(shares[0].epsilon), 3)
    0.217
    """
    parts = tuple(draws)
    scale = fair_scale(lambda s: [scaled(part, s) for part in parts], budget, rough)
    return tuple(scaled(part, scale) for part in parts)


def scaled(tree: Tree, scale: Fraction) -> Tree:
    """The tree with every ε multiplied by the scale, and Gaussian noise divided by it; δ's stay.

    >>> scaled(loss.Composed((loss.Pure(1), loss.BoundedRange(2))), Fraction(1, 4))
    Composed(parts=(Pure(epsilon=Fraction(1, 4)), BoundedRange(epsilon=Fraction(1, 2))))
    """
    if isinstance(tree, loss.Gaussian):
        multiplier = Fraction(tree.noise_multiplier) / scale
        epsilon = gaussian_epsilon(multiplier, tree.delta)
        return replace(tree, epsilon=epsilon, noise_multiplier=multiplier)
    changed: dict[str, Any] = {f.name: _scaled(f.name, getattr(tree, f.name), scale) for f in fields(tree)}  # type: ignore[arg-type]
    return replace(tree, **changed)  # type: ignore[type-var]


def _scaled(name: str, value: Any, scale: Fraction) -> Any:
    if isinstance(value, loss.Loss):
        return scaled(value, scale)
    if isinstance(value, tuple):
        return tuple(scaled(part, scale) for part in value)
    return value * scale if name == "epsilon" else value


def fair_scale(build: Callable[[Fraction], Sequence[loss.Loss]], budget: Privacy, rough: bool = False) -> Fraction:
    """The largest s found for which the trees `build(s)` together are within the budget, as a fixed plan.

    `build` must cost more for a larger s. First the best of the plain sum and zCDP, both exact, to a 2^-40 part. Then
    larger ones are tried with `tight`, unless a `rough` one will do. Whichever s is returned,
    `tight(build(s), budget.delta)` is within the budget.
    """
    budget = checks.instance("budget", budget, Privacy, "a Privacy")
    checks.positive("budget.epsilon", budget.exact_epsilon)
    unit = summed(build(Fraction(1)), budget.adjacency)
    guess = budget.exact_epsilon / checks.positive("the cost of build(1)", unit.exact_epsilon)

    @cache
    def price(scale: Fraction) -> float:
        """How far the plan is over the budget, by the better of both ways."""
        trees = build(scale)
        ways = (summed(trees, budget.adjacency), concentrated(trees, budget.exact_delta, budget.adjacency))
        return min(over(way, budget) for way in ways if way is not None)

    if price(guess) > 0 and price(guess * SMALLEST) > 0:
        least = summed(build(guess * SMALLEST), budget.adjacency)
        fix = "Give the parts of build a smaller δ."
        raise InvalidArgument("budget", f"at least what build takes at the smallest scale, {least}", budget, fix)
    return _roughly(price, guess) if rough else _refined(build, budget, largest(price, guess))


def _roughly(price: Callable[[Fraction], float], guess: Fraction) -> Fraction:
    """A scale that fits, and of which a 2^-HALVINGS part more does not. The guess fits: it is that of the plain sum."""
    low = guess if price(guess) <= 0 else guess * SMALLEST
    while price(2 * low) <= 0:
        low *= 2
    return boundary(price, low, 2 * low, HALVINGS)


def _refined(build: Callable[[Fraction], Sequence[loss.Loss]], budget: Privacy, low: Fraction) -> Fraction:
    """A scale of at least `low`, which fits, and of less than its double, that fits by `tight` with slack."""
    if budget.pure:
        return low
    strict = Privacy(budget.exact_epsilon * (1 - SLACK), budget.exact_delta, budget.adjacency)
    price = lambda scale: over(tight(build(scale), budget.exact_delta, budget.adjacency), strict)  # noqa: E731
    return boundary(price, low, 2 * low, HALVINGS)
