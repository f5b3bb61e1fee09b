"""Neighbours that really move a release: each brings its mechanisms to the edge of what their theorems allow.

An audit on tables whose answer hardly moves sees no fault. Here a row goes from one side to the other, at the rank, the
lead, the pole or the label that counts.
"""

from __future__ import annotations

from functools import cache

from uptack.audit.moving_neighbours.block_moves import blocks
from uptack.audit.moving_neighbours.column_moves import counts, statistics
from uptack.audit.moving_neighbours.fit_moves import curves, regressions
from uptack.audit.moving_neighbours.person_moves import people
from uptack.audit.moving_neighbours.rank_moves import ranks
from uptack.audit.moving_neighbours.regression_steps import steps
from uptack.audit.replay import Replay


@cache
def moving() -> dict[str, Replay]:
    """All of them, by name."""
    every = [*statistics(), *counts(), *blocks(), *curves(), *regressions(), *steps(), *ranks(), *people()]
    return {case.name: case for case in every}
