"""Medians and interquartile ranges without bounds, beside peers that need them, in the same run.

Each run draws a fresh sample and every method answers on it; the error is measured against the sample's own statistic.
The peers get bounds, which uptack does not: the 0.1% and 99.9% quantiles of the population ("perfect"), or a range 100
or 1e6 times as wide from the same lower end. diffprivlib draws by the exponential mechanism from that range; OpenDP
chooses among 10,000 evenly spaced candidates in it. Their IQR is a difference of two quantiles with ε/2 each, and for
integer data their quantiles are rounded to integers. Where diffprivlib raises an error it counts as no reply.

    python benchmarks/location.py --json out/location.json      # the tables, data around zero, many quantiles
    python benchmarks/location.py --silent                      # 100,000 runs per cell at small n: see silent.py
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import silent
from common import Row, machine, percent, rank_errors, table, write_json
from numpy.typing import NDArray
from peers import diffprivlib_quantile, opendp_quantile
from scipy.special import logsumexp
from scipy.stats import lognorm, norm, pareto

import uptack
from uptack.reach.l_statistics import quantile_rank, quartiles

DELTA = 1e-6
FAILURE = 3.0
"""A reply that is further off than so many population IQRs is a silent failure."""
LEAST_RUNS = 3
SIZES = (200, 1_000, 10_000, 100_000, 1_000_000)
EPSILONS = (0.1, 1.0)
WIDTHS = {"perfect": 1.0, "×100": 1e2, "×1e6": 1e6}

Numbers = NDArray[Any]
Method = Callable[[Numbers, "Task"], float | None]


# ------------------------------------------------------------------------------------------------------------ data


@dataclass(frozen=True)
class Law:
    """A population: a frozen law of SciPy, and whether it is rounded to integers."""

    frozen: Any
    integer: bool = False

    def sample(self, n: int, rng: np.random.Generator) -> Numbers:
        """So many rows."""
        drawn: Numbers = self.frozen.rvs(size=n, random_state=rng)
        return np.rint(drawn).astype(np.int64) if self.integer else drawn

    @property
    def iqr(self) -> float:
        """The interquartile range, before rounding."""
        return float(np.diff(self.frozen.ppf([0.25, 0.75]))[0])

    @property
    def density_at_median(self) -> float:
        """f(m), before rounding."""
        return float(self.frozen.pdf(self.frozen.median()))

    def bounds(self, times: float = 1.0) -> tuple[float, float]:
        """The range of all but 0.2% of the population, made wider to the right."""
        low, high = map(float, self.frozen.ppf([0.001, 0.999]))
        return low, low + times * (high - low)

    def rounded(self, values: Numbers) -> Numbers:
        """A peer's answers as a user would read them: rounded where the data are integers."""
        return np.rint(values) if self.integer else values


LAWS = {
    "normal": Law(norm(100, 15)),
    "lognormal": Law(lognorm(1)),
    "Pareto(1.5)": Law(pareto(1.5)),
    "integer": Law(lognorm(1, scale=20), integer=True),
}


@dataclass(frozen=True)
class Task:
    """What one group of cells asks for."""

    statistic: str
    epsilon: float
    data: str
    n: int

    @property
    def law(self) -> Law:
        """The population."""
        return LAWS[self.data]

    def truth(self, x: Numbers) -> float:
        """The sample's own statistic."""
        ranks = quartiles(self.n) if self.statistic == "IQR" else (quantile_rank(Fraction(1, 2), self.n),)
        places = [r - 1 for r in ranks]
        found = np.partition(x, places)[places]
        return float(found[1] - found[0] if self.statistic == "IQR" else found[0])


# --------------------------------------------------------------------------------------------------------- methods


def _ours(method: str, x: Numbers, task: Task) -> float | None:
    statistic = {"median": uptack.median, "IQR": uptack.iqr}[task.statistic]
    options: dict[str, Any] = {} if method == "inverse" else {"method": method, "delta": DELTA}
    reply = statistic(x, epsilon=task.epsilon, **options)
    return reply.value if reply else None


def _from_quantiles(quantile: Callable[[float, float], float | None], task: Task) -> float | None:
    """The statistic from a peer's function of a level and an ε; None where one of them fails."""
    levels = (0.5,) if task.statistic == "median" else (0.25, 0.75)
    given = [value for p in levels if (value := quantile(p, task.epsilon / len(levels))) is not None]
    if len(given) < len(levels):
        return None
    found = task.law.rounded(np.array(given))
    return float(found[0] if len(levels) == 1 else max(found[1] - found[0], 0.0))


def _diffprivlib(times: float, x: Numbers, task: Task) -> float | None:
    bounds = task.law.bounds(times)
    return _from_quantiles(lambda p, eps: diffprivlib_quantile(x, p, eps, bounds), task)


def _opendp(times: float, x: Numbers, task: Task) -> float | None:
    column, bounds = x.astype(np.float64), task.law.bounds(times)
    return _from_quantiles(lambda p, eps: float(opendp_quantile(task.n, bounds, p, eps)(column)), task)


OURS = "uptack (no bounds)"
METHODS: dict[str, Method] = {
    OURS: partial(_ours, "inverse"),
    "uptack ptr (no bounds, δ)": partial(_ours, "ptr"),
    "Dwork-Lei grids (no bounds, δ)": partial(_ours, "dwork-lei"),
    **{f"diffprivlib, bounds {name}": partial(_diffprivlib, times) for name, times in WIDTHS.items()},
    **{f"OpenDP, bounds {name}": partial(_opendp, times) for name, times in WIDTHS.items()},
}


# ---------------------------------------------------------------------------------------------------- the big table


@dataclass(frozen=True)
class Effort:
    """So many runs a cell; for all but our default only as many as fit into so many seconds, but at least three."""

    runs: int
    seconds: float

    def at(self, n: int) -> int:
        """Fewer for large n, where the selection takes its time."""
        return max(self.runs // max(n // 200_000, 1), LEAST_RUNS)


def _answers(task: Task, effort: Effort, rng: np.random.Generator) -> dict[str, list[float | None]]:
    """For each method its errors, None for ⊥. All methods see the same samples."""
    errors: dict[str, list[float | None]] = {name: [] for name in METHODS}
    spent = dict.fromkeys(METHODS, 0.0)
    for run in range(effort.at(task.n)):
        active = [name for name in METHODS if name == OURS or run < LEAST_RUNS or spent[name] < effort.seconds]
        x = task.law.sample(task.n, rng)
        truth = task.truth(x)
        for name in active:
            start = time.perf_counter()
            reply = METHODS[name](x, task)
            spent[name] += time.perf_counter() - start
            errors[name].append(None if reply is None else abs(reply - truth))
    return errors


def _row(task: Task, method: str, errors: Sequence[float | None]) -> Row:
    given = np.array([e for e in errors if e is not None])
    error = float(np.median(given)) if given.size else None
    limit = 1 / (task.epsilon * task.n * task.law.density_at_median)
    return {
        "table": "location",
        "statistic": task.statistic,
        "epsilon": task.epsilon,
        "data": task.data,
        "n": task.n,
        "method": method,
        "runs": len(errors),
        "reply rate": given.size / len(errors),
        "error / IQR": None if error is None else error / task.law.iqr,
        "silent failures": float(np.mean(given > FAILURE * task.law.iqr)) if given.size else 0.0,
        "error / limit": error / limit if error is not None and task.statistic == "median" else None,
    }


def measure(effort: Effort, seeded: tuple[int, Task]) -> list[Row]:
    seed, task = seeded
    found = _answers(task, effort, np.random.default_rng(seed))
    return [_row(task, method, errors) for method, errors in found.items()]


def _summary(row: Row, key: str) -> str:
    """A figure; the reply rate where it is below 1; the share of silent failures where there are any."""
    if row[key] is None:
        return "⊥"
    reply = "" if row["reply rate"] == 1 else f" ({percent(row['reply rate'])})"
    failures = "" if row["silent failures"] == 0 else f" !{percent(row['silent failures'])}"
    return f"{row[key]:.2g}{reply}{failures}"


def _grouped(rows: Sequence[Row], key: str) -> str:
    """One line for each kind of data and method, one column for each n."""
    groups = itertools.groupby(
        sorted(rows, key=lambda r: (list(LAWS).index(r["data"]), list(METHODS).index(r["method"]), r["n"])),
        key=lambda r: (r["data"], r["method"]),
    )
    lines: list[Row] = [
        {"data": data, "method": method} | {f"n = {r['n']:,}": _summary(r, key) for r in group}
        for (data, method), group in groups
    ]
    return table(lines)


def report(rows: Sequence[Row]) -> Iterator[str]:
    ours, peers = ([r["runs"] for r in rows if (r["method"] == OURS) == mine] for mine in (True, False))
    yield (
        "A cell holds the figure, (the reply rate) where below 100%, !the share of silent failures; ⊥ is no reply.\n"
        f"{min(ours)} to {max(ours)} runs a cell of {OURS}, {min(peers)} to {max(peers)} of the others."
    )
    for statistic, epsilon in itertools.product(("median", "IQR"), EPSILONS):
        chosen = [r for r in rows if (r["statistic"], r["epsilon"]) == (statistic, epsilon)]
        yield f"{statistic}, ε = {epsilon}: median error over the population's IQR\n\n{_grouped(chosen, 'error / IQR')}"
        if statistic == "median":
            yield f"median, ε = {epsilon}: median error over the local limit\n\n{_grouped(chosen, 'error / limit')}"


# ----------------------------------------------------------------------------------------------------- crowded zero


def around_zero(runs: int, n: int = 1_000) -> Row:
    """Standard normal data: machine numbers crowd around their median."""
    rng, law = np.random.default_rng(0), Law(norm())
    errors = []
    for _ in range(runs):
        x = law.sample(n, rng)
        errors.append(abs(uptack.median(x, epsilon=1).unwrap() - np.partition(x, n // 2 - 1)[n // 2 - 1]))
    limits = np.array(errors) * n * law.density_at_median
    return {"data": "standard normal", "n": n, "runs": runs, "error / limit": float(np.median(limits)), "wanted": 3}


# --------------------------------------------------------------------------------------------------- many quantiles

Levels = Sequence[float]
MANY: dict[str, Levels] = {"quartiles": (0.25, 0.5, 0.75), "deciles": tuple(i / 10 for i in range(1, 10))}


def at_once(x: Numbers, levels: Levels, epsilon: float) -> Numbers:
    return np.asarray(uptack.quantile(x, list(levels), epsilon=epsilon).unwrap())


def one_by_one(x: Numbers, levels: Levels, epsilon: float) -> Numbers:
    return np.array([uptack.quantile(x, p, epsilon=epsilon / len(levels)).unwrap() for p in levels])


def _edges(x: Numbers, bounds: tuple[float, float]) -> Numbers:
    """The ends of the n + 1 gaps between the sorted, clamped rows and the bounds."""
    return np.concatenate(([bounds[0]], np.sort(np.clip(x, *bounds)), [bounds[1]]))


def _pick(log_weights: Numbers, rng: np.random.Generator) -> int:
    return int(np.argmax(log_weights + rng.gumbel(size=log_weights.size)))


def _log_lengths(edges: Numbers) -> Numbers:
    with np.errstate(divide="ignore"):
        return np.log(np.diff(edges))


def approximate_quantiles(
    bounds: tuple[float, float], rng: np.random.Generator, x: Numbers, levels: Levels, epsilon: float
) -> Numbers:
    """Kaplan, Schnapp and Stemmer (2022): the middle quantile by the exponential mechanism, then each side of it.

    Each of the ⌊log2 m⌋ + 1 depths gets an equal part of ε. That is its price for an added or a removed row; a replaced
    row, which uptack's ε covers, costs it more, so this favours it.
    """
    part = epsilon / len(levels).bit_length()

    def recurse(rows: Numbers, ranks: list[float], low: float, high: float) -> list[float]:
        if not ranks:
            return []
        edges, middle = _edges(rows, (low, high)), len(ranks) // 2
        gap = _pick(_log_lengths(edges) - part / 2 * np.abs(np.arange(edges.size - 1) - ranks[middle]), rng)
        value = rng.uniform(edges[gap], edges[gap + 1])
        below = recurse(rows[:gap], ranks[:middle], low, value)
        return [*below, value, *recurse(rows[gap:], [r - gap for r in ranks[middle + 1 :]], value, high)]

    return np.array(recurse(np.sort(np.clip(x, *bounds)), [p * x.size for p in levels], *bounds))


def joint_exponential(
    bounds: tuple[float, float], rng: np.random.Generator, x: Numbers, levels: Levels, epsilon: float
) -> Numbers:
    """Gillenwater, Joseph and Kulesza (2021): all quantiles at once, weight e^(-ε/4·Σ|rows between two - as wanted|).

    Drawn by a forward pass over the gaps within 300 ranks of each target and a backward draw; at ε = 1 and n = 10,000
    what lies further out has no weight that a float could hold beside the rest.
    """
    edges = _edges(x, bounds)
    lengths, targets = _log_lengths(edges), [round(p * x.size) for p in levels]
    gaps = [t + np.arange(-300, 301) for t in targets]

    def step(j: int) -> Numbers:
        between = gaps[j][:, None] - gaps[j - 1][None, :]
        return -epsilon / 4 * np.abs(between - (targets[j] - targets[j - 1]))

    forward = [lengths[gaps[0]] - epsilon / 4 * np.abs(gaps[0] - targets[0])]
    for j in range(1, len(gaps)):
        forward.append(lengths[gaps[j]] + logsumexp(step(j) + forward[-1], axis=1))
    chosen = [_pick(forward[-1] - epsilon / 4 * np.abs(gaps[-1] - targets[-1]), rng)]
    for j in range(len(gaps) - 1, 0, -1):
        chosen.insert(0, _pick(forward[j - 1] + step(j)[chosen[0]], rng))
    picked = np.array([g[c] for g, c in zip(gaps, chosen, strict=True)])
    return np.sort(rng.uniform(edges[picked], edges[picked + 1]))


def _rank_error(x: Numbers, levels: Levels, values: Numbers) -> float:
    """Rows between a value and the quantile it stands for, on average; none for the quantile itself and its ties."""
    ranks = [quantile_rank(Fraction(p).limit_denominator(100), x.size) for p in levels]
    return float(rank_errors(np.sort(x), ranks, values).mean())


def many(runs: int, n: int, data: str) -> list[Row]:
    """Mean rank error of a quantile, for every way to release several of them at ε = 1."""
    rng, law = np.random.default_rng(0), LAWS[data]
    ways: dict[str, Callable[[Numbers, Levels, float], Numbers]] = {
        "uptack, all at once (no bounds)": at_once,
        "uptack, ε split evenly (no bounds)": one_by_one,
    }
    for name, times in itertools.islice(WIDTHS.items(), 2):
        ways[f"JointExp, bounds {name}"] = partial(joint_exponential, law.bounds(times), rng)
        ways[f"ApproximateQuantiles, bounds {name}"] = partial(approximate_quantiles, law.bounds(times), rng)
    samples = [law.sample(n, rng) for _ in range(runs)]

    def error(way: str, levels: Levels) -> float:
        return float(np.mean([_rank_error(x, levels, law.rounded(ways[way](x, levels, 1.0))) for x in samples]))

    return [
        {"data": data, "method": way, "n": n, "runs": runs} | {name: error(way, ps) for name, ps in MANY.items()}
        for way in ways
    ]


# ---------------------------------------------------------------------------------------------------------- running


def _seeded(tasks: Iterator[Task]) -> list[tuple[int, Task]]:
    """The large ones first, so that no process is left alone with one at the end."""
    return sorted(enumerate(tasks), key=lambda seeded: -seeded[1].n)


def _named(name: str, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    return [{"table": name} | dict(row) for row in rows]


def run_silent(pool: ProcessPoolExecutor, runs: int) -> list[Row]:
    rows = silent.measured(pool, runs)
    print(*silent.report(rows), sep="\n\n")
    return _named("silent", rows)


def run_tables(pool: ProcessPoolExecutor, effort: Effort, sizes: Sequence[int]) -> list[Row]:
    cells = itertools.product(("median", "IQR"), EPSILONS, LAWS, sizes)
    found = pool.map(partial(measure, effort), _seeded(itertools.starmap(Task, cells)))
    rows = [row for group in found for row in group]
    print(*report(rows), sep="\n\n")
    return rows


def run_extras(pool: ProcessPoolExecutor, runs: int) -> list[Row]:
    zero, quantiles = pool.submit(around_zero, 10 * runs), pool.map(partial(many, runs, 10_000), LAWS)
    print(f"\nMedian of data symmetric about zero, ε = 1\n\n{table([zero.result()])}")
    rows = [row for group in quantiles for row in group]
    print(f"\nMany quantiles, ε = 1: mean error of a quantile in ranks\n\n{table(rows)}")
    return _named("around zero", [zero.result()]) + _named("many quantiles", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="Medians and IQRs beside diffprivlib, OpenDP and the papers' grids.")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--runs", type=int, help="runs a cell, a fifth at n = 1e6 (200), or of --silent (100,000)")
    parser.add_argument("--seconds", type=float, default=1.0, help="a peer gets no more runs of a cell after these")
    parser.add_argument("--quick", action="store_true", help="few runs and n up to 10,000")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="how many cells at once")
    parser.add_argument("--silent", action="store_true", help="only count replies from outside the guarantee")
    options = parser.parse_args()
    runs = options.runs or (20 if options.quick else 100_000 if options.silent else 200)
    with ProcessPoolExecutor(options.processes) as pool:
        if options.silent:
            rows = run_silent(pool, runs)
        else:
            sizes = SIZES[:3] if options.quick else SIZES
            rows = run_tables(pool, Effort(runs, options.seconds), sizes) + run_extras(pool, runs)
    if options.json:
        write_json(options.json, rows, machine("uptack", "opendp", "diffprivlib", "numpy"))
        print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
