"""Coordinates in which predictors are about round, for the short cut.

The short cut takes a median per coefficient, so it hangs on the coordinates: where columns are nearly combinations of
others, block fits lie along a thin slant ellipse, and the vector of their medians may be far outside of it. In round
coordinates z = A·(1, x) it is not. Fits b of y on z are coefficients β = Aᵀb of the standardised columns.

**Theorem.** Let A, the scales and the centres be ε₁-private (`uptack.multivariate.signs`), and the short cut ε₂-private
for any table and any choice of options. Then both are (ε₁ + ε₂)-private. For given A, scales and centres, z is a
function of its row alone, to the last bit: elementwise operations in a fixed order. So tables that differ in the rows
of one person still do so in z, and the short cut is ε₂-private for every outcome of what was released before. That is
adaptive composition. What is done to b afterwards, Aᵀb and the change of units, is a function of released numbers.
Rounds that were not needed leave their ε to the short cut, by a rule of released numbers: all parts together are at
most ε on every path. ∎
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from uptack.account import Account
from uptack.multivariate.entrance import Sized, framed
from uptack.multivariate.scatter import SHARES, rounds_for
from uptack.multivariate.signs import whitened
from uptack.multivariate.standardise import Frame
from uptack.multivariate.steps import Sample, products
from uptack.regression.block_assignment import BlockedDesign
from uptack.regression.design_matrix import DesignMatrix
from uptack.table.exact_sum import Floats

KINDS = ("columns", "scatter")
SHARE = Fraction(1, 4)
"""The part of ε that coordinates get."""

GENTLE = 0.2
"""Coordinates need not be rounder: dummies of rare categories have no round ones (`uptack.multivariate.signs`)."""

LARGEST = 2.0**1023
"""Coefficients in the units of the table are cut to this."""


@dataclass(frozen=True, eq=False)
class Coordinates:
    """z = A·(1, (x - centre)/scale, ...), all of it released, and the part of their ε that rounds did not use."""

    frame: Frame
    matrix: Floats
    saved: Fraction

    def of(self, data: BlockedDesign) -> BlockedDesign:
        """The rows with z as their design."""
        return replace(data, turn=self.turned)

    def turned(self, data: DesignMatrix) -> DesignMatrix:
        """The same of a part of the rows; those that are not complete are zeros as before."""
        columns = data.x[:, int(self.frame.leading) :].T
        with np.errstate(all="ignore"):
            z = products(self.matrix, self.frame.standardised(columns)).T
        return replace(data, x=np.where(data.complete[:, None], z, 0.0))

    def back(self, fit: Floats) -> Floats:
        """Coefficients of the columns in their own units, from those of z."""
        frame, lead = self.frame, int(self.frame.leading)
        with np.errstate(all="ignore"):
            beta = self.matrix.T @ fit
            out = np.append(beta[:lead] - beta[lead:] @ frame.centres, beta[lead:] / frame.units)
        return np.clip(np.nan_to_num(out), -LARGEST, LARGEST)


def round_coordinates(data: BlockedDesign, n: int, leading: bool, account: Account) -> Coordinates | None:
    """Private coordinates of the predictors, for a public n; None where a column hardly ever varies.

    ε-private: scales and centres by inverse sensitivity, directions of rows with matrix Laplace noise.
    """
    rows = Sample.of(data.rows).first(
        data.p - leading
    )  # beside y, which has a say in which row of a person is in a pair
    rounds = rounds_for(n, data.p - leading, account)
    for_scales, for_centres, for_signs = account.split(*SHARES)
    frame = framed(rows, Sized(n, True, account), (), (for_scales, for_centres), leading)
    if len(frame.kept) < rows.width:
        return None
    try:
        shape = whitened(rows, frame, float(n), rounds, for_signs, gentle=GENTLE)
    except np.linalg.LinAlgError:  # of released numbers, which are no use then
        return None
    return Coordinates(frame, shape.coordinates, for_signs.epsilon * (1 - Fraction(shape.rounds, rounds)))
