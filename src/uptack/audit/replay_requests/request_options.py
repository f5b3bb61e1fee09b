"""What many asks say, and what may follow from a released value."""

from __future__ import annotations

from uptack.privacy import ADD_REMOVE

EPSILON, DELTA = 20, 0.01
LOUD = {"epsilon": EPSILON}
SECRET = {**LOUD, "adjacency": ADD_REMOVE}
TESTED = {**LOUD, "delta": DELTA}

MAY_REFUSE = frozenset({"⊥"})
COUNTED = frozenset({"⊥", "stamps"})
"""Where the number of rows is secret, ⊥ and what it advises follow from a released one."""
LABELS = frozenset({"labels", "type"})
