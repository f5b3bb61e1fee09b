"""A private count: the two-sided geometric mechanism."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import replace
from numbers import Integral
from typing import Any, Unpack

import numpy as np

from uptack import checks
from uptack.account import Account
from uptack.discrete.categories import Screen
from uptack.discrete.cells_per_person import counting
from uptack.discrete.count_errors import one_count
from uptack.discrete.count_noise import cell_noise
from uptack.discrete.domains import public_groups
from uptack.discrete.histograms import (
    CountNoise,
    Histogram,
    check_limit,
    fitted,
    in_steps,
    largest,
    said,
    shown_by,
)
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms import laplace
from uptack.mechanisms.additive_noise import IntegerNoise
from uptack.noise import Entropy
from uptack.noise.integer_laplace import LARGEST_SCALE
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Adjacency, loss
from uptack.privacy.guarantee import adjacency as check_adjacency
from uptack.registry import release
from uptack.registry.options import PureGrouping
from uptack.release import Release
from uptack.table.conditions import conditions
from uptack.table.names import distinct, group_key
from uptack.table.protocol import Column
from uptack.table.reads import FLAGS, Grouped
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
        return rows.table.trues(rows.name if flagged else None, _cap(unit))
    if hasattr(rows, "trues"):  # a table, of which all rows are counted
        counted: int = rows.trues(None, _cap(rows.unit))
        return counted
    if isinstance(rows, str | bytes) or not isinstance(rows, Sized) or getattr(rows, "ndim", 1) == 0:
        must = "an integer, a column of truth values or, under ADD_REMOVE, any table"
        raise InvalidArgument("rows", must, checks.outline(rows))
    truths = flags(rows)
    if truths is not None:
        return int(np.count_nonzero(truths))
    _check_secret(relation, "an integer or a column of truth values", checks.outline(rows))
    return len(rows)


def _cap(unit: PrivacyUnit) -> int:
    """How many rows of one person count."""
    return unit.at_most or 1 if unit.share == "rows" else 1


def _check_secret(relation: Adjacency, must: str, got: object) -> None:
    """A public number is not counted."""
    if relation.size_is_public:
        fix = f"The number of {relation.unit} is public; pass adjacency=ADD_REMOVE to count them privately."
        raise InvalidArgument("rows", must, got, fix)


def count_by_group(
    f: Any,
    data: Grouped,
    *,
    epsilon: Rational,
    groups: Any = None,
    delta: Rational = 0,
    share: Any = None,
    groups_per_person: int | None = None,
    nonnegative: bool = False,
    rows_per_person: int = 1,
    adjacency: Adjacency = ADD_REMOVE,
    entropy: Entropy | None = None,
) -> Release[Histogram]:
    """The rows, or the people, of each group: the same mechanism as a histogram of the columns of groups.

    **Theorem.** A row is in one group, so the counts are a table of cells (`uptack.discrete.histograms.histogram`).
    Public groups get integer noise on each of them, ε-private. Unknown ones are shown where their noisy count reaches a
    cutoff, (ε, δ)-private (`uptack.discrete.categories.Screen`): the count that is shown is the one that was compared,
    so no part of ε is set aside for a list. With `person=` a group counts the people who have a row in it, up to g
    groups of each person, as a histogram does.
    """
    eps, relation = checks.epsilon(epsilon), check_adjacency(adjacency, rows_per_person)
    lifted = checks.truth("nonnegative", nonnegative)
    if share is not None:
        fix = "The counts themselves decide which groups are listed; no part of ε is set aside for a list."
        raise InvalidArgument("share", "left out for counts", checks.describe(share), fix)
    public = None if groups is None else public_groups(groups)
    if public is not None:
        distinct("groups", public, data.groups.kinds, "a list of groups that rows can tell apart")
    failing = checks.delta("delta", delta)
    if public is None and failing == 0:
        fix = "List the public groups, or pass delta=1e-6 to find the groups with enough rows."
        raise InvalidArgument("groups", "given where δ is 0", "None", fix)
    (rows,) = data.arguments
    unit = _unit(rows)
    if groups_per_person is not None and unit.share != "any":
        fix = "A row is in one group." if not relation.person else "It goes with counts of people."
        raise InvalidArgument("groups_per_person", "left out here", checks.describe(groups_per_person), fix)
    if groups_per_person is not None:
        unit = replace(unit, at_most=checks.integer("groups_per_person", groups_per_person, least=1))
    limit, left = check_limit(unit, eps, None if public is None else len(public))
    cell_noise(left, relation, most=largest(unit, limit).most)  # an ε that is too small is refused before rows are read
    counted = data.groups if public is None else data.groups.among(public)
    if isinstance(rows, Column) and rows.kind in ("boolean", "any"):
        counted = counted.where(conditions({rows.name: True}, {rows.name: rows.kind}))
    account = Account.open("count per group", eps, failing, adjacency=relation, entropy=entropy)
    if limit is not None:
        unit = replace(unit, at_most=limit.choose(counted.per_person, account))
    note = counting(unit, limit, "groups")
    if public is None:
        return shown_by(Screen.of(left, failing, relation, unit), counted.sizes(unit), account, (note,))
    found, many = counted.sizes(unit)
    known = {group_key(group, counted.kinds): int(n) for group, n in zip(found, many, strict=True)}
    law = cell_noise(left, relation, most=unit.most)
    exact = np.array([known.get(group_key(group, counted.kinds), 0) for group in public], many.dtype)
    noisy = account.draw(IntegerNoise(loss.Pure(left), law), exact)
    value = Histogram(public, fitted(in_steps(noisy, unit.step), None, lifted))
    return account.release(value, CountNoise(law, noisy, unit.step), said(note))


@release(reads=FLAGS, by=count_by_group, people=True, data=("rows",), missing=None, plan=one_count)
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
    With `by=` each group is counted, as in a histogram of its columns (`count_by_group`).

    >>> from uptack.noise import SeededEntropy
    >>> count([True, False, True] * 400, epsilon=1, entropy=SeededEntropy(7))
    Release(800, count, ε = 1.0 (substitute), NOT PRIVATE: seeded randomness)
    """
    eps, lifted = checks.epsilon(epsilon), checks.truth("nonnegative", nonnegative)
    relation = check_adjacency(adjacency, rows_per_person)
    sensitivity = relation.rows_per_person * _cap(_unit(rows))
    if sensitivity > eps * LARGEST_SCALE:  # said before the rows are counted
        fix = "Pass a larger epsilon, or fewer rows per person."
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
