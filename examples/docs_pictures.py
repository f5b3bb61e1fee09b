"""The pictures of the pages on statistics: private answers beside the truth.

Everything is seeded, rows and noise, so the pictures are the same at every run (and the answers in them not private).

    python examples/docs_pictures.py --out docs/images            # all of them
    python examples/docs_pictures.py --only median kde            # some
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from readme_picture import BLUE, GOLD, GREY, INK, RED, finish, heading, pyplot

import uptack as ut
from uptack.discrete import Domain
from uptack.discrete.categories import Screen
from uptack.functions import kde
from uptack.functions.estimators import KernelRegressor, KernelSVC
from uptack.functions.fourier import fourier_density
from uptack.functions.minimisers import own_machine
from uptack.functions.regions import plot_regions
from uptack.groups import per_group
from uptack.noise import IntegerLaplace
from uptack.regression import hampel_regression
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


def canvas(title: str, below: str, height: float = 3.6, panels: int = 1) -> tuple[Any, Any]:
    figure, axes = pyplot().subplots(1, panels, figsize=(8.6, height))
    heading(axes if panels == 1 else axes[0], title, below)
    return figure, axes


def strips(ax: Any, found: Mapping[str, Floats], truth: float | Sequence[float], colours: Sequence[str] = ()) -> None:
    """A strip of dots for each label, from the top down, the truth as a line through each, and how many said ⊥."""
    spread = rows(1)
    truths = np.broadcast_to(truth, len(found))
    for i, (label, values) in enumerate(found.items()):
        replied = values[~np.isnan(values)]
        colour = colours[i] if colours else BLUE
        height = i + spread.uniform(-0.28, 0.28, replied.size)
        ax.plot(replied, height, "o", color=colour, alpha=0.35, markersize=3.5, markeredgewidth=0)
        ax.plot([truths[i]] * 2, [i - 0.42, i + 0.42], color=INK, linewidth=1.5)
        if silent := values.size - replied.size:
            ax.text(truths[i], i, f"  ⊥ in {silent} of {values.size} runs", color=RED, va="center")
    ax.set_yticks(range(len(found)), list(found))
    ax.set_ylim(len(found) - 0.5, -0.5)


# ------------------------------------------------------------------------------------------------------ one column


def median(path: Path) -> None:
    cost = load("clinic")["cost"]
    found = {
        f"ε = {epsilon}": answers(lambda bits, e=epsilon: ut.median(cost, epsilon=e, entropy=bits))
        for epsilon in (0.05, 0.1, 0.3, 1.0)
    }
    below = f"Cost of a stay, {cost.size:,} rows, {RUNS} runs each; the line is the true median. ε = 0.05 needs 3,620 rows."
    figure, ax = canvas("A private median", below)
    strips(ax, found, float(np.median(cost)))
    finish(figure, ax, path)


def quantile(path: Path) -> None:
    x, runs = rows().lognormal(3, 1, 20_000), 60
    levels = [i / 10 for i in range(1, 10)]
    truth = np.quantile(x, levels, method="inverted_cdf")
    together = [ut.quantile(x, levels, epsilon=1, entropy=ut.SeededEntropy(s)).value for s in range(runs)]
    apart = [
        [ut.quantile(x, p, epsilon="1/9", entropy=ut.SeededEntropy(s)).value for p in levels] for s in range(runs)
    ]
    figure, ax = canvas("Nine quantiles in one draw", f"Error of each decile in percent, {x.size:,} rows, ε = 1, {runs} runs.")
    for drawn, colour, shift, label in ((apart, GOLD, 0.012, "one by one, at ε/9 each"), (together, BLUE, -0.012, "together")):
        error = 100 * (np.array(drawn) / truth - 1)
        where = np.array(levels) + shift
        ax.vlines(where, *np.quantile(error, [0.05, 0.95], axis=0), color=colour, linewidth=5, alpha=0.75, label=label)
    ax.axhline(0, color=INK, linewidth=1)
    ax.set_xticks(levels)
    ax.set_xlabel("level; a bar holds nine answers of ten", color=GREY)
    ax.legend(frameon=False, loc="upper center")
    finish(figure, ax, path)


def iqr(path: Path) -> None:
    x = rows().lognormal(3, 1, 20_000)
    found = {
        method: answers(lambda bits, m=method, d=delta: ut.iqr(x, epsilon=1, delta=d, method=m, entropy=bits))
        for method, delta in (("inverse", 0), ("ptr", 1e-6), ("dwork-lei", 1e-6))
    }
    figure, ax = canvas("An interquartile range, by three methods", f"{x.size:,} lognormal rows, ε = 1, {RUNS} runs each; the line is the truth.")
    strips(ax, found, float(np.subtract(*np.quantile(x, [0.75, 0.25]))))
    ax.set_xlim(10, 60)
    finish(figure, ax, path)


def trimmed_mean(path: Path) -> None:
    x = rows().normal(50, 10, 10_000)
    clean = float(x.mean())
    x[:100] = 1e6
    statistics = {"trimmed_mean": ut.trimmed_mean, "winsorized_mean": ut.winsorized_mean, "mean": ut.mean}
    found = {
        name: answers(lambda bits, f=f: f(x, epsilon=1, entropy=bits)) for name, f in statistics.items()
    }
    below = "10,000 rows around 50, of which a hundred are a million; ε = 1. The line is the mean of the rows before that."
    figure, ax = canvas("Means that a hundred wrong rows can't carry away", below)
    strips(ax, found, clean)
    ax.text(1, 0.02, f"mean of all rows, without privacy: {x.mean():,.0f}", color=RED, ha="right", transform=ax.transAxes)
    finish(figure, ax, path)


def mean(path: Path) -> None:
    n, laws = 50_000, rows()
    tables = {
        "normal": laws.normal(3, 1, n),
        "lognormal": laws.lognormal(0, 1, n),
        "Pareto, index 1.5": 1 + laws.pareto(1.5, n),
    }
    found = {
        name: answers(lambda bits, x=x: ut.mean(x, epsilon=1, entropy=bits)) / x.mean() for name, x in tables.items()
    }
    figure, ax = canvas("What clamping costs", f"Private mean over the mean of all rows, {n:,} rows, ε = 1, {RUNS} runs each.")
    strips(ax, found, 1.0)
    finish(figure, ax, path)


# ----------------------------------------------------------------------------------------------------------- counts


def count(path: Path) -> None:
    figure, ax = canvas("The law of a private count", "P(answer) where 100 rows are counted.")
    where = np.arange(-15, 16)
    for epsilon, colour, shift in ((1.0, BLUE, -0.2), (0.3, GOLD, 0.2)):
        law = IntegerLaplace(1 / ut.Privacy(epsilon).exact_epsilon)
        mass = [law.pmf(int(k)) for k in where]
        ax.bar(100 + where + shift, mass, 0.4, color=colour, label=f"ε = {epsilon}: off by {1 / np.sinh(epsilon):.2g} on average")
    ax.legend(frameon=False)
    ax.set_xlabel("answer", color=GREY)
    finish(figure, ax, path)


def histogram(path: Path) -> None:
    age, edges = load("clinic")["age"], np.arange(0, 101, 10)
    figure, (left, right) = canvas("Known cells, and unknown ones", "Ages of 2,400 patients, ε = 0.2, with 95% intervals; outlines: the truth.", 3.8, 2)
    made = ut.histogram(age, edges=edges, epsilon=0.2, entropy=ut.SeededEntropy(1))
    middle, (low, high) = edges[:-1] + 5, made.interval(0.95)
    left.bar(middle, made.value.counts, 8, color=BLUE, alpha=0.5)
    left.bar(middle, np.histogram(age, edges)[0], 8, fill=False, edgecolor=INK)
    left.vlines(middle, low, high, color=BLUE, linewidth=2)
    sizes = np.arange(1, 300)
    for epsilon, colour in ((1.0, BLUE), (0.3, GOLD), (0.1, RED)):
        screen = Screen.of(ut.Privacy(epsilon).exact_epsilon, ut.Privacy(1, 1e-6).exact_delta, ut.SUBSTITUTE)
        right.plot(sizes, [screen.law.tail(screen.cutoff - int(n)) for n in sizes], color=colour, linewidth=2)
        right.text(screen.cutoff + 4, 0.5, f"ε = {epsilon}", color=colour)
    right.annotate("Chance that a category is shown, by its rows; δ = 1e-6.", (0, 1), (0, 10), "axes fraction", textcoords="offset points", color=GREY)
    left.spines[["top", "right"]].set_visible(False)
    finish(figure, right, path)


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
        label = f'"{rule}": {len(kept)} cells kept, {false} of them empty' if false else f'"{rule}": {len(kept)} cells kept, no empty one'
        ax.plot(*np.transpose(kept), "o", color=colour, markersize=size, markeredgewidth=0, label=label)
    ax.plot(np.arange(1, counts.size + 1), [true[cell] for cell in order], color=INK, linewidth=1)
    ax.set(xscale="log", yscale="log")
    ax.set_xlabel("occupied cells from the fullest on", color=GREY)
    ax.legend(frameon=False)
    finish(figure, ax, path)


def margins(path: Path) -> None:
    names = [f"c{i}" for i in range(10)]
    base = rows().random((20_000, 1))
    table = {name: (rows(i).random(20_000) < base[:, 0]).astype(int) for i, name in enumerate(names)}
    domain, wanted = Domain(dict.fromkeys(names, 2)), (1, 2, 3, 4)
    figure, ax = canvas("Which way to take for margins", "Mean error of a cell in rows; all margins of k of ten binary columns, 20,000 rows, ε = 1.")
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
    ax.set(yscale="log")
    ax.set_xlabel("columns of a margin", color=GREY)
    ax.legend(frameon=False)
    finish(figure, ax, path)


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
    figure, ax = canvas("A private slope", "20,000 rows with slope 2, of which 2% are wrong; 60 runs each. The line is 2.")
    strips(ax, found, 2.0)
    ols = float(np.polyfit(x, y, 1)[0])
    ax.axvline(ols, color=RED, linewidth=1.5, ls="--")
    ax.text(ols, 3.4, " least squares", color=RED)
    finish(figure, ax, path)


def hampel_regression_lines(path: Path) -> None:
    x, y = wrong_rows(20_000, 0.1)
    figure, ax = canvas("A robust line", "Every twentieth of 20,000 rows, of which one in ten is wrong; 40 private lines at ε = 1, δ = 1e-6.", 4.2)
    ax.plot(x[::20], y[::20], "o", color=GREY, alpha=0.35, markersize=2.5, markeredgewidth=0)
    ends = np.array([-4.0, 4.0])
    fits = [hampel_regression(x[:, None], y, epsilon=1, delta=1e-6, entropy=ut.SeededEntropy(s)) for s in range(40)]
    for fit in filter(None, fits):
        ax.plot(ends, fit.value[0] + fit.value[1] * ends, color=BLUE, alpha=0.3, linewidth=1)
    ax.plot(ends, 1 + 2 * ends, color=INK, linewidth=1.5, label="the line of the other rows")
    ax.plot(ends, np.polyval(np.polyfit(x, y, 1), ends), color=RED, ls="--", linewidth=1.5, label="least squares, without privacy")
    ax.plot([], [], color=BLUE, label=f"private; ⊥ in {sum(not fit for fit in fits)} of 40 runs")
    ax.set(xlim=(-4, 4), ylim=(-10, 25))
    ax.legend(frameon=False)
    finish(figure, ax, path)


def two_humps(n: int) -> tuple[Floats, Callable[[Floats], Floats]]:
    """Rows of a mixture of two normal laws, and its density."""
    draw = rows()
    x = np.where(draw.random(n) < 0.35, draw.normal(2, 0.3, n), draw.normal(4.3, 0.4, n))

    def normal(t: Floats, centre: float, width: float) -> Floats:
        return np.exp(-((t - centre) ** 2) / (2 * width**2)) / (width * np.sqrt(2 * np.pi))

    return x, lambda t: 0.35 * normal(t, 2, 0.3) + 0.65 * normal(t, 4.3, 0.4)


def kde_curve(path: Path) -> None:
    x, density = two_humps(20_000)
    figure, ax = canvas("A private density, with its band", "20,000 rows, ε = 1, δ = 1e-6, no bandwidth and no bounds given; 95% band of the noise.")
    made = kde(x, epsilon=1, delta=1e-6, entropy=ut.SeededEntropy(1)).unwrap()
    curve = made.curve(np.linspace(0.5, 6.5, 240))
    where = curve.points[:, 0]
    ax.fill_between(where, curve.low, curve.high, color=BLUE, alpha=0.25, linewidth=0)
    ax.plot(where, curve.values, color=BLUE, linewidth=1.5, label="private")
    ax.plot(where, made.curators_own(where), color=GOLD, linewidth=1.2, label="the curator's own")
    ax.plot(where, density(where), color=INK, linewidth=1, ls="--", label="the population's")
    ax.legend(frameon=False)
    finish(figure, ax, path)


def fourier_curves(path: Path) -> None:
    x, density = two_humps(20_000)
    figure, ax = canvas("A private density by its Fourier series", "20,000 rows, ε = 1, no δ, no bounds given; 20 runs.")
    where = np.linspace(0.5, 6.5, 400)
    for seed in range(20):
        made = fourier_density(x, 1, entropy=ut.SeededEntropy(seed)).unwrap()
        ax.plot(where, made.at(where), color=BLUE, alpha=0.35, linewidth=1)
    ax.plot(where, density(where), color=INK, linewidth=1.2, ls="--", label="the population's")
    ax.plot([], [], color=BLUE, label="private")
    ax.legend(frameon=False)
    finish(figure, ax, path)


def kernel_machines(path: Path) -> None:
    draw = rows()
    points = draw.normal(size=(4000, 2))
    inside = np.where((points**2).sum(axis=1) < 1.4, 1, -1)
    x = draw.uniform(-3, 3, 4000)
    y = np.sin(2 * x) + x / 2 + draw.normal(0, 0.3, x.size)
    figure, (left, right) = canvas("Private kernel machines", "KernelSVC: private regions, and the curator's own boundary.", 4, 2)
    model = KernelSVC(epsilon=1, delta=1e-6, random_state=1).fit(points, inside)
    own = own_machine(points, inside, loss="hinge")
    plot_regions(model, [(-3, 3), (-3, 3)], own=own, ax=left)
    left.set_title("", loc="center")
    where = np.linspace(-3, 3, 300)
    right.plot(x[::8], y[::8], "o", color=GREY, alpha=0.4, markersize=2, markeredgewidth=0)
    for seed in range(10):
        fit = KernelRegressor(epsilon=1, delta=1e-6, bandwidth=0.7, random_state=seed).fit(x[:, None], y)
        right.plot(where, fit.predict(where[:, None]), color=BLUE, alpha=0.5, linewidth=1)
    right.plot(where, np.sin(2 * where) + where / 2, color=INK, linewidth=1, ls="--")
    right.annotate("KernelRegressor: ten private curves. 4,000 rows, ε = 1.", (0, 1), (0, 10), "axes fraction", textcoords="offset points", color=GREY)
    left.spines[["top", "right"]].set_visible(False)
    finish(figure, right, path)


# ---------------------------------------------------------------------------------------------------------- any function


def subsample_aggregate(path: Path) -> None:
    x = rows().lognormal(0, 1, 40_000)
    found = {
        f"{m} blocks of {x.size // m}": answers(
            lambda bits, m=m: ut.subsample_aggregate(np.std, x, blocks=m, epsilon=1, entropy=bits, progress=False), 40
        )
        for m in (200, 400, 1600, 6400)
    }
    figure, ax = canvas("More blocks: less noise, more bias", "Standard deviation of 40,000 lognormal rows, ε = 1, 40 runs each; the line is that of all rows.")
    strips(ax, found, float(x.std()))
    finish(figure, ax, path)


def stable_value(path: Path) -> None:
    blocks, agree = 68, np.arange(34, 69)
    figure, ax = canvas("How many blocks must agree", f"Chance of a reply with {blocks} blocks, δ = 1e-6, if all others agree on one other value.")
    for epsilon, colour in ((2.0, INK), (1.0, BLUE), (0.5, GOLD)):
        law = IntegerLaplace(2 / ut.Privacy(epsilon).exact_epsilon)
        threshold = law.cutoff(ut.Privacy(1, 1e-6).exact_delta)
        chances = [law.tail(threshold - (2 * int(k) - blocks - 2)) for k in agree]
        ax.plot(agree, chances, "o-", color=colour, markersize=4, label=f"ε = {epsilon}")
    ax.set_xlabel("blocks that agree on the winner", color=GREY)
    ax.legend(frameon=False)
    finish(figure, ax, path)


def groups(path: Path) -> None:
    clinic = load("clinic")
    wards, sizes = np.unique(clinic["ward"], return_counts=True)
    made = [
        per_group(ut.median, clinic["cost"], clinic["ward"], groups=wards.tolist(), epsilon=1, entropy=ut.SeededEntropy(s)).value
        for s in range(100)
    ]
    found = {
        f"{ward} ({size} rows)": np.array([reply.value if (reply := m[ward]) else np.nan for m in made], float)
        for ward, size in zip(wards.tolist(), sizes, strict=True)
    }
    truth = [float(np.median(clinic["cost"][clinic["ward"] == ward])) for ward in wards]
    figure, ax = canvas("A median for each ward, for one ε", "Cost of a stay, ε = 1 for all wards together, 100 runs; lines are the true medians.")
    strips(ax, found, truth)
    finish(figure, ax, path)


PICTURES: dict[str, Picture] = {
    "median": median,
    "quantile": quantile,
    "iqr": iqr,
    "trimmed-mean": trimmed_mean,
    "mean": mean,
    "count": count,
    "histogram": histogram,
    "sparse-histogram": sparse_histogram,
    "margins": margins,
    "shortcut-regression": shortcut_regression,
    "hampel-regression": hampel_regression_lines,
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
