"""How rows become X and y, batch by batch: what a row becomes does not depend on the rows beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from uptack.columns.table import Floats
from uptack.regression.formulas.category_levels import CategoryLevels
from uptack.regression.formulas.formula_columns import number_field
from uptack.regression.formulas.grammar import FormulaFactor
from uptack.regression.formulas.term_coding import Margin
from uptack.table.values import containers
from uptack.table.values.field import Field
from uptack.table.values.kinds import Kind


def columns_of(
    margin: Margin,
    numbers: Mapping[str, Field],
    categories: Mapping[str, Field],
    levels: Mapping[str, CategoryLevels],
    size: int,
) -> list[tuple[str, Floats, bool]]:
    """Names, values of so many rows, and whether they are 0 or 1: one column per combination of levels.

    A column may be read as numbers and as categories, which need not be the same field.
    """
    plain, several = margin
    found: list[tuple[list[str], Floats, bool]] = [([], np.ones(size), True)]
    with np.errstate(all="ignore"):
        for factor in plain:
            values, flag = factor.numbers(numbers, size), factor.column and numbers[factor.column].kind == "boolean"
            found = [([*names, factor.text], one * values, both and bool(flag)) for names, one, both in found]
        for factor, full in several.items():
            chosen = levels[factor.column]
            dummies = list(zip(chosen.labels, chosen.dummies(categories[factor.column]), strict=True))
            found = [
                ([*names, f"{factor.column}[{level}]"], one * dummy, both)
                for names, one, both in found
                for level, dummy in dummies[0 if full else 1 :]
            ]
    return [(":".join(names), values, flag) for names, values, flag in found]


@dataclass(frozen=True)
class Recipe:
    """The columns of X, and y, of columns of a batch: numbers, the numbers of levels, and y if there is no `response`.

    **Lemma.** A row of a batch becomes what the same row becomes in memory, to the last bit. *Proof.* Both are
    `columns_of`, which computes every row by itself, by functions that are defined to the last bit
    (`uptack.regression.formulas.elementary`). A level goes by its number here and by its value there: an
    engine finds the number, and a row without one is NaN in both. ∎
    """

    parts: tuple[Margin, ...]
    response: FormulaFactor | None
    numbers: Mapping[str, Kind]
    categories: Mapping[str, int]

    def __call__(self, lines: Sequence[Floats]) -> list[Floats]:
        """One line per column of X, and y."""
        waiting = iter(lines)
        numbers = {name: number_field(kind, next(waiting)) for name, kind in self.numbers.items()}
        categories = {name: containers.of_numpy(next(waiting)) for name in self.categories}
        levels = {name: CategoryLevels(tuple(range(count)), "missing") for name, count in self.categories.items()}
        size = lines[0].size
        made = [one for part in self.parts for _, one, _ in columns_of(part, numbers, categories, levels, size)]
        return [*made, next(waiting) if self.response is None else self.response.numbers(numbers, size)]
