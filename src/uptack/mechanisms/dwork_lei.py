"""The algorithms S, M and TM of Dwork and Lei, with any ranks, from the parts of `uptack.mechanisms.ptr`.

Two grids shifted by half a bin, a test for each, one answer law: by the sharper cascade count a stage whose tests and
answer cost ε each is (2ε, 2δ'), S alone (2ε, 2δ'), M on top of S (4ε, 4δ'), TM (3ε, 2δ' + δ'').
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from uptack.account import Account
from uptack.mechanisms.additive_noise import GridNoise, IntegerNoise, calibrated_laplace
from uptack.mechanisms.ptr import FactorNoise, Proposal, TestedAnswer, grid, log_grid, same_bin
from uptack.noise import IntegerLaplace
from uptack.privacy import loss
from uptack.privacy.guarantee import shorter

SHIFTS = (Fraction(0), Fraction(1, 2))
"""By how many bins each of the two grids is moved."""


@dataclass(frozen=True)
class Level:
    """The budget of a stage: ε for each test and for the answer, and δ' for each test.

    With `cutoff` the threshold is fixed as in the papers, and δ' is the false-pass probability that follows from it.
    """

    epsilon: Fraction
    delta: Fraction
    cutoff: int | None = None

    @staticmethod
    def printed(epsilon: Fraction, n: int) -> Level:
        """The papers' threshold: pass iff A + z > 1 + ln²n. For a wrong proposal that takes z ≥ ⌊ln²n⌋ + 1."""
        cutoff = math.floor(math.log(n) ** 2) + 1
        false_pass = IntegerLaplace(1 / epsilon).exact_tail(cutoff).bounds()[1]
        return Level(epsilon, shorter(false_pass), cutoff)


def log_width(n: int) -> float:
    """The papers' bin width ln(1 + 1/ln n) for the logarithm of a scale."""
    return math.log1p(1 / math.log(max(n, 2)))


def two_grids(width: float, level: Level, *, scale: bool) -> TestedAnswer:
    """A `scale` through grids on its logarithm, as in S; or a location through grids, the second stage of M.

    The width of M's grids follows from a private or public scale (`bin_width`).
    """
    bins = log_grid if scale else grid
    test, answer = loss.Test(level.epsilon, level.delta), loss.Answer(level.epsilon)
    proposals = [Proposal(width, same_bin(bins(width, shift)), test, answer, level.cutoff) for shift in SHIFTS]
    return TestedAnswer.of(proposals, scale=scale, same_answer=True)


LEAST, MOST = 1e-300, 1e300
"""Smaller released scales count as 0, and larger ones give ⊥: the range of floats ends there."""


def bin_width(s: float, n: int) -> float:
    """M's proposal h = s·n^(-1/3), and n^(-1/2) for s = 0, where any fixed positive number will do."""
    return float(s * n ** (-1 / 3) if s > LEAST else n**-0.5)


def too_small(noise: object, factor: float) -> Fraction:
    """The exact probability that a scale released by S is below its true value over e^factor."""
    law = _log_noise(noise)
    steps = math.floor((factor - law.rounding) / law.step)
    return shorter(law.law.exact_tail(steps).bounds()[1])


def safe_factor(noise: object, delta: Fraction) -> float:
    """The factor that raises a scale released by S so that it is too small with probability at most δ."""
    law = _log_noise(noise)
    raised = law.law.cutoff(delta) * law.step + law.rounding
    return math.exp(raised) * (1 + 1e-12) if raised < 700 else math.inf


def _log_noise(noise: object) -> GridNoise:
    assert isinstance(noise, FactorNoise)
    assert isinstance(noise.logarithm, GridNoise)
    return noise.logarithm


def noisy_mean(
    mean: Fraction, bound: float, level: Level, failure: Fraction, account: Account
) -> tuple[float, GridNoise]:
    """The second stage of TM, and the law of its noise: Laplace noise for a bound that follows from a released scale.

    The bound is too small with probability at most `failure`. The mean is rounded to the noise's grid as a rational.
    Rounded to a float before, it could jump by more than the bound.
    """
    law, grid = calibrated_laplace(Fraction(max(bound, LEAST)), level.epsilon, 1)
    step = Fraction(grid.step)
    steps = np.array([round(mean / step)], object)
    noisy = account.draw(IntegerNoise(loss.Approximate(level.epsilon, failure), law), steps)
    return float(grid.points(noisy.tolist())[0]), GridNoise(law, float(step), float(step) / 2)
