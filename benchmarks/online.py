"""A released function asked 5,000 times, point by point: time of a query against its index, beside one batch.

Beside ours: what a query costs where the covariance is factored anew for it, as the printed algorithm reads, and the
limit, one pass over the numbers that the factor has at that index. Last, draws of Carathéodory noise by degree.

    python benchmarks/online.py --json out/online.json
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from caratheodory import caratheodory_times
from common import best_seconds, machine, table, with_ratios, write_json
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from uptack.kernels import FunctionRelease, GaussianKernel, release_function
from uptack.progress import track

Floats = NDArray[np.float64]
KERNEL = GaussianKernel(0.05)
WINDOW = 50


def released(most_points: int) -> FunctionRelease:
    options: dict[str, Any] = {"sensitivity": 0.001, "norm": 10, "epsilon": 1, "delta": 1e-6}
    return release_function(lambda x: np.sin(x[:, 0]), kernel=KERNEL, most_points=most_points, **options).value


def online_seconds(points: Floats) -> Floats:
    """The time of each query."""
    value, spent = released(len(points)), np.empty(len(points))
    for i in track(range(len(points)), "online"):
        start = time.perf_counter()
        value.at(points[i : i + 1])
        spent[i] = time.perf_counter() - start
    return spent


def anew(points: Floats) -> Floats:
    """One draw given the answers at all points before, from scratch."""
    gram = KERNEL(points, points) + 1e-6 * np.eye(len(points))
    factor = np.linalg.cholesky(gram)
    kept: Floats = solve_triangular(factor, gram[:, -1], lower=True)
    return kept


def growth(index: Floats, seconds: Floats) -> float:
    """The exponent of a power law through the times, by least squares on logarithms."""
    return float(np.polyfit(np.log(index), np.log(seconds), 1)[0])


def queries(points: Floats) -> tuple[list[dict[str, Any]], dict[str, float]]:
    spent, count = online_seconds(points), len(points)
    start = time.perf_counter()
    released(count).at(points)
    batch = time.perf_counter() - start
    rows = []
    for k in sorted({count // 2**i for i in range(6)}):
        packed = np.ones(k * (k + 1) // 2)
        row = {
            "query": k,
            "ours, ms": 1e3 * float(np.median(spent[max(0, k - WINDOW) : k])),
            "factored anew, ms": 1e3 * best_seconds(lambda k=k: anew(points[:k]), rounds=2 if k < 2000 else 1),  # type: ignore[misc]
            "one pass, ms": 1e3 * best_seconds(lambda packed=packed: packed.sum()),  # type: ignore[misc]
        }
        rows.append(with_ratios(row, "ours, ms", {"factored anew, ms": "over anew", "one pass, ms": "over one pass"}))
    late = [row for row in rows if row["query"] >= count / 8]
    exponent = growth(np.array([r["query"] for r in late], float), np.array([r["ours, ms"] for r in late]))
    whole = {"online, s": float(spent.sum()), "batch, s": batch, "growth exponent": exponent}
    return rows, whole | {"mean query, ms": 1e3 * float(spent.mean())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=5000)
    parser.add_argument("--json", type=Path, default=Path("out/online.json"))
    options = parser.parse_args()
    points = np.random.default_rng(0).uniform(0, 10, size=(options.queries, 1))
    rows, whole = queries(points)
    print(table(rows))
    print("\n" + ", ".join(f"{name}: {value:.3g}" for name, value in whole.items()))
    print(f"online over batch: {whole['online, s'] / whole['batch, s']:.2g}×\n")
    noise = caratheodory_times()
    print(table(noise))
    meta = machine("uptack", "numpy", "scipy") | whole
    write_json(options.json, [*rows, *noise], meta)
    print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
