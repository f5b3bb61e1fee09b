"""Medians and other quantiles, one or many, with an interval for the population if asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np
from scipy.stats import binom

from uptack import checks
from uptack.errors import InvalidArgument, NoInterval
from uptack.exact import Rational, read
from uptack.mechanisms.inverse import boxes, decay, steps_needed
from uptack.noise import MachineNumbers
from uptack.privacy import loss
from uptack.reach import LStatistic
from uptack.reach.order import quantile_rank, quartiles
from uptack.reach.protocol import Floats
from uptack.registry import release
from uptack.registry.reads import COLUMN
from uptack.release import Advice, NoReply, Release
from uptack.statistics.arguments import Call, Options, call, column, public_size
from uptack.statistics.many import quantiles
from uptack.statistics.methods import Data, Statistic, answered, least_n, refused, run
from uptack.statistics.planning import ranks


def statistic(p: Fraction) -> Statistic:
    """The p-quantile, as the engines see it. In the tails the density is lower, and the slope higher."""
    return Statistic(
        ranks=lambda n: (quantile_rank(p, n),),
        build=lambda x, n, steps, rows: LStatistic.quantile(x, quantile_rank(p, n), steps, rows),
        spread=quartiles,
        slope=1.75 / float(p * (1 - p)),
    )


@release(reads=COLUMN, by=True, plan=ranks, examples=({}, {"interval": 0.95}))
def median(
    x: Any, *, epsilon: Rational, interval: Rational | None = None, **options: Unpack[Options]
) -> Release[float] | NoReply:
    """The median x(⌊(n+1)/2⌋), with no bounds on the data: `quantile(x, 1/2, ...)`, which see.

    >>> from uptack import SeededEntropy
    >>> median(range(1001), epsilon=1, entropy=SeededEntropy(4))
    Release(501.0, median by inverse sensitivity, ε = 1.0 (substitute), NOT PRIVATE: seeded randomness)
    """
    return _one("median", x, Fraction(1, 2), interval, epsilon, options)


@release(reads=COLUMN, by=True, plan=ranks, examples=({"p": 0.3}, {"p": [0.25, 0.75]}))
def quantile(
    x: Any, p: Any, *, epsilon: Rational, interval: Rational | None = None, **options: Unpack[Options]
) -> Release[Any] | NoReply:
    """The quantile x(⌈pn⌉), or several at once for one ε, with no bounds on the data.

    **Theorem.** `method="inverse"` is ε-differentially private (`uptack.mechanisms.inverse`). `"ptr"` and `"dwork-lei"`
    are (ε, δ)-differentially private (`uptack.mechanisms.ptr`, `uptack.mechanisms.dwork_lei`). Under
    `ADD_REMOVE` a tenth of ε goes into the number of rows. All hold for people with up to `rows_per_person` rows.

    With an increasing list of p the inverse method draws all quantiles at once: with nine of them, a third of the error
    of one release for each with an equal part of ε (`uptack.statistics.many`).

    `interval=0.95` gives half of ε to an interval for the quantile of the *population* that the rows are a sample of;
    `result.interval(0.95)` returns it. It covers with at least that probability, for any population.

    The options are listed in `uptack.statistics.Options`.

    >>> from uptack import SeededEntropy
    >>> quantile(np.arange(10_001), [0.25, 0.75], epsilon=1, entropy=SeededEntropy(4)).value
    array([2498., 7501.])
    """
    if np.ndim(p) == 0:
        return _one("quantile", x, checks.inside_unit("p", p), interval, epsilon, options)
    levels = tuple(checks.inside_unit(f"p[{i}]", q) for i, q in enumerate(p))
    if not levels or list(levels) != sorted(set(levels)):
        must = "a number, or an increasing list of numbers, between 0 and 1"
        raise InvalidArgument("p", must, list(map(float, levels)))
    if interval is not None:
        fix = "Ask for the quantiles one by one."
        raise InvalidArgument("interval", "None for several quantiles", checks.describe(interval), fix)
    request = call("quantiles", epsilon, options)
    data, request = column(x, request)
    n, request = public_size(data.size, request)
    return quantiles(data, n, levels, request, statistic)


def _one(
    name: str, x: Any, p: Fraction, interval: Rational | None, epsilon: Rational, options: Options
) -> Release[float] | NoReply:
    request = call(name, epsilon, options)
    confidence = None if interval is None else checks.inside_unit("interval", interval)
    data, request = column(x, request)
    n, request = public_size(data.size, request)
    if confidence is None:
        return run(statistic(p), data, n, request)
    return _with_interval(data, n, p, confidence, request)


# ------------------------------------------------------------------------------------- intervals for the population

OFFSETS = MachineNumbers(exponent_bits=9, mantissa_bits=6, tapered=True)
"""Candidates for how far an end lies from the released quantile: a precision of one part in a hundred is enough."""


@dataclass(frozen=True)
class PopulationInterval:
    """An interval that was paid for, at one confidence."""

    confidence: Fraction
    low: float
    high: float

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        """The interval; only at the confidence it was made for."""
        if read(confidence) != self.confidence:
            raise NoInterval(f"the interval was paid for at a confidence of {float(self.confidence)}")
        return self.low, self.high


@dataclass(frozen=True)
class _Shifted:
    """A reach seen from a released value: subtracting it keeps order."""

    reach: LStatistic
    origin: float

    @property
    def value(self) -> float:
        return self.reach.value - self.origin

    def interval(self, k: int) -> tuple[float, float]:
        low, high = self.reach.interval(k)
        return low - self.origin, high - self.origin

    def intervals(self, steps: int) -> tuple[Floats, Floats]:
        low, high = self.reach.intervals(steps)
        return low - self.origin, high - self.origin


def _ends(n: int, p: Fraction, confidence: Fraction, epsilon: Fraction, rows: int) -> tuple[int, int, int]:
    """Ranks to aim at and the steps that each may miss by.

    x(l) ≤ Q ≤ x(u) for the population quantile Q fails with at most 8/10 of what may fail, by the binomial law of the
    number of rows up to Q; each end aims a number of ranks further out that it misses with at most 1/10 of it.
    """
    failing = float(1 - confidence)
    steps = steps_needed(epsilon, OFFSETS.size, Fraction(failing) / 10)
    low = int(binom.ppf(0.4 * failing, n, float(p)))
    high = int(binom.ppf(1 - 0.4 * failing, n, float(p))) + 1
    return low - rows * steps, high + rows * steps, steps


def _with_interval(data: Data, n: int, p: Fraction, confidence: Fraction, request: Call) -> Release[float] | NoReply:
    """Half of ε for the quantile, a quarter for each end, drawn on a coarse lattice around the released quantile."""
    side = request.epsilon / 4

    def fits(size: int) -> bool:
        low, high, steps = _ends(size, p, confidence, side, request.rows)
        return low - request.rows * steps >= 1 and high + request.rows * steps <= size

    if not fits(n):
        return refused(request, None, "inverse sensitivity", Advice(n=least_n(fits)))
    half = replace(request, epsilon=request.epsilon / 2)
    found = run(statistic(p), data, n, half)
    if not found:
        return found
    low_rank, high_rank, steps = _ends(n, p, confidence, side, request.rows)
    ends = []
    for rank, outward in ((low_rank, -1), (high_rank, 1)):
        reach = _Shifted(LStatistic.quantile(data, rank, steps, request.rows), found.value)
        drawn = boxes([reach], steps, OFFSETS).draw(decay(side), request.entropy)[0] + outward  # past the rounding
        ends.append(found.value + OFFSETS.value(min(max(drawn, -OFFSETS.top), OFFSETS.top)))
    paid = (found.loss, loss.Pure(side))
    noise = PopulationInterval(confidence, min(ends), max(ends))
    request = replace(request, spent=paid)
    made = answered(request, found.value, loss.Pure(side), found.mechanism.split(" by ")[1], noise)
    note = f"half of ε paid for a {float(confidence):.3g} interval of the population's quantile, by inverse sensitivity"
    return replace(made, notes=(note,))
