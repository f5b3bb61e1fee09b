"""Releases that test first: propose-test-release with the diameter of a reach, and the papers' own grids."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from uptack.account import Outcome
from uptack.mechanisms import dwork_lei, ptr
from uptack.noise import IntegerLaplace
from uptack.privacy import loss
from uptack.reach.interquantile_range import range_reach
from uptack.release import Advice
from uptack.statistics.column_options import Question
from uptack.statistics.statistic import Data, Statistic, least_n
from uptack.table.exact_sum import SCALE

SCALE_SLOPE = 8.0
"""The logarithm of an interquartile range moves by up to 4.7/n a row for normal data; a bound with some room."""

LOUDEST = 0.2
"""The largest scale of noise on the logarithm of a scale, or on a location over its spread. An answer with more would
be off by three spreads more often than once in a thousand; then there is none."""

LOUDEST_ROUGH = 0.5
"""The same for a scale that is not released but sets the size of noise."""

RUNGS = ((Fraction(2, 5), 1.0), (Fraction(1, 10), 8.0))
"""The ladder of proposals: the part of ε that each test gets, and how many times wider its bound is than the first. The
second test looks about four times as far, at a bound eight times as wide. The other half of ε is for the answer."""


SCALE_SHARE = Fraction(3, 10)
"""The part of the budget that finds the scale of a location."""


def _scale_build(statistic: Statistic, data: Data, n: int, question: Question) -> ptr.Build:
    """The interquantile range that a statistic is measured by."""
    return lambda steps: range_reach(data, statistic.spread(n), steps, question.rows)


def _own_build(statistic: Statistic, data: Data, n: int, question: Question) -> ptr.Build:
    """The reach of the statistic itself."""
    return lambda steps: statistic.build(data, n, steps, question.rows)


def diameter(statistic: Statistic, data: Data, n: int, question: Question) -> Outcome[float]:
    """A scale by its ratio; a location by its diameter, with bounds proposed from a private scale."""
    how = "propose-test-release"
    first, rest = (question, question) if statistic.scale else question.split(SCALE_SHARE, 1 - SCALE_SHARE)
    if not _room(statistic, n, _looks(first)):
        return question.refuse(how, _ptr_advice(statistic, n, question))
    build = _own_build(statistic, data, n, question) if statistic.scale else _scale_build(statistic, data, n, question)
    spread = first.account.draw(_scale_ladder(n, first, rough=not statistic.scale), build)
    if statistic.scale or spread is None:
        return _outcome(spread, how, question, _ptr_advice(statistic, n, question))
    found = rest.account.draw(
        _location_ladder(statistic, n, rest, spread.value), _own_build(statistic, data, n, question)
    )
    return _outcome(found, how, rest, _ptr_advice(statistic, n, question))


def _room(statistic: Statistic, n: int, moves: float) -> bool:
    """Whether a test that looks so many rows around can pass at all: public, so that failing it costs nothing."""
    around = math.ceil(moves)
    low, high = statistic.spread(n)
    return n >= 3 and statistic.fits(n, around) and low - around >= 1 and high + around <= n


def _ladder(question: Question, bound: float, widest: float, holds: Callable[[float], ptr.Holds]) -> list[ptr.Proposal]:
    """Proposals from narrow to wide, which together spend all that the question has.

    None is wider than `widest` times the ε of the answer: its noise would drown what it is added to.
    """
    answer = loss.Answer(question.epsilon / 2)
    most = widest * float(question.epsilon / 2)
    return [
        ptr.Proposal(b, holds(b), loss.Test(question.epsilon * part, question.delta / len(RUNGS)), answer)
        for part, b in ((part, min(times * bound, most)) for part, times in RUNGS)
    ]


def _looks(question: Question) -> float:
    """About how many rows the first test of a ladder looks around: t + 3/ε steps."""
    noise = IntegerLaplace(1 / (question.epsilon * RUNGS[0][0]))
    steps = noise.cutoff(question.delta / len(RUNGS)) + 3 * float(Fraction(noise.scale))
    return question.rows * steps


def _scale_ladder(n: int, question: Question, rough: bool) -> ptr.TestedAnswer:
    """S with the ratio of its reach: bounds that n rows of a smooth law allow, at most the papers' ln(1 + 1/ln n)."""
    bound = min(SCALE_SLOPE * _looks(question) / n, dwork_lei.log_width(n))
    proposals = _ladder(question, bound, LOUDEST_ROUGH if rough else LOUDEST, ptr.ratio)
    return ptr.TestedAnswer.of(proposals, scale=True)


def _location_ladder(statistic: Statistic, n: int, question: Question, spread: float) -> ptr.TestedAnswer:
    """A location with bounds c·s·(t + 3/ε)/n, and noise of a scale of at most s/5; for s = 0 a least positive one."""
    s = max(spread, 1e-300)
    bound = statistic.slope * s * _looks(question) / n
    return ptr.TestedAnswer.of(_ladder(question, bound, LOUDEST * s, ptr.diameter), scale=False)


def _outcome(answer: ptr.TestedValue | None, how: str, question: Question, advice: Advice) -> Outcome[float]:
    """An answer, or ⊥ where every test failed."""
    return question.refuse(how, advice) if answer is None else Outcome(answer.value, how, answer.noise)


def _ptr_advice(statistic: Statistic, n: int, question: Question) -> Advice:
    """The number of rows from which on the narrowest proposals pass on smooth data, if there are fewer."""
    moves = _looks(question if statistic.scale else question.part(SCALE_SHARE))
    enough = least_n(
        lambda size: _room(statistic, size, moves) and SCALE_SLOPE * moves / size <= dwork_lei.log_width(size)
    )
    return Advice(n=enough if n < enough else None, other=INVERSE, why=UNSTABLE)


# -------------------------------------------------------------------------------------------- the papers' own grids


def grids(statistic: Statistic, data: Data, n: int, question: Question) -> Outcome[float]:
    """S for scales; for locations S on their spread, then M's grids."""
    how = "Dwork and Lei's grids"
    stages = 1 if statistic.scale else 2
    if not _room(statistic, n, _looks(question.part(Fraction(1, 2)))) or not _quiet(stages, n, question):
        return question.refuse(how, _grid_advice(statistic, n, question))
    if statistic.averaged is not None:
        return _trimmed(statistic, statistic.averaged(n), data, n, question)
    advice = _grid_advice(statistic, n, question)
    level = dwork_lei.Level(question.epsilon / (2 * stages), question.delta / (2 * stages))
    build = _own_build(statistic, data, n, question)
    scale = build if statistic.scale else _scale_build(statistic, data, n, question)
    spread = question.account.draw(dwork_lei.scale(dwork_lei.log_width(n), level), scale)
    if statistic.scale or spread is None:
        return _outcome(spread, how, question, advice)
    found = question.account.draw(dwork_lei.location(dwork_lei.bin_width(spread.value, n), level), build)
    return _outcome(found, how, question, advice)


def _quiet(stages: int, n: int, question: Question) -> bool:
    """Whether the papers' widths leave a reliable answer: S adds noise of scale w/ε, M of s·n^(-1/3)/ε."""
    each = float(question.epsilon) / (2 * stages)
    if stages == 1:
        return dwork_lei.log_width(n) / each <= LOUDEST
    return dwork_lei.log_width(n) / each <= LOUDEST_ROUGH and n ** (-1 / 3) / each <= LOUDEST


def _grid_advice(statistic: Statistic, n: int, question: Question) -> Advice:
    moves, stages = _looks(question.part(Fraction(1, 2))), 1 if statistic.scale else 2
    if not _quiet(stages, 10**15, question):  # widths fall so slowly that no table is large enough
        return Advice(other=INVERSE, why=UNSTABLE)
    enough = least_n(lambda size: _room(statistic, size, moves) and _quiet(stages, size, question))
    return Advice(n=enough if n < enough else None, other=INVERSE, why=UNSTABLE)


INVERSE = "method='inverse', which needs no test"
UNSTABLE = "the test whether a few rows can move the answer far did not pass"


def _trimmed(statistic: Statistic, averaged: int, data: Data, n: int, question: Question) -> Outcome[float]:
    """TM: S on the range that bounds how far one person moves the mean, then noise for that range."""
    how, third, rows = "Dwork and Lei's grids", Fraction(1, 3), question.rows
    level = dwork_lei.Level(question.epsilon * third, question.delta * third)
    low, high = statistic.spread(n)
    ranks, advice = (low + 1 - rows, high - 1 + rows), _grid_advice(statistic, n, question)
    grids = dwork_lei.scale(dwork_lei.log_width(n), level)
    spread = question.account.draw(grids, lambda steps: range_reach(data, ranks, steps, rows))
    if spread is None:
        return _outcome(spread, how, question, advice)
    failure = question.delta * third
    bound = spread.value * dwork_lei.safe_factor(spread.noise, failure) * rows / averaged
    if max(spread.value, bound) >= dwork_lei.MOST:
        return question.refuse(how, Advice(other="values of a size below 1e300"), why="the released scale is too large")
    off = (n - averaged) // 2
    ranked = data.order([(off + 1, off + 1), (n - off, n - off)])
    mean = Fraction(ranked.total(off + 1, n - off), averaged << SCALE)
    value, noise = question.account.draw(dwork_lei.NoisyMean.of(bound, level, failure), mean)
    return Outcome(value, how, noise)
