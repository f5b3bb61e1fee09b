"""Tiny universes of people with up to three rows each, all their neighbours, and exact laws over them."""

import functools
import itertools
from fractions import Fraction

import numpy as np

from tests.helpers import people_column
from uptack.mechanisms.inverse_sensitivity import Boxes, Refusal
from uptack.noise import MachineNumbers
from uptack.statistics import order_statistics, quantiles

VALUES = (1.0, 3.0, 7.0)
LATTICE = MachineNumbers(3, 2)
HALF = Fraction(1, 2)


def persons(values=VALUES, most=3):
    """All people with one row up to so many; the order of a person's rows does not matter."""
    sizes = range(1, most + 1)
    return [rows for m in sizes for rows in itertools.combinations_with_replacement(values, m)]


def tables(n, people):
    """All tables of n people, up to their order."""
    return list(itertools.combinations_with_replacement(sorted(people), n))


def replaced(table, people):
    """All tables in which one person has other rows."""
    return {tuple(sorted((*table[:i], p, *table[i + 1 :]))) for i in range(len(table)) for p in people}


def removed(table):
    """All tables without one of the people."""
    return {(*table[:i], *table[i + 1 :]) for i in range(len(table))}


def column(table, at_most=None):
    """A table as a column of people."""
    rows = np.array([v for person in table for v in person], float)
    codes = np.repeat(np.arange(len(table)), [len(person) for person in table])
    return people_column(rows, codes, len(table), at_most)


FOLLOWING = {
    "median": quantiles.statistic(HALF),
    "quartile": quantiles.statistic(Fraction(1, 4)),
    "quantile 9/10": quantiles.statistic(Fraction(9, 10)),
    "trimmed mean": order_statistics._trimmed(Fraction(1, 4)),
    "trimmed mean 2/5": order_statistics._trimmed(Fraction(2, 5)),
    "winsorized mean": order_statistics._winsorized(Fraction(1, 4)),
    "midhinge": order_statistics._midhinge(),
    "trimean": order_statistics._trimean(),
    "iqr": order_statistics.range_between(Fraction(1, 4), Fraction(3, 4)).near,
    "interquantile range": order_statistics.range_between(HALF, Fraction(3, 5)).near,
}
"""Statistics whose ranks may follow a secret number of people."""

STATISTICS = FOLLOWING | {
    "iqr": order_statistics.range_between(Fraction(1, 4), Fraction(3, 4)),
    "interquantile range": order_statistics.range_between(Fraction(1, 10), Fraction(9, 10)),
}


class Law:
    """An exact law of the inverse method: the score of every candidate, ⊥ last, and the total weight."""

    def __init__(self, shells: Boxes, rho: Fraction, refusal: Refusal | None = None) -> None:
        steps = shells.lows.shape[1]
        points = np.array(list(itertools.product(*(range(a, b + 1) for a, b in shells.whole))))
        scores = np.zeros(len(points), np.int64)
        for k in range(steps):
            ends = np.array(shells.ends(k))
            scores += ~((points >= ends[:, 0]) & (points <= ends[:, 1])).all(axis=1)
        self.scores, self.rho = scores, rho
        self.refusing = Fraction(0)
        if refusal is not None:
            self.refusing = refusal.weight(rho, shells.candidates)
        counts = np.bincount(self.scores, minlength=steps + 1).tolist()
        self.total = self.refusing + _polynomial(tuple(counts), rho)

    @functools.cached_property
    def key(self):
        """Tables with the same one have the same law."""
        return self.scores.tobytes(), self.refusing

    def largest_ratio(self, other):
        """The largest p(y)/p'(y) over all candidates y, and ⊥."""
        apart = int((other.scores - self.scores).max())
        ratio = self.rho**-apart
        if other.refusing:
            ratio = max(ratio, self.refusing / other.refusing)
        elif self.refusing:
            return None
        return ratio * other.total / self.total


@functools.cache
def _polynomial(counts, rho):
    return sum((count * rho**k for k, count in enumerate(counts)), Fraction(0))


def private(laws, pairs, bound):
    """Whether every pair of neighbours has laws within the bound, both ways; equal laws are compared once."""
    seen = set()
    for one, other in pairs:
        a, b = laws[one], laws[other]
        if (a.key, b.key) in seen:
            continue
        seen |= {(a.key, b.key), (b.key, a.key)}
        ratios = (a.largest_ratio(b), b.largest_ratio(a))
        if any(ratio is None or ratio > bound for ratio in ratios):
            return False
    return True
