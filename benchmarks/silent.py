"""Replies from outside the interval that is guaranteed, at the small n where ⊥ is a candidate of the draw.

A run is a draw as the library makes it: its boxes, its ρ and its ⊥ are taken from a call of the public function. Many
draws are made from each table, since building the reach takes longer than drawing. The law of a draw is known exactly,
so beside the counts stands what they estimate.

With f = 1e-6 the theorem of `uptack.mechanisms.inverse_sensitivity` says that a reply comes from outside interval K
with a chance of at most f, for any data. Where ⊥ has a weight W > 0 the chance is f·(W + 1)/(S + W) at most, S the
weight of all numbers. So the worst data are those with S = 1: one number, in all rows up to the K-th on either side of
the rank. What the other rows are makes no difference. "Hostile" data are such.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any
from unittest import mock

import numpy as np
from common import Row, percent, table
from numpy.typing import NDArray

import uptack
from uptack.exact import ball, working
from uptack.mechanisms.inverse_sensitivity import Boxes, Refusal
from uptack.noise import Entropy, SeededEntropy
from uptack.reach.l_statistics import quantile_rank

Numbers = NDArray[Any]
TABLES = 250
"""Tables per cell: each has an equal part of its runs."""

QUARTER = Fraction(1, 4)
STATISTICS: dict[str, Callable[..., Any]] = {
    "median": uptack.median,
    "quartile": partial(uptack.quantile, p=QUARTER),
    "IQR": uptack.iqr,
}
SIZES = {
    1.0: {"median": (85, 120, 180), "quartile": (190, 260, 360), "IQR": (165, 220, 300)},
    0.5: {"median": (170, 240), "quartile": (380, 520), "IQR": (330, 440)},
}
"""The zone of small n, for each ε."""


def _split(rng: np.random.Generator, n: int) -> Numbers:
    """Two clusters with the median at the end of one: all numbers between them are next to it."""
    half = (n + 1) // 2
    return np.concatenate((1 + rng.random(half), 1e9 + rng.random(n - half)))


def _one_number(rng: np.random.Generator, n: int) -> Numbers:
    return np.full(n, np.ldexp(1.0, int(rng.integers(-20, 20))))


DATA: dict[str, Callable[[np.random.Generator, int], Numbers]] = {
    "normal": lambda rng, n: rng.normal(100, 15, n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "1e6 + normal": lambda rng, n: 1e6 + rng.normal(size=n),
    "ratings 1 to 5": lambda rng, n: rng.integers(1, 6, n),
    "mostly zero": lambda rng, n: rng.lognormal(3, 1, n) * (rng.random(n) < 0.2),
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
    "split at the median": _split,
    "hostile: one number": _one_number,
}

HOSTILE = "hostile: two clusters"


def two_clusters(rng: np.random.Generator, n: int, statistic: str) -> Numbers:
    """One number as far as the guaranteed interval reaches, and far larger ones from there on.

    For a median it reaches to the last row but one, for a quartile of rank r to rank 2r - 1. An interquartile range
    needs both of its ends in a cluster of one number.
    """
    if statistic == "IQR":
        return np.where(np.arange(n) < n // 2, 1.0, np.ldexp(1.0, 40))
    same = n - 1 if statistic == "median" else 2 * quantile_rank(QUARTER, n) - 1
    return np.concatenate((np.ones(same), rng.lognormal(40, 10, n - same)))


@dataclass(frozen=True)
class Cell:
    """What is asked of which data."""

    statistic: str
    epsilon: float
    data: str
    n: int

    def sample(self, rng: np.random.Generator) -> Numbers:
        """A table."""
        hostile = self.data == HOSTILE
        rows = two_clusters(rng, self.n, self.statistic) if hostile else DATA[self.data](rng, self.n)
        return rng.permutation(rows)


class Kept(Boxes):
    """Boxes whose points are counted once, and not for every draw."""

    def shells(self) -> list[int]:
        """How many points have score 0, 1, ..., K + 1."""
        return self._shells

    @cached_property
    def _shells(self) -> list[int]:
        return super().shells()


@dataclass(frozen=True)
class Draw:
    """What the library draws from: nested boxes, ρ and ⊥."""

    boxes: Boxes
    rho: Fraction
    refusal: Refusal

    @property
    def guaranteed(self) -> int:
        """The interval that replies come from, but for a chance of f."""
        return min(self.refusal.bears, self.boxes.lows.shape[1] - 1)

    def law(self) -> tuple[float, float]:
        """The chance of a reply, and that of one from outside."""
        with working(128):
            weights = list(self.boxes.weights(ball(self.rho), self.refusal))
            inside, outside = sum(weights[: self.guaranteed + 1]), sum(weights[self.guaranteed + 1 : -1])
            total = inside + outside + weights[-1]
            return float((inside + outside) / total), float(outside / total)

    def counts(self, runs: int, entropy: Entropy) -> tuple[int, int]:
        """How many of so many draws reply, and how many of them from outside."""
        [(low, high)] = self.boxes.ends(self.guaranteed)
        drawn = [replace(self.boxes, refusal=self.refusal).draw(self.rho, entropy) for _ in range(runs)]
        points = [point[0] for point in drawn if point is not None]
        return len(points), sum(not low <= point <= high for point in points)


def caught(x: Numbers, cell: Cell) -> Draw | None:
    """What a public function draws from on such data: it is stopped just there. None where ⊥ comes without a draw."""
    seen: list[Draw] = []

    def draw(boxes: Boxes, rho: Fraction, entropy: Entropy, refusal: Refusal) -> None:
        kept = Kept(boxes.lows, boxes.highs, boxes.whole)
        seen.append(Draw(kept, rho, boxes.bounded(rho, refusal)))

    with mock.patch.object(Boxes, "draw", draw):
        STATISTICS[cell.statistic](x, epsilon=cell.epsilon)
    return seen[0] if seen else None


def measure(runs: int, seeded: tuple[int, Cell]) -> Row:
    """Counts and chances of one cell. The chance from outside is that of the worst table."""
    seed, cell = seeded
    rng, entropy, each = np.random.default_rng(seed), SeededEntropy(seed), -(-runs // TABLES)
    draws = [caught(cell.sample(rng), cell) for _ in range(TABLES)]
    laws = np.array([(0.0, 0.0) if draw is None else draw.law() for draw in draws])
    counts = np.array([(0, 0) if draw is None else draw.counts(each, entropy) for draw in draws])
    return {
        "statistic": cell.statistic,
        "ε": cell.epsilon,
        "data": cell.data,
        "n": cell.n,
        "K": None if draws[0] is None else draws[0].guaranteed,
        "runs": each * TABLES,
        "replies": float(counts[:, 0].sum() / (each * TABLES)),
        "chance of a reply": float(laws[:, 0].mean()),
        "outside": int(counts[:, 1].sum()),
        "expected outside": float(laws[:, 1].sum() * each),
        "largest chance": float(laws[:, 1].max()),
    }


def cells() -> Iterator[Cell]:
    """All that is measured."""
    for epsilon, sizes in SIZES.items():
        for statistic, data in itertools.product(sizes, (*DATA, HOSTILE)):
            yield from (Cell(statistic, epsilon, data, n) for n in sizes[statistic])


def measured(pool: Executor, runs: int) -> list[Row]:
    """The rows of all cells."""
    return list(pool.map(partial(measure, runs), enumerate(cells())))


def report(rows: Sequence[Row]) -> Iterator[str]:
    """One table for each statistic and ε, then the sums."""
    yield (
        "A cell holds the share of runs that reply, the replies from outside the guaranteed interval K, and in\n"
        f"parentheses the exact chance of one, for the worst of {TABLES} tables. It is at most 1e-06."
    )
    for (statistic, epsilon), group in itertools.groupby(rows, key=lambda row: (row["statistic"], row["ε"])):
        lines = [
            {"data": data} | {f"n = {row['n']}, K = {row['K']}": _summary(row) for row in found}
            for data, found in itertools.groupby(group, key=lambda row: row["data"])
        ]
        yield f"{statistic}, ε = {epsilon:g}\n\n{table(lines)}"
    runs, outside, expected = (sum(row[key] for row in rows) for key in ("runs", "outside", "expected outside"))
    yield (
        f"{runs:,} runs in {len(rows)} cells: {outside} replies from outside; the exact law expects {expected:.2g}.\n"
        f"The largest chance of one is {max(row['largest chance'] for row in rows):.7g}.\n"
        f"Shares of replies differ from the exact law by {max(map(_deviation, rows)):.2g} standard errors at most."
    )


def _summary(row: Row) -> str:
    return f"{percent(row['replies'])}, {row['outside']} ({row['largest chance']:.0e})"


def _deviation(row: Row) -> float:
    """How far the share of replies is from its law, in standard errors; one run more or less is no deviation."""
    p, n = row["chance of a reply"], row["runs"]
    return max(abs(row["replies"] - p) * n - 1, 0) / max(math.sqrt(n * p * (1 - p)), 1)
