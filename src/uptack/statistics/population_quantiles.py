"""An interval for a quantile of the population, around a value that has been released before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Unpack

from uptack import checks
from uptack.exact import Rational
from uptack.mechanisms.inverse_sensitivity import inverse_loss
from uptack.privacy import Privacy, loss
from uptack.registry import release
from uptack.release import NoReply, Release
from uptack.statistics.column_options import (
    COUNT_SHARE,
    MeanOptions,
    column,
    in_ticks,
    level,
    public_size,
    read_question,
)
from uptack.statistics.order_statistic_errors import secret_size
from uptack.statistics.quantile_intervals import confidence_of, ends_around, no_interval_of_rows
from uptack.table.reads import MOMENTS
from uptack.table.values.times import spoken


def spends(given: Mapping[str, Any], cost: Privacy, rows: int) -> loss.Loss:
    """A noisy number of rows, where it is secret, and two draws of bounded range."""
    count = cost.exact_epsilon * COUNT_SHARE if secret_size(given, cost) else Fraction(0)
    ends = (inverse_loss((cost.exact_epsilon - count) / 2),) * 2
    return loss.Composed((loss.Pure(count), *ends) if count else ends)


@release(reads=MOMENTS, examples=({"p": 0.5, "around": 0},), page="median", spends=spends, people=True)
def quantile_interval(
    x: Any,
    p: Rational,
    around: Rational,
    *,
    epsilon: Rational,
    confidence: Rational = Fraction(95, 100),
    granularity: Rational | None = None,
    **options: Unpack[MeanOptions],
) -> Release[tuple[float, float]] | NoReply:
    """An interval (low, high) for the p-quantile of the population that the rows are a sample of.

    `around` is a public number near the quantile, such as one that was released before: the ends are drawn as
    distances from it, which takes fewer rows than numbers from nowhere. A number far off makes the interval wide, never
    wrong: it covers with at least the `confidence`, for any population of numbers up to 1e77.

    **Theorem.** ε-differentially private: two draws of inverse sensitivity with half of ε each, and where the number of
    rows is secret a tenth of ε for a noisy one. The reach of an order statistic less a public number is a reach.

    The ends are multiples of `granularity`, a public step that all values are multiples of; of a column of integers
    they are integers. Other ends have three digits of the interval's width.

    >>> import numpy as np
    >>> from uptack import SeededEntropy, median
    >>> x = np.random.default_rng(1).normal(50, 10, 20_000)
    >>> middle = median(x, epsilon=0.5, entropy=SeededEntropy(2)).value
    >>> low, high = quantile_interval(x, 0.5, middle, epsilon=0.5, entropy=SeededEntropy(3)).value
    >>> 49 < low < 50 < high < 51
    True
    """
    at, sure = level("p", p), confidence_of(confidence)
    near = float(checks.rational("around", in_ticks(around), "a number"))
    question = read_question("quantile interval", epsilon, {**options, "granularity": granularity})
    question = replace(question, time_options=(*question.time_options, ("around", spoken(around))))
    data, question = column(x, question, times="place")
    no_interval_of_rows("confidence", confidence, question)
    n, question = public_size(data.count(), question)
    return question.account.close(ends_around(data, n, at, sure, near, question))
