"""Axes to draw on, and a clear error if matplotlib is not installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uptack.errors import UptackError
from uptack.labels import label

PRIVATE, PLAIN = "#2f62a8", "#7b8794"
"""The colours of what is released, and of lines beside it."""


def axes(ax: Any = None, **options: Any) -> Any:
    """The given axes, or new ones, without a frame above and on the right."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as missing:
            raise UptackError('drawing needs matplotlib: pip install "uptack[plots]"') from missing
        ax = plt.subplots(layout="constrained", **options)[1]
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def caption(name: object) -> str:
    r"""A name out of data in a picture, where a dollar sign would begin a formula.

    >>> print(caption("$x^$"))
    \$x^\$
    """
    return label(name).replace("$", r"\$")


def dots(names: Sequence[object], values: Sequence[Any], ends: Any = None, ax: Any = None, **style: Any) -> Any:
    """Values one below the other, as dots with their intervals. Where there is no value, ⊥ is beside the name.

    Further arguments go to matplotlib's `plot`. Returns the axes.
    """
    ax = axes(ax, figsize=(6, 0.8 + 0.35 * len(names)))
    place = np.arange(len(names))
    _points(place, values, ends, ax, {"linestyle": ""} | style)
    return _list_names(ax, [caption(n) + ("  ⊥" if v is None else "") for n, v in zip(names, values, strict=True)])


def _list_names(ax: Any, names: Sequence[str]) -> Any:
    """The axes, with names one below the other."""
    ax.set_yticks(np.arange(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def levels(places: Sequence[Any], values: Sequence[Any], ends: Any = None, ax: Any = None, **style: Any) -> Any:
    """Quantiles over their levels, joined by a line, with their intervals.

    Further arguments go to matplotlib's `plot`. Returns the axes.
    """
    ax = axes(ax, figsize=(6, 3.2))
    _points(np.asarray(places, np.float64), values, ends, ax, {"linewidth": 1} | style)
    ax.set_ylim(0, 1)
    ax.set_ylabel("level")
    return ax


def _points(place: Any, values: Sequence[Any], ends: Any, ax: Any, style: dict[str, Any]) -> None:
    look = {"marker": "o", "color": PRIVATE} | style
    if ends is not None:
        low, high = (np.array([np.nan if end is None else float(end) for end in side]) for side in ends)
        finite = np.isfinite(low) & np.isfinite(high)
        ax.hlines(place[finite], low[finite], high[finite], color=look["color"], linewidth=2)
    ax.plot([np.nan if value is None else float(value) for value in values], place, **look)


def bars(names: Sequence[object], values: Sequence[Any], ends: Any = None, ax: Any = None, **style: Any) -> Any:
    """Counts or shares one below the other, as bars with their intervals.

    Further arguments go to matplotlib's `barh`. Returns the axes.
    """
    ax = axes(ax, figsize=(6, 0.8 + 0.3 * len(names)))
    place = np.arange(len(names))
    ax.barh(place, values, **{"color": PRIVATE, "alpha": 0.6} | style)
    if ends is not None:
        ax.hlines(place, *ends, color=PLAIN, linewidth=1.5)
    return _list_names(ax, [caption(name) for name in names])
