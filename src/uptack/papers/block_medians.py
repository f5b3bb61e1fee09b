"""Medians of the fits of blocks, all coefficients at once or one by one; how far the fits spread; and standard errors.

**Errors**, in units of the released spread. With m blocks, whose estimates of a coefficient β are normal with standard
deviation σ, the median of the estimates is normal around β with standard deviation sqrt(π/2m)·σ. The released
coefficient is off from that by noise, and the released interquartile range, over 1.349, is off from σ. Both draws have
weights e^(-ε·score/2), so their laws depend on public numbers alone: on m, on the number of coefficients, on the rows a
person has, and on ε.

**One coordinate of a draw.** Let W(k) be the length of the side of box k, the same for all p coordinates. The density
of one coordinate at a point of score s is proportional to the integral of e^(-ε·max(s, k)/2) over the scores k of the
p - 1 others, which are at most k in a volume of W(k)^(p-1):

    g(s) = e^(-εs/2)·W(s)^(p-1) + ∫ e^(-εk/2) dW^(p-1) over k > s.

Medians: side k reaches from Φ⁻¹(1/2 - κ) to Φ⁻¹(1/2 + κ), κ = gk/m. Ranges, measured by their logarithm, as candidates
are spaced: from 2·Φ⁻¹(3/4 - κ/2), both ends moved alike, to Φ⁻¹(3/4) + Φ⁻¹(3/4 + κ), one end moved.

So P(|error| > t·spread) is a sum over two grids of scores, and t is found for each confidence. What is left out: the
estimates of small blocks have longer tails than normal ones, which makes the spread larger in comparison, and skewed
errors shift the medians of small blocks by about a twelfth of their skewness times σ/sqrt(rows per block).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from uptack.account import Account, Outcome
from uptack.exact import Rational, read
from uptack.mechanisms.inverse_sensitivity import (
    VECTOR_LATTICES,
    InverseDraw,
    Refusal,
    ScoredBoxes,
    boxes,
    finest,
    median_boxes,
    median_room,
    slack_needed,
)
from uptack.mechanisms.plausible_range import Lattice
from uptack.noise import MachineNumbers
from uptack.papers.block_fits import BEYOND
from uptack.reach import InterquantileRange, Reach
from uptack.reach.l_statistics import quartiles
from uptack.release import Advice, EachNoise
from uptack.statistics.column_options import Question
from uptack.statistics.quantiles import statistic as quantile_statistic
from uptack.statistics.statistic import outcome_for_size
from uptack.table.exact_sum import Floats
from uptack.table.reads import as_column

GRID, TINY, ENDS = 128, 1e-300, (-40.0, 20.0)
QUARTILE = 0.6744897501960817
RANGE_ERROR = 1.1664
"""The standard deviation of an interquartile range of m normal numbers, over the range, times sqrt(m)."""


@dataclass(frozen=True)
class ScoreDraw:
    """The scores of one coordinate out of p, drawn with ε, for people with up to g of m blocks."""

    blocks: int
    coordinates: int
    rows: int
    epsilon: float

    def scores(self, most: float) -> Floats:
        """A grid that is finer near 0, up to `most` shares of blocks, or where hardly any draw is."""
        end = min(2 / self.epsilon * (2 * self.coordinates + 60), most * self.blocks / self.rows)
        return end * np.linspace(0, 1, GRID + 1) ** 2

    def shares(self, sides: Floats, scores: Floats) -> Floats:
        """How likely each piece of the grid is, by the lengths of sides at its ends; in logarithms, p may be large."""
        with np.errstate(divide="ignore"):
            others, length = (self.coordinates - 1) * np.log(np.maximum(sides, TINY)), np.log(np.diff(sides))
            fall = -self.epsilon / 2 * (scores[1:] + scores[:-1]) / 2
            grown = others[1:] + np.log1p(-np.exp(np.minimum(others[:-1] - others[1:], 0)))
        above = np.append(np.logaddexp.accumulate((fall + grown)[::-1])[::-1][1:], -np.inf)
        weights = np.logaddexp(fall + others[1:], above) + length
        shares: Floats = np.exp(weights - np.logaddexp.reduce(weights))
        return shares


@dataclass(frozen=True)
class CoefficientErrors:
    """Standard errors of released coefficients, themselves private, with the privacy noise in them."""

    spreads: tuple[float, ...]
    medians: ScoreDraw
    ranges: ScoreDraw

    @property
    def standard_errors(self) -> tuple[float, ...]:
        """Of sampling and of the noise together."""
        noise, shares = self._noise
        deviation = math.sqrt(math.pi / 2 / self.medians.blocks + float((shares * noise**2).sum()))
        return tuple(deviation * spread for spread in self.spreads)

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        """β ± t·spread, for the population's coefficients."""
        t = self.times(float(1 - read(confidence)))
        reach = np.array([t * spread if spread else 0.0 for spread in self.spreads])
        return value - reach, value + reach

    def times(self, outside: float) -> float:
        """t with P(|error| > t·spread) = `outside`; infinite where spreads of so few blocks may be too small for any t.

        Nearer to 0 than e^-40 it is that.
        """
        import scipy

        low, high = ENDS
        if self._beyond(math.exp(high)) >= outside:
            return math.inf
        if self._beyond(math.exp(low)) <= outside:
            return math.exp(low)
        return math.exp(scipy.optimize.brentq(lambda log: self._beyond(math.exp(log)) - outside, low, high, xtol=1e-6))

    @cached_property
    def _noise(self) -> tuple[Floats, Floats]:
        """How far the noise carries a median, one rank more for rounding outward, and with which chance."""
        import scipy

        scores, per_score = self.medians.scores(0.499), self.medians.rows / self.medians.blocks
        carried = scipy.special.ndtri(0.5 + np.minimum(((scores[1:] + scores[:-1]) / 2 + 1) * per_score, 0.4999))
        return carried, self.medians.shares(scipy.special.ndtri(0.5 + scores * per_score) * 2, scores)

    @cached_property
    def _spread(self) -> tuple[Floats, Floats]:
        """Released spreads over true ones, and with which chance: first the pieces below 1, then those above."""
        import scipy

        scores = self.ranges.scores(0.249)
        share = scores * self.ranges.rows / self.ranges.blocks
        low = np.log(scipy.special.ndtri(0.75 - share / 2) / QUARTILE)
        high = np.log((1 + scipy.special.ndtri(0.75 + share) / QUARTILE) / 2)
        shares = self.ranges.shares(high - low, scores)
        below = shares * np.diff(-low) / np.diff(high - low)
        ratios = np.concatenate([(low[1:] + low[:-1]) / 2, (high[1:] + high[:-1]) / 2])
        return np.exp(ratios), np.concatenate([below, shares - below])

    def _beyond(self, t: float) -> float:
        """P(|error| > t·spread): a normal number for both sampling errors, moved by the noise to either side."""
        import scipy

        (noise, chances), (ratios, likely) = self._noise, self._spread
        m = self.medians.blocks
        sampling = np.sqrt(math.pi / 2 / m + (RANGE_ERROR * t * ratios) ** 2 / m)
        ends = t * ratios[:, None] + np.array([-1, 1])[:, None, None] * noise
        return float(scipy.special.ndtr(-ends / sampling[:, None]).sum(axis=0) @ chances @ likely)


Room = tuple[Lattice, int]
"""The lattice of candidates, and how many people may change before the draw sees the end of the data."""


def range_room(
    blocks: int, dimension: int, rows: int, epsilon: Fraction, lattices: tuple[MachineNumbers, ...]
) -> Room | None:
    """What so many blocks allow for; None where they are too few, which is public."""
    (low, high), slack = quartiles(blocks), slack_needed(epsilon)
    return finest(min(low - 1, blocks - high) // rows - slack, epsilon, dimension, lattices)


def draw_ranges(estimates: Floats, given: Room, account: Account) -> Floats | None:
    """One interquartile range a column, or ⊥, for all ε of the account. A person's rows are in as many blocks as it
    says that she has rows."""
    (lattice, steps), rows = given, account.rows
    ranks = quartiles(len(estimates))
    reaches: list[Reach] = [InterquantileRange(column, ranks, steps, rows) for column in estimates.T]
    nested = boxes(reaches, steps, lattice, nonnegative=True)
    refusal = Refusal(usable_blocks(estimates, ranks, rows), secret=True)
    drawn = account.draw(InverseDraw.of(account.epsilon), ScoredBoxes(nested, refusal))
    return None if drawn is None else np.array([lattice.value(place) for place in drawn])


def usable_blocks(estimates: Floats, ranks: tuple[int, int], rows: int) -> int:
    """How many people may change before some coefficient's rank comes to a block without a fit; -1 if it is at one.

    One person changes up to `rows` blocks, and each of them moves the numbers of blocks without a fit at both ends by
    at most one: so this moves by at most one.
    """
    below, above = (estimates <= -BEYOND).sum(axis=0), (estimates >= BEYOND).sum(axis=0)
    free = np.minimum(ranks[0] - 1 - below, len(estimates) - ranks[1] - above)
    return max(int(free.min()) // rows, -1)


HOW = "inverse sensitivity"
ROWS_PER_COEFFICIENT = 8
"""Rows per block for each coefficient: fits of smaller blocks are noisier, and fewer blocks give a noisier median."""

SPREAD_SHARE = Fraction(1, 3)
"""The part of the budget that standard errors get, where they are asked for."""

SPREAD_LATTICES = tuple(MachineNumbers(mantissa_bits=bits) for bits in range(20, 5, -1))
"""ScoredBoxes for a standard error: one part in a hundred is precise enough."""

TELLING = "columns that vary in more rows and are less collinear"


def medians_with_errors(estimates: Floats, question: Question, advice: Advice) -> Outcome[Floats]:
    """The medians of block estimates, and their spreads."""
    (m, p), (part, rest) = estimates.shape, question.split(1 - SPREAD_SHARE, SPREAD_SHARE)
    room = range_room(m, p, rest.rows, rest.epsilon, SPREAD_LATTICES)
    if room is None:
        return question.refuse(HOW, advice)
    found = medians(estimates, part, advice)
    if found.value is None:
        return found
    ranges = draw_ranges(estimates, room, rest)
    if ranges is None:
        return question.refuse(HOW, replace(advice, other=TELLING))
    draws = (ScoreDraw(m, p, question.rows, float(share.epsilon)) for share in (part, rest))
    return replace(found, noise=CoefficientErrors(tuple((ranges / (2 * QUARTILE)).tolist()), *draws))


def medians(estimates: Floats, question: Question, advice: Advice) -> Outcome[Floats]:
    """The median of every coefficient over blocks, by one draw where the method is inverse sensitivity."""
    if question.method != "inverse":
        return _in_turn(estimates, question)
    (m, p), slack = estimates.shape, slack_needed(question.epsilon)
    room = finest(median_room(m, question.rows) - slack, question.epsilon, p, VECTOR_LATTICES)
    if room is None:
        return question.refuse(HOW, advice)
    nested, rank = median_boxes(estimates, room, question.rows), (m + 1) // 2
    told = usable_blocks(estimates, (rank, rank), question.rows)
    drawn = question.draw(InverseDraw.of(question.epsilon), ScoredBoxes(nested, Refusal(told, secret=True)))
    if drawn is None:
        return question.refuse(HOW, replace(advice, other=TELLING))
    return Outcome(room[0].values(drawn), HOW)


def _in_turn(estimates: Floats, question: Question) -> Outcome[Floats]:
    """One median after the other, each with an equal part of the budget."""
    found: list[Outcome[float]] = []
    (m, p), median = estimates.shape, quantile_statistic(Fraction(1, 2))
    for column, part in zip(estimates.T, question.split(*[Fraction(1, p)] * p), strict=True):
        one = outcome_for_size(median, as_column("estimates", np.ascontiguousarray(column)), m, part)
        if one.value is None:  # what it says of n is about blocks
            rows = ((one.advice and one.advice.n) or m) * ROWS_PER_COEFFICIENT * p
            return Outcome.refusal(one.how, Advice(n=rows, other=one.advice.other if one.advice else ""))
        found.append(one)
    values = np.array([one.value for one in found])
    return Outcome(values, found[0].how, EachNoise(tuple(one.noise for one in found)))
