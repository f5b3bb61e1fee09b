"""Noise for trigonometric moments, shaped like the body that the moments live in.

A row x in [0, 1) has the moments Ψ(x) = (e^(2πix), e^(2πi2x), ..., e^(2πimx)) in C^m = R^2m, and K = conv{Ψ(x)} is the
body of all moment vectors of probability measures (Carathéodory). Let g be its gauge: g(z) = min{t ≥ 0: z in tK}.
A vector z is in tK if and only if the Hermitian Toeplitz matrix T(z), with 0 on the diagonal and z_k on the k-th side
diagonal, has tI + T(z) ⪰ 0: so g(z) = -λ_min(T(z)).

K is not symmetric: g(Ψ) = 1 but g(-Ψ) = m, as T(Ψ) = vv* - I for a vector v of m + 1 entries of size 1. So noise r·u
with u uniform on K and the sensitivity 2/n, as the thesis prints it (Hall, section 4.4.2), is not private for m ≥ 2.

**Theorem.** Let each row add a vector φ(x) with g(φ(x)) ≤ c to a sum S. Let Y₁, Y₂ be independent, Y = r·u with u
uniform on K and r ~ Gamma(2m + 1, c/ε). Then S + Y₁ - Y₂ is ε-differentially private when a row is added or removed,
and so is what it is rounded to. (For k rows kε, and for k replaced ones 2kε: the scale of the noise makes up for that.)

*Proof.* Y has the density ∫ r^2m e^(-rε/c)·1{y in rK}/vol(rK) dr, up to a constant, which is e^(-ε·g(y)/c). g is
subadditive, as K is convex: g(y) ≤ g(y - a) + g(a). So the density of Y + a at y is at most e^(ε·g(a)/c) times that of
Y. An added row moves S by a = φ(x); let Y₁ take up the move: a factor of at most e^ε. A removed row moves S by -a, and
-Y₂ - a = -(Y₂ + a) takes it up in the same way. ∎
"""

from __future__ import annotations

import functools
import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from flint import acb, acb_poly, acb_series, arb, ctx
from numpy.typing import NDArray

from uptack.exact import ball, working
from uptack.noise import Body, Entropy, IntegerLaplace, L2Ball
from uptack.noise.continuous_noise import gamma, nearest_integers
from uptack.privacy import Adjacency

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Matrix = tuple[acb_poly, acb_poly, acb_poly, acb_poly]
CELLS = 1 << 16
"""Cells that a row may be in: 64 or more to a wave of the highest frequency."""
UNIT = 1 << 24
"""Steps to 1 in which moments are counted."""
PIECE = 1 << 16
"""Cells whose units are added up at a time: 2^16 products of 16 bits with a cosine of 24 bits stay below 2^63."""
ROOT_TWO = Fraction(14142136, 10**7)
"""Above the square root of 2."""


# ------------------------------------------------------------------------------------------------ exact sums of moments


@functools.lru_cache(maxsize=1)
def cosines() -> Integers:
    """The integers nearest to 2^24·cos(2πk/2^16), for k = 0, ..., 2^16 - 1.

    Floats have an error below 1e-8, and none of them is within 1e-6 of a half: the tests check all, with balls.
    """
    quarter = np.floor(UNIT * np.cos(np.arange(CELLS // 4 + 1) * (2 * np.pi / CELLS)) + 0.5).astype(np.int64)
    half = np.concatenate([quarter, -quarter[-2::-1]])
    table = np.concatenate([half, half[-2:0:-1]])
    table.setflags(write=False)
    return table


def half_lattice(degree: int, dimension: int) -> Integers:
    """The frequencies k in {-m, ..., m}^d whose first entry that is not 0 is above it: of k and -k one."""
    span = range(-degree, degree + 1)
    zero = (0,) * dimension
    return np.array([k for k in itertools.product(span, repeat=dimension) if k > zero], np.int64)


def moment_sums(cells: Integers, counts: Integers, frequencies: Integers, unit: int = 1) -> Integers:
    """Σ over rows of the integers nearest to 2^24·e^(2πi k·cell/2^16), in two parts for each frequency k.

    Where counts are in units, of which so many count for one, the exact sum over `unit` is rounded to an integer.
    """
    table = cosines()
    sums = np.empty((len(frequencies), 2), np.int64)
    for i, k in enumerate(frequencies):
        angle = cells @ k
        parts = table[angle & (CELLS - 1)], table[(angle - CELLS // 4) & (CELLS - 1)]  # CELLS is a power of 2
        sums[i] = [counts @ part if unit == 1 else (2 * _exact(counts, part) + unit) // (2 * unit) for part in parts]
    return sums


def _exact(units: Integers, table: Integers) -> int:
    """Σ units·table, exactly: halves of the units, and pieces of the sum, that 64 bits hold."""
    total = 0
    for start in range(0, units.size, PIECE):
        some, part = units[start : start + PIECE], table[start : start + PIECE]
        total += (int((some >> 32) @ part) << 32) + (int((some >> 16 & 0xFFFF) @ part) << 16)
        total += int((some & 0xFFFF) @ part)
    return total


# ------------------------------------------------------------------------------------------------------------- the body


@dataclass(frozen=True)
class MomentBody:
    """K = conv{(e^(2πix), ..., e^(2πimx))}, with an exact uniform sampler that takes O(m·log²m) operations.

    It is not a `Body`: those are symmetric, and the K-norm mechanism of a body that is not is not private.
    """

    degree: int

    @property
    def dimension(self) -> int:
        return 2 * self.degree

    @property
    def uniforms(self) -> int:
        """A size and a phase for each coefficient."""
        return 2 * self.degree

    def point(self, us: Sequence[arb]) -> list[arb]:
        """A uniform point of K, as real and imaginary parts in turn.

        **Theorem.** Let a_0, ..., a_(m-1) be independent with uniform phases and |a_j|² ~ Beta(1, 2(m-1-j) + 1). The
        moments c_1, ..., c_m of a measure with these Verblunsky coefficients are uniform on K.

        *Proof.* (Verblunsky, Szegő.) Given c_1, ..., c_k the next moment lies anywhere in a disc: c_(k+1) =
        centre(c_1, ..., c_k) + a_k·Π_(i<k)(1 - |a_i|²) with |a_k| ≤ 1. So the map from a to c is one to one onto the
        inside of K, triangular, with the Jacobian Π_k Π_(i<k)(1 - |a_i|²)² = Π_i (1 - |a_i|²)^(2(m-1-i)), which is the
        joint density of the a_i above. The integral is vol(K) = Π_i π/(2(m-1-i) + 1) = (2π)^m·m!/(2m)!. ∎

        A Beta(1, b) variable is 1 - U^(1/b).
        """
        m, coefficients = self.degree, []
        for j, (u, v) in enumerate(zip(us[::2], us[1::2], strict=True)):
            size = (-(u.log() / (2 * (m - 1 - j) + 1)).expm1()).sqrt()
            sine, cosine = (2 * v).sin_cos_pi()
            coefficients.append(acb(size * cosine, size * sine))
        return [part for c in moments(coefficients) for part in (c.real, c.imag)]


def _transfer(coefficients: Sequence[acb]) -> Matrix:
    """The product of the matrices ((z, -ā), (-az, 1)) of Szegő's recursion, the first coefficient's to the right."""
    if len(coefficients) == 1:
        (a,) = coefficients
        return acb_poly([0, 1]), acb_poly([-a.conjugate()]), acb_poly([0, -a]), acb_poly([1])
    middle = len(coefficients) // 2
    p, q, r, s = _transfer(coefficients[middle:])
    t, u, v, w = _transfer(coefficients[:middle])
    return p * t + q * v, p * u + q * w, r * t + s * v, r * u + s * w


def _lower_row(coefficients: Sequence[acb]) -> tuple[acb_poly, acb_poly]:
    """The lower row of the same product, for less than half of the work."""
    if len(coefficients) == 1:
        return _transfer(coefficients)[2:]
    middle = len(coefficients) // 2
    r, s = _lower_row(coefficients[middle:])
    t, u, v, w = _transfer(coefficients[:middle])
    return r * t + s * v, r * u + s * w


def moments(coefficients: Sequence[acb]) -> list[acb]:
    """c_1, ..., c_m of a measure with the Verblunsky coefficients a_0, ..., a_(m-1).

    With R and S the lower row of the transfer matrix, R + S is the reversed orthogonal polynomial and S - R that of the
    second kind; their quotient is 1 + 2Σc_k·z^k up to the power m (Bernstein and Szegő). So Σc_k·z^k = -R/(R + S).
    """
    length = len(coefficients) + 1
    r, s = _lower_row(coefficients)
    with working(ctx.prec):  # the number of terms is one for the whole process, as the precision is
        cap, ctx.cap = ctx.cap, length
        try:
            series = acb_series((-r).coeffs(), length) / acb_series((r + s).coeffs(), length)
            return [series[k] for k in range(1, length)]
        finally:
            ctx.cap = cap


def _stretch(body: MomentBody | Body, scale: Fraction, us: Sequence[arb]) -> list[arb]:
    """r·u with the density proportional to e^(-gauge/scale)."""
    radius = ball(scale) * gamma(us[: body.dimension + 1])
    return [radius * v for v in body.point(us[body.dimension + 1 :])]


# ---------------------------------------------------------------------------------------------------- noise for moments


@dataclass(frozen=True)
class MomentNoise(ABC):
    """Integer noise for the sums of so many moments over rows: ε-differentially private, whatever the rows are.

    A row adds the integer vector φ(x) = 2^24·Ψ(x) + η with |Re η_k|, |Im η_k| ≤ 1/2. Its rounding is a part of φ, so it
    is counted in the sensitivity, and the sum S is exact. The noise does not depend on the data, and for a vector S of
    integers S + round(Y) = round(S + Y): what is released is the ideal release, rounded.

    *People.* A person adds the mean of the φ(x) of her rows, in units, so a point of the hull of 0 and all φ(x), whose
    gauges and norms are no larger. The exact sum is then rounded to integers. Between neighbours that rounding moves
    each part by at most 1 beside the person's own move. So it is as if a person's vector had been rounded by up to
    1/2 + 1 in the place of 1/2: `rounding` is how many times 1/2 that is.
    """

    label: ClassVar[str]
    count: int
    epsilon: Fraction
    adjacency: Adjacency

    @property
    def moves(self) -> int:
        """How many rows a person's change adds and removes: a replaced row is removed and another one added."""
        return self.adjacency.rows_per_person * self.adjacency.moves_per_row

    @property
    def rounding(self) -> int:
        """How far the parts of what a row or person adds may be rounded, in halves of a step."""
        return 3 if self.adjacency.person else 1

    @property
    @abstractmethod
    def scale(self) -> Fraction:
        """The scale of the noise, in steps of 2^-24."""

    @property
    @abstractmethod
    def square(self) -> float:
        """E Σ|noise_k|², in rows²."""

    @property
    def squares(self) -> Floats:
        """E|noise_k|² for each moment, in rows²: even, unless the noise says otherwise."""
        return np.full(self.count, self.square / self.count)

    @abstractmethod
    def draw(self, size: int, entropy: Entropy) -> Integers:
        """Real and imaginary parts of every moment in turn, in steps: `size` = 2·`count` numbers."""

    @abstractmethod
    def gauge(self, move: Floats) -> float:
        """How far a move of the sums is, in the norm that the scale is for."""

    def price(self, move: Sequence[int], delta: Fraction = Fraction(0)) -> float:
        return self.gauge(np.array(move, np.float64)) / float(self.scale)


class CaratheodoryNoise(MomentNoise):
    """Y₁ - Y₂ of the theorem above, for the moments 1, ..., m.

    *Rounding.* g(η) ≤ ‖T(η)‖ ≤ 2Σ|η_k| ≤ sqrt(2)·m, so g(φ(x)) ≤ 2^24 + sqrt(2)·m: this is c. (K holds the ball of
    radius 1/(2·sqrt(m)), so that rounding costs next to nothing.)
    """

    label = "Carathéodory noise"

    @property
    def scale(self) -> Fraction:
        """c/ε for each added or removed row."""
        return self.moves * (UNIT + self.rounding * ROOT_TWO * self.count) / self.epsilon

    @property
    def square(self) -> float:
        """E‖Y‖² = 3m(5m + 3)/4 in units of scale², twice: the sum of the squares below."""
        return 3 * self.count * (5 * self.count + 3) / 2 * float(self.scale / UNIT) ** 2

    @property
    def squares(self) -> Floats:
        """E|Y_k|² = 6m - Σ_(j ≤ m-k) (2j + k)²/(j(j + k)) + Σ_(j < k/2) (k - 2j)²/(j(k - j)) in units of scale², twice.

        From the thesis' (4.16) and (4.18); its Prop. 4.4.1 is another number for m ≥ 3. No privacy depends on it.
        """
        k, j = np.arange(1, self.count + 1)[:, None], np.arange(1, self.count + 1)[None, :]
        apart = np.where(j + k <= self.count, (2 * j + k) ** 2 / (j * (j + k)), 0)
        joined = np.where(2 * j < k, (k - 2 * j) ** 2, 0) / np.where(2 * j < k, j * (k - j), 1)
        each = 6 * self.count + (joined - apart).sum(axis=1)
        return np.asarray(2 * each * float(self.scale / UNIT) ** 2)

    def draw(self, size: int, entropy: Entropy) -> Integers:
        body = MomentBody(self.count)
        one = body.dimension + 1 + body.uniforms

        def noise(us: Sequence[arb]) -> list[arb]:
            added, removed = _stretch(body, self.scale, us[:one]), _stretch(body, self.scale, us[one:])
            return [a - b for a, b in zip(added, removed, strict=True)]

        return np.array(nearest_integers(noise, 2 * one, entropy), np.int64)

    def gauge(self, move: Floats) -> float:
        """At least min g(a) + g(b) over a - b = the move: (λ_max - λ_min)/(m + 1) of its Toeplitz matrix.

        For tI + T(a) ⪰ 0 and sI + T(b) ⪰ 0, both with trace 0, T(a) ⪯ mtI and T(b) ⪯ msI; so λ_max ≤ mt + s and
        -λ_min ≤ t + ms.
        """
        line = np.concatenate([[0], move.reshape(-1, 2) @ np.array([1, 1j])])
        place = np.subtract.outer(np.arange(line.size), np.arange(line.size))
        matrix = np.where(place >= 0, line[np.abs(place)], line[np.abs(place)].conj())
        values = np.linalg.eigvalsh(matrix)
        return float(values[-1] - values[0]) / line.size


class BallNoise(MomentNoise):
    """Noise with a density proportional to e^(-ε‖y‖₂/Δ): for the moments 1, ..., m with m ≤ 2 less than the above.

    **Theorem** (Hall, Prop. 1.3.2). ε-differentially private for Δ ≥ ‖S - S'‖₂. One row's moments have length sqrt(m),
    and two rows' differ by at most max_t (Σ_k 2 - 2cos kt)^(1/2): 2 for m = 1 and 5/2 for m = 2. Rounding adds at most
    ‖η‖₂ ≤ sqrt(m/2) ≤ 1 a row.
    """

    label = "Gamma noise"

    @property
    def scale(self) -> Fraction:
        one, two = (Fraction(1), Fraction(2)) if self.count == 1 else (ROOT_TWO, Fraction(5, 2))
        longest = two * UNIT + 2 * self.rounding if self.adjacency.size_is_public else one * UNIT + self.rounding
        return self.adjacency.rows_per_person * longest / self.epsilon

    @property
    def square(self) -> float:
        """E‖y‖² = d(d + 1)·scale² in d = 2m dimensions."""
        return 2 * self.count * (2 * self.count + 1) * float(self.scale / UNIT) ** 2

    def draw(self, size: int, entropy: Entropy) -> Integers:
        body = L2Ball(size)
        take = body.dimension + 1 + body.uniforms
        return np.array(nearest_integers(lambda us: _stretch(body, self.scale, us), take, entropy), np.int64)

    def gauge(self, move: Floats) -> float:
        return float(np.linalg.norm(move))


class LaplaceNoise(MomentNoise):
    """Independent integer Laplace noise on every part of every moment, in any number of dimensions.

    **Theorem.** |Re e^it| + |Im e^it| ≤ sqrt(2), so a row's N moments, rounded, have an ℓ1 norm of at most
    N·(sqrt(2)·2^24 + 1), and noise of that scale over ε is ε-private for one row added or removed.

    With the (2m + 1)^d - 1 = 2N real basis functions of the thesis, sqrt(2) times as large, this is its scale
    (2m + 1)^d - 1 over nε for means, doubled for a replaced row: in print it is upside down.
    """

    label = "Laplace noise"

    @property
    def scale(self) -> Fraction:
        return self.moves * self.count * (ROOT_TWO * UNIT + self.rounding) / self.epsilon

    @property
    def square(self) -> float:
        """2·scale² for each of 2N numbers."""
        return 4 * self.count * float(self.scale / UNIT) ** 2

    def draw(self, size: int, entropy: Entropy) -> Integers:
        return IntegerLaplace(self.scale).draw(size, entropy)

    def gauge(self, move: Floats) -> float:
        return float(np.abs(move).sum())
