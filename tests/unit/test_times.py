"""Dates, times and durations as columns: the same answers from every container, exact ticks, and stated rules."""

import json
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import uptack as ut
from uptack.cli import main
from uptack.display.numbers import words
from uptack.report import profile, to_html, to_json, to_text
from uptack.table.values.entrance import field
from uptack.table.values.times import FIRST, LAST, Form, edges_between, parse_time, unit_start

RNG = np.random.default_rng(7)
ROWS = 1200
DAYS = np.datetime64("2024-03-01") + RNG.integers(0, 200, ROWS)
CLOCK = DAYS.astype("M8[us]") + RNG.integers(0, 86_400 * 10**6, ROWS).astype("m8[us]")
STAYS = (RNG.gamma(2, 2, ROWS) * 86_400e6).astype("m8[us]")
IDS = RNG.integers(0, 500, ROWS)
WARDS = np.where(IDS % 2, "a", "b")


def seeded(seed: int = 1) -> ut.SeededEntropy:
    return ut.SeededEntropy(seed)


def table() -> pa.Table:
    return pa.table(
        {
            "day": pa.array(DAYS),
            "clock": pa.array(CLOCK),
            "zoned": pa.array(CLOCK).cast(pa.timestamp("us", "Europe/Berlin")),
            "id": IDS,
            "ward": WARDS.tolist(),
        }
    )


# ----------------------------------------------------------------------------------------------------------- containers

DATES = {
    "numpy": DAYS,
    "polars": pl.Series(DAYS),
    "arrow": pa.array(DAYS),
    "arrow, 64 bits": pa.array(DAYS).cast(pa.date64()),
    "pandas with Arrow": pd.Series(DAYS, dtype="date32[pyarrow]"),
    "periods": pd.Series(pd.PeriodIndex(DAYS, freq="D")),
}
TIMES = {
    "numpy": CLOCK,
    "masked": np.ma.MaskedArray(CLOCK, np.zeros(ROWS, bool)),
    "pandas": pd.Series(CLOCK),
    "polars": pl.Series(CLOCK),
    "arrow": pa.array(CLOCK),
    "pandas with Arrow": pd.Series(CLOCK, dtype="timestamp[us][pyarrow]"),
    "nanoseconds": CLOCK.astype("M8[ns]") + np.timedelta64(999, "ns"),
    "zoned": pd.Series(CLOCK).dt.tz_localize("UTC").dt.tz_convert("America/New_York"),
}
DURATIONS = {
    "numpy": STAYS,
    "pandas": pd.Series(STAYS),
    "polars": pl.Series(STAYS),
    "arrow": pa.array(STAYS),
    "nanoseconds": STAYS.astype("m8[ns]") + np.timedelta64(1, "ns"),
}


@pytest.mark.parametrize("name", DATES)
def test_dates_are_the_same_from_every_container(name):
    x = DATES[name]
    assert type(ut.median(x, epsilon=1, entropy=seeded()).value) is date
    for call in (
        lambda x: ut.median(x, epsilon=1, entropy=seeded()).value,
        lambda x: ut.iqr(x, epsilon=1, entropy=seeded()).value,
        lambda x: list(ut.quantile(x, [0.25, 0.75], epsilon=1, entropy=seeded()).value),
        lambda x: dict(ut.histogram(x, every="month", epsilon=1, delta=1e-6, entropy=seeded()).value),
    ):
        assert call(x) == call(DAYS)


@pytest.mark.parametrize("name", TIMES)
def test_times_are_the_same_from_every_container(name):
    found = ut.median(TIMES[name], epsilon=1, interval=0.9, entropy=seeded())
    wanted = ut.median(CLOCK, epsilon=1, interval=0.9, entropy=seeded())
    zone = UTC if name == "zoned" else None
    assert found.value == wanted.value.replace(tzinfo=zone)
    assert found.interval(0.9) == tuple(end.replace(tzinfo=zone) for end in wanted.interval(0.9))
    assert abs(wanted.value - pd.Series(CLOCK).median()) < timedelta(days=15)
    assert wanted.interval(0.9)[0] < wanted.value < wanted.interval(0.9)[1]


@pytest.mark.parametrize("name", DURATIONS)
def test_durations_are_the_same_from_every_container(name):
    for statistic in (ut.median, ut.mad, ut.mean, ut.std, ut.trimmed_mean):
        found = statistic(DURATIONS[name], epsilon=2, entropy=seeded()).value
        assert type(found) is timedelta
        assert found == statistic(STAYS, epsilon=2, entropy=seeded()).value
    assert abs(ut.median(STAYS, epsilon=2, entropy=seeded()).value - np.median(STAYS).item()) < timedelta(hours=8)


def test_spreads_of_times_are_durations():
    assert ut.iqr(DAYS, epsilon=1, entropy=seeded()).value % timedelta(days=1) == timedelta(0)
    assert type(ut.std(CLOCK, epsilon=2, entropy=seeded()).value) is timedelta
    found = ut.mean(CLOCK, epsilon=2, entropy=seeded())
    low, high = found.interval()
    assert low < datetime(2024, 6, 8) < high
    assert low < found.value < high
    with pytest.raises(ut.InvalidArgument, match="times"):
        ut.variance(CLOCK, epsilon=1)


# ------------------------------------------------------------------------------------------------------------ the rules


def test_ticks_are_exact_beyond_floats():
    late = np.array(["9999-12-31T23:59:59.999998", "9999-12-31T23:59:59.999999", "0001-01-01", "NaT"], "M8[us]")
    ticks, gone = field("x", late).ticks()
    assert ticks.tolist() == [LAST - 1, LAST, FIRST, 0]
    assert gone.tolist() == [False, False, False, True]
    assert float(LAST) == float(LAST - 1)
    assert Form("clock").show(LAST) == datetime.max
    assert Form("clock").show(LAST - 1) != datetime.max
    edges = [datetime.max - timedelta(microseconds=1), datetime.max]
    binned = ut.histogram(late, edges=edges, epsilon=1000, entropy=seeded()).value
    assert list(binned.counts) == [2]


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "25s", "ns", "ps"])
def test_every_unit_of_numpy(unit):
    rows = np.array(["1970-01-01", "2024-02-26", "1969-06-02", "NaT"], "M8[us]").astype(f"M8[{unit}]")
    ticks, gone = field("x", rows).ticks()
    finite = rows[:3].astype("M8[us]").astype(np.int64) if unit != "ps" else ticks[:3]  # too long ago for picoseconds
    assert ticks[:3].tolist() == finite.tolist()
    assert gone.tolist() == [False] * 3 + [True]
    if unit not in ("ns", "ps"):
        ends = np.array([2**62, -(2**62)]).view(f"M8[{unit}]")
        assert field("x", ends).ticks()[0].tolist() == [LAST, FIRST]
    span = np.array([3, -(2**62)]).view(f"m8[{unit}]")
    assert field("x", span).kind == ("other" if unit in "YM" else "duration")


def test_zones_are_compared_in_utc():
    summer, winter = "2024-07-01T00:30+02:00", "2024-06-30T23:00+00:00"
    rows = pd.Series(pd.to_datetime([summer, winter], utc=True).tz_convert("Europe/Berlin"))
    ticks, _ = field("x", rows).ticks()
    assert ticks[0] == parse_time("2024-06-30T22:30").ticks < ticks[1]


def test_options_speak_as_the_column_does():
    hour = ut.median(CLOCK, epsilon=1, granularity="hour", plausible=("2024-01-01", date(2025, 1, 1)), entropy=seeded())
    assert hour.value.minute == hour.value.microsecond == 0
    assert ut.median(CLOCK, epsilon=1, granularity=timedelta(hours=1), entropy=seeded()).value.minute == 0
    gone = np.where(np.arange(ROWS) % 3 == 0, np.datetime64("NaT"), CLOCK)
    for missing in ("low", "high", "drop", "2024-06-01", datetime(2024, 6, 1)):
        assert ut.median(gone, epsilon=1, missing=missing, entropy=seeded())
    around = ut.quantile_interval(CLOCK, 0.5, date(2024, 6, 1), epsilon=1, entropy=seeded()).value
    assert around[0] < datetime(2024, 6, 8) < around[1]
    for wrong in (
        {"granularity": 5},
        {"granularity": "2024-01-01"},
        {"plausible": (0, 1)},
        {"plausible": (timedelta(1), timedelta(2))},
        {"plausible": (datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC))},
        {"missing": 0},
    ):
        with pytest.raises(ut.InvalidArgument, match=f"^{next(iter(wrong))} must be .* for a column of times"):
            ut.median(CLOCK, epsilon=1, **wrong)
    with pytest.raises(ut.InvalidArgument, match="for a column of numbers"):
        ut.median([1.0] * 500, epsilon=1, granularity="day")


def test_a_list_of_times_has_no_type():
    with pytest.raises(ut.InvalidArgument, match=r"Times need a type: pass numpy.array\(x, 'datetime64\[us\]'\)"):
        ut.median([date(2024, 1, 1)] * 500, epsilon=1)
    rows = {"day": [*DAYS.tolist(), None, "2024-06-01", "soon", 5]}
    session = ut.open(rows, types={"day": "date"}, entropy=seeded())
    assert session.source.kinds["day"] == "time"
    assert type(session["day"].median(epsilon=1).value) is date


# --------------------------------------------------------------------------------------------------------- the calendar


def test_units_of_the_calendar_are_pythons():
    ticks = RNG.integers(FIRST, LAST, 300)
    for tick in ticks.tolist():
        when = Form("clock").show(tick)
        firsts = {
            "hour": when.replace(minute=0, second=0, microsecond=0),
            "day": datetime(*when.timetuple()[:3]),
            "month": datetime(when.year, when.month, 1),
            "year": datetime(when.year, 1, 1),
        }
        for every, first in firsts.items():
            assert Form("clock").show(int(unit_start(np.array([tick]), every)[0])) == first
        monday = Form("clock").show(int(unit_start(np.array([tick]), "week")[0]))
        assert monday.weekday() == 0
        assert monday <= when < monday + timedelta(days=7)
    months = edges_between(parse_time("2023-12-15").ticks, parse_time("2024-03-01").ticks, "month")
    assert [words(Form("date").show(tick)) for tick in months] == [
        "2023-12-01",
        "2024-01-01",
        "2024-02-01",
        "2024-03-01",
    ]


def test_histograms_of_times():
    found = ut.histogram(CLOCK, edges=["2024-02-10", "2024-05-01"], every="month", epsilon=1000, entropy=seeded()).value
    counts = pd.Series(CLOCK).dt.to_period("M").value_counts()
    assert dict(found) == {
        date(2024, 2, 1): 0,
        date(2024, 3, 1): counts["2024-03"],
        date(2024, 4, 1): counts["2024-04"],
    }
    open_ended = ut.histogram(CLOCK, every="month", epsilon=1000, delta=1e-6, entropy=seeded()).value
    assert open_ended[date(2024, 4, 1)] == counts["2024-04"]
    pairs = ut.histogram(DAYS, edges=[date(2024, 3, 1), date(2024, 4, 1)], epsilon=1000, entropy=seeded()).value
    assert list(pairs) == [(date(2024, 3, 1), date(2024, 4, 1))]
    spans = ut.histogram(STAYS, edges=[timedelta(0), timedelta(days=2)], epsilon=1000, entropy=seeded()).value
    assert spans[(timedelta(0), timedelta(days=2))] == int((np.timedelta64(2, "D") >= STAYS).sum())
    for wrong in (
        lambda: ut.histogram(CLOCK, edges=[0, 1], epsilon=1),
        lambda: ut.histogram([1, 2], edges=["2024-01-01", "2024-02-01"], epsilon=1),
        lambda: ut.histogram([1, 2], every="day", epsilon=1, delta=1e-6),
        lambda: ut.histogram(CLOCK, edges=["2024-01-01", "2024-02-01"], every="decade", epsilon=1),
        lambda: ut.histogram(CLOCK, keys=[1], every="day", epsilon=1),
        lambda: ut.histogram(CLOCK, edges=["0001-01-01", "9999-01-01"], every="hour", epsilon=1),
    ):
        with pytest.raises(ut.InvalidArgument):
            wrong()


# ------------------------------------------------------------------------------------------------ sessions and commands


def asked(session: ut.Session, person: bool) -> list[object]:
    """The same questions of any session."""
    more = {"per_person": "max"} if person else {}
    edges = ["2024-03-01", "2024-06-01"]
    return [
        session["day"].median(epsilon=1).value,
        session["zoned"].median(epsilon=4, interval=0.9).interval(0.9),
        session["clock"].quantile([0.25, 0.75], epsilon=4, **more).value.tolist(),
        [reply.value for reply in session["day"].median(epsilon=1, by="ward", groups=["a", "b"]).value.values()],
        dict(session["clock"].histogram(edges=edges, every="month", epsilon=1).value),
        dict(session["day"].histogram(every="week", epsilon=1, delta=1e-6).value),
    ]


@pytest.mark.parametrize("person", [False, True])
def test_a_file_and_a_frame_answer_alike(tmp_path, person):
    path = tmp_path / "stays.parquet"
    pyarrow.parquet.write_table(table(), path)
    options = {"person": "id"} if person else {}
    found = [asked(ut.open(data, entropy=seeded(), **options), person) for data in (table(), path)]
    assert found[0] == found[1]
    assert type(found[0][0]) is date
    assert found[0][1][0].tzinfo is UTC


def test_groups_keep_the_zone():
    zoned = pd.Series(CLOCK).dt.tz_localize("UTC")
    found = ut.median(zoned, epsilon=1, by=WARDS, groups=["a", "b"], person=IDS, entropy=seeded()).value
    assert all(reply.value.tzinfo is UTC for reply in found.values())
    with pytest.raises(ut.InvalidArgument, match="Times don't add up"):
        ut.median(zoned, epsilon=1, person=IDS, per_person="sum")
    assert ut.median(zoned, epsilon=1, person=IDS, per_person="count", entropy=seeded()).value == 2.0


def test_rows_are_ordered_by_time_and_not_by_its_text():
    ids, when = np.repeat(np.arange(600), 2), np.tile(np.array(["2024-10-01", "2024-02-01"], "M8[D]"), 600)
    values = np.tile([1.0, 0.0], 600)
    assert ut.median(values, epsilon=1, person=ids, per_person="last", order=when, entropy=seeded()).value == 1.0


def test_csv_files_and_the_command_line(tmp_path, capsys):
    path = tmp_path / "stays.csv"
    cells = [f"{day},{clock}Z" for day, clock in zip(DAYS, CLOCK, strict=True)]
    path.write_text("\n".join(["day,clock", *cells, "2024-02-30,soon", ","]))
    session = ut.open(path, types={"day": "date", "clock": "datetime-utc"}, entropy=seeded())
    assert dict(session.source.kinds) == {"day": "time", "clock": "time"}
    assert abs(session["day"].median(epsilon=1).value - date(2024, 6, 8)) < timedelta(days=20)
    assert session["clock"].median(epsilon=1).value.tzinfo is UTC

    def said(*words: str) -> str:
        assert (
            main([*words, "--epsilon", "1", "--seed", "1", "--type", "day=date", "--type", "clock=datetime-utc"]) == 0
        )
        return capsys.readouterr().out

    assert date.fromisoformat(said("median", str(path), "day").split()[0])
    edges = ["--edge", "2024-03-01", "--edge", "2024-05-01", "--every", "month"]
    lines = said("histogram", str(path), "day", *edges).splitlines()
    assert [line.split("\t")[0] for line in lines[:2]] == ["2024-03-01", "2024-04-01"]
    given = ["--granularity", "hour", "--plausible", "2024-01-01:2025-01-01", "--json"]
    assert datetime.fromisoformat(json.loads(said("median", str(path), "clock", *given))["value"]).minute == 0


def test_reports_have_cards_of_times():
    session = ut.open({"day": DAYS, "clock": CLOCK, "stay": STAYS}, entropy=seeded())
    for epsilon in (2, 60):
        found = profile(session, epsilon, progress=False)
        page, text = to_html(found), to_text(found)
        assert "2024-0" in page
        assert " IQR |" in text
        assert " d" in text
        figures = {f["label"]: f["value"] for f in json.loads(to_json(found))["columns"][0]["figures"]}
        assert date.fromisoformat(figures["median"])


def test_words():
    assert words(timedelta(days=2, hours=3)) == "2 d 3 h"
    assert words(timedelta(seconds=1.5)) == "1.5 s"
    assert Form("date").show(-1.0, -1) == date(1969, 12, 31)
    assert Form("date").show(1.0, 1) == date(1970, 1, 2)
    assert Form("duration").show(float("inf")) > timedelta(days=10**8)
