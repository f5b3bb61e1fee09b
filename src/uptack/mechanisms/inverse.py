"""Inverse sensitivity: draw an answer with probability falling in the number of rows that must change to get it.

Score a candidate y by the least k with y in interval k of a reach, K + 1 where there is none up to K. By the axioms of
a reach the score changes by at most one between neighbours. Candidates are the points of a finite lattice of machine
numbers, so no bounds are needed.

**Theorem.** Let ρ be a rational with e^(-ε/2) ≤ ρ < 1. Drawing y with probability proportional to ρ^score(y) over the
lattice is ε-differentially private, under the adjacency that the axioms hold for: between neighbours each weight, and
so also their sum, changes by a factor of at most 1/ρ ≤ e^(ε/2). The draw is exact (`uptack.noise.choice`).

**Bounded range.** It has bounded range ε (`uptack.privacy.loss.BoundedRange`): between neighbours the log-ratio
ln(P(y)/P'(y)) = (score'(y) - score(y))·ln(1/ρ) + ln(Σ'/Σ), where Σ and Σ' are the sums of all weights and don't depend
on y. The first term is between -ln(1/ρ) and ln(1/ρ), so the log-ratio lies in an interval of length 2·ln(1/ρ) ≤ ε. It
makes no difference which candidates there are, in how many dimensions, or by which public factors weights are
multiplied. So the draw is also ε²/8-zCDP. `inverse_loss` says so.

**Accuracy.** With L candidates, P(score > k) ≤ L·ρ^(k+1): the sum of all weights is at least 1, that of T(D) itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from uptack.exact import Rational, ball, logarithm
from uptack.noise import Entropy, MachineNumbers
from uptack.noise.choice import pick
from uptack.noise.coins import exp_minus
from uptack.privacy import loss
from uptack.reach import LStatistic, Reach

Number = TypeVar("Number", Fraction, arb)

LATTICES = tuple(MachineNumbers(exponent_bits=9, mantissa_bits=bits, tapered=True) for bits in range(52, 39, -1))
"""Candidates from fine to coarse: numbers up to 1e77 with 52 to 40 bits of mantissa near 1, three fewer at 1e6."""

VECTOR_LATTICES = tuple(MachineNumbers(exponent_bits=9, mantissa_bits=bits, tapered=True) for bits in range(52, 15, -1))
"""The same for vectors, whose guarantee pays for the bits of every coordinate: down to 16 of them."""

LATTICE = LATTICES[0]

FAILURE = Fraction(1, 10**6)
"""The chance that a reply may come from outside interval K. Where n is too small for that, the reply is ⊥."""


def decay(epsilon: Fraction) -> Fraction:
    """ρ: e^(-ε/2) rounded up to a multiple of 2^-64."""
    return Fraction(exp_minus(epsilon / 2).floor(64) + 1, 1 << 64)


def inverse_loss(epsilon: Rational) -> loss.BoundedRange:
    """What a draw by the theorem above, or by that of `uptack.mechanisms.joint`, does to the data."""
    return loss.BoundedRange(epsilon)


def finest(
    fits: Callable[[int], bool],
    epsilon: Fraction,
    dimension: int = 1,
    lattices: tuple[MachineNumbers, ...] = LATTICES,
) -> tuple[MachineNumbers, int] | None:
    """The finest lattice whose K the number of rows allows, with that K; None where even the coarsest asks too much.

    The error of a typical answer hardly depends on the mantissa bits, but the guarantee pays for them. `fits` may look
    at public numbers only, so choosing costs nothing.
    """
    for lattice in lattices:
        steps = steps_needed(epsilon, lattice.size**dimension)
        if fits(steps):
            return lattice, steps
    return None


def steps_needed(epsilon: Fraction, candidates: int, failure: Fraction = FAILURE) -> int:
    """K: the least k with candidates·e^(-ε(k+1)/2) ≤ failure. It depends on public numbers alone."""
    needed = math.log(candidates) + math.log(failure.denominator) - math.log(failure.numerator)
    return max(math.ceil(2 * Fraction(needed) / epsilon) - 1, 1)


def slack_needed(epsilon: Fraction) -> int:
    """Steps beyond K for which the data must reach, so that where all is told ⊥ is drawn once in 200 times at most."""
    return math.ceil(2 / float(epsilon) * math.log(200))


@dataclass(frozen=True)
class Boxes:
    """Nested boxes of lattice points, k = 0, ..., K, inside a box of all candidates: one row of ends a coordinate.

    ⊥ may be a candidate too: it then counts as `refusals` points of score `refused_at`.
    """

    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    whole: tuple[tuple[int, int], ...]
    refusals: int = 0
    refused_at: int = 0

    def ends(self, k: int) -> list[tuple[int, int]]:
        """The sides of box k; of the box of all candidates for k = K + 1."""
        if k == self.lows.shape[1]:
            return list(self.whole)
        return list(zip(self.lows[:, k].tolist(), self.highs[:, k].tolist(), strict=True))

    def shells(self) -> list[int]:
        """How many points have score 0, 1, ..., K + 1, those that stand for ⊥ among them."""
        volumes = [1] * (self.lows.shape[1] + 1)
        for low, high, whole in zip(self.lows.tolist(), self.highs.tolist(), self.whole, strict=True):
            sides = [b - a + 1 for a, b in zip([*low, whole[0]], [*high, whole[1]], strict=True)]
            volumes = [v * side for v, side in zip(volumes, sides, strict=True)]
        counts = [volumes[0]] + [b - a for a, b in itertools.pairwise(volumes)]
        if self.refusals:
            counts += [0] * (self.refused_at + 1 - len(counts))
            counts[self.refused_at] += self.refusals
        return counts

    def weights(self, rho: Number) -> Iterator[Number]:
        """The total weight of each score: how many points, times ρ^score. Exact for a rational ρ, balls for a ball."""
        power = rho**0
        for count in self.shells():
            yield power * count
            power *= rho

    def draw(self, rho: Fraction, entropy: Entropy) -> list[int]:
        """A point with probability proportional to ρ^score: first the score, then a uniform point that has it."""
        return self._point(self._score(rho, entropy), entropy)

    def draw_or_refuse(self, rho: Fraction, told: int, slack: int, entropy: Entropy) -> list[int] | None:
        """The same with ⊥, which is None, as a candidate of weight ⌈L/f⌉·ρ^(κ + 1), κ = min(told, K + slack).

        Here boxes beyond number `told` may be cut off where the data end, or hold none of what they tell if it is -1.
        `told` may be secret, if it changes by at most 1 between neighbours. f is `FAILURE`, and L·ρ^(K + 1) ≤ f.

        **Theorem.** It is ε-differentially private, and replies with a point outside box min(κ, K) with a chance of at
        most f. *Proof.* The exponent of ⊥ changes by at most 1 between neighbours as scores do, so each weight, and
        their sum, changes by a factor of at most 1/ρ. Points outside box κ < K weigh at most L·ρ^(κ + 1) together, and
        ⊥ at least 1/f times that; those outside box K weigh at most f, and T(D) weighs 1. ∎
        """
        size = math.prod(b - a + 1 for a, b in self.whole)
        place = min(max(told, -1), self.lows.shape[1] - 1 + slack) + 1
        refusals = -(-size * FAILURE.denominator // FAILURE.numerator)
        held = replace(self, refusals=refusals, refused_at=place)
        k = held._score(rho, entropy)
        if k == place and entropy.below(held.shells()[k]) < refusals:
            return None
        return self._point(k, entropy)

    def _score(self, rho: Fraction, entropy: Entropy) -> int:
        logs = np.array([math.log(count) if count else -math.inf for count in self.shells()])
        return pick(logs + logarithm(rho) * np.arange(logs.size), lambda: self.weights(ball(rho)), entropy)

    def _point(self, k: int, entropy: Entropy) -> list[int]:
        """A uniform point of score k."""
        return _uniform_between(self.ends(k - 1) if k else None, self.ends(k), entropy)


def _uniform_between(inner: list[tuple[int, int]] | None, outer: list[tuple[int, int]], entropy: Entropy) -> list[int]:
    """A uniform point of the outer box that is not in the inner one.

    The difference is cut into slabs: in slab i the coordinates before i lie in the inner box, coordinate i does not,
    and those after it lie anywhere in the outer one. Inside a slab the point is one uniform integer, taken apart.
    """
    if inner is None:
        return [a + entropy.below(b - a + 1) for a, b in outer]
    core, free = ([b - a + 1 for a, b in box] for box in (inner, outer))
    slabs = [math.prod(core[:i]) * (free[i] - core[i]) * math.prod(free[i + 1 :]) for i in range(len(outer))]
    ticket, slab = entropy.below(sum(slabs)), 0
    while ticket >= slabs[slab]:
        ticket, slab = ticket - slabs[slab], slab + 1
    point = []
    for i, ((a, b), (c, _)) in enumerate(zip(outer, inner, strict=True)):
        size = core[i] if i < slab else free[i] - core[i] if i == slab else free[i]
        ticket, offset = divmod(ticket, size)
        if i == slab:  # skip the inner side
            point.append(a + offset if offset < c - a else a + offset + core[i])
        else:
            point.append((c if i < slab else a) + offset)
        assert a <= point[-1] <= b
    return point


def boxes(
    reaches: list[Reach],
    steps: int,
    lattice: MachineNumbers = LATTICE,
    *,
    widen: float = 0.0,
    nonnegative: bool = False,
) -> Boxes:
    """The reaches' intervals as boxes of lattice points, rounded outward, each first widened on both sides.

    Ends beyond the lattice are brought to its ends before they are widened. That keeps order, so the axioms hold for
    what comes out, and nothing can overflow, with rows at the largest float or none at all: `widen` must be a number
    inside the lattice.
    """
    lows, highs, largest = [], [], lattice.value(lattice.top)
    for reach in reaches:
        low, high = (np.clip(end, -largest, largest) for end in reach.intervals(steps))
        lows.append(lattice.floors(low - widen))
        highs.append(lattice.ceils(high + widen))
    least = 0 if nonnegative else -lattice.top
    return Boxes(np.maximum(np.array(lows), least), np.array(highs), ((least, lattice.top),) * len(reaches))


def round_to(value: float, granularity: Fraction | None) -> float:
    """The multiple of a public granularity nearest to a drawn value: post-processing."""
    if granularity is None:
        return value
    return float(round(Fraction(value) / granularity) * granularity)


def inverse_sensitivity(
    reach: Reach,
    steps: int,
    epsilon: Fraction,
    entropy: Entropy,
    *,
    granularity: Fraction | None = None,
    nonnegative: bool = False,
    lattice: MachineNumbers = LATTICE,
) -> float:
    """One number, by the theorem above.

    With a granularity g, every interval is widened by g/2 on both sides and the drawn number is rounded to a multiple
    of g: tied values then fill a shell of many points instead of one.
    """
    widen = float(granularity / 2) if granularity is not None else 0.0
    drawn = boxes([reach], steps, lattice, widen=widen, nonnegative=nonnegative).draw(decay(epsilon), entropy)
    return round_to(lattice.value(drawn[0]), granularity)


def coordinate_medians(
    rows: NDArray[np.float64], epsilon: Fraction, entropy: Entropy, moves: int = 1
) -> NDArray[np.float64] | None:
    """The vector of the columns' medians, for one ε; None where there are too few rows, which is public."""
    found = median_boxes(rows, epsilon, moves)
    return None if found is None else found[0].values(found[1].draw(decay(epsilon), entropy))


def median_boxes(
    rows: NDArray[np.float64], epsilon: Fraction, moves: int = 1, slack: int = 0
) -> tuple[MachineNumbers, Boxes] | None:
    """The boxes that the vector of the columns' medians is drawn from, on the finest lattice that the rows allow.

    **Reach.** Replacing one row moves each median by at most one rank, so the product of the columns' intervals
    [x(r - mk), x(r + mk)] is a reach of the vector, where one person replaces up to m rows: each axiom holds coordinate
    by coordinate, and no coordinate pays for another.
    """
    rank = (len(rows) + 1) // 2
    chosen = finest(lambda k: rank - moves * (k + slack) >= 1, epsilon, rows.shape[1], VECTOR_LATTICES)
    if chosen is None:
        return None
    lattice, steps = chosen
    reaches: list[Reach] = [LStatistic.quantile(np.ascontiguousarray(c), rank, steps, moves) for c in rows.T]
    return lattice, boxes(reaches, steps, lattice)
