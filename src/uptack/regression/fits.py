"""From the call of a regression by bounded sums to coefficients with their standard errors, or ⊥."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account, Outcome
from uptack.exact import Rational
from uptack.labels import label
from uptack.multivariate.entrance import (
    COUNT,
    MISSING,
    Sized,
    binary_columns,
    buy_size,
    complete_rows,
    estimate_frame,
    read_design,
)
from uptack.multivariate.private_sums import EDGE
from uptack.multivariate.row_sums import Sample
from uptack.multivariate.standardise import Frame
from uptack.privacy import SUBSTITUTE
from uptack.progress import steps
from uptack.regression.coefficients import LinearErrors, RegressionRelease, coefficient_names
from uptack.regression.formulas.formula_designs import FORMULA_DESIGN, DesignColumns, Draft, build_design
from uptack.regression.formulas.grammar import MOST
from uptack.regression.losses import RegressionLoss
from uptack.regression.solver import Fit, FitBudget, FitProblem, solve
from uptack.regression.tuning import AMPLE, UNIT_ROWS, USELESS
from uptack.release import Advice, NoReply, Release
from uptack.statistics.column_options import Promises
from uptack.table.exact_sum import Floats
from uptack.table.protocol import Column, Columns

HOW = "bounded sums"
NOISY = 3
"""Scales of the noise of a number of rows that is bought, which it is below by with a chance of 2.5%."""

LEVELS_SHARE = Fraction(1, 10)
"""The part of ε that finds the levels of categories, where they are not declared."""

WIDEST = 1000
"""Where the number of rows is secret, it can't say before X is made that there are too few of them: X has at most so
many columns of found levels."""

FEW = "declared levels, or more rows in each category"
UNITS = "columns in other units"


FIT: dict[str, Any] = {"reads": FORMULA_DESIGN, "people": True, "data": ("x", "y"), "missing": "drop"}
"""What is declared of every regression by bounded sums."""


class FitOptions(Promises, total=False):
    """Options of a regression by bounded sums.

    - `fit_intercept`: whether there is an intercept (True).
    - `binary`: the predictors that are 0 or 1, by their numbers, or by their names in a frame. They need no private
      unit. Columns of truth values in a frame are known to be.
    - `formula`: response and predictors of a frame, as in "price ~ log(carat) + C(cut)" (`uptack.regression.formulas`).
    - `levels`: the levels of its categories. Where they are not declared, `delta` finds those with enough rows, for a
      tenth of ε.
    - `missing`: "error" (default) tells the curator. With "drop" a row without all its values
      contributes nothing, and the number of complete rows is bought for 2% of ε.
    """

    fit_intercept: bool
    binary: Any
    formula: Any
    levels: Any
    missing: str


@dataclass(frozen=True)
class FitRequest:
    """What is asked of X and y: a loss, what is public of X, how to treat missing values, and what may be spent."""

    loss: RegressionLoss
    design: DesignColumns
    missing: str
    account: Account

    @staticmethod
    def of(loss: RegressionLoss, design: DesignColumns, account: Account, options: Mapping[str, Any]) -> FitRequest:
        """What a call says, with a formula or without."""
        missing = checks.choice("missing", options.get("missing", "error"), MISSING)
        intercept = bool(options.get("fit_intercept", True)) and design.intercept
        return FitRequest(loss, replace(design, intercept=intercept), missing, account)

    @property
    def counted(self) -> bool:
        """Whether the number of complete rows is secret, and has to be bought."""
        return self.missing != "error" or not self.account.adjacency.size_is_public

    def least(self, columns: int, account: Account) -> int:
        """The least n with a fit of so many columns: units are right, and noise covers neither the scatter matrix nor
        the Hessian of a loss whose curvature is small.
        """
        drawn, d, p = columns + (not self.loss.binary) - len(self.design.binary), columns + 2, columns + 1
        budget = self.budget(columns, account)
        units = math.ceil(UNIT_ROWS * (drawn + 2) * account.rows / budget.draw("units").epsilon)
        noise = d**2 * budget.sum("scatter").matrix_noise(d)
        if self.loss.curved:
            noise = max(noise, p**2 * budget.sum("hessian").matrix_noise(p) / self.loss.typical)
        return max(units, math.ceil(EDGE * noise / USELESS))

    def budget(self, columns: int, account: Account) -> FitBudget:
        """What each step of a fit of so many columns may spend."""
        return FitBudget.of(self.loss, columns + self.design.intercept, account)

    def refusal(self, columns: int, other: str = "", size: int = 0) -> Outcome[Any]:
        """⊥ for too few rows, and how many are enough.

        Where n is bought: for what that leaves of ε, with room for its noise. Without δ all that is needed is
        proportional to 1/ε, so for a public `size` the advice names an ε, too.
        """
        account, room = self.account, 0
        if self.counted:
            room = math.ceil(NOISY * account.rows / (account.epsilon * COUNT))
            account = account.allot(account.epsilon * (1 - COUNT), account.delta)
        n = math.ceil(AMPLE * (self.least(columns, account) + room))
        enough = self.account.epsilon * Fraction(n, size) if size and not self.account.delta else None
        epsilon = None if enough is None else math.ceil(1000 * enough) / 1000
        return Outcome.refusal(HOW, Advice(n=n, epsilon=epsilon, other=other, valued=self.missing != "error"))


def regress(
    name: str, loss: RegressionLoss, x: Any, y: Any, epsilon: Rational, options: Mapping[str, Any]
) -> Release[Floats] | NoReply:
    """The fit of a loss, for `FitOptions`.

    **Theorem.** Without categories to be found it is that of `uptack.regression.solver`: ε, or (ε, δ). With some, a
    tenth of ε finds their levels (`Draft.find_levels`): with half of δ where the fit of all other columns uses the
    other half, and else with all of it. Given the levels the fit is (9ε/10, δ/2)-private, or 9ε/10-private. By
    composition the whole is (ε, δ)-private. All of it is written down on one account.
    """
    account = Account.open(
        name,
        epsilon,
        options.get("delta", 0),
        adjacency=options.get("adjacency", SUBSTITUTE),
        rows_per_person=options.get("rows_per_person", 1),
        entropy=options.get("entropy"),
    )
    if isinstance(x, Draft):
        return _fit_with_found_levels(loss, x, account, options)
    public = options.get("formula")
    if public is not None and not isinstance(public, DesignColumns):  # a group, in a session
        x, y, public = build_design(public, x, options.get("levels"), by=True)
    design, response = read_design(x, y)
    public = public or DesignColumns((), binary_columns(options.get("binary"), len(design)), intercept=True)
    return fit(design, response, FitRequest.of(loss, public, account, options))


def _fit_with_found_levels(
    loss: RegressionLoss, draft: Draft, account: Account, options: Mapping[str, Any]
) -> Release[Floats] | NoReply:
    """⊥ by public numbers, before any row is looked at; then the levels, and the fit with these."""
    public, public_size = draft.columns(), account.adjacency.size_is_public
    rest = account.allot(account.epsilon * (1 - LEVELS_SHARE), account.delta / 2)
    request, wide = FitRequest.of(loss, public, rest, options), max(len(public.names), 1)
    if not request.budget(wide, rest).rho:
        rest = account.allot(rest.epsilon)
        request = replace(request, account=rest)
    listing = account.allot(account.epsilon - rest.epsilon, account.delta - rest.delta)
    if public_size and draft.size < request.least(wide, rest):
        return account.close(request.refusal(wide, size=0 if account.delta else draft.size))
    account.begin()
    levels, notes = draft.find_levels(listing)
    if (wide := draft.width(levels)) > MOST:  # before there are names
        return account.close(request.refusal(wide, FEW))
    public = replace(draft.columns(levels), notes=notes)
    request, wide = FitRequest.of(loss, public, rest, options), len(public.names)
    too_wide = draft.size < request.least(wide, rest) if public_size else wide > WIDEST
    if not wide or too_wide:  # before X is made
        return account.close(request.refusal(max(wide, 1), FEW))
    x, y, _ = draft.build(levels)
    return fit(x, y, request)


def fit(design: Columns, response: Column, request: FitRequest) -> Release[Floats] | NoReply:
    """⊥ by public numbers, before any row is looked at; then the fit."""
    account, width = request.account, len(design)
    if account.adjacency.size_is_public and design.table.size < request.least(width, account):
        return account.close(request.refusal(width, size=design.table.size))
    account.begin()
    predictors = (x.clipped() if place in request.design.binary else x for place, x in enumerate(design))
    rows = complete_rows(Columns([*predictors, response]), request.missing, request.loss.binary)
    names = (*(request.design.names or (x.name for x in design)), response.name)
    reply = account.close(_estimate(rows, request, names))
    return reply if isinstance(reply, NoReply) else RegressionRelease.of(reply)


def _estimate(rows: Sample, request: FitRequest, names: Sequence[str]) -> Outcome[Floats]:
    columns, loss = rows.width - 1, request.loss
    size = buy_size(rows, request.account) if request.counted else Sized(rows.size, True, request.account)
    if size.rows < request.least(columns, size.account):
        return request.refusal(columns)
    budget = request.budget(columns, size.account)
    frame = _standardise(rows, size, request, budget)
    if constant := [label(names[c]) for c in range(rows.width) if c not in frame.kept]:
        return Outcome.refusal(HOW, Advice(other=f"more rows that differ in {', '.join(constant)}"))
    problem = FitProblem(rows, frame, request.design.intercept, loss, float(size.rows), budget)
    try:
        with steps("fit", 4, inner=True) as show:
            reply = _coefficients(solve(problem, show), frame, request, size.rows, bool(budget.rho))
    except np.linalg.LinAlgError:  # of released numbers, which are no use then
        reply = Advice(other=UNITS)
    return Outcome.refusal(HOW, reply) if isinstance(reply, Advice) else reply


def _standardise(rows: Sample, size: Sized, request: FitRequest, budget: FitBudget) -> Frame:
    """Units and centres. Without an intercept there are no centres, and a unit is at least as large as its centre."""
    parts = budget.draw("units"), budget.draw("centres")
    response = (rows.width - 1,) if request.loss.binary else ()
    frame = estimate_frame(rows, size, (*request.design.binary, *response), parts)
    if request.design.intercept:
        return frame
    larger = 2.0 ** np.ceil(np.log2(np.maximum(np.abs(frame.centres), 1.0)))
    return Frame(frame.kept, frame.units * larger, np.zeros_like(frame.centres))


def _coefficients(fit: Fit, frame: Frame, request: FitRequest, rows: int, normal: bool) -> Outcome[Floats] | Advice:
    """The coefficients in units of their columns; or why there are none. Noise may be `normal`.

    How many rows would be enough is not known then: where a model fits badly, no number is.
    """
    lead = int(request.design.intercept)
    if fit.gross[0] > rows / 2:
        why = f"about {fit.gross[0]:,.0f} rows are gross errors"
        return Advice(other="rows of which fewer are gross errors, such as codes for missing values", why=why)
    if not fit.converged(request.loss):
        better = "classes that are less separated" if request.loss.binary else "another model"
        why = f"the fit did not converge (its last step changed the linear predictor by {fit.last_step:.2g})"
        return Advice(other=f"more rows, a larger ε, logarithms of skewed columns, or {better}", why=why)
    if fit.hidden[lead:].all():
        other = "more rows, a larger ε, logarithms of skewed columns, or predictors that are less collinear"
        return Advice(other=other, why="noise hides all slopes")
    unit = float(frame.units[-1]) if request.loss.scaled else 1.0
    units = np.append(np.full(lead, unit), unit / frame.units[:-1])
    variance = fit.sampling + fit.private + fit.other
    value, errors = fit.beta * units, np.where(fit.hidden, np.inf, np.sqrt(variance) * units)
    if not (np.isfinite(value).all() and errors.all()):
        return Advice(other=UNITS)
    shares = np.array([fit.private * (not normal), fit.unsure**2 / fit.sampling]) / variance
    private, unsure = (tuple(each.tolist()) for each in shares)
    noise = LinearErrors(tuple(errors.tolist()), tuple(np.flatnonzero(fit.hidden).tolist()), bool(lead),
                         request.loss.target_at(fit.spread * unit), fit.gross, private, unsure, len(value))  # fmt: skip
    usual = coefficient_names(value.size, bool(lead))
    labels = (*usual[:lead], *request.design.names) if request.design.names else usual
    return Outcome(value, HOW, noise, notes=(*request.design.notes, *noise.notes()), labels=labels)
