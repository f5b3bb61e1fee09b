"""How a formula and a table become X and y: which columns terms need, and how each row is made, by itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account
from uptack.errors import InvalidArgument
from uptack.multivariate.entrance import binary_columns
from uptack.regression.formulas.category_levels import CategoryLevels, Classes, declared_levels, find_levels
from uptack.regression.formulas.grammar import FEWER, MOST, Formula, FormulaFactor, lookup, read
from uptack.table.exact_sum import Floats
from uptack.table.memory.table import MemoryTable
from uptack.table.names import column_name
from uptack.table.protocol import Category, Column, Columns, Read, RowDesign, Table
from uptack.table.reads import Given, Names, Reads
from uptack.table.unit import ROW
from uptack.table.unread import UnreadTable
from uptack.table.values import entrance
from uptack.table.values.entrance import field
from uptack.table.values.kinds import NUMERIC, Kind, canonical, labels_of_kind


@dataclass(frozen=True, eq=False)
class NamedTable:
    """A table, the levels that types of its columns list, and its texts that may be categories of any type."""

    table: Table
    levels: Mapping[str, Any]
    categorical: frozenset[str]


def table_of(data: Any) -> NamedTable:
    """A table as it is, or that of the columns of a frame or a mapping."""
    if isinstance(data, NamedTable):
        return data
    if hasattr(type(data), "design"):
        return NamedTable(data, {}, frozenset())
    columns = list(data.items()) if isinstance(data, Mapping) else entrance.frame(data)
    if columns is None:
        raise InvalidArgument("X", "a data frame, or columns by name, if there is a formula", checks.outline(data))
    fields = {str(name): field(f"X[{name!r}]", part) for name, part in columns}
    if len({one.size for one in fields.values()}) > 1:
        raise InvalidArgument("X", "columns of equal length", "columns of different lengths")
    enums = {str(name): tuple(part.dtype.categories) for name, part in columns if _is_enum(part)}
    return NamedTable(MemoryTable.of(fields), enums, frozenset(name for name, one in fields.items() if one.categories))


def _is_enum(column: Any) -> bool:
    """Whether a column's type lists its values: an Enum of polars does."""
    return entrance.package(column) == "polars" and str(getattr(column, "dtype", "")).startswith("Enum")


Margin = tuple[tuple[FormulaFactor, ...], dict[FormulaFactor, bool]]
"""A product of numbers, and of categories with all their levels (True) or all but the first."""


def margins(formula: Formula, categories: frozenset[str]) -> list[Margin]:
    """Which columns each term needs beside those of the terms before: none twice, so that none follows from others.

    A category is a constant and its levels but the first. So a product of categories is a sum over sets of them. Sets
    that are there already are left out; two that differ by one category make it one with all its levels.
    """
    seen: set[tuple[frozenset[FormulaFactor], frozenset[FormulaFactor]]] = set()
    if formula.intercept:
        seen.add((frozenset(), frozenset()))
    found: list[Margin] = []
    for term in formula.terms:
        several = tuple(f for f in term if f.category or f.column in categories)
        plain = tuple(f for f in term if f not in several)
        sets = [frozenset(s) for k in range(len(several) + 1) for s in combinations(several, k)]
        new = [s for s in sets if (frozenset(plain), s) not in seen]
        seen.update((frozenset(plain), s) for s in sets)
        found += [(plain, {f: one[f] for f in several if f in one}) for one in _merge_sets(new)]
    return found


def _merge_sets(sets: Iterable[frozenset[FormulaFactor]]) -> list[dict[FormulaFactor, bool]]:
    """Sets of categories without their first levels; of two that differ by one category, one with all its levels."""
    left = {frozenset((factor, False) for factor in some): place for place, some in enumerate(sets)}
    factors = {factor for one in left for factor, _ in one}
    for place in count(len(left)):
        pairs = ((one, [f for f in factors if (f, False) not in one and one | {(f, False)} in left]) for one in left)
        one, more = next((pair for pair in pairs if pair[1]), (frozenset(), []))
        if not more:
            break
        factor = min(more, key=lambda f: left[one | {(f, False)}])
        del left[one], left[one | {(factor, False)}]
        left[one | {(factor, True)}] = place
    return [dict(one) for one in left]


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


def frame_columns(x: Any, binary: Any) -> tuple[tuple[str, ...], tuple[int, ...]] | None:
    """The names of the columns of a frame, and the numbers of those that are 0 or 1; None of what has no names.

    0 or 1 are columns of truth values, by their types, and those that are declared, by names or by numbers. A column of
    texts is refused by its type: it is a category, for which a formula has dummies.
    """
    names = entrance.names(x)
    if not names:
        return None
    kinds = [field(f"X[{name!r}]", part).kind for name, part in entrance.frame(x) or ()]
    for name, kind in zip(names, kinds, strict=True):
        if kind == "text":
            written = name if name.isidentifier() else f"`{name}`"
            fix = f'A formula makes dummies of categories: formula="y ~ {written}", levels={{{name!r}: [...]}}. '
            fix += "Convert texts that hold numbers first."
            raise InvalidArgument(f"X[{name!r}]", "a column of numbers", "a column of texts or categories", fix)
    flags = {place for place, kind in enumerate(kinds) if kind == "boolean"}
    return names, tuple(sorted(flags | {*binary_columns(binary, len(names), names)}))


def check_response(y: Any) -> None:
    """Refuses a response that is no column of numbers by its type."""
    if isinstance(y, str):
        fix = f"Pass the column itself, frame[{y!r}], or name it in a formula, as in formula='{y} ~ a + b'."
        raise InvalidArgument("y", "a column of numbers", repr(y), fix)
    try:
        kind = "" if y is None or isinstance(y, Column) else field("y", y).kind
    except InvalidArgument:  # its reader says what is wrong
        return
    if kind == "text":
        fix = "For two classes there is logistic_regression(..., classes=('no', 'yes'))."
        raise InvalidArgument("y", "a column of numbers", "a column of texts or categories", fix)


@dataclass(frozen=True)
class DesignColumns:
    """What is public of X: the names of its columns, those that are 0 or 1, and whether there is an intercept.

    `notes` say which levels were found.
    """

    names: tuple[str, ...]
    binary: tuple[int, ...]
    intercept: bool
    notes: tuple[str, ...] = ()


SINCE = "Make it a number first: the days since a public date."
CLASSES = "For a response of two classes use logistic_regression."


@dataclass(frozen=True, eq=False)
class Draft:
    """A formula and its table. X and y can be made once all categories have levels; `open` are those that have none.

    Where the response is one of two `classes`, y is 0 and 1 for these.
    """

    formula: Formula
    table: Table
    levels: Mapping[str, CategoryLevels]
    open: tuple[str, ...]
    classes: Classes | None = None

    @property
    def of_people(self) -> bool:
        """Whether rows have owners."""
        return self.table.unit.people

    @property
    def size(self) -> int:
        """The number of rows, or of people."""
        return self.table.size

    def of(self, table: Table) -> Draft:
        """The same of another table with such columns."""
        return replace(self, table=table)

    def columns(self, found: Mapping[str, CategoryLevels] | None = None) -> DesignColumns:
        """What is public of X: with these levels, or what it has in any case, whichever are found. Reads no row."""
        some = dict.fromkeys(self.open, CategoryLevels()) if found is None else found
        levels, kinds = {**self.levels, **some}, self.table.kinds
        parts = margins(self.formula, frozenset(levels))
        made = [one for part in parts for one in named_columns(part, kinds, levels)]
        binary = tuple(place for place, (_, flag) in enumerate(made) if flag)
        return DesignColumns(tuple(name for name, _ in made), binary, self.formula.intercept)

    def width(self, found: Mapping[str, CategoryLevels]) -> int:
        """How many columns X has with these levels. Products of categories may have more than there is memory for."""
        levels = {**self.levels, **found}
        sizes = {name: len(one.labels) for name, one in levels.items()}
        parts = (several for _, several in margins(self.formula, frozenset(levels)))
        return sum(math.prod(max(sizes[f.column] - (not full), 0) for f, full in part.items()) for part in parts)

    def find_levels(self, account: Account) -> tuple[dict[str, CategoryLevels], tuple[str, ...]]:
        """The levels of open categories, found privately, each for an equal part of the account; and notes on them.

        **Theorem.** Finding them is private for the ε and δ of the account, by composition of `find_levels`. Given the
        levels, X and y are made row by row. So what is (ε', 0)-private for the rows of X and y is so for those of the
        table, and after the search for levels the total is (ε + ε', δ). The number of columns and their names depend on
        the levels that were found, and on nothing else.
        """
        count = len(self.open)
        each = account.allot(account.epsilon / count, account.delta / count)
        columns = [self.table.column(name) for name in self.open]
        bought = {one.name: find_levels(one.name, self.table.counts([one]), one.kind, each) for one in columns}
        return {name: one for name, (one, _) in bought.items()}, tuple(note for _, note in bought.values())

    def build(self, found: Mapping[str, CategoryLevels]) -> tuple[Columns, Column, DesignColumns]:
        """X and y, and what is public of X."""
        public = self.columns(found)
        x, y = self.table.design(self.to_design({**self.levels, **found}, len(public.names)))
        return x, y if self.classes is None or self._of_texts else y.coded(*self.classes), public

    def to_design(self, levels: Mapping[str, CategoryLevels], width: int) -> RowDesign:
        """How X, of so many columns, and y are made of the table."""
        parts = margins(self.formula, frozenset(levels))
        response, factors = self.formula.response, [factor for plain, _ in parts for factor in plain]
        sources = factors if self._of_texts else [*factors, response]
        numbers = tuple(dict.fromkeys(name for factor in sources for name in factor.columns))
        names = dict.fromkeys(factor.column for _, several in parts for factor in several)
        categories = {name: len(levels[name].labels) for name in names}
        reads: list[Read] = [*numbers, *(self._category(name, levels[name]) for name in names)]
        selected = self._plain_columns(parts, levels)
        if not self._of_texts:
            recipe = Recipe(tuple(parts), response, numbers, categories)
            whole = None if selected is None or not response.column else [(response.column, None), *selected]
            return RowDesign(width, reads, recipe, whole)
        coded, second = self._response_category()
        recipe = Recipe(tuple(parts), None, numbers, categories, second)
        return RowDesign(width, [*reads, coded], recipe, None if selected is None else [(coded, second), *selected])

    @property
    def _of_texts(self) -> bool:
        """Whether the response is one of two classes, in a column of texts."""
        column = self.formula.response.column
        return self.classes is not None and bool(column) and self.table.kinds[column] in ("text", "any")

    def _response_category(self) -> tuple[Category, int]:
        """A response of texts as a category, and the number of its second class."""
        assert self.classes is not None
        column, (first, second) = self.formula.response.column, map(canonical, self.classes)
        texts = [one for one in (first, second) if isinstance(one, str) or self.table.kinds[column] == "any"]
        return Category(column, tuple(texts), "missing"), int(second not in texts[:1])

    def _category(self, name: str, levels: CategoryLevels) -> Category:
        return Category(
            name, tuple(labels_of_kind(map(canonical, levels.values), self.table.kinds[name])), levels.others
        )

    def _plain_columns(
        self, parts: Sequence[Margin], levels: Mapping[str, CategoryLevels]
    ) -> list[tuple[Read, int | None]] | None:
        """The columns of X where they are columns and dummies, in the order of `Recipe`; None where not."""
        found: list[tuple[Read, int | None]] = []
        for plain, several in parts:
            if len(plain) == 1 and not several and plain[0].column:
                found.append((plain[0].column, None))
            elif len(several) == 1 and not plain:
                ((factor, full),) = several.items()
                one = levels[factor.column]
                category = self._category(factor.column, one)
                found += [(category, place) for place in range(len(one.labels))[0 if full else 1 :]]
            else:
                return None
        return found


def draft_formula(text: object, data: Any, levels: Any) -> Draft:
    """A formula on a table, with the levels that are declared. Looks at names, kinds and levels only."""
    formula, found = read(text), table_of(data)
    if not isinstance(levels, Mapping | None):
        raise InvalidArgument("levels", "levels by column, as in {'cut': ['Fair', 'Good']}", checks.outline(levels))
    declared = {**found.levels, **(levels or {})}
    kinds = {name: lookup(found.table.kinds, name) for name in formula.columns}
    several = {name for name, kind in kinds.items() if name in declared or kind == "text"}
    truths = {name: (False, True) for name in formula.categories if kinds[name] == "boolean"}
    declared = truths | declared  # which their type lists
    categories = [f.column for f in formula.factors if f.category or (f.column and f.column in several)]
    for factor in formula.factors:
        _check_kinds([] if factor.column in categories else factor.columns, kinds)
    listed = {
        name: declared_levels(name, declared[name], kinds[name], name in found.categorical)
        for name in categories
        if name in declared
    }
    missing = tuple(dict.fromkeys(name for name in categories if name not in listed))
    _check_width(formula, {name: len(listed[name].labels) if name in listed else 2 for name in categories})
    return Draft(formula, found.table, listed, missing)


def _check_width(formula: Formula, levels: Mapping[str, int]) -> None:
    """Refuses products of more categories than X can have columns for, before any is made. Two levels are the least."""
    products = (math.prod(levels.get(factor.column, 1) for factor in term) for term in formula.terms)
    if sum(products) > MOST:
        must = f"one whose terms have at most {MOST:,} columns, counting each level"
        raise InvalidArgument("formula", must, "more", FEWER)


def _check_kinds(names: Iterable[str], kinds: Mapping[str, Kind], fix: str = "C({}) treats it as categorical.") -> None:
    """Refuses what is no column of numbers, by its kind."""
    for name in names:
        if (kind := kinds[name]) not in NUMERIC:
            how = SINCE if kind in ("time", "duration") else fix.format(name)
            must = "made of numeric columns and categories, with a numeric response"
            raise InvalidArgument("formula", must, f"{name!r} of type {kind}", how)


def build_design(text: object, data: Any, levels: Any, by: bool = False) -> tuple[Columns, Column, DesignColumns]:
    """X and y, and what is public of X, where all levels are declared: so `by` groups."""
    draft = draft_formula(text, data, levels)
    _check_levels(draft, found=False, by=by, told=levels)
    return draft.build({})


def design_names(text: object, kinds: Mapping[str, Any], levels: Any) -> tuple[str, ...]:
    """The names of the columns of X, where all levels are declared. Looks at no data."""
    table = UnreadTable({name: kinds[name] for name in read(text).columns}, {}, ROW, 0)
    draft = draft_formula(text, table, levels)
    _check_levels(draft, found=False, told=levels)
    return draft.columns({}).names


def _check_levels(draft: Draft, found: bool, by: bool = False, told: Any = None) -> None:
    """Refuses categories without levels, where these are not to be found."""
    if draft.open and not (found and not by):
        name = draft.open[0]
        fix = f"Pass levels={{{name!r}: [...]}} (--levels {name}=A,B)"
        fix += "." if by else ", or delta, such as 1e-6, to find those with enough rows for a part of epsilon."
        where = " with by=" if by else ""
        must = f"given for the categories of {name!r}{where}"
        got = f"some of {', '.join(map(repr, told))}" if told else "none"
        raise InvalidArgument("levels", must, got, f"{fix} They are not read off the rows.")


def enter_formula(given: dict[str, Any], classes: Classes | None = None) -> dict[str, Any]:
    """A call with a formula as one with X and y. `formula` is then what is public of X, also of a frame without one.

    Where levels are to be found, X is a `Draft`, and there is no y. The response may be texts if it is one of two
    classes, and is 0 and 1 for these.
    """
    x, y = given.get("x"), given.get("y")
    if given.get("formula") is None or isinstance(given["formula"], DesignColumns):
        if given.get("levels") is not None:
            raise InvalidArgument("levels", "left out without a formula", "some")
        if y is None:
            fix = 'Or name it in a formula, as in formula="price ~ carat".'
            raise InvalidArgument("y", "given without a formula", "nothing", fix)
        if classes is None:
            check_response(y)
        known = None if given.get("formula") else frame_columns(x, given.get("binary"))
        return given if known is None else {**given, "formula": DesignColumns(*known, intercept=True)}
    if y is not None:
        raise InvalidArgument("y", "left out with a formula", "some", "The formula names it.")
    if given.get("binary") is not None:
        fix = "In a formula a column of 0 and 1 is C(name), with levels={'name': [0, 1]}, or a column of truth values."
        raise InvalidArgument("binary", "left out with a formula", "some", fix)
    draft = replace(draft_formula(given["formula"], x, given.get("levels")), classes=classes)
    _check_kinds([] if classes else draft.formula.response.columns, draft.table.kinds, CLASSES)
    for name in given.get("levels") or ():
        column_name(name, draft.table.kinds)
    _check_levels(draft, bool(given.get("delta")), given.get("by") is not None, given.get("levels"))
    rest = {name: value for name, value in given.items() if name not in ("x", "y", "levels")}
    if draft.open:
        return {**rest, "x": draft, "formula": draft.formula}
    design, response, public = draft.build({})
    return {**rest, "x": design, "y": response, "formula": public}


class FormulaReads(Reads):
    """A response and its predictors; a formula names them itself, and gets the table."""

    def columns_of(self, names: Names, given: Given) -> Names:
        """The columns that are asked about: those named, or those of a formula."""
        if given.get("formula") is None:
            return names
        found = tuple(read(given["formula"]).columns)
        if names and names != found:
            raise InvalidArgument("columns", "left out with a formula", ", ".join(map(repr, names)))
        return found

    def predictors(self, names: Names, given: Given, kinds: Mapping[str, str]) -> Names:
        """The names of the columns of X: by a formula with declared levels its own."""
        if given.get("formula") is None:
            return names[1:]
        return design_names(given["formula"], kinds, given.get("levels"))

    def read(self, table: Table, names: Names, given: Given) -> tuple[Any, ...]:
        """X and y, or the table and nothing."""
        return super().read(table, names, given) if given.get("formula") is None else (table, None)

    def complete_options(
        self, names: Names, given: Given, kinds: Mapping[str, str], levels: Mapping[str, Any], allowed: Names
    ) -> dict[str, Any]:
        """A regression on categories is one by a formula, with the levels that are public; truth values are 0 or 1."""
        found = self._by_formula(names, given, kinds, allowed)
        if found.get("formula") is None:
            if "binary" in allowed and names:
                declared = binary_columns(found.get("binary"), len(names) - 1, names[1:])
                flags = {*declared, *(place for place, name in enumerate(names[1:]) if kinds.get(name) == "boolean")}
                found |= {"binary": tuple(sorted(flags))} if flags else {}
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


def _levels(formula: Formula, levels: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The public levels of the categories in a formula: of texts, and of what C() makes categories of."""
    some = {name: levels[name] for name in formula.columns if len(levels.get(name, ())) > 1}
    texts = {name for name, values in some.items() if all(isinstance(level, str) for level in values)}
    return {name: values for name, values in some.items() if name in formula.categories or name in texts}


FORMULA_DESIGN = FormulaReads("design", least=2, most=None)
"""A response and its predictors, by names or by a formula."""
