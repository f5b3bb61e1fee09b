"""How the rows of a table are dealt to blocks, also where the number of rows that have all their values is secret."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account
from uptack.blocks.partition import chosen_blocks, equal_blocks, independent_blocks
from uptack.blocks.people_blocks import rows_of
from uptack.columns.batched import Batched, BatchedPeople, BatchedRows
from uptack.columns.owners import NOBODY, numbered
from uptack.columns.table import Floats, Table, finite, lacking
from uptack.statistics.column_options import Question

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


def settle_rows(groups: Indices, data: Table, rows: Indices) -> Indices:
    """The order of some rows by their groups, and in each group by the bits of y, then of x.

    So it does not hang on the order in which rows come, but for rows that are equal to the last bit.
    """
    y = data.y[rows].view(np.int64)
    order = np.lexsort((y, groups))
    alike = (groups[order][1:] == groups[order][:-1]) & (y[order][1:] == y[order][:-1])
    if not alike.any():
        return order
    return np.lexsort((*np.ascontiguousarray(data.x[rows].T).view(np.int64), y, groups))


def assign_blocks(data: Table, n: int, blocks: int, account: Account) -> Indices:
    """The complete rows of each block in a line, and -1 where there is none; n is the public number of rows.

    **Lemma.** One replaced row changes the rows of one block, and the number of blocks is fixed. Under SUBSTITUTE all
    rows are dealt, evenly, and those that are not complete are then left out of their blocks. Under ADD_REMOVE each
    complete row chooses its block by itself, and a line is a function of the set of rows that chose its block
    (`seat_rows`): so one row that comes or goes changes one line, in whichever order others are read.
    """
    if account.adjacency.size_is_public:
        members = equal_blocks(data.n, blocks, account.entropy)
        return np.where((members >= 0) & data.complete[members], members, -1)
    rows = np.flatnonzero(data.complete)
    return seat_rows(data, rows, chosen_blocks(rows.size, blocks, account.entropy), blocks, _room(n, blocks))


def _room(n: int, blocks: int) -> int:
    """Places in a block where rows choose their blocks."""
    return 2 * -(-n // blocks) + CROWD


def seat_rows(data: Table, rows: Indices, chosen: Indices, blocks: int, room: int) -> Indices:
    """The rows of each block, which they chose, in the order of their bits, as many as there is room for."""
    order, counts = settle_rows(chosen, data, rows), np.bincount(chosen, minlength=blocks)
    place = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
    members, inside = np.full((blocks, room), -1), place < room
    members[chosen[order][inside], place[inside]] = rows[order][inside]
    return members


def assign_people(data: Table, blocks: int, account: Account) -> list[Indices]:
    """The complete rows of the people of each block.

    **Lemma.** One person's rows are in one block, whichever they are and however many (`uptack.blocks.people_blocks`).
    Under SUBSTITUTE all people are dealt, evenly, and rows that are not complete are then left out. Under ADD_REMOVE
    each person who has a complete row chooses her block by herself. The rows of a person are in the order of their
    bits: so nothing hangs on the order in which they are read.
    """
    assert data.whose is not None
    codes, people = np.where(data.complete, data.whose, NOBODY), data.people
    if not account.adjacency.size_is_public:
        codes, people = numbered(codes)
    members = _people_dealt(people, blocks, account)
    order = settle_rows(codes, data, np.arange(codes.size))
    return [order[rows] for rows in rows_of([line[line >= 0] for line in members], codes[order])]


def _people_dealt(people: int, blocks: int, account: Account) -> Indices:
    """The people of each block in a line: evenly, or each by her own choice."""
    deal = equal_blocks if account.adjacency.size_is_public else independent_blocks
    return deal(people, blocks, account.entropy)


def _as_they_are(part: Table) -> Table:
    return part


@dataclass(frozen=True, eq=False)
class StreamedTable:
    """X and y of a table that is read in batches; `turn` is made of rows of it.

    Blocks are those of the same rows in memory, where an engine keeps the order of rows, to the last bit.
    """

    rows: Batched
    leading: bool
    missing: str
    turn: Callable[[Table], Table] = _as_they_are

    @staticmethod
    def of(x: Batched, y: Batched, leading: bool, missing: str) -> StreamedTable:
        """Both, which may be unread."""
        return StreamedTable(x.beside(y), leading, missing)

    @property
    def of_people(self) -> bool:
        """Whether rows belong to people."""
        return self.rows.of_people

    @property
    def n(self) -> int:
        """The number of rows, or of people."""
        return self.rows.size

    @property
    def p(self) -> int:
        """The number of coefficients."""
        return self.rows.width - 1 + self.leading

    @property
    def complete_units(self) -> int:
        """How many rows are complete, or people have such a row. Where none may be missing, some are an error for the
        curator."""
        if self.missing == "error" and self.rows.lacking():
            raise lacking()
        return self.rows.count()

    def _made(self, rows: Floats) -> Table:
        return self.turn(finite(rows[:-1].T, rows[-1], self.leading, "ignore"))

    def _together(self, blocks: int, width: int) -> int:
        """How many blocks are in memory together: an even number, and so many that there are not too many parts."""
        together = TOGETHER // OFTEN if self.of_people else TOGETHER
        some = max(together // (width * self.rows.width), -(-blocks // PARTS), 1)
        return some + some % 2

    def dealt(self, n: int, blocks: int, account: Account) -> Iterator[tuple[Table, Indices]]:
        """Rows of some blocks, an even number of them at a time, and the members of these blocks: see `assign_blocks`.

        **Lemma.** Whatever the order of a scan is, and however it depends on the rows: one replaced row, or one that
        comes or goes, changes the rows of one block. *Proof.* All rows come from one scan, in which each has one place.
        Places are dealt by numbers that have nothing to do with rows. If every way to deal them is equally likely, so
        is every way to deal *rows*, and let two tables that differ in one row deal their common rows alike, to the same
        blocks and to the same places in them. If every place chooses its block by itself, so does every row, and let
        common rows choose alike. Then blocks but one have the same set of rows, in the order of `seat_rows`. ∎
        """
        assert isinstance(self.rows, BatchedRows)
        if not account.adjacency.size_is_public:
            yield from self._chosen(self.rows, n, blocks, account)
            return
        members = equal_blocks(self.n, blocks, account.entropy)
        width = members.shape[1]
        some, slots = self._together(blocks, width), _slots(members, self.n)
        del members
        for part, (at, rows) in enumerate(self.rows.dealt(slots, some * width, -(-blocks // some), complete=False)):
            first = part * some
            places = np.full((min(some, blocks - first), width), -1)
            places.reshape(-1)[at - first * width] = np.arange(at.size)
            made = self._made(rows)
            yield made, np.where((places >= 0) & made.complete[places], places, -1)

    def _chosen(self, table: BatchedRows, n: int, blocks: int, account: Account) -> Iterator[tuple[Table, Indices]]:
        """The same where each complete row chooses its block."""
        chosen = chosen_blocks(table.count(), blocks, account.entropy)
        some = self._together(blocks, -(-n // blocks))
        for part, (at, rows) in enumerate(table.dealt(chosen, some, -(-blocks // some), complete=True)):
            first, made = part * some, self._made(rows)
            here = min(some, blocks - first)
            yield made, seat_rows(made, np.arange(at.size), at - first, here, _room(n, blocks))

    def dealt_people(self, blocks: int, account: Account) -> Iterator[tuple[Table, list[Indices], Floats]]:
        """Rows of the people of some blocks, those of each block, and the weights of rows: see `assign_people`.

        **Lemma.** It is that of `assign_people`, for any order of a scan: people are numbered in the order of their
        ids, and the rows of a person are put in the order of their bits.
        """
        assert isinstance(self.rows, BatchedPeople)
        public = account.adjacency.size_is_public
        people = self.n if public else self.rows.count()
        members = _people_dealt(people, blocks, account)
        width = members.shape[1]
        some, slots = self._together(blocks, width), _slots(members, people)
        del members
        for part, (at, rows) in enumerate(self.rows.dealt(slots, some * width, -(-blocks // some), not public)):
            made, here = self._made(rows), min(some, blocks - part * some)
            order = settle_rows(at, made, np.arange(at.size))
            ends = np.searchsorted(at[order] // width - part * some, np.arange(1, here))
            _, whose, counts = np.unique(at, return_inverse=True, return_counts=True)
            yield made, np.split(order, ends), 1.0 / counts[whose]


def _slots(members: Indices, size: int) -> Indices:
    """The place of each of so many among the members of blocks, line after line."""
    slots = np.empty(size, np.int64)
    slots[members[members >= 0]] = np.flatnonzero(members.reshape(-1) >= 0)
    return slots
