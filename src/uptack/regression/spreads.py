"""The interquartile ranges of block estimates, all drawn at once by inverse sensitivity."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from uptack.mechanisms.inverse import boxes, decay, finest
from uptack.noise import Entropy, MachineNumbers
from uptack.reach import InterquantileRange, Reach
from uptack.reach.order import quartiles
from uptack.regression.arguments import Floats

Room = tuple[MachineNumbers, int]
"""The lattice of candidates, and how many people may change before the draw sees the end of the data."""


def room(
    blocks: int, dimension: int, rows: int, epsilon: Fraction, lattices: tuple[MachineNumbers, ...]
) -> Room | None:
    """What so many blocks allow for; None where they are too few, which is public."""
    low, high = quartiles(blocks)
    return finest(lambda k: low - rows * k >= 1 and high + rows * k <= blocks, epsilon, dimension, lattices)


def draw(estimates: Floats, given: Room, rows: int, epsilon: Fraction, entropy: Entropy) -> Floats:
    """One interquartile range a column: ε-differentially private where a person's rows are in at most `rows` blocks."""
    lattice, steps = given
    ranks = quartiles(len(estimates))
    reaches: list[Reach] = [InterquantileRange(column, ranks, steps, rows) for column in estimates.T]
    drawn = boxes(reaches, steps, lattice, nonnegative=True).draw(decay(epsilon), entropy)
    return np.array([lattice.value(place) for place in drawn])
