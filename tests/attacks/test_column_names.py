"""Names of columns that formulas and frames once took for others, and levels and messages that said too much."""

from __future__ import annotations

import traceback

import numpy as np
import pandas as pd
import pytest

import uptack as ut
from tests.helpers import designed
from uptack import InvalidArgument, linear_regression
from uptack.noise import SeededEntropy
from uptack.privacy import loss
from uptack.regression.coefficients import LinearErrors, RegressionRelease, table_lines
from uptack.regression.formulas import read

ROWS = pd.DataFrame(
    {"y": [0.0, 1.0], "µ": [1.0, 2.0], "μ": [3.0, 5.0], "ﬁ": [7.0, 7.0], "fi": [8.0, 9.0], "1": [4.0, 6.0],
     "a b": [1.0, 1.0], "a_b": [2.0, 3.0], "log": [1.0, 1.0], "class": [5.0, 6.0]}
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "column"),
    [("I(µ)", "µ"), ("I(μ)", "μ"), ("I(`µ`)", "µ"), ("I(ﬁ)", "ﬁ"), ("I(fi)", "fi"), ("`1`", "1"), ("ﬁ", "ﬁ"),
     ("I(`class`)", "class")],
)  # fmt: skip
def test_a_name_is_itself(text, column):
    """Python's parser takes the micro sign for the Greek letter, and formulaic a column 1 for the intercept."""
    x, _, public = designed(f"y ~ {text}", ROWS, None)
    assert x[:, 0].tolist() == ROWS[column].tolist()
    assert public.intercept


def test_a_column_1_beside_others():
    assert designed("y ~ `1` + fi", ROWS, None)[2].names == ("1", "fi")
    assert read("y ~ `1` + fi - 1").intercept is False


@pytest.mark.parametrize(
    ("text", "columns"),
    [("I(`a b` + `a_b`)", ["a b", "a_b"]), ("log(`log`)", ["log"]), ("np.log(`np`)", ["np"]), ("C(`C`)", ["C"]),
     ("I(x*`x y` + `x`)", ["x", "x y"]), ("log(_＿named__zz)", ["_＿named__zz"]),
     ("I(`it's` + `that's`)", ["it's", "that's"]), ("log(__named__zz.y)", ["__named__zz.y"])],
)  # fmt: skip
def test_names_in_backticks_beside_words(text, columns):
    """formulaic's own words for them were found in each other."""
    assert sorted(read(f"y ~ {text}").columns) == sorted(["y", *columns])


@pytest.mark.parametrize("text", ["I(1) ~ I(2)", "I(y) ~ I(`y`)", "y ~ `a b`(x)"])
def test_what_is_no_formula_is_refused_by_name(text):
    """The first was an error of Python's own."""
    with pytest.raises(InvalidArgument, match="formula must be") as error:
        read(text)
    assert "__named__" not in str(error.value)


def test_a_name_of_several_columns_does_not_say_which_is_binary():
    x = pd.DataFrame(np.zeros((2000, 2)), columns=["a", "a"])
    with pytest.raises(InvalidArgument, match="binary must be a number where several columns have one name, got 'a'"):
        linear_regression(x, np.zeros(2000), epsilon=1, binary="a")


@pytest.mark.parametrize("x", [np.full(9, 61.25), np.full((9, 1), 61.25 + 1j), np.full((3, 3, 1), 61.25), 61.25])
def test_no_message_of_an_estimator_shows_a_row(x):
    """scikit-learn prints what is no table."""
    models = pytest.importorskip("uptack.regression.estimators")
    with pytest.raises((InvalidArgument, ValueError, TypeError)) as error:
        models.LinearRegression().fit(x, np.zeros(9))
    assert "61.25" not in "".join(traceback.format_exception(error.value))


def test_an_interval_is_shown_with_the_digits_of_its_error():
    """1e9 ± 6 was shown as 999999994.12 to 1e+09."""
    value, away = np.array([1e9, 0.5]), np.array([5.88, 2e-12])
    cells = table_lines(["a", "b"], value, [3.0, 1e-12], [value - away, value + away], ["", ""])
    assert [line[4].split() for line in cells] == [
        ["999999994.12", "to", "1000000005.88"],
        ["0.499999999998", "to", "0.500000000002"],
    ]


def test_predictors_that_are_no_names_are_refused_by_name():
    """It was Python's TypeError on a star."""
    session = ut.open({"y": np.zeros(9), "a": np.zeros(9)})
    with pytest.raises(InvalidArgument, match="columns must be names of columns, got 5"):
        session.regression("y", 5, epsilon=1)


@pytest.mark.parametrize("confidence", [0, 1, 1.5, -0.5, float("nan")])
def test_a_summary_refuses_what_is_no_confidence(confidence):
    """interval() did; a summary had lines of NaN, and a warning of NumPy's."""
    errors = LinearErrors((1.0, 2.0), (), True, "a line", (0.0, 20.0))
    release = RegressionRelease(np.zeros(2), ut.Privacy(1), "sums", loss.Pure(1), errors)
    assert "95% interval" in release.summary(["a"])
    with pytest.raises(InvalidArgument, match="confidence must be"):
        release.summary(["a"], confidence=confidence)


@pytest.mark.parametrize("odd", ["secret", 10**400, None, b"z", [1], 1 + 2j])
def test_one_row_does_not_stop_an_estimator_that_drops_rows(odd):
    """A text in one row was an error of the estimator's, and a missing value of the function's."""
    models = pytest.importorskip("uptack.regression.estimators")
    rng = np.random.default_rng(1)
    cells = np.array([*rng.normal(size=3999), 0.0], object)
    y = cells.astype(float) + rng.normal(size=4000)
    cells[7] = odd
    frame = pd.DataFrame({"a": cells})
    model = models.LinearRegression(epsilon=3, missing="drop", random_state=1).fit(frame, y)
    made = linear_regression(frame, y, epsilon=3, missing="drop", entropy=SeededEntropy(1))
    assert model.coef_.tolist() == made.value[1:].tolist()
    assert model.feature_names_in_.tolist() == ["a"]
    assert model.fit(rng.normal(size=(4000, 1)).tolist(), y).n_features_in_ == 1


@pytest.mark.parametrize("names", [("a", {5: "b"}), ("a", 5), ("a", ["b", 5]), ("a", [["b"]])])
def test_names_that_are_no_texts_are_named_in_an_error(names):
    session = ut.open({name: np.arange(50.0) for name in "abc"})
    for asked in (session.scatter, session.linear_regression):
        with pytest.raises((ut.InvalidArgument, TypeError), match=r"column|names of columns"):
            asked(*names, epsilon=1)
