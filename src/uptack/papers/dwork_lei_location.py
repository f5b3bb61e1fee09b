"""M and TM of Dwork and Lei: a median and a trimmed mean, each with noise for a scale that S released."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from uptack import checks
from uptack.account import Outcome as Found
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms import dwork_lei
from uptack.mechanisms.ptr import TestedValue
from uptack.noise import Entropy
from uptack.papers.dwork_lei_scale import HOW, prepared, spread, told, unfit
from uptack.reach import LStatistic
from uptack.reach.l_statistics import quartiles
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.statistics.statistic import SCALE_SLOPE
from uptack.table.exact_sum import SCALE
from uptack.table.memory.order import selected
from uptack.table.unit import ROW

ROUNDING = 1 + 1e-12
"""What floats may take off a scale and the bound that is worked out from it."""


TOO_LARGE = Advice(other="values of a size below 1e300, a larger kappa or delta=1e-6")


@release(data=("D",), page="papers")
def M(
    D: Any,
    n: int,
    eps: Rational,
    s: Rational | None = None,
    *,
    delta: Rational | None = None,
    entropy: Entropy | None = None,
) -> Release[float] | NoReply:
    """M: the median x(⌊(n+1)/2⌋), or ⊥ (report, section 6).

    Without a scale s it is S(D, n, ε). Then two grids of bins of width h = s·n^(-1/3), h = n^(-1/2) for s = 0, the
    second moved by half a bin, each with a test as in S; the answer is the median plus Lap(h/ε).

    **Theorem.** (4ε, 4δ')-differentially private under SUBSTITUTE, for any data, with S's δ'. With an s that does not
    depend on the data (2ε, 2δ'); an s that was worked out from the data has no guarantee here. Where S gave ⊥ so does
    M, at S's cost. (In print 6ε.)

    >>> from uptack import SeededEntropy
    >>> M(range(20_000), 20_000, 1, delta=1e-6, entropy=SeededEntropy(1)).privacy
    Privacy(epsilon=4.0, delta=4e-06)
    >>> M(range(20_000), 20_000, 1, s=10_000, delta=1e-6, entropy=SeededEntropy(1))
    Release(10..., M by Dwork and Lei's grids, ε = 2.0, δ = 2e-06 (substitute), NOT PRIVATE: seeded randomness)
    """
    given = None if s is None else checks.nonnegative("s", s)
    if given is not None and given > dwork_lei.MOST:
        raise InvalidArgument("s", "at most 1e300", checks.describe(s))
    x, level, account = prepared("M", D, n, eps, delta, entropy)
    if advice := unfit(n, level, tests=4 if given is None else 2):
        return account.close(Found.refusal(HOW, advice))
    width = float(given or 0)
    if given is None:
        found = spread(x, quartiles(n), dwork_lei.log_width(n), level, account)
        if found is None:
            return told(account, found, level, n, SCALE_SLOPE, dwork_lei.log_width)
        width = found.value
    h = dwork_lei.bin_width(width, n)
    answer = account.draw(
        dwork_lei.location(h, level), lambda steps: LStatistic.quantile(x, (n + 1) // 2, min(steps, n))
    )
    return told(account, answer, level, n, SCALE_SLOPE, lambda m: float(m ** (-1 / 3)))


@release(data=("D",), page="papers")
def TM(
    D: Any,
    n: int,
    eps: Rational,
    alpha: Rational,
    kappa: Rational | None,
    *,
    delta: Rational | None = None,
    entropy: Entropy | None = None,
) -> Release[float] | NoReply:
    """TM: the α-trimmed mean m_α, the mean of x(lo+1), ..., x(hi-1) with lo = ⌈nα/2⌉ and hi = n - lo, or ⊥
    (report, section 5).

    S is run on the range x(hi) - x(lo); with its answer s and N = n - 2·lo - 1 the answer is
    m_α + s·n^κ·Lap(1/ε)/N.

    **Theorem.** One row moves m_α by at most (x(hi) - x(lo))/N. So TM is (3ε, 2δ' + δ'')-differentially private under
    SUBSTITUTE, for any data, with S's δ' and δ'' the chance that s·n^κ is below the true range, about
    ½exp(-εκ·ln n/ln(1 + 1/ln n)). With `delta` given and kappa=None the factor n^κ is replaced by the one for which
    δ'' is at most `delta`: (3ε, 3δ'). (In print the noise is Lap(1), the divisor (1-α)n - 2: neither is private.)

    The mean is exact until noise is in it. Scales from 1e300 on are beyond what S can tell: there the reply is ⊥.

    >>> from uptack import SeededEntropy
    >>> TM(range(20_000), 20_000, 1, 0.2, None, delta=1e-6, entropy=SeededEntropy(1))
    Release(100..., TM by Dwork and Lei's grids, ε = 3.0, δ = 3e-06 (substitute), NOT PRIVATE: seeded randomness)
    """
    trim = checks.inside_unit("alpha", alpha)
    fix = "Only with delta given it may be None."
    power = None if kappa is None and delta is not None else checks.inside_unit("kappa", kappa, fix)
    x, level, account = prepared("TM", D, n, eps, delta, entropy)
    lo = math.ceil(n * trim / 2)
    hi, N = n - lo, n - 2 * lo - 1
    rows = Advice(n=math.ceil(4 / (1 - trim))) if N < 1 else None
    if advice := rows or unfit(n, level, tests=2):
        return account.close(Found.refusal(HOW, advice))
    found = spread(x, (lo, hi), dwork_lei.log_width(n), level, account)
    if found is None:
        return told(account, found, level, n, SCALE_SLOPE, dwork_lei.log_width)
    factor, failure = _safety(found, n, power, level)
    bound = found.value * factor * ROUNDING / N if found.value > 0 else 0.0
    if max(found.value, bound) >= dwork_lei.MOST or 2 * level.delta + failure >= 1:
        return account.close(Found.refusal(HOW, TOO_LARGE))
    ranked = selected(x, [(lo + 1, lo + 1), (hi - 1, hi - 1)], ROW)
    mean = Fraction(ranked.total(lo + 1, hi - 1), N << SCALE)
    value, noise = account.draw(dwork_lei.NoisyMean.of(bound, level, failure), mean)
    return account.close(Found(value, HOW, noise))


def _safety(found: TestedValue, n: int, power: Fraction | None, level: dwork_lei.Level) -> tuple[float, Fraction]:
    """The factor that S's answer is raised by, and the chance that it is too small all the same."""
    if power is not None:
        return n ** float(power), dwork_lei.too_small(found.noise, float(power) * math.log(n))
    return dwork_lei.safe_factor(found.noise, level.delta), level.delta
