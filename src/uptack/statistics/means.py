"""Means that a single row can't carry away: trimmed, Winsorized, and the plain mean between private quantiles."""

from __future__ import annotations

import functools
from dataclasses import replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from uptack import checks
from uptack.columns.people import People, weighted
from uptack.columns.selection import as_float, exact_sum
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms.additive import laplace
from uptack.reach import Segment
from uptack.reach.order import trimmed_mean as trimmed_segments
from uptack.reach.order import winsorized_mean as winsorized_segments
from uptack.reach.protocol import Floats
from uptack.registry import release
from uptack.registry.reads import COLUMN
from uptack.release import NoReply, Release
from uptack.statistics.arguments import MeanOptions, Options, Question, asked, column, public_size, resolved
from uptack.statistics.many import least_rank, quantiles
from uptack.statistics.methods import released
from uptack.statistics.planning import one_draw, ranks
from uptack.statistics.quantiles import HALF
from uptack.statistics.quantiles import statistic as quantile_statistic
from uptack.statistics.statistic import Data, Functional, Statistic


def _trimmed(cut: Rational = 0.1) -> Statistic:
    share = _cut(cut)
    kept = 1 - 2 * share
    return Statistic(
        "trimmed mean",
        lambda n: trimmed_segments(share, n),
        Functional(weight=1 / kept, between=(share, 1 - share)),
        spread=lambda n: (int(share * n), n - int(share * n) + 1),
        slope=4.0 / float(kept),
        averaged=lambda n: max(n - 2 * int(share * n), 1),
        follows=True,
    )


def _winsorized(cut: Rational = 0.1) -> Statistic:
    share = _cut(cut)
    ends = ((share, share), (share, 1 - share))
    return Statistic(
        "Winsorized mean",
        lambda n: winsorized_segments(share, n),
        Functional(ends, weight=Fraction(1), between=(share, 1 - share)),
        spread=lambda n: (int(share * n), n - int(share * n) + 1),
        slope=4.0 / float(1 - 2 * share),
        follows=True,
    )


def _mean() -> Statistic:
    return Statistic("mean", lambda n: (Segment(1, n, Fraction(1, n)),), Functional(weight=Fraction(1)))


def _cut(value: Rational) -> Fraction:
    cut = checks.rational("cut", value, "a number strictly between 0 and 1/2")
    if not 0 < cut < Fraction(1, 2):
        fix = "It is the share of rows taken off at each end; for no cut at all use mean."
        raise InvalidArgument("cut", "a number strictly between 0 and 1/2", checks.describe(value), fix)
    resolved("cut", value, min(2 * cut, 1 - 2 * cut) / 2)
    return cut


@release(
    reads=COLUMN,
    by=True,
    plan=ranks,
    examples=({"cut": 0.2},),
    statistic=_trimmed,
    spends=one_draw,
    people=True,
)
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
    return released(_trimmed(cut), x, epsilon, options)


@release(
    reads=COLUMN,
    by=True,
    plan=ranks,
    examples=({"cut": 0.2},),
    page="trimmed_mean",
    statistic=_winsorized,
    people=True,
)
def winsorized_mean(
    x: Any, cut: Rational = 0.1, *, epsilon: Rational, **options: Unpack[Options]
) -> Release[float] | NoReply:
    """The mean where a share `cut` of rows at each end is set to the nearest row that is left.

    **Theorem.** As for `trimmed_mean`; `"dwork-lei"` uses the papers' S and M's grids.
    """
    return released(_winsorized(cut), x, epsilon, options)


@release(reads=COLUMN, by=True, statistic=_mean, people=True)
def mean(x: Any, *, epsilon: Rational, **options: Unpack[MeanOptions]) -> Release[float] | NoReply:
    """The mean of the rows clamped to two private quantiles far out in the tails, with no bounds on the data.

    **Theorem.** Half of ε goes into the quantiles a ≤ b. Given them, replacing up to g rows moves the sum of the
    clamped rows by at most g·(b - a), so Laplace noise for g·(b - a)/n makes the mean private at the other half. Under
    ADD_REMOVE the sum of (clamped row - c), c a float near (a+b)/2, is divided by the public n; it moves by g times the
    larger of b - c and c - a. Together ε. With people (`person=`) it is the sum over people of the mean of each one's
    clamped rows less c, which one person moves as one row does.

    The clamped tails hold as few rows as the quantiles can vouch for, a share that falls as 1/(εn). A mean that lives
    in its tails is biased by the clamping, and no private method without bounds can help that.
    """
    question = asked("mean", epsilon, options)
    data, question = column(x, question, floats=True)
    n, question = public_size(data.size, question)
    bounds, rest = question.split(HALF, HALF)
    tail = _tail_share(n, bounds)
    ends = quantiles(data, n, (tail, 1 - tail), bounds, quantile_statistic)
    if ends.value is None:
        advice = None if ends.advice is None else replace(ends.advice, epsilon=None)
        return question.account.close(replace(ends, advice=advice))  # a larger ε would move the quantiles too
    low, high = (float(v) for v in ends.value)
    centre = low + (high - low) / 2
    moved = _moved(data, low, high, centre)
    reach = high - low if question.adjacency.size_is_public else max(high - centre, centre - low)
    noisy = laplace(
        as_float(moved, max(n, 1)),
        # room for rounding once per row and once at the end
        sensitivity=max(reach * question.rows, 1e-300) * (1 + 1e-6) / max(n, 1),
        epsilon=rest.epsilon,
        entropy=question.entropy,
    )
    return question.account.close(rest.answer(centre + noisy.value, noisy.loss, "clamping to private quantiles"))


def _tail_share(n: int, question: Question) -> Fraction:
    """The share of rows beyond each clamp: as small as two quantiles at this ε can be relied on, at most 1/8."""
    rows = max(int(240 * question.rows / question.epsilon) + 1, least_rank(n, 2, question))
    return min(Fraction(rows, max(n, 1)), Fraction(1, 8))


def _moved(data: Data, low: float, high: float, centre: float) -> int:
    """Σ(x clamped to [low, high] - centre) over rows, or over people's means of that, in units of 2^-1074."""
    if isinstance(data, People) and weighted(data):
        return data.clamped(low, high, centre)
    (moved,) = data.sums(functools.partial(_clamped_sum, low=low, high=high, centre=centre))
    return int(moved)


def _clamped_sum(x: Floats, low: float, high: float, centre: float) -> list[int]:
    """Σ(x clamped to [low, high] - centre) in units of 2^-1074, each term rounded once."""
    return [exact_sum(np.clip(x, low, high) - centre)]
