"""Tight composition of a whole session: privacy loss distributions, through Google's `dp-accounting`, or zCDP."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational, read
from uptack.privacy import loss
from uptack.privacy.adjacency import SUBSTITUTE, Adjacency
from uptack.privacy.concentrated import concentrated
from uptack.privacy.cost import cost, summed
from uptack.privacy.guarantee import Privacy

LARGEST_COMPOSED = 500
"""Where ε adds up to more, floats can't hold the distributions, and composing them tightly gains nothing."""

LARGEST_RANGE = 20
"""Where a bounded range is longer, it is composed as what it is too: a pure loss."""

MARGIN = Fraction(1, 1 << 30)
"""Added to what dp-accounting gives. It rounds its distributions against the user, but computes in floats."""

STEP = 1e-4
"""Losses are multiples of it."""


def _pieces(tree: loss.Loss) -> Iterator[loss.Loss]:
    """The parts of a tree that compose one after the other, each with a guarantee of its own."""
    if isinstance(tree, loss.Composed):
        for part in tree.parts:
            yield from _pieces(part)
    else:
        yield tree


def bounded_range_masses(steps: int, step: float = STEP) -> dict[int, float]:
    """A privacy loss distribution for a range of so many steps: the probability of each loss, in steps.

    **Theorem.** Bounded range ε is (x, δ(x))-private with δ(x) = (1 - e^((x-ε)/2))²/(1 - e^-ε) for all -ε ≤ x ≤ ε.
    *Proof.* Let the log-ratio lie in [t - ε, t]. δ is the mean of the convex function (r - e^x)₊ of the ratio r under
    P', where r has the mean 1. So it is largest for two values of r, the ends of the interval, where it comes to
    (1 - e^(t-ε))·(1 - e^(x-t))/(1 - e^-ε); and t = (ε + x)/2 makes that largest. A mixture has at most the mean. ∎

    So the two laws with this δ(x) dominate the mechanism, in compositions too (Zhu, Dong and Wang 2022). Between
    multiples of a step d, "connecting the dots" (Doroshenko et al. 2022) rounds δ up, which leaves at the loss x the
    mass 2·tanh(d/4)·e^((x-ε)/2)/(1 - e^-ε), and half of that at both ends.
    """
    below = np.arange(2 * steps + 1)
    masses = 2 * math.tanh(step / 4) * np.exp(-below * (step / 2)) / -math.expm1(-steps * step)
    masses[[0, -1]] /= 2
    return dict(zip((steps - below).tolist(), masses.tolist(), strict=True))


def _distribution(piece: loss.Loss, adjacency: Adjacency) -> Any:
    """The privacy loss distribution of one piece: that of its kind, or else the worst case of its (ε, δ)."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    if isinstance(piece, loss.Gaussian):
        return pld.from_gaussian_mechanism(float(Fraction(piece.noise_multiplier)) * (1 - 1e-12))
    if isinstance(piece, loss.BoundedRange) and 0 < Fraction(piece.epsilon) <= LARGEST_RANGE:
        masses = bounded_range_masses(math.ceil(Fraction(piece.epsilon) / read(STEP)))
        return pld.PrivacyLossDistribution.create_from_rounded_probability(masses, 0.0, STEP)
    guarantee = cost(piece, adjacency)
    return pld.from_privacy_parameters(common.DifferentialPrivacyParameters(guarantee.epsilon, guarantee.delta))


def _numerically(pieces: Counter[loss.Loss], bound: Fraction, adjacency: Adjacency) -> Privacy | None:
    """The guarantee at this δ by composing distributions; None where no ε will do."""
    composed: Any = None
    for piece, times in pieces.items():
        distribution = _distribution(piece, adjacency).self_compose(times)
        composed = distribution if composed is None else composed.compose(distribution)
    epsilon = float(composed.get_epsilon_for_delta(float(bound) * (1 - 1e-12)))
    return None if math.isinf(epsilon) else Privacy(read(epsilon) + MARGIN, bound, adjacency)


def tight(trees: Iterable[loss.Loss], delta: Rational, adjacency: Adjacency = SUBSTITUTE) -> Privacy:
    """An ε that covers all the trees together at the given δ. It is never above basic composition, where that holds.

    Three ways, each a theorem about losses that are fixed beforehand, and the best of them is returned:

    - the plain sum, where its δ is at most the given one;
    - numerical composition of privacy loss distributions (Koskela et al. 2020, Doroshenko et al. 2022);
    - zCDP (`uptack.privacy.zcdp`), which is better for many draws of bounded range.

    >>> from uptack.privacy.loss import Pure
    >>> tight([Pure(0.1)] * 100, 1e-6).epsilon < 6
    True
    """
    bound = checks.delta("delta", delta)
    pieces = Counter(piece for tree in trees for piece in _pieces(tree))
    every = list(pieces.elements())
    basic = summed(every, adjacency)
    if not pieces or bound == 0:
        return basic
    ways = [basic if basic.exact_delta <= bound else None, concentrated(every, bound, adjacency)]
    if basic.exact_epsilon <= LARGEST_COMPOSED:
        ways.append(_numerically(pieces, bound, adjacency))
    known = [way for way in ways if way is not None]
    if not known:
        fix = f"Basic composition of these losses has δ = {basic.delta}."
        raise InvalidArgument("delta", "large enough for some ε to cover the losses", checks.describe(delta), fix)
    return min(known, key=lambda way: way.exact_epsilon)
