"""The difference between a quantile of two groups, by one draw: what is asked, and of which rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

from uptack import checks
from uptack.account import Outcome
from uptack.exact import Rational
from uptack.mechanisms.inverse_sensitivity import LATTICES, Refusal, inverse_sensitivity
from uptack.ranks.rank_data import Samples, public_groups, samples
from uptack.ranks.rank_options import PUBLIC_LABELS, LabelOptions, labels_are_public
from uptack.reach.group_difference import Difference
from uptack.reach.l_statistics import quantile_rank
from uptack.statistics.column_options import Question, read_question
from uptack.statistics.release_methods import inverse_advice, saturated, sight
from uptack.table.protocol import Column

HOW = "inverse sensitivity"
Sizes = tuple[int, int]
EXAMPLE = {"groups": (1, 0)}


class ContrastOptions(LabelOptions, total=False):
    """What a difference between groups can be told beside.

    - `granularity`: a public step that all values are multiples of, and the answer will be; integers have 1.
    """

    granularity: Rational | None


@dataclass(frozen=True, eq=False)
class Contrast:
    """What was asked of two groups: a question to pay from, their values, and who knows their sizes.

    `together` says that one row may move both groups: it is replaced, and its label is part of it.
    """

    question: Question
    samples: Samples
    labelled: Sizes | None

    @cached_property
    def groups(self) -> tuple[Column, Column]:
        """The values of both. A dry run stops here."""
        one, other = self.samples.parts
        return one, other

    @property
    def sizes(self) -> Sizes:
        """How many values each group has: secret, unless the question says otherwise."""
        return self.groups[0].count(), self.groups[1].count()

    @property
    def known(self) -> Sizes | None:
        """The sizes of both groups where they are public; the largest that both can have where only that is known."""
        if not self.question.size_is_secret:
            return self.labelled
        most = self.question.at_most
        return None if most is None else ((most + 1) // 2, (most + 1) // 2)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of the labels."""
        return () if self.labelled is None else (PUBLIC_LABELS,)

    @property
    def together(self) -> bool:
        """Whether a replaced row may go over to the other group."""
        return self.labelled is None and self.question.adjacency.size_is_public


def contrast(name: str, x: Any, labels: Any, groups: Any, epsilon: Rational, options: Mapping[str, Any]) -> Contrast:
    """The checked arguments, and the values by group."""
    told = {key: value for key, value in options.items() if key not in ("missing", "public_labels")}
    question = read_question(name, epsilon, told)
    missing = checks.choice("missing", options.get("missing", "error"), ("error", "ignore"))
    found = samples(x, labels, public_groups(groups, 2, 2), missing)
    public = labels_are_public(question.account, options, found.in_table)
    secret = missing == "ignore" or not public
    most = found.size if secret and question.adjacency.size_is_public else None
    question = replace(question, missing="drop" if secret else None, at_most=most)
    if found.x.integers:
        question = replace(question, granularity=question.granularity or Fraction(1))
    return Contrast(question, found, (found.sizes[0], found.sizes[1]) if public else None)


def _ranks(p: Fraction, sizes: Sizes) -> Sizes:
    return quantile_rank(p, sizes[0]), quantile_rank(p, sizes[1])


def _room(p: Fraction, sizes: Sizes, rows: int) -> int:
    """For how many steps both ends of the intervals are inside the data: it moves by at most one per person."""
    return min(min(r - 1, n - r) for r, n in zip(_ranks(p, sizes), sizes, strict=True)) // rows


def difference(found: Contrast, p: Fraction) -> Outcome[float]:
    """The difference by one draw; ⊥ is free where public numbers decide it, and a candidate otherwise."""
    question, known = found.question, found.known

    def room(_: int) -> int:  # groups of one size have the most room
        return _room(p, known or (0, 0), question.rows)

    def fits(size: int, moves: int) -> bool:
        return _room(p, (size // 2, size // 2), 1) >= moves

    rows = sum(known or (0, 0))
    advice = partial(inverse_advice, fits, rows, question)
    seen = sight(room, rows, question, 1, LATTICES)
    if seen is None:
        return question.refuse(HOW, advice())
    sizes = found.sizes
    lattice, steps = seen[0], saturated(seen[1], sum(sizes), question.rows)
    reach = Difference(*found.groups, _ranks(p, sizes), steps, question.rows, found.together)
    refusal = Refusal(_room(p, sizes, question.rows), question.size_is_secret)
    value = inverse_sensitivity(
        reach,
        steps,
        question.account,
        refusal,
        granularity=question.granularity,
        lattice=lattice,
    )
    if value is None:
        return question.refuse(HOW, advice())
    return Outcome(value, HOW, notes=found.notes)
