"""Tight composition of many releases, through Google's `dp-accounting` (privacy loss distributions)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational, read
from uptack.privacy import loss
from uptack.privacy.adjacency import SUBSTITUTE, Adjacency
from uptack.privacy.cost import cost
from uptack.privacy.guarantee import Privacy, total

LARGEST_COMPOSED = 500
"""Where ε adds up to more, floats can't hold the distributions, and composing them tightly gains nothing."""

MARGIN = Fraction(1, 1 << 30)
"""Added to what dp-accounting gives. It rounds its distributions against the user, but computes in floats."""


def _pieces(tree: loss.Loss) -> Iterator[loss.Loss]:
    """The parts of a tree that compose one after the other, each with a guarantee of its own."""
    if isinstance(tree, loss.Composed | loss.Composed | loss.Composed):
        for part in tree.parts:
            yield from _pieces(part)
    else:
        yield tree


def _distribution(piece: loss.Loss, adjacency: Adjacency) -> Any:
    """The privacy loss distribution of one piece: exact for Gaussian noise, the worst case of its (ε, δ) otherwise."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    if isinstance(piece, loss.Gaussian):
        return pld.from_gaussian_mechanism(float(Fraction(piece.noise_multiplier)) * (1 - 1e-12))
    guarantee = cost(piece, adjacency)
    return pld.from_privacy_parameters(common.DifferentialPrivacyParameters(guarantee.epsilon, guarantee.delta))


def tight(trees: Iterable[loss.Loss], delta: Rational, adjacency: Adjacency = SUBSTITUTE) -> Privacy:
    """An ε that covers all the trees together at the given δ. It is never above basic composition, where that holds.

    Numerical composition of privacy loss distributions, rounded up (Koskela et al. 2020, Doroshenko et al. 2022). If
    basic composition gives a smaller ε at this δ, that ε is returned. The theorem is about costs that are fixed
    beforehand.

    >>> from uptack.privacy.loss import Pure
    >>> tight([Pure(0.1)] * 100, 1e-6).epsilon < 6
    True
    """
    bound = checks.delta("delta", delta)
    pieces = Counter(piece for tree in trees for piece in _pieces(tree))
    basic = total((cost(p, adjacency) for p, times in pieces.items() for _ in range(times)), adjacency)
    if not pieces or bound == 0:
        return basic
    if basic.exact_epsilon > LARGEST_COMPOSED:
        if basic.exact_delta <= bound:
            return basic
        raise InvalidArgument("trees", f"losses whose ε add up to at most {LARGEST_COMPOSED}", basic)
    composed: Any = None
    for piece, times in pieces.items():
        distribution = _distribution(piece, adjacency).self_compose(times)
        composed = distribution if composed is None else composed.compose(distribution)
    epsilon = composed.get_epsilon_for_delta(float(bound) * (1 - 1e-12))
    within_basic = basic.exact_delta <= bound
    if epsilon == float("inf") and not within_basic:
        fix = f"Basic composition of these losses has δ = {basic.delta}."
        raise InvalidArgument("delta", "large enough for some ε to cover the losses", checks.describe(delta), fix)
    if within_basic and basic.epsilon <= epsilon + float(MARGIN):
        return basic
    return Privacy(read(float(epsilon)) + MARGIN, bound, adjacency)
