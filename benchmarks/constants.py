"""Constants of means, variances and sparse histograms: each of them smaller and larger, all others as they are.

A mean is measured by its error over that of the sample mean, a variance likewise, a sparse histogram by its ℓ1 error
over that with the constant as it is: geometric means over populations, each constant on the same samples. Coverage is
that of the 95% interval for the population, in the worst population.

    python benchmarks/constants.py --json out/constants.json
    python benchmarks/constants.py --runs 20                     # fewer samples
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from common import Row, machine, table, write_json
from numpy.typing import NDArray

import uptack
from uptack.discrete import sparse_histograms
from uptack.statistics import column_options, frames, means, moments

Numbers = NDArray[np.float64]
POPULATIONS: dict[str, tuple[Callable[[np.random.Generator, int], Numbers], float, float]] = {
    "normal": (lambda rng, n: rng.normal(5, 2, n), 5.0, 4.0),
    "lognormal": (lambda rng, n: rng.lognormal(0, 1, n), float(np.exp(0.5)), float((np.e - 1) * np.e)),
    "gamma 1/2": (lambda rng, n: rng.gamma(0.5, 1, n), 0.5, 0.5),
    "Poisson 3": (lambda rng, n: rng.poisson(3, n).astype(float), 3.0, 3.0),
    "t of 5": (lambda rng, n: rng.standard_t(5, n), 0.0, 5 / 3),
}
"""Draws, mean and variance."""

ADD_REMOVE = {"adjacency": uptack.ADD_REMOVE}


def _widths(recipes: Any, width: int) -> Any:
    return tuple(moments.MomentRecipe(one.kappa, width, one.of_rows) for one in recipes)


MEANS: Mapping[str, tuple[object, str, tuple[Any, ...], Mapping[str, Any]]] = {
    "NATS": (frames, "NATS", (35, 140), {}),
    "LEAST_NATS": (frames, "LEAST_NATS", (10, 40), {}),
    "width of RECIPES": (means, "RECIPES", (_widths(means.RECIPES, 2), _widths(means.RECIPES, 10)), {}),
    "DOUBT": (means, "DOUBT", (0.6, 1.0), {}),
    "STEEPEST": (moments, "STEEPEST", (3.0, 12.0), {}),
    "SURE": (moments, "SURE", (1.75, 7.0), {}),
    "BEYOND": (moments, "BEYOND", (1.75, 7.0), {}),
    "COUNT_SHARE": (column_options, "COUNT_SHARE", (Fraction(1, 20), Fraction(1, 5)), ADD_REMOVE),
}
VARIANCES: Mapping[str, tuple[object, str, tuple[Any, ...], Mapping[str, Any]]] = {
    "FOURTH": (means, "FOURTH", (Fraction(4, 100), Fraction(16, 100)), {}),
    "VARIANCE_DOUBT": (means, "VARIANCE_DOUBT", (0.7, 1.0), {}),
    "width of VARIANCE_RECIPES": (
        means,
        "VARIANCE_RECIPES",
        (_widths(means.VARIANCE_RECIPES, 4), _widths(means.VARIANCE_RECIPES, 16)),
        {},
    ),
}
SPARSE: Mapping[str, tuple[Any, ...]] = {
    "ROUNDS": (20, 80),
    "FINENESS": (3, 12),
    "FAR": (6, 24),
    "SCREENED": (1 << 11, 1 << 13),
    "RISING": (Fraction(6, 10), Fraction(8, 10)),
}


def moment_row(name: str, value: str, ask: Callable[..., Any], place: int, n: int, runs: int, options: Any) -> Row:
    """Error over that of the sample's own mean or variance, worst coverage, width and replies."""
    ratios, covered, widths, replies = list[float](), list[float](), list[float](), 0
    for number, (draw, *truths) in enumerate(POPULATIONS.values()):
        truth, errors, plain, hits = truths[place], list[float](), list[float](), list[bool]()
        for run in range(runs):
            x = draw(np.random.default_rng([number, run, n]), n)
            reply = ask(x, epsilon=1, entropy=uptack.SeededEntropy(run), **options)
            if reply:
                low, high = reply.interval(0.95)
                errors.append(reply.value - truth)
                plain.append((float(x.var()) if place else float(x.mean())) - truth)
                hits.append(low <= truth <= high)
                widths.append((high - low) / truths[1] ** 0.5)
        replies += len(errors)
        if errors:
            ratios.append(float(np.sqrt(np.mean(np.square(errors)) / np.mean(np.square(plain)))))
            covered.append(float(np.mean(hits)))
    return {
        "constant": name,
        "value": value,
        "n": n,
        "error over no privacy": float(np.exp(np.mean(np.log(ratios)))) if ratios else None,
        "worst coverage": min(covered, default=None),
        "median width": float(np.median(widths)) if widths else None,
        "replies": f"{replies} of {runs * len(POPULATIONS)}",
    }


def sparse_error(runs: int) -> float:
    """Mean ℓ1 error by the adaptive rule: 2,000 cells of 65,536, with counts of a Zipf law."""
    errors = []
    for run in range(runs):
        rng = np.random.default_rng(run)
        cells, counts = rng.choice(1 << 16, 2000, replace=False), rng.zipf(1.6, 2000).clip(max=500)
        made = uptack.sparse_histogram(
            np.repeat(cells, counts), 1 << 16, 1, rule="adaptive", entropy=uptack.SeededEntropy(run)
        ).value
        dense, true = np.zeros(1 << 16), np.zeros(1 << 16)
        dense[made.cells], true[cells] = made.counts, counts
        errors.append(float(np.abs(dense - true).sum()))
    return float(np.mean(errors))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=40, help="samples of each population")
    parser.add_argument("--sizes", type=int, nargs="+", default=[300, 3000])
    parser.add_argument("--json", type=Path, help="where to keep the numbers")
    asked = parser.parse_args()
    rows: list[Row] = []
    for ask, place, constants in ((uptack.mean, 0, MEANS), (uptack.variance, 1, VARIANCES)):
        for n in asked.sizes:
            rows.append(moment_row(f"({ask.__name__})", "as it is", ask, place, n, asked.runs, {}))
            if place == 0:
                rows.append(moment_row("(mean, n secret)", "as it is", ask, 0, n, asked.runs, ADD_REMOVE))
            for name, (module, constant, values, options) in constants.items():
                for value in values:
                    shown = str(value[0].width) if isinstance(value, tuple) else str(value)
                    with mock.patch.object(module, constant, value):
                        rows.append(moment_row(name, shown, ask, place, n, asked.runs, options))
    print(table(rows))
    usual = sparse_error(asked.runs)
    sparse: list[Row] = []
    for name, values in SPARSE.items():
        for value in values:
            with mock.patch.object(sparse_histograms, name, value):
                sparse.append(
                    {"constant": name, "value": str(value), "error over usual": sparse_error(asked.runs) / usual}
                )
    print(table(sparse))
    if asked.json:
        write_json(asked.json, [*rows, *sparse], machine())


if __name__ == "__main__":
    main()
