"""A statistic of one column by tests: propose-test-release, or Dwork and Lei's grids. Both need δ.

A bound on how far a few rows can move the answer is proposed from public numbers. A private test says whether it holds,
and if so the answer gets noise in proportion to it (`uptack.mechanisms.ptr`, `uptack.mechanisms.dwork_lei`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from uptack.account import Outcome
from uptack.mechanisms import dwork_lei, ptr
from uptack.noise import IntegerLaplace
from uptack.privacy import loss
from uptack.reach.interquantile_range import range_reach
from uptack.release import Advice
from uptack.statistics.column_options import Question, least_n
from uptack.table.exact_sum import SCALE
from uptack.table.protocol import Column

if TYPE_CHECKING:
    from uptack.statistics.statistic import Statistic

SCALE_SLOPE = 8.0
"""The logarithm of an interquartile range moves by up to 4.7/n a row for normal data; a bound with some room."""

LARGEST_NOISE = 0.2
"""The largest scale of noise on the logarithm of a scale, or on a location over its spread. An answer with more would
be off by three spreads more often than once in a thousand; then there is none."""

LARGEST_ROUGH_NOISE = 0.5
"""The same for a scale that is not released but sets the size of noise."""

RUNGS = ((Fraction(2, 5), 1.0), (Fraction(1, 10), 8.0))
"""The ladder of proposals: the share of ε of each test, and how many times wider its bound is than the first. The
second test looks about four times as far, at a bound eight times as wide. The other half of ε is for the answer."""

SCALE_SHARE = Fraction(3, 10)
"""The part of the budget that finds the scale of a location."""

GRIDS = "Dwork and Lei's grids"


def outcome_by_tests(statistic: Statistic, data: Column, n: int, question: Question) -> Outcome[float]:
    """A scale by its ratio; a location by its diameter, with noise for a private scale.

    "ptr" proposes bounds from n and from that scale. "dwork-lei" uses the papers' S, and their M's grids for locations.
    """
    grids, g = question.method == "dwork-lei", question.rows
    how, stages = GRIDS if grids else "propose-test-release", 1 if statistic.scale else 2
    first, rest = (question,) * 2 if grids or stages == 1 else question.split(SCALE_SHARE, 1 - SCALE_SHARE)
    moves = _rows_examined(question.part(Fraction(1, 2)) if grids else first)

    def passes(size: int) -> bool:
        return _room(statistic, size, moves) and (not grids or _precise_enough(stages, size, question))

    def advice() -> Advice:
        """The number of rows from which on tests pass on smooth data, if there are fewer."""
        other, why = "method='inverse', which needs no test", "the test failed: a few rows could move the answer far"
        if grids and not _precise_enough(
            stages, 10**15, question
        ):  # widths fall so slowly that no table is large enough
            return Advice(other=other, why=why)
        narrow = (lambda size: True) if grids else lambda size: SCALE_SLOPE * moves / size <= dwork_lei.log_width(size)
        enough = least_n(lambda size: passes(size) and narrow(size))
        return Advice(n=enough if n < enough else None, other=other, why=why)

    if not passes(n):
        return question.refuse(how, advice())
    if grids and statistic.averaged is not None:
        return _trimmed_mean_by_grids(statistic, statistic.averaged(n), data, n, question, advice())
    level = dwork_lei.Level(question.epsilon / (2 * stages), question.delta / (2 * stages))
    if grids:
        scale: Any = dwork_lei.two_grids(dwork_lei.log_width(n), level, scale=True)
    else:  # S with the ratio of its reach: bounds that n rows of a smooth law allow, at most the papers' ln(1 + 1/ln n)
        bound = min(SCALE_SLOPE * _rows_examined(first) / n, dwork_lei.log_width(n))
        widest = LARGEST_NOISE if stages == 1 else LARGEST_ROUGH_NOISE
        scale = ptr.TestedAnswer.of(_ladder(first, bound, widest, ptr.ratio), scale=True)
    spread = first.account.draw(
        scale,
        lambda steps: (
            statistic.reach(data, n, steps, g) if stages == 1 else range_reach(data, statistic.spread(n), steps, g)
        ),
    )
    if spread is None:
        return question.refuse(how, advice())
    if stages == 1:
        return Outcome(spread.value, how, spread.noise)
    if grids:
        location: Any = dwork_lei.two_grids(dwork_lei.bin_width(spread.value, n), level, scale=False)
    else:  # bounds c·s·(t + 3/ε)/n, and noise of a scale of at most s/5; for s = 0 a least positive one
        s = max(spread.value, 1e-300)
        bounds = _ladder(rest, statistic.slope * s * _rows_examined(rest) / n, LARGEST_NOISE * s, ptr.diameter)
        location = ptr.TestedAnswer.of(bounds, scale=False)
    answer = rest.account.draw(location, lambda steps: statistic.reach(data, n, steps, g))
    return rest.refuse(how, advice()) if answer is None else Outcome(answer.value, how, answer.noise)


def _room(statistic: Statistic, n: int, moves: float) -> bool:
    """Whether a test that looks so many rows around can pass at all: public, so that failing it costs nothing."""
    around = math.ceil(moves)
    low, high = statistic.spread(n)
    return n >= 3 and statistic.room(n, n) >= around and low - around >= 1 and high + around <= n


def _rows_examined(question: Question) -> float:
    """About how many rows the first test of a ladder looks around: t + 3/ε steps."""
    noise = IntegerLaplace(1 / (question.epsilon * RUNGS[0][0]))
    return question.rows * (noise.cutoff(question.delta / len(RUNGS)) + 3 * float(Fraction(noise.scale)))


def _precise_enough(stages: int, n: int, question: Question) -> bool:
    """Whether the papers' widths leave a reliable answer: S adds noise of scale w/ε, M of s·n^(-1/3)/ε."""
    each = float(question.epsilon) / (2 * stages)
    if stages == 1:
        return dwork_lei.log_width(n) / each <= LARGEST_NOISE
    return dwork_lei.log_width(n) / each <= LARGEST_ROUGH_NOISE and n ** (-1 / 3) / each <= LARGEST_NOISE


def _ladder(question: Question, bound: float, widest: float, holds: Callable[[float], ptr.Holds]) -> list[ptr.Proposal]:
    """Proposals from narrow to wide, which together spend all that the question has.

    None is wider than `widest` times the ε of the answer: its noise would drown what it is added to.
    """
    answer, most = loss.Answer(question.epsilon / 2), widest * float(question.epsilon / 2)
    return [
        ptr.Proposal(b, holds(b), loss.Test(question.epsilon * part, question.delta / len(RUNGS)), answer)
        for part, b in ((part, min(times * bound, most)) for part, times in RUNGS)
    ]


def _trimmed_mean_by_grids(
    statistic: Statistic, averaged: int, data: Column, n: int, question: Question, advice: Advice
) -> Outcome[float]:
    """TM: S on the range that bounds how far one person moves the mean, then noise for that range."""
    failure, rows = question.delta / 3, question.rows
    level = dwork_lei.Level(question.epsilon / 3, failure)
    low, high = statistic.spread(n)
    grids = dwork_lei.two_grids(dwork_lei.log_width(n), level, scale=True)
    ranks = low + 1 - rows, high - 1 + rows
    spread = question.account.draw(grids, lambda steps: range_reach(data, ranks, steps, rows))
    if spread is None:
        return question.refuse(GRIDS, advice)
    bound = spread.value * dwork_lei.safe_factor(spread.noise, failure) * rows / averaged
    if max(spread.value, bound) >= dwork_lei.MOST:
        return question.refuse(
            GRIDS, Advice(other="values of a size below 1e300"), why="the released scale is too large"
        )
    off = (n - averaged) // 2
    ranked = data.order([(off + 1, off + 1), (n - off, n - off)])
    mean = Fraction(ranked.total(off + 1, n - off), averaged << SCALE)
    value, noise = dwork_lei.noisy_mean(mean, bound, level, failure, question.account)
    return Outcome(value, GRIDS, noise)
