"""What a report is written as, beside the page: JSON with its schema, a data package, and words for the guarantee."""

import csv
import io
import json
import zipfile
from importlib import resources

import jsonschema
import numpy as np
import pytest

import uptack as ut
from uptack.cli import main
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy
from uptack.privacy.guarantee import promise
from uptack.report import profile, to_json, write
from uptack.report.output import tables as csv_tables
from uptack.report.output import to_package

RNG = np.random.default_rng(8)
N = 6000
TABLE = {
    "age": RNG.integers(18, 90, N),
    "=cmd()": RNG.lognormal(3, 1, N),
    "ward": RNG.choice(["north", "=HYPERLINK(1)", "a\nb"], N),
    "smoker": RNG.random(N) < 0.3,
}
SCHEMA = json.loads(resources.files("uptack.report").joinpath("report.schema.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def made():
    return profile(ut.open(TABLE, entropy=ut.SeededEntropy(5)), 6, 1e-6, target="age")


@pytest.fixture(scope="module")
def tables(made):
    with zipfile.ZipFile(io.BytesIO(to_package(made))) as archive:
        texts = {name: archive.read(name).decode("utf-8") for name in archive.namelist()}
    rows = {name: list(csv.DictReader(io.StringIO(texts[f"{name}.csv"]))) for name in csv_tables()}
    return json.loads(texts["datapackage.json"]), rows


def test_json_is_as_its_schema_says(made):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    check = jsonschema.Draft202012Validator(SCHEMA)
    held = json.loads(to_json(made))
    check.validate(held)
    people = {**TABLE, "who": np.arange(N) // 2}
    few = profile(ut.open(people, person="who", entropy=ut.SeededEntropy(1)), 0.01, 1e-6)
    check.validate(json.loads(to_json(few)))
    for wrong in ({**held, "private": 1}, {**held, "columns": [{}]}, {k: v for k, v in held.items() if k != "rows"}):
        assert not check.is_valid(wrong)


def test_json_has_no_infinities():
    costs = RNG.pareto(1.5, 20_000)  # the mean's interval has no upper end
    page = profile(ut.open({"cost": costs}, entropy=ut.SeededEntropy(1)), 10, 0)
    ends = {figure.label: figure.interval for figure in page.columns[0].figures}["mean"]
    assert ends[1] == np.inf

    def refuse(word):
        raise AssertionError(word)

    figures = json.loads(to_json(page), parse_constant=refuse)["columns"][0]["figures"]
    assert {one["label"]: one["interval"] for one in figures}["mean"] == [ends[0], None]


def test_a_package_holds_every_figure_exactly(made, tables):
    descriptor, rows = tables
    numeric = [column for column in made.columns if column.part.card.numeric]
    wanted = [(c.part.name, f.label, f.value) for c in numeric for f in c.figures]
    found = [(r["column"].lstrip("'"), r["figure"], float(r["value"]) if r["value"] else None) for r in rows["figures"]]
    assert found == wanted
    counts = {r["category"].replace("'=", "="): int(r["count"]) for r in rows["counts"] if r["column"] == "ward"}
    released = dict(made.columns[2].figures[0].value.items())
    assert counts == {{"a\nb": repr("a\nb")}.get(k, k): v for k, v in released.items()}
    assert [float(r["value"]) for r in rows["regression"]] == list(made.sections["regression"].value)
    assert len(rows["densities"]) in (160, 320)
    for resource in descriptor["resources"]:
        fields = [field["name"] for field in resource["schema"]["fields"]]
        assert all(list(row) == fields for row in rows[resource["name"]])
    assert descriptor["privacy"]["spent"]["epsilon"] == made.spent.epsilon


def test_no_cell_is_a_formula_and_the_same_report_is_the_same_file(made, tables):
    cells = [cell for rows in tables[1].values() for row in rows for name, cell in row.items() if not _number(cell)]
    assert any(cell.startswith("'=") for cell in cells)
    assert not any(cell[:1] in "=+@-" and cell for cell in cells)
    assert to_package(made) == to_package(made)


def _number(cell):
    try:
        return np.isfinite(float(cell))
    except ValueError:
        return False


def test_several_files_at_once(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("age\n" + "\n".join(map(str, RNG.integers(0, 90, 3000))), "utf-8")
    outputs = [tmp_path / f"r.{kind}" for kind in ("html", "md", "json", "zip")]
    options = [word for output in outputs for word in ("-o", str(output))]
    base = ["report", str(path), "--type", "age=integer", "-e", "2"]
    assert main([*base, *options]) == 0
    assert all(output.stat().st_size > 100 for output in outputs)
    assert main([*base, "-o", str(outputs[0]), "-o", str(tmp_path / "." / "r.html")]) == 2
    assert "twice" in capsys.readouterr().err
    assert main(["explain", str(outputs[2]), "--epsilon", "0.1"]) == 0
    said = capsys.readouterr().out
    assert "Each row is protected." in said
    assert "by at most a factor of 1.11" in " ".join(said.split())
    assert main(["explain", str(path)]) == 2


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 1, 2, 3, 7, 50, 1e6])
@pytest.mark.parametrize("relation", [SUBSTITUTE, ADD_REMOVE, SUBSTITUTE.by_person("id"), SUBSTITUTE.per_person(3)])
def test_words_are_honest_at_every_epsilon(epsilon, relation):
    said = promise(Privacy(epsilon, 1e-6, relation))
    assert ("weak" in said) == (epsilon > 3)
    assert "δ = 1e-6" in said
    assert said.count(". ") == (epsilon > 3)  # one sentence, or two


def test_by_suffix(made, tmp_path):
    assert zipfile.is_zipfile(write(made, tmp_path / "report.zip"))
