"""The density of one to three columns as a Fourier series with noise on its coefficients: pure ε, no δ.

A row is put into one of 2^16 cells a side, and adds the integers nearest to 2^24·e^(2πi k·cell/2^16) to the sum of
moment k: a fixed vector for each cell, from a table of cosines that ball arithmetic vouches for. Sums of integers are
exact, so nothing that depends on the data is ever rounded but by a fixed function of one row.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.account import Outcome
from uptack.densities.caratheodory import (
    CELLS,
    UNIT,
    BallNoise,
    CaratheodoryNoise,
    Integers,
    LaplaceNoise,
    MomentNoise,
    half_lattice,
    moment_sums,
)
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.kernels.curves import Floats, FourierDensity
from uptack.mechanisms.additive_noise import IntegerNoise
from uptack.noise import Entropy
from uptack.noise.integer_laws import LARGEST_SCALE, refuse_tiny
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.statistics.column_options import COUNT_SHARE, Question, column, least_n, public_size, read_question
from uptack.statistics.quantiles import quantiles
from uptack.table.memory.counts import sum_units
from uptack.table.memory.table import as_columns
from uptack.table.protocol import Columns, RowDesign, Weights
from uptack.table.reads import POINTS
from uptack.table.values.kinds import LARGEST

MOST = {1: 1000, 2: 50, 3: 10}
"""The highest degree, by dimension."""
REFERENCE = {1: 1 / 20, 2: 1 / 8, 3: 1 / 8}
"""The standard deviation, in sides of the box, of the normal law whose roughness the default degree is made for."""
MOST_NOISE = 1.0
"""Integrated squared error of the noise, over that of an even density against 0, above which the reply is ⊥."""
BOX_SHARE = Fraction(1, 4)
"""The part of ε that goes into the box, where it is not given."""
MOST_TAIL, TAIL_ROWS = Fraction(1, 4), 120
"""The box comes from quantiles with at most this share of rows beyond each, and about this many rows over ε."""
NORMAL_REACH = 3.5
"""The quantiles are moved outward as if to so many standard deviations of a normal law."""


# -------------------------------------------------------------------------------------------------------- the columns


def coordinates(x: Any) -> Columns:
    """The columns, from the shape and the type alone."""
    must = "a column of numbers, or a table of two or three of them"
    columns = as_columns("x", x, must)
    if len(columns) not in MOST:
        raise InvalidArgument("x", must, f"{len(columns)} of them" if isinstance(x, Columns) else checks.outline(x))
    return columns


def read(columns: Columns, question: Question) -> Columns:
    """The columns as floats without NaN. If there are several, a row that lacks a value is dropped from all."""
    if len(columns) > 1 and question.missing is not None:
        fill = functools.partial(_fill, missing=question.missing)
        x, y = columns.table.design(RowDesign(len(columns) - 1, [one.name for one in columns], fill))
        columns = Columns([*x, y])
    return Columns(column(one, question, floats=True)[0] for one in columns)


def _fill(lines: Sequence[Floats], missing: str | float) -> Sequence[Floats]:
    gone = np.isnan(lines)
    if missing == "drop":
        return list(np.where(gone.any(axis=0), np.nan, lines))
    return list(np.clip(np.where(gone, missing, lines), -LARGEST, LARGEST))


def features(columns: Columns) -> tuple[Floats, Weights]:
    """The rows of columns in memory, one line each, and the units of each row if they are people's.

    **Lemma.** Let a row add its feature φ(x), and a person the mean of the features of her rows, in whole units: the
    sum of ⌊U/m⌋·φ over her m rows, over U. It is a point of the convex hull of 0 and all φ(x). So what bounds the
    features of one row (a norm, a gauge, a scalar product that is never negative, the distance of two) bounds those of
    one person, whatever her rows are and however many: norms and gauges are convex, and 0 is as near as any feature. ∎
    """
    rows = (columns[0].rows if len(columns) == 1 else columns.rows("clip")).in_memory()
    return rows.lines.T, rows.weights


# -------------------------------------------------------------------------------------------------------- box and cells


def _cells(x: Floats, low: float, side: float) -> Integers:
    """The cell of each row, alone. A row outside the box is wrapped around; what is too far away for that goes to 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        share = (x - low) / side
        share = np.fmax(share - np.floor(share), 0.0)  # 0 for NaN
    return np.minimum((share * CELLS).astype(np.int64), CELLS - 1)


@dataclass(frozen=True)
class DensityBox:
    """A box by its ends, one of each a column."""

    low: tuple[float, ...]
    high: tuple[float, ...]


def count_cells(columns: Columns, box: DensityBox) -> tuple[Integers, Integers]:
    """The cells that rows are in, and how many, or how many units of people, are in each."""
    low, sides = box.low, [b - a for a, b in zip(box.low, box.high, strict=True)]
    if len(columns) == 1 and not columns[0].unit.weighted:
        (counts,) = columns[0].sum(lambda x: [np.bincount(_cells(x, low[0], sides[0]), minlength=CELLS)])
        filled = np.flatnonzero(counts)
        return filled.reshape(-1, 1), counts[filled]
    values, units = features(columns)
    cells = np.stack([_cells(x, a, s) for x, a, s in zip(values.T, low, sides, strict=True)], axis=1)
    unique, place, counts = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    if units is not None:
        counts = sum_units(place.reshape(-1), units, len(unique))
    return unique.reshape(-1, len(columns)), counts


def private_box(columns: Columns, n: int, question: Question, rows: Fraction) -> DensityBox | Outcome[Any]:
    """Two quantiles of each column, with so many rows beyond, moved outward.

    For a normal law the ends are then at ±3.5 standard deviations, however far in the quantiles had to be.
    """
    # n^(-2/5) from 1/100 down to 1/1000 at least: further out a heavy tail would leave no room for the middle
    least_tail = Fraction(min(max(max(n, 1) ** -0.4, 0.001), 0.01)).limit_denominator(10**6)
    tail = min(max(rows / max(n, 1), least_tail), MOST_TAIL)
    outward = NORMAL_REACH / -NormalDist().inv_cdf(float(tail))
    lows, highs, d = [], [], len(columns)
    for data, part in zip(columns, question.split(*[Fraction(1, d)] * d), strict=True):
        ends = quantiles(data, n, (tail, 1 - tail), replace(part, granularity=None))
        if ends.value is None:  # what it says of ε is about a part of it
            return replace(ends, advice=ends.advice and replace(ends.advice, epsilon=None))
        a, b = (float(v) for v in ends.value)
        least = max(abs(a), abs(b), 1.0) * 1e-9  # rows that are all the same still get a box
        centre, reach = (a + b) / 2, max((b - a) / 2 * outward, least)
        lows.append(centre - reach)
        highs.append(centre + reach)
    return DensityBox(tuple(lows), tuple(highs))


def public_box(low: ArrayLike | None, high: ArrayLike | None, dimension: int) -> DensityBox | None:
    """The box that the caller gave for so many columns; a single pair of ends is for all of them."""
    if low is None and high is None:
        return None
    for name, value, other in (("low", low, "high"), ("high", high, "low")):
        fix = "Give both, or neither: they are then chosen privately."
        if value is None:
            raise InvalidArgument(name, f"given where {other} is", "None", fix)
    a, b = _ends("low", low), _ends("high", high)
    if len(a) != len(b) or not all(1e-80 <= q - p <= 1e80 for p, q in zip(a, b, strict=False)):
        must = "below high (by 1e-80 to 1e80), with as many entries"
        raise InvalidArgument("low", must, f"{checks.describe(low)} beside {checks.describe(high)}")
    if len(a) not in (1, dimension):
        raise InvalidArgument("low", f"a number, or {dimension}, one per column", f"{len(a)} of them")
    times = dimension // len(a)
    return DensityBox(a * times, b * times)


def _ends(name: str, value: Any) -> tuple[float, ...]:
    values = [value] if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray) else list(value)
    return tuple(float(checks.rational(name, v, "a number, or one per column")) for v in values)


@dataclass(frozen=True)
class _FourierPlan:
    """The public choices: which noise, for how many columns, at which ε."""

    kind: str
    dimension: int
    epsilon: Fraction
    adjacency: Adjacency

    def noise(self, degree: int) -> MomentNoise:
        count = ((2 * degree + 1) ** self.dimension - 1) // 2
        law = LaplaceNoise if self.kind == "laplace" else BallNoise if degree <= 2 else CaratheodoryNoise
        return law(count, self.epsilon, self.adjacency)

    def noise_error(self, degree: int, n: int) -> float:
        """The integrated squared error, in a box of volume 1, that the noise adds: 2·E Σ|noise_k|²/n²."""
        return 2 * self.noise(degree).square / max(n, 1) ** 2

    def error(self, degree: int, n: int) -> float:
        """A bound on the expected integrated squared error that the noise adds and that the cut-off leaves.

        A density with ∫(∂²f/∂x_i²)² ≤ R² for each i has at most d·R²/(2π(m + 1))⁴ in the frequencies above m; R is that
        of the reference. The sampling error is not in it: frequencies that it drowns are cut off afterwards.
        """
        d, sigma, root = self.dimension, REFERENCE[self.dimension], 2 * math.sqrt(math.pi)
        square = 3 / (4 * root * sigma**5) / (root * sigma) ** (d - 1)
        return self.noise_error(degree, n) + d * square / (2 * math.pi * (degree + 1)) ** 4

    def bearable(self, degree: int, n: int) -> bool:
        return self.noise_error(degree, n) <= MOST_NOISE and self.noise(degree).scale <= LARGEST_SCALE

    def fits(self, n: int, wanted: int | None) -> bool:
        return self.bearable(wanted or _best_degree(self, n), n)


@functools.lru_cache(maxsize=256)
def _best_degree(plan: _FourierPlan, n: int) -> int:
    """The degree with the least bound, which first falls and then rises. Columns of a report share it: it is public."""
    m, most, error = 1, MOST[plan.dimension], plan.error(1, n)
    while m < most and (next_error := plan.error(m + 1, n)) < error and plan.bearable(m + 1, n):
        m, error = m + 1, next_error
    return m


# ---------------------------------------------------------------------------------------------------------- the release


@release(reads=POINTS, people=True, examples=({}, {"low": 0.0, "high": 1.0}))
def fourier_density(
    x: Any,
    epsilon: Rational,
    *,
    degree: int | None = None,
    noise: str | None = None,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    missing: str | Rational = "error",
    entropy: Entropy | None = None,
) -> Release[FourierDensity] | NoReply:
    """The probability density of one to three columns as a Fourier series: ε-differentially private.

    **Theorem.** Given the box, a row adds a fixed integer vector to the sums of moments, and the noise of
    `uptack.densities.caratheodory` makes these sums private: `"caratheodory"` (the default for one column; the Gamma
    mechanism up to degree 2) or `"laplace"` (for any number of columns). The coefficients are the noisy sums over the
    number of rows, public under SUBSTITUTE, and with noise of its own for a tenth of ε under ADD_REMOVE and where
    missing rows are dropped. All that follows is post-processing. The parts add up to ε.

    `low` and `high` are public ends of the box, numbers or one for each column. Without them a quarter of ε goes into
    two quantiles of each column, which are moved outward to where a normal law would end. Rows outside the box are
    wrapped around, each by itself: clamped rows would be two peaks at the ends.

    `degree` is the highest frequency. By default it is chosen from n, ε and the noise alone, to balance the noise with
    what is left out of a density with two derivatives: with Carathéodory noise it grows as n^(1/3), and both fall as
    n^(-4/3), faster than any sampling error. Of what was released, the upper frequencies that look like noise are then
    cut off, which costs nothing. The reply is ⊥ where n is too small for anything but noise.

    With `person=` each person adds the mean of the vectors of her rows, and n is the number of people: a point of
    their hull (`uptack.densities.fourier.features`), so that the noise is that for one row.

    Missing rows: as in `uptack.statistics.Options`. With several columns "drop" leaves out rows that lack any of them.

    >>> from uptack.noise import SeededEntropy
    >>> x = np.random.default_rng(1).normal(50, 10, 20_000)
    >>> release = fourier_density(x, epsilon=1, entropy=SeededEntropy(2))
    >>> release.mechanism, release.privacy
    ('Fourier density by Carathéodory noise', Privacy(epsilon=1.0))
    >>> abs(release.value.at(50) - 0.0399) < 0.003
    True
    """
    question = read_question(
        "Fourier density",
        epsilon,
        {"rows_per_person": rows_per_person, "adjacency": adjacency, "missing": missing, "entropy": entropy},
    )
    if noise not in (None, "caratheodory", "laplace"):
        raise InvalidArgument("noise", "'caratheodory' or 'laplace'", checks.describe(noise))
    given, wanted = coordinates(x), None if degree is None else checks.integer("degree", degree, least=1)
    box = public_box(low, high, len(given))
    plan = _plan(noise, len(given), question, box is None, wanted)
    columns = read(given, question)
    n, question = public_size(columns[0].count(), question)
    return question.close(_estimate(columns, n, box, plan, wanted, question))


def _estimate(
    columns: Columns, n: int, box: DensityBox | None, plan: _FourierPlan, wanted: int | None, question: Question
) -> Outcome[FourierDensity]:
    """The noisy sums over the number of rows, turned from the edges of the cells to their centres."""
    rows = TAIL_ROWS * question.rows * plan.dimension / (question.epsilon * BOX_SHARE)  # beyond each quantile
    if not plan.fits(n, wanted):
        least = 0 if box else rows / MOST_TAIL
        enough = least_n(lambda size: size >= least and plan.fits(size, wanted))
        return question.refuse(plan.noise(wanted or 1).label, Advice(n=enough))
    if box is None:
        around, question = question.split(BOX_SHARE, 1 - BOX_SHARE)
        outcome = private_box(columns, n, around, rows)
        if isinstance(outcome, Outcome):
            return outcome
        box = outcome
    degree, n = wanted or _best_degree(plan, n), max(n, 1)
    noise, frequencies = plan.noise(degree), half_lattice(degree, plan.dimension)
    sums = moment_sums(*count_cells(columns, box), frequencies, columns[0].unit.most)
    noisy = question.draw(IntegerNoise(loss.Pure(plan.epsilon), noise), sums)
    turn = np.exp(1j * np.pi * frequencies.sum(axis=1) / CELLS)
    means, errors = turn * (noisy[:, 0] + 1j * noisy[:, 1]) / (UNIT * n), noise.squares / n**2
    kept = _informative(frequencies, means, errors + 1 / n) if wanted is None else np.full(len(means), True)
    error = math.sqrt(2 * errors[kept].sum()) / math.prod(b - a for a, b in zip(box.low, box.high, strict=True))
    value = FourierDensity(frequencies[kept], means[kept], box.low, box.high, error)
    return Outcome(value, noise.label)


def _informative(frequencies: Integers, means: NDArray[np.complex128], variances: Floats) -> NDArray[np.bool_]:
    """The frequencies up to the J with the least Σ_(|k| ≤ J) 2·variance_k - |c_k|²: post-processing.

    Up to a constant this is an unbiased estimate of the error Σ_(|k| ≤ J) variance_k + Σ_(|k| > J) |E c_k|² of a series
    that is cut off at J, as E|c_k|² = |E c_k|² + variance_k.
    """
    shell = np.abs(frequencies).max(axis=1)
    estimate = np.bincount(shell, 2 * variances - np.abs(means) ** 2).cumsum()
    return np.asarray(shell <= max(int(estimate.argmin()), 1))


def _plan(kind: str | None, dimension: int, question: Question, private_box: bool, wanted: int | None) -> _FourierPlan:
    """The noise at what will be left of ε, checked before anything is drawn."""
    kind = kind or ("caratheodory" if dimension == 1 else "laplace")
    if kind == "caratheodory" and dimension > 1:
        fix = "No exact sampler is known for the body of several columns."
        raise InvalidArgument("noise", "'laplace' for several columns", repr(kind), fix)
    if wanted is not None and wanted > MOST[dimension]:
        raise InvalidArgument("degree", f"at most {MOST[dimension]} in {dimension} dimensions", wanted)
    left = (1 - COUNT_SHARE if question.size_is_secret else 1) * (1 - BOX_SHARE if private_box else 1)
    plan = _FourierPlan(kind, dimension, question.epsilon * left, question.adjacency)
    refuse_tiny(question.epsilon, plan.noise(wanted or 1).scale, " for this degree")
    return plan
