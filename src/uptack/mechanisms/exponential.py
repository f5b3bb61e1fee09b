"""Choosing one of finitely many candidates by noisy scores, with exact coins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.noise import Entropy
from uptack.noise.coins import flip_exp
from uptack.noise.entropy import source
from uptack.privacy import SUBSTITUTE, Adjacency, cost, loss
from uptack.privacy.adjacency import adjacency as check_adjacency
from uptack.registry import release
from uptack.release import Release
from uptack.table.values.entrance import numbers

T = TypeVar("T")
Choice = Callable[[NDArray[np.float64], Fraction, Entropy], int]


def _coins(
    scores: NDArray[np.float64], rate: Fraction, which: NDArray[np.int64], entropy: Entropy
) -> NDArray[np.bool_]:
    """For each candidate i in `which` a coin with heads probability exp(-rate·(best score - score i))."""
    best = float(scores.max())
    with np.errstate(over="ignore"):  # the exponent may be infinite; halves, since two scores may be 2^1024 apart
        below = float(2 * rate) * (best / 2 - scores[which] / 2)

    def exact(j: int) -> Fraction:
        return rate * (Fraction(best) - Fraction(float(scores[which[j]])))

    return flip_exp(below, exact, entropy)


def _weighted(scores: NDArray[np.float64], rate: Fraction, entropy: Entropy) -> int:
    """Candidate i with probability proportional to exp(rate·score): uniform candidates until one's coin says heads."""
    while True:
        which = entropy.integers(scores.size, scores.size)
        heads = np.flatnonzero(_coins(scores, rate, which, entropy))
        if heads.size:
            return int(which[heads[0]])


def _permute_and_flip(scores: NDArray[np.float64], rate: Fraction, entropy: Entropy) -> int:
    """The first in random order whose coin says heads, which is a uniform one of all whose coins do."""
    heads = np.flatnonzero(_coins(scores, rate, np.arange(scores.size), entropy))
    return int(heads[entropy.below(heads.size)])


def _choose(
    mechanism: str,
    pick: Choice,
    candidates: Sequence[T],
    scores: ArrayLike,
    sensitivity: Rational,
    epsilon: Rational,
    monotone: bool,
    adjacency: Adjacency,
    entropy: Entropy | None,
) -> Release[T]:
    bound, eps = checks.positive("sensitivity", sensitivity), checks.epsilon(epsilon)
    relation, bits = check_adjacency(adjacency), source(entropy)
    quality = numbers("scores", scores, dimensions=(1,))
    if len(candidates) != quality.size:
        raise InvalidArgument("candidates", f"as many as the scores, {quality.size}", len(candidates))
    rate = eps / (bound if monotone else 2 * bound)
    checks.rational("epsilon over sensitivity", 2 * rate)  # it becomes a float
    chosen = candidates[pick(quality, rate, bits)]
    tree = loss.Pure(eps)
    return Release(chosen, cost(tree, relation), mechanism, tree, None, bits.private)


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
    return _choose(
        "exponential mechanism", _weighted, candidates, scores, sensitivity, epsilon, monotone, adjacency, entropy
    )


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
    return _choose(
        "report noisy max", _permute_and_flip, candidates, scores, sensitivity, epsilon, monotone, adjacency, entropy
    )
