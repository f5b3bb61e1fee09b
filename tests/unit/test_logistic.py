"""Logistic regression by bounded sums."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import uptack as ut
from uptack.noise import SeededEntropy
from uptack.regression.losses import logistic

BETA = np.array([-1.0, 1.0, -0.002, 20.0])
STEP = np.array([1.0, 1.0, 1000.0, 0.05])
"""What brings all coefficients to the scale of predictors."""


def sample(n, seed=0, beta=BETA):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)) / STEP[1:] ** -1
    return x, (rng.random(n) < expit(beta[0] + x @ beta[1:])).astype(int)


X, Y = sample(20_000)


def fit(x, y, seed=1, **told):
    return ut.logistic_regression(x, y, **{"epsilon": 2, **told}, entropy=SeededEntropy(seed))


@pytest.mark.parametrize("told", [{}, {"adjacency": ut.ADD_REMOVE}, {"rows_per_person": 2, "epsilon": 4}])
def test_coefficients_are_close_and_intervals_hold_them(told):
    held = []
    for seed in range(4):
        found = fit(*sample(20_000, seed), seed, **told)
        assert np.abs((found.value - BETA) * STEP).max() < 0.3
        assert found.privacy.epsilon <= told.get("epsilon", 2)
        low, high = found.interval(0.95)
        held.append((np.array(low) <= BETA) & (np.array(high) >= BETA))
    # 16 intervals of 95%: fewer than 9 with a chance below 1e-6 were they independent
    assert np.sum(held) >= 9


def test_the_curve_is_the_logistic_one():
    t = np.r_[np.linspace(-40, 40, 1001), 0.0, 1e308, -1e308, 700.0, -745.0]
    assert np.allclose(logistic(t), expit(t), rtol=1e-13, atol=1e-300)
    with np.errstate(all="raise"):
        logistic(t)


def test_a_row_adds_the_same_wherever_it_stands():
    t = np.random.default_rng(0).normal(size=1001) * 30
    assert (logistic(t) == np.concatenate([logistic(t[i : i + 1]) for i in range(len(t))])).all()


def test_classes_are_declared():
    words = np.where(Y == 1, "ill", "well")
    found = fit(X, words, classes=("well", "ill"))
    assert (found.value == fit(X, Y).value).all()
    assert (found.value == fit(X, Y == 1).value).all()
    turned = fit(X, Y, classes=(1, 0))
    assert np.abs((turned.value + BETA) * STEP).max() < 0.3
    other = Y.astype(float)
    other[::5] = 2.0
    with pytest.raises(ut.InvalidArgument, match="y one of the two classes"):
        fit(X, other)
    assert fit(X, other, missing="drop")
    for wrong in ((0, 0), (1, True), (0, 1, 2), "01", (0, None), 3, (0, np.nan)):
        with pytest.raises(ut.InvalidArgument, match=r"^classes must be"):
            fit(X, Y, classes=wrong)


def test_classes_of_people():
    words = np.where(Y == 1, "ill", "well")
    found = fit(X, words, classes=("well", "ill"), person=np.arange(20_000) // 2, epsilon=4)
    assert np.abs((found.value - BETA) * STEP).max() < 0.4
    assert "people" in str(found.privacy)


def test_separated_classes_are_refused():
    x = np.random.default_rng(0).normal(size=(20_000, 2))
    for seed in range(3):
        assert not fit(x, x[:, 0] > 0, seed)


def test_rare_classes_and_columns_of_0_and_1():
    rng = np.random.default_rng(0)
    flag = rng.random(40_000) < 0.2
    x = np.column_stack([rng.normal(size=40_000), flag])
    y = rng.random(40_000) < expit(-3 + x @ [0.8, 1.0])
    found = fit(x, y, binary=[1])
    assert np.abs(found.value - [-3, 0.8, 1.0]).max() < 0.3
    assert not fit(x, np.zeros(40_000))


def test_far_rows_hardly_count():
    x, y = X.copy(), Y.copy()
    x[:200], y[:200] = 1e9, 0
    assert np.abs((fit(x, y).value - BETA) * STEP).max() < 0.4


def test_too_few_rows_are_refused_for_nothing():
    refused = ut.logistic_regression(X[:300], Y[:300], epsilon=1)
    assert not refused
    assert refused.privacy.epsilon == 0
    assert fit(X[: refused.advice.n], Y[: refused.advice.n], epsilon=1).privacy.epsilon > 0


def test_scikit_learn_checks():
    other = "classes are declared, and never read off y"
    names = ("check_estimators_dtypes", "check_classifier_data_not_an_array", "check_classifiers_classes",
             "check_classifiers_regression_target", "check_classifier_not_supporting_multiclass",
             "check_fit2d_1feature", "check_classifiers_one_label")  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ut.LogisticRegression(epsilon=1e6, on_no_reply="nan", random_state=0)
        check_estimator(model, expected_failed_checks=dict.fromkeys(names, other))


def test_the_estimator():
    frame = pd.DataFrame(X, columns=["age", "income", "rate"])
    model = clone(ut.LogisticRegression(epsilon=2, random_state=3)).fit(frame, Y)
    assert np.abs((model.coef_ - BETA[1:]) * STEP[1:]).max() < 0.3
    assert np.allclose(model.predict_proba(frame).sum(axis=1), 1)
    assert ((model.decision_function(frame) > 0) == (model.predict(frame) == 1)).all()
    assert model.score(frame, Y) > 0.7
    assert "income" in model.summary()
    words = ut.LogisticRegression(epsilon=2, classes=("no", "yes"), random_state=3).fit(
        X, np.where(Y == 1, "yes", "no")
    )
    assert set(words.predict(X)) == {"no", "yes"}
    quiet = ut.LogisticRegression(epsilon=0.01, on_no_reply="nan").fit(X, Y)
    assert np.isnan(quiet.predict_proba(X)).all()
    assert np.isnan(quiet.score(X, Y))


def test_a_session():
    session = ut.open({"y": Y, "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}, entropy=SeededEntropy(1))
    found = session.logistic_regression("y", "a", "b", "c", epsilon=2)
    assert np.abs((found.value - BETA) * STEP).max() < 0.3


def test_a_formula_reads_classes_of_a_column_of_objects():
    """Columns of texts are that in pandas 2, and any column with a text among its numbers."""
    pytest.importorskip("formulaic")
    rng = np.random.default_rng(1)
    x = rng.normal(size=6000)
    sick = rng.random(6000) < 1 / (1 + np.exp(-x))
    known = ut.logistic_regression(x[:, None], sick, epsilon=5, entropy=SeededEntropy(1))
    for classes in (("no", "yes"), ("never", 2)):
        column = pd.Series([classes[int(one)] for one in sick], dtype=object)
        frame = pd.DataFrame({"x": x, "sick": column})
        fit = ut.logistic_regression(frame, formula="sick ~ x", classes=classes, epsilon=5, entropy=SeededEntropy(1))
        assert fit.value.tolist() == known.value.tolist()


def test_classes_that_are_nearly_separated_have_coefficients():
    """A last step is long in units of η here, which is 8 on average. It is short for the rows between the classes."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(30_000, 1))
    y = (rng.random(30_000) < 1 / (1 + np.exp(-(2 + 8 * x[:, 0])))).astype(float)
    for seed in range(3):
        fit = ut.logistic_regression(x, y, epsilon=1, entropy=SeededEntropy(seed))
        low, high = map(np.asarray, fit.interval(0.999))
        assert ((low < [2, 8]) & (high > [2, 8])).all()
