"""A function released through finitely many coefficients in a public basis: it holds no data and answers for ever."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from uptack import checks
from uptack.account import Account
from uptack.display import ReleasedValue
from uptack.errors import InvalidArgument
from uptack.exact import Rational, Real, ball, theta
from uptack.kernels.kernel import UNIT, Floats, points, root_above
from uptack.mechanisms.additive_noise import calibrated_gaussian
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency
from uptack.registry import release
from uptack.release import Release
from uptack.table.values.entrance import matrix, numbers

DIGITS = 32
"""Binary digits to which the coordinates of a row are rounded, so that sums over rows are exact."""
MOST_ROWS = 1 << 24
MOST_WAVES = 10_000
"""The highest degree: up to it the floats of a row's coordinates are right to 2^-33."""
BATCH = 1 << 20


@dataclass(frozen=True)
class FourierBasis:
    """Waves on a public box, with the eigenvalues of the Gaussian kernel wrapped around it.

    On the unit interval the functions are 1, sqrt(2)·cos 2πjx, sqrt(2)·sin 2πjx for j up to `degree`, with eigenvalues
    λ = exp(-2π²j²σ²): ∫ k(x, y)φ(y)dy = λφ(x) for k(x, y) the density at x - y of N(0, σ²) wrapped around the interval
    (Hall, ch. 4, where π² is missing). In d > 1 all products, with the products of eigenvalues. `bandwidth` is σ in
    units of the box, `box` has a row (low, high) for each coordinate.

    A function f = Σ θ_j·φ_j has the norm sqrt(Σ θ_j²/λ_j) and the coordinates θ_j/sqrt(λ_j).
    """

    bandwidth: float
    degree: int
    box: tuple[tuple[float, float], ...] = ((0.0, 1.0),)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bandwidth", float(checks.positive("bandwidth", self.bandwidth)))
        checks.integer("degree", self.degree, least=1)
        ends = np.asarray(self.box, np.float64)
        shaped = ends.ndim == 2 and ends.shape[1] == 2
        with np.errstate(over="ignore", invalid="ignore"):
            sides = ends[:, 1] - ends[:, 0] if shaped else np.zeros(1)
        if not ((sides > 0) & np.isfinite(sides)).all():
            raise InvalidArgument("box", "a pair (low, high) for each coordinate", checks.describe(self.box))
        object.__setattr__(self, "box", tuple((low, high) for low, high in ends.tolist()))
        if self.degree > MOST_WAVES or self.size > 1 << 20:
            raise InvalidArgument("degree", f"at most {MOST_WAVES}, with a million coefficients in all", self.degree)

    @property
    def dimension(self) -> int:
        return len(self.box)

    @property
    def size(self) -> int:
        """The number of coefficients, (2·degree + 1)^d."""
        return int((2 * self.degree + 1) ** self.dimension)

    @property
    def eigenvalues(self) -> Floats:
        """λ of each function."""
        j = (np.arange(2 * self.degree + 1) + 1) // 2
        side = np.exp(-2 * (math.pi * j * self.bandwidth) ** 2)
        return np.array([math.prod(several) for several in itertools.product(side.tolist(), repeat=self.dimension)])

    def functions(self, where: ArrayLike) -> Floats:
        """φ_j(x) for points (k, d), in an array (k, size)."""
        rows = points("points", where, self.dimension)
        low, high = np.array(self.box).T
        with np.errstate(over="ignore", invalid="ignore"):
            share = (rows - low) / (high - low)
            place = np.nan_to_num(share - np.floor(share), posinf=0.0, neginf=0.0)  # too far away to be wrapped: 0
        values = np.ones((len(rows), 1))
        for t in place.T:
            turn = 2 * math.pi * np.outer(t, np.arange(1, self.degree + 1))
            side = np.ones((len(t), 2 * self.degree + 1))
            side[:, 1::2], side[:, 2::2] = math.sqrt(2) * np.cos(turn), math.sqrt(2) * np.sin(turn)
            values = (values[:, :, None] * side[:, None, :]).reshape(len(t), -1)
        return values

    def mean(self, rows: ArrayLike) -> Floats:
        """Coordinates of the density estimate (1/n)·Σ k(x_i, ·) of rows (n, d), cut off at the degree.

        Each row's coordinates sqrt(λ_j)·φ_j(x_i) are rounded to 2^-32 and then summed exactly. A row outside the box
        is wrapped around it; one that is not a number, or too far away, counts as the box's lower end.
        """
        low = np.array(self.box)[:, 0]
        table = matrix("rows", rows)
        if table.ndim != 2 or table.shape[1] != self.dimension or not 1 <= len(table) <= MOST_ROWS:
            must = f"an array (n, {self.dimension}) of at most {MOST_ROWS} rows"
            raise InvalidArgument("rows", must, checks.outline(table))
        table = np.where(np.isfinite(table), table, low)
        roots, total, batch = np.sqrt(self.eigenvalues), np.zeros(self.size, np.int64), max(1, BATCH // self.size)
        for start in range(0, len(table), batch):
            scaled = np.rint(np.ldexp(self.functions(table[start : start + batch]) * roots, DIGITS))
            total += scaled.astype(np.int64).sum(axis=0)
        return np.asarray(np.ldexp(total / len(table), -DIGITS))

    def sensitivity(self, rows: int, adjacency: Adjacency = SUBSTITUTE) -> Fraction:
        """How far `mean` moves where a person's rows are replaced, for a public number of rows.

        The coordinates of two rows are sqrt(2k(x, x)) apart at most, as k ≥ 0 and cutting off drops squares only; by
        the same argument sums of g rows are g times that. Rounding moves each row by less than sqrt(size)·2^-32.
        """
        n = checks.integer("rows", rows, least=1)
        if not adjacency.size_is_public:
            raise InvalidArgument("adjacency", "SUBSTITUTE, as a mean has a public number of rows", adjacency)
        rounding = 2 * root_above(Fraction(self.size)) / (1 << DIGITS)
        return adjacency.rows_per_person * (root_above(2 * self._peak()) + rounding) / n

    @property
    def rounding(self) -> Fraction:
        """How far the floats of `mean` may be from the exact sums over n: two roundings each."""
        return 3 * UNIT * root_above(self._peak())

    def _peak(self) -> Fraction:
        """k(x, x) = (Σ exp(-2π²j²σ²) over all integers j)^d, rounded up."""
        sigma = Fraction(self.bandwidth)
        return Real(lambda: theta(2 * (arb.pi() * ball(sigma)) ** 2) ** self.dimension).bounds()[1]


@dataclass(frozen=True, eq=False)
class SpectralRelease(ReleasedValue):
    """A private function Σ sqrt(λ_j)·w_j·φ_j, known by its coordinates w. `scale` is the noise of each of them."""

    basis: FourierBasis
    coordinates: Floats
    scale: float

    def at(self, where: ArrayLike) -> Floats:
        """The private function at points (k, d)."""
        return np.asarray(self.basis.functions(where) @ (np.sqrt(self.basis.eigenvalues) * self.coordinates))

    def band(self, where: ArrayLike, confidence: Rational = 0.95) -> tuple[Floats, Floats]:
        """Where the curator's own values lie (of the function cut off at the degree), each point by itself."""
        import scipy

        tail = (1 - float(checks.inside_unit("confidence", confidence))) / 2
        spread = self.scale * np.sqrt(self.basis.functions(where) ** 2 @ self.basis.eigenvalues)
        values, reach = self.at(where), scipy.special.ndtri(tail) * spread
        return values + reach, values - reach

    def to_dict(self) -> dict[str, Any]:
        basis = {"bandwidth": self.basis.bandwidth, "degree": self.basis.degree, "box": [*map(list, self.basis.box)]}
        return {"basis": basis, "coordinates": self.coordinates.tolist(), "scale": self.scale}

    @staticmethod
    def from_dict(content: dict[str, Any]) -> SpectralRelease:
        """What `to_dict` wrote down."""
        basis = FourierBasis(**content["basis"])
        return SpectralRelease(basis, np.array(content["coordinates"]), content["scale"])

    def __repr__(self) -> str:
        return f"SpectralRelease({self.basis.size} coefficients, scale {self.scale:.3g})"


@release(data=("coordinates",), people="stated", page="fourier_density")
def release_spectral(
    coordinates: ArrayLike,
    *,
    basis: FourierBasis,
    sensitivity: Rational,
    epsilon: Rational,
    delta: Rational,
    error: Rational | None = None,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[SpectralRelease]:
    """A function by its coordinates θ_j/sqrt(λ_j), each with the same Gaussian noise: (ε, δ)-differentially private.

    **Theorem** (Hall, Prop. 3.2.1 and 3.4). For f = Σ θ_j·φ_j the norm is that of the coordinates, so ‖f_D - f_D'‖ ≤ Δ
    in the space of the kernel says that the exact coordinates are within Δ of each other, however many there are; the
    computed ones, which are within `error` of the exact (Δ/1000 if left out), are within Δ + 2·error. The Gaussian
    mechanism (`uptack.mechanisms.gaussian`) at that sensitivity is (ε, δ)-private. Everything after is post-processing.

    >>> from uptack.noise import SeededEntropy
    >>> rows = np.random.default_rng(0).beta(2, 4, size=(10_000, 1))
    >>> basis = FourierBasis(bandwidth=0.05, degree=10)
    >>> result = release_spectral(
    ...     basis.mean(rows), basis=basis, sensitivity=basis.sensitivity(10_000), error=basis.rounding,
    ...     epsilon=1, delta=1e-6, entropy=SeededEntropy(1),
    ... )
    >>> result.value, result.value.at([0.25, 0.75]).round(1)
    (SpectralRelease(21 coefficients, scale 0.0...), array([2.1, 0.2]))
    """
    form: FourierBasis = checks.instance("basis", basis, FourierBasis, "a FourierBasis")
    bound, eps = checks.positive("sensitivity", sensitivity), checks.epsilon(epsilon)
    slip = bound / 1000 if error is None else checks.nonnegative("error", error)
    dlt = checks.inside_unit("delta", delta, "Gaussian noise needs δ > 0, such as 1e-6.")
    account = Account.open("Gaussian noise on coefficients", eps, dlt, adjacency=adjacency, entropy=entropy)
    w = numbers("coordinates", coordinates, (1,))
    if w.size != form.size:
        raise InvalidArgument("coordinates", f"{form.size} numbers, as the basis has", checks.describe(w))
    noise = calibrated_gaussian(bound + 2 * slip, eps, dlt, w.size)
    return account.release(SpectralRelease(form, account.draw(noise, w), noise.standard_deviation))
