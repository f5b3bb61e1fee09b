"""The levels of categories, declared or found privately, and the two classes of a response: never read off rows.

*Declared* levels are given, or listed by the type of a column. A row with another value is a missing one.

*Found* levels are those with enough rows, for a part of ε and for δ (`find_levels`), in the order of their values. Rows
with another value together are a level of their own, the last one, if there are enough of them; if not, they count as
rows of the first level. A row without a value is a missing one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from uptack import checks
from uptack.account import Account
from uptack.discrete.categories import Screen
from uptack.errors import InvalidArgument
from uptack.labels import label
from uptack.mechanisms.additive_noise import noisy_integer
from uptack.noise import IntegerLaplace
from uptack.table.names import HOLDS
from uptack.table.protocol import Column, Counts
from uptack.table.values.entrance import field
from uptack.table.values.kinds import MOST_LEVELS, Kind, canonical, in_order, labels_of_kind, number

Classes = tuple[Any, Any]
WHOLE = 2**53
"""From here on a float may stand for several integers, and engines hand on floats."""


def two_classes(classes: Any) -> Classes:
    """Two values that differ."""
    given = tuple(classes) if isinstance(classes, list | tuple | np.ndarray) else ()
    plain = all(isinstance(one, str | bool | int | float | np.generic) for one in given)
    both = {canonical(one) for one in given} if plain else set()
    if len(given) != 2 or len(both) != 2 or None in both:
        fix = (
            "For more than two classes, fit each against the others: y == 'a' is a column of truth values."
            if len(both) > 2
            else ""
        )
        got = "more than two" if len(given) > 2 else checks.outline(classes)
        raise InvalidArgument("classes", "two different values, as in (0, 1)", got, fix)
    if any(isinstance(one, int | float | np.integer | np.floating) and not -WHOLE < one < WHOLE for one in given):
        raise InvalidArgument("classes", "numbers below 2^53, which floats tell apart", checks.outline(classes))
    return given[0], given[1]


def code_classes(y: Any, classes: Classes) -> Any:
    """0 for rows of the first class, 1 for those of the second, NaN for others: each row by itself."""
    if isinstance(y, Column):
        return y.coded(*classes)
    found = field("y", y, "one column of classes")
    first, second = (found.equal(one) for one in classes)
    return np.where(second, 1.0, np.where(first, 0.0, np.nan))


OTHERS = "(others)"
"""What the level of all other values is called."""

LISTED = Fraction(4, 5)
"""The part of what a list of levels costs that finds them. The rest counts the rows that have none of them."""

IDLE = Fraction(1, 10**5)
"""How often noise alone makes a level of others, at most: there would be no row in it."""

FITTING: dict[str, Callable[[Any], bool]] = {
    **HOLDS,
    "number": lambda level: isinstance(level, int | float) and number(level) == level,
}
"""Which canonical values rows of a type can have. (2^53 + 1 is no float, and to an engine it would be 2^53.)"""

Others = Literal["missing", "first", "own"]


@dataclass(frozen=True)
class CategoryLevels:
    """The levels of a category in their order, and what becomes of rows that have another value."""

    values: tuple[Any, ...] = ()
    others: Others = "first"

    @property
    def labels(self) -> tuple[Any, ...]:
        """What they are called. The level of other values has a name that no level has."""
        name = OTHERS
        while name in map(str, self.values):
            name = f"({name})"
        return (*self.values, *([name] if self.others == "own" else []))


def declared_levels(column: str, given: Any, kind: Kind, categorical: bool = False) -> CategoryLevels:
    """The declared levels of a column. Whether rows of its type can have them is public, and found here.

    The texts of a `categorical` column may be of any type.
    """
    values = list(given) if isinstance(given, list | tuple | np.ndarray) else []
    distinct = {canonical(level) for level in values}
    if not 2 <= len(values) == len(distinct) <= MOST_LEVELS or None in distinct:
        must, fix = (
            f"a list of 2 to {MOST_LEVELS} values that differ, for {column!r}",
            f"As in {{{column!r}: ['a', 'b']}}.",
        )
        got = f"{len(values)}, of which {len(distinct - {None})} differ" if values else checks.outline(given)
        raise InvalidArgument("levels", must, got, fix)
    fits: Callable[[Any], bool] = FITTING.get("" if categorical else kind, lambda level: True)
    if not all(map(fits, distinct)):
        must, wrong = f"values of a column of type {kind}, as {column!r} is", [x for x in distinct if not fits(x)]
        raise InvalidArgument("levels", must, ", ".join(sorted(map(checks.describe, wrong))))
    return CategoryLevels(tuple(values), "missing")


def find_levels(column: str, counts: Counts, kind: Kind, account: Account) -> tuple[CategoryLevels, str]:
    """The levels of a category that have enough rows, or people, and what is to be said of them.

    `counts` are those of the column, in units of people where these are the unit.

    **Theorem.** It is (ε, δ)-differentially private for the ε and δ of its account. *Proof.* The list is that of
    `uptack.discrete.categories.Screen`, which is (4ε/5, δ)-private; that missing values are in no cell, that the list
    is cut off at a public length, and its order are post-processing. Given the list, let N be the number of rows (units
    of people) with a value that is not on it. One person has at most u units, so she moves N by at most u = g·`most`,
    whether she is replaced, added or removed, and N with integer Laplace noise of scale 5u/ε is (ε/5)-private.
    Whether it reaches a public number is post-processing. Composition, where the second stage may depend on
    the outcome of the first, gives (ε, δ). ∎
    """
    unit, relation = counts.unit, account.adjacency
    listing, rest = account.allot(account.epsilon * LISTED, account.delta), account.part(1 - LISTED)
    screen = Screen.of(listing.epsilon, listing.delta, relation, unit)
    cells = labels_of_kind([cell for (cell,) in counts.keys], kind)
    there = np.array([cell is not None for cell in cells], bool)
    shown, _ = listing.draw(screen, (cells, np.where(there, counts.units, 0)))
    values = tuple(sorted(shown[:MOST_LEVELS], key=in_order))
    listed = frozenset(values)
    unlisted = there & np.array([cell not in listed for cell in cells], bool)
    law = IntegerLaplace(relation.rows_per_person * unit.most / rest.epsilon)
    noisy = noisy_integer(int(counts.units[unlisted].sum()), law, rest)
    own = noisy >= max(screen.cutoff, law.cutoff(IDLE))
    levels = CategoryLevels(values, "own" if own else "first")
    return levels, _note(column, levels, account)


def _note(column: str, levels: CategoryLevels, account: Account) -> str:
    price = f"ε = {float(account.epsilon):.3g}, δ = {float(account.delta):.3g} of the budget"
    which = ", ".join(label(one) for one in levels.labels) or "none"
    rest = "" if levels.others == "own" or not levels.values else f"; other values count as {label(levels.values[0])}"
    return f"the levels of {label(column)} ({which}) were found with {price}{rest}"
