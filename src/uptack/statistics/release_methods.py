"""One function releases any statistic, by the method that the caller chose."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from uptack.account import Outcome
from uptack.exact import Rational
from uptack.mechanisms.inverse_sensitivity import (
    LATTICES,
    Refusal,
    chosen,
    inverse_sensitivity,
    slack_needed,
    steps_needed,
    worth_asking,
)
from uptack.mechanisms.plausible_range import Lattice
from uptack.release import Advice, NoReply, Release
from uptack.statistics import propose_test
from uptack.statistics.column_options import Question, column, public_size, read_question
from uptack.statistics.statistic import Data, Statistic, least_n


def released(statistic: Statistic, x: Any, epsilon: Rational, options: Mapping[str, Any]) -> Release[Any] | NoReply:
    """The statistic of x by the method asked for, or ⊥."""
    question = read_question(statistic.name, epsilon, options)
    times = "spread" if statistic.scale else "place"
    data, question = column(x, question, floats=not statistic.whole, times=times)
    return question.account.close(measured(statistic, data, question))


def measured(statistic: Statistic, data: Data, question: Question) -> Outcome[float]:
    """The same on a column that has been read. A number of rows that is secret is not bought where it need not be.

    **Theorem.** With ranks worked out from the true n, which is secret, the inverse method is ε-differentially private
    for statistics that follow (`Statistic.follows`): every score moves by at most one step where a row comes, goes or
    is replaced, and so does κ. *Proof for a quantile.* With F(y) rows up to y, F'(y) below it and r = ⌈pn⌉, the score
    of y is max(0, r - F(y), F'(y) + 1 - r). A row that comes moves r, F(y) and F'(y) each by 0 or 1, so the differences
    by at most 1; r - 1 and n - r by at most 1 too. So it is for sums of quantiles with fixed weights, and, as distances
    from any number are order statistics too, for the median deviation. *For a trimmed mean* of the ranks o + 1, ...,
    n - o, o = ⌊cut·n⌋: with a row more, the terms moved down by k + 1 ranks are at most those moved by k before with
    one lower term beside them (o stays), or without the highest of them (o rises). Either way their mean is at most
    what it was. A row fewer, the upper end and Winsorized means go the same way. For ranges see
    `uptack.statistics.ranges.steady_ranks`. ∎

    *For people* (`uptack.table.unit`) the same holds with units in place of rows. A person who comes adds between 0
    and 1 to F(y) and to F'(y), and 0 or 1 to n, so their differences from r move by at most 1; for means the proof uses
    that z'(i) ≤ z(i) ≤ z'(i + 1) and nothing else; for ranges α ≤ β are shares of a person in [0, 1]. Where rows weigh
    alike and a person is replaced, n and F can move apart by nearly 2, and a noisy n is bought.
    """
    followed = statistic if statistic.follows else statistic.near
    if question.follows and followed is not None:
        return _inverse(followed, data, data.count(), question)
    n, question = public_size(data.count(), question)
    return run(statistic, data, n, question)


def run(statistic: Statistic, data: Data, n: int, question: Question) -> Outcome[float]:
    """The same on a column that has been read, with a public n."""
    method = {"inverse": _inverse, "ptr": propose_test.diameter, "dwork-lei": propose_test.grids}[question.method]
    return method(statistic, data, n, question)


def _inverse(statistic: Statistic, data: Data, n: int, question: Question) -> Outcome[float]:
    """Pure ε. ⊥ is free where public numbers decide it, and a candidate of the draw otherwise.

    n is what ranks are worked out from: the number of rows, public or not, or a noisy one.
    """
    how = "inverse sensitivity"
    lattices = question.guessed(LATTICES, statistic.scale)
    advice = partial(inverse_advice, statistic.fits, n, question, 1, lattices[-1])
    seen = sight(lambda size: statistic.room(size, size) // question.rows, n, question, 1, lattices)
    if seen is None:
        return question.refuse(how, advice())
    lattice, steps = seen[0], saturated(seen[1], data.count(), question.rows)
    value = inverse_sensitivity(
        statistic.build(data, n, steps, question.rows),
        steps,
        question.account,
        Refusal(statistic.room(n, data.count()) // question.rows, question.size_is_secret),
        granularity=question.granularity,
        nonnegative=statistic.scale,
        lattice=lattice,
    )
    if value is None:
        return question.refuse(how, advice(), undecided(n, question))
    return Outcome(value, how)


def undecided(n: int, question: Question, what: str = "value") -> str:
    """Why a draw by inverse sensitivity came to ⊥: in the ε of the draw, and in the number of rows where it is public
    or was released."""
    released = question.count is not None or not question.size_is_secret
    rows = f" among about {n:,} {question.adjacency.unit}" if released else ""
    return f"at ε = {float(question.epsilon):.3g} no {what} stood out{rows}"


def saturated(steps: int, size: int, rows: int) -> int:
    """As many of K steps as tell anything of a table of `size` rows, where one person has up to `rows`: ⌊N/g⌋ + 1.

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


def sight(
    room: Callable[[int], int], n: int, question: Question, dimension: int, lattices: Sequence[Lattice]
) -> tuple[Lattice, int] | None:
    """The lattice and K where `room(n)`, as far as it is public, bears so many steps; None for a ⊥ that is free.

    Where the number of rows is secret, K is what the guarantee needs: beyond the rows that there are it sees nothing.
    Where it is used as it is, nothing may be chosen by it, but by the public number of rows that it is at most: with a
    lattice for these ⊥ is rare where hardly any row is left out, and it is free where even they would be too few.
    """
    if not question.size_is_secret:
        return chosen(room(n), question.epsilon, dimension, lattices)
    public, slack = (n, 0) if question.count is not None else (question.at_most, slack_needed(question.epsilon))
    picked = (lattices[0], 0)
    if public is not None:
        if not worth_asking(room(public), question.epsilon, dimension):
            return None
        picked = chosen(room(public) - slack, question.epsilon, dimension, lattices) or (lattices[-1], 0)
    return picked[0], steps_needed(question.epsilon, picked[0].size ** dimension)


def inverse_advice(
    fits: Callable[[int, int], bool],
    n: int,
    question: Question,
    dimension: int = 1,
    coarsest: Lattice = LATTICES[-1],
) -> Advice:
    """The number of rows, or the ε, from which on the inverse engine replies whatever the data; all of it public.

    `fits(n, moves)` is. Where the number of rows is secret, it is not looked at: ⊥ is then rare, but never impossible.
    What ε would do is said for the public number of rows that it is at most, if there is one.
    """
    candidates = coarsest.size**dimension
    steps = steps_needed(question.epsilon, candidates)
    if question.size_is_secret:
        steps += slack_needed(question.epsilon)
    enough = least_n(lambda size: fits(size, question.rows * steps))
    public = question.at_most if question.size_is_secret else n
    if public is None or not fits(public, question.rows):
        return Advice(n=enough)
    low, high = 1, steps  # the most steps that fit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(public, question.rows * middle) else (low, middle)
    rounded = 2 if question.size_is_secret else 0  # steps and slack are both rounded up
    epsilon = question.epsilon * (steps + 1) / max(low + 1 - rounded, 1)
    return Advice(n=enough, epsilon=math.ceil(float(1000 * epsilon)) / 1000)
