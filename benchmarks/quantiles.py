"""Many quantiles at once without bounds, beside recursive ApproximateQuantiles with true bounds and an even split.

Each run draws a fresh sample and every way answers on it. The error of a quantile is the number of rows between the
released value and the order statistic that was asked for, averaged over all levels j/(m + 1).

ApproximateQuantiles (Kaplan, Schnapp and Stemmer 2022; our own implementation) gets the true range of the sample,
which uptack does not. A row that is replaced changes one bin of the first depth and two of each that follows, so d
depths at ε/(2d - 1) each have the guarantee of uptack's ε. With ε/d each only added and removed rows are covered. The
even split releases every quantile by itself with ε/m.

    python benchmarks/quantiles.py --json out/quantiles.json
    python benchmarks/quantiles.py --quick                       # a smaller n, fewer runs
    python benchmarks/quantiles.py --shares                      # how ε is divided between a median and its interval
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from common import Row, machine, table, write_json
from numpy.typing import NDArray

import uptack
from uptack.statistics import quantiles

Numbers = NDArray[np.float64]
Way = Callable[[Numbers, list[int], float, np.random.Generator], Numbers | None]
LEVELS = (9, 99, 199, 999)
LAWS: dict[str, Callable[[np.random.Generator, int], Numbers]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "normal at 1e6": lambda rng, n: 1e6 + rng.normal(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
}


def at_once(x: Numbers, ranks: list[int], epsilon: float, _: np.random.Generator) -> Numbers | None:
    levels = [f"{rank}/{x.size}" for rank in ranks]
    reply = uptack.quantile(x, levels, epsilon=epsilon)
    return reply.value if reply else None


def one_by_one(x: Numbers, ranks: list[int], epsilon: float, _: np.random.Generator) -> Numbers | None:
    replies = [uptack.quantile(x, f"{rank}/{x.size}", epsilon=epsilon / len(ranks)) for rank in ranks]
    return np.array([reply.value for reply in replies]) if all(replies) else None


def for_replaced_rows(x: Numbers, ranks: list[int], epsilon: float, rng: np.random.Generator) -> Numbers:
    return approximate(x, ranks, epsilon / (2 * len(ranks).bit_length() - 1), rng)


def for_added_rows(x: Numbers, ranks: list[int], epsilon: float, rng: np.random.Generator) -> Numbers:
    return approximate(x, ranks, epsilon / len(ranks).bit_length(), rng)


def approximate(x: Numbers, ranks: list[int], part: float, rng: np.random.Generator) -> Numbers:
    """The middle quantile by the exponential mechanism, then each side of it; each depth has an equal part of ε."""
    bounds = float(x.min()), float(x.max())

    def recurse(rows: Numbers, left: list[int], low: float, high: float) -> list[float]:
        if not left:
            return []
        edges, middle = np.concatenate(([low], rows, [high])), len(left) // 2
        with np.errstate(divide="ignore"):
            weights = np.log(np.diff(edges)) - part / 2 * np.abs(np.arange(rows.size + 1) - left[middle])
        gap = int(np.argmax(weights + rng.gumbel(size=weights.size)))
        value = float(rng.uniform(edges[gap], edges[gap + 1]))
        above = [rank - gap for rank in left[middle + 1 :]]
        return [*recurse(rows[:gap], left[:middle], low, value), value, *recurse(rows[gap:], above, value, high)]

    return np.array(recurse(np.sort(x), ranks, *bounds))


WAYS: dict[str, Way] = {
    "uptack, all at once (no bounds)": at_once,
    "uptack, ε split evenly (no bounds)": one_by_one,
    "ApproximateQuantiles (true bounds)": for_replaced_rows,
    "ApproximateQuantiles (true bounds, added rows only)": for_added_rows,
}


def measured(way: str, data: str, count: int, n: int, runs: int, epsilon: float) -> Row:
    """Mean rank error over runs, and the seconds of one."""
    errors, seconds = [], []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        x = LAWS[data](rng, n)
        ranks = [-(-j * n // (count + 1)) for j in range(1, count + 1)]
        start = time.perf_counter()
        found = WAYS[way](x, ranks, epsilon, rng)
        seconds.append(time.perf_counter() - start)
        if found is None:
            return {"data": data, "levels": count, "method": way, "error in ranks": None, "seconds": None}
        at = np.searchsorted(np.sort(x), found, side="right")
        errors.append(float(np.abs(at - ranks).mean()))
    row: dict[str, Any] = {"data": data, "levels": count, "method": way}
    return row | {"error in ranks": float(np.mean(errors)), "seconds": float(np.median(seconds))}


SHARES = ("1/4", "3/10", "1/3", "3/8", "2/5", "9/20")
SAMPLES = ((500, 0.81), (2000, 0.81), (5000, 1.0))
"""Rows and ε. A group gets ε = 0.81 of the 2 of a release for four unknown groups of people who may be replaced."""


def with_interval(n: int, epsilon: float, share: str, runs: int) -> Row:
    """Medians of normal samples with a 95% interval whose ends have this share of ε each."""
    released = []
    for seed in range(runs):
        x = np.round(np.random.default_rng(seed).normal(60, 15, n), 1)
        with mock.patch.object(quantiles, "END_SHARE", Fraction(share)):
            released.append(uptack.median(x, epsilon=epsilon, interval="0.95", adjacency=uptack.ADD_REMOVE))
    replies = [reply for reply in released if reply]
    ends = [reply.interval("0.95") for reply in replies]
    return {
        "n": n,
        "ε": epsilon,
        "share of each end": share,
        "replies": f"{len(replies)} of {runs}",
        "width of the interval": float(np.median([high - low for low, high in ends])) if ends else None,
        "error of the median": float(np.mean([abs(reply.value - 60) for reply in replies])) if ends else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--n", type=int, default=500_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--levels", type=int, nargs="+", default=list(LEVELS))
    parser.add_argument("--quick", action="store_true", help="50,000 rows and 3 runs")
    parser.add_argument("--json", type=Path, help="where to keep the numbers")
    parser.add_argument("--shares", action="store_true", help="medians with intervals, for several divisions of ε")
    asked = parser.parse_args()
    if asked.shares:
        print(
            table([with_interval(*sample, share, 10 if asked.quick else 100) for sample in SAMPLES for share in SHARES])
        )
        return
    n, runs = (50_000, 3) if asked.quick else (asked.n, asked.runs)
    rows = []
    for data in LAWS:
        for count in asked.levels:
            for way in WAYS:
                if way == "uptack, ε split evenly (no bounds)" and count > 99:
                    continue  # minutes, for errors of thousands of ranks or ⊥
                rows.append(measured(way, data, count, n, min(runs, 3) if "evenly" in way else runs, asked.epsilon))
    print(f"Mean error of a quantile in ranks, n = {n:,}, ε = {asked.epsilon:g}; empty: ⊥ by public numbers.\n")
    print(table(rows))
    if asked.json:
        write_json(asked.json, rows, machine("uptack", "numpy") | {"n": n, "epsilon": asked.epsilon, "runs": runs})


if __name__ == "__main__":
    main()
