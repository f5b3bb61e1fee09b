"""A session ties a source of data, a budget and randomness together: whatever is asked of it is paid for first."""

from __future__ import annotations

import difflib
import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from uptack.data import Source, source
from uptack.data.files import Options, schema_of
from uptack.data.people import hidden, people
from uptack.data.protocol import known
from uptack.data.schema import Schema
from uptack.data.textfiles import Types
from uptack.errors import InvalidArgument, UptackError
from uptack.labels import label
from uptack.noise import Entropy
from uptack.noise.entropy import source as entropy_source
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Adjacency, Privacy, tight
from uptack.privacy.adjacency import adjacency as check_adjacency
from uptack.privacy.loss import Approximate, Loss
from uptack.privacy.words import whose
from uptack.progress import track
from uptack.registry import Declaration, declared, find
from uptack.session.kinds import settled, told
from uptack.session.paid import PaidPlan
from uptack.session.plan import Plan, PlannedRelease, expected_error, total_cost
from uptack.session.requests import Made, Request, in_tables
from uptack.session.shown import ShownSession
from uptack.session.units import about, called, check_ledger
from uptack.statistics.arguments import asked

if TYPE_CHECKING:
    from uptack.ledger import Ledger

LONGEST = 300
"""Characters of a line in the ledger."""


def open(
    data: Any,
    *,
    ledger: Ledger | None = None,
    analyst: str | None = None,
    table: str | None = None,
    adjacency: Adjacency | None = None,
    rows_per_person: int = 1,
    person: str | Sequence[str] | None = None,
    noun: str | None = None,
    missing: Any = "drop",
    types: Types = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    na: str | Sequence[str] | None = None,
    entropy: Entropy | None = None,
) -> Session:
    """A session on data wherever they are: a file, a data frame, a table of a database or cluster.

    `data` is whatever `uptack.data.source` takes. With a `ledger` every release is debited, durably, before the data
    are touched; `analyst` says on whose behalf. The other arguments are what each release is made with unless it says
    otherwise; a request may raise `rows_per_person`, not lower it. `types` says what the columns of a CSV file hold,
    and `delimiter`, `header`, `encoding`, `decimal`, `thousands` and `na` how it is written: see `uptack.data.source`.
    Types that are guessed are kept by the ledger, and used again the next time. An error about missing values is an
    answer about the data, so `missing="error"` is for a curator who opens a session with it.

    `person` names the column of ids that says whose each row is, or several for an id of several columns. Then people
    are protected, with all their rows, and the number of people takes the place of that of rows, which is secret. Rows
    without an id are left out, and ids can't be asked about. Without `person` rows are protected; `noun` is what
    one row is, for those who read of it, "row" unless given.

    A schema beside a file, `FILE.uptack.toml`, says what no argument says: how the file is written, `person`, `noun`
    and `adjacency`, and what statistics of a column are told, such as its granularity (`uptack.data.schema`).

    Each release reads one state of the table, and counts its rows anew. Threads may share a session: where they share a
    connection to an engine, one release is made after the other.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> session = open({"age": np.arange(20, 80).repeat(100)}, entropy=SeededEntropy(1))
    >>> session["age"].median(epsilon=0.5).value
    49.0
    >>> session.spent
    Privacy(epsilon=0.5)
    """
    schema = schema_of(data) or Schema()
    usual = ADD_REMOVE if schema.adjacency == "add-remove" else SUBSTITUTE
    relation = check_adjacency(usual if adjacency is None else adjacency, rows_per_person)
    relation = about(relation, person if person is not None or relation.person else schema.person or None)
    if ledger is not None:
        check_ledger(ledger, relation)
    asked("session", 1, {"missing": missing})
    how = Options(
        table=table, types=types, delimiter=delimiter, header=header, encoding=encoding, decimal=decimal,
        thousands=thousands, na=na,
    )  # fmt: skip
    rows = source(data, **settled(data, schema.filled(how), ledger).given())
    theirs = people(rows, relation.person) if relation.person else rows
    word = called((schema.noun or "row") if noun is None else noun)
    return Session(theirs, ledger, analyst, relation, missing, entropy_source(entropy), word, schema)


class Session(ShownSession):
    """Releases from one source, paid from one budget. Made by `uptack.open`."""

    def __init__(
        self,
        data: Source,
        ledger: Ledger | None,
        analyst: str | None,
        adjacency: Adjacency,
        missing: Any,
        entropy: Entropy,
        noun: str = "row",
        schema: Schema | None = None,
    ) -> None:
        self.source, self.ledger, self.analyst, self.adjacency, self.noun = data, ledger, analyst, adjacency, noun
        self._missing, self._entropy, self.schema = missing, entropy, schema or Schema()
        self.spent, self._adding = Privacy(0, 0, adjacency), threading.Lock()

    def __getitem__(self, name: str) -> SessionColumn:
        hidden(name, self.adjacency.person)
        known(name, self.source.columns)
        return SessionColumn(self, name)

    def run(self, request: Request) -> Made:
        """Make one release: rehearse it on public numbers, debit it, and only then read the data.

        A request that public numbers alone refuse (⊥) costs nothing. Whatever happens after the debit, it stands.
        """
        request = self.complete(request)
        with self.snapshot():
            refusal = request.rehearse(self.source)
            if refusal is not None:
                return refusal
            make = functools.partial(self._make, request)
            if self.ledger is None:
                return make()
            return self.ledger.charged(request.cost, make, what=_label(request), analyst=self.analyst)

    def snapshot(self) -> AbstractContextManager[None]:
        """One state of the table for all that is read inside: what is in memory has only one."""
        snapshot: AbstractContextManager[None] = getattr(self.source, "snapshot", nullcontext)()
        return snapshot

    def one_state(self) -> AbstractContextManager[object]:
        """One state of the table for all releases that are made inside: each column of it is read once for them."""
        state: AbstractContextManager[object] = getattr(self.source, "one_state", nullcontext)()
        return state

    def _make(self, request: Request) -> Made:
        with self._adding:
            self.spent = total_cost([self.spent, request.cost], self.spent)
        return self.paid_for(request)

    def paid_for(self, request: Request) -> Made:
        """The release of a complete request whose cost has been debited. One that says it cost more is withheld."""
        made = self._read(request)
        claimed = made.privacy
        if not isinstance(claimed, Privacy) or not claimed.under(self.adjacency) <= request.cost.under(self.adjacency):
            raise UptackError(f"{request} came with {claimed}, more than was debited; it is withheld")
        return made

    def _read(self, request: Request) -> Made:
        """What the request makes of the rows; an error of the engine that reads them might show one, so another takes
        its place. Errors are raised outside of the block that catches them: inside, Python would keep the
        first error as the context of the next, and show both.
        """
        try:
            return request.make(self.source, self._entropy)
        except (KeyboardInterrupt, SystemExit):
            raise
        except UptackError as known_error:
            error = known_error
        except BaseException:
            error = UptackError("the rows could not be read, so nothing is released; the debit stands")
        error.__context__ = error.__cause__ = None
        raise error

    def plan(self, requests: Iterable[Request]) -> Plan:
        """What so many releases would cost, and how close they would be. Looks at no data and spends nothing."""
        lines = []
        with self.snapshot():
            for request in map(self.complete, requests):
                refusal = request.rehearse(self.source)
                cost = request.cost if refusal is None else Privacy(0, 0, request.cost.adjacency)
                error = "" if refusal is not None else expected_error(request, self.source.rows)
                tree = None if refusal is not None else self.loss_of(request)
                lines.append(PlannedRelease(request, cost, refusal, error, tree))
        whole = total_cost([line.cost for line in lines], self.spent)
        return Plan(tuple(lines), whole, self.remaining)

    def loss_of(self, request: Request) -> Loss:
        """What a request will do to the data, at most, for the neighbours that this session speaks of."""
        full = self.complete(request)
        if full.cost.adjacency == self.adjacency:
            return full.loss(self.source.rows)
        wider = full.cost.under(self.adjacency)
        return Approximate(wider.exact_epsilon, wider.exact_delta)

    def pay(self, trees: Iterable[Loss], delta: Any, what: str) -> PaidPlan:
        """Debit releases whose losses are all fixed beforehand, together and tightly: see `PaidPlan`."""
        fixed = tuple(trees)
        price = tight(fixed, delta, self.adjacency)
        if self.ledger is not None:
            self.ledger.debit_plan(fixed, delta=delta, what=what, analyst=self.analyst, adjacency=self.adjacency)
        with self._adding:
            self.spent = total_cost([self.spent, price], self.spent)
        return PaidPlan(self, fixed, price)

    def run_all(self, requests: Iterable[Request], *, progress: bool | None = None) -> list[Made]:
        """Make several releases one after the other, with a progress line."""
        waiting = list(requests)
        return [self.run(request) for request in track(waiting, "releases", show=progress, total=len(waiting))]

    def count(self, *, epsilon: Any, **options: Any) -> Made:
        """How many rows there are; under ADD_REMOVE, where that is secret."""
        return self.run(Request("count", epsilon=epsilon, **options))

    def regression(self, y: str, x: str | Iterable[str] | None = None, *, epsilon: Any, **options: Any) -> Made:
        """A linear regression of one column on others, or on all other numeric ones: `uptack.linear_regression`."""
        return self.run(Request("regression", y, *self.predictors(y, x), epsilon=epsilon, **options))

    def shortcut_regression(
        self, y: str, x: str | Iterable[str] | None = None, *, epsilon: Any, **options: Any
    ) -> Made:
        """The same by `uptack.shortcut_regression`."""
        return self.run(Request("shortcut_regression", y, *self.predictors(y, x), epsilon=epsilon, **options))

    def scatter(self, *columns: str, epsilon: Any, **options: Any) -> Made:
        """A centre and a robust scatter matrix of columns, or of all numeric ones: `uptack.scatter`."""
        return self.run(Request("scatter", *(columns or self.numeric), epsilon=epsilon, **options))

    def robust_regression(self, y: str, x: str | Iterable[str] | None = None, *, epsilon: Any, **options: Any) -> Made:
        """The same by `uptack.hampel_regression`."""
        return self.run(Request("robust_regression", y, *self.predictors(y, x), epsilon=epsilon, **options))

    def __getattr__(self, name: str) -> Callable[..., Made]:
        """The release function of that name, of several columns: `session.kendall_tau("age", "cost", epsilon=1)`."""
        several = {} if name.startswith("_") else {n: d for n, d in declared().items() if of_several(d)}
        if name not in several:
            near = difflib.get_close_matches(name, several, n=1)
            raise AttributeError(f"a session has no {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))

        @functools.wraps(several[name].function)
        def ask(*columns: Any, **options: Any) -> Made:
            own = [option.name for option in several[name].options if option.positional]
            named = tuple(column for column in columns if isinstance(column, str))
            if len(values := columns[len(named) :]) > len(own):
                raise TypeError(f"{name}() takes names of columns and at most {len(own)} other positional arguments")
            return self.run(Request(name, *named, **dict(zip(own, values, strict=False)), **options))

        return ask

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name, declaration in declared().items() if of_several(declaration))]

    def predictors(self, y: str, x: str | Iterable[str] | None) -> tuple[str, ...]:
        """The columns that y is regressed on."""
        if x is None:
            return tuple(name for name in self.numeric if name != y)
        return (x,) if isinstance(x, str) else tuple(x)

    @property
    def numeric(self) -> tuple[str, ...]:
        """The names of the columns of numbers."""
        return tuple(name for name, kind in self.source.columns.items() if kind in ("integer", "number"))

    @property
    def private(self) -> bool:
        """Whether the randomness is one that nobody can foresee."""
        return self._entropy.private

    @property
    def remaining(self) -> Privacy | None:
        """What the ledger has left for this analyst; None without a ledger."""
        return None if self.ledger is None else self.ledger.remaining(self.analyst)

    @property
    def whose(self) -> str:
        """Whose privacy is meant, in words."""
        return whose(self.adjacency, self.noun)

    def describe(self) -> str:
        """The public side of the session: whose privacy it keeps, columns and their types, the budget.

        The number of rows, or of people, is shown where it is public.

        >>> import numpy as np
        >>> print(open({"age": np.array([31.5, 44.0]), "town": np.array(["a", "b"])}).describe())
        2 rows (substitute)
        Each row is protected. A person who is in several of them is protected in each, not in all together.
          age   number
          town  text
        spent: ε = 0.0 (substitute)
        """
        secret = not self.adjacency.size_is_public
        names = {name: label(name) for name in self.source.columns}
        width = max(map(len, names.values()), default=0)
        size = "a secret number of" if secret else f"{self.source.rows:,}"
        lines = [f"{size} {self.adjacency.unit} ({self.adjacency})", self.whose]
        lines += [f"  {names[name]:<{width}}  {kind}" for name, kind in self.source.columns.items()]
        lines += [f"as {label(self.schema.name)} says"] if self.schema.name else []
        lines.append(f"spent: {self.spent}")
        if self.remaining is not None:
            lines.append(f"left:  {self.remaining}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        public = self.adjacency.size_is_public
        return {
            "columns": dict(self.source.columns),
            self.adjacency.unit: self.source.rows if public else None,
            "whose": self.whose,
            "schema": self.schema.name or None,
            "spent": self.spent.to_dict(),
            "remaining": None if self.remaining is None else self.remaining.to_dict(),
        }

    def complete(self, request: Request) -> Request:
        """The request with the session's defaults, which it may tighten and not loosen."""
        plain, rows = self.adjacency.per_person(1), self.adjacency.rows_per_person
        full = told(request, self.schema).with_defaults(missing=self._missing, adjacency=plain, rows_per_person=rows)
        full = full.about(self.adjacency.person)
        if full.cost.adjacency.rows_per_person < rows:
            raise InvalidArgument("rows_per_person", f"at least {rows}, as the session has it", "fewer")
        if full.given.get("missing") == "error" and self._missing != "error":
            fix = "An error about missing values would tell of the data; open the session with missing='error'."
            raise InvalidArgument("missing", "another one than 'error' in this session", "'error'", fix)
        full.cost.under(self.adjacency)  # neighbours that this session does not speak of are refused here
        return full


def _label(request: Request) -> str:
    """What a ledger says of a request: one printable line of moderate length."""
    text = "".join(c if c.isprintable() else "?" for c in str(request))
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


class SessionColumn:
    """One column of a session. Each call is a release of its own, with the options of the function of that name.

    >>> column = open({"age": [31.5, 44.0]})["age"]
    >>> "median" in dir(column), "stable_value" in dir(column)
    (True, False)
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session, self._name = session, name

    def __getattr__(self, name: str) -> Callable[..., Made]:
        """The release function of that name, of this column: whatever `uptack.registry` has for one column."""
        if name.startswith("_") or name not in self._names():
            near = difflib.get_close_matches(name, self._names(), n=1)
            raise AttributeError(f"a column has no {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        declaration = find(name, of_columns)

        @functools.wraps(declaration.function)
        def ask(*values: Any, **options: Any) -> Made:
            own = [option.name for option in declaration.options if option.positional]
            if len(values) > len(own):
                raise TypeError(f"{name}() takes at most {len(own)} positional arguments, got {len(values)}")
            given = {**dict(zip(own, values, strict=False)), **options}
            return self._session.run(Request(name, self._name, **given))

        return ask

    @staticmethod
    def _names() -> list[str]:
        return [name for name, declaration in declared().items() if of_columns(declaration)]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._names()]


def of_several(declaration: Declaration) -> bool:
    """Whether a release function is asked about several columns side by side."""
    return in_tables(declaration) and declaration.reads.least > 1


def of_columns(declaration: Declaration) -> bool:
    """Whether a release function can be asked about one column."""
    return in_tables(declaration) and declaration.reads.least <= 1
