"""Public groups, labels, keys and levels are told apart as rows of the column are: no row is in two of them."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import uptack as ut
from tests.attacks.small_tables import columns_of, tabular
from uptack.discrete import Domain, margins
from uptack.errors import InvalidArgument
from uptack.ledger import Ledger
from uptack.registry import declared
from uptack.table.conditions import conditions

BASE = 2**60
MANY = list(range(BASE, BASE + 50))
"""Fifty integers, and one float."""
PAIRED = ["superiority", "rank_biserial", "mean_difference", "median_difference", "hodges_lehmann", "mann_whitney"]
ROWS = 2000
COLUMNS = {
    "float": pa.array([float(BASE)] * ROWS),
    "decimal": pa.array([Decimal(BASE + 1)] * ROWS, pa.decimal128(25, 0)),
}


@pytest.fixture(params=["memory", "parquet"])
def opened(request, tmp_path):
    """A session in memory, or on an engine, with a ledger."""

    def session(kind):
        numbers = {name: np.arange(ROWS) % 97 * 1.0 for name in "xabc"}
        table = pa.table({**numbers, "g": COLUMNS[kind], "t": np.arange(ROWS) % 2 == 0})
        ledger = Ledger(tmp_path / f"{kind}.db", epsilon=100)
        if request.param == "memory":
            return ut.open(table, ledger=ledger, entropy=ut.SeededEntropy(1)), ledger
        pq.write_table(table, tmp_path / "t.parquet")
        return ut.open(tmp_path / "t.parquet", ledger=ledger, entropy=ut.SeededEntropy(1)), ledger

    return session


@pytest.mark.parametrize("kind", COLUMNS)
def test_integers_that_are_one_float_are_not_two_groups(opened, kind):
    session, ledger = opened(kind)
    asks = [
        lambda: session.kruskal_wallis("x", "g", groups=MANY, epsilon=1),
        lambda: session["x"].median(by="g", groups=MANY, epsilon=1),
        lambda: session["g"].histogram(keys=MANY, epsilon=1),
    ]
    asks += [lambda f=f: getattr(session, f)("x", "g", groups=MANY[:2], epsilon=1) for f in PAIRED]
    asks += [lambda f=f: getattr(session, f)("x", "g", groups=np.array(MANY[:2]), epsilon=1) for f in PAIRED]
    for ask in asks:
        with pytest.raises(InvalidArgument, match=r"(groups|keys) must be .* which are the same value there"):
            ask()
    assert ledger.spent().epsilon == 0


LISTS = {
    "groups": {"by": "g", "groups": MANY},
    "keys": {"keys": MANY},
    "levels": {"formula": "a ~ C(g)", "levels": {"g": MANY}},
    "classes": {"classes": MANY[:2]},
}
"""Options that list values of a column, and how they are given fifty that are one value there."""
LISTING = [(made.name, option) for made in tabular() for option in LISTS if option in made.allowed]


@pytest.mark.parametrize(("name", "option"), LISTING)
def test_every_function_that_lists_values_refuses_those_that_are_one(opened, name, option):
    session, ledger = opened("float")
    made = declared()[name]
    options, columns = LISTS[option], columns_of(made)
    if made.reads.shape == "labelled":
        options = {"groups": MANY[: len(made.examples[0]["groups"])]}
    elif option == "levels" and "formula" in made.allowed:
        columns = ()
    elif option == "levels":
        options = {"levels": (MANY, MANY)}
    example = {key: value for key, value in made.examples[0].items() if key != "edges"}
    with pytest.raises(InvalidArgument, match=f"^{option} must be"):
        session.run(ut.Request(name, *columns, **{**example, "epsilon": 1, **options}))
    assert ledger.spent().epsilon == 0


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_label_is_the_float_that_rows_hold(opened, kind):
    session, _ = opened(kind)
    for label in (BASE, BASE + 1, Decimal(BASE + 1), float(BASE)):
        made = session["x"].median(by="g", groups=[label, 5], epsilon=1)
        assert [bool(made.value[group]) for group in (label, 5)] == [True, False]
        counts = session["g"].histogram(keys=[label, 5], epsilon=1).value.counts
        assert (abs(counts - [ROWS, 0]) < 50).all()
        assert session.where(g=("in", [label])).count(epsilon=1).value > ROWS - 50
    assert conditions({"g": ("in", MANY)}, {"g": "number"})[0].values == (BASE,)


def test_groups_of_several_columns_are_told_apart_too():
    x, g, t = np.arange(2000.0), np.full(2000, float(BASE)), np.full(2000, "a")
    session = ut.open(pd.DataFrame({"x": x, "g": g, "t": t}), entropy=ut.SeededEntropy(1))
    groups = [(BASE, "a"), (BASE + 1, "a")]
    with pytest.raises(InvalidArgument, match="groups"):
        session["x"].median(by=["g", "t"], groups=groups, epsilon=1)
    with pytest.raises(InvalidArgument, match="groups"):
        ut.per_group(ut.median, x, (g, t), groups=groups, epsilon=1)
    assert session["x"].median(by=["g", "t"], groups=groups[1:], epsilon=1).value[groups[1]]


def test_plain_data_are_told_apart_too():
    x, g = np.arange(2000.0), np.full(2000, float(BASE))
    with pytest.raises(InvalidArgument, match="groups"):
        ut.per_group(ut.median, x, g, groups=MANY, epsilon=1)
    with pytest.raises(InvalidArgument, match="groups"):
        ut.kruskal_wallis(x, g, groups=MANY, epsilon=1)
    with pytest.raises(InvalidArgument, match="groups"):
        ut.median(x, by=g, groups=MANY, epsilon=1, adjacency=ut.ADD_REMOVE)
    with pytest.raises(InvalidArgument, match="keys"):
        ut.histogram(g, keys=MANY, epsilon=1)
    with pytest.raises(InvalidArgument, match="columns"):
        margins({"g": g}, 1, domain=Domain({"g": MANY}), epsilon=1)
    frame = pd.DataFrame({"x": x, "g": g})
    with pytest.raises(InvalidArgument, match="levels"):
        ut.linear_regression(frame, formula="x ~ C(g)", levels={"g": MANY}, epsilon=1)


def test_integers_and_rows_without_a_declared_type_stay_exact():
    g = np.array([BASE, BASE + 1] * 1000)
    for column in (g, g.tolist(), pd.Series(g, dtype="Int64"), pa.array(g)):
        counts = ut.histogram(column, keys=MANY, epsilon=5, entropy=ut.SeededEntropy(1)).value.counts
        assert (abs(counts - [1000, 1000, *[0] * 48]) < 20).all()
        made = ut.per_group(ut.median, np.arange(2000.0), column, groups=MANY[:3], epsilon=5)
        assert [bool(reply) for reply in made.value.values()] == [True, True, False]


@pytest.mark.parametrize("groups", [np.array([1, 2]), [1, 2], (True, False), np.array([1.5, 2])])
def test_labels_that_no_row_can_have_are_refused_before_the_debit(tmp_path, groups):
    ledger = Ledger(tmp_path / "l.db", epsilon=10)
    frame = pd.DataFrame({"x": np.arange(2000.0), "t": pd.Series(["a", "b"] * 1000, dtype="string")})
    session = ut.open(frame, ledger=ledger)
    for name in [*PAIRED, "kruskal_wallis"]:
        with pytest.raises(InvalidArgument, match="groups must be of type text, as the column 't' is"):
            getattr(session, name)("x", "t", groups=groups, epsilon=1)
    assert ledger.spent().epsilon == 0
