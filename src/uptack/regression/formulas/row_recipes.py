"""How rows become X and y, batch by batch: what a row becomes does not depend on the rows beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from uptack.regression.formulas.category_levels import CategoryLevels
from uptack.regression.formulas.grammar import FormulaFactor
from uptack.regression.formulas.term_coding import Margin
from uptack.table.exact_sum import Floats
from uptack.table.values.kinds import Kind


def named_columns(
    margin: Margin, kinds: Mapping[str, Kind], levels: Mapping[str, CategoryLevels]
) -> list[tuple[str, bool]]:
    """The names of the columns of a margin, one per combination of levels, and whether they are 0 or 1."""
    plain, several = margin
    flags = all(bool(factor.column) and kinds[factor.column] == "boolean" for factor in plain)
    found = [[factor.text for factor in plain]]
    for factor, full in several.items():
        labels = levels[factor.column].labels[0 if full else 1 :]
        found = [[*names, f"{factor.column}[{level}]"] for names in found for level in labels]
    return [(":".join(names), flags) for names in found]


@dataclass(frozen=True)
class Recipe:
    """The columns of X, and y, of columns of a batch: numbers, and the numbers of levels, NaN where a row has none.

    `categories` says how many levels there are. Without a `response` y is read last, as a level: 1 for the `second`.

    **Lemma.** A row becomes the same in memory and in any batch of an engine, to the last bit. *Proof.* Every row is
    computed by itself, by functions that are defined to the last bit (`uptack.regression.formulas.elementary`). ∎
    """

    parts: tuple[Margin, ...]
    response: FormulaFactor | None
    numbers: tuple[str, ...]
    categories: Mapping[str, int]
    second: int = 1

    def __call__(self, lines: Sequence[Floats]) -> list[Floats]:
        """One line per column of X, and y."""
        waiting = iter(lines)
        numbers = {name: next(waiting) for name in self.numbers}
        places = {name: next(waiting) for name in self.categories}
        with np.errstate(all="ignore"):
            made = [one for part in self.parts for one in self._columns(part, numbers, places, lines[0].size)]
        if self.response is not None:
            return [*made, self.response.numbers(numbers, lines[0].size)]
        return [*made, dummy(next(waiting), self.second)]

    def _columns(
        self, margin: Margin, numbers: Mapping[str, Floats], places: Mapping[str, Floats], size: int
    ) -> list[Floats]:
        """The columns of a margin, in the order of `named_columns`."""
        plain, several = margin
        product = np.ones(size)
        for factor in plain:
            product = product * factor.numbers(numbers, size)
        found = [product]
        for factor, full in several.items():
            place, levels = places[factor.column], range(0 if full else 1, self.categories[factor.column])
            dummies = [dummy(place, level) for level in levels]
            found = [one * flags for one in found for flags in dummies]
        return found


def dummy(place: Floats, level: int) -> Floats:
    """1 for rows of a level, 0 for those of another one, NaN for those of none."""
    return np.where(np.isnan(place), np.nan, place == level)
