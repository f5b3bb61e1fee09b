"""How a formula and a table become X and y."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from uptack import checks
from uptack.account import Account
from uptack.errors import InvalidArgument
from uptack.regression.formulas import category_levels as leveled
from uptack.regression.formulas.category_levels import CategoryLevels
from uptack.regression.formulas.formula_columns import of_data
from uptack.regression.formulas.grammar import FEWER, MOST, Formula, known, read
from uptack.regression.formulas.plain_designs import check_response, named
from uptack.regression.formulas.response_classes import Classes
from uptack.regression.formulas.row_recipes import Recipe, named_columns
from uptack.regression.formulas.term_coding import Margin, margins
from uptack.table.protocol import Category, Column, Columns, Read, RowDesign, Table
from uptack.table.unit import ROW
from uptack.table.unread import UnreadTable
from uptack.table.values.kinds import NUMERIC, Kind, canonical, labelled


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
CLASSES = "As a response of two classes it is one of logistic_regression."


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

    def found(self, account: Account) -> tuple[dict[str, CategoryLevels], tuple[str, ...]]:
        """The levels of open categories, found privately, each for an equal part of the account; and notes on them.

        **Theorem.** Finding them is private for the ε and δ of the account, by composition of `levels.found`. Given the
        levels, X and y are made row by row. So what is (ε', 0)-private for the rows of X and y is so for those of the
        table, and after the search for levels the total is (ε + ε', δ). The number of columns and their names depend on
        the levels that were found, and on nothing else.
        """
        count = len(self.open)
        each = account.allot(account.epsilon / count, account.delta / count)
        columns = [self.table.column(name) for name in self.open]
        bought = {one.name: leveled.find_levels(one.name, self.table.counts([one]), one.kind, each) for one in columns}
        return {name: one for name, (one, _) in bought.items()}, tuple(note for _, note in bought.values())

    def made(self, found: Mapping[str, CategoryLevels]) -> tuple[Columns, Column, DesignColumns]:
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
        selected = self._selected(parts, levels)
        if not self._of_texts:
            recipe = Recipe(tuple(parts), response, numbers, categories)
            whole = None if selected is None or not response.column else [(response.column, None), *selected]
            return RowDesign(width, reads, recipe, whole)
        coded, second = self._coded()
        recipe = Recipe(tuple(parts), None, numbers, categories, second)
        return RowDesign(width, [*reads, coded], recipe, None if selected is None else [(coded, second), *selected])

    @property
    def _of_texts(self) -> bool:
        """Whether the response is one of two classes, in a column of texts."""
        column = self.formula.response.column
        return self.classes is not None and bool(column) and self.table.kinds[column] == "text"

    def _coded(self) -> tuple[Category, int]:
        """A response of texts as a category, and the number of its second class."""
        assert self.classes is not None
        texts = [one for one in map(canonical, self.classes) if isinstance(one, str)]
        second = int(canonical(self.classes[1]) not in texts[:1])
        return Category(self.formula.response.column, tuple(texts), "missing"), second

    def _category(self, name: str, levels: CategoryLevels) -> Category:
        return Category(name, tuple(labelled(map(canonical, levels.values), self.table.kinds[name])), levels.others)

    def _selected(
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


def drafted(text: object, data: Any, levels: Any) -> Draft:
    """A formula on a table, with the levels that are declared. Looks at names, kinds and levels only."""
    formula, found = read(text), of_data(data)
    if not isinstance(levels, Mapping | None):
        raise InvalidArgument("levels", "levels by column, as in {'cut': ['Fair', 'Good']}", checks.outline(levels))
    declared = {**found.levels, **(levels or {})}
    kinds = {name: known(found.table.kinds, name) for name in formula.columns}
    several = {name for name, kind in kinds.items() if name in declared or kind == "text"}
    truths = {name: (False, True) for name in formula.categories if kinds[name] == "boolean"}
    declared = truths | declared  # which their type lists
    categories = [f.column for f in formula.factors if f.category or (f.column and f.column in several)]
    for factor in formula.factors:
        _check_kinds([] if factor.column in categories else factor.columns, kinds)
    listed = {
        name: leveled.declared_levels(name, declared[name], kinds[name], name in found.categorical)
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
        must = f"of terms that have at most {MOST:,} columns, with those of all levels"
        raise InvalidArgument("formula", must, "more", FEWER)


def _check_kinds(names: Iterable[str], kinds: Mapping[str, Kind], fix: str = "C({}) is its categories.") -> None:
    """Refuses what is no column of numbers, by its kind."""
    for name in names:
        if (kind := kinds[name]) not in NUMERIC:
            how = SINCE if kind in ("time", "duration") else fix.format(name)
            raise InvalidArgument(
                "formula", "of columns of numbers but for categories", f"{name!r} of type {kind}", how
            )


def designed(text: object, data: Any, levels: Any, by: bool = False) -> tuple[Columns, Column, DesignColumns]:
    """X and y, and what is public of X, where all levels are declared: so `by` groups."""
    draft = drafted(text, data, levels)
    _check_closed(draft, found=False, by=by, told=levels)
    return draft.made({})


def names(text: object, kinds: Mapping[str, Any], levels: Any) -> tuple[str, ...]:
    """The names of the columns of X, where all levels are declared. Looks at no data."""
    table = UnreadTable({name: kinds[name] for name in read(text).columns}, {}, ROW, 0)
    draft = drafted(text, table, levels)
    _check_closed(draft, found=False, told=levels)
    return draft.columns({}).names


def _check_closed(draft: Draft, found: bool, by: bool = False, told: Any = None) -> None:
    """Refuses categories without levels, where these are not to be found."""
    if draft.open and not (found and not by):
        name = draft.open[0]
        fix = f"Pass levels={{{name!r}: [...]}} (--levels {name}=A,B)"
        fix += "." if by else ", or delta, such as 1e-6, to find those with enough rows for a part of epsilon."
        where = " where there is by" if by else ""
        must = f"given for the categories of {name!r}{where}"
        got = f"some of {', '.join(map(repr, told))}" if told else "none"
        raise InvalidArgument("levels", must, got, f"{fix} They are not read off the rows.")


def entered(
    arguments: tuple[Any, ...], given: dict[str, Any], classes: Classes | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call with a formula as one with X and y. `formula` is then what is public of X, also of a frame without one.

    Where levels are to be found, X is a `Draft`, and there is no y. The response may be texts if it is one of two
    classes, and is 0 and 1 for these.
    """
    x = arguments[0] if arguments else given.get("x")
    y = arguments[1] if len(arguments) > 1 else given.get("y")
    if given.get("formula") is None or isinstance(given["formula"], DesignColumns):
        if given.get("levels") is not None:
            raise InvalidArgument("levels", "left out where there is no formula", "some")
        if y is None:
            fix = 'Or name it in a formula, as in formula="price ~ carat".'
            raise InvalidArgument("y", "given where there is no formula", "nothing", fix)
        if classes is None:
            check_response(y)
        known = None if given.get("formula") else named(x, given.get("binary"))
        return arguments, given if known is None else {**given, "formula": DesignColumns(*known, intercept=True)}
    if y is not None:
        raise InvalidArgument("y", "left out where there is a formula", "some", "The formula names it.")
    if given.get("binary") is not None:
        raise InvalidArgument("binary", "left out where there is a formula", "some", "Dummies are declared by it.")
    draft = replace(drafted(given["formula"], x, given.get("levels")), classes=classes)
    _check_kinds([] if classes else draft.formula.response.columns, draft.table.kinds, CLASSES)
    _check_closed(draft, bool(given.get("delta")), given.get("by") is not None, given.get("levels"))
    rest = {name: value for name, value in given.items() if name not in ("x", "y", "levels")}
    if draft.open:
        return (draft,), {**rest, "formula": draft.formula}
    design, response, public = draft.made({})
    return (design, response), {**rest, "formula": public}
