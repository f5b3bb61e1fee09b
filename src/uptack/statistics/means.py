"""Means that a single row can't carry away: trimmed, Winsorized, and the plain mean between private quantiles."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from uptack import checks
from uptack.columns.selection import as_float, exact_sum
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms.additive import laplace
from uptack.reach import LStatistic, Segment
from uptack.reach.order import trimmed_mean as trimmed_segments
from uptack.reach.order import winsorized_mean as winsorized_segments
from uptack.reach.protocol import Floats
from uptack.registry import release
from uptack.registry.reads import COLUMN
from uptack.release import NoReply, Release
from uptack.statistics.arguments import Call, Options, call, column, public_size, resolved
from uptack.statistics.many import least_rank, quantiles
from uptack.statistics.methods import Statistic, answered, released
from uptack.statistics.planning import ranks
from uptack.statistics.quantiles import statistic as quantile_statistic

Segments = Callable[[Fraction, int], tuple[Segment, ...]]


def _statistic(cut: Fraction, segments: Segments, trimmed: bool) -> Statistic:
    def ranks(n: int) -> tuple[int, ...]:
        return tuple(end for s in segments(cut, n) for end in (s.first, s.last))

    return Statistic(
        ranks=ranks,
        build=lambda x, n, steps, rows: LStatistic.of(x, segments(cut, n), steps, rows),
        spread=lambda n: (int(cut * n), n - int(cut * n) + 1),
        slope=4.0 / float(1 - 2 * cut),
        averaged=(lambda n: max(n - 2 * int(cut * n), 1)) if trimmed else None,
    )


def _cut(value: Rational) -> Fraction:
    cut = checks.rational("cut", value, "a number strictly between 0 and 1/2")
    if not 0 < cut < Fraction(1, 2):
        fix = "It is the share of rows taken off at each end; for no cut at all use mean."
        raise InvalidArgument("cut", "a number strictly between 0 and 1/2", checks.describe(value), fix)
    resolved("cut", value, min(2 * cut, 1 - 2 * cut) / 2)
    return cut


@release(reads=COLUMN, by=True, plan=ranks)
def trimmed_mean(
    x: Any, cut: Rational = 0.1, *, epsilon: Rational, **options: Unpack[Options]
) -> Release[float] | NoReply:
    """The mean of the rows that are left when a share `cut` is taken off each end, with no bounds on the data.

    **Theorem.** `method="inverse"` is ε-differentially private; `"ptr"` and `"dwork-lei"` (the papers' TM, as repaired)
    are (ε, δ)-differentially private. The options are listed in `uptack.statistics.Options`.

    The sum is exact, from one pass over rows that are selected and not sorted. Integers have no granularity of their
    own here; with one (`method="inverse"`) the answer is a multiple of it, and tied rows are no trouble.

    >>> from uptack import SeededEntropy
    >>> trimmed_mean(range(10_001), epsilon=1, entropy=SeededEntropy(4)).value
    5001.1...
    """
    request, statistic = call("trimmed mean", epsilon, options), _statistic(_cut(cut), trimmed_segments, trimmed=True)
    return released(statistic, x, request, floats=True)


@release(reads=COLUMN, by=True, plan=ranks, page="trimmed_mean")
def winsorized_mean(
    x: Any, cut: Rational = 0.1, *, epsilon: Rational, **options: Unpack[Options]
) -> Release[float] | NoReply:
    """The mean where a share `cut` of rows at each end is set to the nearest row that is left.

    **Theorem.** As for `trimmed_mean`; `"dwork-lei"` uses the papers' S and M's grids.
    """
    request, statistic = call("Winsorized mean", epsilon, options), _statistic(_cut(cut), winsorized_segments, False)
    return released(statistic, x, request, floats=True)


@release(reads=COLUMN, by=True)
def mean(x: Any, *, epsilon: Rational, **options: Unpack[Options]) -> Release[float] | NoReply:
    """The mean of the rows clamped to two private quantiles far out in the tails, with no bounds on the data.

    **Theorem.** Half of ε goes into the quantiles a ≤ b. Given them, replacing up to g rows moves the sum of the
    clamped rows by at most g·(b - a), so Laplace noise for g·(b - a)/n makes the mean private at the other half. Under
    ADD_REMOVE the sum of (clamped row - c), c a float near (a+b)/2, is divided by the public n; it moves by g times the
    larger of b - c and c - a. Together ε.

    The clamped tails hold as few rows as the quantiles can vouch for, a share that falls as 1/(εn). A mean that lives
    in its tails is biased by the clamping, and no private method without bounds can help that.
    """
    request = call("mean", epsilon, options)
    if request.method != "inverse":
        fix = "The tests pass too rarely, and add too much noise, far out in the tails; trimmed_mean has all methods."
        raise InvalidArgument("method", "'inverse' for the mean", repr(request.method), fix)
    if request.granularity is not None:
        fix = "A mean of multiples of a step is no multiple of it; round the answer if you want one."
        raise InvalidArgument("granularity", "left out for the mean", checks.describe(options["granularity"]), fix)
    data, request = column(x, request, floats=True)
    n, request = public_size(data.size, request)
    bounds = replace(request, epsilon=request.epsilon / 2)
    tail = _tail_share(n, bounds)
    ends = quantiles(data, n, (tail, 1 - tail), bounds, quantile_statistic)
    if not ends:
        return replace(ends, advice=replace(ends.advice, epsilon=None))  # a larger ε would move the quantiles too
    low, high = (float(v) for v in ends.value)
    centre = low + (high - low) / 2
    (moved,) = data.sums(functools.partial(_clamped_sum, low=low, high=high, centre=centre))
    reach = high - low if request.adjacency.size_is_public else max(high - centre, centre - low)
    width = reach * request.rows
    noisy = laplace(
        as_float(moved, max(n, 1)),
        sensitivity=max(width, 1e-300) * (1 + 1e-6) / max(n, 1),  # room for rounding once a row and once at the end
        epsilon=bounds.epsilon,
        entropy=request.entropy,
    )
    spent = replace(request, spent=(ends.loss,))
    return answered(spent, centre + noisy.value, noisy.loss, "clamping to private quantiles")


def _tail_share(n: int, request: Call) -> Fraction:
    """The share of rows beyond each clamp: as small as two quantiles at this ε can be relied on, at most 1/8."""
    rows = max(int(240 * request.rows / request.epsilon) + 1, least_rank(n, 2, request))
    return min(Fraction(rows, max(n, 1)), Fraction(1, 8))


def _clamped_sum(x: Floats, low: float, high: float, centre: float) -> list[int]:
    """Σ(x clamped to [low, high] - centre) in units of 2^-1074, each term rounded once."""
    return [exact_sum(np.clip(x, low, high) - centre)]
