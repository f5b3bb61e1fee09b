"""A picture of coefficients with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uptack.drawing import axes
from uptack.errors import InvalidArgument, NoInterval
from uptack.exact import Rational
from uptack.release import Release


def plot_coefficients(
    release: Release[Any], names: Sequence[str] | None = None, *, confidence: Rational = 0.95, ax: Any = None
) -> Any:
    """Released coefficients as points, with intervals where the release has them. Returns the axes.

    It needs matplotlib: `pip install "uptack[plots]"`.
    """
    values = np.asarray(release.unwrap())
    labels = list(names) if names is not None else [f"β{i}" for i in range(values.size)]
    if len(labels) != values.size:
        raise InvalidArgument("names", f"{values.size} names, one per coefficient", f"{len(labels)} of them")
    ax = axes(ax, figsize=(6, 0.6 + 0.4 * values.size))
    place = np.arange(values.size)
    try:
        low, high = (np.asarray(end) for end in release.interval(confidence))
        ax.hlines(place, low, high, color="#2f62a8", linewidth=2)
    except NoInterval:
        pass
    ax.plot(values, place, "o", color="#2f62a8")
    ax.axvline(0, color="#7b8794", linewidth=1, zorder=0)
    ax.set_yticks(place, labels)
    ax.invert_yaxis()
    ax.set_xlabel(f"coefficient ({release.privacy})")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax
