"""The inputs of rank statistics: options, complete rows, and the values of public groups."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.registry import release
from uptack.statistics.column_options import Promises
from uptack.table.exact_sum import Floats
from uptack.table.memory.table import MemoryTable
from uptack.table.names import distinct
from uptack.table.protocol import Column, Columns, GroupedTable, Rows
from uptack.table.reads import LABELLED
from uptack.table.values.entrance import column_field
from uptack.table.values.kinds import NUMERIC, canonical

GRID = 1 << 16
"""Fractions are rounded to multiples of 1/GRID, which costs less than a part in 60,000 of the noise."""

two_samples = partial(release, reads=LABELLED, people="each", data=("x", "labels"), missing="drop")
EXAMPLE = {"groups": (1, 0)}

LARGEST_NOISE = Fraction(1, 5)
"""The largest scale of noise on τ, or on a probability, for a reply. With more noise the reply is ⊥."""


class RankOptions(Promises, total=False):
    """Options of a rank statistic.

    - `missing`: with "error" (default) NaN and infinities are an error. With "drop" rows that lack a value are left
      out, and the number of rows is secret; ±inf is read as ±the largest float.
    """

    missing: str


class LabelOptions(RankOptions, total=False):
    """Options of a rank statistic of labelled rows.

    - `public_labels`: True if everybody may know which row has which label. Neighbours then keep their labels, and
      only values are protected. By default a label is as secret as the value beside it. Sessions have no public labels.
    """

    public_labels: bool


def open_account(name: str, epsilon: Rational, options: Mapping[str, Any]) -> tuple[Account, str]:
    """The checked account of a release, and its `missing` option."""
    promised = {key: options[key] for key in Promises.__annotations__ if key in options}
    missing = checks.choice("missing", options.get("missing", "error"), ("error", "drop"))
    return Account.open(name, epsilon, **promised), missing


def labels_are_public(account: Account, options: Mapping[str, Any], in_table: bool) -> bool:
    """Whether labels are public: only if the number of rows is, and never in a session."""
    if not options.get("public_labels", False):
        return False
    if account.adjacency.person:
        fix = "A person with other rows may have other labels too."
        raise InvalidArgument("public_labels", "False if people are protected", "True", fix)
    if not account.adjacency.size_is_public:
        fix = "Adding or removing a row would also add or remove its label."
        raise InvalidArgument("public_labels", "False under ADD_REMOVE", "True", fix)
    if in_table:
        fix = "A request can't make a column public. Call the function itself on public labels."
        raise InvalidArgument("public_labels", "False in a session", "True", fix)
    return True


PUBLIC_LABELS = "The labels are taken to be public, so only the values are protected."


DEPENDENT = "Intervals and p-values assume that all rows are independent, including rows of one person."


def label_notes(account: Account, public: bool) -> tuple[str, ...]:
    """Notes for results of labelled rows."""
    return ((PUBLIC_LABELS,) if public else ()) + sampling_note(account)


def sampling_note(account: Account) -> tuple[str, ...]:
    """A note for results in which one person may have several rows."""
    return (DEPENDENT,) if account.rows > 1 else ()


def complete_rows(columns: Columns, missing: str) -> Rows:
    """The rows that have all their values, with ±inf as ±the largest float. With "error" there must be no others.

    **Lemma.** If each person has one number per column, rows that lack a value are left out first. So a person's line
    is a function of her rows alone: replacing her rows replaces one line, removes it, or adds it. What is private for
    one line is private for one person. ∎
    """
    if missing == "error":
        _check_finite(columns)
    return columns.rows("clip")


def _check_finite(columns: Iterable[Column]) -> None:
    if not all(column.finite() for column in columns):
        fix = "Pass missing='drop' to leave out such rows."
        raise InvalidArgument("x", "free of NaN and infinities", "some", fix)


@dataclass(frozen=True, eq=False)
class Samples:
    """The values of each public group. Rows with another label, or with none, are left out.

    Each person is in one group at most (`uptack.table.protocol.GroupedTable`): her label and her number are functions
    of her rows alone. `in_table` says that the labels are a column of a table, as in a session, where an analyst can't
    declare them public.
    """

    x: Column
    labels: Column
    groups: tuple[Hashable, ...]
    in_table: bool

    @property
    def size(self) -> int:
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
        by_label = {canonical(label): int(size) for label, size in zip(labels, sizes, strict=True)}
        return tuple(by_label.get(group, 0) for group in self.groups)


def samples(x: Any, labels: Any, groups: tuple[Hashable, ...], missing: str) -> Samples:
    """The values of each group, from columns of a table or from a caller's data."""
    in_table = isinstance(x, Column)
    if not in_table:
        values = column_field("x", x, NUMERIC)
        marks = column_field("labels", labels, None, "a one-dimensional column of labels")
        if values.size != marks.size:
            raise InvalidArgument("labels", f"as long as x, {values.size} rows", f"{marks.size} rows")
        table = MemoryTable.of({"x": values, "labels": marks})
        x, labels = table.column("x"), table.column("labels")
    # labels as rows of this kind would hold them, so that each row has one of them at most
    own = distinct("groups", groups, [labels.kind], "distinct values of the column's type")
    data = Samples(x, labels, own, in_table)
    if missing == "error" and not data.x.finite():  # in some group, or in none
        _check_finite(data.parts)
    return data


def public_groups(groups: Any, least: int, most: int) -> tuple[Hashable, ...]:
    """Distinct public labels, from `least` to `most` of them."""
    number = str(least) if least == most else f"{least} to {most}"
    must = f"a list of {number} distinct labels"
    if not isinstance(groups, list | tuple | np.ndarray) or getattr(groups, "ndim", 1) != 1:
        raise InvalidArgument("groups", must, checks.describe(groups), "They are public: fixed before data are seen.")
    labels = tuple(canonical(group) for group in groups) if len(groups) <= most else ()
    if len(set(labels)) != len(groups) or len(groups) < least:
        raise InvalidArgument("groups", must, f"{len(groups)} of them")
    if None in labels:
        raise InvalidArgument("groups", must, "a missing value", "A row without a label is in no group.")
    return labels
