"""A request: one release that is not yet made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.labels import label
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency, Privacy
from uptack.privacy.guarantee import adjacency as check_adjacency
from uptack.privacy.loss import Approximate, Loss
from uptack.registry import Declaration, find
from uptack.registry.options import in_groups
from uptack.release import NoReply, Release
from uptack.statistics.column_options import COUNT_SHARE
from uptack.statistics.order_statistic_errors import buys_size, ranks
from uptack.table.protocol import Table
from uptack.table.reads import Grouped, named_groups
from uptack.table.unread import Touched, UnreadTable

Made = Release[Any] | NoReply


class NoEntropy(Entropy):
    """Randomness that stops a dry run when it is drawn."""

    private = True

    def bytes(self, count: int) -> bytes:
        """Stops the dry run."""
        raise Touched

    def begin(self) -> None:
        """Stops the rehearsal before rows are read."""
        raise Touched


def in_tables(declaration: Declaration) -> bool:
    """Whether a release function reads columns of a table, so that a session has it."""
    return declaration.reads is not None


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

    def __init__(self, statistic: str, *columns: str, **options: Any) -> None:
        found = self.__dict__["declaration"] = find(statistic, in_tables)
        if "epsilon" not in options:
            raise InvalidArgument("epsilon", "given for every release", "nothing")
        if "entropy" in options:
            raise InvalidArgument("entropy", "an option of the session", "one for a release", "Pass it to uptack.open.")
        if "person" in options:
            fix = "Pass it to uptack.open, as person='patient_id'."
            raise InvalidArgument("person", "an option of the session", "one for a release", fix)
        if options.get("by", 0) is None:
            del options["by"]  # the same as leaving it out
        found.check(options)
        options = {name: checks.lasting(name, value) for name, value in options.items()}
        for promised in ("epsilon", "delta"):
            checks.single(promised, options.get(promised), "one number")
        object.__setattr__(self, "statistic", statistic)
        object.__setattr__(self, "columns", found.reads.named(columns, options))
        object.__setattr__(self, "options", tuple(options.items()))

    @cached_property
    def declaration(self) -> Declaration:
        """The declaration of its release function."""
        return find(self.statistic, in_tables)

    @property
    def given(self) -> dict[str, Any]:
        """Its options."""
        return dict(self.options)

    @cached_property
    def cost(self) -> Privacy:
        """The most that it can cost, which is what it asks for."""
        given = self.given
        relation = given.get("adjacency", SUBSTITUTE)
        relation = check_adjacency(relation, given.get("rows_per_person", 1))
        return Privacy(given["epsilon"], given.get("delta", 0), relation)

    def loss(self, rows: int) -> Loss:
        """An upper bound on its loss, as far as it is known beforehand. Plans compose these tightly."""
        spends, cost = self.declaration.spends, self.cost
        known = None if spends is None or "by" in self.given else spends(self.given, cost, rows)
        return Approximate(cost.exact_epsilon, cost.exact_delta) if known is None else known

    def predictors(self, kinds: Mapping[str, str]) -> tuple[str, ...]:
        """The names of the columns of X in a regression with declared levels."""
        found: tuple[str, ...] = self.declaration.reads.predictors(self.columns, self.given, kinds)
        return found

    def with_defaults(self, missing: Any, **defaults: Any) -> Request:
        """The same request, with defaults filled in."""
        usual = self.declaration.missing
        if usual is not None and "missing" in self.declaration.allowed:
            defaults["missing"] = missing if missing == "error" or usual == "drop" else usual
        return Request(self.statistic, *self.columns, **{**defaults, **self.given})

    def about(self, person: tuple[str, ...]) -> Request:
        """The same request about the people of a session."""
        relation = self.given.get("adjacency")
        if not person or not isinstance(relation, Adjacency) or relation.person:
            return self
        return Request(self.statistic, *self.columns, **{**self.given, "adjacency": relation.by_person(*person)})

    def rehearse(self, table: Table) -> NoReply | None:
        """A dry run: ⊥ if public numbers decide so, an error if the request is wrong, None if data are needed."""
        self.declaration.reads.check(self.statistic, self.columns, table, self.given)
        try:
            made = self._rehearsed(UnreadTable.of(table))
        except Touched:
            return None
        return made if isinstance(made, NoReply) else None

    def _rehearsed(self, table: UnreadTable) -> Made:
        public = {**self.given, "entropy": NoEntropy()}
        if "by" in public:
            return self._called(table, public)
        drops = public.get("missing") == "drop" and self.cost.adjacency.size_is_public
        kept = 1 - COUNT_SHARE
        if drops:
            self._stopped(table, dict(public))
        if drops and (
            self.declaration.plan is not ranks or buys_size(public)
        ):  # too few for all rows is too few for some
            public |= {"missing": "error", "epsilon": self.cost.exact_epsilon * kept}
        elif drops:
            drops = False  # the release itself refuses by the public number of all rows
        made = self._called(table, public)
        if drops and isinstance(made, NoReply) and made.advice.epsilon is not None:
            least = math.ceil(1000 * made.advice.epsilon / float(kept)) / 1000
            return replace(made, advice=replace(made.advice, epsilon=least))
        return made

    def _stopped(self, table: UnreadTable, public: dict[str, Any]) -> None:
        """A dry run up to the count of rows with a value, which refuses wrong arguments."""
        try:
            self._called(table, public)
        except Touched:
            return

    def make(self, table: Table, entropy: Entropy) -> Made:
        """The release itself. It reads the data, so its cost must have been debited."""
        given = self.given
        made = self._called(table, {**given, "entropy": entropy})
        if "by" in given or not made:
            return made
        if hasattr(made.value, "named"):  # a matrix of all columns
            return replace(made, value=made.value.named(*self.columns))
        design = self.declaration.reads.shape == "design" and given.get("formula") is None  # which names its own
        return made.named(*self.columns[1:]) if design and made.labels else made

    def _called(self, table: Table, given: dict[str, Any]) -> Made:
        """What the function returns for columns of a table, or for its groups."""
        arguments = self.declaration.reads.read(table, self.columns, given)
        if "by" not in given:
            made: Made = self.declaration.public(*arguments, **given)
            return made
        grouped = Grouped(table.groups(named_groups(given.pop("by"))), arguments, table.unit.people)
        data, rest = in_groups(self.declaration, grouped, given)
        run = self.declaration.by
        assert run is not None, "an option that it does not have"
        found: Made = run(self.declaration.function, data, **rest)
        return found

    def __repr__(self) -> str:
        others = {k: v for k, v in self.given.items() if k not in ("epsilon", "delta") and _telling(v)}
        extra = "".join(f", {k}={float(v) if isinstance(v, Fraction) else v!r}" for k, v in others.items())
        delta = f", δ = {self.cost.delta}" if self.cost.exact_delta else ""
        columns = ", ".join(map(label, self.columns)) or "rows"
        return f"{self.statistic} of {columns}{extra}, ε = {self.cost.epsilon}{delta}"


def _telling(value: object) -> bool:
    return isinstance(value, str | int | float | Fraction | list | tuple) and value != 1
