"""Linear regression by bounded sums: pure ε, no bounds on the data, for columns of any scale and most correlations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account, Outcome
from uptack.columns import column
from uptack.columns.fields import Field
from uptack.columns.table import Floats
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms.matrix_laplace import EDGE
from uptack.multivariate.bounded import moved
from uptack.multivariate.entrance import (
    MISSING,
    Sized,
    binary_columns,
    framed,
    rows_for_scales,
    rows_of,
    sized,
    table_of,
)
from uptack.multivariate.rows import MatrixRows
from uptack.multivariate.signs import whitened
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency
from uptack.registry import release
from uptack.registry.reads import DESIGN
from uptack.regression.newton import Clip, Hessian, Model, Step, far_out, hessian, newton, start
from uptack.regression.summary import LinearErrors, RegressionRelease, in_units
from uptack.release import Advice, NoReply, Release

HOW = "bounded sums"
SCALES, CENTRES, SCATTER = Fraction(6, 100), Fraction(6, 100), Fraction(32, 100)
RADIUS, SPREAD, SLOPE = Fraction(1, 100), Fraction(2, 100), Fraction(1, 100)
"""Parts of ε: scales and centres of all columns, all scatter matrices together (the last one is the Hessian), the
radius, and for each step its spread and its slope. Gradients get the rest."""

STEPS = (Fraction(4, 10), Fraction(6, 10))
"""Parts of the rest, one per gradient."""

ROUNDS = 3
USELESS = 0.5
"""Fewer rounds where the noise's edge would exceed this part of the mean eigenvalue; ⊥ where one would."""

HUBER, LOUD = 1.345, 0.7
"""Clip as wide as leaves the last gradient's noise at so many sampling errors."""

NARROW, WIDE = 0.9, 3.0
ROOM = 0.5
"""⊥ where the last gradient's noise would move predictions by more than this part of a spread."""


@dataclass(frozen=True)
class Plan:
    """What public numbers say before any row is read: how many rounds, and how wide to clip."""

    rounds: int
    clip: Clip

    @property
    def scatter(self) -> Fraction:
        """The part of ε for each scatter matrix."""
        return SCATTER / (self.rounds + 1)


def left() -> Fraction:
    """The part of ε that gradients get where no round is saved."""
    return 1 - SCALES - CENTRES - SCATTER - RADIUS - len(STEPS) * (SPREAD + SLOPE)


def planned(n: float, columns: int, drawn: int, account: Account, leading: bool = True) -> Plan | None:
    """The plan for so many predictors, of which and the response `drawn` need a scale; None where noise is too much."""
    p, m, epsilon = columns + leading, moved(account), float(account.epsilon)
    d, n = p + 1, max(n, 1)
    edge = EDGE * d**2 * m / (n * epsilon * float(SCATTER))
    rounds = min(int(USELESS / edge), ROUNDS + 1) - 1
    last = epsilon * float(left() * STEPS[-1])
    width = LOUD * math.sqrt(n) * last / (m * p)
    wide = min(max(math.sqrt(width / HUBER), NARROW), WIDE)
    room = m * HUBER * wide**2 * p**1.5 / (n * last)
    enough = n > rows_for_scales(drawn, account.epsilon * SCALES, account)
    return Plan(rounds, Clip(wide, HUBER * wide)) if rounds >= 1 and room < ROOM and enough else None


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


@release(reads=DESIGN, data=("x", "y"), missing="ignore", also="regression", examples=({}, {"fit_intercept": False}))
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
    ⊥ by public numbers costs nothing, where the number of rows is public. ⊥ is also the answer, at the price of what
    was done, where the last step was too long to be a polish.

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
    design, response = table_of("X", x), column("y", y)
    zeros = binary_columns(binary, design.shape[1])
    if len(design) != response.size:
        raise InvalidArgument("y", f"as long as X, {len(design)} rows", f"{response.size} rows")
    return _closed(design, response, _Asked(zeros, bool(fit_intercept), how, account))


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


def _closed(design: Floats, response: Field, asked: _Asked) -> Release[Floats] | NoReply:
    """⊥ by public numbers, before any row is looked at; then the fit."""
    account, (n, columns) = asked.account, design.shape
    if account.adjacency.size_is_public and asked.planned(n, columns, account) is None:
        return account.close(Outcome.refusal(HOW, asked.advice(columns)))
    account.entropy.bytes(0)  # rehearsals end here
    table = np.column_stack([design, response.floats()])
    table[:, list(asked.binary)] = np.clip(table[:, list(asked.binary)], 0.0, 1.0)
    closed = account.close(_found(rows_of(table, asked.missing), asked))
    return closed if isinstance(closed, NoReply) else RegressionRelease.of(closed)


def _found(rows: MatrixRows, asked: _Asked) -> Outcome[Floats]:
    columns, size = rows.width - 1, sized(rows, asked.missing, asked.account)
    plan = asked.planned(size.rows, columns, size.account)
    if plan is None:
        return Outcome.refusal(HOW, asked.advice(columns))
    found = _fitted(rows, size, asked, plan)
    return found or Outcome.refusal(HOW, asked.advice(columns, 2, "fewer or less correlated columns"))


def _fitted(rows: MatrixRows, size: Sized, asked: _Asked, plan: Plan) -> Outcome[Floats] | None:
    """All steps one after the other; None where they say that the fit can't be stood behind."""
    account, response = size.account, rows.width - 1
    frame = framed(rows, size, asked.binary, (account.part(SCALES), account.part(CENTRES)), asked.leading)
    if response not in frame.kept or len(frame.kept) < 2:
        return None
    shape = whitened(rows, frame, size.n, plan.rounds, account.part(plan.scatter * plan.rounds))
    if not size.exact and asked.planned(shape.rows, response, account) is None:
        return None
    whitening, beta = start(shape)
    radius = plan.clip.radius * far_out(rows, frame, whitening, account.part(RADIUS))
    model = Model(frame, whitening, radius, shape.rows)
    curvature = hessian(rows, model, account.part(plan.scatter))
    rest = left() + plan.scatter * (plan.rounds - shape.rounds)
    step = None
    for share in STEPS:
        parts = account.part(SPREAD), account.part(SLOPE), account.part(rest * share)
        step = newton(rows, model, curvature, beta, plan.clip.residual, parts)
        beta = step.beta
    assert step is not None
    return None if _unsettled(step, curvature) else _answer(model, curvature, step, plan, rows.width)


def _unsettled(step: Step, curvature: Hessian) -> bool:
    """Whether the last step was no polish: a private ⊥, by released numbers."""
    return step.noise > ROOM or step.moved > ROOM + 2 * step.noise


def _answer(model: Model, curvature: Hessian, step: Step, plan: Plan, width: int) -> Outcome[Floats]:
    value, errors, lost = in_units(model, curvature, step, plan.clip.residual, width)
    dropped = tuple(c for c in range(width - 1) if c not in model.frame.kept)
    noise = LinearErrors(tuple(errors.tolist()), tuple(np.flatnonzero(lost).tolist()), dropped,
                         step.spread * float(model.frame.units[-1]), model.frame.leading)  # fmt: skip
    return Outcome(value, HOW, noise, notes=noise.notes())
