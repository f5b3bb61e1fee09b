"""Sums of bounded contributions: a row's part must not depend on its batch."""

import numpy as np
import pytest
from uptack.regression.fit_model import Model
from uptack.regression.intercept_level import clipped_residuals
from uptack.regression.residual_tails import on_line, one_sided, shown

from uptack.multivariate.bounded import LENGTH
from uptack.multivariate.standardise import Frame
from uptack.regression.check_loss import Check
from uptack.regression.huber_loss import HuberLoss
from uptack.regression.logistic_loss import LogisticLoss
from uptack.statistics.variances import fourth_powers

HOSTILE = np.array([0.0, -0.0, 1.0, 5e-324, 1e-160, 1e-200, 1e154, 1e200, -1e308, 1.7e308, 2.0**53, np.pi, 1e-3, 3.3])


def test_fourth_powers_are_the_same_in_any_batches():
    x = np.append(HOSTILE, np.random.default_rng(0).normal(size=1000))
    whole = fourth_powers(x, -3.0, 5.0, 0.3, 5.0)[0]
    for size in (1, 3, 8, 64):
        parts = [fourth_powers(x[i : i + size], -3.0, 5.0, 0.3, 5.0)[0] for i in range(0, x.size, size)]
        assert sum(parts) == whole


@pytest.mark.parametrize("loss", [HuberLoss(), LogisticLoss(), Check(0.9)], ids=repr)
def test_a_row_adds_the_same_to_a_fit_in_any_batch_and_never_too_much(loss):
    rng = np.random.default_rng(0)
    for d in (2, 3, 5):
        rows = np.where(rng.random((d, 40)) < 0.5, rng.choice(HOSTILE, (d, 40)), rng.normal(size=(d, 40)))
        frame = Frame(tuple(range(d)), 2.0 ** rng.integers(-480, 480, d), np.rint(rng.normal(size=d) * 100))
        model = Model(frame, np.tril(rng.normal(size=(d, d))), 2.0, 1000.0, loss)

        def steps(batch, model=model, d=d):
            beta = np.linspace(-1, 1, d)
            slopes, bends = model.slopes(batch, beta, 0.7, True)
            return slopes, bends[None], *model.even(batch), *model.bent(batch, beta, 0.7)

        def tails(batch, model=model, d=d):
            beta = np.linspace(-1, 1, d)
            found = (part(model, batch, beta, 0.7, 0.3) for part in (on_line, shown))
            return one_sided(model, batch, beta, 0.7), clipped_residuals(model, batch, beta, 0.7), *found

        with np.errstate(all="ignore"):
            for i in range(rows.shape[1]):
                for whole, alone in zip(steps(rows), steps(rows[:, i : i + 1]), strict=True):
                    assert whole[:, i].tolist() == alone[:, 0].tolist()
                    assert sum(int(v) ** 2 for v in alone[:, 0]) <= LENGTH**2
                if loss.response and d < 5:
                    for whole, alone in zip(tails(rows), tails(rows[:, i : i + 1]), strict=True):
                        assert whole[i] == alone[0] == int(alone[0])
                        assert whole.max() - whole.min() <= LENGTH
                        assert whole.min() <= 0 <= whole.max()
