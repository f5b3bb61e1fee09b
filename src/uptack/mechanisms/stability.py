"""A_dist (Dwork and Roth, Algorithm 13): release a value as it is, if it is far from being another one.

**Theorem.** Let d be a number for each table with d(D) ≤ 0 wherever some neighbour D' has another value g(D') ≠ g(D),
and with |d(D) - d(D')| ≤ s between neighbours. Draw z from the integer Laplace law of scale s/ε, and reply with g(D)
iff d(D) + z ≥ t, t the least integer with P(z ≥ t) ≤ δ. This is (ε, δ)-differentially private under the adjacency that
the two properties hold for.

*Proof.* Neighbours with the same value: only the test tells them apart, which is ε-private. Neighbours with different
values: d ≤ 0 on both sides, so each replies with a probability of at most δ, and P(S) ≤ P'(S) + δ for every S: an S
without ⊥ has P(S) ≤ δ, one with ⊥ has P'(S) ≥ 1 - δ. ∎ (In print t is ln(1/δ)/ε for continuous noise, where a wrong
value passes with a chance of δ/2.)

**Distances.** An answer is unstable at D if some neighbour of D has another one. So d may be how many people can change
their rows before the answer may be another one, or a smaller number: then only the chance of a reply suffers. For
people with up to g rows every distance is the one for single rows divided by g, rounded down: it is 0 where g rows
change the answer, and moves by at most one when g rows change.

**Accuracy.** A value with d(D) ≥ t + (s/ε)·ln(1/β) is released with a probability of at least 1 - β.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from uptack import checks
from uptack.account import Account, AssumptionFailed, Mechanism, Outcome
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.noise import Entropy, IntegerLaplace
from uptack.noise.integer_laws import refuse_tiny
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.privacy.guarantee import adjacency as check_adjacency
from uptack.reach.l_statistics import quantile_rank
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.table.values.entrance import numbers
from uptack.table.values.kinds import canonical

T = TypeVar("T")
HOW = "distance to instability"
RELIABLE = Fraction(19, 20)
"""The probability of a reply at the distance that is called enough."""


def noise_law(epsilon: Fraction, sensitivity: int = 1) -> IntegerLaplace:
    """The law of the test's noise."""
    refuse_tiny(epsilon, sensitivity / epsilon)
    return IntegerLaplace(sensitivity / epsilon)


def distance_needed(epsilon: Rational, delta: Rational, sensitivity: int = 1) -> int:
    """The distance from which on a reply comes at least 19 times in 20: public, so that asking costs nothing.

    >>> distance_needed(1, 1e-6)
    16
    """
    law = noise_law(checks.epsilon(epsilon), checks.integer("sensitivity", sensitivity, least=1))
    return law.cutoff(delta) + law.quantile(RELIABLE)


@dataclass(frozen=True)
class StabilityTest(Mechanism[tuple[T, int], T | None]):
    """The value of a pair (value, distance), if the noisy distance reaches the cutoff; else None."""

    sensitivity: int

    @property
    def law(self) -> IntegerLaplace:
        return noise_law(Fraction(self._test.epsilon), self.sensitivity)

    @property
    def cutoff(self) -> int:
        return self.law.cutoff(self._test.delta)

    @property
    def _test(self) -> loss.Test:
        assert isinstance(self.loss, loss.Unit)
        return self.loss.test

    def draw(self, value: tuple[T, int], entropy: Entropy) -> T | None:
        stable, distance = value
        return stable if distance + self.law.sample(entropy=entropy) >= self.cutoff else None

    def spent(self, output: T | None) -> loss.Loss:
        """If no value was released, its cost was not spent."""
        return loss.Unit(self._test, None) if output is None else self.loss

    def price(self, value: tuple[T, int], other: tuple[T, int], output: T | None) -> float:
        (one, far), (two, near) = value, other
        if repr(one) != repr(two) and max(far, near) > 0:  # 0.0 and -0.0 are equal, but a reader can distinguish them
            raise AssumptionFailed("a neighbour has another value at a distance above 0")
        if not self.law.exact_tail(self.cutoff) <= Fraction(self._test.delta):
            raise AssumptionFailed("an unstable value passes with a probability above δ")
        return self.law.price([near - far])


@release(data=("value", "distance"), people="stated", page="stability")
def release_if_stable(
    value: T,
    distance: int,
    *,
    epsilon: Rational,
    delta: Rational,
    sensitivity: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[T] | NoReply:
    """The value, if its noisy distance to instability is large enough, or ⊥: (ε, δ)-differentially private.

    `distance` must be 0 or less wherever a neighbour has another value, and move by at most `sensitivity` between
    neighbours, as the distances of `uptack.mechanisms.stability` do. The theorem is there.

    >>> from uptack import SeededEntropy
    >>> from uptack.mechanisms.stability import mode_distance, winner
    >>> votes = 60 * ["blue"] + 5 * ["red"]
    >>> far = mode_distance(votes)
    >>> release_if_stable(winner(votes).value, far, epsilon=1, delta=1e-6, entropy=SeededEntropy(1)).value
    'blue'
    >>> release_if_stable("red", 1, epsilon=1, delta=1e-6)
    ⊥ (distance to instability, ε = 1.0, δ = 1e-06 (substitute); a reply needs a value that stays the same when any 16
    people change their rows)
    """
    eps, dlt = checks.epsilon(epsilon), checks.inside_unit("delta", delta, "Choose one such as 1e-6.")
    step = checks.integer("sensitivity", sensitivity, least=1)
    account = Account.open(HOW, eps, dlt, adjacency=adjacency, entropy=entropy)
    far = int(checks.instance("distance", distance, Integral, "an integer"))
    noise_law(eps, step)  # refuses a tiny ε
    test = StabilityTest[tuple[T]](loss.Unit(loss.Test(eps, dlt), loss.Answer(0)), step)
    passed = account.draw(test, ((value,), far))
    if passed is not None:
        return account.release(passed[0])
    needed = -(-distance_needed(eps, dlt, step) // step)
    advice = Advice(other=f"a value that stays the same when any {needed} people change their rows")
    return account.close(Outcome.refusal("", advice))


# --------------------------------------------------------------------------------------------- distances to instability


class Winner(NamedTuple):
    """The most frequent value, how often it occurs, and its lead over the second."""

    value: Any
    votes: int
    gap: int


def outcome(value: Any) -> Hashable:
    """A result of a function in its canonical form; TypeError where it is not hashable, or NaN.

    Results that Python calls equal but a reader can distinguish, such as True, 1 and 1.0, or datetimes in two zones,
    would reveal which row came first: see `uptack.table.values.kinds.canonical`. A truth value stays one, and `winner`
    distinguishes it from 1.
    """
    hash(value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value)
    if canonical(value) is None and value is not None:
        raise TypeError("NaN is not equal to itself")
    return _plain(value)


def _plain(value: Any) -> Hashable:
    return bool(value) if isinstance(value, bool | np.bool_) else canonical(value)


def winner(values: Iterable[Any]) -> Winner:
    """The mode of canonical values; the first that was met, where several are as frequent.

    >>> winner("abracadabra")
    Winner(value='a', votes=5, gap=3)
    """
    plain = [_plain(value) for value in values]
    if not plain:
        raise InvalidArgument("values", "at least one value", "none")
    votes = Counter((isinstance(value, bool), value) for value in plain)
    ((_, first), count), *rest = votes.most_common(2)
    return Winner(first, count, count - (rest[0][1] if rest else 0))


def gap_distance(gap: Rational, adjacency: Adjacency = SUBSTITUTE, sensitivity: Rational = 1) -> int:
    """max(0, ⌈gap/s⌉ - 1), where s is how far one person's rows move the gap: g·Δ added or removed, 2g·Δ replaced.

    A replaced vote leaves one candidate and goes to another. A neighbour with another winner has a gap in its own
    favour, so the gap here is at most s and the distance 0.

    >>> from uptack import ADD_REMOVE
    >>> gap_distance(5, ADD_REMOVE), gap_distance(5), gap_distance(0)
    (4, 2, 0)
    """
    neighbours = check_adjacency(adjacency)
    most = neighbours.moves_per_row * neighbours.rows_per_person * checks.positive("sensitivity", sensitivity)
    return max(0, -int(-checks.rational("gap", gap) // most) - 1)


def mode_distance(values: Iterable[Any], adjacency: Adjacency = SUBSTITUTE) -> int:
    """How far the most frequent of hashable values is from another one. (The gap itself is too much by one or more.)

    >>> from uptack import ADD_REMOVE
    >>> mode_distance("aaaaab"), mode_distance("aaaaab", ADD_REMOVE)
    (1, 3)
    """
    return gap_distance(winner(values).gap, adjacency)


def argmax_distance(scores: ArrayLike, adjacency: Adjacency = SUBSTITUTE, sensitivity: Rational = 1) -> int:
    """How far the index of the largest score is from another one.

    Each row must add something between 0 and Δ to every score, as votes for any number of candidates do, and the scores
    must be exact sums: then one row moves the lead of one candidate over another by at most Δ, a replaced one by 2Δ.

    >>> from uptack import ADD_REMOVE
    >>> argmax_distance([3, 9, 4], ADD_REMOVE)
    4
    """
    ranked = sorted(numbers("scores", scores, (1,)).tolist(), reverse=True)
    if len(ranked) < 2:
        raise InvalidArgument("scores", "at least two numbers", checks.outline(scores))
    return gap_distance(Fraction(ranked[0]) - Fraction(ranked[1]), adjacency, sensitivity)


def median_distance(x: ArrayLike, adjacency: Adjacency = SUBSTITUTE) -> int:
    """How far the median x(r), r = ⌊(n+1)/2⌋, is from another one: exact.

    Replacing k rows can make it any value of [x(r-k), x(r+k)]. Adding and removing k rows also moves r, by half a rank
    each: [x(r-⌈k/2⌉), x(r+⌊k/2⌋)] for odd n, [x(r-⌊k/2⌋), x(r+⌈k/2⌉)] for even n. Past the ends x is infinite.

    >>> from uptack import ADD_REMOVE
    >>> median_distance([1, 2, 2, 2, 3]), median_distance([1, 2, 2, 2, 3], ADD_REMOVE)
    (1, 2)
    """
    neighbours = check_adjacency(adjacency)
    data = np.sort(checks.exact_numbers("x", x, (1,)))
    rank = quantile_rank(Fraction(1, 2), data.size)
    middle = data[rank - 1]
    below = rank - 1 - int(np.searchsorted(data, middle, "left"))
    above = int(np.searchsorted(data, middle, "right")) - rank
    if not neighbours.size_is_public:
        odd = data.size % 2
        below, above = 2 * below + 1 - odd, 2 * above + odd
    return min(below, above) // neighbours.rows_per_person
