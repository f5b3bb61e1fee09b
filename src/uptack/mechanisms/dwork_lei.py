"""The algorithms S, M and TM of Dwork and Lei, with any ranks, from the parts of `uptack.mechanisms.ptr`.

Two grids shifted by half a bin, a test for each, one answer law: by the sharper cascade count a stage whose tests and
answer cost ε each is (2ε, 2δ'), S alone (2ε, 2δ'), M on top of S (4ε, 4δ'), TM (3ε, 2δ' + δ'').
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from uptack.mechanisms.additive_noise import GridNoise
from uptack.mechanisms.ptr import (
    Build,
    FactorNoise,
    Proposal,
    TestedRelease,
    attempt,
    grid,
    log_grid,
    release_location,
    release_scale,
    same_bin,
)
from uptack.noise import Entropy, Grid, IntegerLaplace
from uptack.privacy import loss

SHIFTS = (Fraction(0), Fraction(1, 2))


@dataclass(frozen=True)
class Level:
    """What a stage spends: ε on each test and on the answer, and δ' on each test.

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
        return Level(epsilon, _shorter(false_pass), cutoff)


def _shorter(value: Fraction) -> Fraction:
    """A rational of few digits at or above a probability."""
    digits = max(20, 20 - math.floor(math.log10(float(value)))) if float(value) > 0 else 330
    return Fraction(math.ceil(value * 10**digits), 10**digits)


def log_width(n: int) -> float:
    """The papers' bin width ln(1 + 1/ln n) for the logarithm of a scale."""
    return math.log1p(1 / math.log(max(n, 2)))


def scale(
    build: Build, width: float, level: Level, entropy: Entropy, shifts: Sequence[Fraction] = SHIFTS
) -> TestedRelease:
    """S: a scale through grids on its logarithm, with any number of shifts."""
    test, answer = loss.Test(level.epsilon, level.delta), loss.Answer(level.epsilon)
    proposals = [Proposal(width, same_bin(log_grid(width, s)), test, answer, level.cutoff) for s in shifts]
    return attempt(build, proposals, release_scale(entropy), entropy, same_answer=True)


def location(
    build: Build, width: float, level: Level, entropy: Entropy, shifts: Sequence[Fraction] = SHIFTS
) -> TestedRelease:
    """The second stage of M: a location through grids of a width worked out from a private or public scale."""
    test, answer = loss.Test(level.epsilon, level.delta), loss.Answer(level.epsilon)
    proposals = [Proposal(width, same_bin(grid(width, s)), test, answer, level.cutoff) for s in shifts]
    return attempt(build, proposals, release_location(entropy), entropy, same_answer=True)


LEAST, MOST = 1e-300, 1e300
"""Released scales beyond these are not told from 0, or get ⊥: there the floats end."""


def bin_width(s: float, n: int) -> float:
    """M's proposal h = s·n^(-1/3), and n^(-1/2) for s = 0, where any fixed positive number will do."""
    return float(s * n ** (-1 / 3) if s > LEAST else n**-0.5)


def too_small(noise: object, factor: float) -> Fraction:
    """The chance that a scale released by S is below its true value over e^factor: exact, from the law of its noise."""
    law = _log_noise(noise)
    steps = math.floor((factor - law.rounding) / law.step)
    return _shorter(law.law.exact_tail(steps).bounds()[1])


def safe_factor(noise: object, delta: Fraction) -> float:
    """The factor that raises a scale released by S so that it is too small with a chance of at most δ."""
    law = _log_noise(noise)
    raised = law.law.cutoff(delta) * law.step + law.rounding
    return math.exp(raised) * (1 + 1e-12) if raised < 700 else math.inf


def _log_noise(noise: object) -> GridNoise:
    assert isinstance(noise, FactorNoise)
    assert isinstance(noise.logarithm, GridNoise)
    return noise.logarithm


def noisy_mean(mean: Fraction, bound: float, level: Level, failure: Fraction, entropy: Entropy) -> TestedRelease:
    """The second stage of TM: Laplace noise for a bound that is too small with probability at most `failure`.

    The mean goes to the noise's grid as a rational. Rounded to a float before, it could jump by more than the bound.
    """
    exact = Fraction(max(bound, LEAST))
    lattice = Grid.finer_than(exact)
    step = Fraction(lattice.step)
    law = IntegerLaplace((math.ceil(exact / step) + 1) / level.epsilon)
    value = float(lattice.points([round(mean / step) + law.sample(entropy=entropy)])[0])
    return TestedRelease(value, loss.Approximate(level.epsilon, failure), GridNoise(law, float(step), float(step) / 2))
