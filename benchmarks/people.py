"""The median of a table in which people have several rows, with privacy for people, in the same run.

Every method answers on the same tables, at the same ε for "all rows of one person replaced". The error is the distance
from the population's median of a random row of a random person. It is shown as a multiple of the error of the
person-weighted sample median without privacy: 1 is as good as no privacy at all.

- *uptack, person=*: each person weighs one. No cap, no bounds.
- *uptack, rows up to the cap*: rows weigh alike, up to g per person (`weights="rows", at_most=g`). No row is left out.
- *sampled to a cap*: at most g rows of each person, picked at random, and a median for groups of g rows. That is how
  PipelineDP, Tumult and OpenDP bound contributions. g is the 95% quantile of the rows per person, of this very table:
  the cap is chosen with a look at the data, which favours it. Its median is uptack's own, without bounds.
- *OpenDP, sampled to a cap*: its private quantile of the same rows, among 10,000 candidates between true bounds
  (the 0.1% and 99.9% quantiles of the population), where it is installed.
- *one row each*: a random row of each person.
- *rows_per_person*: all rows, for groups of as many rows as the largest person has. Mostly no reply.

Tables: "constant", five rows each; "Zipf", from 1 to 200 rows; "Zipf, tied", the same where people with many rows have
larger values, so that rows and people have different medians; "one heavy user", one to three rows each, and one person
with as many rows as all others together, far away.

Large tables have fewer runs. There all methods answer about the same few tables, so that ratios can be compared all the
same: what differs from table to table is the error without privacy, which is in all of them.

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
from functools import cached_property, lru_cache
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
LEAST_RUNS = 3
OURS, BARE = "uptack, person=", "no privacy"

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


# ------------------------------------------------------------------------------------------------------------- data


@dataclass(frozen=True)
class People:
    """A table: a value and an owner for each row, owners from 0 on and their rows together. What methods share is made
    once: samples are drawn with the seed."""

    x: Floats
    owner: Integers
    rows: Integers
    seed: tuple[int, ...] = (0,)

    @cached_property
    def starts(self) -> Integers:
        """Where each person's rows begin."""
        return np.cumsum(self.rows) - self.rows

    @cached_property
    def cap(self) -> int:
        """The cap on rows per person."""
        return max(int(np.quantile(self.rows, CAP_LEVEL)), 1)

    @cached_property
    def capped(self) -> Floats:
        """At most `cap` rows of each person, picked at random. Only people with more need be sorted."""
        many = np.repeat(self.rows > self.cap, self.rows)
        owner = self.owner[many]
        order = np.argsort(owner + np.random.default_rng((*self.seed, 1)).random(owner.size))
        rows = self.rows[self.rows > self.cap]
        place = np.arange(owner.size) - np.repeat(np.cumsum(rows) - rows, rows)
        return np.append(self.x[~many], self.x[many][order[place < self.cap]])

    @cached_property
    def one_each(self) -> Floats:
        """A random row of each person."""
        drawn = np.random.default_rng((*self.seed, 2)).random(self.rows.size)
        return self.x[self.starts + (drawn * self.rows).astype(np.int64)]

    @cached_property
    def weighted_median(self) -> float:
        """The median where each person weighs one."""
        order = np.argsort(self.x)
        weight = np.cumsum((1 / self.rows)[self.owner[order]])
        return float(self.x[order[np.searchsorted(weight, self.rows.size / 2)]])


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


def made(name: str, n: int, seed: tuple[int, ...]) -> People:
    """A table of n people: lognormal values, with an effect of the person."""
    rng = np.random.default_rng(seed)
    rows = LAWS[name](n, rng).astype(np.int64)
    owner = np.repeat(np.arange(n), rows)
    centre = rng.normal(0, BETWEEN, n) + (TIE * np.log(rows) if name == "Zipf, tied" else 0.0)
    x = np.exp(centre[owner] + rng.normal(0, WITHIN, owner.size))
    if name == "one heavy user":
        x[owner == 0] *= 1e6
    return People(x, owner, rows, seed)


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

Method = Callable[[People, float], float | None]


def _reply(made: Any) -> float | None:
    return float(made.value) if made else None


def _bare(people: People, epsilon: float) -> float:
    return people.weighted_median


def _ours(people: People, epsilon: float) -> float | None:
    return _reply(uptack.median(people.x, person=people.owner, epsilon=epsilon))


def _by_rows(people: People, epsilon: float) -> float | None:
    return _reply(uptack.median(people.x, person=people.owner, epsilon=epsilon, weights="rows", at_most=people.cap))


def _sampled(people: People, epsilon: float) -> float | None:
    return _reply(uptack.median(people.capped, epsilon=epsilon, rows_per_person=people.cap))


def _one_each(people: People, epsilon: float) -> float | None:
    return _reply(uptack.median(people.one_each, epsilon=epsilon))


def _all_rows(people: People, epsilon: float) -> float | None:
    return _reply(uptack.median(people.x, epsilon=epsilon, rows_per_person=int(people.rows.max())))


def _opendp(people: People, epsilon: float) -> float:
    """A measurement that costs ε where g rows are replaced, which is a symmetric distance of 2g."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    rows, cap, spread = people.capped, people.cap, float(np.hypot(BETWEEN, WITHIN))
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
    """One kind of table, of one size, for every ε."""

    data: str
    n: int
    runs: int
    seed: int


def measure(task: Task) -> list[Row]:
    """The errors of all methods on the same tables, and their ratios to that without privacy."""
    errors: dict[tuple[float, str], list[float | None]] = {key: [] for key in itertools.product(EPSILONS, METHODS)}
    for run in range(task.runs):
        people = made(task.data, task.n, (task.seed, run))
        for (epsilon, name), found in errors.items():
            reply = METHODS[name](people, epsilon)
            found.append(None if reply is None else abs(reply - truth(task.data)))
    bare = float(np.mean([e for e in errors[EPSILONS[0], BARE] if e is not None]))
    return [_row(task, epsilon, name, found, bare) for (epsilon, name), found in errors.items()]


def _row(task: Task, epsilon: float, name: str, errors: Sequence[float | None], bare: float) -> Row:
    given = [e for e in errors if e is not None]
    error = float(np.mean(given)) if given else None
    return {
        "data": task.data,
        "epsilon": epsilon,
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


def settled(task: Task) -> Row:
    """Our ratio alone with its standard error, from enough tables to tell it from what is wanted."""
    tables = (made(task.data, task.n, (task.seed, run)) for run in range(task.runs))
    replies = np.array([(_ours(people, 1.0), _bare(people, 1.0)) for people in tables], float)
    ours, bare = np.abs(replies - truth(task.data)).T
    ratio = float(ours.mean() / bare.mean())
    error = float(np.std(ours - ratio * bare) / bare.mean() / np.sqrt(task.runs))
    shown: Row = {"data": task.data, "epsilon": 1.0, "people": task.n, "method": OURS, "runs": task.runs}
    return shown | {"reply rate": float(np.isfinite(ours).mean()), "ratio": ratio, "standard error": error}


def verdicts(rows: Sequence[Row]) -> str:
    """What was wanted, and what there is."""
    said = (f"{row['data']} {row['ratio']:.3f} ± {row['standard error']:.3f}" for row in rows)
    return (
        f"wanted: at most {WANTED} at 2,000 people and ε = 1; found: {', '.join(said)} ({rows[0]['runs']} tables each)"
    )


def _runs(most: int, n: int) -> int:
    """About as much work for every size, but never fewer than three tables: there errors are tiny, and alike."""
    return max(min(most, most * 5_000 // n), LEAST_RUNS)


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description="Medians of people with several rows, beside contribution bounds.")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--runs", type=int, default=400, help="runs of a cell, fewer above 5,000 people")
    parser.add_argument("--most", type=int, default=SIZES[-1], help="the most people of a table")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes; a large table takes 3 GB each")
    parser.add_argument("--quick", action="store_true", help="2,000 and 20,000 people only, a quarter of the runs")
    options = parser.parse_args()
    most, runs = (min(options.most, SIZES[1]), options.runs // 4) if options.quick else (options.most, options.runs)
    cells = list(itertools.product((n for n in SIZES if n <= most), LAWS))
    tasks = [Task(d, n, _runs(runs, n), seed) for seed, (n, d) in enumerate(cells)]
    with ProcessPoolExecutor(options.workers) as pool:
        found = pool.map(measure, sorted(tasks, key=lambda task: -task.n))
        rows = [row for group in found for row in group]
        wanted = list(pool.map(settled, (Task(data, SIZES[0], 6 * runs, len(tasks)) for data in LAWS)))
    print(*(report(rows, epsilon) for epsilon in EPSILONS), verdicts(wanted), sep="\n\n")
    if options.json:
        write_json(options.json, rows + wanted, machine("uptack", "opendp", "numpy"))
        print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
