"""A draw among countably many candidates with public weights, by scores.

**Theorem.** Let every candidate y have a public weight p(y), the sum of all p at most 1, and a score s(y) of whole
numbers up to a public K that moves by at most 1 between neighbours. Let ρ be a rational with e^(-ε/2) ≤ ρ < 1. Drawing
y with probability proportional to p(y)·ρ^s(y) is ε-differentially private and of bounded range ε
(`uptack.privacy.loss.BoundedRange`): each weight, and so their sum, changes by a factor of at most 1/ρ. Then all
candidates of score K are told as one, ⊥: post-processing. ∎

So only candidates of a lower score need be listed. The rest weighs ρ^K·(1 - Σp of those), whatever it consists of. The
draw is exact (`uptack.noise.exact_choice`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from uptack.account import AssumptionFailed, Mechanism
from uptack.exact import ball, logarithm
from uptack.mechanisms.inverse_sensitivity import decay, inverse_loss
from uptack.noise import Entropy
from uptack.noise.exact_choice import pick

Key = TypeVar("Key")


@dataclass(frozen=True)
class WeightedCandidates(Generic[Key]):
    """Candidates with their public weights and scores below K, and what all others weigh.

    `rest` is Σp of the candidates that are not listed, each of score `most`, K; 0 where all are listed. `logs` are the
    logarithms of the weights, where they have been worked out before.
    """

    keys: Sequence[Key]
    weights: Sequence[Fraction]
    scores: NDArray[np.int64]
    rest: Fraction = Fraction(0)
    most: int = 0
    logs: NDArray[np.float64] | None = None

    def log_weights(self, rho: Fraction) -> NDArray[np.float64]:
        """Their logarithms in floats, that of the rest last, if there is one."""
        logs = _logs(self.weights) if self.logs is None else self.logs
        listed = logs + logarithm(rho) * self.scores
        return np.append(listed, _logs((self.rest,)) + logarithm(rho) * self.most) if self.rest else listed

    def draw(self, rho: Fraction, entropy: Entropy) -> Key | None:
        """A candidate with probability proportional to p·ρ^score, or None for all those that are not listed."""

        def exactly() -> Iterator[arb]:
            for p, s in zip(self.weights, self.scores.tolist(), strict=True):
                yield ball(p) * ball(rho) ** s
            if self.rest:
                yield ball(self.rest) * ball(rho) ** self.most

        at = pick(self.log_weights(rho), exactly, entropy)
        return self.keys[at] if at < len(self.keys) else None


@dataclass(frozen=True)
class WeightedDraw(Mechanism[WeightedCandidates[Key], Key | None]):
    """A candidate with probability proportional to p·ρ^score, or None for all that are not listed."""

    rho: Fraction

    @staticmethod
    def of(epsilon: Fraction, rows: int = 1) -> WeightedDraw[Any]:
        """The draw that costs ε where one person moves scores by at most so many steps."""
        return WeightedDraw(inverse_loss(epsilon), decay(epsilon / rows))

    def draw(self, value: WeightedCandidates[Key], entropy: Entropy) -> Key | None:
        """By the theorem above."""
        return value.draw(self.rho, entropy)

    def price(self, value: WeightedCandidates[Key], other: WeightedCandidates[Key], output: Key | None) -> float:
        """2·ln(1/ρ) for each step by which the score of some candidate moves. What is not listed has the largest."""
        if value.most != other.most:
            raise AssumptionFailed("the largest score depends on the data")
        one, two = (
            dict(zip(made.keys, zip(made.weights, made.scores.tolist(), strict=True), strict=True))
            for made in (value, other)
        )
        if any(one[key][0] != two[key][0] for key in one.keys() & two.keys()):
            raise AssumptionFailed("the weight of a candidate depends on the data")
        outside = (0, value.most)
        moves = [abs(one.get(key, outside)[1] - two.get(key, outside)[1]) for key in {**one, **two}]
        return 2 * max(moves, default=0) * -logarithm(self.rho)


def _logs(weights: Sequence[Fraction]) -> NDArray[np.float64]:
    """Logarithms of weights, which may be less than the least float."""
    return np.array([logarithm(p) for p in weights], np.float64)
