"""CSV files as other programs write them: headers that do not fit, comments, formats of dates, units, words."""

import datetime
from collections import Counter

import pyarrow as pa
import pytest

import uptack as ut
from tests.answers import categories
from uptack.cli import main
from uptack.errors import InvalidArgument
from uptack.table.csv import cells, rules
from uptack.table.csv.inspector import inspect_file
from uptack.table.engine.files import FileOptions, guess_types
from uptack.table.opening import open_table

ROWS = 400


def written(tmp_path, header, row, *, above="", rows=ROWS):
    path = tmp_path / "rows.csv"
    path.write_text(above + header + "\n" + "".join(row.format(i=i, j=i % 7) + "\n" for i in range(rows)), "utf-8")
    return path


@pytest.mark.parametrize(
    ("header", "row", "unnamed", "names"),
    [
        ('"age","n"', '"{i}",{i},{j}', "first", ["column_1", "age", "n"]),  # R's write.table
        ("age,n", "{i},{j},", "last", ["age", "n", "column_3"]),
        ("age,n,", "{i},{j}", "none", ["age", "n"]),
    ],
)
def test_rows_with_one_cell_more_or_fewer_than_the_header(tmp_path, capsys, header, row, unnamed, names):
    path = written(tmp_path, header, row)
    ledger = ut.Ledger(tmp_path / "budget.db", epsilon=1)
    for types in ("guess", {}):
        with pytest.raises(InvalidArgument, match=f"--unnamed {unnamed}"):
            ut.open(path, types=types, ledger=ledger)
    assert main(["median", str(path), "n", "-e", "1", "--ledger", str(tmp_path / "budget.db")]) == 2
    assert f"--unnamed {unnamed}" in capsys.readouterr().err
    assert not ledger.spent().epsilon
    rows = open_table(path, types={"n": "integer"}, unnamed=unnamed)
    assert list(rows.kinds) == names
    assert categories(rows, "n") == {j: len(range(j, ROWS, 7)) for j in range(7)}
    assert inspect_file(str(path), FileOptions()).dialect["unnamed"] == unnamed
    assert main(["median", str(path), "n", "-e", "1", "--unnamed", unnamed]) == 0


def test_a_file_is_refused_if_most_rows_have_another_number_of_cells(tmp_path):
    path = written(tmp_path, "age,n", "{i},{j}")
    with path.open("a") as file:
        file.write("1,2,3\n" * ROWS)  # as many
    assert open_table(path, types={}).size == 2 * ROWS
    with path.open("a") as file:
        file.write("1,2,3\n")
    with pytest.raises(InvalidArgument, match="mostly rows of 3"):
        open_table(path, types={})
    path.write_text("age,n\n")
    assert open_table(path, types={}).size == 0


def test_lines_above_the_header(tmp_path, capsys):
    above = "Report of the office\n\nall rows\n"
    path = written(tmp_path, "age,n,x", "{i},{j},x", above=above)
    with pytest.raises(InvalidArgument, match="--skip-rows or --comment"):
        open_table(path, types={})
    rows = open_table(path, types={"n": "integer"}, skip_rows=3)
    assert (rows.size, dict(rows.kinds)) == (ROWS, {"age": "text", "n": "integer", "x": "text"})
    assert main(["median", str(path), "n", "-e", "1", "--skip-rows", "3"]) == 0
    for padded in (above, above.replace("office", "office,,")):
        path = written(tmp_path, "age,n,x", "{i},{j},x", above=padded)
        assert inspect_file(str(path), FileOptions()).dialect["skip_rows"] == 3
    path = written(tmp_path, "x", "{i};{j}", above="")
    rows = open_table(path, types={"age": "integer", "n": "integer"}, header=False, skip_rows=1, delimiter=";")
    assert categories(rows, "n") == {j: len(range(j, ROWS, 7)) for j in range(7)}
    for wrong in (-1, 1.5, True, "2"):
        with pytest.raises(InvalidArgument, match="skip_rows must be"):
            open_table(path, types={}, skip_rows=wrong)


@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "SEP=;"])
def test_a_line_of_excel_states_the_delimiter(tmp_path, line):
    path = written(tmp_path, "a,b;n", "{i};{j}", above=line + "\r\n")
    rows = open_table(path, types="guess")
    assert dict(rows.kinds) == {"a,b": "integer", "n": "integer"}
    assert rows.size == ROWS
    assert "skip_rows" not in inspect_file(str(path), FileOptions()).dialect


def test_comments_are_no_header_and_no_values(tmp_path):
    path = written(tmp_path, "age,n", "{i},{j}", above="# made by a machine\n#, on a Monday\n")
    with path.open("a") as file:
        file.write("#1,2\n# the end\n")
    rows = open_table(path, types={"age": "text", "n": "integer"}, comment="#")
    assert rows.size == ROWS + 2  # no cell decides how many rows there are
    assert categories(rows, "age")[None] == 2
    assert categories(rows, "n")[None] == 2
    assert inspect_file(str(path), FileOptions()).dialect["comment"] == "#"
    path.write_text(path.read_text().replace("\n5,5\n", "\n#5,5\n"))
    assert open_table(path, types={}, comment="#").size == rows.size
    with pytest.raises(InvalidArgument, match="comment must be"):
        open_table(path, types={}, comment="###")


DAY = datetime.date(2024, 5, 1)


@pytest.mark.parametrize(
    ("kind", "cell", "value"),
    [
        ("date:%d.%m.%Y", "1.5.2024", DAY),
        ("date:%d.%m.%Y", "31.02.2024", None),
        ("date:%d.%m.%Y", "2024-05-01", None),
        ("date:%m/%d/%y", "05/01/24", DAY),
        ("date:%m/%d/%y", "05/01/69", datetime.date(1969, 5, 1)),
        ("date:%d-%b-%Y", "01-MAY-2024", DAY),
        ("date:%B %d, %Y", "May 1, 2024", DAY),
        ("date:%Y%m%d", "20240501", DAY),
        ("date:%Y%m%d", "2024051", None),
        ("datetime:%d.%m.%Y %H:%M", "1.5.2024 7:05", datetime.datetime(2024, 5, 1, 7, 5)),
        ("datetime:%d.%m.%Y %I:%M %p", "1.5.2024 12:05 am", datetime.datetime(2024, 5, 1, 0, 5)),
        ("datetime:%d.%m.%Y %I:%M %p", "1.5.2024 1:05 PM", datetime.datetime(2024, 5, 1, 13, 5)),
        ("datetime:%d.%m.%Y %H:%M:%S.%f", "1.5.2024 07:05:01.5", datetime.datetime(2024, 5, 1, 7, 5, 1, 500000)),
        ("datetime:%d.%m.%Y %H:%M", "1.5.2024 24:05", None),
        ("duration:%H:%M", "1:30", 90 * 60 * 10**6),
        ("duration:%H:%M", "-100:30", -(100 * 60 + 30) * 60 * 10**6),
        ("duration:%H:%M", "1:60", None),
        ("duration:%M:%S", "90:05", (90 * 60 + 5) * 10**6),
        ("number:€", "1,50 €", 1.5),
        ("number:€", "€1,50", 1.5),
        ("number:€", "-€ 1,50", -1.5),
        ("number:€", "1,50", 1.5),
        ("number:€", "€", None),
        ("number:€", "1,50 $", None),
        ("number:%", "45,5 %", 45.5),
        ("integer:%", "45%", 45),
        ("number:1.234,5", "1.234,5", 1234.5),
        ("number:1.234,5", "0,25", 0.25),
        ("number:1.234,5", "12.34", None),
        ("number:1 234,5", "1 234,5", 1234.5),
        ("number:1,234.5", "1,234.5", 1234.5),
        ("number:1,234.5", "0,250", None),
        ("integer:1,234.5", "-1,234,567", -1234567),
        ("number:$1,234.5", "$1,234.50", 1234.5),
        ("number:1.234,5 €", "1.234,50 €", 1234.5),
        ("integer", "62,0", 62),
        ("integer", "62,000", 62),
        ("integer", "62,5", None),
        ("integer", "9007199254740993,0", 9007199254740993),
    ],
)
def test_how_cells_of_a_kind_are_written(kind, cell, value):
    import pyarrow as pa

    assert cells.is_kind(kind)
    (made,) = cells.cast(pa.array([f" {cell} "]), kind, cells.Numbers(",")).to_pylist()
    assert made == value
    several = cells.cast(pa.array([cell, "x", None, cell]), kind, cells.Numbers(",")).to_pylist()
    assert several == [value, None, None, value]  # no cell changes how another one is read


@pytest.mark.parametrize(
    "kind",
    [
        "date:", "date:%d.%m", "date:%d.%m.%Y %H:%M", "date:%d.%d.%m.%Y", "date:%x", "date:%d.%m.%Y%",
        "date:%Y %y %m %d",
        "datetime:%d.%m.%Y", "datetime:%d.%m.%Y %I:%M", "datetime:%d.%m.%Y %H:%M.%f", "duration:%M:%H", "duration:%f",
        "duration:h:mm", "number:", "number:1", "number:-", "number:a very long unit", "text:x", "boolean:a",
        "integer: ", "number:1.234", "number:1.234,5 1", "number:1,234.5,",
    ],
)  # fmt: skip
def test_kinds_that_say_too_little_or_too_much_are_refused(tmp_path, kind):
    assert not cells.is_kind(kind)
    path = written(tmp_path, "x", "{i}")
    with pytest.raises(InvalidArgument, match=r"types\['x'\] must be one of"):
        open_table(path, types={"x": kind})


def test_formats_and_units_are_inferred_if_only_one_fits(tmp_path, capsys):
    row = "{j}.0,2{j}.02.2024,{i}%,$ {i},02/0{k}/2024,2{j}/02/2024,02/2{j}/2024,2024/02/1{j},2024/2/1{j} 0{j}:30"
    path = written(tmp_path, "n,german,share,price,unclear,uk,us,slashed,moment", row.replace("{k}", "3"))
    kinds = guess_types(path)
    assert kinds == {
        "n": "integer", "german": "date:%d.%m.%Y", "share": "number:%", "price": "number:$",
        "unclear": "text", "uk": "date:%d/%m/%Y", "us": "date:%m/%d/%Y",
        "slashed": "date:%Y/%m/%d", "moment": "datetime:%Y/%m/%d %H:%M",
    }  # fmt: skip
    session = ut.open(path)
    assert session.inferred == kinds
    assert session.source.kinds["german"] == "time"
    seen = {column.name: column.kind for column in inspect_file(str(path), FileOptions()).columns}
    assert seen == kinds
    assert main(["median", str(path), "german", "-e", "1"]) == 0
    assert "--type german=date:%d.%m.%Y" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (("0,5", "1234,5"), "number:1.234,5"),
        (("0,179", "0,520"), "number:1.234,5"),
        (("1.234,5", "0,5"), "number:1.234,5"),
        (("1 234,5", "0,5"), "number:1 234,5"),
        (("1,234,567", "12"), "integer:1,234.5"),
        (("1,234.5", "12"), "number:1,234.5"),
        (("$1,234.50", "$12"), "number:1,234.5 $"),
        (("1.234,50 €", "12 €"), "number:1.234,5 €"),
        (("1,234", "12"), "text"),  # 1234 or 1.234
        (("1,234", "0,5", "1,234,567"), "text"),
    ],
)
def test_decimal_commas_are_inferred_where_only_one_reading_fits(tmp_path, capsys, values, kind):
    path = tmp_path / "rows.csv"
    path.write_text("x;n\n" + "".join(f"{values[i % len(values)]};{i}\n" for i in range(300)))
    session = ut.open(path)
    assert session.inferred == guess_types(path) == {"x": kind, "n": "integer"}
    assert main(["describe", str(path)]) == 0
    hint = capsys.readouterr().err
    advice = (
        "--type x=integer:1,234.5 if a comma separates thousands, --type x=number:1.234,5 if it is the decimal sign"
    )
    assert (advice in hint) == (values == ("1,234", "12"))
    if kind == "text":
        return
    readings = {
        "0,5": 0.5,
        "1234,5": 1234.5,
        "0,179": 0.179,
        "1.234,5": 1234.5,
        "1 234,5": 1234.5,
        "1,234,567": 1234567,
    }
    assert {readings[v] for v in values if v in readings} <= set(categories(session.source, "x"))
    seen = inspect_file(str(path), FileOptions())
    assert seen.columns[0].kind != "text"


def test_words_among_decimal_commas_are_pointed_out_and_the_hint_helps(tmp_path, capsys):
    path = written(tmp_path, "rate;n", "0,{j};{i}")
    path.write_text(path.read_text().replace("0,3;", "k. A.;"))
    assert main(["describe", str(path)]) == 0
    assert "--na 'rate=k. A.'" in capsys.readouterr().err
    assert ut.open(path, na={"rate": ["k. A."]}).inferred["rate"] == "number:1.234,5"


def test_a_ledger_keeps_inferred_formats(tmp_path):
    path = written(tmp_path, "d", "1{j}.02.2024")
    ledger = ut.Ledger(tmp_path / "budget.db", epsilon=1)
    assert ut.open(path, ledger=ledger).inferred == {"d": "date:%d.%m.%Y"}
    path.write_text("d\n" + "x\n" * ROWS)
    assert ut.open(path, ledger=ledger).inferred == {"d": "date:%d.%m.%Y"}


def test_words_for_missing_values_of_one_column(tmp_path, capsys):
    path = written(tmp_path, "age,n", "{j},{j}")
    rows = open_table(path, types={"age": "integer", "n": "integer"}, na={"age": ["3", "4"]})
    assert 3 not in categories(rows, "age")
    assert 3 in categories(rows, "n")
    with pytest.raises(InvalidArgument, match="'agee'"):
        open_table(path, types={}, na={"agee": "3"})
    assert main(["describe", str(path), "--na", "age=3", "--na", "0", "--curator", "--write"]) == 0
    capsys.readouterr()
    saved = ut.open(path)
    assert saved.schema.columns["age"].na == ("3", "0")
    assert saved.schema.columns["n"].na == ("0",)
    assert not {0, 3} & categories(saved.source, "age").keys()
    assert 3 in categories(saved.source, "n")
    assert 0 in categories(open_table(path, na="NA"), "n")  # an option overrides the schema
    path.with_name("rows.csv.uptack.toml").write_text(
        '[file]\nna = ["0"]\n[columns.age]\nkind = "integer"\nna = ["3"]\n[columns.n]\nkind = "integer"\n'
    )
    assert not {0, 3} & categories(open_table(path), "age").keys()
    assert {3} == {0, 3} & categories(open_table(path), "n").keys()


def test_the_curator_gets_a_hint_about_words_among_numbers(tmp_path, capsys):
    path = written(tmp_path, "age,town", "{i},T{j}")
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([header, *(row if i % 20 else "k. A.,x" for i, row in enumerate(rows))]))
    hint = "If they are missing values, add na={'age': ['k. A.']} (--na 'age=k. A.')."
    assert main(["describe", str(path), "--curator"]) == 0
    shown = capsys.readouterr()
    assert hint in shown.out
    assert "'T1'" not in shown.out
    assert main(["histogram", str(path), "town", "-e", "1", "--delta", "1e-6"]) == 0
    found = capsys.readouterr().err
    assert hint in found
    assert "cells of town" not in found
    assert main(["median", str(path), "age", "-e", "1", "--na", "age=k. A.", "--type", "town=text"]) == 0


def test_a_table_of_r_needs_one_option(tmp_path):
    path = written(tmp_path, '"age" "n"', '"{i}" {i} {j}')
    with pytest.raises(InvalidArgument, match="--unnamed first"):
        ut.open(path)
    assert ut.open(path, unnamed="first").inferred == {"column_1": "integer", "age": "integer", "n": "integer"}
    path = written(tmp_path, "waiting time", "{i}")
    assert ut.open(path).inferred == {"waiting time": "integer"}


def test_a_first_row_of_unknown_delimiter_is_not_shown_as_a_header(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("59 2 32.1 secret\n48 1 21.6 other\n")
    with pytest.raises(InvalidArgument, match=r"a first line with numbers. If another character separates") as error:
        open_table(rows)
    assert "secret" not in str(error.value)
    rows.write_text("income 2024\n12\n")
    assert list(open_table(rows, types="guess").kinds) == ["income 2024"]


@pytest.mark.parametrize("sign", ["/", "-"])
def test_dates_are_inferred_where_only_one_order_of_day_and_month_fits(tmp_path, capsys, sign):
    path = tmp_path / "rows.csv"
    rows = [(5, 17), (6, 3), (12, 31)] * 200
    path.write_text("dmy,mdy,both\n" + "".join(f"{d}{sign}{m}{sign}2020,{m}{sign}{d}{sign}2020,1{sign}2{sign}2020\n"
                                               for m, d in rows))  # fmt: skip
    inferred = ut.open(path).inferred
    assert inferred == {"dmy": f"date:%d{sign}%m{sign}%Y", "mdy": f"date:%m{sign}%d{sign}%Y", "both": "text"}
    assert ut.open(path)["dmy"].median(epsilon=1).value == datetime.date(2020, 6, 3)
    assert main(["describe", str(path)]) == 0
    assert f"both=date:%d{sign}%m{sign}%Y if the day comes first" in capsys.readouterr().err
    assert main(["init", str(path), "--yes", "-e", "0"]) == 0
    assert f"both=date:%d{sign}%m{sign}%Y if the day comes first" in capsys.readouterr().out


def test_none_among_texts_stays_a_category(tmp_path):
    path = written(tmp_path, "belt,age", "none,{j}")
    path.write_text(path.read_text().replace("none,3", "belted,none").replace("none,5", "-,5"))
    assert inspect_file(str(path), FileOptions()).dialect["na"] == ["-"]
    assert main(["init", str(path), "--yes", "--epsilon", "0"]) == 0
    session = ut.open(path)
    assert set(categories(session.source, "belt")) == {"none", "belted", None}
    assert session.schema.columns["age"].kind == "integer"


def test_truth_values_that_pandas_wrote_as_floats(tmp_path):
    path = written(tmp_path, "ill", "{j}.0")
    path.write_text(path.read_text().replace("2.0", "").replace("3.0", "1.0"))
    answer = ut.open(path, types={"ill": "boolean"}).proportion("ill", epsilon=1e6)
    assert abs(answer.value - 114 / 172) < 0.001  # of the rows with 0 or 1


@pytest.mark.parametrize(("name", "kind"), [("zip_code", "text"), ("Postcode", "text"), ("zipper", "integer")])
def test_postcodes_are_texts(tmp_path, name, kind):
    path = written(tmp_path, f"{name},n", "9{j}1{j}5,{j}")
    assert inspect_file(str(path), FileOptions()).columns[0].kind == kind


def test_every_inferred_kind_is_tried_for_cells_of_it():
    """The letters and signs of a cell rule kinds out before they are tried: never one that it fits."""
    numbers = ("7", "-7", "+1e5", "1.5E-3", "1.234,5", "1 234,5", "1,234.5", "inf", "-Infinity", "nan")
    cells_of = [f"{before}{one}{after}" for one in numbers for before in ("", "$", "€ ") for after in ("", "%", " £")]
    days = ("2024-02-29", "2024/2/29", "29.2.2024", "29/02/2024", "2/29/2024", "29-2-2024", "02-29-2024", "29-Feb-2024")
    clocks = ("", " 9:05", " 09:05:07", "T09:05", "T09:05:07.5", "T09:05Z", "T09:05:07+01:00")
    cells_of += [f" {day}{clock}" for day in days for clock in clocks]
    seen = Counter()
    narrow = [kind for kind in rules.NARROW if kind != "boolean"]
    for text in cells_of:
        column = pa.array([text, "n/a", None])
        fitting = {kind for kind in narrow if cells.cast(column, kind, rules.PLAIN)[0].is_valid}
        assert fitting <= {*rules.possible_kinds(column, narrow)} or text == "nan", text  # which is a missing value
        seen.update(fitting)
    assert seen.keys() == {*narrow}


LATE = {"lost bytes": ("\uffff", {}), "a word for missing values": ("k. A.", {"na": ["k. A."]}), "no cell": ("", {})}


@pytest.mark.parametrize("name", LATE)
def test_a_cell_without_a_value_counts_as_missing_wherever_it_is(tmp_path, name):
    """Columns are copied as they are where no cell is empty or broken: all cells say so, not the first ones."""
    word, told = LATE[name]
    texts, gone = [f"word {i}" for i in range(300)], (200, 299)
    for place in gone:
        texts[place] = word
    path = tmp_path / "late.csv"
    path.write_text("text,n\n" + "".join(f"{text},{i}\n" for i, text in enumerate(texts)), "utf-8")
    found = categories(open_table(path, types={"n": "integer"}, **told), "text")
    assert found == {None: 2, **{text: 1 for i, text in enumerate(texts) if i not in gone}}


@pytest.mark.parametrize("word", ["k. A.", "1.5", "2024-01-01", "true"])
@pytest.mark.parametrize("usual", ["7", "7.25", "2024-02-29", "false", "5 %"])
def test_a_late_cell_decides_on_the_kind_of_its_column(tmp_path, usual, word):
    """No value is lost: where one row does not fit, the column is of a wider kind."""
    path = tmp_path / "late.csv"
    path.write_text("x,n\n" + f"{usual},1\n" * 299 + f"{word},1\n")
    assert None not in categories(open_table(path, types="guess"), "x")
