"""How often the right model or feature set is released as n grows: stable values, noisy arg-max, and no privacy.

Two tasks: the degree of a polynomial among 1 to 5, by the Bayesian information criterion, and the set of 3 features out
of 8 that the LASSO picks. Each figure is the share of runs with the right answer, ! that of runs with a wrong one; the
rest is ⊥. The blow-up is how many times more rows private selection needs than f alone to be right in two runs of
three. Blocks of a few rows can agree on a wrong answer: what is released is what f says of blocks of that size.

    python benchmarks/selection.py --json out/selection.json
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from common import Ratio, machine, table, write_json
from numpy.typing import NDArray
from sklearn.linear_model import Lasso

from uptack.blocks import plan, stable_value, subsample_aggregate
from uptack.progress import track

Floats = NDArray[np.float64]
DELTA = 1e-6
EPSILONS = (0.5, 1.0, 2.0)
SIZES = tuple(2**k for k in range(4, 17))
RIGHT = 2 / 3


@dataclass(frozen=True)
class Task:
    """Rows with a known right answer, a choice, and the public list that noisy arg-max needs."""

    name: str
    rows: Callable[[np.random.Generator, int], Floats]
    choose: Callable[[Floats], Any]
    candidates: tuple[Any, ...]
    right: Any


def curve(rng: np.random.Generator, n: int) -> Floats:
    x = rng.uniform(-1, 1, size=n)
    return np.column_stack([x, 1 + x - 1.5 * x**2 + rng.normal(size=n)])


def degree(rows: Floats) -> int:
    x, y, n = rows[:, 0], rows[:, 1], len(rows)
    q, _ = np.linalg.qr(np.vander(x, 6, increasing=True))
    explained = np.cumsum((q.T @ y) ** 2)
    bic = n * np.log((y @ y - explained[1:]) / n) + np.arange(2, 7) * math.log(n)
    return int(np.argmin(bic)) + 1


def sparse(rng: np.random.Generator, n: int) -> Floats:
    x = rng.normal(size=(n, 8))
    return np.column_stack([x, x[:, 0] + x[:, 3] - x[:, 5] + rng.normal(size=n)])


def features(rows: Floats) -> frozenset[int]:
    fitted = Lasso(alpha=0.5).fit(rows[:, :-1], rows[:, -1])
    return frozenset(np.flatnonzero(fitted.coef_).tolist())


SUBSETS = tuple(frozenset(c) for k in range(9) for c in combinations(range(8), k))
TASKS = (
    Task("degree", curve, degree, tuple(range(1, 6)), 2),
    Task("features", sparse, features, SUBSETS, frozenset({0, 3, 5})),
)


def stable(task: Task, rows: Floats, epsilon: float) -> Any:
    return stable_value(task.choose, rows, epsilon=epsilon, delta=DELTA).value


def noisy_blocks(task: Task, epsilon: float) -> int:
    """As many as let the winner of three quarters of them win 19 times in 20, with three quarters of ε."""
    return math.ceil(16 / (3 * epsilon) * math.log(20 * len(task.candidates)))


def noisy_max(task: Task, rows: Floats, epsilon: float) -> Any:
    blocks = noisy_blocks(task, epsilon)
    if blocks > len(rows):
        return None
    options: dict[str, Any] = {"blocks": blocks, "aggregate": "mode", "candidates": task.candidates, "fallback": None}
    return subsample_aggregate(task.choose, rows, epsilon=epsilon, **options).value.winner


def alone(task: Task, rows: Floats, epsilon: float) -> Any:
    return task.choose(rows)


def methods(task: Task) -> Iterator[tuple[str, float, int, Callable[[Task, Floats, float], Any]]]:
    yield "not private", math.inf, 1, alone
    for epsilon in EPSILONS:
        yield f"stable value, ε = {epsilon:g}", epsilon, plan(1, epsilon=epsilon, delta=DELTA).blocks, stable
    for epsilon in EPSILONS:
        yield f"noisy arg-max, ε = {epsilon:g}", epsilon, noisy_blocks(task, epsilon), noisy_max


def enough(shares: list[float]) -> float | None:
    """The n from which on the share stays at two thirds, on a line between the logarithms of the sizes around it."""
    below = max((i for i, share in enumerate(shares) if share < RIGHT), default=-1)
    if below == len(shares) - 1:
        return None
    if below < 0:
        return float(SIZES[0])
    part = (RIGHT - shares[below]) / (shares[below + 1] - shares[below])
    return float(SIZES[below] * (SIZES[below + 1] / SIZES[below]) ** part)


def measured(task: Task, runs: int) -> Iterator[dict[str, Any]]:
    rng, base = np.random.default_rng(0), None
    for name, epsilon, blocks, method in methods(task):
        row: dict[str, Any] = {"task": task.name, "method": name, "blocks": blocks}
        shares = []
        for n in track(SIZES, f"{task.name}, {name}"):
            found = [method(task, task.rows(rng, n), epsilon) for _ in range(runs)]
            shares.append(sum(f == task.right for f in found) / runs)
            wrong = sum(f is not None and f != task.right for f in found) / runs
            row[f"{n}"] = f"{shares[-1]:.0%}" + (f" !{wrong:.0%}" if wrong else "")
        needed = enough(shares)
        base = base or needed
        yield row | {"n for 2/3": needed, "blow-up": Ratio(needed / base) if needed and base else None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("out/selection.json"))
    parser.add_argument("--runs", type=int, default=30)
    options = parser.parse_args()
    found = [row for task in TASKS for row in measured(task, options.runs)]
    print(f"Share of {options.runs} runs with the right answer, !with a wrong one, by n; δ = {DELTA}.\n")
    print(table(found))
    write_json(options.json, found, machine("uptack", "numpy", "scikit-learn") | {"delta": DELTA, "runs": options.runs})
    print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
