"""Kernel machines: the private minimiser of a loss over functions, without bounds on X or y.

With a kernel K of K(x, x) = 1, a loss ℓ that is convex and M-Lipschitz in its second argument, and λ > 0, let

    f̂ = argmin over f of P(f),   P(f) = (1/N)·Σ ℓ(y_i, f(x_i)) + λ‖f‖²,

over the Hilbert space of the kernel. N is public: the number of rows, or under ADD_REMOVE a private count of them.

**Theorem 1, sensitivity** (Hall, section 3.3.3, after Bousquet and Elisseeff 2002). Between tables that differ in one
replaced row ‖f̂ - f̂'‖ ≤ M/(λN), in one added or removed row half of that; in g rows g times as much. Both are
reached.

*Proof.* P is 2λ-strongly convex, so a subgradient s of P at f has ⟨s, f - f̂⟩ ≥ 2λ‖f - f̂‖², and ‖f - f̂‖ ≤ ‖s‖/2λ.
Now 0 is a subgradient of P' at f̂', and P differs from P' by the terms of the rows that came or went. Each term has
subgradients (a/N)·K(x, ·) with |a| ≤ M, of norm at most M/N. So P has at f̂' a subgradient of norm at most 2M/N for a
replaced row, M/N for one that came or went. ∎ With one row at a large λ, where the hinge is linear,
f̂ = y·K(x, ·)/2λ: it is reached.

**Theorem 2, no bounds on y.** As 2λf̂ = -(1/N)·Σ a_i·K(x_i, ·), f̂ has norm, and so values, of at most (n/N)·M/2λ. A
loss of the residual f - y that is linear beyond a distance r therefore has the same minimiser if every y is cut at
±(M/λ + r): wherever n ≤ 2N, P changes by a constant on a ball that holds both minimisers. In any case y is cut row by
row, and neighbours stay neighbours.

**Theorem 3, the solver.** A w with ‖∇P(w)‖ ≤ t has ‖w - f̂‖ ≤ t/2λ (the proof of Theorem 1), so what it finds for
neighbours is at most M/(λN) + t/λ apart. It goes on until it has proved ‖∇P(w)‖ ≤ t, its own rounding included, for a
public t that adds a hundredth (more only where floats would be too coarse for it). A duality gap τ adds 2·sqrt(τ/λ),
for which floats are too coarse sooner: that is why corners of losses are rounded off. Those losses are convex and
M-Lipschitz as they are.

**Features.** A stationary kernel is the mean of cos(2πω·(x - x')) over its spectral law. With m public frequencies in
place of the law it is a kernel again, with K(x, x) = 1 and the space R^2m: f(x) = w·φ(x), ‖f‖ = ‖w‖₂,
φ(x) = (cos 2πω_j·x, sin 2πω_j·x)/sqrt(m) (Rahimi and Recht 2007; for private machines Rubinstein et al. 2012). Noise
N(0, c²) on each coordinate of w is the Gaussian process of covariance c²K on f, Hall's release (section 3.2), for the
whole function at once: its values anywhere, any number of times, need no data and cost nothing more.

**Theorem 4, people.** Let a person with m rows add the sum of v·ℓ over them, v = ⌊2^40/m⌋/2^40, in place of ℓ, and let
N count people. Then all of this holds with people in place of rows, whatever their rows are and however many.

*Proof.* Her term is convex, and its subgradients are sums of v·a·K(x, ·), of norm at most M·Σv ≤ M: a mean of vectors
is no longer than the longest. Theorems 1 to 3 ask for no more of a term. v is a float without rounding, and 1 for one
row. The rounding of sums does not depend on the number of rows (`uptack.kernels.machine_function.Features`). ∎
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.kernels.kernel import Floats
from uptack.kernels.machine_function import FEATURE_ERROR, TERMS, Features

CORNER = 2.0**-8
"""Half the width over which the corner of the hinge is rounded off; it lifts the loss by at most a quarter of that."""
UNIT = 2.0**-53
"""The unit roundoff of floats."""


class Penalty(ABC):
    """A convex loss with |∂ℓ/∂f| ≤ `lipschitz` and 0 ≤ ∂²ℓ/∂f² ≤ `max_curvature`.

    With `labels` it is a function of y·f for y = ±1, otherwise of f - y and linear where |f - y| ≥ `linear_beyond`.
    """

    lipschitz: float = 1.0
    max_curvature: float
    labels: bool
    linear_beyond: float = 0.0

    @abstractmethod
    def derivatives(self, y: Floats, f: Floats) -> tuple[Floats, Floats]:
        """∂ℓ/∂f and ∂²ℓ/∂f²."""


def _ramp(u: Floats, corner: float) -> tuple[Floats, Floats]:
    """The derivatives of max(u, 0), with (u + c)²/4c in place of its corner |u| ≤ c."""
    slope = np.clip((u + corner) / (2 * corner), 0.0, 1.0)
    return slope, np.where(np.abs(u) < corner, 0.5 / corner, 0.0)


@dataclass(frozen=True)
class HingePenalty(Penalty):
    """max(1 - yf, 0) for y = ±1, its corner rounded off: the support vector machine."""

    labels = True
    max_curvature = 0.5 / CORNER

    def derivatives(self, y: Floats, f: Floats) -> tuple[Floats, Floats]:
        """Those of the ramp, by the chain rule."""
        slope, curvature = _ramp(1 - y * f, CORNER)
        return -y * slope, curvature


@dataclass(frozen=True)
class LogisticPenalty(Penalty):
    """ln(1 + e^(-yf)) for y = ±1."""

    labels = True
    max_curvature = 0.25

    def derivatives(self, y: Floats, f: Floats) -> tuple[Floats, Floats]:
        """-y·p and p(1 - p) with p = 1/(1 + e^(yf))."""
        import scipy

        wrong = scipy.special.expit(-y * f)
        return -y * wrong, wrong * scipy.special.expit(y * f)


@dataclass(frozen=True)
class HuberPenalty(Penalty):
    """r²/2 for residuals r = f - y up to the cutoff k, k|r| - k²/2 beyond it."""

    cutoff: float = 1.0
    labels = False
    max_curvature = 1.0

    def __post_init__(self) -> None:
        cutoff = float(checks.positive("cutoff", self.cutoff))
        for name in ("cutoff", "lipschitz", "linear_beyond"):
            object.__setattr__(self, name, cutoff)

    def derivatives(self, y: Floats, f: Floats) -> tuple[Floats, Floats]:
        """r kept within ±k, and 1 up to there."""
        residual = f - y
        return np.clip(residual, -self.cutoff, self.cutoff), (np.abs(residual) < self.cutoff).astype(np.float64)


@dataclass(frozen=True)
class InsensitivePenalty(Penalty):
    """max(|f - y| - width, 0), its corners rounded off from 3/4 to 5/4 of the width: support vector regression."""

    width: float = 0.1
    labels = False

    def __post_init__(self) -> None:
        width = float(checks.positive("width", self.width))
        if width < CORNER:
            raise InvalidArgument("width", f"at least {CORNER}", width, "It is in units of the scale.")
        for name, value in {"width": width, "max_curvature": 2 / width, "linear_beyond": 1.25 * width}.items():
            object.__setattr__(self, name, value)

    def derivatives(self, y: Floats, f: Floats) -> tuple[Floats, Floats]:
        """Those of the ramp, on the side of the residual."""
        slope, curvature = _ramp(np.abs(f - y) - self.width, self.width / 4)
        return np.sign(f - y) * slope, curvature


LOSSES: dict[str, Penalty] = {
    "hinge": HingePenalty(),
    "logistic": LogisticPenalty(),
    "huber": HuberPenalty(),
    "insensitive": InsensitivePenalty(),
}


# --------------------------------------------------------------------------------------------------------------- solver


@dataclass(frozen=True)
class Objective:
    """P(w) = (1/N)·Σ v_i·ℓ(y_i, w·φ_i) + λ‖w‖², with N = `rows`, λ = `regularization` and y cut at ±(M/λ + r).

    Without `weights` all v_i are 1. `terms` bounds the sum of them, and is the number of rows or of people.
    """

    phi: Features
    y: Floats
    penalty: Penalty
    rows: int
    regularization: float
    weights: Floats | None = None
    people: int = 0

    def __post_init__(self) -> None:
        if not self.penalty.labels:
            most = self.penalty.lipschitz / self.regularization + self.penalty.linear_beyond
            object.__setattr__(self, "y", np.clip(self.y, -most, most))

    @property
    def terms(self) -> int:
        """How many rows or people there are."""
        return self.y.size if self.weights is None else self.people

    def derivatives(self, f: Floats) -> tuple[Floats, Floats]:
        """v·∂ℓ/∂f and v·∂²ℓ/∂f² of every row."""
        slope, curvature = self.penalty.derivatives(self.y, f)
        return (slope, curvature) if self.weights is None else (slope * self.weights, curvature * self.weights)

    def gradient(self, w: Floats, slope: Floats) -> Floats:
        """∇P(w) = (1/N)·Σ (v·∂ℓ/∂f)_i·φ_i + 2λw."""
        return np.asarray(self.phi.added(slope) / self.rows + 2 * self.regularization * w)

    def newton(self, gradient: Floats, curvature: Floats) -> Floats:
        """-H⁻¹∇P with H = (1/N)·Σ (v·∂²ℓ/∂f²)_i·φ_i·φ_iᵀ + 2λI. Rows where the loss is linear take no part.

        2λ is at least 2^-19 and, where n ≤ 2N, the entries of H are below 2^10/m: Cholesky's method can't break down.
        """
        import scipy

        hessian = self.phi.squared(curvature / self.rows)
        hessian[np.diag_indices_from(hessian)] += 2 * self.regularization
        return np.asarray(-scipy.linalg.cho_solve(scipy.linalg.cho_factor(hessian, overwrite_a=True), gradient))

    def step(self, w: Floats, f: Floats, gradient: Floats, direction: Floats) -> float:
        """How far to go: all the way unless P rises there, else to where its slope is a tenth of that at the start.

        The slope of P along a line is monotone, so bisect. Corners are narrow, and may take many rounds to hit.
        """
        along, flat = self.phi.times(direction), -(gradient @ direction) / 10
        pull, push = 2 * self.regularization * (w @ direction), 2 * self.regularization * (direction @ direction)

        def rise(t: float) -> float:
            slope, _ = self.derivatives(f + t * along)
            return float(slope @ along / self.rows + pull + t * push)

        if rise(1.0) <= flat:
            return 1.0
        low, high = 0.0, 1.0
        while abs(slope := rise(middle := (low + high) / 2)) > flat and high - low > UNIT:
            low, high = (low, middle) if slope > 0 else (middle, high)
        return middle


def minimiser(objective: Objective, tolerance: float) -> Floats:
    """A w with ‖∇P(w)‖ ≤ tolerance, proved for the floats as they are, by Newton's method.

    It returns nothing less than that. How many steps it takes depends on the data, as with any solver: P is strongly
    convex and a step ends where P is nearly flat along its line, which in practice is soon enough, but is no proof.
    """
    n, size = objective.terms, objective.phi.shape[1]
    w = np.zeros(size)
    while True:
        f = objective.phi.times(w)
        slope, curvature = objective.derivatives(f)
        gradient = objective.gradient(w, slope)
        error = rounding(objective.penalty, n, objective.rows, size, objective.regularization, float(np.linalg.norm(w)))
        certified = float(np.linalg.norm(gradient)) * (1 + 2.0**-30) + error
        if certified <= tolerance:
            return w
        direction = objective.newton(gradient, curvature)
        w = w + objective.step(w, f, gradient, direction) * direction


def rounding(penalty: Penalty, n: int, rows: int, size: int, regularization: float, length: float) -> float:
    """A bound on ‖∇P computed - ∇P‖ at a w of this length, whatever the data and the order of the sums.

    With u the unit roundoff, e = FEATURE_ERROR and ‖φ‖ = 1: a computed value of f errs by at most (2m·u + e)·‖w‖. Its
    slope errs by `max_curvature` times that, and times 8u(1 + r) more for roundings of its argument, which matter only
    where the loss is not linear; and by 16uM of its own and its weight's. The sum of slopes times features errs by n·M
    times `TERMS` roundoffs more. All products of such errors, and γ_k = ku/(1 - ku) in place of ku, are covered by the
    factor 2.
    """
    value = (size * UNIT + FEATURE_ERROR) * length + 8 * UNIT * (1 + penalty.linear_beyond)
    slope = penalty.max_curvature * value + 16 * UNIT * penalty.lipschitz
    total = n / rows * (slope + penalty.lipschitz * (TERMS * UNIT + FEATURE_ERROR + 16 * UNIT))
    return 2 * (total + 16 * UNIT * regularization * length)
