"""Linear regression by bounded sums."""

import itertools
import json
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import uptack as ut
from tests.helpers import sampled
from uptack.account import Account
from uptack.multivariate import standardise
from uptack.multivariate.bounded import LENGTH
from uptack.multivariate.levels import Levels
from uptack.multivariate.standardise import DROPPED, Frame
from uptack.multivariate.terms import Squares, Vectors
from uptack.noise import SeededEntropy
from uptack.privacy.loss import Pure
from uptack.regression.bounded_sums import _unsettled
from uptack.regression.check_loss import Check
from uptack.regression.fit_model import Model
from uptack.regression.fit_plans import RADIUS, SLOPE, TAILS, FitRequest, hessians
from uptack.regression.hessian import Hessian
from uptack.regression.huber_loss import HuberLoss
from uptack.regression.logistic_loss import LogisticLoss
from uptack.regression.newton_steps import NewtonStep, _slope
from uptack.regression.residual_tails import farther

BETA = np.array([3.0, 1.0, -0.002, 40.0])


def sample(n, seed=0, noise=1.0):
    """Columns on scales from 0.025 to 1,000, the first two correlated, far from 0."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 3))
    z[:, 1] = 0.9 * z[:, 0] + 0.44 * z[:, 1]
    x = z * [1.0, 1000.0, 0.025] + [50.0, -7000.0, 0.0]
    return x, BETA[0] + x @ BETA[1:] + noise * rng.normal(size=n)


X, Y = sample(20_000)
STEP = np.array([0.02, 1, 1000, 0.025])
"""What brings all coefficients to the scale of predictions."""


@pytest.mark.parametrize("told", [{}, {"adjacency": ut.ADD_REMOVE}, {"rows_per_person": 2}])
def test_coefficients_are_close_and_intervals_hold_them(told):
    held = []
    for seed in range(12):
        x, y = sample(20_000, seed)
        found = ut.linear_regression(x, y, epsilon=2, entropy=SeededEntropy(seed), **told)
        assert np.abs((found.value - BETA) * STEP).max() < 0.2
        assert found.privacy.epsilon <= 2
        low, high = found.interval(0.95)
        held.append((np.array(low) <= BETA) & (np.array(high) >= BETA))
    # 48 intervals of 95%, four in a fit hang together: fewer than 37 with a chance below 1e-6 were they independent
    assert np.sum(held) >= 37


def test_standard_errors_are_about_those_of_least_squares_where_noise_is_small():
    x, y = sample(60_000)
    found = ut.linear_regression(x, y, epsilon=100, entropy=SeededEntropy(1))
    design = np.column_stack([np.ones(len(x)), x])
    least = np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
    ratio = np.array(found.noise.standard_errors) / least
    assert (ratio > 0.9).all()
    assert (ratio < 2.0).all()


POWERS = (
    *((10, 0, 0), (0, -200, 200), (400, -400, 0), (-400, 200, 400), (900, 0, 0), (-900, 10, 0)),
    *((0, 900, 900), (900, 900, 900), (-900, -900, -900), (0, 0, 900)),
)


def test_columns_times_powers_of_two_have_the_same_fit_to_the_last_bit(monkeypatch):
    """Where no scale is preferred, which would be other draws. Beyond floats there are no coefficients, and it is ⊥."""
    flat = np.append(np.full(DROPPED, 64), 1 << 12)
    monkeypatch.setattr(standardise, "SCALES", Levels(flat))
    rng = np.random.default_rng(0)
    x = rng.normal([3.0, -1.0], size=(3_000, 2))
    x[::50] *= 1e35  # some rows far out, on the same line
    y = 1 + x @ [2.0, -1.0] + rng.normal(size=3_000)

    def fit(a=0, b=0, c=0):
        return ut.linear_regression(np.ldexp(x, [a, b]), np.ldexp(y, c), epsilon=3, entropy=SeededEntropy(4))

    plain = fit()
    assert np.abs(plain.value[1:] - [2, -1]).max() < 0.2
    for a, b, c in POWERS:
        found, units = fit(a, b, c), np.array([c, c - a, c - b])
        assert found.value.tolist() == np.ldexp(plain.value, units).tolist()
        assert found.noise.standard_errors == tuple(np.ldexp(plain.noise.standard_errors, units).tolist())
    for beyond in ((900, 0, -900), (-900, 0, 900)):
        assert isinstance(fit(*beyond), ut.NoReply)


@pytest.mark.parametrize("size", [1e55, 1e75, 1e300])
def test_rows_beyond_all_limits_stay_on_their_line(size):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(5_000, 2))
    x[rng.random(5_000) < 0.1] *= size
    found = ut.linear_regression(x, x @ [2.0, -1.0] + rng.normal(size=5_000), epsilon=3, entropy=SeededEntropy(1))
    assert np.abs(found.value - [0, 2, -1]).max() < 0.1


def test_scales_far_from_1_and_few_rows_are_answered_rightly_or_not_at_all():
    """Scales as large as that are few among the candidates, so with few rows a draw may miss all of them."""
    rng, replies = np.random.default_rng(2), 0
    x = rng.normal(size=(6_000, 2))
    y = 1 + x @ [2.0, -1.0] + rng.normal(size=6_000)
    for seed, k in itertools.product(range(8), (-900, 900)):
        found = ut.linear_regression(np.ldexp(x, k), np.ldexp(y, k), epsilon=1.5, entropy=SeededEntropy(seed))
        if isinstance(found, ut.Release):
            replies += 1
            assert np.abs(np.ldexp(found.value, [-k, 0, 0]) - [1, 2, -1]).max() < 0.3
    assert 0 < replies < 16


def test_gross_errors_hardly_count():
    x, y = X.copy(), Y.copy()
    y[:1000] = 1e9
    x[1000:1200] = 1e12
    found = ut.linear_regression(x, y, epsilon=2, entropy=SeededEntropy(1))
    assert np.abs((found.value - BETA) * STEP).max() < 0.25


def test_rows_without_all_values_contribute_nothing():
    x, y = X.copy(), Y.copy()
    x[::4, 1], y[1::40], x[2::50, 0] = np.nan, np.inf, np.nan
    with pytest.raises(ut.InvalidArgument, match="free of NaN"):
        ut.linear_regression(x, y, epsilon=2)
    for missing in ("drop", "ignore"):
        found = ut.linear_regression(x, y, epsilon=2, missing=missing, entropy=SeededEntropy(1))
        assert np.abs((found.value - BETA) * STEP).max() < 0.2
        assert found.privacy.epsilon <= 2
    mostly = np.full_like(y, np.nan)
    mostly[:300] = Y[:300]
    assert not ut.linear_regression(X, mostly, epsilon=2, missing="drop", entropy=SeededEntropy(1))


def test_without_an_intercept():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 2)) * [1, 100] + [2, 0]
    y = x @ [1.5, -0.02] + rng.normal(size=20_000)
    found = ut.linear_regression(x, y, epsilon=2, fit_intercept=False, entropy=SeededEntropy(1))
    assert np.abs((found.value - [1.5, -0.02]) * [1, 100]).max() < 0.1
    assert found.summary().splitlines()[1].startswith("x0")


def test_columns_that_hardly_vary_are_dropped_and_declared_ones_are_not():
    rng = np.random.default_rng(0)
    rare = (rng.random(20_000) < 0.004).astype(float)
    x = np.column_stack([X[:, 0], np.full(20_000, 7.0), rare])
    y = X[:, 0] + 2 * rare + rng.normal(size=20_000)
    found = ut.linear_regression(x, y, epsilon=2, entropy=SeededEntropy(1))
    assert found.noise.dropped == (1, 2)
    assert found.value[2] == found.value[3] == 0
    assert np.isinf(found.noise.standard_errors[2])
    assert found.notes[-1].startswith("columns 1, 2 hardly ever vary")
    assert found.named("a", "b", "c").notes[-1].startswith("columns b, c hardly ever vary")
    assert "hardly varies" in found.summary()
    half = (rng.random(20_000) < 0.1).astype(float)
    x = np.column_stack([X[:, 0], half])
    declared = ut.linear_regression(
        x, X[:, 0] + 2 * half + rng.normal(size=20_000), epsilon=2, binary=[1], entropy=SeededEntropy(1)
    )
    assert declared.noise.dropped == ()
    assert declared.value[2] == pytest.approx(2, abs=0.3)


def test_binary_columns_are_clipped_and_the_callers_table_is_left_alone():
    x = np.column_stack([X[:, 0], np.r_[np.full(10, 1e9), np.arange(19_990) % 2]])
    before = x.copy()
    found = ut.linear_regression(x, Y, epsilon=2, binary=1, entropy=SeededEntropy(1))
    assert found
    assert (x == before).all()
    for wrong in (2, -1, "a", 1.5):
        with pytest.raises(ut.InvalidArgument, match=r"^binary must be"):
            ut.linear_regression(x, Y, epsilon=2, binary=wrong)


def test_collinear_columns_say_that_they_are_not_resolved():
    x = np.column_stack([X[:, 0], X[:, 0] + 1e-9 * X[:, 1], X[:, 2]])
    y = X[:, 0] + 40 * X[:, 2] + np.random.default_rng(0).normal(size=20_000)
    found = ut.linear_regression(x, y, epsilon=2, entropy=SeededEntropy(1))
    assert {1, 2} <= set(found.noise.unresolved)
    assert np.isinf(np.array(found.noise.standard_errors)[[1, 2]]).all()
    assert found.value[1] + found.value[2] == pytest.approx(1, abs=0.1)
    assert "not resolved" in found.summary()


def test_too_few_rows_are_refused_for_nothing_and_the_advice_holds():
    refused = ut.linear_regression(X[:200], Y[:200], epsilon=1)
    assert not refused
    assert refused.privacy.epsilon == 0
    x, y = sample(refused.advice.n)
    assert sum(bool(ut.linear_regression(x, y, epsilon=1, entropy=SeededEntropy(seed))) for seed in range(4)) >= 3
    least = refused.advice.n * 2 // 3
    assert ut.linear_regression(x[:least], y[:least], epsilon=1, entropy=SeededEntropy(2)).privacy.epsilon > 0
    assert ut.linear_regression(x[: least - 1], y[: least - 1], epsilon=1).privacy.epsilon == 0
    secret = ut.linear_regression(X[:200], Y[:200], epsilon=1, adjacency=ut.ADD_REMOVE)
    assert not secret
    assert 0 < secret.privacy.epsilon < 0.03


def test_a_response_that_hardly_varies_is_refused():
    assert not ut.linear_regression(X, np.zeros(20_000), epsilon=2, entropy=SeededEntropy(1))


@pytest.mark.parametrize(
    ("n", "columns", "epsilon"), [(5_000, 2, 1), (6_500, 5, 1), (20_000, 5, 1), (90_000, 20, 1), (10**6, 40, 3)]
)
@pytest.mark.parametrize("loss", [HuberLoss(), LogisticLoss(), Check(0.5), Check(0.9)])
def test_parts_of_the_budget_add_up_to_at_most_all_of_it(loss, n, columns, epsilon):
    asked = FitRequest(loss, (), True, "error", Account.open("plan", epsilon))
    plan = asked.planned(n, columns)
    assert plan is not None
    for rounds in range(1, plan.rounds + 1):
        rest = plan.left(rounds)
        total = plan.scales + plan.centres + plan.scatter * rounds + plan.hessian(rounds) * hessians(loss) + rest
        steps = sum(plan.spread + plan.small * (SLOPE + TAILS * stage.tails) for stage in plan.stages)
        after = plan.worth + plan.lever + plan.variance + plan.level
        assert total + plan.small * RADIUS + plan.classes + steps + after == 1
        assert rest > Fraction(27, 100)
    assert sum(stage.share for stage in plan.loss.stages) == 1
    assert asked.rows_needed(columns) <= n


@pytest.mark.parametrize("loss", [HuberLoss(1.9), LogisticLoss(), Check(0.5), Check(0.03)])
def test_sums_move_by_no_more_than_is_claimed(loss):
    rng = np.random.default_rng(0)
    kept = (0, 1, 2) if loss.response else (0, 1)
    frame = Frame(kept, np.array([1.0, 2.0**-60, 2.0**60])[: len(kept)], np.zeros(len(kept)))
    model = Model(frame, np.tril(rng.normal(size=(3, 3))), 2.5, 50, loss)
    beta = rng.normal(size=3)

    def sums(table, sharp):
        def step(batch):
            slopes, bends = model.slopes(batch, beta, 0.7, sharp)
            (bent,) = model.bent(batch, beta, 0.7)
            (even,) = model.even(batch)
            return [Vectors(slopes), Vectors(bends), Squares(bent), Squares(even)]

        with np.errstate(all="ignore"):
            return [np.asarray(found, float) for found in sampled(table).sums(step)]

    table = rng.normal(size=(50, 3)) * [1, 1e-18, 1e18]
    hostile = [0.0, 1e308, -1e308, 5e-324, 1e9]
    for sharp in (True, False):
        mine, without = sums(table, sharp), sums(np.delete(table, 3, axis=0), sharp)
        for a in hostile:
            for b in hostile:
                other = table.copy()
                other[3] = a, b, -a if loss.response else a > 0
                gradient, bend, *moments = (one - two for one, two in zip(sums(other, sharp), without, strict=True))
                assert np.linalg.norm(gradient) <= LENGTH
                assert 0 <= bend <= LENGTH
                for moved in moments:
                    assert np.abs(np.linalg.eigvalsh(moved)).sum() <= LENGTH**2 * (1 + 1e-9)
        assert np.linalg.norm(mine[0] - without[0]) <= LENGTH


@pytest.mark.parametrize("loss", [HuberLoss(1.9), LogisticLoss(), Check(0.5)])
def test_the_hessian_is_the_derivative_of_the_gradient(loss):
    """Where no curvature has a corner: all residuals inside, and for rows near, far, and farther."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2)) * np.repeat([0.3, 3.0, 30.0, 300.0], 100)[:, None]
    y = (rng.random(400) < 0.5) if not loss.response else 1 + x @ [2.0, 3.0] + 1e-3 * rng.normal(size=400)
    frame = Frame((0, 1, 2) if loss.response else (0, 1), np.ones(2 + loss.response), np.zeros(2 + loss.response))
    model = Model(frame, np.tril(rng.normal(size=(3, 3))), 2.5, 400, loss)
    beta, s, h, batch = np.array([1.0, 2.0, 3.0]) * loss.response, 0.1, 1e-4, np.column_stack([x, y]).T
    moments = model.bent(batch, beta, s)[0] * (model.reach / LENGTH)
    columns = []
    for direction in np.eye(3):
        ends = (model.slopes(batch, beta + sign * h * (model.whitening.T @ direction), s, False)[0] for sign in (1, -1))
        up, down = (found.sum(axis=1) * (model.loss.limit * model.radius / LENGTH) for found in ends)
        columns.append((down - up) / (2 * h))
    assert np.allclose(np.array(columns).T, moments @ moments.T * loss.steep(s), rtol=0.02, atol=20)


def test_one_long_tail_is_clipped_less_and_outliers_are_as_before():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 2))
    skewed = x @ [0.3, 0.0] + rng.lognormal(sigma=1.2, size=20_000)
    apart = ut.linear_regression(x, skewed, epsilon=2, entropy=SeededEntropy(1)).value[0] - skewed.mean()
    assert abs(apart) < 0.25 * (skewed.mean() - np.median(skewed))
    wrong = x @ [0.3, 0.0] + np.where(np.arange(20_000) < 2000, 1e6, rng.normal(size=20_000))
    assert abs(ut.linear_regression(x, wrong, epsilon=2, entropy=SeededEntropy(1)).value[0]) < 0.4


def test_a_fit_that_rows_far_out_may_turn_against_is_refused():
    """Most rows have a slope, and those far out, which count least, none: as they would be off by far, there is ⊥."""
    rng = np.random.default_rng(0)
    far = rng.random(6000) < 0.05
    x = np.where(far, rng.uniform(8, 30, size=6000), rng.normal(size=6000))
    others = rng.normal(size=(6000, 5))
    y = np.where(far, 0.0, 0.3 * x) + rng.normal(size=6000)
    assert not ut.linear_regression(np.column_stack([x, others]), y, epsilon=1, entropy=SeededEntropy(1))
    held = rng.normal(size=6000)
    x = np.column_stack([held, others])
    assert ut.linear_regression(x, 0.1 * held + rng.normal(size=6000), epsilon=1, entropy=SeededEntropy(1))


@pytest.mark.parametrize("share", [0.05, 0.95])
def test_rows_far_out_count_more_where_they_are_right(share):
    """R is wider if most of them lie on the line of the others, within some spreads or nearer than to a constant."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random(5000) < 0.05, rng.uniform(8, 30, size=5000), rng.normal(size=5000))
    off = np.where(x > 7, np.where(rng.random(5000) < share, 2.0, 300.0), 1.0)
    rows = sampled(np.column_stack([x, x + off * rng.normal(size=5000)]))
    model = Model(Frame((0, 1), np.ones(2), np.zeros(2)), np.eye(2), 1.5, 5000, HuberLoss())
    for constant in (0.0, x.mean()):
        account = Account.open("farther", Fraction(1, 10), entropy=SeededEntropy(1))
        found, some = farther(rows, model, (np.array([0.0, 1.0]), 1.0), constant, 2.0, account)
        assert found.radius == (3.0 if share > 0.5 else 1.5)
        assert some == (share > 0.5)
        assert account.spent == (Pure(Fraction(1, 10)),)


def test_no_slope_is_an_answer_also_where_x_has_a_long_tail():
    """A fit that is nearly the constant can't be much worse than it for rows far out."""
    rng = np.random.default_rng(3)
    x, y = rng.lognormal(3, 1, size=(6000, 1)), rng.integers(18, 90, 6000)
    for seed in range(5):
        fit = ut.linear_regression(x, y, epsilon=2, entropy=SeededEntropy(seed))
        assert fit
        low, high = fit.interval(0.999)
        assert low[1] < 0 < high[1]


def last_step(moved: float, even: float) -> NewtonStep:
    return NewtonStep(np.ones(4), np.ones(4), 1.0, 0.8, 0.8, 0.04, moved, even, 0.0, 0.1, np.zeros((4, 4)))


def seen(*raw: float) -> Hessian:
    return Hessian(np.eye(4), np.array(raw), np.array(raw), 0.2, 0.1, 0.2)


def test_a_last_step_is_to_be_shorter_where_noise_covers_directions():
    for least, refused in ((0.5, False), (0.05, True)):
        assert _unsettled(last_step(0.28, 0.28), 0.0, seen(least, 0.9, 1.0, 1.1), HuberLoss()) == refused


def test_a_last_step_is_no_polish_if_it_is_long_in_a_faint_direction_or_several_slopes_are_faint():
    for even, raw, refused in (
        (0.32, (0.5, 0.9, 1.0, 1.1), False),
        (0.34, (0.5, 0.9, 1.0, 1.1), True),
        (0.28, (0.25, 0.9, 1.0, 1.1), False),
        (0.28, (0.25, 0.27, 1.0, 1.1), True),
    ):
        assert _unsettled(last_step(0.15, even), 0.0, seen(*raw), HuberLoss()) == refused


@pytest.mark.parametrize(
    ("n", "loss", "wanted"),
    [
        (4_000, HuberLoss(0.8), 0.45),
        (4_000, HuberLoss(3.0), 0.6217),
        (10**8, HuberLoss(0.8), 0.45),
        (4_000, LogisticLoss(), 0.1),
    ],
)
def test_the_share_of_residuals_inside_is_drawn_to_that_of_a_normal_law_where_it_is_noise(n, loss, wanted):
    """Of few rows a share may come out near 0, and make a step many times too long. Curvatures of classes vary."""
    model = Model(Frame((0, 1), np.ones(2), np.zeros(2), True), np.eye(2), 2.0, n, loss)
    account = Account.open("slope", Fraction(1, 200))
    assert _slope(0.1, model, account) == pytest.approx(wanted, abs=0.001)


def test_a_summary_and_json():
    found = ut.linear_regression(X, Y, epsilon=2, entropy=SeededEntropy(1))
    lines = found.summary(["age", "income", "rate"]).splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["intercept", "age", "income", "rate"]
    assert "95% interval" in lines[0]
    assert any("ε = 2.0" in line for line in lines[-3:])
    assert "people" not in found.summary()
    assert json.loads(found.to_json())["value"] == found.value.tolist()
    with pytest.raises(ut.InvalidArgument, match="3 names"):
        found.summary(["a"])


def test_scikit_learn_checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(ut.LinearRegression(epsilon=1e6, on_no_reply="nan", random_state=0))


def test_the_estimator():
    model = ut.LinearRegression(epsilon=2, random_state=3)
    frame = pd.DataFrame(X, columns=["age", "income", "rate"])
    fitted = clone(model).fit(frame, Y)
    assert np.abs((fitted.coef_ - BETA[1:]) * STEP[1:]).max() < 0.2
    assert fitted.score(frame, Y) > 0.5
    assert "income" in fitted.summary()
    quiet = ut.LinearRegression(epsilon=0.01, on_no_reply="nan").fit(X, Y)
    assert np.isnan(quiet.coef_).all()
    with pytest.raises(ut.NoReplyError):
        quiet.summary()
    holes = frame.copy()
    holes.iloc[::9, 0] = np.nan
    assert ut.LinearRegression(epsilon=2, missing="drop", random_state=1).fit(holes, Y).coef_.shape == (3,)


def test_a_session_asks_for_it_by_default():
    session = ut.open({"y": Y, "a": X[:, 0], "b": X[:, 1]}, entropy=SeededEntropy(1))
    found = session.regression("y", epsilon=2)
    assert found.mechanism == "linear regression by bounded sums"
    assert "intercept" in found.summary()
    assert "short-cut" in session.shortcut_regression("y", "a", epsilon=2).mechanism
    assert not session.regression("y", epsilon=0.001)
    assert session.spent.epsilon == 4
