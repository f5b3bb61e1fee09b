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

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational, Real, ball
from uptack.privacy import Adjacency

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
    """A positive semidefinite function K(x, y) with values in [0, `largest`], of points with `dimension` coordinates.

    `largest` is sup K(x, x) or a number above it. `rounding` bounds the error of floats: |K computed - K| ≤
    rounding·largest. Every length is the float as it stands.
    """

    dimension: int
    largest: Fraction
    rounding: Fraction

    def _describe(self, dimension: int, largest: Fraction, rounding: Fraction) -> None:
        for name, value in (("dimension", dimension), ("largest", largest), ("rounding", rounding)):
            object.__setattr__(self, name, value)

    @abstractmethod
    def matrix(self, x: Floats, y: Floats) -> Floats:
        """K(x_i, y_j) for checked points."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; `kernel_of` reads them."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        own = {name: value for name, value in values.items() if not isinstance(value, Kernel)}
        parts = [value.to_dict() for value in values.values() if isinstance(value, Kernel)]
        return {"kernel": type(self).__name__} | own | {"parts": parts}

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

    def __post_init__(self) -> None:
        a, b = self.first, self.second
        rounding = (1 + a.rounding) * (1 + b.rounding) * (1 + UNIT) - 1
        self._describe(a.dimension + b.dimension, a.largest * b.largest, rounding)

    def matrix(self, x: Floats, y: Floats) -> Floats:
        cut = self.first.dimension
        return self.first.matrix(x[:, :cut], y[:, :cut]) * self.second.matrix(x[:, cut:], y[:, cut:])


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
        a, b = self.first, self.second
        self._describe(a.dimension, a.largest + b.largest, max(a.rounding, b.rounding) * (1 + UNIT) + UNIT)

    def matrix(self, x: Floats, y: Floats) -> Floats:
        return self.first.matrix(x, y) + self.second.matrix(x, y)


@dataclass(frozen=True)
class ScaledKernel(Kernel):
    """c·K. Functions have norms smaller by sqrt(c), noise is larger by as much: a release does not change."""

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        k = self.kernel
        self._describe(k.dimension, Fraction(self.factor) * k.largest, k.rounding * (1 + UNIT) + UNIT)

    def matrix(self, x: Floats, y: Floats) -> Floats:
        return self.factor * self.kernel.matrix(x, y)


# -------------------------------------------------------------------------------- kernels of the distance of two points


_FAR = 800.0
"""Beyond this many lengths every kernel here is 0 as a float; it keeps inf·0 out of the formulas."""


@dataclass(frozen=True)
class StationaryKernel(Kernel):
    """A function of (x - y)/length that is 1 at 0.

    *Rounding.* The d squares or absolute values t_j of (x_j - y_j)/length, and their sum t, have relative errors of at
    most (d + 6)u. All four laws have t·|φ'(t)| < 1, so φ errs by (d + 6)u and a few u of its own: less than (d + 20)u.
    """

    length: float
    dimension: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", float(checks.positive("length", self.length)))
        checks.integer("dimension", self.dimension, least=1)
        self._describe(self.dimension, Fraction(1), (self.dimension + 20) * UNIT)

    def matrix(self, x: Floats, y: Floats) -> Floats:
        """The law of (x_i - y_j)/length, by coordinate. Differences first: an expanded square would cancel."""
        with np.errstate(over="ignore"):
            lengths = np.clip((x[:, None, :] - y[None, :, :]) / self.length, -_FAR, _FAR)
        return np.asarray(self._law(lengths))

    @abstractmethod
    def _law(self, lengths: Floats) -> Any: ...


@dataclass(frozen=True)
class GaussianKernel(StationaryKernel):
    """exp(-‖x - y‖²/2h²), the product over coordinates of the same in one; h, the bandwidth, is the `length`."""

    def _law(self, lengths: Floats) -> Any:
        return np.exp(-np.einsum("ijk,ijk->ij", lengths, lengths) / 2)


@dataclass(frozen=True)
class ExponentialKernel(StationaryKernel):
    """exp(-‖x - y‖₁/length): the kernel of the Sobolev space H¹, in d > 1 of its tensor product (Hall, 3.3.2).

    The norm is that of `sobolev_norm`.
    """

    def _law(self, lengths: Floats) -> Any:
        return np.exp(-np.abs(lengths).sum(axis=2))


@dataclass(frozen=True)
class Matern32(StationaryKernel):
    """(1 + t)·e^(-t) with t = sqrt(3)·‖x - y‖/length: paths with one derivative."""

    def _law(self, lengths: Floats) -> Any:
        t = np.sqrt(3.0) * _euclidean(lengths)
        return (1 + t) * np.exp(-t)


@dataclass(frozen=True)
class Matern52(StationaryKernel):
    """(1 + t + t²/3)·e^(-t) with t = sqrt(5)·‖x - y‖/length: paths with two derivatives."""

    def _law(self, lengths: Floats) -> Any:
        t = np.sqrt(5.0) * _euclidean(lengths)
        return (1 + t + t * t / 3) * np.exp(-t)


def _euclidean(lengths: Floats) -> Any:
    return np.minimum(np.sqrt(np.einsum("ijk,ijk->ij", lengths, lengths)), _FAR)


KERNELS = (GaussianKernel, ExponentialKernel, Matern32, Matern52)


def kernel_of(content: dict[str, Any]) -> Kernel:
    """The kernel that `to_dict` wrote down."""
    kinds = {kernel.__name__: kernel for kernel in (*KERNELS, TensorKernel, SumKernel, ScaledKernel)}
    own = {name: value for name, value in content.items() if name not in ("kernel", "parts")}
    kind: Any = kinds[content["kernel"]]
    return kind(*map(kernel_of, content["parts"]), **own)  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------------------------------------------- norms


@dataclass(frozen=True, eq=False)
class Expansion:
    """The function Σ a_i·K(x_i, ·), whose norm in the space of K is sqrt(aᵀ·K(X, X)·a).

    >>> from uptack.kernels import GaussianKernel
    >>> bump = Expansion(GaussianKernel(1.0), [0.0], [3.0])
    >>> bump.norm, bump([0.0, 100.0])
    (3.0, array([3., 0.]))
    """

    kernel: Kernel
    centres: ArrayLike
    weights: ArrayLike

    def __post_init__(self) -> None:
        where = points("centres", self.centres, self.kernel.dimension)
        weights = checks.numbers("weights", self.weights, (1,))
        if weights.size != len(where):
            raise InvalidArgument("weights", f"{len(where)} numbers, one for each centre", checks.describe(weights))
        object.__setattr__(self, "centres", where)
        object.__setattr__(self, "weights", weights)

    def __call__(self, where: ArrayLike) -> Floats:
        """Its values at points."""
        return np.asarray(self.kernel(where, self.centres) @ np.asarray(self.weights))

    def __sub__(self, other: Expansion) -> Expansion:
        if self.kernel != other.kernel:
            raise InvalidArgument("other", f"an expansion in {self.kernel}", f"one in {other.kernel}")
        centres = np.vstack([np.asarray(self.centres), np.asarray(other.centres)])
        return Expansion(self.kernel, centres, np.append(self.weights, -np.asarray(other.weights)))

    @property
    def norm(self) -> float:
        """sqrt(Σ a_i·a_j·K(x_i, x_j))."""
        a = np.asarray(self.weights)
        return math.sqrt(max(float(a @ self.kernel(self.centres, self.centres) @ a), 0.0))


@dataclass(frozen=True)
class KernelSum:
    """The function w·Σ K(x_i, ·) over the rows x_i of a table: a density estimate, a mean embedding.

    **Sensitivity.** For g rows that are added or removed ‖w·Σ K(x_i, ·)‖ ≤ g·w·sqrt(κ), κ = sup K(x, x). For g replaced
    rows the difference is A - B with ‖A‖, ‖B‖ ≤ g·w·sqrt(κ) and, as K ≥ 0, ⟨A, B⟩ ≥ 0: ‖A - B‖ ≤ sqrt(2)·g·w·sqrt(κ).
    """

    kernel: Kernel
    weight: Rational

    def __post_init__(self) -> None:
        checks.instance("kernel", self.kernel, Kernel, "a kernel")
        object.__setattr__(self, "weight", checks.positive("weight", self.weight))

    def sensitivity(self, adjacency: Adjacency) -> Fraction:
        """Δ between neighbours, rounded up."""
        two = adjacency.moves_per_row
        return adjacency.rows_per_person * Fraction(self.weight) * root_above(two * self.kernel.largest)

    def norm(self, rows: int) -> Fraction:
        """A bound on ‖w·Σ K(x_i, ·)‖ over so many rows, rounded up."""
        return checks.integer("rows", rows, least=0) * Fraction(self.weight) * root_above(self.kernel.largest)


def sobolev_norm(kernel: ExponentialKernel, values: ArrayLike, box: ArrayLike) -> float:
    """The norm, in the space of the exponential kernel on a box, of a function given on an even grid.

    With γ = 1/length, on [a, b]: ‖f‖² = (f(a)² + f(b)²)/2 + 1/(2γ)·∫(f'² + γ²f²), Hall's (3.7). In d > 1 the space is
    a tensor product, and so is the quadratic form: every term is taken in each coordinate, which brings in the mixed
    partial derivatives. The function between grid points is read as linear in each coordinate; for that one the form is
    evaluated without further error. `values` has an axis for each coordinate, `box` a row (a, b).

    The norm of the interpolant tends to that of f: refine the grid until it no longer changes.

    >>> from uptack.kernels import ExponentialKernel
    >>> x = np.linspace(0, 1, 1001)
    >>> round(sobolev_norm(ExponentialKernel(0.5), np.exp(-2 * abs(x - 0.3)), [(0, 1)]), 4)
    1.0
    """
    form: ExponentialKernel = checks.instance("kernel", kernel, ExponentialKernel, "an ExponentialKernel")
    f = np.asarray(values, np.float64)
    ends = np.asarray(box, np.float64)
    if f.ndim != form.dimension or min(f.shape) < 2:
        raise InvalidArgument("values", f"an array of {form.dimension} axes of at least 2", checks.describe(f))
    if ends.shape != (form.dimension, 2) or not (ends[:, 0] < ends[:, 1]).all():
        raise InvalidArgument("box", f"{form.dimension} pairs (low, high)", checks.describe(ends))
    forms = [_form(1 / form.length, n, high - low) for n, (low, high) in zip(f.shape, ends, strict=True)]
    moved = reduce(lambda g, axis: np.moveaxis(np.tensordot(forms[axis], g, (1, axis)), 0, axis), range(f.ndim), f)
    return math.sqrt(max(float((f * moved).sum()), 0.0))


def _form(rate: float, size: int, width: float) -> Floats:
    """(3.7) as a matrix, for functions that are linear between `size` even points."""
    import scipy

    step = width / (size - 1)
    line = np.zeros(size)
    line[:2] = 2, -1
    stiff = scipy.linalg.toeplitz(line) / step
    line[:2] = 4, 1
    mass = scipy.linalg.toeplitz(line) * step / 6
    for matrix in (stiff, mass):
        matrix[0, 0] /= 2
        matrix[-1, -1] /= 2
    ends = np.zeros(size)
    ends[0] = ends[-1] = 0.5
    return np.asarray(np.diag(ends) + stiff / (2 * rate) + mass * rate / 2)
