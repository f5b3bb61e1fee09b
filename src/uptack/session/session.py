"""A session: a table, a budget and a source of randomness. Every release is debited before data are read.

`session["age"].median(...)` and `session.median("age", ...)` are the release functions of `uptack.registry`.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import replace
from decimal import ROUND_DOWN, ROUND_UP
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from uptack import checks
from uptack.discrete.histograms import as_crosstab
from uptack.display import FigureTable
from uptack.display.tabular import align_lines
from uptack.errors import InvalidArgument, UptackError, WrongArguments, shorter
from uptack.interrupts import without_engine_errors
from uptack.labels import label
from uptack.noise import Entropy
from uptack.privacy import Adjacency, Privacy, tight
from uptack.privacy.guarantee import total, whose
from uptack.privacy.loss import Approximate, Loss
from uptack.progress import track
from uptack.registry import Declaration, declared, find, in_tables, of_columns
from uptack.registry.names import OTHER_WORDS
from uptack.release import NoReply
from uptack.session.plan import PaidPlan, Plan, PlannedRelease, expected_error
from uptack.session.requests import Made, Request, schema_options
from uptack.table.conditions import FIX, MAPPING, MOST_CONDITIONS, Condition, conditions, parse_conditions
from uptack.table.names import ROW_NUMBERS, column_name, refuse_ids
from uptack.table.protocol import Table
from uptack.table.schema import Schema
from uptack.table.values.kinds import NUMBERS

if TYPE_CHECKING:
    from uptack.ledger import Ledger


NAME_OPTIONS = "Pass options by name, such as epsilon=1."
LONGEST_LINE = 300
"""Characters of a line in the ledger."""
DROPS = "Rows that do not meet the conditions count as missing values, so missing values are dropped."
UNDECLARED = (
    "Columns of type any have no declared type: where numbers are needed, other values count as missing. "
    "Declare them with types=, such as types={'ward': 'text'}."
)
INFERRED = "Types were inferred from the data and are now public. Correct them with types=, or save them in a schema."


class Spending:
    """The cost of all releases so far. Sessions on parts of the same rows share it."""

    def __init__(self, relation: Adjacency) -> None:
        self.total, self._adding = Privacy(0, 0, relation), threading.Lock()

    def add(self, price: Privacy) -> None:
        """Add the cost of a release, under the session's adjacency."""
        with self._adding:
            self.total = self.total + price.under(self.total.adjacency)


class Session:
    """Releases from one table, paid from one budget. Made by `uptack.open`.

    Every release function of columns is a method: `session.median("age", epsilon=1)`. Columns are named one by one or
    in lists. `session.regression("cost", epsilon=1)` uses all other numeric columns as predictors, and
    `session.regression("cost ~ log(age) + ward", epsilon=1)` those of the formula. `session.scatter(epsilon=1)` uses
    all numeric columns, `session.synthetic(...)` all columns.
    """

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

    def where(self, given: str | Mapping[str, Any] | None = None, /, **named: Any) -> Session:
        """A session on the rows that meet all conditions: `session.where("age >= 18 and ward == 'Surgery'")`.

        Conditions are a text, which is parsed and never evaluated (`uptack.table.conditions`), or keyword
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
        if isinstance(given, str):
            made = functools.reduce(lambda made, one: made._narrow(dict([one])), parse_conditions(given), self)
            return made._narrow(named) if named else made
        stated = {} if given is None else checks.instance("where", given, Mapping, MAPPING, FIX)
        return self._narrow({**stated, **named})

    def _narrow(self, given: Mapping[str, Any]) -> Session:
        """The same session with further conditions. All of them are evaluated together, on the table."""
        if self._missing != "drop":
            must = "'drop' in a session with conditions"
            raise InvalidArgument("missing", must, checks.describe(self._missing), DROPS)
        fix = "For several values of one column use one condition: ('in', values)."
        checks.few("where", len(self.conditions) + len(given), MOST_CONDITIONS, "conditions in a session", fix)
        for name in given:
            refuse_ids(name, self.source.unit.ids)
        made = copy(self)
        made.conditions = (*self.conditions, *conditions(given, self.source.kinds, self.source.forms))
        made.source = self.whole.where(made.conditions)
        return made

    def __getitem__(self, name: str) -> SessionColumn:
        if isinstance(name, list | tuple):
            fix = "Functions of several columns take their names: session.scatter('age', 'cost', epsilon=1)."
            raise InvalidArgument("column", "the name of one column", checks.describe(name), fix)
        refuse_ids(name, self.source.unit.ids)
        column_name(name, self.source.kinds)
        return SessionColumn(self, name)

    def run(self, request: Request) -> Made:
        """Make one release: a dry run on public numbers, then the debit, then the data.

        If public numbers alone decide on ⊥, nothing is debited. After the debit there is no refund, whatever happens.
        """
        return self.run_rehearsed_on(request, self)

    def run_rehearsed_on(self, request: Request, public: Session) -> Made:
        """The same with the dry run on another session, which has the public side of the table (`on`).

        Threads take turns to read from a connection. A debit is on record with its time, so on a server it must not
        wait until another release has read its rows.
        """
        request = self.complete(request)

        def make() -> Made:
            self._spending.add(request.cost)
            with nullcontext() if public is self else self.snapshot():
                return self.make_paid(request)

        with public.snapshot():
            refusal = request.rehearse(public.source)
            if refusal is not None:
                return refusal
            if self.ledger is None:
                return make()
            return self.ledger.charge(request.cost, make, what=self.line(request), analyst=self.analyst)

    def debit(self, request: Request) -> None:
        """Debit a complete request that has passed its dry run, for `make_paid`."""
        if self.ledger is not None:
            self.ledger.debit(request.cost, what=self.line(request), analyst=self.analyst)
        self._spending.add(request.cost)

    def on(self, table: Table) -> Session:
        """The same session, with its conditions, on another table that has the same columns."""
        made = copy(self)
        made.whole, made.source = table, table.where(self.conditions) if self.conditions else table
        return made

    def snapshot(self) -> AbstractContextManager[None]:
        """One state of the table for everything that is read inside the block."""
        return self.source.snapshot()

    def one_state(self) -> AbstractContextManager[object]:
        """One state of the table for all releases inside the block, so that each column is read once."""
        return self.source.one_state()

    def make_paid(self, request: Request) -> Made:
        """The release of a complete request whose cost has been debited. If it states a higher cost, it is withheld."""
        unread = UptackError("the rows could not be read, so nothing is released. The debit stands")
        made = without_engine_errors(lambda: request.make(self.source, self._entropy), unread)
        claimed = made.privacy
        if not isinstance(claimed, Privacy) or not claimed.under(self.adjacency) <= request.cost.under(self.adjacency):
            raise UptackError(f"{request} cost {claimed}, more than was debited, so it is withheld")
        return self._with_undeclared(request, made) if isinstance(made, NoReply) else made

    def _with_undeclared(self, request: Request, refused: NoReply) -> NoReply:
        """⊥, which also says which columns were read as numbers though they have no declared type."""
        reads = request.declaration.reads
        formula = str(request.given.get("formula") or "").replace(" ", "").replace("`", "")
        numbers = tuple(name for name in request.columns if f"C({name.replace(' ', '')})" not in formula)
        numbers = numbers[:-1] if reads.last else numbers
        names = [] if "text" in reads.kinds else [name for name in numbers if self.source.kinds.get(name) == "any"]
        if not names:
            return refused
        which = f"{' and '.join(map(label, names))} {'has' if len(names) == 1 else 'have'} no declared type"
        fix = f"declare it with types={{{names[0]!r}: 'text'}} if it holds texts"
        fix += f", or write C({names[0]})" if formula else ""
        why = f"{which}, and values that are not numbers count as missing: {fix}"
        advice = replace(refused.advice, why="; ".join(filter(None, (refused.advice.why, why))))
        return replace(refused, advice=advice)

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
        whole = total([line.cost.under(self.adjacency) for line in lines], self.adjacency)
        return Plan(tuple(lines), whole, self.remaining)

    def loss_of(self, request: Request, epsilon: Fraction | None = None) -> Loss:
        """An upper bound on the loss of a request, under the adjacency of this session, at its own ε or another one."""
        full = self.complete(request)
        cost = full.cost if epsilon is None else Privacy(epsilon, full.cost.exact_delta, full.cost.adjacency)
        if cost.adjacency == self.adjacency:
            return full.loss(cost, self.source.size)
        wider = cost.under(self.adjacency)
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
        """Make several releases one after the other, with a progress line.

        What is wrong with any of them, and a budget that does not cover all, is found before the first is paid for.
        """
        waiting = list(requests)
        self.plan(waiting).check_affordable()
        return [self.run(request) for request in track(waiting, "releases", show=progress, total=len(waiting))]

    def histogram(self, *columns: str | Iterable[str], **options: Any) -> Made:
        """How often each value of a column occurs, or each combination of values of several: `uptack.histogram`.

        Of several columns it is `count(by=columns)`, with `groups=` for public combinations, or `delta=` to find those
        that are frequent.
        """
        names = column_names(columns)
        if len(names) < 2:
            return self.run(Request("histogram", *names, **options))
        return self.run(Request("count", by=group_columns("histogram", names, options), **options))

    def crosstab(
        self, rows: str | Iterable[str] | None = None, columns: str | None = None, *others: str, **options: Any
    ) -> Made:
        """Counts by two columns, as a two-way table: those of `histogram(rows, columns)`, for the same ε."""
        names = column_names(name for name in (rows, columns, *others) if name is not None)
        if len(names) != 2:
            fix = "For more columns use histogram." if len(names) > 2 else ""
            raise WrongArguments("crosstab", "2 columns", len(names), fix)
        return as_crosstab(self.run(Request("count", by=group_columns("crosstab", names, options), **options)))

    def margins(self, *columns: str | Iterable[str], which: int = 1, **options: Any) -> dict[tuple[str, ...], Made]:
        """The counts of all combinations of `which` columns out of several: one table each, for one ε in all.

        **Theorem.** (ε, δ)-differentially private: each of the k tables has ε/k and δ/k, and their losses add up.
        """
        names = group_columns("margins", column_names(columns), options)
        if not names:
            raise WrongArguments("margins", "1 or more columns", 0)
        tables = list(itertools.combinations(names, checks.integer("which", which, least=1)))
        if not tables:
            raise InvalidArgument("which", f"at most the number of columns, {len(names)}", which)
        whole = Request("count", by=names, **options).cost
        each = {"epsilon": checks.epsilon(whole.exact_epsilon) / len(tables)}
        each |= {} if whole.pure else {"delta": whole.exact_delta / len(tables)}
        listed, own = options.get("groups"), [dict[str, Any]() for _ in tables]
        if isinstance(listed, Mapping):  # each table gets the values of its own columns
            for name in listed:
                column_name(name, {column: kind for column, kind in self.source.kinds.items() if column in names})
            own = [{"groups": {name: listed[name] for name in table if name in listed}} for table in tables]
        pairs = zip(tables, own, strict=True)
        requests = [Request("count", by=list(table), **{**options, **each, **groups}) for table, groups in pairs]
        self.plan(requests).check_affordable()  # what is wrong with any of them is found before the first is paid for
        return {table: self.run(request) for table, request in zip(tables, requests, strict=True)}

    def __getattr__(self, name: str) -> Callable[..., Made]:
        """The release function of that name, for the named columns: `session.median("age", epsilon=1)`."""
        try:
            declaration = _find(name, in_tables, "session")
        except AttributeError:
            if name.startswith("_") or name == "source" or name not in self.source.kinds:
                raise
            raise AttributeError(f"a session has no {name!r}. It is a column: write session[{name!r}].") from None

        @functools.wraps(declaration.function)
        def call(*columns: Any, **options: Any) -> Made:
            return self.run(self._request(name, declaration, columns, options))

        return call

    def _request(self, name: str, declaration: Declaration, given: Sequence[Any], options: dict[str, Any]) -> Request:
        """The request of a call: names of columns or a formula, then positional options."""
        reads, own = declaration.reads, _positional(declaration)
        if reads.shape == "design":
            given = (*given, *(value for key in ("y", "x") if (value := options.pop(key, None)) is not None))
        given = column_names(given)
        if "formula" in declaration.allowed and len(given) == 1 and is_formula(self, given[0]):
            if options.get("formula") is not None:
                raise InvalidArgument("formula", "given once", "two formulas")
            return Request(name, **{**options, "formula": given[0]})
        names = tuple(itertools.takewhile(lambda column: isinstance(column, str), given))
        values = given[len(names) :]
        if values and not own:
            raise InvalidArgument("columns", "names of columns", checks.describe(values[0]), NAME_OPTIONS)
        placed = checks.positional(f"{name}, after the names of columns,", own, values, options, fix=NAME_OPTIONS)
        return Request(name, *self.usual_columns(reads, names, options), **placed, **options)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_names(in_tables)]

    def usual_columns(self, reads: Any, names: tuple[str, ...], options: Mapping[str, Any]) -> tuple[str, ...]:
        """The columns of a request, with those that it leaves out: all other numeric ones as predictors, or all
        but ids and row numbers.
        """
        if reads.shape == "design" and len(names) == 1 and options.get("formula") is None:
            return (*names, *(name for name in self.numeric if name != names[0]))
        if reads.shape == "columns" and reads.most is None and not names:
            every = tuple(name for name in self.source.kinds if name not in self.row_numbers)
            return every if "text" in reads.kinds else self.numeric
        return names

    @property
    def numeric(self) -> tuple[str, ...]:
        """The names of the columns of numbers, without ids and row numbers."""
        kinds, omitted = self.source.kinds, self.row_numbers
        return tuple(name for name, kind in kinds.items() if kind in NUMBERS and name not in omitted)

    @property
    def row_numbers(self) -> tuple[str, ...]:
        """The columns that are ids or row numbers by their names, unless the schema says skip = false."""
        named = [name for name in self.source.kinds if name.strip().lower() in ROW_NUMBERS]
        return tuple(name for name in named if self.schema.column(name).skip is not False)

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
        stated = f"{self.schema.privacy_unit} " if self.schema.privacy_unit else ""
        conditions = " and ".join(map(str, self.conditions))
        used = f" Only rows with {conditions} are used, and their number is secret." if conditions else ""
        return stated + whose(self.adjacency, self.noun) + used

    def line(self, what: object) -> str:
        """The line of the ledger for a request, then the conditions: printable, and cut if it is long."""
        line = f"{what}, where {' and '.join(map(str, self.conditions))}" if self.conditions else str(what)
        text = "".join(c if c.isprintable() else "?" for c in line)
        return text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + "…"

    def complete(self, request: Request) -> Request:
        """The request with the defaults of the session, which it may tighten but not loosen."""
        if request.completed_by is self:
            return request
        rows, allowed = self.adjacency.rows_per_person, request.declaration.missing
        defaults = {"adjacency": self.adjacency.per_person(1), "rows_per_person": rows}
        if allowed is not None and "missing" in request.declaration.allowed:
            defaults["missing"] = self._missing if self._missing == "error" or allowed == "replace" else "drop"
        given = {**defaults, **schema_options(request, self.schema, self.source.kinds)}
        relation = given["adjacency"]
        if self.adjacency.person and isinstance(relation, Adjacency) and not relation.person:
            given["adjacency"] = relation.by_person(*self.adjacency.person)
        full = request.with_options(given)
        if full.cost.adjacency.rows_per_person < rows:
            raise InvalidArgument("rows_per_person", f"at least {rows}, as in the session", "fewer")
        if given.get("missing") == "error" and self._missing != "error":
            fix = "Such an error would reveal something about the data. The curator can open a session with it."
            raise InvalidArgument("missing", "'drop', 'low', 'high' or a number in this session", "'error'", fix)
        missing = given.get("missing", "drop")
        if self.conditions and missing != "drop":
            raise InvalidArgument("missing", "'drop' in a session with conditions", checks.describe(missing), DROPS)
        if self.conditions and given.get("total"):
            fix = "The number of rows that meet the conditions is secret."
            raise InvalidArgument("total", "False in a session with conditions", "True", fix)
        full.cost.under(self.adjacency)  # refuses an adjacency that the session does not imply
        object.__setattr__(full, "completed_by", self)
        return full

    # ------------------------------------------------------------------------------------------- how it is displayed

    def report(self, *arguments: Any, **options: Any) -> Any:
        """A private profile of the whole table, paid from this session's budget: `uptack.report`, with its options."""
        from uptack.report import report  # which imports sessions
        from uptack.report.profile import check_options

        checks.positional("report", (), arguments, options, fix=NAME_OPTIONS)
        check_options(options, of_session=True)
        if "epsilon" not in options:
            raise InvalidArgument("epsilon", "given, such as epsilon=1", "nothing")
        return report(self, **options)

    def _size(self) -> str:
        """The number of rows or people, if it is public, and the adjacency."""
        size = f"{self.source.size:,}" if self.adjacency.size_is_public else "a secret number of"
        return f"{size} {self.adjacency.unit} ({self.adjacency})"

    def table(self) -> FigureTable:
        """The columns and their kinds, and the budget."""
        cells = [(label(name), kind) for name, kind in self.source.kinds.items()]
        left = self.remaining
        notes = (self.whose, f"spent: {self.spent}", *(() if left is None else (f"left: {left}",)))
        return FigureTable(self._size(), ("column", "kind"), tuple(cells), notes, private=self.private)

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
        forms = {name: form.declared for name, form in self.source.forms.items()}  # "date", where the kind is "time"
        columns = [(label(name), forms.get(name, kind)) for name, kind in self.source.kinds.items()]
        lines = [self._size(), self.whose, *(f"  {line}" for line in align_lines(columns))]
        lines += [f"schema: {label(self.schema.name)}"] if self.schema.name else []
        lines += [INFERRED] if self.inferred else []
        lines += [UNDECLARED] if "any" in self.source.kinds.values() else []
        where = "" if self.remaining is None else " in this session"
        lines.append(f"spent{where}: {shorter(self.spent, ROUND_UP)}")
        lines += [] if self.remaining is None else [f"left in the ledger: {shorter(self.remaining, ROUND_DOWN)}"]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return {
            "columns": dict(self.source.kinds),
            self.adjacency.unit: self.source.size if self.adjacency.size_is_public else None,
            "whose": self.whose,
            "where": [str(condition) for condition in self.conditions],
            "schema": self.schema.name or None,
            "inferred": self.inferred,
            "spent": self.spent.to_dict(),
            "remaining": None if self.remaining is None else self.remaining.to_dict(),
        }

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.table().html()

    def __repr__(self) -> str:
        return self.describe()


class SessionColumn:
    """One column of a session. Each call is one release, with the options of the function of that name.

    >>> from uptack.session import open
    >>> column = open({"age": [31.5, 44.0]})["age"]
    >>> "median" in dir(column), "stable_value" in dir(column)
    (True, False)
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session, self._name = session, name

    def __getattr__(self, name: str) -> Callable[..., Made]:
        """The release function of that name for this column: any that `uptack.registry` has for one column."""
        declaration = _find(name, of_columns, "column")

        @functools.wraps(declaration.function)
        def call(*values: Any, **options: Any) -> Made:
            own, what = _positional(declaration), f"{name} of a column"
            placed = checks.positional(what, own, values, options, fix=NAME_OPTIONS)
            return self._session.run(Request(name, self._name, **placed, **options))

        return call

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_names(of_columns)]

    def __repr__(self) -> str:
        return f"column {self._name!r} of type {self._session.source.kinds[self._name]}"


def _names(where: Callable[[Declaration], bool]) -> list[str]:
    return [name for name, declaration in declared().items() if where(declaration)]


def _find(name: str, where: Callable[[Declaration], bool], whose: str) -> Declaration:
    """The release function of that name, of a session or a column."""
    try:
        if not name.startswith("_"):
            return find(name, where)
    except InvalidArgument:
        pass
    hint = OTHER_WORDS.get(name) or checks.did_you_mean(name, _names(where))
    raise AttributeError(f"a {whose} has no {name!r}.{hint and ' '}{hint}")


def _positional(declaration: Declaration) -> list[str]:
    return [option.name for option in declaration.options if option.positional]


def group_columns(what: str, named: Sequence[Any], options: dict[str, Any]) -> list[str]:
    """The columns whose combinations are counted. Another `by` is refused, and `by=None` is removed."""
    by = options.pop("by", None)
    if by is not None:
        fix = f"Pass its columns to {what} beside the others."
        raise InvalidArgument("by", f"left out of {what} with several columns", checks.describe(by), fix)
    return [checks.instance("columns", name, str, "names of columns") for name in named]


def column_names(columns: Iterable[Any]) -> tuple[Any, ...]:
    """Names of columns one by one, where some are in a list.

    >>> column_names(("cost", ["age", "wait"])), column_names(("cost", "age")), column_names(("cost", [0.5]))
    (('cost', 'age', 'wait'), ('cost', 'age'), ('cost', [0.5]))
    """

    def names_in(column: Any) -> Sequence[Any]:
        listed = isinstance(column, Collection) and not isinstance(column, str) and getattr(column, "ndim", 1) == 1
        names = tuple(column) if listed else ()
        return names if names and all(isinstance(name, str) for name in names) else (column,)

    return tuple(itertools.chain.from_iterable(map(names_in, columns)))


def is_formula(session: Session, first: object) -> bool:
    """Whether a first argument is a formula such as "cost ~ age" and not the name of a column."""
    return isinstance(first, str) and "~" in first and first not in session.source.kinds
