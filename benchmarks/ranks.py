"""Rank statistics without bounds: errors and coverage of τ and superiority, and power of the rank tests beside SciPy's.

Every row is a mean over fresh samples. "×" is the root mean square error over that of the same statistic without
privacy, both about the population's value. Power is the share of runs with p ≤ 0.05, on the same samples for all ε and
for SciPy's test without privacy; ⊥ counts as not found. With no effect it is the share of false alarms, which must not
be above 5% but for chance, and has four times the runs (the same on rows with many ties, at ε = 1). Effects are
multiples of 1/√n standard deviations.

    python benchmarks/ranks.py --json out/ranks.json
    python benchmarks/ranks.py --quick
    python benchmarks/ranks.py --part power --picture docs/images/answers-rank-tests.png
"""

from __future__ import annotations

import argparse
import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import Ratio, Row, machine, percent, table, write_json
from numpy.typing import NDArray
from scipy import stats

import uptack as ut

Floats = NDArray[np.float64]
LEVEL = 0.05
TWO: dict[str, Any] = {"groups": (1, 0)}


def pairs(rng: np.random.Generator, n: int, rho: float, kind: str) -> tuple[Floats, Floats]:
    """Elliptical pairs with this correlation: normal, Student's t with one degree of freedom, or rounded to ties."""
    z = rng.normal(size=(2, n))
    x, y = z[0], rho * z[0] + np.sqrt(1 - rho**2) * z[1]
    if kind == "Cauchy":
        root = np.sqrt(rng.chisquare(1, n))
        return x / root, y / root
    return x, y


def groups(rng: np.random.Generator, n: int, effect: float, kind: str, share: float = 0.5) -> tuple[Floats, Any]:
    """Values and labels; the group 1 is moved by the effect."""
    label = (rng.random(n) < share).astype(int)
    noise = {"normal": rng.normal, "lognormal": rng.lognormal, "rounded": rng.normal}[kind](size=n)
    moved = noise + effect * label if kind != "lognormal" else noise * np.exp(effect * label)
    return (np.round(2 * moved) if kind == "rounded" else moved), label


def _errors(truth: float, found: list[Any], plain: list[float]) -> dict[str, Any]:
    replies = [one for one in found if one]
    if not replies:
        return {"reply": 0.0, "×": None, "cover": None, "width": None}
    ours = np.sqrt(np.mean([(one.value - truth) ** 2 for one in replies]))
    theirs = np.sqrt(np.mean((np.array(plain) - truth) ** 2))
    ends = np.array([one.interval(0.95) for one in replies])
    cover = np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    width = float(np.median(ends[:, 1] - ends[:, 0]))
    return {"reply": len(replies) / len(found), "×": Ratio(ours / theirs), "cover": float(cover), "width": width}


def estimates(runs: int, sizes: tuple[int, ...], epsilon: float) -> Iterator[Row]:
    """τ, the correlation and superiority: error over that without privacy, coverage, width of the 95% interval."""
    rng = np.random.default_rng(1)
    for n in sizes:
        for kind, rho in (("normal", 0.0), ("normal", 0.5), ("normal", 0.9), ("Cauchy", 0.5)):
            drawn = [pairs(rng, n, rho, kind) for _ in range(runs)]
            truth, plain = 2 / np.pi * np.arcsin(rho), [stats.kendalltau(*d).statistic for d in drawn]
            found = [ut.kendall_tau(*d, epsilon=epsilon) for d in drawn]
            yield {"statistic": "τ", "data": f"{kind}, ρ = {rho}", "n": n} | _errors(truth, found, plain)
            found = [ut.kendall_tau(*d, epsilon=epsilon, adjacency=ut.ADD_REMOVE) for d in drawn]
            yield {"statistic": "τ, n secret", "data": f"{kind}, ρ = {rho}", "n": n} | _errors(truth, found, plain)
        for effect, share in ((0.0, 0.5), (0.5, 0.5), (0.5, 0.2)):
            drawn = [groups(rng, n, effect, "normal", share) for _ in range(runs)]
            truth, plain = float(stats.norm.cdf(effect / 2**0.5)), [_share(*d) for d in drawn]
            for name, told in (("A, labels secret", {}), ("A, labels public", {"public_labels": True})):
                found = [ut.superiority(*d, epsilon=epsilon, **TWO, **told) for d in drawn]
                where = f"normal + {effect}, {share:.0%}"
                yield {"statistic": name, "data": where, "n": n} | _errors(truth, found, plain)


def _share(x: Floats, label: Any) -> float:
    one, other = x[label == 1], x[label == 0]
    return float(stats.mannwhitneyu(one, other).statistic / (one.size * other.size))


def contrasts(runs: int, sizes: tuple[int, ...], epsilon: float) -> Iterator[Row]:
    """The difference of medians and Hodges and Lehmann's shift; coverage where an interval is bought."""
    rng = np.random.default_rng(2)
    for n in sizes:
        drawn = [groups(rng, n, 0.5, "normal") for _ in range(runs)]
        middles = [float(np.median(x[g == 1]) - np.median(x[g == 0])) for x, g in drawn]
        for name, made, plain in (
            ("medians", lambda d: ut.median_difference(*d, **TWO, epsilon=epsilon), middles),
            ("shift", lambda d: ut.hodges_lehmann(*d, **TWO, epsilon=epsilon), middles),
            ("interval", lambda d: ut.median_difference(*d, **TWO, epsilon=epsilon, interval=0.95), middles),
        ):
            found = [one for one in map(made, drawn[: runs // 5]) if one]
            if not found:
                yield {"contrast": name, "n": n, "reply": 0.0, "× medians": None, "cover": None, "width": None}
                continue
            error = Ratio(
                np.sqrt(np.mean([(f.value - 0.5) ** 2 for f in found]) / np.mean((np.array(plain) - 0.5) ** 2))
            )
            row = {"contrast": name, "n": n, "reply": len(found) / (runs // 5), "× medians": error}
            ends = [f.interval(0.95) for f in found] if name == "interval" else []
            cover = float(np.mean([low <= 0.5 <= high for low, high in ends])) if ends else None
            yield row | {"cover": cover, "width": float(np.mean([b - a for a, b in ends])) if ends else None}


TESTS: dict[str, tuple[Callable[..., Any], Callable[..., float]]] = {
    "Mann-Whitney": (
        lambda x, g, **told: ut.mann_whitney(x, g, **TWO, **told),
        lambda x, g: float(stats.mannwhitneyu(x[g == 1], x[g == 0]).pvalue),
    ),
    "Mann-Whitney, labels public": (
        lambda x, g, **told: ut.mann_whitney(x, g, **TWO, public_labels=True, **told),
        lambda x, g: float(stats.mannwhitneyu(x[g == 1], x[g == 0]).pvalue),
    ),
    "Kruskal-Wallis": (
        lambda x, g, **told: ut.kruskal_wallis(x, g, **TWO, **told),
        lambda x, g: float(stats.kruskal(x[g == 1], x[g == 0]).pvalue),
    ),
    "signed rank": (
        lambda x, g, **told: ut.signed_rank(x[g == 1], **told),
        lambda x, g: float(stats.wilcoxon(x[g == 1]).pvalue),
    ),
}


EFFECTS = (0, 2, 4, 6, 8)
"""In units of 1/√n standard deviations, so that without privacy the power is about the same for every n."""


def power(runs: int, sizes: tuple[int, ...], epsilons: tuple[float, ...]) -> Iterator[Row]:
    """The share of runs with p ≤ 0.05. Rounded rows have many ties, and are there for their false alarms."""
    rng = np.random.default_rng(3)
    for name, (ours, theirs) in TESTS.items():
        for n, times, kind in itertools.product(sizes, EFFECTS, ("normal", "rounded")):
            if kind == "rounded" and (times or name == "signed rank"):
                continue
            effect = times / n**0.5
            drawn = [groups(rng, n, effect, kind) for _ in range(runs if times else 4 * runs)]
            plain = float(np.mean([theirs(*d) <= LEVEL for d in drawn]))
            for epsilon in epsilons if kind == "normal" else (1.0,):
                made = [ours(*d, epsilon=epsilon) for d in drawn]
                found = float(np.mean([bool(one) and one.value.pvalue <= LEVEL for one in made]))
                silent = float(np.mean([not one for one in made]))
                row = {"test": name, "data": kind, "n": n, "ε": epsilon, "times": times, "effect": effect}
                yield row | {"uptack": found, "SciPy": plain, "⊥": silent, "runs": len(drawn)}


def pivoted(found: Sequence[Row]) -> Iterator[Row]:
    """One line per test, size and ε, one column per effect: ours, then SciPy's."""
    for (name, n, epsilon), cells in _lines(found):
        row: dict[str, Any] = {"test": name, "n": n, "ε": epsilon}
        row["⊥"] = percent(float(np.mean([one["⊥"] for one in cells])))
        tied = [one for one in cells if one["data"] == "rounded"]
        row["false alarms"] = next(_pair(one) for one in cells if one["data"] == "normal" and not one["times"])
        row["tied"] = _pair(tied[0]) if tied else ""
        yield row | {f"{one['times']}/√n": _pair(one) for one in cells if one["times"]}


def _lines(found: Sequence[Row]) -> Iterator[tuple[tuple[str, int, float], list[Row]]]:
    lines: dict[tuple[str, int, float], list[Row]] = {}
    for one in found:
        lines.setdefault((one["test"], one["n"], one["ε"]), []).append(one)
    yield from lines.items()


def _pair(one: Row) -> str:
    return f"{percent(one['uptack'])} / {percent(one['SciPy'])}"


def drawn_curves(found: Sequence[Row], path: Path) -> None:
    """A row of panels per test, a panel per n: power by effect for every ε, and without privacy."""
    from matplotlib import pyplot
    from PIL import Image

    shown = [name for name in TESTS if "public" not in name and any(one["test"] == name for one in found)]
    sizes = sorted({one["n"] for one in found})
    figure, axes = pyplot.subplots(
        len(shown), len(sizes), figsize=(8.6, 2.1 * len(shown)), sharey=True, sharex="col", squeeze=False
    )
    for (name, n, epsilon), cells in _lines([one for one in found if one["data"] == "normal"]):
        if name not in shown:
            continue
        ax = axes[shown.index(name)][sizes.index(n)]
        where, ours, theirs = np.transpose([(one["effect"], one["uptack"], one["SciPy"]) for one in cells])
        if not ax.lines:
            ax.plot(where, theirs, "--", color="#1f2933", linewidth=1.5, label="SciPy, no privacy")
            ax.axhline(LEVEL, color="#7b8794", linewidth=0.8)
            ax.set_title(f"{name}, n = {n:,}", loc="left", fontsize=9)
        shade = ("#c98a1b", "#2f62a8", "#d1495b")[len(ax.lines) % 3]
        ax.plot(where, ours, "o-", color=shade, markersize=3, linewidth=1.2, label=f"ε = {epsilon:g}")
        ax.set_ylim(-0.03, 1.03)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0][0].legend(frameon=False, fontsize=7.5)
    for ax in axes[-1]:
        ax.set_xlabel("effect, in standard deviations", fontsize=8)
    figure.tight_layout()
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=110)
    Image.open(drawn).convert("RGB").quantize(64).save(path, optimize=True)  # few colours make a small file


PARTS = {"estimates": "Estimates", "contrasts": "Contrasts", "power": "Power at 5%"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=Path("out/ranks.json"))
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="10 runs, n = 300 and 1,000")
    parser.add_argument("--sizes", type=int, nargs="*", default=[300, 1000, 3000])
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.5, 1.0, 3.0], help="of the tests; others have 1")
    parser.add_argument("--part", choices=PARTS, nargs="*", default=list(PARTS))
    parser.add_argument("--picture", type=Path, help="draw the power curves")
    options = parser.parse_args()
    runs, sizes = (10, (300, 1000)) if options.quick else (options.runs, tuple(options.sizes))
    rows = list[Row]()
    for part in options.part:
        found = list(
            power(runs, sizes, tuple(options.epsilon))
            if part == "power"
            else {"estimates": estimates, "contrasts": contrasts}[part](runs, sizes, 1.0)
        )
        shown = list(pivoted(found)) if part == "power" else found
        print(f"\n{PARTS[part]}, {runs} runs\n\n{table(shown)}", flush=True)
        rows += [{"part": PARTS[part]} | dict(row) for row in found]
    if options.picture is not None:
        drawn_curves([row for row in rows if row["part"] == PARTS["power"]], options.picture)
    meta = machine("uptack", "numpy", "scipy") | {"epsilon": options.epsilon, "runs": runs}
    write_json(options.json, rows, meta)
    print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
