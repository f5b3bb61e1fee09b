"""Every public release function, with each of its options at least once.

To cover a new function or option add a line; `uptack.audit.coverage` says what is not covered.
"""

from __future__ import annotations

from functools import cache

from uptack.audit.asked.columns import counts, statistics
from uptack.audit.asked.fits import curves, regressions
from uptack.audit.asked.parts import blocks, mechanisms, papers
from uptack.audit.asked.people import people
from uptack.audit.asked.ranked import ranks
from uptack.audit.asks import Ask
from uptack.audit.sessions import session_asks


@cache
def asks() -> tuple[Ask, ...]:
    """All of them; sessions ask the same through a source."""
    fits = [*curves(), *regressions(), *ranks()]
    direct = [*statistics(), *counts(), *mechanisms(), *blocks(), *fits, *papers(), *people()]
    return (*direct, *session_asks(direct))
