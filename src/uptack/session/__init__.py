"""Sessions: a table, a budget and a source of randomness."""

from uptack.session.columns import SessionColumn
from uptack.session.opening import open
from uptack.session.plan import Plan, PlannedRelease
from uptack.session.requests import Request
from uptack.session.session import Session

__all__ = ["Plan", "PlannedRelease", "Request", "Session", "SessionColumn", "open"]
