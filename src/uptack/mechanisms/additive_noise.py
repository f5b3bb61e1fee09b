"""Noise added to a number, a vector or a matrix: Laplace, Gaussian, Gamma, the K-norm mechanism, and matrix Laplace.

The caller states how far the value can move between neighbours (its sensitivity). All noise lives on a grid that is
fixed before the value is read. NaN is read as 0 and ±inf as the largest float, so that no error depends on the data.

**Matrix Laplace noise** is for symmetric matrices that are sums of positive semidefinite contributions, such as Σuuᵀ.
Let W₁ and W₂ be independent with density proportional to e^(-tr W/θ) on the cone of positive semidefinite d×d matrices,
and let f be the density of N = W₁ - W₂. ‖P‖_* is the nuclear norm, the sum of the eigenvalues' absolute values.

**Lemma.** f(M + P) ≤ e^(‖P‖_*/θ)·f(M) for all symmetric M and P.

*Proof.* Put W₂ = W - M for W₁ = W: up to a constant

    f(M) = e^(tr M/θ)·I(M),   I(M) = ∫ e^(-2·tr W/θ) dW over W ≽ 0 and W ≽ M.

Let P ≽ 0. The region of M + P is part of that of M, so I(M + P) ≤ I(M) and f(M + P) ≤ e^(tr P/θ)·f(M). In I(M + P) put
W = V + P: the integrand is e^(-2·tr P/θ)·e^(-2·tr V/θ), and the region of V, V ≽ -P and V ≽ M, holds that of M. So
I(M + P) ≥ e^(-2·tr P/θ)·I(M) and f(M + P) ≥ e^(-tr P/θ)·f(M). A symmetric P is P₊ - P₋ with P₊, P₋ ≽ 0 and
tr P₊ + tr P₋ = ‖P‖_*. Go from M to M - P₋, and from there to M + P. ∎

**Draws.** GGᵀ·θ/2 for a d×(d + 1) matrix G of independent standard normal numbers has the Wishart density with d + 1
degrees of freedom, |W|^0·e^(-tr W/θ) up to a constant: the law of W₁. The normal numbers have as many digits as it
takes (`uptack.noise.continuous_noise`), so the rounded sum is exactly the rounding of an ideal real-valued draw.

**Entries.** For independent Gamma variables of scale 1, X_a and Y_a of shape a: an entry of N on the diagonal has the
law of θ·(X_a - Y_a) for a = (d + 1)/2, and one beside it that of θ/2·(X_a - Y_a) for a = d + 1, since a product of two
standard normal numbers is half the difference of two squares of such. The largest eigenvalue of N is about 1.67·d·θ;
those of a symmetric matrix of Gamma noise in the Frobenius norm would be of order d^1.5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, arb_mat
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.account import Account, AssumptionFailed, Mechanism
from uptack.errors import InvalidArgument
from uptack.exact import Rational, ball, read
from uptack.noise import Ellipsoid, Entropy, Grid, IntegerGaussian, IntegerLaplace, IntegerLaw, L2Ball
from uptack.noise.continuous_noise import Body, nearest_integers, normals
from uptack.noise.continuous_noise import gamma as gamma_variable
from uptack.noise.integer_laws import VectorLaw, refuse_tiny
from uptack.privacy import SUBSTITUTE, Adjacency, cost, loss
from uptack.privacy.calibration import gaussian_noise_multiplier
from uptack.registry import release
from uptack.release import Release
from uptack.table.values.entrance import numbers

Floats = NDArray[np.float64]
LARGEST_RHO = 10**9
"""The ρ from which on a move counts as seen."""
SMOOTHING = 9
"""r² of the smoothing lemma, in steps²: 1 + 2Σe^(-2π²r²j²) differs from 1 by less than 2^-255."""


@dataclass(frozen=True)
class GridNoise:
    """Integer noise times a step, on a value that was rounded by at most `rounding`."""

    law: IntegerLaw
    step: float
    rounding: float

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        low, high = self.law.interval(confidence)
        return value - high * self.step - self.rounding, value - low * self.step + self.rounding


@dataclass(frozen=True)
class NormNoise:
    """Noise X with density proportional to exp(-‖X‖_K/scale): its norm has the law Gamma(d, scale)."""

    body: Body
    scale: float
    rounding: float

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        """A box around the K-ball that X keeps to with this probability: it holds for all coordinates at once."""
        import scipy

        radius = self.scale * float(scipy.special.gammaincinv(self.body.dimension, float(read(confidence))))
        reach = radius * self.body.extent() + self.rounding
        return value - reach, value + reach


@dataclass(frozen=True)
class GridMechanism(Mechanism[Floats, Floats]):
    """A vector of floats, rounded to a grid, with independent integer noise of one law, in steps of the grid."""

    law: IntegerLaw
    grid: Grid

    def draw(self, value: Floats, entropy: Entropy) -> Floats:
        """The sum is exact before it is rounded to floats."""
        return self.grid.move(value, self.law.draw(value.size, entropy))

    def price(self, value: Floats, other: Floats, output: Floats) -> float:
        return self.law.price(self.move(value, other), Fraction(getattr(self.loss, "delta", 0)))

    @property
    def standard_deviation(self) -> float:
        assert isinstance(self.law, IntegerGaussian)
        return math.sqrt(Fraction(self.law.variance)) * float(Fraction(self.grid.step))

    def move(self, value: Floats, other: Floats) -> list[int]:
        """How many steps each coordinate moves."""
        step = Fraction(self.grid.step)
        one, two = ([round(Fraction(v) / step) for v in np.nan_to_num(x).tolist()] for x in (value, other))
        return [b - a for a, b in zip(one, two, strict=True)]


@dataclass(frozen=True)
class IntegerNoise(Mechanism[NDArray[Any], NDArray[Any]]):
    """An array of whole numbers with independent noise of one law on each. It may hold Python's own integers.

    **Theorem.** Let every row have a vector of whole numbers, computed from that row alone, and let the vectors of
    any two rows be at most Δ apart in ℓ1 (SUBSTITUTE), or all of length at most Δ (ADD_REMOVE). Then one person with up
    to g rows moves the vector of sums by at most g·Δ, in any order and partition of the rows, and independent integer
    Laplace noise of scale g·Δ/ε on every sum is ε-differentially private (`uptack.noise.IntegerLaplace`). ∎

    The mechanism is the same for every law on the integers, also for one whose numbers are not independent. The price
    of a move follows from the theorem of the law.
    """

    law: VectorLaw

    def draw(self, value: NDArray[Any], entropy: Entropy) -> NDArray[Any]:
        noisy: NDArray[Any] = value + self.law.draw(value.size, entropy).reshape(value.shape)
        return noisy

    def price(self, value: NDArray[Any], other: NDArray[Any], output: NDArray[Any]) -> float:
        if value.shape != other.shape:
            raise AssumptionFailed("the cells depend on the data")
        move = [int(b) - int(a) for a, b in zip(value.flat, other.flat, strict=True)]
        if isinstance(self.loss, loss.Zcdp) and isinstance(self.law, IntegerGaussian):
            return concentrated_price(self.loss, self.law, move)
        return self.law.price(move, Fraction(getattr(self.loss, "delta", 0)))


def concentrated_price(node: loss.Zcdp, law: IntegerGaussian, move: Sequence[int]) -> float:
    """The ε of a move that Gaussian noise hides, |move|²/2σ² in ρ, at the failure and the δ of a loss."""
    rho = sum(step * step for step in move) / (2 * Fraction(law.variance))
    return math.inf if rho > LARGEST_RHO else cost(replace(node, rho=rho)).epsilon


@dataclass(frozen=True)
class NormMechanism(Mechanism[Sequence[Fraction], Sequence[int]]):
    """A vector with noise of density proportional to e^(-‖x‖_K/scale), rounded to a grid: in steps, exactly."""

    body: Body
    scale: Fraction
    grid: Grid

    def draw(self, value: Sequence[Fraction], entropy: Entropy) -> Sequence[int]:
        """The grid points nearest to value + r·V for r ~ Gamma(d + 1, scale) and V uniform on the body."""
        step = Fraction(self.grid.step)
        per_step, centre = self.scale / step, [v / step for v in value]
        d, point = self.body.dimension, self.body.point_map(entropy)

        def noisy(us: Any) -> list[arb]:
            radius = ball(per_step) * gamma_variable(us[: d + 1])
            return [ball(c) + radius * v for c, v in zip(centre, point(us[d + 1 :]), strict=True)]

        return nearest_integers(noisy, d + 1 + self.body.uniforms, entropy)

    def price(self, value: Sequence[Fraction], other: Sequence[Fraction], output: Sequence[int]) -> float:
        move = np.array([float(b - a) for a, b in zip(value, other, strict=True)])
        return self.body.norm(move) / float(self.scale)


def noisy_sums(sums: Sequence[int], law: IntegerLaw, account: Account) -> list[int]:
    """The sums with noise of a law that makes them ε-private for all the ε of the account. They may be of any size."""
    exact = np.array([int(total) for total in sums], object)
    return [int(total) for total in account.draw(IntegerNoise(loss.Pure(account.epsilon), law), exact)]


def noisy_integer(value: int, law: IntegerLaw, account: Account) -> int:
    """The same for one number."""
    return noisy_sums([value], law, account)[0]


def _in_shape(noisy: Floats, like: Floats) -> Any:
    """A float for a number, an array for an array."""
    return float(noisy[0]) if like.ndim == 0 else noisy.reshape(like.shape)


@release(data=("value",), people="stated", page="noise")
def laplace(
    value: ArrayLike,
    *,
    sensitivity: Rational,
    epsilon: Rational,
    granularity: Rational | None = None,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[Any]:
    """A number or vector with Laplace noise: ε-differentially private.

    **Theorem.** Let ‖f(D) - f(D')‖₁ ≤ Δ for neighbours D, D'. With values rounded to a grid of step g, the ℓ1 distance
    between neighbours is at most s = ⌈Δ/g⌉ + d steps, and independent integer Laplace noise of scale s/ε on each of
    the d coordinates is ε-differentially private (Hall, Prop. 1.3.1, on the integers).

    `granularity` is a promise, as `sensitivity` is: values lie on a grid already (1 for counts). Then no rounding is
    paid for, s = ⌈Δ/g⌉, and values off the grid may cost a step more. Otherwise the grid has at least 2^16 steps to
    Δ/d, and the rounding costs less than 2^-16 of the noise.

    >>> from uptack.noise import SeededEntropy
    >>> laplace(1200, sensitivity=1, epsilon=1, granularity=1, entropy=SeededEntropy(7))
    Release(1200.0, Laplace noise, ε = 1.0 (substitute), NOT PRIVATE: seeded randomness)
    """
    bound, eps = checks.positive("sensitivity", sensitivity), checks.epsilon(epsilon)
    account = Account.open("Laplace noise", eps, adjacency=adjacency, entropy=entropy)
    given = None if granularity is None else Grid(granularity)
    x = numbers("value", value)
    law, grid = calibrated_laplace(bound, eps, x.size, given)
    noisy = account.draw(GridMechanism(loss.Pure(eps), law, grid), x.ravel())
    step = float(Fraction(grid.step))
    return account.release(_in_shape(noisy, x), GridNoise(law, step, 0.0 if given else step / 2))


def calibrated_laplace(
    sensitivity: Fraction, epsilon: Fraction, size: int, given: Grid | None = None
) -> tuple[IntegerLaplace, Grid]:
    """The law and the grid of the theorem of `laplace`, for vectors of `size` coordinates."""
    grid = given or Grid.finer_than(sensitivity / size)
    steps = math.ceil(sensitivity / Fraction(grid.step)) + (0 if given else size)
    refuse_tiny(epsilon, steps / epsilon, f" for {size} coordinates")
    return IntegerLaplace(steps / epsilon), grid


@release(data=("value",), people="stated", page="noise")
def gaussian(
    value: ArrayLike,
    *,
    sensitivity: Rational,
    epsilon: Rational,
    delta: Rational,
    granularity: Rational | None = None,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[Any]:
    """A number or vector with Gaussian noise: (ε, δ)-differentially private, for any ε > 0.

    **Theorem.** Let ‖f(D) - f(D')‖₂ ≤ Δ, let g be the step of the grid, s = Δ/g + sqrt(d), c = 1 - d·2^-200, and let m
    be the exact noise multiplier of (cε, cδ). Integer Gaussian noise of variance parameter (m·s)² + 9 on the
    rounded vector is (ε, δ)-differentially private.

    *Proof.* Add real N(0, (m·s)²) noise to the integer vector: (ε', δ')-private, Balle and Wang. Then round each
    coordinate X at random to k with probability proportional to e^(-(k - X)²/2r²), r² = 9: post-processing. By Poisson
    summation the normaliser of that step is a constant times 1 ± 2S, S = Σe^(-2π²r²j²) < 2^-255, so the law of the
    result is within a factor ((1 + 2S)/(1 - 2S))^d < 1 + d·2^-250 of the integer Gaussian with the variances added.
    That factor, twice in e^ε and once in δ, is what c makes room for (ε is above 2^-40, else the scale is refused). ∎

    `granularity` (1 for counts) rounds the released values to its multiples: post-processing.
    """
    bound, eps = checks.positive("sensitivity", sensitivity), checks.epsilon(epsilon)
    fix = "Gaussian noise needs δ > 0; for δ = 0 use laplace or gamma."
    dlt, coarse = checks.inside_unit("delta", delta, fix), None if granularity is None else Grid(granularity)
    account = Account.open("Gaussian noise", eps, dlt, adjacency=adjacency, entropy=entropy)
    x = numbers("value", value)
    noise = calibrated_gaussian(bound, eps, dlt, x.size)
    noisy = account.draw(noise, x.ravel())
    noisy = noisy if coarse is None else coarse.values(coarse.steps(noisy))
    rounding = float(Fraction((coarse or noise.grid).step)) / 2
    return account.release(_in_shape(noisy, x), GridNoise(noise.law, float(Fraction(noise.grid.step)), rounding))


def calibrated_gaussian(sensitivity: Fraction, epsilon: Fraction, delta: Fraction, size: int) -> GridMechanism:
    """The mechanism of the theorem of `gaussian`, for vectors of up to `size` coordinates."""
    slack = 1 - Fraction(size, 1 << 200)
    multiplier = gaussian_noise_multiplier(epsilon * slack, delta * slack)
    root = math.isqrt(size - 1) + 1  # at least sqrt(d)
    grid = Grid.finer_than(sensitivity / root)
    steps = math.ceil(sensitivity / Fraction(grid.step)) + root
    refuse_tiny(epsilon, multiplier * steps, f" for {size} coordinates")
    law = IntegerGaussian(math.ceil((multiplier * steps) ** 2) + SMOOTHING)
    return GridMechanism(loss.Gaussian(epsilon, delta, multiplier), law, grid)


@release(data=("value",), people="stated", page="noise")
def k_norm(
    value: ArrayLike,
    *,
    body: Body,
    sensitivity: Rational,
    epsilon: Rational,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[Any]:
    """A vector with noise of density proportional to exp(-ε‖x‖_K/Δ): ε-differentially private.

    **Theorem** (Hall, Prop. 1.3.4; Hardt and Talwar 2010). Let K be convex and symmetric about 0 and let
    ‖f(D) - f(D')‖_K ≤ Δ for neighbours. The noise r·V with r ~ Gamma(d + 1, Δ/ε) and V uniform on K has that density,
    and by the triangle inequality the release is ε-private. The sum is rounded to a grid afterwards: post-processing.
    Without the symmetry ‖-v‖_K may exceed ‖v‖_K, and the claim is false.
    """
    shape: Body = checks.instance("body", body, Body, "one of the bodies of uptack.noise", "Try LInfBall(d).")
    bound, eps = checks.positive("sensitivity", sensitivity), checks.epsilon(epsilon)
    account = Account.open("K-norm noise", eps, adjacency=adjacency, entropy=entropy)
    x = numbers("value", value)
    d = shape.dimension
    if x.size != d:
        raise InvalidArgument("value", f"a vector of {d} numbers, the dimension of body", checks.describe(x))
    scale = checks.positive("sensitivity over epsilon", bound / eps)
    grid = Grid.finer_than(scale * Fraction(float(shape.extent().min())))
    exact = [Fraction(v) for v in x.ravel().tolist()]
    noisy = grid.points(account.draw(NormMechanism(loss.Pure(eps), shape, scale, grid), exact))
    return account.release(_in_shape(noisy, x), NormNoise(shape, float(scale), float(Fraction(grid.step)) / 2))


@release(data=("value",), people="stated", page="noise")
def gamma(
    value: ArrayLike,
    *,
    sensitivity: Rational,
    epsilon: Rational,
    covariance: ArrayLike | None = None,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[Any]:
    """A vector with noise of density proportional to exp(-ε‖x‖/Δ) in ℓ2 or Mahalanobis norm: ε-differentially private.

    **Theorem** (Hall, Prop. 1.3.2). With ‖x‖² = xᵀΣ⁻¹x for a public matrix Σ (the identity if left out) and
    ‖f(D) - f(D')‖ ≤ Δ, the release is ε-private: it is the K-norm mechanism over the ellipsoid of that norm.
    """
    size = numbers("value", value).size
    body = L2Ball(size) if covariance is None else Ellipsoid(covariance)
    return k_norm(value, body=body, sensitivity=sensitivity, epsilon=epsilon, adjacency=adjacency, entropy=entropy)


# --------------------------------------------------------------------------------------------------- noise for matrices


Matrix = Sequence[Sequence[Fraction | int]]


def edge(dimension: int) -> float:
    """The mean of the largest eigenvalue of N over θ, for d of 2 to 60 to within 2% of simulations."""
    return 1.67 * dimension - 1.5 * math.cbrt(dimension)


def deviation(dimension: int) -> float:
    """How far the eigenvalues of N are from their mean, over θ: the root of E[tr N²/d - (tr N/d)²].

    Entries have variances of d + 1 on the diagonal and (d + 1)/2 beside it, and tr N has d(d + 1).
    """
    return math.sqrt((dimension + 1) ** 2 / 2 - (dimension + 1) / dimension)


@dataclass(frozen=True)
class MatrixLaplaceLaw:
    """The law of W₁ - W₂ on d×d matrices, entry by entry."""

    dimension: int
    theta: float
    rounding: float

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        outside, d = 1 - float(read(confidence)), self.dimension
        reach = np.full((d, d), self.theta / 2 * beyond(float(d + 1), outside))
        np.fill_diagonal(reach, self.theta * beyond((d + 1) / 2, outside))
        return value - reach - self.rounding, value + reach + self.rounding


@dataclass(frozen=True)
class TraceNoise:
    """The law of the noise in a trace, rounded to integers: θ·(X_a - Y_a) for a = d(d + 1)/2.

    tr GGᵀ·θ/2 is θ/2 times the sum of d(d + 1) squares of standard normal numbers, so tr W is θ times a Gamma variable
    of shape d(d + 1)/2.
    """

    dimension: int
    theta: float

    def cutoff(self, failure: Rational) -> int:
        """An integer t with P(z ≥ t) ≤ failure."""
        shape = self.dimension * (self.dimension + 1) / 2
        return math.ceil(self.theta * beyond(shape, 2 * float(read(failure))) + 0.5) + 1


@lru_cache(maxsize=256)
def beyond(shape: float, outside: float) -> float:
    """The t with P(|X - Y| > t) = outside, for two independent Gamma variables of this shape and scale 1."""
    import scipy

    law = scipy.stats.gamma(shape)

    def tail(t: float) -> float:
        return 2 * float(scipy.integrate.quad(lambda x: law.pdf(x) * law.sf(x + t), 0, np.inf)[0])

    return float(scipy.optimize.brentq(lambda t: tail(t) - outside, 0.0, 60 + 12 * shape, xtol=1e-9))


@release(data=("value",), page="noise")
def matrix_laplace(
    value: ArrayLike,
    *,
    sensitivity: Rational,
    epsilon: Rational,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[Any]:
    """A symmetric matrix with matrix Laplace noise: ε-differentially private.

    **Theorem.** Let ‖f(D) - f(D')‖_* ≤ Δ for neighbours D, D', in the nuclear norm. With θ = Δ/ε, f(D) + W₁ - W₂ is
    ε-differentially private, by the lemma of `uptack.mechanisms.additive_noise`. The sum is rounded to a grid
    afterwards: post-processing.

    For a sum of uuᵀ with |u| ≤ 1, an added or removed row moves the nuclear norm by at most 1, and a replaced one by at
    most 2. Of a matrix that is not symmetric the symmetric part (M + Mᵀ)/2 is released; its nuclear norm is no larger.

    >>> from uptack.noise import SeededEntropy
    >>> u = np.array([[3, 4], [4, 3], [5, 0]]) / 5
    >>> release = matrix_laplace(u.T @ u, sensitivity=2, epsilon=1000, entropy=SeededEntropy(1))
    >>> release.value.round(1).tolist(), release.privacy
    ([[2.0, 1.0], [1.0, 1.0]], Privacy(epsilon=1000.0))
    """
    bound, eps = checks.positive("sensitivity", sensitivity), checks.epsilon(epsilon)
    account = Account.open("matrix Laplace noise", eps, adjacency=adjacency, entropy=entropy)
    x = numbers("value", value, dimensions=(2,))
    if x.shape[0] != x.shape[1]:
        raise InvalidArgument("value", "a square matrix", checks.outline(x))
    theta = checks.positive("sensitivity over epsilon", bound / eps)
    grid, d = Grid.finer_than(theta), x.shape[0]
    exact = [[(Fraction(float(x[i, j])) + Fraction(float(x[j, i]))) / 2 for j in range(d)] for i in range(d)]
    noisy = account.draw(MatrixLaplace(loss.Pure(eps), theta, grid), exact)
    return account.release(noisy, MatrixLaplaceLaw(d, float(theta), float(Fraction(grid.step)) / 2))


@dataclass(frozen=True)
class MatrixLaplace(Mechanism[Matrix, Floats]):
    """The points of a grid nearest to M + W₁ - W₂, for a symmetric matrix M of rationals: exact, then as floats."""

    theta: Fraction
    grid: Grid

    def draw(self, value: Matrix, entropy: Entropy) -> Floats:
        d, step = len(value), Fraction(self.grid.step)
        lower = [(i, j) for i in range(d) for j in range(i + 1)]
        centre, half = [Fraction(value[i][j]) / step for i, j in lower], self.theta / step / 2

        def noisy(us: Sequence[arb]) -> list[arb]:
            drawn, scale = normals(us), ball(half)
            first, second = (arb_mat(d, d + 1, part) for part in (drawn[: d * (d + 1)], drawn[d * (d + 1) :]))
            noise = first * first.transpose() - second * second.transpose()
            return [ball(c) + scale * noise[i, j] for c, (i, j) in zip(centre, lower, strict=True)]

        points = self.grid.points(nearest_integers(noisy, 2 * d * (d + 1), entropy))
        out = np.zeros((d, d))
        for (i, j), point in zip(lower, points.tolist(), strict=True):
            out[i, j] = out[j, i] = point
        return out

    def price(self, value: Matrix, other: Matrix, output: Floats) -> float:
        rows = zip(value, other, strict=True)
        move = [[Fraction(b) - Fraction(a) for a, b in zip(*pair, strict=True)] for pair in rows]
        largest = max((abs(v) for row in move for v in row), default=Fraction(0)) or Fraction(1)
        scaled = np.array([[float(v / largest) for v in row] for row in move])
        return float(np.abs(np.linalg.eigvalsh(scaled)).sum() * (largest / self.theta))
