"""What regressions read of a table: predictors and a response by their names, or those of a formula."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uptack.errors import InvalidArgument
from uptack.regression.formulas.formula_designs import names as design_names
from uptack.regression.formulas.grammar import Formula, read
from uptack.regression.formulas.plain_designs import numbered
from uptack.table.protocol import Table
from uptack.table.reads import Given, Names, Reads


class FormulaReads(Reads):
    """A response and its predictors; a formula names them itself, and gets the table."""

    def named(self, names: Names, given: Given) -> Names:
        """The columns that are asked about: those named, or those of a formula."""
        if given.get("formula") is None:
            return names
        found = tuple(read(given["formula"]).columns)
        if names and names != found:
            raise InvalidArgument("columns", "left out where there is a formula", ", ".join(map(repr, names)))
        return found

    def predictors(self, names: Names, given: Given, kinds: Mapping[str, str]) -> Names:
        """The names of the columns of X: by a formula with declared levels its own."""
        if given.get("formula") is None:
            return names[1:]
        return design_names(given["formula"], kinds, given.get("levels"))

    def read(self, table: Table, names: Names, given: Given) -> tuple[Any, ...]:
        """X and y, or the table and nothing."""
        return super().read(table, names, given) if given.get("formula") is None else (table, None)

    def completed(
        self, names: Names, given: Given, kinds: Mapping[str, str], levels: Mapping[str, Any], allowed: Names
    ) -> dict[str, Any]:
        """A regression on categories is one by a formula, with the levels that are public; truth values are 0 or 1."""
        found = self._by_formula(names, given, kinds, allowed)
        if found.get("formula") is None:
            if "binary" in allowed and names:
                found |= _binary(names[1:], kinds, found.get("binary"))
            return found
        listed = found.get("levels")
        if isinstance(listed, Mapping | None) and (public := _levels(read(found["formula"]), levels)):
            found["levels"] = {**public, **(listed or {})}
        return found

    @staticmethod
    def _by_formula(names: Names, given: Given, kinds: Mapping[str, str], allowed: Names) -> dict[str, Any]:
        listed = given["levels"] if isinstance(given.get("levels"), Mapping) else {}
        several = [name for name in names[1:] if kinds.get(name) == "text" or name in listed]
        if "classes" in allowed and names and kinds.get(names[0]) == "text":
            if "classes" not in given:
                fix = "Pass classes=('no', 'yes') (--class no --class yes). They are not read off the rows."
                must = f"given where the response, {names[0]!r}, is a text"
                raise InvalidArgument("classes", must, "nothing", fix)
            several.append(names[0])
        if given.get("formula") is not None or not several:
            return dict(given)
        return {**given, "formula": Formula.of(names[0], names[1:])}


def _binary(names: Names, kinds: Mapping[str, str], told: Any) -> dict[str, Any]:
    """The numbers of the predictors that are 0 or 1: columns of truth values, and those that are said to be."""
    found = {*numbered(told, names), *(place for place, n in enumerate(names) if kinds.get(n) == "boolean")}
    return {"binary": tuple(sorted(found))} if found else {}


def _levels(formula: Formula, levels: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The public levels of the categories in a formula: of texts, and of what C() makes categories of."""
    some = {name: levels[name] for name in formula.columns if len(levels.get(name, ())) > 1}
    texts = {name for name, values in some.items() if all(isinstance(level, str) for level in values)}
    return {name: values for name, values in some.items() if name in formula.categories or name in texts}


FORMULA_DESIGN = FormulaReads("design", least=2, most=None)
"""A response and its predictors, by names or by a formula."""
