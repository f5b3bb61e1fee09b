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
φ(x) = (cos 2πω_j·x, sin 2πω_j·x)/sqrt(m) (Rahimi and Recht 2007; for private machines Rubinstein et al. 2010). Noise
N(0, c²) on each coordinate of w is the Gaussian process of covariance c²K on f, Hall's release (section 3.2), for the
whole function at once: its values anywhere, any number of times, need no data and cost nothing more.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from uptack import checks
from uptack.engines.additive import GridNoise, gaussian
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.functions.kernels import Floats, Gaussian, Kernel
from uptack.functions.regions import FEATURE_ERROR, KernelMachine, MachineNoise, features, spectrum
from uptack.noise import Entropy, IntegerGaussian
from uptack.privacy import SUBSTITUTE, Adjacency, gaussian_noise_multiplier
from uptack.regression.arguments import Table, choice, table
from uptack.release import Advice, NoReply, Release
from uptack.statistics.arguments import Call, Options, call, public_size
from uptack.statistics.quantiles import quantile
from uptack.statistics.results import answered, refused

CORNER = 2.0**-8
"""Half the width over which the corner of the hinge is rounded off; it lifts the loss by at most a quarter of that."""
UNIT = 2.0**-53
"""The unit roundoff of floats."""


class Penalty(ABC):
    """A convex loss with |∂ℓ/∂f| ≤ `lipschitz` and 0 ≤ ∂²ℓ/∂f² ≤ `bend`.

    With `labels` it is a function of y·f for y = ±1, otherwise of f - y and linear where |f - y| ≥ `linear_beyond`.
    """

    lipschitz: float = 1.0
    bend: float
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
class Hinge(Penalty):
    """max(1 - yf, 0) for y = ±1, its corner rounded off: the support vector machine."""

    labels = True
    bend = 0.5 / CORNER

    def derivatives(self, y: Floats, f: Floats) -> tuple[Floats, Floats]:
        """Those of the ramp, by the chain rule."""
        slope, curvature = _ramp(1 - y * f, CORNER)
        return -y * slope, curvature


@dataclass(frozen=True)
class Logistic(Penalty):
    """ln(1 + e^(-yf)) for y = ±1."""

    labels = True
    bend = 0.25

    def derivatives(self, y: Floats, f: Floats) -> tuple[Floats, Floats]:
        """-y·p and p(1 - p) with p = 1/(1 + e^(yf))."""
        wrong = expit(-y * f)
        return -y * wrong, wrong * expit(y * f)


@dataclass(frozen=True)
class Huber(Penalty):
    """r²/2 for residuals r = f - y up to the cutoff k, k|r| - k²/2 beyond it."""

    cutoff: float = 1.0
    labels = False
    bend = 1.0

    def __post_init__(self) -> None:
        cutoff = float(checks.positive("cutoff", self.cutoff))
        for name in ("cutoff", "lipschitz", "linear_beyond"):
            object.__setattr__(self, name, cutoff)

    def derivatives(self, y: Floats, f: Floats) -> tuple[Floats, Floats]:
        """r kept within ±k, and 1 up to there."""
        residual = f - y
        return np.clip(residual, -self.cutoff, self.cutoff), (np.abs(residual) < self.cutoff).astype(np.float64)


@dataclass(frozen=True)
class Insensitive(Penalty):
    """max(|f - y| - width, 0), its corners rounded off from 3/4 to 5/4 of the width: support vector regression."""

    width: float = 0.1
    labels = False

    def __post_init__(self) -> None:
        width = float(checks.positive("width", self.width))
        if width < CORNER:
            raise InvalidArgument("width", f"at least {CORNER}", width, "It is in units of the scale.")
        for name, value in {"width": width, "bend": 2 / width, "linear_beyond": 1.25 * width}.items():
            object.__setattr__(self, name, value)

    def derivatives(self, y: Floats, f: Floats) -> tuple[Floats, Floats]:
        """Those of the ramp, on the side of the residual."""
        slope, curvature = _ramp(np.abs(f - y) - self.width, self.width / 4)
        return np.sign(f - y) * slope, curvature


LOSSES: dict[str, Penalty] = {
    "hinge": Hinge(),
    "logistic": Logistic(),
    "huber": Huber(),
    "insensitive": Insensitive(),
}


# --------------------------------------------------------------------------------------------------------------- solver


@dataclass(frozen=True)
class Objective:
    """P(w) = (1/N)·Σ ℓ(y_i, w·φ_i) + λ‖w‖², with N = `rows` and λ = `regularization`."""

    phi: Floats
    y: Floats
    penalty: Penalty
    rows: int
    regularization: float

    @staticmethod
    def of(phi: Floats, y: Floats, penalty: Penalty, rows: int, regularization: float) -> Objective:
        """The objective for any y, however large: it is cut at ±(M/λ + r)."""
        most = penalty.lipschitz / regularization + penalty.linear_beyond
        return Objective(phi, y if penalty.labels else np.clip(y, -most, most), penalty, rows, regularization)

    def gradient(self, w: Floats, slope: Floats) -> Floats:
        """∇P(w) = (1/N)·Σ (∂ℓ/∂f)_i·φ_i + 2λw."""
        gradient: Floats = slope @ self.phi / self.rows + 2 * self.regularization * w
        return gradient

    def newton(self, gradient: Floats, curvature: Floats) -> Floats:
        """-H⁻¹∇P with H = (1/N)·Σ (∂²ℓ/∂f²)_i·φ_i·φ_iᵀ + 2λI. Rows where the loss is linear take no part.

        2λ is at least 2^-19 and, where n ≤ 2N, the entries of H are below 2^10/m: Cholesky's method can't break down.
        """
        bent = curvature > 0
        root = self.phi[bent] * np.sqrt(curvature[bent] / self.rows)[:, None]
        hessian = root.T @ root
        hessian[np.diag_indices_from(hessian)] += 2 * self.regularization
        direction: Floats = -cho_solve(cho_factor(hessian, overwrite_a=True), gradient)
        return direction

    def step(self, w: Floats, f: Floats, gradient: Floats, direction: Floats) -> float:
        """How far to go: all the way unless P rises there, else to where its slope is a tenth of that at the start.

        The slope of P along a line is monotone, so bisect. Corners are narrow, and may take many rounds to hit.
        """
        along, flat = self.phi @ direction, -(gradient @ direction) / 10
        pull, push = 2 * self.regularization * (w @ direction), 2 * self.regularization * (direction @ direction)

        def rise(t: float) -> float:
            slope, _ = self.penalty.derivatives(self.y, f + t * along)
            return float(slope @ along / self.rows + pull + t * push)

        if rise(1.0) <= flat:
            return 1.0
        low, high = 0.0, 1.0
        while abs(found := rise(middle := (low + high) / 2)) > flat and high - low > UNIT:
            low, high = (low, middle) if found > 0 else (middle, high)
        return middle


def minimiser(objective: Objective, tolerance: float) -> Floats:
    """A w with ‖∇P(w)‖ ≤ tolerance, proved for the floats as they are, by Newton's method.

    It returns nothing less than that. P is strongly convex and each step goes down along its line for most of the way,
    so the method converges from anywhere; how long it takes depends on the data, as with any solver.
    """
    n, size = objective.phi.shape
    w = np.zeros(size)
    while True:
        f = objective.phi @ w
        slope, curvature = objective.penalty.derivatives(objective.y, f)
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
    slope errs by `bend` times that; by `bend` times 8u(1 + r) for roundings of its argument, which matter only where
    the loss is not linear; and by 16uM of its own. The sum of n slopes times features errs by n·u·M more. All products
    of such errors, and γ_k = ku/(1 - ku) in place of ku, are covered by the factor 2.
    """
    value = (size * UNIT + FEATURE_ERROR) * length + 8 * UNIT * (1 + penalty.linear_beyond)
    slope = penalty.bend * value + 16 * UNIT * penalty.lipschitz
    total = n / rows * (slope + penalty.lipschitz * (n * UNIT + FEATURE_ERROR + 16 * UNIT))
    return 2 * (total + 16 * UNIT * regularization * length)


# -------------------------------------------------------------------------------------------------------------- release

SLACK = Fraction(1, 100)
"""What the solver may add to the sensitivity."""
NOISE = Fraction(1, 5)
"""The standard deviation of the noise at a point, with the regularization that is chosen if none is given."""
SHARE = Fraction(1, 5)
"""The part of ε that goes into the quartiles of y where its scale is not given, and as much into those of X."""
LEAST = 2.0**-20
"""The least regularization, far above what would trouble Cholesky's method; and one over the largest."""
MOST_ENTRIES = 1 << 29
"""Numbers in the matrix of features: 4 GiB."""
HOW = "Gaussian noise"


@dataclass(frozen=True)
class Design:
    """What a machine is to be, checked before data are read. None stands for what is to be found out."""

    loss: str | Penalty = "hinge"
    kernel: Kernel | None = None
    bandwidth: Rational | None = 1.0
    regularization: Rational | None = None
    frequencies: int = 256
    centre: Rational | None = None
    scale: Rational | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Penalty):
            choice("loss", self.loss, tuple(LOSSES))
        if self.kernel is not None:
            spectrum(checks.instance("kernel", self.kernel, Kernel, "a kernel of uptack.functions"), 1)
        if self.bandwidth is not None:
            checks.positive("bandwidth", self.bandwidth, "With None it comes from private quartiles.")
        if self.regularization is not None:
            ridge = checks.positive("regularization", self.regularization)
            if not LEAST <= ridge <= 1 / LEAST:
                raise InvalidArgument("regularization", "between 2^-20 and 2^20", float(ridge))
        checks.integer("frequencies", self.frequencies, least=1)
        if (self.centre is None) != (self.scale is None):
            raise InvalidArgument("centre and scale", "given both or neither", "one of them")
        if self.centre is not None:
            checks.rational("centre", self.centre)
        if self.scale is not None:
            checks.positive("scale", self.scale, "Without centre and scale both come from private quartiles.")

    @property
    def penalty(self) -> Penalty:
        """The loss itself."""
        return self.loss if isinstance(self.loss, Penalty) else LOSSES[self.loss]

    @property
    def measures_y(self) -> bool:
        """Whether the place of y is to be found out."""
        return self.scale is None and not self.penalty.labels

    @property
    def measures_x(self) -> bool:
        """Whether the bandwidths are to be found out."""
        return self.kernel is None and self.bandwidth is None

    def table(self, x: Any, y: Any) -> Table:
        """The data, with labels where there must be labels."""
        data = table(x, y, fit_intercept=False, missing="error")
        if self.penalty.labels and not (np.abs(data.y) == 1).all():
            raise InvalidArgument("y", "-1 or +1 in every row", "others", "KernelSVC takes any two classes.")
        if self.kernel is not None and self.kernel.dimension != data.p:
            fix = "Kernels of single columns are combined by *."
            raise InvalidArgument("kernel", f"one of {data.p} coordinates", f"one of {self.kernel.dimension}", fix)
        if data.n * 2 * self.frequencies > MOST_ENTRIES:
            raise InvalidArgument("frequencies", f"at most {MOST_ENTRIES} over twice the rows", self.frequencies)
        return data

    def place(self) -> tuple[float, float]:
        """The public centre and scale of y: 0 and 1 where there are none."""
        return (0.0, 1.0) if self.scale is None or self.penalty.labels else (float(self.centre or 0), float(self.scale))


@dataclass(frozen=True)
class Terms:
    """λ, the tolerance of the solver, and the sensitivity of what it finds: all public."""

    regularization: float
    tolerance: float
    sensitivity: Fraction

    @staticmethod
    def of(design: Design, rows: int, adjacency: Adjacency = SUBSTITUTE, multiplier: Rational = 0) -> Terms:
        """g·M/(λN), or half of that where rows come and go, and t/λ.

        If λ is not given it is what makes the noise NOISE, but not below 1/2N, scikit-learn's C = 1. t is what adds
        SLACK, but no less than four times the rounding of a gradient where n ≤ 2N, so that floats reach it. (A private
        count N that is below n/2 by chance is small, and then so is the rounding beside what adds SLACK.)
        """
        penalty, steepest = design.penalty, Fraction(design.penalty.lipschitz)
        moved = steepest * adjacency.rows_per_person / (1 if adjacency.kind == "substitute" else 2)
        chosen = max(Fraction(multiplier) * moved / NOISE, Fraction(1, 2)) / rows
        ridge = float(design.regularization or min(max(chosen, Fraction(LEAST)), 1 / Fraction(LEAST)))
        base = moved / (Fraction(ridge) * rows)
        longest = penalty.lipschitz / ridge
        if penalty.labels:  # λ‖f̂‖² ≤ P(0) ≤ n/N
            longest = min(longest, math.sqrt(2 / ridge))
        coarse = 4 * rounding(penalty, 2 * rows, rows, 2 * design.frequencies, ridge, longest)
        tolerance = max(float(SLACK * base) * ridge, coarse)
        return Terms(ridge, tolerance, base + Fraction(tolerance) / Fraction(ridge))

    def refuse(self, design: Design, rows: int, multiplier: Fraction) -> Advice | None:
        """Why there is no reply: noise above 1, or above half of the largest value M/2λ that f̂ can have."""
        noise, most = multiplier * self.sensitivity, Fraction(design.penalty.lipschitz / (4 * self.regularization))
        limit = min(Fraction(1), most)
        if noise <= limit:
            return None
        needed = rows * noise / limit if design.regularization else rows * noise / most
        return Advice(n=math.ceil(needed), other="" if design.regularization is None else "a larger regularization")


def kernel_machine(
    x: Any,
    y: Any,
    *,
    epsilon: Rational,
    delta: Rational,
    loss: str | Penalty = "hinge",
    kernel: Kernel | None = None,
    bandwidth: Rational | None = 1.0,
    regularization: Rational | None = None,
    frequencies: int = 256,
    centre: Rational | None = None,
    scale: Rational | None = None,
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[KernelMachine] | NoReply:
    """A support vector machine, logistic or robust regression in a space of functions, with no bounds on X or y.

    **Theorem.** (ε, δ)-differentially private: Gaussian noise for the sensitivity of Theorems 1 and 3 on the
    coefficients, and by composition a private count under ADD_REMOVE and private quartiles where they are called for.
    What the machine answers is post-processing.

    - `loss`: "hinge" or "logistic" for labels y = ±1; "huber" or "insensitive" for numbers, or `Huber(cutoff)` and
      `Insensitive(width)`, in units of the scale.
    - `kernel`: by default `Gaussian(bandwidth)` in every column. `bandwidth=None` takes one for each column from its
      private quartiles, for a fifth of ε: spread·sqrt(d/2), scikit-learn's default.
    - `regularization`: λ. By default the one that makes the noise at a point a fifth of the margin, or of the scale.
    - `centre`, `scale`: y is fitted as (y - centre)/scale. By default from private quartiles of y, for a fifth of ε.
    - `frequencies`: the number of public features; more come closer to the kernel and take time, but no privacy.

    ⊥ where the noise would be above the margin or scale, or above half of any value the machine can have, and where the
    quartiles are refused; it says which n would do.

    >>> from uptack.noise import SeededEntropy
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 2)); y = np.where((x**2).sum(axis=1) < 1.4, 1, -1)
    >>> made = kernel_machine(x, y, epsilon=1, delta=1e-6, entropy=SeededEntropy(1))
    >>> np.sign(made.value.at([[0, 0], [1.5, 1.5]]))
    array([ 1., -1.])
    >>> made.privacy
    Privacy(epsilon=1.0, delta=1e-06)
    """
    design = Design(loss, kernel, bandwidth, regularization, frequencies, centre, scale)
    checks.inside_unit("delta", delta, "Gaussian noise needs δ > 0, such as 1e-6.")
    asked: Options = {"delta": delta, "adjacency": adjacency, "rows_per_person": rows_per_person, "entropy": entropy}
    request = call("kernel machine", epsilon, asked)
    data = design.table(x, y)
    rows, request = public_size(data.n, request)
    rows, share = max(rows, 1), 1 - SHARE * design.measures_y - SHARE * design.measures_x
    multiplier = gaussian_noise_multiplier(request.epsilon * share, request.delta)
    terms = Terms.of(design, rows, request.adjacency, multiplier)
    if advice := terms.refuse(design, rows, multiplier):
        return refused(request, None, HOW, advice)
    measured = _measured(design, data, request)
    if isinstance(measured, NoReply):
        return measured
    machine, request = measured
    w = _coefficients(machine, data, design.penalty, rows, terms)
    return _released(
        replace(machine, coefficients=w), terms.sensitivity, replace(request, epsilon=request.epsilon * share)
    )


def own_machine(x: Any, y: Any, **design: Any) -> KernelMachine:
    """The curator's own machine, without noise: **not private**. The arguments are those of `kernel_machine`.

    What is not given is not measured: a bandwidth of 1, y as it is, and λ = 1/2n.
    """
    wanted = Design(**design)
    data = wanted.table(x, y)
    terms = Terms.of(wanted, data.n)
    omega = spectrum(wanted.kernel or Gaussian(float(wanted.bandwidth or 1), data.p), wanted.frequencies)
    machine = KernelMachine(omega, np.empty(0), *wanted.place(), noise=0.0)
    return replace(machine, coefficients=_coefficients(machine, data, wanted.penalty, data.n, terms))


def _measured(design: Design, data: Table, request: Call) -> tuple[KernelMachine, Call] | NoReply:
    """The machine but for its coefficients, and the call with what the quartiles cost, where they were called for."""
    place, widths = design.place(), np.ones(data.p)
    kernel = design.kernel or Gaussian(float(design.bandwidth or 1), data.p)
    columns = [(SHARE, data.y)] if design.measures_y else []
    columns += [(SHARE / data.p, column) for column in data.x.T] if design.measures_x else []
    found: list[tuple[float, float]] = []
    for part, column in columns:
        options: Options = {"adjacency": request.adjacency, "entropy": request.entropy}
        made = quantile(np.ascontiguousarray(column), [0.25, 0.75], epsilon=request.epsilon * part, **options)
        if not made:
            way = "a public centre and scale" if column is data.y else "a public bandwidth"
            return refused(request, made.loss, "quartiles", Advice(n=made.advice.n, other=way))
        request = replace(request, spent=(*request.spent, made.loss))
        found.append(_place(*made.value.tolist()))
    if design.measures_y:
        place = found.pop(0)
    if design.measures_x:
        widths = np.array([spread for _, spread in found]) * math.sqrt(data.p / 2)
    return KernelMachine(spectrum(kernel, design.frequencies) / widths, np.empty(0), *place, noise=0.0), request


def _place(low: float, high: float) -> tuple[float, float]:
    """Centre and scale from quartiles, the scale that of a normal law; 1 where it is no positive number."""
    spread = (high - low) / 1.349
    return low / 2 + high / 2, spread if 0 < spread < math.inf else 1.0


def _coefficients(machine: KernelMachine, data: Table, penalty: Penalty, rows: int, terms: Terms) -> Floats:
    with np.errstate(over="ignore"):
        y = (data.y - machine.centre) / machine.scale
    phi = features(data.x, machine.frequencies)
    return minimiser(Objective.of(phi, y, penalty, rows, terms.regularization), terms.tolerance)


def _released(machine: KernelMachine, sensitivity: Fraction, request: Call) -> Release[KernelMachine]:
    """The machine with noise on its coefficients."""
    noisy = gaussian(
        machine.coefficients,
        sensitivity=sensitivity,
        epsilon=request.epsilon,
        delta=request.delta,
        adjacency=request.adjacency,
        entropy=request.entropy,
    )
    noise = noisy.noise
    assert isinstance(noise, GridNoise)
    assert isinstance(noise.law, IntegerGaussian)
    spread = math.sqrt(Fraction(noise.law.variance)) * noise.step * machine.scale
    return answered(request, replace(machine, coefficients=noisy.value, noise=spread), noisy.loss, HOW, MachineNoise())
