"""What the solver needs to know of a loss: about eight members, each of which every fit uses.

A regression estimates the coefficients β for which Σ (1, x)·ψ(y, η) = 0 with η = (1, x)·β. A loss says what ψ is, the
*score*; how fast it falls in η, the *curvature*; and where a fit *starts*, given second moments. The solver does the
rest (`uptack.regression.solver`). `uptack.regression.linear` has the shortest examples.

Scores and curvatures are computed row by row, by operations that IEEE 754 defines to the last bit. So the logistic
curve is a polynomial and a power of two, and not a library's: one row's contribution can't depend on where in a batch
it stands.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from uptack.table.exact_sum import Floats


@dataclass(frozen=True, eq=False)
class ScatterMoments:
    """Second moments S of (1, x, y) in units of their columns, with noise; the unit of y, and its centre in units.

    `first` is 0 with an intercept and 1 without: which of (1, x) are predictors. `noise` is the deviation of an entry.
    """

    matrix: Floats
    first: int
    unit: float
    centre: float
    noise: float = 0.0

    @property
    def mean(self) -> float:
        """The mean of y, in its own units."""
        return self.unit * (float(self.matrix[0, -1] / self.matrix[0, 0]) + self.centre)

    def line(self) -> Floats:
        """The least-squares coefficients of y on the predictors, y in units and from its centre."""
        s = self.matrix[self.first :, self.first :]
        return np.asarray(np.linalg.solve(s[:-1, :-1], s[:-1, -1]), np.float64)

    @property
    def rest(self) -> float:
        """The deviation of the residuals of that line, in units of y. Noise can't tell it from less than its own."""
        left = float(self.matrix[-1, -1] - self.line() @ self.matrix[self.first : -1, -1])
        return math.sqrt(max(left, self.noise) / float(self.matrix[0, 0]))

    def _covariance(self) -> Floats:
        """That of x and y."""
        s = self.matrix / self.matrix[0, 0]
        return np.asarray(s[1:, 1:] - np.outer(s[1:, 0], s[0, 1:]))

    def slopes(self) -> Floats:
        """The least-squares slopes of y, in its own units, with an intercept."""
        c = self._covariance()
        return np.asarray(self.unit * np.linalg.solve(c[:-1, :-1], c[:-1, -1]), np.float64)

    def variance(self, slopes: Floats) -> float:
        """The variance of x·slopes."""
        return float(slopes @ self._covariance()[:-1, :-1] @ slopes)

    def plane(self, mean: float, slopes: Floats) -> Floats:
        """Coefficients of the predictors for `mean` at the mean of x, with these slopes: without an intercept those
        that are nearest.
        """
        level = mean - float(self.matrix[0, 1:-1] @ slopes / self.matrix[0, 0])
        beta = np.append(level, slopes)
        s = self.matrix[self.first : -1, self.first : -1]
        return np.asarray(np.linalg.solve(s, self.matrix[self.first : -1, :-1] @ beta), np.float64)


class RegressionLoss(ABC):
    """A loss of residuals or of classes. Nothing that is here has a say in privacy."""

    target: str
    """What is estimated, in one sentence."""

    def target_at(self, spread: float) -> str:
        """The same, where it depends on the spread s that was released, in units of y."""
        return self.target

    scaled: bool = True
    """Whether y is seen in units from its centre. Else it is seen as it is."""

    binary: bool = False
    """Whether y is 0 or 1, and needs no private unit."""

    curved: bool = False
    """Whether the curvature differs between rows. Then the Hessian is measured again, and there is a step more."""

    likelihood: bool = False
    """Whether ψ² is the information on average, if the model is right. Of other losses it has any size."""

    near: Fraction = Fraction(0)
    """Which quantile of |y - η| is the spread s. 0 if the score has no spread."""

    typical: float = 1.0
    """What the mean curvature is about, over the information."""

    stride: float = math.inf
    """The longest step, as the root mean square change of η."""

    def start(self, moments: ScatterMoments) -> Floats:
        """Coefficients of the predictors to start from."""
        return moments.line()

    @abstractmethod
    def far_score(self, rest: float, s: float) -> float:
        """About how large |ψ|/√information is for rows far out, at least: by the deviation of residuals of least
        squares, and the spread. Where most scores are alike, a quantile says nothing about the others.
        """

    def information(self, eta: Floats) -> Floats:
        """The largest curvature at η: how much a row there can tell."""
        return np.ones_like(eta)

    @abstractmethod
    def score(self, y: Floats, eta: Floats, s: float) -> Floats:
        """ψ: minus the derivative of the loss in η."""

    def curvature(self, y: Floats, eta: Floats, s: float) -> Floats:
        """-dψ/dη, from 0 to `information`, which it is if nothing else is said."""
        return self.information(eta)


# ---------------------------------------------------------------------------------------------------- link functions

LOG2E, LN2 = 1.4426950408889634, 0.6931471805599453
FARTHEST = 700.0
_TERMS = tuple(1.0 / np.prod(np.arange(1.0, k + 1)) for k in range(13, -1, -1))


def logistic(t: Floats) -> Floats:
    """1/(1 + e^-t), to about 15 digits, by products, sums, a division and a power of two."""
    small = _falling(np.abs(t))
    return np.asarray(np.where(t < 0, small, 1.0) / (1 + small), np.float64)


def exponential(t: Floats) -> Floats:
    """e^t, as exactly, for t up to 700: beyond it is that of 700, and of its reciprocal."""
    small = _falling(np.abs(t))
    return np.asarray(np.where(t < 0, small, 1 / small), np.float64)


def _falling(t: Floats) -> Floats:
    """e^-t for t of 0 or more."""
    away = np.minimum(t, FARTHEST)
    power = np.rint(np.where(away <= FARTHEST, away, 0.0) * LOG2E)  # NaN stays NaN by what follows
    rest = power * LN2 - away  # within ln 2/2 of 0
    total = np.zeros_like(rest)
    for term in _TERMS:
        total = total * rest + term
    return np.asarray(np.ldexp(total, -power.astype(np.int64)), np.float64)
