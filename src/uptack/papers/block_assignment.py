"""How the rows of a table are dealt to blocks, also where the number of rows that have all their values is secret."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account
from uptack.blocks.partition import chosen_blocks, equal_blocks, independent_blocks
from uptack.errors import InvalidArgument
from uptack.multivariate.entrance import read_design
from uptack.statistics.column_options import Question
from uptack.table.exact_sum import Floats
from uptack.table.protocol import Columns, Of, Rows


@dataclass(frozen=True, eq=False)
class DesignMatrix:
    """The design matrix, with a first column of ones if there is an intercept, the response, and which rows have both.

    Other rows are zeros, and take part in nothing.
    """

    x: Floats
    y: Floats
    complete: NDArray[np.bool_]


def finite(design: Floats, response: Floats, fit_intercept: bool) -> DesignMatrix:
    """The matrices, with rows that are not finite set to 0 and marked."""
    if fit_intercept:
        design = np.column_stack([np.ones(len(design)), design])
    broken = ~(np.isfinite(design).all(axis=1) & np.isfinite(response))
    if broken.any():
        design, response = np.where(broken[:, None], 0.0, design), np.where(broken, 0.0, response)
    return DesignMatrix(np.ascontiguousarray(design), response, ~broken)


Indices = NDArray[np.int64]

SHORT = 0.02
"""The share of blocks that may get fewer rows than coefficients, where rows are secret in number."""

CROWD = 16
"""Rows beyond twice the usual number that a block holds where rows choose their blocks; more are left out."""


TOGETHER = 1 << 21
"""Numbers in the rows of the blocks that are in memory together, of a table that is read in batches; more where there
would be too many parts."""

PARTS = 1 << 8
OFTEN = 16
"""Rows per person that are allowed for in this. How many there are is secret, and decides the room taken only."""


def rows_needed(p: int, question: Question) -> float:
    """Rows per block, in the mean, from which on hardly any block has fewer than p.

    Where rows may be missing, or come and go, the number in a block is like a Poisson number of mean λ, or varies less,
    and P(N < p) = P(χ² of 2p degrees > 2λ).
    """
    import scipy

    return float(scipy.special.gammainccinv(p, SHORT)) if question.size_is_secret else p + 1


def settle_rows(groups: Indices, data: DesignMatrix, rows: Indices) -> Indices:
    """The order of some rows by their groups, and in each group by the bits of y, then of x.

    So it does not depend on the order in which rows come, but for rows that are equal to the last bit.
    """
    y = data.y[rows].view(np.int64)
    order = np.lexsort((y, groups))
    alike = (groups[order][1:] == groups[order][:-1]) & (y[order][1:] == y[order][:-1])
    if not alike.any():
        return order
    return np.lexsort((*np.ascontiguousarray(data.x[rows].T).view(np.int64), y, groups))


def seat_rows(data: DesignMatrix, rows: Indices, chosen: Indices, blocks: int, room: int) -> Indices:
    """The rows of each block, which they chose, in the order of their bits, as many as there is room for."""
    order, counts = settle_rows(chosen, data, rows), np.bincount(chosen, minlength=blocks)
    place = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
    members, inside = np.full((blocks, room), -1), place < room
    members[chosen[order][inside], place[inside]] = rows[order][inside]
    return members


@dataclass(frozen=True, eq=False)
class BlockedDesign:
    """X and y whose rows, or people, are dealt to blocks; `transform` gives the rows of a part other coordinates.

    Where an engine keeps the order of rows, blocks are those of the same rows in memory, to the last bit.
    """

    rows: Rows
    leading: bool
    missing: str
    transform: Callable[[DesignMatrix], DesignMatrix] | None = None

    @staticmethod
    def of(x: Any, y: Any, leading: bool, missing: str) -> BlockedDesign:
        """Both, which may be unread."""
        design, response = read_design(x, y)
        return BlockedDesign(Columns([*design, response]).rows("drop"), leading, missing)

    @property
    def of_people(self) -> bool:
        """Whether rows belong to people."""
        return self.rows.unit.people

    @property
    def n(self) -> int:
        """The number of rows, or of people."""
        return self.rows.size

    @property
    def p(self) -> int:
        return self.rows.width - 1 + self.leading

    def count_complete(self) -> int:
        """How many rows are complete, or people have such a row. Where none may be missing, some are an error for the
        curator."""
        if self.missing == "error" and self.rows.lacking():
            fix = "Pass missing='drop' to leave each such row out of its fit."
            raise InvalidArgument("X and y", "free of NaN and infinities", "some", fix)
        return self.rows.n

    def in_memory(self) -> DesignMatrix:
        """All rows, where they are their own; those that are not complete are zeros."""
        held = self.rows.in_memory()
        lines: Floats = held.lines
        if lines.shape[1] < held.size:
            lines = np.full((len(lines), held.size), np.nan)
            lines[:, np.arange(held.lines.shape[1]) if held.kept is None else held.kept] = held.lines
        return self._matrix(lines)

    def _matrix(self, rows: Floats) -> DesignMatrix:
        data = finite(rows[:-1].T, rows[-1], self.leading)
        return data if self.transform is None else self.transform(data)

    def deal_rows(self, n: int, blocks: int, account: Account) -> Iterator[tuple[DesignMatrix, Indices]]:
        """Rows of some blocks, an even number of them at a time, and the complete rows of each of these in a line, -1
        where there is none; n is the public number of rows.

        **Lemma.** The number of blocks is fixed, and one row that is replaced, or one that comes or goes, changes the
        rows of one block, whatever the order of a scan is, and however it depends on the rows. Under SUBSTITUTE all
        rows are dealt, evenly, and those that are not complete are then left out of their blocks. Under ADD_REMOVE each
        complete row chooses its block by itself, and a line is a function of the set of rows that chose its block
        (`seat_rows`). *Proof.* All rows come from one scan, in which each has one place. Places are dealt by numbers
        that have nothing to do with rows. If every way to deal them is equally likely, so is every way to deal *rows*,
        and let two tables that differ in one row deal their common rows alike, to the same blocks and to the same
        places in them. If every place chooses its block by itself, so does every row, and let common rows choose alike.
        Then blocks but one have the same set of rows, in the order of `seat_rows`. ∎
        """
        if account.adjacency.size_is_public:
            slots, width = _slots(account.toss(lambda entropy: equal_blocks(self.n, blocks, entropy)), self.n)
            for here, at, data in self._parts(slots, blocks, width, width, "all"):
                members = np.full((here, width), -1)
                members.reshape(-1)[at] = np.arange(at.size)
                yield data, members
            return
        chosen = account.toss(lambda entropy: chosen_blocks(self.rows.n, blocks, entropy))
        usual = -(-n // blocks)
        for here, at, data in self._parts(chosen, blocks, usual, 1, "complete"):
            yield data, seat_rows(data, np.arange(at.size), at, here, 2 * usual + CROWD)

    def deal_people(self, blocks: int, account: Account) -> Iterator[tuple[DesignMatrix, list[Indices], Floats]]:
        """Rows of the people of some blocks, the complete rows of each block, and the weights of rows.

        **Lemma.** One person's rows are in one block, whichever they are and however many
        (`uptack.blocks.partition`), for any order of a scan. Under SUBSTITUTE all people are dealt, evenly, and
        rows that are not complete are then left out. Under ADD_REMOVE each person who has a complete row chooses her
        block by herself. People are numbered in the order of their ids, and the rows of a person are in the order of
        their bits: so nothing depends on the order in which they are read.
        """
        public = account.adjacency.size_is_public
        people, deal = (self.n, equal_blocks) if public else (self.rows.n, independent_blocks)
        slots, width = _slots(account.toss(lambda entropy: deal(people, blocks, entropy)), people)
        for here, at, data in self._parts(slots, blocks, width, width, "all" if public else "complete"):
            order = settle_rows(at, data, np.arange(at.size))
            ends = np.searchsorted(at[order] // width, np.arange(1, here))
            _, whose, counts = np.unique(at, return_inverse=True, return_counts=True)
            yield data, np.split(order, ends), 1.0 / counts[whose]

    def _parts(
        self, slots: Indices, blocks: int, width: int, places: int, of: Of
    ) -> Iterator[tuple[int, Indices, DesignMatrix]]:
        """How many blocks are in memory together, the slots of their rows among so many places a block, and the rows.

        It is an even number of blocks of about this width, so large that there are not too many parts.
        """
        together = TOGETHER // OFTEN if self.of_people else TOGETHER
        some = max(together // (width * self.rows.width), -(-blocks // PARTS), 1)
        some += some % 2
        for part, (at, rows) in enumerate(self.rows.deal(slots, some * places, -(-blocks // some), of)):
            first = part * some
            yield min(some, blocks - first), at - first * places, self._matrix(rows)


def _slots(members: Indices, size: int) -> tuple[Indices, int]:
    """The place of each of so many among the members of blocks, line after line, and the length of a line."""
    slots = np.empty(size, np.int64)
    slots[members[members >= 0]] = np.flatnonzero(members.reshape(-1) >= 0)
    return slots, members.shape[1]
