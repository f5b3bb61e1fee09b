"""Choosing one of finitely many candidates by noisy scores, with exact coins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.account import Account, Mechanism
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.noise import Entropy
from uptack.noise.coins import flip_exp
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.registry import release
from uptack.release import Release
from uptack.table.values.entrance import numbers

T = TypeVar("T")
Floats = NDArray[np.float64]


def _coins(scores: Floats, rate: Fraction, which: NDArray[np.int64], entropy: Entropy) -> NDArray[np.bool_]:
    """For each candidate i in `which` a coin with heads probability exp(-rate·(best score - score i))."""
    best = float(scores.max())
    with np.errstate(over="ignore"):  # the exponent may be infinite; halves, since two scores may be 2^1024 apart
        below = float(2 * rate) * (best / 2 - scores[which] / 2)

    def exact(j: int) -> Fraction:
        return rate * (Fraction(best) - Fraction(float(scores[which[j]])))

    return flip_exp(below, exact, entropy)


@dataclass(frozen=True)
class NoisyChoice(Mechanism[Floats, int]):
    """The index of a score, by independent coins with heads probability e^(-rate·(best - score)).

    `flips_all` is permute-and-flip: a uniform one of all whose coins say heads. Otherwise it is the exponential
    mechanism: uniform candidates until one's coin says heads, so each with probability proportional to e^(rate·score).
    """

    rate: Fraction
    flips_all: bool = False

    def draw(self, value: Floats, entropy: Entropy) -> int:
        if self.flips_all:
            heads = np.flatnonzero(_coins(value, self.rate, np.arange(value.size), entropy))
            return int(heads[entropy.below(heads.size)])
        while True:
            which = entropy.integers(value.size, value.size)
            heads = np.flatnonzero(_coins(value, self.rate, which, entropy))
            if heads.size:
                return int(which[heads[0]])

    def price(self, value: Floats, other: Floats, output: int) -> float:
        """The rate for each step of the score that moves most; twice that where scores move in both directions."""
        move = other - value
        one_way = (move >= 0).all() or (move <= 0).all()
        return float((1 if one_way else 2) * float(self.rate) * np.abs(move).max())


def _choose(
    name: str,
    flips_all: bool,
    candidates: Sequence[T],
    scores: ArrayLike,
    sensitivity: Rational,
    epsilon: Rational,
    monotone: bool,
    adjacency: Adjacency,
    entropy: Entropy | None,
) -> Release[T]:
    bound, eps = checks.positive("sensitivity", sensitivity), checks.epsilon(epsilon)
    account = Account.open(name, eps, adjacency=adjacency, entropy=entropy)
    quality = numbers("scores", scores, dimensions=(1,))
    if len(candidates) != quality.size:
        raise InvalidArgument("candidates", f"as many as the scores, {quality.size}", len(candidates))
    rate = eps / (bound if monotone else 2 * bound)
    checks.rational("epsilon over sensitivity", 2 * rate)  # it becomes a float
    return account.release(candidates[account.draw(NoisyChoice(loss.Pure(eps), rate, flips_all), quality)])


@release(data=("candidates", "scores"), people="stated", page="noise")
def exponential(
    candidates: Sequence[T],
    scores: ArrayLike,
    *,
    sensitivity: Rational,
    epsilon: Rational,
    monotone: bool = False,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[T]:
    """Candidate i with probability proportional to exp(ε·score_i/2Δ): ε-differentially private.

    **Theorem** (McSherry and Talwar 2007; Hall, Prop. 1.3.5). Let no score move by more than Δ between neighbours. Then
    weights and their sum each move by a factor of at most e^(ε/2). With `monotone=True`, where all scores that move
    between two neighbours move in the same direction, only one of the two factors counts and 2Δ becomes Δ.

    The draw is exact: candidates are drawn uniformly until an e^-x coin, x the rational distance of the candidate's
    score from the best one, lands heads.

    >>> from uptack.noise import SeededEntropy
    >>> exponential(["a", "b"], [0, 100], sensitivity=1, epsilon=1, entropy=SeededEntropy(1)).value
    'b'
    """
    name = "exponential mechanism"
    return _choose(name, False, candidates, scores, sensitivity, epsilon, monotone, adjacency, entropy)


@release(data=("candidates", "scores"), people="stated", page="noise")
def report_noisy_max(
    candidates: Sequence[T],
    scores: ArrayLike,
    *,
    sensitivity: Rational,
    epsilon: Rational,
    monotone: bool = False,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[T]:
    """The candidate whose score is largest after exponential noise of scale 2Δ/ε: ε-differentially private.

    **Theorem** (McKenna and Sheldon 2020; Ding et al. 2021). The law of that candidate is the law of permute-and-flip:
    go through the candidates in random order, and stop at candidate i with probability exp(-ε(best - score_i)/2Δ). It
    is ε-private and never has a larger expected loss than the exponential mechanism; on clear-cut scores about half.
    With `monotone=True`, where scores move between neighbours in one direction only, 2Δ becomes Δ.
    """
    return _choose("report noisy max", True, candidates, scores, sensitivity, epsilon, monotone, adjacency, entropy)
