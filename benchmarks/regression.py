"""Linear regressions beside each other: ours, peers that are told true bounds, and least squares without privacy.

Each row of the tables is a design, a number of coefficients p with the intercept, a number of rows n, and ε. The figure
is the prediction error, the root of the mean of ((1, x)·(b - β))² over the rows that are no outliers, as a multiple of
that of least squares without privacy on the same rows: medians over seeds, among those where there was a reply. Where
fewer replied, the share that did stands behind it; "⊥" says that none did. "round" is the short cut with
`coordinates="scatter"`, also with `block_fit="hampel"`, which is left out where it would take minutes. "rms" is the
ratio of root mean squares of the errors of uptack and OLS: with few seeds a ratio of medians says little.

- *iid*: normal columns. *AR*: neighbouring columns correlated by 0.8, scales from 1e-3 to 1e4, ten deviations from 0.
- *leverage*: 5% of the rows ten times as far out in x, with a y that has nothing to do with x.
- *10% of x*: as many rows have all predictors at 1e4 deviations. *10% of y*: as many have y at 1e6.

Errors are normal of variance 1, and β are standard normal over the scales. ε is spent in all; methods that need a δ get
1e-6. TukeyEM is our own, from the paper, with the scale of its noise mended. AdaSSP (our own) and diffprivlib get their
bounds from the rows, which is a favour: they are not private. Hampel's regression is for up to 4 coefficients.

    python benchmarks/regression.py --json out/regression.json
    python benchmarks/regression.py --quick
    python benchmarks/regression.py --wanted --others
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import regression_peers as peers
from common import Ratio, Row, machine, percent, table, write_json
from numpy.typing import NDArray
from tukey_em import tukey_em

import uptack as ut

Floats = NDArray[np.float64]
Fit = Callable[[Floats, Floats, float], Floats | None]
DELTA = 1e-6
DESIGNS = ("iid", "AR", "leverage", "10% of x", "10% of y")
MOST_OF_HAMPEL = 4
SLOW, MOST = "round, Hampel", 600_000
"""Absolute deviations in blocks take up to a minute for more numbers than that: left out."""

WANTED = {(5, 50_000): 1.1, (20, 50_000): 1.3}
"""At ε = 1 on iid and AR."""


@dataclass(frozen=True)
class Size:
    """Coefficients, rows, values of ε, seeds, and the designs."""

    p: int
    n: int
    epsilons: tuple[float, ...]
    seeds: int
    designs: tuple[str, ...] = DESIGNS


OUTLIERS, CLEAN = DESIGNS[2:], DESIGNS[:2]
FULL = (
    *(Size(p, n, (0.3, 1.0, 3.0), 7) for p in (2, 5) for n in (3_000, 10_000)),
    *(Size(p, 50_000, (1.0,), 15, CLEAN) for p in (2, 5)),
    *(Size(p, 50_000, (1.0,), 5, OUTLIERS) for p in (2, 5)),
    *(Size(p, 50_000, (0.3, 3.0), 3) for p in (2, 5)),
    Size(5, 200_000, (1.0,), 3),
    Size(10, 10_000, (1.0, 3.0), 3),
    Size(10, 50_000, (1.0, 3.0), 3),
    Size(10, 200_000, (1.0,), 3, CLEAN),
    Size(20, 10_000, (3.0,), 3),
    Size(20, 50_000, (1.0,), 7, CLEAN),
    Size(20, 50_000, (1.0,), 1, OUTLIERS),
    Size(20, 200_000, (1.0,), 1, CLEAN),
    Size(40, 50_000, (1.0, 3.0), 1, CLEAN),
    Size(40, 200_000, (1.0,), 1, ("AR",)),
    Size(5, 1_000_000, (1.0,), 1, CLEAN),
    Size(20, 1_000_000, (1.0,), 1, ("AR",)),
)
GOALS = (Size(5, 50_000, (1.0,), 60, CLEAN), Size(20, 50_000, (1.0,), 24, CLEAN))
ALWAYS = ("OLS", "uptack")
QUICK = (
    Size(2, 10_000, (1.0,), 9),
    Size(5, 10_000, (0.3, 1.0, 3.0), 3, CLEAN),
    Size(5, 50_000, (1.0,), 5),
    Size(20, 50_000, (1.0,), 3, CLEAN),
)


# ---------------------------------------------------------------------------------------------------------- designs


def drawn(design: str, n: int, p: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
    """Predictors, the response, the coefficients, and which rows are no outliers."""
    scales = np.geomspace(1e-3, 1e4, p - 1) if design == "AR" and p > 2 else np.ones(p - 1)
    x = rng.normal(size=(n, p - 1))
    if design == "AR":
        power = np.abs(np.subtract.outer(np.arange(p - 1), np.arange(p - 1)))
        x = (x @ np.linalg.cholesky(0.8**power).T + 10) * scales
    beta = rng.normal(size=p) / np.append(1.0, scales)
    y = beta[0] + x @ beta[1:] + rng.normal(size=n)
    clean = np.ones(n, bool)
    clean[: {"leverage": n // 20, "10% of x": n // 10, "10% of y": n // 10}.get(design, 0)] = False
    wrong = int(np.count_nonzero(~clean))
    if design == "leverage":
        x[:wrong] = 10 * rng.normal(size=(wrong, p - 1))
        y[:wrong] = 10 * rng.normal(size=wrong)
    if design == "10% of x":
        x[:wrong] = 1e4
    if design == "10% of y":
        y[:wrong] = 1e6
    return x, y, beta, clean


def with_ones(x: Floats) -> Floats:
    return np.column_stack([np.ones(len(x)), x])


def off(x: Floats, found: Floats, beta: Floats) -> float:
    """The prediction error."""
    return float(np.sqrt(np.mean((with_ones(x) @ (found - beta)) ** 2)))


# ---------------------------------------------------------------------------------------------------------- methods


def linear(x: Floats, y: Floats, epsilon: float) -> Floats | None:
    return ut.linear_regression(x, y, epsilon=epsilon).value


def shortcut(**options: Any) -> Fit:
    return lambda x, y, epsilon: ut.shortcut_regression(x, y, epsilon=epsilon, **options).value


def hampel(x: Floats, y: Floats, epsilon: float) -> Floats | None:
    if x.shape[1] + 1 > MOST_OF_HAMPEL:
        return None
    return ut.hampel_regression(x, y, epsilon=epsilon, delta=DELTA).value


def methods(rng: np.random.Generator) -> dict[str, Fit]:
    """All of them, by name; the first one is what the others are compared with."""
    return {
        "OLS": lambda x, y, _: peers.least_squares(with_ones(x), y),
        "Huber": lambda x, y, _: peers.huber(with_ones(x), y),
        "uptack": linear,
        "short cut": shortcut(),
        "round": shortcut(coordinates="scatter"),
        "round, Hampel": shortcut(coordinates="scatter", block_fit="hampel"),
        "Hampel": hampel,
        "TukeyEM": lambda x, y, epsilon: tukey_em(with_ones(x), y, epsilon, DELTA, rng),
        "AdaSSP": lambda x, y, epsilon: peers.ada_ssp(with_ones(x), y, epsilon, DELTA, rng),
        "diffprivlib": lambda x, y, epsilon: peers.diffprivlib_regression(x, y, epsilon),
    }


@dataclass
class Found:
    """The errors of one method, where it replied, how often it ran, and its least time."""

    runs: int = 0
    errors: list[float] = field(default_factory=list)
    seconds: float = math.inf


def measured(sizes: Sequence[Size], others: Sequence[str]) -> Iterator[dict[str, Any]]:
    """One row per design, p, n and ε, with these others beside ours."""
    rng = np.random.default_rng(0)
    fits = {name: fit for name, fit in methods(rng).items() if name in (*ALWAYS, *others)}
    for size in sizes:
        for design in size.designs:
            for epsilon in size.epsilons:
                row = _row(size, design, epsilon, fits, rng)
                print({k: str(v) for k, v in row.items()}, file=sys.stderr, flush=True)
                yield row


def _row(size: Size, design: str, epsilon: float, fits: dict[str, Fit], rng: np.random.Generator) -> dict[str, Any]:
    found = {name: Found() for name in fits}
    for _ in range(size.seeds):
        x, y, beta, clean = drawn(design, size.n, size.p, rng)
        for name, fit in fits.items():
            if name == SLOW and size.n * size.p > MOST:
                continue
            found[name].runs += 1
            start = time.process_time()
            fitted = fit(x, y, epsilon)
            found[name].seconds = min(found[name].seconds, time.process_time() - start)
            found[name].errors += [] if fitted is None else [off(x[clean], fitted, beta)]
    base = float(np.median(found["OLS"].errors))
    row: dict[str, Any] = {"design": design, "p": size.p, "n": size.n, "ε": epsilon, "OLS": base}
    row |= {name: Shown(one.errors, base, one.runs) for name, one in found.items() if name != "OLS"}
    mean = [float(np.sqrt(np.mean(np.square(found[name].errors)))) for name in ("uptack", "OLS") if found[name].errors]
    row["rms"] = round(mean[0] / mean[1], 2) if len(mean) == 2 else None
    times = found["uptack"].seconds / max(found["OLS"].seconds, 1e-4)
    return row | {"seconds": found["uptack"].seconds, "time / OLS": Ratio(times)}


class Shown(float):
    """The median error over that of least squares, NaN without replies, shown with the share that replied."""

    replied: float

    def __new__(cls, errors: Sequence[float], base: float, runs: int) -> Shown:
        """Of the errors where there was a reply."""
        made = super().__new__(cls, np.median(errors) / base if errors else math.nan)
        made.replied = len(errors) / runs if runs else math.nan
        return made

    def __str__(self) -> str:
        """Such as 1.25, or 1.25 (60%)."""
        if math.isnan(self):
            return "" if math.isnan(self.replied) else "⊥"
        size = f"{float(self):.2f}" if 0.01 <= self < 100 else f"{float(self):.1e}"
        return size if self.replied == 1 else f"{size} ({percent(self.replied)})"


def wanted(rows: Sequence[Row]) -> Iterator[str]:
    """Where ours is beside what is wanted."""
    for row in rows:
        limit = WANTED.get((row["p"], row["n"]))
        if limit and row["ε"] == 1 and row["design"] in ("iid", "AR"):
            verdict = "yes" if max(row["uptack"], row["rms"] or 0.0) <= limit else "no"
            found = f"{row['uptack']}, rms {row['rms']}"
            yield f"{row['design']}, p = {row['p']}, n = {row['n']:,}: {found} of {limit} wanted: {verdict}"


def plain(row: Row) -> dict[str, Any]:
    """For JSON: ratios, None for ⊥, and the replies beside them."""
    out = {k: (None if math.isnan(v) else float(v)) if isinstance(v, Shown) else v for k, v in row.items()}
    shares = {k: v.replied for k, v in row.items() if isinstance(v, Shown)}
    return out | {"replies": {k: None if math.isnan(share) else share for k, share in shares.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("out/regression.json"))
    parser.add_argument("--quick", action="store_true", help="a few sizes and seeds, less than a minute")
    parser.add_argument("--wanted", action="store_true", help="only the sizes with a goal, with more seeds")
    others = [name for name in methods(np.random.default_rng(0)) if name not in ALWAYS]
    parser.add_argument("--others", nargs="*", choices=others, default=others, help="what stands beside uptack and OLS")
    options = parser.parse_args()
    found = list(measured(GOALS if options.wanted else QUICK if options.quick else FULL, options.others))
    print("Prediction error as a multiple of that of least squares (OLS), and processor seconds of uptack.\n")
    print(table([{k: str(v) if isinstance(v, Shown) else v for k, v in row.items()} for row in found]))
    print("", *wanted(found), sep="\n")
    write_json(options.json, [plain(row) for row in found], machine("uptack", "diffprivlib", "numpy", "scikit-learn"))
    print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
