"""One row of a column of times that is missing, in another zone or out of range: nothing but the value may move."""

import numpy as np
import pandas as pd
import pytest

import uptack as ut
from uptack.audit import hostile_tables
from uptack.audit.catalogue import catalogue
from uptack.audit.replay import observe, replay
from uptack.audit.scenario import COUNTED, Scenario, with_last

DIRECT = [one for name, one in catalogue().items() if name.endswith("on times") and not name.startswith("session")]


@pytest.mark.parametrize("scenario", DIRECT[::3], ids=lambda one: one.name)
def test_only_the_value_tells_neighbours_apart(scenario):
    assert {name: what for name, pair in scenario.pairs().items() if (what := replay(scenario, pair))} == {}


def frame(when: object) -> pd.DataFrame:
    rows = np.arange(hostile_tables.ROWS)
    return pd.DataFrame({"when": pd.Series(when), "id": rows // 2, "ward": np.where(rows % 2, "a", "b")})


QUESTIONS = {
    "median": lambda s: s["when"].median(epsilon=9),
    "groups": lambda s: s["when"].median(epsilon=9, by="ward", groups=["a", "b"]),
    "months": lambda s: s["when"].histogram(epsilon=9, edges=["2024-01-01", "2026-01-01"], every="month"),
    "spread": lambda s: s["when"].iqr(epsilon=9),
}
TABLES = {
    name: pair
    for name, pair in hostile_tables.times().items()
    if name.startswith(("dates", "times", "a zone", "another"))
}


@pytest.mark.parametrize("person", [None, "id"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_tables_of_times(question, person):
    def asked(when, entropy):
        return QUESTIONS[question](ut.open(frame(when), person=person, entropy=entropy))

    for name, pair in TABLES.items():
        assert replay(Scenario(question, asked, dict, COUNTED), pair) == [], name


def test_what_is_said_of_a_wrong_column_is_the_types():
    """A row that is a time among objects, or is none, changes nothing of what is said."""
    days = np.array([np.datetime64("2024-01-01")] * 50).astype(object)
    for other in (None, "2024-01-01", pd.Timestamp("2024-01-01", tz="UTC"), 5, np.datetime64("NaT")):
        one, two = (observe(lambda x=x: ut.median(x, epsilon=1)) for x in (days, with_last(days, other)))
        assert one.error == two.error


def test_a_declared_kind_reads_each_row_by_itself():
    rows = [*["2024-01-01"] * 300, *["2024-01-03"] * 300]
    for other in (None, 3, "soon", "2024-02-30", np.datetime64("NaT"), "2024-01-02T10:00+02:00", float("nan")):
        column = ut.open({"when": [*rows, other]}, types={"when": "date"}).source.column("when")
        assert column.count() == 601
        assert column.drop().count() == 600
