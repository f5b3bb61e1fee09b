"""Short-cut regression given its partition: every table over a tiny universe, every neighbour, the exact law."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from tests.exhaustive.test_inverse import assert_private, law
from uptack.blocks.partition import equal_blocks
from uptack.mechanisms.inverse_sensitivity import boxes, decay
from uptack.noise import MachineNumbers, SeededEntropy
from uptack.papers.block_fits import fit_blocks
from uptack.reach import LStatistic

LATTICE = MachineNumbers(2, 2)
RESPONSES = (0.0, 1.0, 3.0)


@pytest.mark.parametrize("kind", ["ols", "huber", "lad"])
@pytest.mark.parametrize("columns", [1, 2])
def test_medians_of_block_fits_are_private(kind, columns):
    n, blocks, steps, rho = 6, 3, 1, decay(Fraction(1))
    members = equal_blocks(n, blocks, SeededEntropy(0))
    design = np.column_stack([np.ones(n), np.arange(n) - 2.0])[:, :columns]
    laws, responses = {}, RESPONSES if kind == "ols" and columns == 1 else RESPONSES[::2]
    for table in itertools.product(responses, repeat=n):
        estimates = fit_blocks(design, np.array(table), members, kind)
        reaches = [LStatistic.quantile(column, 2, steps) for column in estimates.T]
        laws[table] = law(boxes(reaches, steps, LATTICE), rho)

    def neighbours(table):
        return {(*table[:i], v, *table[i + 1 :]) for i in range(n) for v in responses}

    assert_private(laws, neighbours, rho**-2)
