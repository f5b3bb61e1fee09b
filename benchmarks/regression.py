"""Linear regression by bounded sums, the short cut, diffprivlib's with true bounds and wide ones, and least squares.

The figure is the Euclidean error of the coefficients, and its ratio to that of least squares without privacy on the
same rows. diffprivlib gets the bounds that it asks for from the curator's own data, which is a favour: they are not
private.

    python benchmarks/regression.py --json out/regression.json
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import Ratio, machine, table, without_package, write_json
from numpy.typing import NDArray

import uptack as ut

Floats = NDArray[np.float64]
Fit = Callable[[Floats, Floats], Floats | None]
EPSILON = 1.0
SIZES = ((2, 10_000), (2, 50_000), (5, 10_000), (5, 50_000), (5, 200_000), (10, 50_000), (10, 200_000))
NOISES = ("normal", "heavy tails", "1% outliers", "correlated columns")


def rows(rng: np.random.Generator, n: int, p: int, noise: str) -> tuple[Floats, Floats, Floats]:
    """Normal columns, coefficients of length 1 with the intercept first, and errors of the kind asked for."""
    beta = rng.normal(size=p)
    beta /= np.linalg.norm(beta)
    x = rng.normal(size=(n, p - 1))
    if noise == "correlated columns":
        x @= np.linalg.cholesky(0.8 ** np.abs(np.subtract.outer(np.arange(p - 1), np.arange(p - 1)))).T
    errors = rng.standard_t(2, size=n) if noise == "heavy tails" else rng.normal(size=n)
    if noise == "1% outliers":
        errors[: n // 100] += rng.choice([-1, 1], n // 100) * 1000
    return x, beta[0] + x @ beta[1:] + errors, beta


def least_squares(x: Floats, y: Floats) -> Floats:
    design = np.column_stack([np.ones(len(x)), x])
    found: Floats = np.linalg.lstsq(design, y, rcond=None)[0]
    return found


def linear(x: Floats, y: Floats) -> Floats | None:
    return ut.linear_regression(x, y, epsilon=EPSILON).value


def ours(kind: str) -> Fit:
    def fit(x: Floats, y: Floats) -> Floats | None:
        result = ut.shortcut_regression(x, y, epsilon=EPSILON, block_fit=kind)
        return result.value

    return fit


def diffprivlib(width: float) -> Fit:
    model = without_package("diffprivlib.models.linear_regression").LinearRegression

    def fit(x: Floats, y: Floats) -> Floats | None:
        bounds_x = (width * x.min(axis=0), width * x.max(axis=0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bounds_y = (width * y.min(), width * y.max())
            made = model(epsilon=EPSILON, bounds_X=bounds_x, bounds_y=bounds_y).fit(x, y)
        return np.concatenate([[made.intercept_], made.coef_])

    return fit


def measured(runs: int) -> Iterator[dict[str, Any]]:
    fits: dict[str, Fit] = {
        "least squares": least_squares,
        "uptack": linear,
        "short cut": ours("huber"),
        "short cut, OLS blocks": ours("ols"),
        "diffprivlib, true bounds": diffprivlib(1),
        "diffprivlib, 100× bounds": diffprivlib(100),
    }
    rng = np.random.default_rng(0)
    for noise in NOISES:
        for p, n in SIZES:
            errors: dict[str, list[float]] = {name: [] for name in fits}
            seconds = 0.0
            for _ in range(max(runs * 50_000 // max(n, 50_000), 5)):
                x, y, beta = rows(rng, n, p, noise)
                for name, fit in fits.items():
                    start = time.perf_counter()
                    found = fit(x, y)
                    if name == "uptack":
                        seconds = time.perf_counter() - start
                    errors[name].append(np.nan if found is None else float(np.linalg.norm(found - beta)))
            base = float(np.median(errors["least squares"]))
            row: dict[str, Any] = {"errors": noise, "p": p, "n": n, "least squares": base}
            for name in list(fits)[1:]:
                replied = [e for e in errors[name] if np.isfinite(e)]
                row[f"{name} /"] = Ratio(np.median(replied) / base) if replied else None
            yield row | {"reply": float(np.mean(np.isfinite(errors["uptack"]))), "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("out/regression.json"))
    parser.add_argument("--runs", type=int, default=25)
    options = parser.parse_args()
    found = list(measured(options.runs))
    print(f"Error of the coefficients, ε = {EPSILON}, as a multiple of that of least squares.\n")
    print(table(found))
    write_json(options.json, found, machine("uptack", "diffprivlib", "numpy", "scikit-learn") | {"epsilon": EPSILON})
    print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
