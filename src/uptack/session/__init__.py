"""Sessions: a table, a budget and a source of randomness."""

from uptack.session.opening import open
from uptack.session.plan import Plan, PlannedRelease
from uptack.session.requests import Request
from uptack.session.session import Session, SessionColumn

__all__ = ["Plan", "PlannedRelease", "Request", "Session", "SessionColumn", "open"]
