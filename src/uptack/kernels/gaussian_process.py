"""Any function with a stated sensitivity, released with Gaussian-process noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from uptack import checks
from uptack.account import Account
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.kernels.covariance_factor import CovarianceFactor, calibrated, plan
from uptack.kernels.function_release import Function, FunctionRelease
from uptack.kernels.kernel import Kernel, root_above
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.registry import release
from uptack.release import Release

MOST_POINTS = 10_000
ERROR = Fraction(1, 1 << 44)
"""How far a computed value of a user's function may be from the exact one, over norm·sqrt(sup K)."""
_EXTREME = Fraction(10) ** 100


@dataclass(frozen=True)
class ProcessNoise:
    """The noise of a function, as a release knows it."""

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        """The band at the points asked so far."""
        return value.band(value.points, confidence)  # type: ignore[no-any-return]


@release(data=("f",), people="stated", page="kde")
def release_function(
    f: Function,
    *,
    kernel: Kernel,
    sensitivity: Rational,
    norm: Rational,
    epsilon: Rational,
    delta: Rational,
    error: Rational = ERROR,
    dimension: int | None = None,
    adjacency: Adjacency = SUBSTITUTE,
    most_points: int = MOST_POINTS,
    entropy: Entropy | None = None,
) -> Release[FunctionRelease]:
    """A function of the data, released as a whole: (ε, δ)-differentially private for all questions together.

    **Theorem.** Let f_D lie in the RKHS of the kernel K with ‖f_D‖ ≤ `norm`, ‖f_D - f_D'‖ ≤ Δ = `sensitivity` for
    neighbours, and let computed values be within `error`·norm·sqrt(sup K) of f_D. Then all answers at up to
    `most_points` points, each chosen by anybody in view of the answers before, are (ε, δ)-differentially private.

    *Proof.* What is released are the coordinates w = L⁻¹f(X) with noise; answers L·w̃ are post-processing. A new point
    adds a row to L and a coordinate to w, and changes none before. Whatever the points, the computed coordinates of
    neighbours are within Δ' of each other (`uptack.kernels.covariance_factor`, Lemmas 1 to 3), in steps of the grid
    within s = Δ'/g + sqrt(most_points). Let s_i be the difference in coordinate i, known from the answers before it,
    with one more coordinate that fills Σs_i² up to s² exactly. With real noise Z_i of variance (m·s)² the log-ratio of
    densities is Σs_i·Z_i/(m·s)² + 1/2m², and Σs_i·Z_i is normal of variance m²s⁴: taking the last coordinate first,
    E exp(iθΣs_i·Z_i + θ²(m·s)²Σs_i²/2) = 1. So the loss has exactly the law of one Gaussian mechanism with
    multiplier m, which is (ε, δ)-private. Integer noise of variance (m·s)² + 9 costs a factor 1 ± 2^-250 a
    coordinate more, by the smoothing lemma of `uptack.mechanisms.gaussian`, which applies given the answers before. ∎

    Hall (Prop. 3.2.2 and 3.2.5) draws each answer given those before, at the same joint law N(f, c²K); the printed
    constant is replaced by the exact one. The jitter τ lets points be close, or equal up to rounding.

    >>> import numpy as np
    >>> from uptack.kernels import GaussianKernel
    >>> from uptack.noise import SeededEntropy
    >>> made = release_function(
    ...     lambda x: np.sin(x[:, 0]), kernel=GaussianKernel(1.0), sensitivity=0.01, norm=3, epsilon=1, delta=1e-6,
    ...     entropy=SeededEntropy(1),
    ... )
    >>> made.value.at([0.0, 1.5])
    array([...])
    >>> bool(made.value.at([1.5])[0] == made.value.at([0.0, 1.5])[1])
    True
    """
    if not callable(f):
        raise InvalidArgument("f", "a function of points (k, d)", checks.describe(f))
    shape: Kernel = checks.instance("kernel", kernel, Kernel, "a kernel of uptack.kernels", "Try GaussianKernel(0.1).")
    _check_dimension(shape, dimension)
    bound, largest = checks.positive("sensitivity", sensitivity), checks.positive("norm", norm)
    eps, slip = checks.epsilon(epsilon), checks.nonnegative("error", error)
    dlt = checks.inside_unit("delta", delta, "Gaussian noise needs δ > 0, such as 1e-6.")
    account = Account.open("Gaussian-process noise", eps, dlt, adjacency=adjacency, entropy=entropy)
    most = checks.integer("most_points", most_points, least=1)
    for name, number in (("sensitivity", bound), ("norm", largest), ("kernel.largest", shape.largest)):
        if not 1 / _EXTREME <= number <= _EXTREME:
            raise InvalidArgument(name, "between 1e-100 and 1e100", f"{float(number):.3g}", "Choose other units.")
    made = plan(shape, most, bound, largest, slip)
    multiplier, noise = calibrated(made.sensitivity, eps, dlt, most)
    highest = float(largest * root_above(shape.largest))
    price = loss.Gaussian(eps, dlt, multiplier)
    factor = CovarianceFactor(shape, made.jitter)
    value = FunctionRelease(f, factor, noise, highest, most, account.pay(price), price)
    return account.release(value, ProcessNoise())


def _check_dimension(kernel: Kernel, dimension: int | None) -> None:
    if dimension is not None and checks.integer("dimension", dimension, least=1) != kernel.dimension:
        fix = "A kernel has its own: GaussianKernel(0.1, dimension=2), or a product of kernels."
        raise InvalidArgument("dimension", f"that of the kernel, {kernel.dimension}", dimension, fix)
