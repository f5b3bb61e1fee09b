"""Every way to write a CSV file: one row changes one row, never raises, and its text is in no message."""

import gzip
import itertools

import pytest

import uptack as ut
from tests.answers import categories
from uptack.cli import main
from uptack.errors import InvalidArgument, UptackError
from uptack.table.csv.inspector import inspect_file
from uptack.table.engine.files import FileOptions, guess_types
from uptack.table.opening import open_table

TYPES = {"n": "integer", "x": "number", "b": "boolean:ja/nein", "w": "text"}
HOW = {"delimiter": ";", "decimal": ",", "thousands": ".", "na": ["NA", "-"]}
GOOD = "1.000;2,5;ja;Ä\n"
ROWS = {
    "signs of another country": "1,000;2.5;ja;A",
    "groups of two": "10.00;1.0,5;ja;A",
    "two decimal signs": "1,2,3;1,2,3;ja;A",
    "signs without digits": ".;,;ja;A",
    "a number without end": "9" * 400 + ";" + "9.999" * 400 + ",5;ja;A",
    "an integer beyond 64 bits": "9.223.372.036.854.775.808;1e999;ja;A",
    "words for missing values": "NA; - ;-;NA",
    "digits of another script": "١;१,५;ja;A",
    "a null character": "1\0;2\0,5;j\0a;A\0",
    "signs that mean something to a regex": "[.];(?i:x);ja|nein;\\E.*",
    "too few": "1;2",
    "too many": "1;2,5;ja;A;;;secret",
    "nothing": "",
    "a line break in quotes": '1;2,5;ja;"A\r\n\n1;2;3;4"',
    "a mark in the middle": "\ufeff1;2,5;ja;\ufeff",
    "other line ends": "1;2,5;ja;A\u2028B\u0085C\x0b",
}
ENCODINGS = ("utf-8", "utf-16", "latin-1")


def made(path, row, place, encoding):
    lines = [GOOD] * 6
    lines.insert(place, row + "\n")
    path.write_bytes(("n;x;b;w\n" + "".join(lines)).encode(encoding, "replace"))
    said = None if encoding in ("utf-8", "utf-16") else encoding
    rows = open_table(path, types=TYPES, encoding=said, **HOW)
    return dict(rows.kinds), rows.size, {name: categories(rows, name) for name in TYPES}


@pytest.mark.parametrize("row", ROWS)
def test_one_row_changes_one_row(tmp_path, row):
    for place, encoding in zip(itertools.cycle((0, 3, 6)), ENCODINGS):
        kinds, rows, found = made(tmp_path / "rows.csv", ROWS[row], place, encoding)
        assert kinds == {**TYPES, "b": "boolean"}
        assert rows == 7
        for name, good in (("n", 1000), ("x", 2.5), ("b", True), ("w", "Ä")):
            assert found[name][good] >= 6
            assert sum(found[name].values()) == 7


BROKEN = {
    "utf-8": [b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"],
    "utf-16-le": [b"\x00\xd8", b"\x00\xdc", b"\x00\xdc\x00\xd8", b"\x00\xd8A\x00"],
    "utf-16-be": [b"\xd8\x00", b"\xdc\x00"],
    "utf-32-le": [b"\x00\x00\x11\x00", b"\x00\xd8\x00\x00"],
    "cp1252": [b"\x81", b"\x8d\x9d"],
}


@pytest.mark.parametrize("encoding", BROKEN)
def test_broken_bytes_are_one_missing_cell(tmp_path, encoding):
    path = tmp_path / "rows.csv"
    for broken in BROKEN[encoding]:
        for last in (False, True):
            cells = ["n,w\n1,".encode(encoding), broken, "\n2,B\n".encode(encoding)]
            whole = [*cells[:1], cells[2][len("\n".encode(encoding)) :], "3,".encode(encoding), broken]
            path.write_bytes(b"".join(cells) if not last else "n,w\n1,C\n".encode(encoding) + b"".join(whole[1:]))
            rows = open_table(path, types={"n": "integer"}, encoding=encoding)
            names = categories(rows, "w")
            assert categories(rows, "n") == ({1: 1, 2: 1, 3: 1} if last else {1: 1, 2: 1})
            assert names == ({"B": 1, "C": 1, None: 1} if last else {"B": 1, None: 1})


def test_first_bytes_of_a_row_decide_nothing(tmp_path):
    """Without a line of names the file begins with a row, whatever that looks like."""
    path = tmp_path / "rows.csv"
    for start in (
        b"\xff\xfe",
        b"\xfe\xff",
        b"\x1f\x8b",
        b"PK\x03\x04",
        b"PAR1",
        b"\xef\xbb\xbf",
        b"\0",
        b"31",
        b'"\n"',
    ):
        path.write_bytes(start + b",A\n2,B\n3,B\n")
        rows = open_table(path, types={"n": "integer", "w": "text"}, header=False)
        assert (rows.size, categories(rows, "w")) == (3, {"A": 1, "B": 2})
        assert {2, 3} <= set(categories(rows, "n"))


def test_a_schema_is_read_off_no_row(tmp_path, capsys):
    """With a schema what is seen is the same for all rows: kinds, refusals, messages."""
    path, shown = tmp_path / "rows.csv", set()
    (tmp_path / "rows.csv.uptack.toml").write_text(
        '[file]\nna = ["NA"]\n[columns.n]\nkind = "integer"\ngranularity = 5\n[columns.w]\nlevels = ["A", "B"]\n'
    )
    for row in ("1,A", "NA,secret", "\0,\ufffd", "1,2,3", '1,"x\ny"', "9" * 30 + ",C"):
        path.write_text("n,w\n" + "31,A\n" * 50 + row + "\n")
        session = ut.open(path, entropy=ut.SeededEntropy(1))
        made = session["w"].histogram(epsilon=1)
        assert list(made.value) == ["A", "B"]
        assert main(["describe", str(path), "--json"]) == 0
        assert main(["median", str(path), "nn", "-e", "1"]) == 2
        with pytest.raises(UptackError) as error:
            session["w"].median(epsilon=1)
        shown.add((session.describe(), str(error.value), *capsys.readouterr(), made.mechanism))
    assert len(shown) == 1
    assert "secret" not in str(shown)


def test_a_refused_header_shows_the_header_only(tmp_path):
    path = tmp_path / "rows.csv"
    (tmp_path / "rows.csv.uptack.toml").write_text("[columns.n]\n[columns.w]\n")
    for row in ("1,A", "secret,secret", "1,2,3"):
        path.write_text(f"n,ward\n{row}\n")
        with pytest.raises(InvalidArgument, match="Only the file has 'ward' and only the schema has 'w'") as error:
            ut.open(path)
        assert "secret" not in str(error.value)


def test_a_packed_file_that_breaks_off(tmp_path):
    """What the library says of it may show a row, so another error takes its place."""
    path = tmp_path / "rows.csv.gz"
    whole = gzip.compress(b"n,w\n" + b"".join(b"%d,secret%d\n" % (i, i * 7919) for i in range(4000)))
    for cut in (12, len(whole) // 2, len(whole) - 4):
        path.write_bytes(whole[:cut])
        for read in (
            lambda: open_table(path, types={}),
            lambda: guess_types(path),
            lambda: inspect_file(str(path), FileOptions()),
        ):
            with pytest.raises(UptackError) as error:
                read()
            assert "secret" not in str(error.value)
            assert error.value.__context__ is None
