"""Formulas, categories, schemas and progress lines that went wrong with hostile tables and names."""

import io
import sys

import numpy as np
import pytest

import uptack as ut
from tests.helpers import designed
from uptack import progress
from uptack.cli.main import main
from uptack.errors import InvalidArgument
from uptack.noise import SeededEntropy
from uptack.regression.formulas.formula_designs import Draft
from uptack.report.budget import divide
from uptack.table import schema
from uptack.table.opening import open_table
from uptack.table.protocol import Category, RowDesign
from uptack.table.values.entrance import CodedField

ROWS = 600


@pytest.fixture
def both(tmp_path):
    """A table in memory, and the same in a file that an engine reads; some rows have gaps."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(2)
    k = rng.integers(0, 4, ROWS)
    gaps = rng.random(ROWS) < 0.3
    y = k + rng.normal(size=ROWS)
    f = rng.choice([0.0, 1.0, 2.0**53], ROWS)
    x = rng.normal(size=ROWS)
    table = pa.table({"y": y, "k": pa.array(k, mask=gaps), "b": pa.array(k > 1, mask=gaps), "f": f, "x": x})
    pq.write_table(table, tmp_path / "t.parquet")
    return table, str(tmp_path / "t.parquet")


def fits(both, formula, levels):
    sessions = [ut.open(data, entropy=SeededEntropy(1), missing="drop") for data in both]
    return [session.regression(formula=formula, levels=levels, epsilon=20).value.tolist() for session in sessions]


@pytest.mark.parametrize(
    ("formula", "levels"),
    [
        ("y ~ sqrt(k)", {"k": [0, 1]}),
        ("y ~ I(b)", {"b": [False, True]}),
        ("y ~ I(2 * b * x) + C(b)", {"b": [False, True]}),
    ],
)
def test_a_gap_in_a_category_is_no_number(both, formula, levels):
    """It was 0 where an engine sent whole numbers, and an error where it sent truth values: one row decided that."""
    here, there = fits(both, formula, levels)
    assert here == there


@pytest.mark.parametrize(
    ("kind", "values"),
    [("integer", [0, 2**70, None]), ("boolean", [0, 1, None]), ("number", [0, 0.5, None]), ("text", ["a", None])],
)
def test_rows_of_codes_have_one_type_with_gaps_and_without(kind, values):
    made = [CodedField(kind, part, np.arange(len(part))) for part in (values[:-1], values)]
    assert len({one._read_rows()[0].dtype for one in made}) == 1
    assert made[1]._read_rows()[1].tolist() == [False] * (len(values) - 1) + [True]
    assert made[1].rows()[-1] is None
    if kind != "text":
        assert np.isnan(made[1].floats()[-1])


def test_two_steps_that_say_the_same_are_two(capsys):
    """The inner one took the outer one off the line, and the end of that was an error."""
    with progress.steps("a", 2, show=True) as step:
        with progress.steps("a", 2):
            pass
        step()
        step()
    assert progress._LINE.get() is None


@pytest.mark.parametrize("stream", [None, io.TextIOWrapper(io.BytesIO(), "ascii"), io.StringIO()])
def test_a_line_that_cannot_be_written_stops_nothing(monkeypatch, stream):
    """Without standard error, with one that can't have such signs, and with one that is closed."""
    if isinstance(stream, io.StringIO):
        stream.close()
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(sys, "stderr", stream)
    for show in (True, None):
        assert list(progress.track(range(3), "é", show=show)) == [0, 1, 2]
    monkeypatch.undo()


def test_levels_that_are_no_floats_are_refused_for_a_column_of_floats(both):
    """2^53 and 2^53 + 1 differ, but not for an engine: it had two columns alike, and no answer."""
    for data in both:
        with pytest.raises(InvalidArgument, match="levels must be values of a column of type number"):
            ut.open(data).regression(formula="y ~ C(f)", levels={"f": [0, 2**53, 2**53 + 1]}, epsilon=1)


@pytest.mark.parametrize("predictors", [["k", "k"], ["y", "k"], ["", "k"]])
def test_columns_that_make_no_formula_are_refused_by_their_name(predictors):
    """A column without a name was an error of Python's own syntax, and one named twice one about a formula."""
    table = {"y": np.arange(9.0), "": np.arange(9.0), "k": np.arange(9)}
    with pytest.raises(InvalidArgument, match="columns must be different columns that have names"):
        ut.open(table).regression("y", predictors, levels={"k": [0, 1]}, epsilon=1)


@pytest.mark.parametrize(
    ("levels", "said"),
    [("cut=a\nb", "--levels must be"), ("k=a,b", "--levels k must be a number"), ('cut="a\nb",c', "")],
)
def test_levels_on_the_command_line_that_cannot_be_read(tmp_path, capsys, levels, said):
    """The end of a line was a traceback, and a word among numbers was said to be a key."""
    (tmp_path / "t.csv").write_text("y,cut,k\n1,a,1\n2,b,2\n")
    asked = ["regression", str(tmp_path / "t.csv"), "--formula", "y ~ cut + C(k)", "--levels", levels, "-e", "1"]
    assert main(asked) == 2
    assert (said or "levels must be given for the categories of 'k'") in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "levels"), [("number", '["a", "b"]'), ("date", '["2020-01-01", "2020-01-02"]'), ("datetime-utc", "[1, 2]")]
)
def test_a_schema_has_no_levels_that_no_row_can_have(kind, levels):
    """Their counts were noise around 0."""
    with pytest.raises(InvalidArgument, match=r"levels of \[columns.a\]"):
        schema.parse_schema(f'[columns.a]\nkind = "{kind}"\nlevels = {levels}\n')


def test_a_number_beyond_floats_in_a_formula_is_the_largest():
    """It was said to be a failure while the rows were read."""
    table = {"y": np.arange(40.0), "x": np.arange(40.0)}
    found = designed(f"y ~ I(x / 1{'0' * 400})", table, None)[0]
    assert np.isfinite(found).all()


def test_a_text_with_more_levels_than_a_fit_takes_stops_no_report(tmp_path):
    """Its levels are fine for a histogram, and the target has other predictors."""
    path = tmp_path / "t.csv"
    path.write_text("y,x,town\n" + "".join(f"{i % 7},{i % 5},t{i % 9}\n" for i in range(300)))
    kinds = '[columns.y]\nkind = "number"\n[columns.x]\nkind = "number"\n[columns.town]\nkind = "text"\n'
    (tmp_path / "t.csv.uptack.toml").write_text(f"{kinds}levels = {[f't{i}' for i in range(1001)]}\n")
    division = divide(ut.open(str(path)), 20, 0, target="y")
    assert [one.columns for one in division.sections] == [("y", "x")]


def test_a_query_with_many_levels_does_not_grow_with_their_square(both, monkeypatch):
    """400 levels took half a minute, after the debit, before a row was read."""
    table, asked = open_table(both[1]), []
    has = type(table).has
    monkeypatch.setattr(type(table), "has", lambda self, name, value: asked.append(value) or has(self, name, value))
    levels = tuple(range(40))
    k = Category("k", levels, "missing")
    x, _ = table.design(RowDesign(40, ["y", k], list, [("y", None), *((k, level) for level in levels)]))
    assert asked == list(levels)
    (found,) = x.rows().sum(lambda batch, weights: [batch.sum(axis=1)])
    whole = both[0]["k"].drop_null().to_numpy()
    assert found.tolist() == np.bincount(whole, minlength=40).tolist()


def test_products_of_found_levels_make_no_endless_table(monkeypatch):
    """Where the number of rows is secret no plan says so: it ended when memory did, after the debit."""
    place = np.arange(4000)
    rows = {"a": (place % 40).astype(str), "b": (place // 40 % 40).astype(str), "y": place * 1.0}
    told = {"formula": "y ~ C(a):C(b)", "epsilon": 200, "delta": 1e-5, "adjacency": ut.ADD_REMOVE}
    build = Draft.build

    def seen(draft, levels):
        found = build(draft, levels)
        assert len(found[2].names) <= 1000
        return found

    monkeypatch.setattr(Draft, "build", seen)
    answer = ut.linear_regression(rows, **told)
    assert not answer
    assert len(str(answer)) < 1000
