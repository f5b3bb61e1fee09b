"""Every public release function, with each of its options at least once.

To cover a new function or option add a line; `uptack.audit.option_coverage` says what is not covered.
"""

from __future__ import annotations

from functools import cache

from uptack.audit.replay_request import Ask
from uptack.audit.replay_requests.column_requests import counts, statistics
from uptack.audit.replay_requests.fit_requests import curves, regressions
from uptack.audit.replay_requests.mechanism_requests import blocks, mechanisms, papers
from uptack.audit.replay_requests.person_requests import people
from uptack.audit.replay_requests.rank_requests import ranks
from uptack.audit.session_requests import session_asks


@cache
def asks() -> tuple[Ask, ...]:
    """All of them; sessions ask the same through a source."""
    fits = [*curves(), *regressions(), *ranks()]
    direct = [*statistics(), *counts(), *mechanisms(), *blocks(), *fits, *papers(), *people()]
    return (*direct, *session_asks(direct))
