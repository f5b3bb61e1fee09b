"""How often 95% intervals of regressions hold what is estimated, and the error beside the estimate without privacy.

Each row of the table is a loss, a design of `regression_designs.py`, a number of rows n and ε. The target is the
estimate without privacy from many more rows of the design: also where a model is wrong, that is what is estimated.
"intercept" and "slope" are the shares of intervals that hold it, for the slope with the lowest share. "error" is the
root mean square error over that without privacy on the same rows, over all slopes. "width" is the median standard error
over that error: 1 if intervals are as wide as they should be. "⊥" is the share of runs without a reply, "∞" that of
coefficients that are not resolved, whose intervals hold everything.

Cells are printed and written to the JSON file as they come, by a process on each core. With `--resume` those that the
file has are not measured again: take it only where the library is the same.

    python benchmarks/coverage.py --json out/coverage.json
    python benchmarks/coverage.py --loss linear --sizes 20000:1:40
    python benchmarks/coverage.py --design "normal, p = 20" --sizes 50000:1:40 --delta 1e-6
    python benchmarks/coverage.py --quick
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from common import Ratio, Row, machine, percent, table, write_json
from regression_designs import CASES, QUANTILE, Case, Floats
from scipy.stats import binom

import uptack as ut

LEAST, RARE, RUNS = 0.92, 0.01, 40
SIZES = (
    (3_500, 1.0, 40),
    (3_000, 3.0, 40),
    (20_000, 1.0, 40),
    (20_000, 3.0, 40),
    (100_000, 1.0, 20),
    (100_000, 3.0, 20),
)
"""n, ε and runs. 3,500/ε rows are the least for three predictors."""

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
    def key(self) -> dict[str, Any]:
        """What tells it from other cells."""
        case = self.case
        return {"loss": case.loss, "design": case.design, "n": self.n, "ε": self.epsilon, "δ": self.delta}

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


def of_cell(cell: Cell) -> Row:
    """A row of the table."""
    target = np.zeros(0) if cell.case.loss == "Huber" else cell.case.target(cell.n)
    replies = [one for one in (run(cell, target, seed) for seed in cell.seeds) if one.off is not None]
    head = cell.key | {
        "p": cell.case.draw(9, np.random.default_rng(0)).x.shape[1],
        "runs": cell.runs,
        "⊥": 1 - len(replies) / cell.runs,
    }
    if not replies:
        return head | dict.fromkeys(("intercept", "slope", "error", "width", "∞"))
    held, off, error = (np.array([getattr(one, name) for one in replies]) for name in ("held", "off", "error"))
    plain, size = (
        np.sqrt(np.mean(np.square(each), axis=0)) for each in (np.array([one.plain for one in replies]), off)
    )
    shares = held.mean(axis=0)
    return head | {"intercept": float(shares[0]), "slope": float(shares[1:].min()),
                   "error": float(np.sqrt(np.mean((size / plain)[1:] ** 2))), "width": float(np.median(error / size)),
                   "∞": float(np.isinf(error).mean())}  # fmt: skip


def doubtful(row: Row) -> bool:
    """Whether a share is so low that 92% would show it in fewer than one cell of a hundred (Bonferroni for slopes)."""
    replies = round(row["runs"] * (1 - row["⊥"]))
    chances = [binom.cdf(round(row[k] * replies), replies, LEAST) for k in ("intercept", "slope")] if replies else []
    return any(chance < RARE / count for chance, count in zip(chances, (1, row["p"]), strict=False))


def size(text: str) -> tuple[int, float, int]:
    """n:ε, or n:ε:runs."""
    n, epsilon, *runs = text.split(":")
    return int(n), float(epsilon), int(runs[0]) if runs else RUNS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("out/coverage.json"))
    parser.add_argument("--loss", nargs="+", choices=FITS, default=list(FITS))
    parser.add_argument("--design", nargs="+", help="only designs with these names")
    parser.add_argument("--sizes", nargs="+", type=size, default=SIZES, metavar="N:EPSILON")
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--resume", action="store_true", help="keep the cells of the file")
    parser.add_argument("--quick", action="store_true", help="one size, few runs")
    options = parser.parse_args()
    sizes = ((20_000, 1.0, 8),) if options.quick else options.sizes
    cases = [c for c in CASES if c.loss in options.loss and (not options.design or c.design in options.design)]
    cells = [Cell(case, *each, options.delta) for each in sizes for case in cases]
    found: list[Row] = (
        json.loads(options.json.read_text("utf-8"))["rows"] if options.resume and options.json.exists() else []
    )
    done = [{k: row[k] for k in cells[0].key} for row in found]
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")  # each process has a core
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for row in pool.map(of_cell, [cell for cell in cells if cell.key not in done]):
            found.append(row)
            print(f"{len(found)} of {len(cells)}: {row}", file=sys.stderr, flush=True)
            write_json(options.json, found, machine("uptack", "numpy"))
    report(found)
    print(f"\nNumbers: {options.json}")


def report(found: Sequence[Row]) -> None:
    """The table, and which cells are below what is wanted."""
    print("95% intervals: how many hold the target, and the error over that without privacy.\n")
    shares, ratios = ("intercept", "slope", "⊥", "∞"), ("error", "width")
    shown = [
        {k: v if v is None else percent(v) if k in shares else Ratio(v) if k in ratios else v for k, v in row.items()}
        for row in found
    ]
    print(table(shown))
    replied = [row for row in found if row["slope"] is not None]
    below = sum(min(row["intercept"], row["slope"]) < LEAST for row in replied)
    low = [f"{row['loss']} {row['design']} ({row['n']}, ε = {row['ε']:g})" for row in replied if doubtful(row)]
    print(f"\nwanted: {LEAST:.0%} for each coefficient of each cell; {below} of {len(replied)} are below")
    print(f"with a chance of less than {RARE:.0%} if it were {LEAST:.0%}: {'; '.join(low) or 'none'}")


if __name__ == "__main__":
    main()
