"""The chain of entries: how one entry follows another, and whether a chain is valid.

Nothing here depends on a database. A chain is an iterable of rows, and its head is the number and hash of the last one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from uptack.ledger.admission import Balance, plus
from uptack.ledger.ledger_entry import GENESIS, Row, amount, amounts, details, digest, entry, neighbours, now
from uptack.privacy import Adjacency, Privacy
from uptack.privacy.loss import Loss


@dataclass(frozen=True)
class Head:
    """The number and the hash of the last entry. A copy kept elsewhere reveals a chain that was cut or rewritten."""

    number: int
    hash: str


@dataclass(frozen=True)
class Fault:
    """The first invalid entry, and what is wrong with it."""

    number: int
    reason: str

    def __str__(self) -> str:
        return f"entry {self.number} {self.reason}"


@dataclass(frozen=True)
class Verification:
    """The result of checking a chain. True if all entries are valid."""

    entries: int
    fault: Fault | None = None

    def __bool__(self) -> bool:
        return self.fault is None

    def __str__(self) -> str:
        return f"{self.entries} valid entries" + ("" if self.fault is None else f", then {self.fault}")


def following(
    last: Row | None, stated: dict[str, Any], balance: Balance, relation: Adjacency, tree: Loss | None
) -> Row:
    """The row after `last` (None for the first) with these fields and this balance."""
    row = stated | {
        "number": 1 if last is None else last["number"] + 1,
        "previous": GENESIS if last is None else last["hash"],
        "time": now(),
        "details": details(relation, tree),
        **amounts("spent_", balance.spent),
        **amounts("own_", balance.own),
    }
    return row | {"hash": digest(row)}


@dataclass
class ChainSums:
    """All sums of a chain, added up again from its first entry."""

    budget: Privacy | None = None
    spent: Privacy = field(default_factory=lambda: Privacy(0))
    own: dict[str, Privacy] = field(default_factory=dict)
    allowance: dict[str, Privacy] = field(default_factory=dict)
    last: Row | None = None

    def read(self, row: Row) -> str:
        """Adds the next row. Returns what is wrong with it, or ""."""
        return self._link(row) or self._sums(row)

    def _link(self, row: Row) -> str:
        number, previous = (1, GENESIS) if self.last is None else (self.last["number"] + 1, self.last["hash"])
        if row["number"] != number:
            return "is missing"
        if digest(row) != row["hash"]:
            return "was changed: its hash does not match"
        return "" if row["previous"] == previous else "does not follow the entry before it"

    def _sums(self, row: Row) -> str:
        try:
            balance = self._balance(row)
            stated = (amount(row, "spent_", balance.budget.adjacency), amount(row, "own_", balance.budget.adjacency))
            entry(row, balance.budget.adjacency)
        except (ValueError, TypeError, KeyError) as error:
            return f"can't be read: {error}"
        if (balance.spent, balance.own) != stated:
            return "has sums that do not match the debits"
        if row["kind"] == "debit" and not balance.within:
            return "exceeds the budget"
        self.spent, self.own[row["analyst"]], self.last = balance.spent, balance.own, row
        return ""

    def _balance(self, row: Row) -> Balance:
        """The balance after the row."""
        if self.budget is None:
            if row["kind"] != "budget":
                raise ValueError("the first entry is not a budget")
            self.budget = amount(row, "", neighbours(row))
            self.spent = Privacy(0, 0, self.budget.adjacency)
        nothing, analyst = Privacy(0, 0, self.budget.adjacency), row["analyst"]
        own, stated = self.own.get(analyst, nothing), amount(row, "", self.budget.adjacency)
        if row["kind"] == "debit":
            allowance = self.allowance.get(analyst, nothing) if analyst and self.allowance else None
            return Balance(self.budget, plus(self.spent, stated), plus(own, stated), allowance)
        if row["kind"] == "allowance":
            self.allowance[analyst] = stated
        elif self.last is not None or row["kind"] != "budget":
            raise ValueError(f"an entry of kind {row['kind']!r} does not belong here")
        return Balance(self.budget, self.spent, own)


def walk(rows: Iterable[Row], head: Head | None, witness: Head | None = None) -> Verification:
    """Whether each row follows from those before it, the sums are right, and the last row is the head.

    A witness is a head that was saved earlier. Its entry must still be there, with its hash.
    """
    replay, count = ChainSums(), 0
    for row in rows:
        reason = replay.read(row)
        if not reason and witness is not None and row["number"] == witness.number and row["hash"] != witness.hash:
            reason = "differs from the witness"
        if reason:
            return Verification(count, Fault(count + 1, reason))
        count += 1
    end = Head(count, replay.last["hash"]) if replay.last is not None else None
    if (witness is not None and count < witness.number) or (head is not None and count < head.number):
        return Verification(count, Fault(count + 1, "is missing: the end of the chain was removed"))
    if end is None or end != head:
        return Verification(count, Fault(max(count, 1), "is not the one that the head names"))
    return Verification(count)
