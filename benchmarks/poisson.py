"""Poisson regression by bounded sums beside statsmodels' without privacy: simulated counts, and real ones.

The error is that of the logarithm of the rate on the rows, root mean square, over that of statsmodels' fit. Coverage is
how many 95% intervals hold the truth. Real counts have no truth: there it is how much of Poisson's deviance the fit
explains, and the mean of its rates over that of the counts.

    python benchmarks/poisson.py --json out/poisson.json
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import statsmodels.api as sm
from common import Ratio, machine, table, write_json
from numpy.typing import NDArray
from tables import load

import uptack as ut

Floats = NDArray[np.float64]
EPSILON = 1.0
SIZES = ((2, 10_000), (5, 20_000), (5, 100_000), (20, 100_000))
LAWS = ("Poisson", "variance 3μ", "variance μ + μ²/2", "variance μ + μ²", "Poisson, mean 0.25")
HEALTH = "lncoins idp lpi fmde physlm disea hlthg hlthf hlthp"
TABLES = (("mdvis", "lncoins disea physlm", 1.0), ("mdvis", HEALTH, 1.0), ("mdvis", HEALTH, 3.0))


def rows(rng: np.random.Generator, n: int, p: int, law: str) -> tuple[Floats, Floats, Floats]:
    """Normal columns; logarithms of rates have a deviation of 0.7, rates a mean of e."""
    x, beta = rng.normal(size=(n, p)), rng.normal(size=p)
    beta *= 0.7 / np.linalg.norm(beta)
    start = (np.log(0.25) if law.endswith("0.25") else 1.0) - 0.7**2 / 2
    mu = np.exp(start + x @ beta)
    means = {"variance 3μ": lambda: rng.gamma(mu / 2, 2.0), "variance μ + μ²/2": lambda: rng.gamma(2.0, mu / 2),
             "variance μ + μ²": lambda: rng.gamma(1.0, mu)}  # fmt: skip
    return x, rng.poisson(means[law]() if law in means else mu).astype(float), np.append(start, beta)


def plain(x: Floats, y: Floats) -> Floats:
    return np.asarray(sm.GLM(y, sm.add_constant(x), family=sm.families.Poisson()).fit().params)


def simulated(runs: int) -> Iterator[dict[str, Any]]:
    for law in LAWS:
        for p, n in SIZES:
            errors, held, means = [], [], []
            for seed in range(runs):
                x, y, beta = rows(np.random.default_rng(seed), n, p, law)
                found = ut.poisson_regression(x, y, epsilon=EPSILON)
                if found:
                    a = sm.add_constant(x)
                    errors.append([np.sqrt(np.mean((a @ (b - beta)) ** 2)) for b in (found.value, plain(x, y))])
                    low, high = found.interval(0.95)
                    held.append(np.mean((low <= beta) & (beta <= high)))
                    means.append(np.exp(a @ found.value).mean() / y.mean())
            row: dict[str, Any] = {"counts": law, "p": p, "n": n, "reply": len(errors) / runs}
            if not errors:
                yield row | dict.fromkeys(("statsmodels", "uptack /", "coverage", "mean rate", "worst"))
                continue
            ours, theirs = np.median(errors, axis=0)
            yield row | {"statsmodels": theirs, "uptack /": Ratio(ours / theirs), "coverage": float(np.mean(held)),
                         "mean rate": float(np.mean(means)), "worst": max(means, key=lambda m: abs(m - 1))}  # fmt: skip


def real(runs: int) -> Iterator[dict[str, Any]]:
    data = load("randhie").frame
    for response, names, epsilon in TABLES:
        x, y = data[names.split()].to_numpy(float), data[response].to_numpy(float)
        a, binary = sm.add_constant(x), [i for i, c in enumerate(x.T) if set(np.unique(c)) <= {0.0, 1.0}]

        def explained(beta: Floats, a: Floats = a, y: Floats = y) -> float:
            worst, left = (deviance(y, mu) for mu in (np.full(len(y), y.mean()), np.exp(a @ beta)))
            return 1 - left / worst

        fits = [ut.poisson_regression(x, y, epsilon=epsilon, binary=binary) for _ in range(runs)]
        found = [fit.value for fit in fits if fit]
        means = [float(np.exp(a @ b).mean() / y.mean()) for b in found] or [np.nan]
        row = {"counts": response, "p": x.shape[1], "n": len(y), "ε": epsilon, "statsmodels": explained(plain(x, y))}
        yield row | {"uptack": float(np.median([explained(b) for b in found])) if found else None,
                     "least": min(map(explained, found), default=None), "mean rate": float(np.median(means)),
                     "worst": max(means, key=lambda m: abs(m - 1)), "reply": len(found) / runs}  # fmt: skip


def deviance(y: Floats, mu: Floats) -> float:
    return float(2 * np.sum(np.where(y > 0, y * np.log(np.maximum(y, 1e-300) / mu), 0.0) - (y - mu)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("out/poisson.json"))
    parser.add_argument("--runs", type=int, default=12)
    options = parser.parse_args()
    made, tables = list(simulated(options.runs)), list(real(options.runs))
    print(f"Error of log-rates, ε = {EPSILON}, as a multiple of that of statsmodels without privacy.\n")
    print(table(made))
    print("\nThe part of Poisson's deviance that is explained, number of visits to doctors.\n")
    print(table(tables))
    write_json(options.json, [*made, *tables], machine("uptack", "numpy", "statsmodels"))
    print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
