"""The comparison of tools by GovTech Singapore, made anew: counts, sums, means, variances, beside two peers.

The files of github.com/dsaidgovsg/benchmarking-differential-privacy-tools are skew-normal rows with two decimals,
1,000, 10,000 and 100,000 of them, of scale 50, 250 and 500 and shape 0, 5 and 50. They are drawn anew by this recipe.
Its 28 values of ε go from 0.01 to 10. Its measure is the mean of |answer - truth| / |truth| over runs, where the truth
is that of the file. It tells peers the least and the greatest value of the file ("true"), which nobody who has only a
budget can know; "×100" is a range 100 times as wide around the same middle. uptack is given no bounds.

Where rows are replaced, their number is public: so for means, sums and variances. "sum, n secret" is for rows that come
or go, as OpenDP's in the comparison; diffprivlib has none. So are counts. diffprivlib's is cut off at the number of
rows, which it takes for public: here that is the truth, and halves its error.

A cell is one file and one ε. Ratios are ours over a peer's, geometric means over the cells of a line in which there was
a reply. "⊥" is the share of runs without one. "ahead" is the share of all cells that are ahead of every peer with wide
bounds: a cell without a reply is not. The comparison rounds errors to two decimals: "same" is the share of cells with a
reply that are at most 0.01 above the best peer with true bounds.

    python benchmarks/govtech.py --json out/govtech.json
    python benchmarks/govtech.py --quick
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as dp
from common import Ratio, Row, machine, percent, table, without_package, write_json
from numpy.typing import NDArray

import uptack as ut

dp.enable_features("contrib")
diffprivlib = without_package("diffprivlib.tools.utils")

SIZES = (1_000, 10_000, 100_000)
SCALES = (50, 250, 500)
SHAPES = (0, 5, 50)
BANDS = {"0.01 to 0.09": 0.01, "0.1 to 0.9": 0.1, "1 to 10": 1.0}
WIDTHS = {"true": 1.0, "×100": 100.0}
PEERS = ("OpenDP", "diffprivlib")
EVEN = 1.25
"""A ratio up to this is as good as level."""

Bounds = tuple[float, float]
Answer = Callable[[float], float | None]


@dataclass(frozen=True)
class File:
    """One of the 27 files."""

    n: int
    scale: int
    shape: int
    seed: int

    @cached_property
    def x(self) -> NDArray[np.float64]:
        """|Z| and Z' mixed by the shape are skew-normal."""
        rng = np.random.default_rng([self.seed, self.n, self.scale, self.shape])
        half, whole = np.abs(rng.normal(size=self.n)), rng.normal(size=self.n)
        return np.round(self.scale * (self.shape * half + whole) / np.hypot(1, self.shape), 2)

    def bounds(self, times: float) -> Bounds:
        """The least and the greatest value, or a range so many times as wide."""
        low, high = float(self.x.min()), float(self.x.max())
        return (low + high - times * (high - low)) / 2, (low + high + times * (high - low)) / 2


@dataclass(frozen=True)
class Query:
    """A statistic in three libraries. OpenDP's is a transformation that ends a chain, where a row counts `moved`."""

    truth: Callable[[NDArray[np.float64]], float]
    ours: Callable[..., Any]
    opendp: Callable[[], Any]
    moved: int = 2
    diffprivlib: str | None = None


SECRET: dict[str, Any] = {"adjacency": ut.ADD_REMOVE}
QUERIES: dict[str, Query] = {
    "count": Query(np.size, partial(ut.count, **SECRET), dp.t.then_count, 1, "count_nonzero"),
    "sum": Query(np.sum, ut.sum, dp.t.then_sum, diffprivlib="sum"),
    "sum, n secret": Query(np.sum, partial(ut.sum, **SECRET), dp.t.then_sum, 1),
    "mean": Query(np.mean, ut.mean, dp.t.then_mean, diffprivlib="mean"),
    "variance": Query(partial(np.var, ddof=1), ut.variance, dp.t.then_variance, diffprivlib="var"),
}


def _ours(query: Query, file: File) -> Answer:
    def ask(epsilon: float) -> float | None:
        reply = query.ours(file.x, epsilon=epsilon)
        return float(reply.value) if reply else None

    return ask


def _opendp(query: Query, file: File, bounds: Bounds) -> Answer:
    """Its transformation says the value and how far a row moves it; its own Laplace mechanism adds the noise."""
    rows = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=file.n if query.moved == 2 else None)
    chain = dp.t.make_clamp(rows, dp.symmetric_distance(), bounds) >> query.opendp()
    exact, moved = chain(file.x.tolist()), chain.map(query.moved)

    def ask(epsilon: float) -> float:
        space = chain.output_domain, chain.output_metric
        return float(dp.m.make_laplace(*space, scale=moved / epsilon)(exact))

    return ask


def _diffprivlib(name: str, file: File, bounds: Bounds) -> Answer:
    asked = getattr(diffprivlib, name)
    if name == "count_nonzero":  # all rows count, those that are 0.00 too
        return lambda epsilon: float(asked(np.ones(file.n), epsilon=epsilon))
    return lambda epsilon: float(asked(file.x, epsilon=float(epsilon), bounds=bounds))


def methods(query: Query, file: File) -> dict[str, Answer]:
    """All that can answer."""
    found = {"uptack": _ours(query, file)}
    for width, times in WIDTHS.items() if query is not QUERIES["count"] else [("true", 1.0)]:
        found[f"OpenDP, {width}"] = _opendp(query, file, file.bounds(times))
        if query.diffprivlib is not None:
            found[f"diffprivlib, {width}"] = _diffprivlib(query.diffprivlib, file, file.bounds(times))
    return found


def cell(asks: dict[str, Answer], truth: float, epsilon: float, runs: int, peers: int) -> dict[str, Any]:
    """Mean relative errors of every method, and how often we gave no reply."""
    made: dict[str, Any] = {"ε": epsilon, "runs": runs}
    for name, ask in asks.items():
        tries = runs if name == "uptack" else peers
        replies = [value for _ in range(tries) if (value := ask(epsilon)) is not None]
        made[name] = float(np.mean(np.abs(np.array(replies) - truth)) / abs(truth)) if replies else None
        if name == "uptack":
            made["⊥"] = 1 - len(replies) / tries
    return made


def cells(runs: dict[int, int], steps: tuple[int, ...], seed: int) -> Iterator[dict[str, Any]]:
    """All of them."""
    grid = [round(first * step, 2) for first in BANDS.values() for step in steps] + [10.0]
    for n, scale, shape in itertools.product(SIZES, SCALES, SHAPES):
        file = File(n, scale, shape, seed)
        for name, query in QUERIES.items():
            asks, truth = methods(query, file), float(query.truth(file.x))
            for epsilon in grid:
                known = {"query": name, "n": n, "scale": scale, "shape": shape}
                yield known | cell(asks, truth, epsilon, runs[n], max(runs.values()))


def _against(found: list[dict[str, Any]], peer: str) -> Ratio | None:
    """A geometric mean; where a count was right in all runs of a cell, the ratio of all errors, in units of 1/ε."""
    pairs = [(c["uptack"], c[peer], c["ε"]) for c in found if c["uptack"] is not None and c.get(peer) is not None]
    if not pairs:
        return None
    ours, theirs, epsilon = np.transpose(pairs)
    if np.all(ours * theirs > 0):
        return Ratio(np.exp(np.mean(np.log(ours / theirs))))
    return Ratio(np.sum(ours * epsilon) / np.sum(theirs * epsilon))


def _least(one: dict[str, Any], width: str) -> float | None:
    """The error of the best peer with such bounds."""
    return min((one[name] for name in one if name.endswith(f", {width}")), default=None)


def _ahead(found: list[dict[str, Any]]) -> str | None:
    pairs = [(c["uptack"], least) for c in found if (least := _least(c, "×100")) is not None]
    return percent(float(np.mean([ours is not None and ours < least for ours, least in pairs]))) if pairs else None


def _same(found: list[dict[str, Any]]) -> str | None:
    gaps = [c["uptack"] - (_least(c, "true") or 0.0) for c in found if c["uptack"] is not None]
    return percent(float(np.mean([gap <= 0.01 for gap in gaps]))) if gaps else None


def line(name: str, n: int, band: str, found: list[dict[str, Any]]) -> Row:
    """One line of the table: all files of a size, over a range of ε."""
    errors = [one["uptack"] for one in found if one["uptack"] is not None]
    ratios = {f"/ {peer}, {width}": _against(found, f"{peer}, {width}") for width in WIDTHS for peer in PEERS}
    return {
        "query": name,
        "n": n,
        "ε": band,
        "⊥": percent(float(np.mean([one["⊥"] for one in found]))),
        "error": float(np.median(errors)) if errors else None,
        **ratios,
        "ahead": _ahead(found),
        "same": _same(found),
    }


def lines(found: list[dict[str, Any]]) -> Iterator[Row]:
    """The table."""
    for name, n, (band, first) in itertools.product(QUERIES, SIZES, BANDS.items()):
        last = 10.0 if first == 1.0 else 9.5 * first
        here = [c for c in found if (c["query"], c["n"]) == (name, n) and first <= c["ε"] <= last]
        yield line(name, n, band, here)


def verdicts(found: list[dict[str, Any]]) -> Iterator[str]:
    """What was wanted, and where it is not so."""
    known = [c for c in found if _least(c, "×100") is not None]
    silent = [c for c in known if c["uptack"] is None]
    behind = [c for c in known if c["uptack"] is not None and c["uptack"] >= _least(c, "×100")]
    yield f"wide bounds: {len(known):,} cells, ⊥ throughout in {len(silent)}, behind a peer in {len(behind)}"
    if silent:
        least = float(np.median([_least(c, "×100") for c in silent]))
        most = max(c["n"] * c["ε"] for c in silent)
        yield f"  where ⊥ throughout, n·ε is at most {most:g}, and the best peer's median error is {least:.0%}"
    yield from (f"  behind: {c['query']}, n = {c['n']:,}, {c['scale']}/{c['shape']}, ε = {c['ε']}" for c in behind)
    for query in QUERIES:
        large = [c for c in found if c["query"] == query and c["n"] >= 10_000]
        against = {peer: ratio for peer in PEERS if (ratio := _against(large, f"{peer}, true")) is not None}
        level = "level" if max(against.values()) <= EVEN else "behind"
        ratios = ", ".join(f"{ratio} {peer}" for peer, ratio in against.items())
        yield f"true bounds from n = 10,000, {query}: {level} ({ratios})"


def main() -> None:
    """Print the table, and where we are behind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="runs per cell; ours a third at n = 100,000")
    parser.add_argument("--quick", action="store_true", help="three values of ε per decade, 6 runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    most = 6 if arguments.quick else arguments.runs
    runs = {n: most if n < max(SIZES) else max(most // 3, 2) for n in SIZES}
    steps = (1, 3, 9) if arguments.quick else tuple(range(1, 10))
    found = list(cells(runs, steps, arguments.seed))
    rows = list(lines(found))
    print(f"mean relative errors over {runs} runs per cell, {len(found):,} cells")
    print(table(rows))
    print("", *verdicts(found), sep="\n")
    if arguments.json is not None:
        meta = {**machine("uptack", "opendp", "diffprivlib", "numpy"), "runs": runs}
        write_json(arguments.json, [*rows, *found], meta)


if __name__ == "__main__":
    main()
