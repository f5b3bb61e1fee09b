"""Where a fit draws its noise: far quantiles, second moments, gradients and variances of rows, each for its part of ε.

**Theorem.** Each function here is private for the ε of its account, whatever the rows hold, given what was released
before. *Proof.* Rows enter as integers, and each has a set of values that is bounded by construction:

- a length counts on one public level, so one row moves every score by at most 1, also those of two lengths at once
  (`uptack.multivariate.levels`);
- uuᵀ with |u| ≤ Λ moves Σuuᵀ by at most Λ² in the nuclear norm when a row comes or goes, and by 2Λ² when it is
  replaced: matrix Laplace noise (`uptack.multivariate.bounded`);
- u with |u| ≤ Λ moves Σu by at most Λ, or 2Λ, in length: Gamma noise;
- numbers v_j ≥ 0 with Σ_j v_j ≤ Λ move Σv by at most Λ, or 2Λ, in the sum of absolute values: integer Laplace noise for
  each.

Bounds are checked in integers, so floats say which vector a row gets, but not how long it is. ∎

With `person=` a person adds the mean of what her rows would, which lies in the same set if that is convex
(`uptack.multivariate.steps`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from uptack.account import Account
from uptack.mechanisms.integer_noise import noisy_sums
from uptack.multivariate.bounded import LENGTH, bounded, moved, noisy_moments, noisy_total
from uptack.multivariate.levels import NEAR_SIZES, NEXT_SIZES, SIZES, SizeLevels, private_sizes
from uptack.multivariate.steps import Sample
from uptack.multivariate.terms import Squares, Vectors
from uptack.noise import IntegerLaplace
from uptack.regression.tuning import EDGE, WIDTH
from uptack.table.exact_sum import Floats

OfRows = Callable[[Floats], Floats]
"""What the rows of a batch contribute: the last axis is that of rows."""


def far_quantile(rows: Sample, sizes: OfRows, beyond: float, n: float, anchor: float, account: Account) -> float:
    """A size that about `beyond` of n rows exceed. It is expected near the anchor, or below."""
    (found,) = _quantiles(rows, lambda batch: [sizes(batch) * (1 / anchor)], beyond / n, SIZES, account)
    return anchor * found


def farther_quantile(rows: Sample, sizes: OfRows, beyond: float, n: float, near: float, account: Account) -> float:
    """The same from a nearer quantile on, up to four times as far."""
    (found,) = _quantiles(rows, lambda batch: [sizes(batch) * (1 / near)], beyond / n, NEXT_SIZES, account)
    return near * found


def far_pair(
    rows: Sample, sizes: Callable[[Floats], Sequence[Floats]], beyond: float, n: float, account: Account
) -> list[float]:
    """The same of two sizes in one draw, which are expected near 1."""
    return _quantiles(rows, sizes, beyond / n, NEAR_SIZES, account)


def _quantiles(
    rows: Sample,
    sizes: Callable[[Floats], Sequence[Floats]],
    share: float,
    levels: SizeLevels,
    account: Account,
) -> list[float]:
    counts = rows.sums(lambda batch: [terms for each in sizes(batch) for terms in levels.counts(each)])
    level = Fraction(1 - min(max(share, 0.0), 1.0)).limit_denominator(10**6)
    return private_sizes(counts, level, account, levels)


@dataclass(frozen=True, eq=False)
class NoisyMatrix:
    """A sum of uuᵀ over n, and the scale of its noise."""

    matrix: Floats
    scale: float

    @property
    def edge(self) -> float:
        """About the largest eigenvalue of the noise."""
        return EDGE * len(self.matrix) * self.scale

    @property
    def width(self) -> float:
        """About the root mean square of the eigenvalues of the noise."""
        return WIDTH * len(self.matrix) * self.scale

    @property
    def entry(self) -> float:
        """The standard deviation of the noise of an entry beside the diagonal."""
        return self.scale * float(np.sqrt((len(self.matrix) + 1) / 2))


def second_moments(rows: Sample, vectors: OfRows, longest: float, n: float, account: Account) -> NoisyMatrix:
    """Σuuᵀ/n of vectors that are shortened to a length."""
    (total,) = rows.sums(lambda batch: [Squares(bounded(vectors(batch), longest))])
    scale = longest**2 / n
    return NoisyMatrix(noisy_moments(total, account) * scale, moved(account) / float(account.epsilon) * scale)


@dataclass(frozen=True, eq=False)
class NoisyVector:
    """A sum of vectors, and the standard deviation of the noise of a coordinate."""

    total: Floats
    deviation: float


def gradient(rows: Sample, vectors: OfRows, longest: float, account: Account) -> NoisyVector:
    """Σu of vectors that are shortened to a length."""
    (total,) = rows.sums(lambda batch: [Vectors(bounded(vectors(batch), longest))])
    found = noisy_total(total, account) * longest
    return NoisyVector(found, moved(account) / float(account.epsilon) * longest * float(np.sqrt(found.size + 1)))


def variances(rows: Sample, parts: OfRows, most: float, n: float, account: Account) -> tuple[Floats, float]:
    """Σv/n of vectors of numbers v_j ≥ 0 that add up to at most `most`, and the scale of the noise in each."""
    (total,) = rows.sums(lambda batch: [Vectors(shares_of(parts(batch), most))])
    law = IntegerLaplace(moved(account) * LENGTH / account.epsilon)
    scale = most / (LENGTH * n)
    return np.array(noisy_sums([round(one) for one in total], law, account)) * scale, float(law.scale) * scale


def shares_of(parts: Floats, most: float) -> Floats:
    """Whole numbers near Λ·v/most, rounded down, that add up to at most Λ: 0 for a row whose do not."""
    whole = np.floor(parts * (LENGTH / most))
    return np.where((whole.sum(axis=0) <= LENGTH) & (whole >= 0).all(axis=0), whole, 0.0)
