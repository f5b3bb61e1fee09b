"""Every section of a report keeps the contract: being registered is how it gets tested."""

import csv
import io
import json
import zipfile
from fractions import Fraction
from importlib import resources

import jsonschema
import numpy as np
import pytest

import uptack as ut
from uptack.cli import main
from uptack.report import Section, SectionTable, plan, profile, register
from uptack.report.output import to_package
from uptack.report.section import registered_sections, unregister

SCHEMA = json.loads(resources.files("uptack.report").joinpath("report.schema.json").read_text("utf-8"))
RNG = np.random.default_rng(6)
N = 20_000
X = RNG.normal(size=N)
TABLE = {"y": X + RNG.normal(size=N), "<x>|": X, "z": RNG.normal(size=N), "flag": X > 0}
SECTIONS = registered_sections()


def session(rows=N, **options):
    table = {name: column[:rows] for name, column in TABLE.items()}
    return ut.open(table, entropy=ut.SeededEntropy(4), **options)


def wanted(section):
    return {section.option: section.example if section.takes is str else True}


@pytest.fixture(params=SECTIONS, ids=lambda section: section.name)
def section(request):
    return request.param


@pytest.mark.parametrize("rows", [N, 9])
def test_every_format_has_it_with_an_answer_and_without(section, rows):
    made = profile(session(rows), 6, 1e-6, **wanted(section))
    answer = made.sections[section.name]
    assert answer.replied == (rows == N)
    assert len(answer.figures) == len(answer.requests)
    assert f"## {answer.title()}\n" in made.to_markdown().replace("\\", "")
    page = made.to_html()
    assert f'<h2 id="{section.name}">' in page
    assert "<x>" not in page
    held = json.loads(made.to_json())
    jsonschema.Draft202012Validator(SCHEMA).validate(held)
    assert held[section.name] is not None
    with zipfile.ZipFile(io.BytesIO(to_package(made))) as archive:
        lines = list(csv.DictReader(io.StringIO(archive.read(f"{section.name}.csv").decode("utf-8"))))
    assert all(list(line) == list(section.csv.fields) for line in lines)
    if rows == N:
        assert lines
        assert made.to_pandas()["epsilon"].notna().any()
        assert "⊥" not in made.to_markdown().partition(f"## {answer.title()}")[2]


def test_one_that_is_not_asked_for_is_not_there(section):
    made = profile(session(), 6, 1e-6)
    assert section.name not in made.sections
    assert json.loads(made.to_json())[section.name] is None
    assert f'id="{section.name}"' not in made.to_html()
    assert profile(session(), 6, 1e-6, **{section.option: None}).sections == {}


def test_it_is_priced_in_the_plan_and_within_its_share(section):
    planned, opened = plan(session(), 6, 1e-6, **wanted(section)), session()
    made = profile(opened, 6, 1e-6, **wanted(section))
    assert made.spent == planned.total == opened.spent
    assert made.spent <= ut.Privacy(6, 1e-6)
    cost = sum(figure.cost.exact_epsilon for figure in made.sections[section.name].figures)
    assert 0 < cost <= 6 * section.share


def test_what_public_numbers_refuse_is_free(section):
    made = profile(session(9), 6, 1e-6, **wanted(section))
    answer = made.sections[section.name]
    free = [figure for one, figure in zip(answer.requests, answer.figures, strict=True) if "by" not in one.given]
    assert all(figure.cost is None for figure in free)  # how many rows a group has is secret, so its ⊥ is paid for


def test_its_option_is_one_of_the_command(section, capsys):
    assert main(["report", "--help"]) == 0
    assert f"--{section.option.replace('_', '-')}" in capsys.readouterr().out


def test_an_option_that_no_section_has_is_an_error():
    with pytest.raises(TypeError, match="no option 'colour'"):
        profile(session(), 6, 1e-6, colour=True)


def one_median(session, columns, wanted, epsilon):
    return [ut.Request("median", "y", epsilon=epsilon * wanted)]


def medians(answer, name_text):
    return SectionTable(["column", "median"], [[name_text("y"), f"{round(answer.value) + 0}"]])


@pytest.fixture
def own():
    made = register(
        Section(
            name="own_median",
            place=9,
            option="own",
            help="Also a median.",
            share=Fraction(1, 5),
            ask=one_median,
            table=medians,
        )
    )
    yield made
    unregister(made)


def test_a_section_that_somebody_else_registers_is_shown_everywhere(own):
    made = profile(session(), 6, 1e-6, own=1)
    assert made.to_markdown().partition("## Own median")[2].splitlines()[4].split() == ["|", "y", "|", "0", "|"]
    assert "Own median" in made.to_html()
    assert json.loads(made.to_json())["own_median"]["label"] == "own median"
    assert made.records()[-1]["figure"] == "own median"


def test_a_section_can_not_ask_for_more_than_its_share(own, tmp_path):
    book = ut.Ledger(tmp_path / "budget.db", epsilon=20, delta=1e-6)
    with pytest.raises(ut.UptackError, match="more than its part"):
        profile(session(ledger=book), 6, 1e-6, own=2)
    assert book.spent() == ut.Privacy(0)


def test_a_section_is_gone_when_it_is_withdrawn():
    assert [section.name for section in registered_sections()] == [section.name for section in SECTIONS]
