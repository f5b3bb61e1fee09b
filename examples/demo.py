"""Private releases from one table, with what they cost: counts, shares, a choice, and numbers without bounds.

The table is bundled and the randomness is the operating system's, so the answers differ from run to run.

    python examples/demo.py --out out
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import uptack
from uptack.privacy import cost, loss, tight, total
from uptack.samples import load

WARDS = ("Cardiology", "Emergency", "Maternity", "Oncology", "Paediatrics", "Surgery")
"""The list of wards is public knowledge. Reading it off the table would tell of a ward with one patient."""
ROOT_TWO = Fraction("1.4142135624")
"""At least sqrt(2), the ℓ2 distance that one replaced row moves a vector by when it leaves one ward for another."""
DELTA = "1e-6"
NUMBERS = ("age", "wait_minutes", "cost")
"""Numeric columns. Nobody says how large a cost may be: the clinic's largest bills are far beyond the others."""
CONFIDENCE = Fraction(95, 100)
LEGEND = ("private value (published)", "its 95% interval (published)", "true value (curator's eyes only)")
EACH = (1 + CONFIDENCE) / 2
"""Two intervals that each hold this often hold together as often as `CONFIDENCE` says."""


@dataclass(frozen=True)
class Ward:
    """What may be published about a ward, and beside it what only the curator knows."""

    name: str
    count: float
    interval: tuple[float, float]
    share: float
    share_interval: tuple[float, float]
    true_count: int
    true_share: float


@dataclass(frozen=True)
class Numbers:
    """What may be published about a numeric column: each a release, or ⊥."""

    name: str
    median: Any
    spread: Any
    mean: Any
    column: np.ndarray

    @staticmethod
    def of(name: str, column: np.ndarray) -> Numbers:
        """Median with an interval for the population, interquartile range and trimmed mean, for ε = 1 in all."""
        return Numbers(
            name,
            uptack.median(column, epsilon=0.5, interval=CONFIDENCE),
            uptack.iqr(column, epsilon=0.25),
            uptack.trimmed_mean(column, 0.2, epsilon=0.25),
            column,
        )

    def __str__(self) -> str:
        low, high = self.median.interval(CONFIDENCE) if self.median else (np.nan, np.nan)
        shown = " ".join(f"{r.value:12,.1f}" if r else f"{'⊥':>12}" for r in (self.median, self.spread, self.mean))
        true_median, largest = np.median(self.column), self.column.max()
        ends = f"[{low:,.0f}, {high:,.0f}]"
        return f"{self.name:13}{shown} {ends:>24} │{true_median:12,.1f} {largest:14,.0f}"


@dataclass(frozen=True)
class Report:
    """The releases as they were made, and the wards sorted by their private counts."""

    counts: uptack.Release[Any]
    readmitted: uptack.Release[Any]
    crowded: uptack.Release[str]
    wards: tuple[Ward, ...]
    numbers: tuple[Numbers, ...]

    @property
    def losses(self) -> tuple[loss.Loss, ...]:
        """What happened to the data."""
        columns = (r.loss for c in self.numbers for r in (c.median, c.spread, c.mean) if r.loss is not None)
        return self.counts.loss, self.readmitted.loss, self.crowded.loss, *columns


def _within_unit(x: Any) -> Any:
    return np.clip(x, 0.0, 1.0)


def release(clinic: dict[str, np.ndarray]) -> Report:
    """Count, share, choose and summarise privately. Neighbours differ in one replaced row (SUBSTITUTE)."""
    ward, readmitted = clinic["ward"], clinic["readmitted"]
    true_counts = np.array([np.sum(ward == name) for name in WARDS])
    true_readmitted = np.array([readmitted[ward == name].sum() for name in WARDS])
    # A replaced row takes one from one count and adds one to another: ℓ1 distance 2, ℓ2 distance sqrt(2).
    counts = uptack.engines.laplace(true_counts, sensitivity=2, epsilon=0.5, granularity=1)
    again = uptack.engines.gaussian(true_readmitted, sensitivity=ROOT_TWO, epsilon=1, delta=DELTA)
    # A choice has one score for each ward, and no score moves by more than 1.
    crowded = uptack.engines.report_noisy_max(WARDS, true_counts, sensitivity=1, epsilon=0.25)
    # From here on only released values are touched: shares are post-processing and cost nothing.
    low, high = counts.interval(CONFIDENCE)
    (least, most), (few, many) = counts.interval(EACH), again.interval(EACH)
    shares = _within_unit(again.value / np.maximum(counts.value, 1))
    share_low = _within_unit(np.divide(few, np.maximum(most, 1)))
    share_high = _within_unit(np.divide(many, np.maximum(least, 1)))
    columns = zip(
        WARDS,
        counts.value.tolist(),
        zip(low, high, strict=True),
        shares.tolist(),
        zip(share_low.tolist(), share_high.tolist(), strict=True),
        true_counts.tolist(),
        (true_readmitted / np.maximum(true_counts, 1)).tolist(),
        strict=True,
    )
    wards = sorted((Ward(*row) for row in columns), key=lambda w: -w.count)
    return Report(counts, again, crowded, tuple(wards), tuple(Numbers.of(name, clinic[name]) for name in NUMBERS))


def bar(part: float, width: int = 24) -> str:
    """A bar of eighths of a character."""
    eighths = round(8 * width * min(max(part, 0), 1))
    return ("█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8]).strip().ljust(width)


def _heading(private: str, true: str) -> None:
    print(f"{'':64} │ curator's eyes only")
    print(f"{'ward':13}{private:>32}{'95% interval':>19} │{true:>7}{'error':>9}")


def _line(name: str, part: float, value: str, ends: list[str]) -> None:
    """The published half of a line."""
    print(f"{name:13}{bar(part)}{value:>8}{'[' + ', '.join(ends) + ']':>19}", end="")


def tell(report: Report, rows: int) -> None:
    """The releases and their price, on the terminal."""
    print(f"uptack {uptack.__version__}: {rows:,} patients, {len(WARDS)} wards, the system's own randomness\n")
    full = max(w.count for w in report.wards)
    _heading("private count", "count")
    for w in report.wards:
        _line(w.name, w.count / full, f"{w.count:.0f}", [f"{end:.0f}" for end in w.interval])
        print(f" │{w.true_count:7}{w.count - w.true_count:+9.0f}")
    full = max(w.share for w in report.wards)
    print()
    _heading("private share readmitted", "share")
    for w in report.wards:
        _line(w.name, w.share / max(full, 0.01), f"{w.share:.1%}", [f"{end:.1%}" for end in w.share_interval])
        print(f" │{w.true_share:7.1%}{100 * (w.share - w.true_share):+9.1f}")
    print(f"\nMost crowded ward, chosen privately: {report.crowded.value}\n")
    print(f"{'':76} │ curator's eyes only")
    labels = f"{'median':>12} {'IQR':>12} {'trimmed mean':>12} {'95% of population median':>24}"
    print(f"{'no bounds':13}{labels} │{'median':>12} {'largest value':>14}")
    for column in report.numbers:
        print(column)
    print()
    for name, made in (("counts", report.counts), ("shares", report.readmitted), ("choice", report.crowded)):
        print(f"  {name:14}{made.mechanism:18}{made.privacy}")
    for column in report.numbers:
        parts = [r.privacy for r in (column.median, column.spread, column.mean)]
        print(f"  {column.name:14}{'three statistics':18}{total(parts)}")
    price, least = cost(loss.Parallel(report.losses)), tight(report.losses, DELTA)
    print(f"  {'together':14}{'':18}{price}")
    print(f"  {'':14}{'tight accounting':18}ε = {least.epsilon:.4g}, δ = {least.delta} ({least.adjacency})\n")
    print(price.explain())


def draw(report: Report, path: Path) -> None:
    """The private values with their intervals, beside the true ones that only the curator sees."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import PercentFormatter

    ink, grey, pale, blue, red = "#1f2933", "#7b8794", "#c9d8ec", "#2f62a8", "#d1495b"
    plt.rcParams.update({"font.size": 11, "text.color": ink, "xtick.color": grey, "ytick.color": ink})
    figure, axes = plt.subplots(1, 2, figsize=(11, 5), sharey=True, width_ratios=(1.2, 1))
    wards, y = report.wards, np.arange(len(report.wards))
    panels = (
        ("Patients", report.counts, "count", "{:.0f}"),
        ("Share readmitted, of private counts", report.readmitted, "share", "{:.0%}"),
    )
    for ax, (title, made, name, form) in zip(axes, panels, strict=True):
        values = np.array([getattr(w, name) for w in wards])
        ends = np.array([w.interval if name == "count" else w.share_interval for w in wards]).T
        bars = ax.barh(y, values, height=0.6, color=pale)
        whisker = {"fmt": "none", "ecolor": blue, "elinewidth": 2, "capsize": 5, "capthick": 2}
        intervals = ax.errorbar(values, y, xerr=np.abs(ends - values), **whisker)
        truth = [getattr(w, f"true_{name}") for w in wards]
        (ticks,) = ax.plot(truth, y, "|", color=red, markersize=22, markeredgewidth=2.5)
        marks = bars, intervals, ticks
        for end, value, at in zip(ends[1], values, y, strict=True):
            ax.annotate(form.format(value), (end, at), (10, 0), textcoords="offset points", va="center", color=blue)
        ax.set_xlim(0, 1.12 * ends.max())
        ax.set_title(title, loc="left", fontsize=13, fontweight="bold", pad=24)
        ax.annotate(
            f"{made.mechanism}, {made.privacy}", (0, 1), (0, 9), "axes fraction", textcoords="offset points", color=grey
        )
        ax.spines[["top", "right", "bottom"]].set_visible(False)
        ax.spines["left"].set_color(grey)
        ax.tick_params(length=0)
    axes[0].set_yticks(y, [w.name for w in wards])
    axes[0].invert_yaxis()
    axes[1].xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    figure.legend(marks, LEGEND, loc="lower center", ncols=3, frameon=False, markerscale=0.6)
    figure.tight_layout(rect=(0, 0.07, 1, 1), w_pad=3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description="Private counts, shares, a choice and numbers of the bundled table.")
    parser.add_argument("--out", type=Path, default=Path("out"), help="directory for the picture")
    picture = parser.parse_args().out / "demo.png"
    clinic = load("clinic")
    report = release(clinic)
    tell(report, len(clinic["ward"]))
    draw(report, picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
