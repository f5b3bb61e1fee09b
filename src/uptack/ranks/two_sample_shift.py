"""Hodges and Lehmann's shift between two groups: the median of all differences between their rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any, Unpack

from uptack.account import Outcome
from uptack.exact import Rational
from uptack.mechanisms.inverse_sensitivity import LATTICES, Refusal, inverse_sensitivity
from uptack.ranks.contrast_draws import EXAMPLE, HOW, Contrast, ContrastOptions, Sizes, contrast
from uptack.ranks.superiority_weight import MOVES, weight
from uptack.reach.group_difference import PairwiseShift
from uptack.registry import release
from uptack.release import NoReply, Release
from uptack.statistics.release_methods import inverse_advice, saturated, sight
from uptack.table.reads import LABELLED

COMES = Fraction(3, 2)
"""What h·S moves by where a row comes or goes: `uptack.ranks.superiority_weight`."""


@release(
    reads=LABELLED, people="each", data=("x", "labels"), missing="ignore", examples=(EXAMPLE,), page="median_difference"
)
def hodges_lehmann(
    x: Any, labels: Any, *, groups: Sequence[Any], epsilon: Rational, **options: Unpack[ContrastOptions]
) -> Release[float] | NoReply:
    """How far the first group lies above the second: the median of all differences between their rows. No bounds.

    Where one group is the other one moved, it estimates by how much, better than the difference of the medians does.
    `groups` are two public labels. A row with another label, with none, or without a value takes part in nothing.

    **Theorem.** The release is ε-differentially private: one draw by inverse sensitivity
    (`uptack.mechanisms.inverse_sensitivity`) on the reach of `uptack.reach.group_difference`. A candidate's sum of ±1
    over pairs, S(y), moves by at most 2·max(n₁, n₀) with public labels. Where labels are part of the rows, h·S(y) moves
    by at most 2 if a row is replaced and by 3/2 if one comes or goes, with the h of `uptack.ranks.superiority_weight`.
    Both bounds are for any sums of numbers from -1 to 1 over pairs. With all signs alike they say that the number κ of
    steps that the data bear moves by at most one, as ⊥ needs.

    It takes O(n log n) for each of some hundred candidates per digit: a few seconds for 10,000 rows.
    """
    found = contrast("Hodges-Lehmann shift", x, labels, groups, epsilon, options)
    return found.question.account.close(_drawn(found))


def step(found: Contrast, sizes: Sizes) -> Fraction | None:
    """How far S(y) may move per person, on the scale of the sizes as they are; None without rows."""
    rows = found.question.rows
    if found.labelled is not None:
        large = max(found.labelled) or max(sizes)  # advice is about other sizes, also where nobody has a label
        return Fraction(2 * large * rows) if large else None
    h = weight(*sizes)
    moves = MOVES if found.question.adjacency.size_is_public else COMES
    return Fraction(moves) * rows / h if h else None


def bears(found: Contrast, sizes: Sizes) -> int:
    """κ: the last k with t_k < m, so that both ends are differences of rows."""
    each = step(found, sizes)
    return -1 if each is None else math.ceil(sizes[0] * sizes[1] / each) - 1


def _drawn(found: Contrast) -> Outcome[float]:
    question, known = found.question, found.known

    def room(_: int) -> int:
        return bears(found, known or (0, 0))

    def fits(size: int, moves: int) -> bool:
        return bears(found, (size // 2, size // 2)) * question.rows >= moves

    rows = sum(known or (0, 0))
    advice = partial(inverse_advice, fits, rows, question)
    seen = sight(room, rows, question, 1, LATTICES)
    if seen is None:
        return question.refuse(HOW, advice())
    sizes, lattice = found.sizes, seen[0]
    kept, steps = bears(found, sizes), saturated(seen[1], sum(sizes), question.rows)
    one, other = found.samples.values
    each = step(found, sizes) or Fraction(1)
    reach = PairwiseShift(one, other, each, steps, lattice.values, lattice.top)
    value = inverse_sensitivity(
        reach,
        steps,
        question.account,
        Refusal(kept, question.size_is_secret),
        granularity=question.granularity,
        lattice=lattice,
    )
    if value is None:
        return question.refuse(HOW, advice())
    return Outcome(value, HOW, notes=found.notes)
