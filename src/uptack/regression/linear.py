"""Linear regression by bounded sums: pure ε, no bounds on the data, for columns of any scale and most correlations."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account, Outcome
from uptack.columns.table import Floats
from uptack.exact import Rational
from uptack.multivariate.bounded import moved
from uptack.multivariate.entrance import (
    MISSING,
    Given,
    Sized,
    Streamed,
    binary_columns,
    framed,
    joined,
    response_of,
    rows_for_scales,
    sized,
    table_of,
)
from uptack.multivariate.rows import Rows
from uptack.multivariate.signs import noise_edge, whitened
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency
from uptack.registry import release
from uptack.registry.reads import STREAMED
from uptack.regression.arguments import coefficient_names
from uptack.regression.newton import Clip, Hessian, Model, Step, far_out, hessian, newton, start
from uptack.regression.summary import LinearErrors, RegressionRelease, in_units
from uptack.release import Advice, NoReply, Release

HOW = "bounded sums"
SCALES, CENTRES, SCATTER = Fraction(8, 100), Fraction(4, 100), Fraction(32, 100)
"""The most that goes into scales and centres of all columns, and into all scatter matrices; the last one is the
Hessian. With more rows than that needs, it is less."""

RADIUS, SPREAD, SLOPE = Fraction(1, 100), Fraction(15, 1000), Fraction(5, 1000)
"""Parts of ε for the radius, and for the spread and the slope of each step. Gradients get the rest."""

STEPS = (Fraction(1, 10), Fraction(2, 10), Fraction(7, 10))
"""Parts of the rest, one per gradient."""

ROUNDS = 3
USELESS, FINE = 0.5, 0.03
"""Fewer rounds where the noise's edge would exceed the first part of the mean eigenvalue, ⊥ where one would; less ε for
scatter matrices where it would be below the second."""

AMPLE = 3
"""Times the rows that scales need, from which on they get less of ε."""

HUBER, LOUD = 1.345, 0.4
"""Clip as wide as leaves the last gradient's noise at so many sampling errors."""

NARROW, WIDE = 0.8, 3.0
ROOM = 0.5
"""⊥ where the last gradient's noise would move predictions by more than this part of a spread."""

GENTLE = 0.2
"""Coordinates need not be rounder than that: the Hessian does the rest."""

COVERED = 1 / 3
"""⊥ where noise covers more than this part of the directions of x: too much of the fit could lie there."""

GRAIN = 1000
"""Parts of ε are multiples of one over this."""


@dataclass(frozen=True)
class Plan:
    """What public numbers say before any row is read: parts of ε, how many rounds, and how wide to clip."""

    scales: Fraction
    scatter: Fraction
    rounds: int
    clip: Clip

    @property
    def centres(self) -> Fraction:
        """The part of ε for centres."""
        return self.scales * CENTRES / SCALES

    def hessian(self, rounds: int) -> Fraction:
        """The part of ε for the Hessian after so many rounds: that of one, and half of what was saved."""
        return self.scatter * (1 + Fraction(self.rounds - rounds, 2))

    def left(self, rounds: int) -> Fraction:
        """The part of ε that gradients get after so many rounds."""
        prepared = self.scales + self.centres + self.scatter * rounds + self.hessian(rounds) + RADIUS
        return 1 - prepared - len(STEPS) * (SPREAD + SLOPE)


def planned(n: float, columns: int, drawn: int, account: Account, leading: bool = True) -> Plan | None:
    """The plan for so many predictors, of which and the response `drawn` need a scale; None where noise is too much."""
    p, m, epsilon = columns + leading, moved(account), float(account.epsilon)
    n = max(n, 1.0)
    scales = _part(AMPLE * rows_for_scales(drawn, account.epsilon, account) / n, SCALES)
    edge = noise_edge(p + 1, n, account, epsilon)
    scatter = _part(edge * (ROUNDS + 1) / FINE, SCATTER)
    rounds = min(int(USELESS * float(scatter) / edge), ROUNDS + 1) - 1
    if rounds < 1 or n < rows_for_scales(drawn, account.epsilon * scales, account):
        return None
    plan = Plan(scales, scatter / (rounds + 1), rounds, Clip(1.0, HUBER))
    last = epsilon * float(plan.left(rounds) * STEPS[-1])
    wide = min(max(math.sqrt(LOUD * math.sqrt(n) * last / (m * p * HUBER)), NARROW), WIDE)
    room = m * HUBER * wide**2 * p**1.5 / (n * last)
    return replace(plan, clip=Clip(wide, HUBER * wide)) if room < ROOM else None


def _part(wanted: float, most: Fraction) -> Fraction:
    """A part of ε, of a quarter of the most up to all of it."""
    return min(max(Fraction(math.ceil(wanted * GRAIN), GRAIN), most / 4), most)


def rows_needed(columns: int, drawn: int, account: Account, leading: bool = True) -> int:
    """The least n with a plan."""
    high = 1
    while planned(high, columns, drawn, account, leading) is None:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if planned(middle, columns, drawn, account, leading) else (middle, high)
    return high


@release(
    reads=STREAMED,
    people=True,
    data=("x", "y"),
    missing="ignore",
    also="regression",
    examples=({}, {"fit_intercept": False}),
)
def linear_regression(
    x: Any,
    y: Any,
    *,
    epsilon: Rational,
    fit_intercept: bool = True,
    binary: Any = None,
    standard_errors: bool = True,
    missing: str = "error",
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[Floats] | NoReply:
    """Coefficients of a linear regression, intercept first, with no bounds on the data: ε-differentially private.

    **Theorem.** Every step sums contributions of rows that are bounded by construction, or draws by inverse
    sensitivity, and is private for its part of ε whatever the rows: see `uptack.regression.newton`. The parts add up to
    at most ε on every path.

    It is a fit of Huber's loss in which rows far out in x count less (Mallows' weights). Columns may be of any scale
    and correlated. A column that hardly ever varies has a coefficient of 0 and no standard error; declare columns that
    are 0 or 1 by their numbers in `binary`, and they need no private scale.

    `result.interval()` is an interval for the population's coefficients: sampling, privacy noise and the bias of a
    small ridge. It is infinite for a coefficient that hangs on directions of x that noise covers. `result.summary()`
    shows all of it. (`standard_errors` is there for callers of the short cut: a fit has them anyway.)

    `missing` is "error" (default) or "drop" ("ignore" is the same): a row without all its values contributes nothing.
    With `person=` a person adds the mean of what her rows would to every sum, so the fit is that of a random row of a
    random person, and one person moves it as one row does (`uptack.multivariate.people`). Standard errors hold however
    the rows of one person hang together. Numbers of rows in what is said here are numbers of people.

    ⊥ by public numbers costs nothing, where the number of rows is public. ⊥ is also the answer, at the price of what
    was done, where the last step was too long to be a polish, or noise covers a third of the directions of x.

    >>> from uptack.noise import SeededEntropy
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(20_000, 2)) * [1, 1000] + [0, 5000]
    >>> y = 3 + x @ [1.0, -0.002] + rng.normal(size=20_000)
    >>> found = linear_regression(x, y, epsilon=1, entropy=SeededEntropy(1))
    >>> bool(np.abs((found.value - [3, 1, -0.002]) * [0.1, 1, 1000]).max() < 0.1), found.privacy
    (True, Privacy(epsilon=1.0))
    """
    how = checks.choice("missing", missing, MISSING)
    account = Account.open(
        "linear regression", epsilon, adjacency=adjacency, rows_per_person=rows_per_person, entropy=entropy
    )
    design = table_of("X", x)
    zeros = binary_columns(binary, design.columns)
    return _closed(design, response_of(y, design), _Asked(zeros, bool(fit_intercept), how, account))


@dataclass(frozen=True)
class _Asked:
    """What is asked of X and y."""

    binary: tuple[int, ...]
    leading: bool
    missing: str
    account: Account

    def planned(self, n: float, columns: int, account: Account) -> Plan | None:
        return planned(n, columns, columns + 1 - len(self.binary), account, self.leading)

    def advice(self, columns: int, times: int = 1, other: str = "") -> Advice:
        drawn = columns + 1 - len(self.binary)
        return Advice(n=times * rows_needed(columns, drawn, self.account, self.leading), other=other)


def _closed(design: Given | Streamed, response: Any, asked: _Asked) -> Release[Floats] | NoReply:
    """⊥ by public numbers, before any row is looked at; then the fit."""
    account = asked.account
    if account.adjacency.size_is_public and asked.planned(design.size, design.columns, account) is None:
        return account.close(Outcome.refusal(HOW, asked.advice(design.columns)))
    account.entropy.bytes(0)  # rehearsals end here
    rows = joined(design, response, asked.binary).rows(asked.missing)
    closed = account.close(_found(rows, asked))
    return closed if isinstance(closed, NoReply) else RegressionRelease.of(closed)


def _found(rows: Rows, asked: _Asked) -> Outcome[Floats]:
    columns, size = rows.width - 1, sized(rows, asked.missing, asked.account)
    plan = asked.planned(size.rows, columns, size.account)
    if plan is None:
        return Outcome.refusal(HOW, asked.advice(columns))
    try:
        found = _fitted(rows, size, asked, plan)
    except np.linalg.LinAlgError:  # of released numbers, which are no use then
        found = None
    return found or Outcome.refusal(HOW, asked.advice(columns, 2, "fewer or less correlated columns"))


def _fitted(rows: Rows, size: Sized, asked: _Asked, plan: Plan) -> Outcome[Floats] | None:
    """All steps one after the other; None where they say that the fit can't be stood behind."""
    account, response = size.account, rows.width - 1
    frame = framed(rows, size, asked.binary, (account.part(plan.scales), account.part(plan.centres)), asked.leading)
    if response not in frame.kept or len(frame.kept) < 2:
        return None
    shape = whitened(rows, frame, size.n, plan.rounds, account.part(plan.scatter * plan.rounds), gentle=GENTLE)
    if not size.exact and asked.planned(shape.rows, response, account) is None:
        return None
    whitening, beta = start(shape)
    radius = plan.clip.radius * far_out(rows, frame, whitening, account.part(RADIUS))
    model = Model(frame, whitening, radius, shape.rows)
    curvature = hessian(rows, model, account.part(plan.hessian(shape.rounds)))
    rest = plan.left(shape.rounds)
    step = None
    for share in STEPS:
        parts = account.part(SPREAD), account.part(SLOPE), account.part(rest * share)
        step = newton(rows, model, curvature, beta, plan.clip.residual, parts)
        beta = step.beta
    assert step is not None
    return None if _unsettled(step, curvature) else _answer(model, curvature, step, plan, rows.width)


def _unsettled(step: Step, curvature: Hessian) -> bool:
    """Whether the last step was no polish, or noise covers too many directions: a private ⊥, by released numbers."""
    covered = int(np.count_nonzero(curvature.raw < curvature.edge))
    return step.noise > ROOM or step.moved > ROOM + 2 * step.noise or covered > COVERED * curvature.raw.size


def _answer(model: Model, curvature: Hessian, step: Step, plan: Plan, width: int) -> Outcome[Floats]:
    value, errors, lost = in_units(model, curvature, step, plan.clip.residual, width)
    dropped = tuple(c for c in range(width - 1) if c not in model.frame.kept)
    noise = LinearErrors(tuple(errors.tolist()), tuple(np.flatnonzero(lost).tolist()), dropped,
                         step.spread * float(model.frame.units[-1]), model.frame.leading)  # fmt: skip
    return Outcome(value, HOW, noise, notes=noise.notes(), labels=coefficient_names(value.size, model.frame.leading))
