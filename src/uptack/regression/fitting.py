"""Regressions by bounded sums: one plan and one way of fitting for every loss with a bounded score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account, Outcome
from uptack.columns.table import Floats
from uptack.multivariate.bounded import LENGTH, moved
from uptack.multivariate.entrance import (
    MISSING,
    Given,
    Sized,
    Streamed,
    binary_columns,
    framed,
    joined,
    rows_for_scales,
    sized,
)
from uptack.multivariate.rows import Rows
from uptack.multivariate.signs import Shape, noise_edge, whitened
from uptack.multivariate.standardise import Frame
from uptack.multivariate.terms import Vectors
from uptack.progress import Step as Show
from uptack.progress import steps
from uptack.regression.arguments import coefficient_names
from uptack.regression.formulas import Columns
from uptack.regression.losses import Loss, stretch
from uptack.regression.newton import (
    Hessian,
    Model,
    Parts,
    Step,
    far_out,
    hessian,
    newton,
    noisy_mean,
    spread,
    start,
)
from uptack.regression.sandwich import COVERS, Sandwich, enough, expected, sandwich, splits, tries
from uptack.regression.summary import LinearErrors, RegressionRelease, in_units
from uptack.regression.tails import widened, worthless
from uptack.release import Advice, NoReply, Release

HOW = "bounded sums"
SCALES, CENTRES, SCATTER = Fraction(8, 100), Fraction(4, 100), Fraction(32, 100)
"""The most that goes into scales and centres of all columns, and into all scatter matrices and Hessians. With more rows
than that needs, it is less."""

RADIUS, SPREAD, SLOPE, CLASS = Fraction(1, 100), Fraction(15, 1000), Fraction(5, 1000), Fraction(2, 100)
TAILS = Fraction(2, 100)
"""Parts of ε for the radius, for the spread and the slope of each step, for how many rows are of the second class, and
for the tails of residuals. Gradients get the rest."""

MANY = 20_000
"""Where n·ε is larger, these parts fall with it, down to a quarter: they find a share of the rows, or a quantile. Not
so of a loss with curvatures, whose steps hang on them."""

ROUNDS = 3
USELESS, FINE = 0.5, 0.03
"""Fewer rounds where the noise's edge would exceed the first part of the mean eigenvalue, ⊥ where one would; less ε for
scatter matrices where it would be below the second."""

HEAVY, FINER, MORE = Fraction(3, 2), 0.2, Fraction(8, 100)
"""A Hessian with curvatures gets so many times the part of another one, since it is smaller, and all matrices of a loss
that has some are to be finer by this, for at most so much more."""

AMPLE = 2
"""Times the rows that scales need, from which on they get less of ε."""

RUNAWAY = 0.25
"""⊥ for classes where the last step made coefficients longer by this times the mean curvature, beyond noise. Where a
line separates them, coefficients grow with every step, and few rows are left with any curvature."""

DROWNED = 0.5
"""⊥ where the noise's edge would exceed this part of a Hessian whose curvatures a fit can't do without."""

ROOM, QUIET = 0.5, 0.03
"""⊥ where the last gradient's noise would move predictions by more than this part of a spread. With a long tail,
residuals are clipped as wide as leaves it at the second."""

FIRM, WORTH, CLOSE = 500.0, Fraction(8, 100), 0.8
"""Where R is below the last of these times the quantile of |z|, noise leaves little weight to rows far out: then ⊥ if
the fit may be worse than a constant for them. The test gets the first over n, and up to the second part of ε."""

GENTLE, RARE, LEAST, MOST = 0.5, 0.05, 0.2, 0.8
"""Coordinates need not be rounder than that, since the Hessian does the rest. Where it has no curvatures: so round that
a column that is 0 but in a share of 5% of the rows is left as it is, which in d dimensions shows as 0.05·d; between the
last two."""

COVERED = 1 / 3
"""⊥ where noise covers more than this part of the directions of x: too much of the fit could lie there."""

GRAIN = 1000
"""Parts of ε are multiples of one over this."""


@dataclass(frozen=True)
class Asked:
    """What is asked of X and y: a loss, which columns are 0 or 1, whether there is an intercept."""

    loss: Loss
    binary: tuple[int, ...]
    leading: bool
    missing: str
    account: Account
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(loss: Loss, design: Given | Streamed, account: Account, given: Mapping[str, Any]) -> Asked:
        """What a call says, with a formula or without."""
        if isinstance(given["formula"], Columns):
            return Asked.told(loss, given["formula"], account, given)
        missing, leading = checks.choice("missing", given["missing"], MISSING), bool(given["fit_intercept"])
        return Asked(loss, binary_columns(given["binary"], design.columns), leading, missing, account)

    @staticmethod
    def told(loss: Loss, public: Columns, account: Account, given: Mapping[str, Any]) -> Asked:
        """What a call with a formula says."""
        missing, leading = checks.choice("missing", given["missing"], MISSING), bool(given["fit_intercept"])
        words = (public.names, public.notes)
        return Asked(loss, public.binary, leading and public.intercept, missing, account, *words)

    def planned(self, n: float, columns: int, account: Account | None = None) -> Plan | None:
        """The plan for so many rows and predictors; None where noise is too much."""
        drawn = columns + self.loss.response - len(self.binary)
        return planned(n, columns, drawn, account or self.account, self.leading, self.loss)

    def rows_needed(self, columns: int) -> int:
        """The least n with a plan."""
        high = 1
        while self.planned(high, columns) is None:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.planned(middle, columns) else (middle, high)
        return high

    def advice(self, columns: int, times: int = 1, other: str = "") -> Advice:
        """What would get a reply."""
        return Advice(n=times * self.rows_needed(columns), other=other)


@dataclass(frozen=True)
class Plan:
    """What public numbers say before any row is read: parts of ε, how many rounds, and how wide to clip."""

    scales: Fraction
    scatter: Fraction
    rounds: int
    loss: Loss
    wide: float = 1.0
    leading: bool = True
    room: float = ROOM
    small: Fraction = Fraction(1)
    worth: Fraction = Fraction(0)
    variance: Fraction = Fraction(0)

    @property
    def centres(self) -> Fraction:
        """The part of ε for centres."""
        return min(self.scales * 3 / 4, CENTRES)

    @property
    def classes(self) -> Fraction:
        """The part of ε for the number of rows of the second class, which the intercept starts from."""
        return self.small * CLASS if self.leading and not self.loss.response else Fraction(0)

    def hessian(self, rounds: int) -> Fraction:
        """The part of ε for a Hessian after so many rounds: that of one, and half of what was saved."""
        return self.scatter * (1 + (self.rounds - rounds) / (2 * hessians(self.loss)))

    @property
    def spread(self) -> Fraction:
        """The part of ε for each spread of residuals."""
        return self.small * SPREAD if self.loss.response else Fraction(0)

    def left(self, rounds: int) -> Fraction:
        """The part of ε that gradients get after so many rounds."""
        prepared = self.scales + self.centres + self.scatter * rounds + self.small * RADIUS + self.classes
        steps = sum(self.spread + self.small * (SLOPE + TAILS * stage.tails) for stage in self.loss.stages)
        return 1 - prepared - hessians(self.loss) * self.hessian(rounds) - steps - self.worth - self.variance

    def last(self, epsilon: float) -> float:
        """The ε of the last gradient, after all rounds."""
        return epsilon * float(self.left(self.rounds) * self.loss.stages[-1].share)


def hessians(loss: Loss) -> Fraction:
    """How many parts Hessians get: one without curvatures first, and those with some."""
    return Fraction(1) + HEAVY * sum(stage.reweighted for stage in loss.stages)


def planned(n: float, columns: int, drawn: int, account: Account, leading: bool, loss: Loss) -> Plan | None:
    """The plan for so many predictors, of which and the response `drawn` need a scale; None where noise is too much."""
    p, epsilon, n = columns + leading, float(account.epsilon), max(n, 1.0)
    scales = _part(AMPLE * rows_for_scales(drawn, account.epsilon, account) / n, SCALES)
    edge, more = noise_edge(p + loss.response, n, account, epsilon), hessians(loss)
    fine, most = (FINE, SCATTER) if more == 1 else (FINE * FINER, SCATTER + MORE)
    scatter = _part(edge * float(ROUNDS + more) / fine, most)
    rounds = min(int(USELESS * float(scatter) / edge - float(more)), ROUNDS)
    if rounds < 1 or n < rows_for_scales(drawn, account.epsilon * scales, account):
        return None
    small = _part(MANY * account.rows / (n * epsilon), Fraction(1)) if more == 1 else Fraction(1)
    for tried in range(rounds, 0, -1):  # with fewer of them each matrix gets more
        plan = Plan(scales, scatter / (tried + more), tried, loss, leading=leading, small=small)
        if any(stage.tails for stage in loss.stages) and _wide(plan, p, n, account)[1] < CLOSE:
            plan = replace(plan, worth=_part(FIRM * account.rows / (n * epsilon), WORTH, Fraction(0)))
        if (bare := _clipped(plan, p, n, account)) is not None:
            return (_with_variance(plan, p, n, account) if splits(loss) else None) or bare
    return None


def _wide(plan: Plan, p: int, n: float, account: Account, louder: float = 1.0) -> tuple[Loss, float]:
    """How wide residuals and rows are clipped for the noise of the last gradient, or for a louder one."""
    return plan.loss.clipped(louder * moved(account) * p / (math.sqrt(n) * plan.last(float(account.epsilon))))


def _clipped(plan: Plan, p: int, n: float, account: Account, louder: float = 1.0) -> Plan | None:
    """The plan with rows clipped as wide as the last gradient's noise allows, or less; None where it is too much."""
    loss, m, epsilon = plan.loss, moved(account), float(account.epsilon)
    last, (clipped, wide) = plan.last(epsilon), _wide(plan, p, n, account, louder)
    room = m * clipped.limit * wide * p**1.5 / (n * last * loss.expected[0])
    bent = noise_edge(p, n, account, epsilon * float(HEAVY * plan.scatter)) * max(wide, 1.0) ** 2 / loss.bent
    return replace(plan, loss=clipped, wide=wide, room=room) if room < ROOM and bent < DROWNED else None


def _with_variance(plan: Plan, p: int, n: float, account: Account) -> Plan | None:
    """The plan with a part of ε for the variance of gradients, as little as does; None where noise would cover it.

    Its noise grows with the fourth power of how wide rows are clipped, so they may be clipped less wide for it.
    """
    tried = tries(plan.left(plan.rounds))
    for part, louder in tried:
        found = _clipped(replace(plan, variance=part), p, n, account, louder)
        off = expected(p, n, account, part, (found.loss.limit, found.wide)) if found else math.inf
        if found is None or enough(off, found.wide, part == tried[-1][0]):
            break
    return found if off < COVERS else None


def _part(wanted: float, most: Fraction, least: Fraction = Fraction(1, 4)) -> Fraction:
    """A part of ε, of a quarter of the most up to all of it."""
    return min(max(Fraction(math.ceil(wanted * GRAIN), GRAIN), most * least), most)


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
    return found or Outcome.refusal(HOW, asked.advice(columns, 2, "fewer or less correlated columns"))


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
    if plan.loss.response:
        whitening, beta = start(shape)
    else:
        whitening, beta = shape.coordinates, _even(rows, frame, shape.rows, account.part(plan.classes))
    show("radius")
    radius = plan.wide * far_out(rows, frame, whitening, account.part(plan.small * RADIUS))
    model = Model(frame, whitening, radius, shape.rows, plan.loss)
    show("curvature")
    first = curvature = hessian(rows, model, account.part(plan.hessian(shape.rounds)))
    rest, step, before = plan.left(shape.rounds), None, 0.0
    for stage in plan.loss.stages:
        show("Newton's steps")
        s = spread(rows, model, beta, account.part(plan.spread))
        if stage.tails:
            model = widened(rows, model, beta, s, QUIET / plan.room, account.part(plan.small * TAILS))
        parts = Parts(account.part(plan.small * SLOPE), account.part(rest * stage.share),
                      account.part(HEAVY * plan.hessian(shape.rounds)) if stage.reweighted else None)  # fmt: skip
        before = 0.0 if step is None else step.noise
        step, curvature = newton(rows, model, curvature, (beta, s), stage.sharp, parts)
        beta = step.beta * (stretch(step.moved, step.noise) if stage.stretched else 1.0)
    assert step is not None
    if _unsettled(step, before, curvature, plan.loss) or (
        plan.worth
        and worthless(rows, model, (beta, step.spread), _constant(shape, asked.leading), account.part(plan.worth))
    ):
        return None
    measured = None
    if plan.variance:
        show("standard errors")
        measured = sandwich(rows, model, first, step, account.part(plan.variance))
        step = measured.remade(step, model, curvature)
    meat = first if plan.loss.flat else curvature
    return _answer(model, (curvature, meat), step, rows.width, asked, measured)


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


def _even(rows: Rows, frame: Frame, n: float, account: Account) -> Floats:
    """Where a fit of classes starts: the intercept that gives every row the share of the second class."""
    beta = np.zeros(frame.width)
    if frame.leading:
        (total,) = rows.sums(lambda batch: [Vectors(np.rint(np.clip(batch[-1], 0.0, 1.0) * LENGTH))])
        least = 2 * account.rows / (float(account.epsilon) * n)
        share = min(max(noisy_mean(total, n, account), min(least, 0.5)), max(1 - least, 0.5))
        beta[0] = math.log(share / (1 - share))
    return beta


def _unsettled(step: Step, before: float, curvature: Hessian, loss: Loss) -> bool:
    """Whether the last step was no polish, or noise covers too many directions: a private ⊥, by released numbers.

    A step of classes may also be as long as the noise of the step before, which it repairs.
    """
    covered = int(np.count_nonzero(curvature.lost))
    if (
        step.noise > ROOM
        or covered > COVERED * curvature.raw.size
        or (not loss.response and step.longer > RUNAWAY * step.slope)
    ):
        return True
    return step.moved > loss.polish + 2 * step.noise + (0.0 if loss.response else before)


def _answer(
    model: Model,
    curvatures: tuple[Hessian, Hessian],
    step: Step,
    width: int,
    asked: Asked,
    measured: Sandwich | None,
) -> Outcome[Floats]:
    value, errors, lost = in_units(model, curvatures, step, width, measured)
    dropped = tuple(c for c in range(width - 1) if c not in model.frame.kept)
    spread = step.spread * model.response[0] if model.loss.response else None
    noise = LinearErrors(tuple(errors.tolist()), tuple(np.flatnonzero(lost).tolist()), dropped, spread,
                         model.frame.leading, model.loss.assumed, measured is not None)  # fmt: skip
    usual = coefficient_names(value.size, model.frame.leading)
    labels = (*usual[: int(model.frame.leading)], *asked.names) if asked.names else usual
    return Outcome(value, HOW, noise, notes=(*asked.notes, *noise.notes(asked.names)), labels=labels)
