"""The entries of a ledger: their content, their plain form in the database, their hashes, and whether a chain is valid.

In the database an entry is a flat row of texts. Its hash is SHA-256 over the canonical JSON of all other fields. These
include the hash of the entry before it, so no entry can be changed without changing all later ones. Nothing here
depends on a database. A chain is an iterable of rows, and its head is the number and hash of the last one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from uptack.ledger.admission import Balance, plus
from uptack.privacy import Adjacency, Privacy
from uptack.privacy.loss import Approximate, Loss, Pure, decode, encode, rational, rational_text

Row: TypeAlias = Mapping[str, Any]

GENESIS = "uptack ledger, format 1"
"""In place of the previous hash of the first entry."""

FIELDS = (
    "dataset", "number", "time", "kind", "analyst", "what", "epsilon", "delta",
    "spent_epsilon", "spent_delta", "own_epsilon", "own_delta", "details", "previous",
)  # fmt: skip
"""The hashed fields. `spent` is the sum of all debits up to this entry, `own` that of its analyst."""


PLAIN = ("number", "time", "dataset", "kind", "what")
"""Fields of an entry that are the same in its row."""


@dataclass(frozen=True)
class Entry:
    """An entry of the ledger. It holds no data, only what was asked, by whom, and what it cost.

    - `kind`: "debit", "budget" (always the first entry) or "allowance". For the last two `cost` is the granted amount.
    - `loss`: the loss tree of a debit, under the neighbours `adjacency`; None for other entries.
    - `hash`: depends on this entry and, through the entry before it, on all earlier ones.
    """

    number: int
    time: str
    dataset: str
    kind: str
    analyst: str | None
    what: str
    cost: Privacy
    loss: Loss | None
    adjacency: Adjacency
    hash: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON. The exact cost is included, as p/q."""
        return {
            **{name: getattr(self, name) for name in (*PLAIN, "analyst")},
            "cost": self.cost.to_dict(),
            "exact": amounts("", self.cost),
            "loss": None if self.loss is None else encode(self.loss),
            "hash": self.hash,
        }

    def __str__(self) -> str:
        who = f", {self.analyst}" if self.analyst else ""
        return f"{self.number}. {self.time[:19]}Z {self.kind}{who}: {self.what}, {self.cost}"


def canonical(value: object) -> str:
    """The canonical JSON text of a value: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(row: Row) -> str:
    """The hash of a row: SHA-256 over the canonical JSON of all its fields but the hash."""
    return hashlib.sha256(canonical({name: row[name] for name in FIELDS}).encode()).hexdigest()


def now() -> str:
    """The time in UTC, to the microsecond, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def amounts(prefix: str, guarantee: Privacy) -> dict[str, str]:
    """The two exact parameters of a guarantee as columns of a row."""
    return {
        f"{prefix}epsilon": rational_text(guarantee.exact_epsilon),
        f"{prefix}delta": rational_text(guarantee.exact_delta),
    }


def amount(row: Row, prefix: str, relation: Adjacency) -> Privacy:
    """The guarantee that `amounts` wrote."""
    return Privacy(rational(row[f"{prefix}epsilon"]), rational(row[f"{prefix}delta"]), relation)


def details(relation: Adjacency, tree: Loss | None = None) -> str:
    """The adjacency of an entry, and the loss tree of a debit, as canonical JSON."""
    return canonical({"adjacency": relation.to_dict(), "loss": None if tree is None else encode(tree)})


def neighbours(row: Row) -> Adjacency:
    """The adjacency in the details of a row. In the first entry it is that of the ledger."""
    return Adjacency.from_dict(json.loads(row["details"])["adjacency"])


def entry(row: Row, relation: Adjacency) -> Entry:
    """The entry of a row, in a ledger under the given adjacency."""
    tree = json.loads(row["details"])["loss"]
    return Entry(
        **{name: row[name] for name in (*PLAIN, "hash")},
        analyst=row["analyst"] or None,
        cost=amount(row, "", relation),
        loss=None if tree is None else decode(tree),
        adjacency=neighbours(row),
    )


def as_loss(guarantee: Privacy) -> Loss:
    """A loss tree that states this guarantee and nothing else."""
    if guarantee.pure:
        return Pure(guarantee.exact_epsilon)
    return Approximate(guarantee.exact_epsilon, guarantee.exact_delta)


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


def next_row(last: Row | None, stated: dict[str, Any], balance: Balance, relation: Adjacency, tree: Loss | None) -> Row:
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
        number, previous = (1, GENESIS) if self.last is None else (self.last["number"] + 1, self.last["hash"])
        if row["number"] != number:
            return "is missing"
        if digest(row) != row["hash"]:
            return "was changed: its hash does not match"
        if row["previous"] != previous:
            return "does not follow the entry before it"
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


def verify_chain(rows: Iterable[Row], head: Head | None, witness: Head | None = None) -> Verification:
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
