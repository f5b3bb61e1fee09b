"""Propose, test, release (Dwork and Lei), on any reach.

*Propose* that the answer moves by at most b between neighbours. *Test* it: with A the number of people who must change
before the proposal may fail, reply only if A + z ≥ 1 + t, z integer Laplace noise of scale 1/ε_test and t the least
integer with P(z ≥ t) ≤ δ. *Release* T(D) with Laplace noise for a sensitivity of b.

Draw first, look second: A + z ≥ 1 + t says A > k with k = t - z, that is, the proposal holds on interval k of the
reach. So z is drawn before the data are read, one interval is computed, and there is no search for A.

**Theorem.** Let the proposal be a property of intervals that holds for each interval inside one for which it holds. By
the axioms of a reach A changes by at most one between neighbours, so the test is ε_test-private. If T(D) and T(D') are
not within b of each other for some neighbour D', the proposal fails on interval 1, A ≤ 1, and passing has probability
at most δ. Otherwise the release is ε_answer-private. Together: (ε_test + ε_answer, δ). Several proposals tried in order
are a cascade, whose cost follows from the loss tree.

Two kinds of proposal: the *diameter* of the interval is at most b; or, as in the papers, the interval lies in one bin
of a *grid* of width b, tried with several shifts of the grid. The diameter needs no shifts, and passes with fewer rows.

The algorithms S, M and TM of Dwork and Lei, with any ranks, are two grids shifted by half a bin, a test for each, and
one answer law. By the sharper cascade count a stage whose tests and answer cost ε each is (2ε, 2δ'), S alone (2ε, 2δ'),
M on top of S (4ε, 4δ'), TM (3ε, 2δ' + δ'').
"""

from __future__ import annotations

import bisect
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account, AssumptionFailed, Mechanism
from uptack.exact import Rational
from uptack.mechanisms.additive_noise import GridNoise, IntegerNoise, calibrated_laplace
from uptack.noise import Entropy, Grid, IntegerLaplace
from uptack.privacy import loss
from uptack.privacy.guarantee import shorter
from uptack.reach import Reach
from uptack.release import Noise

Holds = Callable[[float, float], bool]
Build = Callable[[int], Reach]
Index = Callable[[float], float]


@dataclass(frozen=True)
class Proposal:
    """A bound on how far the answer moves between neighbours, how to test it on an interval, and its budget.

    `cutoff` replaces t where a paper fixes it; its test must then state the δ that follows.
    """

    bound: float
    holds: Holds
    test: loss.Test
    answer: loss.Answer
    cutoff: int | None = None

    @property
    def noise(self) -> IntegerLaplace:
        """The law of z."""
        return IntegerLaplace(1 / Fraction(self.test.epsilon))

    @property
    def threshold(self) -> int:
        return self.noise.cutoff(self.test.delta) if self.cutoff is None else self.cutoff


def diameter(bound: float) -> Holds:
    """The interval is at most `bound` long."""
    return lambda low, high: high - low <= bound


def ratio(bound: float) -> Holds:
    """The upper end is at most e^bound times the lower one; for a scale. [0, 0] is as good."""
    factor = math.exp(bound)
    return lambda low, high: high == 0 or (low > 0 and high / low <= factor)


def same_bin(index: Index) -> Holds:
    """Both ends lie in one bin. A bin is where a monotone function is constant."""
    return lambda low, high: index(low) == index(high)


def grid(width: float, shift: Fraction) -> Index:
    """The number of the bin [(i + shift)·width, (i + 1 + shift)·width)."""
    exact = Fraction(width)

    def index(x: float) -> float:
        return x if math.isinf(x) else math.floor(Fraction(x) / exact - shift)

    return index


def log_grid(width: float, shift: Fraction) -> Index:
    """The same for ln x, with a bin of its own for x = 0.

    A bin starts at the float nearest to e^((i + shift)·width), and x is compared with that: a logarithm alone might
    not keep order. So bins are as wide as they say up to the largest float. Smaller numbers than `SMALLEST` count as
    that one: there floats are too far apart for bins.
    """

    def start(i: int) -> float:
        try:
            return math.exp((i + float(shift)) * width)
        except OverflowError:
            return math.inf

    def index(x: float) -> float:
        if x == 0 or math.isinf(x):
            return -math.inf if x == 0 else x
        x = max(x, SMALLEST)
        i = math.floor(math.log(x) / width - float(shift))
        while x < start(i):
            i -= 1
        while x >= start(i + 1):
            i += 1
        return i

    return index


@dataclass(frozen=True)
class TestedValue:
    """The value after a test that passed, and the law of its noise."""

    value: float
    noise: Noise
    passed: int


@dataclass(frozen=True)
class FactorNoise:
    """Noise that multiplies: additive noise on the logarithm."""

    logarithm: Noise

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        """The interval of the logarithm, as factors."""
        if value == 0:
            return 0.0, 0.0
        low, high = self.logarithm.around(math.log(value), confidence)
        return math.exp(low), math.exp(high)


SMALLEST = sys.float_info.min
"""A scale above 0 counts as this much at least. Below, floats lose digits, and bins of their logarithms are uneven."""

LOG_SLACK = 1e-11
"""What computing logarithms in floats may add to a difference of two of them."""

FURTHEST = 256
"""Steps of a reach within which an audit looks for the first at which a proposal fails."""


@dataclass(frozen=True)
class TestedAnswer(Mechanism[Build, TestedValue | None]):
    """Proposals tried in order, and a release with the first that passes its test: None for ⊥.

    Its input, `build(steps)`, reads the data. The answer is T(D) plus Laplace noise for the proposal's bound; of a
    `scale` it is T(D)·e^noise, with Laplace noise on the logarithm, and 0 stays 0, as a passed test says it does for
    neighbours. Proposals with one and the same bound have the same answer (`uptack.privacy.loss.Cascade`).
    """

    __test__ = False  # not a pytest class

    proposals: tuple[Proposal, ...]
    scale: bool = False

    @staticmethod
    def of(proposals: Sequence[Proposal], *, scale: bool, same_answer: bool = False) -> TestedAnswer:
        units = tuple(loss.Unit(p.test, p.answer) for p in proposals)
        return TestedAnswer(loss.Cascade(units, same_answer), tuple(proposals), scale)

    @property
    def _same_answer(self) -> bool:
        assert isinstance(self.loss, loss.Cascade)
        return self.loss.same_answer

    def draw(self, value: Build, entropy: Entropy) -> TestedValue | None:
        """Thresholds first, k = t - z, then the reach, then the answer."""
        looks = [proposal.threshold - proposal.noise.sample(entropy=entropy) for proposal in self.proposals]
        reach = value(max(0, *looks))
        for place, (proposal, k) in enumerate(zip(self.proposals, looks, strict=True)):
            if k <= 0 or proposal.holds(*reach.interval(k)):
                return self._answer(reach.value, place, entropy)
        return None

    def _answer(self, value: float, place: int, entropy: Entropy) -> TestedValue:
        law, grid = self._noise(self.proposals[place])
        step = float(Fraction(grid.step))
        noise = GridNoise(law, step, step / 2)
        logarithm = self.scale and value != 0
        start = math.log(max(value, SMALLEST)) if logarithm else 0.0 if self.scale else value
        noisy = float(grid.move(np.nan_to_num(np.array([start])), law.draw(1, entropy))[0])
        if not self.scale:
            return TestedValue(noisy, noise, place)
        return TestedValue(math.exp(min(noisy, 700.0)) if logarithm else 0.0, FactorNoise(noise), place)

    def _noise(self, proposal: Proposal) -> tuple[IntegerLaplace, Grid]:
        bound = proposal.bound + (LOG_SLACK if self.scale else 0.0)
        return calibrated_laplace(checks.positive("bound", bound), Fraction(proposal.answer.epsilon), 1)

    def spent(self, output: TestedValue | None) -> loss.Loss:
        """⊥ has cost the tests alone."""
        if output is not None:
            return self.loss
        return loss.Cascade(tuple(loss.Unit(p.test, None) for p in self.proposals), self._same_answer)

    def price(self, value: Build, other: Build, output: TestedValue | None) -> float:
        """Each test by how far its A moves, and the answer by how far T(D) does.

        Where all proposals have one answer nobody sees which of them passed: a reply costs the dearest test and the
        answer, ⊥ all tests.
        """
        one, two = value(FURTHEST), other(FURTHEST)
        near, far = ([_first_failure(p, reach) for p in self.proposals] for reach in (one, two))
        tests = []
        for proposal, a, b in zip(self.proposals, near, far, strict=True):
            tests.append(proposal.noise.price([b - a]))
            if tests[-1] > float(Fraction(proposal.test.epsilon)) * (1 + 1e-9):
                raise AssumptionFailed(f"a test costs ε = {tests[-1]:.4g} of {float(proposal.test.epsilon):.4g}")
            if not proposal.noise.exact_tail(proposal.threshold) <= Fraction(proposal.test.delta):
                raise AssumptionFailed("a wrong proposal passes with a probability above δ")
        if output is None:
            return sum(tests)
        spent, passed = max(tests) if self._same_answer else sum(tests), output.passed
        if one.value == two.value or max(near[passed], far[passed]) <= 1:  # at A ≤ 1 only a false pass gets here
            return spent
        return spent + self._answer_price(float(one.value), float(two.value), self.proposals[passed])

    def _answer_price(self, value: float, other: float, proposal: Proposal) -> float:
        law, grid = self._noise(proposal)
        if self.scale:
            if not value or not other:
                raise AssumptionFailed("a scale of 0 and another one both pass the test")
            value, other = math.log(max(value, SMALLEST)), math.log(max(other, SMALLEST))
        return abs(other - value) / float(Fraction(grid.step)) / float(Fraction(law.scale))


def _first_failure(proposal: Proposal, reach: Reach) -> int:
    """A: the first interval on which a proposal fails, up to a limit."""
    return bisect.bisect_left(range(FURTHEST), True, key=lambda k: not proposal.holds(*reach.interval(k)))


# ------------------------------------------------------------------------------------------ Dwork and Lei's S, M and TM


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
