"""Propose, test, release (Dwork and Lei), on any reach.

*Propose* that the answer moves by at most b between neighbours. *Test* it: with A the number of people who must change
before the proposal may fail, reply only if A + z ≥ 1 + t, z integer Laplace noise of scale 1/ε_test and t the least
integer with P(z ≥ t) ≤ δ. *Release* T(D) with Laplace noise for a sensitivity of b.

Draw first, look second: A + z ≥ 1 + t says A > k with k = t - z, that is, the proposal holds on interval k of the
reach. So z is drawn before the data are read, one interval is looked at, and there is no search for A.

**Theorem.** Let the proposal be a property of intervals that holds for each interval inside one for which it holds. By
the axioms of a reach A changes by at most one between neighbours, so the test is ε_test-private. If T(D) and T(D') are
not within b of each other for some neighbour D', the proposal fails on interval 1, A ≤ 1, and passing has probability
at most δ. Otherwise the release is ε_answer-private. Together: (ε_test + ε_answer, δ). Several proposals tried in order
are a cascade; what it costs is said by the loss tree.

Two kinds of proposal: the *diameter* of the interval is at most b; or, as in the papers, the interval lies in one bin
of a *grid* of width b, tried with several shifts of the grid. The diameter needs no shifts, and passes with fewer rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from uptack.exact import Rational
from uptack.mechanisms.additive_noise import GridNoise, laplace
from uptack.noise import Entropy, IntegerLaplace
from uptack.privacy import loss
from uptack.reach import Reach
from uptack.release import Noise

Holds = Callable[[float, float], bool]
Build = Callable[[int], Reach]
Index = Callable[[float], float]


@dataclass(frozen=True)
class Proposal:
    """A bound on how far the answer moves between neighbours, how to see it on an interval, and what it may spend.

    `cutoff` replaces t where a paper fixes it; its test must then state the δ that follows.
    """

    bound: float
    holds: Holds
    test: loss.Test
    answer: loss.Answer
    cutoff: int | None = None

    def look(self, entropy: Entropy) -> int:
        """Draw z; the interval to look at, k = t - z."""
        noise = IntegerLaplace(1 / Fraction(self.test.epsilon))
        t = noise.cutoff(self.test.delta) if self.cutoff is None else self.cutoff
        return t - noise.sample(entropy=entropy)


def diameter(bound: float) -> Holds:
    """The interval is at most so long."""
    return lambda low, high: high - low <= bound


def ratio(bound: float) -> Holds:
    """The upper end is at most e^bound times the lower one; for a scale. [0, 0] is as good."""
    factor = math.exp(bound)
    return lambda low, high: high == 0 or (low > 0 and high / low <= factor)


def same_bin(index: Index) -> Holds:
    """Both ends lie in one bin. Bins are where a function that keeps order has one value."""
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
    not keep order.
    """

    def start(i: int) -> float:
        exponent = (i + float(shift)) * width
        return math.exp(exponent) if exponent < 709 else math.inf

    def index(x: float) -> float:
        if x == 0 or math.isinf(x):
            return -math.inf if x == 0 else x
        i = math.floor(math.log(x) / width - float(shift))
        while x < start(i):
            i -= 1
        while x >= start(i + 1):
            i += 1
        return i

    return index


@dataclass(frozen=True)
class TestedRelease:
    """What came of it: a value with its noise or None for ⊥, and the loss tree."""

    value: float | None
    tree: loss.Loss
    noise: Noise | None = None


def attempt(
    build: Build,
    proposals: Sequence[Proposal],
    release: Callable[[float, Proposal], tuple[float, Noise]],
    entropy: Entropy,
    *,
    same_answer: bool = False,
) -> TestedRelease:
    """Try proposals in order and release with the first that passes its test.

    `build(steps)` reads the data. `same_answer` is for proposals with one and the same bound.
    """
    looks = [proposal.look(entropy) for proposal in proposals]
    reach = build(max(0, *looks))
    for proposal, k in zip(proposals, looks, strict=True):
        if k <= 0 or proposal.holds(*reach.interval(k)):
            units = tuple(loss.Unit(p.test, p.answer) for p in proposals)
            value, noise = release(reach.value, proposal)
            return TestedRelease(value, loss.Cascade(units, same_answer), noise)
    return TestedRelease(None, loss.Cascade(tuple(loss.Unit(p.test, None) for p in proposals), same_answer))


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


LOG_SLACK = 1e-11
"""What computing logarithms in floats may add to a difference of two of them."""


def release_location(entropy: Entropy) -> Callable[[float, Proposal], tuple[float, Noise]]:
    """T(D) plus Laplace noise for the proposal's bound."""

    def release(value: float, proposal: Proposal) -> tuple[float, Noise]:
        noisy = laplace(value, sensitivity=proposal.bound, epsilon=proposal.answer.epsilon, entropy=entropy)
        assert isinstance(noisy.noise, GridNoise)
        return noisy.value, noisy.noise

    return release


def release_scale(entropy: Entropy) -> Callable[[float, Proposal], tuple[float, Noise]]:
    """T(D) times e^noise, Laplace noise on the logarithm; 0 stays 0, as a passed test says it does for neighbours."""

    def release(value: float, proposal: Proposal) -> tuple[float, Noise]:
        log_value = 0.0 if value == 0 else math.log(value)
        bound = proposal.bound + LOG_SLACK
        noisy = laplace(log_value, sensitivity=bound, epsilon=proposal.answer.epsilon, entropy=entropy)
        assert isinstance(noisy.noise, GridNoise)
        return (0.0 if value == 0 else math.exp(min(noisy.value, 700.0))), FactorNoise(noisy.noise)

    return release
