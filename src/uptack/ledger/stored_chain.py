"""The chain of one data set in a store: opening it, adding to it, reading it."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from uptack.errors import LedgerCorrupt, LedgerError
from uptack.ledger import ledger_store
from uptack.ledger.admission import Balance
from uptack.ledger.entry_chain import Fault, Head, Verification, following, walk
from uptack.ledger.ledger_entry import GENESIS, Entry, Row, amount, amounts, digest, entry, neighbours
from uptack.privacy import Adjacency, Privacy
from uptack.privacy.loss import Loss


class Book:
    """The entries of a data set. The last ones hold all sums that a debit needs, so a long chain is not slower."""

    def __init__(self, place: str | Path, dataset: str, timeout: float) -> None:
        self.store, self.dataset = ledger_store.Store(place, timeout), dataset

    def open(self, budget: Privacy | None) -> Privacy:
        """The budget of the data set. If it has none yet, the given one becomes its first entry."""
        known = self.store.datasets() if self.store.exists() else []
        if self.dataset not in known:
            if budget is None:
                raise self._unknown(known)
            self._begin(budget)
        with self.store.reading() as connection:
            return self._budget(connection)

    def _unknown(self, known: list[str]) -> LedgerError:
        if not known:
            return LedgerError(
                self.store.name,
                "does not exist, or has no ledger",
                "Pass epsilon= (`uptack ledger create`) to create one.",
            )
        fix = f"It has {', '.join(map(repr, known))}. Pass epsilon= to add another."
        return LedgerError(self.store.name, f"has no data set {self.dataset!r}", fix)

    def _begin(self, budget: Privacy) -> None:
        nothing = Privacy(0, 0, budget.adjacency)
        fields = {"dataset": self.dataset, "kind": "budget", "analyst": "", "what": "the budget", **amounts("", budget)}
        with self.store.creating() as connection:
            if ledger_store.head(connection, self.dataset) is None:  # else another process was faster
                first = following(None, fields, Balance(budget, nothing, nothing), budget.adjacency, None)
                ledger_store.append(connection, first)

    def debit(self, cost: Privacy, what: str, analyst: str, tree: Loss, relation: Adjacency) -> Entry:
        """Checks the balance and adds a debit, in one transaction."""
        with self.store.writing() as connection:
            end, balance = self._standing(connection, analyst, lock=True)
            whose = f"the budget of {self.dataset!r}" if balance.allowance is None else f"what {analyst!r} may spend"
            after = balance.after(cost, whose)
            fields = {"dataset": self.dataset, "kind": "debit", "analyst": analyst, "what": what, **amounts("", cost)}
            row = following(end, fields, after, relation, tree)
            ledger_store.append(connection, row)
        return entry(row, after.budget.adjacency)

    def allow(self, allowance: Privacy, analyst: str) -> Entry:
        """Adds an entry that grants an allowance."""
        with self.store.writing() as connection:
            end, balance = self._standing(connection, analyst, lock=True)
            fields = {"dataset": self.dataset, "kind": "allowance", "analyst": analyst, "what": "an allowance"}
            row = following(end, fields | amounts("", allowance), balance, allowance.adjacency, None)
            ledger_store.append(connection, row)
        return entry(row, allowance.adjacency)

    def balance(self, analyst: str) -> Balance:
        """What is spent and what is left."""
        with self.store.reading() as connection:
            return self._standing(connection, analyst)[1]

    def entries(self, **equal: str) -> list[Entry]:
        """The entries in order, filtered by values of columns."""
        with self.store.reading() as connection:
            relation = self._budget(connection).adjacency
            return [entry(row, relation) for row in ledger_store.rows(connection, self.dataset, **equal)]

    def head(self) -> Head:
        """The number and the hash of the last entry."""
        with self.store.reading() as connection:
            return self._head(connection)

    def verify(self, witness: Head | None) -> Verification:
        """Checks the whole chain in one transaction."""
        with self.store.reading() as connection:
            return walk(
                ledger_store.rows(connection, self.dataset), ledger_store.head(connection, self.dataset), witness
            )

    def _head(self, connection: Connection, lock: bool = False) -> Head:
        head = ledger_store.head(connection, self.dataset, lock)
        if head is None:
            raise self._damaged(1, "is missing")
        return head

    def _damaged(self, number: int, reason: str) -> LedgerCorrupt:
        return LedgerCorrupt(self.store.name, Fault(number, reason))

    def _budget(self, connection: Connection) -> Privacy:
        first = ledger_store.last(connection, self.dataset, number=1)
        if first is None:
            raise self._damaged(1, "is missing")
        if first["previous"] != GENESIS:
            raise LedgerError(self.store.name, f"is not a {GENESIS}", "Open it with the version that wrote it.")
        return amount(first, "", neighbours(first))

    def _standing(self, connection: Connection, analyst: str, lock: bool = False) -> tuple[Row, Balance]:
        """The last entry, and what the analyst may spend. Once there are allowances, others may spend nothing.

        With `lock` no other transaction can add an entry until this one ends.
        """
        end = self._end(connection, self._head(connection, lock))
        budget = self._budget(connection)
        nothing = Privacy(0, 0, budget.adjacency)
        mine = ledger_store.last(connection, self.dataset, kind="debit", analyst=analyst)
        own = amount(mine, "own_", budget.adjacency) if mine else nothing
        allowance = None
        if analyst and ledger_store.last(connection, self.dataset, kind="allowance"):
            grant = ledger_store.last(connection, self.dataset, kind="allowance", analyst=analyst)
            allowance = amount(grant, "", budget.adjacency) if grant else nothing
        return end, Balance(budget, amount(end, "spent_", budget.adjacency), own, allowance)

    def _end(self, connection: Connection, head: Head) -> Row:
        """The entry that the head names. So nothing is appended to a chain whose end was cut or changed."""
        row = ledger_store.last(connection, self.dataset, number=head.number)
        if row is None:
            raise self._damaged(head.number, "is missing: the end of the chain was cut off")
        if not digest(row) == row["hash"] == head.hash:
            raise self._damaged(head.number, "was changed, or is not the one that the head names")
        return row
