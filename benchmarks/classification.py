"""Logistic regression by bounded sums, diffprivlib's with true bounds, and scikit-learn's without privacy.

The figure is the error of the log-odds on new rows, root mean square, and its ratio to that of scikit-learn's fit on
the same rows; and how much larger the log loss on new rows is. diffprivlib gets the largest length of a row from the
curator's own data, which is a favour: it is not private.

    python benchmarks/classification.py --json out/classification.json
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
from sklearn.linear_model import LogisticRegression

import uptack as ut

Floats = NDArray[np.float64]
Fit = Callable[[Floats, Floats], Floats | None]
EPSILON = 1.0
SIZES = ((5, 10_000), (5, 50_000), (5, 200_000), (20, 200_000))
DESIGNS = ("independent", "correlated columns", "rare class", "columns on scales 0.01 to 100")


def rows(rng: np.random.Generator, n: int, p: int, design: str) -> tuple[Floats, Floats, Floats]:
    """Normal columns, log-odds of deviation 2, intercept first."""
    beta = rng.normal(size=p)
    x = rng.normal(size=(n, p))
    if design == "correlated columns":
        x @= np.linalg.cholesky(0.8 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))).T
    if design == "columns on scales 0.01 to 100":
        scales = np.geomspace(0.01, 100, p)
        x, beta = x * scales, beta / scales
    beta *= 2 / np.std(x @ beta)
    start = -3.0 if design == "rare class" else 0.0
    y = (rng.random(n) < 1 / (1 + np.exp(-start - x @ beta))).astype(float)
    return x, y, np.append(start, beta)


def plain(x: Floats, y: Floats) -> Floats | None:
    made = LogisticRegression(C=1e6, max_iter=1000).fit(x, y)
    return np.append(made.intercept_, made.coef_[0])


def ours(x: Floats, y: Floats) -> Floats | None:
    return ut.logistic_regression(x, y, epsilon=EPSILON).value


def diffprivlib(x: Floats, y: Floats) -> Floats | None:
    """By the function behind its estimator, whose constructor does not go with a new scikit-learn."""
    path = without_package("diffprivlib.models.logistic_regression")._logistic_regression_path
    longest = float(np.linalg.norm(x, axis=1).max())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        coefficients, _, _ = path(x, y, EPSILON, longest, Cs=[1.0], max_iter=1000)
    return np.append(coefficients[0][-1], coefficients[0][:-1])


def log_loss(y: Floats, odds: Floats) -> float:
    return float(np.mean(np.logaddexp(0.0, odds) - y * odds))


def measured(runs: int) -> Iterator[dict[str, Any]]:
    fits: dict[str, Fit] = {"scikit-learn": plain, "uptack": ours, "diffprivlib, true bounds": diffprivlib}
    rng = np.random.default_rng(0)
    for design in DESIGNS:
        for p, n in SIZES:
            errors: dict[str, list[float]] = {name: [] for name in fits}
            losses: dict[str, list[float]] = {name: [] for name in fits}
            seconds = 0.0
            for _ in range(runs):
                x, y, beta = rows(rng, n, p, design)
                half = n // 2  # the other half is new
                new = np.column_stack([np.ones(n - half), x[half:]])
                for name, fit in fits.items():
                    start = time.perf_counter()
                    found = fit(x[:half], y[:half])
                    seconds = time.perf_counter() - start if name == "uptack" else seconds
                    off = np.nan if found is None else float(np.sqrt(np.mean((new @ (found - beta)) ** 2)))
                    errors[name].append(off)
                    losses[name].append(np.nan if found is None else log_loss(y[half:], new @ found))
            base, level = float(np.median(errors["scikit-learn"])), np.array(losses["scikit-learn"])
            row: dict[str, Any] = {"design": design, "p": p, "n": n // 2, "scikit-learn": base}
            for name in list(fits)[1:]:
                replied = np.isfinite(errors[name])
                row[f"{name} /"] = Ratio(np.median(np.array(errors[name])[replied]) / base) if replied.any() else None
                more = np.array(losses[name]) - level
                row[f"{name}, log loss +"] = float(np.median(more[replied])) if replied.any() else None
            yield row | {"reply": float(np.mean(np.isfinite(errors["uptack"]))), "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("out/classification.json"))
    parser.add_argument("--runs", type=int, default=11)
    options = parser.parse_args()
    found = list(measured(options.runs))
    print(f"Error of the log-odds, ε = {EPSILON}, as a multiple of that of scikit-learn without privacy.\n")
    print(table(found))
    write_json(options.json, found, machine("uptack", "diffprivlib", "numpy", "scikit-learn") | {"epsilon": EPSILON})
    print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
