"""Pictures, cells and messages where hostile tables would show more, or less, than there is."""

import numpy as np
import pyarrow as pa
import pytest

import uptack as ut
from tests.answers import part_size
from tests.unit.test_cli import run
from uptack.errors import InvalidArgument
from uptack.report import profile
from uptack.report.number_card import MOST_BARS, DensityBars
from uptack.table.csv import cells
from uptack.table.names import comparable
from uptack.table.opening import open_table
from uptack.table.values.times import Form, objects_as_ticks

LENGTHS = np.arange(900) % 3 * np.timedelta64(1, "h")


@pytest.mark.parametrize("values", [(0.1, 0.2, 0.3), (0.01, 0.02, 0.03), (10.0, 1010.0), (-10.0, 990.0), (0.0, 1000.0)])
def test_all_rows_are_in_bars(values):
    """The bars of the least and the largest number reach to the ends of the box, or beyond by a rounding."""
    x = np.repeat(values, 12_000 // len(values))
    (column,) = profile(ut.open({"x": x}, entropy=ut.SeededEntropy(1)), 6, 1e-6).columns
    found = column.density.value
    assert isinstance(found, DensityBars)
    assert found.points.size <= MOST_BARS
    for value in values:
        near = np.abs(found.points - value).argmin()
        assert abs(found.values[near] * found.width - 1 / len(values)) < 0.05
    assert abs((found.values * found.width).sum() - 1) < 0.1


@pytest.mark.parametrize("kind", ["duration", "date"])
def test_blanks_around_times_are_the_same_in_files_and_frames(kind):
    written = {"duration": "1:00:00", "date": "2024-02-29"}[kind]
    texts = [f"{blank}{written}" for blank in " \t\n\v\f\r\x1c\x1f\x85\xa0\u2028\u3000"]
    known = cells.cast(pa.array(texts), kind, cells.Numbers()).is_valid().to_pylist()
    gone = objects_as_ticks(texts, Form(kind))[1]
    assert known == (~gone).tolist() == [True] * 6 + [False] * 6


@pytest.mark.parametrize("people", [{}, {"person": "id"}])
@pytest.mark.parametrize("asked", [{"keys": ["0:00:00"]}, {"every": "hour", "edges": ["0:00:00", "3:00:00"]}])
def test_what_durations_are_not_counted_by_is_refused_for_people_too(people, asked):
    """Texts are no durations: nobody would be counted, for all of ε."""
    session = ut.open({"wait": LENGTHS, "id": np.arange(900) // 3}, **people)
    with pytest.raises(InvalidArgument):
        session["wait"].histogram(epsilon=1, **asked)
    with pytest.raises(InvalidArgument, match="edges must be given for a column of durations"):
        session["wait"].histogram(epsilon=1, delta=1e-6)
    assert session.spent.epsilon == 0


def test_a_message_says_what_is_wrong_with_a_date_beside_durations():
    with pytest.raises(InvalidArgument, match="duration") as caught:
        ut.open({"wait": LENGTHS}).where(wait=(">", "2020-01-01"))
    assert "zone" not in str(caught.value)


def test_a_step_of_durations_is_written_as_they_are(capsys, tmp_path):
    path = tmp_path / "waits.csv"
    path.write_text("wait\n" + "".join(f"{i % 5}:{i % 60:02d}:00\n" for i in range(2000)))
    step = ["--granularity", "00:05:00", "--type", "wait=duration", "--epsilon", "1"]
    code, out, err = run(capsys, "median", path, "wait", *step)
    assert (code, err) == (0, "")
    assert out.startswith("2 h ")


def test_durations_of_a_schema_need_no_quotes(tmp_path):
    """TOML reads them as times of day."""
    path = tmp_path / "waits.csv"
    path.write_text("wait\n1:00:00\n")
    place, columns = (
        tmp_path / "waits.csv.uptack.toml",
        '[columns.wait]\nkind = "{}"\nplausible = [00:05:00, 03:00:00.5]\n',
    )
    place.write_text(columns.format("duration"))
    assert ut.open(path).schema.columns["wait"].plausible == ("00:05:00", "03:00:00.500000")
    place.write_text(columns.format("date"))
    with pytest.raises(InvalidArgument, match="two dates or times"):
        ut.open(path)


def test_rows_with_a_duration_are_the_same_in_files_and_frames(tmp_path):
    path = tmp_path / "waits.csv"
    path.write_text("wait,n\n1:00:00,1\n-0:00:00.5,2\n?,3\n")
    frame = {"wait": np.array([3_600_000, -500, "NaT"], "m8[ms]")}
    for table in (open_table(path, types={"wait": "duration"}), open_table(frame)):
        asked = [comparable("wait", "duration", value) for value in ("01:00:00", "-0:00:00.5", "0:00:01", None)]
        assert [part_size(table, "wait", value) for value in asked] == [1, 1, 0, 1]
    for wrong in (3, "x", "2020-01-01", True):
        with pytest.raises(InvalidArgument, match="value must be a duration"):
            comparable("wait", "duration", wrong)
