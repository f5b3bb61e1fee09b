"""One entry of a ledger: its content, its plain form in the database, and its hash.

In the database an entry is a flat row of texts. Its hash is SHA-256 over the canonical JSON of all other fields. These
include the hash of the entry before it, so no entry can be changed without changing all later ones.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, TypeAlias

from uptack.privacy import Adjacency, Privacy
from uptack.privacy.loss import Approximate, Loss, Pure, decode, encode, rational, rational_text

Row: TypeAlias = Mapping[str, Any]

GENESIS = "uptack ledger, format 1"
"""Stands where the first line's previous hash would."""

FIELDS = (
    "dataset", "number", "time", "kind", "analyst", "what", "epsilon", "delta",
    "spent_epsilon", "spent_delta", "own_epsilon", "own_delta", "details", "previous",
)  # fmt: skip
"""What is hashed. `spent` is the sum of all debits up to this line, `own` that of this line's analyst."""


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
        exact = {"epsilon": self.cost.exact_epsilon, "delta": self.cost.exact_delta}
        return {
            "number": self.number,
            "time": self.time,
            "dataset": self.dataset,
            "kind": self.kind,
            "analyst": self.analyst,
            "what": self.what,
            "cost": self.cost.to_dict(),
            "exact": {name: rational_text(value) for name, value in exact.items()},
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
        number=row["number"],
        time=row["time"],
        dataset=row["dataset"],
        kind=row["kind"],
        analyst=row["analyst"] or None,
        what=row["what"],
        cost=amount(row, "", relation),
        loss=None if tree is None else decode(tree),
        adjacency=neighbours(row),
        hash=row["hash"],
    )


def as_loss(guarantee: Privacy) -> Loss:
    """A loss tree that states this guarantee and nothing else."""
    if guarantee.pure:
        return Pure(guarantee.exact_epsilon)
    return Approximate(guarantee.exact_epsilon, guarantee.exact_delta)


def short(value: Fraction, bits: int = 4096) -> Fraction:
    """The value, or the next multiple of 2^-bits above it if its denominator is longer than `bits`.

    Amounts are exact. This only keeps sums of thousands of unrelated denominators from growing without bound.
    """
    if value.denominator.bit_length() <= bits:
        return value
    return Fraction(-((-value.numerator << bits) // value.denominator), 1 << bits)
