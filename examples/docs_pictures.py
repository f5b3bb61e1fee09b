"""The pictures of the pages on statistics: private answers beside the truth.

Everything is seeded, rows and noise, so the pictures are the same at every run (and the answers in them not private).

    python examples/docs_pictures.py --out docs/images            # all of them
    python examples/docs_pictures.py --only median kde            # some
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from matplotlib.ticker import FuncFormatter
from PIL import Image
from readme_picture import BLUE, GOLD, GREY, INK, RED, heading, pyplot

import uptack as ut
from uptack.densities import kde
from uptack.densities.fourier import fourier_density
from uptack.discrete import Domain
from uptack.discrete.categories import Screen
from uptack.grouping import per_group
from uptack.kernels.kernel_estimators import KernelRegressor, KernelSVC
from uptack.kernels.machine_minimisers import plot_regions
from uptack.kernels.machine_release import own_machine
from uptack.noise import IntegerLaplace
from uptack.papers import hampel_regression
from uptack.ranks.correlations import CorrelationMatrix
from uptack.samples import load

Picture = Callable[[Path], None]
Floats = np.ndarray
RUNS = 200


def rows(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def answers(ask: Callable[[ut.SeededEntropy], Any], runs: int = RUNS) -> Floats:
    """The values of as many runs; NaN for ⊥."""
    replies = [ask(ut.SeededEntropy(seed)) for seed in range(runs)]
    return np.array([np.nan if not reply else reply.value for reply in replies], float)


def canvas(title: str, below: str, height: float = 3.6) -> tuple[Any, Any]:
    figure, ax = pyplot().subplots(figsize=(8.6, height))
    heading(ax, title, below)
    return figure, ax


def panels(title: str, captions: tuple[str, str]) -> tuple[Any, Any]:
    """Two pictures side by side."""
    figure, axes = pyplot().subplots(1, 2, figsize=(8.6, 4))
    figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    for ax, caption in zip(axes, captions, strict=True):
        ax.set_title(caption, loc="left", fontsize=9.5, color=GREY)
    return figure, axes


def save(figure: Any, path: Path) -> None:
    """The picture in 64 colours, which makes a small file."""
    for ax in figure.axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(GREY)
        ax.tick_params(which="both", length=0, pad=7)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=130)
    Image.open(drawn).convert("RGB").quantize(64).save(path, optimize=True)
    print(f"Picture: {path}")


def strips(ax: Any, found: Mapping[str, Floats], truth: float | Sequence[float], colours: Sequence[str] = ()) -> None:
    """A strip of dots for each label, from the top down, the truth as a line through each; labels count the ⊥."""
    spread = rows(1)
    truths = np.broadcast_to(truth, len(found))
    for i, values in enumerate(found.values()):
        replied = values[~np.isnan(values)]
        colour = colours[i] if colours else BLUE
        height = i + spread.uniform(-0.28, 0.28, replied.size)
        ax.plot(replied, height, "o", color=colour, alpha=0.35, markersize=3.5, markeredgewidth=0)
        ax.plot([truths[i]] * 2, [i - 0.42, i + 0.42], color=INK, linewidth=1.5)
    silent = [int(np.isnan(values).sum()) for values in found.values()]
    labels = [
        f"{label}\n⊥ in {k} of {found[label].size}" if k else label for label, k in zip(found, silent, strict=True)
    ]
    ax.set_yticks(range(len(found)), labels)
    ax.set_ylim(len(found) - 0.5, -0.5)


def plain(*axes: Any) -> None:
    """Numbers as they are, on a logarithmic axis too."""
    for axis in axes:
        axis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))


# ------------------------------------------------------------------------------------------------------ one column


def median(path: Path) -> None:
    cost = load("clinic")["cost"]
    found = {
        f"ε = {epsilon}": answers(lambda bits, e=epsilon: ut.median(cost, epsilon=e, entropy=bits))
        for epsilon in (0.05, 0.1, 0.3, 1.0)
    }
    below = f"{cost.size:,} rows, {RUNS} runs each; the line is the truth."
    figure, ax = canvas("A private median: the cost of a stay", below)
    strips(ax, found, float(np.median(cost)))
    save(figure, path)


def quantile(path: Path) -> None:
    x, runs = rows().lognormal(3, 1, 20_000), 60
    levels = [i / 10 for i in range(1, 10)]
    truth = np.quantile(x, levels, method="inverted_cdf")
    together = [ut.quantile(x, levels, epsilon=1, entropy=ut.SeededEntropy(s)).value for s in range(runs)]
    apart = [[ut.quantile(x, p, epsilon="1/9", entropy=ut.SeededEntropy(s)).value for p in levels] for s in range(runs)]
    below = f"Error of each decile in percent, {x.size:,} rows, ε = 1, {runs} runs."
    figure, ax = canvas("Nine quantiles in one draw", below)
    ways = ((apart, GOLD, 0.012, "one by one, at ε/9 each"), (together, BLUE, -0.012, "together"))
    for drawn, colour, shift, label in ways:
        error = 100 * (np.array(drawn) / truth - 1)
        where = np.array(levels) + shift
        ax.vlines(where, *np.quantile(error, [0.05, 0.95], axis=0), color=colour, linewidth=5, alpha=0.75, label=label)
    ax.axhline(0, color=INK, linewidth=1)
    ax.set_xticks(levels)
    ax.set_xlabel("level; a bar holds nine answers of ten", color=GREY)
    ax.legend(frameon=False, loc="lower center")
    save(figure, path)


def ecdf(path: Path) -> None:
    x, _ = two_humps(20_000)
    figure, ax = canvas("A private distribution function, with its band", "20,000 rows, ε = 1, no bounds given.")
    made = ut.ecdf(x, epsilon=1, entropy=ut.SeededEntropy(1)).unwrap()
    where = np.linspace(0.5, 6.5, 400)
    low, high = made.band(0.95).at(where)
    ax.fill_between(where, low, high, color=BLUE, alpha=0.2, linewidth=0, label="95%: the population's, everywhere")
    ax.plot(made.knots, made.shares, color=BLUE, linewidth=1.5, marker="o", markersize=3, label="private")
    ax.plot(np.sort(x), np.arange(1, x.size + 1) / x.size, color=INK, linewidth=1, ls="--", label="the rows' own")
    ax.set_ylabel("share of rows", color=GREY)
    ax.legend(frameon=False, loc="upper left")
    save(figure, path)


def iqr(path: Path) -> None:
    x = rows().lognormal(3, 1, 20_000)
    found = {
        method: answers(lambda bits, m=method, d=delta: ut.iqr(x, epsilon=1, delta=d, method=m, entropy=bits))
        for method, delta in (("inverse", 0), ("ptr", 1e-6), ("dwork-lei", 1e-6))
    }
    below = f"{x.size:,} lognormal rows, ε = 1, {RUNS} runs each; the line is the truth."
    figure, ax = canvas("An interquartile range, by three methods", below)
    strips(ax, found, float(np.subtract(*np.quantile(x, [0.75, 0.25]))))
    ax.set_xlim(10, 60)
    save(figure, path)


def trimmed_mean(path: Path) -> None:
    x = rows().normal(50, 10, 10_000)
    clean = float(x.mean())
    x[:100] = 1e6
    statistics = {"trimmed_mean": ut.trimmed_mean, "winsorized_mean": ut.winsorized_mean, "mean": ut.mean}
    found = {name: answers(lambda bits, f=f: f(x, epsilon=1, entropy=bits)) for name, f in statistics.items()}
    below = "10,000 rows; a hundred were set to a million. ε = 1. The line is the mean before that."
    figure, ax = canvas("Means that a hundred wrong rows can't carry away", below)
    strips(ax, found, clean)
    ax.set_xlim(49, 51.5)
    note = f"mean of all rows, without privacy: {x.mean():,.0f}"
    ax.text(1, 0.02, note, color=RED, ha="right", transform=ax.transAxes)
    save(figure, path)


def mean(path: Path) -> None:
    n, runs, truth = 10_000, 40, float(np.exp(0.5))
    below = f"Fresh samples of {n:,} lognormal rows, ε = 1. Dots: the sample mean; line: that of the population."
    figure, ax = canvas("Forty private means and their 95% intervals, no bounds given", below)
    for i in range(runs):
        x = np.random.default_rng(i).lognormal(0, 1, n)
        found = ut.mean(x, epsilon=1, entropy=ut.SeededEntropy(i))
        low, high = found.interval(0.95)
        ax.plot([i, i], [low, min(high, 2.1)], color=BLUE if low < truth < high else RED, linewidth=2, alpha=0.6)
        ax.plot(i, found.value, "_", color=BLUE, markersize=8)
        ax.plot(i, x.mean(), "o", color=INK, markersize=3)
    ax.axhline(truth, color=INK, linewidth=1)
    ax.set(ylim=(1.5, 2.0), xticks=[])
    save(figure, path)


def variance(path: Path) -> None:
    weight = rows().normal(70, 12, 20_000)
    found = {
        f"ε = {epsilon}": answers(lambda bits, e=epsilon: ut.std(weight, epsilon=e, entropy=bits), 100)
        for epsilon in (0.1, 0.3, 1.0, 3.0)
    }
    below = "20,000 normal rows, no bounds given, 100 runs each; the line is that of the rows."
    figure, ax = canvas("A private standard deviation", below)
    strips(ax, found, float(weight.std(ddof=1)))
    save(figure, path)


# ---------------------------------------------------------------------------------------------- ranks, two groups


def kendall_tau(path: Path) -> None:
    draw, n, where = rows(), 300, np.linspace(-0.9, 0.9, 37)
    below = f"Fresh samples of {n:,} normal pairs each, ε = 1, 95% intervals. The line is the population's τ."
    figure, ax = canvas("Kendall's τ, with its interval", below)
    for i, rho in enumerate(where):
        z = draw.normal(size=(2, n))
        y = rho * z[0] + np.sqrt(1 - rho**2) * z[1]
        found = ut.kendall_tau(z[0], y, epsilon=1, entropy=ut.SeededEntropy(i))
        ax.vlines(rho, *found.interval(0.95), color=BLUE, linewidth=3, alpha=0.5)
        ax.plot(rho, found.value, "o", color=BLUE, markersize=4)
    fine = np.linspace(-0.95, 0.95, 200)
    ax.plot(fine, 2 / np.pi * np.arcsin(fine), color=INK, linewidth=1)
    ax.set_xlabel("correlation of the population", color=GREY)
    save(figure, path)


def correlation_matrix(path: Path) -> None:
    draw, names = rows(), ["age", "visits", "cost", "stay", "distance"]
    z = draw.normal(size=(10_000, 5))
    z[:, 1] += 0.8 * z[:, 0]
    z[:, 2] += z[:, 1]
    z[:, 3] += 1.5 * z[:, 2]
    z[:, 4] -= 0.5 * z[:, 0]
    table = pandas.DataFrame(np.exp(z), columns=names)
    captions = "private, ε = 1", "of the logarithms, without privacy"
    figure, (left, right) = panels("Correlations of 10,000 rows with heavy tails, no bounds given", captions)
    ut.correlation_matrix(table, epsilon=1, entropy=ut.SeededEntropy(1)).unwrap().plot(left)
    CorrelationMatrix(tuple(names), np.corrcoef(z.T)).plot(right)
    save(figure, path)


def median_difference(path: Path) -> None:
    draw, n = rows(), 2_000
    drug = draw.random(n) < 0.5
    pressure = draw.normal(130, 15, n) - 6 * drug
    given, other = pressure[drug], pressure[~drug]
    medians, shift = np.median(given) - np.median(other), np.median(given[:, None] - other[None, :])
    told: Any = {"groups": (True, False)}
    found = {
        f"{name}\nε = {epsilon}": answers(
            lambda bits, f=f, e=epsilon: f(pressure, drug, epsilon=e, entropy=bits, **told), 40
        )
        for name, f in (("median_difference", ut.median_difference), ("hodges_lehmann", ut.hodges_lehmann))
        for epsilon in (0.5, 1.0)
    }
    below = f"Blood pressure, {n:,} rows in all, 40 runs each; lines: the same without privacy."
    figure, ax = canvas("A difference between two groups", below)
    strips(ax, found, [float(medians)] * 2 + [float(shift)] * 2)
    save(figure, path)


# ----------------------------------------------------------------------------------------------------------- counts


def count(path: Path) -> None:
    figure, ax = canvas("The law of a private count", "P(answer) where 100 rows are counted.")
    where = np.arange(-15, 16)
    for epsilon, colour, shift in ((1.0, BLUE, -0.2), (0.3, GOLD, 0.2)):
        law = IntegerLaplace(1 / ut.Privacy(epsilon).exact_epsilon)
        mass = [law.pmf(int(k)) for k in where]
        label = f"ε = {epsilon}: off by {1 / np.sinh(epsilon):.2g} on average"
        ax.bar(100 + where + shift, mass, 0.4, color=colour, label=label)
    ax.legend(frameon=False)
    ax.set_xlabel("answer", color=GREY)
    save(figure, path)


def histogram(path: Path) -> None:
    age, edges = load("clinic")["age"], np.arange(0, 101, 10)
    captions = "2,400 ages, ε = 0.2, 95% intervals; outlines: truth", "Chance that a category is shown, by its rows"
    figure, (left, right) = panels("Known cells, and unknown ones", captions)
    made = ut.histogram(age, edges=edges, epsilon=0.2, entropy=ut.SeededEntropy(1))
    middle, (low, high) = edges[:-1] + 5, made.interval(0.95)
    left.bar(middle, made.value.counts, 8, color=BLUE, alpha=0.5)
    left.bar(middle, np.histogram(age, edges)[0], 8, fill=False, edgecolor=INK)
    left.vlines(middle, low, high, color=BLUE, linewidth=2)
    sizes = np.arange(1, 300)
    for epsilon, colour in ((1.0, BLUE), (0.3, GOLD), (0.1, RED)):
        screen = Screen.of(ut.Privacy(epsilon).exact_epsilon, ut.Privacy(1, 1e-6).exact_delta, ut.SUBSTITUTE)
        chances = [screen.law.tail(screen.cutoff - int(n)) for n in sizes]
        right.plot(sizes, chances, color=colour, linewidth=2, label=f"ε = {epsilon}")
    right.legend(frameon=False)
    save(figure, path)


def sparse_histogram(path: Path) -> None:
    place = rows()
    counts = (4000 / np.arange(1, 601)).astype(int)
    cells = np.sort(place.choice(2**40, counts.size, replace=False))
    keys = np.repeat(place.permutation(cells), counts)
    true = dict(zip(*np.unique(keys, return_counts=True), strict=True))
    order = sorted(true, key=lambda cell: -true[cell])
    below = f"{keys.size:,} rows in {counts.size} of 2^40 cells, ε = 1; the line is the truth."
    figure, ax = canvas("Which cells of a huge domain are kept", below)
    for rule, colour, size in (("printed", GOLD, 5), ("adaptive", BLUE, 3)):
        made = ut.sparse_histogram(keys, 2**40, 1, rule=rule, entropy=ut.SeededEntropy(1)).value
        kept = [(i + 1, made[cell]) for i, cell in enumerate(order) if made[cell] > 0]
        false = len(made) - len(kept)
        label = f'"{rule}": {len(kept)} occupied cells kept, and {false} empty'
        ax.plot(*np.transpose(kept), "o", color=colour, markersize=size, markeredgewidth=0, label=label)
    ax.plot(np.arange(1, counts.size + 1), [true[cell] for cell in order], color=INK, linewidth=1)
    ax.set(xscale="log", yscale="log")
    plain(ax.xaxis, ax.yaxis)
    ax.set_xlabel("occupied cells from the fullest on", color=GREY)
    ax.legend(frameon=False)
    save(figure, path)


def margins(path: Path) -> None:
    names = [f"c{i}" for i in range(10)]
    base = rows().random((20_000, 1))
    table = {name: (rows(i).random(20_000) < base[:, 0]).astype(int) for i, name in enumerate(names)}
    domain, wanted = Domain(dict.fromkeys(names, 2)), (1, 2, 3, 4)
    below = "Mean error of a cell, in rows: all margins of k of ten binary columns, 20,000 rows, ε = 1."
    figure, ax = canvas("Which way to take for margins", below)
    exact = {k: ut.margins(table, k, domain=domain, epsilon=10**6, entropy=ut.SeededEntropy(0)).value for k in wanted}
    for way, colour in (("direct", GOLD), ("table", BLUE), ("sparse", RED)):
        errors = []
        for k in wanted:
            made = [
                ut.margins(table, k, domain=domain, epsilon=1, through=way, entropy=ut.SeededEntropy(s)).value
                for s in range(5)
            ]
            off = [np.abs(m[which] - exact[k][which]).mean() for m in made for which in exact[k]]
            errors.append(np.mean(off))
        ax.plot(wanted, errors, "o-", color=colour, label=f'"{way}"')
    ax.set_xticks(wanted)
    ax.set(yscale="log", ylim=(10, 400))
    ax.set_yticks([10, 30, 100, 300])
    ax.set_yticks([], minor=True)
    plain(ax.yaxis)
    ax.set_xlabel("columns of a margin", color=GREY)
    ax.legend(frameon=False)
    save(figure, path)


# ------------------------------------------------------------------------------------------- regressions and functions


def wrong_rows(n: int, share: float) -> tuple[Floats, Floats]:
    """A line with slope 2, and a share of rows that are wrong."""
    x = rows().normal(size=n)
    y = 1 + 2 * x + rows(1).normal(size=n)
    y[: int(share * n)] = 15 - 6 * x[: int(share * n)]
    return x, y


def shortcut_regression(path: Path) -> None:
    x, y = wrong_rows(20_000, 0.02)
    table = x[:, None]

    def slope(epsilon: float, bits: ut.SeededEntropy) -> Any:
        fit = ut.shortcut_regression(table, y, epsilon=epsilon, entropy=bits)
        return ut.Release(fit.value[1], fit.privacy, fit.mechanism, fit.loss) if fit else fit

    found = {f"ε = {e}": answers(lambda bits, e=e: slope(e, bits), 60) for e in (0.1, 0.3, 1.0, 3.0)}
    figure, ax = canvas(
        "A private slope", "20,000 rows with slope 2, of which 2% are wrong; 60 runs each. The line is 2."
    )
    strips(ax, found, 2.0)
    ols = float(np.polyfit(x, y, 1)[0])
    ax.axvline(ols, color=RED, linewidth=1.5, ls="--")
    ax.text(ols, 3.4, " least squares", color=RED)
    save(figure, path)


def hampel_regression_lines(path: Path) -> None:
    x, y = wrong_rows(20_000, 0.1)
    below = "20,000 rows, of which one in ten is wrong; 25 private lines at ε = 1, δ = 1e-6."
    figure, ax = canvas("A robust line", below, 4.2)
    ax.plot(x[::50], y[::50], "o", color=GREY, alpha=0.5, markersize=2.5, markeredgewidth=0)
    ends = np.array([-4.0, 4.0])
    fits = [hampel_regression(x[:, None], y, epsilon=1, delta=1e-6, entropy=ut.SeededEntropy(s)) for s in range(25)]
    for fit in filter(None, fits):
        ax.plot(ends, fit.value[0] + fit.value[1] * ends, color=BLUE, alpha=0.3, linewidth=1)
    ax.plot(ends, 1 + 2 * ends, color=INK, linewidth=1.5, label="the line of the other rows")
    squares = np.polyval(np.polyfit(x, y, 1), ends)
    ax.plot(ends, squares, color=RED, ls="--", linewidth=1.5, label="least squares, without privacy")
    ax.plot([], [], color=BLUE, label=f"private; ⊥ in {sum(not fit for fit in fits)} of 25 runs")
    ax.set(xlim=(-4, 4), ylim=(-10, 25))
    ax.legend(frameon=False)
    save(figure, path)


def scatter(path: Path) -> None:
    draw, around = rows(), np.linspace(0, 2 * np.pi, 200)
    z = draw.normal(size=(4_000, 2))
    x = np.column_stack([z[:, 0], 0.8 * z[:, 0] + 0.6 * z[:, 1]])
    truth = np.array([[1, 0.8], [0.8, 1]])
    x[:40] = draw.normal([8, -8], 1, size=(40, 2))
    below = "4,000 rows, of which one in a hundred is wrong; ten private ellipses at ε = 1 that should hold 95%."
    figure, ax = canvas("A robust centre and scatter matrix", below, 4.2)
    ax.plot(*x[::8].T, "o", color=GREY, alpha=0.5, markersize=2, markeredgewidth=0)

    def ellipse(centre: Floats, matrix: Floats, **style: Any) -> None:
        outline = np.linalg.cholesky(matrix) @ np.array([np.cos(around), np.sin(around)])
        ax.plot(*(centre[:, None] + np.sqrt(5.991) * outline), **style)

    for seed in range(10):
        made = ut.scatter(x, epsilon=1, entropy=ut.SeededEntropy(seed)).unwrap()
        ellipse(made.centre, made.matrix, color=BLUE, alpha=0.4, linewidth=1, label="" if seed else "private")
    ellipse(np.zeros(2), truth, color=INK, linewidth=1, label="of the other rows")
    ellipse(x.mean(axis=0), np.cov(x.T), color=RED, ls="--", label="mean and covariance, without privacy")
    ax.legend(frameon=False, loc="upper right")
    ax.set(xlim=(-6, 13), ylim=(-11, 6))
    save(figure, path)


def linear_regression(path: Path) -> None:
    n, truths = 20_000, (20.0, -0.01)
    captions = "cost per year of age", "cost per unit of income"
    title = "25 private regressions, each of 20,000 fresh rows, ε = 1, no bounds given"
    figure, axes = panels(title, captions)
    for i in range(25):
        draw = rows(i)
        age = draw.normal(45, 12, n)
        income = 800 * age + draw.normal(20_000, 9_000, n)
        cost = 100 + 20 * age - 0.01 * income + draw.normal(0, 150, n)
        cost[:200] = 1e9
        fit = ut.linear_regression(np.column_stack([age, income]), cost, epsilon=1, entropy=ut.SeededEntropy(i))
        for k, (ax, truth) in enumerate(zip(axes, truths, strict=True), 1):
            low, high = (float(end[k]) for end in fit.interval(0.95))
            ax.vlines(i, low, high, color=BLUE if low < truth < high else RED, linewidth=3, alpha=0.5)
            ax.plot(i, fit.value[k], "o", color=BLUE, markersize=3)
    for ax, truth in zip(axes, truths, strict=True):
        ax.axhline(truth, color=INK, linewidth=1)
        ax.set_xticks([])
        ax.set_xlabel("95% intervals; one row in a hundred is nonsense", color=GREY)
    save(figure, path)


def two_humps(n: int) -> tuple[Floats, Callable[[Floats], Floats]]:
    """Rows of a mixture of two normal laws, and its density."""
    draw = rows()
    x = np.where(draw.random(n) < 0.35, draw.normal(2, 0.3, n), draw.normal(4.3, 0.4, n))

    def normal(t: Floats, centre: float, width: float) -> Floats:
        return np.exp(-((t - centre) ** 2) / (2 * width**2)) / (width * np.sqrt(2 * np.pi))

    return x, lambda t: 0.35 * normal(t, 2, 0.3) + 0.65 * normal(t, 4.3, 0.4)


def kde_curve(path: Path) -> None:
    x, density = two_humps(2_000)
    below = "2,000 rows, ε = 1, δ = 1e-6, no bounds given; 95% bands of the noise."
    figure, ax = canvas("A private density, with its band", below)
    where = np.linspace(0.5, 6.5, 240)
    for bandwidth, colour, label in ((0.15, BLUE, "bandwidth=0.15"), (None, GOLD, "no bandwidth given")):
        made = kde(x, epsilon=1, delta=1e-6, bandwidth=bandwidth, entropy=ut.SeededEntropy(1)).unwrap()
        curve = made.curve(where)
        ax.fill_between(where, curve.low, curve.high, color=colour, alpha=0.25, linewidth=0)
        ax.plot(where, curve.values, color=colour, linewidth=1.5, label=label)
    ax.plot(where, density(where), color=INK, linewidth=1, ls="--", label="the population's")
    ax.legend(frameon=False)
    save(figure, path)


def fourier_curves(path: Path) -> None:
    x, density = two_humps(2_000)
    figure, ax = canvas("A private density by its Fourier series", "2,000 rows, ε = 1, no δ, no bounds given; 20 runs.")
    where = np.linspace(0.5, 6.5, 400)
    for seed in range(20):
        made = fourier_density(x, 1, entropy=ut.SeededEntropy(seed)).unwrap()
        ax.plot(where, made.at(where), color=BLUE, alpha=0.35, linewidth=1)
    ax.plot(where, density(where), color=INK, linewidth=1.2, ls="--", label="the population's")
    ax.plot([], [], color=BLUE, label="private")
    ax.legend(frameon=False)
    save(figure, path)


def kernel_machines(path: Path) -> None:
    draw = rows()
    points = draw.normal(size=(2000, 2))
    inside = np.where((points**2).sum(axis=1) < 1.4, 1, -1)
    x = draw.uniform(-3, 3, 2000)
    y = np.sin(2 * x) + x / 2 + draw.normal(0, 0.3, x.size)
    captions = "KernelSVC; dashed: the curator's own boundary", "KernelRegressor, six runs; dashed: the truth"
    figure, (left, right) = panels("Private kernel machines: 2,000 rows, ε = 1, δ = 1e-6", captions)
    model = KernelSVC(epsilon=1, delta=1e-6, random_state=1).fit(points, inside)
    own = own_machine(points, inside, loss="hinge")
    plot_regions(model, [(-3, 3), (-3, 3)], own=own, ax=left)
    left.set_title("", loc="center")
    where = np.linspace(-3, 3, 300)
    right.plot(x[::10], y[::10], "o", color=GREY, alpha=0.4, markersize=2, markeredgewidth=0)
    for seed in range(6):
        fit = KernelRegressor(epsilon=1, delta=1e-6, bandwidth=0.7, random_state=seed).fit(x[:, None], y)
        right.plot(where, fit.predict(where[:, None]), color=BLUE, alpha=0.5, linewidth=1)
    right.plot(where, np.sin(2 * where) + where / 2, color=INK, linewidth=1, ls="--")
    save(figure, path)


# ------------------------------------------------------------------------------------------------------- any function


def subsample_aggregate(path: Path) -> None:
    x = rows().lognormal(0, 1, 40_000)
    found = {
        f"{m} blocks of {x.size // m}": answers(
            lambda bits, m=m: ut.subsample_aggregate(np.std, x, blocks=m, epsilon=1, entropy=bits, progress=False), 40
        )
        for m in (200, 400, 1600, 6400)
    }
    below = "Standard deviation of 40,000 lognormal rows, ε = 1, 40 runs; the line is that of all."
    figure, ax = canvas("More blocks: less noise, more bias", below)
    strips(ax, found, float(x.std()))
    save(figure, path)


def stable_value(path: Path) -> None:
    blocks, agree = 68, np.arange(34, 69)
    below = f"Chance of a reply with {blocks} blocks, δ = 1e-6, if all others agree on one other value."
    figure, ax = canvas("How many blocks must agree", below)
    for epsilon, colour in ((2.0, INK), (1.0, BLUE), (0.5, GOLD)):
        law = IntegerLaplace(2 / ut.Privacy(epsilon).exact_epsilon)
        threshold = law.cutoff(ut.Privacy(1, 1e-6).exact_delta)
        chances = [law.tail(threshold - (2 * int(k) - blocks - 2)) for k in agree]
        ax.plot(agree, chances, "o-", color=colour, markersize=4, label=f"ε = {epsilon}")
    ax.set_xlabel("blocks that agree on the winner", color=GREY)
    ax.legend(frameon=False)
    save(figure, path)


def groups(path: Path) -> None:
    clinic = load("clinic")
    wards, sizes = np.unique(clinic["ward"], return_counts=True)
    cost, ward, public = clinic["cost"], clinic["ward"], wards.tolist()
    made = [
        per_group(ut.median, cost, ward, groups=public, epsilon=1, entropy=ut.SeededEntropy(s)).value
        for s in range(100)
    ]
    found = {
        f"{name} ({size} rows)": np.array([reply.value if (reply := m[name]) else np.nan for m in made], float)
        for name, size in zip(public, sizes, strict=True)
    }
    truth = [float(np.median(cost[ward == name])) for name in public]
    below = "Cost of a stay, ε = 1 for all wards together, 100 runs; lines: the truth."
    figure, ax = canvas("A median for each ward, for one ε", below)
    strips(ax, found, truth)
    save(figure, path)


PICTURES: dict[str, Picture] = {
    "median": median,
    "quantile": quantile,
    "ecdf": ecdf,
    "iqr": iqr,
    "trimmed-mean": trimmed_mean,
    "mean": mean,
    "variance": variance,
    "kendall-tau": kendall_tau,
    "correlation-matrix": correlation_matrix,
    "median-difference": median_difference,
    "count": count,
    "histogram": histogram,
    "sparse-histogram": sparse_histogram,
    "margins": margins,
    "shortcut-regression": shortcut_regression,
    "hampel-regression": hampel_regression_lines,
    "scatter": scatter,
    "linear-regression": linear_regression,
    "kde": kde_curve,
    "fourier-density": fourier_curves,
    "kernel-machines": kernel_machines,
    "subsample-aggregate": subsample_aggregate,
    "stable-value": stable_value,
    "per-group": groups,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the pictures of the pages on statistics.")
    parser.add_argument("--out", type=Path, default=Path("docs/images"), help="directory for the pictures")
    parser.add_argument("--only", nargs="+", choices=PICTURES, default=list(PICTURES), help="which ones")
    arguments = parser.parse_args()
    for name in arguments.only:
        PICTURES[name](arguments.out / f"answers-{name}.png")


if __name__ == "__main__":
    main()
