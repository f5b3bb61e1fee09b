"""What is fixed of a fit by bounded sums before its steps: how rows are standardised and scaled, and what they add."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from uptack.account import Account
from uptack.multivariate.bounded import LENGTH, bounded
from uptack.multivariate.levels import private_size, size_counts
from uptack.multivariate.signs import Shape
from uptack.multivariate.standardise import Frame
from uptack.multivariate.steps import Sample, Whole, lengths, products
from uptack.regression.losses import RegressionLoss
from uptack.table.exact_sum import Floats

FAR_OUT = Fraction(3, 4)
"""R comes from this quantile of |z|."""


@dataclass(frozen=True, eq=False)
class Model:
    """What is fixed of a fit before its steps: how rows are standardised and scaled, the public number of rows, and
    the loss.
    """

    frame: Frame
    whitening: Floats
    radius: float
    n: float
    loss: RegressionLoss

    @property
    def p(self) -> int:
        """The number of coefficients."""
        return len(self.whitening)

    @property
    def predictors(self) -> tuple[int, ...]:
        """The columns with a scale."""
        return self.frame.kept[: self.p - self.frame.leading]

    @property
    def response(self) -> tuple[float, float]:
        """The unit and the centre of y, which is standardised or not."""
        if not self.loss.response:
            return 1.0, 0.0
        return float(self.frame.units[-1]), float(self.frame.centres[-1])

    @property
    def reach(self) -> float:
        """The longest row of the Hessian, which is the square root of w·v times z."""
        return math.sqrt(self.loss.far) * self.radius

    def scaled(self, batch: Floats) -> tuple[Floats, Floats, Floats]:
        """(1, x) and y standardised, and wz, with the weights w. All row by row."""
        a = self.frame.standardised(batch)
        z = products(self.whitening, a[: self.p])
        w = np.minimum(1.0, self.radius / np.maximum(lengths(z), 1e-300))
        return a, z * w, w

    def at(self, batch: Floats, beta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """wz, y, η and w."""
        a, z, w = self.scaled(batch)
        return z, a[self.p] if self.loss.response else batch[-1], products(beta[None], a[: self.p])[0], w

    def near(self, w: Floats) -> Floats:
        """v."""
        return np.minimum(1.0, self.loss.far * w)

    def slopes(self, batch: Floats, beta: Floats, s: float, sharp: bool) -> list[Whole]:
        """wz·ψ/(cR) as integers of length at most Λ, and κ/k as integers of [0, Λ]; 0 where η is no number."""
        z, y, eta, w = self.at(batch, beta)
        v = self.near(w)
        bend = np.nan_to_num(np.clip(self.loss.bend(y, eta, v, s), 0.0, 1.0))
        return [bounded(z * (self.loss.score(y, eta, v, s, sharp) / self.radius), 1.0), np.rint(bend * LENGTH)]

    def even(self, batch: Floats) -> list[Whole]:
        """The square root of w·v times z, over the longest of those, as integers of length at most Λ."""
        _, z, w = self.scaled(batch)
        return [bounded(z * np.sqrt(np.minimum(1 / np.maximum(w, 1e-300), self.loss.far)), self.reach)]

    def bent(self, batch: Floats, beta: Floats, s: float) -> list[Whole]:
        """The same times the square root of κ/k."""
        z, y, eta, w = self.at(batch, beta)
        bend = np.clip(self.loss.bend(y, eta, self.near(w), s), 0.0, 1.0)
        return [bounded(z * np.sqrt(bend * np.minimum(1 / np.maximum(w, 1e-300), self.loss.far)), self.reach)]


def start(shape: Shape) -> tuple[Floats, Floats]:
    """B and β, of the coordinates of (1, x, y)."""
    p = len(shape.coordinates) - 1
    return shape.coordinates[:p, :p], -shape.full[p, :p] / shape.full[p, p]


def far_out(rows: Sample, frame: Frame, whitening: Floats, account: Account) -> float:
    """A quantile of |z|."""
    p = len(whitening)
    (counts,) = rows.sums(lambda b: size_counts(lengths(products(whitening, frame.standardised(b)[:p]))))
    return private_size(counts, FAR_OUT, account)
