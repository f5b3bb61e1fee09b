"""A private count: the two-sided geometric mechanism."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import replace
from numbers import Integral
from typing import Any, Unpack

import numpy as np

from uptack import checks
from uptack.discrete.count_errors import one_count
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.grouping import per_group
from uptack.mechanisms import laplace
from uptack.noise import Entropy
from uptack.noise.integer_laplace import LARGEST_SCALE
from uptack.privacy import SUBSTITUTE, Adjacency
from uptack.privacy.adjacency import adjacency as check_adjacency
from uptack.registry import release
from uptack.registry.options import PureGrouping
from uptack.release import Release
from uptack.table.protocol import Column
from uptack.table.reads import FLAGS
from uptack.table.unit import ROW, PrivacyUnit
from uptack.table.values.entrance import flags

LARGEST = 1 << 52
"""Larger counts are read as this one, which brings no two of them further apart."""


def _unit(rows: Any) -> PrivacyUnit:
    """What one person can change."""
    found: PrivacyUnit = rows.unit if isinstance(rows, Column) or hasattr(rows, "trues") else ROW
    return found


def _true_count(rows: Any, relation: Adjacency) -> int:
    """What is to be counted. The type decides how, never the content: else one row could change
    what is counted."""
    if isinstance(rows, Integral) and not isinstance(rows, bool | np.bool_):
        return int(rows)
    if isinstance(rows, Column):
        unit, flagged = rows.unit, rows.kind in ("boolean", "any")
        if not flagged and unit.share != "rows":
            _check_secret(relation, "a column of truth values", rows.kind)
        return rows.table.trues(rows.name if flagged else None, unit.at_most or 1)
    if hasattr(rows, "trues"):  # a table, of which all rows are counted
        counted: int = rows.trues(None, rows.unit.at_most or 1)
        return counted
    if isinstance(rows, str | bytes) or not isinstance(rows, Sized) or getattr(rows, "ndim", 1) == 0:
        must = "an integer, a column of truth values or, under ADD_REMOVE, any table"
        raise InvalidArgument("rows", must, checks.outline(rows))
    truths = flags(rows)
    if truths is not None:
        return int(np.count_nonzero(truths))
    _check_secret(relation, "an integer or a column of truth values", checks.outline(rows))
    return len(rows)


def _check_secret(relation: Adjacency, must: str, got: object) -> None:
    """A public number is not counted."""
    if relation.size_is_public:
        fix = f"The number of {relation.unit} is public; pass adjacency=ADD_REMOVE to count them privately."
        raise InvalidArgument("rows", must, got, fix)


@release(reads=FLAGS, by=per_group, people=True, data=("rows",), missing=None, plan=one_count)
def count(
    rows: Any,
    *,
    epsilon: Rational,
    nonnegative: bool = False,
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
    **_: Unpack[PureGrouping],
) -> Release[int]:
    """How many, with two-sided geometric noise: ε-differentially private.

    `rows` is the count itself, or a column of truth values whose True ones are counted, or under `ADD_REMOVE` any other
    array or table, of which the rows are counted. A list, or a column of Python objects, has no declared type and is
    read as truth values, row by row: what is not True is not counted.

    **Theorem.** A person with up to g rows moves a count by at most g, whether rows are replaced or added and removed.
    The count plus z with P(z = k) proportional to e^(-ε|k|/g) is ε-differentially private (Hall, Prop. 1.3.1, on the
    integers); E|z| = 1/sinh(ε/g), below g/ε. `nonnegative=True` lifts an answer below 0 to 0: post-processing.

    With `person=` people are counted who have a row that is True, or under `ADD_REMOVE` any row at all: one moves the
    count by 1. With `weights="rows", at_most=g` their rows are counted, Σ min(rows of a person, g): one moves it by g.
    With `by=` each group is counted, for one ε (`uptack.per_group`).

    >>> from uptack.noise import SeededEntropy
    >>> count([True, False, True] * 400, epsilon=1, entropy=SeededEntropy(7))
    Release(800, count, ε = 1.0 (substitute), NOT PRIVATE: seeded randomness)
    """
    eps, lifted = checks.epsilon(epsilon), checks.truth("nonnegative", nonnegative)
    relation = check_adjacency(adjacency, rows_per_person)
    sensitivity = relation.rows_per_person * (_unit(rows).at_most or 1)
    if sensitivity > eps * LARGEST_SCALE:  # said before the rows are counted
        fix = "State fewer rows per person, or spend more."
        raise InvalidArgument("epsilon", f"at least {sensitivity / LARGEST_SCALE:.2g} here", float(eps), fix)
    noisy = laplace(
        min(max(_true_count(rows, relation), 0), LARGEST),
        sensitivity=sensitivity,
        epsilon=epsilon,
        granularity=1,
        adjacency=relation,
        entropy=entropy,
    )
    value = int(noisy.value)
    return replace(noisy, value=max(value, 0) if lifted else value, mechanism="count")
