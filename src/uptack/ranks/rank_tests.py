"""Rank tests whose p-values account for the noise: Mann-Whitney, Wilcoxon's signed ranks, Kruskal-Wallis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from uptack import checks
from uptack.account import Account, Outcome
from uptack.display import Ends, Record, TabularValue, line
from uptack.exact import Rational
from uptack.mechanisms.additive_noise import noisy_integer, noisy_sums
from uptack.noise import Entropy, IntegerLaplace
from uptack.privacy import loss
from uptack.ranks.null_laws import RankSum, mann_whitney_sum, signed_rank_sum
from uptack.ranks.pair_counts import Floats
from uptack.ranks.rank_data import (
    EXAMPLE,
    GRID,
    LabelOptions,
    RankOptions,
    Samples,
    complete_rows,
    label_notes,
    labels_are_public,
    open_account,
    public_groups,
    samples,
    sampling_note,
    two_samples,
)
from uptack.ranks.superiority import NoisyPairs, noisy_pairs
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.table.memory.table import side_by_side
from uptack.table.protocol import Rows
from uptack.table.reads import ROWS

HOW = "integer noise on the rank sum"
SIDES = ("two-sided", "greater", "less")
SIZES_FAIL = 1e-4
"""The probability that secret sizes lie outside the range that a p-value allows for. It is added to the p-value."""


@dataclass(frozen=True)
class RankTest(TabularValue):
    """A noisy statistic and its p-value. It unpacks like a pair.

    >>> statistic, pvalue = RankTest(0.6, 0.01)
    """

    statistic: float
    pvalue: float

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def figures(self, ends: Ends = None) -> list[Record]:
        return [line({"figure": "statistic"}, self.statistic), line({"figure": "p-value"}, self.pvalue)]


def ranks_without_ties(values: Sequence[Floats], entropy: Entropy) -> tuple[Floats, ...]:
    """The ranks of all values together, equal ones in random order. (Two of 2^62 random numbers may be equal too.)

    Changing a row does not change how other ties are broken: it is as if each row came with its random number.
    """
    together = np.concatenate(values)
    order = np.lexsort((entropy.integers(1 << 62, together.size), together))
    ranks = np.empty(together.size)
    ranks[order] = np.arange(1.0, together.size + 1)
    return tuple(np.split(ranks, np.cumsum([part.size for part in values])[:-1]))


def noisy_p_value(alternative: str, law: RankSum, t: float, scale: float, unit: float) -> float:
    """The p-value of a noisy rank sum t with Laplace noise in multiples of `unit`.

    In steps P(L ≥ k) = q^k/(1 + q) is at most that of continuous noise half a step earlier, and rounding a rank sum to
    steps may add another half.
    """
    signed = {"two-sided": abs(t), "greater": t, "less": -t}[alternative] - unit
    if alternative == "two-sided":
        return min(2 * law.tail(signed, scale), 1.0) if signed > 0 else 1.0
    return law.tail(signed, scale)


@two_samples(examples=({**EXAMPLE, "alternative": "greater"},), page="rank_tests")
def mann_whitney(
    x: Any,
    labels: Any,
    *,
    groups: Sequence[Any],
    epsilon: Rational,
    alternative: str = "two-sided",
    **options: Unpack[LabelOptions],
) -> Release[RankTest] | NoReply:
    """The Mann-Whitney U test of whether two groups have the same distribution. Its p-value accounts for the noise.

    `groups` are two public labels; `alternative` is "two-sided", or "greater" or "less" for the first group.
    The statistic is the noisy share of pairs in which the first exceeds the second.

    **Theorem.** The release is ε-differentially private: it is a function of the noisy count of `superiority`, for rows
    whose ties are broken at random beforehand. That is a mixture over randomness that is the same for neighbours.

    **Validity.** If both groups have the same distribution, P(p ≤ α) ≤ α for every α. Given the sizes of the groups,
    ranks without ties are a uniform permutation, so the law of the count is known, and that of count and noise together
    is computed (`uptack.ranks.null_laws`). If sizes are secret, the p-value is the largest over a range of them that
    fails once in 10,000 times, plus that probability.
    """
    side = checks.choice("alternative", alternative, SIDES)
    account, missing = open_account("Mann and Whitney's test", epsilon, options)
    data = samples(x, labels, public_groups(groups, 2, 2), missing)
    pairs, public = noisy_pairs(data, account, options, missing == "drop", ranks_without_ties)
    if isinstance(pairs, Advice):
        return account.close(Outcome.refusal(HOW, pairs))
    share = min(max(pairs.share(pairs.sizes)[0], 0.0), 1.0)
    value = RankTest(share, _two_groups(pairs, side, 1.0 if public else 1 / GRID))
    return account.close(Outcome(value, HOW, notes=label_notes(account, public)))


def _two_groups(pairs: NoisyPairs, side: str, grid: float) -> float:
    """The p-value of a noisy count of pairs: the largest over the sizes that there may be."""
    candidates = {pairs.sizes, *(pairs.labels.region(SIZES_FAIL) if pairs.secret else ())}
    worst = 0.0
    for sizes in candidates:
        unit = pairs.labels.unit(*sizes)
        law = mann_whitney_sum(*sizes)
        worst = max(worst, noisy_p_value(side, law, pairs.sign / unit, pairs.scale / unit, grid / unit))
    return min(worst + (SIZES_FAIL if pairs.secret else 0.0), 1.0)


# ------------------------------------------------------------------------------------------------------- signed ranks


@release(
    reads=ROWS, people="each", data=("x", "y"), missing="drop", examples=({"alternative": "less"},), page="rank_tests"
)
def signed_rank(
    x: Any, y: Any = None, *, epsilon: Rational, alternative: str = "two-sided", **options: Unpack[RankOptions]
) -> Release[RankTest] | NoReply:
    """The Wilcoxon signed-rank test of whether x, or x - y, is symmetric about 0. Its p-value accounts for the noise.

    `alternative` is "two-sided", or "greater" or "less" for values above or below 0. With the ranks r_i of the absolute
    values and W = Σ ±r_i, the statistic is the noisy W over n(n + 1)/2, from -1 to 1. Ties are broken at random, and a
    zero has a random sign.

    **Theorem.** The release is ε-differentially private. *If n is public*: a row that moves from rank r to rank r'
    moves the ranks in between by one, so W by at most r + r' + |r - r'| ≤ 2n. *If the number m of rows is secret*: a
    row added at rank r adds ±r and lifts the m + 1 - r rows above it, so W moves by at most m + 1, and
    |W| ≤ m(m + 1)/2. So F = W/(m + 1) moves by less than 3/2 then, and by less than 2 if a row is replaced: (F, m/2)
    moves by at most 2 either way, and the number of rows is free. F is rounded to multiples of 2^-16.

    **Validity.** If the values are symmetric about 0, P(p ≤ α) ≤ α for every α: signs are then fair coins, independent
    of the ranks, and the law of W and noise together is computed (`uptack.ranks.null_laws`). A secret m is replaced by
    an upper bound that fails once in 10,000 times, which is added to p: F has a larger spread for more rows.
    """
    side = checks.choice("alternative", alternative, SIDES)
    account, missing = open_account("signed-rank test", epsilon, options)
    rows = complete_rows(side_by_side({"x": x, "y": y}), missing)
    return account.close(_test_signs(rows, account, side, missing == "drop" or not account.adjacency.size_is_public))


def _test_signs(rows: Rows, account: Account, side: str, secret: bool) -> Outcome[RankTest]:
    least = math.ceil(8 * account.rows / account.epsilon)
    advice = Advice(n=least)
    if account.adjacency.size_is_public and rows.size < least:
        return Outcome.refusal(HOW, advice)
    x, *others = rows.in_memory().lines
    values = x - others[0] if others else x
    (ranks,) = account.toss(lambda entropy: ranks_without_ties([np.abs(values)], entropy))
    coins = 2 * account.toss(lambda entropy: entropy.integers(2, values.size)) - 1
    total = int((np.where(values == 0, coins, np.sign(values)) * ranks).sum())
    n = values.size
    if secret:
        law = IntegerLaplace((2 * GRID + 1) * account.rows / account.epsilon)
        size = IntegerLaplace(2 * Fraction(law.scale) / GRID)
        paid = account.pay(loss.Pure(account.epsilon))
        noisy = noisy_integer((2 * total * GRID + n + 1) // (2 * (n + 1)), law, paid)
        m = noisy_integer(n, size, paid)
        account.keep_size(m, size)
        if m < least:
            return Outcome.refusal(HOW, advice)
        most = m + size.cutoff(Fraction(SIZES_FAIL)) - 1
        unit, share = (most + 1) / GRID, noisy / GRID / (m / 2)
        scale = float(Fraction(law.scale)) * unit
        pvalue = noisy_p_value(side, signed_rank_sum(most), noisy * unit, scale, unit) + SIZES_FAIL
    else:
        law = IntegerLaplace(Fraction(2 * n * account.rows) / account.epsilon)
        noisy = noisy_integer(total, law, account)
        share = noisy / (n * (n + 1) / 2)
        pvalue = noisy_p_value(side, signed_rank_sum(n), noisy, float(Fraction(law.scale)), 0.5)
    value = RankTest(min(max(share, -1.0), 1.0), min(pvalue, 1.0))
    return Outcome(value, HOW, notes=sampling_note(account))


DRAWS = 4999
"""How often the null law is drawn: no p-value is below one in 5,000."""
PERMUTED = 3000
"""Up to so many rows ranks are permuted. Beyond, their sums are normal to within a part in a thousand."""
MOST = 50
"""The most groups that there may be: the null law takes memory for each."""
SIZE = Fraction(1, 2)
"""The weight of a group's size beside W/N."""


@two_samples(examples=({"groups": (0, 1, 2)},), page="rank_tests")
def kruskal_wallis(
    x: Any, labels: Any, *, groups: Sequence[Any], epsilon: Rational, **options: Unpack[LabelOptions]
) -> Release[RankTest] | NoReply:
    """The Kruskal-Wallis test of whether several groups have the same distribution. Its p-value accounts for the noise.

    `groups` are two to fifty public labels. With s_i = Σ_j sgn(x_i - x_j) over the N rows of all groups, ties broken at
    random, and W_g the sum of s_i over group g, the statistic is H = 3/(N(N + 1))·Σ W_g²/n_g with noise in W and n.

    **Theorem.** The release is ε-differentially private. *If the label is part of the row*: if a row is replaced, its
    own s leaves one sum and enters another, 2(N - 1) at most, and all others move by at most 2(N - 1) together. So W/N
    moves by less than 4 in ℓ1, and the sizes by 2. If a row is added, W moves by at most 2N, and Σ|W_g| ≤ N²/2, so W/N
    moves by at most 5/2, and one size by 1. Hence (W/N, n/2) moves by at most 5 in ℓ1 if rows are replaced, and by 3 if
    they are added or removed. For two groups 4 is enough: pairs inside a group cancel, so a row that changes its group
    moves W by at most 2(N - 1). *With public labels* a replaced value of group g moves W by at most 4(N - n_g). All is
    rounded to multiples of 2^-16, which adds one of them per group.

    **Validity.** If all groups have the same distribution, P(p ≤ α) ≤ α: the p-value is (1 + b)/(1 + 4999), where b of
    4999 draws of the null law with fresh noise are at least as large. Up to 3,000 rows ranks are permuted; for more
    rows their sums are taken as normal. Secret sizes are replaced by upper bounds that fail once in 10,000 times, which
    is added to p. *Larger sizes spread W/N more*: its covariance is a factor that rises with N times that of the
    quadratic form min_c Σ n_g(v_g - c)², which rises with every n_g. By Anderson's inequality all tails of H then rise
    for normal sums.
    """
    account, missing = open_account("Kruskal and Wallis's test", epsilon, options)
    chosen = public_groups(groups, 2, MOST)
    data = samples(x, labels, chosen, missing)
    public, k = labels_are_public(account, options, data.in_table) and missing == "error", len(chosen)
    if public:
        total = max(sum(data.sizes), 1)
        moves = Fraction(4 * (total - min(data.sizes)), total)
    else:
        moves = Fraction((4 if k == 2 else 5) if account.adjacency.size_is_public else 3)
    law = IntegerLaplace((moves * GRID + k) * account.rows / account.epsilon)  # of W/N, in units of 1/GRID
    size = None if public else IntegerLaplace(Fraction(law.scale) / (GRID * SIZE))
    least = math.ceil(k * 2 * float(size.scale if size else 1))
    advice = Advice(n=least, other="fewer groups")
    if account.adjacency.size_is_public and data.size < least:
        return account.close(Outcome.refusal(HOW, advice))
    return account.close(_test_groups(data, account, law, size, advice))


def _test_groups(
    data: Samples, account: Account, law: IntegerLaplace, size: IntegerLaplace | None, advice: Advice
) -> Outcome[RankTest]:
    """The test, with noise on the sums and, if they are secret, on the sizes."""
    ranks = account.toss(lambda entropy: ranks_without_ties(data.values, entropy))
    sizes = np.array([part.size for part in ranks])
    total = int(sizes.sum())
    exact = [int(2 * part.sum()) - part.size * (total + 1) for part in ranks]  # Σ s_i = Σ (2r - N - 1)
    whole = [(2 * w * GRID + max(total, 1)) // (2 * max(total, 1)) for w in exact]
    paid = account.pay(loss.Pure(account.epsilon))
    noisy = np.array(noisy_sums(whole, law, paid)) / GRID
    near = most = sizes.tolist()
    if size is not None:
        near = noisy_sums(near, size, paid)
        off = size.cutoff(Fraction(SIZES_FAIL) / len(near)) - 1
        most = [max(n + off, 1) for n in near]
        account.keep_size(sum(near), size, times=len(near))
    if min(near) < (2 * float(size.scale) if size is not None else 1):
        return Outcome.refusal(HOW, advice)
    weights = 3 * sum(near) / (sum(near) + 1) / np.array(near, np.float64)
    statistic = float(_form(noisy[None, :], weights)[0])
    scale = float(Fraction(law.scale)) / GRID
    rng = np.random.Generator(np.random.Philox(account.toss(lambda entropy: entropy.below(1 << 63))))
    drawn = null_sums(most, rng) + rng.laplace(0, scale, (DRAWS, len(most)))
    beyond = int(np.count_nonzero(_form(drawn, weights) >= statistic * (1 - 1e-12)))
    pvalue = min((1 + beyond) / (1 + DRAWS) + (SIZES_FAIL if size is not None else 0.0), 1.0)
    return Outcome(RankTest(statistic, pvalue), HOW, notes=label_notes(account, size is None))


def _form(sums: Floats, weights: Floats) -> Floats:
    """Σ w_g·W_g² of each line. The sums of all groups add up to 0, so what the noise adds to all alike is taken off."""
    centred = sums - sums.mean(axis=1, keepdims=True)
    form: Floats = centred**2 @ weights
    return form


def null_sums(sizes: Sequence[int], rng: np.random.Generator) -> Floats:
    """W/N where all groups have one law: so many draws, one line each."""
    total, n = sum(sizes), np.array(sizes, np.float64)
    if total > PERMUTED:
        free = rng.normal(size=(DRAWS, n.size)) * np.sqrt(n)
        centred = free - free.sum(axis=1, keepdims=True) * (n / total)  # covariance diag(n) - nnᵀ/N
        sums: Floats = centred * math.sqrt((total + 1) / (3 * total))
        return sums
    scores = np.tile(2.0 * np.arange(1, total + 1) - total - 1, (DRAWS, 1))
    rng.permuted(scores, axis=1, out=scores)
    starts = np.r_[0, np.cumsum(sizes)[:-1]]
    return np.add.reduceat(scores, starts, axis=1) / total
