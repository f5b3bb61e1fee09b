"""The steps of a regression, each as a release of its own.

A fit releases a dozen numbers, most of them for a small part of ε. No pair of neighbours moves all of them as far as
they may go. So a fault in one of them is hidden by what the others leave of ε. Here each step is given a public model,
all of ε, and a row that moves just what this step adds up by as much as one row can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from uptack.account import Account, Outcome
from uptack.audit.moving_neighbours.table_pairs import Pair
from uptack.audit.replay import Replay
from uptack.columns.table import Floats
from uptack.multivariate.rows import MatrixRows
from uptack.multivariate.signs import whitened
from uptack.multivariate.standardise import Frame, centres, scales
from uptack.noise import Entropy, SeededEntropy
from uptack.registry.guard import guarded
from uptack.regression.check_loss import Check
from uptack.regression.fit_model import FAR_OUT, Model, far_out
from uptack.regression.fit_state import FitState
from uptack.regression.hessian import Hessian, bent, hessian
from uptack.regression.huber_loss import HuberLoss
from uptack.regression.intercept_level import SKEWED, WIDE, raise_intercept
from uptack.regression.logistic_loss import log_odds
from uptack.regression.losses import RegressionLoss
from uptack.regression.newton_steps import NewtonStep, StepAccounts, newton, spread
from uptack.regression.poisson_diagnostics import known_ends
from uptack.regression.poisson_loss import PoissonLoss, level
from uptack.regression.residual_tails import (
    FAR,
    GAIN,
    GONE,
    LEVER,
    LOPSIDED,
    LOSS,
    NEAR,
    TAIL,
    farther,
    longer,
    worthless,
)
from uptack.regression.sandwich import sandwich
from uptack.release import NoReply, Release

Act = Callable[[MatrixRows, Account], Any]
N, EPSILON, MOST = 40, 3, Fraction(99, 100)
"""Rows, ε, and what one of two steps that are made together gets of it."""

FRAME = Frame((0, 1, 2), np.ones(3), np.zeros(3), leading=False)
FLAT = np.zeros(2)
"""Coefficients: residuals are responses."""


def model(loss: RegressionLoss, n: int = N) -> Model:
    """Two predictors and a response that are standardised and round, with R = 1."""
    return Model(FRAME, np.eye(2), 1.0, n, loss)


def _before(loss: RegressionLoss) -> tuple[Hessian, NewtonStep]:
    """A Hessian and a step that have been released: of other rows, and back at the start."""
    rows, account = MatrixRows.of(_anywhere(N)), Account.open("rows of others", 10**6, entropy=SeededEntropy(1))
    curvature = hessian(rows, model(loss), account)
    made, _ = newton(rows, model(loss), curvature, (FLAT, 1.0), True, StepAccounts(account, account))
    return curvature, replace(made, beta=FLAT, spread=1.0)


def _anywhere(n: int) -> Floats:
    """Rows (x, x', y) all over the place."""
    return np.random.default_rng(5).normal(size=(n, 3))


@guarded
def _asked(act: Act, options: dict[str, Any], data: Floats, entropy: Entropy) -> Release[Any] | NoReply:
    account = Account.open("step", **options, entropy=entropy)
    return account.close(Outcome(act(MatrixRows.of(data), account), "itself"))


def step(name: str, act: Act, pair: Pair, **options: Any) -> Replay:
    """One step, at ε = 3."""
    told = {"epsilon": EPSILON, **options}
    return Replay(f"fit, {name}", partial(_asked, act, told), pair, frozenset(), "", told)


def from_to(one: list[float], other: list[float], n: int = N, times: int = 1) -> Pair:
    """Rows all over the place, the last of which go from here to there."""
    return _ends(_anywhere(n), one, other, times)


def _ends(rows: Floats, one: list[float], other: list[float], times: int = 1) -> Pair:
    rest = rows[: len(rows) - times]
    return np.vstack([rest, *[one] * times]), np.vstack([rest, *[other] * times])


def jumping(share: float, *columns: int) -> Pair:
    """A share of the rows at 1 in some columns, the others at 16, and a row that goes over: so does the quantile."""
    rows, there = np.zeros((N, 3)), np.isin(np.arange(3), columns)
    rows[:, there] = np.where(np.arange(N) < share * N - 1, 1.0, 16.0)[:, None]
    return _ends(rows, [*(1.0 * there)], [*(16.0 * there)])


def lopsided(n: int = 200) -> Pair:
    """As many residuals more in the upper tail than in the lower one as just do not make it the longer one, and a row
    that goes from the lower to the upper.
    """
    inside, up = np.zeros((n, 3)), int(LOPSIDED * n)
    inside[: up + 1, 2] = 2 * TAIL
    return _ends(inside, [0.0, 0.0, -2 * TAIL], [0.0, 0.0, 2 * TAIL])


def levered(n: int = 200) -> Pair:
    """As many rows far out that are right as just do not make R wider, and one that goes from wrong to right."""
    rows, right = np.zeros((n, 3)), [4 / NEAR, 0.0, 0.0]
    rows[: int(LEVER * n) + 1] = right
    return _ends(rows, [*right[:2], 2 * FAR], right)


def doubtful(n: int = 25) -> Pair:
    """A fit of 0 that gains all there is over 4 for most rows, and loses as much for those far out, one of which goes
    over. The sum of what rows show is 0 then, and a loss before.
    """
    rows = np.zeros((n, 3))
    rows[: int(n * GAIN / (GAIN + LOSS)), 0] = 2 * FAR
    return _ends(rows, [2 * FAR, 0.0, 0.0], [0.0, 0.0, 0.0])


def uneven(n: int = 200) -> Pair:
    """Residuals with a mean that noise does not explain, and one that goes from the lower tail to the upper."""
    return _ends(np.full((n, 3), SKEWED / 2), [0.0, 0.0, -2 * WIDE], [0.0, 0.0, 2 * WIDE])


def beyond(share: float) -> Pair:
    """A share of the counts at 1, the others at 16, and one that goes from 0 to where no other is."""
    counts, _ = jumping(share, 2)
    return _ends(counts, [0.0, 0.0, 0.0], [0.0, 0.0, 1e9])


def halves(other: float, times: int = 1) -> Pair:
    """Half of the rows of the second class, and some that go there, or beyond, from the first."""
    rows = np.zeros((N, 3))
    rows[: N // 2, 2] = 1.0
    return _ends(rows, [0.0, 0.0, 0.0], [0.0, 0.0, other], times)


def odds(rows: MatrixRows, account: Account) -> list[float | None]:
    """Where a fit of classes starts. There may be no such place, which is no ⊥ of this step."""
    return [log_odds(rows, N, account)]


def _moved(loss: RegressionLoss, part: Fraction) -> Act:
    """A step, of which the slope gets this part."""
    curvature = _before(loss)[0]
    return lambda rows, account: newton(
        rows, model(loss), curvature, (FLAT, 1.0), True, StepAccounts(account.part(part), account.part(1 - part))
    )


def steps() -> list[Replay]:
    """All of them."""
    huber, check, far = HuberLoss(), Check(0.5), 1e9
    edge, gone = 0.999 * huber.cutoff, 2 * GONE
    tails, worth, first = model(huber, 200), model(huber, 25), _before(huber)
    wide, low = PoissonLoss(100.0), PoissonLoss(1.0, knee=0.01)  # a rate of 1 is at the limit of the last one
    counted = FitState(model(low), first[1], first[0], first[0])
    slope, across = _moved(huber, MOST), from_to([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    return [
        step("scales", lambda rows, a: scales(rows, (0, 1), None, a), from_to([0.0, 0.0, 0.0], [far, far, 0.0])),
        step("centres", lambda rows, a: centres(rows, (0, 1), (1.0, 1.0), a), jumping(0.5, 0, 1)),
        step("scatter", lambda rows, a: whitened(rows, FRAME, N, 1, a), from_to([far, 0.0, 0.0], [0.0, far, 0.0])),
        step("radius", lambda rows, a: far_out(rows, FRAME, np.eye(2), a), jumping(float(FAR_OUT), 0, 1)),
        step("Hessian", lambda rows, a: hessian(rows, model(huber), a), from_to([far, 0.0, 0.0], [0.0, far, 0.0])),
        step("Hessian anew", lambda rows, a: bent(rows, model(check), first[0], (FLAT, 1.0, 0.5), a), across),
        step("spread", lambda rows, a: spread(rows, model(huber), FLAT, a), jumping(float(huber.near[0]), 2)),
        step("tails", lambda rows, a: longer(rows, tails, (FLAT, 1.0), a), lopsided()),
        step("slope", slope, from_to([0.0, 0.0, 0.0], [0.0, 0.0, far])),
        step("slope, 2 rows", slope, from_to([0.0, 0.0, 0.0], [0.0, 0.0, far], times=2), rows_per_person=2),
        step("gradient", _moved(huber, 1 - MOST), from_to([far, 0.0, far**2], [far, 0.0, -(far**2)])),
        step("worth", lambda rows, a: worthless(rows, worth, (FLAT, 1.0), GAIN, a), doubtful()),
        step("rows far out", lambda rows, a: farther(rows, tails, (FLAT, 1.0), 0.0, 2.0, a), levered()),
        step("level", lambda rows, a: raise_intercept(rows, tails, first[1], a), uneven()),
        step("classes", odds, halves(far)),
        step("classes, 2 rows", odds, halves(1.0, 2), rows_per_person=2),
        step("mean count", lambda rows, a: level(rows, N, a), beyond(2 / 3)),
        step("limit of counts", lambda rows, a: wide.widened(rows, model(wide), (FLAT, 1.0), 1.0, a), beyond(5 / 6)),
        step("ends of counts", lambda rows, a: known_ends(rows, counted, low, a), beyond(5 / 6)),
        step("variance", lambda rows, a: sandwich(rows, model(huber), *first, a),
             from_to([1.0, 0.0, edge], [0.0, far, gone * far])),
    ]  # fmt: skip
