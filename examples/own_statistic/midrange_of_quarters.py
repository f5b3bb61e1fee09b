"""A release function that uptack does not have: the middle of the quartiles.

The quartiles are drawn privately, in one draw for all of ε. Their middle is post-processing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import uptack as ut
from uptack.registry import release
from uptack.statistics import Options
from uptack.table.reads import COLUMN


@release(reads=COLUMN, by=ut.per_group)
def midrange_of_quarters(x: Any, *, epsilon: Any, **options: Unpack[Options]) -> ut.Release[float] | ut.NoReply:
    """The middle of the lower and the upper quartile, with no bounds on the data.

    **Theorem.** It is as private as the two quartiles of `uptack.quantile` that it is computed from.
    """
    quartiles = ut.quantile(x, [0.25, 0.75], epsilon=epsilon, **options)
    if not quartiles:
        return quartiles
    return replace(quartiles, value=float(quartiles.value.mean()), noise=None)
