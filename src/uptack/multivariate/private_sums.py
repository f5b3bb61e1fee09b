"""Private sums over rows: quantiles, second moments, gradients and variances, each for the ε of its account.

**Theorem.** Each draw here is private for the ε of its account, whatever the rows hold, given what was released before.
*Proof.* Rows enter as integers, and each has a set of values that is bounded by construction:

- a size counts on one public level, so one row moves every score by at most 1 (the lemma below);
- uuᵀ with |u| ≤ Λ moves Σuuᵀ by at most Λ² in the nuclear norm when a row comes or goes, and by 2Λ² when it is
  replaced: matrix Laplace noise;
- u with |u| ≤ Λ moves Σu by at most Λ, or 2Λ, in length: Gamma noise;
- u and v with |u| + |v| ≤ Λ move Σu and Σv by at most Λ, or 2Λ, in both lengths together: Gamma noise for each, of the
  scale that one alone would have (`TwoVectors`);
- numbers v_j ≥ 0 with Σ_j v_j ≤ Λ move Σv by at most Λ, or 2Λ, in the sum of absolute values: integer Laplace noise for
  each. Sums over people are rounded to integers first, so each moves by less than 1 more.

Bounds are checked in integers, so floats say which vector a row gets, but not how long it is. ∎ With `person=` a person
adds the mean of what her rows would, which lies in the same set if that is convex (`uptack.multivariate.row_sums`).

**With δ > 0** sums get integer Gaussian noise and are ρ-zCDP (`GaussianSums`). Let a person have up to g rows, and let
m be 2 where rows are replaced and 1 where they come and go. Then Σu moves by at most g·m·Λ in length, Σv by g·√m·Λ, and
Σuuᵀ by g·√m·Λ² in the Frobenius norm. *Proof.* |u - u'| ≤ 2Λ. Numbers v, v' ≥ 0 that add up to at most Λ have
|v - v'|² = |v|² + |v'|² - 2v·v' ≤ 2Λ², and so have M, M' ≽ 0 with traces of at most Λ², since tr MM' ≥ 0. Each of g
rows adds as much. Sums over people are rounded to integers, which moves each number by at most 1. ∎

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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account, AssumptionFailed, Mechanism
from uptack.mechanisms.additive_noise import MatrixLaplace, NormMechanism, noisy_sums
from uptack.mechanisms.inverse_sensitivity import Boxes, InverseDraw, steps_needed
from uptack.multivariate.row_sums import Sample, Squares, Tally, Vectors, Whole, lengths, squares
from uptack.noise import Entropy, Grid, IntegerGaussian, IntegerLaplace, L2Ball
from uptack.privacy import cost, loss
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


@dataclass(frozen=True)
class GaussianSums(Mechanism[NDArray[Any], NDArray[Any]]):
    """Whole numbers x_i with independent integer Gaussian noise of variance σ²/w_i, for public weights w_i.

    **Theorem.** If Σ w_i·(x_i - x'_i)² ≤ 2ρσ² between neighbours, a draw is ρ-zCDP. *Proof.* Integer Gaussian noise of
    variance v on integers that move by Δ has D_α ≤ α·Δ²/(2v) (Canonne, Kamath and Steinke 2020). Divergences of
    independent draws add up, here to α·Σ w_i·Δ_i²/(2σ²). ∎

    A symmetric matrix is its lower triangle, with w = 1 on the diagonal and 2 beside it: Σ w·Δ² is the square of its
    Frobenius norm. `scale` is σ, and `epsilon` the part of a release's ε that the draw stands for.
    """

    loss: loss.Zcdp
    scale: Fraction
    weights: tuple[int, ...]
    epsilon: Fraction

    def draw(self, value: NDArray[Any], entropy: Entropy) -> NDArray[Any]:
        """The numbers with noise."""
        noisy, weights = value.copy(), np.array(self.weights)
        for weight in np.unique(weights).tolist():
            places = np.flatnonzero(weights == weight)
            noise = IntegerGaussian(self.scale**2 / weight).draw(places.size, entropy)
            noisy[places] = noisy[places] + noise.astype(object)
        return noisy

    def price(self, value: NDArray[Any], other: NDArray[Any], output: NDArray[Any]) -> float:
        """Its part of ε, times the part of ρ that the move costs: so all steps of a release add up to at most ε."""
        moves = zip(self.weights, value.tolist(), other.tolist(), strict=True)
        squared = sum(weight * (int(b) - int(a)) ** 2 for weight, a, b in moves)
        part = float(squared / (2 * Fraction(self.loss.rho) * self.scale**2))
        if part > 1 + 1e-9:
            raise AssumptionFailed(f"a sum costs {part:.4g} times its ρ")
        return part * float(self.epsilon)


@dataclass(frozen=True)
class Allowance:
    """What one sum may spend: the ε of an account, or with ρ > 0 so much of concentrated privacy, at its δ."""

    account: Account
    rho: Fraction = Fraction(0)

    @property
    def deviation(self) -> float:
        """The standard deviation of Gaussian noise, for a sum that moves by 1."""
        return 1 / math.sqrt(2 * float(self.rho))

    def moves(self, nonnegative: bool) -> float:
        """How far a sum of vectors of length 1 moves; of numbers above 0 that add up to 1, or matrices of trace 1."""
        each = self.account.adjacency.moves_per_row
        return self.account.rows * (math.sqrt(each) if nonnegative else each)

    def matrix_noise(self, dimension: int, n: float = 1.0) -> float:
        """The scale of matrix Laplace noise with the same largest eigenvalue, in a mean of matrices of trace 1.

        That of Gaussian noise, of deviations σ and σ/√2 on and off the diagonal, is about σ·√(2d) (Wigner 1955).
        """
        if not self.rho:
            return moved(self.account) / (n * float(self.account.epsilon))
        return self.deviation * self.moves(True) * math.sqrt(2 * dimension) / (EDGE * dimension * n)

    def vector_noise(self, dimension: int, n: float = 1.0) -> float:
        """The standard deviation of a coordinate, in a mean of vectors of length 1: of Gamma noise, or Gaussian."""
        if not self.rho:
            return moved(self.account) / (n * float(self.account.epsilon)) * math.sqrt(dimension + 1)
        return self.deviation * self.moves(False) / n

    def gaussian(self, total: Whole, longest: int, weights: Sequence[int], nonnegative: bool) -> Floats:
        """Sums of vectors of integers of this length, with Gaussian noise, over the length."""
        squared = (self.account.rows * longest) ** 2 * self.account.adjacency.moves_per_row ** (1 if nonnegative else 2)
        moves = math.isqrt(squared) + math.isqrt(sum(weights)) + 2  # with room to round sums over people
        scale = Fraction(math.isqrt(math.ceil(moves**2 / (2 * self.rho))) + 1)
        exact = np.array([round(one) for one in np.asarray(total, object)], object)
        price = loss.Zcdp(self.rho, self.account.delta)
        own = min(self.account.epsilon, cost(price).exact_epsilon)
        drawn = self.account.draw(GaussianSums(price, scale, tuple(weights), own), exact)
        return np.array([float(Fraction(int(one), longest)) for one in drawn])


@dataclass(frozen=True, eq=False)
class NoisyMatrix:
    """A sum of uuᵀ over n; about the largest eigenvalue of its noise, and the root mean square of all of them; and the
    standard deviation of an entry beside the diagonal."""

    matrix: Floats
    edge: float
    width: float
    entry: float

    @staticmethod
    def laplace(matrix: Floats, scale: float) -> NoisyMatrix:
        """With matrix Laplace noise."""
        d = len(matrix)
        return NoisyMatrix(matrix, EDGE * d * scale, WIDTH * d * scale, scale * float(np.sqrt((d + 1) / 2)))


def second_moments(rows: Sample, vectors: OfRows, longest: float, n: float, part: Allowance) -> NoisyMatrix:
    """Σuuᵀ/n of vectors that are shortened to a length."""
    (total,) = rows.sums(lambda batch: [Squares(bounded(vectors(batch), longest))])
    scale, account = longest**2 / n, part.account
    if not part.rho:
        noise = moved(account) / float(account.epsilon) * scale
        return NoisyMatrix.laplace(noisy_moments(total, account) * scale, noise)
    lower = np.tril_indices(len(total))
    weights = [1 if i == j else 2 for i, j in zip(*lower, strict=True)]
    matrix, d, sigma = np.zeros(total.shape), len(total), part.deviation * part.moves(True) * scale
    matrix[lower] = part.gaussian(total[lower], LENGTH**2, weights, True) * scale
    matrix = matrix + np.tril(matrix, -1).T
    return NoisyMatrix(matrix, sigma * math.sqrt(2 * d), sigma * math.sqrt((d + 1) / 2), sigma / math.sqrt(2))


def gradient(rows: Sample, vectors: OfRows, longest: float, part: Allowance) -> tuple[Floats, float]:
    """Σu of vectors that are shortened to a length, and the standard deviation of the noise of a coordinate."""
    (total,) = rows.sums(lambda batch: [Vectors(bounded(vectors(batch), longest))])
    if part.rho:
        return part.gaussian(total, LENGTH, (1,) * total.size, False) * longest, part.vector_noise(1) * longest
    scale = moved(part.account) / float(part.account.epsilon) * longest
    return noisy_total(total, part.account) * longest, scale * math.sqrt(total.size + 1)


@dataclass(frozen=True)
class TwoVectors(Mechanism[Sequence[Fraction], Sequence[int]]):
    """Two vectors, one after the other, with independent noise of density e^(-|v|/scale) each.

    **Theorem.** Where they move by at most ε·scale in both lengths together, a draw is ε-private. *Proof.* Densities
    multiply: their ratio is at most e^((|Δu| + |Δv|)/scale). ∎ So what a row leaves of its length in one vector is free
    in the other.
    """

    loss: loss.Pure
    scale: Fraction
    grid: Grid

    def halves(self, value: Sequence[Fraction]) -> tuple[NormMechanism, Sequence[Fraction], Sequence[Fraction]]:
        """What draws each, and both."""
        d = len(value) // 2
        return NormMechanism(self.loss, L2Ball(d), self.scale, self.grid), value[:d], value[d:]

    def draw(self, value: Sequence[Fraction], entropy: Entropy) -> Sequence[int]:
        """Both with noise, in steps of the grid."""
        each, first, second = self.halves(value)
        return [*each.draw(first, entropy), *each.draw(second, entropy)]

    def price(self, value: Sequence[Fraction], other: Sequence[Fraction], output: Sequence[int]) -> float:
        """The sum of both."""
        each, *before = self.halves(value)
        after, d = self.halves(other)[1:], len(value) // 2
        return sum(each.price(a, b, out) for a, b, out in zip(before, after, (output[:d], output[d:]), strict=True))


def shared(first: Floats, second: Floats, longest: float) -> Floats:
    """Two vectors of integers for each row, near Λ/longest times those given, with |u| + |v| ≤ Λ.

    The first is as `bounded` has it. The second is cut to what is left. ⌈|u|⌉ is exact: |u|² is a whole number that
    floats have, below 2^37, and no root of one is so near to the next whole number that it is rounded there.
    """
    u = bounded(first, longest)
    left = LENGTH - np.ceil(lengths(u))
    near = second * ((LENGTH - len(second)) / longest)
    near = np.rint(near * np.minimum(1.0, np.maximum(left - len(near), 0.0) / np.maximum(lengths(near), 1e-300)))
    return np.vstack([u, np.where(squares(near) <= left**2, near, 0.0)])


def two_gradients(
    rows: Sample, vectors: Callable[[Floats], tuple[Floats, Floats]], longest: float, part: Allowance
) -> tuple[Floats, Floats, float]:
    """Σu and Σv for vectors that share a length, and the standard deviation of the noise of a coordinate."""
    (total,) = rows.sums(lambda batch: [Vectors(shared(*vectors(batch), longest))])
    d = total.size // 2
    if part.rho:
        found = part.gaussian(total, LENGTH, (1,) * total.size, False) * longest
        return found[:d], found[d:], part.vector_noise(1) * longest
    scale = moved(part.account) * LENGTH / part.account.epsilon
    noise = TwoVectors(loss.Pure(part.account.epsilon), scale, Grid.finer_than(scale, FINE))
    drawn = part.account.draw(noise, [Fraction(v) for v in np.asarray(total, object)])
    found = noise.grid.points(drawn) / LENGTH * longest
    return found[:d], found[d:], part.vector_noise(d) * longest


def variances(rows: Sample, parts: OfRows, most: float, n: float, part: Allowance) -> tuple[Floats, float]:
    """Σv/n of vectors of numbers v_j ≥ 0 that add up to at most `most`, and the standard deviation of each over √2."""
    (total,) = rows.sums(lambda batch: [Vectors(shares_of(parts(batch), most))])
    if part.rho:
        scale = most / n
        found = part.gaussian(total, LENGTH, (1,) * total.size, True) * scale
        return found, part.deviation * part.moves(True) * scale / math.sqrt(2)
    law = IntegerLaplace((moved(part.account) * LENGTH + total.size) / part.account.epsilon)  # with room to be rounded
    scale = most / (LENGTH * n)
    return np.array(noisy_sums([round(one) for one in total], law, part.account)) * scale, float(law.scale) * scale


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

NEXT_SIZES = SizeLevels(np.rint(2.0 ** (8 - 2 * np.arange(2 * OCTAVE + 1) / OCTAVE)).astype(np.int64), 0)
"""From 1 to 4, with copies as 1/size²: the many levels beyond all rows weigh little together, and the first ones not
much more than those where a tail ends. With 1/size⁴ 79% of the intervals hold a slope of "no logit" at n = 3,500, with
this 92%."""


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
    found: list[int] | None = account.draw(InverseDraw.of(account.epsilon, account.rows), boxes)
    assert found is not None, "⊥ is no candidate"
    return found


def far_quantiles(
    rows: Sample,
    sizes: Callable[[Floats], Sequence[Floats]],
    shares: Sequence[float],
    account: Account,
    anchors: Sequence[float] = (1.0,),
    levels: SizeLevels = SIZES,
) -> list[float]:
    """For each of several sizes of rows, in one draw, one that about its share of the rows exceeds.

    They are to a sixteenth of a power of two, on levels in units of the anchors, near which they are expected.
    """
    scales = [1 / anchor for anchor in anchors]
    counts = rows.sums(
        lambda batch: [levels.counts(size * scale) for size, scale in zip(sizes(batch), scales, strict=True)]
    )
    within = [Fraction(1 - min(max(share, 0.0), 1.0)).limit_denominator(10**6) for share in shares]
    steps = levels.steps(account.epsilon / account.rows, len(counts))
    boxes = levels.boxes([intervals(each, level, steps) for each, level in zip(counts, within, strict=True)])
    return [anchor * levels.size(copy) for anchor, copy in zip(anchors, drawn(boxes, account), strict=True)]
