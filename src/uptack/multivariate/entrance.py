"""How a multivariate release gets at its rows: what is asked, the rows, and a scale and a centre for every column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account
from uptack.columns.batched import Batched, BatchedPeople, BatchedRows
from uptack.columns.owners import Codes, PeopleRows
from uptack.errors import InvalidArgument
from uptack.multivariate.people import PeopleMatrix, StreamedPeople
from uptack.multivariate.rows import Floats, MatrixRows, Rows
from uptack.multivariate.standardise import Frame, centres, scales
from uptack.multivariate.streams import StreamedRows
from uptack.noise import IntegerLaplace
from uptack.privacy import loss
from uptack.statistics.row_counts import noisy_size
from uptack.table.values.entrance import column, matrix

MISSING = ("error", "drop", "ignore")
COUNT = Fraction(1, 50)
"""The part of ε that buys the number of rows, where rows are added and removed."""

ROOM = 50
"""Rows per column and ε, for scales that are right: with as many, all columns are within a factor of 4 in simulations,
also where their units are six powers of ten apart; with a fifth less, one in 100 is not."""

BINARY = 0.5
"""The scale of a column that is declared to be 0 or 1."""


@dataclass(frozen=True, eq=False)
class Given:
    """A table of numbers, NaN where there is none; and whose its rows are, where people are the unit."""

    values: Floats
    codes: Codes | None = None
    people: int = 0

    @property
    def size(self) -> int:
        """The number of rows, or of people: how many rows people have is secret."""
        return len(self.values) if self.codes is None else self.people

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.values.shape[1])

    def lacking(self) -> bool:
        """Whether some row is not complete. For the curator only."""
        return not np.isfinite(self.values).all()


def rows_of(table: Given | Batched, missing: str) -> Rows:
    """The rows of a table, or those of its people. Those without all their values are an error for the curator, or
    contribute nothing.
    """
    if missing == "error" and table.lacking():
        fix = "Pass missing='drop': such rows then contribute nothing."
        fix = f"{fix} Levels and classes that are not declared are NaN, too."
        raise InvalidArgument("X and y", "free of NaN and infinities", "some", fix)
    if isinstance(table, Given):
        whose = table.codes
        return MatrixRows.of(table.values) if whose is None else PeopleMatrix.of(table.values, whose, table.people)
    if isinstance(table, BatchedPeople):
        return StreamedPeople(table)
    assert isinstance(table, BatchedRows)
    return StreamedRows(table)


def table_of(name: str, x: Any, least: int = 1) -> Given | Batched:
    """Columns of numbers side by side; missing values are NaN."""
    must = f"a table of numbers with at least {'one column' if least == 1 else 'two columns'}"
    found = x if isinstance(x, Batched) else _in_memory(name, x, must)
    if found.width < least:  # without a word on the number of rows, which may be secret
        raise InvalidArgument(name, must, "one" if found.width else "none")
    return found


def _in_memory(name: str, x: Any, must: str) -> Given:
    found = Given(x.values, x.codes, x.people) if isinstance(x, PeopleRows) else Given(matrix(name, x, must))
    return replace(found, values=found.values[:, None]) if found.values.ndim == 1 else found


def response_of(y: Any, design: Given | Batched) -> Any:
    """One column of numbers, as long as X. Of people's data and a table's columns the registry has seen to that."""
    if isinstance(y, Batched):
        return y
    found = y.values if isinstance(y, PeopleRows) else column("y", y).floats()
    if found.ndim != 1:
        raise InvalidArgument("y", "one column of numbers", "a table")
    if isinstance(design, Given) and design.codes is None and len(found) != design.size:
        raise InvalidArgument("y", f"as long as X, {design.size} rows", f"{len(found)} rows")
    return found


def joined(design: Given | Batched, response: Any, binary: Sequence[int]) -> Given | Batched:
    """X with `response_of` as its last column, and columns that are declared to be 0 or 1 between the two."""
    if isinstance(design, Batched):
        return design.beside(response).clipped(binary)
    table = np.column_stack([design.values, response])
    table[:, list(binary)] = np.clip(table[:, list(binary)], 0.0, 1.0)
    return replace(design, values=table)


def binary_columns(value: Any, columns: int) -> tuple[int, ...]:
    """The numbers of the columns that are declared to be 0 or 1."""
    given = [] if value is None else list(value) if isinstance(value, list | tuple | range | np.ndarray) else [value]
    for one in given:
        if isinstance(one, str):
            raise InvalidArgument("binary", "numbers of columns, where X has no names", repr(one), "Or pass a frame.")
    found = {checks.integer("binary", one, least=0) for one in given}
    if found and max(found) >= columns:
        raise InvalidArgument("binary", f"numbers of columns, from 0 to {columns - 1}", max(found))
    return tuple(sorted(found))


@dataclass(frozen=True)
class Sized:
    """The number of rows as everybody may know it: public, or with noise; and whether it is the number of all rows.

    Where rows are replaced and some may be missing, the length of the table is public; how many are complete is not.
    Of people's rows it is the number of people.
    """

    rows: int
    exact: bool
    account: Account

    @property
    def n(self) -> float | None:
        """The number of rows that sums run over; None where only the sums can tell."""
        return float(self.rows) if self.exact else None

    @property
    def slots(self) -> int | None:
        """How many slots there are for pairs, where rows are added and removed."""
        return None if self.account.adjacency.size_is_public else max(self.rows // 2, 1)


def sized(rows: Rows, missing: str, account: Account) -> Sized:
    """The number of rows, bought where rows are added and removed, and the account with what is left.

    What was bought comes with the answer (`Account.bought`).
    """
    if account.adjacency.size_is_public:
        return Sized(rows.size, missing == "error", account)
    part = account.epsilon * COUNT
    law = IntegerLaplace(account.rows / part)
    found = noisy_size(rows.count(), law, account.entropy)
    account.spend(loss.Pure(part))
    account.bought(found, law)
    return Sized(found, True, account.allot(account.epsilon - part))


def rows_for_scales(columns: int, epsilon: Fraction, account: Account) -> int:
    """How many rows scales of so many columns ask for, at a part ε of the account."""
    each = float(epsilon) / account.rows
    return math.ceil((ROOM * columns + 30) / each)


def framed(
    rows: Rows, size: Sized, binary: Sequence[int], parts: tuple[Account, Account], leading: bool = True
) -> Frame:
    """A scale and a centre for every column that has one: none for those that hardly ever vary.

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
