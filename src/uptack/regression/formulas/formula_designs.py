"""How a formula and a table become X and y."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account
from uptack.columns.owners import Owners
from uptack.columns.spread import PeopleValues
from uptack.errors import InvalidArgument
from uptack.regression.formulas import category_levels as leveled
from uptack.regression.formulas.category_levels import CategoryLevels
from uptack.regression.formulas.formula_columns import FormulaPlan, Named, Wanted, of_data
from uptack.regression.formulas.grammar import FEWER, MOST, Formula, known, read
from uptack.regression.formulas.plain_designs import check_response, named
from uptack.regression.formulas.response_classes import Classes, labels_of
from uptack.regression.formulas.row_recipes import Recipe, columns_of
from uptack.regression.formulas.term_coding import Margin, margins
from uptack.table.values.field import Field, no_rows
from uptack.table.values.kinds import NUMERIC, canonical, labelled


@dataclass(frozen=True)
class Columns:
    """What is public of X: the names of its columns, those that are 0 or 1, and whether there is an intercept.

    `notes` say which levels were found.
    """

    names: tuple[str, ...]
    binary: tuple[int, ...]
    intercept: bool
    notes: tuple[str, ...] = ()


Design = tuple[Any, Any, Columns]
SINCE = "Make it a number first: the days since a public date."
CLASSES = "As a response of two classes it is one of logistic_regression."


@dataclass(frozen=True, eq=False)
class Draft:
    """A formula and its table. X and y can be made once all categories have levels; `open` are those that have none.

    Where the response is one of two `classes`, y is 0 and 1 for these.
    """

    formula: Formula
    table: Named
    levels: Mapping[str, CategoryLevels]
    open: tuple[str, ...]
    classes: Classes | None = None

    @property
    def of_people(self) -> bool:
        """Whether rows have owners."""
        return self.table.peoples or self.table.owners is not None

    @property
    def size(self) -> int:
        """The number of rows, or of people."""
        return self.table.rows if self.table.owners is None else self.table.owners.people

    def owned(self, whose: Owners) -> Draft:
        """The rows that are somebody's."""
        return replace(self, table=self.table.owned(whose))

    def columns(self, found: Mapping[str, CategoryLevels] | None = None) -> Columns:
        """What is public of X: with these levels, or what it has in any case, whichever are found. Reads no row."""
        some = dict.fromkeys(self.open, CategoryLevels()) if found is None else found
        return replace(self, table=self.table.unread(), classes=None).made(some)[2]

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
        bought = {
            name: leveled.find_levels(name, self._counted(name), self.table.fields[name].kind, each)
            for name in self.open
        }
        return {name: one for name, (one, _) in bought.items()}, tuple(said for _, said in bought.values())

    def _counted(self, name: str) -> Any:
        """A column whose values are counted, with whose its rows are."""
        table = self.table
        if table.tally is not None:
            return table.tally(name)
        whose = table.owners
        return (
            table.fields[name] if whose is None else PeopleValues(table.fields[name], Owners(whose.codes, whose.people))
        )

    def made(self, found: Mapping[str, CategoryLevels]) -> Design:
        """X and y, and what is public of X."""
        fields, listed = self.table.fields, {**self.levels, **found}
        parts = margins(self.formula, frozenset(listed))
        if self.table.made is not None:
            public = self.columns(found)
            x, y = self.table.made(self._plan(parts, listed, len(public.names)))
            return x, y if self.classes is None or self._of_texts else labels_of(y, self.classes), public
        made = [part for margin in parts for part in columns_of(margin, fields, fields, listed, self.table.rows)]
        x = np.column_stack([values for _, values, _ in made]) if made else np.empty((self.table.rows, 0))
        binary = tuple(place for place, (_, _, flag) in enumerate(made) if flag)
        public = Columns(tuple(name for name, _, _ in made), binary, self.formula.intercept)
        y = self._response() if self.classes is None else labels_of(self._response(), self.classes)
        if self.table.owners is not None:
            return replace(self.table.owners, values=x), replace(self.table.owners, values=y), public
        return x, y, public

    @property
    def _of_texts(self) -> bool:
        """Whether the response is a column of texts."""
        return self.table.fields[self.formula.response.column].kind == "text" if self.formula.response.column else False

    def _response(self) -> Any:
        """Numbers, or a column of texts as it is."""
        response, fields = self.formula.response, self.table.fields
        return fields[response.column].rows() if self._of_texts else response.numbers(fields, self.table.rows)

    def _plan(self, parts: Sequence[Margin], levels: Mapping[str, CategoryLevels], width: int) -> FormulaPlan:
        """How X and y are made where the rows are."""
        factors = [factor for plain, _ in parts for factor in plain]
        response, coded = self.formula.response, self._coded
        sources = [name for f in (factors if coded else [*factors, response]) for name in f.columns]
        numbers = {name: self.table.fields[name].kind for name in sources}
        categories = {factor.column: len(levels[factor.column].labels) for _, some in parts for factor in some}
        reads: list[Wanted] = [(name, None, "", 0) for name in numbers]
        reads += [self._category(name, levels[name], None) for name in categories]
        recipe = Recipe(tuple(parts), None if coded else response, numbers, categories)
        given: Wanted | None = coded or ((response.column, None, "", 0) if response.column else None)
        return FormulaPlan(width, given, self._selected(parts, levels), [*reads, *([coded] if coded else [])], recipe)

    @property
    def _coded(self) -> Wanted | None:
        """A response of texts as 1 for the second of its classes and 0 for the first; None for one of numbers."""
        if self.classes is None or not self._of_texts:
            return None
        texts = [one for one in map(canonical, self.classes) if isinstance(one, str)]
        return self.formula.response.column, tuple(texts), "missing", int(canonical(self.classes[1]) not in texts[:1])

    def _category(self, name: str, levels: CategoryLevels, place: int | None) -> Wanted:
        values = tuple(labelled(map(canonical, levels.values), self.table.fields[name].kind))
        return name, values, levels.others, place

    def _selected(self, parts: Sequence[Margin], levels: Mapping[str, CategoryLevels]) -> list[Wanted] | None:
        """The columns of X where they are columns and dummies, in the order of `columns_of`; None where not."""
        found: list[Wanted] = []
        for plain, several in parts:
            if len(plain) == 1 and not several and plain[0].column:
                found.append((plain[0].column, None, "", 0))
            elif len(several) == 1 and not plain:
                ((factor, full),) = several.items()
                one = levels[factor.column]
                found += [self._category(factor.column, one, p) for p in range(len(one.labels))[0 if full else 1 :]]
            else:
                return None
        return found


def drafted(text: object, data: Any, levels: Any) -> Draft:
    """A formula on a table, with the levels that are declared. Looks at names, kinds and levels only."""
    formula, table = read(text), of_data(data)
    if not isinstance(levels, Mapping | None):
        raise InvalidArgument("levels", "levels by column, as in {'cut': ['Fair', 'Good']}", checks.outline(levels))
    declared = {**table.levels, **(levels or {})}
    fields = {name: known(table.fields, name) for name in formula.columns}
    several = {name for name, one in fields.items() if name in declared or one.kind == "text"}
    truths = {name: (False, True) for name in formula.categories if fields[name].kind == "boolean"}
    declared = truths | declared  # which their type lists
    categories = [f.column for f in formula.factors if f.category or (f.column and f.column in several)]
    for factor in formula.factors:
        _check_kinds([] if factor.column in categories else factor.columns, fields)
    listed = {
        name: leveled.declared_levels(name, declared[name], fields[name]) for name in categories if name in declared
    }
    missing = tuple(dict.fromkeys(name for name in categories if name not in listed))
    _check_width(formula, {name: len(listed[name].labels) if name in listed else 2 for name in categories})
    return Draft(formula, replace(table, fields=fields), listed, missing)


def _check_width(formula: Formula, levels: Mapping[str, int]) -> None:
    """Refuses products of more categories than X can have columns for, before any is made. Two levels are the least."""
    products = (math.prod(levels.get(factor.column, 1) for factor in term) for term in formula.terms)
    if sum(products) > MOST:
        must = f"of terms that have at most {MOST:,} columns, with those of all levels"
        raise InvalidArgument("formula", must, "more", FEWER)


def _check_kinds(names: Any, fields: Mapping[str, Field], fix: str = "C({}) is its categories.") -> None:
    """Refuses what is no column of numbers, by its kind."""
    for name in names:
        if (kind := fields[name].kind) not in NUMERIC:
            how = SINCE if kind in ("time", "duration") else fix.format(name)
            raise InvalidArgument(
                "formula", "of columns of numbers but for categories", f"{name!r} of type {kind}", how
            )


def designed(text: object, data: Any, levels: Any, by: bool = False) -> Design:
    """X and y, and what is public of X, where all levels are declared: so `by` groups."""
    draft = drafted(text, data, levels)
    _check_closed(draft, found=False, by=by, told=levels)
    return draft.made({})


def names(text: object, kinds: Mapping[str, Any], levels: Any) -> tuple[str, ...]:
    """The names of the columns of X, where all levels are declared. Looks at no data."""
    fields = {name: no_rows(kinds[name]) for name in read(text).columns}
    return designed(text, Named(fields), levels)[2].names


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
    if given.get("formula") is None or isinstance(given["formula"], Columns):
        if given.get("levels") is not None:
            raise InvalidArgument("levels", "left out where there is no formula", "some")
        if y is None:
            fix = 'Or name it in a formula, as in formula="price ~ carat".'
            raise InvalidArgument("y", "given where there is no formula", "nothing", fix)
        if classes is None:
            check_response(y)
        known = None if given.get("formula") else named(x, given.get("binary"))
        return arguments, given if known is None else {**given, "formula": Columns(*known, intercept=True)}
    if y is not None:
        raise InvalidArgument("y", "left out where there is a formula", "some", "The formula names it.")
    if given.get("binary") is not None:
        raise InvalidArgument("binary", "left out where there is a formula", "some", "Dummies are declared by it.")
    draft = replace(drafted(given["formula"], x, given.get("levels")), classes=classes)
    _check_kinds([] if classes else draft.formula.response.columns, draft.table.fields, CLASSES)
    _check_closed(draft, bool(given.get("delta")), given.get("by") is not None, given.get("levels"))
    rest = {name: value for name, value in given.items() if name not in ("x", "y", "levels")}
    if draft.open:
        return (draft,), {**rest, "formula": draft.formula}
    design, response, public = draft.made({})
    return (design, response), {**rest, "formula": public}
