"""Declared kinds: a row can't choose the type of its column, also in pandas."""

import numpy as np
import pytest

import uptack as ut
from tests.answers import categories, matrix
from uptack.table.opening import open_table

pd = pytest.importorskip("pandas")
AGES = list(range(20, 80)) * 100


def seen(rows, kind, ask):
    """What a session shows and answers."""
    session = ut.open(pd.DataFrame({"x": rows}), types={"x": kind}, entropy=ut.SeededEntropy(1))
    made = ask(session["x"])
    return session.describe(), str(made.privacy), made.mechanism, type(made.value), made.value


@pytest.mark.parametrize("other", [None, "text", 2.5, True, 10**30, float("inf")])
@pytest.mark.parametrize(
    "ask", [lambda x: x.median(epsilon=1), lambda x: x.quantile([0.25, 0.75], epsilon=1), lambda x: x.iqr(epsilon=1)]
)
def test_one_row_does_not_change_a_column_of_integers(other, ask):
    one, two = (seen(rows, "integer", ask) for rows in (AGES, [*AGES[:-1], other]))
    assert one[:-1] == two[:-1]
    assert np.all(np.asarray(two[-1]) == np.round(two[-1]))  # the granularity is still 1


@pytest.mark.parametrize("other", [None, "text", 1, 0.5])
def test_one_row_does_not_change_a_column_of_truth_values(other):
    flags = [True] * 10 + [False] * 1990
    one, two = (seen(rows, "boolean", lambda x: x.count(epsilon=1)) for rows in (flags, [*flags[:-1], other]))
    assert one == two


def test_declared_texts_and_numbers():
    table = open_table({"t": ["a", None, 3], "n": [1, "b", None]}, types={"t": "text", "n": "number"})
    assert dict(table.kinds) == {"t": "text", "n": "number"}
    assert categories(table, "t") == {"a": 1, None: 2}
    assert np.isnan(matrix(table, "n")[:, 0]).tolist() == [False, True, True]


@pytest.mark.parametrize("types", [{"y": "integer"}, {"x": "money"}, "guess"])
def test_what_can_not_be_declared_is_named(types):
    with pytest.raises(ut.InvalidArgument, match=r"types|no column named"):
        open_table({"x": [1, 2]}, types=types)


class Text(str):
    """A text whose own conversion fails."""

    def __str__(self):
        raise ValueError("Smith")


class Classless:
    """An object whose class can't be asked for."""

    @property
    def __class__(self):
        raise ValueError("Smith")


@pytest.mark.parametrize("odd", [lambda: Text("a"), Classless], ids=["text", "class"])
@pytest.mark.parametrize("types", [None, {"t": "text"}, {"t": "boolean"}])
def test_no_method_of_a_row_decides_between_an_answer_and_an_error(odd, types):
    rows = ["a", "b"] * 500
    keys = [True, False] if types == {"t": "boolean"} else ["a", "b"]
    for last in ("a", odd()):
        session = ut.open({"t": [*rows, last]}, types=types, entropy=ut.SeededEntropy(1))
        assert session["t"].histogram(keys=keys, epsilon=1)
        if types is None:
            assert session["t"].count(epsilon=1)
