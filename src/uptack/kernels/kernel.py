"""Kernels: the covariance of the noise, and the norm that sensitivities of functions are measured in.

Kernels are values. They combine by operators: `k1 * k2` is the tensor product on separate coordinates, `k ** 3` that of
three copies, `2.0 * k` a scaling, `k1 + k2` a sum on the same coordinates.

>>> from uptack.kernels import ExponentialKernel, GaussianKernel
>>> k = GaussianKernel(0.5) * ExponentialKernel(1.0)
>>> k.dimension, k.largest
(2, Fraction(1, 1))
>>> k([[0, 0]], [[0, 0], [0, 1]]).round(4)
array([[1.    , 0.3679]])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Real, ball

Floats = NDArray[np.float64]
UNIT = Fraction(1, 1 << 53)
"""The unit roundoff of floats."""


def points(name: str, value: ArrayLike, dimension: int) -> Floats:
    """Public points as an array of shape (k, dimension); in one dimension a plain list will do."""
    must = f"finite points, in an array of shape (k, {dimension})"
    try:
        with np.errstate(over="ignore"):
            array = np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.empty((0, 0, 0))
    if dimension == 1 and array.ndim <= 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2 or array.shape[1] != dimension or not np.isfinite(array).all():
        raise InvalidArgument(name, must, checks.describe(value))
    return array + 0.0  # a copy, without -0.0


def root_above(value: Fraction) -> Fraction:
    """A rational at or above the square root, by less than a 2^-60 part."""
    return Real(lambda: ball(value).sqrt()).bounds()[1]


class Kernel(ABC):
    """A positive semidefinite function K(x, y) with values in [0, `largest`].

    `rounding` bounds what floats do to it: |K computed - K| ≤ rounding·largest. Every length is the float as it stands.
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of coordinates of a point."""

    @property
    @abstractmethod
    def largest(self) -> Fraction:
        """sup K(x, x), or a number above it."""

    @property
    @abstractmethod
    def rounding(self) -> Fraction:
        """A bound on |K computed - K|, in units of `largest`."""

    @abstractmethod
    def matrix(self, x: Floats, y: Floats) -> Floats:
        """K(x_i, y_j) for checked points."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; `uptack.kernels.function_storage.kernel_of` reads them."""

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        """The matrix K(x_i, y_j) of points (n, d) and (m, d)."""
        return self.matrix(points("x", x, self.dimension), points("y", y, self.dimension))

    def __mul__(self, other: object) -> Kernel:
        return TensorKernel(self, other) if isinstance(other, Kernel) else ScaledKernel(self, _factor(other))

    def __rmul__(self, other: object) -> Kernel:
        return ScaledKernel(self, _factor(other))

    def __add__(self, other: Kernel) -> Kernel:
        return SumKernel(self, other)

    def __pow__(self, copies: int) -> Kernel:
        return reduce(TensorKernel, [self] * checks.integer("copies", copies, least=1))


def _factor(value: object) -> float:
    return float(checks.positive("factor", value, "A kernel is scaled by a positive number or multiplied by a kernel."))


@dataclass(frozen=True)
class TensorKernel(Kernel):
    """K₁(x', y')·K₂(x'', y'') where x' are the first coordinates and x'' the others."""

    first: Kernel
    second: Kernel

    @property
    def dimension(self) -> int:
        """d₁ + d₂."""
        return self.first.dimension + self.second.dimension

    @property
    def largest(self) -> Fraction:
        """The product of both."""
        return self.first.largest * self.second.largest

    @property
    def rounding(self) -> Fraction:
        """Both errors, and that of a product."""
        return (1 + self.first.rounding) * (1 + self.second.rounding) * (1 + UNIT) - 1

    def matrix(self, x: Floats, y: Floats) -> Floats:
        """The product of both matrices."""
        cut = self.first.dimension
        return self.first.matrix(x[:, :cut], y[:, :cut]) * self.second.matrix(x[:, cut:], y[:, cut:])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"kernel": "TensorKernel", "parts": [self.first.to_dict(), self.second.to_dict()]}


@dataclass(frozen=True)
class SumKernel(Kernel):
    """K₁ + K₂ on the same coordinates."""

    first: Kernel
    second: Kernel

    def __post_init__(self) -> None:
        checks.instance("second", self.second, Kernel, "a kernel")
        if self.first.dimension != self.second.dimension:
            must = f"a kernel of {self.first.dimension} coordinates"
            raise InvalidArgument("second", must, f"one of {self.second.dimension}", "For a tensor product use *.")

    @property
    def dimension(self) -> int:
        """That of both."""
        return self.first.dimension

    @property
    def largest(self) -> Fraction:
        """The sum of both."""
        return self.first.largest + self.second.largest

    @property
    def rounding(self) -> Fraction:
        """The larger error, and that of a sum."""
        return max(self.first.rounding, self.second.rounding) * (1 + UNIT) + UNIT

    def matrix(self, x: Floats, y: Floats) -> Floats:
        """The sum of both matrices."""
        return self.first.matrix(x, y) + self.second.matrix(x, y)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"kernel": "SumKernel", "parts": [self.first.to_dict(), self.second.to_dict()]}


@dataclass(frozen=True)
class ScaledKernel(Kernel):
    """c·K. Functions have norms smaller by sqrt(c), noise is larger by as much: a release does not change."""

    kernel: Kernel
    factor: float

    @property
    def dimension(self) -> int:
        """That of K."""
        return self.kernel.dimension

    @property
    def largest(self) -> Fraction:
        """c times that of K."""
        return Fraction(self.factor) * self.kernel.largest

    @property
    def rounding(self) -> Fraction:
        """The error of K, and that of a product."""
        return self.kernel.rounding * (1 + UNIT) + UNIT

    def matrix(self, x: Floats, y: Floats) -> Floats:
        """c times the matrix of K."""
        return self.factor * self.kernel.matrix(x, y)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"kernel": "ScaledKernel", "factor": self.factor, "parts": [self.kernel.to_dict()]}
