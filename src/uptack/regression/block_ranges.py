"""The interquartile ranges of block estimates, all drawn at once by inverse sensitivity."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from uptack.account import Account
from uptack.mechanisms.inverse_sensitivity import InverseDraw, Refusal, ScoredBoxes, boxes, finest, slack_needed
from uptack.mechanisms.plausible_range import Lattice
from uptack.noise import MachineNumbers
from uptack.reach import InterquantileRange, Reach
from uptack.reach.l_statistics import quartiles
from uptack.regression.block_fits import BEYOND
from uptack.table.exact_sum import Floats

Room = tuple[Lattice, int]
"""The lattice of candidates, and how many people may change before the draw sees the end of the data."""


def room(
    blocks: int, dimension: int, rows: int, epsilon: Fraction, lattices: tuple[MachineNumbers, ...]
) -> Room | None:
    """What so many blocks allow for; None where they are too few, which is public."""
    (low, high), slack = quartiles(blocks), slack_needed(epsilon)
    return finest(min(low - 1, blocks - high) // rows - slack, epsilon, dimension, lattices)


def draw(estimates: Floats, given: Room, account: Account) -> Floats | None:
    """One interquartile range a column, or ⊥, for all ε of the account. A person's rows are in as many blocks as it
    says that she has rows."""
    (lattice, steps), rows = given, account.rows
    ranks = quartiles(len(estimates))
    reaches: list[Reach] = [InterquantileRange(column, ranks, steps, rows) for column in estimates.T]
    nested = boxes(reaches, steps, lattice, nonnegative=True)
    refusal = Refusal(usable_blocks(estimates, ranks, rows), secret=True)
    drawn = account.draw(InverseDraw.of(account.epsilon), ScoredBoxes(nested, refusal))
    return None if drawn is None else np.array([lattice.value(place) for place in drawn])


def usable_blocks(estimates: Floats, ranks: tuple[int, int], rows: int) -> int:
    """How many people may change before some coefficient's rank comes to a block without a fit; -1 if it is at one.

    One person changes up to `rows` blocks, and each of them moves the numbers of blocks without a fit at both ends by
    at most one: so this moves by at most one.
    """
    below, above = (estimates <= -BEYOND).sum(axis=0), (estimates >= BEYOND).sum(axis=0)
    free = np.minimum(ranks[0] - 1 - below, len(estimates) - ranks[1] - above)
    return max(int(free.min()) // rows, -1)
