"""What is audited: every public mechanism on neighbours that are hostile to it.

To add one, add a line with `family(name, released(function, ...), pairs, claimed)` to the module it belongs to.
"""

from __future__ import annotations

from uptack.audit.battery import blocks, columns, curves, laws, noisy, wider
from uptack.audit.case import Case, ExactCase


def cases() -> list[Case | ExactCase]:
    """All public mechanisms; first those whose exact law is known."""
    return [*laws.cases(), *columns.cases(), *noisy.cases(), *blocks.cases(), *curves.cases(), *wider.cases()]
