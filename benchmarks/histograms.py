"""Dense and sparse histograms of a table that is mostly empty, beside peers that put noise on every cell.

The table is a CSV file of binary columns with a header (the thesis used the long-term-care survey: 16 columns, 65,536
cells of which 3,152 are occupied, 21,574 rows), or a synthetic twin with the same numbers and counts that fall off by a
power law. One row is replaced between neighbours. Every dense histogram is clipped at 0, as in the thesis. OpenDP gets
its vector Laplace mechanism on integers with sensitivity 2; diffprivlib's histogram is made for added and removed rows
and gets ε/2. Peak memory is what the call itself allocates; for the largest domain also that of a whole fresh process,
on Linux.

    python benchmarks/histograms.py [table.csv] --runs 200 --json out/histograms.json --plot docs/images/sparse.png
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as dp
from common import Ratio, machine, table, without_package, write_json
from numpy.typing import NDArray

from uptack.discrete.domains import Domain
from uptack.discrete.histograms import histogram
from uptack.discrete.sparse_histograms import sparse_histogram

EPSILONS = (0.1, 0.5, 1.0, 2.0)
DOMAINS = (2**20, 2**40, 2**62)
CELLS, OCCUPIED, ROWS, LARGEST = 65_536, 3_152, 21_574, 3_853
Integers = NDArray[np.int64]
Answer = tuple[Integers, Integers]

dp.enable_features("contrib")
diffprivlib = without_package("diffprivlib.tools.histograms")


@dataclass(frozen=True)
class Table:
    """Keys of the rows in a domain of so many cells."""

    keys: Integers
    cells: int

    @property
    def occupied(self) -> Answer:
        """The occupied cells and their counts."""
        return np.unique(self.keys, return_counts=True)

    def error(self, answer: Answer) -> int:
        """ℓ1 distance to the true counts over all cells."""
        both = np.concatenate((self.occupied[0], answer[0]))
        signed = np.concatenate((self.occupied[1], -answer[1]))
        _, place = np.unique(both, return_inverse=True)
        return int(np.abs(np.bincount(place, signed)).sum())

    def moved(self, cells: int) -> Table:
        """The same counts in cells that are strewn over a larger domain."""
        ends = np.linspace(0, cells - 1, self.cells + 1)[:-1].astype(np.int64)
        return Table(ends[self.keys], cells)


def read(path: Path) -> Table:
    """A CSV file of binary columns."""
    rows = np.loadtxt(path, np.int64, delimiter=",", skiprows=1)
    domain = Domain({f"column {i}": 2 for i in range(rows.shape[1])})
    return Table(domain.encode({name: rows[:, i] for i, name in enumerate(domain.columns)}), domain.size)


def twin() -> Table:
    """Counts ⌈3853/r^a⌉ of the r-th largest cell, with a such that they add up, in random cells."""
    rank = np.arange(1, OCCUPIED + 1)
    low, high = 0.5, 3.0
    for _ in range(60):
        middle = (low + high) / 2
        counts = np.ceil(LARGEST / rank**middle).astype(np.int64)
        low, high = (middle, high) if counts.sum() > ROWS else (low, middle)
    counts[0] += ROWS - counts.sum()
    cells = np.random.default_rng(1).choice(CELLS, OCCUPIED, replace=False)
    return Table(np.repeat(cells, counts), CELLS)


# --------------------------------------------------------------------------------------------------------- methods


def uptack_dense(data: Table, epsilon: float) -> Answer:
    value = histogram(data.keys, keys=data.cells, epsilon=epsilon, nonnegative=True).value
    return np.arange(data.cells), value.counts


def uptack_sparse(data: Table, epsilon: float, rule: str = "printed") -> Answer:
    value = sparse_histogram(data.keys, data.cells, epsilon, rule=rule).value
    return value.cells, value.counts


def uptack_adaptive(data: Table, epsilon: float) -> Answer:
    return uptack_sparse(data, epsilon, "adaptive")


def opendp_dense(data: Table, epsilon: float) -> Answer:
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    noisy = (space >> dp.m.then_laplace(2 / epsilon))(np.bincount(data.keys, minlength=data.cells).tolist())
    return np.arange(data.cells), np.maximum(np.array(noisy), 0)


def diffprivlib_dense(data: Table, epsilon: float) -> Answer:
    counts, _ = diffprivlib.histogram(data.keys, epsilon / 2, bins=data.cells, range=(0, data.cells))
    return np.arange(data.cells), np.maximum(np.asarray(counts, np.int64), 0)


Method = Callable[[Table, float], Answer]
METHODS: Mapping[str, tuple[Method, float]] = {  # and which part of the runs they get
    "diffprivlib, dense": (diffprivlib_dense, 0.02),
    "OpenDP, dense": (opendp_dense, 0.1),
    "uptack, dense": (uptack_dense, 0.25),
    "uptack, sparse (printed)": (uptack_sparse, 1.0),
    "uptack, sparse (adaptive)": (uptack_adaptive, 1.0),
}


# -------------------------------------------------------------------------------------------------------- measures


def peak_megabytes(call: Callable[[], object]) -> float:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def measured(name: str, data: Table, epsilon: float, runs: int) -> dict[str, Any]:
    method, part = METHODS[name]
    errors, seconds = [], []
    for _ in range(max(2, round(runs * part))):
        start = time.perf_counter()
        answer = method(data, epsilon)
        seconds.append(time.perf_counter() - start)
        errors.append(data.error(answer))
    return {
        "method": name,
        "α": epsilon,
        "runs": len(errors),
        "mean ℓ1 error": float(np.mean(errors)),
        "standard error": float(np.std(errors) / np.sqrt(len(errors))),
        "seconds": float(np.median(seconds)),
        "peak MB": peak_megabytes(lambda: method(data, epsilon)),
        "errors": errors,
    }


def with_gains(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How many times the error lies below clipped dense noise, and by what part below the printed threshold's."""
    error = {(row["α"], row["method"]): row["mean ℓ1 error"] for row in rows}
    for row in rows:
        dense, printed = (error[row["α"], f"uptack, {m}"] for m in ("dense", "sparse (printed)"))
        row["below dense"] = Ratio(dense / row["mean ℓ1 error"])
        row["below printed"] = f"{1 - row['mean ℓ1 error'] / printed:.1%}" if "adaptive" in row["method"] else None
    return rows


FRESH = """
import re, time, numpy as np
from uptack.discrete.sparse_histograms import sparse_histogram
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
keys, before = np.random.default_rng(1).integers(0, 2**62, 3152).repeat(7), peak()
start = time.perf_counter()
sparse_histogram(keys, 2**62, 1.0, rule="adaptive")
print(time.perf_counter() - start, before, peak())
"""


def shown(rows: list[dict[str, Any]]) -> str:
    return table([{key: value for key, value in row.items() if key != "errors"} for row in rows])


# --------------------------------------------------------------------------------------------------------- picture

COLOURS = {"uptack, dense": "#c0392b", "uptack, sparse (printed)": "#7fb3d5", "uptack, sparse (adaptive)": "#1f4e79"}
LABELS = {
    "uptack, dense": "noise on every cell, clipped at 0",
    "uptack, sparse (printed)": "sparse, threshold (2/α) ln p",
    "uptack, sparse (adaptive)": "sparse, adaptive rule",
}


def draw(path: Path, rows: list[dict[str, Any]], large: list[dict[str, Any]], data: Table) -> None:
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=(3, 2), layout="constrained")
    for name, colour in COLOURS.items():
        mine = [row for row in rows if row["method"] == name]
        alphas = [row["α"] for row in mine]
        low, high = np.transpose([np.quantile(row["errors"], (0.005, 0.995)) for row in mine])
        left.fill_between(alphas, low, high, color=colour, alpha=0.25, linewidth=0)
        left.plot(alphas, [row["mean ℓ1 error"] for row in mine], "o-", color=colour, label=LABELS[name], ms=4)
    n, q = data.keys.size, data.occupied[0].size
    left.axhline(n, color="grey", linewidth=1, linestyle=":")
    left.annotate("a table of zeros", (2, n), (0, 3), textcoords="offset points", ha="right", color="grey", fontsize=9)
    left.set(xscale="log", yscale="log", xlabel="privacy α", ylabel="ℓ1 error of the whole table")
    left.set_xticks(EPSILONS, [f"{e:g}" for e in EPSILONS])
    left.set_yticks([5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5], ["5k", "10k", "20k", "50k", "100k", "200k", "500k"])
    left.minorticks_off()
    left.legend(frameon=False, fontsize=9)
    left.set_title(f"p = {data.cells:,} cells, q = {q:,} occupied, n = {n:,}", fontsize=10)
    for name in list(COLOURS)[1:]:
        mine = [row for row in [*rows, *large] if row["method"] == name and row["α"] == 1]
        sizes = [np.log2(row.get("cells", data.cells)) for row in mine]
        right.plot(sizes, [row["mean ℓ1 error"] for row in mine], "o-", color=COLOURS[name], ms=4)
    right.axhline(n, color="grey", linewidth=1, linestyle=":")
    right.set_xticks([16, 20, 40, 62], ["2¹⁶", "2²⁰", "2⁴⁰", "2⁶²"])
    right.set_yticks([0, 5e3, 1e4, 1.5e4, 2e4], ["0", "5k", "10k", "15k", "20k"])
    right.set(ylim=(0, n * 1.08), xlabel="cells of the domain p")
    right.set_title("the same counts in larger domains, α = 1", fontsize=10)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#eeeeee")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, nargs="?", help="a CSV file of binary columns; a synthetic twin without it")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    data = read(options.path) if options.path else twin()
    print(f"p = {data.cells:,}, q = {data.occupied[0].size:,}, n = {data.keys.size:,}")
    rows = with_gains([measured(name, data, epsilon, options.runs) for epsilon in EPSILONS for name in METHODS])
    print(shown(rows))
    large = [
        {"cells": cells, **measured(name, data.moved(cells), 1.0, options.runs)}
        for cells in DOMAINS
        for name in list(METHODS)[-2:]
    ]
    print("\n" + shown([row | {"cells": f"2^{row['cells'].bit_length() - 1}"} for row in large]))
    fresh = subprocess.run([sys.executable, "-c", FRESH], check=True, capture_output=True, text=True).stdout.split()
    seconds, before, after = map(float, fresh)
    print(f"\na fresh process, 2^62 cells: {seconds:.3f} s, {before:.0f} MB resident before and {after:.0f} MB after")
    if options.json:
        write_json(options.json, [*rows, *large], machine("uptack", "opendp", "diffprivlib", "numpy"))
    if options.plot:
        draw(options.plot, rows, large, data)


if __name__ == "__main__":
    main()
