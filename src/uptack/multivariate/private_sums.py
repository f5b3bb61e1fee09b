"""Private sums over rows: quantiles, second moments, gradients and variances, each for the ε of its account.

**Theorem.** Each draw here is private for the ε of its account, whatever the rows hold, given what was released before.
*Proof.* Rows enter as integers, and each has a set of values that is bounded by construction:

- a size counts on one public level, so one row moves every score by at most 1 (the lemma below);
- uuᵀ with |u| ≤ Λ moves Σuuᵀ by at most Λ² in the nuclear norm when a row comes or goes, and by 2Λ² when it is
  replaced: matrix Laplace noise;
- u with |u| ≤ Λ moves Σu by at most Λ, or 2Λ, in length: Gamma noise;
- numbers v_j ≥ 0 with Σ_j v_j ≤ Λ move Σv by at most Λ, or 2Λ, in the sum of absolute values: integer Laplace noise for
  each.

Bounds are checked in integers, so floats say which vector a row gets, but not how long it is. ∎ With `person=` a person
adds the mean of what her rows would, which lies in the same set if that is convex (`uptack.multivariate.row_sums`).

**Quantiles** are drawn on short public lists of levels, from the number of rows on each, several columns in one draw.
With #(< t) the number of rows below level t, let

    L(t) = (1 - q)·#(< t) - q·#(≥ t),   R(t) = q·#(> t) - (1 - q)·#(≤ t),   score(t) = ⌈max(0, L(t), R(t))⌉.

L ≤ 0 and R ≤ 0 say that t is a q-quantile.

**Lemma.** One row that is replaced, added or removed moves the score of every level by at most 1. *Proof.* A row counts
1 - q in L where it is below t, and -q elsewhere: so replacing one moves L by at most 1, and adding or removing one by
less. The same holds for R, and a maximum and a rounding keep it. ∎

L rises with t and R falls, so {t: score(t) ≤ k} is an interval, and the product of the columns' intervals is a box. So
`uptack.mechanisms.inverse_sensitivity.Boxes` draws a level for every column at once, with one ε. The number of rows may
be secret. Levels have public weights, as copies: those far from the middle of the list have fewer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from uptack.account import Account
from uptack.mechanisms.additive_noise import NormMechanism, noisy_sums
from uptack.mechanisms.inverse_sensitivity import Boxes, InverseDraw, ScoredBoxes, steps_needed
from uptack.mechanisms.matrix_laplace import MatrixLaplace
from uptack.multivariate.row_sums import Sample, Squares, Tally, Vectors, Whole, lengths, squares
from uptack.noise import Grid, IntegerLaplace, L2Ball
from uptack.privacy import loss
from uptack.table.exact_sum import Floats
from uptack.table.unit import Integers

BITS = 18
LENGTH = 1 << BITS
"""Λ."""

FINE = 12
"""Noise is rounded to a grid of at least 2^12 steps to its scale."""

EDGE, WIDTH = 1.67, 0.71
"""Times d and the scale of matrix Laplace noise: its largest eigenvalue, and the root mean square of all."""

OCTAVE, BELOW, ABOVE = 16, 240, 12
"""Levels of a size: 2^(i/16), from 240 powers of two below 1 to 12 above. Squares of sizes, and their ratios, are
floats."""

THRESHOLDS = np.array([2.0 ** ((2 * i + 1) / (2 * OCTAVE)) for i in range(OCTAVE)])

OfRows = Callable[[Floats], Floats]
"""What the rows of a batch contribute: the last axis is that of rows."""


def moved(account: Account) -> int:
    """How many vectors of a sum one person can add or take away: both for each row that is replaced."""
    return account.adjacency.moves_per_row * account.rows


def bounded(columns: Floats, radius: float = 0.0) -> Floats:
    """The rows as vectors of integers near Λ·v/max(|v|, radius), none longer than Λ = 2^18.

    A row that came out too long, which rounding can't do unless floats are broken, is 0. So is one without a direction.
    Squares of entries up to Λ, and their sums up to Λ², are whole numbers that floats have: there nothing is rounded.
    Rounding is monotone, so a longer vector has a sum above Λ², or infinity, or NaN, and none of these is at most Λ².
    """
    near = columns * ((LENGTH - len(columns)) / np.maximum(lengths(columns), radius))
    np.rint(near, out=near)
    short = squares(near) <= float(LENGTH) ** 2
    return near if short.all() else np.where(short, near, 0.0)


# ------------------------------------------------------------------------------------------------------- sums


def noisy_moments(total: Whole, account: Account) -> Floats:
    """Σuuᵀ/Λ² with matrix Laplace noise: spends all of the account, which is pure ε by `matrix_laplace`."""
    theta = moved(account) * LENGTH**2 / account.epsilon
    noise = MatrixLaplace(loss.Pure(account.epsilon), theta, Grid.finer_than(theta, FINE))
    exact = [[Fraction(v) for v in line] for line in np.asarray(total, object)]
    return account.draw(noise, exact) / float(LENGTH) ** 2


def noisy_total(total: Whole, account: Account) -> Floats:
    """Σu/Λ with noise of density e^(-|v|/scale): spends all of the account, which is pure ε by `gamma`."""
    scale = moved(account) * LENGTH / account.epsilon
    grid = Grid.finer_than(scale, FINE)
    exact = [Fraction(v) for v in np.asarray(total, object)]
    noise = NormMechanism(loss.Pure(account.epsilon), L2Ball(len(exact)), scale, grid)
    return grid.points(account.draw(noise, exact)) / LENGTH


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


def gradient(rows: Sample, vectors: OfRows, longest: float, account: Account) -> tuple[Floats, float]:
    """Σu of vectors that are shortened to a length, and the standard deviation of the noise of a coordinate."""
    (total,) = rows.sums(lambda batch: [Vectors(bounded(vectors(batch), longest))])
    found = noisy_total(total, account) * longest
    return found, moved(account) / float(account.epsilon) * longest * float(np.sqrt(found.size + 1))


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


# ------------------------------------------------------------------------------------------------------- quantiles


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels 0, 1, ..., each as often as its copies say."""

    copies: Integers

    @cached_property
    def starts(self) -> Integers:
        """The first copy of each level, and the number of all copies."""
        return np.concatenate(([0], np.cumsum(self.copies)))

    def steps(self, epsilon: Fraction, columns: int) -> int:
        """How many steps a draw looks ahead: beyond, all candidates together hardly weigh anything."""
        return steps_needed(epsilon, int(self.starts[-1]) ** columns)

    def boxes(self, ends: Sequence[tuple[Integers, Integers]]) -> Boxes:
        """Intervals of levels, the lower and the upper ends of each column, as boxes of copies."""
        lows, highs = stacked(ends)
        whole = (0, int(self.starts[-1]) - 1)
        return Boxes(self.starts[lows], self.starts[highs + 1] - 1, (whole,) * len(lows))

    def level(self, copy: int) -> int:
        """The level that this is a copy of."""
        return int(np.searchsorted(self.starts, copy, side="right")) - 1


def falling(size: int, middle: int, most: int, width: float) -> Integers:
    """Copies that fall off like |i - middle|^-1.5, slowly, so that no level is far from the others in weight."""
    away = np.abs(np.arange(size) - middle) / width
    return np.maximum(np.rint(most * (1 + away) ** -1.5), 1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SizeLevels(Levels):
    """Sizes of numbers above 0: 2^(i/16), from the lowest i on, with their copies."""

    lowest: int

    def size(self, copy: int) -> float:
        """The size that this is a copy of."""
        return float(2.0 ** ((self.level(copy) + self.lowest) / OCTAVE))

    def counts(self, sizes: Floats) -> Tally:
        """The level that each number lies on; those beyond the ends, and below 0, on the first or the last."""
        mantissa, power = np.frexp(np.where(sizes > 0, np.minimum(sizes, 1e300), 0.0))
        within = np.searchsorted(THRESHOLDS, 2 * mantissa, side="right")
        level = OCTAVE * (power.astype(np.int64) - 1) + within - self.lowest
        last = self.copies.size - 1
        return Tally(np.where(mantissa > 0, np.clip(level, 0, last), 0), last + 1)


def _size_copies(power: int) -> Integers:
    """Below 1 as `falling`. Above 1 as 1/size to a power: a size that is far too large is the worse mistake, and all
    that are larger weigh no more than a few that are next to a level.
    """
    level = np.arange(-OCTAVE * BELOW, OCTAVE * ABOVE + 1)
    below = falling(level.size, OCTAVE * BELOW, 1 << (ABOVE * power), float(OCTAVE))
    above = np.rint(2.0 ** (power * (ABOVE - level / OCTAVE)))
    return np.where(level > 0, above, below).astype(np.int64)


SIZES, NEAR_SIZES = (SizeLevels(_size_copies(power), -OCTAVE * BELOW) for power in (2, 4))
"""Any size. 1 is about where it is expected: of the second list, surely."""

NEXT_SIZES = SizeLevels(np.ones(2 * OCTAVE + 1, np.int64), 0)
"""From 1 to 4."""


def intervals(counts: Whole, share: Fraction, steps: int) -> tuple[Integers, Integers]:
    """The first and the last level with score(t) ≤ k, for k = 0, ..., steps; from the number of rows on each level.

    Of people these are exact fractions (`uptack.multivariate.row_sums`), here over a common denominator d. b·L ≤ b·k if
    and only if ⌈b·L⌉ is.
    """
    a, b = share.numerator, share.denominator
    exact = np.asarray(counts, object)
    d = math.lcm(*(v.denominator for v in exact))
    reached = np.cumsum([v.numerator * (d // v.denominator) for v in exact], dtype=object)
    n = reached[-1]
    below = np.append(0, reached[:-1])
    scores = (b - a) * below - a * (n - below), a * (n - reached) - (b - a) * reached
    left, right = ((-(-score // d)).astype(np.int64) for score in scores)
    bounds = b * np.arange(steps + 1)
    highs = np.searchsorted(left, bounds, side="right") - 1
    lows = len(reached) - np.searchsorted(right[::-1], bounds, side="right")
    return lows, highs


def stacked(ends: Sequence[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    """The intervals of several columns, one line each."""
    return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


def drawn(boxes: Boxes, account: Account) -> list[int]:
    """One copy per column: spends all of the account. People with g rows move scores by g, so each row gets ε/g."""
    found = account.draw(InverseDraw.of(account.epsilon, account.rows), ScoredBoxes(boxes))
    assert found is not None, "⊥ is no candidate"
    return found


def far_quantiles(
    rows: Sample,
    sizes: Callable[[Floats], Sequence[Floats]],
    share: float,
    account: Account,
    anchors: Sequence[float] = (1.0,),
    levels: SizeLevels = SIZES,
) -> list[float]:
    """For each of several sizes of rows, in one draw, one that about this share of the rows exceeds.

    They are to a sixteenth of a power of two, on levels in units of the anchors, near which they are expected.
    """
    scales = [1 / anchor for anchor in anchors]
    counts = rows.sums(
        lambda batch: [levels.counts(size * scale) for size, scale in zip(sizes(batch), scales, strict=True)]
    )
    level = Fraction(1 - min(max(share, 0.0), 1.0)).limit_denominator(10**6)
    steps = levels.steps(account.epsilon / account.rows, len(counts))
    boxes = levels.boxes([intervals(each, level, steps) for each in counts])
    return [anchor * levels.size(copy) for anchor, copy in zip(anchors, drawn(boxes, account), strict=True)]
