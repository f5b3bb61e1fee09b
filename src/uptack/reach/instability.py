"""Distance to instability: how many people can change their rows before the answer may be another one.

An answer is unstable at D if some neighbour of D has another one. What privacy needs of a distance d is that d(D) = 0
wherever the answer is unstable, and that d moves by at most one between neighbours (`uptack.mechanisms.stability`). A
distance may be smaller than the true one: only the chance of a reply suffers.

The kind of neighbours is "substitute" or "add/remove", as in `uptack.privacy.Adjacency`. For people with up to g rows
every distance is the one for single rows divided by g, rounded down: it is 0 where g rows change the answer, and moves
by at most one when g rows change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.reach.l_statistics import quantile_rank
from uptack.table.values.entrance import numbers
from uptack.table.values.kinds import canonical

GAP_MOVES = {"add/remove": 1, "substitute": 2}
"""How far one row moves the lead of the first over the second: a replaced vote leaves one and goes to the other."""


class Winner(NamedTuple):
    """The most frequent value, how often it occurs, and its lead over the second."""

    value: Any
    votes: int
    gap: int


def outcome(value: Any) -> Hashable:
    """A result of a function in its canonical form; TypeError where it is not hashable, or NaN.

    Results that are equal to Python and are told apart by a reader, as True, 1 and 1.0 are, or datetimes in two zones,
    would say which row came first: see `uptack.table.values.kinds.canonical`. A truth value stays one; `winner` tells
    it from 1.
    """
    hash(value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value)
    if canonical(value) is None and value is not None:
        raise TypeError("NaN is not equal to itself")
    return _plain(value)


def _plain(value: Any) -> Hashable:
    return bool(value) if isinstance(value, bool | np.bool_) else canonical(value)


def winner(values: Iterable[Any]) -> Winner:
    """The mode of canonical values; the first that was met, where several are as frequent.

    >>> winner("abracadabra")
    Winner(value='a', votes=5, gap=3)
    """
    plain = [_plain(value) for value in values]
    if not plain:
        raise InvalidArgument("values", "at least one value", "none")
    votes = Counter((isinstance(value, bool), value) for value in plain)
    ((_, first), count), *rest = votes.most_common(2)
    return Winner(first, count, count - (rest[0][1] if rest else 0))


def gap_distance(gap: Rational, kind: str, rows_per_person: int = 1, sensitivity: Rational = 1) -> int:
    """max(0, ⌈gap/s⌉ - 1), where s is how far one person's rows move the gap: g·Δ added or removed, 2g·Δ replaced.

    A neighbour with another winner has a gap in its own favour, so the gap here is at most s and the distance 0.

    >>> gap_distance(5, "add/remove"), gap_distance(5, "substitute"), gap_distance(0, "substitute")
    (4, 2, 0)
    """
    step = _moves(kind) * checks.integer("rows_per_person", rows_per_person, least=1)
    most = step * checks.positive("sensitivity", sensitivity)
    return max(0, -int(-checks.rational("gap", gap) // most) - 1)


def mode_distance(values: Iterable[Any], kind: str, rows_per_person: int = 1) -> int:
    """How far the most frequent of hashable values is from another one. (The gap itself is too much by one or more.)

    >>> mode_distance("aaaaab", "substitute"), mode_distance("aaaaab", "add/remove")
    (1, 3)
    """
    return gap_distance(winner(values).gap, kind, rows_per_person)


def argmax_distance(scores: ArrayLike, kind: str, rows_per_person: int = 1, sensitivity: Rational = 1) -> int:
    """How far the index of the largest score is from another one.

    Each row must add something between 0 and Δ to every score, as votes for any number of candidates do, and the scores
    must be exact sums: then one row moves the lead of one candidate over another by at most Δ, a replaced one by 2Δ.

    >>> argmax_distance([3, 9, 4], "add/remove")
    4
    """
    ranked = sorted(numbers("scores", scores, (1,)).tolist(), reverse=True)
    if len(ranked) < 2:
        raise InvalidArgument("scores", "at least two numbers", checks.outline(scores))
    return gap_distance(Fraction(ranked[0]) - Fraction(ranked[1]), kind, rows_per_person, sensitivity)


def median_distance(x: ArrayLike, kind: str, rows_per_person: int = 1) -> int:
    """How far the median x(r), r = ⌊(n+1)/2⌋, is from another one: exact.

    Replacing k rows can make it any value of [x(r-k), x(r+k)]. Adding and removing k rows also moves r, by half a rank
    each: [x(r-⌈k/2⌉), x(r+⌊k/2⌋)] for odd n, [x(r-⌊k/2⌋), x(r+⌈k/2⌉)] for even n. Past the ends x is infinite.

    >>> median_distance([1, 2, 2, 2, 3], "substitute"), median_distance([1, 2, 2, 2, 3], "add/remove")
    (1, 2)
    """
    moves, g = _moves(kind), checks.integer("rows_per_person", rows_per_person, least=1)
    data = np.sort(checks.exact_numbers("x", x, (1,)))
    rank = quantile_rank(Fraction(1, 2), data.size)
    middle = data[rank - 1]
    below = rank - 1 - int(np.searchsorted(data, middle, "left"))
    above = int(np.searchsorted(data, middle, "right")) - rank
    if moves == 2:
        return min(below, above) // g
    odd = data.size % 2
    return min(2 * below + 1 - odd, 2 * above + odd) // g


def _moves(kind: str) -> int:
    if kind not in GAP_MOVES:
        raise InvalidArgument("kind", "'substitute' or 'add/remove'", checks.describe(kind))
    return GAP_MOVES[kind]
