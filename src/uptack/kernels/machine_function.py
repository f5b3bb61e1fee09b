"""A kernel machine as a function: public features of rows, its values anywhere, and a picture of its regions."""

from __future__ import annotations

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
from uptack.kernels.kernel import (
    KERNELS,
    ExponentialKernel,
    Floats,
    GaussianKernel,
    Kernel,
    Matern32,
    Matern52,
    StationaryKernel,
    TensorKernel,
    points,
)

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
    if isinstance(kernel, TensorKernel):
        return _uniforms(kernel.first) + _uniforms(kernel.second)
    if isinstance(kernel, KERNELS):
        return kernel.dimension + isinstance(kernel, Matern32 | Matern52)
    must = "a GaussianKernel, ExponentialKernel, Matern32 or Matern52, or a tensor product of them"
    raise InvalidArgument("kernel", must, checks.describe(kernel), "In place of a factor set the regularization.")


def _spectral(kernel: Kernel, uniform: Floats) -> Floats:
    """Angular frequencies from uniform numbers."""
    import scipy

    if isinstance(kernel, TensorKernel):
        cut = _uniforms(kernel.first)
        return np.hstack([_spectral(kernel.first, uniform[:, :cut]), _spectral(kernel.second, uniform[:, cut:])])
    assert isinstance(kernel, StationaryKernel)
    if isinstance(kernel, ExponentialKernel):
        return np.tan(np.pi * (uniform - 0.5)) / kernel.length
    normal: Floats = scipy.stats.norm.ppf(uniform[:, : kernel.dimension]) / kernel.length
    if isinstance(kernel, GaussianKernel):
        return normal
    degrees = 3 if isinstance(kernel, Matern32) else 5
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
        """Says where to ask."""
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
