"""CSV files as people have them: encodings, signs of numbers, words for missing values, headers."""

import bz2
import gzip
import json
from fractions import Fraction
from pathlib import Path

import pytest

import uptack as ut
from tests.answers import categories
from uptack.cli import main
from uptack.errors import InvalidArgument
from uptack.table.csv import cells, rules
from uptack.table.csv.inspector import inspect_file
from uptack.table.engine.files import FileOptions, guess_types
from uptack.table.opening import open_table

TYPES = {"größe": "number", "n": "integer", "raucher": "boolean:ja/nein", "ort": "text"}
HOW = {"decimal": ",", "thousands": ".", "na": ["NA", "-"]}
TEXT = 'größe;n;raucher;ort\n1.234,5;1.000;ja;"Köln\nDeutz"\n0,25;12;Nein;-\nNA;-;vielleicht;NA\n1.23;1,5;;N/A\n1;2\n'
READ = {
    "größe": {0.25: 1, 1234.5: 1, None: 3},
    "n": {12: 1, 1000: 1, None: 3},
    "raucher": {False: 1, True: 1, None: 3},
    "ort": {"Köln\nDeutz": 1, "N/A": 1, None: 3},
}


def read(path, **options):
    rows = open_table(path, types=TYPES, **HOW, **options)
    return {name: categories(rows, name) for name in TYPES}


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("utf-16", None),  # with a mark
        ("utf-16", "utf-16"),
        ("utf-16-be", "utf-16-be"),
        ("latin-1", "latin-1"),
        ("cp1252", "Windows-1252"),
    ],
)
def test_encodings(tmp_path, encoding, said):
    path = tmp_path / "rows.csv"
    path.write_bytes(TEXT.encode(encoding))
    assert read(path, encoding=said) == READ


@pytest.mark.parametrize(("end", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".GZ", gzip.compress)])
def test_packed_files(tmp_path, end, pack):
    path = tmp_path / f"rows.csv{end}"
    path.write_bytes(pack(TEXT.encode("utf-16")))
    assert read(path) == READ


def refusal(path, text, **options):
    path.write_bytes(text)
    with pytest.raises(InvalidArgument) as error:
        open_table(path, **{"types": {}, **options})
    assert error.value.__cause__ is None
    assert "secret" not in str(error.value)
    return str(error.value)


def test_errors_name_the_option_that_helps(tmp_path):
    plain, packed = tmp_path / "rows.csv", tmp_path / "rows.csv.gz"
    rows = "größe,ort\n1,secret\n"
    assert "--encoding latin-1" in refusal(plain, rows.encode("latin-1"))
    assert "encoding='utf-16-le'" in refusal(plain, rows.encode("utf-16-le"))
    assert "remove .gz from" in refusal(packed, rows.encode())
    assert "Add .gz" in refusal(plain, gzip.compress(rows.encode()))
    assert "--no-header" in refusal(plain, b"1,2\n3,secret\n")
    assert "--no-header" in refusal(plain, b"\n1,secret\n")
    assert "types={'x'" not in refusal(plain, b"x\nsecret\n", types={"y": "text"})
    assert "iconv" in refusal(plain, rows.encode(), encoding="shift_jis")
    assert "latin-1" in refusal(plain, rows.encode(), encoding="klingon")
    assert "utf-16-le" in refusal(plain, rows.encode(), encoding="utf-16", header=False, types={"x": "text"})
    assert "--decimal ," in refusal(plain, rows.encode(), thousands=".")
    assert "boolean:yes/no" in refusal(plain, b"x\nsecret\n", types={"x": "boolean:ja"})
    assert "na must be" in refusal(plain, b"x\nsecret\n", na=[1])
    for name, value in (("decimal", ";"), ("thousands", "3"), ("delimiter", "§")):
        assert f"{name} must be" in refusal(plain, rows.encode(), **{name: value})
    with pytest.raises(InvalidArgument, match="decimal must be left out"):
        open_table({"x": [1, 2]}, decimal=",")


def test_names_are_made_unlike_by_a_rule(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("age,,Age,age_2,age, \n1,2,3,4,5,6\n")
    rows = open_table(path, types={"age_4": "integer"})
    assert list(rows.kinds) == ["age", "column_2", "Age_3", "age_2", "age_4", "column_6"]
    assert categories(rows, "age_4") == {5: 1}
    assert list(open_table(path, types=dict.fromkeys("abcdef", "text"), header=False).kinds) == list("abcdef")


def test_a_name_may_have_a_line_break(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('"age\n(years)",x\n31,1\n')
    assert categories(open_table(path, types={"age\n(years)": "integer"}), "age\n(years)") == {31: 1}


def test_words_are_kept_as_written_unless_declared(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("ill,n\nyes,NA\nno,3\nN/A,-\n,4\n")
    assert guess_types(path) == {"ill": "text", "n": "integer"}
    assert categories(open_table(path, types={}), "ill") == {"N/A": 1, "no": 1, "yes": 1, None: 1}
    assert categories(open_table(path, types={}, na="N/A"), "ill") == {"no": 1, "yes": 1, None: 2}
    assert categories(open_table(path, types={"ill": "boolean"}), "ill") == {False: 1, True: 1, None: 2}


@pytest.mark.parametrize(
    ("signs", "fit", "others"),
    [
        ((".", ""), ["1", "-1.5", ".5", "1e3", "5."], ["1,5", "1 000", "0x1", "１"]),
        ((",", ""), ["1", "1,5", "+,5"], ["1.5"]),
        ((".", ","), ["1,234", "1,234,567.5", "1234.5"], ["1,23", "1,2345", ",123", "1,,234"]),
        ((",", " "), ["1 234,5", "1\u00a0234", "1\u202f234"], ["1 23", "12 34,5"]),
        ((".", "'"), ["1'234.5"], ["1'23"]),
    ],
)
def test_how_numbers_are_written(signs, fit, others):
    import pyarrow as pa

    form = cells.Numbers(*signs)
    assert cells.cast(pa.array(fit), "number", form).null_count == 0
    assert cells.cast(pa.array(others), "number", form).null_count == len(others)


def test_the_command_line_has_the_options(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_bytes("größe;ort\n".encode("latin-1") + b"1.234,5;-\n" * 300)
    how = ["--encoding", "latin-1", "--decimal", ",", "--thousands", ".", "--na", "-", "--na", "NA"]
    assert main(["median", str(path), "größe", "-e", "2", "--json", *how]) == 0
    found = capsys.readouterr()
    assert json.loads(found.out)["value"] == pytest.approx(1234.5)
    assert "--type 'größe=number' --type ort=text" in found.err
    assert main(["median", str(path), "größe", "-e", "2"]) == 2
    assert "--encoding latin-1" in capsys.readouterr().err
    path.write_text("31;1\n" * 300)
    told = ["--no-header", "--delimiter", ";", "--type", "age=integer", "--type", "n=integer"]
    assert main(["median", str(path), "age", "-e", "2", *told]) == 0
    session = ut.open(path, types={"age": "integer", "n": "integer"}, header=False, delimiter=";", na="31")
    assert categories(session.source, "age") == {None: 300}


def test_the_look_at_a_nasty_file(tmp_path):
    path = tmp_path / "rows.csv"
    more = "".join(f"{i // 2};{i},5;{i:05d};{i * 100};{'true' if i % 2 else 'false'};ja\n" for i in range(60))
    path.write_bytes(("id;größe;plz;lohn;b;w\nNA;soon;;-;;NA\n1;2\n" + more).encode("latin-1"))
    seen = inspect_file(str(path), FileOptions())
    assert seen.dialect == {
        "delimiter": ";", "header": True, "encoding": "cp1252", "decimal": ",", "thousands": "", "na": ["NA", "-"],
    }  # fmt: skip
    assert [column.kind for column in seen.columns] == ["integer", "number", "text", "integer", "boolean", "text"]
    assert [column.granularity for column in seen.columns] == [None, Fraction(1, 2), None, 100, None, None]
    assert (seen.rows, seen.odd, seen.columns[1].misfits, seen.columns[1].words) == (62, 1, 1, ("soon",))
    told = inspect_file(str(path), FileOptions(types={"plz": "integer"}, na=("x",), encoding="latin-1", decimal="."))
    assert told.columns[2].kind == "integer"
    assert (told.dialect["na"], told.dialect["encoding"], told.dialect["decimal"]) == (["x"], "iso8859-1", ".")


def test_the_look_at_penguins():
    penguins = pytest.importorskip("palmerpenguins")
    path = Path(penguins.__file__).parent / "data" / "penguins.csv"
    seen = inspect_file(str(path), FileOptions())
    assert seen.dialect["na"] == ["NA"]
    kinds = {column.name: (column.kind, column.granularity) for column in seen.columns}
    assert kinds["bill_length_mm"] == ("number", Fraction(1, 10))
    assert kinds["body_mass_g"] == ("integer", 5)
    rows = open_table(path, types={column.name: column.kind for column in seen.columns}, na=seen.dialect["na"])
    assert categories(rows, "sex") == {"female": 165, "male": 168, None: 11}


def test_the_look_at_utf_16_without_a_mark(tmp_path):
    path = tmp_path / "rows.csv"
    for encoding in ("utf-16-le", "utf-16-be"):
        path.write_bytes("age,ward\n31,A\n".encode(encoding))
        assert inspect_file(str(path), FileOptions()).dialect["encoding"] == encoding


def test_long_rows_in_another_encoding(tmp_path, monkeypatch):
    monkeypatch.setattr(rules, "BLOCK", 64)
    path = tmp_path / "rows.csv"
    path.write_bytes(("n,x\n" + "".join(f"{i},{'ä' * i}\n" for i in range(300))).encode("utf-16"))
    rows = open_table(path, types={"n": "integer"})
    assert (rows.size, len(categories(rows, "n")), len(categories(rows, "x"))) == (300, 300, 300)


@pytest.mark.parametrize("form", [cells.Numbers(), cells.Numbers(",")])
def test_numbers_are_told_as_by_their_pattern(form):
    import itertools

    import pyarrow as pa
    import pyarrow.compute as pc

    words = ["".join(p) for n in range(5) for p in itertools.product("+-0٣9 .,eE", repeat=n)]
    texts = pa.array([*words, None, "inf", "-INF", "nan", "nan(1)", "1e+12", "1e5x", "-.5E-7"])
    for kind, pattern in form.patterns.items():
        wanted = pc.fill_null(pc.match_substring_regex(texts, pattern), False)
        assert cells.fits(texts, kind, form).equals(wanted)


CELLS = ("", "0", "-7", "-", "--1", "5-", "+5", "0x1f", " 7", "007", "٣", "-0", "1-2", "9" * 19, "é", "\uffff", None)


def test_bytes_tell_what_cells_do():
    """Triples of cells, as parts of a longer array too: what is told by all bytes at once is what each cell tells."""
    import itertools

    import pyarrow as pa

    told = 0
    for some in itertools.product(CELLS, repeat=3):
        for column in (pa.array(some, pa.string()), pa.array(["x", *some, "-"], pa.string()).slice(1, 3)):
            assert cells.cell_texts(column).to_pylist() == [None if cell in ("", "\uffff") else cell for cell in some]
            whole = cells.at_once(column, "integer")
            if whole is not None:
                assert whole.to_pylist() == [cell if cell is None else int(cell) for cell in some]
                assert whole.type == pa.int64()
                assert {*some} <= {"0", "-7", "007", "-0", None}
            told += whole is not None
    assert told == 2 * (5**3 - 1)


def test_bytes_tell_numbers_as_their_pattern_does():
    """Each text of up to five signs by itself: Arrow takes none for a number that the pattern does not, nor another."""
    import itertools
    import re

    import pyarrow as pa

    words = ["".join(p) for n in range(1, 6) for p in itertools.product("+-0.eE,/", repeat=n)]
    words += ["nan", "-inf", "nan(1)", "0x1p3", "1d5", "1e400", "-1E-400", "1_0", " 1", "1 ", "٣", "1.5e3"]
    column, pattern, told = pa.array(words), re.compile(cells.Numbers().patterns["number"]), 0
    for place, word in enumerate(words):
        if (found := cells.at_once(column.slice(place, 1), "number")) is not None:
            told += 1
            assert pattern.search(word), word
            assert found.to_pylist() == [float(word)]
    assert told >= sum(word[0] in "-.0" and bool(pattern.search(word)) and word[-1] != "f" for word in words)
    column = pa.array(["1", None, "-2.5", "", "1e3"])
    assert cells.at_once(column, "number") is None
    assert cells.at_once(column.slice(0, 3), "number").to_pylist() == [1.0, None, -2.5]


def test_copies_keep_integers_to_their_ends(tmp_path):
    ends = [-(1 << 63), (1 << 63) - 1, 0, -1] * 300
    (tmp_path / "rows.csv").write_text("n\n" + "\n".join(map(str, ends)))
    assert categories(open_table(tmp_path / "rows.csv", types="guess"), "n") == dict.fromkeys(sorted(ends), 300)


LATER = {  # what the first rows seem to hold, and what the last row is
    "number": ("1", "2.5"),
    "integer": ("", "7"),
    "text": ("1", "seven"),
    "date": ("NA", "2024-02-29"),
    "datetime": ("2024-02-29", "2024-02-29 12:00"),
    "boolean": ("", "true"),
}


@pytest.mark.parametrize("last", [False, True])
def test_a_guess_holds_for_rows_of_all_batches(tmp_path, monkeypatch, last):
    """Columns are guessed while they are copied: where the last row changes what they are, all rows are copied anew."""
    path, (first, other) = tmp_path / "rows.csv", zip(*LATER.values(), strict=True)
    rows = [first] * 40 + [other if last else first] + [first] * 5
    path.write_text("".join(",".join(row) + "\n" for row in [LATER, *rows]))
    monkeypatch.setattr(rules, "BLOCK", 256)
    kinds = guess_types(path)
    if last:
        assert kinds == {name: name for name in LATER}
    guessed, stated = open_table(path, types="guess"), open_table(path, types=kinds)
    assert guessed.size == len(rows)
    assert dict(guessed.kinds) == dict(stated.kinds)
    for name in LATER:
        assert categories(guessed, name) == categories(stated, name)
