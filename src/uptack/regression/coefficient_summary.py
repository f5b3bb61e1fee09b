"""Coefficients with their standard errors: what a fit by bounded sums says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from uptack import checks
from uptack.display.figure_table import STAMP, FigureTable
from uptack.errors import InvalidArgument, NoInterval
from uptack.exact import Rational, read
from uptack.labels import label
from uptack.regression import coefficient_table
from uptack.regression.coefficient_errors import times
from uptack.regression.coefficient_plot import plot_coefficients
from uptack.release import Release
from uptack.table.exact_sum import Floats

SAFE = 1.2
"""Times τ²/v: standard errors are larger by this for sampling variances v that are known to a deviation τ."""


@dataclass(frozen=True, eq=False)
class Sizes:
    """Standard errors, the parts of their squares that are privacy noise, and τ²/v over them, for sampling variances v
    that are known to a deviation of τ.
    """

    errors: Floats
    private: Floats
    unsure: Floats

    def reach(self, outside: float, p: int) -> Floats:
        """How far errors go but for a chance of `outside`, by the law of a normal error and one coordinate of noise.

        At t deviations a variance of mean 1 that is known to a deviation τ has P(|error| > t) larger by t·φ(t) times
        τ²·(1 + t²)/4, and a larger variance of x by t·φ(t)·x smaller. So it has to be larger by (1 + t²)/4·τ². Standard
        errors have `SAFE` for that already, which is what it is at 95%.
        """
        t = np.array([times(outside, share, p) for share in self.private.tolist()])
        more = np.maximum((1 + t**2) / 4 - SAFE, 0.0) * self.unsure
        return np.asarray(self.errors * t * np.sqrt(1 + more), np.float64)


@dataclass(frozen=True)
class LinearErrors:
    """Standard errors of released coefficients: sampling, privacy noise and what clipping may lose together.

    `unresolved` are the coefficients on directions of x that noise hides: they have no standard error. `target` says
    what is estimated. `gross` is the number of gross errors that were left out, and its standard error. `private` and
    `unsure` are those of `Sizes`, and noise was drawn for `drawn` coefficients together.
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
        """The value ± so many standard errors, for the population's coefficients: by the law of a normal error and
        one coordinate of the gradient's noise together, so more of them where privacy noise is most of the error.
        """
        none = (0.0,) * len(self.standard_errors)
        sizes = Sizes(*map(np.array, (self.standard_errors, self.private or none, self.unsure or none)))
        reach = sizes.reach(float(1 - read(confidence)), self.drawn)
        return value - reach, value + reach

    def beside(self) -> dict[str, list[Any]]:
        """Further columns of a table of the coefficients."""
        errors = [e if np.isfinite(e) else None for e in self.standard_errors]
        return {"standard_error": errors, "note": self.remarks()}

    def remarks(self) -> list[str]:
        """What is to be said of each coefficient."""
        return ["not resolved" if i in self.unresolved else "" for i in range(len(self.standard_errors))]

    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        notes = [f"estimates {self.target}", _gross_errors(*self.gross)]
        if self.unresolved:
            many = "1 coefficient is" if len(self.unresolved) == 1 else f"{len(self.unresolved)} coefficients are"
            notes.append(f"{many} not resolved: columns nearly follow from others, or vary in too few rows")
        return tuple(notes)


def _gross_errors(count: float, error: float) -> str:
    """What is said of rows that were left out."""
    far = "with a value 300 units or more from the centre of its column"
    if count > 2 * error:
        return f"about {count:,.0f} rows were left out as gross errors, {far} (standard error {error:,.0f})"
    return f"at most about {max(count, 0) + 2 * error:,.0f} rows were left out as gross errors, {far}"


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
        whose tails are longer; intervals are by the law of both together (`uptack.regression.coefficient_errors`).
        """
        errors = self.noise
        if not isinstance(errors, LinearErrors):
            raise NoInterval("this release has no standard errors")
        rows = [] if self.rows is None else [str(self.rows)]
        stamp = [] if self.private else [STAMP]
        return "\n".join([*self.lines(names, confidence=confidence), str(self.privacy), *rows, *self.notes, *stamp])

    def lines(self, names: Sequence[str] | None = None, *, confidence: Rational = 0.95) -> list[str]:
        """The head of that table, and a line per coefficient."""
        return coefficient_table.align_cells(self._cells(names, confidence))

    def _cells(self, names: Sequence[str] | None = None, confidence: Rational = 0.95) -> list[tuple[str, ...]]:
        errors = self.noise
        assert isinstance(errors, LinearErrors)
        checks.inside_unit("confidence", confidence)
        lead = int(errors.intercept)
        columns = [label(name) for name in (self.labels[lead:] if names is None else names)]
        if len(columns) != self.value.size - lead:
            raise InvalidArgument("names", f"{self.value.size - lead} names, one per column", f"{len(columns)} of them")
        ends, called = errors.around(self.value, confidence), ["intercept"][:lead] + columns
        body = coefficient_table.lines(called, self.value, errors.standard_errors, ends, errors.remarks())
        return [coefficient_table.head(100 * float(read(confidence))), *body]

    def table(self) -> FigureTable:
        """The same for notebooks and terminals."""
        if not isinstance(self.noise, LinearErrors):
            return super().table()
        head, *body = self._cells()
        said = [str(self.privacy), *([] if self.rows is None else [str(self.rows)]), *self.notes]
        return FigureTable(self.mechanism, head, tuple(body), tuple(said), frozenset(range(1, 5)), self.private)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Coefficients with their intervals, in their units or with `scale="errors"` in those of their errors: see
        `uptack.plot_coefficients`. Returns the axes.
        """
        return plot_coefficients(self, ax=ax, **style)
