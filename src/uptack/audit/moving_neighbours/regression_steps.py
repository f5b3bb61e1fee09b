"""The steps of a regression, each as a release of its own.

A fit releases a dozen numbers, most of them for a small part of ε. No pair of neighbours moves all of them as far as
they may go. So a fault in one of them is hidden by what the others leave of ε. Here each step is given a public model,
all of ε, and a row that moves just what this step adds up by as much as one row can.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from uptack.account import Account, Outcome
from uptack.audit.moving_neighbours.table_pairs import Pair
from uptack.audit.replay import Replay
from uptack.multivariate.entrance import buy_size, complete_rows, read_columns
from uptack.multivariate.signs import whitened
from uptack.multivariate.standardise import Frame, centres, scales
from uptack.multivariate.steps import Sample, lengths
from uptack.noise import Entropy
from uptack.privacy import ADD_REMOVE
from uptack.registry.guard import guarded
from uptack.regression.fit_rows import FitRows, cut
from uptack.regression.least_squares_loss import LeastSquaresLoss
from uptack.regression.private_sums import far_pair, far_quantile, farther_quantile, gradient, second_moments, variances
from uptack.release import NoReply, Release
from uptack.table.exact_sum import Floats

Act = Callable[[Sample, Account], Any]
N, EPSILON = 40, 3
"""Rows, and ε."""

FRAME = Frame((0, 1, 2), np.ones(3), np.zeros(3), leading=False)
ROWS = FitRows(Frame((0, 1, 2), np.ones(3), np.zeros(3)), 1, LeastSquaresLoss(), np.eye(2))
FLAT = np.zeros(2)
"""Coefficients: residuals are responses."""


def _sample(rows: Floats) -> Sample:
    return complete_rows(read_columns("rows", rows), "drop")


def _anywhere(n: int) -> Floats:
    """Rows (x, x', y) all over the place."""
    return np.random.default_rng(5).normal(size=(n, 3))


@guarded
def _asked(act: Act, options: dict[str, Any], data: Floats, entropy: Entropy) -> Release[Any] | NoReply:
    account = Account.open("step", **options, entropy=entropy)
    return account.close(Outcome(act(_sample(data), account), "itself"))


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


def steps() -> list[Replay]:
    """All of them."""
    far, near = 1e9, 200.0  # a gross error, and none
    return [
        step("rows", lambda rows, a: buy_size(rows, a).rows, (_anywhere(N), _anywhere(N)[1:]), adjacency=ADD_REMOVE),
        step("units", lambda rows, a: scales(rows, (0, 1), None, a), from_to([0.0, 0.0, 0.0], [far, far, 0.0])),
        step("centres", lambda rows, a: centres(rows, (0, 1), (1.0, 1.0), a), jumping(0.5, 0, 1)),
        step("directions", lambda rows, a: whitened(rows, FRAME, N, 1, a), from_to([far, 0.0, 0.0], [0.0, far, 0.0])),
        step("quantile", lambda rows, a: far_quantile(rows, _length, N / 4, N, 1.0, a), jumping(0.75, 0, 1)),
        step("two quantiles", lambda rows, a: far_pair(rows, lambda b: [np.abs(b[0]), np.abs(b[1])], N / 4, N, a),
             jumping(0.75, 0, 1)),
        step("farther quantile", lambda rows, a: farther_quantile(rows, _length, N / 4, N, 1.0, a),
             jumping(0.75, 0, 1)),
        step("scatter", lambda rows, a: second_moments(rows, ROWS.scatter, 1.0, N, a),
             from_to([near, 0.0, 0.0], [0.0, near, 0.0])),
        step("normal equations", lambda rows, a: second_moments(rows, _equations, 1.0, N, a),
             from_to([near, 0.0, 0.0], [0.0, 0.0, near])),
        step("gross errors", lambda rows, a: second_moments(rows, _equations, 1.0, N, a),
             from_to([near, 0.0, 0.0], [far, 0.0, 0.0])),
        step("gradient", lambda rows, a: gradient(rows, lambda b: ROWS.gradients(b, FLAT, 1.0), 1.0, a),
             from_to([near, 0.0, near], [near, 0.0, -near])),
        step("gradient, 2 rows", lambda rows, a: gradient(rows, lambda b: ROWS.gradients(b, FLAT, 1.0), 1.0, a),
             from_to([near, 0.0, near], [near, 0.0, -near], times=2), rows_per_person=2),
        step("variances", lambda rows, a: variances(rows, _squares, 1.0, N, a),
             from_to([near, 0.0, near], [0.0, near, near])),
    ]  # fmt: skip


def _length(batch: Floats) -> Floats:
    return lengths(batch[:2])


def _equations(batch: Floats) -> Floats:
    return ROWS.equations(batch, FLAT, 1.0, 1.0, 1.0)


def _squares(batch: Floats) -> Floats:
    """The squares of a gradient of length 1 in two directions."""
    return np.asarray(cut(ROWS.gradients(batch, FLAT, 1.0), 1.0) ** 2)
