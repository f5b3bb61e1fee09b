"""Robust regression R_H beside its limit, the papers' own version, the short cut, diffprivlib's and least squares.

Each row is one design with an intercept and normal regressors and errors, drawn anew for each release; with outliers a
tenth of the responses are set to 1e6, or of the regressors to 1e4. The figure is the median Euclidean error of the
coefficients, as a multiple of that of H itself without privacy on the same rows, which is the limit of what is released
here. All spend ε = 1 in all: so the papers' R_H, which costs (2p + 2^p)·eps, runs at a small eps. diffprivlib gets its
bounds from the curator's own data, which is a favour. Time is processor time, the best of the releases; the growth
exponent is that of the time over the last tenfold step of n.

    python benchmarks/hampel.py --json out/hampel.json
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import Ratio, Row, machine, table, without_package, write_json
from numpy.typing import NDArray

from uptack.papers import R_H, hampel_regression, shortcut_regression
from uptack.papers.hampel_fit import minimiser, normalise

Floats = NDArray[np.float64]
Fit = Callable[[Floats, Floats], Floats | None]
EPSILON, DELTA = 1.0, 1e-6
SIZES = {2: (10**4, 10**5, 10**6), 3: (10**4, 10**5), 4: (10**5,)}
OUTLIERS = ("none", "10% of y", "10% of x")
WANTED_EXPONENT = 1.2


def _data(seed: int, n: int, p: int, outliers: str) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p - 1))
    y = x.sum(axis=1) + 1 + rng.normal(size=n)
    if outliers == "10% of y":
        y[: n // 10] = 1e6
    if outliers == "10% of x":
        x[: n // 10] = 1e4
    return x, y


def _design(x: Floats) -> Floats:
    return np.column_stack([np.ones(len(x)), x])


def _limit(x: Floats, y: Floats) -> Floats:
    return np.array(minimiser(*normalise(_design(x), y)), np.float64)


def _least_squares(x: Floats, y: Floats) -> Floats:
    return np.asarray(np.linalg.lstsq(_design(x), y, rcond=None)[0], dtype=np.float64)


def _ours(x: Floats, y: Floats) -> Floats | None:
    return hampel_regression(x, y, epsilon=EPSILON, delta=DELTA).value


def _printed(x: Floats, y: Floats) -> Floats | None:
    p = x.shape[1] + 1
    parts = 2 * p + 2**p
    return R_H(_design(x), y, EPSILON / parts, delta=DELTA / parts).value


def _shortcut(x: Floats, y: Floats) -> Floats | None:
    return shortcut_regression(x, y, epsilon=EPSILON).value


def _diffprivlib(x: Floats, y: Floats) -> Floats:
    model = without_package("diffprivlib.models.linear_regression").LinearRegression
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bounds = {"bounds_X": (x.min(axis=0), x.max(axis=0)), "bounds_y": (y.min(), y.max())}
        made = model(epsilon=EPSILON, **bounds).fit(x, y)
    return np.concatenate([[made.intercept_], made.coef_])


FITS: dict[str, Fit] = {
    "H": _limit,
    "least squares": _least_squares,
    "uptack": _ours,
    "papers' R_H": _printed,
    "short cut": _shortcut,
    "diffprivlib": _diffprivlib,
}


def _row(p: int, n: int, outliers: str, rounds: int) -> dict[str, Any]:
    """Errors over those of H, our replies, and our best time."""
    errors: dict[str, list[float]] = {name: [] for name in FITS}
    seconds = math.inf
    for seed in range(rounds):
        x, y = _data(seed, n, p, outliers)
        for name, fit in FITS.items():
            start = time.process_time()
            found = fit(x, y)
            seconds = min(seconds, time.process_time() - start) if fit is _ours else seconds
            errors[name] += [] if found is None else [float(np.linalg.norm(found - 1))]
    limit = float(np.median(errors.pop("H")))
    row: dict[str, Any] = {"p": p, "n": n, "outliers": outliers, "H": limit}
    row |= {f"{name} / H": Ratio(np.median(e) / limit) if e else None for name, e in errors.items()}
    return row | {"replies": f"{len(errors['uptack'])}/{rounds}", "seconds": seconds}


def rows(rounds: int) -> Iterator[Row]:
    """One row for each p, n, and data with and without outliers."""
    for p, sizes in SIZES.items():
        for outliers in OUTLIERS:
            before: tuple[int, float] | None = None
            for n in sizes:
                row = _row(p, n, outliers, rounds)
                growth = math.log(row["seconds"] / before[1]) / math.log(n / before[0]) if before else None
                before = n, row["seconds"]
                yield row | {"growth exponent": growth, "wanted": None if growth is None else WANTED_EXPONENT}


def main() -> None:
    parser = argparse.ArgumentParser(description="Errors, replies and time of the robust regression R_H.")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--rounds", type=int, default=7, help="releases a row")
    options = parser.parse_args()
    found = list(rows(options.rounds))
    print(f"R_H at ε = {EPSILON:g}, δ = {DELTA:g}, {options.rounds} releases a row.\n\n{table(found)}")
    if options.json:
        write_json(options.json, found, machine("uptack", "diffprivlib", "numpy", "scipy"))
        print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
