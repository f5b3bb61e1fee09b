"""Linear regression by bounded sums."""

import itertools
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import uptack as ut
from uptack.multivariate import standardise
from uptack.multivariate.private_sums import Levels
from uptack.multivariate.standardise import DROPPED
from uptack.noise import SeededEntropy

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
    for seed in range(6):
        x, y = sample(20_000, seed)
        found = ut.linear_regression(x, y, epsilon=2, entropy=SeededEntropy(seed), **told)
        assert np.abs((found.value - BETA) * STEP).max() < 0.2
        assert found.privacy.epsilon <= 2
        low, high = found.interval(0.95)
        held.append((np.array(low) <= BETA) & (np.array(high) >= BETA))
    # 24 intervals of 95%, four in a fit hang together: fewer than 15 with a chance below 1e-6 were they independent
    assert np.sum(held) >= 15


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
    x[::50] *= 1e35  # gross errors
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
def test_rows_beyond_all_limits_are_left_out(size):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(5_000, 2))
    x[rng.random(5_000) < 0.1] *= size
    found = ut.linear_regression(x, x @ [2.0, -1.0] + rng.normal(size=5_000), epsilon=3, entropy=SeededEntropy(1))
    assert np.abs(found.value - [0, 2, -1]).max() < 0.15
    assert abs(found.noise.gross[0] - 500) < 8 * found.noise.gross[1]
    assert any("left out as gross errors" in note for note in found.notes)


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
    assert replies > 0


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
    found = ut.linear_regression(x, y, epsilon=2, missing="drop", entropy=SeededEntropy(1))
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


def test_columns_that_hardly_vary_are_named_and_declared_ones_have_a_coefficient():
    rng = np.random.default_rng(0)
    rare = (rng.random(20_000) < 0.004).astype(float)
    x = np.column_stack([X[:, 0], np.full(20_000, 7.0), rare])
    y = X[:, 0] + 2 * rare + rng.normal(size=20_000)
    found = ut.linear_regression(x, y, epsilon=2, entropy=SeededEntropy(1))
    assert not found
    assert found.advice.other == "more rows that differ in X[1], X[2]"
    session = ut.open({"y": y, "a": X[:, 0], "b": x[:, 1]}, entropy=SeededEntropy(1))
    assert session.linear_regression("y", "a", "b", epsilon=2).advice.other == "more rows that differ in b"
    for share in (0.02, 0.1):
        flag = (rng.random(20_000) < share).astype(float)
        y = X[:, 0] + 2 * flag + rng.normal(size=20_000)
        x = np.column_stack([X[:, 0], flag])
        declared = ut.linear_regression(x, y, epsilon=2, binary=[1], entropy=SeededEntropy(1))
        assert abs(declared.value[2] - 2) < 5 * declared.noise.standard_errors[2] < 2


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
    assert refused.advice.n <= 4_200
    x, y = sample(refused.advice.n)
    assert all(ut.linear_regression(x, y, epsilon=1, entropy=SeededEntropy(seed)) for seed in range(4))
    least = int(refused.advice.n / 1.2)
    assert ut.linear_regression(x[:least], y[:least], epsilon=1, entropy=SeededEntropy(2)).privacy.epsilon > 0
    assert ut.linear_regression(x[: least - 1], y[: least - 1], epsilon=1).privacy.epsilon == 0
    secret = ut.linear_regression(X[:200], Y[:200], epsilon=1, adjacency=ut.ADD_REMOVE)
    assert not secret
    assert 0 < secret.privacy.epsilon < 0.03


def test_a_response_that_hardly_varies_is_refused():
    assert not ut.linear_regression(X, np.zeros(20_000), epsilon=2, entropy=SeededEntropy(1))


def test_an_exact_fit_has_an_answer():
    x = np.random.default_rng(0).normal(size=(20_000, 2))
    found = ut.linear_regression(x, 1 + x @ [2.0, -1.0], epsilon=1, entropy=SeededEntropy(1))
    assert np.abs(found.value - [1, 2, -1]).max() < 0.05


@pytest.mark.parametrize("law", ["gamma", "mixed"])
def test_it_is_least_squares_that_is_estimated(law):
    """Skewed errors, and slopes that differ between rows: a fit that clips residuals by themselves is far off."""
    held = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(20_000, 2))
        y = x @ [1.0, 0.5] + rng.gamma(1, size=20_000)
        if law == "mixed":
            y = np.where(rng.random(20_000) < 0.3, 5.0, 1.0) * x[:, 0] + rng.normal(size=20_000)
        truth = np.array([1.0, 1.0, 0.5]) if law == "gamma" else np.array([0.0, 2.2, 0.0])
        found = ut.linear_regression(x, y, epsilon=1, entropy=SeededEntropy(seed))
        low, high = found.interval(0.95)
        held.append((low <= truth) & (truth <= high))
        robust = ut.linear_regression(x, y, loss="huber", epsilon=1, entropy=SeededEntropy(seed))
        assert np.abs((robust.value - truth) / robust.noise.standard_errors).max() > 2.5
    # 12 intervals of 95%: fewer than 6 with a chance below 1e-6 were they independent
    assert np.sum(held) >= 6


def test_intervals_hold_the_slope_of_a_line_that_bends_far_out():
    """A few hundred rows far out disagree with the others. With less weight for them few intervals held the slope."""
    held = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        a = rng.gamma(1, 1, 20_000)
        y = 2 * np.minimum(a, 2) + 0.5 * rng.normal(size=a.size)
        found = ut.linear_regression(a[:, None], y, epsilon=1, entropy=SeededEntropy(seed))
        target = np.polyfit(a, y, 1)[0]
        low, high = found.interval()
        held.append(low[1] <= target <= high[1])
    assert sum(held) >= 7


def test_losses_have_names_and_targets():
    found = {
        loss: ut.linear_regression(X, Y, loss=loss, epsilon=2, entropy=SeededEntropy(1))
        for loss in ("squares", "huber")
    }
    assert "estimates the least-squares coefficients" in found["squares"].summary()
    assert "Huber" in found["huber"].summary()
    assert np.abs((found["huber"].value - BETA) * STEP).max() < 0.2
    with pytest.raises(ut.InvalidArgument, match=r"^loss must be"):
        ut.linear_regression(X, Y, epsilon=1, loss="squared")
    assert (
        ut.LinearRegression(epsilon=2, loss="huber", random_state=1).fit(X, Y).release_.value.tobytes()
        == found["huber"].value.tobytes()
    )


def test_standard_errors_are_whites_where_noise_is_small():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40_000, 1))
    for y in (2 + x[:, 0] + x[:, 0] * rng.normal(size=40_000), rng.standard_t(5, size=40_000)):
        found = ut.linear_regression(x, y, epsilon=100, entropy=SeededEntropy(1))
        design = np.column_stack([np.ones(len(x)), x])
        away = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
        bread = np.linalg.inv(design.T @ design)
        white = np.sqrt(np.diag(bread @ (design.T * away**2) @ design @ bread))
        assert np.array(found.noise.standard_errors) == pytest.approx(white, rel=0.2)


def test_a_summary_and_json():
    found = ut.linear_regression(X, Y, epsilon=2, entropy=SeededEntropy(1))
    lines = found.summary(["age", "income", "rate"]).splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["intercept", "age", "income", "rate"]
    assert "95% interval" in lines[0]
    assert any("ε = 2.0" in line for line in lines[5:])
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


def test_hubers_loss_states_its_cutoff_in_units_of_y():
    rng = np.random.default_rng(3)
    x, residuals = rng.normal(size=(20_000, 2)), 1000 * rng.normal(size=20_000)
    found = ut.linear_regression(x, x @ [500, 0] + residuals, loss="huber", epsilon=1, entropy=SeededEntropy(1))
    assert float(found.noise.target.split()[-1]) == pytest.approx(1345, rel=0.1)
    assert found.noise.target in " ".join(found.notes)


@pytest.mark.parametrize("person", [None, np.arange(50_000) // 2], ids=["rows", "people"])
def test_few_complete_rows_of_a_public_number_make_enough_pairs(person):
    """Of random pairs of all rows only one in a hundred has two complete rows here, too few for any unit."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(50_000, 2))
    y = 1 + x @ [2.0, -1.0] + rng.normal(size=50_000)
    y[rng.random(50_000) < 0.9] = np.nan
    fit = ut.linear_regression(x, y, epsilon=1, missing="drop", person=person, entropy=SeededEntropy(1))
    assert np.abs(fit.value - [1, 2, -1]).max() < 0.3


def test_a_narrow_filter_leaves_a_regression():
    rng = np.random.default_rng(6)
    x, ward = rng.normal(size=50_000), (rng.random(50_000) < 0.1) * 1
    table = ut.open({"x": x, "y": 3 * x + rng.normal(size=50_000), "ward": ward}, entropy=SeededEntropy(1))
    assert table.where("ward == 1").regression("y", ["x"], epsilon=1).value[1] == pytest.approx(3, abs=0.2)
