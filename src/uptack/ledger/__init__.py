"""The durable budget: every release is debited, permanently, before it reads data."""

from uptack.ledger.entry_chain import Fault, Head, Verification
from uptack.ledger.ledger import Ledger
from uptack.ledger.ledger_entry import Entry

__all__ = ["Entry", "Fault", "Head", "Ledger", "Verification"]
