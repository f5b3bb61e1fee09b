"""Rank tests whose p-values account for the noise: Mann and Whitney, and Wilcoxon's signed ranks."""

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
from uptack.mechanisms.additive_noise import noisy_integer
from uptack.noise import Entropy, IntegerLaplace
from uptack.privacy import loss
from uptack.ranks.concordant_pairs import Floats
from uptack.ranks.null_laws import RankSum, mann_whitney_sum, signed_rank_sum
from uptack.ranks.rank_data import complete_rows, public_groups, samples
from uptack.ranks.rank_options import (
    GRID,
    PUBLIC_LABELS,
    LabelOptions,
    RankOptions,
    labels_are_public,
    open_account,
    sampling_note,
)
from uptack.ranks.superiority import EXAMPLE, NoisyPairs, least_rows, noisy_pairs, too_small
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.table.arguments import side_by_side
from uptack.table.protocol import Rows
from uptack.table.reads import LABELLED, ROWS

HOW = "integer noise on the rank sum"
SIDES = ("two-sided", "greater", "less")
SIZES_FAIL = 1e-4
"""The chance that secret sizes lie outside the range that a p-value is taken over. It is added to the p-value."""


@dataclass(frozen=True)
class RankTest(TabularValue):
    """A noisy statistic and its p-value. It unpacks like a pair.

    >>> statistic, pvalue = RankTest(0.6, 0.01)
    """

    statistic: float
    pvalue: float

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def to_dict(self) -> dict[str, float]:
        """Plain values, for JSON."""
        return {"statistic": self.statistic, "pvalue": self.pvalue}

    def figures(self, ends: Ends = None) -> list[Record]:
        """The statistic and the p-value."""
        return [line({"figure": "statistic"}, self.statistic), line({"figure": "p-value"}, self.pvalue)]


def broken_ties(values: Sequence[Floats], entropy: Entropy) -> tuple[Floats, ...]:
    """The ranks of all values together, equal ones in random order. (Two of 2^62 random numbers may be equal too.)

    Whoever changes a row does not change how the others' ties are broken: it is as if each row came with its number.
    """
    together = np.concatenate(values)
    order = np.lexsort((entropy.integers(1 << 62, together.size), together))
    ranks = np.empty(together.size)
    ranks[order] = np.arange(1.0, together.size + 1)
    return tuple(np.split(ranks, np.cumsum([part.size for part in values])[:-1]))


def tail_of(alternative: str, law: RankSum, t: float, scale: float, unit: float) -> float:
    """The p-value of a noisy rank sum t with Laplace noise. `unit` is the step of the noise, which is integer times it.

    With steps, P(L ≥ k) = q^k/(1 + q) is at most that of continuous noise half a step earlier; and a rank sum that was
    rounded to steps may be another half off.
    """
    signed = {"two-sided": abs(t), "greater": t, "less": -t}[alternative] - unit
    if alternative == "two-sided":
        return law.two_sided(signed, scale) if signed > 0 else 1.0
    return law.tail(signed, scale)


@release(
    reads=LABELLED, people="each", data=("x", "labels"), missing="ignore",
    examples=({**EXAMPLE, "alternative": "greater"},), page="rank_tests",
)  # fmt: skip
def mann_whitney(
    x: Any,
    labels: Any,
    *,
    groups: Sequence[Any],
    epsilon: Rational,
    alternative: str = "two-sided",
    **options: Unpack[LabelOptions],
) -> Release[RankTest] | NoReply:
    """Mann and Whitney's test of whether two groups have one law. Its p-value allows for the noise.

    `groups` are two public labels; `alternative` is "two-sided", or "greater" or "less" for the first group.
    The statistic is the noisy share of pairs in which the first exceeds the second.

    **Theorem.** The release is ε-differentially private: it is made of the noisy count of `superiority`, which see, of
    rows whose ties are broken at random beforehand. That is a mixture over randomness that is the same for neighbours.

    **Validity.** If both groups have one law, P(p ≤ α) ≤ α for every α. Given the sizes of the groups, ranks without
    ties are a uniform permutation, so the law of the count is known, and that of count and noise together is worked out
    (`uptack.ranks.null_laws`). Where sizes are secret, the p-value is the largest over a range of them that fails once
    in 10,000 times, plus that chance.
    """
    side = checks.choice("alternative", alternative, SIDES)
    account, missing = open_account("Mann and Whitney's test", epsilon, options)
    found = samples(x, labels, public_groups(groups, 2, 2), missing)
    public = labels_are_public(account, options, found.in_table)
    early = too_small(found, account, public)
    if early is not None:
        return account.close(Outcome.refusal(HOW, early))
    ranks = account.toss(lambda entropy: broken_ties(found.values, entropy))
    pairs = noisy_pairs(ranks, found.sizes if public else None, account, missing == "ignore")
    if pairs is None:
        advice = Advice(n=least_rows(account), other="groups with more rows")
        return account.close(Outcome.refusal(HOW, advice))
    share = min(max(pairs.share(pairs.sizes)[0], 0.0), 1.0)
    value = RankTest(share, _two_groups(pairs, side, 1.0 if public else 1 / GRID))
    notes = ((PUBLIC_LABELS,) if public else ()) + sampling_note(account)
    return account.close(Outcome(value, HOW, notes=notes))


def _two_groups(pairs: NoisyPairs, side: str, grid: float) -> float:
    """The p-value of a noisy count of pairs: the largest over the sizes that there may be."""
    candidates = {pairs.sizes, *(pairs.labels.region(SIZES_FAIL) if pairs.secret else ())}
    found = 0.0
    for sizes in candidates:
        unit = pairs.labels.unit(*sizes)
        law = mann_whitney_sum(*sizes)
        found = max(found, tail_of(side, law, pairs.sign / unit, pairs.scale / unit, grid / unit))
    return min(found + (SIZES_FAIL if pairs.secret else 0.0), 1.0)


# ------------------------------------------------------------------------------------------------------- signed ranks


@release(
    reads=ROWS, people="each", data=("x", "y"), missing="ignore", examples=({"alternative": "less"},), page="rank_tests"
)
def signed_rank(
    x: Any, y: Any = None, *, epsilon: Rational, alternative: str = "two-sided", **options: Unpack[RankOptions]
) -> Release[RankTest] | NoReply:
    """Wilcoxon's signed-rank test of whether x, or x - y of each row, is symmetric about 0. It allows for the noise.

    `alternative` is "two-sided", or "greater" or "less" for values above or below 0. With the ranks r_i of the absolute
    values and W = Σ ±r_i, the statistic is the noisy W over n(n + 1)/2, from -1 to 1. Ties are broken at random, and a
    zero has a random sign.

    **Theorem.** The release is ε-differentially private. *Where n is public*: a row of rank r that comes to rank r'
    moves the ranks in between by one, so W by at most r + r' + |r - r'| ≤ 2n. *Where the number m of rows is secret*:
    a row that comes to rank r adds ±r and lifts the m + 1 - r rows above it, so W moves by at most m + 1, and
    |W| ≤ m(m + 1)/2. So F = W/(m + 1) moves by less than 3/2 then, and by less than 2 where a row is replaced: (F, m/2)
    moves by at most 2 either way, and the number of rows is free. F is rounded to multiples of 2^-16.

    **Validity.** If the values are symmetric about 0, P(p ≤ α) ≤ α for every α: signs are then fair coins, independent
    of the ranks, and the law of W and noise together is worked out (`uptack.ranks.null_laws`). Where m is secret, it is
    taken as large as it may be, but for one time in 10,000, which is added: F spreads the more the more rows there are.
    """
    side = checks.choice("alternative", alternative, SIDES)
    account, missing = open_account("signed-rank test", epsilon, options)
    rows = complete_rows(side_by_side({"x": x, "y": y}), missing)
    return account.close(_signed(rows, account, side, missing == "ignore" or not account.adjacency.size_is_public))


def _signed(rows: Rows, account: Account, side: str, secret: bool) -> Outcome[RankTest]:
    least = math.ceil(8 * account.rows / account.epsilon)
    advice = Advice(n=least)
    if account.adjacency.size_is_public and rows.size < least:
        return Outcome.refusal(HOW, advice)
    x, *others = rows.in_memory().lines
    values = x - others[0] if others else x
    (ranks,) = account.toss(lambda entropy: broken_ties([np.abs(values)], entropy))
    coins = 2 * account.toss(lambda entropy: entropy.integers(2, values.size)) - 1
    total = int((np.where(values == 0, coins, np.sign(values)) * ranks).sum())
    return (_beside_rows if secret else _of_rows)(total, values.size, account, side, advice)


def _of_rows(total: int, n: int, account: Account, side: str, advice: Advice) -> Outcome[RankTest]:
    law = IntegerLaplace(Fraction(2 * n * account.rows) / account.epsilon)
    noisy = noisy_integer(total, law, account)
    pvalue = tail_of(side, signed_rank_sum(n), noisy, float(Fraction(law.scale)), 0.5)
    return Outcome(RankTest(_within(noisy / (n * (n + 1) / 2)), pvalue), HOW, notes=sampling_note(account))


def _beside_rows(total: int, m: int, account: Account, side: str, advice: Advice) -> Outcome[RankTest]:
    law = IntegerLaplace((2 * GRID + 1) * account.rows / account.epsilon)
    size = IntegerLaplace(2 * Fraction(law.scale) / GRID)
    paid = account.pay(loss.Pure(account.epsilon))
    noisy = noisy_integer((2 * total * GRID + m + 1) // (2 * (m + 1)), law, paid)
    rows = noisy_integer(m, size, paid)
    account.bought(rows, size)
    assert advice.n is not None
    if rows < advice.n:
        return Outcome.refusal(HOW, advice)
    most = rows + size.cutoff(Fraction(SIZES_FAIL)) - 1
    unit = (most + 1) / GRID
    found = tail_of(side, signed_rank_sum(most), noisy * unit, float(Fraction(law.scale)) * unit, unit)
    value = RankTest(_within(noisy / GRID / (rows / 2)), min(found + SIZES_FAIL, 1.0))
    return Outcome(value, HOW, notes=sampling_note(account))


def _within(value: float) -> float:
    return min(max(value, -1.0), 1.0)
