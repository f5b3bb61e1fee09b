"""One function releases any statistic, by the method that the caller chose."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from uptack.account import Outcome
from uptack.exact import Rational
from uptack.mechanisms.inverse import LATTICES, finest, inverse_sensitivity, steps_needed
from uptack.noise import MachineNumbers
from uptack.privacy import loss
from uptack.release import Advice, NoReply, Release
from uptack.statistics import tested
from uptack.statistics.arguments import Question, asked, column, public_size
from uptack.statistics.statistic import Data, Statistic, least_n


def released(statistic: Statistic, x: Any, epsilon: Rational, options: Mapping[str, Any]) -> Release[Any] | NoReply:
    """The statistic of x by the method asked for, or ⊥."""
    question = asked(statistic.name, epsilon, options)
    data, question = column(x, question, floats=not statistic.whole)
    n, question = public_size(data.size, question)
    return question.account.close(run(statistic, data, n, question))


def run(statistic: Statistic, data: Data, n: int, question: Question) -> Outcome[float]:
    """The same on a column that has been read, with a public n."""
    method = {"inverse": _inverse, "ptr": tested.diameter, "dwork-lei": tested.grids}[question.method]
    return method(statistic, data, n, question)


def _inverse(statistic: Statistic, data: Data, n: int, question: Question) -> Outcome[float]:
    """Pure ε, and ⊥ only by a rule that looks at n, ε and the lattice."""
    how = "inverse sensitivity"
    chosen = finest(lambda steps: statistic.fits(n, steps * question.rows), question.epsilon)
    if chosen is None:
        return question.refuse(how, inverse_advice(statistic.fits, n, question))
    lattice, steps = chosen
    value = inverse_sensitivity(
        statistic.build(data, n, steps, question.rows),
        steps,
        question.epsilon,
        question.entropy,
        granularity=question.granularity,
        nonnegative=statistic.scale,
        lattice=lattice,
    )
    return question.answer(value, loss.Pure(question.epsilon), how)


def inverse_advice(
    fits: Callable[[int, int], bool],
    n: int,
    question: Question,
    dimension: int = 1,
    coarsest: MachineNumbers = LATTICES[-1],
) -> Advice:
    """The number of rows, or the ε, from which on the inverse engine replies. `fits(n, moves)` is public."""
    candidates = coarsest.size**dimension
    steps = steps_needed(question.epsilon, candidates)
    enough = least_n(lambda size: fits(size, question.rows * steps))
    if not fits(n, question.rows):
        return Advice(n=enough)
    low, high = 1, steps  # the most steps that fit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(n, question.rows * middle) else (low, middle)
    epsilon = question.epsilon * (steps + 1) / (low + 1)
    return Advice(n=enough, epsilon=math.ceil(float(1000 * epsilon)) / 1000)
