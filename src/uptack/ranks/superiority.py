"""Superiority: the share of pairs in which a row of one group exceeds one of the other, Mann and Whitney's U/(n₁·n₀).

**The weight of a pair if the sizes of both groups are secret.**

Let S = Σ sgn(x_i - y_j) over the n₁·n₀ pairs of two groups, N = n₁ + n₀, L the larger size and s the smaller. Take

    F = h·S,  h = 1/L for L ≥ 8s/3,  h = (7/4 - 9L/(64s))/N otherwise,  F = 0 without rows.

Both pieces meet at L = 8s/3 with equal slopes. As a function of q = L/N, φ = N·h is concave in the inner piece, and its
tangent there is that of the convex 1/q. So φ ≤ 1/q everywhere, h ≤ 1/L, and φ falls in q.

**Theorem.** F moves by at most

1. 2, if a row gets another value in its group;
2. 7/4, if a row moves to the other group, with any value;
3. 3/2, if a row is added to a group, or removed.

*Proof.* 1. S moves by at most 2L, and h·2L ≤ 2.

2. The sizes go from (u + 1, v) to (u, v + 1). The pairs without the row are u·v, and S has v pairs with it before and u
after. So F moves by at most B = |h₂ - h₁|uv + h₁v + h₂u. B is the same for the way back, so let u ≥ v: then h₂ ≥ h₁, or
u = v, h₁ = h₂ and B < 7/4. Inner piece: N(h₂ - h₁) = (9/64)·N/(v(v + 1)), and all of it adds up to B = 7/4 - (7/4 +
9/64)/N. Outer piece: B = 2v/(u + 1) + 1 ≤ 7/4. Between the two h₁ = 1/(u + 1) is more than the inner formula says, and
its factor in B, v(1 - u), is not positive: so B is at most what the inner piece gives.

3. The sizes go from (u, v) to (u + 1, v), and F moves by at most A = |h₂ - h₁|uv + h₂v. If u ≥ v: inner piece, with
q = u/(u + v), A ≤ (7/4)(1 - q²) - (9/64)q² < 1.28; outer piece A = 2v/(u + 1) ≤ 3/4; in between as in 2. If u < v and
h₂ ≥ h₁: A = h₂v(u + 1) - h₁uv ≤ (7/4 + 9/64)·q² ≤ 1 with q = v/(u + v) ≤ 8/11 (inner), and 1 (outer). If u < v and
h₂ ≤ h₁: the larger share falls, φ rises, so h₂ ≥ h₁N/(N + 1), and A ≤ h₁v(u/(N + 1) + 1) ≤ φ·q·(2 - q) ≤ 2 - q. ∎

So (F, (n₁ - n₀)/8, 3N/8) moves by at most 2 in ℓ1, whatever one row becomes: the sizes are free. For balanced groups φ
is 1.61: the noise is as if S had a sensitivity of 1.24·N.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack

from uptack.account import Account, Outcome
from uptack.exact import Rational, read
from uptack.mechanisms.additive_noise import noisy_integer, noisy_sums
from uptack.noise import Entropy, IntegerLaplace
from uptack.privacy import loss
from uptack.ranks.null_laws import half_width
from uptack.ranks.pair_counts import exceedance
from uptack.ranks.rank_data import (
    EXAMPLE,
    GRID,
    LARGEST_NOISE,
    LabelOptions,
    Samples,
    label_notes,
    labels_are_public,
    open_account,
    public_groups,
    samples,
    two_samples,
)
from uptack.release import Advice, NoReply, Release
from uptack.table.exact_sum import Floats

MOVES = 2
"""What (F, (n₁ - n₀)/8, 3N/8) moves by at most."""
DIFFERENCE, TOTAL = Fraction(1, 8), Fraction(3, 8)
"""The weights of n₁ - n₀ and of N."""


def weight(first: int, second: int) -> Fraction:
    """h(n₁, n₀), exactly.

    >>> weight(3, 8), weight(5, 5), weight(0, 0)
    (Fraction(1, 8), Fraction(103, 640), Fraction(0, 1))
    """
    large, small = max(first, second), min(first, second)
    if large == 0:
        return Fraction(0)
    if 3 * large >= 8 * small:
        return Fraction(1, large)
    return (Fraction(7, 4) - Fraction(9 * large, 64 * small)) / (large + small)


HOW = "integer noise on the count of pairs"
Sizes = tuple[int, int]


@dataclass(frozen=True)
class SecretLabels:
    """Secret sizes, by their noisy total and difference, with the laws of the noise."""

    rows: int
    difference: int
    total: IntegerLaplace
    apart: IntegerLaplace

    def unit(self, one: int, other: int) -> float:
        return float(weight(one, other))

    def region(self, failing: float) -> list[Sizes]:
        """Corners of a set of sizes that holds the true ones but for this chance."""
        off, wide = (part.cutoff(Fraction(failing / 4)) - 1 for part in (self.total, self.apart))
        low, high = self.difference - wide, self.difference + wide
        least = min(max(low, 0), high)
        return [_sizes(r, d) for r in (self.rows - off, self.rows + off) for d in (low, high, least)]


@dataclass(frozen=True)
class KnownLabels:
    """Sizes with public labels: noisy numbers of values, the law of the noise, and the numbers of labels."""

    near: Sizes
    labelled: Sizes
    count: IntegerLaplace

    def unit(self, one: int, other: int) -> float:
        return 1.0

    def region(self, failing: float) -> list[Sizes]:
        off = self.count.cutoff(Fraction(failing / 4)) - 1
        ends = [(max(a - off, 1), min(a + off, most)) for a, most in zip(self.near, self.labelled, strict=True)]
        return [(a, b) for a in ends[0] for b in ends[1]]


@dataclass(frozen=True)
class NoisyPairs:
    """A noisy Σ sgn over the pairs of two groups: `sign` = unit(sizes)·Σ sgn, with Laplace noise of this scale.

    `sizes` are those of both groups, and `labels` what else is known of them. All of it is public.
    """

    sign: float
    scale: float
    sizes: Sizes
    labels: SecretLabels | KnownLabels
    secret: bool = True

    def share(self, sizes: Sizes) -> tuple[float, float]:
        """The share of pairs in which the first exceeds the second, and the scale of its noise, for such sizes."""
        per = 1 / (2 * self.labels.unit(*sizes) * sizes[0] * sizes[1])
        return 0.5 + self.sign * per, self.scale * per


@dataclass(frozen=True)
class SuperiorityNoise:
    """The error of a share of pairs."""

    pairs: NoisyPairs
    transform: Callable[[float], float] = float

    def around(self, value: Any, confidence: Rational) -> tuple[float, float]:
        """An interval for the population's probability A.

        Its estimate has a variance of at most A(1 - A)/min(n₁, n₀) (van Dantzig 1951; ties broken at random add to it).
        Noise is allowed for exactly, and a fifth of the error goes into a range of the sizes if they are secret.
        """
        failing, ends = 1 - float(read(confidence)), []
        for sizes in self.pairs.labels.region(failing / 5) if self.pairs.secret else [self.pairs.sizes]:
            share, scale = self.pairs.share(sizes)
            share = min(max(share, 0.0), 1.0)
            nearer = share + math.copysign(min(abs(0.5 - share), scale), 0.5 - share)
            sd = math.sqrt(nearer * (1 - nearer) / min(sizes))
            half = half_width(sd, scale, 1 - failing * (0.8 if self.pairs.secret else 1))
            ends += [share - half, share + half]
        return self.transform(max(min(ends), 0.0)), self.transform(min(max(ends), 1.0))


@two_samples(examples=(EXAMPLE,), page="superiority")
def superiority(
    x: Any, labels: Any, *, groups: Sequence[Any], epsilon: Rational, **options: Unpack[LabelOptions]
) -> Release[float] | NoReply:
    """The probability of superiority: that a row of the first group exceeds one of the second. A tie counts as half.

    `groups` are two public labels. Rows with another label, or with none, are left out. It needs no bounds.

    **Theorem.** The release is ε-differentially private. *If the label is part of the row*, the sizes of both groups
    are secret. With S = Σ sgn(x_i - y_j) over all pairs, (h·S, (n₁ - n₀)/8, 3(n₁ + n₀)/8) moves by at most 2 in ℓ1 if
    one row is replaced, added or removed (`uptack.ranks.superiority` has h and the proof). So integer noise of
    scales 2g/ε, 16g/ε and 16g/3ε is private. h·S is rounded to multiples of 2^-16, and may move by one of them more.
    *With public labels* (`public_labels=True`) a replaced value moves S by at most 2·max(n₁, n₀). If values may be
    missing, a removed value moves S by at most max(n₁, n₀) and one number of values by 1, so with S/max(n₁, n₀) these
    numbers are free.

    `result.interval()` is for the population that the rows are a sample of. It is conservative: by up to a fifth for
    groups of one size.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> x, ward = np.arange(2000.0), np.repeat(["a", "b"], 1000)
    >>> superiority(x, ward, groups=("b", "a"), epsilon=1, entropy=SeededEntropy(2)).value > 0.99
    True
    """
    account, missing = open_account("superiority", epsilon, options)
    return account.close(_estimate_share(x, labels, groups, account, missing, options, float))


@two_samples(examples=(EXAMPLE,), page="superiority")
def rank_biserial(
    x: Any, labels: Any, *, groups: Sequence[Any], epsilon: Rational, **options: Unpack[LabelOptions]
) -> Release[float] | NoReply:
    """The rank-biserial correlation 2A - 1, from -1 to 1, where A is the `superiority` of the first group.

    **Theorem.** ε-differentially private: it is a function of `superiority`.
    """
    account, missing = open_account("rank-biserial correlation", epsilon, options)
    return account.close(_estimate_share(x, labels, groups, account, missing, options, from_share))


def from_share(share: float) -> float:
    """2A - 1."""
    return 2 * share - 1


def _estimate_share(
    x: Any, labels: Any, groups: Any, account: Account, missing: str, options: Any, transform: Callable[[float], float]
) -> Outcome[float]:
    """The share of pairs, or what is made of it."""
    data = samples(x, labels, public_groups(groups, 2, 2), missing)
    pairs, public = noisy_pairs(data, account, options, missing == "drop")
    if isinstance(pairs, Advice):
        return Outcome.refusal(HOW, pairs)
    share, scale = pairs.share(pairs.sizes)
    if scale > LARGEST_NOISE:
        return Outcome.refusal(HOW, _more_rows(account))
    value = transform(min(max(share, 0.0), 1.0))
    return Outcome(value, HOW, SuperiorityNoise(pairs, transform), notes=label_notes(account, public))


def _more_rows(account: Account) -> Advice:
    """The number of rows, in groups of equal size, for a reply: noise in the sizes may be half of a group."""
    return Advice(n=math.ceil(64 * account.rows / account.epsilon), other="groups with more rows")


def noisy_pairs(
    data: Samples,
    account: Account,
    options: Mapping[str, Any],
    dropped: bool,
    ranks: Callable[[tuple[Floats, ...], Entropy], tuple[Floats, ...]] | None = None,
) -> tuple[NoisyPairs | Advice, bool]:
    """S with noise, and the sizes with theirs if they are secret; and whether labels are public.

    It is an advice if public numbers say that there are too few rows, for free, or if a group may be empty.
    """
    public, advice = labels_are_public(account, options, data.in_table), _more_rows(account)
    if account.adjacency.size_is_public:
        least = math.ceil(2 * account.rows / (account.epsilon * LARGEST_NOISE)) if public else advice.n
        if (2 * min(data.sizes) if public else data.size) < (least or 0):
            return replace(advice, n=least), public
    values = data.values if ranks is None else account.toss(lambda entropy: ranks(data.values, entropy))
    sign, sizes = exceedance(*values), (values[0].size, values[1].size)
    if public:
        return _with_public_labels(sign, sizes, (data.sizes[0], data.sizes[1]), account, dropped) or advice, public
    law = IntegerLaplace((MOVES * GRID + 1) * account.rows / account.epsilon)
    apart, total = (IntegerLaplace(Fraction(law.scale) / (GRID * part)) for part in (DIFFERENCE, TOTAL))
    paid = account.pay(loss.Pure(account.epsilon))
    noisy = noisy_integer(round(weight(*sizes) * sign * GRID), law, paid)
    difference = noisy_integer(sizes[0] - sizes[1], apart, paid)
    rows = noisy_integer(sizes[0] + sizes[1], total, paid)
    account.keep_size(rows, total)
    near = _sizes(rows, difference)
    if min(near) < 2 * float(Fraction(apart.scale)):
        return advice, public
    scale = float(Fraction(law.scale)) / GRID
    return NoisyPairs(noisy / GRID, scale, near, SecretLabels(rows, difference, total, apart)), public


def _sizes(rows: int, difference: int) -> Sizes:
    return max((rows + difference) // 2, 1), max((rows - difference) // 2, 1)


def _with_public_labels(sign: int, sizes: Sizes, labelled: Sizes, account: Account, dropped: bool) -> NoisyPairs | None:
    """The same with public labels; None if a group may be empty."""
    large = max(labelled)
    law = IntegerLaplace(Fraction(MOVES * large * account.rows) / account.epsilon)
    paid = account.pay(loss.Pure(account.epsilon))
    noisy = noisy_integer(sign, law, paid)
    near, count = labelled, IntegerLaplace(Fraction(law.scale) / large)
    if dropped:
        drawn = noisy_sums(sizes, count, paid)
        near = (min(drawn[0], labelled[0]), min(drawn[1], labelled[1]))
        account.keep_size(sum(drawn), count, times=2)
    if min(near) < 1:
        return None
    return NoisyPairs(float(noisy), float(Fraction(law.scale)), near, KnownLabels(near, labelled, count), dropped)
