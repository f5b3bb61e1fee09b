"""How the rows of a table are dealt to blocks, also where the number of rows that have all their values is secret."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account
from uptack.blocks.partition import equal_blocks, independent_blocks, of_width
from uptack.blocks.people import rows_of
from uptack.columns.batched import Batched, BatchedRows
from uptack.columns.owners import NOBODY, numbered
from uptack.columns.table import Table, finite, lacking
from uptack.later import Later
from uptack.statistics.arguments import Question

special = Later("scipy.special")

SHORT = 0.02
"""The share of blocks that may get fewer rows than coefficients, where rows are secret in number."""

CROWD = 16
"""Rows beyond twice the usual number that a block holds where rows choose their blocks; more are left out."""


TOGETHER = 1 << 21
"""Numbers in the rows of the blocks that are in memory together, of a table that is read in batches; more where there
would be too many parts."""

PARTS = 1 << 8


def rows_needed(p: int, question: Question) -> float:
    """Rows per block, in the mean, from which on hardly any block has fewer than p.

    Where rows may be missing, or come and go, the number in a block is like a Poisson number of mean λ, or varies less,
    and P(N < p) = P(χ² of 2p degrees > 2λ).
    """
    return float(special.gammainccinv(p, SHORT)) if question.size_is_secret else p + 1


def dealt(data: Table, n: int, blocks: int, account: Account) -> NDArray[np.int64]:
    """The complete rows of each block in a line, and -1 where there is none; n is the public number of rows.

    **Lemma.** One replaced row changes the rows of one block, and the number of blocks is fixed. Under SUBSTITUTE all
    rows are dealt, evenly, and those that are not complete are then left out of their blocks. Under ADD_REMOVE each
    complete row chooses its block by itself.
    """
    if account.adjacency.size_is_public:
        members = equal_blocks(data.n, blocks, account.entropy)
        return np.where((members >= 0) & data.complete[members], members, -1)
    rows = np.append(np.flatnonzero(data.complete), -1)
    chosen = of_width(independent_blocks(rows.size - 1, blocks, account.entropy), 2 * -(-n // blocks) + CROWD)
    return rows[chosen]  # -1 reads the last one, which is -1


def dealt_people(data: Table, blocks: int, account: Account) -> list[NDArray[np.int64]]:
    """The complete rows of the people of each block.

    **Lemma.** One person's rows are in one block, whichever they are and however many (`uptack.blocks.people`). Under
    SUBSTITUTE all people are dealt, evenly, and rows that are not complete are then left out. Under ADD_REMOVE each
    person who has a complete row chooses her block by herself.
    """
    assert data.whose is not None
    codes = np.where(data.complete, data.whose, NOBODY)
    if account.adjacency.size_is_public:
        members = equal_blocks(data.people, blocks, account.entropy)
    else:
        codes, people = numbered(codes)
        members = independent_blocks(people, blocks, account.entropy)
    return rows_of([line[line >= 0] for line in members], codes)


def _as_they_are(part: Table) -> Table:
    return part


@dataclass(frozen=True, eq=False)
class StreamedTable:
    """X and y of a table that is read in batches, whose number of rows is public; `turn` is made of rows of it."""

    rows: BatchedRows
    leading: bool
    missing: str
    turn: Callable[[Table], Table] = _as_they_are

    whose = None

    @staticmethod
    def of(x: Batched, y: Batched, leading: bool, missing: str) -> StreamedTable:
        """Both, which may be unread."""
        return StreamedTable(cast(BatchedRows, x.beside(y)), leading, missing)

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.rows.size

    @property
    def p(self) -> int:
        """The number of coefficients."""
        return self.rows.width - 1 + self.leading

    @property
    def complete_units(self) -> int:
        """How many rows are complete. Where none may be missing, some that are make an error for the curator."""
        if self.missing == "error" and self.rows.lacking():
            raise lacking()
        return self.rows.count()

    def dealt(self, blocks: int, account: Account) -> Iterator[tuple[Table, NDArray[np.int64]]]:
        """Rows of some blocks, an even number of them at a time, and the members of these blocks: see `dealt`.

        **Lemma.** Whatever the order of a scan is, and however it depends on the rows: one replaced row changes the
        rows of one block. *Proof.* All rows come from one scan, in which each has one place. Places are dealt by
        numbers that have nothing to do with rows, and every way to deal them is equally likely. So every way to deal
        *rows* is, and let two tables that differ in one row deal their common rows alike, to the same blocks and to the
        same places in them. ∎ (Rows that choose their blocks by themselves are in the order of the scan there, which
        is why tables whose number of rows is secret are read into memory.)
        """
        assert account.adjacency.size_is_public
        members = equal_blocks(self.n, blocks, account.entropy)
        width = members.shape[1]
        some = max(TOGETHER // (width * self.rows.width), -(-blocks // PARTS), 1)
        some += some % 2
        slots = np.empty(self.n, np.int64)
        slots[members[members >= 0]] = np.flatnonzero(members.reshape(-1) >= 0)
        del members
        for part, (at, rows) in enumerate(self.rows.dealt(slots, some * width, -(-blocks // some), complete=False)):
            first = part * some
            places = np.full((min(some, blocks - first), width), -1)
            places.reshape(-1)[at - first * width] = np.arange(at.size)
            made = finite(rows[:-1].T, rows[-1], self.leading, "ignore")
            yield self.turn(made), np.where((places >= 0) & made.complete[places], places, -1)
