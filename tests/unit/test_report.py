"""The report: what it says, what it costs, and that it says ⊥ where it should."""

import json
from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from uptack.report import divide, plan, profile, to_html, to_json, to_markdown, write
from uptack.report.pictures import density_picture, number, ticks

RNG = np.random.default_rng(3)
N = 20_000
TABLE = {
    "age": RNG.integers(18, 90, N),
    "cost": RNG.pareto(1.5, N) * 100,
    "smoker": RNG.random(N) < 0.3,
    "ward": RNG.choice(["north", "south", "<b>east</b>"], N, p=[0.5, 0.3, 0.2]),
}


def session(table=None, **options):
    return ut.open(table or TABLE, entropy=ut.SeededEntropy(5), **options)


@pytest.fixture(scope="module")
def made():
    return profile(session(), 2, 1e-6, title="patients", target="cost")


def test_every_column_is_there_and_close(made):
    found = {column.part.name: column for column in made.columns}
    assert list(found) == list(TABLE)
    assert abs(found["age"]["median"].value - np.median(TABLE["age"])) < 3
    assert abs(found["cost"]["interquartile range"].value / 100 - 1.3) < 0.4
    assert found["cost"].density.value.at(np.median(TABLE["cost"])) > 0
    counts = dict(found["ward"].figures[0].value.items())
    assert abs(counts["north"] - N / 2) < 400
    assert made.regression[0] == ("cost", "age")


def test_it_costs_no_more_than_was_asked(made):
    assert made.spent <= ut.Privacy(2, 1e-6)
    assert made.asked == ut.Privacy(2, 1e-6)
    assert made.spent.epsilon > 1.9  # and wastes little


def test_a_ledger_and_the_report_agree(tmp_path):
    book = ut.Ledger(tmp_path / "budget.db", epsilon=2, delta=1e-6)
    found = profile(session(ledger=book), 2, 1e-6)
    assert book.spent() >= found.spent
    assert book.remaining().epsilon < 1e-9
    with pytest.raises(ut.BudgetExceeded):
        profile(session(ledger=book), 1, 0)


def test_pure_privacy_has_no_delta():
    found = profile(session(), 2)
    assert found.spent.pure
    ward = next(c for c in found.columns if c.part.name == "ward")
    assert "needs δ" in ward.part.skipped
    assert next(c for c in found.columns if c.part.name == "age").density.value is not None


def test_shares_weigh_the_budget():
    parts = {p.name: p for p in divide(session(), 2, 1e-6, shares={"age": 3})}
    assert parts["age"].epsilon == 3 * parts["cost"].epsilon
    assert sum(p.epsilon for p in parts.values()) == 2
    assert sum(p.delta for p in parts.values()) == Fraction(1, 10**6)
    with pytest.raises(ut.InvalidArgument, match="share"):
        divide(session(), 2, shares={"age": 0})


def test_a_plan_looks_at_nothing_and_agrees_with_the_report():
    planned = plan(session(), 2, 1e-6, target="cost")
    assert planned.total == ut.Privacy(2, 1e-6)
    few = {name: column[:40] for name, column in TABLE.items()}
    assert any(line.refusal is not None for line in plan(session(few), 1, 1e-6).releases)


def test_too_few_rows_give_bottoms_and_advice():
    few = {name: column[:60] for name, column in TABLE.items()}
    found = profile(session(few), 1, 1e-6, target="cost")
    text = to_html(found)
    assert "⊥" in text
    assert "a reply needs n of at least" in text


def test_the_page_is_one_file_with_escaped_names(made):
    text = to_html(made)
    for name in TABLE:
        assert f'data-column="{name}"' in text
    assert "<b>east</b>" not in text
    assert "&lt;b&gt;east&lt;/b&gt;" in text
    assert text.count("<svg") >= 3
    for outside in ("<script", "<link", "src=", "@import", "url("):
        assert outside not in text
    assert "Not private." in text


def test_markdown_and_json_hold_the_same_figures(made, tmp_path):
    plain = json.loads(to_json(made))
    median = plain["columns"][0]["figures"][0]
    assert median["label"] == "median"
    assert number(median["value"]) in to_markdown(made)
    for name in ("report.html", "report.md", "report.json"):
        assert write(made, tmp_path / name).read_text("utf-8")
    assert {p.name for p in tmp_path.iterdir()} == {"report.html", "report.md", "report.json"}


def test_missing_values_are_dropped_and_do_not_crash():
    holes = {"age": np.where(RNG.random(N) < 0.2, np.nan, TABLE["cost"]), "town": [None, "a", "b", "b"] * (N // 4)}
    found = profile(session(holes), 2, 1e-6)
    assert abs(found.columns[0]["median"].value - np.median(TABLE["cost"])) < 10
    assert "missing" in to_markdown(found)


def test_a_constant_column_has_no_density():
    found = profile(session({"one": np.ones(N)}), 1, 1e-6)
    assert found.columns[0].density.value is None
    to_html(found)


def test_pictures_survive_extremes():
    x = np.linspace(-1e300, 1e300, 50)
    assert "<svg" in density_picture(x.tolist(), np.ones(50).tolist(), title="wide")
    assert ticks(0.0, 1e-12)
    assert number(-0.0) == "0"


def test_spent_is_what_was_debited_whatever_came_of_it(tmp_path):
    book = ut.Ledger(tmp_path / "budget.db", epsilon=10, delta=1e-5)
    few = {"age": TABLE["age"][:6000]}
    found = profile(ut.open(few, ledger=book), 0.8)
    assert found.spent == book.spent() <= ut.Privacy("0.8")


def test_a_report_that_does_not_fit_the_budget_spends_nothing(tmp_path):
    book = ut.Ledger(tmp_path / "budget.db", epsilon=1, delta=1e-6)
    with pytest.raises(ut.BudgetExceeded):
        profile(session(ledger=book), 2, 1e-6)
    assert book.spent() == ut.Privacy(0)


@pytest.mark.parametrize("wrong", [{"target": "ward"}, {"target": "age", "columns": ["age"]}, {"columns": ["no"]}])
def test_mistakes_are_found_before_anything_is_spent(wrong):
    table = TABLE if wrong != {"target": "age", "columns": ["age"]} else {"age": TABLE["age"]}
    opened = session(table)
    with pytest.raises(ut.InvalidArgument):
        profile(opened, 2, 1e-6, **wrong)
    assert opened.spent == ut.Privacy(0)


def test_odd_names_of_columns():
    found = profile(session({"": TABLE["age"], "a|b\n<i>": TABLE["cost"]}), 2, 1e-6, target="")
    assert "&lt;i&gt;" in to_markdown(found)
    assert found.regression[0] == ("", "a|b\n<i>")
    assert [c.part.name for c in profile(session(), 2, 1e-6, columns="age").columns] == ["age"]
