"""In how many cells one person may count: stated, or chosen privately from how many cells people have.

A count of *people with at least one row* in a cell has noise in proportion to the number g of cells that one person may
count in. A small g leaves people out of some of their cells; a large one adds noise to all cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from uptack.errors import InvalidArgument
from uptack.mechanisms.inverse_sensitivity import decay
from uptack.mechanisms.weighted_candidates import WeightedCandidates
from uptack.noise import Entropy
from uptack.noise.integer_laws import Integers
from uptack.privacy import loss
from uptack.table.unit import PrivacyUnit

SHARE = Fraction(1, 10)
"""The part of ε that chooses g, where nobody states it."""

LIMITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""What g is chosen from: numbers about √2 apart, since g times too large is g times the noise."""


@dataclass(frozen=True)
class CellLimit:
    """The choice of g, with the ε that it takes.

    **Theorem.** Let s(g) be the number of people with rows in more than g cells. Drawing g with probability
    proportional to p(g)·ρ^s(g), ρ ≥ e^-ε, is ε-differentially private and of bounded range ε. *Proof.* A person with k
    cells counts in s(g) for all g < k. If she is added, removed, or replaced by one with k' cells, every s(g) moves by
    at most 1, and all that move do so in the same direction. So all weights are multiplied by factors from ρ to 1, or
    all by factors from 1 to 1/ρ, and so is their sum. ∎

    p(g) is proportional to 1/g⁴. If nobody is in two cells, g = 1 has probability 0.92. From about 3/ε people with two
    cells on g = 2 is more likely than g = 1, and from 9/ε people with eight cells on g = 8 is.

    `most` is a public number of cells, beyond which g makes no difference.
    """

    epsilon: Fraction
    most: int | None = None

    @property
    def limits(self) -> tuple[int, ...]:
        """What g can be."""
        if self.most is None:
            return LIMITS
        return tuple(sorted({*(g for g in LIMITS if g < self.most), min(self.most, LIMITS[-1])}))

    @property
    def loss(self) -> loss.Loss | None:
        """What it costs: nothing where there is one choice."""
        return loss.BoundedRange(self.epsilon) if len(self.limits) > 1 else None

    def draw(self, people: Integers, entropy: Entropy) -> int:
        """g, where people[k] have rows in k cells."""
        if len(self.limits) == 1:
            return self.limits[0]
        beyond = np.array([int(people[g + 1 :].sum()) for g in self.limits], np.int64)
        weights = [Fraction(1, g**4) for g in self.limits]
        chosen = WeightedCandidates(self.limits, weights, beyond - beyond.min()).draw(decay(2 * self.epsilon), entropy)
        assert chosen is not None
        return chosen


def stated(unit: PrivacyUnit) -> PrivacyUnit:
    """A unit whose g is stated: for functions that do not choose it."""
    if unit.share == "any" and unit.at_most is None:
        fix = "It is in how many cells one person counts at most."
        raise InvalidArgument("at_most", "given with weights='any' here", "nothing", fix)
    return unit


def counting(unit: PrivacyUnit, chosen: bool = False, cells: str = "categories") -> str:
    """What counts of people are counts of; "" for rows. `chosen` says that g was chosen privately."""
    if unit.share == "people":
        return f"Counts are shares of people: a person with rows in several {cells} is divided among them."
    if unit.share == "rows":
        return f"Counts are rows, up to {unit.at_most:,} of each person."
    if unit.share != "any":
        return ""
    how = ", chosen privately" if chosen else ""
    each = f"the {cells} with most of their rows, at most {unit.at_most:,} each{how}"
    return f"Counts are people with at least one row, in {each}."
