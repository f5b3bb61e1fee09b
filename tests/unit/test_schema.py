"""FILE.uptack.toml: what is public of a file, written down once and read by everybody."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import uptack as ut
from tests.answers import categories
from uptack.cli import main
from uptack.errors import InvalidArgument, LedgerError
from uptack.table import schema
from uptack.table.csv.inspector import inspect_file
from uptack.table.engine.files import FileOptions, guess_types, schema_of
from uptack.table.opening import open_table
from uptack.table.schema import ColumnSchema, Schema

TOML = """
person = "id"
noun = "visit"
adjacency = "add-remove"
[file]
delimiter = ";"
encoding = "latin-1"
decimal = ","
na = ["NA"]
[columns.id]
kind = "integer"
[columns."größe"]
kind = "number"
granularity = 0.5
plausible = [50, 250.5]
[columns.ort]
levels = ["Köln", "Bonn"]
"""


@pytest.fixture
def visits(tmp_path):
    path = tmp_path / "visits.csv"
    rows = "".join(f"{i // 2};{150 + i % 40},5;{('Köln', 'Bonn', 'NA')[i % 3]}\n" for i in range(3000))
    path.write_bytes(f"id;größe;ort\n{rows}".encode("latin-1"))
    (tmp_path / "visits.csv.uptack.toml").write_text(TOML, "utf-8")
    return path


def test_whoever_opens_the_file_reads_it(visits, capsys):
    session = ut.open(visits, entropy=ut.SeededEntropy(1))
    assert dict(session.source.kinds) == {"größe": "number", "ort": "text"}
    assert session.adjacency == ut.ADD_REMOVE.by_person("id")
    assert session.noun == "visit"
    assert "schema: visits.csv.uptack.toml" in session.describe()
    assert categories(open_table(visits), "ort") == {"Bonn": 1000, "Köln": 1000, None: 1000}
    assert main(["describe", str(visits), "--json"]) == 0
    found = capsys.readouterr()
    assert json.loads(found.out)["schema"] == "visits.csv.uptack.toml"
    assert found.err == ""  # nothing was guessed


def test_what_is_said_explicitly_wins(visits):
    session = ut.open(visits, types={"größe": "text"}, person="größe", noun="stay", adjacency=ut.SUBSTITUTE, na="Bonn")
    assert dict(session.source.kinds) == {"id": "integer", "ort": "text"}
    assert session.adjacency == ut.SUBSTITUTE.by_person("größe")
    assert (session.noun, "NA" in categories(session.source, "ort")) == ("stay", True)
    assert dict(open_table(visits, types="guess").kinds) == {"id": "integer", "größe": "number", "ort": "text"}


def test_requests_are_told_what_it_says(visits):
    session = ut.open(visits, entropy=ut.SeededEntropy(1))
    full = session.complete(ut.Request("median", "größe", epsilon=1)).given
    assert (full["granularity"], full["plausible"]) == (Fraction(1, 2), (50.0, 250.5))
    own = session.complete(ut.Request("median", "größe", epsilon=1, granularity=2, plausible=(0, 1))).given
    assert (own["granularity"], own["plausible"]) == (2, (0, 1))
    for options in ({"per_person": "mean"}, {"method": "ptr", "delta": 1e-6}):
        assert "granularity" not in session.complete(ut.Request("median", "größe", epsilon=1, **options)).given
    assert "plausible" not in session.complete(ut.Request("ecdf", "größe", epsilon=1)).given
    assert session["größe"].median(epsilon=1).value % 0.5 == 0
    assert list(session["ort"].histogram(epsilon=1).value) == ["Köln", "Bonn"]
    assert list(session["größe"].median(epsilon=2, by="ort").value) == ["Köln", "Bonn"]
    assert "keys" not in session.complete(ut.Request("histogram", "ort", epsilon=1, delta=1e-6)).given


def test_a_report_knows_where_values_lie(visits):
    from uptack.report import divide

    session = ut.open(visits)
    with session.snapshot():
        parts = divide(session, 1, columns=["größe"]).parts
    assert parts[0].plausible == (50.0, 250.5)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[columns.a]\nkidn = 'text'", "Did you mean 'kind'"),
        ("[columns.a]\nkind = 'word'", "kind of"),
        ("[columns.a]\ngranularity = 0", "granularity of"),
        ("[columns.a]\ngranularity = true", "granularity of"),
        ("[columns.a]\nplausible = [3, 1]", "plausible of"),
        ("[columns.a]\nplausible = [nan, 1]", "a file with an error"),
        ("[columns.a]\nlevels = ['x', 'x']", "levels of"),
        ("[columns.a]\nlevels = ['x', 1]", "levels of"),
        ("person = 'b'\n[columns.a]", "person of"),
        ("noun = 3\n[columns.a]", "noun of"),
        ("adjacency = 'replace'\n[columns.a]", "adjacency of"),
        ("[file]\nna = 'x'\n[columns.a]", "na of"),
        ("[file]\nquote = 'x'\n[columns.a]", "a key of"),
        ("columns = 3", "columns of"),
        ("[file]", "a table for each column"),
        ("[columns.a", "a file with an error"),
        ("[columns.a]\nkind = 'date'\nplausible = [0, 9]", r"two dates or times such as \["),
        ("[columns.a]\nkind = 'datetime-utc'\nplausible = [2020-01-01, 2021-01-01]", "T00:00Z"),
        ("[columns.a]\nkind = 'number'\nplausible = [2020-01-01, 2021-01-01]", "two numbers such as"),
        ("[columns.a]\nplausible = [2021-01-01, 2020-01-01]", "plausible of"),
        ("[columns.a]\nplausible = [2020-01-01, 2021-01-01T00:00:00Z]", "plausible of"),
        ("[columns.a]\nplausible = ['x', 'y']", "plausible of"),
        ("[columns.a]\nkind = 'date'\ngranularity = 2", "such as 'day'"),
        ("[columns.a]\nkind = 'integer'\ngranularity = 'day'", "granularity of"),
        ("[columns.a]\nkind = 'text'\nlevels = [1, 2]", "levels of"),
    ],
)
def test_what_is_wrong_is_named(text, wrong):
    with pytest.raises(InvalidArgument, match=wrong):
        schema.parse_schema(text, "x.csv.uptack.toml")


def test_dates_are_where_they_are_plausible(tmp_path):
    days = np.datetime64("2024-01-01") + np.arange(400) % 90
    pq.write_table(pa.table({"day": days}), tmp_path / "a.parquet")
    place = tmp_path / "a.parquet.uptack.toml"
    place.write_text('[columns.day]\ngranularity = "week"\nplausible = [2024-01-01, "2024-12-31"]')
    session = ut.open(tmp_path / "a.parquet", entropy=ut.SeededEntropy(1))
    full = session.complete(ut.Request("median", "day", epsilon=1)).given
    assert (full["granularity"], full["plausible"]) == ("week", ("2024-01-01", "2024-12-31"))
    assert session["day"].median(epsilon=1).value.year == 2024
    place.write_text("[columns.day]\nplausible = [0, 9]")
    with pytest.raises(InvalidArgument, match="two dates or times such as"):
        ut.open(tmp_path / "a.parquet")


def test_a_schema_holds_no_rows(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "a.csv.uptack.toml").write_text("[columns.x]\n" + "#\n" * schema.LARGEST_FILE)
    with pytest.raises(InvalidArgument, match="at most 4 MB"):
        ut.open(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("text", "options", "sign"),
    [("age town\n31 x\n44 y\n", [], " "), ("age;town\n31;x\n", [], ";"), ("note\nas it is\nor not\n", [], ","),
     ("3,5;x\n4,5;y\n", ["--no-header", "--type", "age=number", "--type", "town=text"], ";"),
     ("3|x\n4|y\n", ["--no-header", "--type", "age=number", "--type", "town=text"], "|"),
     ("a 3\n31 x\n44 y\n", [], ",")],
)  # fmt: skip
def test_the_look_proposes_what_is_between_cells(tmp_path, capsys, text, options, sign):
    (tmp_path / "a.csv").write_text(text)
    assert main(["describe", str(tmp_path / "a.csv"), "--curator", "--write", "--json", *options]) == 0
    assert json.loads(capsys.readouterr().out)["proposal"]["file"]["delimiter"] == sign
    assert schema.schema_beside(str(tmp_path / "a.csv")).dialect["delimiter"] == sign


WARDS = """
[columns.cost]
kind = "number"
[columns.age]
kind = "integer"
[columns.ward]
kind = "text"
levels = ["Fever, tropical", "Heart"]
"""


@pytest.fixture
def wards(tmp_path):
    rng, n = np.random.default_rng(0), 6000
    age, ward = rng.integers(20, 80, size=n), rng.choice(["Heart", '"Fever, tropical"'], size=n)
    cost = 10 + 0.5 * age + 4 * (ward == "Heart") + rng.normal(size=n)
    rows = "".join(f"{c:.2f},{a},{w}\n" for c, a, w in zip(cost, age, ward, strict=True))
    (tmp_path / "wards.csv").write_text("cost,age,ward\n" + rows)
    (tmp_path / "wards.csv.uptack.toml").write_text(WARDS)
    return tmp_path / "wards.csv"


def test_levels_are_those_of_regressions_and_reports(wards, capsys):
    session = ut.open(wards, entropy=ut.SeededEntropy(1))
    told = {"epsilon": 4}
    made = [
        session.regression("cost", ["age", "ward"], **told),
        session.regression(formula="cost ~ age + C(ward)", **told),
    ]
    for fit in made:
        assert fit.labels == ("intercept", "age", "ward[Heart]")
        assert np.abs(fit.value - [10, 0.5, 4]).max() < 0.5
        assert fit.privacy.pure
    own = session.regression("cost", ["age", "ward"], levels={"ward": ["Heart", "Fever, tropical"]}, **told)
    assert own.labels[-1] == "ward[Fever, tropical]"
    found = session.regression("cost", ["age", "ward"], **told, delta=1e-6)
    assert found.notes[0].startswith("the levels of ward (")
    page = session.report(epsilon=6, delta=0, target="cost")
    assert list(page.columns[2]["counts"].value) == ["Fever, tropical", "Heart"]
    assert page.sections["regression"].columns == ("cost", "age", "ward[Heart]")
    assert page.to_dict()["regression"]["predictors"] == ["age", "ward[Heart]"]
    assert page.spent.pure
    assert r"ward\[Heart\]" in page.to_markdown()
    assert "ward[Heart]" in page.to_html()


def test_levels_on_the_command_line(wards, capsys):
    (wards.parent / "wards.csv.uptack.toml").unlink()
    fit = ["regression", str(wards), "cost", "age", "ward", "--epsilon", "4", "--seed", "1"]
    assert main([*fit, "--levels", "ward=Heart", "--levels", 'ward="Fever, tropical"']) == 0
    assert "ward[Fever, tropical]" in capsys.readouterr().out
    assert main([*fit, "--delta", "1e-6"]) == 0
    assert "were found with ε = 0.4" in capsys.readouterr().out
    assert main(fit) == 2
    assert "--levels ward=A,B" in capsys.readouterr().err
    for wrong, said in ((["--levels", "wrad=a,b"], "Did you mean 'ward'"), (["--levels", "ward"], "NAME=VALUE")):
        assert main([*fit, *wrong]) == 2
        assert said in capsys.readouterr().err
    assert main(["regression", str(wards), "--epsilon", "4"]) == 2
    assert "TARGET must be given if there is no formula" in capsys.readouterr().err
    both = ["regression", str(wards), "cost", "--formula", "cost ~ age", "--epsilon", "4"]
    assert main(both) == 2
    assert "left out with a formula" in capsys.readouterr().err


def test_what_is_written_is_read():
    columns = {
        "day": ColumnSchema("date", "week", ("2024-01-01", "2024-12-31")),
        "a b": ColumnSchema("boolean:ja/nein"),
        'quote"\n\x7f\u2028é': ColumnSchema("number", Fraction(1, 1000), (-1.5, 1e6)),
        "": ColumnSchema(None, None, None, ("x\\", "😀")),
        "n": ColumnSchema("integer", Fraction(500), None, (1, 2)),
    }
    dialect = {
        "delimiter": "\t",
        "header": False,
        "encoding": "utf-16",
        "decimal": ",",
        "thousands": "'",
        "na": ("", "-"),
    }
    made = Schema("", columns, dialect, ("a b", "n"), "visit", "add-remove")
    found = schema.parse_schema(schema.schema_text(made, "odd\nname.csv"), "")
    assert (dict(found.columns), dict(found.dialect)) == (columns, dialect)
    assert (found.person, found.noun, found.adjacency) == (made.person, made.noun, made.adjacency)


def test_files_with_types_and_files_without_names(tmp_path, capsys):
    pq.write_table(pa.table({"id": np.arange(300) // 2, "x": np.arange(300.0)}), tmp_path / "a.parquet")
    place = tmp_path / "a.parquet.uptack.toml"
    place.write_text("person = 'id'\n[columns.id]\n[columns.x]\nplausible = [0, 300]\n")
    assert ut.open(tmp_path / "a.parquet").source.size == 150
    for text in (
        "[columns.id]\n",
        "[columns.id]\nkind = 'text'\n[columns.x]\n",
        "[file]\nna=['x']\n[columns.id]\n[columns.x]",
    ):
        place.write_text(text)
        with pytest.raises(InvalidArgument):
            ut.open(tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("1,A\n2,B\n")
    (tmp_path / "b.csv.uptack.toml").write_text("[file]\nheader = false\n[columns.n]\nkind = 'integer'\n[columns.w]\n")
    assert categories(ut.open(tmp_path / "b.csv").source, "n") == {1: 1, 2: 1}
    assert main(["describe", str(tmp_path / "b.csv")]) == 0


def test_the_look_writes_a_schema(tmp_path, capsys):
    path = tmp_path / "visits.csv"
    rows = "".join(f"{i // 2};{150 + i % 40},5;{('Köln', 'NA')[i % 2]}\n" for i in range(400))
    path.write_bytes(f"patient_id;größe;ort\n{rows}".encode("latin-1"))
    assert main(["describe", str(path), "--write"]) == 2
    assert "--curator" in capsys.readouterr().err
    assert main(["describe", str(path), "--curator", "--write"]) == 0
    found = capsys.readouterr()
    assert found.err.startswith("uptack: FOR THE CURATOR ONLY")
    assert "now public" in found.err
    assert "größe: number, multiples of 0.5" in found.out
    session = ut.open(path)
    assert session.adjacency.person == ("patient_id",)
    assert session.source.size == 200
    assert main(["describe", str(path), "--curator", "--write"]) == 2
    assert "remove it first" in capsys.readouterr().err
    assert main(["describe", str(path), "--curator", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["proposal"]["file"]["decimal"] == ","


def test_init_asks(tmp_path, capsys, monkeypatch):
    from click.testing import CliRunner

    from uptack.cli.main import cli

    path = tmp_path / "rows.csv"
    path.write_text("who,x,b\n" + "".join(f"{i // 3},{i}.5,{'ja' if i % 2 else 'nein'}\n" for i in range(300)))
    answers = ["n", "", ";", "", "", "", "n", "", ",", "", "", "- x", "y"]  # a wrong delimiter first
    answers += ["n", "text", "number", "0", "0.5", "word", "boolean:ja/nein"]
    answers += ["whom", "who", "visit", "n", "2", "0", str(tmp_path / "own.db")]
    made = CliRunner().invoke(cli, ["init", str(path)], input="\n".join(answers) + "\n", standalone_mode=False)
    assert made.exit_code == 0, made.output
    session = ut.open(path, ledger=ut.Ledger(tmp_path / "own.db"))
    assert session.remaining == ut.Privacy(2, 0, ut.ADD_REMOVE.by_person("who"))
    assert dict(session.source.kinds) == {"x": "number", "b": "boolean"}
    assert session.schema.columns["x"].granularity == Fraction(1, 2)
    assert session.schema.dialect["na"] == ("-", "x")
    assert main(["init", str(path)]) == 2


def test_init_takes_what_is_proposed(tmp_path, capsys):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": np.arange(300.0)}), path)
    assert main(["init", str(path), "--yes", "--epsilon", "0"]) == 0
    assert not (tmp_path / "rows.parquet.ledger.db").exists()
    assert ut.open(path).schema.columns == {"x": ColumnSchema()}
    (tmp_path / "rows.parquet.uptack.toml").unlink()
    assert main(["init", str(path), "--yes"]) == 0
    assert ut.Ledger(tmp_path / "rows.parquet.ledger.db").remaining() == ut.Privacy(1, 1e-6)
    assert "uptack report" in capsys.readouterr().out
    (tmp_path / "rows.parquet.uptack.toml").unlink()
    assert main(["init", str(path), "--yes"]) == 2  # the ledger exists
    assert not (tmp_path / "rows.parquet.uptack.toml").exists()
    assert main(["init", "-", "--yes"]) == 2


@pytest.mark.parametrize("name", ["idcode", "caseid", "patient_nr", "id_no", "RespondentID"])
def test_init_proposes_columns_that_are_named_like_ids(tmp_path, name):
    path = tmp_path / "rows.csv"
    path.write_text(f"{name},x\n" + "".join(f"{i // 3},{i % 50}\n" for i in range(600)))
    assert main(["init", str(path), "--yes", "--epsilon", "0"]) == 0
    assert ut.open(path).adjacency.person == (name,)


def test_the_look_and_a_guess_find_dates(tmp_path):
    path, zoned = tmp_path / "stays.csv", "2024-02-03T10:00+01:00"
    rows = [f"2024-02-{day:02},2024-02-{day:02} 10:30,{zoned},2024-02-3{day % 2}" for day in range(1, 29)]
    path.write_text("day,hour,zoned,no\n" + "\n".join(rows), "utf-8")
    wanted = {"day": "date", "hour": "datetime", "zoned": "datetime-utc", "no": "text"}
    assert guess_types(path) == wanted
    assert main(["init", str(path), "--yes"]) == 0
    assert dict(open_table(path).kinds) == {"day": "time", "hour": "time", "zoned": "time", "no": "text"}


@pytest.mark.parametrize(("text", "sign"), [("3,x,1.5\n4,y,2\n", ","), ("3;x;1,5\n4;y;2\n", ";")])
def test_a_look_at_a_file_without_names_proposes_them(tmp_path, capsys, text, sign):
    path = tmp_path / "rows.csv"
    path.write_text(text * 200, "utf-8")
    assert main(["describe", str(path), "--curator", "--no-header", "--write"]) == 0
    told = schema_of(path)
    assert {name: said.kind for name, said in told.columns.items()} == {
        "column_1": "integer",
        "column_2": "text",
        "column_3": "number",
    }
    assert (told.dialect["header"], told.dialect["delimiter"]) == (False, sign)
    capsys.readouterr()
    assert main(["median", str(path), "column_3", "-e", "5"]) == 0
    assert 1.5 <= float(capsys.readouterr().out.split()[0]) <= 2


@pytest.mark.parametrize(
    ("cells", "step"),
    [(("2.5", "14.0"), 0.5), (("2.25", "0.75", "1.5"), 0.05), (("0.10", "0.25"), 0.05),
     (("0.1", "0.25", "0.33"), 0.01), (("1.5", "2e3"), None)],
)  # fmt: skip
def test_the_step_of_numbers_is_as_coarse_as_it_can_be(tmp_path, cells, step):
    path = tmp_path / "rows.csv"
    path.write_text("x\n" + "\n".join(cells * 50) + "\n", "utf-8")
    (seen,) = inspect_file(str(path), FileOptions()).columns
    assert (seen.kind, None if seen.granularity is None else float(seen.granularity)) == ("number", step)


PEOPLE = 'person = "id"\n[columns.id]\nkind = "integer"\n[columns.x]\nkind = "integer"\n'


def write_people(path, schema=PEOPLE):
    path.write_text("id,x\n" + "".join(f"{i // 2},{i % 50}\n" for i in range(2000)))
    if schema:
        path.with_name(path.name + ".uptack.toml").write_text(schema)
    return path


def test_init_names_the_ledger_and_every_command_debits_it(tmp_path, capsys):
    path = write_people(tmp_path / "visits.csv", schema=None)
    assert main(["init", str(path), "--yes", "--epsilon", "2"]) == 0
    told = schema_of(path)
    assert told.ledger == str(tmp_path / "visits.csv.ledger.db")
    assert 'ledger = "visits.csv.ledger.db"' in (tmp_path / "visits.csv.uptack.toml").read_text()
    assert main(["median", str(path), "x", "--epsilon", "0.5"]) == 0
    assert ut.open(path)["x"].median(epsilon=0.25)
    ledger = ut.Ledger(tmp_path / "visits.csv.ledger.db")
    assert [entry.cost.epsilon for entry in ledger.history()] == [0.5, 0.25]
    capsys.readouterr()
    assert main(["ledger", "show", str(tmp_path / "visits.csv.ledger.db")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("median of x" in line and line.split()[-2:] == ["0.5", "0"] for line in lines)
    assert main(["median", str(path), "x", "--epsilon", "5"]) == 2  # more than is left


def test_a_ledger_that_the_schema_names_is_not_replaced(tmp_path):
    path = write_people(tmp_path / "visits.csv", 'ledger = "budget.db"\n' + PEOPLE)
    with pytest.raises(LedgerError, match=r"budget\.db"):
        ut.open(path)  # there is no such ledger yet
    people = ut.SUBSTITUTE.by_person("id")
    own = ut.Ledger(tmp_path / "budget.db", epsilon=1, adjacency=people)
    other = ut.Ledger(tmp_path / "other.db", epsilon=1, adjacency=people)
    with pytest.raises(InvalidArgument, match=r"which visits\.csv\.uptack\.toml names"):
        ut.open(path, ledger=other)
    assert ut.open(path, ledger=tmp_path / "budget.db")["x"].median(epsilon=0.5)
    assert own.spent().epsilon == 0.5
    assert not other.history()


def test_a_schema_may_name_a_data_set_and_no_password(tmp_path):
    write_people(tmp_path / "visits.csv", 'ledger = "budget.db"\ndataset = "visits"\n' + PEOPLE)
    people = ut.SUBSTITUTE.by_person("id")
    ut.Ledger(tmp_path / "budget.db", epsilon=1, dataset="visits", adjacency=people)
    assert ut.open(tmp_path / "visits.csv").ledger.dataset == "visits"
    with pytest.raises(InvalidArgument, match="without a password"):
        schema.parse_schema('ledger = "postgresql://me:secret@host/base"\n[columns.x]')
    assert main(["init", str(write_people(tmp_path / "a.csv", "")), "--yes", "--ledger", "postgresql://a:b@h/c"]) == 2
    with pytest.raises(InvalidArgument, match="dataset of"):
        schema.parse_schema('dataset = "visits"\n[columns.x]')


def test_a_schema_holds_through_symbolic_links(tmp_path):
    (tmp_path / "real").mkdir()
    path = write_people(tmp_path / "real" / "visits.csv", 'ledger = "budget.db"\n' + PEOPLE)
    ut.Ledger(tmp_path / "real" / "budget.db", epsilon=1, adjacency=ut.SUBSTITUTE.by_person("id"))
    (tmp_path / "middle.csv").symlink_to("real/visits.csv")
    (tmp_path / "link.csv").symlink_to("middle.csv")
    session = ut.open(tmp_path / "link.csv")
    assert session.adjacency.person == ("id",)
    assert session.ledger.where == str(tmp_path / "real" / "budget.db")
    assert dict(open_table(tmp_path / "link.csv").kinds) == dict(open_table(path).kinds)
    (tmp_path / "middle.csv.uptack.toml").symlink_to("real/visits.csv.uptack.toml")
    assert ut.open(tmp_path / "link.csv").adjacency.person == ("id",)  # the same schema twice
    (tmp_path / "link.csv.uptack.toml").write_text("[columns.id]\n[columns.x]\n")
    with pytest.raises(InvalidArgument, match="beside a link"):
        ut.open(tmp_path / "link.csv")


def test_a_pattern_uses_the_schema_that_all_its_files_have(tmp_path):
    one, two = (write_people(tmp_path / f"visits-{i}.csv") for i in (1, 2))
    pattern = str(tmp_path / "visits-*.csv")
    assert ut.open(pattern).adjacency.person == ("id",)
    two.with_name(two.name + ".uptack.toml").unlink()
    with pytest.raises(InvalidArgument, match="has another schema than"):
        ut.open(pattern)
    one.with_name(one.name + ".uptack.toml").unlink()
    assert ut.open(pattern, types="guess").adjacency.person == ()


def test_a_folder_has_one_schema(tmp_path):
    folder = tmp_path / "visits.parquet"
    folder.mkdir()
    pq.write_table(pa.table({"id": [1, 1, 2], "x": [1.0, 2.0, 3.0]}), folder / "a.parquet")
    (folder / "a.parquet.uptack.toml").write_text('person = "id"\n[columns.id]\n[columns.x]\n')
    assert ut.open(folder).adjacency.person == ("id",)
    (tmp_path / "visits.parquet.uptack.toml").write_text("[columns.id]\n[columns.x]\n")
    with pytest.raises(InvalidArgument, match="beside the folder"):
        ut.open(folder)


def test_a_ledger_is_named_by_its_path_or_url(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ut.Ledger("budget.db", epsilon=1)
    session = ut.open({"x": np.arange(2000)}, ledger="budget.db")
    assert session["x"].median(epsilon=0.5)
    assert session.remaining.epsilon == 0.5
    with pytest.raises(InvalidArgument, match="its path or its URL"):
        ut.open({"x": np.arange(2000)}, ledger=3)
    assert main(["ledger", "show", "mysql://host/base"]) == 2
    assert "a URL of mysql" in capsys.readouterr().err  # and not a file called mysql:/host/base
    write_people(tmp_path / "plain.csv", schema=None)
    assert main(["median", "plain.csv", "x", "-e", "1", "--ledger", "mysql://host/base"]) == 2
    assert "a URL of mysql" in capsys.readouterr().err


PAGE = """title = "Visits, 2023"
author = "Office of Statistics"
source = "Clinic register"
privacy_unit = "Each row is one visit."
[columns.age]
kind = "integer"
unit = "years"
"""


def test_a_schema_gives_a_page_its_head(tmp_path, capsys):
    path = tmp_path / "visits.csv"
    path.write_text("age\n" + "".join(f"{20 + i % 60}\n" for i in range(3000)))
    (tmp_path / "visits.csv.uptack.toml").write_text(PAGE)
    made = ut.report(path, epsilon=1, date="2024-01-31", entropy=ut.SeededEntropy(1))
    assert (made.title, made.author, made.source) == ("Visits, 2023", "Office of Statistics", "Clinic register")
    assert made.whose.startswith("Each row is one visit. Each row is protected.")
    assert "age (years)" in made.to_html()
    assert ut.report(path, epsilon=1, title="Mine", author="").author == ""
    assert main(["report", str(path), "-e", "1", "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert all(text in page for text in ("Visits, 2023", "Office of Statistics", "Clinic register", "(years)"))
    read = schema.parse_schema(schema.schema_text(schema.parse_schema(PAGE), "visits.csv"))
    assert (read.title, read.privacy_unit, read.columns["age"].unit) == (
        "Visits, 2023",
        "Each row is one visit.",
        "years",
    )


@pytest.mark.parametrize("line", ['title = ""', "author = 3", 'source = "a\\nb"', f'privacy_unit = "{"x" * 400}"'])
def test_heads_of_pages_are_one_line(line):
    with pytest.raises(ut.InvalidArgument, match="one line"):
        schema.parse_schema(f"{line}\n[columns.age]\n")


def test_a_page_is_called_after_its_file(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("age\n" + "".join(f"{20 + i % 60}\n" for i in range(3000)))
    assert ut.report(path, epsilon=1).title == "visits.csv"
    assert ut.report({"age": np.arange(3000)}, epsilon=1).title == "Private report"
