"""Sums of a column. (`sum` is the name of the release function, so the builtin is not used in this file.)"""

from __future__ import annotations

from typing import Any, Unpack

from uptack.account import Outcome
from uptack.exact import Rational
from uptack.grouping import per_group
from uptack.registry import release
from uptack.release import NoReply, Release
from uptack.statistics.column_options import MeanOptions, column, read_question
from uptack.statistics.mean_intervals import SumInterval
from uptack.statistics.means import RECIPES
from uptack.statistics.moments import HOW, clipping, framed
from uptack.table.reads import COLUMN


@release(reads=COLUMN, by=per_group, page="mean", people="each")
def sum(x: Any, *, epsilon: Rational, **options: Unpack[MeanOptions]) -> Release[float] | NoReply:
    """The sum of a column, with an interval and no bounds on the data.

    **Theorem.** ε-differentially private, as `mean`. With a public number of rows n it is n times the mean. Where that
    number is secret, it comes with the sums of u = (x - c)/h over the frame: a row of (A, Q, E) is at most
    (1 + κ)·2^24 + E long (`uptack.statistics.frame_sums`), E is worked out from the released frame, and the sum is
    c·n + h·Σu. A tenth of ε goes into a noisy number of rows before.

    `result.interval(0.95)` is for as many rows as there are, drawn from the population: it allows for sampling, noise
    and what lies beyond the frame. `result.noise.of_rows(result.value, 0.95)` is for the sum of the rows themselves.
    For people use `person=` with `per_person="sum"`.

    >>> import numpy as np
    >>> from uptack import ADD_REMOVE, SeededEntropy
    >>> x = np.random.default_rng(1).gamma(2, 50, 20_000)
    >>> found = sum(x, epsilon=1, adjacency=ADD_REMOVE, entropy=SeededEntropy(1))
    >>> low, high = found.noise.of_rows(found.value, 0.95)
    >>> bool(low < x.sum() < high), bool(abs(found.value / x.sum() - 1) < 0.01)
    (True, True)
    """
    question = read_question("sum", epsilon, options)
    data, question = column(x, question, floats=True)
    made, question, refused = framed(data, question, RECIPES, counted=True)
    if made is None:
        return question.account.close(refused)
    value = made.frame.centre * made.total + made.frame.half * made.added
    return question.account.close(Outcome(value, HOW, SumInterval(made), notes=(clipping(made),)))
