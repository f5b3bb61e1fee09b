"""Rank statistics without bounds: errors and coverage of τ and superiority, and power of the rank tests beside SciPy's.

Every row is a mean over fresh samples. "×" is the root mean square error over that of the same statistic without
privacy, both about the population's value. Power is the share of runs with p ≤ 0.05; with no effect it is the share of
false alarms, which must not be above 5% but for chance.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import Ratio, Row, machine, table, write_json
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


def power(runs: int, sizes: tuple[int, ...], epsilon: float) -> Iterator[Row]:
    """The share of runs with p ≤ 0.05, by effect in standard deviations; SciPy's without privacy behind a slash."""
    rng = np.random.default_rng(3)
    for name, (ours, theirs) in TESTS.items():
        for n in sizes:
            for kind in ("normal",) if name == "signed rank" else ("normal", "rounded"):
                row: dict[str, Any] = {"test": name, "data": kind, "n": n}
                for effect in (0.0, 0.1, 0.2, 0.3, 0.5):
                    drawn = [groups(rng, n, effect, kind) for _ in range(runs)]
                    made = [ours(*d, epsilon=epsilon) for d in drawn]
                    found = np.mean([bool(one) and one.value.pvalue <= LEVEL for one in made])
                    plain = np.mean([theirs(*d) <= LEVEL for d in drawn])
                    row[f"{effect}"] = f"{found:.0%} / {plain:.0%}"
                yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("out/ranks.json"))
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--sizes", type=int, nargs="*", default=[300, 1000, 3000])
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    sizes, rows = tuple(options.sizes), []
    for title, part in (("Estimates", estimates), ("Contrasts", contrasts), ("Power at 5%", power)):
        found = list(part(options.runs, sizes, options.epsilon))
        print(f"\n{title}, ε = {options.epsilon:g}, {options.runs} runs\n\n{table(found)}", flush=True)
        rows += [{"part": title} | dict(row) for row in found]
    meta = machine("uptack", "numpy", "scipy") | {"epsilon": options.epsilon, "runs": options.runs}
    write_json(options.json, rows, meta)
    print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
