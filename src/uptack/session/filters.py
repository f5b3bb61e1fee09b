"""Sessions on the rows that meet conditions: which requests are allowed, and how the conditions are worded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.session.requests import Request
from uptack.table.conditions import MOST_CONDITIONS, Condition, conditions
from uptack.table.names import hidden

if TYPE_CHECKING:
    from uptack.session.session import Session

LONGEST = 300
"""Characters of a line in the ledger."""
LEFT_OUT = ("drop", "ignore")
FIX = "Rows that do not meet the conditions count as missing values, so missing values are dropped."


def narrow(session: Session, given: Mapping[str, Any]) -> Session:
    """The same session on the rows that meet further conditions. All of them are evaluated together, on the table."""
    if session._missing != "drop":
        raise InvalidArgument("missing", "'drop' in a session with conditions", checks.describe(session._missing), FIX)
    fix = "For several values of one column use one condition: ('in', values)."
    checks.few("where", len(session.conditions) + len(given), MOST_CONDITIONS, "conditions in a session", fix)
    for name in given:
        hidden(name, session.source.unit.ids)
    made = copy(session)
    made.conditions = (
        *session.conditions,
        *conditions(given, session.source.kinds, session.source.forms),
    )
    made.source = session.whole.where(made.conditions)
    return made


def check_fits(request: Request, wanted: Sequence[Condition]) -> None:
    """Refuses requests that would count rows which do not meet the conditions, or reveal how many do."""
    if not wanted:
        return
    missing = request.given.get("missing", "drop")
    if missing not in LEFT_OUT:
        raise InvalidArgument("missing", "'drop' in a session with conditions", checks.describe(missing), FIX)
    if request.given.get("total"):
        fix = "The number of rows that meet the conditions is secret."
        raise InvalidArgument("total", "False in a session with conditions", "True", fix)


def sentence(wanted: Sequence[Condition]) -> str:
    """All conditions in one line."""
    return " and ".join(map(str, wanted))


def rows_used(wanted: Sequence[Condition]) -> str:
    """Which rows are used, in words; "" for all."""
    return f" Only rows with {sentence(wanted)} are used, and their number is secret." if wanted else ""


def one_line(what: object, wanted: Sequence[Condition]) -> str:
    """A line of the ledger: printable, and cut if it is long. The request comes first, then the conditions."""
    line = f"{what}, where {sentence(wanted)}" if wanted else str(what)
    text = "".join(c if c.isprintable() else "?" for c in line)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
