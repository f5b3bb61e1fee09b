"""Continuous noise without rounding errors: real numbers known to as many digits as it takes.

A noise vector is a function of independent uniform reals. Only the first digits of each uniform real are drawn. Ball
arithmetic then gives a box that is certain to contain the noise vector. If the box does not determine the nearest
integers, more digits are drawn. So the integers are exactly the rounding of an ideal real-valued draw. Rounding is
post-processing, so the privacy proof for real noise applies without a larger sensitivity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, fmpq
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational, ball, working
from uptack.noise.entropy import Entropy

Floats = NDArray[np.float64]
Transform = Callable[[Sequence[arb]], Sequence[arb]]
CHOLESKY_BITS = 128
"""Precision at which a matrix must be seen to be positive definite; draws use more."""


def _uniforms(drawn: list[int], bits: int) -> list[arb]:
    """The intervals [d, d + 1]·2^-bits."""
    scale = arb(2) ** (-bits)
    return [arb(d + arb(0.5), 0.5) * scale for d in drawn]


def nearest_integers(transform: Transform, uniforms: int, entropy: Entropy) -> list[int]:
    """The integers nearest to `transform(u)`, for a vector u of independent uniform reals in (0, 1)."""
    bits, drawn = 0, [0] * uniforms
    while True:
        fresh = entropy.bytes(16 * uniforms)
        drawn = [d << 128 | int.from_bytes(fresh[16 * i : 16 * i + 16], "little") for i, d in enumerate(drawn)]
        bits += 128
        with working(bits + 64):
            rounded = [(x + arb(0.5)).floor().unique_fmpz() for x in transform(_uniforms(drawn, bits))]
        if all(k is not None for k in rounded):
            return [int(k) for k in rounded if k is not None]


def exponential(u: arb) -> arb:
    """An exponential variable of mean 1 from a uniform one."""
    return -u.log()


def laplace(u: arb) -> arb:
    """A Laplace variable of scale 1 from a uniform one."""
    v = 2 * u - 1
    return -v.sgn() * abs(v).log()


def gamma(us: Sequence[arb]) -> arb:
    """A Gamma variable of scale 1. Its shape is the number of uniform variables."""
    product = arb(1)
    for u in us:
        product *= u
    return -product.log()


def normals(us: Sequence[arb]) -> list[arb]:
    """Standard normal variables from an even number of uniform ones, by the Box-Muller transform."""
    out = []
    for u, v in zip(us[::2], us[1::2], strict=True):
        radius, (sine, cosine) = (2 * exponential(u)).sqrt(), (2 * v).sin_cos_pi()
        out += [radius * cosine, radius * sine]
    return out


# -------------------------------------------------------------------------------------------------------- convex bodies


class Body(ABC):
    """A convex body in R^d with K = -K: the unit ball of a K-norm mechanism, with an exact uniform sampler.

    Without this symmetry the K-norm mechanism does not have the stated ε.
    """

    dimension: int

    @property
    @abstractmethod
    def uniforms(self) -> int:
        """How many uniform reals a point needs."""

    @abstractmethod
    def point(self, us: Sequence[arb]) -> list[arb]:
        """A uniform point of the body."""

    @abstractmethod
    def extent(self) -> Floats:
        """The largest |x_i| in the body, for each coordinate i."""

    def norm(self, x: Floats) -> float:
        """‖x‖_K, the least t with x in t·K, in floats. A body without a formula for it does not know."""
        raise NotImplementedError(f"{type(self).__name__} has no formula for its norm")

    def point_map(self, entropy: Entropy) -> Callable[[Sequence[arb]], list[arb]]:
        """The map from uniform reals to a point, for one draw. It stays the same while digits are added."""
        return self.point


@dataclass(frozen=True)
class Box(Body):
    """All x with |x_i| ≤ w_i."""

    half_widths: tuple[Rational, ...]

    def __post_init__(self) -> None:
        widths = tuple(checks.positive(f"half_widths[{i}]", w) for i, w in enumerate(self.half_widths))
        if not widths:
            raise InvalidArgument("half_widths", "a sequence of at least one positive number", "an empty one")
        object.__setattr__(self, "half_widths", widths)

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """The number of half-widths."""
        return len(self.half_widths)

    @property
    def uniforms(self) -> int:
        return self.dimension

    def point(self, us: Sequence[arb]) -> list[arb]:
        """w_i·(2u_i - 1)."""
        return [ball(Fraction(w)) * (2 * u - 1) for w, u in zip(self.half_widths, us, strict=True)]

    def extent(self) -> Floats:
        return np.array([float(Fraction(w)) for w in self.half_widths])

    def norm(self, x: Floats) -> float:
        return float((np.abs(x) / self.extent()).max())


class LInfBall(Box):
    """All x with max |x_i| ≤ 1."""

    def __init__(self, dimension: int) -> None:
        super().__init__((Fraction(1),) * checks.integer("dimension", dimension, least=1))


@dataclass(frozen=True)
class _UnitBall(Body):
    dimension: int

    def __post_init__(self) -> None:
        checks.integer("dimension", self.dimension, least=1)

    def extent(self) -> Floats:
        return np.ones(self.dimension)


class L1Ball(_UnitBall):
    """All x with Σ|x_i| ≤ 1."""

    @property
    def uniforms(self) -> int:
        return self.dimension + 1

    def point(self, us: Sequence[arb]) -> list[arb]:
        """Laplace variables, divided by the sum of their absolute values and one more exponential variable."""
        signed = [laplace(u) for u in us[:-1]]
        total = sum((abs(v) for v in signed), exponential(us[-1]))
        return [v / total for v in signed]

    def norm(self, x: Floats) -> float:
        return float(np.abs(x).sum())


class L2Ball(_UnitBall):
    """All x with Σx_i² ≤ 1."""

    @property
    def uniforms(self) -> int:
        """Enough for d + 2 normal variables, which are drawn in pairs."""
        return self.dimension + 2 + self.dimension % 2

    def point(self, us: Sequence[arb]) -> list[arb]:
        """The first d coordinates of a uniform point on the sphere in d + 2 dimensions."""
        direction = normals(us)[: self.dimension + 2]
        length = sum((g * g for g in direction), arb(0)).sqrt()
        return [g / length for g in direction[: self.dimension]]

    def norm(self, x: Floats) -> float:
        return float(np.linalg.norm(x))


def _cholesky(matrix: Sequence[Sequence[Fraction]]) -> list[list[arb]] | None:
    """The lower triangular L with LLᵀ = matrix, or None where the matrix is not surely positive definite."""
    rows: list[list[arb]] = []
    for i, row in enumerate(matrix):
        new: list[arb] = []
        for j in range(i + 1):
            entry = ball(row[j]) - sum((a * b for a, b in zip(new, rows[j] if j < i else new, strict=False)), arb(0))
            if j == i and not entry > 0:
                return None
            new.append(entry.sqrt() if j == i else entry / rows[j][j])
        rows.append(new)
    return rows


class Ellipsoid(Body):
    """All x with xᵀΣ⁻¹x ≤ 1: the unit ball of the Mahalanobis norm of a positive definite matrix Σ.

    The matrix is public: it must not be computed from the data.
    """

    def __init__(self, covariance: ArrayLike) -> None:
        array = checks.numbers("covariance", covariance, dimensions=(2,))
        self._matrix = tuple(tuple(Fraction(float(v)) for v in row) for row in array)
        self.dimension = array.shape[0]
        self._diagonal = np.sqrt(np.maximum(np.diag(array), 0))
        symmetric = array.shape == array.T.shape and bool((array == array.T).all())
        with working(CHOLESKY_BITS):
            factor = _cholesky(self._matrix) if symmetric else None
        if factor is None:
            raise InvalidArgument("covariance", "a symmetric positive definite matrix", checks.describe(array))
        self._ball = L2Ball(self.dimension)

    @property
    def uniforms(self) -> int:
        return self._ball.uniforms

    def point(self, us: Sequence[arb]) -> list[arb]:
        """L·v for a uniform v in the Euclidean ball and LLᵀ = Σ."""
        factor = _cholesky(self._matrix)
        assert factor is not None
        v = self._ball.point(us)
        return [sum((a * b for a, b in zip(row, v, strict=False)), arb(0)) for row in factor]

    def extent(self) -> Floats:
        return self._diagonal

    def norm(self, x: Floats) -> float:
        return float(np.sqrt(x @ np.linalg.solve(np.array(self._matrix, np.float64), x)))


class SampledBody(Body):
    """A body given by its own uniform sampler, a function of the entropy source that returns d numbers.

    The guarantee of a release then depends on the sampler. It must be uniform on a convex body that is symmetric about
    0, which cannot be checked here. `extent` is needed for intervals and for the grid.
    """

    def __init__(self, sampler: Callable[[Entropy], ArrayLike], extent: ArrayLike) -> None:
        self._sampler = checks.instance("sampler", sampler, Callable, "a function of an Entropy")  # type: ignore[arg-type]
        self._extent = checks.numbers("extent", extent, dimensions=(1,))
        if not (self._extent > 0).all():
            raise InvalidArgument("extent", "an array of positive numbers", checks.describe(extent))
        self.dimension = self._extent.size

    @property
    def uniforms(self) -> int:
        """0: the sampler draws its own randomness."""
        return 0

    def point(self, us: Sequence[arb]) -> list[arb]:
        """Not defined: a point is not a function of uniform reals. See `point_map`."""
        raise TypeError("a SampledBody draws for itself")

    def point_map(self, entropy: Entropy) -> Callable[[Sequence[arb]], list[arb]]:
        drawn = np.asarray(self._sampler(entropy), np.float64)
        if drawn.shape != (self.dimension,):
            raise InvalidArgument("sampler", f"a sampler of {self.dimension} numbers", checks.describe(drawn))
        return lambda us: [arb(fmpq(*float(v).as_integer_ratio())) for v in drawn]

    def extent(self) -> Floats:
        return self._extent
