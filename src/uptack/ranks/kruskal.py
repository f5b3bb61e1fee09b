"""Kruskal and Wallis's test for several groups, with a p-value that accounts for the noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from uptack.account import Account, Outcome
from uptack.exact import Rational
from uptack.mechanisms.additive_noise import noisy_sums
from uptack.noise import IntegerLaplace
from uptack.privacy import loss
from uptack.ranks.concordant_pairs import Floats
from uptack.ranks.rank_data import Samples, public_groups, samples
from uptack.ranks.rank_options import (
    GRID,
    PUBLIC_LABELS,
    LabelOptions,
    labels_are_public,
    open_account,
    sampling_note,
)
from uptack.ranks.rank_tests import HOW, SIZES_FAIL, RankTest, broken_ties
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.table.reads import LABELLED

DRAWS = 4999
"""How often the null law is drawn: no p-value is below one in 5,000."""
PERMUTED = 3000
"""Up to so many rows ranks are permuted. Beyond, their sums are normal to within a part in a thousand."""
MOST = 50
"""The most groups that there may be: the null law takes memory for each."""
SIZE = Fraction(1, 2)
"""The weight of a group's size beside W/N."""


@release(
    reads=LABELLED,
    people="each",
    data=("x", "labels"),
    missing="ignore",
    examples=({"groups": (0, 1, 2)},),
    page="rank_tests",
)
def kruskal_wallis(
    x: Any, labels: Any, *, groups: Sequence[Any], epsilon: Rational, **options: Unpack[LabelOptions]
) -> Release[RankTest] | NoReply:
    """Kruskal and Wallis's test of whether several groups have one law. Its p-value allows for the noise.

    `groups` are two to fifty public labels. With s_i = Σ_j sgn(x_i - x_j) over the N rows of all groups, ties broken at
    random, and W_g the sum of s_i over group g, the statistic is H = 3/(N(N + 1))·Σ W_g²/n_g with noise in W and n.

    **Theorem.** The release is ε-differentially private. *Where the label is part of the row*: if a row is replaced,
    its own s leaves one sum and enters another, 2(N - 1) at most, and all others move by at most 2(N - 1) together. So
    W/N moves by less than 4 in ℓ1, and the sizes by 2. If a row comes, W moves by at most 2N, and Σ|W_g| ≤ N²/2, so
    W/N moves by at most 5/2, and one size by 1. Hence (W/N, n/2) moves by at most 5 in ℓ1 where rows are replaced, and
    by 3 where they come and go. For two groups 4 will do: pairs inside a group cancel, so a row that goes over to the
    other group moves W by at most 2(N - 1). *With public labels* a replaced value of group g moves W by at most
    4(N - n_g). All is rounded to multiples of 2^-16, which adds one of them per group.

    **Validity.** If all groups have one law, P(p ≤ α) ≤ α: the p-value is (1 + b)/(1 + 4999), where b of 4999 draws of
    the null law with fresh noise are at least as large. Up to 3,000 rows ranks are permuted; for more rows their sums
    are taken as normal. Where sizes are secret, each is taken as large as it may be, but for one time in 10,000, which
    is added. *Larger sizes spread W/N more*: its covariance is a factor that rises with N times that of the quadratic
    form min_c Σ n_g(v_g - c)², which rises with every n_g. By Anderson's inequality all tails of H then rise for normal
    sums.
    """
    account, missing = open_account("Kruskal and Wallis's test", epsilon, options)
    chosen = public_groups(groups, 2, MOST)
    found = samples(x, labels, chosen, missing)
    public = labels_are_public(account, options, found.in_table) and missing == "error"
    sums = _sums(account, len(chosen), found.sizes if public else None)
    least = math.ceil(len(chosen) * 2 * float(sums.size.scale if sums.size else 1))
    advice = Advice(n=least, other="fewer groups")
    if account.adjacency.size_is_public and found.size < least:
        return account.close(Outcome.refusal(HOW, advice))
    return account.close(_tested(found, account, sums, advice))


@dataclass(frozen=True)
class _Laws:
    """Noise on W/N, in units of 1/GRID, and on the sizes where these are secret."""

    sums: IntegerLaplace
    size: IntegerLaplace | None
    public: bool


def _sums(account: Account, k: int, sizes: tuple[int, ...] | None) -> _Laws:
    if sizes is not None:
        total = max(sum(sizes), 1)
        moves = Fraction(4 * (total - min(sizes)), total) * GRID + k
        return _Laws(IntegerLaplace(moves * account.rows / account.epsilon), None, True)
    moves = Fraction((4 if k == 2 else 5) if account.adjacency.size_is_public else 3) * GRID + k
    law = IntegerLaplace(moves * account.rows / account.epsilon)
    return _Laws(law, IntegerLaplace(Fraction(law.scale) / (GRID * SIZE)), False)


def _tested(found: Samples, account: Account, laws: _Laws, advice: Advice) -> Outcome[RankTest]:
    ranks = account.toss(lambda entropy: broken_ties(found.values, entropy))
    sizes = np.array([part.size for part in ranks])
    total = int(sizes.sum())
    exact = [int(2 * part.sum()) - part.size * (total + 1) for part in ranks]  # Σ s_i = Σ (2r - N - 1)
    whole = [(2 * w * GRID + max(total, 1)) // (2 * max(total, 1)) for w in exact]
    paid = account.pay(loss.Pure(account.epsilon))
    noisy = np.array(noisy_sums(whole, laws.sums, paid)) / GRID
    near = most = sizes.tolist()
    if laws.size is not None:
        near = noisy_sums(near, laws.size, paid)
        off = laws.size.cutoff(Fraction(SIZES_FAIL) / len(near)) - 1
        most = [max(n + off, 1) for n in near]
        account.bought(sum(near), laws.size, times=len(near))
    if min(near) < (2 * float(laws.size.scale) if laws.size is not None else 1):
        return Outcome.refusal(HOW, advice)
    weights = 3 * sum(near) / (sum(near) + 1) / np.array(near, np.float64)
    statistic = float(_form(noisy[None, :], weights)[0])
    scale = float(Fraction(laws.sums.scale)) / GRID
    rng = np.random.Generator(np.random.Philox(account.toss(lambda entropy: entropy.below(1 << 63))))
    drawn = null_sums(most, rng) + rng.laplace(0, scale, (DRAWS, len(most)))
    beyond = int(np.count_nonzero(_form(drawn, weights) >= statistic * (1 - 1e-12)))
    pvalue = min((1 + beyond) / (1 + DRAWS) + (SIZES_FAIL if laws.size is not None else 0.0), 1.0)
    notes = ((PUBLIC_LABELS,) if laws.public else ()) + sampling_note(account)
    return Outcome(RankTest(statistic, pvalue), HOW, notes=notes)


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
        found: Floats = centred * math.sqrt((total + 1) / (3 * total))
        return found
    scores = np.tile(2.0 * np.arange(1, total + 1) - total - 1, (DRAWS, 1))
    rng.permuted(scores, axis=1, out=scores)
    starts = np.r_[0, np.cumsum(sizes)[:-1]]
    return np.add.reduceat(scores, starts, axis=1) / total
