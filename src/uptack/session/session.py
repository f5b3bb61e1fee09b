"""A session: a table, a budget and a source of randomness. Every release is debited before data are read.

`session["age"].median(...)` and `session.median("age", ...)` are the release functions of `uptack.registry`.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from uptack import checks, interrupts
from uptack.discrete.histograms import as_crosstab
from uptack.display import FigureTable
from uptack.display.tabular import aligned
from uptack.errors import InvalidArgument, UptackError, WrongArguments
from uptack.labels import label
from uptack.noise import Entropy
from uptack.privacy import Adjacency, Privacy, tight
from uptack.privacy.guarantee import total, whose
from uptack.privacy.loss import Approximate, Loss
from uptack.progress import track
from uptack.registry import Declaration, declared, find
from uptack.session.plan import PaidPlan, Plan, PlannedRelease, Spending, expected_error
from uptack.session.requests import DROPS, Made, Request, check_fits, in_tables, one_line, rows_used, schema_options
from uptack.table.conditions import FIX, MAPPING, MOST_CONDITIONS, Condition, conditions, parse_conditions
from uptack.table.names import hidden, known
from uptack.table.protocol import Table
from uptack.table.schema import Schema

if TYPE_CHECKING:
    from uptack.ledger import Ledger


Method = TypeVar("Method", bound=Callable[..., Any])

INFERRED = "Types were inferred from the data and are now public. Correct them with types=, or save them in a schema."


def checked(without_epsilon: Callable[..., object]) -> Callable[[Method], Method]:
    """A method that names what is missing in a call, or is too much, in uptack's own errors.

    A call without ε may have misspelt it, so its options are handed to `without_epsilon` first, which refuses them.
    """

    def decorate(method: Method) -> Method:
        name, (_, *own) = method.__name__, inspect.signature(method).parameters.values()
        known_names = {one.name for one in own}
        places = [one.name for one in own if one.kind is one.POSITIONAL_OR_KEYWORD]
        needed = [one.name for one in own if one.name in places and one.default is one.empty]
        most = None if any(one.kind is one.VAR_POSITIONAL for one in own) else len(places)

        @functools.wraps(method)
        def call(session: Session, /, *arguments: Any, **options: Any) -> Any:
            check_places(name, places, arguments, most)
            placed(places, arguments, options)
            if "epsilon" not in options:
                without_epsilon(**{key: value for key, value in options.items() if key not in known_names})
                raise InvalidArgument("epsilon", "given, such as epsilon=1", "nothing")
            for place in needed[len(arguments) :]:
                if place not in options:
                    raise InvalidArgument(place, f"given to {name}", "nothing")
            return method(session, *arguments, **options)

        return cast(Method, call)

    return decorate


def _report_options(**options: Any) -> None:
    """Refuse options that a report does not have."""
    from uptack.report.profile import check_options  # which imports sessions

    check_options(options, of_session=True)


class Session:
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
            hidden(name, self.source.unit.ids)
        made = copy(self)
        made.conditions = (*self.conditions, *conditions(given, self.source.kinds, self.source.forms))
        made.source = self.whole.where(made.conditions)
        return made

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
                tree = None if refusal is not None else self.loss_at(request)
                lines.append(PlannedRelease(request, cost, refusal, error, tree))
        whole = total([line.cost.under(self.adjacency) for line in lines], self.adjacency)
        return Plan(tuple(lines), whole, self.remaining)

    def loss_of(self, request: Request) -> Loss:
        """An upper bound on the loss of a request, under the adjacency of this session."""
        return self.loss_at(self.complete(request))

    def loss_at(self, full: Request, epsilon: Fraction | None = None) -> Loss:
        """The same for a complete request, at its own ε or at another one."""
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
        """Make several releases one after the other, with a progress line."""
        waiting = list(requests)
        return [self.run(request) for request in track(waiting, "releases", show=progress, total=len(waiting))]

    @checked(functools.partial(Request, "count"))
    def count(self, *columns: str, epsilon: Any, **options: Any) -> Made:
        """How many rows are true in a column of truth values; without one, how many rows there are.

        With `by=`, how many in each group.
        """
        return self.run(Request("count", *columns, epsilon=epsilon, **options))

    @checked(functools.partial(Request, "histogram"))
    def histogram(self, *columns: str | Iterable[str], epsilon: Any, **options: Any) -> Made:
        """How often each value of a column occurs, or each combination of values of several: `uptack.histogram`.

        Of several columns it is `count(by=columns)`, with `groups=` for public combinations, or `delta=` to find those
        that are frequent.
        """
        named = spread(columns)
        if len(named) < 2:
            return self.run(Request("histogram", *named, epsilon=epsilon, **options))
        return self.run(Request("count", by=columns_of("histogram", named, options), epsilon=epsilon, **options))

    @checked(functools.partial(Request, "count"))
    def crosstab(
        self,
        rows: str | Iterable[str] | None = None,
        columns: str | None = None,
        *others: str,
        epsilon: Any,
        **options: Any,
    ) -> Made:
        """Counts by two columns, as a two-way table: those of `histogram(rows, columns)`, for the same ε."""
        named = spread(name for name in (rows, columns, *others) if name is not None)
        if len(named) != 2:
            fix = "For more of them there is histogram." if len(named) > 2 else ""
            raise WrongArguments("crosstab", "2 columns", len(named), fix)
        by = columns_of("crosstab", named, options)
        return as_crosstab(self.run(Request("count", by=by, epsilon=epsilon, **options)))

    @checked(functools.partial(Request, "count"))
    def margins(
        self, *columns: str | Iterable[str], which: int = 1, epsilon: Any, delta: Any = 0, **options: Any
    ) -> dict[tuple[str, ...], Made]:
        """The counts of all combinations of `which` columns out of several: one table each, for one ε in all.

        **Theorem.** (ε, δ)-differentially private: each of the k tables has ε/k and δ/k, and their losses add up.
        """
        named = columns_of("margins", spread(columns), options)
        if not named:
            raise WrongArguments("margins", "1 or more columns", 0)
        size = checks.integer("which", which, least=1)
        chosen = list(itertools.combinations(named, size))
        if not chosen:
            raise InvalidArgument("which", f"at most the number of columns, {len(named)}", which)
        share = {"epsilon": checks.epsilon(epsilon) / len(chosen)}
        chance = checks.delta("delta", 0 if delta is None else delta)
        share |= {"delta": chance / len(chosen)} if chance else {}
        requests = [Request("count", by=list(names), **share, **options) for names in chosen]
        self.plan(requests)  # whatever is wrong with one of them is said before the first is paid for
        return {names: self.run(request) for names, request in zip(chosen, requests, strict=True)}

    @checked(functools.partial(Request, "regression"))
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

    @checked(functools.partial(Request, "shortcut_regression"))
    def shortcut_regression(
        self, y: str, x: str | Iterable[str] | None = None, *others: str, epsilon: Any, **options: Any
    ) -> Made:
        """The same by `uptack.shortcut_regression`."""
        named = (y, *self.predictors(y, x, *others))
        return self.run(Request("shortcut_regression", *named, epsilon=epsilon, **options))

    @checked(functools.partial(Request, "synthetic"))
    def synthetic(self, *columns: str | Iterable[str], epsilon: Any, **options: Any) -> Made:
        """Synthetic rows of columns, or of all of them: `uptack.synthetic`."""
        return self.run(Request("synthetic", *(spread(columns) or self.source.kinds), epsilon=epsilon, **options))

    @checked(functools.partial(Request, "scatter"))
    def scatter(self, *columns: str | Iterable[str], epsilon: Any, **options: Any) -> Made:
        """A centre and a robust scatter matrix of columns, or of all numeric ones: `uptack.scatter`."""
        return self.run(Request("scatter", *(spread(columns) or self.numeric), epsilon=epsilon, **options))

    @checked(functools.partial(Request, "robust_regression"))
    def robust_regression(
        self, y: str, x: str | Iterable[str] | None = None, *others: str, epsilon: Any, **options: Any
    ) -> Made:
        """The same by `uptack.hampel_regression`."""
        named = (y, *self.predictors(y, x, *others))
        return self.run(Request("robust_regression", *named, epsilon=epsilon, **options))

    def __getattr__(self, name: str) -> Callable[..., Made]:
        """The release function of that name, of the named columns: `session.median("age", epsilon=1)`."""
        declaration = _find(name, in_tables, "session")
        own = [option.name for option in declaration.options if option.positional]

        @functools.wraps(declaration.function)
        def call(*columns: Any, **options: Any) -> Made:
            if "formula" in declaration.allowed and len(columns) == 1 and is_formula(self, columns[0]):
                return self.run(formula_request(name, columns[0], **options))
            columns = spread(columns)
            named = tuple(itertools.takewhile(lambda column: isinstance(column, str), columns))
            values = columns[len(named) :]
            if values and not own:
                raise InvalidArgument("columns", "names of columns", checks.describe(values[0]))
            check_places(f"{name}, after the names of columns,", own, values, len(own))
            return self.run(Request(name, *named, **placed(own, values, options), **options))

        return call

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_names(in_tables)]

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
        stated = f"{self.schema.privacy_unit} " if self.schema.privacy_unit else ""
        return stated + whose(self.adjacency, self.noun) + rows_used(self.conditions)

    def line(self, what: object) -> str:
        """The line of the ledger for a request, with the conditions."""
        return one_line(what, self.conditions)

    def complete(self, request: Request) -> Request:
        """The request with the defaults of the session, which it may tighten but not loosen."""
        if request.completed_by is self:
            return request
        rows, usual = self.adjacency.rows_per_person, request.declaration.missing
        defaults = {"adjacency": self.adjacency.per_person(1), "rows_per_person": rows}
        if usual is not None and "missing" in request.declaration.allowed:
            defaults["missing"] = self._missing if self._missing == "error" or usual == "drop" else usual
        given = {**defaults, **schema_options(request, self.schema, self.source.kinds)}
        relation = given["adjacency"]
        if self.adjacency.person and isinstance(relation, Adjacency) and not relation.person:
            given["adjacency"] = relation.by_person(*self.adjacency.person)
        full = Request(request.statistic, *request.columns, **given)
        if full.cost.adjacency.rows_per_person < rows:
            raise InvalidArgument("rows_per_person", f"at least {rows}, as in the session", "fewer")
        if given.get("missing") == "error" and self._missing != "error":
            fix = "Such an error would reveal something about the data. The curator can open a session with it."
            raise InvalidArgument("missing", "other than 'error' in this session", "'error'", fix)
        check_fits(full, self.conditions)
        full.cost.under(self.adjacency)  # refuses an adjacency that the session does not imply
        object.__setattr__(full, "completed_by", self)
        return full

    # ------------------------------------------------------------------------------------------- how it is displayed

    @checked(_report_options)
    def report(self, *, epsilon: Any, **options: Any) -> Any:
        """A private profile of the whole table, paid from this session's budget: `uptack.report`, with its options."""
        from uptack.report import report  # which imports sessions

        return report(self, epsilon=epsilon, **options)

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
        columns = [(label(name), kind) for name, kind in self.source.kinds.items()]
        lines = [self._size(), self.whose, *(f"  {line}" for line in aligned(columns))]
        lines += [f"schema: {label(self.schema.name)}"] if self.schema.name else []
        lines += [INFERRED] if self.inferred else []
        lines.append(f"spent: {self.spent}")
        lines += [] if self.remaining is None else [f"left:  {self.remaining}"]
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
        own = [option.name for option in declaration.options if option.positional]

        @functools.wraps(declaration.function)
        def call(*values: Any, **options: Any) -> Made:
            check_places(f"{name} of a column", own, values, len(own))
            return self._session.run(Request(name, self._name, **placed(own, values, options), **options))

        return call

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_names(of_columns)]


def of_columns(declaration: Declaration) -> bool:
    """Whether a release function needs one column only."""
    return in_tables(declaration) and declaration.reads.least <= 1


def _names(where: Callable[[Declaration], bool]) -> list[str]:
    return [name for name, declaration in declared().items() if where(declaration)]


def _find(name: str, where: Callable[[Declaration], bool], whose: str) -> Declaration:
    """The release function of that name, of a session or a column."""
    try:
        if not name.startswith("_"):
            return find(name, where)
    except InvalidArgument:
        pass
    near = difflib.get_close_matches(name, _names(where), n=1)
    raise AttributeError(f"a {whose} has no {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def check_places(what: str, places: Sequence[str], values: Sequence[Any], most: int | None) -> None:
    """Refuse more positional arguments than there are places for; None is for any number of them."""
    if most is not None and len(values) > most:
        number = f"{most} positional argument{'s' if most != 1 else ''} ({', '.join(places)})"
        raise WrongArguments(what, number if most else "no positional arguments", len(values), "Name options.")


def placed(own: Sequence[str], values: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Positional arguments by their names. One that is named too is refused."""
    found = dict(zip(own, values, strict=False))
    for name in found:
        if name in options:
            raise InvalidArgument(name, "given once", f"it by place and as {name}=")
    return found


def columns_of(what: str, named: Sequence[Any], options: dict[str, Any]) -> list[str]:
    """The columns of a table of counts, which are its groups. It has no other `by`: None is taken out of `options`."""
    by = options.pop("by", None)
    if by is not None:
        fix = f"Pass its columns to {what} beside the others."
        raise InvalidArgument("by", f"left out of {what} with several columns", checks.describe(by), fix)
    for name in named:
        if not isinstance(name, str):
            raise InvalidArgument("columns", "names of columns", checks.describe(name))
    return list(named)


def spread(columns: Iterable[Any]) -> tuple[Any, ...]:
    """Names of columns one by one, where some are in a list or a tuple.

    >>> spread(("cost", ["age", "wait"])), spread(("cost", "age"))
    (('cost', 'age', 'wait'), ('cost', 'age'))
    """
    listed = [c if isinstance(c, list | tuple) and c and all(isinstance(n, str) for n in c) else (c,) for c in columns]
    return tuple(itertools.chain.from_iterable(listed))


def is_formula(session: Session, first: object) -> bool:
    """Whether a first argument is a formula such as "cost ~ age" and not the name of a column."""
    return isinstance(first, str) and "~" in first and first not in session.source.kinds


def formula_request(statistic: str, text: object, /, **options: Any) -> Request:
    """The request of a function whose first argument is a formula."""
    if options.get("formula") is not None:
        raise InvalidArgument("formula", "given once", "two formulas")
    return Request(statistic, **{**options, "formula": text})
