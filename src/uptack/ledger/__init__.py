"""The durable budget: every release is debited, permanently, before it reads data."""

from uptack.ledger.chain import Fault, Head, Verification
from uptack.ledger.entries import Entry
from uptack.ledger.ledger import Ledger

__all__ = ["Entry", "Fault", "Head", "Ledger", "Verification"]
