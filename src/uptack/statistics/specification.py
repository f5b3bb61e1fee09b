"""A statistic, as the engines see it: public ranks, and a reach built from data. One function releases any of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.engines import dwork_lei, ptr
from uptack.engines.inverse import LATTICES, finest, inverse_sensitivity, steps_needed
from uptack.noise import IntegerLaplace
from uptack.privacy import Privacy, cost, loss
from uptack.reach import InterquantileRange, OrderStatistics, Reach
from uptack.reach.selection import SCALE
from uptack.release import Advice, Noise, NoReply, Release
from uptack.statistics.arguments import Call, column, public_size

Data = NDArray[np.generic]


@dataclass(frozen=True)
class Statistic:
    """What an engine must know of a statistic before it sees data.

    `ranks(n)` are the order statistics it rests on and `build(x, n, steps, rows)` its reach. For propose-test-release:
    `spread(n)` are the ranks of an interquantile range, and the statistic moves by about `slope` times that range over
    n when one row changes. `scale` marks statistics that are scales themselves; `averaged(n)` is the number of rows
    that a trimmed mean is the mean of, where one row moves it by at most spread/averaged.
    """

    ranks: Callable[[int], tuple[int, ...]]
    build: Callable[[Data, int, int, int], Reach]
    spread: Callable[[int], tuple[int, int]]
    slope: float = 1.0
    scale: bool = False
    averaged: Callable[[int], int] | None = None

    def fits(self, n: int, moves: int) -> bool:
        """Whether so many moves of one rank stay inside a table of n rows."""
        ranks = self.ranks(n)
        return min(ranks) - moves >= 1 and max(ranks) + moves <= n


def release(statistic: Statistic, x: Any, request: Call) -> Release[float] | NoReply:
    """The statistic of x by the method asked for, or ⊥."""
    data, request = column(x, request)
    n, request = public_size(data.size, request)
    return run(statistic, data, n, request)


def run(statistic: Statistic, data: Data, n: int, request: Call) -> Release[float] | NoReply:
    """The same on a column that has been read, with a public n."""
    engine = {"inverse": _inverse, "ptr": _diameter, "dwork-lei": _grids}[request.method]
    return engine(statistic, data, n, request)


def answered(request: Call, value: Any, tree: loss.Loss, how: str, noise: Noise | None = None) -> Release[Any]:
    """A release that accounts for everything spent on the way to it."""
    whole = loss.Levels((*request.spent, tree)) if request.spent else tree
    price = cost(whole, request.adjacency)
    return Release(value, price, f"{request.name} by {how}", whole, noise, request.entropy.private)


def refused(request: Call, tree: loss.Loss | None, how: str, advice: Advice) -> NoReply:
    """⊥, with everything spent on the way to it."""
    if request.adjacency.kind == "add/remove":
        advice = _with_room_for_the_count(advice, request)
    parts = (*request.spent, *((tree,) if tree else ()))
    whole = loss.Levels(parts) if parts else None
    price = cost(whole, request.adjacency) if whole else Privacy(0, 0, request.adjacency)
    return NoReply(price, f"{request.name} by {how}", whole, advice, request.entropy.private)


def _with_room_for_the_count(advice: Advice, request: Call) -> Advice:
    """Advice for a call that first spends a tenth of ε on a noisy number of rows, which may come out too small."""
    share = Fraction(request.spent[0].epsilon) if isinstance(request.spent[0], loss.Pure) else request.epsilon
    below = IntegerLaplace(request.rows / share).cutoff(Fraction(1, 1000))
    n = None if advice.n is None else advice.n + below
    return replace(advice, n=n, epsilon=None)  # the ε that would do depends on a number of rows that is secret


def least_n(fits: Callable[[int], bool]) -> int:
    """The number of rows from which on a public condition holds, to within one part in a thousand."""
    high = 1
    while not fits(high):
        high *= 2
    low = high // 2
    while high - low > max(1, high // 1000):
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


# ---------------------------------------------------------------------------------------------- inverse sensitivity


def _inverse(statistic: Statistic, data: Data, n: int, request: Call) -> Release[float] | NoReply:
    """Pure ε, and ⊥ only by a rule that looks at n, ε and the lattice."""
    chosen = finest(lambda steps: statistic.fits(n, steps * request.rows), request.epsilon)
    if chosen is None:
        return refused(request, None, "inverse sensitivity", inverse_advice(statistic.fits, n, request))
    lattice, steps = chosen
    value = inverse_sensitivity(
        statistic.build(data, n, steps, request.rows),
        steps,
        request.epsilon,
        request.entropy,
        granularity=request.granularity,
        nonnegative=statistic.scale,
        lattice=lattice,
    )
    return answered(request, value, loss.Pure(request.epsilon), "inverse sensitivity")


def inverse_advice(fits: Callable[[int, int], bool], n: int, request: Call, dimension: int = 1) -> Advice:
    """The number of rows, or the ε, from which on the inverse engine replies. `fits(n, moves)` is public."""
    candidates = LATTICES[-1].size ** dimension
    steps = steps_needed(request.epsilon, candidates)
    enough = least_n(lambda size: fits(size, request.rows * steps))
    if not fits(n, request.rows):
        return Advice(n=enough)
    low, high = 1, steps  # the most steps that fit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(n, request.rows * middle) else (low, middle)
    epsilon = request.epsilon * (steps + 1) / (low + 1)
    return Advice(n=enough, epsilon=math.ceil(float(1000 * epsilon)) / 1000)


# --------------------------------------------------------------------------- propose-test-release with the diameter

SCALE_SLOPE = 8.0
"""The logarithm of an interquartile range moves by up to 4.7/n a row for normal data; a bound with some room."""

RUNGS = ((Fraction(2, 5), 1.0), (Fraction(1, 10), 8.0))
"""The ladder of proposals: the part of ε that each test gets, and how many times wider its bound is than the first. The
second test looks about four times as far, at a bound eight times as wide. The other half of ε is for the answer."""


def _scale_build(ranks: tuple[int, int], data: Data, rows: int) -> ptr.Build:
    return lambda steps: InterquantileRange(data, ranks, steps, rows)


def _diameter(statistic: Statistic, data: Data, n: int, request: Call) -> Release[float] | NoReply:
    """A scale by its ratio; a location by its diameter, with bounds proposed from a private scale."""
    how = "propose-test-release"
    part = request if statistic.scale else request.share(Fraction(3, 10))
    if not _room(statistic, n, _looks(part)):
        return refused(request, None, how, _ptr_advice(statistic, n, request))
    spread = _scale_ladder(_scale_build(statistic.spread(n), data, request.rows), n, part)
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


def _scale_ladder(build: ptr.Build, n: int, request: Call) -> ptr.Outcome:
    """S with the ratio of its reach: bounds from what n rows of a smooth law allow, at most the papers' ln(1 + 1/ln n).

    The noise on the logarithm has a scale of at most 1.
    """
    bound = min(SCALE_SLOPE * _looks(request) / n, dwork_lei.log_width(n))
    proposals = _ladder(request, bound, 1.0, ptr.ratio)
    return ptr.attempt(build, proposals, ptr.release_scale(request.entropy), request.entropy)


def _location_ladder(statistic: Statistic, data: Data, n: int, request: Call, spread: float) -> ptr.Outcome:
    """A location with bounds c·s·(t + 3/ε)/n, and noise of a scale of at most s/2; for s = 0 a least positive one."""
    s = max(spread, 1e-300)
    bound = statistic.slope * s * _looks(request) / n
    return ptr.attempt(
        lambda steps: statistic.build(data, n, steps, request.rows),
        _ladder(request, bound, s / 2, ptr.diameter),
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


def _grids(statistic: Statistic, data: Data, n: int, request: Call) -> Release[float] | NoReply:
    """S for scales; for locations S on their spread, then M's grids."""
    how = "Dwork and Lei's grids"
    if not _room(statistic, n, _looks(request.share(Fraction(1, 2)))):
        return refused(request, None, how, _ptr_advice(statistic, n, request))
    if statistic.averaged is not None:
        return _trimmed(statistic, statistic.averaged(n), data, n, request)
    stages = 1 if statistic.scale else 2
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
    ranked = OrderStatistics(data, [(off + 1, off + 1), (n - off, n - off)])
    mean = Fraction(ranked.total(off + 1, n - off), averaged << SCALE)
    found = dwork_lei.noisy_mean(mean, bound, level, failure, request.entropy)
    rest = replace(request, spent=(*request.spent, spread.tree))
    return _told(statistic, rest, found, how, n)
