"""What a report says of its columns: counts first, shares, numbers of rows, percentages, and a page to publish."""

import json
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from uptack.report import number_card
from uptack.report.category_card import Bar, ordered_bars, remainder, shares
from uptack.report.column import Figure, Part
from uptack.report.number_card import NUMBERS
from uptack.report.section import SectionAnswer
from uptack.report.sections.regression import REGRESSION

RNG = np.random.default_rng(1)
N = 6000
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December"]  # fmt: skip
TABLE = {
    "female": RNG.integers(0, 2, N),
    "rating": RNG.integers(1, 7, N),
    "income": np.where(RNG.random(N) < 0.25, np.nan, RNG.lognormal(10, 0.5, N)),
    "month": RNG.choice(MONTHS, N),
    "smoker": RNG.random(N) < 0.2,
}
SAID = {"title": "Survey", "author": "The Office", "source": "Wave 3", "date": "2024-02-29", "noun": "person"}


@pytest.fixture(scope="module")
def made():
    return ut.report(TABLE, epsilon=8, entropy=ut.SeededEntropy(1), measures={"income": "EUR"}, **SAID)


def column(made, name):
    return next(one for one in made.columns if one.part.name == name)


def test_few_valued_integers_are_counted(made):
    """Quartiles of a 0/1 column are often equal, and then it had no counts at all."""
    for name, values in (("female", (0, 1)), ("rating", range(1, 7))):
        counts = column(made, name).counts.value
        for value in values:
            assert counts[value] == pytest.approx((TABLE[name] == value).sum(), abs=100)
        assert column(made, name)["median"].value is not None


def test_days_of_a_month_are_counted_and_ages_are_not():
    rng = np.random.default_rng(4)
    ages = np.clip(rng.normal(42, 11, 20_000).astype(int), 18, 67)
    made = ut.report({"age": ages, "day": rng.integers(1, 32, 20_000)}, epsilon=8, entropy=ut.SeededEntropy(1))
    assert column(made, "age").counts is None
    assert column(made, "age").density is not None
    assert set(range(1, 32)) <= set(column(made, "day").counts.value)


def test_few_valued_integers_are_counted_before_quartiles():
    """At an ε that carries no quartiles the counts are there."""
    short = {name: TABLE[name][:2500] for name in ("female", "rating")}
    made = ut.report(short, epsilon=0.5, entropy=ut.SeededEntropy(2))
    for one in made.columns:
        assert one["lower quartile"].value is None
        assert one.counts is not None


@pytest.mark.parametrize(("name", "label"), [("female", "share of 1"), ("smoker", "share of True")])
def test_a_column_of_0_and_1_has_a_share_with_an_interval(made, name, label):
    share = column(made, name)[label]
    truth = TABLE[name].mean()
    low, high = share.interval
    assert low < truth < high < low + 0.08
    assert share.value == pytest.approx(truth, abs=0.03)


def test_every_column_says_how_many_rows_have_a_value(made):
    for one in made.columns:
        n, missing = one.numbers
        truth = int(np.isfinite(TABLE[one.part.name]).sum()) if one.part.name == "income" else N
        assert n.interval[0] <= truth <= n.interval[1] < n.interval[0] + 300
        assert missing.interval[0] - 1e-9 <= 1 - truth / N <= missing.interval[1] + 1e-9
    page = made.to_html()
    sizes = re.findall(r'class="size soft small">(.*?)</p>', page)
    assert len(sizes) == len(TABLE)
    assert all(" missing" in size for size in sizes)
    assert sum(size.startswith("n ≥ ") and "at most " in size for size in sizes) >= len(TABLE) - 2  # noise may miss 0
    assert any(re.search(r"2\d(\.\d)?% missing \(2[\d.]+% to 2[\d.]+%\)", size) for size in sizes)
    told = {one["label"]: one for one in json.loads(made.to_json())["columns"][2]["figures"]}
    assert told["n"]["interval"]
    assert told["missing"]["value"] == pytest.approx(0.25, abs=0.03)


def test_figures_have_their_uncertainty(made):
    income = column(made, "income")
    truth = np.nanquantile(TABLE["income"], [0.25, 0.5, 0.75])
    for label, value in zip(("lower quartile", "median", "upper quartile"), truth, strict=True):
        low, high = income[label].interval
        assert low < value < high
    assert income["mean"].interval[0] < np.nanmean(TABLE["income"]) < income["mean"].interval[1]


@pytest.mark.parametrize("counts", [[333, 333, 334], [1, 1, 998], [10, 20, 30, 40, 500], [0, 0, 7]])
def test_percentages_add_up(counts):
    part = Part("x", "text", None, rows=sum(counts))
    shown = shares([Bar(str(i), count, 1.0, 2) for i, count in enumerate(counts)], part)
    assert sum(float(bar.percent.rstrip("%")) for bar in shown) == pytest.approx(100)
    assert all(abs(float(bar.percent.rstrip("%")) - 100 * bar.rows / sum(counts)) <= 1 for bar in shown)
    assert remainder(shown, part) == ""
    some = Part("x", "text", None, rows=2 * sum(counts))
    half = shares([Bar(str(i), count, 1.0, 2) for i, count in enumerate(counts)], some)
    assert sum(float(bar.percent.rstrip("%")) for bar in half) == pytest.approx(50, abs=0.5)
    assert "The remaining 50" in remainder(half, some)


def test_counts_in_json_are_as_they_were_released(made):
    figures = json.loads(made.to_json())["columns"][3]["figures"]
    counts = next(one for one in figures if one["label"] == "counts")["value"]["counts"]
    assert sum(counts) != N
    assert sum(counts) == pytest.approx(N, abs=600)


def test_months_are_in_the_order_of_the_calendar(made):
    page = made.to_html()
    places = [page.index(f'<div class="name">{month}<') for month in MONTHS]
    assert places == sorted(places)


def test_the_page_says_what_it_is(made):
    page = made.to_html()
    assert "<title>Survey</title>" in page
    for part in ("<h1>Survey</h1>", "The Office", "2024-02-29", "Source: Wave 3", "Method: differential privacy."):
        assert part in page
    assert "Each row is one person, who is protected." in page
    assert re.search(r'<text class="label axis-title"[^>]*>income \(EUR\)</text>', page)
    assert "(EUR)</span></h3>" in page
    assert json.loads(made.to_json())["author"] == "The Office"
    assert "The Office · 2024-02-29 · Source: Wave 3" in made.to_markdown()
    with pytest.raises(ut.InvalidArgument, match="author must be a text"):
        ut.report(TABLE, epsilon=1, author=7)


def test_no_figure_stands_alone_in_its_line(made):
    for one in made.columns:
        view = one.part.card.view("c", one, "rows")
        if len(view.figures) > 1:
            assert len(view.figures) % view.across != 1


def test_people_are_counted_where_they_have_a_row():
    ids, kinds = np.repeat(np.arange(3000), 2), np.tile(["hdl", "ldl"], 3000)
    made = ut.report({"id": ids, "test": kinds}, person="id", epsilon=4, entropy=ut.SeededEntropy(1))
    counts = made.columns[0].counts
    assert dict(counts.value) == pytest.approx({"hdl": 3000, "ldl": 3000}, abs=100)
    assert "people with at least one row" in counts.note
    assert "people with at least one row" in made.to_html()


@pytest.mark.parametrize("weights", ["survey_weight", np.ones(N), ["survey_weight"]], ids=["name", "array", "list"])
@pytest.mark.parametrize("statistic", ["mean", "median", "histogram"])
def test_survey_weights_are_refused_with_a_reason(weights, statistic):
    session = ut.open({**TABLE, "survey_weight": np.ones(N)})
    more = {"keys": [1]} if statistic == "histogram" else {}
    with pytest.raises(ut.InvalidArgument, match="Survey weights are not supported"):
        getattr(session["rating"], statistic)(epsilon=1, weights=weights, **more)
    assert session.spent.epsilon == 0
    with pytest.raises(ut.InvalidArgument, match="Survey weights are not supported"):
        ut.mean(TABLE["rating"], epsilon=1, weights=weights, person=np.arange(N))


def test_nothing_spent_promises_nothing():
    """A report of 18 people said "at most 1 times as likely (ε = 0)", and advised a guess that could not help."""
    made = ut.report({"x": RNG.normal(size=18)}, epsilon=0.1, entropy=ut.SeededEntropy(1))
    text = made.to_markdown()
    assert "times as likely" not in text
    assert "--plausible" not in text


def test_columns_of_texts_are_counted_before_anything_else_is_asked_of_them():
    """Six columns of yes and no had "n" and no counts at ε = 1, and no word about it."""
    rows, sides = 2400, RNG.choice(["no", "yes"], (6, 2400))
    table = {f"x{i}": RNG.normal(size=rows) for i in range(7)} | {f"c{i}": side for i, side in enumerate(sides)}
    made = ut.report(table, epsilon=1, entropy=ut.SeededEntropy(1))
    assert all(column.answered for column in made.columns)
    assert all("counts" in column.part.figures for column in made.columns[7:])


def test_a_column_without_an_answer_says_why():
    names = np.array([f"name {i}" for i in range(3000)])
    made = ut.report({"x": RNG.normal(size=3000), "name": names}, epsilon=1, entropy=ut.SeededEntropy(1))
    assert not made.columns[1].answered
    assert "Categories with fewer than" in made.columns[1].silence_reason
    assert "list them in the schema" in made.columns[1].silence_reason


def test_columns_are_left_out_by_options_schema_or_name(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("," + "age,note,ID\n" + "".join(f"{i},{20 + i % 50},{i % 3},{9 * i}\n" for i in range(600)))
    seeded = {"entropy": ut.SeededEntropy(1), "epsilon": 2}

    def names(**options):
        return [one.part.name for one in ut.report(path, **seeded, **options).columns]

    made = ut.report(path, **seeded)
    assert [one.part.name for one in made.columns] == ["age", "note"]
    assert made.hints[-1].startswith("Left out because of their names, as ids or row numbers: column_1, ID.")
    assert names(skip=["note"]) == ["age"]
    assert names(columns=["column_1", "age"]) == ["column_1", "age"]
    text = "".join(f'[columns.{name}]\nkind = "integer"\n' for name in ("column_1", "age", "note", "ID"))
    (tmp_path / "rows.csv.uptack.toml").write_text(text.replace("[columns.age]", "[columns.age]\nskip = true"))
    assert names() == ["note"]
    (tmp_path / "rows.csv.uptack.toml").write_text(text.replace("[columns.ID]", "[columns.ID]\nskip = false"))
    assert names() == ["age", "note", "ID"]
    with pytest.raises(ut.InvalidArgument, match="note"):
        names(skip=["nott"])


def test_sections_are_about_the_columns_of_the_report():
    rng = np.random.default_rng(5)
    rows = {"__index_level_0__": np.arange(6000), **{name: rng.normal(size=6000) for name in ("x", "y", "z")}}
    options = {"epsilon": 20, "correlations": True, "target": "y", "entropy": ut.SeededEntropy(1)}
    made = ut.report(rows, skip=["z"], **options)
    assert made.sections["correlations"].columns == ("x", "y")
    assert made.sections["regression"].columns == ("y", "x")
    assert ut.report(rows, columns=["y", "z"], **options).sections["regression"].columns == ("y", "z")
    session = ut.open(rows)
    assert session.numeric == ("x", "y", "z")  # what session.regression("y") and session.scatter() use
    assert session["__index_level_0__"].median(epsilon=1)


def test_a_report_gives_columns_by_their_names():
    made = ut.report({"age": RNG.normal(50, 9, 3000), "n": np.arange(3000) % 4}, epsilon=4, entropy=ut.SeededEntropy(1))
    assert made["age"] is made.columns[0]
    assert len(repr(made["age"])) < 2000
    assert "median" in repr(made["age"])
    with pytest.raises(ut.InvalidArgument, match="Did you mean 'age'"):
        made["agee"]


def test_quartiles_without_an_interval_have_the_digits_of_the_median():
    made = ut.report({"x": RNG.normal(50, 9, 3000)}, epsilon=1, entropy=ut.SeededEntropy(1))
    assert made["x"]["median"].interval is not None
    assert made["x"]["lower quartile"].interval is None
    row = next(line for line in str(made).splitlines() if line.startswith("| x"))
    ends = next(cell for cell in row.split("|") if cell.count(" to ") and "4" in cell and "5" in cell).split(" to ")
    assert all(len(end.strip().partition(".")[2]) <= 1 for end in ends)


def test_no_more_people_have_a_row_than_there_are():
    person = np.arange(900).repeat(6)
    table = {"person": person, "mark": RNG.permuted(np.tile(np.arange(1, 7), (900, 1)), axis=1).ravel()}
    for seed in range(5):
        made = ut.report(table, person="person", epsilon=6, entropy=ut.SeededEntropy(seed))
        bars = shares(ordered_bars(made["mark"].counts), made["mark"].part)
        assert all(bar.rows <= 900 for bar in bars)
        assert all(float(bar.percent.rstrip("%")) <= 100 for bar in bars)
    truth = {"person": person, "ever": person % 2 == 0}
    made = ut.report(
        truth | {"code": truth["ever"].astype(int)}, person="person", epsilon=6, entropy=ut.SeededEntropy(1)
    )
    assert "share with mostly 1" in str(made)
    assert "share of 1" not in str(made)
    truth["code"] = np.arange(5400) % 6 // 5  # everybody has both values
    made = ut.report(truth, person="person", epsilon=6, entropy=ut.SeededEntropy(1))
    assert made["code"]["share with at least one 1"].value > 0.9


def test_percentages_of_people_who_count_once_add_up():
    table = {"person": np.arange(2400) // 2, "sex": np.where(np.arange(2400) % 4 < 2, "f", "m")}
    for seed in range(8):
        made = ut.report(table, person="person", epsilon=0.5, entropy=ut.SeededEntropy(seed))
        counts = made["sex"].counts
        assert counts.note.startswith("Counts are people. Each counts once, in the category of most of their rows (ch")
        percentages = [float(bar.percent.rstrip("%")) for bar in made["sex"].part.card.view("", made["sex"], "").bars]
        assert sum(percentages) <= 100


def test_advice_of_a_section_is_about_the_whole_report():
    x = np.random.default_rng(1).normal(size=(2500, 3))
    table = {"a": x[:, 0], "b": x[:, 1], "y": x @ [1, 1, 1]}

    def regression(epsilon):
        made = ut.report(table, target="y", epsilon=epsilon, delta=0, entropy=ut.SeededEntropy(1))
        return made.sections["regression"]

    (note,) = {figure.note for figure in regression(2).figures}
    enough = float(re.search(r"ε of about ([\d.]+) for the whole report", note)[1])
    assert enough > 2
    assert regression(enough).replied


def test_many_columns_of_0_and_1_have_shares():
    rng = np.random.default_rng(2)
    table = {f"x{i}": (rng.random(1200) < 0.3).astype(int) for i in range(27)}
    made = ut.report(table, epsilon=2, entropy=ut.SeededEntropy(1))
    assert all(one.figures[0].label == "share of 1" for one in made.columns)
    assert all(one.figures[0].interval[0] <= 0.3 <= one.figures[0].interval[1] for one in made.columns)


def test_numbers_of_events_have_no_share_of_1():
    events = np.random.default_rng(3).choice([0, 1, 2, 3], 4000, p=[0.55, 0.2, 0.15, 0.1])
    (one,) = ut.report({"events": events}, epsilon=0.5, entropy=ut.SeededEntropy(1)).columns
    assert not [figure for figure in one.figures if figure.label.startswith("share")]


def test_two_of_many_values_are_no_share_of_1_where_n_is_too_dear():
    """Nobody knows then whether the other rows are missing or have other values."""
    table = {f"x{i}": np.random.default_rng(i).choice([0, 1, *range(2, 20)], 500, p=[0.5, 0.2, *[0.3 / 18] * 18])
             for i in range(4)}  # fmt: skip
    for seed in range(3):
        made = ut.report(table, epsilon=2, entropy=ut.SeededEntropy(seed))
        assert not any(one.numbers for one in made.columns)
        assert not [line for one in made.columns for line in one.figures if line.label.startswith("share")]


def test_listed_integers_are_counted_where_the_budget_has_no_median(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("ill,x\n" + "".join(f"{i % 3 // 2},{i}\n" for i in range(900)))
    kinds = '[columns.ill]\nkind = "integer"\nlevels = [0, 1]\n[columns.x]\nkind = "number"\n'
    (tmp_path / "rows.csv.uptack.toml").write_text(kinds)
    made = ut.report(path, epsilon=0.1, entropy=ut.SeededEntropy(1))
    ill = column(made, "ill")
    assert [figure.label for figure in ill.figures] == ["share of 1"]
    assert ill.answered
    assert "share of 1" in made.to_html()


def test_a_figure_has_the_digits_of_its_interval():
    part = Part("x", "number", NUMBERS)
    ends = {"median": Figure("median", 5.18e-55, (-0.013, 0.4)), "few": Figure("median", 2, (2, 2))}
    shown = {name: number_card._line(figure, 0.0) for name, figure in ends.items()}
    assert (shown["median"].value, shown["median"].interval) == ("0.00", "-0.02 to 0.40")
    assert shown["few"].interval == "2 to 2"
    alone = number_card._line(Figure("median", 5.18e-55, None, "within 300 of 1,000 ranks"), 0.0)
    assert alone.value.startswith("about 0 (5.18 ")
    assert alone.interval == "20% to 80% quantile"
    assert number_card._line(Figure("median", 1.0, None, "within 600 of 1,000 ranks"), 0.0).interval == ""
    assert remainder([Bar("a", 980, 0, 30, percent="98%")], replace(part, rows=1000)) == ""
    assert remainder([Bar("a", 900, 0, 30, percent="90%")], replace(part, rows=1000)).startswith("The remaining 10%")


def test_a_column_of_the_wrong_type_is_not_sent_for_more_rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("name,x\n" + "".join(f"w{i % 7},{i}\n" for i in range(3000)))
    made = ut.report(path, types={"name": "integer", "x": "integer"}, epsilon=4, entropy=ut.SeededEntropy(1))
    assert "of 3,000 rows have a value of the type integer" in column(made, "name").silence_reason
    reply = ut.open(path, types={"name": "integer", "x": "integer"}).median("name", epsilon=1)
    assert "rows with a value" in reply.reason


def test_a_released_quantile_is_within_its_interval():
    part = Part("x", "number", NUMBERS, figures=("median", "quartiles", "interval", "lower quartile interval"))
    released = {Fraction(1, 4): 7.39, Fraction(1, 2): 10.46, Fraction(3, 4): 13.73}
    draws = {
        "quantiles": Figure("quantiles", np.array([*released.values()])),
        "interval": Figure("interval", (10.41, 10.59)),
        "lower quartile interval": Figure("lower quartile interval", (6.89, 7.34)),
    }
    found = {figure.label: figure.value for figure in number_card.quantile_figures(part, released, draws)}
    assert (found["median"], found["lower quartile"], found["upper quartile"]) == (10.46, 7.34, 13.73)
    assert found["interquartile range"] == 13.73 - 7.34


def test_a_coefficient_without_an_error_is_not_shown():
    ends = np.array([0.5, -np.inf]), np.array([1.5, np.inf])
    answer = SectionAnswer(REGRESSION, ("y", "x"), (), (Figure("regression", np.array([1.0, 3.7]), ends),))
    assert REGRESSION.table(answer, str).rows == [["intercept", "1.0", "0.5 to 1.5"], ["x", "–", "not resolved"]]


def test_both_quartiles_have_an_interval_or_neither():
    table, seen = {"x": np.random.default_rng(1).normal(size=4000)}, []
    for epsilon in (3, 4, 5):
        (made,) = ut.report(table, epsilon=epsilon, entropy=ut.SeededEntropy(1)).columns
        seen.append([made[f"{which} quartile"].interval is not None for which in ("lower", "upper")])
    assert seen == [[False, False], [False, False], [True, True]]


def test_a_report_of_people_says_how_they_are_weighted():
    table = {"person": np.arange(1500) // 2, "x": np.arange(1500.0)}
    assert "every person the same weight" in ut.report(table, person="person", epsilon=2).to_html()
    assert "same weight" not in ut.report(table, epsilon=2).to_html()


def test_weeks_of_people_have_no_share_of_1():
    """No single number of weeks is frequent beside 0, but together they are."""
    rng = np.random.default_rng(1)
    weeks = np.where(rng.random(12_000) < 0.6, 0, rng.integers(1, 12, 12_000))
    table = {"person": np.arange(12_000) // 6, "weeks": weeks}
    for seed in range(4):
        made = ut.report(table, person="person", epsilon=1, delta=0, entropy=ut.SeededEntropy(seed))
        assert not [one.label for one in made["weeks"].figures if one.label.startswith("share")]


def test_the_sign_beside_numbers_is_their_unit(tmp_path):
    file = tmp_path / "prices.csv"
    file.write_text("price,rate\n" + "".join(f'"${1000 + i:,}.50",{i % 100}%\n' for i in range(4000)))
    session = ut.open(file, entropy=ut.SeededEntropy(1))
    assert {name: session.schema.column(name).unit for name in ("price", "rate")} == {"price": "$", "rate": "%"}
    text = str(session.report(epsilon=2))
    assert "| price ($)" in text
    assert "| rate (%)" in text


def test_a_report_leaves_half_of_the_delta_of_a_ledger(tmp_path):
    ledger = ut.Ledger(tmp_path / "budget.db", epsilon=4, delta=1e-6)
    rows = {"ward": ["a", "b"] * 2000, "id": list(range(4000))}
    session = ut.open(rows, ledger=ledger, entropy=ut.SeededEntropy(1))
    assert session.report(epsilon=1).budget.delta == 5e-7
    assert session.remaining.delta >= 5e-7
    assert ut.open(rows).report(epsilon=1).budget.delta == 1e-6


def test_synthetic_rows_leave_out_row_numbers_unless_they_are_named():
    session = ut.open({"id": list(range(4000)), "ward": ["a", "b"] * 2000}, entropy=ut.SeededEntropy(1))
    assert list(session.synthetic(epsilon=1, delta=1e-6).value.columns) == ["ward"]
    assert list(session.synthetic("id", "ward", epsilon=1, delta=1e-6).value.columns) == ["id", "ward"]
