"""Standard errors of linear regression where residuals do not spread alike: what they sum, and that they hold."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from tests.helpers import sampled
from uptack.account import Account
from uptack.multivariate.bounded import LENGTH, noisy_blocks
from uptack.multivariate.standardise import Frame
from uptack.noise import SeededEntropy
from uptack.privacy.loss import Pure
from uptack.regression import fit_plans
from uptack.regression.fit_model import Model
from uptack.regression.fit_plans import FitRequest
from uptack.regression.hessian import Hessian
from uptack.regression.huber_loss import HuberLoss
from uptack.regression.newton_steps import NewtonStep
from uptack.regression.sandwich import blocks, sandwich

RNG = np.random.default_rng(0)
HOSTILE = (0.0, -0.0, 5e-324, 1e-9, 1.0, 1e9, -1.7e308, 1.7e308)
FRAME = Frame((0, 1, 2), np.array([1.0, 2.0**-60, 2.0**60]), np.array([0.0, 3.0, -1e9]))
MODEL = Model(FRAME, np.tril(RNG.normal(size=(3, 3))), 2.5, 50, HuberLoss(1.9))
BETA = RNG.normal(size=3)
CALM = RNG.normal(size=(50, 3)) * [1, 1e-18, 1e18]


def summed(table, whose=None):
    """Near and far rows' sums, exactly."""
    rows = sampled(table) if whose is None else sampled(table, whose, int(whose.max()) + 1)
    with np.errstate(all="ignore"):
        return rows.sums(blocks(MODEL, BETA, 0.7))


def added(with_it, without):
    """What a row or a person adds: traces, which are nuclear norms where no eigenvalue is below 0."""
    found = [a - b for a, b in zip(with_it, without, strict=True)]
    for one in found:
        assert np.linalg.eigvalsh(one.astype(float))[0] >= -1e-9 * LENGTH**2
    return [sum(np.diag(one)) for one in found]


def test_no_row_adds_more_than_one_to_both_sums_together():
    without, seen = summed(CALM), []
    for row in itertools.product(HOSTILE, repeat=3):
        near, far = added(summed(np.vstack([CALM, row])), without)
        assert near + far <= LENGTH**2
        assert near == 0 or far == 0
        seen.append((near, far))
    near, far = np.array(seen, float).T
    assert far.max() > 0.99 * LENGTH**2  # it is as much as is claimed
    assert near.max() > 0


def test_no_person_adds_more_than_one_to_both_sums_together():
    """Though her rows may be in either: exactly, in fractions."""
    ends = [RNG.choice(HOSTILE, 3) for _ in range(12)] + list(CALM[:4])
    whose = np.arange(len(CALM))
    without, seen = summed(CALM, whose), []
    for (a, b), times in itertools.product(itertools.pairwise(ends), (1, 7, 40)):
        rows = np.vstack([CALM, [a] * 3, [b] * times])
        parts = added(summed(rows, np.append(whose, [50] * (3 + times))), without)
        assert sum(map(Fraction, parts)) <= LENGTH**2
        seen.append(parts)
    assert any(near > 0 and far > 0 for near, far in seen)


def test_noise_makes_the_last_step_no_more_than_twice_as_long():
    first = Hessian(np.eye(3), np.ones(3), np.ones(3), 0.1, 0.1, 0.1)
    step = NewtonStep(BETA, np.ones(3), 0.7, 0.6, 0.6 / 0.7, 0.1, 0.1, 0.1, 0.0, 0.1, np.zeros((3, 3)))
    found = []
    for seed in range(20):
        account = Account.open("bread", 1, entropy=SeededEntropy(seed))
        with np.errstate(all="ignore"):
            bread = sandwich(sampled(CALM), MODEL, first, step, account).bread
        found.append(np.linalg.eigvalsh(bread) / step.bend)
    assert np.min(found) == pytest.approx(0.5)  # so loud is the noise
    assert np.max(found) <= 1 / 0.6 + 1e-9


def test_a_row_adds_the_same_in_any_batch():
    rows = np.where(RNG.random((3, 40)) < 0.5, RNG.choice(HOSTILE, (3, 40)), CALM[:40].T)
    step = blocks(MODEL, BETA, 0.7)
    with np.errstate(all="ignore"):
        whole, alone = step(rows), [step(rows[:, i : i + 1]) for i in range(40)]
    for k in (0, 1):
        assert (whole[k].total() == sum(one[k].total() for one in alone)).all()


def test_blocks_cost_what_one_of_them_does():
    account = Account.open("blocks", 2, entropy=SeededEntropy(1))
    two = noisy_blocks([np.zeros((2, 2), object), np.zeros((2, 2), object)], account.part(Fraction(1, 4)))
    assert len(two) == 2
    assert (two[0] != two[1]).any()
    assert account.spent == (Pure(Fraction(1, 2)),)


def uneven(seed, n=4000, power=2):
    """Residuals in proportion to a power of x."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1))
    return x, 2 + x[:, 0] + x[:, 0] ** power * rng.normal(size=n)


def squares(runs):
    """Σz² of the slope, and how many intervals hold it."""
    z = []
    for seed in range(runs):
        found = ut.linear_regression(*uneven(seed), epsilon=8, entropy=SeededEntropy(seed))
        z.append((found.value[1] - 1) / found.noise.standard_errors[1])
    return float(np.sum(np.square(z))), int(np.sum(np.abs(z) < 1.96))


def test_intervals_hold_where_residuals_grow_with_x_and_the_usual_ones_do_not(monkeypatch):
    # Σz² of 40 is χ²: above 98 with a chance below 1e-6; fewer than 29 of 40 intervals hold with the same
    total, held = squares(40)
    assert total < 98
    assert held >= 29
    monkeypatch.setattr(fit_plans, "_with_variance", lambda *_: None)
    assert squares(40)[0] > 150


def test_standard_errors_are_whites_where_noise_is_small():
    for x, y in (uneven(1, 40_000, 1), (RNG.normal(size=(40_000, 1)), RNG.standard_t(5, size=40_000))):
        found = ut.linear_regression(x, y, epsilon=100, entropy=SeededEntropy(1))
        design = np.column_stack([np.ones(len(x)), x])
        away = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
        bread = np.linalg.inv(design.T @ design)
        white = np.sqrt(np.diag(bread @ (design.T * away**2) @ design @ bread))
        assert np.array(found.noise.standard_errors) == pytest.approx(white, rel=0.15)


def test_it_is_measured_wherever_a_fit_replies_and_else_a_note_says_what_is_assumed(monkeypatch):
    for epsilon, columns in itertools.product((Fraction(1, 4), 1, 3, 10), (1, 3, 10, 30)):
        asked = FitRequest(HuberLoss(), (), True, "error", Account.open("plan", epsilon))
        for times in (1, 2, 10, 100):
            plan = asked.planned(times * asked.rows_needed(columns), columns)
            assert 0 < plan.variance <= Fraction(1, 10) * (plan.left(plan.rounds) + plan.variance) + Fraction(1, 100)
    many = ut.linear_regression(*uneven(0), epsilon=8, entropy=SeededEntropy(0))
    assert many.noise.measured
    assert many.notes == ("standard errors allow for residuals that spread unevenly",)
    assert "spread unevenly" in many.summary()
    monkeypatch.setattr(fit_plans, "_with_variance", lambda *_: None)
    other = ut.linear_regression(*uneven(0), epsilon=8, entropy=SeededEntropy(0))
    assert not other.noise.measured
    assert any("spread alike" in note for note in other.notes)
    assert "spread alike" in other.summary()
