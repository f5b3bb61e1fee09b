"""The median of a table in which people have several rows, with privacy for people, in the same run.

Every method answers on the same tables, at the same ε for "all rows of one person replaced". The error is the distance
from the population's median of a random row of a random person. It is shown as a multiple of the error of the
person-weighted sample median without privacy: 1 is as good as no privacy at all.

- *uptack, person=*: each person weighs one. No cap, no bounds.
- *uptack, rows up to the cap*: rows weigh alike, up to g per person (`weights="rows", at_most=g`). No row is left out.
- *sampled to a cap*: at most g rows of each person, picked at random, and a median for groups of g rows. That is how
  PipelineDP, Tumult and OpenDP bound contributions. g is the 95% quantile of the rows per person, of this very table:
  the cap is chosen with a look at the data, which favours it. Its median is uptack's own, without bounds.
- *OpenDP, sampled to the same cap*: its private quantile of the same rows, among 10,000 candidates between true bounds
  (the 0.1% and 99.9% quantiles of the population), where it is installed.
- *one row each*: a random row of each person.
- *rows_per_person*: all rows, for groups of as many rows as the largest person has. Mostly no reply.

Tables: "constant", five rows each; "Zipf", from 1 to 200 rows; "Zipf, tied", the same where people with many rows have
larger values, so that rows and people have different medians; "one heavy user", one to three rows each, and one person
with as many rows as all others together, far away.

    python benchmarks/people.py --json out/people.json
    python benchmarks/people.py --quick
"""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from common import Row, machine, table, write_json
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm

import uptack

SIZES = (2_000, 20_000, 200_000, 1_000_000)
EPSILONS = (0.1, 1.0)
MOST_ROWS, POWER, TIE = 200, 1.6, 0.2
BETWEEN, WITHIN = 0.5, 1.0
"""Standard deviations of the logarithm of a value: of people, and of the rows of one."""
WANTED = 1.05
"""The most that the error may be over that without privacy, at 2,000 people and ε = 1."""
CANDIDATES = 10_000
CAP_LEVEL = 0.95
OURS, BARE = "uptack, person=", "no privacy"

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


# ------------------------------------------------------------------------------------------------------------- data


@dataclass(frozen=True)
class People:
    """A table: a value and an owner for each row, owners from 0 on and their rows together."""

    x: Floats
    owner: Integers
    rows: Integers

    def sampled(self, cap: int, rng: np.random.Generator) -> Floats:
        """At most so many rows of each person, picked at random."""
        order = np.lexsort((rng.random(self.x.size), self.owner))
        starts = np.cumsum(self.rows) - self.rows
        rank = np.arange(self.x.size) - np.repeat(starts, self.rows)
        return self.x[order[rank < cap]]

    @property
    def weighted_median(self) -> float:
        """The median where each person weighs one."""
        order = np.argsort(self.x)
        weight = np.cumsum((1 / self.rows)[self.owner[order]])
        return float(self.x[order][np.searchsorted(weight, self.rows.size / 2)])


def _zipf(n: int, rng: np.random.Generator) -> Integers:
    return np.minimum(rng.zipf(POWER, n), MOST_ROWS)


def _heavy(n: int, rng: np.random.Generator) -> Integers:
    rows = rng.integers(1, 4, n)
    rows[0] = rows[1:].sum()
    return rows


LAWS: dict[str, Callable[[int, np.random.Generator], Integers]] = {
    "constant": lambda n, rng: np.full(n, 5),
    "Zipf": _zipf,
    "Zipf, tied": _zipf,
    "one heavy user": _heavy,
}


def made(name: str, n: int, rng: np.random.Generator) -> People:
    """A table of n people: lognormal values, with an effect of the person."""
    rows = LAWS[name](n, rng).astype(np.int64)
    owner = np.repeat(np.arange(n), rows)
    centre = rng.normal(0, BETWEEN, n) + (TIE * np.log(rows) if name == "Zipf, tied" else 0.0)
    x = np.exp(centre[owner] + rng.normal(0, WITHIN, owner.size))
    if name == "one heavy user":
        x[owner == 0] *= 1e6
    return People(x, owner, rows)


@lru_cache
def truth(name: str) -> float:
    """The population's median of a random row of a random person."""
    if name != "Zipf, tied":
        return 1.0
    rows = np.minimum(np.random.default_rng(1).zipf(POWER, 1_000_000), MOST_ROWS)
    sizes, counts = np.unique(rows, return_counts=True)
    spread = float(np.hypot(BETWEEN, WITHIN))
    below = lambda v: float(counts @ norm.cdf((v - TIE * np.log(sizes)) / spread) / rows.size) - 0.5  # noqa: E731
    return float(np.exp(brentq(below, -5, 5)))


# ---------------------------------------------------------------------------------------------------------- methods

Method = Callable[[People, float, np.random.Generator], float | None]


def _reply(made: Any) -> float | None:
    return float(made.value) if made else None


def _bare(people: People, epsilon: float, rng: np.random.Generator) -> float:
    return people.weighted_median


def _ours(people: People, epsilon: float, rng: np.random.Generator) -> float | None:
    return _reply(uptack.median(people.x, person=people.owner, epsilon=epsilon))


def _by_rows(people: People, epsilon: float, rng: np.random.Generator) -> float | None:
    cap = _cap(people)
    return _reply(uptack.median(people.x, person=people.owner, epsilon=epsilon, weights="rows", at_most=cap))


def _cap(people: People) -> int:
    return max(int(np.quantile(people.rows, CAP_LEVEL)), 1)


def _sampled(people: People, epsilon: float, rng: np.random.Generator) -> float | None:
    cap = _cap(people)
    return _reply(uptack.median(people.sampled(cap, rng), epsilon=epsilon, rows_per_person=cap))


def _one_each(people: People, epsilon: float, rng: np.random.Generator) -> float | None:
    return _reply(uptack.median(people.sampled(1, rng), epsilon=epsilon))


def _all_rows(people: People, epsilon: float, rng: np.random.Generator) -> float | None:
    return _reply(uptack.median(people.x, epsilon=epsilon, rows_per_person=int(people.rows.max())))


def _opendp(people: People, epsilon: float, rng: np.random.Generator) -> float:
    """A measurement that costs ε where g rows are replaced, which is a symmetric distance of 2g."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    cap = _cap(people)
    rows, spread = people.sampled(cap, rng), float(np.hypot(BETWEEN, WITHIN))
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=rows.size)
    low, high = np.exp(norm.ppf([0.001, 0.999], scale=spread)).tolist()
    candidates = np.linspace(low, high, CANDIDATES).tolist()
    metric, measure = dp.symmetric_distance(), dp.max_divergence()
    release = dp.m.make_private_quantile(domain, metric, measure, candidates, 0.5, 2 * cap / epsilon)
    assert abs(release.map(2 * cap) - epsilon) < 1e-9  # type: ignore[no-untyped-call]
    return float(release(rows))


METHODS: dict[str, Method] = {
    BARE: _bare,
    OURS: _ours,
    "uptack, rows up to the cap": _by_rows,
    "sampled to a cap": _sampled,
    **({"OpenDP, sampled to a cap": _opendp} if find_spec("opendp") else {}),
    "one row each": _one_each,
    "rows_per_person": _all_rows,
}


# -------------------------------------------------------------------------------------------------------- the table


@dataclass(frozen=True)
class Task:
    """One group of cells."""

    data: str
    n: int
    epsilon: float
    runs: int
    seed: int


def measure(task: Task) -> list[Row]:
    """The errors of all methods on the same tables, and their ratios to that without privacy."""
    errors: dict[str, list[float | None]] = {name: [] for name in METHODS}
    for run in range(task.runs):
        people = made(task.data, task.n, np.random.default_rng((task.seed, run)))
        for name, method in METHODS.items():
            reply = method(people, task.epsilon, np.random.default_rng((task.seed, run, 1)))
            errors[name].append(None if reply is None else abs(reply - truth(task.data)))
    bare = float(np.mean([e for e in errors[BARE] if e is not None]))
    return [_row(task, name, found, bare) for name, found in errors.items()]


def _row(task: Task, name: str, errors: Sequence[float | None], bare: float) -> Row:
    given = [e for e in errors if e is not None]
    error = float(np.mean(given)) if given else None
    return {
        "data": task.data,
        "epsilon": task.epsilon,
        "people": task.n,
        "method": name,
        "runs": task.runs,
        "reply rate": len(given) / task.runs,
        "error": error,
        "ratio": None if error is None else error / bare,
    }


def _shown(row: Row) -> str:
    if row["ratio"] is None:
        return "⊥"
    return f"{row['ratio']:.3g}" + ("" if row["reply rate"] == 1 else f" ({row['reply rate']:.0%})")


def report(rows: Sequence[Row], epsilon: float) -> str:
    """One line for each kind of table and method, one column for each number of people."""
    chosen = sorted((row for row in rows if row["epsilon"] == epsilon), key=lambda row: int(row["people"]))
    lines = []
    for data, method in itertools.product(LAWS, METHODS):
        cells = {f"{r['people']:,}": _shown(r) for r in chosen if (r["data"], r["method"]) == (data, method)}
        lines.append({"data": data, "method": method} | cells)
    return f"ε = {epsilon:g}: error over that without privacy, (reply rate) where below 1\n\n{table(lines)}"


def verdicts(rows: Sequence[Row]) -> str:
    """What was wanted, and what there is."""
    found = {r["data"]: r["ratio"] for r in rows if (r["people"], r["epsilon"], r["method"]) == (2_000, 1.0, OURS)}
    said = (f"{data} {'⊥' if ratio is None else f'{ratio:.3f}'}" for data, ratio in found.items())
    return f"wanted: at most {WANTED} at 2,000 people and ε = 1; found: {', '.join(said)}"


def _runs(options: argparse.Namespace, n: int) -> int:
    """Fewer for large tables."""
    return int(max(options.runs // max(n // 10_000, 1), 5))


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description="Medians of people with several rows, beside contribution bounds.")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--runs", type=int, default=400, help="runs of a cell, fewer above 10,000 people")
    parser.add_argument("--quick", action="store_true", help="2,000 and 20,000 people only")
    options = parser.parse_args()
    cells = list(itertools.product(SIZES[:2] if options.quick else SIZES, EPSILONS, LAWS))
    tasks = [Task(d, n, e, _runs(options, n), seed) for seed, (n, e, d) in enumerate(cells)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(measure, sorted(tasks, key=lambda task: -task.n))
        rows = [row for group in found for row in group]
    print(*(report(rows, epsilon) for epsilon in EPSILONS), verdicts(rows), sep="\n\n")
    if options.json:
        write_json(options.json, rows, machine("uptack", "opendp", "numpy"))
        print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
