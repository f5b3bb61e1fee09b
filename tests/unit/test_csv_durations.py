"""Durations of CSV files: what a cell is, what a curator is told, and that answers are those of a frame."""

from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest

import uptack as ut
from tests.answers import categories, part_size
from uptack.errors import InvalidArgument
from uptack.table.csv import cells
from uptack.table.csv.inspector import inspect_file
from uptack.table.engine.files import FileOptions
from uptack.table.opening import open_table
from uptack.table.values.times import Form, objects_as_ticks

SECOND = 10**6
CELLS = {
    "01:30:00": 5400 * SECOND,
    " 0:00:07.5 ": 7_500_000,
    "-0:00:07.5": -7_500_000,
    "-00:00:00": 0,
    "999999999:59:59": 3_599_999_999_999 * SECOND,
    "0:00:00.000000999": 0,
    "-0:00:00.000000999": -1,
    "120:00:00.123456789": 432_000_123_456,
    **dict.fromkeys(
        ["1:30", "01:60:00", "01:00:60", "1:3:00", "+1:00:00", "--1:00:00", "1:00:00.", "1:00:00.1234567890", "n/a",
         "1000000000:00:00", "P1DT2H", "90 min", "1 day, 1:00:00", "١:00:00", "1:00:00\n2", "2024-01-01", "3600"]
    ),
}  # fmt: skip
"""Cells, and the ticks of those that are durations."""


def test_each_cell_is_read_by_itself():
    texts = list(CELLS)
    together = cells.cast(pa.array([*texts, None]), "duration", cells.Numbers()).to_pylist()
    assert together == [*CELLS.values(), None]
    assert [cells.cast(pa.array([text]), "duration", cells.Numbers())[0].as_py() for text in texts] == together[:-1]
    ticks, gone = objects_as_ticks(texts, Form("duration"))
    assert [None if missing else int(tick) for tick, missing in zip(ticks, gone, strict=True)] == together[:-1]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same rows in a CSV file and in arrays."""
    rng = np.random.default_rng(1)
    waits = rng.integers(-500, 200_000, 900) * (SECOND // 10)
    gone = rng.random(900) < 0.05
    wards, ids = rng.choice(["a", "b"], 900), rng.integers(0, 300, 900)
    texts = [
        f"{'-' if t < 0 else ''}{abs(t) // (3600 * SECOND)}:{abs(t) // (60 * SECOND) % 60:02d}:"
        f"{abs(t) // SECOND % 60:02d}.{abs(t) % SECOND:06d}"
        for t in waits.tolist()
    ]
    path = tmp_path_factory.mktemp("durations") / "waits.csv"
    lines = zip(wards, ids, np.where(gone, "?", texts), strict=True)
    path.write_text("ward,id,wait\n" + "".join(f"{ward},{one},{wait}\n" for ward, one, wait in lines))
    waits = np.where(gone, np.timedelta64("NaT"), waits.astype("m8[us]"))
    file = open_table(path, types={"wait": "duration", "id": "integer"})
    return file, open_table({"ward": wards.tolist(), "id": ids, "wait": waits}, types={"ward": "text"})


def test_a_file_and_a_frame_hold_the_same(both):
    file, frame = both
    assert dict(file.kinds) == dict(frame.kinds) == {"ward": "text", "id": "integer", "wait": "duration"}
    assert file.forms["wait"] == Form("duration")
    counted = categories(file, "wait")
    assert list(counted.items()) == list(categories(frame, "wait").items())
    one = next(key for key in counted if key is not None)
    assert isinstance(one, timedelta)
    assert part_size(file, "wait", one) == part_size(frame, "wait", one) > 0
    assert part_size(file, "wait", None) == part_size(frame, "wait", None) > 0
    assert part_size(file, "wait", 3) == part_size(frame, "wait", 3) == 0
    with pytest.raises(InvalidArgument, match="duration"):
        ut.open(file).where(wait=3)


@pytest.mark.parametrize("people", [{}, {"person": "id"}])
def test_answers_are_the_same(both, people):
    given = {"epsilon": 3, "missing": "drop"}
    for ask in (
        lambda s: s["wait"].quantile([0.25, 0.5, 0.75], **given).value,
        lambda s: s.where({"wait": (">=", "01:00:00")})["wait"].median(**given).value,
        lambda s: s.where({"ward": "a"})["wait"].median(plausible=("0:00:01", "9:00:00"), **given).value,
        lambda s: s["wait"].histogram(epsilon=3, edges=["0:00:00", "2:00:00", "9:00:00"]).value.to_dict(),
        lambda s: s["wait"].trimmed_mean(cut=0.1, **given).value,
        lambda s: s["wait"].median(by="ward", groups=["a", "b"], **given),
    ):
        of_file, of_frame = (ask(ut.open(each, entropy=ut.SeededEntropy(3), **people)) for each in both)
        assert repr(of_file) == repr(of_frame)


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        (["00:00:00", "13:45:00", "23:59:59.5"], "text"),  # times of day, most likely
        (["00:00:00", "13:45:00", "24:00:00"], "duration"),
        (["1:30:00", "13:45:00", ""], "duration"),
        (["-00:10:00", "13:45:00"], "duration"),
        (["001:00:00", "soon"], "text"),
        (["P1DT2H", "PT3H"], "text"),
    ],
)
def test_what_a_curator_is_told(tmp_path, written, kind):
    path = tmp_path / "waits.csv"
    path.write_text("wait,n\n" + "".join(f"{cell},1\n" for cell in written))
    assert inspect_file(str(path), FileOptions()).columns[0].kind == kind
    assert open_table(path, types="guess").kinds["wait"] == "text"
    assert inspect_file(str(path), FileOptions(types={"wait": "duration"})).columns[0].kind == "duration"


def test_a_schema_says_where_durations_lie(tmp_path):
    path = tmp_path / "waits.csv"
    path.write_text("wait\n" + "".join(f"{i % 5}:{i % 60:02d}:00\n" for i in range(2000)))
    place, begin = tmp_path / "waits.csv.uptack.toml", '[columns.wait]\nkind = "duration"\ngranularity = "minute"\n'
    place.write_text(begin + 'plausible = ["00:05:00", "03:00:00"]\n')
    found = ut.open(path, entropy=ut.SeededEntropy(1))["wait"].median(epsilon=1).value
    assert abs(found - timedelta(hours=2, minutes=29)) < timedelta(minutes=15)
    assert found % timedelta(minutes=1) == timedelta(0)
    for wrong in ("[1, 2]", '["2020-01-01", "2024-12-31"]'):
        place.write_text(f"{begin}plausible = {wrong}\n")
        with pytest.raises(InvalidArgument, match="two durations such as"):
            ut.open(path)
    place.write_text('[columns.wait]\nkind = "date"\nplausible = ["00:05:00", "03:00:00"]\n')
    with pytest.raises(InvalidArgument, match="two dates or times"):
        ut.open(path)
