"""The least worst error of a private count, computed: Hall's figure 2.2 with the limits and the geometric mechanism.

For each ε the linear program over all ε-private mechanisms for a count in 0..n gives the minimax risk. In the same
row: what the exactly private table made from it attains, the geometric mechanism with answers taken to 0..n, the
curve 1/ε of the text, and two lower bounds, the printed e^-2/ε and ours.

    python benchmarks/counts.py --json out/counts.json --picture docs/images/minimax.png
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import machine, table, write_json

from uptack import limits
from uptack.discrete.count_mechanism import Problem, optimal_table
from uptack.errors import InvalidArgument

N = 70
EPSILONS = (0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0)
BLUE, ORANGE, GREY, RED = "#2f62a8", "#d9822b", "#7b8794", "#b4413c"


def geometric_risk(n: int, epsilon: float) -> float:
    """The largest expected error of the two-sided geometric mechanism whose answers are taken to 0..n."""
    counts, reach = np.arange(n + 1), np.arange(-n - 1, n + 2)
    q = math.exp(-epsilon)
    mass = (1 - q) / (1 + q) * q ** np.abs(reach)
    mass[[0, -1]] = q ** (n + 1) / (1 + q)  # all that lies further out ends at 0 or n as well
    outputs = np.clip(counts[:, None] + reach, 0, n)
    return float((np.abs(outputs - counts[:, None]) @ mass).max())


def printed_bound(n: int, epsilon: float) -> float | None:
    try:
        return limits.count_minimax(n, epsilon)
    except InvalidArgument:
        return None


def measure(n: int) -> Iterator[dict[str, Any]]:
    for epsilon in EPSILONS:
        start = time.perf_counter()
        problem = Problem.of(n, epsilon, "absolute")
        solution, risk = optimal_table(problem)
        seconds = time.perf_counter() - start
        exact = problem.mechanism(solution, "minimax")
        yield {
            "ε": f"{epsilon:g}",
            "minimax (LP)": risk,
            "equalizer (LP)": optimal_table(problem, equalizer=True)[1],
            "exactly private table": exact.worst_risk,
            "repair adds": exact.worst_risk - risk,
            "geometric": geometric_risk(n, epsilon),
            "1/sinh ε": 1 / math.sinh(epsilon),
            "1/ε": 1 / epsilon,
            "lower bound": limits.count(n, epsilon),
            "printed bound": printed_bound(n, epsilon),
            "seconds": seconds,
        }


def draw(rows: list[dict[str, Any]], n: int, path: Path) -> None:
    """On the left the risks over ε; on the right the same times ε, where 1/ε is a level, for three n."""
    import matplotlib.pyplot as plt

    plt.rcParams |= {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
    fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    fine = np.geomspace(EPSILONS[0], EPSILONS[-1], 200)
    eps = np.array(EPSILONS)
    risk = np.array([row["minimax (LP)"] for row in rows])
    bound = np.array([limits.count(n, e) for e in fine])

    left.fill_between(fine, 0.01, bound, color=RED, alpha=0.10, linewidth=0)
    left.plot(fine, 1 / fine, "--", color=GREY, label="1/ε")
    left.plot(fine, 1 / np.sinh(fine), ":", color=ORANGE, linewidth=2, label="geometric noise: 1/sinh ε")
    left.plot(eps, risk, "o-", color=BLUE, markersize=4, label=f"minimax, n = {n} (linear program)")
    left.plot(fine, bound, color=RED, linewidth=1.2, label="lower bound max d/(1 + e$^{εd}$)")
    printed = fine[(fine >= 6 / n) & (fine < 2)]
    left.plot(
        printed, math.exp(-2) / printed, "-.", color=RED, alpha=0.6, linewidth=1.2, label="printed bound e$^{-2}$/ε"
    )
    left.text(0.055, 0.042, "no private count is this good", color=RED, fontsize=9)
    left.set(xscale="log", yscale="log", ylim=(0.03, 25), xlabel="ε", ylabel="largest expected error, in rows")
    left.legend(frameon=False, fontsize=8.5, loc="upper right")

    right.axhline(1, ls="--", color=GREY)
    right.text(EPSILONS[-1], 1.012, "1/ε", color=GREY, ha="right")
    right.plot(fine, fine / np.sinh(fine), ":", color=ORANGE, linewidth=2)
    right.text(0.052, 1.012, "geometric noise, any n", color=ORANGE)
    for size, alpha in ((10, 0.35), (30, 0.6), (n, 1.0)):
        curve = eps * (risk if size == n else [limits.computed_minimax_risk(size, e) for e in EPSILONS])
        right.plot(eps, curve, "o-", color=BLUE, alpha=alpha, markersize=4)
        right.text(eps[0] * 0.94, curve[0], f"n = {size}", color=BLUE, alpha=alpha, ha="right", va="center", fontsize=9)
    right.plot(fine, fine * bound, color=RED, linewidth=1.2)
    right.text(0.13, 0.22, f"lower bound, n = {n}", color=RED, fontsize=9)
    right.set(xscale="log", xlim=(0.03, 3.3), ylim=(0, 1.1), xlabel="ε", ylabel="ε × largest expected error")
    for ax in (left, right):
        ax.set_xticks([0.05, 0.1, 0.2, 0.5, 1, 2, 3], ["0.05", "0.1", "0.2", "0.5", "1", "2", "3"])
        ax.minorticks_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description="The minimax risk of a private count, beside its limits.")
    parser.add_argument("--n", type=int, default=N, help="the largest count")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--picture", type=Path, help="where to draw the figure")
    options = parser.parse_args()
    rows = list(measure(options.n))
    print(f"Largest expected absolute error of a private count in 0..{options.n}.\n\n{table(rows)}")
    if options.json:
        write_json(options.json, rows, machine("uptack", "scipy", "numpy"))
        print(f"Numbers: {options.json}")
    if options.picture:
        draw(rows, options.n, options.picture)
        print(f"Picture: {options.picture}")


if __name__ == "__main__":
    main()
