"""What a hostile reader found in formulas, categories, schemas, progress lines and batches."""

import io
import sys

import numpy as np
import pytest

import uptack as ut
from uptack import progress
from uptack.columns.coded import CodedField
from uptack.noise import SeededEntropy

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
    table = pa.table({"y": y, "k": pa.array(k, mask=gaps), "b": pa.array(k > 1, mask=gaps), "f": f})
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
        ("y ~ I(2 * b) + C(b)", {"b": [False, True]}),
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
    assert len({one.values()[0].dtype for one in made}) == 1
    assert made[1].missing.tolist() == [False] * (len(values) - 1) + [True]
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
    assert progress._HERE.line is None


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
