"""Rows side by side, and values by group: what rank statistics are made from."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from uptack import checks
from uptack.columns import containers
from uptack.columns.entrance import column, field, matrix
from uptack.columns.kinds import canonical
from uptack.columns.numeric import LARGEST
from uptack.columns.selection import Floats
from uptack.columns.unread import UnreadRows
from uptack.errors import InvalidArgument

FIX = "Pass missing='ignore': such a row then takes part in nothing."


@dataclass(frozen=True, eq=False)
class CompleteRows:
    """The rows that have all their values, one line each, of a table of so many rows. Names of columns are public."""

    values: Floats
    size: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Samples:
    """The values of each of some public groups, of a table of so many rows.

    `sizes` says how many rows have each label, those without a value too. `in_table` says that the labels are a column
    of a table, as in a session, where an analyst can't declare them public. `whole` says that values are integers by
    their type.
    """

    values: tuple[Floats, ...]
    sizes: tuple[int, ...]
    size: int
    in_table: bool = False
    whole: bool = False


def ready(values: Floats, missing: str) -> Floats:
    """Lines of numbers without those that lack one; ±inf is ±the largest float, as it is everywhere."""
    if missing == "error":
        if not np.isfinite(values).all():
            raise InvalidArgument("x", "free of NaN and infinities", "some", FIX)
        return values
    known = ~np.isnan(values) if values.ndim == 1 else ~np.isnan(values).any(axis=1)
    kept: Floats = np.clip(values[known], -LARGEST, LARGEST)
    return kept


def complete_rows(columns: dict[str, Any], missing: str) -> CompleteRows | UnreadRows:
    """Columns of one length side by side; or rows that a session has read, or not read yet, in the first argument."""
    first = next(iter(columns.values()))
    if isinstance(first, CompleteRows | UnreadRows):
        return first
    parts = [column(name, x).floats() for name, x in columns.items()]
    for name, part in zip(columns, parts, strict=True):
        if part.size != parts[0].size:
            raise InvalidArgument(name, f"as long as the first column, {parts[0].size} rows", f"{part.size} rows")
    return CompleteRows(ready(np.column_stack(parts), missing), parts[0].size)


def complete_table(x: Any, missing: str, least: int = 2) -> CompleteRows | UnreadRows:
    """A table of numbers of so many columns or more, by their names where it has them."""
    if isinstance(x, CompleteRows | UnreadRows):
        return x
    values, must = matrix("x", x, f"a table of numbers with at least {least} columns"), f"at least {least} columns"
    if values.ndim != 2 or values.shape[1] < least:
        raise InvalidArgument("x", f"a table of numbers with {must}", checks.outline(values))
    named = containers.frame(x)
    names = range(values.shape[1]) if named is None else (label for label, _ in named)
    return CompleteRows(ready(values, missing), len(values), tuple(map(str, names)))


def public_groups(groups: Any, least: int, most: int | None) -> tuple[Hashable, ...]:
    """So many distinct public labels."""
    number = str(least) if least == most else f"{least} or more" if most is None else f"{least} to {most}"
    must = f"a list of {number} distinct labels"
    if isinstance(groups, str) or not isinstance(groups, list | tuple | np.ndarray):
        raise InvalidArgument("groups", must, checks.describe(groups), "They are public: fixed before data are seen.")
    found = tuple(canonical(group) for group in groups)
    if len(set(found)) != len(found) or len(found) < least or (most is not None and len(found) > most):
        raise InvalidArgument("groups", must, f"{len(found)} of them")
    if None in found:
        raise InvalidArgument("groups", must, "a missing value", "A row without a label is in no group.")
    return found


def samples(x: Any, labels: Any, groups: tuple[Hashable, ...], missing: str) -> Samples | UnreadRows:
    """The values of each group. A row with another label, or with none, is in no group and takes part in nothing."""
    if isinstance(x, Samples | UnreadRows):
        return x if isinstance(x, UnreadRows) else checked(x, missing)
    found, marks = column("x", x), field("labels", labels, "a one-dimensional column of labels", "Pick one column.")
    if found.size != marks.size:
        raise InvalidArgument("labels", f"as long as x, {found.size} rows", f"{marks.size} rows")
    number = {group: i for i, group in enumerate(groups)}
    place = np.array([number.get(canonical(mark), -1) for mark in marks.array()], np.int64)
    values = found.floats()
    parts = tuple(values[place == i] for i in range(len(groups)))
    whole = found.kind in ("integer", "boolean")
    return checked(Samples(parts, tuple(part.size for part in parts), found.size, whole=whole), missing)


def checked(read: Samples, missing: str) -> Samples:
    """The same without values that are missing, or an error about them."""
    return Samples(
        tuple(ready(part, missing) for part in read.values), read.sizes, read.size, read.in_table, read.whole
    )
