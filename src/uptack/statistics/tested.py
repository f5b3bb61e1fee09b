"""Releases that test first: propose-test-release with the diameter of a reach, and the papers' own grids."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from uptack.columns.selection import SCALE
from uptack.mechanisms import dwork_lei, ptr
from uptack.noise import IntegerLaplace
from uptack.privacy import loss
from uptack.reach import InterquantileRange
from uptack.release import Advice, NoReply, Release
from uptack.statistics.arguments import Call
from uptack.statistics.statistic import Data, Statistic, answered, least_n, refused

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


def _scale_build(ranks: tuple[int, int], data: Data, rows: int) -> ptr.Build:
    return lambda steps: InterquantileRange(data, ranks, steps, rows)


def diameter(statistic: Statistic, data: Data, n: int, request: Call) -> Release[float] | NoReply:
    """A scale by its ratio; a location by its diameter, with bounds proposed from a private scale."""
    how = "propose-test-release"
    part = request if statistic.scale else request.share(Fraction(3, 10))
    if not _room(statistic, n, _looks(part)):
        return refused(request, None, how, _ptr_advice(statistic, n, request))
    build = _scale_build(statistic.spread(n), data, request.rows)
    spread = _scale_ladder(build, n, part, rough=not statistic.scale)
    if statistic.scale or spread.value is None:
        return _told(statistic, request, spread, how, n)
    rest = replace(request.share(Fraction(7, 10)), spent=(*request.spent, spread.tree))
    found = _location_ladder(statistic, data, n, rest, spread.value)
    return _told(statistic, rest, found, how, n, request)


def _room(statistic: Statistic, n: int, moves: float) -> bool:
    """Whether a test that looks so many rows around can pass at all: public, so that failing it costs nothing."""
    around = math.ceil(moves)
    low, high = statistic.spread(n)
    return n >= 3 and statistic.fits(n, around) and low - around >= 1 and high + around <= n


def _ladder(request: Call, bound: float, widest: float, holds: Callable[[float], ptr.Holds]) -> list[ptr.Proposal]:
    """Proposals from narrow to wide, which together spend all that the request has.

    None is wider than `widest` times the ε of the answer: its noise would drown what it is added to.
    """
    answer = loss.Answer(request.epsilon / 2)
    most = widest * float(request.epsilon / 2)
    return [
        ptr.Proposal(b, holds(b), loss.Test(request.epsilon * part, request.delta / len(RUNGS)), answer)
        for part, b in ((part, min(times * bound, most)) for part, times in RUNGS)
    ]


def _looks(request: Call) -> float:
    """About how many rows the first test of a ladder looks around: t + 3/ε steps."""
    noise = IntegerLaplace(1 / (request.epsilon * RUNGS[0][0]))
    steps = noise.cutoff(request.delta / len(RUNGS)) + 3 * float(Fraction(noise.scale))
    return request.rows * steps


def _scale_ladder(build: ptr.Build, n: int, request: Call, rough: bool) -> ptr.Outcome:
    """S with the ratio of its reach: bounds that n rows of a smooth law allow, at most the papers' ln(1 + 1/ln n)."""
    bound = min(SCALE_SLOPE * _looks(request) / n, dwork_lei.log_width(n))
    proposals = _ladder(request, bound, LOUDEST_ROUGH if rough else LOUDEST, ptr.ratio)
    return ptr.attempt(build, proposals, ptr.release_scale(request.entropy), request.entropy)


def _location_ladder(statistic: Statistic, data: Data, n: int, request: Call, spread: float) -> ptr.Outcome:
    """A location with bounds c·s·(t + 3/ε)/n, and noise of a scale of at most s/5; for s = 0 a least positive one."""
    s = max(spread, 1e-300)
    bound = statistic.slope * s * _looks(request) / n
    return ptr.attempt(
        lambda steps: statistic.build(data, n, steps, request.rows),
        _ladder(request, bound, LOUDEST * s, ptr.diameter),
        ptr.release_location(request.entropy),
        request.entropy,
    )


def _told(
    statistic: Statistic, request: Call, outcome: ptr.Outcome, how: str, n: int, whole: Call | None = None
) -> Release[float] | NoReply:
    """The outcome of a propose-test-release as a result; `whole` is the call before parts of it were spent."""
    if outcome.value is not None:
        return answered(request, outcome.value, outcome.tree, how, outcome.noise)
    return refused(request, outcome.tree, how, _ptr_advice(statistic, n, whole or request))


def _ptr_advice(statistic: Statistic, n: int, request: Call) -> Advice:
    """The number of rows from which on the narrowest proposals pass on smooth data; twice n if there are as many."""
    moves = _looks(request if statistic.scale else request.share(Fraction(3, 10)))
    enough = least_n(
        lambda size: _room(statistic, size, moves) and SCALE_SLOPE * moves / size <= dwork_lei.log_width(size)
    )
    return Advice(n=max(enough, 2 * n), other="method='inverse', which needs no test")


# -------------------------------------------------------------------------------------------- the papers' own grids


def grids(statistic: Statistic, data: Data, n: int, request: Call) -> Release[float] | NoReply:
    """S for scales; for locations S on their spread, then M's grids."""
    how = "Dwork and Lei's grids"
    stages = 1 if statistic.scale else 2
    if not _room(statistic, n, _looks(request.share(Fraction(1, 2)))) or not _quiet(stages, n, request):
        return refused(request, None, how, _grid_advice(statistic, n, request))
    if statistic.averaged is not None:
        return _trimmed(statistic, statistic.averaged(n), data, n, request)
    level = dwork_lei.Level(request.epsilon / (2 * stages), request.delta / (2 * stages))
    build = _scale_build(statistic.spread(n), data, request.rows)
    spread = dwork_lei.scale(build, dwork_lei.log_width(n), level, request.entropy)
    if statistic.scale or spread.value is None:
        return _told(statistic, request, spread, how, n)
    rest = replace(request, spent=(*request.spent, spread.tree))
    found = dwork_lei.location(
        lambda steps: statistic.build(data, n, steps, request.rows),
        dwork_lei.bin_width(spread.value, n),
        level,
        request.entropy,
    )
    return _told(statistic, rest, found, how, n)


def _quiet(stages: int, n: int, request: Call) -> bool:
    """Whether the papers' widths leave an answer to stand behind: S adds noise of scale w/ε, M of s·n^(-1/3)/ε."""
    each = float(request.epsilon) / (2 * stages)
    if stages == 1:
        return dwork_lei.log_width(n) / each <= LOUDEST
    return dwork_lei.log_width(n) / each <= LOUDEST_ROUGH and n ** (-1 / 3) / each <= LOUDEST


def _grid_advice(statistic: Statistic, n: int, request: Call) -> Advice:
    moves, stages = _looks(request.share(Fraction(1, 2))), 1 if statistic.scale else 2
    if not _quiet(stages, 10**15, request):  # widths fall so slowly that no table is large enough
        return Advice(other="method='inverse', which needs no test")
    enough = least_n(lambda size: _room(statistic, size, moves) and _quiet(stages, size, request))
    return Advice(n=max(enough, 2 * n), other="method='inverse', which needs no test")


def _trimmed(statistic: Statistic, averaged: int, data: Data, n: int, request: Call) -> Release[float] | NoReply:
    """TM: S on the range that bounds how far one person moves the mean, then noise for that range."""
    how, third = "Dwork and Lei's grids", Fraction(1, 3)
    level = dwork_lei.Level(request.epsilon * third, request.delta * third)
    low, high = statistic.spread(n)
    build = _scale_build((low + 1 - request.rows, high - 1 + request.rows), data, request.rows)
    spread = dwork_lei.scale(build, dwork_lei.log_width(n), level, request.entropy)
    if spread.value is None:
        return _told(statistic, request, spread, how, n)
    failure = request.delta * third
    bound = spread.value * dwork_lei.safe_factor(spread.noise, failure) * request.rows / averaged
    if max(spread.value, bound) >= dwork_lei.MOST:
        return refused(request, spread.tree, how, Advice(other="values of a size below 1e300"))
    off = (n - averaged) // 2
    ranked = data.ordered([(off + 1, off + 1), (n - off, n - off)])
    mean = Fraction(ranked.total(off + 1, n - off), averaged << SCALE)
    found = dwork_lei.noisy_mean(mean, bound, level, failure, request.entropy)
    rest = replace(request, spent=(*request.spent, spread.tree))
    return _told(statistic, rest, found, how, n)
