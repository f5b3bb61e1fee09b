"""The ledger of a data set: a budget, and an append-only record of what was spent from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import ROUND_DOWN, ROUND_UP
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection

from uptack import checks
from uptack.display import FigureTable, Record, Tabular
from uptack.errors import InvalidArgument, LedgerCorrupt, LedgerError, UptackError, shorter
from uptack.exact import Rational
from uptack.labels import label
from uptack.ledger import entry_chain, ledger_store
from uptack.ledger.admission import Balance, brief
from uptack.ledger.entry_chain import GENESIS, Entry, Fault, Head, Row, Verification, amount, as_loss
from uptack.privacy import SUBSTITUTE, Adjacency, Privacy, cost, tight
from uptack.privacy.guarantee import adjacency as check_adjacency
from uptack.privacy.guarantee import short
from uptack.privacy.loss import Composed, Loss

T = TypeVar("T")
LONGEST_TEXT = 1000


class Ledger(Tabular):
    """A privacy budget on disk, shared by all who query a data set.

    `place` is the path of an SQLite file, or the URL of a PostgreSQL database. With `epsilon` the ledger of the data
    set is created, or opened if it exists with the same budget. Without `epsilon` it is opened. A budget never changes.

    **Theorem.** All releases that were debited, by anyone, with parameters chosen in any way from earlier answers, are
    together (ε, δ)-differentially private under the ledger's adjacency, where (ε, δ) is the budget. The assumption is
    that each is debited before it runs, at a guarantee that holds for it. Proof: `uptack.ledger.admission`.

    For a person who is in two data sets, the two budgets add up.

    - `dataset`: one place may hold the ledgers of several data sets.
    - `analyst`: who debits, unless `debit` names another; None is the curator.
    - `adjacency`: the adjacency of the budget; `SUBSTITUTE` unless another is given when the ledger is created.
    - `timeout`: how many seconds to wait for other writers.

    >>> import tempfile, pathlib
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "budget.db"
    >>> ledger = Ledger(place, epsilon=1, delta=1e-6)
    >>> ledger.debit(Privacy(0.4), what="median of age").number
    2
    >>> Ledger(place).remaining()
    Privacy(epsilon=0.6, delta=1e-06)
    >>> ledger.debit(Privacy(0.7), what="mean of income")
    Traceback (most recent call last):
    uptack.errors.BudgetExceeded: ε = 0.7 (substitute) exceeds what is left of the budget: ...
    """

    def __init__(
        self,
        place: str | Path,
        epsilon: Rational | None = None,
        delta: Rational | None = None,
        *,
        dataset: str = "data",
        analyst: str | None = None,
        adjacency: Adjacency | None = None,
        timeout: float = 30.0,
    ) -> None:
        if not isinstance(place, str | Path):
            raise InvalidArgument("place", "a path or a URL", checks.describe(place))
        self.dataset, self.analyst = _text("dataset", dataset), None if analyst is None else _text("analyst", analyst)
        budget = _new_budget(epsilon, delta, adjacency)
        self._store = ledger_store.Store(place, float(checks.positive("timeout", timeout)))
        known = self._store.datasets() if self._store.exists() else []
        if dataset not in known:
            if budget is None:
                fix = (
                    "To create one: `uptack ledger create`, or in Python uptack.Ledger(PLACE, epsilon=..., delta=...)."
                )
                if known:
                    fix = f"It has {', '.join(map(repr, known))}. Pass epsilon= to add another."
                problem = f"has no data set {dataset!r}" if known else "does not exist, or has no ledger"
                raise LedgerError(self.where, problem, fix)
            nothing = Privacy(0, 0, budget.adjacency)
            with self._store.creating() as connection:
                if ledger_store.head(connection, self.dataset) is None:  # else another process was faster
                    words, balance = ("budget", "", "the budget"), Balance(budget, nothing, nothing)
                    self._append(connection, None, words, budget, balance, budget.adjacency, None)
        with self._store.reading() as connection:
            self.budget = self._stored_budget(connection)
        if budget is not None and budget != self.budget:
            problem = f"has a budget of {self.budget} for {dataset!r}, not of {budget}"
            raise LedgerError(self.where, problem, "A budget never changes. Open the ledger without epsilon.")

    @property
    def where(self) -> str:
        """The file, or the URL without its password."""
        return self._store.name

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of the budget."""
        return self.budget.adjacency

    def debit(
        self, spent: Privacy | Loss, *, what: str, analyst: str | None = None, adjacency: Adjacency | None = None
    ) -> Entry:
        """Debit the cost of a release, permanently, before the release runs.

        This is one transaction. When it returns, the debit is on disk. If the request is refused or wrong, nothing was
        debited (`BudgetExceeded` has `requested` and `remaining`). If the database fails meanwhile (`LedgerError`), the
        debit may or may not stand, and nothing may be released.

        `spent` is a guarantee, or a loss tree under `adjacency` (by default the ledger's own). A guarantee under
        another adjacency is converted to the ledger's.

        `what` describes the release. It is kept permanently, so it must not reveal anything about the data.
        """
        if isinstance(spent, Loss):
            relation = self.adjacency if adjacency is None else check_adjacency(adjacency)
            return self._debit(spent, cost(spent, relation), what, analyst)
        fix = "Random differential privacy is weaker and can't be paid from this budget."
        checks.instance("spent", spent, Privacy, "a Privacy or a loss tree", fix)
        if adjacency is not None:
            raise InvalidArgument("adjacency", "left out, since a Privacy has its own", adjacency)
        if spent.exact_delta == 1:
            raise InvalidArgument("spent", "a guarantee with δ below 1", spent)
        return self._debit(as_loss(spent), spent, what, analyst)

    def debit_plan(
        self,
        trees: Iterable[Loss],
        *,
        delta: Rational,
        what: str,
        analyst: str | None = None,
        adjacency: Adjacency | None = None,
    ) -> Entry:
        """Debit several releases together, at their tight (ε, δ): one entry, often far below the sum.

        **Only for releases whose loss trees are all fixed before the first of them runs.** What is asked may still
        depend on earlier answers, the costs may not: such a list composes as if it were all fixed (Zhu, Dong and Wang
        2022, on dominating pairs; Bun and Steinke 2016, on zCDP). What is charged is the best of the ways of
        `uptack.privacy.tight`. With a δ of at least the sum's, never more than the sum of ε is charged.

        >>> import tempfile, pathlib
        >>> from uptack.privacy.loss import Pure
        >>> ledger = Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db", epsilon=6, delta=1e-6)
        >>> ledger.debit_plan([Pure(0.1)] * 100, delta=1e-6, what="a hundred medians").cost.epsilon < 6
        True
        """
        plan = Composed(tuple(trees))
        relation = self.adjacency if adjacency is None else check_adjacency(adjacency)
        return self._debit(plan, tight(plan.parts, delta, relation), what, analyst)

    def charge(self, spent: Privacy | Loss, run: Callable[[], T], *, what: str, analyst: str | None = None) -> T:
        """Debit, then run, and return what `run()` returns. The debit stands after a crash, an error or a ⊥.

        A result whose stated cost exceeds the debit is withheld.
        """
        paid = self.debit(spent, what=what, analyst=analyst)
        result = run()
        claimed = getattr(result, "privacy", None)
        if isinstance(claimed, Privacy) and not claimed.under(self.adjacency) <= paid.cost:
            raise UptackError(f"{what} cost {claimed}, more than the debit of {paid.cost}, so it is withheld")
        return result

    def _debit(self, tree: Loss, price: Privacy, what: str, analyst: str | None) -> Entry:
        """Checks the balance and adds a debit, in one transaction. The tree has this price under its adjacency."""
        what, name, cost = _text("what", what), self._name(analyst), brief(price.under(self.adjacency))
        with self._store.writing() as connection:
            last, balance = self._standing(connection, name, lock=True)
            named = f"the budget of {self.dataset!r}" if self.dataset != "data" else "the budget"
            whose = named if balance.allowance is None else f"what {name!r} may spend"
            after = balance.after(cost, whose)
            return self._append(connection, last, ("debit", name, what), cost, after, price.adjacency, tree)

    def _append(
        self, connection: Connection, last: Row | None, words: tuple[str, str, str], cost: Privacy, *after: Any
    ) -> Entry:
        """Adds an entry after `last`: its kind, analyst and description, its cost, and what `following` needs."""
        fields = dict(zip(("dataset", "kind", "analyst", "what"), (self.dataset, *words), strict=True))
        row = entry_chain.next_row(last, fields | entry_chain.amounts("", cost), *after)
        ledger_store.append(connection, row)
        return entry_chain.entry(row, cost.adjacency)

    def _name(self, analyst: str | None) -> str:
        """The analyst, or the one that this ledger was opened for; empty for the curator."""
        return _text("analyst", analyst) if analyst is not None else self.analyst or ""

    def allow(self, analyst: str, epsilon: Rational, delta: Rational = 0) -> Entry:
        """Grant an analyst an allowance within the budget. It replaces an earlier one.

        What she has already spent counts against it. Once one analyst has an allowance, analysts without one may spend
        nothing. The curator, who has no name, still may. `uptack.ledger.admission` says when an allowance is a
        guarantee against its analyst alone, and when it only rations the budget.
        """
        allowance, name = Privacy(epsilon, delta, self.adjacency), _text("analyst", analyst)
        with self._store.writing() as connection:
            last, balance = self._standing(connection, name, lock=True)
            words = "allowance", name, "an allowance"
            return self._append(connection, last, words, allowance, balance, self.adjacency, None)

    def remaining(self, analyst: str | None = None) -> Privacy:
        """What may still be spent: the budget minus all debits, and at most what is left of the analyst's allowance."""
        return self._balance(self._name(analyst)).remaining

    def spent(self, analyst: str | None = None) -> Privacy:
        """The sum of all debits, or of those of one analyst."""
        if analyst is None:
            return self._balance("").spent
        return self._balance(_text("analyst", analyst)).own

    def _balance(self, analyst: str) -> Balance:
        with self._store.reading() as connection:
            return self._standing(connection, analyst)[1]

    def history(self, analyst: str | None = None) -> list[Entry]:
        """All debits in order, or those of one analyst."""
        return self.entries(kind="debit", analyst=analyst)

    def entries(self, *, kind: str | None = None, analyst: str | None = None, latest: int | None = None) -> list[Entry]:
        """The entries in order: the budget, allowances and debits; of one kind, of one analyst, or only the latest."""
        who = None if analyst is None else _text("analyst", analyst)
        equal = {name: value for name, value in (("kind", kind), ("analyst", who)) if value is not None}
        with self._store.reading() as connection:
            relation = self._stored_budget(connection).adjacency
            rows = ledger_store.rows(connection, self.dataset, latest, **equal)
            return [entry_chain.entry(row, relation) for row in rows]

    def analysts(self) -> list[str]:
        """The analysts who have spent something, or have an allowance."""
        with self._store.reading() as connection:
            return ledger_store.analysts(connection, self.dataset)

    def tight(self, delta: Rational) -> Privacy:
        """What the history would have cost if all its loss trees had been fixed before the first release.

        **Not a guarantee if a cost was chosen in view of earlier answers.** It is never used to admit a request. It
        shows what `debit_plan` would have saved.
        """
        own = [(line, line.adjacency == self.adjacency) for line in self.history()]  # else the tree is about others
        trees = [line.loss if line.loss is not None and same else as_loss(line.cost) for line, same in own]
        return tight(trees, delta, self.adjacency)

    def head(self) -> Head:
        """Number and hash of the last entry. If you keep them elsewhere, `verify` notices a replaced ledger."""
        with self._store.reading() as connection:
            return self._head(connection)

    def verify(self, witness: Head | Entry | None = None) -> Verification:
        """Check every hash, every link, every sum and the head. True if all are right; else `fault` is the first fault.

        A `witness` is a head or an entry that was saved earlier. It must still be in the chain.
        """
        if witness is not None and not isinstance(witness, Head | Entry):
            raise InvalidArgument("witness", "a head or an entry of this ledger", checks.describe(witness))
        saved = None if witness is None else Head(witness.number, witness.hash)
        with self._store.reading() as connection:
            head = ledger_store.head(connection, self.dataset)
            return entry_chain.verify_chain(ledger_store.rows(connection, self.dataset), head, saved)

    # --------------------------------------------------------------------------------------------- inside a transaction

    def _head(self, connection: Connection, lock: bool = False) -> Head:
        head = ledger_store.head(connection, self.dataset, lock)
        if head is None:
            raise self._corrupt(1, "is missing")
        return head

    def _corrupt(self, number: int, reason: str) -> LedgerCorrupt:
        return LedgerCorrupt(self.where, Fault(number, reason))

    def _stored_budget(self, connection: Connection) -> Privacy:
        first = ledger_store.last(connection, self.dataset, number=1)
        if first is None:
            raise self._corrupt(1, "is missing")
        if first["previous"] != GENESIS:
            raise LedgerError(self.where, f"is not a {GENESIS}", "Open it with the version that wrote it.")
        return amount(first, "", entry_chain.neighbours(first))

    def _standing(self, connection: Connection, analyst: str, lock: bool = False) -> tuple[Row, Balance]:
        """The last entry, and what the analyst may spend. Once there are allowances, others may spend nothing.

        The last entries hold all sums, so a long chain is not slower. They are refused if the end of the chain was cut
        or changed. With `lock` no other transaction can add an entry until this one ends.
        """
        head = self._head(connection, lock)
        end = ledger_store.last(connection, self.dataset, number=head.number)
        if end is None:
            raise self._corrupt(head.number, "is missing: the end of the chain was cut off")
        if not entry_chain.digest(end) == end["hash"] == head.hash:
            raise self._corrupt(head.number, "was changed, or is not the one that the head names")
        budget = self._stored_budget(connection)
        nothing = Privacy(0, 0, budget.adjacency)
        mine = ledger_store.last(connection, self.dataset, kind="debit", analyst=analyst)
        own = amount(mine, "own_", budget.adjacency) if mine else nothing
        allowance = None
        if analyst and ledger_store.last(connection, self.dataset, kind="allowance"):
            grant = ledger_store.last(connection, self.dataset, kind="allowance", analyst=analyst)
            allowance = amount(grant, "", budget.adjacency) if grant else nothing
        return end, Balance(budget, amount(end, "spent_", budget.adjacency), own, allowance)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        lines = self.entries()
        return {
            "where": self.where,
            "dataset": self.dataset,
            "budget": self.budget.to_dict(),
            "spent": self.spent().to_dict(),
            "remaining": self._balance("").remaining.to_dict(),
            "allowances": {e.analyst: e.cost.to_dict() for e in lines if e.kind == "allowance"},
            "entries": [line.to_dict() for line in lines],
        }

    def records(self) -> list[Record]:
        """One line per entry: what was granted or spent, by whom, and what it cost."""
        return [
            {
                "number": entry.number, "time": entry.time, "kind": entry.kind, "analyst": entry.analyst,
                "what": entry.what, "epsilon": entry.cost.epsilon, "delta": entry.cost.delta,
            }
            for entry in self.entries()
        ]  # fmt: skip

    def table(self) -> FigureTable:
        """The same as a table, with what is spent and what is left."""
        cells = [
            (str(one["number"]), f"{one['time'][:19]}Z", one["kind"], label(one["analyst"]) if one["analyst"] else "",
             label(one["what"]), short(one["epsilon"]), short(one["delta"]))
            for one in self.records()
        ]  # fmt: skip
        spent, left = shorter(self.spent(), ROUND_UP), shorter(self.remaining(), ROUND_DOWN)
        notes = (f"budget: {self.budget}", f"spent: {spent}", f"left: {left}")
        head = ("", "time", "kind", "analyst", "what", "ε", "δ")
        return FigureTable(f"Ledger of {label(self.dataset)}", head, tuple(cells), notes, frozenset({0, 5, 6}))

    def __repr__(self) -> str:
        who = "" if self.analyst is None else f", analyst={self.analyst!r}"
        named = f"Ledger({self.where!r}, dataset={self.dataset!r}{who}, budget {self.budget}"
        try:
            return f"{named}, left {self.remaining()})"
        except UptackError:  # an unreadable ledger still has a name
            return f"{named})"


def _new_budget(epsilon: Rational | None, delta: Rational | None, adjacency: Adjacency | None) -> Privacy | None:
    if epsilon is None:
        if delta is not None or adjacency is not None:
            raise InvalidArgument("epsilon", "given if delta or adjacency is", "None", "A budget has all three.")
        return None
    least = checks.epsilon(epsilon, fix="It is the total budget of all releases.")
    relation = SUBSTITUTE if adjacency is None else check_adjacency(adjacency)
    return Privacy(least, 0 if delta is None else delta, relation)


def _text(name: str, value: object) -> str:
    """A short text that every database can keep."""
    must = f"a text of 1 to {LONGEST_TEXT} printable characters"
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_TEXT or not value.isprintable():
        raise InvalidArgument(name, must, checks.describe(value) if not isinstance(value, str) else repr(value[:40]))
    return value
