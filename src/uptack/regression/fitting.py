"""Regressions by bounded sums: one way of fitting for every loss with a bounded score, by a plan."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from uptack.account import Account, Outcome
from uptack.columns.table import Floats
from uptack.multivariate.entrance import (
    Given,
    Sized,
    Streamed,
    framed,
    joined,
    sized,
)
from uptack.multivariate.rows import Rows
from uptack.multivariate.signs import Shape, whitened
from uptack.multivariate.standardise import Frame
from uptack.progress import Step as Show
from uptack.progress import steps
from uptack.regression.arguments import coefficient_names
from uptack.regression.classes import log_odds
from uptack.regression.counts import RATES, STRIDE, Poisson, counted, ends, kneed, level, lowered, shortened
from uptack.regression.curve import stretch
from uptack.regression.curved import curved, held
from uptack.regression.hessian import Hessian, hessian
from uptack.regression.level import raised
from uptack.regression.losses import Loss, Stage
from uptack.regression.model import Model, far_out, start
from uptack.regression.newton import Parts, Step, newton, spread
from uptack.regression.plans import CLOSE, HEAVY, QUIET, RADIUS, ROOM, SLOPE, TAILS, Asked, Plan, hessians
from uptack.regression.sandwich import Sandwich, sandwich, splits
from uptack.regression.summary import LinearErrors, RegressionRelease, in_units
from uptack.regression.tails import farther, widened, worthless
from uptack.release import NoReply, Release

HOW = "bounded sums"
RUNAWAY, GROWN = 0.25, 0.06
"""⊥ for classes where the last step made coefficients longer by the first times the mean curvature, and by the second,
beyond noise. Where a line separates them, coefficients grow with every step, and few rows are left with any curvature.
"""

GENTLE, RARE, LEAST, MOST = 0.5, 0.05, 0.2, 0.8
"""Coordinates need not be rounder than that, since the Hessian does the rest. Where it has no curvatures: so round that
a column that is 0 but in a share of 5% of the rows is left as it is, which in d dimensions shows as 0.05·d; between the
last two."""

ROUND = 2.0**64
"""⊥ where rows are longer or shorter by that than round coordinates have it: the scales were off, which is likely where
columns have very large or small ones and rows are few. Only after the last step, so that it costs what others cost."""

COVERED = 1 / 3
"""⊥ where noise covers more than this part of the directions of (1, x), or where several slopes of a line, and more
than this part of them, are faint: too much of the fit could lie there."""

STRAY = 0.25
"""⊥ where fewer residuals than this share are near, by the number that was released: the last spread is far too small
then, and with it all standard errors. Of a right one no fewer than half are."""

PART = 2 / 3
"""Times as long may a last step be in which noise covers directions, and one deviation of its noise longer, not two."""

EVEN = 1.1
"""Times as long may the last step of a line be if all directions count alike. Rows far out have little weight in H, and
are the ones that tell a faint direction: a step there may be short in H and change what is said of them by spreads."""


def fit(design: Given | Streamed, response: Any, asked: Asked) -> Release[Floats] | NoReply:
    """⊥ by public numbers, before any row is looked at; then the fit."""
    account = asked.account
    if account.adjacency.size_is_public and asked.planned(design.size, design.columns) is None:
        return account.close(Outcome.refusal(HOW, asked.advice(design.columns)))
    account.entropy.bytes(0)  # rehearsals end here
    rows = joined(design, response, asked.binary).rows(asked.missing)
    closed = account.close(_found(rows, asked))
    return closed if isinstance(closed, NoReply) else RegressionRelease.of(closed)


def _found(rows: Rows, asked: Asked) -> Outcome[Floats]:
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
    return found or Outcome.refusal(HOW, asked.advice(columns, 2, "fewer or less correlated columns", known))


def _fitted(rows: Rows, size: Sized, asked: Asked, plan: Plan, show: Show) -> Outcome[Floats] | None:
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
    narrow, loss = model, model.loss
    s, constant, some = spread(rows, model, beta, account.part(plan.spread)), _constant(shape, asked.leading), False
    if plan.lever:
        times = plan.farther(model.p, model.n, account)
        model, some = farther(rows, model, (beta, s), constant, times, account.part(plan.lever))
        plan = replace(plan, room=plan.room * model.radius / narrow.radius)
    show("curvature")
    first = hessian(rows, model, account.part(plan.hessian(shape.rounds)))
    model, step, curvature, settled = _stepped(rows, model, first, (beta, s), (plan, shape.rounds, account), show)
    if not (settled and 1 / ROUND < narrow.radius < ROUND) or (
        plan.worth
        and worthless(rows, narrow, (step.beta, step.spread), constant, account.part(plan.worth))
        and (some or plan.wide < CLOSE)
    ):
        return None
    measured = None
    if plan.variance:
        show("standard errors")
    if loss.counts:
        model, known = ends(rows, model, step, account.part(plan.variance))
        if known.wrong:
            return None
        asked = replace(asked, notes=(*asked.notes, *known.notes()))
    elif plan.variance:
        measured = sandwich(rows, model, first, step, account.part(plan.variance))
        step = measured.remade(step, model, curvature)
    if plan.level:
        levelled = raised(rows, model, step, account.part(plan.level))
        if levelled is None:
            return None
        step = levelled
    meat = first if plan.loss.flat else curvature
    return _answer(model, (curvature, meat), step, rows.width, asked, measured)


def _started(rows: Rows, frame: Frame, shape: Shape, plan: Plan, account: Account) -> tuple[Model, Floats] | None:
    """The model, with the radius of its rows, and where a fit starts; None where it can't."""
    loss = plan.loss
    if loss.response:
        whitening, beta = start(shape)
    else:
        begun = _begun(rows, frame, shape.rows, plan, account)
        if begun is None:
            return None
        whitening, (beta, loss) = shape.coordinates, begun
    radius = plan.wide * far_out(rows, frame, whitening, account.part(plan.small * RADIUS))
    return Model(frame, whitening, radius, shape.rows, loss), beta


def _stepped(
    rows: Rows, model: Model, first: Hessian, at: tuple[Floats, float], by: tuple[Plan, int, Account], show: Show
) -> tuple[Model, Step, Hessian, bool]:
    """All Newton steps, the first one from β at a spread s: the model and the Hessian of the last one, and whether that
    was a polish.
    """
    (beta, s), (plan, rounds, account) = at, by
    curvature, rest, step, before = first, plan.left(rounds), None, 0.0
    for stage in plan.stages:
        show("Newton's steps")
        s = s if step is None else spread(rows, model, beta, account.part(plan.spread))
        if isinstance(model.loss, Poisson):
            model = replace(model, loss=kneed(model.loss, model, first, beta))
        if stage.tails:
            model = _widened(rows, model, (beta, s), plan, account.part(plan.small * TAILS), late=step is not None)
        parts = Parts(account.part(plan.small * SLOPE), account.part(rest * stage.share),
                      account.part(HEAVY * plan.hessian(rounds)) if stage.reweighted else None)  # fmt: skip
        before = 0.0 if step is None else step.noise
        curvature = curved(first, model, beta) if stage.curved else curvature
        step, curvature = newton(rows, model, curvature, (beta, s), stage.sharp, parts)
        beta = _arrived(step, stage, beta, model, (first, curvature))
        step = replace(step, beta=beta)
    assert step is not None
    return model, step, curvature, not _unsettled(step, before, curvature, plan.loss)


def _widened(rows: Rows, model: Model, at: tuple[Floats, float], plan: Plan, account: Account, *, late: bool) -> Model:
    """The model with residuals clipped as their tails say."""
    if isinstance(model.loss, Poisson):
        return counted(rows, model, model.loss, at[0], account)
    louder = plan.room * model.loss.limit / plan.loss.limit
    return widened(rows, model, at, QUIET / louder, account, late=late)


def _constant(shape: Shape, leading: bool) -> float:
    """Where y is, by the scatter matrix of (1, x, y); 0 without an intercept."""
    return float(shape.scatter[-1, 0] / shape.scatter[0, 0]) if leading else 0.0


def _frame(rows: Rows, size: Sized, asked: Asked, plan: Plan) -> Frame:
    """Scales and centres. A class needs none."""
    parts, response = (size.account.part(plan.scales), size.account.part(plan.centres)), rows.width - 1
    if plan.loss.response:
        return framed(rows, size, asked.binary, parts, asked.leading)
    found = framed(rows, size, (*asked.binary, response), parts, asked.leading)
    return Frame(found.kept[:-1], found.units[:-1], found.centres[:-1], found.leading)


def _arrived(step: Step, stage: Stage, before: Floats, model: Model, hessians: tuple[Hessian, Hessian]) -> Floats:
    """Where a step leads to, by what is known of the loss beyond its curvature."""
    first, curvature = hessians
    if model.loss.counts:
        return lowered(step, first, model, before) if stage.stretched else shortened(step, curvature, model)
    if stage.stretched:
        return step.beta * stretch(step.moved, step.noise)
    return held(step, curvature, model, before) if stage.curved and not stage.reweighted else step.beta


def _begun(rows: Rows, frame: Frame, n: float, plan: Plan, account: Account) -> tuple[Floats, Loss] | None:
    """Where a fit of classes or counts starts, an intercept alone, and the loss; None where noise would explain all
    rows of a class, or all counts.
    """
    part, loss, one = account.part(plan.classes), plan.loss, np.eye(frame.width)[0]
    if isinstance(loss, Poisson):
        found = level(rows, n, part)
        if found is None:
            return None
        rate, top = found
        return one * math.log(rate) * frame.leading, replace(loss, limit=top, rate=rate)
    if not frame.leading:
        return np.zeros(frame.width), loss
    odds = log_odds(rows, n, part)
    return None if odds is None else (one * odds, loss)


def _unsettled(step: Step, before: float, curvature: Hessian, loss: Loss) -> bool:
    """Whether the last step was no polish, or noise covers too many directions: a private ⊥, by released numbers.

    A step of classes may also be as long as the noise of the step before, which it repairs. Others go only a part of
    their way in directions that noise covers. So where there are some, a step has to be shorter.
    """
    covered = int(np.count_nonzero(curvature.lost))
    if (
        step.noise > ROOM
        or (loss.counts and (max(step.noise, before) > RATES or step.moved > STRIDE))
        or covered > COVERED * curvature.raw.size
        or (splits(loss) and step.near < STRAY)
        or (not loss.response and not loss.counts and step.longer > max(RUNAWAY * step.slope, GROWN))
    ):
        return True
    if splits(loss):
        faint = int(np.count_nonzero(curvature.faint))
        if step.even > EVEN * loss.polish or (faint > 1 and faint > COVERED * (curvature.raw.size - 1)):
            return True
    if covered and splits(loss):
        return step.moved > PART * loss.polish + step.noise
    return step.moved > loss.polish + 2 * step.noise + (0.0 if loss.response else before)


def _answer(
    model: Model,
    curvatures: tuple[Hessian, Hessian],
    step: Step,
    width: int,
    asked: Asked,
    measured: Sandwich | None,
) -> Outcome[Floats] | None:
    """The coefficients and what is said of them; None where floats don't have them, or their errors."""
    value, sizes, lost = in_units(model, curvatures, step, width, measured)
    if not (np.isfinite(value).all() and sizes.errors.all()):
        return None
    dropped = tuple(c for c in range(width - 1) if c not in model.frame.kept)
    spread = step.spread * model.response[0] if model.loss.response else None
    errors, private, unsure = (tuple(each.tolist()) for each in (sizes.errors, sizes.private, sizes.unsure))
    noise = LinearErrors(errors, tuple(np.flatnonzero(lost).tolist()), dropped, spread, model.frame.leading,
                         model.loss.assumed, measured is not None, private, unsure, model.p)  # fmt: skip
    usual = coefficient_names(value.size, model.frame.leading)
    labels = (*usual[: int(model.frame.leading)], *asked.names) if asked.names else usual
    return Outcome(value, HOW, noise, notes=(*asked.notes, *noise.notes(asked.names)), labels=labels)
