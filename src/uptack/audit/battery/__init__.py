"""What is audited: every public mechanism on neighbours that are hostile to it.

To add one, add a line with `family(name, released(function, ...), pairs, claimed)` to the module it belongs to.
"""

from __future__ import annotations

from uptack.audit.audit_case import Case, ExactCase
from uptack.audit.battery import block_cases, column_cases, exact_cases, function_cases, noise_cases, session_cases


def cases() -> list[Case | ExactCase]:
    """All public mechanisms; first those whose exact law is known."""
    return [
        *exact_cases.cases(),
        *column_cases.cases(),
        *noise_cases.cases(),
        *block_cases.cases(),
        *function_cases.cases(),
        *session_cases.cases(),
    ]
