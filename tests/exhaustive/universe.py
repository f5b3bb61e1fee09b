"""Every data set over a tiny universe, its neighbours, and every statistic that has a reach."""

import itertools
from fractions import Fraction

import numpy as np

from uptack.reach import InterquantileRange, LStatistic
from uptack.reach.l_statistics import (
    MedianDeviation,
    midhinge,
    quantile_rank,
    quartiles,
    trimean,
    trimmed_mean,
    winsorized_mean,
)
from uptack.registry import declared
from uptack.table.memory.table import as_column

VALUES = (-3.0, 0.0, 0.5, 1.0, 4.0)


def tables(n, values=VALUES):
    """All tables of n rows, up to the order of rows, which no statistic here looks at."""
    return list(itertools.combinations_with_replacement(values, n))


def substituted(table, values=VALUES):
    """All tables that differ in one row."""
    return {tuple(sorted((*table[:i], v, *table[i + 1 :]))) for i in range(len(table)) for v in values if v != table[i]}


def _l(segments):
    return lambda table, n, steps=9, rows=1: LStatistic.of(np.array(table), segments(n), steps, rows)


def _declared():
    """What the registry has: a new statistic is tested by being declared."""
    made = {}
    for name, one in declared().items():
        for example in one.examples if one.statistic is not None and name != "mean" else ():
            if "interval" not in example and not isinstance(example.get("p"), list):
                made[name] = _built(one.statistic(**example))
    return made


def _built(statistic):
    return lambda t, n, steps=9, rows=1: statistic.reach(as_column("x", np.array(t)), n, steps, rows)


STATISTICS = _declared() | {
    "median": lambda t, n, steps=9, rows=1: LStatistic.quantile(
        np.array(t), quantile_rank(Fraction(1, 2), n), steps, rows
    ),
    "quantile 1/5": lambda t, n, steps=9, rows=1: LStatistic.quantile(
        np.array(t), quantile_rank(Fraction(1, 5), n), steps, rows
    ),
    "maximum": lambda t, n, steps=9, rows=1: LStatistic.quantile(np.array(t), n, steps, rows),
    "iqr": lambda t, n, steps=9, rows=1: InterquantileRange(np.array(t), quartiles(n), steps, rows),
    "range": lambda t, n, steps=9, rows=1: InterquantileRange(np.array(t), (1, n), steps, rows),
    "trimmed mean": _l(lambda n: trimmed_mean(Fraction(1, 4), n)),
    "winsorized mean": _l(lambda n: winsorized_mean(Fraction(1, 4), n)),
    "midhinge": _l(midhinge),
    "trimean": _l(trimean),
    "mad": lambda t, n, steps=9, rows=1: MedianDeviation(np.array(t), quantile_rank(Fraction(1, 2), n), steps, rows),
}
