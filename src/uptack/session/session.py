"""A session: a table, a budget and a source of randomness. Every release is debited before data are read.

How a session is displayed, and its report: public facts, and what was paid for.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from uptack import checks, interrupts
from uptack.discrete.crosstabs import as_crosstab
from uptack.display import FigureTable
from uptack.display.align import aligned
from uptack.errors import InvalidArgument, UptackError
from uptack.labels import label
from uptack.noise import Entropy
from uptack.privacy import Adjacency, Privacy, tight
from uptack.privacy.guarantee import whose
from uptack.privacy.loss import Approximate, Loss
from uptack.progress import track
from uptack.session.columns import (
    SessionColumn,
    column_function,
    column_functions,
    formula_request,
    is_formula,
    spread,
)
from uptack.session.filters import check_fits, narrow, one_line, rows_used
from uptack.session.kinds import with_schema
from uptack.session.paid import PaidPlan, Spending
from uptack.session.plan import Plan, PlannedRelease, expected_error, total_cost
from uptack.session.requests import Made, Request
from uptack.table.condition_text import parse_conditions
from uptack.table.conditions import FIX, MAPPING, Condition
from uptack.table.names import hidden, known
from uptack.table.protocol import Table
from uptack.table.schema import Schema

if TYPE_CHECKING:
    from uptack.ledger import Ledger


INFERRED = "Types were inferred from the data and are now public. Correct them with types=, or save them in a schema."


class SessionOverview:
    """How a session is displayed."""

    def report(self, *, epsilon: Any, **options: Any) -> Any:
        """A private profile of the whole table, paid from this session's budget: `uptack.report`, with its options."""
        from uptack.report import report  # which imports sessions

        return report(self, epsilon=epsilon, **options)

    def table(self) -> FigureTable:
        """The columns and their kinds, and the budget."""
        session = cast("Session", self)
        cells = [(label(name), kind) for name, kind in session.source.kinds.items()]
        left = session.remaining
        notes = (session.whose, f"spent: {session.spent}", *(() if left is None else (f"left: {left}",)))
        return FigureTable(_size(session), ("column", "kind"), tuple(cells), notes, private=session.private)

    def describe(self) -> str:
        """What is public about the session: whose privacy it protects, columns and their types, the budget.

        The number of rows, or of people, is shown if it is public.

        >>> import numpy as np
        >>> from uptack.session import open
        >>> print(open({"age": np.array([31.5, 44.0]), "town": np.array(["a", "b"])}).describe())
        2 rows (substitute)
        Each row is protected. People with several rows are less protected than ε suggests.
          age   number
          town  text
        spent: ε = 0.0 (substitute)
        """
        session = cast("Session", self)
        columns = [(label(name), kind) for name, kind in session.source.kinds.items()]
        lines = [_size(session), session.whose, *(f"  {line}" for line in aligned(columns))]
        lines += [f"schema: {label(session.schema.name)}"] if session.schema.name else []
        lines += [INFERRED] if session.inferred else []
        lines.append(f"spent: {session.spent}")
        if session.remaining is not None:
            lines.append(f"left:  {session.remaining}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        session = cast("Session", self)
        public = session.adjacency.size_is_public
        return {
            "columns": dict(session.source.kinds),
            session.adjacency.unit: session.source.size if public else None,
            "whose": session.whose,
            "where": [str(condition) for condition in session.conditions],
            "schema": session.schema.name or None,
            "inferred": session.inferred,
            "spent": session.spent.to_dict(),
            "remaining": None if session.remaining is None else session.remaining.to_dict(),
        }

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.table().html()

    def __repr__(self) -> str:
        return self.describe()


def _size(session: Session) -> str:
    """The number of rows or people, if it is public, and the adjacency."""
    size = f"{session.source.size:,}" if session.adjacency.size_is_public else "a secret number of"
    return f"{size} {session.adjacency.unit} ({session.adjacency})"


class Session(SessionOverview):
    """Releases from one table, paid from one budget. Made by `uptack.open`."""

    def __init__(
        self,
        data: Table,
        ledger: Ledger | None,
        analyst: str | None,
        adjacency: Adjacency,
        missing: Any,
        entropy: Entropy,
        noun: str = "row",
        schema: Schema | None = None,
        inferred: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.source, self.ledger, self.analyst, self.adjacency, self.noun = data, ledger, analyst, adjacency, noun
        self._missing, self._entropy, self._spending = missing, entropy, Spending(adjacency)
        self.schema, self.inferred = schema or Schema(), dict(inferred)
        self.whole, self.conditions = data, tuple[Condition, ...]()  # the source without conditions

    def where(self, conditions: str | Mapping[str, Any] | None = None, /, **named: Any) -> Session:
        """A session on the rows that meet all conditions: `session.where("age >= 18 and ward == 'Surgery'")`.

        Conditions are a text, which is parsed and never evaluated (`uptack.table.condition_text`), or keyword
        arguments: `session.where(ward="Surgery", age=(">=", 18))`. There a condition is a value, None for rows without
        one, or a pair (operation, value) with one of "==", "!=", "<", "<=", ">", ">=", "in", "not in" and "between"
        (`uptack.table.conditions`). A row without a value meets only `None`, and "in" with None. Names that are not
        Python names go into a dictionary. Another `where` adds conditions.

        **Theorem.** Releases keep the guarantee that they have in the whole session, at the same price: rows that do
        not meet the conditions become rows without values, one by one (`uptack.table.protocol.Table.where`). How many
        are left is secret. Conditions are public: the ledger names them.

        The session shares the ledger, the spending, the randomness and the unit of privacy. With `person=`, people
        without a remaining row are people without a value.

        >>> import numpy as np
        >>> from uptack import SeededEntropy
        >>> from uptack.session import open
        >>> session = open({"age": np.arange(20, 80).repeat(100)}, entropy=SeededEntropy(1))
        >>> old = session.where("age >= 60")
        >>> old["age"].median(epsilon=0.5).value, session.spent
        (69.0, Privacy(epsilon=0.5))
        """
        if isinstance(conditions, str):
            made = functools.reduce(
                lambda session, one: narrow(session, dict([one])), parse_conditions(conditions), self
            )
            return narrow(made, named) if named else made
        given = {} if conditions is None else checks.instance("where", conditions, Mapping, MAPPING, FIX)
        return narrow(self, {**given, **named})

    def __getitem__(self, name: str) -> SessionColumn:
        hidden(name, self.source.unit.ids)
        known(name, self.source.kinds)
        return SessionColumn(self, name)

    def run(self, request: Request) -> Made:
        """Make one release: a dry run on public numbers, then the debit, then the data.

        If public numbers alone decide on ⊥, nothing is debited. After the debit there is no refund, whatever happens.
        """
        request = self.complete(request)
        with self.snapshot():
            refusal = request.rehearse(self.source)
            if refusal is not None:
                return refusal
            make = functools.partial(self._make, request)
            if self.ledger is None:
                return make()
            return self.ledger.charged(request.cost, make, what=self.line(request), analyst=self.analyst)

    def snapshot(self) -> AbstractContextManager[None]:
        """One state of the table for everything that is read inside the block."""
        return self.source.snapshot()

    def one_state(self) -> AbstractContextManager[object]:
        """One state of the table for all releases inside the block, so that each column is read once."""
        return self.source.one_state()

    def _make(self, request: Request) -> Made:
        self._spending.add(request.cost)
        return self.paid_for(request)

    def paid_for(self, request: Request) -> Made:
        """The release of a complete request whose cost has been debited. If it states a higher cost, it is withheld."""
        made = self._read(request)
        claimed = made.privacy
        if not isinstance(claimed, Privacy) or not claimed.under(self.adjacency) <= request.cost.under(self.adjacency):
            raise UptackError(f"{request} cost {claimed}, more than was debited, so it is withheld")
        return made

    def _read(self, request: Request) -> Made:
        """The release of a request. An engine's error might show a row, so it is replaced by another.

        Errors are raised outside of the block that catches them. Inside, Python would keep the first error as the
        context of the next, and show both.
        """

        def reading() -> Made:
            try:
                return request.make(self.source, self._entropy)
            except UptackError as known_error:
                error = known_error
            except BaseException:  # an interrupt is recognised by its signal, and passes
                error = UptackError("the rows could not be read, so nothing is released. The debit stands")
            error.__context__ = error.__cause__ = None
            raise error

        return interrupts.watched(reading)

    def plan(self, requests: Iterable[Request]) -> Plan:
        """The cost and the expected error of releases. Reads no data and spends nothing."""
        lines = []
        with self.snapshot():
            for request in map(self.complete, requests):
                refusal = request.rehearse(self.source)
                cost = request.cost if refusal is None else Privacy(0, 0, request.cost.adjacency)
                error = "" if refusal is not None else expected_error(request, self.source.size)
                tree = None if refusal is not None else self.loss_of(request)
                lines.append(PlannedRelease(request, cost, refusal, error, tree))
        whole = total_cost([line.cost for line in lines], self.spent)
        return Plan(tuple(lines), whole, self.remaining)

    def loss_of(self, request: Request) -> Loss:
        """An upper bound on the loss of a request, under the adjacency of this session."""
        full = self.complete(request)
        if full.cost.adjacency == self.adjacency:
            return full.loss(self.source.size)
        wider = full.cost.under(self.adjacency)
        return Approximate(wider.exact_epsilon, wider.exact_delta)

    def pay(self, trees: Iterable[Loss], delta: Any, what: str) -> PaidPlan:
        """Debit releases whose losses are all fixed beforehand together, by tight composition: see `PaidPlan`."""
        fixed = tuple(trees)
        price = tight(fixed, delta, self.adjacency)
        if self.ledger is not None:
            self.ledger.debit_plan(
                fixed, delta=delta, what=self.line(what), analyst=self.analyst, adjacency=self.adjacency
            )
        self._spending.add(price)
        return PaidPlan(self, fixed, price)

    def run_all(self, requests: Iterable[Request], *, progress: bool | None = None) -> list[Made]:
        """Make several releases one after the other, with a progress line."""
        waiting = list(requests)
        return [self.run(request) for request in track(waiting, "releases", show=progress, total=len(waiting))]

    def count(self, *columns: str, epsilon: Any, **options: Any) -> Made:
        """How many rows are true in a column of truth values; without one, how many rows there are.

        With `by=`, how many in each group.
        """
        return self.run(Request("count", *columns, epsilon=epsilon, **options))

    def histogram(self, *columns: str | Iterable[str], epsilon: Any, **options: Any) -> Made:
        """How often each value of a column occurs, or each combination of values of several: `uptack.histogram`.

        Of several columns it is `count(by=columns)`, with `groups=` for public combinations, or `delta=` to find those
        that are frequent.
        """
        named = spread(columns)
        if len(named) == 1:
            return self.run(Request("histogram", *named, epsilon=epsilon, **options))
        return self.run(Request("count", by=list(named), epsilon=epsilon, **options))

    def crosstab(self, rows: str, columns: str, *, epsilon: Any, **options: Any) -> Made:
        """Counts by two columns, as a two-way table: those of `histogram(rows, columns)`, for the same ε."""
        return as_crosstab(self.run(Request("count", by=[rows, columns], epsilon=epsilon, **options)))

    def margins(
        self, *columns: str | Iterable[str], which: int = 1, epsilon: Any, delta: Any = 0, **options: Any
    ) -> dict[tuple[str, ...], Made]:
        """The counts of all combinations of `which` columns out of several: one table each, for one ε in all.

        **Theorem.** (ε, δ)-differentially private: each of the k tables has ε/k and δ/k, and their losses add up.
        """
        named = spread(columns)
        size = checks.integer("which", which, least=1)
        chosen = list(itertools.combinations(named, size))
        if not chosen:
            raise InvalidArgument("which", f"at most the number of columns, {len(named)}", which)
        share = {"epsilon": checks.epsilon(epsilon) / len(chosen)}
        share |= {"delta": checks.delta("delta", delta) / len(chosen)} if delta else {}
        requests = [Request("count", by=list(names), **share, **options) for names in chosen]
        self.plan(requests)  # whatever is wrong with one of them is said before the first is paid for
        return {names: self.run(request) for names, request in zip(chosen, requests, strict=True)}

    def regression(
        self,
        y: str | None = None,
        x: str | Iterable[str] | None = None,
        *others: str,
        epsilon: Any,
        **options: Any,
    ) -> Made:
        """A linear regression of one column on others, or on all other numeric ones: `uptack.linear_regression`.

        `y` may be a formula, which names all columns: "cost ~ log(age) + ward". A column of texts is a category. Its
        levels are given in `levels=` or in the schema of the file, or found for a part of ε with `delta=`.
        """
        if y is None and options.get("formula") is None:
            raise InvalidArgument("y", "given if there is no formula", "nothing", "It names the response.")
        if is_formula(self, y) and x is None:
            return self.run(formula_request("regression", y, epsilon=epsilon, **options))
        named = () if y is None else (y, *self.predictors(y, x, *others))
        return self.run(Request("regression", *named, epsilon=epsilon, **options))

    def shortcut_regression(
        self, y: str, x: str | Iterable[str] | None = None, *others: str, epsilon: Any, **options: Any
    ) -> Made:
        """The same by `uptack.shortcut_regression`."""
        named = (y, *self.predictors(y, x, *others))
        return self.run(Request("shortcut_regression", *named, epsilon=epsilon, **options))

    def scatter(self, *columns: str | Iterable[str], epsilon: Any, **options: Any) -> Made:
        """A centre and a robust scatter matrix of columns, or of all numeric ones: `uptack.scatter`."""
        return self.run(Request("scatter", *(spread(columns) or self.numeric), epsilon=epsilon, **options))

    def robust_regression(
        self, y: str, x: str | Iterable[str] | None = None, *others: str, epsilon: Any, **options: Any
    ) -> Made:
        """The same by `uptack.hampel_regression`."""
        named = (y, *self.predictors(y, x, *others))
        return self.run(Request("robust_regression", *named, epsilon=epsilon, **options))

    def __getattr__(self, name: str) -> Callable[..., Made]:
        """The release function of that name, of the named columns: `session.median("age", epsilon=1)`."""
        return column_function(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *column_functions()]

    def predictors(self, y: str, x: str | Iterable[str] | None, *others: str) -> tuple[str, ...]:
        """The predictors of y: as named, one by one or in a list, or all other columns of numbers."""
        if x is None:
            return tuple(name for name in self.numeric if name != y)
        if not isinstance(x, Iterable):
            raise InvalidArgument("x", "names of columns", checks.describe(x))
        return (x, *others) if isinstance(x, str) else (*x, *others)

    @property
    def numeric(self) -> tuple[str, ...]:
        """The names of the columns of numbers."""
        return tuple(name for name, kind in self.source.kinds.items() if kind in ("integer", "number"))

    @property
    def texts(self) -> tuple[str, ...]:
        """The names of the columns of texts."""
        return tuple(name for name, kind in self.source.kinds.items() if kind == "text")

    @property
    def private(self) -> bool:
        """Whether the randomness is unpredictable, and not seeded."""
        return self._entropy.private

    @property
    def remaining(self) -> Privacy | None:
        """What is left in the ledger for this analyst; None without a ledger."""
        return None if self.ledger is None else self.ledger.remaining(self.analyst)

    @property
    def spent(self) -> Privacy:
        """What was spent in this session, and in those made from it by `where`."""
        return self._spending.total

    @property
    def whose(self) -> str:
        """Whose privacy is protected, in words, and which rows are used."""
        return whose(self.adjacency, self.noun) + rows_used(self.conditions)

    def line(self, what: object) -> str:
        """The line of the ledger for a request, with the conditions."""
        return one_line(what, self.conditions)

    def complete(self, request: Request) -> Request:
        """The request with the defaults of the session, which it may tighten but not loosen."""
        plain, rows = self.adjacency.per_person(1), self.adjacency.rows_per_person
        full = with_schema(request, self.schema, self.source.kinds).with_defaults(
            missing=self._missing, adjacency=plain, rows_per_person=rows
        )
        full = full.about(self.adjacency.person)
        if full.cost.adjacency.rows_per_person < rows:
            raise InvalidArgument("rows_per_person", f"at least {rows}, as in the session", "fewer")
        if full.given.get("missing") == "error" and self._missing != "error":
            fix = "Such an error would reveal something about the data. The curator can open a session with it."
            raise InvalidArgument("missing", "other than 'error' in this session", "'error'", fix)
        check_fits(full, self.conditions)
        full.cost.under(self.adjacency)  # refuses an adjacency that the session does not imply
        return full
