"""Regressions by bounded sums: one way of fitting for every loss with a bounded score, by a plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from uptack.account import Account, Outcome
from uptack.multivariate.entrance import Sized, complete_rows, framed, sized
from uptack.multivariate.signs import Shape, whitened
from uptack.multivariate.standardise import Frame
from uptack.multivariate.steps import Sample
from uptack.progress import Step as Show
from uptack.progress import steps
from uptack.regression.coefficient_summary import LinearErrors, RegressionRelease, in_units
from uptack.regression.curvature import curved_hessian
from uptack.regression.fit_model import Model, far_out
from uptack.regression.fit_plans import CLOSE, HEAVY, QUIET, RADIUS, SLOPE, TAILS, FitPlan, FitRequest, hessians
from uptack.regression.fit_state import FitState
from uptack.regression.hessian import COVERED, Hessian, hessian
from uptack.regression.intercept_level import raise_intercept
from uptack.regression.losses import ROOM, RegressionLoss
from uptack.regression.newton_steps import NewtonStep, StepAccounts, newton, spread
from uptack.regression.regression_options import coefficient_names
from uptack.regression.residual_tails import farther, worthless
from uptack.release import NoReply, Release
from uptack.table.exact_sum import Floats
from uptack.table.protocol import Column, Columns

HOW = "bounded sums"
GENTLE, RARE, LEAST, MOST = 0.5, 0.05, 0.2, 0.8
"""Coordinates need not be rounder than that, since the Hessian does the rest. Where it has no curvatures: so round that
a column that is 0 but in a share of 5% of the rows is left as it is, which in d dimensions shows as 0.05·d; between the
last two."""

ROUND = 2.0**64
"""⊥ where rows are longer or shorter by that than round coordinates have it: the scales were off, which is likely where
columns have very large or small ones and rows are few. Only after the last step, so that it costs what others cost."""


def fit(design: Columns, response: Column, asked: FitRequest) -> Release[Floats] | NoReply:
    """⊥ by public numbers, before any row is looked at; then the fit."""
    account, width = asked.account, len(design)
    if account.adjacency.size_is_public and asked.planned(design.table.size, width) is None:
        return account.close(Outcome.refusal(HOW, asked.advice(width)))
    account.begin()
    predictors = (x.clipped() if place in asked.binary else x for place, x in enumerate(design))
    rows = complete_rows(Columns([*predictors, response]), asked.missing)
    closed = account.close(_found(rows, asked))
    return closed if isinstance(closed, NoReply) else RegressionRelease.of(closed)


def _found(rows: Sample, asked: FitRequest) -> Outcome[Floats]:
    columns, size = rows.width - 1, sized(rows, asked.missing, asked.account)
    plan = asked.planned(size.rows, columns, size.account)
    if plan is None:
        return Outcome.refusal(HOW, asked.advice(columns))
    try:
        with steps("fit", 4 + len(plan.loss.stages) + bool(plan.variance), inner=True) as show:
            found = _fitted(rows, size, asked, plan, show)
    except np.linalg.LinAlgError:  # of released numbers, which are no use then
        found = None
    known = size.rows if asked.account.adjacency.size_is_public else 0  # ⊥ says nothing about the data
    other = "fewer or less correlated columns" if columns > 1 else ""
    return found or Outcome.refusal(HOW, asked.advice(columns, 2, other, known))


def _fitted(rows: Sample, size: Sized, asked: FitRequest, plan: FitPlan, show: Show) -> Outcome[Floats] | None:
    """All steps one after the other; None where they say that the fit can't be stood behind."""
    account, response = size.account, rows.width - 1
    show("scales and centres")
    frame = _frame(rows, size, asked, plan)
    if (plan.loss.response and response not in frame.kept) or len(frame.kept) < 1 + plan.loss.response:
        return None
    show("scatter matrix")
    gentle = min(max(RARE * frame.width, LEAST), MOST) if hessians(plan.loss) == 1 else GENTLE
    shape = whitened(rows, frame, size.n, plan.rounds, account.part(plan.scatter * plan.rounds), gentle=gentle)
    if not size.exact and asked.planned(shape.rows, response, account) is None:
        return None
    show("radius")
    started = _started(rows, frame, shape, plan, account)
    if started is None:
        return None
    model, beta = started
    narrow = model
    s, constant, some = spread(rows, model, beta, account.part(plan.spread)), _constant(shape, asked.leading), False
    if plan.lever:
        times = plan.farther(model.p, model.n, account)
        model, some = farther(rows, model, (beta, s), constant, times, account.part(plan.lever))
        plan = replace(plan, room=plan.room * model.radius / narrow.radius)
    show("curvature")
    first = hessian(rows, model, account.part(plan.hessian(shape.rounds)))
    found = _stepped(rows, model, first, (beta, s), (plan, shape.rounds, account), show)
    if found is None or not 1 / ROUND < narrow.radius < ROUND:
        return None
    end = found.step.beta, found.step.spread
    if plan.worth and worthless(rows, narrow, end, constant, account.part(plan.worth)) and (some or plan.wide < CLOSE):
        return None
    found = _ended(rows, found, plan, account, show)
    return None if found is None else _answer(found, rows.width, asked)


def _started(rows: Sample, frame: Frame, shape: Shape, plan: FitPlan, account: Account) -> tuple[Model, Floats] | None:
    """The model, with the radius of its rows, and where a fit starts; None where it can't."""
    begun = plan.loss.begun(rows, frame, shape, account.part(plan.classes))
    if begun is None:
        return None
    loss, whitening, beta = begun
    radius = plan.wide * far_out(rows, frame, whitening, account.part(plan.small * RADIUS))
    return Model(frame, whitening, radius, shape.rows, loss), beta


def _stepped(
    rows: Sample, model: Model, first: Hessian, at: tuple[Floats, float], by: tuple[FitPlan, int, Account], show: Show
) -> FitState | None:
    """All Newton steps, the first one from β at a spread s; None where the last one was no polish."""
    (beta, s), (plan, rounds, account) = at, by
    curvature, rest, step, before = first, plan.left(rounds), None, 0.0
    for stage in plan.stages:
        show("Newton's steps")
        s = s if step is None else spread(rows, model, beta, account.part(plan.spread))
        model = replace(model, loss=model.loss.known(model, first, beta))
        if stage.tails:
            times = QUIET / (plan.room * model.loss.limit / plan.loss.limit)
            part, late = account.part(plan.small * TAILS), step is not None
            model = replace(model, loss=model.loss.widened(rows, model, (beta, s), times, part, late=late))
        parts = StepAccounts(account.part(plan.small * SLOPE), account.part(rest * stage.share),
                      account.part(HEAVY * plan.hessian(rounds)) if stage.reweighted else None)  # fmt: skip
        before = 0.0 if step is None else step.noise
        curvature = curved_hessian(first, model, beta) if stage.curved else curvature
        step, curvature = newton(rows, model, curvature, (beta, s), stage.sharp, parts)
        beta = stage.leads(FitState(model, step, first, curvature), beta) if stage.leads else step.beta
        step = replace(step, beta=beta)
    assert step is not None
    return None if _unsettled(step, before, curvature, plan.loss) else FitState(model, step, first, curvature)


def _ended(rows: Sample, found: FitState, plan: FitPlan, account: Account, show: Show) -> FitState | None:
    """The fit with what is known at its end, and where that is asked for at its level; None where it is wrong."""
    if plan.variance:
        show("standard errors")
        known = found.model.loss.ended(rows, found, account.part(plan.variance))
        if known is None:
            return None
        found = known
    if plan.level:
        step = raise_intercept(rows, found.model, found.step, account.part(plan.level))
        return None if step is None else replace(found, step=step)
    return found


def _constant(shape: Shape, leading: bool) -> float:
    """Where y is, by the scatter matrix of (1, x, y); 0 without an intercept."""
    return float(shape.scatter[-1, 0] / shape.scatter[0, 0]) if leading else 0.0


def _frame(rows: Sample, size: Sized, asked: FitRequest, plan: FitPlan) -> Frame:
    """Scales and centres. A class needs none."""
    parts, response = (size.account.part(plan.scales), size.account.part(plan.centres)), rows.width - 1
    if plan.loss.response:
        return framed(rows, size, asked.binary, parts, asked.leading)
    found = framed(rows, size, (*asked.binary, response), parts, asked.leading)
    return Frame(found.kept[:-1], found.units[:-1], found.centres[:-1], found.leading)


def _unsettled(step: NewtonStep, before: float, curvature: Hessian, loss: RegressionLoss) -> bool:
    """Whether the last step was no polish, or noise covers too many directions: a private ⊥, by released numbers.

    Where y has no scale, a step may also be as long as the noise of the step before, which it repairs.
    """
    return (
        step.noise > ROOM
        or int(np.count_nonzero(curvature.lost)) > COVERED * curvature.raw.size
        or loss.astray(step, before, curvature)
        or step.moved > loss.polish + 2 * step.noise + (0.0 if loss.response else before)
    )


def _answer(fit: FitState, width: int, asked: FitRequest) -> Outcome[Floats] | None:
    """The coefficients and what is said of them; None where floats don't have them, or their errors."""
    model, (value, sizes, lost) = fit.model, in_units(fit, width)
    if not (np.isfinite(value).all() and sizes.errors.all()):
        return None
    dropped = tuple(c for c in range(width - 1) if c not in model.frame.kept)
    spread = fit.step.spread * model.response[0] if model.loss.response else None
    errors, private, unsure = (tuple(each.tolist()) for each in (sizes.errors, sizes.private, sizes.unsure))
    noise = LinearErrors(errors, tuple(np.flatnonzero(lost).tolist()), dropped, spread, model.frame.leading,
                         model.loss.assumed, fit.measured is not None, private, unsure, model.p)  # fmt: skip
    usual = coefficient_names(value.size, model.frame.leading)
    labels = (*usual[: int(model.frame.leading)], *asked.names) if asked.names else usual
    return Outcome(value, HOW, noise, notes=(*asked.notes, *fit.notes, *noise.notes(asked.names)), labels=labels)
