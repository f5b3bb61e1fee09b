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
row. The rounding of sums does not depend on the number of rows (`Features`). ∎
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from uptack import checks
from uptack.display import ReleasedValue
from uptack.display.plots import axes
from uptack.errors import InvalidArgument, NoInterval
from uptack.exact import Rational
from uptack.kernels import kernel as kernels
from uptack.kernels.kernel import Floats, Kernel, points

FEATURE_ERROR = 2.0**-46
"""A bound on ‖φ computed - φ‖: the phase is a fixed function of the row, less its whole turns it is exact, and cosine
and sine of it are right to 20 units of roundoff, where 128 are allowed for."""
AT_ONCE = 1 << 13
"""Points that are evaluated at once."""
BLOCK = 1 << 10
"""Rows of one block."""
TERMS = BLOCK + 64
"""A sum of fewer than 2^64 blocks errs by at most so many roundoffs of the sum of absolute values: one for each row of
a block, and one for each round of pairs."""
MOST_ENTRIES = 1 << 29
"""The most numbers that are kept in memory, 4 GiB. If there are more, they are computed again when needed."""


def spectrum(kernel: Kernel, count: int) -> Floats:
    """Public frequencies ω_j, a row each, spread evenly over the spectral law of the kernel.

    Gaussian: normal. Exponential: Cauchy in each coordinate. Matérn: Student's t with 3 or 5 degrees of freedom. They
    are Sobol points, scrambled with a fixed seed, through the inverses of those laws.

    >>> from uptack.kernels import GaussianKernel
    >>> omega, x = spectrum(GaussianKernel(0.5), 256), np.linspace(-1, 1, 5)[:, None]
    >>> phi = features(x, omega)
    >>> bool(np.abs(phi @ phi.T - GaussianKernel(0.5)(x, x)).max() < 0.005)
    True
    """
    import scipy

    sobol = scipy.stats.qmc.Sobol(_uniforms(kernel), scramble=True, seed=0)
    uniform = np.clip(sobol.random_base2((count - 1).bit_length())[:count], 2.0**-40, 1 - 2.0**-40)
    return _spectral(kernel, uniform) / (2 * np.pi)


def _uniforms(kernel: Kernel) -> int:
    """How many uniform numbers a frequency takes."""
    if isinstance(kernel, kernels.TensorKernel):
        return _uniforms(kernel.first) + _uniforms(kernel.second)
    if isinstance(kernel, kernels.KERNELS):
        return kernel.dimension + isinstance(kernel, kernels.Matern32 | kernels.Matern52)
    must = "a GaussianKernel, ExponentialKernel, Matern32 or Matern52, or a tensor product of them"
    raise InvalidArgument("kernel", must, checks.describe(kernel), "In place of a factor set the regularization.")


def _spectral(kernel: Kernel, uniform: Floats) -> Floats:
    """Angular frequencies from uniform numbers."""
    import scipy

    if isinstance(kernel, kernels.TensorKernel):
        cut = _uniforms(kernel.first)
        return np.hstack([_spectral(kernel.first, uniform[:, :cut]), _spectral(kernel.second, uniform[:, cut:])])
    assert isinstance(kernel, kernels.StationaryKernel)
    if isinstance(kernel, kernels.ExponentialKernel):
        return np.tan(np.pi * (uniform - 0.5)) / kernel.length
    normal: Floats = scipy.stats.norm.ppf(uniform[:, : kernel.dimension]) / kernel.length
    if isinstance(kernel, kernels.GaussianKernel):
        return normal
    degrees = 3 if isinstance(kernel, kernels.Matern32) else 5
    return np.asarray(normal * np.sqrt(degrees / scipy.stats.chi2.ppf(uniform[:, -1:], degrees)))


def features(x: Floats, omega: Floats) -> Floats:
    """φ(x) = (cos 2πω_j·x, sin 2πω_j·x)/sqrt(m), row by row.

    The sums are written out since a matrix product may round a row differently in another place. Whole turns are taken
    off exactly; of 2^53 turns and more nothing is left.
    """
    count = len(omega)
    with np.errstate(over="ignore", invalid="ignore"):
        turns = x[:, :1] * omega[:, 0]
        for j in range(1, x.shape[1]):
            turns += x[:, j : j + 1] * omega[:, j]
    turns = np.nan_to_num(turns, copy=False)
    turns -= np.rint(turns)
    turns *= 2 * np.pi
    phi = np.empty((len(x), 2 * count))
    np.cos(turns, out=phi[:, :count])
    np.sin(turns, out=phi[:, count:])
    phi *= 1 / np.sqrt(count)
    return phi


class Features:
    """φ(x) of every row, a block of them at a time.

    How many rows people have is secret. So neither the memory that is needed nor the rounding of a sum may have a limit
    that depends on it: sums are taken inside blocks first, and those of blocks in pairs.
    """

    def __init__(self, x: Floats, omega: Floats) -> None:
        self._x, self._omega = x, omega

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows there are, and how long φ is."""
        return len(self._x), 2 * len(self._omega)

    def __iter__(self) -> Iterator[Floats]:
        return iter(self._all) if self.shape[0] * self.shape[1] <= MOST_ENTRIES else self._compute()

    def times(self, w: Floats) -> Floats:
        """w·φ of every row."""
        return np.concatenate([np.empty(0), *(phi @ w for phi in self)])

    def added(self, weights: Floats) -> Floats:
        """Σ weight·φ over all rows: see `TERMS`."""
        parts = [weights[i * BLOCK :][: len(phi)] @ phi for i, phi in enumerate(self)] or [np.zeros(self.shape[1])]
        while len(parts) > 1:
            parts = [*map(np.add, parts[::2], parts[1::2]), *parts[len(parts) & ~1 :]]
        return parts[0]

    def squared(self, weights: Floats) -> Floats:
        """Σ weight·φφᵀ for weights of at least 0. Rows that weigh nothing take no part."""
        total = np.zeros((self.shape[1], self.shape[1]))
        for i, phi in enumerate(self):
            here = weights[i * BLOCK :][: len(phi)]
            root = phi[here > 0] * np.sqrt(here[here > 0])[:, None]
            total += root.T @ root
        return total

    def _compute(self) -> Iterator[Floats]:
        return (features(self._x[i : i + BLOCK], self._omega) for i in range(0, len(self._x), BLOCK))

    @cached_property
    def _all(self) -> list[Floats]:
        return list(self._compute())


@dataclass(frozen=True, eq=False)
class KernelMachine(ReleasedValue):
    """A function f(x) = centre + scale·w·φ(x) that may be asked anywhere, any number of times. It holds no data.

    `noise` is the standard deviation of the privacy noise in its values, the same everywhere.
    """

    frequencies: Floats
    coefficients: Floats
    centre: float
    scale: float
    noise: float

    def at(self, x: ArrayLike) -> Floats:
        """The values at points of shape (k, d)."""
        where = points("x", x, self.frequencies.shape[1])
        blocks = (where[i : i + AT_ONCE] for i in range(0, len(where), AT_ONCE))
        parts = [features(block, self.frequencies) @ self.coefficients for block in blocks]
        return np.asarray(self.centre + self.scale * np.concatenate([np.empty(0), *parts]))

    def band(self, x: ArrayLike, confidence: Rational = 0.95) -> tuple[Floats, Floats]:
        """Where the curator's own function lies, with this confidence at each point by itself.

        It allows for the noise and nothing else. Rounding, less than a 2^-16 part of the sensitivity, is left out.
        """
        import scipy

        level = float(checks.inside_unit("confidence", confidence))
        middle, reach = self.at(x), self.noise * scipy.stats.norm.ppf(0.5 + level / 2)
        return middle - reach, middle + reach

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """What `to_dict` gave."""
        frequencies, coefficients = (np.array(values[name], np.float64) for name in ("frequencies", "coefficients"))
        return cls(frequencies, coefficients, *(float(values[name]) for name in ("centre", "scale", "noise")))

    def __repr__(self) -> str:
        return f"KernelMachine({self.frequencies.shape[1]} inputs, noise of ±{self.noise:.3g})"


@dataclass(frozen=True)
class MachineNoise:
    """The noise of a machine as a release knows it: a band wherever one looks, and no interval but at points."""

    def around(self, value: KernelMachine, confidence: Rational) -> NoReturn:
        raise NoInterval("a function has an interval at each point: ask release.value.band(points, confidence)")


def plot_regions(
    machine: Any,
    box: ArrayLike,
    *,
    own: Any = None,
    rows: tuple[ArrayLike, ArrayLike] | None = None,
    steps: int = 200,
    ax: Any = None,
) -> Any:
    """The regions where a private machine of two inputs says + and -, over the curator's own; returns the axes.

    `machine` and `own` are kernel machines, classifiers with a `decision_function`, or functions of points (k, 2).
    `box` is ((low, high), (low, high)), and public, as the axes show it. `own` (dashed) and `rows`, a pair of X and y,
    are **not private**: leave them out of a picture to be published; its title says which it is.
    It needs matplotlib: `pip install "uptack[plots]"`.
    """
    ends = checks.numbers("box", box, (2,))
    if ends.shape != (2, 2) or not (ends[:, 0] < ends[:, 1]).all():
        raise InvalidArgument("box", "((low, high), (low, high))", checks.describe(ends))
    (left, right), (low, high) = ends
    across, up = np.linspace(left, right, steps), np.linspace(low, high, steps)
    grid = np.stack(np.meshgrid(across, up), axis=-1)
    ax = axes(ax, figsize=(5.5, 4.5))
    values = _decision(machine)(grid.reshape(-1, 2)).reshape(steps, steps)
    ax.contourf(across, up, values, levels=[-np.inf, 0, np.inf], colors=["#f3d9b8", "#c6d7ee"])
    ax.contour(across, up, values, levels=[0], colors="#2f62a8", linewidths=2)
    if own is not None:
        mine = _decision(own)(grid.reshape(-1, 2)).reshape(steps, steps)
        ax.contour(across, up, mine, levels=[0], colors="#323f4b", linewidths=1.2, linestyles="dashed")
    if rows is not None:
        x, y = np.asarray(rows[0]), np.asarray(rows[1])
        upper = y == y.max()
        ax.scatter(*x[upper].T, s=5, color="#2f62a8", linewidths=0)
        ax.scatter(*x[~upper].T, s=5, color="#b35c00", linewidths=0)
    shown = [text for text, there in (("own boundary", own is not None), ("data", rows is not None)) if there]
    ax.set_title(f"with {' and '.join(shown)}: not private" if shown else "private regions", fontsize=10)
    ax.set(xlim=(left, right), ylim=(low, high))
    return ax


def _decision(machine: Any) -> Callable[[Floats], Floats]:
    """What to ask for values at points."""
    ask = next((getattr(machine, name) for name in ("at", "decision_function") if hasattr(machine, name)), machine)
    if not callable(ask):
        raise InvalidArgument("machine", "a kernel machine, a classifier or a function", checks.describe(machine))
    return ask  # type: ignore[no-any-return]


# --------------------------------------------------------------------------------------------- penalties and the solver


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
        slope, curvature = _ramp(np.abs(f - y) - self.width, self.width / 4)
        return np.sign(f - y) * slope, curvature


LOSSES: dict[str, Penalty] = {
    "hinge": HingePenalty(),
    "logistic": LogisticPenalty(),
    "huber": HuberPenalty(),
    "insensitive": InsensitivePenalty(),
}


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
