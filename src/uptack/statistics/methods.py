"""One function releases any statistic, by the method that the caller chose."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from uptack.mechanisms.inverse import LATTICES, finest, inverse_sensitivity, steps_needed
from uptack.noise import MachineNumbers
from uptack.privacy import loss
from uptack.release import Advice, NoReply, Release
from uptack.statistics import tested
from uptack.statistics.arguments import Call, column, public_size
from uptack.statistics.statistic import Data, Statistic, answered, least_n, refused

__all__ = ["Data", "Statistic", "answered", "inverse_advice", "least_n", "refused", "released", "run"]


def released(statistic: Statistic, x: Any, request: Call, floats: bool = False) -> Release[float] | NoReply:
    """The statistic of x by the method asked for, or ⊥. With `floats` integers have no granularity of their own."""
    data, request = column(x, request, floats)
    n, request = public_size(data.size, request)
    return run(statistic, data, n, request)


def run(statistic: Statistic, data: Data, n: int, request: Call) -> Release[float] | NoReply:
    """The same on a column that has been read, with a public n."""
    engine = {"inverse": _inverse, "ptr": tested.diameter, "dwork-lei": tested.grids}[request.method]
    return engine(statistic, data, n, request)


def _inverse(statistic: Statistic, data: Data, n: int, request: Call) -> Release[float] | NoReply:
    """Pure ε, and ⊥ only by a rule that looks at n, ε and the lattice."""
    chosen = finest(lambda steps: statistic.fits(n, steps * request.rows), request.epsilon)
    if chosen is None:
        return refused(request, None, "inverse sensitivity", inverse_advice(statistic.fits, n, request))
    lattice, steps = chosen
    value = inverse_sensitivity(
        statistic.build(data, n, steps, request.rows),
        steps,
        request.epsilon,
        request.entropy,
        granularity=request.granularity,
        nonnegative=statistic.scale,
        lattice=lattice,
    )
    return answered(request, value, loss.Pure(request.epsilon), "inverse sensitivity")


def inverse_advice(
    fits: Callable[[int, int], bool],
    n: int,
    request: Call,
    dimension: int = 1,
    coarsest: MachineNumbers = LATTICES[-1],
) -> Advice:
    """The number of rows, or the ε, from which on the inverse engine replies. `fits(n, moves)` is public."""
    candidates = coarsest.size**dimension
    steps = steps_needed(request.epsilon, candidates)
    enough = least_n(lambda size: fits(size, request.rows * steps))
    if not fits(n, request.rows):
        return Advice(n=enough)
    low, high = 1, steps  # the most steps that fit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(n, request.rows * middle) else (low, middle)
    epsilon = request.epsilon * (steps + 1) / (low + 1)
    return Advice(n=enough, epsilon=math.ceil(float(1000 * epsilon)) / 1000)
