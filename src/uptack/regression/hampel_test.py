"""The test of R_H: whether a fit stays in its cell of a grid, whatever a few rows become.

Rows are what `normalised` makes of them, floats u_i and y'_i, each from its own. Let T(D) be a minimiser of
Σ|y'_i - u_i·β|, exact: the rational vertex of `uptack.regression.exact_vertex`. Let Δ = 2g rows under SUBSTITUTE and
g under ADD_REMOVE, for people with up to g rows. Take any public family of cells, and let K(C, D) be the integer part
of 1024·cert(C, D), cert the *computed* certificate of `uptack.reach.hampel_certificate`. Let A(D) be the largest
K(C, D) over the cells of the family that hold T(D), and 0 without any. Let S = 1024·Δ + 4.

**Theorem.** A(D) changes by at most S between neighbours; and if A(D) > S, then T(D') is in a cell with T(D) for every
neighbour D'.

*Proof.* By (b) and (c) there, for each C the values 1024·cert of D and D' differ by at most 1024·Δ + 1/2, so K by at
most 1024·Δ + 1. Let C attain A(D) > S. Then K(C, D') ≥ A(D) - S + 3 ≥ 4, so cert(C, D') ≥ 4/1024 = `DOUBT`: all
minimisers for D' are in C, also T(D'), whichever it is. Hence A(D') ≥ K(C, D') ≥ A(D) - S. For A(D) ≤ S the second
claim is void and the first one plain, as A ≥ 0. ∎

So integer Laplace noise z of scale S/ε and the threshold S + t with P(z ≥ t) ≤ δ make a test at (ε, δ) of the proposal
"T moves by at most a cell's width". One test serves all shifts of the grids, as the largest of several is taken.

*Cells.* Their ends are public floats with exact middles, T(D) is in them by a comparison of rationals, and no end is
further than 2^38 widths from 0: all that `Hyperplanes` asks for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from uptack.account import AssumptionFailed, Mechanism
from uptack.noise import Entropy, IntegerLaplace
from uptack.privacy import loss
from uptack.reach.hampel_certificate import DOUBT, GridCell, Hyperplanes
from uptack.table.exact_sum import Floats

STEPS = 1024
"""A is counted in so many parts of a row, so that taking the integer part hardly costs anything."""

FINE, FAR = 12, 38
LONGER = Fraction(1, 1 << FINE)
"""By what part a cell's sides may differ from h, with room: ends are multiples of 2q ≤ 2^-13·h, off by q at most."""

MARGIN = 2.0**-4
"""By what part the box that decides which rows are far is wider than the cells: 1/32 would do, exactly."""


@dataclass(frozen=True)
class RowTest:
    """The test "A ≥ S + t - z" for Δ = `rows`, z drawn before the data are read."""

    test: loss.Test
    rows: int

    @property
    def sensitivity(self) -> int:
        """S, in steps."""
        return STEPS * self.rows + int(STEPS * DOUBT)

    @property
    def noise(self) -> IntegerLaplace:
        """The law of z."""
        return IntegerLaplace(self.sensitivity / Fraction(self.test.epsilon))

    def needs(self, entropy: Entropy) -> float:
        """Draw z; the rows that the certificate must come to for the test to pass."""
        threshold = self.sensitivity + self.noise.cutoff(self.test.delta) - self.noise.sample(entropy=entropy)
        return threshold / STEPS

    def typical(self) -> float:
        """The rows with which it passes but for one draw in 40."""
        return (self.sensitivity + self.noise.cutoff(self.test.delta) + 3 * float(self.noise.scale)) / STEPS


def cells(beta: Sequence[Fraction], widths: Floats, shifts: int) -> list[GridCell]:
    """The cells of shifted grids that hold a point, exactly, the ones with the point near the middle first.

    Where the point is further than 2^38 cells from 0 there is none.
    """
    ways = [sorted(_sides(Fraction(b), float(h), shifts)) for b, h in zip(beta, widths, strict=True)]
    family = sorted(itertools.product(*ways), key=lambda chosen: max(side[0] for side in chosen))
    return [
        GridCell(np.array([float(s[1]) for s in sides]), np.array([float(s[2]) for s in sides])) for sides in family
    ]


def _sides(beta: Fraction, width: float, shifts: int) -> Iterator[tuple[float, Fraction, Fraction]]:
    """How far the point is from the middle of its cell, and the ends of that.

    The ends (i + shift)·h are rounded to multiples of 2q, q a power of two. That keeps their order, so the cells of one
    shift still part the line and the point is in one of three. Ends, middle and half-width have at most 53 bits in
    units of q: they are floats.
    """
    h = Fraction(width)
    unit = Fraction(2) ** (math.frexp(width)[1] - 2 - FINE)  # 2q: h is from 2^(e-1) to 2^e
    if abs(beta) > h * (1 << FAR):
        return
    for shift in (Fraction(j, shifts) for j in range(shifts)):
        i = math.floor(beta / h - shift)
        ends = [unit * round((j + shift) * h / unit) for j in range(i - 1, i + 3)]
        low, high = next(pair for pair in itertools.pairwise(ends) if pair[0] <= beta < pair[1])
        middle = (low + high) / 2
        if max(abs(low), abs(high)) <= h * (1 << FAR):
            yield float(abs(beta - middle) / h), low, high


class FittedRows(NamedTuple):
    """Normalised rows, and their exact minimiser."""

    u: Floats
    y: Floats
    beta: Sequence[Fraction]


@dataclass(frozen=True)
class CellProposal:
    """Cells of these widths, of grids with so many shifts to a coordinate, and the tests of "H stays in its cell".

    With one test it is the test of all cells together; with more, each cell has its own.
    """

    widths: tuple[float, ...]
    shifts: int
    tests: tuple[RowTest, ...]

    def family(self, beta: Sequence[Fraction]) -> list[GridCell]:
        """The cells that hold a point."""
        return cells(beta, np.array(self.widths), self.shifts)

    def passes(self, rows: FittedRows, needed: Sequence[float]) -> bool:
        """Whether some cell is certified for as many rows as its test needs; a test without a cell has A = 0."""
        family = self.family(rows.beta)
        if min(needed) <= 0 or not family:
            return min(needed) <= 0
        planes = Hyperplanes(rows.u, rows.y, around(family))
        each = needed if len(needed) > 1 else [needed[0]] * len(family)
        return any(planes.holds(cell, least) for cell, least in zip(family, each, strict=False))

    def distance(self, rows: FittedRows) -> int:
        """A, in steps."""
        family = self.family(rows.beta)
        if not family:
            return 0
        planes = Hyperplanes(rows.u, rows.y, around(family))
        return max(int(STEPS * planes.certificate(cell)) for cell in family)


@dataclass(frozen=True)
class CellTest(Mechanism[FittedRows, int | None]):
    """Proposals tried in order: the number of the first that passes, or None. An answer must follow one that passes.

    The loss is that of a cascade of all tests, with the answer.
    """

    __test__ = False  # not a pytest class

    proposals: tuple[CellProposal, ...]

    def draw(self, value: FittedRows, entropy: Entropy) -> int | None:
        """Thresholds first, then the certificates."""
        needed = [[test.needs(entropy) for test in proposal.tests] for proposal in self.proposals]
        for place, (proposal, least) in enumerate(zip(self.proposals, needed, strict=True)):
            if proposal.passes(value, least):
                return place
        return None

    def spent(self, output: int | None) -> loss.Loss:
        """⊥ has cost the tests alone."""
        assert isinstance(self.loss, loss.Cascade)
        if output is not None:
            return self.loss
        return replace(self.loss, units=tuple(loss.Unit(unit.test, None) for unit in self.loss.units))

    def price(self, value: FittedRows, other: FittedRows, output: int | None) -> float:
        """Each test by how far A moves. Of tests with the same answer a reply shows one, ⊥ all."""
        prices = []
        for proposal in self.proposals:
            move = proposal.distance(other) - proposal.distance(value)
            for test in proposal.tests:
                prices.append(test.noise.price([move]))
                if prices[-1] > float(Fraction(test.test.epsilon)) * (1 + 1e-9):
                    raise AssumptionFailed(f"a test costs ε = {prices[-1]:.4g} of {float(test.test.epsilon):.4g}")
        assert isinstance(self.loss, loss.Cascade)
        return max(prices) if output is not None and self.loss.same_answer else sum(prices)


def around(family: Sequence[GridCell]) -> GridCell:
    """A box that holds all cells, with a margin on each side."""
    low, high = np.min([c.low for c in family], axis=0), np.max([c.high for c in family], axis=0)
    return GridCell(low - MARGIN * (high - low), high + MARGIN * (high - low))
