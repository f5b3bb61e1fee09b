"""Plain curves of a released function, and pictures of them: the private one, its band, and the curator's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uptack.display import Ends, Record, TabularValue, line
from uptack.display.plots import PLAIN, PRIVATE, axes
from uptack.errors import InvalidArgument
from uptack.kernels.density_curves import DensityCurve

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve(TabularValue):
    """Values of a private function at points, with a band that the curator's own values lie in. It holds no data."""

    points: Floats
    values: Floats
    low: Floats
    high: Floats
    confidence: float

    def __post_init__(self) -> None:
        for array in (self.points, self.values, self.low, self.high):
            array.setflags(write=False)

    def _line(self) -> Floats:
        if self.points.shape[1] != 1:
            must = "in one dimension for this"
            raise InvalidArgument("the curve", must, f"in {self.points.shape[1]}", "Use points and values.")
        line: Floats = self.points[:, 0]
        return line

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
        ax.spines[["top", "right"]].set_visible(False)
        return ax

    def figures(self, ends: Ends = None) -> list[Record]:
        """One line per point, with the band."""
        names = [{f"x{i}" if len(at) > 1 else "x": v for i, v in enumerate(at)} for at in self.points.tolist()]
        figures = (self.values.tolist(), self.low.tolist(), self.high.tolist())
        return [line(*figure) for figure in zip(names, *figures, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        names = ("points", "values", "low", "high")
        return {name: getattr(self, name).tolist() for name in names} | {"confidence": self.confidence}

    def __repr__(self) -> str:
        return f"Curve({len(self.values)} points in {self.points.shape[1]} dimensions)"


def grid(window: Floats, size: int) -> Floats:
    """Even points over a box with a row (low, high) for each coordinate, `size` to a side."""
    sides = [np.linspace(low, high, size) for low, high in window]
    mesh: Floats = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(sides))
    return mesh
