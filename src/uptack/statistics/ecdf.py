"""The empirical distribution function, with a band for the population that holds everywhere at once."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from uptack import checks
from uptack.account import Outcome
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.privacy import Privacy, loss
from uptack.reach.l_statistics import quantile_rank
from uptack.reach.protocol import Floats
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.statistics import quantile_trees
from uptack.statistics.column_input import column
from uptack.statistics.column_options import Promises, Question, read_question
from uptack.statistics.distribution import Ecdf
from uptack.statistics.row_counts import public_size
from uptack.statistics.running_noise import RunningCounts, RunningNoise
from uptack.statistics.statistic import Data, least_n
from uptack.table.reads import COLUMN

KNOTS = (3, 5, 9, 19, 39, 79, 159, 319, 639, 999)
"""How many knots there may be; which of them is chosen by public numbers."""

MOST_KNOTS = 4999
HALF = Fraction(1, 2)
HOW = "private knots and counts between them"


class EcdfOptions(Promises, total=False):
    """What a distribution function can be told: all of `Promises`, and `missing` and `granularity` as a quantile."""

    missing: str | Rational
    granularity: Rational | None


def planned(given: Mapping[str, Any], cost: Privacy, rows: int) -> str:
    """Nothing: how wide the band is depends on where the knots fall."""
    return ""


@release(reads=COLUMN, plan=planned, examples=({},), people="each")
def ecdf(
    x: Any, *, epsilon: Rational, knots: int | None = None, **options: Unpack[EcdfOptions]
) -> Release[Ecdf] | NoReply:
    """The share of rows up to every number, with no bounds on the data, and a band for the population.

    **Theorem.** ε-differentially private. Half of ε draws knots, which are evenly spaced quantiles, by a chain or by a
    tree of chains (`uptack.mechanisms.quantile_tree`). The other half counts the rows between them, with integer noise
    of a law that does not depend on the data (`uptack.statistics.running_noise`). All else is read off these:
    `value.at(points)`, `value.quantile(p)`, `value.share(low, high)`, `value.density()`, `value.band(confidence)` and
    `value.plot()` cost nothing more. What the band promises is in `uptack.statistics.distribution.Ecdf.band`.

    `knots` is how many quantiles are drawn; without it a number that makes the band narrow, by n and ε alone.

    >>> from uptack import SeededEntropy
    >>> found = ecdf(np.arange(20_001), epsilon=1, entropy=SeededEntropy(4)).value
    >>> found, bool(abs(found.at(5000) - 0.25) < 0.02)
    (Ecdf(39 knots from 476 to 1.949e+04), True)
    """
    question = read_question("ecdf", epsilon, options)
    count = None if knots is None else checks.integer("knots", knots, least=2)
    if count is not None and count > MOST_KNOTS:
        raise InvalidArgument("knots", f"at most {MOST_KNOTS}", count)
    data, question = column(x, question)
    n, question = public_size(data.count(), question)
    return question.account.close(_distribution(data, n, count, question))


def _ranks(n: int, count: int) -> list[int]:
    """The ranks of evenly spaced quantiles, those that fall together once."""
    return sorted({quantile_rank(Fraction(j, count + 1), max(n, 1)) for j in range(1, count + 1)})


def _moved(question: Question) -> int:
    """How many bins one person can change by 1: a replaced row leaves one and enters another."""
    return question.rows * (2 if question.adjacency.size_is_public else 1)


def _distribution(data: Data, n: int, count: int | None, question: Question) -> Outcome[Ecdf]:
    for_knots, for_counts = question.split(HALF, HALF)
    counts = KNOTS if count is None else (count,)

    def fits(size: int, knots: int) -> bool:
        return quantile_trees.planned(size, _ranks(size, knots), for_knots.epsilon, question.rows) is not None

    def wide(knots: int) -> float:
        """About how far apart the ends of the band are, in rows, but for the sample's part of it."""
        return n / (knots + 1) + 5 * RunningNoise.of(knots + 1, for_counts.epsilon, _moved(question)).spread

    chosen = next((c for c in sorted(counts, key=wide) if fits(n, c)), None)
    if chosen is None:
        return question.refuse(HOW, Advice(n=least_n(lambda size: fits(size, counts[0]))))
    ranks = _ranks(n, chosen)
    found = quantile_trees.tree_quantiles(data, n, ranks, for_knots)
    assert found is not None, "the same public rule as above"
    return Outcome(_counted(data, n, np.unique(found), for_counts), HOW)


def _counted(data: Data, n: int, knots: Floats, question: Question) -> Ecdf:
    """The rows up to each knot, counted from the nearer end of the table, with noise."""
    noise = RunningNoise.of(knots.size + 1, question.epsilon, _moved(question))
    bins = np.array(data.sum(functools.partial(_between, knots=knots.tolist())), np.int64)
    low, high = question.account.draw(RunningCounts(loss.Pure(question.epsilon), noise), bins)
    counts = np.concatenate((low, n - high[::-1])).astype(np.float64)
    step = None if question.granularity is None else float(question.granularity)
    return Ecdf(knots, counts, n, noise, question.count, step, question.rows)


def _between(x: Floats, knots: Sequence[float]) -> list[int]:
    """How many rows lie up to the first knot, above it and up to the second, and so on; above the last."""
    counts: list[int] = np.bincount(np.searchsorted(np.array(knots), x, side="left"), minlength=len(knots) + 1).tolist()
    return counts
