"""Released coefficients: the law of their errors, intervals, a table in text, and a picture.

A gradient of p numbers gets noise with density proportional to e^(-|v|) in its unit, whose characteristic function is
(1 + |t|²)^(-k), k = (p + 1)/2. A coefficient moves by a linear form of it. In units of its length that is one
coordinate, with

    E e^(isv) = (1 + s²)^(-k) = E e^(-s²W),   W of Gamma's law with shape k:

v is normal with the random variance 2W, of mean p + 1. (For p = 1 that is Laplace's law.) An error in units of its own
deviation, of whose variance the part q is this noise, is normal given W, and

    P(|error| > t) = E 2·Φ(-t/sqrt(1 - q + q·W/k)).

Tails are those of e^(-t·sqrt(2k/q)), longer than a normal law's: at t = 2.576, q = 1 and p = 3 they have 2.1%, not 1%.
What clipping may lose, and the noise of the Hessian, count as sampling error.

**Computed** as the trapezoidal sum over u = log W, which has the density e^(k·u - e^u)/Γ(k). All of it is analytic
around the real line, so with steps of h = 0.15/sqrt(max(k, 1)) the sum has about 10 digits, for tails down to 1e-12.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np

from uptack import checks
from uptack.display.plots import PLAIN, PRIVATE, dots
from uptack.display.tabular import STAMP, FigureTable, align_lines
from uptack.errors import InvalidArgument, NoInterval
from uptack.exact import Rational, read
from uptack.labels import label
from uptack.release import Release
from uptack.table.exact_sum import Floats
from uptack.table.values import entrance

FINE, LITTLE, FARTHEST = 0.15, 40.0, 1500.0
"""The step, the logarithm of what may be left out below, and how far W goes beyond its mean."""

LEAST = float(np.finfo(np.float64).tiny)
"""In place of 0 deviations: so many of an infinite one are still infinite."""

SAFE = 1.2
"""Times τ²/v: standard errors are larger by this for sampling variances v that are known to a deviation τ."""

DIGITS = 3
"""Significant digits of a standard error. Estimates and intervals have as many decimals as it."""

LONGEST, LARGEST = 8, 1e9
"""Beyond so many decimals, or for larger numbers, there are powers of ten."""

SCALES = ("units", "errors")

NUMBERS = frozenset(range(1, 5))
"""The columns of numbers in a table of coefficients."""


def coefficient_names(count: int, intercept: bool, x: Any = None) -> tuple[str, ...]:
    """Names of coefficients by default (`Release.named` gives others): those of the columns of a frame, else
    intercept, x0, x1 and so on."""
    columns = entrance.names(x) or tuple(f"x{i}" for i in range(count - intercept))
    return (*(["intercept"] if intercept else []), *columns)


# ------------------------------------------------------------------------------------------------------------- errors


@cache
def _grid(p: int) -> tuple[Floats, Floats]:
    """W/k and the logarithm of its chances."""
    k = (p + 1) / 2
    low, high = math.log(k) - LITTLE / k - 10 / math.sqrt(k), math.log(k + FARTHEST)
    u = np.arange(low, high, FINE / math.sqrt(max(k, 1.0)))
    weights = k * u - np.exp(u)
    return np.exp(u) / k, weights - np.logaddexp.reduce(weights)


def log_tail(t: float, share: float, p: int) -> float:
    """log P(|error| > t) for t of 0 or more."""
    import scipy

    sizes, chances = _grid(p)
    beyond = scipy.special.log_ndtr(-t / np.sqrt(1 - share + share * sizes))
    return math.log(2) + float(np.logaddexp.reduce(chances + beyond))


def times(outside: float, share: float, p: int) -> float:
    """t with P(|error| > t) = `outside`, for a part of the variance that is noise, in p dimensions.

    >>> round(times(0.05, 0.0, 3), 3), round(times(0.05, 1.0, 3), 3), round(times(0.01, 1.0, 3), 3)
    (1.96, 2.057, 2.995)
    """
    import scipy

    if outside <= 0:
        return math.inf
    wanted, high = math.log(outside), 1.0
    if log_tail(LEAST, share, p) <= wanted:
        return LEAST
    while log_tail(high, share, p) > wanted:
        high *= 2
    return float(scipy.optimize.brentq(lambda t: log_tail(t, share, p) - wanted, LEAST, high, xtol=1e-12, rtol=1e-12))


@dataclass(frozen=True)
class LinearErrors:
    """Standard errors of released coefficients: sampling, privacy noise and what clipping may lose together.

    `unresolved` are the coefficients on directions of x that noise hides: they have no standard error. `target` says
    what is estimated. `gross` is the number of gross errors that were left out, and its standard error. `private` are
    the parts of the squares of standard errors that are privacy noise, drawn for `drawn` coefficients together, and
    `unsure` is τ²/v over these squares, for sampling variances v that are known to a deviation of τ.
    """

    standard_errors: tuple[float, ...]
    unresolved: tuple[int, ...]
    intercept: bool
    target: str
    gross: tuple[float, float]
    private: tuple[float, ...] = ()
    unsure: tuple[float, ...] = ()
    drawn: int = 1

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        """The value ± t standard errors, for the population's coefficients: t by the law of a normal error and one
        coordinate of the gradient's noise together.

        At t deviations a variance of mean 1 that is known to a deviation τ has P(|error| > t) larger by t·φ(t) times
        τ²·(1 + t²)/4, and a larger variance of x by t·φ(t)·x smaller. So it has to be larger by (1 + t²)/4·τ². Standard
        errors have `SAFE` for that already, which is what it is at 95%.
        """
        none = (0.0,) * len(self.standard_errors)
        outside = float(1 - read(confidence))
        t = np.array([times(outside, share, self.drawn) for share in self.private or none])
        more = np.maximum((1 + t**2) / 4 - SAFE, 0.0) * np.array(self.unsure or none)
        reach = np.array(self.standard_errors) * t * np.sqrt(1 + more)
        return value - reach, value + reach

    def beside(self) -> dict[str, list[Any]]:
        """Further columns of a table of the coefficients."""
        errors = [e if np.isfinite(e) else None for e in self.standard_errors]
        return {"standard_error": errors, "note": self.remarks()}

    def remarks(self) -> list[str]:
        """A remark on each coefficient, or an empty one."""
        return ["not resolved" if i in self.unresolved else "" for i in range(len(self.standard_errors))]

    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        count, error = self.gross
        far = "with a value more than about 300 standard deviations from its column's centre"
        if count > 2 * error:
            gross = f"about {count:,.0f} rows were left out as gross errors, {far} (standard error {error:,.0f})"
        else:
            gross = f"at most about {max(count, 0) + 2 * error:,.0f} rows were left out as gross errors, {far}"
        notes = [f"estimates {self.target}", gross]
        if self.unresolved:
            many = "1 coefficient is" if len(self.unresolved) == 1 else f"{len(self.unresolved)} coefficients are"
            notes.append(f"{many} not resolved: too few rows for this ε, or columns that are nearly collinear")
        return tuple(notes)


@dataclass(frozen=True, eq=False, repr=False)
class RegressionRelease(Release[Floats]):
    """Released coefficients that can be summed up in a table."""

    @staticmethod
    def of(release: Release[Floats]) -> RegressionRelease:
        """The same release."""
        return RegressionRelease(**{field.name: getattr(release, field.name) for field in fields(release)})

    def summary(self, names: Sequence[str] | None = None, *, confidence: Rational = 0.95) -> str:
        """A table of estimates, standard errors, z and intervals.

        `names` are those of the columns of X; a session and a formula know them. The standard errors allow for sampling
        and for privacy noise. z is the estimate over its standard error. It has a normal law but for privacy noise,
        whose tails are longer; intervals are by the law of both together (`uptack.regression.coefficients`).
        """
        if not isinstance(self.noise, LinearErrors):
            raise NoInterval("this release has no standard errors")
        stamp = [] if self.private else [STAMP]
        return "\n".join([*self.lines(names, confidence=confidence), *self._notes(), *stamp])

    def lines(self, names: Sequence[str] | None = None, *, confidence: Rational = 0.95) -> list[str]:
        """The head of that table, and a line per coefficient."""
        return align_lines(self._cells(names, confidence), NUMBERS)

    def _notes(self) -> tuple[str, ...]:
        return (str(self.privacy), *([] if self.rows is None else [str(self.rows)]), *self.notes)

    def _cells(self, names: Sequence[str] | None = None, confidence: Rational = 0.95) -> list[tuple[str, ...]]:
        errors = self.noise
        assert isinstance(errors, LinearErrors)
        checks.inside_unit("confidence", confidence)
        lead = int(errors.intercept)
        columns = [label(name) for name in (self.labels[lead:] if names is None else names)]
        if len(columns) != self.value.size - lead:
            raise InvalidArgument("names", f"{self.value.size - lead} names, one per column", f"{len(columns)} of them")
        ends, names = errors.around(self.value, confidence), ["intercept"][:lead] + columns
        head = ("", "estimate", "std. error", "z", f"{100 * float(read(confidence)):g}% interval", "")
        return [head, *table_lines(names, self.value, errors.standard_errors, ends, errors.remarks())]

    def table(self) -> FigureTable:
        """The same for notebooks and terminals."""
        if not isinstance(self.noise, LinearErrors):
            return super().table()
        head, *body = self._cells()
        return FigureTable(self.mechanism, head, tuple(body), self._notes(), NUMBERS, self.private)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Coefficients with their intervals, in their units or with `scale="errors"` in those of their errors: see
        `uptack.plot_coefficients`. Returns the axes.
        """
        return plot_coefficients(self, ax=ax, **style)


# ------------------------------------------------------------------------------------------------------ a table in text


def table_lines(
    names: Sequence[str], values: Floats, errors: Sequence[float], ends: Sequence[Floats], remarks: Sequence[str]
) -> list[tuple[str, ...]]:
    """One line per coefficient: its name, estimate, standard error, z, interval and a remark. Numbers have as many
    digits as their standard errors, and one decimal point below the other.

    >>> import numpy as np
    >>> low, high = np.array([10498.5, -148.03]), np.array([12775.8, -121.45])
    >>> value = np.array([11637.13, -134.739])
    >>> for line in table_lines(["intercept", "depth"], value, [580.2, 6.774], [low, high], ["", ""]):
    ...     print("|".join(line))
    intercept|11637   |580   |20.06|10498    to 12776   |
    depth| -134.74|  6.77|-19.89| -148.03 to  -121.45|
    """
    finite = [math.isfinite(error) for error in errors]
    estimates = [_round(v, e if ok else abs(v) / 10) for v, e, ok in zip(values, errors, finite, strict=True)]
    sizes = [_round(e, e) if ok else "∞" for e, ok in zip(errors, finite, strict=True)]
    low, high = (
        _align_points([_round(v, e) if ok else "" for v, e, ok in zip(end, errors, finite, strict=True)])
        for end in ends
    )
    spans = [f"{a} to {b}" if ok else "" for a, b, ok in zip(low, high, finite, strict=True)]
    ratios = [f"{v / e:.2f}" if ok else "" for v, e, ok in zip(values, errors, finite, strict=True)]
    return list(zip(names, _align_points(estimates), _align_points(sizes), ratios, spans, remarks, strict=True))


def _round(value: float, error: float) -> str:
    """A number with the decimals of its error. Where these are no decimals: down to the last digit of the error, and
    at least six digits.

    >>> _round(11637.13, 580.2), _round(0.0123456, 0.000123), _round(3.2e-12, 1.1e-13)
    ('11637', '0.012346', '3.2e-12')
    >>> _round(1e9 + 5.88, 3.0), _round(0.123456789012, 1.23e-10)
    ('1000000005.88', '0.123456789012')
    """
    digits = 6
    if value == error:
        digits = DIGITS
    elif 0 < abs(value) < math.inf and 0 < error < math.inf:
        digits = min(max(math.floor(math.log10(abs(value))) - math.floor(math.log10(error)) + DIGITS, 6), 17)
    short = f"{value:.{digits}g}"
    if error <= 0 or max(abs(value), error) >= LARGEST:
        return short
    decimals = max(DIGITS - 1 - math.floor(math.log10(error)), 0)
    return f"{value:.{decimals}f}" if decimals <= LONGEST else short


def _align_points(cells: Sequence[str]) -> list[str]:
    """Numbers with spaces around them, so that decimal points are below each other; powers of ten end as they do."""
    wholes = [cell if "e" in cell else cell.partition(".")[0] for cell in cells]
    rests = [cell[len(whole) :] for cell, whole in zip(cells, wholes, strict=True)]
    left, right = (max(map(len, parts), default=0) for parts in (wholes, rests))
    return [whole.rjust(left) + rest.ljust(right) for whole, rest in zip(wholes, rests, strict=True)]


# ----------------------------------------------------------------------------------------------------------- a picture


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
    percent = f"{100 * float(read(confidence)):g}%"
    axis_label = f"coefficient, {percent} interval" if np.isfinite(low).any() else "coefficient"
    if how == "errors":
        with np.errstate(all="ignore"):
            half = (high - low) / 2
            values, low, high = values / half, low / half, high / half
        values[lost] = np.nan  # which are nowhere on this scale
        axis_label = f"coefficient in half-widths of its {percent} interval"
    ax = dots(labels, values.tolist(), (low.tolist(), high.tolist()), ax, **style)
    hollow = {"linestyle": "", "marker": "o", "color": PRIVATE, "markerfacecolor": "white"}
    ax.plot(values[lost], np.flatnonzero(lost), **{**hollow, **style, "markerfacecolor": "white"})
    ax.axvline(0, color=PLAIN, linewidth=1, zorder=0)
    ax.set_xlabel(axis_label)
    return ax
