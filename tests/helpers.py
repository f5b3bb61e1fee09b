"""What several tests share: entropy that counts, and goodness-of-fit tests with a false-alarm rate below 1e-6."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from uptack.multivariate.entrance import complete_rows
from uptack.multivariate.row_sums import Sample
from uptack.noise import IntegerLaw, SeededEntropy
from uptack.regression import formulas
from uptack.table.ids import Owners
from uptack.table.memory.table import MemoryTable
from uptack.table.protocol import Column, Columns
from uptack.table.unit import ROW, PrivacyUnit
from uptack.table.values import entrance
from uptack.table.values.entrance import field

FALSE_ALARM = 1e-7


class CountingEntropy(SeededEntropy):
    """Knows how many bytes were taken from it."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.taken = 0

    def bytes(self, count: int) -> bytes:
        self.taken += count
        return super().bytes(count)


def law_p_value(draws: np.ndarray, law: IntegerLaw) -> float:
    """p-value of a chi-square test of integer draws against a law, in cells of expected count 20 or more."""
    size = len(draws)
    low, high = law.interval(1 - 40 / size)
    cells = np.unique(np.linspace(low, high, min(high - low + 1, 200)).astype(int))  # left ends; first cell is open
    edges = [int(c) for c in cells[1:]]
    tails = np.array([1.0] + [law.tail(e) for e in edges] + [0.0])
    expected = size * (tails[:-1] - tails[1:])
    observed = np.bincount(np.searchsorted(edges, draws, side="right"), minlength=len(edges) + 1)
    return float(stats.chisquare(*_merge(observed, expected)).pvalue)


def _merge(observed: np.ndarray, expected: np.ndarray, least: float = 20.0) -> tuple[np.ndarray, np.ndarray]:
    """Neighbouring cells joined until each expects enough."""
    group = np.minimum(np.cumsum(expected) // least, expected.sum() // least - 1).astype(int)
    o, e = np.bincount(group, observed), np.bincount(group, expected)
    return o[e > 0], e[e > 0] * o.sum() / e.sum()


def assert_fits(draws: np.ndarray, right: IntegerLaw, wrong: IntegerLaw) -> None:
    """The right law is accepted, and one that is a little off is rejected by the same draws."""
    assert law_p_value(draws, right) > FALSE_ALARM
    assert law_p_value(draws, wrong) < FALSE_ALARM


def assert_fits_cdf(draws: np.ndarray, right: stats.rv_continuous, wrong: stats.rv_continuous) -> None:
    """The same for a continuous law, by Kolmogorov and Smirnov."""
    assert stats.kstest(draws, right.cdf).pvalue > FALSE_ALARM
    assert stats.kstest(draws, wrong.cdf).pvalue < FALSE_ALARM


def sampled(values: Any, codes: Any = None, people: int = 0) -> Sample:
    """The complete rows of a matrix, and whose they are."""
    rows = np.asarray(values, np.float64)
    fields = {str(i): entrance.of_numpy(np.ascontiguousarray(column)) for i, column in enumerate(rows.T)}
    unit = ROW if codes is None else PrivacyUnit(("person",), "people")
    table = MemoryTable(fields, unit, codes, people)
    return complete_rows(Columns(map(table.column, fields)), "drop")


def designed(text: Any, data: Any, levels: Any) -> tuple[np.ndarray, np.ndarray, formulas.DesignColumns]:
    """X and y that a formula makes, as arrays, and what is public of X."""
    x, y, public = formulas.build_design(text, data, levels)
    lines = [column.table.field(column.name).floats() for column in (*x, y)]
    return np.column_stack(lines[:-1]), lines[-1], public


def people_column(values, codes, people: int, at_most: int | None = None) -> Column:
    """A column of numbers of so many people, where row i is that of person codes[i]."""
    whose = Owners(np.asarray(codes, np.int64), people, ("id",))
    column = MemoryTable.of({"x": field("x", np.asarray(values))}, whose).column("x")
    return column if at_most is None else column.sharing("rows", at_most)
