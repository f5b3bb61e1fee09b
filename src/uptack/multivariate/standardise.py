"""A scale and a centre for every column, all of them in one private draw each: then columns are of like size.

**Scales.** Rows are paired at random, and |x_i - x_j| is rounded to a power of two. The scale is the median of those
that are not 0. A row is in at most one pair (`uptack.multivariate.row_sums`), so by the lemma of
`uptack.multivariate.private_sums` one row moves the score of every power by at most 1.

*Columns that are nearly always constant* have few pairs that differ, N of them, and no scale to be found. With a public
number m, "no scale" is the topmost level, in interval k if and only if k ≥ N - m; other levels are in none with
k < m - N. Since N moves by at most 1, intervals of neighbours are still inside each other's next ones: the draw says
"no scale" where N is well below m, and rarely where it is well above.

**Centres.** The median in whole multiples of the scale. Interval k is [x(⌊(N + 1)/2 - k⌋), x(⌈(N + 1)/2 + k⌉)],
for N rows, which may be secret: replacing, adding or removing a row moves both ends within those of interval k + 1.

Both are only good to a factor of two or so. What follows repairs that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from uptack.account import Account
from uptack.mechanisms.inverse_sensitivity import Boxes, steps_needed
from uptack.multivariate.private_sums import Levels, drawn, falling, intervals, stacked
from uptack.multivariate.row_sums import MOST, Sample, Whole
from uptack.table.exact_sum import Floats
from uptack.table.unit import Integers

POWERS = 1022
"""Scales are from 2^-1022 to 2^1022, so that 1/scale is a float, too. No float is far beyond the upper end. A column at
the lower one has none: what it varies by are no normal floats."""

HALF_POWER = 0.5**0.5
DROPPED = 2 * POWERS + 1
SCALES = Levels(np.append(falling(DROPPED, POWERS, 1 << 16, 1.0), 1 << 22))
"""With fewer pairs that differ than are wanted, all scales above the right one are as good as that: intervals go up to
"no scale" then. So this has 64 times the copies of the likeliest scale, and they are drawn in at most 4% of the runs.
With 2^12, "y is 0 or 1, rare" had a scale in 27% of the runs with n = 3,500, and a wrong one in most of these."""

AMPLE = 16
"""Times the pairs that are wanted: with more of them scales get no better, but for columns that rarely vary."""

BITS = 200
FAR = 2.0**BITS
"""Rows are brought to within so many scales: squares of such values, and sums of these, are still floats."""

BINADES = 41
"""Centres are whole multiples of a scale, up to 2^40 of them."""


@dataclass(frozen=True, eq=False)
class Frame:
    """A scale and a centre for each of the columns that have one, and a leading 1 for an intercept."""

    kept: tuple[int, ...]
    units: Floats
    centres: Floats
    leading: bool = True

    @property
    def width(self) -> int:
        """How many coordinates a standardised row has."""
        return len(self.kept) + self.leading

    def standardised(self, batch: Floats) -> Floats:
        """a = (1, (x - centre)/scale, ...), with centres in scales. Scales are powers of two, and so are 1/scale.

        A row with a value beyond `FAR` is multiplied as a whole by the power of two that brings it there, also its 1.
        So its direction, and the line that it lies on, are what they were: if y = (1, x)·β, then also for such a row.
        """
        out = np.ones((self.width, batch.shape[1]))
        places, far = zip(self.kept, self.units.tolist(), self.centres.tolist(), strict=True), None
        for line, (column, unit, centre) in zip(out[int(self.leading) :], places, strict=True):
            np.multiply(batch[column], 1 / unit, out=line)
            if not (line.max(initial=0.0) <= FAR and line.min(initial=0.0) >= -FAR):  # NaN is neither
                beyond = np.abs(line) > FAR
                far = beyond if far is None else far | beyond
            np.subtract(line, centre, out=line)
        if far is not None:
            out[:, far] = self._from_afar(batch[:, far])
        return out

    def _from_afar(self, batch: Floats) -> Floats:
        """2^-t·a of rows with a value beyond `FAR`, which may be beyond all floats: the largest one is just below."""
        values, powers = np.frexp(batch[list(self.kept)])
        powers -= np.frexp(self.units)[1][:, None] - 1
        down = powers.max(axis=0, where=values != 0, initial=0) - BITS
        near = np.ldexp(values, powers - down) - np.ldexp(self.centres[:, None], -down)
        return np.concatenate([np.ldexp(np.ones((int(self.leading), down.size)), -down), near])


def _exponents(one: Floats, other: Floats) -> list[Whole]:
    """For each column, how many pairs differ by about 2^e: by the nearest power of two. Halves can't overflow."""
    apart = np.abs(one / 2 - other / 2)
    mantissa, power = np.frexp(apart)
    level = np.clip(power.astype(np.int64) + (mantissa >= HALF_POWER), -POWERS, POWERS) + POWERS
    counts = [np.bincount(i[m > 0], minlength=DROPPED) for m, i in zip(mantissa, level, strict=True)]
    return [np.array(counts).reshape(len(apart), DROPPED)]


def pairs_wanted(columns: int, epsilon: Fraction) -> int:
    """m: pairs that differ in a column that has a scale. The draw may be off by more than half of it, in pairs.

    Powers next to the right one are a factor of 3 in the number of candidates for each column, and all powers together
    one of e^8 or so.
    """
    return int(np.ceil((4 * columns + 6) / float(epsilon)))


def scale_ends(counts: Whole, wanted: int, steps: int) -> tuple[Integers, Integers]:
    """The intervals of one column's scale, by the counts of its differences that are not 0."""
    lows, highs = intervals(counts, Fraction(1, 2), steps)
    k, differ = np.arange(steps + 1), int(np.sum(counts))
    return np.where(k < wanted - differ, DROPPED, lows), np.where(k >= differ - wanted, DROPPED, highs)


def scales(rows: Sample, columns: Sequence[int], slots: int | None, account: Account) -> list[float | None]:
    """The scale of each of the columns; None for those that have none. Spends all of the account."""
    chosen, each = list(columns), account.epsilon / account.rows
    steps, wanted = SCALES.steps(each, len(chosen)), pairs_wanted(len(chosen), each)
    most = max(MOST, AMPLE * wanted)
    (counts,) = rows.pairs(lambda a, b: _exponents(a[chosen], b[chosen]), slots, account, most)
    boxes = SCALES.boxes([scale_ends(line, wanted, steps) for line in counts])
    levels = [SCALES.level(copy) for copy in drawn(boxes, account)]
    return [2.0 ** (level - POWERS) if 0 < level < DROPPED else None for level in levels]


# ------------------------------------------------------------------------------------------------------ whole numbers

_STARTS = np.array([0, *(1 << e for e in range(BINADES))], np.int64)
_TIMES = np.array([max((1 << (52 - e)) // (e + 1) ** 2, 1) for e in range(BINADES + 1)], np.int64)
_FIRST = np.concatenate(([0], np.cumsum(_TIMES[:-1] * np.diff(_STARTS))))
FARTHEST = (1 << (BINADES - 1)) - 1
"""The largest candidate."""


def first_copy(numbers: Integers) -> Integers:
    """The first copy of each whole number: those from 2^(e - 1) up to 2^e have 2^(52 - e)/(e + 1)² copies."""
    away = np.abs(numbers) + (numbers < 0)  # the first copy of -j mirrors the last one of j
    binade = np.searchsorted(_STARTS, away, side="right") - 1
    place = _FIRST[binade] + _TIMES[binade] * (away - _STARTS[binade])
    return np.where(numbers < 0, _TIMES[0] - place, place)


def number_of(copy: int) -> int:
    """The whole number that this is a copy of."""
    mirrored = int(_TIMES[0]) - 1 - copy if copy < 0 else copy
    binade = int(np.searchsorted(_FIRST, mirrored, side="right")) - 1
    found = int(_STARTS[binade]) + (mirrored - int(_FIRST[binade])) // int(_TIMES[binade])
    return -found if copy < 0 else found


def centre_ends(rows: Sample, column: int, unit: float, steps: int) -> tuple[Integers, Integers]:
    """The intervals of one column's median, in whole multiples of its scale."""
    n, k = rows.count(), np.arange(steps + 1)
    ordered = rows.ordered(column, steps)
    ends = ordered.at((n + 1) // 2 - k), ordered.at((n + 2) // 2 + k)
    low, high = (np.rint(np.clip(end / unit, -FARTHEST, FARTHEST)).astype(np.int64) for end in ends)
    return low, high


def centres(rows: Sample, columns: Sequence[int], units: Sequence[float], account: Account) -> list[float]:
    """The median of each of the columns, in whole multiples of its scale. Spends all of the account."""
    low, high = first_copy(np.array([-FARTHEST, FARTHEST + 1]))
    steps = steps_needed(account.epsilon / account.rows, int(high - low) ** len(columns))
    lows, highs = stacked([centre_ends(rows, c, unit, steps) for c, unit in zip(columns, units, strict=True)])
    boxes = Boxes(first_copy(lows), first_copy(highs + 1) - 1, ((int(low), int(high) - 1),) * len(columns))
    return [float(number_of(copy)) for copy in drawn(boxes, account)]
