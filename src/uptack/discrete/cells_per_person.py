"""In how many cells one person may count: stated, or chosen privately from how many cells people have.

A count of *people with at least one row* in a cell has noise in proportion to the number g of cells that one person may
count in. A small g leaves people out of some of their cells; a large one adds noise to all cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from uptack.account import Account, AssumptionFailed, Mechanism
from uptack.errors import InvalidArgument
from uptack.exact import logarithm
from uptack.mechanisms.inverse_sensitivity import WeightedCandidates, decay
from uptack.noise import Entropy
from uptack.noise.integer_laws import Integers
from uptack.privacy import loss
from uptack.table.unit import PrivacyUnit

SHARE = Fraction(1, 10)
"""The part of ε that chooses g, if g is not stated."""

LIMITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""What g is chosen from: numbers about √2 apart, since g times too large is g times the noise."""


@dataclass(frozen=True)
class CellLimit(Mechanism[Integers, int]):
    """The choice of g, with the ε that it takes.

    **Theorem.** Let s(g) be the number of people with rows in more than g cells. Drawing g with probability
    proportional to p(g)·ρ^s(g), ρ ≥ e^-ε, is ε-differentially private and of bounded range ε. *Proof.* A person with k
    cells counts in s(g) for all g < k. If she is added, removed, or replaced by one with k' cells, every s(g) moves by
    at most 1, and all that move do so in the same direction. So all weights are multiplied by factors from ρ to 1, or
    all by factors from 1 to 1/ρ, and so is their sum. ∎

    p(g) is proportional to 4^-g/g⁴. One more cell raises the cutoff of unknown categories by about ln(1/δ) over the ε
    of the counts, and 4^-g makes it worth as much as so many people who are left out, at δ = 1e-6 and a tenth of ε for
    the choice. If nobody is in two cells, g = 1 has probability 0.98.

    `most` is a public number of cells, beyond which g makes no difference.
    """

    epsilon: Fraction
    most: int | None = None

    @staticmethod
    def of(epsilon: Fraction, most: int | None = None) -> CellLimit:
        """The choice for so much of ε."""
        return CellLimit(loss.BoundedRange(epsilon), epsilon, most)

    @property
    def limits(self) -> tuple[int, ...]:
        """What g can be."""
        if self.most is None:
            return LIMITS
        return tuple(sorted({*(g for g in LIMITS if g < self.most), min(self.most, LIMITS[-1])}))

    @property
    def free(self) -> bool:
        """Whether there is nothing to choose, and nothing to pay."""
        return len(self.limits) == 1

    def choose(self, people: Callable[[], Integers], account: Account) -> int:
        """g, where people()[k] have rows in k cells. They are counted only where there is a choice."""
        return self.limits[0] if self.free else account.draw(self, people())

    def scores(self, people: Integers) -> Integers:
        """For each g how many people have rows in more cells."""
        return np.array([int(people[g + 1 :].sum()) for g in self.limits], np.int64)

    def draw(self, value: Integers, entropy: Entropy) -> int:
        """By the theorem above."""
        beyond, weights = self.scores(value), [Fraction(1, 4**g * g**4) for g in self.limits]
        candidates = WeightedCandidates(self.limits, weights, beyond - beyond.min())
        chosen = candidates.draw(decay(2 * self.epsilon), entropy)
        assert chosen is not None
        return chosen

    def price(self, value: Integers, other: Integers, output: int) -> float:
        """ln(1/ρ) for each step by which a score moves. All that move must do so in the same direction."""
        moves = self.scores(other) - self.scores(value)
        if (moves > 0).any() and (moves < 0).any():
            raise AssumptionFailed("scores move in both directions")
        return int(np.abs(moves).max(initial=0)) * -logarithm(decay(2 * self.epsilon))


def stated(unit: PrivacyUnit) -> PrivacyUnit:
    """A unit whose g is stated: for functions that do not choose it."""
    if unit.share == "any" and unit.at_most is None:
        fix = "It is in how many cells one person counts at most."
        raise InvalidArgument("at_most", "given with weights='any' here", "nothing", fix)
    return unit


def counting(unit: PrivacyUnit, limit: CellLimit | None = None, cells: str = "categories") -> str:
    """What counts of people are counts of, and how g was chosen; "" for rows."""
    if unit.share == "people":
        return f"Counts are shares of people: a person with rows in several {cells} is divided among them."
    if unit.share == "rows":
        return f"Counts are rows, up to {unit.at_most:,} of each person."
    if unit.share != "any":
        return ""
    how = "" if limit is None or limit.free else ", chosen privately"
    each = f"the {cells} with most of their rows, at most {unit.at_most:,} each{how}"
    return f"Counts are people with at least one row, in {each}."
