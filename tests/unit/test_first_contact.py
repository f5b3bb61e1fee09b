"""What somebody meets who comes from statsmodels and scikit-learn: names, kinds, refusals that say what to do."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import uptack as ut

RNG = np.random.default_rng(5)
N = 6000
FRAME = pd.DataFrame({"age": RNG.normal(50, 10, N), "ill": RNG.random(N) < 0.3, "my dose": RNG.gamma(3, 2, N)})
COST = 10 + 2 * FRAME.age + 5 * FRAME.ill - 3 * FRAME["my dose"] + RNG.normal(size=N)
WARD = pd.array(np.where(RNG.random(N) < 0.5, "north", "south"), dtype="string")
NAMES = ("intercept", "age", "ill", "my dose")


def fit(x, y=COST, **told):
    return ut.linear_regression(x, y, epsilon=3, entropy=ut.SeededEntropy(1), **told)


def test_coefficients_have_the_names_of_a_frames_columns():
    found = fit(FRAME)
    assert found.labels == fit(pl.from_pandas(FRAME), pl.from_pandas(COST)).labels == NAMES
    assert [line.split("  ")[0].strip() for line in found.summary().splitlines()[1:5]] == [*NAMES]
    assert fit(FRAME.to_numpy(np.float64)).labels == ("intercept", "x0", "x1", "x2")
    assert fit(pd.DataFrame(FRAME.to_numpy(np.float64))).labels == ("intercept", "x0", "x1", "x2")


def test_truth_values_are_declared_by_their_type_and_others_by_name():
    declared = fit(FRAME.to_numpy(np.float64), binary=[1]).value
    floats = FRAME.astype(float)
    for found in (fit(FRAME), fit(floats, binary=["ill"]), fit(floats, binary=[1]), fit(floats, binary="ill")):
        assert (found.value == declared).all()
    session = ut.open(FRAME.assign(cost=COST), entropy=ut.SeededEntropy(1), missing="error")
    names = ["age", "ill", "my dose"]
    assert (session.regression("cost", names, epsilon=3).value == declared).all()
    made = ut.LinearRegression(epsilon=3, random_state=1).fit(FRAME, COST)
    assert (made.coef_ == declared[1:]).all()
    assert made.release_.labels == NAMES
    with pytest.raises(ut.InvalidArgument, match=r"^binary must be columns of X, 'age', .*, got 'sick'"):
        fit(FRAME, binary=["sick"])
    with pytest.raises(ut.InvalidArgument, match=r"^binary must be column numbers from 0 to 2, .*got 9"):
        fit(FRAME, binary=[9])
    with pytest.raises(ut.InvalidArgument, match=r"^binary must be column numbers, because X has no column names"):
        fit(FRAME.to_numpy(np.float64), binary=["ill"])


def test_kinds_are_refused_with_what_to_do():
    with pytest.raises(ut.InvalidArgument, match=r"^X\['ward'\] must be.*formula=\"y ~ ward\", levels={'ward'"):
        fit(FRAME.assign(ward=WARD))
    with pytest.raises(ut.InvalidArgument, match=r"^y must be a column of numbers.*logistic_regression"):
        fit(FRAME, pd.Series(WARD))
    with pytest.raises(ut.InvalidArgument, match=r"^y must be a column of numbers, got 'cost'.*formula='cost ~"):
        fit(FRAME, "cost")
    with pytest.raises(ut.InvalidArgument, match=r"^X and y must be.*y one of the two classes.*classes="):
        ut.logistic_regression(FRAME, WARD, epsilon=1)


@pytest.mark.parametrize("estimator", [ut.LinearRegression, ut.LogisticRegression, ut.ShortcutRegression])
@pytest.mark.parametrize("ward", [WARD, WARD.astype(object), [*WARD]], ids=["texts", "objects", "list"])
def test_no_message_of_an_estimator_shows_a_row(estimator, ward):
    frame = FRAME.assign(ward=ward)
    for x, y in ((frame, COST > 0), (frame.to_numpy(), COST > 0)):
        with pytest.raises(ut.InvalidArgument, match="numbers") as refused:
            estimator().fit(x, y)
        assert "north" not in str(refused.value)
        assert "south" not in str(refused.value)
        assert refused.value.__context__ is None
    if estimator is not ut.LogisticRegression:
        with pytest.raises(ut.InvalidArgument, match="numbers") as refused:
            estimator().fit(FRAME, ward)
        assert "north" not in str(refused.value)
        assert "south" not in str(refused.value)


def test_estimators_keep_to_scikit_learns_conventions():
    classes = ("north", "south")
    odds = 1 / (1 + np.exp(-(FRAME.age - 50) / 5))
    where = np.where(RNG.random(N) < odds, "south", "north")
    made = ut.LogisticRegression(epsilon=5, classes=classes, random_state=1).fit(FRAME, where)
    assert made.coef_.shape == (1, 3)
    assert made.intercept_.shape == (1,)
    assert np.allclose(np.exp(made.predict_log_proba(FRAME)), made.predict_proba(FRAME))
    again = pickle.loads(pickle.dumps(made))
    assert (again.predict(FRAME) == made.predict(FRAME)).all()
    assert clone(made).get_params() == made.get_params()
    with pytest.raises(ut.InvalidArgument, match=r"^X must be free of NaN.*missing='drop'"):
        ut.LinearRegression().fit(FRAME.assign(age=FRAME.age.mask(FRAME.age > 60)), COST)


def test_formulas_take_names_in_backticks_and_truth_values_as_categories():
    frame = FRAME.assign(cost=COST)
    named = fit(frame, None, formula="cost ~ log(`my dose` + 1) + C(ill) + I(`my dose`/2)")
    assert named.labels == ("intercept", "log(`my dose` + 1)", "ill[True]", "I(`my dose` / 2)")
    plain = fit(frame.rename(columns={"my dose": "dose"}), None, formula="cost ~ log(dose + 1) + ill + I(dose/2)")
    assert (named.value == plain.value).all()


REFUSED = {
    "cost ~ Q('my dose')": "backticks",
    "cost ~ poly(age, 2)": r"powers out.*I\(x\*\*2\)",
    "cost ~ bs(age, df=4)": "powers out",
    "cost ~ scale(age)": "public numbers",
    "cost ~ C(ill, Treatment(True))": "reference level",
    "cost ~ log(age, 10)": "log10",
    "cost ~ I(age > 60)": "column of truth values",
    "cost ~ I(age^2)": r"powers with \*\*",
    "cost ~ .": "instead of the dot",
    "cost ~ 1": "Add a predictor",
    "~ age": "Put the response",
    "cost + age ~ ill": "one response",
    "cost ~ age | ill": r"is not supported",
    "cost ~ age > 60": "Unknown operator",
    "cost ~ cost": "predictors do not include the response",
    "cost ~ agee": "Did you mean 'age'",
    "C(ward) ~ age": "logistic_regression",
    "ward ~ age": "logistic_regression",
    "cost ~ day": "public date",
}


@pytest.mark.parametrize("formula", REFUSED)
def test_a_formula_that_is_refused_says_what_to_write(formula):
    frame = FRAME.assign(cost=COST, ward=WARD, day=pd.Timestamp("2024-02-29"))
    with pytest.raises(ut.InvalidArgument, match=rf"^formula must be.*{REFUSED[formula]}"):
        fit(frame, None, formula=formula)


def test_a_column_of_python_objects_is_pointed_out():
    """As pandas 2 reads texts from a file. Their type is not declared, so a bare name means numbers."""
    frame = FRAME.assign(cost=COST, ward=pd.Series(WARD, dtype=object))
    with pytest.raises(ut.InvalidArgument, match=r"Texts in columns of dtype object .*write C\(name\)"):
        fit("cost ~ age + ward", frame)
    assert "ward[south]" in fit("cost ~ age + C(ward)", frame, delta=1e-6).labels
    refused = ut.open(frame, entropy=ut.SeededEntropy(1)).linear_regression("cost ~ age + ward", epsilon=3)
    assert "ward has no declared type" in refused.reason
    assert "C(ward)" in refused.reason


def test_sessions_take_names_in_a_list_or_one_by_one():
    ward = np.where(RNG.random(N) < 1 / (1 + np.exp(50 - FRAME.age)), "south", "north")
    frame = FRAME.assign(cost=COST, ward=pd.array(ward, dtype="string"))

    def asked(name, *columns, **told):
        return getattr(ut.open(frame, entropy=ut.SeededEntropy(1)), name)(*columns, epsilon=5, **told)

    for name in ("regression", "quantile_regression", "shortcut_regression", "scatter"):
        one, other = asked(name, "cost", "age", "my dose"), asked(name, "cost", ["age", "my dose"])
        assert one.table() == other.table()
    assert asked("scatter", "cost", "age").value.names == ("cost", "age")
    with pytest.raises(ut.InvalidArgument, match="other than the response"):
        asked("regression", "cost", ["age", "cost"])
    assert asked("regression", "cost ~ age").table() == asked("regression", formula="cost ~ age").table()
    with pytest.raises(ut.InvalidArgument, match=r"^classes must be given.*'ward', is a text"):
        asked("logistic_regression", "ward", ["age"])
    told = {"classes": ("north", "south")}
    assert asked("logistic_regression", "ward", ["my dose"], **told).labels == ("intercept", "my dose")


def test_a_summary_has_digits_by_its_errors_and_all_that_is_to_be_known():
    x = FRAME.assign(same=FRAME.age)
    lines = fit(x).summary().splitlines()
    assert "not resolved" in next(line for line in lines if line.startswith("age"))
    assert any("not resolved: too few rows for this ε" in line for line in lines)
    assert fit(FRAME.assign(fixed=1.0)).advice.other == "more rows that differ in fixed"
    assert lines[-1] == "NOT PRIVATE: seeded randomness"
    dose = next(line for line in lines if line.startswith("my dose")).split()
    assert len({len(cell.partition(".")[2]) for cell in (dose[2], dose[3], dose[5], dose[7])}) == 1
    found = fit(x)
    assert found.table().text(99).splitlines()[1:7] == lines[:6]
    assert "inf" not in found.table().html()


def test_pictures_tell_of_what_has_no_interval():
    pytest.importorskip("matplotlib").use("Agg")
    found = fit(FRAME.assign(same=FRAME.age))
    for scale in ("units", "errors"):
        names = [tick.get_text() for tick in found.plot(scale=scale).get_yticklabels()]
        assert names == ["intercept", "age  (not resolved)", "ill", "my dose", "same  (not resolved)"]
    shape = ut.scatter(FRAME[["age", "my dose"]].assign(cost=COST), epsilon=3, entropy=ut.SeededEntropy(1))
    axes = shape.plot()
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["age", "my dose", "cost"]
    assert len(axes.texts) == 9


@pytest.mark.parametrize("name", ["__named__", "__named__61", "__named__zz", "a\ud800b", "log(x)", "ж ж", "C(x)"])
def test_names_in_backticks_may_be_any_texts(name):
    frame = {"cost": COST.to_numpy(), name: FRAME.age.to_numpy(), "a": np.zeros(N)}
    plain = {"cost": COST.to_numpy(), "age": FRAME.age.to_numpy()}
    found, wanted = fit(frame, None, formula=f"cost ~ I(`{name}`*2)"), fit(plain, None, formula="cost ~ I(age*2)")
    assert (found.value == wanted.value).all()
    with pytest.raises(ut.InvalidArgument, match=r"^formula must be"):
        fit(frame, None, formula="cost ~ I(``)")


def test_levels_of_a_misspelled_column_are_refused():
    with pytest.raises(ut.InvalidArgument, match=r"^no column named .agee.\. Did you mean .age."):
        ut.linear_regression(FRAME.assign(cost=COST), formula="cost ~ age", levels={"agee": ["north"]}, epsilon=1)


def test_fits_per_group_name_their_columns():
    session = ut.open(FRAME.assign(cost=COST, half=np.arange(len(FRAME)) % 2), entropy=ut.SeededEntropy(1))
    found = session.linear_regression("cost", "age", by="half", groups=[0, 1], epsilon=100)
    assert [fit.labels for fit in found.value.values()] == [("intercept", "age")] * 2


def test_epsilon_is_a_positive_number_in_sessions():
    session = ut.open({"age": np.arange(1000)})
    for wrong in (-1, 0, "high", None, True):
        with pytest.raises(ut.InvalidArgument, match=r"^epsilon must be a positive number"):
            session.median("age", epsilon=wrong)


def test_bounds_are_not_needed():
    with pytest.raises(ut.UptackError, match="No bounds are needed"):
        ut.mean(np.arange(1000), epsilon=1, lower=0)
