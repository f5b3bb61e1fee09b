"""S, Scale, M, TM, R_S and R_H of Dwork and Lei: scales, medians, trimmed means and regressions, as in the papers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account, Outcome
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms import ptr
from uptack.mechanisms.additive_noise import GridMechanism, calibrated_laplace
from uptack.mechanisms.ptr import Level, TestedValue
from uptack.noise import Entropy, IntegerLaplace
from uptack.papers import hampel
from uptack.papers.block_fits import BlockedDesign
from uptack.privacy import loss
from uptack.reach import InterquantileRange, LStatistic
from uptack.reach.hampel_certificate import LARGEST
from uptack.reach.l_statistics import quartiles
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.statistics.column_options import least_n
from uptack.statistics.statistic import SCALE_SLOPE
from uptack.table.exact_sum import SCALE, Floats
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
    x, level, account = read_column("S", D, n, eps, delta, entropy)
    if advice := unfit(x.size, level, tests=2):
        return account.close(Outcome.refusal(HOW, advice))
    scale = spread(x, quartiles(x.size), ptr.log_width(x.size), level, account)
    return _close(account, scale, level, x.size, ptr.log_width)


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
    data, level, account = read_column("Scale", x, None, eps, half, entropy, argument="x")
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
    if given is not None and given > ptr.MOST:
        raise InvalidArgument("s", "at most 1e300", checks.describe(s))
    x, level, account = read_column("M", D, n, eps, delta, entropy)
    if advice := unfit(n, level, tests=4 if given is None else 2):
        return account.close(Outcome.refusal(HOW, advice))
    width = float(given or 0)
    if given is None:
        scale = spread(x, quartiles(n), ptr.log_width(n), level, account)
        if scale is None:
            return _close(account, scale, level, n, ptr.log_width)
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
    x, level, account = read_column("TM", D, n, eps, delta, entropy)
    lo = math.ceil(n * trim / 2)
    hi, N = n - lo, n - 2 * lo - 1
    rows = Advice(n=math.ceil(4 / (1 - trim))) if N < 1 else None
    if advice := rows or unfit(n, level, tests=2):
        return account.close(Outcome.refusal(HOW, advice))
    scale = spread(x, (lo, hi), ptr.log_width(n), level, account)
    if scale is None:
        return _close(account, scale, level, n, ptr.log_width)
    if power is None:  # the factor that S's answer is raised by, and the chance that it is too small all the same
        factor, failure = ptr.safe_factor(scale.noise, level.delta), level.delta
    else:
        factor, failure = n ** float(power), ptr.too_small(scale.noise, float(power) * math.log(n))
    bound = scale.value * factor * ROUNDING / N if scale.value > 0 else 0.0
    if max(scale.value, bound) >= ptr.MOST or 2 * level.delta + failure >= 1:
        return account.close(Outcome.refusal(HOW, TOO_LARGE))
    ranked = order_of(x, [(lo + 1, lo + 1), (hi - 1, hi - 1)], ROW)
    mean = Fraction(ranked.total(lo + 1, hi - 1), N << SCALE)
    value, noise = ptr.noisy_mean(mean, bound, level, failure, account)
    return account.close(Outcome(value, HOW, noise))


def _open(
    name: str, eps: Rational, delta: Rational | None, entropy: Entropy | None
) -> tuple[Account, Callable[[int], Level]]:
    """The account of an algorithm, and what each of its stages spends on so many rows."""
    epsilon = checks.epsilon(eps, "eps")
    if epsilon < LEAST_EPSILON:
        raise InvalidArgument("eps", "at least 1e-9", checks.describe(eps))
    false_pass = None if delta is None else checks.inside_unit("delta", delta)
    account = Account.open(name, epsilon, entropy=entropy, unit="eps")
    return account, lambda n: Level.printed(epsilon, n) if false_pass is None else Level(epsilon, false_pass)


def read_column(
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
    account, level = _open(name, eps, delta, entropy)
    rows = None if n is None else checks.integer("n", n, least=1)
    x: Floats = np.nan_to_num(column_field(argument, D).floats())
    if not x.size:
        raise InvalidArgument(argument, "a one-dimensional column with at least one row", "none")
    if rows not in (None, x.size):
        raise InvalidArgument("n", f"the number of rows in {argument}, {x.size}", rows)
    return x, level(x.size), account


def unfit(n: int, level: Level, tests: int) -> Advice | None:
    """What must change before anything may be asked: the rows are too few, or δ promises nothing. Both are public."""
    if n < LEAST_N:
        return Advice(n=LEAST_N)
    return Advice(other="a delta of your own, such as 1e-6") if tests * level.delta >= 1 else None


def spread(x: Floats, ranks: tuple[int, int], width: float, level: Level, account: Account) -> TestedValue | None:
    """S on the range between any two ranks. More than n rows can't change, so no further interval is built."""
    grids = ptr.two_grids(width, level, scale=True)
    return account.draw(grids, lambda steps: InterquantileRange(x, ranks, min(steps, x.size)))


def noisy_median(x: Floats, width: float, level: Level, account: Account) -> TestedValue | None:
    """M for a given scale: a location with bins of its answer's size."""
    grids, n = ptr.two_grids(ptr.bin_width(width, x.size), level, scale=False), x.size
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


# ----------------------------------------------------------------------------------------------------------- regression


@release(data=("D_x", "D_y"), page="papers")
def R_S(
    D_x: Any, D_y: Any, eps: Rational, *, delta: Rational | None = None, entropy: Entropy | None = None
) -> Release[Floats] | NoReply:
    """R_S: coefficients by the short cut, or ⊥ (report, section 7.1).

    The rows are put into m = ⌊n/p⌋ random blocks of p, or of p + 1 where p does not divide n. Each block gives its
    least squares estimate, a singular one the shortest; M is run on the m estimates of each coefficient.

    **Theorem.** (4pε, 4pδ')-differentially private under SUBSTITUTE, for any data, with M's δ'. (In print 6pε, and
    singular blocks are not mentioned: leaving them out would make m depend on the data.)

    The design is D_x as it is: add a column of ones for an intercept.

    >>> from uptack import SeededEntropy
    >>> X = np.random.default_rng(0).normal(size=(40_000, 2))
    >>> R_S(X, X @ [1, 2], 1, delta=1e-6, entropy=SeededEntropy(1)).privacy
    Privacy(epsilon=8.0, delta=8e-06)
    """
    account, level_of = _open("R_S", eps, delta, entropy)
    data = BlockedDesign.of(D_x, D_y, False, "drop")
    m, p = data.n // data.p, data.p
    level = level_of(max(m, 1))
    if advice := unfit(m, level, tests=4 * p):
        return account.close(Outcome.refusal(HOW, replace(advice, n=None if advice.n is None else p * advice.n)))
    estimates, values = hampel.least_squares_in_blocks(data, data.n, m, account), []
    for column in estimates.T:
        x, blocks = np.ascontiguousarray(column), account.through(loss.Partition)
        scale = spread(x, quartiles(m), ptr.log_width(m), level, blocks)
        median = None if scale is None else noisy_median(x, scale.value, level, blocks)
        if median is None:
            return account.close(Outcome.refusal(HOW, _advice(data, level)))
        values += [median.value]
    return account.close(Outcome(np.array(values), HOW))


@release(data=("D_x", "D_y"), page="papers")
def R_H(
    D_x: Any, D_y: Any, eps: Rational, *, delta: Rational | None = None, entropy: Entropy | None = None
) -> Release[Floats] | NoReply:
    """R_H: the β that minimises Σ|y_i - x_i·β|/‖x_i‖, or ⊥ (report, section 7.2).

    The estimates of R_S's blocks give a scale s_d by S for each coefficient, and widths h_d = s_d·n^(-1/4), for p > 2
    s_d·n^(-1/2p), and n^(-1/2) for s_d = 0. In each of the 2^p grids of cells, moved by half a cell along some of the
    axes, A_2 is the number of rows to add or remove for a minimiser to leave its cell; reply with the first grid where
    A_2 + Lap(2/ε) is above ln²n + 2, with β_d + Lap(p·h_d/ε).

    **Theorem.** ((2p + max(2^p, 2))ε, 2pδ' + 2^p·δ'')-differentially private under SUBSTITUTE, for any data, with
    S's δ' and δ'' the chance that noise of scale 2/ε alone carries a test; both are `delta` if it is given. (In print
    11ε for p = 2, with Lap(1/ε), a threshold of ln(n²) + 2, and Lap(h_d/ε): none of them is enough.)

    A_2 is the lower bound of `uptack.reach.hampel_certificate`, which has the same constant;
    `uptack.papers.hampel` proves the test, for each grid as for all. For more than 4 columns the reply is ⊥,
    and costs nothing.

    >>> from uptack import SeededEntropy
    >>> X = np.random.default_rng(0).normal(size=(40_000, 2))
    >>> R_H(X, X @ [1, 2], 1, delta=1e-6, entropy=SeededEntropy(1)).privacy
    Privacy(epsilon=8.0, delta=8e-06)
    """
    account, level_of = _open("R_H", eps, delta, entropy)
    data = BlockedDesign.of(D_x, D_y, False, "drop")
    p, m = data.p, data.n // data.p
    level = level_of(max(m, 1))
    if data.n > LARGEST:
        raise InvalidArgument("D_x", f"a table of at most {LARGEST} rows", data.n)
    if p > hampel.MOST:
        return account.close(Outcome.refusal(HOW, hampel.SHORTCUT))
    test = _row_test(data, level)
    short = m < LEAST_N or 2 * p * level.delta + 2**p * Fraction(test.test.delta) >= 1
    if advice := unfit(m, level, tests=2 * p) or (_advice(data, level) if short else None):
        return account.close(Outcome.refusal(HOW, replace(advice, n=p * (advice.n or 0) or None)))
    blocks, estimates = account.through(loss.Partition), hampel.least_squares_in_blocks(data, data.n, m, account)
    scales = [spread(c, quartiles(m), ptr.log_width(m), level, blocks) for c in estimates.T]
    values = [scale.value for scale in scales if scale is not None]
    if len(values) < p:
        return account.close(Outcome.refusal(HOW, _advice(data, level)))
    narrow = data.n ** (-1 / max(2 * p, 4))
    widths = np.array([s * narrow if s > ptr.LEAST else data.n**-0.5 for s in values])
    return _cascade(data, np.clip(widths, *hampel.WIDTHS), test, account, level)


def _cascade(
    data: BlockedDesign, widths: Floats, test: hampel.RowTest, account: Account, level: Level
) -> Release[Floats] | NoReply:
    """One test for each of the 2^p grids, and the answer of the first that passes."""
    p, answer = data.p, loss.Answer(level.epsilon)
    # the noises are alike: it does not matter whose is whose
    grids = hampel.CellProposal(tuple(widths), 2, (test,) * 2**p)
    cascade = loss.Cascade(tuple(loss.Unit(test.test, answer) for _ in grids.tests), same_answer=True)
    rows = hampel.FittedRows.of(data)
    if account.draw(hampel.CellTest(cascade, (grids,)), rows) is None:
        return account.close(Outcome.refusal(HOW, _advice(data, level)))
    noisy = []
    largest = Fraction(np.finfo(np.float64).max)
    for b, h in zip(rows.beta, widths, strict=True):  # each costs ε/p
        near = float(min(max(b, -largest), largest))  # off by at most 2^-15·h in a cell, for which LONGER has room
        law, grid = calibrated_laplace(p * Fraction(h) * (1 + hampel.LONGER), level.epsilon, 1)
        noise = GridMechanism(loss.Pure(level.epsilon / p), law, grid)
        noisy.append(float(account.prepaid().draw(noise, np.array([near]))[0]))
    return account.close(Outcome(np.array(noisy), HOW))


def _row_test(data: BlockedDesign, level: Level) -> hampel.RowTest:
    """The test on A_2. The papers' threshold of ln²n + 2 rows lets noise of more than ln²n rows through."""
    unset = hampel.RowTest(loss.Test(level.epsilon, 0), 2)
    if level.cutoff is None:
        return replace(unset, test=loss.Test(level.epsilon, level.delta))
    steps = math.floor(hampel.STEPS * math.log(max(data.n, 2)) ** 2) + 1
    false_pass = Fraction(math.ceil(unset.noise.exact_tail(steps).bounds()[1] * 10**40), 10**40)
    return replace(unset, test=loss.Test(level.epsilon, false_pass))


def _advice(data: BlockedDesign, level: Level) -> Advice:
    """Twice the rows, and at least as many as the scales need for their tests."""
    noise = IntegerLaplace(2 / level.epsilon)
    steps = noise.cutoff(level.delta) + 3 * float(noise.scale)
    return Advice(n=max(2 * data.n, math.ceil(40 * data.p * steps)))
