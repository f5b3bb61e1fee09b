"""Kernels of the distance of two points."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.kernels.kernel import UNIT, Floats, Kernel

_FAR = 800.0
"""Beyond this many lengths every kernel here is 0 as a float; it keeps inf·0 out of the formulas."""


class _Stationary(Kernel):
    """A function of (x - y)/length that is 1 at 0.

    *Rounding.* The d squares or absolute values t_j of (x_j - y_j)/length, and their sum t, have relative errors of at
    most (d + 6)u. All four laws have t·|φ'(t)| < 1, so φ errs by (d + 6)u and a few u of its own: less than (d + 20)u.
    """

    def __post_init__(self) -> None:
        name, value = next(iter(vars(self).items()))
        object.__setattr__(self, name, float(checks.positive(name, value)))
        checks.integer("dimension", self.dimension, least=1)

    @property
    def scale(self) -> float:
        """The length that differences are measured in."""
        return float(next(iter(vars(self).values())))

    @property
    def largest(self) -> Fraction:
        """1."""
        return Fraction(1)

    @property
    def rounding(self) -> Fraction:
        """(d + 20) roundoffs."""
        return (self.dimension + 20) * UNIT

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"kernel": type(self).__name__, "scale": self.scale, "dimension": self.dimension}

    def _lengths(self, x: Floats, y: Floats) -> Floats:
        """(x_i - y_j)/length by coordinate. Differences first: an expanded square would cancel."""
        with np.errstate(over="ignore"):
            scaled: Floats = np.clip((x[:, None, :] - y[None, :, :]) / self.scale, -_FAR, _FAR)
        return scaled

    def _distance(self, x: Floats, y: Floats) -> Floats:
        """‖x - y‖₂/length."""
        t = self._lengths(x, y)
        distance: Floats = np.minimum(np.sqrt(np.einsum("ijk,ijk->ij", t, t)), _FAR)
        return distance


@dataclass(frozen=True)
class GaussianKernel(_Stationary):
    """exp(-‖x - y‖²/2h²), the product over coordinates of the same in one; h is the bandwidth."""

    bandwidth: float
    dimension: int = 1

    def matrix(self, x: Floats, y: Floats) -> Floats:
        """exp(-‖x - y‖²/2h²)."""
        t = self._lengths(x, y)
        values: Floats = np.exp(-np.einsum("ijk,ijk->ij", t, t) / 2)
        return values


@dataclass(frozen=True)
class ExponentialKernel(_Stationary):
    """exp(-‖x - y‖₁/length): the kernel of the Sobolev space H¹, in d > 1 of its tensor product (Hall, 3.3.2).

    The norm is that of `uptack.kernels.kernel_norms.sobolev_norm`.
    """

    length: float
    dimension: int = 1

    def matrix(self, x: Floats, y: Floats) -> Floats:
        """exp(-‖x - y‖₁/length)."""
        values: Floats = np.exp(-np.abs(self._lengths(x, y)).sum(axis=2))
        return values


@dataclass(frozen=True)
class Matern32(_Stationary):
    """(1 + t)·e^(-t) with t = sqrt(3)·‖x - y‖/length: paths with one derivative."""

    length: float
    dimension: int = 1

    def matrix(self, x: Floats, y: Floats) -> Floats:
        """(1 + t)·e^(-t)."""
        t = np.sqrt(3.0) * self._distance(x, y)
        values: Floats = (1 + t) * np.exp(-t)
        return values


@dataclass(frozen=True)
class Matern52(_Stationary):
    """(1 + t + t²/3)·e^(-t) with t = sqrt(5)·‖x - y‖/length: paths with two derivatives."""

    length: float
    dimension: int = 1

    def matrix(self, x: Floats, y: Floats) -> Floats:
        """(1 + t + t²/3)·e^(-t)."""
        t = np.sqrt(5.0) * self._distance(x, y)
        values: Floats = (1 + t + t * t / 3) * np.exp(-t)
        return values
