"""How often 95% intervals of regressions hold what is estimated, and the error beside the estimate without privacy.

Each row of the table is a loss, a design of `regression_designs.py`, a number of rows n and ε. The target is the
estimate without privacy from many more rows of the design: also where a model is wrong, that is what is estimated.
"intercept" and "slope" are the shares of intervals that hold it, for the slope with the lowest share. "error" is the
root mean square error over that without privacy on the same rows, over all slopes. "width" is the median standard error
over that error: 1 if intervals are as wide as they should be. "⊥" is the share of runs without a reply, "∞" that of
coefficients that are not resolved, whose intervals hold everything.

    python benchmarks/coverage.py --json out/coverage.json
    python benchmarks/coverage.py --loss linear --sizes 20000:1 --runs 40
    python benchmarks/coverage.py --design "normal, p = 20" --sizes 50000:1 --delta 1e-6
    python benchmarks/coverage.py --quick
"""

from __future__ import annotations

import argparse
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import Ratio, Row, machine, percent, table, write_json
from regression_designs import CASES, QUANTILE, Case, Floats

import uptack as ut

LEAST = 0.92
SIZES = ((3_500, 1.0), (3_500, 3.0), (20_000, 1.0), (20_000, 3.0), (100_000, 1.0))
FITS: dict[str, Callable[..., Any]] = {
    "linear": ut.linear_regression,
    "Huber": partial(ut.linear_regression, loss="huber"),
    "quantile": partial(ut.quantile_regression, quantile=QUANTILE),
    "logistic": ut.logistic_regression,
    "Poisson": ut.poisson_regression,
}


@dataclass(frozen=True)
class Cell:
    """A loss with a design, a size, and how many runs, which have seeds of their own."""

    case: Case
    n: int
    epsilon: float
    runs: int
    delta: float = 0.0

    @property
    def seeds(self) -> range:
        """Of other cells they are others."""
        first = zlib.crc32(repr((self.case, self.n, self.epsilon)).encode())
        return range(first, first + self.runs)


@dataclass(frozen=True)
class Run:
    """One fit: how far it and the one without privacy are off, which intervals hold, and the standard errors."""

    plain: Floats | None = None
    off: Floats | None = None
    held: Floats | None = None
    error: Floats | None = None


def run(cell: Cell, target: Floats, seed: int) -> Run:
    """One fit of rows drawn anew."""
    rows = cell.case.draw(cell.n, np.random.default_rng(seed))
    fit = FITS[cell.case.loss](
        rows.x, rows.y, epsilon=cell.epsilon, delta=cell.delta, binary=list(rows.binary), entropy=ut.SeededEntropy(seed)
    )
    if not fit:
        return Run()
    cutoff = 0.0
    if cell.case.loss == "Huber":  # the target depends on the cutoff, which the fit states
        cutoff = float(fit.noise.target.split()[-1])
        target = cell.case.target(cell.n, cutoff)
    low, high = (np.asarray(end) for end in fit.interval(0.95))
    plain = cell.case.estimate(rows, cutoff) - target
    return Run(plain, fit.value - target, (low <= target) & (target <= high), np.array(fit.noise.standard_errors))


def of_cell(cell: Cell, target: Floats, pool: ProcessPoolExecutor) -> Row:
    """A row of the table."""
    runs = list(pool.map(partial(run, cell, target), cell.seeds))
    replies = [one for one in runs if one.off is not None]
    head = {"loss": cell.case.loss, "design": cell.case.design, "n": cell.n, "ε": cell.epsilon, "runs": cell.runs,
            "⊥": 1 - len(replies) / cell.runs}  # fmt: skip
    if not replies:
        return head | dict.fromkeys(("intercept", "slope", "error", "width", "∞"))
    held, off, error = (np.array([getattr(one, name) for one in replies]) for name in ("held", "off", "error"))
    plain, size = (
        np.sqrt(np.mean(np.square(each), axis=0)) for each in (np.array([one.plain for one in replies]), off)
    )
    shares = held.mean(axis=0)
    return head | {"intercept": float(shares[0]), "slope": float(shares[1:].min()),
                   "error": Ratio(np.sqrt(np.mean((size / plain)[1:] ** 2))), "width": Ratio(np.median(error / size)),
                   "∞": float(np.isinf(error).mean())}  # fmt: skip


def measured(chosen: Sequence[Cell], pool: ProcessPoolExecutor) -> Iterator[Row]:
    """All rows, with a line on the screen for each."""
    for number, cell in enumerate(chosen, 1):
        target = np.zeros(0) if cell.case.loss == "Huber" else cell.case.target(cell.n)
        row = of_cell(cell, target, pool)
        print(f"{number} of {len(chosen)}: {row}", file=sys.stderr, flush=True)
        yield row


def size(text: str) -> tuple[int, float]:
    """n:ε."""
    n, epsilon = text.split(":")
    return int(n), float(epsilon)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("out/coverage.json"))
    parser.add_argument("--loss", nargs="+", choices=FITS, default=list(FITS))
    parser.add_argument("--design", nargs="+", help="only designs with these names")
    parser.add_argument("--sizes", nargs="+", type=size, default=SIZES, metavar="N:EPSILON")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true", help="one size, few runs")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # runs go side by side
    sizes, runs = (((20_000, 1.0),), 8) if options.quick else (options.sizes, options.runs)
    cases = [c for c in CASES if c.loss in options.loss and (not options.design or c.design in options.design)]
    found: list[Row] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for row in measured([Cell(case, *each, runs, options.delta) for each in sizes for case in cases], pool):
            found.append(row)
            write_json(options.json, found, machine("uptack", "numpy"))  # so that what is done is there
    shares = ("intercept", "slope", "⊥", "∞")
    print("95% intervals: how many hold the target, and the error over that without privacy.\n")
    print(table([{k: "" if v is None else percent(v) if k in shares else v for k, v in row.items()} for row in found]))
    held = [min(row["intercept"], row["slope"]) for row in found if row["slope"] is not None]
    below = sum(share < LEAST for share in held)
    print(f"\nwanted: {LEAST:.0%} for each coefficient of each cell; {below} of {len(held)} are below")
    print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
