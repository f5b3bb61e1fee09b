"""Private quantiles on short public lists of candidates, from counts of rows: several columns in one draw.

Each row falls on one level of a public list, in each column. With #(< t) the number of rows below level t, let

    L(t) = (1 - q)·#(< t) - q·#(≥ t),   R(t) = q·#(> t) - (1 - q)·#(≤ t),   score(t) = ⌈max(0, L(t), R(t))⌉.

L ≤ 0 and R ≤ 0 say that t is a q-quantile.

**Lemma.** One row that is replaced, added or removed moves the score of every level by at most 1. *Proof.* A row counts
1 - q in L where it is below t, and -q elsewhere: so replacing one moves L by at most 1, and adding or removing one by
less. The same holds for R, and a maximum and a rounding keep it. ∎

L rises with t and R falls, so {t: score(t) ≤ k} is an interval, and the product of the columns' intervals is a box. So
`uptack.mechanisms.inverse_sensitivity.Boxes` draws a level for every column at once, with one ε. The number of rows may
be secret.

ScoredBoxes have public weights, as copies: levels far from the middle of the list have fewer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account
from uptack.mechanisms.inverse_sensitivity import Boxes, InverseDraw, ScoredBoxes, steps_needed
from uptack.multivariate.steps import Whole
from uptack.multivariate.terms import Tally
from uptack.table.exact_sum import Floats

Integers = NDArray[np.int64]

OCTAVE, BELOW, ABOVE = 16, 240, 12
"""Levels of a size: 2^(i/16), from 240 powers of two below 1 to 12 above. Squares of sizes, and their ratios, are
floats."""

THRESHOLDS = np.array([2.0 ** ((2 * i + 1) / (2 * OCTAVE)) for i in range(OCTAVE)])


@dataclass(frozen=True, eq=False)
class Levels:
    """ScoredBoxes 0, 1, ..., each as often as its copies say."""

    copies: Integers

    @cached_property
    def starts(self) -> Integers:
        """The first copy of each level, and the number of all copies."""
        return np.concatenate(([0], np.cumsum(self.copies)))

    def steps(self, epsilon: Fraction, columns: int) -> int:
        """How many steps a draw looks ahead: beyond, all candidates together hardly weigh anything."""
        return steps_needed(epsilon, int(self.starts[-1]) ** columns)

    def boxes(self, lows: Integers, highs: Integers) -> Boxes:
        """Intervals of levels, one line per column, as boxes of copies."""
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

    def counts(self, sizes: Floats) -> list[Tally]:
        """The level that each number lies on; those beyond the ends, and below 0, on the first or the last."""
        mantissa, power = np.frexp(np.where(sizes > 0, np.minimum(sizes, 1e300), 0.0))
        within = np.searchsorted(THRESHOLDS, 2 * mantissa, side="right")
        level = OCTAVE * (power.astype(np.int64) - 1) + within - self.lowest
        last = self.copies.size - 1
        return [Tally(np.where(mantissa > 0, np.clip(level, 0, last), 0), last + 1)]


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

    Of people these are exact fractions (`uptack.multivariate.steps`), here over a common denominator d. b·L ≤ b·k if
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


def drawn(boxes: Boxes, account: Account) -> list[int]:
    """One copy per column: spends all of the account. People with g rows move scores by g, so each row gets ε/g."""
    found = account.draw(InverseDraw.of(account.epsilon, account.rows), ScoredBoxes(boxes))
    assert found is not None, "⊥ is no candidate"
    return found


def private_sizes(
    counts: Sequence[Whole], share: Fraction, account: Account, levels: SizeLevels = SIZES
) -> list[float]:
    """The same quantile of several kinds of numbers above 0, to a sixteenth of a power of two, in one draw: from how
    many rows are on each level.
    """
    steps = levels.steps(account.epsilon / account.rows, len(counts))
    lows, highs = stacked([intervals(each, share, steps) for each in counts])
    return [levels.size(copy) for copy in drawn(levels.boxes(lows, highs), account)]


def stacked(ends: Sequence[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    """The intervals of several columns, one line each."""
    return np.array([low for low, _ in ends]), np.array([high for _, high in ends])
