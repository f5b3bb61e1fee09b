"""Integrated squared error of private densities, from 100 to 1,000,000 rows, beside peers and beside no privacy.

Populations: a mixture of two normal laws, and a Student law with two degrees of freedom, which has no variance. Every
run draws a fresh sample that all methods see. The error is integrated over [-60, 60], against the population's density.

uptack's methods get no bounds ("private box", "private bandwidth"), or public ones ("box given"), which the histograms
of diffprivlib must have; it is made for added and removed rows and gets ε/2, with Scott's number of cells. The Gaussian
process has δ = 1e-6, all others 0. "No privacy" is the series with ε = 1,000,000, and the kernel estimate with
Silverman's bandwidth; the minimax rate of densities with two derivatives is n^(-4/5). No number means ⊥.

    python benchmarks/density.py --runs 10 --json out/density.json
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import Ratio, machine, table, without_package, write_json
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.stats import norm, t

from uptack.densities.fourier import fourier_density
from uptack.densities.kernel_density import kde

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
EPSILONS = (0.5, 1.0)
DELTA = 1e-6
LIMIT = -0.8
"""The slope of the minimax rate."""
FIRST_OF_SLOPE = 10_000
GRID = np.linspace(-60, 60, 24_001)

Floats = NDArray[np.float64]
Method = Callable[[Floats, "Population", float], Floats | None]
diffprivlib = without_package("diffprivlib.tools.histograms")


@dataclass(frozen=True)
class Population:
    """A law to sample from, and a public box for the methods that must have one."""

    name: str
    sample: Callable[[np.random.Generator, int], Floats]
    density: Callable[[Floats], Floats]
    box: tuple[float, float]


def two_peaks(rng: np.random.Generator, n: int) -> Floats:
    """Half N(-2, 1/4), half N(1.5, 1)."""
    return np.where(rng.random(n) < 0.5, rng.normal(-2, 0.5, n), rng.normal(1.5, 1, n))


POPULATIONS = (
    Population("two peaks", two_peaks, lambda x: (norm.pdf(x, -2, 0.5) + norm.pdf(x, 1.5, 1)) / 2, (-5.0, 6.0)),
    Population("heavy tail", lambda rng, n: rng.standard_t(2, n), lambda x: t.pdf(x, 2), (-15.0, 15.0)),
)


# ------------------------------------------------------------------------------------------------------------ methods


def series(x: Floats, law: Population, epsilon: float, noise: str, given: bool) -> Floats | None:
    """A Fourier series."""
    ends = {"low": law.box[0], "high": law.box[1]} if given else {}
    made = fourier_density(x, epsilon, noise=noise, **ends)  # type: ignore[arg-type]
    return np.asarray(made.value.curve.at(GRID)) if made else None


def process(x: Floats, law: Population, epsilon: float) -> Floats | None:
    """A kernel estimate with Gaussian-process noise and a private bandwidth, on the window that it chose."""
    made = kde(x, epsilon=epsilon, delta=DELTA)
    return np.asarray(made.value.on_grid().density().at(GRID)) if made else None


def spread(x: Floats) -> float:
    """Silverman's: the smaller one of two estimates of a standard deviation."""
    return float(min(x.std(), np.subtract(*np.percentile(x, [75, 25])) / 1.349))


def histogram(x: Floats, law: Population, epsilon: float) -> Floats:
    """diffprivlib's histogram, cut off at 0 and scaled to a mass of 1."""
    low, high = law.box
    cells = max(int((high - low) * x.size ** (1 / 3) / (3.49 * spread(x))), 1)  # from the sample, in its favour
    counts, edges = diffprivlib.histogram(x, epsilon / 2, bins=cells, range=law.box)
    heights = np.maximum(counts, 0) / max(np.maximum(counts, 0).sum(), 1) / np.diff(edges)
    place = np.searchsorted(edges, GRID, side="right") - 1
    return np.where((place >= 0) & (place < cells), heights[np.clip(place, 0, cells - 1)], 0)


def kernel(x: Floats, law: Population, epsilon: float) -> Floats:
    """The kernel estimate without privacy, from bins of 1/200."""
    h = 0.9 * spread(x) * x.size**-0.2
    step = GRID[1] - GRID[0]
    counts, _ = np.histogram(x, np.append(GRID - step / 2, GRID[-1] + step / 2))
    return np.asarray(gaussian_filter1d(counts / (x.size * step), h / step, mode="constant"))


PRIVATE: Mapping[str, Method] = {
    "diffprivlib histogram, box given": histogram,
    "Gaussian process, private bandwidth": process,
    "Laplace series, private box": partial(series, noise="laplace", given=False),
    "Carathéodory series, private box": partial(series, noise="caratheodory", given=False),
    "Laplace series, box given": partial(series, noise="laplace", given=True),
    "Carathéodory series, box given": partial(series, noise="caratheodory", given=True),
}
OPEN: Mapping[str, Method] = {
    "kernel, no privacy": kernel,
    "series, no privacy": lambda x, law, epsilon: series(x, law, 1e6, "caratheodory", given=True),
}


# ----------------------------------------------------------------------------------------------------------- measures


def error(found: Floats, law: Population) -> float:
    """∫(f - truth)²."""
    return float(((found - law.density(GRID)) ** 2).sum() * (GRID[1] - GRID[0]))


def measured(law: Population, n: int, runs: int) -> Iterator[tuple[str, float | None, float, float | None]]:
    """Method, ε, milliseconds and error of every answer on fresh samples."""
    for run in range(runs):
        x = law.sample(np.random.default_rng([n, run]), n)
        tasks = [(name, None, method) for name, method in OPEN.items()]
        tasks += [(name, e, method) for e in EPSILONS for name, method in PRIVATE.items()]
        for name, epsilon, method in tasks:
            start = time.perf_counter()
            found = method(x, law, epsilon or 0)
            spent = 1e3 * (time.perf_counter() - start)
            yield name, epsilon, spent, None if found is None else error(found, law)


def slope(errors: Mapping[int, float | None]) -> float | None:
    """Of log error against log n, from 10,000 rows on."""
    known = [(np.log(n), np.log(e)) for n, e in errors.items() if e is not None and n >= FIRST_OF_SLOPE]
    return float(np.polyfit(*zip(*known, strict=True), 1)[0]) if len(known) > 1 else None


def study(law: Population, sizes: Sequence[int], runs: int) -> list[dict[str, Any]]:
    """A row for each method and ε: the mean error at every n, its slope, and the ratio to no privacy at the last n."""
    found: dict[tuple[str, float | None], dict[int, list[float | None]]] = {}
    spent: dict[tuple[str, float | None], float] = {}
    for n in sizes:
        for name, epsilon, milliseconds, e in measured(law, n, runs if n < 100_000 else max(runs // 3, 1)):
            found.setdefault((name, epsilon), {}).setdefault(n, []).append(e)
            spent[name, epsilon] = milliseconds
    means = {
        key: {n: float(np.mean([v for v in e if v is not None])) if None not in e else None for n, e in by_n.items()}
        for key, by_n in found.items()
    }
    last, best = sizes[-1], means["series, no privacy", None][sizes[-1]]
    return [
        {"population": law.name, "method": name, "ε": epsilon}
        | {f"n = {n:,}": None if e is None else f"{e:.2g}" for n, e in errors.items()}
        | {"slope": slope(errors), "over no privacy": Ratio(errors[last] / best) if errors[last] and best else None}
        | {"ms at the last": spent[name, epsilon]}
        for (name, epsilon), errors in means.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=12, help="a third of it from 100,000 rows on")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = [row for law in POPULATIONS for row in study(law, options.sizes, options.runs)]
    for law in POPULATIONS:
        print(f"{law.name}: integrated squared error; the minimax rate has the slope {LIMIT}")
        print(
            table(
                [{k: v for k, v in row.items() if k != "population"} for row in rows if row["population"] == law.name]
            )
        )
        print()
    if options.json:
        write_json(options.json, rows, machine("uptack", "diffprivlib", "numpy", "scipy"))


if __name__ == "__main__":
    main()
