"""A picture of coefficients with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uptack import checks
from uptack.display.plots import PLAIN, PRIVATE, caption, dots
from uptack.errors import InvalidArgument, NoInterval
from uptack.exact import Rational
from uptack.labels import label
from uptack.release import Release

SCALES = ("units", "errors")


def plot_coefficients(
    release: Release[Any],
    names: Sequence[str] | None = None,
    *,
    confidence: Rational = 0.95,
    scale: str = "units",
    ax: Any = None,
    **style: Any,
) -> Any:
    """Released coefficients as points, with intervals where the release has them. Returns the axes.

    A coefficient that has no standard error, since noise hides it, is a hollow point with
    a remark. Coefficients of columns in different units are hard to see on one axis. With `scale="errors"` each is
    drawn over half the width of its own interval: how far it is from zero, in units of its error. Further arguments go
    to matplotlib's `plot`. It needs matplotlib: `pip install "uptack[plots]"`.
    """
    values, how = np.asarray(release.unwrap(), np.float64), checks.choice("scale", scale, SCALES)
    labels = list(names) if names is not None else list(release.labels) or [f"β{i}" for i in range(values.size)]
    if len(labels) != values.size:
        raise InvalidArgument("names", f"{values.size} names, one per coefficient", f"{len(labels)} of them")
    try:
        low, high = (np.asarray(end, np.float64) for end in release.interval(confidence))
    except NoInterval:
        if how == "errors":
            raise
        low = high = np.full(values.size, np.nan)
    beside: Any = getattr(release.noise, "remarks", list)() or [""] * values.size
    lost = np.array([bool(remark) for remark in beside])
    labels = [f"{label(name)}  ({remark})" if remark else name for name, remark in zip(labels, beside, strict=True)]
    said = f"coefficient ({release.privacy})"
    if how == "errors":
        with np.errstate(all="ignore"):
            half = (high - low) / 2
            values, low, high = values / half, low / half, high / half
        values[lost] = np.nan  # which are nowhere on this scale
        said = f"distance from zero, in half-widths of the interval ({release.privacy})"
    ax = dots(labels, values.tolist(), (low.tolist(), high.tolist()), ax, **style)
    hollow = {"linestyle": "", "marker": "o", "color": PRIVATE, "markerfacecolor": "white"}
    ax.plot(values[lost], np.flatnonzero(lost), **{**hollow, **style, "markerfacecolor": "white"})
    ax.axvline(0, color=PLAIN, linewidth=1, zorder=0)
    ax.set_xlabel(caption(said))
    return ax
