"""What rows contribute to the sums of a fit, row by row.

A row (x, y) is standardised to a = (1, x, y) in units of its columns. A row with a value beyond `GROSS` units is a
gross error and contributes nothing. In the coordinates z = B·(1, x) it has a weight w², with w = min(1, R/|u|) and
u = z·√i for the information i at an earlier fit: a function of x alone. Then

    H = Σ κ·w²·zzᵀ,   g = Σ w²·z·ψ(y, η) cut to the length T,   η = zᵀb.

All of it is elementwise arithmetic, so that what one row contributes does not depend on others in its batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uptack.multivariate.standardise import Frame
from uptack.multivariate.steps import lengths, products
from uptack.regression.losses import RegressionLoss
from uptack.regression.tuning import GROSS
from uptack.table.exact_sum import Floats

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RowWeights:
    """w² of a row: from R, its coordinates and an earlier fit."""

    coordinates: Floats
    b: Floats
    radius: float


@dataclass(frozen=True, eq=False)
class FitRows:
    """Standardised rows in the coordinates B, for a loss. `first` is 0 with an intercept and 1 without."""

    frame: Frame
    first: int
    loss: RegressionLoss
    coordinates: Floats
    weights: RowWeights | None = None

    def standardised(self, batch: Floats) -> tuple[Floats, Flags]:
        """a, with zeros for gross errors, and which rows these are."""
        a = self.frame.standardised(batch)
        gross: Flags = np.any(np.abs(a[1:]) > GROSS, axis=0)
        return np.asarray(np.where(gross, 0.0, a)) if gross.any() else a, gross

    def scatter(self, batch: Floats) -> Floats:
        """(1, x, y)."""
        return self.standardised(batch)[0]

    def _split(self, batch: Floats) -> tuple[Floats, Floats, Floats, Flags]:
        """(1, x), z, y and gross errors."""
        a, gross = self.standardised(batch)
        y = a[-1] if self.loss.scaled else np.where(gross, 0.0, batch[-1])
        return a[self.first : -1], products(self.coordinates, a[self.first : -1]), y, gross

    def _squared(self, predictors: Floats) -> Floats:
        """w²."""
        if self.weights is None:
            return np.ones(predictors.shape[1])
        u = _informed(self.loss, products(self.weights.coordinates, predictors), self.weights.b)
        return np.asarray(np.minimum(1.0, self.weights.radius / np.maximum(u, 1e-300)) ** 2)

    def sizes(self, batch: Floats, b: Floats) -> Floats:
        """|u|."""
        return _informed(self.loss, self._split(batch)[1], b)

    def residuals(self, batch: Floats, b: Floats) -> Floats:
        """|y - η|."""
        _, z, y, _ = self._split(batch)
        return np.asarray(np.abs(y - products(b[None], z)[0]))

    def scores(self, batch: Floats, b: Floats, s: float) -> Floats:
        """|ψ|/√i."""
        _, z, y, _ = self._split(batch)
        eta = products(b[None], z)[0]
        return np.asarray(np.abs(self.loss.score(y, eta, s)) / np.sqrt(np.maximum(self.loss.information(eta), 1e-300)))

    def equations(self, batch: Floats, b: Floats, s: float, balance: float, longest: float) -> Floats:
        """v = (√i·z, balance·ψ/√i), whose second moments are normal equations; with a line more that has the largest
        length for gross errors, which are 0 else.
        """
        _, z, y, gross = self._split(batch)
        eta = products(b[None], z)[0]
        root = np.sqrt(np.maximum(self.loss.information(eta), 1e-300))
        score = np.where(gross, 0.0, self.loss.score(y, eta, s) / root)
        return np.vstack([z * root, balance * score, np.where(gross, longest, 0.0)])

    def curved(self, batch: Floats, b: Floats, s: float) -> Floats:
        """w·z·√κ, whose second moments are H."""
        predictors, z, y, _ = self._split(batch)
        curvature = self.loss.curvature(y, products(b[None], z)[0], s)
        return np.asarray(z * np.sqrt(np.maximum(curvature, 0.0) * self._squared(predictors)))

    def gradients(self, batch: Floats, b: Floats, s: float) -> Floats:
        """w²·z·ψ."""
        predictors, z, y, _ = self._split(batch)
        return np.asarray(z * (self.loss.score(y, products(b[None], z)[0], s) * self._squared(predictors)))


def _informed(loss: RegressionLoss, z: Floats, b: Floats) -> Floats:
    return np.asarray(lengths(z) * np.sqrt(loss.information(products(b[None], z)[0])))


def cut(vectors: Floats, longest: float) -> Floats:
    """Vectors of at most this length."""
    return np.asarray(vectors * np.minimum(1.0, longest / np.maximum(lengths(vectors), 1e-300)))
