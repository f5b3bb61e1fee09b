"""S, Scale, M and TM of Dwork and Lei: a scale, and a median and a trimmed mean with noise for that scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account, Outcome
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms import dwork_lei
from uptack.mechanisms.dwork_lei import Level
from uptack.mechanisms.ptr import TestedValue
from uptack.noise import Entropy, IntegerLaplace
from uptack.reach import InterquantileRange, LStatistic
from uptack.reach.l_statistics import quartiles
from uptack.reach.protocol import Floats
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.statistics.column_options import least_n
from uptack.statistics.statistic import SCALE_SLOPE
from uptack.table.exact_sum import SCALE
from uptack.table.memory.rows import order_of
from uptack.table.unit import ROW
from uptack.table.values.entrance import column_field

HOW = "Dwork and Lei's grids"
LEAST_EPSILON = Fraction(1, 10**9)
LEAST_N = 3
"""From here on ln n is above 1."""
ROUNDING = 1 + 1e-12
"""The rounding error of a scale in floats, and of the bound that follows from it."""
TOO_LARGE = Advice(other="values of a size below 1e300, a larger kappa or delta=1e-6")


@release(data=("D",), page="papers")
def S(
    D: Any, n: int, eps: Rational, *, delta: Rational | None = None, entropy: Entropy | None = None
) -> Release[float] | NoReply:
    """S: the interquartile range IQR(D) = x(⌈3n/4⌉) - x(⌊n/4⌋ + 1), or ⊥ (report, section 4).

    Two grids of bins [kw, (k+1)w) for ln IQR, w = ln(1 + 1/ln n), the second moved by half a bin; 0 has a bin of its
    own. For each: A is the number of rows that must change for the range to leave its bin; reply if A + Lap(1/ε) is
    above ln²n + 1, with IQR(D)·(1 + 1/ln n)^Lap(1/ε).

    **Theorem.** (2ε, 2δ')-differentially private under SUBSTITUTE, for any data. δ' is the chance that noise alone
    carries a test: P(z ≥ ⌊ln²n⌋ + 1), or at most `delta` if it is given, for a threshold of ln(1/2δ')/ε above 1.
    (In print 4ε. The test is on integers, so its noise is the integer Laplace law.)

    NaN is read as 0 and ±inf as the largest float, each row by itself. For n < 3, and where the δ of all tests would
    come to 1, which promises nothing, the reply is ⊥ and costs nothing.

    >>> from uptack import SeededEntropy
    >>> import numpy as np
    >>> D = np.random.default_rng(0).normal(size=20_000)
    >>> S(D, 20_000, 1, delta=1e-6, entropy=SeededEntropy(1))
    Release(1.3..., S by Dwork and Lei's grids, ε = 2.0, δ = 2e-06 (substitute), NOT PRIVATE: seeded randomness)
    """
    x, level, account = read_arguments("S", D, n, eps, delta, entropy)
    if advice := unfit(x.size, level, tests=2):
        return account.close(Outcome.refusal(HOW, advice))
    scale = spread(x, quartiles(x.size), dwork_lei.log_width(x.size), level, account)
    return _close(account, scale, level, x.size, dwork_lei.log_width)


@release(page="papers")
def Scale(x: Any, eps: Rational, delta: Rational, *, entropy: Entropy | None = None) -> Release[float] | NoReply:
    """Scale: S with the base 2 in place of 1 + 1/ln n, for a given δ, or ⊥ (Dwork and Roth, Algorithm 12).

    **Theorem.** (2ε, δ)-differentially private under SUBSTITUTE, for any data. Each test lets a wrong proposal pass
    with a chance of at most δ/2, which takes the threshold 1 + ln(1/δ)/ε. (In print it is 1 + ln(1/δ), where that
    chance is δ^ε/2: 0.126 for ε = 0.1 and δ = 1e-6. And 4ε in print.)

    >>> from uptack import SeededEntropy
    >>> Scale(range(1000), 1, 1e-6, entropy=SeededEntropy(2))
    Release(..., Scale by Dwork and Lei's grids, ε = 2.0, δ = 1e-06 (substitute), NOT PRIVATE: seeded randomness)
    """
    half = checks.inside_unit("delta", delta) / 2
    data, level, account = read_arguments("Scale", x, None, eps, half, entropy, argument="x")
    scale = spread(data, quartiles(data.size), math.log(2), level, account)
    return _close(account, scale, level, data.size, lambda m: math.log(2))


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
    depend on the data (2ε, 2δ'); an s that was computed from the data has no guarantee here. Where S gave ⊥ so does
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
    x, level, account = read_arguments("M", D, n, eps, delta, entropy)
    if advice := unfit(n, level, tests=4 if given is None else 2):
        return account.close(Outcome.refusal(HOW, advice))
    width = float(given or 0)
    if given is None:
        scale = spread(x, quartiles(n), dwork_lei.log_width(n), level, account)
        if scale is None:
            return _close(account, scale, level, n, dwork_lei.log_width)
        width = scale.value
    answer = noisy_median(x, width, level, account)
    return _close(account, answer, level, n, lambda m: float(m ** (-1 / 3)))


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
    x, level, account = read_arguments("TM", D, n, eps, delta, entropy)
    lo = math.ceil(n * trim / 2)
    hi, N = n - lo, n - 2 * lo - 1
    rows = Advice(n=math.ceil(4 / (1 - trim))) if N < 1 else None
    if advice := rows or unfit(n, level, tests=2):
        return account.close(Outcome.refusal(HOW, advice))
    scale = spread(x, (lo, hi), dwork_lei.log_width(n), level, account)
    if scale is None:
        return _close(account, scale, level, n, dwork_lei.log_width)
    if power is None:  # the factor that S's answer is raised by, and the chance that it is too small all the same
        factor, failure = dwork_lei.safe_factor(scale.noise, level.delta), level.delta
    else:
        factor, failure = n ** float(power), dwork_lei.too_small(scale.noise, float(power) * math.log(n))
    bound = scale.value * factor * ROUNDING / N if scale.value > 0 else 0.0
    if max(scale.value, bound) >= dwork_lei.MOST or 2 * level.delta + failure >= 1:
        return account.close(Outcome.refusal(HOW, TOO_LARGE))
    ranked = order_of(x, [(lo + 1, lo + 1), (hi - 1, hi - 1)], ROW)
    mean = Fraction(ranked.total(lo + 1, hi - 1), N << SCALE)
    value, noise = dwork_lei.noisy_mean(mean, bound, level, failure, account)
    return account.close(Outcome(value, HOW, noise))


def read_arguments(
    name: str,
    D: Any,
    n: int | None,
    eps: Rational,
    delta: Rational | None,
    entropy: Entropy | None,
    *,
    argument: str = "D",
) -> tuple[Floats, Level, Account]:
    """The rows as floats, what each stage spends, and the account that it is written into."""
    epsilon = checks.epsilon(eps, "eps")
    if epsilon < LEAST_EPSILON:
        raise InvalidArgument("eps", "at least 1e-9", checks.describe(eps))
    false_pass = None if delta is None else checks.inside_unit("delta", delta)
    rows = None if n is None else checks.integer("n", n, least=1)
    account = Account.open(name, epsilon, entropy=entropy, unit="eps")
    x: Floats = np.nan_to_num(column_field(argument, D).floats())
    if not x.size:
        raise InvalidArgument(argument, "a one-dimensional column with at least one row", "none")
    if rows not in (None, x.size):
        raise InvalidArgument("n", f"the number of rows in {argument}, {x.size}", rows)
    level = Level.printed(epsilon, x.size) if false_pass is None else Level(epsilon, false_pass)
    return x, level, account


def unfit(n: int, level: Level, tests: int) -> Advice | None:
    """What must change before anything may be asked: the rows are too few, or δ promises nothing. Both are public."""
    if n < LEAST_N:
        return Advice(n=LEAST_N)
    return Advice(other="a delta of your own, such as 1e-6") if tests * level.delta >= 1 else None


def spread(x: Floats, ranks: tuple[int, int], width: float, level: Level, account: Account) -> TestedValue | None:
    """S on the range between any two ranks. More than n rows can't change, so no further interval is built."""
    grids = dwork_lei.two_grids(width, level, scale=True)
    return account.draw(grids, lambda steps: InterquantileRange(x, ranks, min(steps, x.size)))


def noisy_median(x: Floats, width: float, level: Level, account: Account) -> TestedValue | None:
    """M for a given scale: a location with bins of its answer's size."""
    grids, n = dwork_lei.two_grids(dwork_lei.bin_width(width, x.size), level, scale=False), x.size
    return account.draw(grids, lambda steps: LStatistic.quantile(x, (n + 1) // 2, min(steps, n)))


def _close(
    account: Account, outcome: TestedValue | None, level: Level, n: int, width: Callable[[int], float]
) -> Release[float] | NoReply:
    """The outcome as a result.

    ⊥ comes with the n from which on the tests pass on smooth data: there the answer, SCALE_SLOPE/n a row, stays within
    a quarter of a bin for as many rows as the test looks at. At least twice the present n.
    """
    if outcome is not None:
        return account.close(Outcome(outcome.value, HOW, outcome.noise))
    noise = IntegerLaplace(1 / level.epsilon)
    fixed = noise.cutoff(level.delta) if level.cutoff is None else None

    def passes(m: int) -> bool:
        steps = (math.log(m) ** 2 if fixed is None else fixed) + 3 * float(noise.scale)
        return m >= LEAST_N and SCALE_SLOPE * steps / m <= width(m) / 4

    return account.close(Outcome.refusal(HOW, Advice(n=max(least_n(passes), 2 * n))))
