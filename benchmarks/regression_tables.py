"""Linear regressions of real tables: R² and the typical residual, beside least squares, peers, and the short cut.

The tables are files of PyPI packages (`pip install -e ".[all,bench]"`); no network is needed. Columns of numbers are
predictors as they are. Texts and columns of 0 and 1 are dummies, without the most frequent category, which ours are
told are 0 or 1. Rows without all values are left out beforehand. R² is 1 - Σ(y - ŷ)²/Σ(y - ȳ)² over all rows, so a fit
can be worse than none; the residual is the median of |y - ŷ|, over that of least squares. Both are medians over the
runs that replied. Peers are those of `regression.py`: AdaSSP and diffprivlib are told the true bounds, a favour.

Wanted at ε = 1: an R² within 0.03 of that of least squares wherever there is a reply, and no reply that is more than
0.1 below it. The last lines count those.

    python benchmarks/regression_tables.py --json out/regression_tables.json
    python benchmarks/regression_tables.py --tables diamonds Computers --runs 100 --alone
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import regression_peers as peers
import tables
from common import machine, percent, table, write_json
from numpy.typing import NDArray
from regression import Fit, linear, methods, with_ones

import uptack as ut

Floats = NDArray[np.float64]
EPSILON = 1.0
CLOSE, BAD = 0.03, 0.1
ARCHIVE = "pydataset/resources.tar.gz:csv/"
tables.FILES |= {
    "Computers": ARCHIVE + "Ecdat/Computers.csv",
    "HI": ARCHIVE + "Ecdat/HI.csv",
    "BudgetFood": ARCHIVE + "Ecdat/BudgetFood.csv",
    "VietNamH": ARCHIVE + "Ecdat/VietNamH.csv",
    "Star": ARCHIVE + "Ecdat/Star.csv",
    "baseball": ARCHIVE + "plyr/baseball.csv",
    "NOx": ARCHIVE + "robustbase/NOxEmissions.csv",
    "rwm5yr": ARCHIVE + "COUNT/rwm5yr.csv",
    "Vocab": ARCHIVE + "car/Vocab.csv",
}


@dataclass(frozen=True)
class Case:
    """A table, its response, and its predictors, split by blanks."""

    file: str
    y: str
    x: str


CASES = {
    "diamonds": Case("diamonds", "price", "carat depth table x y z"),
    "diamonds, dummies": Case("diamonds", "price", "carat depth table x y z cut color clarity"),
    "Computers": Case("Computers", "price", "speed hd ram screen ads trend cd multi premium"),
    "HI hours": Case("HI", "whrswk", "experience kidslt6 kids618 husby education hhi whi race region"),
    "BudgetFood": Case("BudgetFood", "wfood", "totexp age size town sex"),
    "VietNamH": Case("VietNamH", "lntotal", "age educyr hhsize lnrlfood sex farm urban"),
    "Star": Case("Star", "tmathssk", "treadssk totexpk classk sex freelunk"),
    "baseball": Case("baseball", "r", "year g ab h X2b X3b hr"),
    "NOx": Case("NOx", "LNOx", "LNOxEm sqrtWS"),
    "rwm5yr income": Case("rwm5yr", "hhninc", "age educ female married kids outwork self"),
    "rwm5yr visits": Case("rwm5yr", "docvis", "age educ hhninc female married kids"),
    "Vocab": Case("Vocab", "vocabulary", "year education sex"),
    "SLID": Case("SLID", "wages", "education age sex language"),
    "flchain": Case("flchain", "kappa", "age lambda creatinine sex mgus"),
    "txhousing": Case("txhousing", "volume", "sales median listings inventory year"),
    "MedExp": Case("MedExp", "lc", "med idp lpi fmde physlim ndisease health linc lfam educdec age sex child black"),
    "randhie": Case("randhie", "lncoins", "idp lpi fmde physlm disea hlthg hlthf hlthp"),
    "fair": Case("fair", "rate_marriage", "age yrs_married children religious educ affairs"),
}


@dataclass(frozen=True, eq=False)
class Design:
    """Predictors, the response, and which predictors are declared to be 0 or 1."""

    x: Floats
    y: Floats
    binary: list[int]

    @property
    def whole(self) -> Floats:
        """With a column of ones."""
        return with_ones(self.x)

    def r2(self, fitted: Floats) -> float:
        """1 where all is explained, 0 for the mean, less for worse fits."""
        away = self.y - self.whole @ fitted
        return 1 - float(away @ away) / float(np.square(self.y - self.y.mean()).sum())

    def residual(self, fitted: Floats) -> float:
        """The median of |y - ŷ|."""
        return float(np.median(np.abs(self.y - self.whole @ fitted)))


@lru_cache
def load(name: str) -> Design:
    """The design of a case, dummies last."""
    case = CASES[name]
    frame = tables.load(case.file).frame[[case.y, *case.x.split()]].dropna()
    numbers, dummies = [], []
    for column in case.x.split():
        values = frame[column]
        if pd.api.types.is_numeric_dtype(values) and values.nunique() > 2:
            numbers.append(values.astype(float))
            continue
        kinds = values.value_counts().index[1:]
        dummies += [(values == kind).astype(float) for kind in kinds]
    x = np.column_stack([*numbers, *dummies]).astype(np.float64)
    y = frame[case.y].to_numpy(np.float64)
    return Design(x, y, list(range(len(numbers), x.shape[1])))


def fits(design: Design, alone: bool) -> dict[str, Fit]:
    """All methods, ours told of dummies; or ours alone."""

    def ours(x: Floats, y: Floats, epsilon: float) -> Floats | None:
        return ut.linear_regression(x, y, epsilon=epsilon, binary=design.binary).value

    if alone:
        return {"uptack": ours}
    found = methods(np.random.default_rng(0))
    return {name: ours if fit is linear else fit for name, fit in found.items() if name != "OLS"}


@dataclass
class Found:
    """What came of one method: R² and residuals where there was a reply."""

    r2: list[float]
    residuals: list[float]


def measured(names: Sequence[str], runs: int, alone: bool) -> Iterator[dict[str, Any]]:
    """One row per table."""
    for name in names:
        design = load(name)
        best = peers.least_squares(design.whole, design.y)
        r2, residual = design.r2(best), design.residual(best)
        row: dict[str, Any] = {"table": name, "n": len(design.y), "p": design.x.shape[1] + 1, "OLS": r2}
        for method, fit in fits(design, alone).items():
            times = {"Huber": 1, "uptack": runs}.get(method, max(runs // 10, 3))
            replies = [fitted for _ in range(times) if (fitted := fit(design.x, design.y, EPSILON)) is not None]
            found = [design.r2(fitted) for fitted in replies]
            row[method] = float(np.median(found)) if found else None
            if method == "uptack":
                row["residual"] = float(np.median([design.residual(f) for f in replies])) / residual if found else None
                row |= {"replies": percent(len(found) / runs), "worst": min(found, default=None)}
                row["far"] = sum(r2 - one > CLOSE for one in found)
                row["bad"] = sum(r2 - one > BAD for one in found)
                row["of"] = len(found)
        yield row


def cells(row: dict[str, Any]) -> dict[str, Any]:
    """R² with three decimals, ⊥ where there was no reply."""
    r2 = {k: v for k, v in row.items() if k in ("OLS", "worst", "residual", *methods(np.random.default_rng()))}
    shown = {k: "⊥" if v is None else f"{v:.3f}" if v > -10 else f"{v:.0e}" for k, v in r2.items()}
    return {k: v for k, v in (row | shown).items() if k != "of"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("out/regression_tables.json"))
    parser.add_argument("--tables", nargs="+", choices=CASES, default=list(CASES), metavar="NAME")
    parser.add_argument("--runs", type=int, default=60, help="releases of each table; others get a tenth")
    parser.add_argument("--alone", action="store_true", help="without peers")
    options = parser.parse_args()
    found = list(measured(options.tables, options.runs, options.alone))
    print(f"R² at ε = {EPSILON:g}. residual: of uptack, over that of OLS; far, bad: replies 0.03 and 0.1 below OLS.\n")
    print(table([cells(row) for row in found]))
    total, far, bad = (sum(row[key] for row in found) for key in ("of", "far", "bad"))
    print(
        f"\nOf {total} replies {far} are more than {CLOSE} below least squares, and {bad} more than {BAD} (wanted: 0)."
    )
    write_json(options.json, found, machine("uptack", "diffprivlib", "numpy", "pandas") | {"epsilon": EPSILON})
    print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
