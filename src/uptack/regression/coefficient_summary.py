"""Coefficients with their standard errors: what a fit by bounded sums says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.columns.table import Floats
from uptack.display.figure_table import STAMP, FigureTable
from uptack.errors import InvalidArgument, NoInterval
from uptack.exact import Rational, read
from uptack.labels import label
from uptack.privacy import Privacy
from uptack.regression import coefficient_table
from uptack.regression.coefficient_errors import times
from uptack.regression.coefficient_plot import plot_coefficients
from uptack.regression.fit_model import Model
from uptack.regression.fit_state import FitState
from uptack.regression.sandwich import SAFE
from uptack.release import Release

PANELS = ", so not if slopes differ between people"
"""What is said of people's rows. Of them it is often not so."""

MEASURED = "standard errors allow for residuals that spread unevenly"

LOST = 0.1
"""A coefficient hangs on lost directions if they make up more than this part of it."""


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


def in_units(fit: FitState, width: int) -> tuple[Floats, Sizes, NDArray[np.bool_]]:
    """Coefficients and the sizes of their errors, in the units of the columns, and which hang on lost directions.

    In the coordinates of z the step's noise has E|g|² = p(p + 1)·scale² in all directions alike. The sampling error of
    a gradient is at most E ψ²·M/n, with `FitState.meat` as M. With k the mean curvature

        V = H⁻¹·(E ψ²·M/n + (p + 1)·scale² + k²·σ²·|Δ|²)·H⁻¹/k².

    The last term is what a last step Δ is off by for the noise σ of H.

    That takes residuals to spread alike for all x; of classes, the model to hold; of a quantile, that it is linear in
    x. Where the variance of gradients was measured, the first term comes from there (`uptack.regression.sandwich`).

    **People.** A person adds the mean g of what her rows would, and n is the number of people. By Jensen's inequality
    ggᵀ ≼ mean of (wz)(wz)ᵀψ² over her rows, whatever they have in common. So the sampling error of a gradient's
    coordinate is still at most E ψ²·M/n, with the mean over a random row of a random person. It is as large as that if
    the rows of one person are copies of each other; else intervals are wider than they need be.

    The ridge leads to b - (H + Q)⁻¹·Q·b in place of b. So it is off by H⁻¹·Q times what it led to, which is added as a
    bias: of nearly collinear columns that is much more than (H + Q)⁻¹·Q times the same.
    """
    model, step, curvature, measured = fit.model, fit.step, fit.curvature, fit.measured
    units, back, kept = _back(model, width)
    lines = back @ model.whitening.T
    turned = lines @ curvature.vectors
    steps = step.bend * curvature.noise * float(np.linalg.norm(step.change))
    private = (model.p + 1) * step.scale**2 + steps**2
    if measured is None:
        filling = curvature.vectors.T @ fit.meat.matrix @ curvature.vectors * model.loss.noise(step.slope) / model.n
        outer = turned / (curvature.values * step.bend)
        sampled, size = np.einsum("ij,jk,ik->i", outer, filling, outer), (outer**2).sum(axis=1)
        doubt = np.zeros_like(size)
    else:
        sampled, doubt, size = measured.variances(lines)
    b = np.linalg.solve(model.whitening.T, step.beta)
    slope = step.bend * curvature.matrix if measured is None else measured.least
    bias = lines @ np.linalg.solve(slope, step.bend * step.ridge @ b)
    part = turned**2
    lost = part[:, curvature.lost].sum(axis=1) > LOST * part.sum(axis=1)
    noisy = private * size
    if model.frame.leading:
        sampled[0], noisy[0] = np.add((sampled[0], noisy[0]), step.raised)
    variance = sampled + SAFE * doubt + noisy + bias**2
    parts = np.array([noisy, doubt]) / np.maximum(variance, 1e-300)  # a dropped column has no variance
    error, (share, unsure) = np.sqrt(variance), np.nan_to_num(parts)
    value = back @ step.beta
    if model.frame.leading:
        value[0] += model.response[1]
    value, error = value * units, error * units
    error[lost] = np.inf
    error[~kept] = np.inf
    return value, Sizes(error, np.clip(share, 0.0, 1.0), unsure), lost & kept


def _back(model: Model, width: int) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The units of the coefficients, the matrix that takes β of standardised columns to coefficients in these, and
    which coefficients there are. Units are powers of two, or beyond floats: squares are taken without them.
    """
    frame, lead, unit = model.frame, int(model.frame.leading), model.response[0]
    units, back, kept = np.full(width - 1 + lead, unit), np.zeros((width - 1 + lead, model.p)), [*range(lead)]
    for i, column in enumerate(model.predictors):
        units[lead + column] = unit / frame.units[i]
        back[lead + column, lead + i] = 1.0
        kept.append(lead + column)
    back[:lead, 0] = 1.0
    back[:lead, lead:] = -frame.centres[: model.p - lead]
    return units, back, np.isin(np.arange(len(units)), kept)


@dataclass(frozen=True)
class LinearErrors:
    """Standard errors of released coefficients: sampling, privacy noise and the ridge's bias together.

    `unresolved` are the coefficients that hang on directions lost in noise, `dropped` the columns without a scale.
    `private` and `unsure` are those of `Sizes`, and noise was drawn for `drawn` coefficients together.
    """

    standard_errors: tuple[float, ...]
    unresolved: tuple[int, ...]
    dropped: tuple[int, ...]
    spread: float | None
    intercept: bool
    assumed: str
    measured: bool = False
    private: tuple[float, ...] = ()
    unsure: tuple[float, ...] = ()
    drawn: int = 1

    @property
    def holds(self) -> str:
        """When they hold."""
        return MEASURED if self.measured else self.assumed

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
        said = [""] * len(self.standard_errors)
        for i in self.unresolved:
            said[i] = "not resolved"
        for i in self.dropped:
            said[i + self.intercept] = "hardly varies"
        return said

    def notes(self, names: Sequence[str] = ()) -> tuple[str, ...]:
        """What a reader should know. Without names columns go by their numbers."""
        said = [self.holds]
        if self.unresolved:
            many = "1 coefficient hangs" if len(self.unresolved) == 1 else f"{len(self.unresolved)} coefficients hang"
            said.append(
                f"{many} on directions of x that noise covers: columns that nearly follow from others, or too few rows"
            )
        if self.dropped:
            which = ", ".join(label(names[c]) if names else str(c) for c in self.dropped)
            one = len(self.dropped) == 1
            said.append(
                f"column {which} hardly ever varies: its coefficient is set to 0"
                if one
                else f"columns {which} hardly ever vary: their coefficients are set to 0"
            )
        return tuple(said)


@dataclass(frozen=True, eq=False, repr=False)
class RegressionRelease(Release[Floats]):
    """Released coefficients that can be summed up in a table."""

    @staticmethod
    def of(release: Release[Floats]) -> RegressionRelease:
        """The same release."""
        return RegressionRelease(**{field.name: getattr(release, field.name) for field in fields(release)})

    def named(self, *names: Any) -> Self:
        """The same release, with names of one's own for its columns, also in what is said of them."""
        found, errors = super().named(*names), self.noise
        if not isinstance(errors, LinearErrors) or len(names) != self.value.size - errors.intercept:
            return found
        said = dict(zip(errors.notes(), errors.notes(names), strict=True))
        return replace(found, notes=tuple(said.get(note, note) for note in found.notes))

    def summary(self, names: Sequence[str] | None = None, *, confidence: Rational = 0.95) -> str:
        """A table of estimates, standard errors, z and intervals.

        `names` are those of the columns of X; a session and a formula know them. The standard errors allow for sampling
        and for privacy noise. z is the estimate over its standard error. It has a normal law but for privacy noise,
        whose tails are longer; intervals are by the law of both together (`uptack.regression.coefficient_errors`).
        """
        errors = self.noise
        if not isinstance(errors, LinearErrors):
            raise NoInterval("this release has no standard errors")
        spread = "" if errors.spread is None else f"spread of residuals {errors.spread:.4g}; "
        panels = PANELS if self._of_people and not errors.measured else ""
        rows = [] if self.rows is None else [str(self.rows)]
        notes = [note + panels if note == errors.holds else note for note in self.notes]
        stamp = [] if self.private else [STAMP]
        return "\n".join([*self.lines(names, confidence=confidence), f"{spread}{self.privacy}", *rows, *notes, *stamp])

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

    @property
    def _of_people(self) -> bool:
        return isinstance(self.privacy, Privacy) and bool(self.privacy.adjacency.person)
