"""Norms in the space of a kernel, and how far means of kernels move between neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.kernels.kernel import Floats, Kernel, points, root_above
from uptack.kernels.stationary_kernels import ExponentialKernel
from uptack.privacy import Adjacency


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
        values: Floats = self.kernel(where, self.centres) @ np.asarray(self.weights)
        return values

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
    form: Floats = np.diag(ends) + stiff / (2 * rate) + mass * rate / 2
    return form
