"""Robust regression R_H: time and its growth with n, replies, and errors beside those of least squares.

Each row is one design with an intercept and normal regressors and errors. Time is the best of several whole releases;
the growth exponent is that of the time over the last tenfold step of n. Errors are the median over releases of the
largest coefficient error, against the truth. With outliers a tenth of the responses are set to 1e6.

    python benchmarks/hampel.py --json out/hampel.json
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from common import Row, machine, table, write_json
from numpy.typing import NDArray

from uptack.regression.hampel import hampel_regression

Floats = NDArray[np.float64]
EPSILON, DELTA = 1.0, 1e-6
SIZES = {2: (10**4, 10**5, 10**6), 3: (10**4, 10**5)}
WANTED_EXPONENT = 1.2


def _data(n: int, p: int, outliers: bool) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, p - 1))
    y = x.sum(axis=1) + 1 + rng.normal(size=n)
    y[: n // 10] = 1e6 if outliers else y[: n // 10]
    return x, y


def _least_squares(x: Floats, y: Floats) -> float:
    fit = np.linalg.lstsq(np.column_stack([np.ones(len(y)), x]), y, rcond=None)[0]
    return float(np.abs(fit - 1).max())


def rows(rounds: int) -> Iterator[Row]:
    """One row for each p, n, and data with and without outliers."""
    for p, sizes in SIZES.items():
        for outliers in (False, True):
            before: tuple[int, float] | None = None
            for n in sizes:
                x, y = _data(n, p, outliers)
                seconds, errors = [], []
                for _ in range(rounds):
                    start = time.perf_counter()
                    reply = hampel_regression(x, y, epsilon=EPSILON, delta=DELTA)
                    seconds.append(time.perf_counter() - start)
                    errors += [float(np.abs(reply.value - 1).max())] if reply else []
                best = min(seconds)
                growth = math.log(best / before[1]) / math.log(n / before[0]) if before else None
                before = n, best
                yield {
                    "p": p,
                    "n": n,
                    "outliers": "10%" if outliers else "none",
                    "seconds": best,
                    "growth exponent": growth,
                    "wanted": WANTED_EXPONENT if before and growth is not None else None,
                    "replies": f"{len(errors)}/{rounds}",
                    "error": float(np.median(errors)) if errors else None,
                    "error of least squares": _least_squares(x, y),
                }


def main() -> None:
    parser = argparse.ArgumentParser(description="Time, replies and errors of the robust regression R_H.")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--rounds", type=int, default=9, help="releases a row")
    options = parser.parse_args()
    found = list(rows(options.rounds))
    print(f"R_H at ε = {EPSILON:g}, δ = {DELTA:g}, {options.rounds} releases a row.\n\n{table(found)}")
    if options.json:
        write_json(options.json, found, machine("uptack", "numpy", "scipy"))
        print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
