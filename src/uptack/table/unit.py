"""The unit of a table: what one person can change, and how her rows share it.

A person has U units, a public integer, spread over her rows: ⌊U/m⌋ each if she has m of them. A row that is its own is
a person with one row, one unit, and U = 1, which every implementation knows as `weights is None`. With F(v) = the units
of rows up to v, the order statistic of rank r is

    z(r) = the least v with F(v) ≥ (r - 1/2)·U,   -∞ for r < 1 and +∞ past the end;

for U = 1 that is x(r).

**Lemma (order).** Let the rows of one person be replaced by others, however many. Then z'(r - 1) ≤ z(r) ≤ z'(r + 1) for
all r. If a person is added, z'(r) ≤ z(r) ≤ z'(r + 1). *Proof.* A person has between 0 and U units up to v, so F(v)
moves by at most U, for every v; a person who is added moves it up. If F(v) ≥ (r - 1/2)·U then F'(v) ≥ (r - 1 - 1/2)·U;
so z'(r - 1) ≤ z(r), and so on with signs changed. ∎

Whatever rests on order statistics moving by one rank at most holds for z, with people in place of rows: quantiles, sums
of them with weights of at least 0, boxes of several, the ends of intervals. What rests on more is proved apart, as the
range is (`uptack.reach.differences`), or refused. No row is thrown away, and no cap is guessed. What is
estimated is the law of a random row of a random person.

**Theorem (counts).** Let a table of cells hold the units of all rows. One person who is added or removed moves it by at
most `most` in ℓ1, upwards or downwards alone; one who is replaced moves it up by at most `most` and down by at most
`most`. So a table of people's units is one of rows, for people with up to `most` rows: whatever is proved for such
holds. *Proof.* The units of a person depend on her rows alone, none is negative, and they add up to at most `most`. ∎

| share | units of a row | most | step |
|---|---|---|---|
| "single" | 1: a row that is its own, or one number per person | 1 | 1 |
| "people" | ⌊U/m⌋ for a person with m rows | U | U |
| "rows" | min(⌊U/g⌋, ⌊U/m⌋), g = `at_most` | U | ⌊U/g⌋ |
| "any" | 1 in each of her g = `at_most` most frequent cells, the first of several; 0 elsewhere | g | 1 |

`step` units count for one. With "people" a person weighs one in all. With "rows" a row weighs one, up to g rows of a
person; if she has more, her rows together weigh g. With "any" a cell counts the people who have at least one row in
it, up to g cells of a person. The size n of order statistics is then the number of units over U,
rounded: it depends on people's rows, and is secret.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.errors import InvalidArgument

Integers = NDArray[np.int64]
Share = Literal["single", "people", "rows", "any"]

U = math.lcm(*range(1, 24))
"""Units that one person has, about 2^32: people with up to 23 rows lose none of them by rounding, and all people
together fewer than half a person's while there are fewer than 2^31 rows."""

SHARES = ("people", "any", "rows")
"""How rows of people may share their units: the choices of `weights=`."""

ROOM = 1 << 62
"""Numbers up to here, and the sum of two of them, are integers of 64 bits."""


@dataclass(frozen=True)
class PrivacyUnit:
    """Whose rows they are, and how they share the units of one person: see the module.

    `ids` are the public names of the columns that say whose a row is; none where each row is its own. With "any"
    `at_most` is None where it is still to be chosen (`uptack.discrete.categories`).
    """

    ids: tuple[str, ...] = ()
    share: Share = "single"
    at_most: int | None = None

    @staticmethod
    def of_people(ids: tuple[str, ...], share: Any = "people", at_most: Any = None) -> PrivacyUnit:
        """People's rows that share units in one of the `SHARES`. Looks at no data."""
        checks.choice("weights", share, SHARES)
        if share == "people" and at_most is not None:
            fix = "With weights='people' a person's rows share one unit, however many there are."
            raise InvalidArgument("at_most", "left out with weights='people'", checks.describe(at_most), fix)
        if share == "rows" and at_most is None:
            fix = "Choose a public number of rows that hardly anybody exceeds, such as 10."
            raise InvalidArgument("at_most", "given with weights='rows'", "None", fix)
        if at_most is not None and checks.integer("at_most", at_most, least=1) > U // 2:  # a row has two units
            raise InvalidArgument("at_most", f"at most {U // 2:,} rows", checks.describe(at_most))
        return PrivacyUnit(ids, share, at_most)

    @cached_property
    def people(self) -> bool:
        return bool(self.ids)

    @cached_property
    def weighted(self) -> bool:
        """Whether rows have weights, so that ranks are those of z and only what is proved for z may use them."""
        return self.share in ("people", "rows")

    @cached_property
    def most(self) -> int:
        """Units of one person, at most."""
        return U if self.weighted else self.at_most or 1

    @cached_property
    def step(self) -> int:
        """Units that count for one in a count."""
        return U // (self.at_most or 1) if self.weighted else 1

    def weights(self, m: Any, least: Any = np.minimum) -> Any:
        """Units of each row of a person with m ≥ 1 rows: of arrays, or of an engine's expressions with its `least`."""
        each = (m * 0 + U) // m
        return each if self.at_most is None else least(each, self.step)

    def place(self, rank: Any) -> Any:
        """(r - 1/2)·U, rounded up: the unit at which z(r) is."""
        return rank * self.most - self.most // 2

    def ranks(self, units: Any) -> Any:
        """How many ranks have their place within so many units."""
        return (units + self.most // 2) // self.most


ROW = PrivacyUnit()
"""Rows that are their own."""


# ------------------------------------------------------------------------------ sums of units beyond 64-bit integers


def wide(numbers: Integers, most: int) -> Integers:
    """Arbitrary-precision integers if they, or what is computed from them, may reach `most` and that exceeds 64 bits.

    A person has some 2^32 units, so 64-bit integers hold those of 1.7 billion people.
    """
    return numbers if most < ROOM else numbers.astype(object)


def roomy(weights: Integers, before: int = 0) -> Integers:
    """Weights that can be added up, to so many units that come before them."""
    return wide(weights, before + weights.size * int(weights.max(initial=0)))
