"""Linear regression and scatter of people: what they estimate, what they say of themselves, and what they refuse."""

import numpy as np
import pytest

import uptack as ut
from uptack.errors import InvalidArgument
from uptack.noise import SeededEntropy

BETA = np.array([3.0, 1.0, -0.002])
FIT = {"epsilon": 4}


def panel(seed, n=3000, effect=2.0):
    """People with 1 to 50 rows and a strong effect in common; the first column hardly differs within a person."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(n), np.minimum(rng.zipf(1.7, n), 50))
    within = rng.normal(size=(ids.size, 3))
    x = np.column_stack([rng.normal(size=n)[ids] + within[:, 0] / 4, 1000 * within[:, 1] + 5000])
    return x, BETA[0] + x @ BETA[1:] + effect * rng.normal(size=n)[ids] + within[:, 2], ids


X, Y, IDS = panel(0)
FIRST = np.r_[True, np.diff(IDS) > 0]
ONE = X[FIRST], Y[FIRST]


def both(x, y, seed=1, person=None, **told):
    """A fit and a scatter matrix, to the last bit."""
    whose = {} if person is None else {"person": person}
    fit = ut.linear_regression(x, y, **FIT, entropy=SeededEntropy(seed), **whose, **told)
    cloud = ut.scatter(np.column_stack([x, y]), **FIT, entropy=SeededEntropy(seed), **whose, **told)
    return fit.value.tobytes(), fit.noise, cloud.value.matrix.tobytes(), cloud.value.centre.tobytes()


@pytest.mark.parametrize("adjacency", [ut.SUBSTITUTE, ut.ADD_REMOVE])
@pytest.mark.parametrize("missing", ["error", "drop"])
def test_with_one_row_each_people_are_rows_bit_for_bit(adjacency, missing):
    x, y = ONE[0].copy(), ONE[1]
    if missing == "drop":
        x[::7, 0] = np.nan
    told = {"adjacency": adjacency, "missing": missing}
    assert both(x, y, **told) == both(x, y, person=np.arange(len(x)), **told)


def test_with_one_row_each_classes_of_people_are_those_of_rows():
    x = np.random.default_rng(7).normal(size=(20_000, 1))
    told = {"epsilon": 2, "adjacency": ut.ADD_REMOVE}
    rows, people = (
        ut.logistic_regression(x, x[:, 0] > 0.5 * x[::-1, 0], **told, **whose, entropy=SeededEntropy(1))
        for whose in ({}, {"person": np.arange(len(x))})
    )
    assert rows.value.tobytes() == people.value.tobytes()


def test_a_row_that_is_written_several_times_counts_once_and_order_does_not_matter():
    times = np.random.default_rng(0).integers(1, 24, len(ONE[0]))
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(len(ONE[0])), times))
    assert both(*ONE) == both(ONE[0][rows], ONE[1][rows], person=rows)
    shuffled = np.random.default_rng(2).permutation(len(X))
    assert both(X, Y, person=IDS) == both(X[shuffled], Y[shuffled], person=IDS[shuffled])


def test_rows_that_lack_a_value_or_are_nobodys_are_left_out_before_people_are_weighed():
    gaps = np.vstack([X, np.full((500, 2), np.nan)]), np.append(Y, np.zeros(500)), np.append(IDS, np.arange(500) // 50)
    assert both(X, Y, person=IDS, missing="drop") == both(*gaps[:2], person=gaps[2], missing="drop")
    nobody = np.vstack([X, X[:9]]), np.append(Y, Y[:9]), np.append(IDS.astype(float), np.full(9, np.nan))
    assert both(X, Y, person=IDS) == both(*nobody[:2], person=nobody[2])
    with pytest.raises(InvalidArgument, match="free of NaN"):
        ut.linear_regression(*gaps[:2], **FIT, person=gaps[2])


def test_people_weigh_alike_however_many_rows_they_have():
    rng = np.random.default_rng(3)
    many = np.repeat(np.arange(4000), np.where(np.arange(4000) < 1000, 30, 1))
    x = rng.normal(size=many.size)
    y = np.where(many < 1000, 5.0, 0.0) + 2 * x + rng.normal(size=many.size)
    found = ut.linear_regression(x, y, **FIT, person=many, entropy=SeededEntropy(1))
    assert found.value[0] < 2  # of rows nine in ten are at 5
    assert found.value[1] == pytest.approx(2, abs=0.15)
    assert ut.linear_regression(x, y, **FIT, entropy=SeededEntropy(1)).value[0] > 4
    assert found.privacy.adjacency == ut.SUBSTITUTE.by_person("person")


def test_intervals_of_a_panel_hold():
    """Were rows taken for independent, intervals of the intercept and the first slope would be far too short."""
    held, short = [], []
    for seed in range(10):
        x, y, ids = panel(seed)
        low, high = ut.linear_regression(x, y, **FIT, person=ids, entropy=SeededEntropy(seed)).interval(0.95)
        held.append((low <= BETA) & (high >= BETA))
        low, high = ut.linear_regression(x, y, epsilon=1000, entropy=SeededEntropy(seed)).interval(0.95)
        short.append((low <= BETA) & (high >= BETA))
    # 30 intervals of 95%, three in a fit hang together: fewer than 20 with a chance below 1e-6 were they independent
    assert np.sum(held) >= 20
    assert np.sum(short) < np.sum(held)


def test_standard_errors_are_those_of_people():
    """Of copies they are those of one row each; rows of one person that are independent make them no smaller."""
    one = ut.linear_regression(*ONE, **FIT, entropy=SeededEntropy(1)).noise.standard_errors
    rows = np.repeat(np.arange(len(ONE[0])), 5)
    five = ut.linear_regression(ONE[0][rows], ONE[1][rows], **FIT, person=rows, entropy=SeededEntropy(1)).noise
    assert five.standard_errors == one
    apart = ut.linear_regression(X, Y, **FIT, person=IDS, entropy=SeededEntropy(1)).noise.standard_errors
    assert (np.array(apart) > np.array(one) / 2).all()


def test_what_public_numbers_refuse_is_in_people_and_errors_do_not_tell_how_many_rows_there_are():
    ids = np.arange(40_000) % 200
    x = np.random.default_rng(0).normal(size=(40_000, 2))
    for refused in (
        ut.linear_regression(x, x[:, 0], epsilon=1, person=ids),
        ut.scatter(x, epsilon=1, person=ids),
    ):
        assert not refused
        assert refused.privacy.epsilon == 0
        assert 200 < refused.advice.n < 10_000
    for call in (
        lambda: ut.linear_regression(x, x[:7, 0], epsilon=1, person=ids),
        lambda: ut.linear_regression(x, x, epsilon=1, person=ids),
        lambda: ut.linear_regression(x[:, :0], x[:, 0], epsilon=1, person=ids),
        lambda: ut.scatter(x[:, :1], epsilon=1, person=ids),
        lambda: ut.scatter(x[:, 0], epsilon=1, person=ids),
    ):
        with pytest.raises(InvalidArgument) as caught:
            call()
        assert "40" not in str(caught.value)


def test_draws_that_go_astray_are_no_errors():
    rng = np.random.default_rng(0)
    x, ids = rng.normal(size=(240, 2)), np.arange(240) // 2
    for seed in range(4):
        for scale in (1e-300, 1.0, 1e300):
            told = {"epsilon": 20, "adjacency": ut.ADD_REMOVE, "entropy": SeededEntropy(seed), "person": ids}
            for found in (
                ut.scatter(x * scale, **told),
                ut.linear_regression(x[:, :1] * scale, x[:, 1] / scale, **told),
            ):
                assert isinstance(found, ut.Release | ut.NoReply)


def test_an_estimator_is_told_whose_rows_they_are():
    model = ut.LinearRegression(epsilon=4, random_state=1).fit(X, Y, person=IDS)
    assert model.coef_.tobytes() == both(X, Y, person=IDS)[0][8:]
    assert model.privacy_.adjacency.person == ("person",)
    with pytest.raises(InvalidArgument, match="not proved for people"):
        ut.HampelRegression().fit(X, Y, person=IDS)
    with pytest.raises(InvalidArgument, match="person must be as long as"):
        ut.LinearRegression().fit(X, Y, person=IDS[:9])


def test_sessions_of_people_ask_for_it(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    table = {"id": IDS, "y": Y, "a": X[:, 0], "b": X[:, 1]}
    pyarrow.parquet.write_table(pa.table(table), tmp_path / "panel.parquet")
    for data in (table, tmp_path / "panel.parquet"):
        session = ut.open(data, person="id", entropy=SeededEntropy(1))
        found = session.regression("y", epsilon=4)
        assert found.mechanism == "linear regression by bounded sums"
        assert "people by id" in found.summary()
        assert "least-squares coefficients" in found.summary()
        assert session.scatter("a", "b", epsilon=4)
        assert not session.regression("y", epsilon=0.01)
        assert session.spent.epsilon == 8


def test_a_report_of_people_has_the_regression_of_any_session():
    rng = np.random.default_rng(3)
    ids = np.repeat(np.arange(4000), rng.integers(1, 4, 4000))
    age = rng.integers(20, 80, ids.size)
    session = ut.open({"id": ids, "age": age, "cost": 10 + 0.5 * age + rng.normal(size=ids.size)}, person="id",
                      entropy=SeededEntropy(1))  # fmt: skip
    answer = session.report(epsilon=6, target="cost").sections["regression"]
    figure = answer.figure
    assert answer.columns == ("cost", "age")
    assert "bounded sums" in figure.how
    assert pytest.approx(list(figure.value), abs=0.5) == [10, 0.5]
