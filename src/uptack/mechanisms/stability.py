"""A_dist (Dwork and Roth, Algorithm 13): release a value as it is, if it is far from being another one.

**Theorem.** Let d be a number for each table with d(D) ≤ 0 wherever some neighbour D' has another value g(D') ≠ g(D),
and with |d(D) - d(D')| ≤ s between neighbours. Draw z from the integer Laplace law of scale s/ε, and reply with g(D)
iff d(D) + z ≥ t, t the least integer with P(z ≥ t) ≤ δ. This is (ε, δ)-differentially private under the adjacency that
the two properties hold for.

*Proof.* Neighbours with the same value: only the test tells them apart, which is ε-private. Neighbours with different
values: d ≤ 0 on both sides, so each replies with a probability of at most δ, and P(S) ≤ P'(S) + δ for every S: an S
without ⊥ has P(S) ≤ δ, one with ⊥ has P'(S) ≥ 1 - δ. ∎ (In print t is ln(1/δ)/ε for continuous noise, where a wrong
value passes with a chance of δ/2.)

**Accuracy.** A value with d(D) ≥ t + (s/ε)·ln(1/β) is released with a probability of at least 1 - β.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import TypeVar

from uptack import checks
from uptack.account import Account, AssumptionFailed, Mechanism, Outcome
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.noise import Entropy, IntegerLaplace
from uptack.noise.integer_laplace import LARGEST_SCALE
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.registry import release
from uptack.release import Advice, NoReply, Release

T = TypeVar("T")
HOW = "distance to instability"
RELIABLE = Fraction(19, 20)
"""What "enough for a reply" means: the chance that the noise lets it through."""


def noise_law(epsilon: Fraction, sensitivity: int = 1) -> IntegerLaplace:
    """The law of the test's noise."""
    if sensitivity / epsilon > LARGEST_SCALE:
        raise InvalidArgument("epsilon", f"at least {float(sensitivity / LARGEST_SCALE):.2g}", float(epsilon))
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
        """The law of the test's noise."""
        return noise_law(Fraction(self._test.epsilon), self.sensitivity)

    @property
    def cutoff(self) -> int:
        """t."""
        return self.law.cutoff(self._test.delta)

    @property
    def _test(self) -> loss.Test:
        assert isinstance(self.loss, loss.Unit)
        return self.loss.test

    def draw(self, value: tuple[T, int], entropy: Entropy) -> T | None:
        """One draw of noise decides."""
        stable, distance = value
        return stable if distance + self.law.sample(entropy=entropy) >= self.cutoff else None

    def spent(self, output: T | None) -> loss.Loss:
        """Where there is no value, none was released."""
        return loss.Unit(self._test, None) if output is None else self.loss

    def price(self, value: tuple[T, int], other: tuple[T, int], output: T | None) -> float:
        """How far the distance moves, over the scale of the noise."""
        (one, far), (two, near) = value, other
        if repr(one) != repr(two) and max(far, near) > 0:  # 0.0 and -0.0 are equal, and told apart by a reader
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
    neighbours, as those of `uptack.mechanisms.stability` do. The theorem is in `uptack.mechanisms.stability`.

    >>> from uptack import SeededEntropy
    >>> from uptack.mechanisms.stability import mode_distance, winner
    >>> votes = 60 * ["blue"] + 5 * ["red"]
    >>> far = mode_distance(votes, "substitute")
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
