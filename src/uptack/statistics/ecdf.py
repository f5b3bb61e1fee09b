"""The empirical distribution function, with a band for the population that holds everywhere at once.

**Noise for running counts.** There are L bins in a row, and the number of rows in the first j of them is wanted for
each j. Noise on each bin would add up like the root of L. So bins are also put together into blocks of b. A running
count is the sum of the whole blocks before it, and of the single bins after these: at most L/b + b terms. The law of
the noise does not depend on the data, so the law of the largest error is computed exactly.

**Theorem.** A row lies in one bin and in one block. So an added or removed row changes the vector of all counts by at
most 2, and a replaced one by at most 4, in the sum of absolute values: integer Laplace noise of scale 2s/ε for a
person who can change s bins by 1 is ε-differentially private. With b = 1 there are blocks alone, and the scale is s/ε.
Rows are counted from the lower end for the lower half of the bins, and from the upper end for the upper half. ∎

**The law of the largest deviation.** Errors of whole blocks are a random walk. Inside a block the errors of single
bins are a walk of their own from where that one stands, independent of how it goes on. So the chance that all stay
within ±z is a product of steps of a walk that is absorbed there, in O((L/b + b)·z·ln z).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.account import Mechanism, Outcome
from uptack.display import Ends, Record, TabularValue, line
from uptack.display.plots import PRIVATE, axes
from uptack.errors import InvalidArgument
from uptack.exact import Rational, least
from uptack.mechanisms.quantile_chain import window_sums
from uptack.noise import Entropy, IntegerLaplace
from uptack.privacy import loss
from uptack.reach.l_statistics import Floats, quantile_rank
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.statistics import quantile_trees
from uptack.statistics.column_options import Promises, Question, column, least_n, public_size, read_question
from uptack.table.reads import COLUMN

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class RunningCounts(Mechanism[Integers, tuple[Integers, Integers]]):
    """The running counts of so many bins from the lower end, and so many from the upper, with noise: see above."""

    lower: int
    upper: int
    block: int
    scale: Fraction

    @staticmethod
    def of(bins: int, epsilon: Fraction, moved: int) -> RunningCounts:
        """For so many bins, the one in the middle left out, where a person can change `moved` bins by 1.

        Blocks where they pay: the variance of the last running count decides, which is public.
        """
        lower = bins // 2
        upper = bins - 1 - lower
        block = max(math.isqrt(max(lower, 1)), 1)
        in_blocks = 4 * (-(-lower // block) + block - 1)
        if in_blocks < lower:
            return RunningCounts(loss.Pure(epsilon), lower, upper, block, 2 * moved / epsilon)
        return RunningCounts(loss.Pure(epsilon), lower, upper, 1, moved / epsilon)

    @property
    def spread(self) -> float:
        """About the standard deviation of the running count that is furthest off."""
        return float(self.scale) * math.sqrt(2 * (self.lower / self.block + self.block - 1))

    def draw(self, value: Integers, entropy: Entropy) -> tuple[Integers, Integers]:
        below, above = self._errors(self.lower, entropy), self._errors(self.upper, entropy)
        return np.cumsum(value)[: self.lower] + below, np.cumsum(value[::-1])[: self.upper] + above

    def price(self, value: Integers, other: Integers, output: tuple[Integers, Integers]) -> float:
        parts = zip(self.parts(value), self.parts(other), strict=True)
        return sum(int(np.abs(a - b).sum()) for a, b in parts) / float(self.scale)

    def _errors(self, bins: int, entropy: Entropy) -> Integers:
        """The errors of the running counts from one end."""
        law, done = IntegerLaplace(self.scale), np.arange(1, bins + 1)
        blocks = np.append(0, np.cumsum(law.sample(bins // self.block, entropy=entropy)))
        single = law.sample(bins, entropy=entropy) if self.block > 1 else np.zeros(bins, np.int64)
        single[done % self.block == 0] = 0  # a whole block is counted as one
        within = np.cumsum(single)
        start = done - done % self.block
        errors: Integers = blocks[done // self.block] + within - np.append(0, within)[start]
        return errors

    def within(self, z: int) -> float:
        """P(no running count is off by more than z)."""
        below, above = (_chance_within(bins, self.block, self.scale, z) for bins in (self.lower, self.upper))
        return below * above

    def parts(self, bins: Integers) -> list[Integers]:
        """All that is counted, of both sides: whole blocks, and the single bins that are not the last of one."""
        out = []
        for side in (bins[: self.lower], bins[::-1][: self.upper]):
            whole = side.size // self.block
            out.append(side[: whole * self.block].reshape(whole, self.block).sum(axis=1))
            out.append(side[np.arange(1, side.size + 1) % self.block > 0])
        return out


@lru_cache(maxsize=256)
def error_bound(noise: RunningCounts, failure: Fraction) -> int:
    """The least z that no running count is off by more than, but for `failure`."""
    allowed = float(failure) * (1 - 1e-9)  # room for rounding
    return least(lambda z: z >= 0 and 1 - noise.within(z) <= allowed)


def _chance_within(bins: int, block: int, scale: Fraction, z: int) -> float:
    """The chance that all errors of one side stay within ±z."""
    law = np.zeros(2 * z + 1)
    law[z] = 1.0
    inside = np.ones(2 * z + 1)
    chances = [inside]  # of staying for so many single bins, from each place
    for _ in range(min(block - 1, bins)):
        inside = _step(inside, scale)
        chances.append(inside)
    for first in range(0, bins, block):
        law = law * chances[min(block - 1, bins - first)]
        if first + block <= bins:
            law = _step(law, scale)
    return float(law.sum())


def _step(law: Floats, scale: Fraction) -> Floats:
    """One integer Laplace step, P(k) = (1 - a)/(1 + a)·a^|k| with a = e^(-1/scale); what leaves is lost."""
    rate = -float(1 / scale)
    after = window_sums(law, law.size, rate)
    before = window_sums(law[::-1], law.size, rate)[::-1]
    return (before + after - law) * (math.tanh(-rate / 2))


SAMPLING, COUNTS, ROWS = Fraction(7, 10), Fraction(1, 5), Fraction(1, 10)
"""How a band's failure is divided: the sample, the noise of the counts, the noise of the number of rows."""


@dataclass(frozen=True, eq=False)
class Band:
    """Bounds of a distribution function: from knot j on at least lower[j], and up to knot j at most upper[j]."""

    knots: Floats
    lower: Floats
    upper: Floats
    confidence: float

    def at(self, points: ArrayLike) -> tuple[Floats, Floats]:
        x = np.asarray(points, np.float64)
        low = np.append(0.0, self.lower)[np.searchsorted(self.knots, x, side="right")]
        high = np.append(self.upper, 1.0)[np.searchsorted(self.knots, x, side="left")]
        return low, high


@dataclass(frozen=True, eq=False)
class Ecdf(TabularValue):
    """A private estimate of the share of rows up to each number.

    `knots` are numbers, `shares` the estimated shares of rows up to them, `n` the public number of rows, `step` the
    granularity of the column if it has one, `each` how many rows one person may have. It holds no data.
    """

    knots: Floats
    counts: Floats
    n: int
    noise: RunningCounts
    rows: IntegerLaplace | None = None
    step: float | None = None
    each: int = 1

    @property
    def shares(self) -> Floats:
        """The shares of rows up to the knots: the noisy counts, made monotone from 0 to 1."""
        raw = np.clip(self.counts / max(self.n, 1), 0.0, 1.0)
        return np.asarray((np.maximum.accumulate(raw) + np.minimum.accumulate(raw[::-1])[::-1]) / 2)

    def at(self, points: ArrayLike) -> Any:
        """The estimated share of rows up to each point.

        It is linear between knots, and for a column with a granularity a step function. Beyond the outermost knots it
        is halfway between its value there and 0 or 1, its values at ±∞.
        """
        x, shares = np.asarray(points, np.float64), self.shares
        if np.isnan(x).any():
            raise InvalidArgument("points", "numbers", "NaN")
        place = np.searchsorted(self.knots, x, side="right")
        inner = np.interp(x, self.knots, shares) if self.step is None else shares[np.maximum(place - 1, 0)]
        values = np.where(place == 0, shares[0] / 2, np.where(x > self.knots[-1], (1 + shares[-1]) / 2, inner))
        values = np.where(x == -np.inf, 0.0, np.where(x == np.inf, 1.0, values))
        return values if values.ndim else float(values)

    def quantile(self, p: ArrayLike) -> Any:
        """The number that a share p of the rows lies up to; p must lie between the outermost knots' shares."""
        levels, shares = np.asarray(p, np.float64), self.shares
        if not ((levels >= shares[0]) & (levels <= shares[-1])).all():
            must = f"between {shares[0]:.3g} and {shares[-1]:.3g}, the shares of the outermost knots"
            raise InvalidArgument("p", must, checks.describe(p), "Quantiles further out were not released.")
        first = np.searchsorted(shares, levels, side="left")
        values = self.knots[first]
        if self.step is None:
            values = np.where(shares[first] == levels, values, np.interp(levels, shares, self.knots))
        return values if values.ndim else float(values)

    def share(self, low: float, high: float) -> float:
        """The estimated share of rows above `low` and up to `high`."""
        if not low <= high:
            raise InvalidArgument("high", "at least low", checks.describe(high))
        return float(self.at(high)) - float(self.at(low))

    def density(self) -> tuple[Floats, Floats]:
        """A coarse density: edges, and heights between them.

        Knots are joined until a bin is four standard deviations of the noise. What lies beyond all knots is left out.
        """
        shares, least = self.shares, 4 * self.noise.spread / max(self.n, 1)
        joined = [0]
        for j in range(1, self.knots.size):
            if shares[j] - shares[joined[-1]] >= least:
                joined.append(j)
        edges = self.knots[joined]
        return edges, np.asarray(np.diff(shares[joined]) / np.diff(edges))

    def band(self, confidence: Rational = 0.95) -> Band:
        """Bounds that hold the *population's* distribution function everywhere at once, with this confidence.

        **Theorem.** Let α = 1 - confidence. For n independent rows the true shares are everywhere within
        d = sqrt(ln(2/0.7α)/2n) of the population's, but for 0.7α (Dvoretzky, Kiefer and Wolfowitz, with Massart's
        constant; any population). The running counts are all within z of the true ones, but for 0.2α: the law of the
        noise does not depend on the data, and z is its exact quantile. Where the number of rows is secret, it is
        within t of n but for α/10. Bounds at knots hold between them, since a distribution function rises. Which knots
        there are may depend on rows and noise: both statements hold for all numbers at once. ∎

        **With up to g rows per person**, which may be copies of each other, d = sqrt(g·ln(2g/0.7α)/2n). *Proof.* Put
        the first row of everybody into one part of the table, the second ones into another, and so on. Each of the g
        parts has independent rows, so that the first statement holds for all of them but for 0.7α, with 0.7α/g for
        each. With n_j rows in part j the shares of all rows are off by at most Σ(n_j/n)·sqrt(ln(2g/0.7α)/2n_j), which
        is largest for parts of one size. ∎
        """
        failure = 1 - checks.inside_unit("confidence", confidence)
        off = 0 if self.rows is None else self.rows.cutoff(failure * ROWS / 2) - 1
        fewest, most = max(self.n - off, 1), self.n + off
        d = math.sqrt(self.each * math.log(float(2 * self.each / (failure * SAMPLING))) / (2 * fewest)) * (1 + 1e-12)
        z = error_bound(self.noise, failure * COUNTS)
        low, high = self.counts - z, self.counts + z
        left = np.arange(self.knots.size) < self.noise.lower  # counted from the lower end; the others from the upper
        lowest = np.where(left, np.maximum(low, 0) / most, 1 - np.maximum(self.n - low, 0) / fewest)
        highest = np.where(left, high / fewest, 1 - np.maximum(self.n - high, 0) / most)
        lower = np.maximum.accumulate(np.clip(lowest - d, 0.0, 1.0))
        upper = np.minimum.accumulate(np.clip(highest + d, 0.0, 1.0)[::-1])[::-1]
        return Band(self.knots, lower, upper, float(1 - failure))

    def plot(self, ax: Any = None, confidence: Rational = 0.95, **style: Any) -> Any:
        """The private distribution function with its band. Returns the axes. It needs matplotlib (`uptack[plots]`).

        Further arguments go to matplotlib's `plot`.
        """
        band, ax = self.band(confidence), axes(ax, figsize=(6, 3.2))
        label = f"{100 * band.confidence:.3g}% band for the population"
        x = np.repeat(self.knots, 2)
        low, high = np.append(0.0, np.repeat(band.lower, 2))[:-1], np.append(np.repeat(band.upper, 2), 1.0)[1:]
        ax.fill_between(x, low, high, color=PRIVATE, alpha=0.15, linewidth=0, label=label)
        look = {"color": PRIVATE, "linewidth": 1.5, "label": "estimate"}
        look |= {} if self.step is None else {"drawstyle": "steps-post"}
        ax.plot(self.knots, self.shares, **look | style)
        ax.set_ylim(0, 1)
        ax.set_ylabel("share of rows")
        ax.legend(frameon=False)
        return ax

    def figures(self, ends: Ends = None) -> list[Record]:
        band = self.band()
        columns = (self.knots.tolist(), self.shares.tolist(), band.lower.tolist(), band.upper.tolist())
        return [line({"up to": x}, *figure) for x, *figure in zip(*columns, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON, with the band of 95%."""
        band = self.band()
        return {
            "knots": self.knots.tolist(),
            "shares": self.shares.tolist(),
            "lower": band.lower.tolist(),
            "upper": band.upper.tolist(),
            "confidence": band.confidence,
            "rows": self.n,
        }

    def __repr__(self) -> str:
        return f"Ecdf({self.knots.size} knots from {self.knots[0]:.4g} to {self.knots[-1]:.4g})"


KNOTS = (3, 5, 9, 19, 39, 79, 159, 319, 639, 999)
"""How many knots there may be; which of them is chosen by public numbers."""

HOW = "private knots and counts between them"


class EcdfOptions(Promises, total=False):
    """Options of a distribution function: those of `Promises`, and `missing` and `granularity` as for a quantile."""

    missing: str | Rational
    granularity: Rational | None


@release(reads=COLUMN, plan=lambda given, cost, rows: "", examples=({},), people="each")
def ecdf(
    x: Any, *, epsilon: Rational, knots: int | None = None, **options: Unpack[EcdfOptions]
) -> Release[Ecdf] | NoReply:
    """The empirical distribution function (the share of rows up to every number), with no bounds on the data, and a
    confidence band for that of the population.

    **Theorem.** ε-differentially private. Half of ε draws knots, which are evenly spaced quantiles, by a chain or by a
    tree of chains (`uptack.mechanisms.quantile_chain`). The other half counts the rows between them, with integer noise
    of a law that does not depend on the data (`uptack.statistics.ecdf`). The rest is post-processing:
    `value.at(points)`, `value.quantile(p)`, `value.share(low, high)`, `value.density()`, `value.band(confidence)` and
    `value.plot()` cost nothing more. The theorem of the band is in `uptack.statistics.ecdf.Ecdf.band`.

    `knots` is the number of quantiles; by default one that makes the band narrow, chosen from n and ε alone.

    >>> from uptack import SeededEntropy
    >>> result = ecdf(np.arange(20_001), epsilon=1, entropy=SeededEntropy(4)).value
    >>> result, bool(abs(result.at(5000) - 0.25) < 0.02)
    (Ecdf(39 knots from 476 to 1.949e+04), True)
    """
    count = None if knots is None else checks.integer("knots", knots, least=2)
    if count is not None and count > 4999:
        raise InvalidArgument("knots", "at most 4999", count)
    data, question = column(x, read_question("ecdf", epsilon, options))
    n, question = public_size(data.count(), question)
    for_knots, for_counts = question.split(Fraction(1, 2), Fraction(1, 2))
    counts = KNOTS if count is None else (count,)
    moved = _bins_moved(question)

    def fits(size: int, knots: int) -> bool:
        return quantile_trees.plan_tree(size, _ranks(size, knots), for_knots.epsilon, question.rows) is not None

    def wide(knots: int) -> float:
        """About the width of the band in rows, without its part for sampling."""
        return n / (knots + 1) + 5 * RunningCounts.of(knots + 1, for_counts.epsilon, moved).spread

    chosen = next((c for c in sorted(counts, key=wide) if fits(n, c)), None)
    if chosen is None:
        return question.close(question.refuse(HOW, Advice(n=least_n(lambda size: fits(size, counts[0])))))
    quantiles = quantile_trees.tree_quantiles(data, n, _ranks(n, chosen), for_knots)
    assert quantiles is not None, "the same public rule as above"
    edges = np.unique(quantiles)
    noise = RunningCounts.of(edges.size + 1, for_counts.epsilon, moved)
    bins = np.array(data.sum(functools.partial(_counts_between, knots=edges.tolist())), np.int64)
    low, high = for_counts.draw(noise, bins)
    step = None if question.granularity is None else float(question.granularity)
    up_to = np.concatenate((low, n - high[::-1])).astype(np.float64)  # counted from the nearer end, with noise
    return question.close(Outcome(Ecdf(edges, up_to, n, noise, question.count, step, question.rows), HOW))


def _bins_moved(question: Question) -> int:
    """The number of bins that one person can change by 1: a replaced row leaves one bin and enters another."""
    return question.rows * question.adjacency.moves_per_row


def _ranks(n: int, count: int) -> list[int]:
    """The distinct ranks of evenly spaced quantiles."""
    return sorted({quantile_rank(Fraction(j, count + 1), max(n, 1)) for j in range(1, count + 1)})


def _counts_between(x: Floats, knots: Sequence[float]) -> list[int]:
    """How many rows lie up to the first knot, above it and up to the second, and so on; above the last."""
    counts: list[int] = np.bincount(np.searchsorted(np.array(knots), x, side="left"), minlength=len(knots) + 1).tolist()
    return counts
