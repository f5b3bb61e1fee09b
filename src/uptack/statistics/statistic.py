"""A statistic of one column, described once, and its release by each of three methods.

`Statistic` describes it, for mechanisms and for its influence function. Inverse sensitivity needs no δ. The other two,
propose-test-release and Dwork and Lei's grids, do: a bound on how far a few rows can move the answer is proposed from
public numbers, a private test says whether it holds, and if so the answer gets noise in proportion to it
(`uptack.mechanisms.ptr`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Outcome
from uptack.exact import Rational, read
from uptack.mechanisms import inverse_sensitivity as inverse
from uptack.mechanisms import ptr
from uptack.mechanisms.inverse_sensitivity import LATTICES, slack_needed, steps_needed
from uptack.mechanisms.plausible_range import Lattice, Plausible
from uptack.noise import IntegerLaplace, MachineNumbers
from uptack.privacy import Privacy, loss
from uptack.reach import LStatistic, Reach, Segment
from uptack.reach.differences import range_reach
from uptack.reach.l_statistics import quantile_rank, quartiles
from uptack.release import Advice, NoReply, Release
from uptack.statistics import quantile_trees
from uptack.statistics.column_options import (
    COUNT_SHARE,
    MOST_FOLLOWED,
    Question,
    column,
    least_n,
    public_size,
    read_question,
)
from uptack.table.exact_sum import SCALE
from uptack.table.protocol import Column

HOW = "inverse sensitivity"


@dataclass(frozen=True)
class Functional:
    """T(F) = weight·∫ F⁻¹(u) du over `between`, + Σ v·F⁻¹(p) over the `levels` (v, p)."""

    levels: tuple[tuple[Fraction, Fraction], ...] = ()
    weight: Fraction = Fraction(0)
    between: tuple[Fraction, Fraction] = (Fraction(0), Fraction(1))


@dataclass(frozen=True)
class Statistic:
    """A description of a statistic, made before data are seen.

    `segments(n)` are its ranks and their weights: T = Σ w·x(i) on n rows. `functional` is the same for a distribution,
    or None. `build(x, n, steps, rows)` is its reach, unless that is the reach of a sum with weights of at least 0
    (`uptack.reach.LStatistic`).

    For propose-test-release: `spread(n)` are the ranks of an interquantile range, and the statistic moves by about
    `slope` times that range over n when one row changes. `scale` marks statistics that are scales themselves;
    `averaged(n)` is the number of rows in a trimmed mean, which one row moves by at most spread/averaged. A wrong slope
    costs replies or accuracy, never privacy.

    `whole` says that the answer for a column of integers is an integer.

    `follows` says that ranks may be computed from the true number of rows if that is secret: **adding or removing a row
    then moves T's reach by one step and no more**, although segments(n) moves too. `near` is a statistic with that
    property, within a rank of this one. Without either, a noisy number of rows is bought first.
    """

    name: str
    segments: Callable[[int], tuple[Segment, ...]]
    functional: Functional | None = None
    build: Callable[[Column, int, int, int], Reach] | None = None
    spread: Callable[[int], tuple[int, int]] = quartiles
    slope: float = 1.0
    scale: bool = False
    averaged: Callable[[int], int] | None = None
    whole: bool = False
    follows: bool = False
    near: Statistic | None = None

    def reach(self, x: Column, n: int, steps: int, rows: int) -> Reach:
        """Its reach on a column, with the ranks of n rows."""
        if self.build is not None:
            return self.build(x, n, steps, rows)
        segments = self.segments(n)
        return LStatistic(x.order(LStatistic.windows(segments, steps, rows)), segments, rows)

    def room(self, n: int, size: int) -> int:
        """How many moves of one rank stay inside a table of so many rows, where the ranks are those of n rows."""
        segments = self.segments(n)
        return min(min(s.first for s in segments) - 1, size - max(s.last for s in segments))


def release_statistic(
    statistic: Statistic, x: Any, epsilon: Rational, options: Mapping[str, Any]
) -> Release[Any] | NoReply:
    """The statistic of x by the requested method, or ⊥."""
    question = read_question(statistic.name, epsilon, options)
    data, question = column(x, question, not statistic.whole, "spread" if statistic.scale else "place")
    return question.close(outcome(statistic, data, question))


def outcome(statistic: Statistic, data: Column, question: Question) -> Outcome[float]:
    """The same on a column that has been read. A noisy number of rows is bought only if it is needed.

    **Theorem.** With ranks computed from the true n, which is secret, the inverse method is ε-differentially private
    for statistics that follow (`Statistic.follows`): every score moves by at most one step if a row is added, removed
    or replaced, and so does κ. *Proof for a quantile.* With F(y) rows up to y, F'(y) below it and r = ⌈pn⌉, the score
    of y is max(0, r - F(y), F'(y) + 1 - r). An added row moves r, F(y) and F'(y) each by 0 or 1, so the differences
    by at most 1; r - 1 and n - r by at most 1 too. The same holds for sums of quantiles with fixed weights and, since
    distances from any number are order statistics too, for the median deviation. *For a trimmed mean* of the ranks
    o + 1, ..., n - o, o = ⌊cut·n⌋: with one more row, the terms moved down by k + 1 ranks are at most those moved by k
    before with one lower term beside them (o stays), or without the highest of them (o rises). Either way their mean is
    at most what it was. The cases of a removed row, of the upper end and of Winsorized means are alike. For ranges see
    `uptack.statistics.order_statistics.steady_ranks`. ∎

    *For people* (`uptack.table.unit`) the same holds with units in place of rows. A person who comes adds between 0
    and 1 to F(y) and to F'(y), and 0 or 1 to n, so their differences from r move by at most 1; for means the proof uses
    that z'(i) ≤ z(i) ≤ z'(i + 1) and nothing else; for ranges α ≤ β are shares of a person in [0, 1]. Where rows weigh
    alike and a person is replaced, n and F can move apart by nearly 2, and a noisy n is bought.
    """
    followed = statistic if statistic.follows else statistic.near
    if question.follows and followed is not None:
        return _by_inverse_sensitivity(followed, data, data.count(), question)
    return outcome_for_size(statistic, data, *public_size(data.count(), question))


def outcome_for_size(statistic: Statistic, data: Column, n: int, question: Question) -> Outcome[float]:
    """The same with a public n."""
    return (_by_inverse_sensitivity if question.method == "inverse" else outcome_by_tests)(statistic, data, n, question)


# ------------------------------------------------------------------------------------------------- inverse sensitivity


def _by_inverse_sensitivity(statistic: Statistic, data: Column, n: int, question: Question) -> Outcome[float]:
    """By inverse sensitivity, at pure ε. Ranks are those of n, the number of rows, public or not, or a noisy one."""
    g = question.adjacency.rows_per_person
    return inverse_draw(
        question,
        n,
        lambda size: statistic.room(size, size) // g,
        lambda: (data.count(), statistic.room(n, data.count()) // g),
        lambda steps, _: [statistic.reach(data, n, steps, g)],
        scale=statistic.scale,
    )


def inverse_draw(
    question: Question,
    n: int,
    room: Callable[[int], int],
    secret_room: Callable[[], tuple[int, int]],
    reaches: Callable[[int, Lattice], list[Reach]],
    *,
    dimension: int = 1,
    lattices: Sequence[MachineNumbers] = LATTICES,
    scale: bool = False,
    known: int | None = None,
    advise: Callable[[Advice], Advice] = lambda advice: advice,
) -> Outcome[Any]:
    """One draw by inverse sensitivity, or ⊥: free if public numbers decide it, and a candidate otherwise.

    `room(n)` is the number of steps that stay inside a table of n rows; `known` is the same for this table, if more
    than n is public. `secret_room()` reads the number of rows and κ, if they are secret. `reaches(steps, lattice)` are
    the reaches of the numbers that are drawn together; the answer is a list of them, or one number. `advise` may
    improve the advice of a free ⊥.

    With a granularity g, every interval is widened by g/2 on both sides and the drawn number is rounded to a multiple
    of g: tied values then fill a shell of many points instead of one.
    """
    secret, step = question.size_is_secret, question.granularity
    offered: Sequence[Lattice] = lattices
    if question.plausible is not None:
        low, high = question.plausible
        guess = (0.0, high - low) if scale else (low, high)  # of a scale, the distances in the plausible range
        offered = [Plausible(one, *guess) for one in lattices]
    public = question.at_most if secret and question.count is None else n
    kappa = known if known is not None else None if public is None else room(public)
    seen = _lattice_and_steps(kappa if public is not None else None, question, dimension, offered)
    if seen is None:
        return question.refuse(HOW, advise(_inverse_advice(room, n, question, offered[-1].size ** dimension)))
    size, kappa = secret_room() if secret or kappa is None else (n, kappa)
    lattice, steps = seen[0], useful_steps(seen[1], size, question.adjacency.rows_per_person)
    nested = inverse.boxes(reaches(steps, lattice), steps, lattice, widen=float((step or 0) / 2), nonnegative=scale)
    candidates = replace(nested, refusal=inverse.Refusal(kappa, secret))
    ordinals = question.draw(inverse.InverseDraw.of(question.epsilon), candidates)
    if ordinals is None:
        rows = f" with about {n:,} {question.adjacency.unit}" if not secret or question.count is not None else ""
        what = "no value stands" if dimension == 1 else "the quantiles do not stand"
        why = f"{what} out from the noise{rows}"
        advice = _inverse_advice(room, n, question, offered[-1].size ** dimension)
        # this ε would be enough for as many rows as there may be: so there are fewer, and nobody knows how many
        return question.refuse(HOW, replace(advice, epsilon=None) if secret else advice, why)
    values = [lattice.value(ordinal) for ordinal in ordinals]
    values = values if step is None else [inverse.round_to(value, step) for value in values]
    return Outcome(values[0] if dimension == 1 else values, HOW)


def useful_steps(steps: int, size: int, rows: int) -> int:
    """The steps that matter for a table of `size` rows, if one person has up to `rows`: at most ⌊N/g⌋ + 1.

    So a tiny ε does not ask for more steps than there are people.

    **Theorem.** The draw stays ε-differentially private where N is secret, whatever the ranks are, also those worked
    out from a noisy n. *Proof.* Let s(y) be the score of y without a limit, so that the score with K steps is
    min(s(y), K + 1). Here it is min(s(y), K + 1, ⌊N/g⌋ + 2), K being public. One person moves s(y) by at most 1, and N
    by at most g, so ⌊N/g⌋ by at most 1. The least of numbers that move by at most 1 does so too. ⊥ does not notice:
    κ ≤ ⌊N/g⌋ is less than the new limit, so it is brought down to K where it was before, and nowhere else. For the
    same reason candidates outside interval κ still score at least κ + 1, and the guarantee of ⊥ stays. ∎

    Where all ranks are from 1 to max(N, 1), the law is the same as with K steps: g·(⌊N/g⌋ + 1) > N moves take every
    rank out of the table on either side, and an interval that goes that far holds every candidate. A limit of N + 1
    steps is not private for g > 1 where ranks are far above N: it moves by g at once.
    """
    return min(steps, size // rows + 1)


def _lattice_and_steps(
    inside: int | None, question: Question, dimension: int, lattices: Sequence[Lattice]
) -> tuple[Lattice, int] | None:
    """The lattice and K for so many steps inside the table, if that is public; None for a free ⊥.

    If the number of rows is secret, K is what the guarantee needs. A true secret number decides nothing here; a public
    upper bound of it may: with a lattice for that bound, ⊥ is rare if few rows are left out, and free if even that many
    rows would be too few.
    """
    epsilon, lattice = question.epsilon, lattices[0]
    if inside is not None:
        if not question.size_is_secret:
            return inverse.choose_lattice(inside, epsilon, dimension, lattices)
        if not inverse.worth_asking(inside, epsilon, dimension):
            return None
        slack = 0 if question.count is not None else slack_needed(epsilon)
        fitting = inverse.choose_lattice(inside - slack, epsilon, dimension, lattices)
        lattice = lattices[-1] if fitting is None else fitting[0]
    return lattice, steps_needed(epsilon, lattice.size**dimension)


def _inverse_advice(room: Callable[[int], int], n: int, question: Question, candidates: int) -> Advice:
    """The number of rows, or the ε, that guarantees a reply whatever the data; all of it public.

    A secret number of rows is not used: ⊥ is then rare, but never impossible, and the ε is that for the public upper
    bound of the number of rows, if there is one.
    """
    steps = steps_needed(question.epsilon, candidates)
    if question.size_is_secret:
        steps += slack_needed(question.epsilon)
    enough = least_n(lambda size: room(size) >= steps)
    public = question.at_most if question.size_is_secret else n
    if public is None or room(public) < 1:
        return Advice(n=enough)
    most = max(min(room(public), steps - 1), 1)
    rounded = 2 if question.size_is_secret else 0  # steps and slack are both rounded up
    epsilon = question.epsilon * (steps + 1) / max(most + 1 - rounded, 1)
    return Advice(n=enough, epsilon=math.ceil(float(1000 * epsilon)) / 1000)


# ----------------------------------------------------------------------------------------------- tests before a reply

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
        if grids and not _precise_enough(stages, 10**15, question):  # widths fall slowly: no table is large enough
            return Advice(other=other, why=why)
        narrow = (lambda size: True) if grids else lambda size: SCALE_SLOPE * moves / size <= ptr.log_width(size)
        enough = least_n(lambda size: passes(size) and narrow(size))
        return Advice(n=enough if n < enough else None, other=other, why=why)

    if not passes(n):
        return question.refuse(how, advice())
    if grids and statistic.averaged is not None:
        return _trimmed_mean_by_grids(statistic, statistic.averaged(n), data, n, question, advice())
    level = ptr.Level(question.epsilon / (2 * stages), question.delta / (2 * stages))
    if grids:
        scale: Any = ptr.two_grids(ptr.log_width(n), level, scale=True)
    else:  # S with the ratio of its reach: bounds that n rows of a smooth law allow, at most the papers' ln(1 + 1/ln n)
        bound = min(SCALE_SLOPE * _rows_examined(first) / n, ptr.log_width(n))
        widest = LARGEST_NOISE if stages == 1 else LARGEST_ROUGH_NOISE
        scale = ptr.TestedAnswer.of(_ladder(first, bound, widest, ptr.ratio), scale=True)
    spread = first.draw(
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
        location: Any = ptr.two_grids(ptr.bin_width(spread.value, n), level, scale=False)
    else:  # bounds c·s·(t + 3/ε)/n, and noise of a scale of at most s/5; for s = 0 a least positive one
        s = max(spread.value, 1e-300)
        bounds = _ladder(rest, statistic.slope * s * _rows_examined(rest) / n, LARGEST_NOISE * s, ptr.diameter)
        location = ptr.TestedAnswer.of(bounds, scale=False)
    answer = rest.draw(location, lambda steps: statistic.reach(data, n, steps, g))
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
        return ptr.log_width(n) / each <= LARGEST_NOISE
    return ptr.log_width(n) / each <= LARGEST_ROUGH_NOISE and n ** (-1 / 3) / each <= LARGEST_NOISE


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
    level = ptr.Level(question.epsilon / 3, failure)
    low, high = statistic.spread(n)
    grids = ptr.two_grids(ptr.log_width(n), level, scale=True)
    ranks = low + 1 - rows, high - 1 + rows
    spread = question.draw(grids, lambda steps: range_reach(data, ranks, steps, rows))
    if spread is None:
        return question.refuse(GRIDS, advice)
    bound = spread.value * ptr.safe_factor(spread.noise, failure) * rows / averaged
    if max(spread.value, bound) >= ptr.MOST:
        smaller = Advice(other="values of a size below 1e300")
        return question.refuse(GRIDS, smaller, why="the released scale is too large")
    off = (n - averaged) // 2
    ranked = data.order([(off + 1, off + 1), (n - off, n - off)])
    mean = Fraction(ranked.total(off + 1, n - off), averaged << SCALE)
    value, noise = ptr.noisy_mean(mean, bound, level, failure, question)
    return Outcome(value, GRIDS, noise)


# ---------------------------------------------------------------------------------- what is known before rows are read


def several_levels(p: object) -> Sequence[Any]:
    """Several levels as a sequence; () for one."""
    return list(p) if isinstance(p, list | tuple | np.ndarray) and np.ndim(p) == 1 else ()


def buys_size(given: Mapping[str, Any], cost: Privacy) -> bool:
    """Whether an order statistic first buys a noisy number of rows if that is secret: see `outcome`."""
    several = len(several_levels(given.get("p"))) > MOST_FOLLOWED
    bounded = given.get("interval") is not None and not interval_follows(given, cost)
    return given.get("weights") == "rows" or several or bounded or given.get("method", "inverse") != "inverse"


RARE = Fraction(1, 1000)
"""A level that is nearer to 0 or 1: its interval does not follow a secret number of rows."""


def interval_follows(given: Mapping[str, Any], cost: Privacy) -> bool:
    """Whether the ranks of an interval follow a secret number of rows (`uptack.statistics.quantiles`)."""
    try:
        p = read(given.get("p", Fraction(1, 2)))
    except ValueError:  # refused by the function itself
        return False
    return cost.adjacency.rows_per_person == 1 and RARE <= p <= 1 - RARE


def ranks(given: Mapping[str, Any], cost: Privacy, rows: int) -> str:
    """A bound on ranks with 95% confidence, whatever the data: P(more than k ranks) ≤ L·e^(-ε(k+1)/2), L candidates.

    It is empty if the number of rows is secret.
    """
    capped = given.get("weights") == "rows"  # then the size is not that of the table
    if given.get("method", "inverse") != "inverse" or not cost.adjacency.size_is_public or capped:
        return ""
    share = 1 - COUNT_SHARE if given.get("missing") == "drop" and buys_size(given, cost) else Fraction(1)
    left = cost.exact_epsilon * share / (3 if given.get("interval") else 1)
    parts = max(len(several_levels(given.get("p"))), 1)
    off = cost.adjacency.rows_per_person * steps_needed(left, (1 << 62) ** parts, Fraction(1, 20))
    return f"within {off:,} of {rows:,} ranks" if off < rows else ""


def secret_size(given: Mapping[str, Any], cost: Privacy) -> bool:
    """Whether the number of rows is secret."""
    return given.get("missing") == "drop" or given.get("weights") == "rows" or not cost.adjacency.size_is_public


def one_draw(given: Mapping[str, Any], cost: Privacy, rows: int) -> loss.Loss | None:
    """The loss of an order statistic in one draw, known beforehand; None for any other.

    Several quantiles of a public number of rows are drawn by the tiers of a tree, which is public too.
    """
    if given.get("method", "inverse") != "inverse" or given.get("interval") is not None or buys_size(given, cost):
        return None
    of_people = bool(cost.adjacency.person) and given.get("per_person") is None  # weighted rows have boxes
    if len(several_levels(given.get("p"))) > 1 and not secret_size(given, cost) and not of_people:
        levels = [checks.rational("p", p, "a number") for p in given["p"]]
        aimed = [quantile_rank(p, rows) for p in levels]
        tree = quantile_trees.plan_tree(rows, aimed, cost.exact_epsilon, cost.adjacency.rows_per_person)
        if tree is not None:
            return quantile_trees.tree_loss(tree[1])
    return loss.BoundedRange(cost.exact_epsilon)
