"""Time and memory of a release: the whole of it on a large array, and what it adds to the selection on a small one.

The yardstick is one `np.partition(x, n // 2)` of the same array in the same run: the least that a median costs without
privacy. Each time is the best of several; memory is the peak that tracemalloc sees, in copies of the array.

    python benchmarks/speed.py --json out/speed.json
"""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import Row, best_seconds, machine, table, write_json
from numpy.typing import NDArray

import uptack

Floats = NDArray[np.float64]
LARGE, SMALL = 10**7, 10**4
ROUNDS = 5
DECILES = [i / 10 for i in range(1, 10)]

RELEASES: dict[str, Callable[[Floats, float], object]] = {
    "median": lambda x, epsilon: uptack.median(x, epsilon=epsilon),
    "iqr": lambda x, epsilon: uptack.iqr(x, epsilon=epsilon),
    "trimmed_mean": lambda x, epsilon: uptack.trimmed_mean(x, epsilon=epsilon),
    "quantile, 9 levels": lambda x, epsilon: uptack.quantile(x, DECILES, epsilon=epsilon),
}
WANTED_TIMES = {"median": 2.0, "iqr": 3.0}
WANTED_COPIES = {"median": 1.2, "iqr": 1.2}


def _peak(fn: Callable[[], object]) -> int:
    """Bytes allocated on top of what there was before, at the worst moment of a call."""
    tracemalloc.start()
    fn()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def large(n: int) -> Iterator[Row]:
    """Whole releases from a large array, over one selection of it."""
    x = np.random.default_rng(0).normal(size=n)
    selection = best_seconds(lambda: np.partition(x, n // 2), ROUNDS)
    yield {"release": "np.partition(x, n // 2)", "n": n, "seconds": selection} | dict.fromkeys(
        ("times np.partition", "wanted", "copies", "copies wanted")
    )
    for name, release in RELEASES.items():
        seconds = best_seconds(lambda release=release: release(x, 1.0), ROUNDS)
        yield {
            "release": name,
            "n": n,
            "seconds": seconds,
            "times np.partition": seconds / selection,
            "wanted": WANTED_TIMES.get(name),
            "copies": _peak(lambda release=release: release(x, 1.0)) / x.nbytes,
            "copies wanted": WANTED_COPIES.get(name),
        }


def small(n: int, rounds: int) -> Iterator[Row]:
    """Milliseconds that a release takes beyond the selection."""
    x = np.random.default_rng(0).normal(size=n)
    selection = best_seconds(lambda: np.partition(x, n // 2), rounds)
    for name, release in RELEASES.items():
        row: dict[str, Any] = {"release": name, "n": n}
        for epsilon in (1.0, 0.1):
            replies = bool(release(x, epsilon))
            seconds = best_seconds(lambda release=release, epsilon=epsilon: release(x, epsilon), rounds)
            row[f"ms beyond, ε = {epsilon}"] = 1e3 * (seconds - selection) if replies else "⊥"
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(description="Time and memory of a release.")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    options = parser.parse_args()
    whole = list(large(LARGE // 10 if options.quick else LARGE))
    print(f"Releases at ε = 1, best of {ROUNDS}.\n\n{table(whole)}\n")
    beyond = list(small(SMALL, 10 * ROUNDS))
    print(f"Beyond one np.partition, best of {10 * ROUNDS}.\n\n{table(beyond)}")
    if options.json:
        rows = [{"table": "large"} | dict(row) for row in whole] + [{"table": "small"} | dict(row) for row in beyond]
        write_json(options.json, rows, machine("uptack", "numpy"))
        print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
