"""A loss is one class: a plan and a fit ask it, and know none by name."""

import ast
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from uptack.account import Account
from uptack.noise import SeededEntropy
from uptack.regression import bounded_sums, fit_plans
from uptack.regression.fit_model import start
from uptack.regression.losses import RegressionLoss, Stage, wide_rows
from uptack.regression.regression_calls import regress


@dataclass(frozen=True)
class Smooth(RegressionLoss):
    """ψ = t/sqrt(1 + t²), κ = (1 + t²)^(-3/2)/s of t = r/s."""

    stages = (Stage(Fraction(3, 10)), Stage(Fraction(7, 10)))
    ridge, response, far, limit, least, polish = 0.2, True, 1.0, 1.0, 0.1, 0.3
    expected = (0.5, 0.4)
    assumed = "standard errors hold if residuals spread alike for all x"

    def steep(self, s):
        return 1 / s

    def score(self, y, eta, w, s, sharp):
        t = w * (y - eta) / s
        return t / np.sqrt(1 + t**2)

    def bend(self, y, eta, w, s):
        return (1 + (w * (y - eta) / s) ** 2) ** -1.5

    def noise(self, slope):
        return 1.0 - slope

    def clipped(self, noise):
        return self, wide_rows(noise, self.expected[1], self.limit)

    def begun(self, rows, frame, shape, account):
        return self, *start(shape)


@pytest.mark.parametrize("seed", range(3))
def test_a_new_loss_is_one_class(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(20_000, 2)) * [1, 100]
    y = 3 + x @ [1, -0.02] + rng.standard_t(3, size=20_000)
    told = {"formula": None, "levels": None, "missing": "error", "binary": None, "fit_intercept": True}
    account = Account.open("smooth", 1, entropy=SeededEntropy(seed))
    found = regress(Smooth(), x, y, account, told)
    assert np.abs((found.value - [3, 1, -0.02]) * [1, 1, 100]).max() < 0.15
    assert found.privacy.epsilon <= 1
    assert all(0 < error < math.inf for error in found.noise.standard_errors)


@pytest.mark.parametrize("module", [fit_plans, bounded_sums])
def test_plans_and_fits_know_no_loss_by_name(module):
    losses = {f"uptack.regression.{name}" for name in ("huber", "classes", "check_loss", "counts", "count_ends")}
    imports = [
        node for node in ast.walk(ast.parse(Path(module.__file__).read_text())) if isinstance(node, ast.ImportFrom)
    ]
    assert imports
    assert not losses & {node.module for node in imports}
