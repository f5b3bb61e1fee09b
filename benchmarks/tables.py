"""The report of ordinary tables, beside a careful user of OpenDP and of diffprivlib who knows the true bounds.

The tables are files of PyPI packages (`pip install -e ".[all,bench]"`); no network is needed. For each of them and each
ε, at δ = 1e-6, the whole report is made as `uptack report` makes it, without bounds or hints: how many of the numeric
columns get a median and both quartiles, how much of the budget is used, and the mean error of these figures in ranks.
That of a value is the distance to the nearest rank at which it would be right. Where a thousand rows are tied, values
next to theirs are off by all of them. So a second table has the distance to the true value over the column's
interquartile range.

The careful user asks for the same three quantiles of every numeric column, by the exponential mechanism of the library.
Each column of the report has an equal part of the same budget, and each quantile a third of that. They add up by the
best that the library has: OpenDP in zCDP, diffprivlib by its accountant, where that is more than dividing ε. The bounds
are the true least and largest values, which no private report could know. Rows without a value are left out beforehand.
OpenDP chooses among the integers between the bounds, or 10,000 numbers. Answers for integers are rounded; since
diffprivlib gives no weight to tied rows, integers are spread evenly from -1/2 to 1/2 around themselves for it.

    python benchmarks/tables.py --json out/tables.json
    python benchmarks/tables.py --tables penguins fair --epsilon 2 --runs 2
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import peers
from common import Ratio, Row, file_bytes, machine, percent, rank_errors, table, write_json
from numpy.typing import NDArray

import uptack
from uptack.reach.l_statistics import quantile_rank
from uptack.report.profile import profile

DELTA = 1e-6
EPSILONS = (1.0, 2.0, 4.0)
LEVELS = {"median": Fraction(1, 2), "lower quartile": Fraction(1, 4), "upper quartile": Fraction(3, 4)}
PEERS = ("OpenDP", "diffprivlib")
LARGE = 10_000
"""Tables with more rows get a fifth of the runs, but two at least."""

FILES = {
    "MedExp": "pydataset/resources.tar.gz:csv/Ecdat/MedExp.csv",
    "fair": "statsmodels/datasets/fair/fair.csv",
    "Males": "pydataset/resources.tar.gz:csv/Ecdat/Males.csv",
    "penguins": "palmerpenguins/data/penguins.csv",
    "diamonds": "plotnine/data/diamonds.csv",
    "Salaries": "pydataset/resources.tar.gz:csv/car/Salaries.csv",
    "pbc": "pydataset/resources.tar.gz:csv/survival/pbc.csv",
    "Forbes2000": "pydataset/resources.tar.gz:csv/HSAUR/Forbes2000.csv",
    "Chile": "pydataset/resources.tar.gz:csv/car/Chile.csv",
    "OFP": "pydataset/resources.tar.gz:csv/Ecdat/OFP.csv",
    "SLID": "pydataset/resources.tar.gz:csv/car/SLID.csv",
    "flchain": "pydataset/resources.tar.gz:csv/survival/flchain.csv",
    "txhousing": "plotnine/data/txhousing.csv",
    "randhie": "statsmodels/datasets/randhie/randhie.csv",
}
"""package/file, or package/archive:file. The packages are not imported: one of them writes into the home directory."""

EXTRA = {"penguins": (3.0,)}
"""More values of ε for some."""

Figure = tuple[str, str]
"""A column and the label of a figure."""

Answers = Mapping[Figure, float | None]


@dataclass(frozen=True)
class Column:
    """The values of a numeric column that are there, in order."""

    ordered: NDArray[Any]
    integers: bool

    @property
    def bounds(self) -> tuple[float, float]:
        """The true ones."""
        return float(self.ordered[0]), float(self.ordered[-1])

    def ranks(self, label: str, value: float) -> float:
        """The error of a figure in ranks."""
        return float(rank_errors(self.ordered, quantile_rank(LEVELS[label], self.ordered.size), value))

    def distance(self, label: str, value: float) -> float:
        """The error of a figure over the interquartile range, or over the whole range where that is 0."""
        return abs(value - self._at(LEVELS[label])) / self._spread

    @cached_property
    def _spread(self) -> float:
        low, high = self.bounds
        return self._at(Fraction(3, 4)) - self._at(Fraction(1, 4)) or high - low or 1.0

    def _at(self, level: Fraction) -> float:
        return float(self.ordered[quantile_rank(level, self.ordered.size) - 1])


Measure = Callable[[Column, str, float], float]


@dataclass(frozen=True)
class Table:
    """A table as its package has it."""

    name: str
    frame: pd.DataFrame

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """The numeric ones, by their declared types."""
        kinds = uptack.open(self.frame).source.kinds
        numeric = {name: kind for name, kind in kinds.items() if kind in ("integer", "number")}
        return {name: self._column(name, kind == "integer") for name, kind in numeric.items()}

    def _column(self, name: str, integers: bool) -> Column:
        return Column(np.sort(self.frame[name].dropna().to_numpy(np.int64 if integers else np.float64)), integers)


@lru_cache
def load(name: str) -> Table:
    """A table without the row numbers that some packages put before it. Columns may have gaps, integers too."""
    data = file_bytes(FILES[name])
    frame = pd.read_csv(io.BytesIO(data), dtype_backend="numpy_nullable", low_memory=False)
    return Table(name, frame.loc[:, ~frame.columns.str.startswith("Unnamed")])


# --------------------------------------------------------------------------------------------------------- methods


def ours(given: Table, epsilon: float, seed: int) -> tuple[Answers, float]:
    """The figures of a report, None for ⊥, and the ε that it used."""
    session = uptack.open(given.frame, entropy=uptack.SeededEntropy(seed))
    made = profile(session, Fraction(epsilon), Fraction(1, 10**6), progress=False)
    columns = {column["name"]: column["figures"] for column in made.to_dict()["columns"]}
    values = {(name, one["label"]): one["value"] for name, figures in columns.items() for one in figures}
    return {(name, label): values.get((name, label)) for name in given.columns for label in LEVELS}, made.spent.epsilon


def opendp(given: Table, epsilon: float) -> Answers:
    each, concentrated = _opendp_share(epsilon, 3 * given.frame.shape[1])

    def quantile(column: Column, label: str) -> float:
        low, high = column.bounds
        count = min(int(high - low) + 1, peers.CANDIDATES) if column.integers else peers.CANDIDATES
        level = float(LEVELS[label])
        draw = peers.opendp_quantile(column.ordered.size, (low, high), level, each, max(count, 2), concentrated)
        return _rounded(column, draw(column.ordered.astype(np.float64)))

    return {(name, label): quantile(column, label) for name, column in given.columns.items() for label in LEVELS}


def diffprivlib(given: Table, epsilon: float, seed: int) -> Answers:
    each, rng = _diffprivlib_share(epsilon, 3 * given.frame.shape[1]), np.random.default_rng(seed)

    def quantile(column: Column, label: str) -> float | None:
        half = 0.5 if column.integers else 0.0
        low, high = column.bounds
        spread = column.ordered + rng.uniform(-half, half, column.ordered.size)
        found = peers.diffprivlib_quantile(spread, float(LEVELS[label]), each, (low - half, high + half))
        return None if found is None else _rounded(column, found)

    return {(name, label): quantile(column, label) for name, column in given.columns.items() for label in LEVELS}


@lru_cache
def _opendp_share(epsilon: float, draws: int) -> tuple[float, bool]:
    return peers.opendp_share(epsilon, DELTA, draws)


@lru_cache
def _diffprivlib_share(epsilon: float, draws: int) -> float:
    return peers.diffprivlib_share(epsilon, DELTA, draws)


def _rounded(column: Column, value: float) -> float:
    return float(np.rint(value)) if column.integers else value


# --------------------------------------------------------------------------------------------------------- measuring


def _errors(given: Table, runs: Sequence[Answers], measure: Measure = Column.ranks) -> dict[Figure, list[float]]:
    """Those of the answers that there are."""
    found: dict[Figure, list[float]] = {}
    for answers in runs:
        for (name, label), value in answers.items():
            if value is not None:
                found.setdefault((name, label), []).append(measure(given.columns[name], label, value))
    return found


def _mean(errors: Mapping[Figure, Sequence[float]], figures: Sequence[Figure]) -> float | None:
    """The mean over figures of their means over runs."""
    means = [float(np.mean(errors[figure])) for figure in figures if figure in errors]
    return float(np.mean(means)) if means else None


def _share(runs: Sequence[Answers], columns: Sequence[str], labels: Sequence[str]) -> float:
    """The share of columns that get all of these, over all runs."""
    return float(np.mean([all(run[name, label] is not None for label in labels) for run in runs for name in columns]))


def measure(given: Table, epsilon: float, runs: int) -> tuple[Row, list[Row]]:
    """One line of the table, and the errors of each figure."""
    made = [ours(given, epsilon, seed) for seed in range(runs)]
    answers = {
        "uptack": [found for found, _ in made],
        "OpenDP": [opendp(given, epsilon) for _ in range(runs)],
        "diffprivlib": [diffprivlib(given, epsilon, seed) for seed in range(runs)],
    }
    columns, quartiles = list(given.columns), ("lower quartile", "upper quartile")
    row = {
        "table": given.name,
        "rows": len(given.frame),
        "columns": given.frame.shape[1],
        "numeric": len(columns),
        "ε": epsilon,
        "runs": runs,
        "medians": percent(_share(answers["uptack"], columns, ("median",))),
        "quartiles": percent(_share(answers["uptack"], columns, quartiles)),
        "ε used": float(np.mean([used for _, used in made])),
        **_compared(given, answers, Column.ranks),
        "over the IQR": _compared(given, answers, Column.distance),
    }
    return row, _details(given, epsilon, answers)


def _compared(given: Table, answers: Mapping[str, Sequence[Answers]], measure: Measure) -> Row:
    """Mean errors over the figures that uptack has, or over all where it has none, and their ratios."""
    errors = {who: _errors(given, found, measure) for who, found in answers.items()}
    shared = list(errors["uptack"]) or list(answers["uptack"][0])
    means = {who: _mean(found, shared) for who, found in errors.items()}
    return means | {f"/ {who}": _over(means["uptack"], means[who]) for who in PEERS}


def _over(error: float | None, peer: float | None) -> Ratio | None:
    return Ratio(error / peer) if error is not None and peer else None


def _details(given: Table, epsilon: float, answers: Mapping[str, Sequence[Answers]]) -> list[Row]:
    """For the JSON: who replied how often, with what mean error, to each question."""
    errors = {who: _errors(given, found) for who, found in answers.items()}
    rows = []
    for figure in answers["uptack"][0]:
        row: dict[str, Any] = {"table": given.name, "ε": epsilon, "column": figure[0], "figure": figure[1]}
        for who, found in errors.items():
            row[f"{who}, replies"] = len(found.get(figure, ())) / len(answers[who])
            row[f"{who}, error"] = _mean(found, [figure])
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="where to write the numbers, those of each column too")
    parser.add_argument("--tables", nargs="+", choices=FILES, default=list(FILES), metavar="NAME")
    parser.add_argument("--epsilon", type=float, nargs="+", help="instead of 1, 2 and 4")
    parser.add_argument("--runs", type=int, default=10, help=f"per table and ε; a fifth above {LARGE:,} rows")
    asked = parser.parse_args()
    rows, details = [], []
    for name in asked.tables:
        given = load(name)
        runs = asked.runs if len(given.frame) <= LARGE else max(asked.runs // 5, 2)
        for epsilon in asked.epsilon or sorted({*EPSILONS, *EXTRA.get(name, ())}):
            row, more = measure(given, epsilon, runs)
            rows.append(row)
            details += more
    print(
        f"The report of a table, δ = {DELTA:g}: the share of numeric columns with a median and with quartiles, the\n"
        "ε that was used, and the mean error of these figures in ranks. The peers know the true bounds. Their errors\n"
        "are those of the same figures, or of all where uptack has none.\n\n"
        f"{table([{key: value for key, value in row.items() if key != 'over the IQR'} for row in rows])}\n\n"
        "The mean error of the same figures over the interquartile range of their columns.\n\n"
        f"{table([{'table': row['table'], 'ε': row['ε'], **row['over the IQR']} for row in rows])}"
    )
    if asked.json:
        packages = sorted({file.partition("/")[0] for file in FILES.values()})
        meta = machine("uptack", "opendp", "diffprivlib", "numpy", "pandas", *packages)
        write_json(asked.json, rows, meta | {"figures": details})
        print(f"\nNumbers: {asked.json}")


if __name__ == "__main__":
    main()
