"""One row of a file must not decide how others are read, and none may stop a query; a schema is read or refused."""

import duckdb
import pyarrow as pa
import pytest

import uptack as ut
from uptack.errors import InvalidArgument
from uptack.table.csv import cells, recoding, rules
from uptack.table.opening import open_table

TIMES = {
    "date": ["0000-01-01", "0001-01-01", "9999-12-31", "2024-02-29", "2024-02-30"],
    "datetime": ["0000-12-31", "0001-01-01 00:00", "9999-12-31T23:59:59.999999", "2024-01-01 24:00", "2024-01-01"],
    "datetime-utc": [
        *(f"{day}{zone}" for day in ("0001-01-01T00:00", "9999-12-31T23:59") for zone in ("", "Z", "+01:00", "-0100")),
        *("0000-12-31 19:49-2359", "2024-01-01T10:00+24:00", "2024-01-01T10:00:00.5+05:30"),
    ],
}
BROKEN = {"date": "2024-02-30", "datetime": "2024-02-30", "datetime-utc": "2024-02-30T00:00"}


@pytest.mark.parametrize("kind", TIMES)
def test_a_day_that_there_is_not_changes_no_other_cell(kind):
    """Arrow has a year 0, and Python has not; one broken cell of a batch decided who read all of them."""
    for cell in TIMES[kind]:
        alone, beside = (
            cells.cast(pa.array(some, pa.string()), kind, cells.Numbers())[:1]
            for some in ([cell], [cell, BROKEN[kind]])
        )
        assert alone.equals(beside), cell


def test_a_day_that_there_is_not_moves_one_row_of_a_file(tmp_path):
    def present(last: str) -> int:
        path = tmp_path / "rows.csv"
        path.write_text("when\n" + "0000-01-01\n" * 300 + "2024-01-01\n" * 300 + f"{last}\n")
        return int(open_table(path, types={"when": "date"}).column("when").drop().count())

    assert abs(present("2024-01-01") - present("2024-02-30")) <= 1


@pytest.mark.parametrize("encoding", ["iso2022_jp", "iso2022_jp_2", "hz", "unicode_escape", "raw_unicode_escape"])
def test_encodings_in_which_a_row_goes_on_are_refused(encoding):
    with pytest.raises(InvalidArgument, match="one byte per character"):
        recoding.encoding_name(encoding)


def test_encodings_with_one_byte_per_character_are_not():
    for encoding in ("latin-1", "cp1252", "ascii", "koi8-r", "cp037", "mac-roman", "iso8859-15"):
        assert recoding.encoding_name(encoding)


FAR = (-(1 << 31), 1 - (1 << 31), -800_000, 3_000_000, 10**9, (1 << 31) - 1)


@pytest.mark.parametrize("person", [None, "id"])
def test_a_far_date_stops_no_query(person, tmp_path):
    """DuckDB asked for the microseconds of a table's latest date, which those beyond the year 294247 have not."""
    for far in FAR:
        days = pa.array([*range(19_000, 19_400), far], pa.int32()).cast(pa.date32())
        rows, path = pa.table({"when": days, "id": pa.array(range(401))}), tmp_path / f"{far}.duckdb"
        with duckdb.connect(str(path)) as con:
            con.register("rows", rows)
            con.execute("CREATE TABLE visits AS SELECT * FROM rows")
        session = ut.open(path, person=person)
        months = session["when"].histogram(epsilon=9, edges=["2022-01-01", "2023-03-01"], every="month")
        assert months
        assert session["when"].median(epsilon=9).value.year == 2022


def test_a_schema_that_is_not_there_is_an_error(tmp_path):
    """A link to nowhere was no schema, and with it went the people that it protects."""
    path, place = tmp_path / "rows.csv", tmp_path / "rows.csv.uptack.toml"
    path.write_text("id\n1\n2\n")
    place.symlink_to(tmp_path / "gone.toml")
    with pytest.raises(InvalidArgument, match="schema"):
        ut.open(path, types={"id": "integer"})
    place.unlink()
    place.mkdir()
    with pytest.raises(InvalidArgument, match="schema"):
        ut.open(path, types={"id": "integer"})


@pytest.mark.parametrize(
    "text", [b"\xff[columns.id]", b"a = " + b"[" * 20_000, b"[columns.id]\nplausible = [0, 1e400]"]
)
def test_a_schema_that_can_not_be_read_is_refused(text, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("id\n1\n2\n")
    (tmp_path / "rows.csv.uptack.toml").write_bytes(text)
    with pytest.raises(InvalidArgument):
        ut.open(path)


def test_a_short_row_of_broken_bytes_stops_no_reading(tmp_path, capfd):
    """Arrow wants to tell of a row with another number of cells, as text; that failed, aloud, and so did the file."""
    path = tmp_path / "rows.csv"
    for row in (b"\xff", b"1,2,\xe2\x28\xa1", b"\xed\xa0\x80", b"\0,\0,\0,\xff"):
        path.write_bytes(b"a,b\n" + b"1,2\n" * 5 + row + b"\n" + b"3,4\n" * 5)
        assert open_table(path, types={"a": "integer"}).size == 11
    assert capfd.readouterr() == ("", "")


QUOTED = (
    b'"a\r\nb",1\n',
    b'"a\r\n\r\n""b",1\r\n',
    b'x,"\0\n\0"\n',
    b'"\0"",\n",""\n',
    b'"\r",2\r',
    b"\xff\n",
    b'a"b,"c"d\n',
)


def test_rows_are_read_alike_wherever_blocks_end(tmp_path, monkeypatch):
    """The end of a block, which the rows before decide, took a \\n off quoted cells and ended rows with null bytes."""
    path, made = tmp_path / "rows.csv", rules.Layout(("a", "b"), ",", 1)
    path.write_bytes(b"a,b\n" + b"".join(QUOTED * 5))

    def rows(block: int) -> list[list[object]]:
        monkeypatch.setattr(rules, "BLOCK", block)
        columns = zip(*rules.text_batches([str(path)], made), strict=True)
        return [[cell for part in column for cell in part.to_pylist()] for column in columns]

    whole = rows(1 << 20)
    assert len(whole[0]) == 5 * len(QUOTED)
    for block in range(24, 90):
        assert rows(block) == whole
