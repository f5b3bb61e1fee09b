"""How the rows of a table are dealt to blocks, also where the number of rows that have all their values is secret."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account
from uptack.blocks.partition import equal_blocks, independent_blocks, of_width
from uptack.blocks.people import rows_of
from uptack.columns.owners import NOBODY, numbered
from uptack.columns.table import Table
from uptack.later import Later
from uptack.statistics.arguments import Question

special = Later("scipy.special")

SHORT = 0.02
"""The share of blocks that may get fewer rows than coefficients, where rows are secret in number."""

CROWD = 16
"""Rows beyond twice the usual number that a block holds where rows choose their blocks; more are left out."""


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
