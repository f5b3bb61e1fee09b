"""Matrix Laplace noise: for symmetric matrices that are sums of positive semidefinite contributions, such as Σuuᵀ.

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
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, arb_mat
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.account import Account, Mechanism
from uptack.errors import InvalidArgument
from uptack.exact import Rational, ball, read
from uptack.noise import Entropy, Grid
from uptack.noise.continuous_noise import nearest_integers, normals
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.registry import release
from uptack.release import Release
from uptack.table.values.entrance import numbers

Floats = NDArray[np.float64]
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
    ε-differentially private, by the lemma of `uptack.mechanisms.matrix_laplace`. The sum is rounded to a grid
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
