"""How a multivariate release gets at its rows: what is asked, the rows, and a scale and a centre for every column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account
from uptack.errors import InvalidArgument
from uptack.labels import label
from uptack.multivariate.row_sums import Sample
from uptack.multivariate.standardise import Frame, centres, scales
from uptack.noise import IntegerLaplace
from uptack.statistics.column_options import noisy_size
from uptack.table.memory.table import MemoryTable, as_columns
from uptack.table.protocol import Column, Columns
from uptack.table.values.entrance import column_field, matrix_fields

MISSING = ("error", "drop")
COUNT = Fraction(1, 50)
"""The part of ε that buys the number of rows, where rows are added and removed."""

ROOM = 50
"""Rows per column and ε, for scales that are right: with as many, all columns are within a factor of 4 in simulations,
also where their units are six powers of ten apart; with a fifth less, one in 100 is not."""

BINARY = 0.5
"""The scale of a column that is declared to be 0 or 1."""


def read_columns(name: str, x: Any, least: int = 1) -> Columns:
    """Columns of numbers side by side."""
    must = f"a table of numbers with at least {'one column' if least == 1 else 'two columns'}"
    found = as_columns(name, x, must)
    if len(found) < least:  # says nothing about the number of rows, which may be secret
        raise InvalidArgument(name, must, "one" if found else "none")
    return found


def read_design(x: Any, y: Any) -> tuple[Columns, Column]:
    """X and y as columns of one table."""
    if isinstance(y, Column):
        return read_columns("X", x), y
    must = "a table of numbers with at least one column"
    design, response = matrix_fields("X", x, must), column_field("y", y)
    size = next((one.size for one in design.values()), None)
    if size is None:
        raise InvalidArgument("X", must, "none")
    if response.size != size:
        raise InvalidArgument("y", f"as long as X, {size} rows", f"{response.size} rows")
    table = MemoryTable.of({**{f"X[{label}]": one for label, one in design.items()}, "y": response})
    *columns, last = map(table.column, table.fields)
    return Columns(columns), last


def complete_rows(columns: Columns, missing: str, classes: bool = False) -> Sample:
    """The complete rows. Others are an error for the curator, or contribute nothing. y may be one of two `classes`."""
    rows = columns.rows("drop")
    if missing == "error" and rows.lacking():
        must, fix = "free of NaN and infinities", "Pass missing='drop' to leave such rows out."
        if classes:
            must += ", and y one of the two classes in every row"
            fix = "Declare the classes, as in classes=('no', 'yes'), or pass missing='drop' to leave such rows out."
        objects = ", ".join(label(column.name) for column in columns if column.kind == "any")
        which = f"columns of dtype object ({objects})" if objects else "columns of dtype object"
        fix += f" Texts in {which} count as missing: in a formula, write C(name) for a column of categories."
        fix += " Values other than the declared levels count as missing, too."
        raise InvalidArgument("X and y", must, "some", fix)
    return Sample.of(rows)


def binary_columns(value: Any, columns: int, names: tuple[str, ...] = ()) -> tuple[int, ...]:
    """The numbers of the columns that are declared to be 0 or 1, by numbers or by names.

    >>> binary_columns(["sex", 0], 3, ("age", "dose", "sex"))
    (0, 2)
    """
    declared = [] if value is None else list(value) if isinstance(value, list | tuple | range | np.ndarray) else [value]
    for one in declared:
        if isinstance(one, str) and not names:
            must, fix = "column numbers, because X has no column names", "Pass a data frame to use names."
            raise InvalidArgument("binary", must, repr(one), fix)
        if isinstance(one, str) and one not in names:
            raise InvalidArgument("binary", f"columns of X, {', '.join(map(repr, names))}", repr(one))
        if isinstance(one, str) and names.count(one) > 1:
            raise InvalidArgument("binary", "a number where several columns have one name", repr(one))
    places = {names.index(x) if isinstance(x, str) else checks.integer("binary", x, least=0) for x in declared}
    if places and max(places) >= columns:
        must = f"column numbers from 0 to {columns - 1}{', or their names' if names else ''}"
        raise InvalidArgument("binary", must, max(places))
    return tuple(sorted(places))


PAIRED = 1 - 3 * math.exp(-2)
"""The share of slots that get two rows or more, where each of n rows chooses one of n/2."""


@dataclass(frozen=True)
class Sized:
    """The number of rows as everybody may know it: public, or with noise; and whether it is the number of all rows.

    Where rows are replaced and some may be missing, the length of the table is public; how many are complete is not.
    Of people's rows it is the number of people. `slots` is how many there are for pairs of complete rows; without them
    pairs are of all rows.
    """

    rows: int
    exact: bool
    account: Account
    slots: int | None = None

    @property
    def n(self) -> float | None:
        """The number of rows that sums run over; None where only the sums can tell."""
        return float(self.rows) if self.exact else None


def read_size(rows: Sample, missing: str, account: Account) -> Sized:
    """The number of rows, bought where rows are added and removed, and the account with what is left."""
    if account.adjacency.size_is_public:
        return Sized(rows.size, missing == "error", account)
    return buy_size(rows, account)


def buy_size(rows: Sample, account: Account) -> Sized:
    """The number of complete rows with noise, and the account with what is left.

    What was bought comes with the answer (`Account.bought`). If c of the rows are complete, as under a narrow filter,
    pairs of all rows leave c²/2 of their number, and slots c·`PAIRED`/2: the more of these two are made.
    """
    part = account.epsilon * COUNT
    law = IntegerLaplace(account.rows / part)
    found = noisy_size(rows.count(), law, account.allot(part))
    account.keep_size(found, law)
    few = not account.adjacency.size_is_public or found < PAIRED * rows.size
    return Sized(found, True, account.allot(account.epsilon - part, account.delta), max(found // 2, 1) if few else None)


def rows_for_scales(columns: int, epsilon: Fraction, account: Account) -> int:
    """How many rows scales of so many columns ask for, at a part ε of the account."""
    each = float(epsilon) / account.rows
    return math.ceil((ROOM * columns + 30) / each)


def estimate_frame(
    rows: Sample, size: Sized, binary: Sequence[int], parts: tuple[Account, Account], leading: bool = True
) -> Frame:
    """A scale and a centre for every column that has one: none for those that rarely vary.

    Columns that are declared to be 0 or 1 need no draw. Without an intercept there are no centres.
    """
    open_ = [c for c in range(rows.width) if c not in binary]
    units: dict[int, float | None] = dict.fromkeys(binary, BINARY)
    if open_:
        units |= zip(open_, scales(rows, open_, size.slots, parts[0]), strict=True)
    kept = tuple(c for c in range(rows.width) if units[c] is not None)
    chosen = [unit for c in kept if (unit := units[c]) is not None]
    middle = dict.fromkeys(kept, 0.0)
    if leading and (drawn := [c for c in kept if c not in binary]):
        drawn_units = [unit for c, unit in zip(kept, chosen, strict=True) if c not in binary]
        middle |= zip(drawn, centres(rows, drawn, drawn_units, parts[1]), strict=True)
    return Frame(kept, np.array(chosen), np.array([middle[c] for c in kept]), leading)
