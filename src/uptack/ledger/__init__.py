"""The durable budget: every release is debited, permanently, before it reads data."""

from uptack.ledger.entry_chain import Entry, Fault, Head, Verification
from uptack.ledger.ledger import Ledger

__all__ = ["Entry", "Fault", "Head", "Ledger", "Verification"]
