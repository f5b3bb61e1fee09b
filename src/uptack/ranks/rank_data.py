"""What rank statistics are made from: options, rows side by side, and the values of public groups."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.statistics.column_options import Promises
from uptack.table.arguments import column_field
from uptack.table.exact_sum import Floats
from uptack.table.memory.table import MemoryTable
from uptack.table.names import distinct
from uptack.table.protocol import Column, Columns, GroupedTable, Rows
from uptack.table.values.kinds import NUMERIC, Kind, canonical

GRID = 1 << 16
"""Fractions are rounded to multiples of 1/GRID, which costs less than a part in 60,000 of the noise."""

LARGEST_NOISE = Fraction(1, 5)
"""The largest scale of noise on a τ or on a probability that is worth a reply. With more there is ⊥."""


class RankOptions(Promises, total=False):
    """Options of a rank statistic.

    - `missing`: "error" (default) tells the curator of NaN and infinities. With "ignore" a row that lacks a value takes
      part in nothing, and how many do is secret; ±inf is read as ±the largest float.
    """

    missing: str


class LabelOptions(RankOptions, total=False):
    """The same where rows have labels.

    - `public_labels`: True where everybody may know which row has which label. Neighbours then keep their labels, and
      only values are protected. By default a label is as secret as the value beside it. Sessions have no public labels.
    """

    public_labels: bool


def open_account(name: str, epsilon: Rational, options: Mapping[str, Any]) -> tuple[Account, str]:
    """The checked account of a release, and what is done with missing values."""
    promised = {key: options[key] for key in Promises.__annotations__ if key in options}
    missing = checks.choice("missing", options.get("missing", "error"), ("error", "ignore"))
    return Account.open(name, epsilon, **promised), missing


def labels_are_public(account: Account, options: Mapping[str, Any], in_table: bool) -> bool:
    """Whether labels are public: only where the number of rows is, and never in a session."""
    if not options.get("public_labels", False):
        return False
    if account.adjacency.person:
        fix = "A person with other rows may have other labels too."
        raise InvalidArgument("public_labels", "False where people are the unit", "True", fix)
    if not account.adjacency.size_is_public:
        fix = "Adding or removing a row would also add or remove its label."
        raise InvalidArgument("public_labels", "False under ADD_REMOVE", "True", fix)
    if in_table:
        fix = "A request can't make a column public. Call the function itself on public labels."
        raise InvalidArgument("public_labels", "False in a session", "True", fix)
    return True


PUBLIC_LABELS = "The labels are taken to be public, so only the values are protected."


DEPENDENT = "Intervals and p-values assume that all rows are independent, including rows of one person."


def sampling_note(account: Account) -> tuple[str, ...]:
    """What a reader must know where one person may have several rows."""
    return (DEPENDENT,) if account.rows > 1 else ()


MUST = "a one-dimensional column of labels"


def complete_rows(columns: Columns, missing: str) -> Rows:
    """The rows that have all their values, with ±inf as ±the largest float; it is an error that some lack one, if so
    asked.

    **Lemma.** Where people are one number each, rows that lack a value are left out first, and then each column is one
    number per person. So a person's line is a function of her rows alone: replacing her rows replaces one line, or
    takes it away, or adds it. What is private for one row of lines is private for one person. ∎
    """
    if missing == "error":
        _check_finite(columns)
    return columns.rows("clip")


def _check_finite(columns: Iterable[Column]) -> None:
    """Tells the curator where rows must have a value and some have none."""
    if not all(column.finite() for column in columns):
        fix = "Pass missing='ignore' to leave out such rows."
        raise InvalidArgument("x", "free of NaN and infinities", "some", fix)


@dataclass(frozen=True, eq=False)
class Samples:
    """The values of each of some public groups. A row with another label, or with none, takes part in nothing.

    Each person is in one group at most (`uptack.table.protocol.GroupedTable`): her label and her number are functions
    of her rows alone, as a row's are. `in_table` says that the labels are a column of a table, as in a session, where
    an analyst can't declare them public.
    """

    x: Column
    labels: Column
    groups: tuple[Hashable, ...]
    in_table: bool

    @property
    def size(self) -> int:
        """All rows of the table, or all its people."""
        return self.x.table.size

    @cached_property
    def _grouped(self) -> GroupedTable:
        return self.x.table.groups([self.labels.name])

    @cached_property
    def parts(self) -> tuple[Column, ...]:
        """The values of each group, without those that are missing. A dry run stops here."""
        return tuple(self.x.of(self._grouped.part(group)).drop() for group in self.groups)

    @cached_property
    def values(self) -> tuple[Floats, ...]:
        """The same in memory."""
        return tuple(part.rows.in_memory().lines[0] for part in self.parts)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many rows have each label, those without a value too: public where labels are."""
        labels, sizes = self._grouped.sizes()
        found = {canonical(label): int(size) for label, size in zip(labels, sizes, strict=True)}
        return tuple(found.get(group, 0) for group in self.groups)


def samples(x: Any, labels: Any, groups: tuple[Hashable, ...], missing: str) -> Samples:
    """The values of each group: of columns of a table, or of a caller's data."""
    found = _labelled(x, labels, groups)
    if missing == "error" and not found.x.finite():  # in some group, or in none
        _check_finite(found.parts)
    return found


def _labelled(x: Any, labels: Any, groups: tuple[Hashable, ...]) -> Samples:
    if isinstance(x, Column):
        return Samples(x, labels, _distinct_labels(groups, labels.kind), in_table=True)
    values, marks = column_field("x", x, NUMERIC), column_field("labels", labels, None, MUST)
    if values.size != marks.size:
        raise InvalidArgument("labels", f"as long as x, {values.size} rows", f"{marks.size} rows")
    table = MemoryTable.of({"x": values, "labels": marks})
    return Samples(table.column("x"), table.column("labels"), _distinct_labels(groups, marks.kind), in_table=False)


def _distinct_labels(groups: tuple[Hashable, ...], kind: Kind) -> tuple[Hashable, ...]:
    """Labels as rows of this kind would hold them. Each row has one of them at most."""
    return distinct("groups", groups, [kind], "labels that rows of the column can tell apart")


def public_groups(groups: Any, least: int, most: int) -> tuple[Hashable, ...]:
    """So many distinct public labels."""
    number = str(least) if least == most else f"{least} to {most}"
    must = f"a list of {number} distinct labels"
    if not isinstance(groups, list | tuple | np.ndarray) or getattr(groups, "ndim", 1) != 1:
        raise InvalidArgument("groups", must, checks.describe(groups), "They are public: fixed before data are seen.")
    if len(groups) > most:
        raise InvalidArgument("groups", must, f"{len(groups)} of them")
    found = tuple(canonical(group) for group in groups)
    if len(set(found)) != len(found) or not least <= len(found) <= most:
        raise InvalidArgument("groups", must, f"{len(found)} of them")
    if None in found:
        raise InvalidArgument("groups", must, "a missing value", "A row without a label is in no group.")
    return found
