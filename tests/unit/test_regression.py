import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import uptack as ut
from uptack.blocks.partition import equal_blocks, independent_blocks
from uptack.noise import SeededEntropy
from uptack.papers.block_fits import fit_blocks
from uptack.privacy import Privacy, cost

BETA = np.array([3.0, 1.0, -2.0])  # intercept first


def sample(n, seed=0, outliers=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    y = BETA[0] + x @ BETA[1:] + rng.normal(size=n)
    broken = int(outliers * n)
    y[:broken] += rng.choice([-1, 1], broken) * 1e6
    return x, y


X, Y = sample(20_000)


@pytest.mark.parametrize("kind", ["huber", "lad", "ols"])
def test_coefficients_are_close(kind):
    r = ut.shortcut_regression(X, Y, epsilon=1, block_fit=kind, entropy=SeededEntropy(1))
    assert np.abs(r.value - BETA).max() < 0.06
    assert r.privacy == cost(r.loss) == Privacy(1)


def test_it_rivals_least_squares():
    """ε = 1, n = 20,000: within 1.6 times the error of least squares, and far below it with 1% gross outliers."""
    ours, theirs, hurt_ours, hurt_theirs = [], [], [], []
    for seed in range(10):
        for outliers, mine, plain in ((0.0, ours, theirs), (0.01, hurt_ours, hurt_theirs)):
            x, y = sample(20_000, seed, outliers)
            r = ut.shortcut_regression(x, y, epsilon=1, entropy=SeededEntropy(seed))
            mine.append(np.linalg.norm(r.value - BETA))
            design = np.column_stack([np.ones(len(x)), x])
            plain.append(np.linalg.norm(np.linalg.lstsq(design, y, rcond=None)[0] - BETA))
    assert np.mean(ours) < 1.6 * np.mean(theirs)
    assert np.mean(hurt_ours) < 0.001 * np.mean(hurt_theirs)


def test_other_methods_and_adjacencies():
    x, y = sample(200_000)
    for method in ("ptr", "dwork-lei"):
        r = ut.shortcut_regression(x, y, epsilon=5, delta=1e-6, method=method, entropy=SeededEntropy(2))
        assert r.privacy == Privacy(5, 1e-6)
        assert np.abs(r.value - BETA).max() < 1
    r = ut.shortcut_regression(X, Y, epsilon=1, adjacency=ut.ADD_REMOVE, entropy=SeededEntropy(3))
    assert r.privacy == Privacy(1, 0, ut.ADD_REMOVE)
    assert np.abs(r.value - BETA).max() < 0.1
    r = ut.shortcut_regression(X, Y, epsilon=2, rows_per_person=2, entropy=SeededEntropy(3))
    assert r.privacy == Privacy(2, 0, ut.SUBSTITUTE.per_person(2))


def test_standard_errors_are_paid_for_and_cover():
    covered = []
    for seed in range(20):
        x, y = sample(10_000, seed)
        r = ut.shortcut_regression(x, y, epsilon=2, standard_errors=True, entropy=SeededEntropy(seed))
        low, high = r.interval(0.95)
        covered.append((np.array(low) <= BETA) & (np.array(high) >= BETA))
        assert r.privacy == Privacy(2)
    assert 0.88 < np.mean(covered) <= 1
    with pytest.raises(ut.errors.NoInterval):
        ut.shortcut_regression(X, Y, epsilon=1).interval()


def test_no_reply_says_which_n_would_do():
    x, y = sample(300)
    r = ut.shortcut_regression(x, y, epsilon=1)
    assert not r
    assert r.privacy == Privacy(0)
    assert ut.shortcut_regression(*sample(r.advice.n), epsilon=1)
    refused = ut.shortcut_regression(X, Y, epsilon=1, delta=1e-6, method="dwork-lei")
    assert not refused
    assert refused.advice.n > len(X)


def test_one_row_moves_one_block():
    members = equal_blocks(1000, 90, SeededEntropy(5))
    x, y = sample(1000)
    for kind in ("ols", "huber", "lad"):
        before = fit_blocks(x, y, members, kind)
        changed = y.copy()
        changed[17] = 1e300
        after = fit_blocks(x, changed, members, kind)
        assert (before != after).any(axis=1).sum() == (kind != "lad")  # the row stays on its side of the fit
        assert np.isfinite(after).all()


@pytest.mark.parametrize("split", [equal_blocks, independent_blocks])
@pytest.mark.parametrize(("n", "blocks"), [(0, 3), (1, 4), (10, 3), (1000, 7), (1001, 1001)])
def test_every_row_is_in_one_block(split, n, blocks):
    members = split(n, blocks, SeededEntropy(1))
    assert len(members) == blocks
    assert sorted(members[members >= 0].tolist()) == list(range(n))
    if split is equal_blocks:
        assert np.ptp((members >= 0).sum(axis=1)) <= 1


def test_the_partition_is_uniform():
    """Row 0 is in each block alike, and a partition by row number is not."""
    counts = np.zeros(5)
    for seed in range(2000):
        counts[np.argwhere(equal_blocks(10, 5, SeededEntropy(seed)) == 0)[0, 0]] += 1
    assert np.abs(counts - 400).max() < 6 * np.sqrt(400 * 0.8)


def test_many_columns():
    rng = np.random.default_rng(0)
    beta = rng.normal(size=30)
    x = rng.normal(size=(60_000, 30))
    y = x @ beta + rng.normal(size=60_000)
    r = ut.shortcut_regression(x, y, epsilon=4, fit_intercept=False, block_fit="ols", entropy=SeededEntropy(1))
    assert np.abs(r.value - beta).max() < 0.1


def test_frames_and_missing_rows():
    frame = pd.DataFrame(X, columns=["a", "b"])
    for x, y in ((frame, pd.Series(Y)), (pl.DataFrame(X, schema=["a", "b"]), pl.Series(Y))):
        r = ut.shortcut_regression(x, y, epsilon=1, entropy=SeededEntropy(1))
        assert np.abs(r.value - BETA).max() < 0.06
    holes = X.copy()
    holes[::50, 0] = np.nan
    with pytest.raises(ut.InvalidArgument, match="missing='drop'"):
        ut.shortcut_regression(holes, Y, epsilon=1)
    r = ut.shortcut_regression(holes, Y, epsilon=1, missing="drop", entropy=SeededEntropy(1))
    assert np.abs(r.value - BETA).max() < 0.08


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"method": "ptr"}, "delta"),
        ({"block_fit": "magic"}, "block_fit"),
        ({"blocks": 0}, "blocks"),
        ({"blocks": 19_000}, "blocks"),
        ({"missing": "low"}, "missing"),
        ({"adjacency": "remove"}, "adjacency"),
        ({"y": Y[:-1]}, "y"),
        ({"y": np.column_stack([Y, Y])}, "y"),
        ({"x": np.array([["a"]] * 20_000)}, "X"),
    ],
)
def test_bad_arguments_are_named(change, wrong):
    arguments = {"x": X, "y": Y, "epsilon": 1, **change}
    with pytest.raises(ut.InvalidArgument) as caught:
        ut.shortcut_regression(arguments.pop("x"), arguments.pop("y"), **arguments)
    assert caught.value.name == wrong


@pytest.mark.parametrize("estimator", [ut.ShortcutRegression, ut.HampelRegression])
def test_scikit_learn_checks(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(estimator(epsilon=1e6, on_no_reply="nan", random_state=0))


def test_an_estimator_does_what_scikit_learn_users_expect():
    model = ut.ShortcutRegression(epsilon=1, random_state=3)
    fitted = clone(model).fit(X, Y)
    assert np.abs(fitted.coef_ - BETA[1:]).max() < 0.06
    assert fitted.intercept_ == pytest.approx(3, abs=0.06)
    assert fitted.privacy_ == Privacy(1)
    assert not fitted.release_.private
    assert fitted.score(X, Y) > 0.8
    assert make_pipeline(StandardScaler(), model).fit(X, Y).score(X, Y) > 0.8
    assert ut.ShortcutRegression(epsilon=1).fit(X, Y).release_.private
    with pytest.raises(ut.NoReplyError):
        model.fit(X[:100], Y[:100])
    quiet = ut.ShortcutRegression(epsilon=1, on_no_reply="nan").fit(X[:100], Y[:100])
    assert np.isnan(quiet.coef_).all()
    assert np.isnan(quiet.predict(X[:5])).all()
    assert np.isnan(quiet.score(X, Y))


def test_the_robust_estimator_passes_all_it_is_told_to_the_release():
    model = ut.HampelRegression(epsilon=4, delta=1e-5, random_state=3)
    fitted = clone(model).fit(X, Y)
    assert np.abs(fitted.coef_ - BETA[1:]).max() < 0.6
    assert fitted.privacy_ == Privacy(4, 1e-5)
    assert fitted.score(X, Y) > 0.6
    told = {"fit_intercept": False, "rows_per_person": 2, "adjacency": ut.ADD_REMOVE, "missing": "drop"}
    holes = np.where(np.arange(len(X))[:, None] % 50 == 0, np.nan, X)
    free = clone(model).set_params(**told).fit(holes, Y - BETA[0])
    assert free.privacy_ == Privacy(4, 1e-5, ut.ADD_REMOVE.per_person(2))
    assert free.intercept_ == 0
    assert free.coef_.shape == (2,)
    with pytest.raises(ut.NoReplyError, match="short-cut regression"):
        model.fit(np.zeros((100, 4)), np.zeros(100))


def test_a_picture_of_coefficients():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    r = ut.shortcut_regression(X, Y, epsilon=2, standard_errors=True)
    ax = ut.plot_coefficients(r, ["intercept", "a", "b"])
    assert [t.get_text() for t in ax.get_yticklabels()] == ["intercept", "a", "b"]
    assert ut.plot_coefficients(ut.shortcut_regression(X, Y, epsilon=1)) is not None


@pytest.mark.parametrize("method", ["inverse", "ptr", "dwork-lei"])
def test_an_empty_table_is_no_error_where_its_size_is_secret(method):
    delta = {} if method == "inverse" else {"delta": 1e-3}
    for seed in range(30):
        entropy = ut.SeededEntropy(seed)
        asked = {"epsilon": 1, "method": method, "adjacency": ut.ADD_REMOVE, "fit_intercept": False, **delta}
        ut.shortcut_regression(np.zeros((0, 1)), np.zeros(0), entropy=entropy, **asked)


def test_too_many_blocks_of_a_secret_number_of_rows_are_refused_and_charged():
    x = np.arange(1000.0)
    refused = ut.shortcut_regression(x, x, epsilon=1, blocks=10**9, adjacency=ut.ADD_REMOVE)
    assert not refused
    assert refused.privacy.epsilon == 0.1
    with pytest.raises(ut.InvalidArgument, match="blocks"):
        ut.shortcut_regression(x, x, epsilon=1, blocks=10**9)


@pytest.mark.parametrize("odd", [None, float("nan"), 10**400])
def test_one_row_decides_nothing_about_the_table(odd):
    x = np.random.default_rng(3).normal(size=4000).tolist()
    y = [2 * v for v in x]
    y[5] = odd
    for rows in ((x, y), (y, x)):
        assert ut.shortcut_regression(*rows, epsilon=5, missing="drop")
    holes = np.array([np.nan if v is odd else v for v in y])
    assert ut.ShortcutRegression(epsilon=5, missing="drop").fit(np.array(x)[:, None], holes).release_
