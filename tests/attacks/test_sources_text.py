"""CSV files: no row may change a type, a dialect, an error, or how another row is read."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import uptack as ut
from tests.answers import categories
from uptack.cli import main
from uptack.errors import InvalidArgument
from uptack.table.csv import rules
from uptack.table.engine.files import guess_types
from uptack.table.opening import open_table

TYPES = {"age": "integer", "cost": "number", "ill": "boolean", "ward": "text"}
GOOD = b"31,2.5,true,A\n"
HOSTILE = {
    "a word among integers": b"n/a,1,true,A",
    "a fraction among integers": b"2.5,1,true,A",
    "an integer beyond 64 bits": b"9223372036854775808,1,true,A",
    "digits without end": b"1" * 5000 + b",1,true,A",
    "a number beyond floats": b"1,1e400,true,A",
    "a number in another notation": b"1,0x10,true,A",
    "no truth value": b"1,1,maybe,A",
    "bytes that are no text": b"1,1,true,\xff\xfe",
    "no text in a number": b"\xff,1,true,A",
    "a null byte": b"1,1,true,A\x00B",
    "a short row": b"1,1",
    "a long row": b"1,1,true,A,B,C,D",
    "an empty row": b"",
    "a quote in the middle": b'1,1,true,A"B',
    "text after a quote": b'1,1,true,"A"B',
    "a line break in quotes": b'1,1,true,"A\nB"',
    "another delimiter": b"1;1;true;A",
    "a very long cell": b"1,1,true," + b"x" * 3_000_000,
}


def read(path, **options):
    rows = open_table(path, **{"types": TYPES, **options})
    return {name: categories(rows, name) for name in TYPES}, rows


@pytest.mark.parametrize("row", HOSTILE)
@pytest.mark.parametrize("place", [0, 25, 50])
def test_one_row_changes_one_row(tmp_path, row, place):
    lines = [GOOD] * 50
    lines.insert(place, HOSTILE[row] + b"\n")
    path = tmp_path / "rows.csv"
    path.write_bytes(b"age,cost,ill,ward\n" + b"".join(lines))
    found, rows = read(path)
    assert dict(rows.kinds) == TYPES
    assert rows.size == 51
    for name, good in (("age", 31), ("cost", 2.5), ("ill", True), ("ward", "A")):
        assert found[name][good] >= 50
        assert sum(found[name].values()) == 51


def test_what_does_not_fit_is_missing(tmp_path):
    path = tmp_path / "rows.csv"
    cells = [b"2.5,2.5,1,x", b"1e3,1e3,YES,y", b" 7 , -.5 , f , z ", b"+8,1e400,2,\xff", b"9223372036854775808,,t,"]
    path.write_bytes(b"age,cost,ill,ward\n" + b"\n".join(cells))
    found, rows = read(path)
    assert found["age"] == {7: 1, 8: 1, None: 3}
    assert found["ill"] == {True: 3, False: 1, None: 1}
    assert found["ward"] == {"x": 1, "y": 1, " z ": 1, None: 2}
    assert found["cost"] == {-0.5: 1, 2.5: 1, 1000.0: 1, np.inf: 1, None: 1}
    assert rows.size == 5


def test_types_are_not_guessed_unless_the_curator_says_so(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("age,ward\n1,A\n")
    for opening in (open_table, ut.open):
        with pytest.raises(InvalidArgument, match="types must be given for a CSV file") as error:
            opening(path)
        assert "'age'" in str(error.value)
    assert dict(open_table(path, types={}).kinds) == {"age": "text", "ward": "text"}
    assert dict(open_table(path, types={"age": "guess"}).kinds) == {"age": "integer", "ward": "text"}


def test_a_ledger_keeps_what_was_guessed_first(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("age,ill\n" + "31,true\n" * 40)
    ledger = ut.Ledger(tmp_path / "budget.db", epsilon=1)
    first = ut.open(path, types="guess", ledger=ledger)
    assert dict(first.source.kinds) == {"age": "integer", "ill": "boolean"}
    path.write_text("age,ill\n" + "31,true\n" * 39 + "soon,2.5\n")
    assert guess_types(path) == {"age": "text", "ill": "text"}
    again = ut.open(path, types="guess", ledger=ut.Ledger(tmp_path / "budget.db"))
    assert again.describe() == first.describe()
    assert categories(again.source, "age") == {31: 39, None: 1}
    assert dict(ut.open(path, types={"age": "text"}, ledger=ledger).source.kinds)["age"] == "text"
    assert ledger.spent() == ut.Privacy(0)
    assert ledger.verify()
    path.write_text("age,ill,new\n31,true,4\n")
    assert dict(ut.open(path, types="guess", ledger=ledger).source.kinds)["new"] == "integer"


def test_the_line_of_names_decides_how_it_is_written(tmp_path):
    for name, sign in (("a.csv", ";"), ("b.csv", "|"), ("c.csv", "\t"), ("d.tsv", "\t"), ("e.csv", ",")):
        path = tmp_path / name
        path.write_text(f"age{sign}ward\n1{sign}A\n" + "a,b,c,d;e|f\tg\n" * 5)
        rows = open_table(path, types={"age": "integer"})
        assert list(rows.kinds) == ["age", "ward"]
        assert rows.size == 6
    path.write_text("age:ward\n1:A\n")
    assert categories(open_table(path, types={"age": "integer"}, delimiter=":"), "ward") == {"A": 1}


def test_a_first_row_is_not_taken_for_names(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("31,secret\n44,A\n")
    with pytest.raises(InvalidArgument) as error:
        open_table(path, types={})
    assert "secret" not in str(error.value)
    rows = open_table(path, types={"age": "integer", "ward": "text"}, header=False)
    assert categories(rows, "ward") == {"A": 1, "secret": 1}
    assert list(open_table(path, types={}, header=True).kinds) == ["31", "secret"]
    with pytest.raises(InvalidArgument, match="types must be given for a file without a line of names"):
        open_table(path, types="guess", header=False)


@pytest.mark.parametrize("text", ["age,ward\n", "age,ward", "age,ward\r\n", "\ufeffage,ward\n"])
def test_a_header_without_rows_is_no_row(tmp_path, text, capsys):
    path = tmp_path / "rows.csv"
    path.write_text(text, encoding="utf-8", newline="")
    for types in ("guess", {"age": "integer"}):
        assert open_table(path, types=types).size == 0
        assert list(open_table(path, types=types).kinds) == ["age", "ward"]
    assert main(["report", str(path), "-e", "1", "-o", str(tmp_path / "report.json"), "--type", "age=integer"]) == 2
    assert "at least one row" in capsys.readouterr().err


def test_several_files(tmp_path):
    for part in range(3):
        (tmp_path / f"visits-{part}.csv").write_text(f"age,ward\n{part},A\n")
    rows = open_table(tmp_path / "visits-*.csv", types={"age": "integer"})
    assert categories(rows, "age") == {0: 1, 1: 1, 2: 1}
    (tmp_path / "visits-3.csv").write_text("age,room\n1,A\n")
    with pytest.raises(InvalidArgument, match=r"visits-3\.csv"):
        open_table(tmp_path / "visits-*.csv", types={"age": "integer"})


def test_compressed_files(tmp_path):
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b"age,ward\n1,A\n2\n"))
    rows = open_table(tmp_path / "rows.csv.gz", types={"age": "integer"})
    assert categories(rows, "age") == {1: 1, None: 1}


def test_rows_longer_than_a_block_are_read_once(tmp_path, monkeypatch):
    monkeypatch.setattr(rules, "BLOCK", 64)
    path = tmp_path / "rows.csv"
    path.write_text("age,ward\n" + "".join(f"{i},{'x' * i}\n" for i in range(600)) + "1\n")
    rows = open_table(path, types={"age": "integer"})
    assert rows.size == 601
    assert len(categories(rows, "age")) == 601


def test_names_that_can_not_be_told_apart(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("age,Age\n1,2\n")
    assert categories(open_table(path, types={"Age_2": "integer"}), "Age_2") == {2: 1}
    path.write_text(",a\n1,2\n")
    assert list(open_table(path, types={}).kinds) == ["column_1", "a"]


def test_the_command_line_says_what_it_took(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("age,ward\n" + "31,A\n" * 400)
    assert main(["median", str(path), "age", "-e", "2"]) == 0
    assert "--type age=integer --type ward=text" in capsys.readouterr().err
    assert main(["median", str(path), "age", "-e", "2", "--type", "age=number"]) == 0
    assert "--type ward=text" in (err := capsys.readouterr().err)
    assert "age=" not in err
    assert main(["median", str(path), "age", "-e", "2", "--type", "age=number", "--type", "ward=text"]) == 0
    assert capsys.readouterr().err == ""


def test_a_null_character_is_missing_in_a_csv_file_and_kept_elsewhere(tmp_path):
    """As docs/sources.md says; no condition can name such a text."""
    rows = pa.table({"w": ["a\0b"] * 300 + ["c"] * 300})
    pq.write_table(rows, tmp_path / "rows.parquet")
    (tmp_path / "rows.csv").write_text("w\n" + "a\0b\n" * 300 + "c\n" * 300)
    ask = {"epsilon": 4, "delta": 1e-6}
    for kept in (rows, tmp_path / "rows.parquet"):
        assert set(ut.open(kept)["w"].histogram(**ask).value) == {"a\0b", "c"}
        with pytest.raises(InvalidArgument, match="other than NUL"):
            ut.open(kept).where(w="a\0b")
    assert set(ut.open(tmp_path / "rows.csv", types={"w": "text"})["w"].histogram(**ask).value) == {None, "c"}
