"""A fit by bounded sums: from columns to released coefficients with their standard errors, or ⊥."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uptack.account import Outcome
from uptack.labels import label
from uptack.multivariate.entrance import Sized, buy_size, complete_rows, framed
from uptack.multivariate.standardise import Frame
from uptack.multivariate.steps import Sample
from uptack.progress import steps
from uptack.regression.coefficient_summary import LinearErrors, RegressionRelease
from uptack.regression.fit_requests import FitRequest
from uptack.regression.regression_options import coefficient_names
from uptack.regression.solver import Fit, Problem, solve
from uptack.regression.tuning import CENTRES, UNITS
from uptack.release import NoReply, Release
from uptack.table.exact_sum import Floats
from uptack.table.protocol import Column, Columns

HOW = "bounded sums"


def fit(design: Columns, response: Column, request: FitRequest) -> Release[Floats] | NoReply:
    """⊥ by public numbers, before any row is looked at; then the fit."""
    account, width = request.account, len(design)
    if account.adjacency.size_is_public and design.table.size < request.least(width, account):
        return account.close(Outcome.refusal(HOW, request.advice(width)))
    account.begin()
    predictors = (x.clipped() if place in request.binary else x for place, x in enumerate(design))
    rows = complete_rows(Columns([*predictors, response]), request.missing)
    names = (*(request.names or (x.name for x in design)), response.name)
    closed = account.close(_outcome(rows, request, names))
    return closed if isinstance(closed, NoReply) else RegressionRelease.of(closed)


def _outcome(rows: Sample, request: FitRequest, names: Sequence[str]) -> Outcome[Floats]:
    columns = rows.width - 1
    size = buy_size(rows, request.account) if request.counted else Sized(rows.size, True, request.account)
    if size.rows < request.least(columns, size.account):
        return Outcome.refusal(HOW, request.advice(columns))
    known = 2 * rows.size if request.account.adjacency.size_is_public else 0  # ⊥ does not tell a secret number of rows
    frame = _frame(rows, size, request)
    if constant := [label(names[c]) for c in range(rows.width) if c not in frame.kept]:
        other = f"more rows that differ in {', '.join(constant)}"
        return Outcome.refusal(HOW, request.advice(columns, other, known))
    try:
        with steps("fit", 4, inner=True) as show:
            found = solve(Problem(rows, frame, request.intercept, request.loss, float(size.rows), size.account), show)
    except np.linalg.LinAlgError:  # of released numbers, which are no use then
        found = None
    reply = _answer(found, frame, request, size.rows) if found else "columns in other units"
    return Outcome.refusal(HOW, request.advice(columns, reply, known)) if isinstance(reply, str) else reply


def _frame(rows: Sample, size: Sized, request: FitRequest) -> Frame:
    """Units and centres. Without an intercept there are no centres, and a unit is at least as large as its centre."""
    parts, response = (size.account.part(UNITS), size.account.part(CENTRES)), rows.width - 1
    binary = (*request.binary, response) if request.loss.binary else request.binary
    found = framed(rows, size, binary, parts)
    if request.intercept:
        return found
    larger = 2.0 ** np.ceil(np.log2(np.maximum(np.abs(found.centres), 1.0)))
    return Frame(found.kept, found.units * larger, np.zeros_like(found.centres))


def _answer(fit: Fit, frame: Frame, request: FitRequest, rows: int) -> Outcome[Floats] | str:
    """The coefficients in units of their columns; or what a reply would need."""
    if fit.gross[0] > rows / 2:
        return f"fewer gross errors (about {fit.gross[0]:,.0f} rows)"
    if not fit.converged(request.loss):
        return f"a fit that converges (the last step changed predictors by {fit.moved:.2g})"
    if fit.hidden[int(request.intercept) :].all():
        return "columns that vary more, or follow less from each other"
    unit = float(frame.units[-1]) if request.loss.scaled else 1.0
    units = np.append(np.full(int(request.intercept), unit), unit / frame.units[:-1])
    variance = fit.sampling + fit.private + fit.other
    value, errors = fit.beta * units, np.where(fit.hidden, np.inf, np.sqrt(variance) * units)
    if not (np.isfinite(value).all() and errors.all()):
        return "columns in other units"
    shares = np.array([fit.private, fit.unsure**2 / fit.sampling]) / variance
    private, unsure = (tuple(each.tolist()) for each in shares)
    noise = LinearErrors(tuple(errors.tolist()), tuple(np.flatnonzero(fit.hidden).tolist()), request.intercept,
                         request.loss.target, fit.gross, private, unsure, len(value))  # fmt: skip
    usual = coefficient_names(value.size, request.intercept)
    labels = (*usual[: int(request.intercept)], *request.names) if request.names else usual
    return Outcome(value, HOW, noise, notes=(*request.notes, *noise.notes()), labels=labels)
