"""Small requests take little time and memory: what would not is refused by a stated limit, before it is debited."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import uptack as ut
from uptack.errors import InvalidArgument
from uptack.privacy import accounting, tight
from uptack.privacy.loss import Approximate, BoundedRange, Pure
from uptack.session.requests import Request

N = 3000
ROWS = pd.DataFrame(
    {"x": np.arange(float(N)), "i": np.arange(N) % 100, "g": np.array(["a", "b", "c"])[np.arange(N) % 3]}
)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    place = tmp_path_factory.mktemp("rows") / "rows.parquet"
    ROWS.to_parquet(place)
    return place


@pytest.fixture
def ledger(tmp_path):
    return ut.Ledger(tmp_path / "budget.db", 100, 0.01)


ENDLESS = range(10**15)
"""More than any memory holds: whoever lists it before it is refused fails."""


# ----------------------------------------------------------------------------------------------------------- conditions


@pytest.mark.parametrize("operation", ["in", "not in"])
@pytest.mark.parametrize(
    ("column", "values"),
    [("i", list(range(50, 1050))), ("x", [float(k) for k in range(1000)]), ("g", [*"bc", *map(str, range(998))])],
)
def test_a_thousand_values_hold_for_the_same_rows_in_memory_and_in_a_file(column, values, operation, file):
    for more in ([], [None]):
        wanted = {column: (operation, [*values[: 1000 - len(more)], *more])}
        here, there = (
            ut.open(data, entropy=ut.SeededEntropy(1)).where(wanted)["x"].median(epsilon=1) for data in (ROWS, file)
        )
        assert repr(here) == repr(there)


def test_a_list_of_floats_holds_for_both_zeros(tmp_path):
    rows = pd.DataFrame({"x": [0.0, -0.0, np.nan, 2.0, np.inf] * 200, "y": np.arange(1000.0)})
    rows.to_parquet(tmp_path / "rows.parquet")
    for zero in (0.0, -0.0):
        wanted = {"x": ("in", [zero, *np.arange(5.0, 100.0)])}
        tables = [ut.open(data).where(wanted).source for data in (rows, tmp_path / "rows.parquet")]
        assert [table.column("y").drop().count() for table in tables] == [400, 400]


@pytest.mark.parametrize("values", [ENDLESS, [0] * 10**6, np.zeros(10**6), set(range(1001)), np.array(3), np.eye(2)])
def test_long_lists_of_values_are_refused_before_they_are_listed(values):
    with pytest.raises(InvalidArgument, match=r"must be a list of 1 to 1,000 values"):
        ut.open(ROWS).where(i=("in", values))


def test_a_session_has_a_hundred_conditions_at_most(file, ledger):
    for data in (ROWS, file):
        session = ut.open(data, ledger=ledger)
        for k in range(100):
            session = session.where(i=("!=", 1000 + k))
        with pytest.raises(InvalidArgument, match=r"^where must be at most 100 conditions in a session, got 101\."):
            session.where(x=(">", 0))
        assert session["x"].median(epsilon=1)
    with pytest.raises(InvalidArgument, match=r"^where must be at most 100 conditions in a session, got 101\."):
        ut.open(ROWS).where({f"c{k}": 1 for k in range(101)})


# --------------------------------------------------------------------------------------------------- lists and numbers

LONG = {
    "keys of a histogram": ("keys", lambda s: s["i"].histogram(keys=2 * 10**8, epsilon=1)),
    "listed keys": ("keys", lambda s: s["i"].histogram(keys=ENDLESS, epsilon=1)),
    "edges": ("edges", lambda s: s["x"].histogram(edges=ENDLESS, epsilon=1)),
    "levels": ("p", lambda s: s["x"].quantile(np.linspace(0.01, 0.99, 10**5), epsilon=1)),
    "a range of levels": ("p", lambda s: s["x"].quantile(ENDLESS, epsilon=1)),
    "a number of groups": ("groups", lambda s: s["x"].median(by="i", groups=10**5, epsilon=1)),
    "listed groups": ("groups", lambda s: s["x"].median(by="i", groups=ENDLESS, epsilon=1)),
    "groups of a rank test": ("groups", lambda s: s.kruskal_wallis("x", "i", groups=list(range(10**5)), epsilon=1)),
}


@pytest.mark.parametrize("case", LONG)
def test_long_public_lists_are_refused_before_anything_is_debited(case, file, ledger):
    name, ask = LONG[case]
    for data in (ROWS, file):
        session = ut.open(data, ledger=ledger)
        with pytest.raises(InvalidArgument, match=rf"^{name} must be ") as caught:
            ask(session)
        assert "," in str(caught.value) or "distinct labels" in str(caught.value)
    assert ledger.spent().exact_epsilon == 0


def test_what_is_within_the_limits_is_answered():
    session = ut.open(ROWS, entropy=ut.SeededEntropy(1))
    assert len(session["i"].histogram(keys=10**5, epsilon=1).value) == 10**5
    assert len(session["i"].histogram(edges=range(10**4 + 1), epsilon=1).value) == 10**4
    assert len(session["x"].quantile(np.linspace(0.05, 0.95, 100), epsilon=10**4).value) == 100
    assert len(session["x"].median(by="i", groups=range(300), epsilon=1).value) == 300


# ---------------------------------------------------------------------------------------------------------- composition


def test_a_plan_of_many_different_prices_is_composed_of_few(monkeypatch):
    composed, numerically = [], accounting._numerically
    monkeypatch.setattr(accounting, "_numerically", lambda x, *rest: (composed.append(x), numerically(x, *rest))[1])
    plan = ut.open(ROWS).plan([Request("median", "x", epsilon=1 + k / 1000) for k in range(100)])
    assert plan.tight(1e-6).epsilon < 41
    (some,) = composed
    assert len(some) <= accounting.MOST_DIFFERENT


@pytest.mark.parametrize(
    "kind", [Pure, BoundedRange, lambda e: Approximate(e, "1e-9")], ids=["pure", "range", "stated"]
)
def test_many_different_losses_cost_at_least_what_they_cost_one_by_one(kind, monkeypatch):
    losses = [kind(Fraction(100 + k, 1000)) for k in range(80)]
    merged = tight(losses, 1e-6)
    monkeypatch.setattr(accounting, "MOST_DIFFERENT", 1000)
    exact = tight(losses, 1e-6)
    assert exact.exact_epsilon <= merged.exact_epsilon <= exact.exact_epsilon * Fraction(102, 100)


def test_merged_losses_are_as_many_and_no_smaller():
    losses = accounting.Counter(
        [Pure(Fraction(k, 7)) for k in range(1, 200)] + [BoundedRange(Fraction(k, 9)) for k in range(1, 90)] * 2
    )
    merged = accounting._alike(losses)
    assert len(merged) <= accounting.MOST_DIFFERENT
    for kind in (Pure, BoundedRange):
        before, after = (
            sorted(Fraction(one.epsilon) for one in some.elements() if isinstance(one, kind))
            for some in (losses, merged)
        )
        assert len(before) == len(after)
        assert all(a <= b for a, b in zip(before, after, strict=True))


# --------------------------------------------------------------------------------------------------------------- groups


@pytest.mark.parametrize(
    "name", ["hodges_lehmann", "mean_difference", "median_difference", "superiority", "mann_whitney"]
)
@pytest.mark.parametrize("groups", [("y", "z"), ("a", "z")])
def test_public_labels_that_no_row_has_are_no_endless_search(name, groups):
    reply = getattr(ut, name)(ROWS.x, ROWS.g, groups=groups, public_labels=True, epsilon=1)
    assert not reply
    assert reply.advice.n
