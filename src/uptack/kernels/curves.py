"""Released functions as they are shown: a density through grid points, a Fourier series, a curve with its band.

Everything here is done to numbers that were released already, so it costs nothing: post-processing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.display import Ends, Record, ReleasedValue, TabularValue, line
from uptack.display.plots import PLAIN, PRIVATE, axes
from uptack.errors import InvalidArgument
from uptack.noise import Entropy
from uptack.noise.entropy import source

Floats = NDArray[np.float64]
DIGITS = 53
"""Binary digits of the uniform variables that synthetic values are made from."""

FINENESS = {1: 64, 2: 8, 3: 4}
"""Grid points for each wave of the highest frequency, by dimension, where the mass above 0 is added up."""


@dataclass(frozen=True, eq=False)
class DensityCurve(TabularValue):
    """A probability density that is linear between grid points, and 0 outside them. Its integral is 1.

    Made by `DensityCurve.on_grid`.

    >>> hat = DensityCurve.on_grid([0, 1, 2], [-0.5, 3, -0.5])
    >>> hat
    DensityCurve(3 points from 0.0 to 2.0)
    >>> hat.at([0.5, 1, 5]), hat.cdf([0, 0.5, 2])
    (array([0.5, 1. , 0. ]), array([0.   , 0.125, 1.   ]))
    """

    points: Floats
    values: Floats

    @staticmethod
    def on_grid(points: ArrayLike, values: ArrayLike) -> DensityCurve:
        """The curve through values at increasing points: values below 0 are read as 0, then all are scaled to a mass
        of 1. Where no value is above 0 the density is even."""
        x, y = checks.numbers("points", points, (1,)), checks.numbers("values", values, (1,))
        if x.size < 2 or not (np.diff(x) > 0).all():
            raise InvalidArgument("points", "at least two increasing numbers", checks.describe(points))
        if y.shape != x.shape:
            raise InvalidArgument("values", f"an array of {x.size} numbers, one per point", checks.describe(y))
        y = np.maximum(y, 0)
        y = y / y.max() if y.max() > 0 else np.ones_like(y)
        y = y / (np.diff(x) * (y[1:] + y[:-1]) / 2).sum()
        return DensityCurve(x, y)

    @property
    def low(self) -> float:
        return float(self.points[0])

    @property
    def high(self) -> float:
        return float(self.points[-1])

    def at(self, points: ArrayLike) -> Any:
        """The density at a point, or at many."""
        x = checks.numbers("points", points)
        return _number_or_array(np.interp(x, self.points, self.values, left=0, right=0))

    def cdf(self, points: ArrayLike) -> Any:
        """The mass up to a point, or up to many."""
        x = np.clip(checks.numbers("points", points), self.low, self.high)
        left = np.clip(np.searchsorted(self.points, x, side="right") - 1, 0, self.points.size - 2)
        part = (x - self.points[left]) * (self.values[left] + self.at(x)) / 2
        return _number_or_array(np.minimum(self._masses()[left] + part, 1.0))

    def quantile(self, p: ArrayLike) -> Any:
        """The least point up to which the mass is p, or so for many."""
        level = checks.numbers("p", p)
        if not ((level >= 0) & (level <= 1)).all():
            raise InvalidArgument("p", "a number in [0, 1], or many", checks.describe(p))
        masses = self._masses()
        left = np.clip(np.searchsorted(masses, level, side="left") - 1, 0, self.points.size - 2)
        width, start = np.diff(self.points)[left], self.values[left]
        slope, missing = np.diff(self.values)[left] / width, np.clip(level - masses[left], 0, None)
        # the root t of start·t + slope·t²/2 = missing, in the form that does not cancel
        root = start + np.sqrt(np.maximum(start**2 + 2 * slope * missing, 0))
        step = np.divide(2 * missing, root, out=np.zeros_like(root), where=root > 0)
        return _number_or_array(self.points[left] + np.minimum(step, width))

    def sample(self, n: int, entropy: Entropy | None = None) -> Floats:
        """So many synthetic values with this density.

        >>> from uptack.noise import SeededEntropy
        >>> DensityCurve.on_grid([0, 1], [1, 1]).sample(2, SeededEntropy(1)).round(3)
        array([0.811, 0.819])
        """
        size, bits = checks.integer("n", n, least=0), source(entropy)
        if size == 0:
            return np.empty(0)
        uniform = (bits.integers(1 << DIGITS, size) + 0.5) / (1 << DIGITS)
        return np.asarray(self.quantile(uniform))

    def plot(self, ax: Any = None, truth: Callable[[Floats], ArrayLike] | None = None, **style: Any) -> Any:
        """The curve, and beside it a true density if there is one to compare with. Returns the axes.

        Further arguments go to matplotlib's `plot`. It needs matplotlib: `pip install "uptack[plots]"`.
        """
        ax, look = axes(ax, figsize=(6, 3.2)), {"color": PRIVATE, "linewidth": 1.5, "label": "private"} | style
        ax.fill_between(self.points, self.values, color=look["color"], alpha=0.15, linewidth=0)
        ax.plot(self.points, self.values, **look)
        if truth is not None:
            ax.plot(self.points, truth(self.points), color=PLAIN, linewidth=1, linestyle="--", label="truth")
            ax.legend(frameon=False)
        ax.set_ylim(bottom=0)
        ax.set_ylabel("density")
        return ax

    def figures(self, ends: Ends = None) -> list[Record]:
        return [line({"x": x}, y) for x, y in zip(self.points.tolist(), self.values.tolist(), strict=True)]

    def __repr__(self) -> str:
        return f"DensityCurve({self.points.size} points from {self.low} to {self.high})"

    def _masses(self) -> Floats:
        """The mass up to each grid point."""
        pieces = np.diff(self.points) * (self.values[1:] + self.values[:-1]) / 2
        masses = np.concatenate([[0.0], np.cumsum(pieces)])
        return np.asarray(masses / masses[-1])


@dataclass(frozen=True, eq=False)
class FourierDensity(ReleasedValue):
    """A density on a box from its Fourier coefficients c_k, one for each row k of `frequencies`; of k and -k only one.

    With t the place of a point in the box as a share of its sides, the series is

        f(t) = (1 + 2·Re Σ_k c_k·e^(-2πi k·t))/volume,     c_k an estimate of E e^(2πi k·t),

    which may be below 0 in places. `at` gives its part above 0, scaled to a mass of 1, and 0 outside the box.
    `standard_error` is that of the privacy noise in the series; it is the same at every point.

    >>> wave = FourierDensity(np.array([[1]]), np.array([0.5 + 0j]), (0.0,), (2.0,))
    >>> wave
    FourierDensity(degree 1 on [0.0, 2.0])
    >>> wave.at([0, 0.5, 1, 7]).round(6), wave.cdf(1).__round__(6)
    (array([1. , 0.5, 0. , 0. ]), 0.5)
    """

    frequencies: NDArray[np.int64]
    coefficients: NDArray[np.complex128]
    low: tuple[float, ...]
    high: tuple[float, ...]
    standard_error: float = 0.0

    @property
    def dimension(self) -> int:
        return len(self.low)

    @property
    def degree(self) -> int:
        return int(np.abs(self.frequencies).max())

    @property
    def sides(self) -> Floats:
        return np.subtract(self.high, self.low)

    def series(self, points: ArrayLike) -> Any:
        """The series itself at points: numbers in one dimension, and rows of d numbers in more. It is periodic."""
        x = checks.numbers("points", points, (0, 1) if self.dimension == 1 else (1, 2))
        rows = x.reshape(-1, 1) if self.dimension == 1 else np.atleast_2d(x)
        if rows.shape[1] != self.dimension:
            raise InvalidArgument("points", f"rows of {self.dimension} numbers", checks.describe(x))
        share = (rows - np.array(self.low)) / self.sides
        values = np.ones(len(share))
        for k, c in zip(self.frequencies, self.coefficients, strict=True):
            values += 2 * (c * np.exp(-2j * np.pi * (share @ k))).real
        one = x.ndim == (0 if self.dimension == 1 else 1)
        return _number_or_array(values[0] if one else values) / float(self.sides.prod())

    def at(self, points: ArrayLike) -> Any:
        """The density at points: the series where it is above 0, scaled to a mass of 1."""
        values, x = np.maximum(self.series(points), 0), np.asarray(points, np.float64)
        low, high = (np.array(end) if self.dimension > 1 else end[0] for end in (self.low, self.high))
        inside = (low <= x) & (x <= high)
        mass = float(np.maximum(self._on_grid(), 0).mean())  # at least 1, as the whole series has 1
        return _number_or_array(np.where(inside.all(axis=-1) if self.dimension > 1 else inside, values, 0) / mass)

    @property
    def curve(self) -> DensityCurve:
        """The density of one column as a curve through grid points."""
        if self.dimension > 1:
            raise InvalidArgument("dimension", "1 for a curve", self.dimension, "Use at(points).")
        values = self._on_grid()
        points = self.low[0] + self.sides[0] * np.linspace(0, 1, values.size + 1)
        return DensityCurve.on_grid(points, np.append(values, values[0]))

    def cdf(self, points: ArrayLike) -> Any:
        """The mass up to a point, or up to many; for one column."""
        return self.curve.cdf(points)

    def sample(self, n: int, entropy: Entropy | None = None) -> Floats:
        """So many synthetic values with this density; for one column."""
        return self.curve.sample(n, entropy)

    def plot(self, ax: Any = None, truth: Callable[[Floats], ArrayLike] | None = None, **style: Any) -> Any:
        """A picture of the curve; for one column."""
        return self.curve.plot(ax, truth, **style)

    def smoothed(self, bandwidth: float) -> FourierDensity:
        """The convolution with a Gaussian of this standard deviation σ, in units of the data.

        Coefficient k is multiplied by λ_k = exp(-2π²Σ(k_i·σ/side_i)²): the eigenvalues of the periodic Gaussian kernel
        (Hall, section 4.3; the text has lost π²). The standard error is then at most what it was.
        """
        width = float(checks.positive("bandwidth", bandwidth))
        waves = self.frequencies * (width / self.sides)
        shrunk = self.coefficients * np.exp(-2 * np.pi**2 * (waves**2).sum(axis=1))
        return FourierDensity(self.frequencies, shrunk, self.low, self.high, self.standard_error)

    def to_dict(self) -> dict[str, Any]:
        return {
            "low": list(self.low),
            "high": list(self.high),
            "frequencies": self.frequencies.tolist(),
            "real": self.coefficients.real.tolist(),
            "imaginary": self.coefficients.imag.tolist(),
            "standard_error": self.standard_error,
        }

    def __repr__(self) -> str:
        box = " × ".join(f"[{a}, {b}]" for a, b in zip(self.low, self.high, strict=True))
        return f"FourierDensity(degree {self.degree} on {box})"

    def _on_grid(self) -> Floats:
        """The series times the volume on a regular grid, by a fast Fourier transform."""
        size, d = FINENESS[self.dimension] * (self.degree + 1), self.dimension
        spectrum = np.zeros((size,) * d, np.complex128)
        spectrum[(0,) * d] = 1
        spectrum[tuple(self.frequencies.T % size)] = self.coefficients
        spectrum[tuple(-self.frequencies.T % size)] = self.coefficients.conj()
        return np.asarray(np.fft.fftn(spectrum).real)


def _number_or_array(values: Any) -> Any:
    """A float for a number, an array for an array."""
    return float(values) if np.ndim(values) == 0 else values


@dataclass(frozen=True, eq=False)
class Curve(TabularValue):
    """Values of a private function at points, with a band that the curator's own values lie in. It holds no data."""

    points: Floats
    values: Floats
    low: Floats
    high: Floats
    confidence: float

    def _line(self) -> Floats:
        if self.points.shape[1] != 1:
            got = f"in {self.points.shape[1]}"
            raise InvalidArgument("the curve", "in one dimension for this", got, "Use points and values.")
        return np.asarray(self.points[:, 0])

    def density(self) -> DensityCurve:
        """The curve as a probability density on its grid: cut off at 0 and scaled to a mass of 1. Post-processing."""
        order = np.argsort(self._line())
        return DensityCurve.on_grid(self._line()[order], self.values[order])

    def plot(self, ax: Any = None, own: Callable[[Floats], ArrayLike] | None = None, **style: Any) -> Any:
        """The private curve with its band, over the curator's own function if that is given. Returns the axes.

        Further arguments go to matplotlib's `plot`.

        A picture with the curator's own function is for the curator: it is not private. Needs matplotlib:
        `pip install "uptack[plots]"`.
        """
        order = np.argsort(self._line())
        x, ax = self._line()[order], axes(ax, figsize=(6, 3.2))
        label = f"{100 * self.confidence:.3g}% of the noise"
        ax.fill_between(x, self.low[order], self.high[order], color=PRIVATE, alpha=0.15, linewidth=0, label=label)
        if own is not None:
            ax.plot(x, np.asarray(own(x[:, None])), color=PLAIN, linewidth=1, linestyle="--", label="not private")
        ax.plot(x, self.values[order], **{"color": PRIVATE, "linewidth": 1.5, "label": "private"} | style)
        ax.legend(frameon=False)
        return ax

    def figures(self, ends: Ends = None) -> list[Record]:
        names = [{f"x{i}" if len(at) > 1 else "x": v for i, v in enumerate(at)} for at in self.points.tolist()]
        figures = (self.values.tolist(), self.low.tolist(), self.high.tolist())
        return [line(*figure) for figure in zip(names, *figures, strict=True)]

    def __repr__(self) -> str:
        return f"Curve({len(self.values)} points in {self.points.shape[1]} dimensions)"


def grid(window: Floats, size: int) -> Floats:
    """Even points over a box with a row (low, high) for each coordinate, `size` to a side."""
    sides = [np.linspace(low, high, size) for low, high in window]
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(sides))
