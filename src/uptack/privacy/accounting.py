"""Tight composition of a whole session: privacy loss distributions, or zCDP."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational, read
from uptack.privacy import loss
from uptack.privacy.adjacency import SUBSTITUTE, Adjacency
from uptack.privacy.concentrated_dp import concentrated
from uptack.privacy.cost import cost, summed
from uptack.privacy.guarantee import Privacy
from uptack.privacy.loss_distributions import STEP, Losses, bounded_range, least_epsilon, worst_case

LARGEST_COMPOSED = 500
"""Where ε adds up to more, floats can't hold the distributions, and composing them tightly gains nothing."""

LARGEST_RANGE = 20
"""Where a bounded range is longer, it is composed as what it is too: a pure loss."""

MOST_DIFFERENT = 32
"""Different losses that are composed numerically, one transform for each. Of more, some count as larger ones."""

MARGIN = Fraction(1, 1 << 30)
"""Added to what distributions give. They are rounded against the user, but in floats."""


def _pieces(tree: loss.Loss) -> Iterator[loss.Loss]:
    """The parts of a tree that compose one after the other, each with a guarantee of its own."""
    if isinstance(tree, loss.Composed):
        for part in tree.parts:
            yield from _pieces(part)
    else:
        yield tree


def _losses(piece: loss.Loss, adjacency: Adjacency) -> Losses:
    """The loss distribution of one piece: that of its kind, or else the worst case of its (ε, δ)."""
    if isinstance(piece, loss.BoundedRange) and 0 < Fraction(piece.epsilon) <= LARGEST_RANGE:
        return bounded_range(math.ceil(Fraction(piece.epsilon) / read(STEP)))
    guarantee = cost(piece, adjacency)
    return worst_case(guarantee.exact_epsilon, guarantee.delta)


@lru_cache(64)
def _numerically(pieces: frozenset[tuple[loss.Loss, int]], bound: Fraction, adjacency: Adjacency) -> Privacy | None:
    """The guarantee at this δ by composing distributions; None where no ε will do. A plan is priced several times."""
    slack, fixed = float(bound) * (1 - 1e-12), sorted(pieces, key=lambda item: (*_place(item[0], adjacency), item[1]))
    if any(isinstance(piece, loss.Gaussian) for piece, _ in fixed):
        epsilon: float | None = _by_google(fixed, slack, adjacency)
    else:
        epsilon = least_epsilon([(_losses(piece, adjacency), times) for piece, times in fixed], slack)
    return None if epsilon is None or math.isinf(epsilon) else Privacy(read(epsilon) + MARGIN, bound, adjacency)


def _place(piece: loss.Loss, adjacency: Adjacency) -> tuple[str, Fraction, Fraction, Fraction]:
    """By which pieces are put in order, so that a set of them has one price to the last bit."""
    guarantee, noise = cost(piece, adjacency), Fraction(getattr(piece, "noise_multiplier", 0))
    return type(piece).__name__, guarantee.exact_epsilon, guarantee.exact_delta, noise


def _by_google(pieces: Sequence[tuple[loss.Loss, int]], delta: float, adjacency: Adjacency) -> float:
    """The same by dp-accounting, which knows Gaussian noise. It takes long to import."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    def of(piece: loss.Loss) -> Any:
        if isinstance(piece, loss.Gaussian):
            return pld.from_gaussian_mechanism(float(Fraction(piece.noise_multiplier)) * (1 - 1e-12))
        known = _losses(piece, adjacency)
        masses = dict(zip(known.places.astype(int).tolist(), known.masses.tolist(), strict=True))
        return pld.PrivacyLossDistribution.create_from_rounded_probability(masses, known.infinite, STEP)

    composed = reduce(lambda a, b: a.compose(b), (of(piece).self_compose(times) for piece, times in pieces))
    return float(composed.get_epsilon_for_delta(delta))


def _alike(pieces: Counter[loss.Loss]) -> Counter[loss.Loss]:
    """Pieces in place of which fewer different ones can be composed, where there are many: at least as much is lost.

    **Theorem.** A loss that is ε-private, (ε, δ)-private, or of a range of length ε, is so for every larger ε. So each
    piece may be replaced by one of its kind with a larger ε, and what covers those covers these. Pieces of one kind,
    with one δ, are put in the order of ε and cut into runs. The largest ε of a run stands for all of it.
    """
    if len(pieces) <= MOST_DIFFERENT:
        return pieces
    kinds: dict[tuple[type, Fraction], list[loss.Loss]] = {}
    found: Counter[loss.Loss] = Counter()
    for piece in pieces:
        if isinstance(piece, loss.Pure | loss.BoundedRange | loss.Approximate):
            kinds.setdefault((type(piece), Fraction(getattr(piece, "delta", 0))), []).append(piece)
        else:
            found[piece] += pieces[piece]
    run = math.ceil(len(pieces) / max((MOST_DIFFERENT - len(found) - len(kinds)), 1))
    for same in kinds.values():
        same.sort(key=lambda piece: Fraction(piece.epsilon), reverse=True)  # type: ignore[attr-defined]
        for start in range(0, len(same), run):
            found[same[start]] += sum(pieces[piece] for piece in same[start : start + run])
    return found


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
    alike = _alike(pieces)
    if basic.exact_epsilon <= LARGEST_COMPOSED and len(alike) <= MOST_DIFFERENT:
        ways.append(_numerically(frozenset(alike.items()), bound, adjacency))
    known = [way for way in ways if way is not None]
    if not known:
        fix = f"Basic composition of these losses has δ = {basic.delta}."
        raise InvalidArgument("delta", "large enough for some ε to cover the losses", checks.describe(delta), fix)
    return min(known, key=lambda way: way.exact_epsilon)
