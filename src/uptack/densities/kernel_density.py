"""Kernel density estimates, released as functions with Gaussian-process noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.account import Outcome
from uptack.densities.fourier import coordinates, features, read
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.kernels.function_release import MOST_POINTS, FunctionRelease, ProcessNoise, noisy_function
from uptack.kernels.function_release import plan as factor_plan
from uptack.kernels.kernel import UNIT, Floats, GaussianKernel, Kernel, KernelSum, TensorKernel
from uptack.kernels.kernel import points as check_points
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.statistics.column_options import Question, public_size, read_question
from uptack.statistics.quantiles import quantiles
from uptack.table.protocol import Columns
from uptack.table.reads import POINTS
from uptack.table.unit import roomy
from uptack.table.values.kinds import LARGEST

FINENESS = {1: 64, 2: 16, 3: 8}
"""Bins to a bandwidth, by dimension: every row is moved to the middle of its bin."""
NEAR = 9.5
"""Bandwidths beyond which bins are left out: all of them add less than e^-45 of the largest value there could be."""
ERROR = 160 * UNIT
"""Of a value over its bound: a kernel value errs by 23 roundoffs, a pairwise sum of 2^40 products by 60, a few more."""
BANDWIDTH_SHARE = Fraction(1, 3)
"""The part of ε that goes into bandwidths where none are given."""
EXCESS = Fraction(1, 1000)
"""The part of δ for the case that a secret number of rows is far above the noisy one."""
POINTS_LIMIT = 1 << 20
"""The largest number of points: each of them is a row of a matrix."""
QUARTILES = Fraction(1, 4), Fraction(3, 4)
HOW = "Gaussian-process noise"


@dataclass(frozen=True, eq=False)
class Bins:
    """Rows moved to the middles of bins, with their numbers or units; sorted by the first coordinate."""

    middles: Floats
    counts: NDArray[np.int64]

    @staticmethod
    def of(rows: Floats, steps: Floats, units: NDArray[np.int64] | None = None) -> Bins:
        """Row by row, so that neighbours stay neighbours. A row counts for one, or for so many units."""
        with np.errstate(over="ignore"):
            middles = np.clip(np.rint(rows / steps) * steps, -LARGEST, LARGEST) + 0.0
        if middles.shape[1] == 1 and units is None:
            places, counts = np.unique(middles[:, 0], return_counts=True)
            return Bins(np.asfortranarray(places[:, None]), counts.astype(np.int64))
        return Bins._merge(middles, np.ones(len(middles), np.int64) if units is None else roomy(units))

    @staticmethod
    def _merge(middles: Floats, counts: NDArray[np.int64]) -> Bins:
        order = np.lexsort(middles.T[::-1])
        middles, counts = middles[order], counts[order]
        first = np.flatnonzero(np.append(True, (middles[1:] != middles[:-1]).any(axis=1))[: len(middles)])
        return Bins(np.asfortranarray(middles[first]), np.add.reduceat(counts, first) if first.size else counts)

    def __add__(self, other: Bins) -> Bins:
        return Bins._merge(np.vstack([self.middles, other.middles]), np.append(self.counts, other.counts))


@dataclass(frozen=True, eq=False)
class Density:
    """w·Σ_b count_b·K(b, x) over the bins near x."""

    bins: Bins
    kernel: Kernel
    weight: float
    reach: float

    def __call__(self, where: Floats) -> Floats:
        return np.array([self._at(x) for x in where])

    def _at(self, x: Floats) -> float:
        first = self.bins.middles[:, 0]
        low = np.searchsorted(first, x[0] - self.reach, side="left")
        high = np.searchsorted(first, x[0] + self.reach, side="right")
        near = self.kernel.matrix(x[None, :], self.bins.middles[low:high])[0]
        return self.weight * float((near * self.bins.counts[low:high]).sum())


@release(reads=POINTS, people=True, examples=({"delta": 1e-6, "bandwidth": 1.0},))
def kde(
    x: Any,
    *,
    epsilon: Rational,
    delta: Rational,
    bandwidth: Any = None,
    points: ArrayLike | None = None,
    adjacency: Adjacency = SUBSTITUTE,
    rows_per_person: int = 1,
    missing: str | Rational = "error",
    most_points: int = MOST_POINTS,
    entropy: Entropy | None = None,
) -> Release[FunctionRelease] | NoReply:
    """A Gaussian kernel density estimate of rows of shape (n,) or (n, d), d ≤ 3, with no bounds on the data.

    f(x) = w·Σ_i exp(-Σ_j (x_j - x_ij)²/2h_j²) with w = 1/(n·Π sqrt(2π)h_j).

    **Theorem.** In the space of the Gaussian kernel f moves by at most Δ = sqrt(2)·g·w between neighbours with g
    replaced rows, and by g·w for added or removed ones (`uptack.kernels.kernel.KernelSum`), so its release with
    Gaussian-process noise is (ε, δ)-differentially private however many points are asked (`release_function`). Rows are
    moved to bins of h/64 (h/16 and h/8 in two and three dimensions) one by one, which keeps neighbours neighbours.

    Without a bandwidth a third of ε goes into the quartiles of every coordinate, and h_j is Silverman's rule with their
    distance: ⊥ where there are too few rows for quartiles. Under `ADD_REMOVE`, and with `missing="drop"`, n in w is
    a noisy number of rows, at a tenth of ε. There the bound on f that rounding errors are measured by holds unless the
    noise is in its far tail, to which a thousandth of δ goes.

    With `person=` each person adds the mean of the bumps of her rows, and n is the number of people. Such a mean is in
    the hull of the bumps (`uptack.densities.fourier.features`), so that Δ is what it is for one row.

    The value answers `at(points)`; `curve(points)` and `on_grid()` make a plain curve of it, to keep or to draw.

    >>> from uptack.noise import SeededEntropy
    >>> rows = np.random.default_rng(0).normal(size=10_000)
    >>> result = kde(rows, epsilon=1, delta=1e-6, bandwidth=0.2, entropy=SeededEntropy(1))
    >>> result.value.at([-1.0, 0.0, 1.0]).round(2)
    array([0.24, 0.38, 0.25])
    """
    checks.inside_unit("delta", delta, "Gaussian noise needs δ > 0, such as 1e-6.")
    question = read_question(
        "kernel density",
        epsilon,
        {"delta": delta, "adjacency": adjacency, "rows_per_person": rows_per_person, "missing": missing}
        | {"entropy": entropy},
    )
    if checks.integer("most_points", most_points, least=1) > POINTS_LIMIT:
        fix = "Each further point adds to the noise of all points."
        raise InvalidArgument("most_points", f"at most {POINTS_LIMIT:,}", checks.describe(most_points), fix)
    columns = coordinates(x)
    given = None if bandwidth is None else _bandwidths(bandwidth, len(columns))
    wanted = None if points is None else check_points("points", points, len(columns))
    if wanted is not None and len(wanted) > most_points:
        raise InvalidArgument("points", f"at most most_points of them, {most_points:,}", f"{len(wanted):,}")
    return question.close(_estimate(read(columns, question), question, given, wanted, most_points))


def _bandwidths(value: Any, dimension: int) -> tuple[float, ...]:
    """A positive number, for all coordinates or one for each."""
    each = [value] * dimension if np.ndim(value) == 0 else list(value)
    if len(each) != dimension:
        raise InvalidArgument("bandwidth", f"one number, or {dimension} of them", f"{len(each)} of them")
    widths = tuple(float(checks.positive("bandwidth", h)) for h in each)
    if not all(1e-80 <= size <= 1e80 for size in (*widths, math.prod(widths))):
        must = "between 1e-80 and 1e80, and so their product"
        raise InvalidArgument("bandwidth", must, checks.describe(value), "Give the data in other units.")
    return widths


def _estimate(
    columns: Columns, question: Question, bandwidths: tuple[float, ...] | None, wanted: Floats | None, most_points: int
) -> Outcome[FunctionRelease]:
    n, question = public_size(columns[0].count(), question)
    if n < 1:
        return question.refuse(HOW, Advice(n=1))
    most_rows, excess = n, Fraction(0)  # a public bound on the rows of both neighbours, and the δ that it costs
    if question.size_is_secret:
        excess = question.delta * EXCESS
        most_rows += question.count_noise.cutoff(excess) + question.rows
    unit = KernelSum(GaussianKernel(1.0) ** len(columns), Fraction(1))  # it does not depend on bandwidths
    try:
        factor_plan(unit.kernel, most_points, unit.sensitivity(question.adjacency), unit.norm(most_rows), ERROR)
    except InvalidArgument:  # floats don't bear so many points: where n was bought, that is no longer an error
        if not question.size_is_secret:
            raise
        return question.refuse(HOW, Advice(other="a smaller most_points"))
    window = None
    if bandwidths is None:
        share = question.epsilon * BANDWIDTH_SHARE
        outcome = _private_bandwidths(columns, n, question.allot(share))
        if isinstance(outcome, Outcome):
            return outcome
        (bandwidths, window), question = outcome, question.allot(question.epsilon - share, question.delta)
    weight = 1 / (n * math.prod(math.sqrt(2 * math.pi) * h for h in bandwidths))
    if not (min(bandwidths) > 1e-90 and max(bandwidths) < 1e90 and 1e-90 < weight < 1e90):
        return question.refuse(HOW, Advice(other="data in other units, or a bandwidth of your own"))
    if excess:
        question.pay(loss.Approximate(0, excess))
    sides: list[Kernel] = [GaussianKernel(h) for h in bandwidths]
    bumps = KernelSum(reduce(TensorKernel, sides), Fraction(weight))
    one = columns[0].unit.most  # where it is not 1, one more rounding, for which ERROR has room
    density = Density(_bins(columns, bandwidths), bumps.kernel, weight / one, NEAR * bandwidths[0])
    sensitivity, norm = bumps.sensitivity(question.adjacency), bumps.norm(most_rows)
    account = question.allot(question.epsilon, question.delta - excess)
    value = noisy_function(density, bumps.kernel, sensitivity, norm, ERROR, most_points, account)
    value.window, value.can_resume = window, False  # callers do not have its binned function
    if wanted is not None:
        value.at(wanted)
    return Outcome(value, HOW, ProcessNoise())


def _private_bandwidths(
    columns: Columns, n: int, question: Question
) -> tuple[tuple[float, ...], Floats] | Outcome[Any]:
    """h_j = 0.85·σ_j·(4/((d + 2)n))^(1/(d + 4)), with σ_j the distance of two released quartiles over 1.349.

    At d = 1 that is Silverman's 0.9·σ·n^(-1/5). The quartiles also tell where to look: three distances around them.
    """
    d, ends = len(columns), []
    for values in columns:
        quartiles = quantiles(values, n, QUARTILES, question.allot(question.epsilon / d))
        if quartiles.value is None:
            advice, share = quartiles.advice, float(BANDWIDTH_SHARE / d)  # what it says of ε is about a part of it
            if advice is not None and advice.epsilon is not None:
                advice = replace(advice, epsilon=math.ceil(1000 * advice.epsilon / share) / 1000)
            return replace(quartiles, advice=advice)
        ends.append(quartiles.value)
    low, high = np.array(ends).T
    if not (np.isfinite(high - low) & (high > low)).all():
        return question.refuse(HOW, Advice(other="a bandwidth of your own: the quartiles came out equal"))
    sides = 0.85 * (high - low) / 1.349 * (4 / ((d + 2) * n)) ** (1 / (d + 4))
    reach = 3 * (high - low)
    return tuple(sides.tolist()), np.column_stack([low - reach, high + reach])


def _bins(columns: Columns, bandwidths: tuple[float, ...]) -> Bins:
    """Bins of all rows; of one column batch by batch, wherever it is kept."""
    steps = np.array(bandwidths) / FINENESS[len(columns)]
    if len(columns) == 1 and not columns[0].unit.weighted:
        bins: Bins = columns[0].sum(lambda batch: [Bins.of(batch.reshape(-1, 1), steps)])[0]
        return bins
    rows, units = features(columns)
    return Bins.of(rows, steps, units)
