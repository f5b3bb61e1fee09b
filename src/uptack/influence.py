"""Influence functions: how far one row at z moves a statistic. **Not private**: for the curator only.

A statistic is named by a string, or by a tuple of a string and its levels: "mean", "median", "iqr", "midhinge",
"trimean", ("quantile", 0.9), ("interquantile_range", 0.1, 0.9), ("trimmed_mean", 0.1), ("winsorized_mean", 0.1). For
the last two the default cut is 0.1.

Each of them is a sum of two kinds of terms, where F⁻¹ is the quantile function of a distribution or of a table:

    T(F) = w·∫ F⁻¹(u) du over [a, b]  +  Σ v_j·F⁻¹(p_j)

References: Dwork and Lei's report, section 1.4; Hampel et al., *Robust Statistics* (1986).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.display.plots import axes
from uptack.errors import InvalidArgument
from uptack.registry import declared
from uptack.statistics.statistic import Functional, Statistic

Floats = NDArray[np.float64]
Name: TypeAlias = str | tuple[Any, ...]
Estimator: TypeAlias = Callable[[Floats], float]


@dataclass(frozen=True, eq=False)
class Influence:
    """Values of an influence function at some points. **Not private**: for the curator only."""

    points: Floats
    values: Floats
    statistic: str
    kind: str
    private: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        for name in ("points", "values"):
            frozen = np.array(getattr(self, name), np.float64)
            frozen.setflags(write=False)
            object.__setattr__(self, name, frozen)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the values against the points and return the axes. Further arguments go to matplotlib's `plot`."""
        ax = axes(ax)
        rising = np.argsort(self.points, kind="stable")
        ax.plot(self.points[rising], self.values[rising], **{"label": self.statistic} | style)
        ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
        ax.set(xlabel="z, the value of one row", ylabel=self.kind)
        ax.set_title("not private: for the curator only", loc="right", fontsize="small", color="0.4")
        return ax

    def __repr__(self) -> str:
        largest = np.abs(self.values).max()
        what = f"{self.kind} of the {self.statistic} at {self.points.size} points, up to {largest:.4g}"
        return f"Influence({what}; not private: for the curator only)"


def _statistic_of(statistic: object, also: str = "") -> tuple[Statistic, Functional, str]:
    """The statistic of that name, its functional, and what it is called with its levels."""
    name, *levels = statistic if isinstance(statistic, tuple) and statistic else (statistic,)
    described = {name: one.statistic for name, one in declared().items() if one.statistic is not None}
    build = described.get(name) if isinstance(name, str) else None
    if build is None:
        must = f"one of {', '.join(map(repr, described))}, alone or in a tuple with its levels{also}"
        raise InvalidArgument("statistic", must, checks.describe(name))
    try:
        inspect.signature(build).bind(*levels)
    except TypeError:
        wanted = ", ".join([repr(name), *inspect.signature(build).parameters])
        raise InvalidArgument("statistic", f"({wanted})", repr(statistic)) from None
    built = build(*levels)
    if built.functional is None:
        raise InvalidArgument("statistic", "one with a functional of quantiles", repr(name))
    level_text = ", ".join(f"{float(checks.rational('level', level)):g}" for level in levels)
    level_text = f"({level_text})" if len(levels) > 1 else level_text
    return built, built.functional, f"{level_text}-{built.name}" if level_text else built.name


def empirical_influence(x: Any, statistic: Name | Estimator, points: ArrayLike) -> Influence:
    """EIF(z) = (n + 1)·(T(x_1, ..., x_n, z) - T(x_1, ..., x_n)) at each of the points z (Definition 1).

    One more row at z moves the statistic by EIF(z)/(n + 1). The statistic is a name (see the module) or a function of
    an array. For a name the table is sorted once: with z added, ranks a to b hold the rows x(a), ..., x(b-1) and z
    clamped to [x(a-1), x(b)].

    As n grows, the EIF of a mean converges to the influence function. That of a quantile does not. It is n times the
    gap next to one rank, which stays random. It is also one-sided, since ⌈pn⌉ either jumps or does not (Example 3 of
    the report).

    >>> empirical_influence([1, 2, 3, 4, 5], "median", [0, 100]).values
    array([-6.,  0.])
    >>> empirical_influence([1, 2, 3, 4, 5], "mean", [0, 100])
    Influence(empirical influence of the mean at 2 points, up to 97; not private: for the curator only)
    """
    known = None if callable(statistic) else _statistic_of(statistic, " or a function of an array")
    z, rows = _numbers("points", points), _numbers("x", x)
    if not np.isfinite(rows).all():
        raise InvalidArgument("x", "free of infinities", "some")
    n = rows.size
    if known is not None:
        ordered = np.concatenate(([-np.inf], np.sort(rows), [np.inf]))
        described, _, name = known
        without = float(sum(float(s.weight) * ordered[s.first : s.last + 1].sum() for s in described.segments(n)))
        with_row = np.zeros(z.size)
        for s in described.segments(n + 1):
            inner = ordered[s.first : s.last].sum() + np.clip(z, ordered[s.first - 1], ordered[s.last])
            with_row += float(s.weight) * inner
    else:
        assert callable(statistic)
        without, name = float(statistic(rows)), getattr(statistic, "__name__", "statistic")
        with_row = np.array([float(statistic(np.append(rows, one))) for one in z])
    return Influence(z, (n + 1) * (with_row - without), name, "empirical influence")


def influence(statistic: Name, distribution: Any, points: ArrayLike) -> Influence:
    """IF(z) = lim (T((1-t)F + t·δ_z) - T(F))/t as t falls to 0, at each of the points z (Definition 2).

    `distribution` is a continuous distribution with its parameters, such as `scipy.stats.norm(3, 2)`. The closed forms,
    with a = F⁻¹(low), b = F⁻¹(high) and X drawn from F, are:

    - of a quantile q = F⁻¹(p): (p - 1)/f(q) for z < q, p/f(q) for z > q, and 0 at q;
    - of ∫ F⁻¹ over [low, high]: clamp(z, a, b) - E clamp(X, a, b).

    So the mean has z - μ, and the trimmed mean has (clamp(z, a, b) - E clamp(X, a, b))/(1 - 2·cut). If the density at a
    quantile is 0, the influence is infinite.

    >>> from scipy.stats import norm
    >>> influence("median", norm(), [-5, 0, 5]).values.round(3)
    array([-1.253,  0.   ,  1.253])
    """
    _, functional, name = _statistic_of(statistic)
    law, z = _law(distribution), _numbers("points", points)
    return Influence(z, _influence(functional, law, z), name, "influence")


def gross_error_sensitivity(statistic: Name, distribution: Any) -> float:
    """γ* = sup over z of |IF(z)|: infinite for the mean, finite for a robust statistic.

    IF is monotone between the quantiles that T uses, so the supremum is attained next to one of them or at ±∞.

    >>> from scipy.stats import norm
    >>> round(gross_error_sensitivity("median", norm()), 4), gross_error_sensitivity("mean", norm())
    (1.2533, inf)
    """
    (_, known, _), law = _statistic_of(statistic), _law(distribution)
    corners = law.ppf([float(p) for p in {p for _, p in known.levels} | set(known.between)])
    beside = np.concatenate((np.nextafter(corners, -np.inf), np.nextafter(corners, np.inf), [-np.inf, np.inf]))
    return float(np.abs(_influence(known, law, beside)).max())


def _influence(statistic: Functional, law: Any, z: Floats) -> Floats:
    """The weighted sum of the closed forms."""
    total = np.zeros(z.size)
    if statistic.weight:
        low, high = (float(p) for p in statistic.between)
        a, b = law.ppf(low), law.ppf(high)
        inside = z if (low, high) == (0, 1) else np.clip(z, a, b)  # with nothing cut off even outside of the support
        total += float(statistic.weight) * (inside - _mean_clamped(law, low, high, a, b))
    for weight, p in statistic.levels:
        q, level = law.ppf(float(p)), float(p)
        with np.errstate(divide="ignore"):
            step = np.float64(1) / law.pdf(q)
        total += float(weight) * np.select([z < q, z > q], [(level - 1) * step, level * step], 0.0)
    return total


def _mean_clamped(law: Any, low: float, high: float, a: float, b: float) -> float:
    """E clamp(X, a, b) = low·a + (1 - high)·b + ∫ F⁻¹ over [low, high]."""
    import scipy

    if (low, high) == (0, 1):
        mean = float(law.mean())
        if not np.isfinite(mean):
            raise InvalidArgument("distribution", "a law with a finite mean", f"one with mean {mean}", "Trim some.")
        return mean
    return float(low * a + (1 - high) * b + scipy.integrate.quad(law.ppf, low, high, limit=200)[0])


def _law(distribution: Any) -> Any:
    """A continuous law with a quantile function, a density and a mean."""
    if not all(callable(getattr(distribution, part, None)) for part in ("ppf", "pdf", "mean")):
        must, fix = "a continuous law with its parameters", "Try scipy.stats.norm(0, 1)."
        raise InvalidArgument("distribution", must, checks.describe(distribution), fix)
    return distribution


def _numbers(name: str, value: Any) -> Floats:
    """A column of numbers, at least one, none of them NaN."""
    array = np.atleast_1d(np.asarray(value))
    if array.ndim != 1 or array.dtype.kind not in "fiub" or array.size == 0:
        raise InvalidArgument(name, "a one-dimensional column of numbers, at least one", checks.describe(array))
    numbers = array.astype(np.float64)
    if np.isnan(numbers).any():
        raise InvalidArgument(name, "free of NaN", "some", "Leave such rows out.")
    return numbers
