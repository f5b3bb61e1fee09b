"""Neighbours that really move a release: each brings its mechanisms to the edge of what their theorems allow.

An audit on tables whose answer hardly moves sees no fault. Here a row goes from one side to the other, at the rank, the
lead, the pole or the label that counts.
"""

from __future__ import annotations

from functools import cache

from uptack.audit.moving.blocks import blocks
from uptack.audit.moving.columns import counts, statistics
from uptack.audit.moving.fits import curves, regressions
from uptack.audit.moving.people import people
from uptack.audit.moving.ranked import ranks
from uptack.audit.moving.steps import steps
from uptack.audit.replay import Replay


@cache
def moving() -> dict[str, Replay]:
    """All of them, by name."""
    every = [*statistics(), *counts(), *blocks(), *curves(), *regressions(), *steps(), *ranks(), *people()]
    return {case.name: case for case in every}
