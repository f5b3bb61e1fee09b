"""Axes to draw on, and a clear error if matplotlib is not installed."""

from __future__ import annotations

from typing import Any

from uptack.errors import UptackError


def axes(ax: Any = None, **options: Any) -> Any:
    """The given axes, or new ones."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise UptackError('drawing needs matplotlib: pip install "uptack[plots]"') from missing
    return plt.subplots(layout="constrained", **options)[1]
