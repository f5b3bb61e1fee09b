"""A request: one release that has not been made yet, and its defaults from a session and a schema."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.labels import label
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Privacy
from uptack.privacy.guarantee import adjacency as check_adjacency
from uptack.privacy.loss import Approximate, Loss
from uptack.registry import Declaration, find, in_tables
from uptack.registry.declaration import in_groups
from uptack.release import NoReply, Release
from uptack.statistics.column_options import COUNT_SHARE
from uptack.statistics.statistic import buys_size, ranks
from uptack.table.protocol import Table
from uptack.table.reads import GroupedData, group_names
from uptack.table.schema import ColumnSchema, Schema
from uptack.table.unread import DataNeeded, UnreadTable

Made = Release[Any] | NoReply


class NoEntropy(Entropy):
    """Randomness that stops a dry run when it is drawn."""

    private = True

    def bytes(self, count: int) -> bytes:
        """Stops the dry run."""
        raise DataNeeded

    def begin(self) -> None:
        """Stops the rehearsal before rows are read."""
        raise DataNeeded


@dataclass(frozen=True, init=False)
class Request:
    """One release, not yet made.

    >>> request = Request("median", "age", epsilon=0.1)
    >>> request, request.cost
    (median of age, ε = 0.1, Privacy(epsilon=0.1))
    """

    statistic: str
    columns: tuple[str, ...]
    options: tuple[tuple[str, Any], ...]
    completed_by: ClassVar[object] = None  # the session whose defaults it has

    def __init__(self, statistic: str, *columns: str, **options: Any) -> None:
        found = find(statistic, in_tables)
        if "entropy" in options:
            raise InvalidArgument("entropy", "an option of the session", "one for a release", "Pass it to uptack.open.")
        if "person" in options:
            fix = "Pass it to uptack.open, as person='patient_id'."
            raise InvalidArgument("person", "an option of the session", "one for a release", fix)
        if options.get("by", 0) is None:
            del options["by"]  # the same as leaving it out
        found.check(options)
        if "epsilon" not in options:
            raise InvalidArgument("epsilon", "given for every release, such as epsilon=1", "nothing")
        options = {name: checks.lasting(name, value) for name, value in options.items()}
        for promised in ("epsilon", "delta"):
            checks.single(promised, options.get(promised), "one number")
        named = found.reads.columns_of(columns, options)
        vars(self).update(statistic=statistic, columns=named, options=tuple(options.items()), declaration=found)

    @cached_property
    def declaration(self) -> Declaration:
        """The declaration of its release function."""
        return find(self.statistic, in_tables)

    def with_options(self, options: Mapping[str, Any]) -> Request:
        """The same request with these options in place of its own. The caller has checked them."""
        made = object.__new__(Request)
        found, given = self.declaration, tuple(options.items())
        columns = found.reads.columns_of(self.columns, options)
        vars(made).update(statistic=self.statistic, columns=columns, options=given, declaration=found)
        return made

    @property
    def given(self) -> dict[str, Any]:
        """Its options."""
        return dict(self.options)

    @cached_property
    def cost(self) -> Privacy:
        """Its highest possible cost, which is the ε and δ that it asks for."""
        given = self.given
        relation = given.get("adjacency", SUBSTITUTE)
        relation = check_adjacency(relation, given.get("rows_per_person", 1))
        return Privacy(checks.epsilon(given["epsilon"]), given.get("delta", 0), relation)

    def loss(self, cost: Privacy, rows: int) -> Loss:
        """An upper bound on its loss at a cost, as far as it is known beforehand. Plans compose these tightly."""
        spends, given = self.declaration.spends, self.given | {"epsilon": cost.exact_epsilon}
        known = None if spends is None or "by" in given else spends(given, cost, rows)
        return Approximate(cost.exact_epsilon, cost.exact_delta) if known is None else known

    def predictors(self, kinds: Mapping[str, str]) -> tuple[str, ...]:
        """The names of the columns of X in a regression with declared levels."""
        found: tuple[str, ...] = self.declaration.reads.predictors(self.columns, self.given, kinds)
        return found

    def check(self, table: Table) -> None:
        """Refuses columns that the table does not have, or that are not for this: ids, and other kinds."""
        self.declaration.reads.check(self.statistic, self.columns, table, self.given)

    def rehearse(self, table: Table) -> NoReply | None:
        """A dry run: ⊥ if public numbers decide so, an error if the request is wrong, None if data are needed."""
        self.check(table)
        try:
            reply = self._dry_run(UnreadTable.of(table))
        except DataNeeded:
            return None
        except InvalidArgument as error:
            if error.name != "x" or type(error) is not InvalidArgument or len(self.columns) != 1:
                raise
            raise InvalidArgument(f"column {label(self.columns[0])!r}", error.must, error.got, error.fix) from None
        return reply if isinstance(reply, NoReply) else None

    def _dry_run(self, table: UnreadTable) -> Made:
        public = {**self.given, "entropy": NoEntropy()}
        buys = public.get("missing") == "drop" and self.cost.adjacency.size_is_public and "by" not in public
        if not buys or (self.declaration.plan is ranks and not buys_size(public, self.cost)):
            return self._answer(table, public)  # it refuses by the public number of all rows itself
        with suppress(DataNeeded):  # up to the count of rows with a value: wrong arguments are refused here
            self._answer(table, dict(public))
        left = 1 - COUNT_SHARE
        public |= {"missing": "error", "epsilon": self.cost.exact_epsilon * left}  # too few for all, too few for some
        made = self._answer(table, public)
        if isinstance(made, NoReply) and made.advice.epsilon is not None:
            least = math.ceil(1000 * made.advice.epsilon / float(left)) / 1000
            return replace(made, advice=replace(made.advice, epsilon=least))
        return made

    def make(self, table: Table, entropy: Entropy) -> Made:
        """The release itself. It reads the data, so its cost must have been debited."""
        given = self.given
        made = self._answer(table, {**given, "entropy": entropy})
        if not made:
            return made
        design = self.declaration.reads.shape == "design" and given.get("formula") is None  # which names its own
        if "by" in given:
            return replace(made, value=made.value.named(*self.columns[1:])) if design else made
        if hasattr(made.value, "named"):  # a matrix of all columns
            return replace(made, value=made.value.named(*self.columns))
        return made.named(*self.columns[1:]) if design and made.labels else made

    def _answer(self, table: Table, given: dict[str, Any]) -> Made:
        """The function's answer for columns of a table, or for its groups."""
        arguments = self.declaration.reads.read(table, self.columns, given)
        if "by" not in given:
            made: Made = self.declaration.public(*arguments, **given)
            return made
        grouped = GroupedData(table.groups(group_names(given.pop("by"))), arguments, table.unit.people)
        data, rest = in_groups(self.declaration, grouped, given)
        run = self.declaration.by
        assert run is not None, "an option that it does not have"
        found: Made = run(self.declaration.function, data, **rest)
        return found

    def __repr__(self) -> str:
        shown = (str, int, float, Fraction, list, tuple)
        others = {k: v for k, v in self.options if k not in ("epsilon", "delta", "formula") and isinstance(v, shown)}
        extra = "".join(f", {k}={_in_floats(v)!r}" for k, v in others.items() if (k, v) != ("rows_per_person", 1))
        delta = f", δ = {_brief(self.cost.delta)}" if self.cost.exact_delta else ""
        formula = self.given.get("formula")
        columns = label(formula) if isinstance(formula, str) else ", ".join(map(label, self.columns)) or "rows"
        return f"{self.statistic} of {columns}{extra}, ε = {_brief(self.cost.epsilon)}{delta}"


def _in_floats(value: Any) -> Any:
    """An option as it is written: rationals, alone or in a list, as floats."""
    if isinstance(value, list | tuple):
        return type(value)(map(_in_floats, value)) if type(value) in (list, tuple) else value
    return float(value) if isinstance(value, Fraction) else value


def _brief(value: float) -> str:
    """A price in a line, with four digits where it has many: the ledger has all of them beside it.

    >>> _brief(0.5), _brief(1e-06), _brief(0.15182682847672607)
    ('0.5', '1e-06', '0.1518')
    """
    text = str(value)
    return text if len(text) <= BRIEF else f"{value:.4g}"


BRIEF = 8
"""Characters of a price that is shown as it is."""


def schema_options(request: Request, schema: Schema, kinds: Mapping[str, str]) -> dict[str, Any]:
    """The options of a request with defaults from a schema: granularity, plausible range and public categories.

    The first two describe the values of the column itself. So they are not used for one number per person, nor for
    methods without candidates. Categories are used if δ is 0, since none can be found then.
    """
    if not all(isinstance(name, str) for name in request.columns):
        return request.given  # refused later, where columns are read
    allowed, reads = request.declaration.allowed, request.declaration.reads
    levels = {} if request.given.get("delta") else {n: s.levels for n, s in schema.columns.items() if s.levels}
    given = reads.complete_options(request.columns, request.given, kinds, levels, allowed)
    usual = dict[str, Any]()
    if len(request.columns) == 1:
        column = schema.columns.get(request.columns[0], ColumnSchema())
        if given.get("method", "inverse") == "inverse" and given.get("per_person") is None:
            usual |= {"granularity": column.granularity, "plausible": column.plausible}
        if column.levels in ((0, 1), (1, 0)) and given.get("above") is None:
            usual |= {"equals": 1}
        usual |= {"keys": column.levels} if given.get("edges") is None and not given.get("delta") else {}
    if not given.get("delta") and "by" in given:  # the public groups, or all combinations, if the schema lists them
        by = given["by"] if isinstance(given["by"], list | tuple) else (given["by"],)
        named = [schema.columns[name].levels for name in by if isinstance(name, str) and name in schema.columns]
        public = [one for one in named if one is not None]
        if len(public) == len(by):
            usual |= {"groups": list(public[0]) if len(public) == 1 else list(itertools.product(*public))}
    fresh = {name: value for name, value in usual.items() if value is not None and name in allowed}
    return {**fresh, **given}
