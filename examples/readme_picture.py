"""The pictures of the README and the guide.

`median.png`: the error of a private median against the number of rows, with and without bounds.

Rows are lognormal. The bounded method is the exponential mechanism for the median (Smith 2011), as in libraries that
ask for bounds. It is given the smallest and the largest row as bounds (which nobody may know), bounds a million times
too wide, and an upper bound that is too low. uptack is given none. Every point is the median error of many runs.

`influence.png`: how far one row moves the mean, a trimmed mean and the median of a normal law.

    python examples/readme_picture.py --out docs/images
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter
from scipy.stats import norm

import uptack as ut
from uptack.influence import gross_error_sensitivity, influence

EPSILON = 0.1
CENTRE = 40.0
"""The population's median; its interquartile range is in `IQR`."""
IQR = CENTRE * (np.exp(0.6745) - np.exp(-0.6745))
REFUSAL: Any = ut.median([0.0], epsilon=EPSILON)
"""⊥, which names the number of rows from which on there is a reply: a public number."""
SIZES = np.unique(np.append(np.geomspace(100, 100_000, 31).astype(int), REFUSAL.advice.n))
INK, GREY, BLUE, RED, GOLD = "#1f2933", "#7b8794", "#2f62a8", "#d1495b", "#c98a1b"

Rng = np.random.Generator
Method = Callable[[np.ndarray, Rng], float | None]


def bounded_median(rows: np.ndarray, rng: Rng, low: float, high: float) -> float:
    """A value of the gap (x(i), x(i+1)) with probability proportional to its length times e^(-ε|i - n/2|/2)."""
    x = np.concatenate(([low], np.clip(np.sort(rows), low, high), [high]))
    with np.errstate(divide="ignore"):
        weights = np.log(np.diff(x)) - EPSILON / 2 * np.abs(np.arange(rows.size + 1) - rows.size / 2)
    i = int(np.argmax(weights + rng.gumbel(size=weights.size)))
    return float(rng.uniform(x[i], x[i + 1]))


def perfect_bounds(rows: np.ndarray, rng: Rng) -> float:
    return bounded_median(rows, rng, rows.min(), rows.max())


def unbounded(rows: np.ndarray, rng: Rng) -> float | None:
    return ut.median(rows, epsilon=EPSILON).value


@dataclass(frozen=True)
class Line:
    """A method with its look, and where its label stands."""

    label: str
    method: Method
    look: dict[str, Any]
    place: tuple[float, float]


LINES = (
    Line(
        "bounds a million times too wide:\nfrom few rows garbage, and nothing says so",
        partial(bounded_median, low=0, high=1e6 * 10 * CENTRE),
        {"color": RED, "linewidth": 2},
        (1050, 3e4),
    ),
    Line(
        "upper bound too low: wrong with any number of rows",
        partial(bounded_median, low=0, high=0.75 * CENTRE),
        {"color": GOLD, "linewidth": 2},
        (3300, 0.35),
    ),
    Line("uptack, no bounds", unbounded, {"color": BLUE, "linewidth": 4.5, "solid_capstyle": "round"}, (13_000, 4e-3)),
    Line("perfect bounds, which nobody has", perfect_bounds, {"color": INK, "linewidth": 1.5, "ls": "--"}, (112, 8e-3)),
)


def errors(method: Method, n: int, runs: int, rng: Rng) -> np.ndarray:
    """|answer - median of the rows|/IQR of each run; NaN for ⊥."""
    out = np.full(runs, np.nan)
    for i in range(runs):
        rows = CENTRE * rng.lognormal(size=n)
        answer = method(rows, rng)
        if answer is not None:
            out[i] = abs(answer - np.sort(rows)[(n - 1) // 2]) / IQR
    return out


def pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 11, "text.color": INK, "xtick.color": GREY, "ytick.color": GREY})
    return plt


def finish(figure: Any, ax: Any, path: Path) -> None:
    """The look that the pictures share."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(which="both", length=0, pad=7)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    print(f"Picture: {path}")


def heading(ax: Any, title: str, below: str) -> None:
    ax.set_title(title, loc="left", fontsize=14, fontweight="bold", pad=28)
    ax.annotate(below, (0, 1), (0, 10), "axes fraction", textcoords="offset points", color=GREY)


def draw_median(found: dict[str, np.ndarray], path: Path) -> None:
    figure, ax = pyplot().subplots(figsize=(10, 5.4))
    ax.axvspan(SIZES[0], REFUSAL.advice.n, color=BLUE, alpha=0.07, linewidth=0)
    ax.text(112, 2.2e-4, f"below {REFUSAL.advice.n:,} rows uptack says ⊥", color=BLUE)
    for line in LINES:
        replied = ~np.isnan(found[line.label]).any(axis=1)
        ax.plot(SIZES[replied], np.median(found[line.label][replied], axis=1), **line.look)
        weight = "bold" if line.method is unbounded else "normal"
        ax.text(*line.place, line.label, color=line.look["color"], fontweight=weight, linespacing=1.4)
    ax.set(xscale="log", yscale="log", xlim=(SIZES[0], SIZES[-1]), ylim=(1e-4, 3e7))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
    ax.set_yticks([1e-4, 1e-2, 1, 1e2, 1e4, 1e6], ["0.0001", "0.01", "1", "100", "10,000", "1,000,000"])
    ax.set_xlabel("rows", color=GREY)
    runs = found[LINES[0].label].shape[1]
    below = f"Error of the answer, in interquartile ranges. Lognormal rows, ε = {EPSILON}, median of {runs} runs."
    heading(ax, "A private median should not need a guess", below)
    ax.grid(axis="y", color="#e6eaee", linewidth=0.8)
    finish(figure, ax, path)


def draw_influence(path: Path) -> None:
    figure, ax = pyplot().subplots(figsize=(10, 4.6))
    looks = (("mean", RED, (1.1, 2.5)), (("trimmed_mean", 0.1), BLUE, (-4.9, -1.97)), ("median", INK, (-4.9, -1.1)))
    for statistic, colour, place in looks:
        curve = influence(statistic, norm(), np.linspace(-5, 5, 2001))
        curve.plot(ax, color=colour, linewidth=2.5)
        most = gross_error_sensitivity(statistic, norm())
        limit = f"at most {most:.2f}" if np.isfinite(most) else "no limit"
        ax.text(*place, f"{curve.statistic}: {limit}", color=colour)
    ax.set_title("", loc="right")
    ax.set(xlim=(-5, 5), ylim=(-3, 3), xlabel="z, the value of one row, in standard deviations", ylabel="")
    ax.xaxis.label.set_color(GREY)
    below = "Influence function at the normal law: n times the movement of the answer by one row at z."
    heading(ax, "One row can carry away the mean, but not the median", below)
    finish(figure, ax, path)


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the pictures of the README and the guide.")
    parser.add_argument("--out", type=Path, default=Path("docs/images"), help="directory for the pictures")
    parser.add_argument("--runs", type=int, default=400, help="runs for each point of the median's errors")
    arguments = parser.parse_args()
    draw_influence(arguments.out / "influence.png")
    rng, runs = np.random.default_rng(), arguments.runs
    found = {line.label: np.array([errors(line.method, int(n), runs, rng) for n in SIZES]) for line in LINES}
    draw_median(found, arguments.out / "median.png")


if __name__ == "__main__":
    main()
