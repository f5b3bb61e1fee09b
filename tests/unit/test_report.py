"""The report: what it says, what it costs, and that it says ⊥ where it should."""

import json
from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from uptack.account import observed_by
from uptack.display.numbers import number
from uptack.kernels.curves import DensityCurve, FourierDensity
from uptack.privacy.loss import BoundedRange
from uptack.report import Figure, divide, plan, profile, to_html, to_json, to_markdown, write
from uptack.report.budget import FIGURES
from uptack.report.column import Part
from uptack.report.number_card import MOST_BARS, NUMBERS, DensityBars, density_bars, quantile_figures, spiky, with_tails
from uptack.report.pictures import density_picture, ticks
from uptack.report.sections.correlations import heat_map
from uptack.report.sections.regression import effects
from uptack.session import Request
from uptack.table.engine import connection

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
    assert made.sections["regression"].columns == ("cost", "age")


def test_it_costs_no_more_than_was_asked(made):
    assert made.spent <= ut.Privacy(2, 1e-6)
    assert made.budget == ut.Privacy(2, 1e-6)
    assert made.spent.epsilon > 1.9  # and wastes little


def test_a_ledger_and_the_report_agree(tmp_path):
    book = ut.Ledger(tmp_path / "budget.db", epsilon=2, delta=1e-6)
    found = profile(session(ledger=book), 2, 1e-6)
    assert book.spent() >= found.spent
    assert book.remaining().epsilon < 0.05
    with pytest.raises(ut.BudgetExceeded):
        profile(session(ledger=book), 1, 0)


def test_pure_privacy_has_no_delta():
    found = profile(session(), 2)
    assert found.spent.pure
    ward = next(c for c in found.columns if c.part.name == "ward")
    assert "needs δ" in ward.part.skip_reason
    assert next(c for c in found.columns if c.part.name == "age").density.value is not None


def test_shares_weigh_the_budget():
    parts = {p.name: p for p in divide(session(), 2, 1e-6, shares={"age": 3}).parts}
    draw = parts["age"].draws[0]
    assert parts["age"].epsilon(draw) == 3 * parts["cost"].epsilon(draw)
    assert sum(p.delta for p in parts.values()) == Fraction(1, 2 * 10**6)
    with pytest.raises(ut.InvalidArgument, match="share"):
        divide(session(), 2, shares={"age": 0})


def test_a_plan_looks_at_nothing_and_agrees_with_the_report(made):
    planned = plan(session(), 2, 1e-6, target="cost")
    assert planned.total == made.spent
    assert planned.total <= ut.Privacy(2, 1e-6)
    few = {name: column[:40] for name, column in TABLE.items()}
    assert any(line.refusal is not None for line in plan(session(few), 1, 1e-6).releases)


def test_too_few_rows_give_bottoms_and_advice():
    few = {name: column[:60] for name, column in TABLE.items()}
    found = profile(session(few), 1, 1e-6, target="cost")
    text = to_html(found)
    assert "⊥" in text
    assert "a reply needs at least" in text


def test_the_page_is_one_file_with_escaped_names(made):
    text = to_html(made)
    for name in TABLE:
        assert f'data-column="{name}"' in text
    assert "<b>east</b>" not in text
    assert "&lt;b&gt;east&lt;/b&gt;" in text
    assert text.count("<svg") >= 2
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
    assert found.sections["regression"].columns == ("", "a|b\n<i>")
    assert [c.part.name for c in profile(session(), 2, 1e-6, columns="age").columns] == ["age"]


# ------------------------------------------------------------------------------------------ ordinary tables get answers


def fifteen(rows):
    rng = np.random.default_rng(8)
    return {f"x{j}": rng.normal(j, 1 + j, rows) for j in range(15)}


def test_fifteen_columns_of_a_few_thousand_rows_all_have_quartiles():
    """At even parts of pure ε each had 0.133; the plan's tight composition gives each draw 0.217."""
    made = profile(session(fifteen(5574)), 2, 1e-6)
    for j, column in enumerate(made.columns):
        assert column.part.epsilon(column.part.draws[0]) > Fraction(21, 100)
        assert abs(column["median"].value - j) < 0.15 * (1 + j)
        assert abs(column["interquartile range"].value / (1.349 * (1 + j)) - 1) < 0.2
    assert made.spent <= ut.Privacy(2, 1e-6)


def test_figures_are_left_out_by_their_worth_and_by_public_numbers():
    for rows, epsilon in ((300, 2), (3000, 2), (20_000, 2), (20_000, 8), (500_000, 4)):
        taken = divide(session(fifteen(rows)), epsilon, 1e-6).parts[0].figures
        other = {name: np.zeros(rows) for name in fifteen(1)}
        assert divide(session(other), epsilon, 1e-6).parts[0].figures == taken
        assert taken[0] == "median"
    assert divide(session(fifteen(300)), 2, 1e-6).parts[0].figures == ("median",)
    most = divide(session(fifteen(500_000)), 4, 1e-6).parts[0].figures
    assert set(most) == {figure.name for figure in FIGURES if figure.name != "counts"}


def test_what_is_left_out_is_said_with_an_epsilon_that_carries_it():
    poor = session(fifteen(3000))
    (line,) = [note for note in plan(poor, 2, 1e-6).notes if "interval" in note]
    enough = float(line.partition("interval of the median (needs ε ≈ ")[2].partition(")")[0])
    assert "interval" not in divide(poor, 2, 1e-6).parts[0].figures
    assert "interval" in divide(poor, enough, 1e-6).parts[0].figures


def test_a_report_that_answers_little_says_what_would_help():
    made = profile(session(fifteen(120)), 1, 1e-6)
    text = to_html(made)
    assert all(column["median"].value is None for column in made.columns)
    assert "15 of 15 numeric columns have no median" in text
    assert "What would help most: ε ≈ " in text
    total = float(made.columns[0]["median"].note.partition("ε of about ")[2].partition(" for the whole report")[0])
    assert total > 1  # the report's own ε, not a slice of it


def test_a_guess_is_not_advised_where_it_does_not_help():
    for rows in (300, 600):
        assert "plausible" not in " ".join(profile(session(fifteen(rows)), 2, 1e-6).hints)


def test_percentages_of_truth_values_add_up():
    flags = {f"f{i}": np.arange(900) % 3 == 0 for i in range(4)}
    text = to_markdown(profile(session(flags), 0.5, 1e-6))
    for card in text.split("## f")[1:]:
        shown = [
            float(line.rsplit("|", 2)[1].strip(" %")) for line in card.splitlines() if line.startswith(("| T", "| F"))
        ]
        assert abs(sum(shown) - 100) < 0.2
        assert f"Share of True: {shown[0 if '| T' in card.split('| F')[0] else 1]:g}%" in card


def test_a_guess_is_a_guess():
    tight, wrong = {"x3": (-20, 20)}, {"x3": (1e6, 2e6)}
    for guess in (tight, wrong):
        made = profile(session(fifteen(5574)), 2, 1e-6, plausible=guess)
        assert abs(made.columns[3]["median"].value - 3) < 1
    with pytest.raises(ut.InvalidArgument, match="column"):
        profile(session(fifteen(5574)), 2, 1e-6, plausible={"nobody": (0, 1)})


def test_integers_have_integer_answers_and_few_of_them_a_bar_chart():
    rng = np.random.default_rng(4)
    table = {"visits": rng.poisson(3, 60_000), "code": rng.integers(0, 10**9, 60_000)}
    made = profile(session(table), 4, 1e-6)
    visits = made.columns[0]
    assert {type(visits[label].value) for label in ("median", "lower quartile", "interquartile range")} == {int}
    assert all(type(end) is int for end in visits["median"].interval)
    assert visits["median"].interval == (3, 3)
    assert abs(dict(visits.density.value.items())[3] - np.sum(table["visits"] == 3)) < 500
    assert hasattr(made.columns[1].density.value, "points")
    assert to_html(made).count('class="bars"') == 1


def series(x, degree: int, low: float, high: float) -> FourierDensity:
    """The Fourier density of numbers in a box, without noise."""
    k = np.arange(1, degree + 1)
    waves = np.exp(2j * np.pi * np.outer(k, (np.asarray(x) - low) / (high - low))).mean(axis=1)
    return FourierDensity(k[:, None], waves, (low,), (high,))


def shares(found: DensityBars) -> dict[float, float]:
    cells = zip(found.points.tolist(), (found.values * found.width).tolist(), strict=True)
    return {x: round(share, 2) for x, share in cells if share >= 0.03}


def test_numbers_far_apart_are_bars():
    """What the coefficients say decides: multiples of a round number, spikes elsewhere, or a curve."""
    four = np.repeat([5, 10, 20, 100], [30, 30, 25, 15])
    found = shares(density_bars(series(four, 60, -19, 124), 0, 124))
    assert found == pytest.approx({5: 0.3, 10: 0.3, 20: 0.25, 100: 0.15}, abs=0.025)
    unresolved = density_bars(series(four, 12, -19, 124), 0, 124)
    assert unresolved.width == 20
    assert shares(unresolved).keys() == {0, 20, 100}
    tens = density_bars(series(np.repeat([0.1, 0.2, 0.3], 4), 300, -0.1, 0.5), -0.1, 0.5)
    assert tens.width == 0.1
    assert shares(tens).keys() == {0.1, 0.2, 0.30000000000000004}
    steps = np.arange(-100, 101) * 500
    many = density_bars(series(steps, 300, -60_000, 60_000), -60_000, 60_000)
    assert many.width == 2500
    assert many.points.size <= MOST_BARS
    assert np.ptp(many.values[np.abs(many.points) < 48_000]) < 0.1 * many.values.max()  # five steps in each bar
    zeros = density_bars(series([*[0] * 60, *np.linspace(30, 70, 90)], 40, -20, 90), 0, 90)
    assert abs(shares(zeros)[0] - 0.4) < 0.05
    rng = np.random.default_rng(1)
    smooth = (rng.normal(50, 8, 9000), rng.uniform(20, 80, 9000), rng.exponential(12, 9000))
    assert not any(spiky(series(x, degree, 0, 100)) for x in smooth for degree in (1, 2, 7, 12, 60, 300))


def test_a_page_with_numbers_far_apart():
    rng = np.random.default_rng(4)
    table = {"price": rng.integers(1, 9, 20_000) * 500, "dose": rng.choice([0.5, 1.5, 7, 30], 20_000)}
    table["age"] = rng.normal(50, 10, 20_000)
    made = profile(session(table), 6, 1e-6)
    price, dose, age = (column.density for column in made.columns)
    assert price.value.width == 500
    assert shares(price.value).keys() == {500 * k for k in range(1, 9)}
    assert isinstance(dose.value, DensityBars)
    assert isinstance(age.value, DensityCurve)
    page = to_html(made)
    assert [page.count(f'aria-label="{what} of') for what in ("Shares", "Density")] == [2, 1]
    assert "is 500 wide" in price.note
    assert price.note[1:] in page


def test_a_column_of_texts_is_counted_once(tmp_path, monkeypatch):
    """Its counts, and how many rows have a value, come from one query."""
    path, asked = tmp_path / "rows.csv", list[str]()
    path.write_text("ward,flag\n" + "north,true\nsouth,false\n,true\n" * 500)
    query = connection.result_rows
    monkeypatch.setattr(connection, "result_rows", lambda table: (asked.append(str(table)), query(table))[1])
    made = ut.report(path, epsilon=9, types="guess", progress=False)
    assert [made[name].numbers[0].value for name in ("ward", "flag")] == pytest.approx([1000, 1500], abs=30)
    assert sum("GROUP BY" in one for one in asked) == 2


def test_a_release_that_does_more_than_was_paid_for_is_withheld():
    opened = session({"x": np.arange(5000.0)})
    request = Request("quantile", "x", epsilon=0.5, p=[0.25, 0.5, 0.75])
    tree = opened.loss_of(request)
    paid = opened.pay([tree], 1e-6, "a plan")
    draws = []

    def record(mechanism, value, draw):
        draws.append(mechanism)
        return draw()

    with observed_by(record), pytest.raises(ut.UptackError, match="no rows were read"):
        opened.pay([BoundedRange(0.4)], 1e-6, "less").run(request, BoundedRange(0.4))
    assert not draws
    with pytest.raises(ut.UptackError, match="cost more than was debited"):  # a range has no room for it
        opened.pay([BoundedRange(4)], 1e-6, "else").run(Request("mean", "x", epsilon=3), BoundedRange(4))
    assert paid.run(request, tree)
    with pytest.raises(ut.UptackError, match="does not include such a release"):
        paid.run(request, tree)


def test_tails_are_never_inside_the_quartiles():
    assert with_tails({Fraction(1, 2): 5.0}, {Fraction(1, 20): 6.0, Fraction(19, 20): 4.0}) == {
        Fraction(1, 20): 5.0,
        Fraction(1, 2): 5.0,
        Fraction(19, 20): 5.0,
    }


def test_effects_are_coefficients_times_the_spread_of_their_own_column():
    rng = np.random.default_rng(2)
    x, z = rng.normal(0, 1, N), rng.normal(0, 100, N)
    made = profile(session({"y": x + z / 100 + rng.normal(0, 1, N), "x": x, "z": z}), 6, 1e-6, target="y")
    fit = made.sections["regression"]
    shown = {effect.row.name: float(effect.value) for effect in effects(fit, made).rows}
    for name, value in zip(fit.columns[1:], fit.value[1:], strict=True):
        spread = next(column.scale for column in made.columns if column.part.name == name)
        assert shown[name] == pytest.approx(value * spread, rel=0.01)
    assert shown["x"] == pytest.approx(shown["z"], rel=0.3)  # both move y alike


def test_a_correlation_that_noise_covers_has_no_colour():
    rng = np.random.default_rng(2)
    x = rng.normal(size=N)
    table = {"x": x, "like": x + rng.normal(size=N), "other": rng.normal(size=N)}
    made = profile(session(table), 6, 1e-6, correlations=True)
    shown = heat_map(made.sections["correlations"], made)
    assert [[cell.sign for cell in row] for row in shown.rows][:2] == [["same", "plus", ""], ["plus", "same", ""]]
    assert 0 < float(shown.error) < 0.2
    assert not any(cell.text == "-0.00" for row in shown.rows for cell in row)


def test_bars_of_integers_and_months_are_upright_with_an_axis_and_nothing_below_zero():
    rng = np.random.default_rng(2)
    when = np.datetime64("2013-01-01T00:00", "us") + rng.integers(0, 365 * 24, 60_000) * np.timedelta64(3600, "s")
    page = to_html(profile(session({"day": rng.integers(1, 32, 60_000), "when": when}), 8, 1e-6))
    assert page.count('class="column"') == 31 + 12
    assert ">2013-01<" in page
    assert ">rows<" in page


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [(-8.3e34, 3000.0, 3000.0), (2500.0, 3000.0, 3000.0), (-0.1, 0.1, 0.0), (-2000.0, 0.0, 0.0), (-9e8, 1e300, 1e300)],
)
def test_an_interval_with_an_end_that_missed_is_not_shown(low, high, found):
    """Among numbers that are few, an end that misses is anywhere: a median of 3000 had one of -8.3e34."""
    levels = {Fraction(1, 2): found, Fraction(1, 4): found / 2, Fraction(3, 4): 3 * found / 2}
    part = Part("x", "number", NUMBERS, figures=("median", "quartiles", "interval"))
    draws = {"quantiles": Figure("quantiles", found), "interval": Figure("interval", (low, high))}
    median, *_ = quantile_figures(part, levels, draws)
    assert median.interval == (None if high - low > 1000 * max(found, 1) else (low, high))


def test_columns_that_can_be_read_only_once_are_those_of_the_report():
    few = {name: TABLE[name][:2000] for name in ("age", "cost")}
    made = session(few).report(epsilon=2, columns=(name for name in ["age"]))
    assert made.hints == session(few).report(epsilon=2, columns=["age"]).hints
    assert [column.part.name for column in made.columns] == ["age"]


def test_all_debits_of_a_report_are_made_before_rows_are_read(tmp_path, monkeypatch):
    """The ledger has the time of each: one after some figures would tell how long those took."""
    seen, make = [], Request.make
    ledger = ut.Ledger(tmp_path / "budget.db", epsilon=20, delta=1e-5)
    opened = ut.open(
        {name: np.random.default_rng(1).normal(size=3000) for name in "xyz"}, ledger=ledger, entropy=ut.SeededEntropy(5)
    )

    def watched(self, table, entropy):
        seen.append(len(ledger.history()))
        return make(self, table, entropy)

    monkeypatch.setattr(Request, "make", watched)
    made = opened.report(epsilon=6, target="y", correlations=True)
    assert set(seen) == {len(ledger.history())}
    assert made.sections["correlations"].replied
    assert ledger.spent() == made.spent


def test_a_section_that_others_have_left_no_budget_for_is_not_computed(tmp_path, monkeypatch):
    ledger = ut.Ledger(tmp_path / "budget.db", epsilon=6, delta=1e-5)
    opened = ut.open(
        {name: np.random.default_rng(1).normal(size=3000) for name in "xyz"}, ledger=ledger, entropy=ut.SeededEntropy(5)
    )
    pay = type(opened).pay

    def raced(self, *arguments):
        paid = pay(self, *arguments)
        ledger.debit(ut.Privacy(Fraction(1, 2)), what="somebody else")
        return paid

    monkeypatch.setattr(type(opened), "pay", raced)
    made = opened.report(epsilon=6, target="y", correlations=True)
    assert made.columns[0]["median"].value is not None
    notes = [one.note for one in made.sections.values()]
    assert notes.count("Not computed: the budget was used up by other requests.") == 1
    assert ledger.spent().exact_epsilon == made.spent.exact_epsilon + Fraction(1, 2)
