"""How often 95% intervals of regressions hold the truth, and how wide they are beside those without privacy.

Each row of the table is a regression, a design, a number of predictors p, a number of rows n (of people in panels), and
ε. "held" is the share of intervals that hold the true coefficient, over all coefficients and runs with a reply;
"least" that of the coefficient with the lowest. "width" is that of intervals over what they would be without privacy:
least squares with White's errors (HC1; by person in panels), maximum likelihood with sandwich errors, and for quantiles
Powell's errors at the true coefficients. Medians over coefficients and runs. "⊥" is the share of runs without a reply,
"∞" that of intervals without an end, which hold everything: it should be small.

- *iid*, *AR*: as in `regression.py`: normal columns; correlated by 0.8, on scales from 1e-3 to 1e4, far from 0.
- *leverage*: 5% of the rows ten times as far out in x, with ten times the residuals.
- *10% of y*: as many responses, of any x, are at 1e6 or -1e6. *10% of x*: as many rows have predictors 1e4 times as
  large as others, and a response that goes with them, with residuals 1e4 times as large.
- *|x|*: residuals in proportion to the first predictor; *exp*: to e to the power of it; *fan*: to 4 more than it, for
  quantiles, which are linear in x then. *t(3)*, *skewed* (exponential; slopes only): their law.
- *gaps*: a fifth of the rows lack a value, more often for large x. *panel*: people with 1 to 50 rows (Zipf), effects in
  common, and a predictor that hardly differs within a person. *slopes*: panels in which slopes differ between people.

    python benchmarks/coverage.py --json out/coverage.json
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
from numpy.typing import NDArray

import uptack as ut

Floats = NDArray[np.float64]
LEAST = 0.93
PANELS = ("panel", "slopes")
LINEAR = ("iid", "AR", "leverage", "10% of x", "10% of y", "|x|", "exp", "t(3)", "skewed", "gaps", *PANELS)
OTHERS = ("iid", "AR", "gaps", "panel")
QUANTILE, FAN = 0.75, 4.0


@dataclass(frozen=True)
class Cell:
    """A regression, a design and a size, and how many runs, which have seeds of their own."""

    loss: str
    design: str
    p: int
    n: int
    epsilon: float
    runs: int

    @property
    def seeds(self) -> range:
        """Of other cells they are others."""
        first = zlib.crc32(repr(self).encode())
        return range(first, first + self.runs)


def cells(losses: Sequence[str], designs: Sequence[str], *sizes: tuple[int, int, float, int]) -> list[Cell]:
    return [Cell(loss, design, *size) for loss in losses for size in sizes for design in designs]


FULL = (
    *cells(["linear"], LINEAR, (2, 5_000, 1.0, 100), (2, 10_000, 3.0, 100), (5, 20_000, 1.0, 60), (5, 20_000, 3.0, 60)),
    *cells(["linear"], LINEAR, (5, 6_000, 1.0, 60), (2, 50_000, 0.5, 40), (10, 50_000, 1.0, 40)),
    *cells(["linear"], ("iid", "AR", "|x|", "exp", "gaps"), (10, 100_000, 1.0, 40)),
    *cells(["logistic", "quantile"], OTHERS, (2, 10_000, 1.0, 60), (5, 20_000, 3.0, 40), (5, 50_000, 1.0, 40)),
    *cells(["quantile"], ("fan", "t(3)"), (2, 10_000, 1.0, 60), (5, 50_000, 1.0, 40)),
)
QUICK = (
    *cells(["linear"], LINEAR, (2, 5_000, 1.0, 40), (5, 20_000, 1.0, 20)),
    *cells(["logistic", "quantile"], OTHERS, (2, 10_000, 1.0, 20)),
)


# ---------------------------------------------------------------------------------------------------------- designs


@dataclass(frozen=True)
class Drawn:
    """Predictors, the response, the coefficients, whose rows they are, and which coefficients are looked at."""

    x: Floats
    y: Floats
    beta: Floats
    ids: NDArray[np.int64] | None = None
    first: int = 0


def predictors(design: str, n: int, p: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """x, and the scales of its columns."""
    x, scales = rng.normal(size=(n, p)), np.ones(p)
    if design == "AR":
        scales = np.geomspace(1e-3, 1e4, p)
        x = (x @ np.linalg.cholesky(0.8 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))).T + 10) * scales
    return x, scales


def drawn(cell: Cell, rng: np.random.Generator) -> Drawn:
    """Rows of a design: a linear predictor, and what the loss makes of it."""
    ids = None
    if cell.design in PANELS:
        ids = np.repeat(np.arange(cell.n), np.minimum(rng.zipf(1.7, cell.n), 50))
    n = cell.n if ids is None else ids.size
    x, scales = predictors(cell.design, n, cell.p, rng)
    if ids is not None:
        x[:, 0] = rng.normal(size=cell.n)[ids] + x[:, 0] / 4
    beta = np.append(0.5, rng.normal(size=cell.p) / scales / np.sqrt(cell.p))
    wrong = rng.random(n) < {"leverage": 0.05, "10% of x": 0.1, "10% of y": 0.1}.get(cell.design, 0.0)
    spread = spreads(cell.design, x, wrong)
    x[wrong] *= {"leverage": 10.0, "10% of x": 1e4}.get(cell.design, 1.0)
    if cell.loss == "logistic":
        beta[0] -= np.mean(x @ beta[1:]) if cell.design == "AR" else 0.0
        y, first = (rng.random(n) < 1 / (1 + np.exp(-beta[0] - x @ beta[1:]))).astype(float), 0
    else:
        errors, first = residuals(cell, n, spread, ids, rng)
        y = beta[0] + x @ beta[1:] + errors
        if ids is not None and cell.design == "slopes":
            y += x[:, 0] * rng.normal(size=cell.n)[ids]
        if cell.loss == "quantile":
            beta = beta + at_quantile(cell)
    if cell.design == "10% of y":
        y[wrong] = rng.choice([-1e6, 1e6], np.count_nonzero(wrong))
    if cell.design == "gaps":
        x[rng.random(n) < np.minimum(0.4 / (1 + np.exp(-x[:, 0])), 1), -1] = np.nan
    return Drawn(x, y, beta, ids, first)


def spreads(design: str, x: Floats, wrong: NDArray[np.bool_]) -> Floats:
    """What residuals are multiplied with."""
    if design == "|x|":
        return np.abs(x[:, 0])
    if design == "exp":
        return np.exp(x[:, 0])
    if design == "fan":
        return np.abs(1 + x[:, 0] / FAN)
    return np.where(wrong, {"leverage": 10.0, "10% of x": 1e4}.get(design, 1.0), 1.0)


def residuals(
    cell: Cell, n: int, spread: Floats, ids: NDArray[np.int64] | None, rng: np.random.Generator
) -> tuple[Floats, int]:
    """Residuals, and the first coefficient that they say something of."""
    if cell.design == "skewed":
        return rng.exponential(size=n), 1
    if cell.design == "t(3)":
        return rng.standard_t(3, size=n), 0
    common = 0.0 if ids is None else rng.normal(size=cell.n)[ids]
    return spread * rng.normal(size=n) + common, 0


def at_quantile(cell: Cell) -> Floats:
    """By how much the coefficients of a quantile differ from those of the middle."""
    z = 0.6744897501960817
    shift = {"panel": z * np.sqrt(2), "t(3)": 0.7648923284043451}.get(cell.design, z)
    return np.concatenate([[shift, shift / FAN if cell.design == "fan" else 0.0], np.zeros(cell.p - 1)])


# ------------------------------------------------------------------------------------------------- without privacy


def sandwich_of(design: Floats, bread: Floats, score: Floats, ids: NDArray[np.int64] | None) -> Floats:
    """Standard errors from D⁻¹·Σggᵀ·D⁻¹ with g of each row, or of each person; n/(n - p) as in HC1."""
    g = design * score[:, None]
    if ids is not None:
        g = np.stack([np.bincount(ids, weights=column) for column in g.T], axis=1)
    inverse = np.linalg.inv(bread)
    found = inverse @ (g.T @ g) @ inverse * len(g) / (len(g) - design.shape[1])
    return np.sqrt(np.diag(found))


def plain_errors(loss: str, rows: Drawn) -> Floats:
    """Standard errors without privacy. People weigh alike."""
    whole = np.isfinite(rows.x).all(axis=1)
    design, y = np.column_stack([np.ones(whole.sum()), rows.x[whole]]), rows.y[whole]
    weights = np.ones(len(y)) if rows.ids is None else 1 / np.bincount(rows.ids)[rows.ids]
    scales = np.sqrt(np.mean(design**2, axis=0))  # columns may be on scales that differ by powers of ten
    design, beta = design / scales, rows.beta * scales
    weighted = design * weights[:, None]
    if loss == "linear":
        bread = design.T @ weighted
        score = weights * (y - design @ np.linalg.solve(bread, weighted.T @ y))
    elif loss == "logistic":
        for _ in range(4):
            mu = 1 / (1 + np.exp(-design @ beta))
            bread = (design * (mu * (1 - mu))[:, None]).T @ weighted
            beta = beta + np.linalg.solve(bread, weighted.T @ (y - mu))
        score = weights * (y - 1 / (1 + np.exp(-design @ beta)))
    else:
        r = y - design @ beta
        h = np.quantile(np.abs(r), 0.1)
        bread = (design * (np.abs(r) < h)[:, None]).T @ weighted / (2 * h)
        score = weights * np.where(r < 0, QUANTILE - 1, QUANTILE)
    return sandwich_of(design, bread, score, rows.ids) / scales


# ---------------------------------------------------------------------------------------------------------- runs

FITS: dict[str, Callable[..., Any]] = {
    "linear": ut.linear_regression,
    "logistic": ut.logistic_regression,
    "quantile": partial(ut.quantile_regression, quantile=QUANTILE),
}


def run(cell: Cell, seed: int) -> dict[str, Any] | None:
    """Which intervals hold the truth, and how wide they are beside those without privacy; None without a reply."""
    rows = drawn(cell, np.random.default_rng(seed))
    told: dict[str, Any] = {} if rows.ids is None else {"person": rows.ids}
    fit = FITS[cell.loss](rows.x, rows.y, epsilon=cell.epsilon, missing="drop", entropy=ut.SeededEntropy(seed), **told)
    if not fit:
        return None
    low, high = (np.asarray(end)[rows.first :] for end in fit.interval(0.95))
    truth = rows.beta[rows.first :]
    width = (high - low) / (2 * 1.959964 * plain_errors(cell.loss, rows)[rows.first :])
    return {"held": ((low <= truth) & (truth <= high)).tolist(), "width": width.tolist()}


def of_cell(cell: Cell, pool: ProcessPoolExecutor) -> Row:
    found = [one for one in pool.map(partial(run, cell), cell.seeds) if one is not None]
    head = {"regression": cell.loss, "design": cell.design, "p": cell.p, "n": cell.n, "ε": cell.epsilon}
    held, width = (np.array([one[key] for one in found]) for key in ("held", "width"))
    if not found:
        return head | {"held": None, "least": None, "width": None, "⊥": 1.0, "∞": None, "intervals": 0}
    return head | {"held": float(held.mean()), "least": float(held.mean(axis=0).min()),
                   "width": Ratio(np.median(width)), "⊥": 1 - len(found) / cell.runs,
                   "∞": float(np.isinf(width).mean()), "intervals": held.size}  # fmt: skip


def measured(chosen: Sequence[Cell], pool: ProcessPoolExecutor) -> Iterator[Row]:
    for number, cell in enumerate(chosen, 1):
        row = of_cell(cell, pool)
        print(f"{number} of {len(chosen)}: {cell.loss}, {cell.design}, {shown(row['held'])}", file=sys.stderr)
        yield row


def pooled(found: Sequence[Row], key: str) -> list[Row]:
    """Coverage over all cells that share a design or a regression, by the number of their intervals."""
    out = []
    for name in dict.fromkeys((row["regression"], row[key]) for row in found):
        same = [row for row in found if (row["regression"], row[key]) == name and row["intervals"]]
        if same:
            held = np.average([row["held"] for row in same], weights=[row["intervals"] for row in same])
            worst = min(row["held"] for row in same)
            out.append({"regression": name[0], key: str(name[1]), "held": shown(held), "worst cell": shown(worst)})
    return out


def shown(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}%"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("out/coverage.json"))
    parser.add_argument("--quick", action="store_true", help="fewer sizes and runs")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # runs go side by side
    with ProcessPoolExecutor() as pool:
        found = []
        for row in measured(QUICK if options.quick else FULL, pool):
            found.append(row)
            write_json(options.json, found, machine("uptack", "numpy"))  # so that what is done is there
    print("95% intervals: how many hold the truth, and their width over that without privacy.\n")
    formats = {"held": shown, "least": shown, "⊥": percent, "∞": lambda v: "" if not v else percent(v)}
    print(table([{k: formats[k](v) if k in formats else v for k, v in row.items()} for row in found]))
    print("", table(pooled(found, "design")), sep="\n")
    below = [row for row in found if row["intervals"] and row["held"] < LEAST]
    by_far = [row for row in below if row["held"] < LEAST - 2 * np.sqrt(LEAST * (1 - LEAST) / row["intervals"])]
    print(f"\nwanted: {LEAST:.0%} in every cell; {len(below)} of {len(found)} are below", end=", ")
    print(f"{len(by_far)} by more than chance")
    print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
