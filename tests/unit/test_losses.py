"""A loss is one class: the solver asks it, and knows none by name."""

import ast
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from uptack.multivariate import private_sums
from uptack.noise import SeededEntropy
from uptack.regression import fits, solver
from uptack.regression.fits import regress
from uptack.regression.linear import HuberLoss, LeastSquaresLoss
from uptack.regression.logistic import LogisticLoss
from uptack.regression.losses import RegressionLoss
from uptack.regression.poisson import PoissonLoss
from uptack.regression.quantile import CheckLoss

LOSSES = (LeastSquaresLoss(), HuberLoss(), CheckLoss(0.3), LogisticLoss(), PoissonLoss())


@dataclass(frozen=True)
class ExpectileLoss(RegressionLoss):
    """ψ = 2·τ·r above the plane and 2·(1 - τ)·r below: the whole of what a new contributor writes."""

    expectile: float

    target = "an expectile"
    curved, typical = HuberLoss.curved, 0.6

    def far_score(self, rest, s):
        return rest

    def score(self, y, eta, s):
        return 2 * np.where(y < eta, 1 - self.expectile, self.expectile) * (y - eta)

    def information(self, eta):
        return np.full_like(eta, 2 * max(self.expectile, 1 - self.expectile))

    def curvature(self, y, eta, s):
        return 2 * np.where(y < eta, 1 - self.expectile, self.expectile)


def expectile(x, y, tau):
    """Without privacy, by weighted least squares."""
    design, w = np.column_stack([np.ones(len(x)), x]), np.ones(len(y))
    for _ in range(100):
        beta = np.linalg.solve((design * w[:, None]).T @ design, (design * w[:, None]).T @ y)
        w = np.where(y < design @ beta, 1 - tau, tau)
    return beta


@pytest.mark.parametrize("tau", [0.5, 0.8])
def test_a_new_loss_is_one_class(tau):
    held = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(20_000, 2)) * [1, 100]
        y = 3 + x @ [1, -0.02] + rng.gamma(2, size=20_000)
        found = regress("expectiles", ExpectileLoss(tau), x, y, 1, {"entropy": SeededEntropy(seed)})
        truth = np.array([expectile(np.zeros((20_000, 0)), y - x @ [1, -0.02], tau)[0], 1, -0.02])
        assert np.abs((found.value - truth) * [1, 1, 100]).max() < 0.15
        assert found.privacy.epsilon <= 1
        assert all(0 < error < math.inf for error in found.noise.standard_errors)
        low, high = found.interval(0.95)
        held.append((low <= truth) & (truth <= high))
    # 18 intervals of 95%: fewer than 11 with a chance below 1e-6 were they independent
    assert np.sum(held) >= 11


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_the_curvature_is_the_derivative_of_the_score(loss):
    """Up to corners, and of a quantile in the mean over the window."""
    rng = np.random.default_rng(0)
    eta = rng.normal(size=4_000)
    y = np.round(rng.random(4_000)) if not loss.scaled else eta + rng.uniform(-3, 3, size=4_000)
    s, h = 0.7, 1e-3
    down = (loss.score(y, eta - h, s) - loss.score(y, eta + h, s)) / (2 * h)
    curvature = loss.curvature(y, eta, s)
    assert ((curvature >= 0) & (curvature <= loss.information(eta) * (1 + 1e-12))).all()
    if isinstance(loss, CheckLoss):
        assert down.mean() == pytest.approx(curvature.mean(), abs=0.5)
    else:
        assert np.mean(np.abs(down - curvature) > 1e-4) < 0.01


@pytest.mark.parametrize("module", [solver, fits, private_sums])
def test_the_solver_knows_no_loss_by_name(module):
    tree = ast.parse(Path(module.__file__).read_text())
    imports = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    homes = {type(loss).__module__ for loss in LOSSES}
    assert len(homes) == 4
    assert not homes & imports


@pytest.mark.parametrize(
    ("loss", "options"),
    [
        *((loss, {}) for loss in [*LOSSES, ExpectileLoss(0.8)]),
        *((LOSSES[0], more) for more in ({"missing": "drop"}, {"fit_intercept": False})),
    ],
    ids=str,
)
def test_all_of_epsilon_is_spent_and_no_more(loss, options):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(8_000, 2)) + 1
    y = rng.integers(0, 2, 8_000) * 1.0 if not loss.scaled else x.sum(axis=1) + rng.normal(size=8_000)
    found = regress("whole", loss, x, y, 3, {"entropy": SeededEntropy(1), **options})
    assert found.privacy.exact_epsilon == 3
