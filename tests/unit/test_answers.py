"""Answers as people use them: tables, data frames, pictures, reports in Python, and the rows that were paid for."""

import html
import inspect
import json
import re
import sys
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest

import uptack as ut
from uptack.account import Account, Outcome
from uptack.cli import main
from uptack.discrete import Histogram, Margins, SparseHistogram
from uptack.display import FigureTable
from uptack.display.tabular import columns, data_frame
from uptack.grouping import Groups
from uptack.kernels import DensityCurve
from uptack.mechanisms.additive_noise import TraceNoise
from uptack.noise import IntegerLaplace
from uptack.privacy import Privacy, loss
from uptack.ranks.correlations import CorrelationMatrix
from uptack.ranks.rank_tests import RankTest
from uptack.regression.coefficients import LinearErrors, RegressionRelease
from uptack.release import Advice, NoisySize, NoReply, Release
from uptack.report import Profile, to_json
from uptack.session.plan import Plan, PlannedRelease

mpl.use("Agg")
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "evil\u202egnp.exe",
    "two\nlines",
    "\x1b[2Jred",
    "$x^{$",
    "lone\ud800surrogate",
    "missing",
    "javascript:alert(1)",
    "a&b",
]
SEED = ut.SeededEntropy


class Tags(HTMLParser):
    """What a browser would make of a text."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text = set(), [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text.append(data)


PLAIN = {"div", "table", "caption", "strong", "thead", "tbody", "tr", "th", "td", "p", "small"}


def parsed(page):
    tags = Tags()
    tags.feed(page)
    return tags


def quiet(page, allowed=PLAIN):
    """No tag but those of a table, no attribute but its looks, nothing that can't be printed, nothing fetched."""
    tags = parsed(page)
    assert tags.tags <= allowed
    assert {name for name, _ in tags.attributes} <= {"style", "class"}
    assert all(c.isprintable() for c in page)
    assert not re.search(r"url\(|@import|https?:", page)
    assert "color:#" not in page.replace(" ", "")  # the colours are those of the page around it
    return "".join(tags.text)


def made(value, **more):
    return Release(value, Privacy(1), "histogram", loss.Pure(1), **more)


def refused():
    return NoReply(Privacy(1), "median", loss.Pure(1), Advice(n=200, other=HOSTILE[0]))


def planned(names):
    request = ut.Request("median", *names[:1], epsilon=0.5)
    return Plan((PlannedRelease(request, request.cost, refused(), ""),), request.cost, None, (HOSTILE[1],))


def fit(names):
    errors = LinearErrors((0.5, np.inf), (1,), True, "a line", (0.0, 20.0))
    return RegressionRelease(
        np.array([1.0, 2.0]), Privacy(1), "fit", loss.Pure(1), errors, labels=("intercept", names[0])
    )


SHOWN = {
    "text": lambda names: made(names[0]),
    "histogram": lambda names: made(Histogram(tuple(names), np.arange(len(names))), notes=(names[1],)),
    "histogram value": lambda names: Histogram(tuple(names), np.arange(len(names))),
    "groups": lambda names: made(Groups({name: made(2.5) for name in names} | {"none": refused()})),
    "groups of vectors": lambda names: made(Groups({name: made(np.array([1.0, 2.0])) for name in names})),
    "vector": lambda names: made(np.arange(float(len(names))), labels=tuple(names)),
    "matrix": lambda names: made(np.eye(3)),
    "correlations": lambda names: made(CorrelationMatrix(tuple(names), np.eye(len(names)))),
    "sparse": lambda names: made(SparseHistogram(np.array([1, 2]), np.array([3, 4]), 9, None)),
    "domain": lambda names: SparseHistogram(
        np.array([1, 2]), np.array([3, 4]), 2 * len(names), ut.Domain({"value": names, names[0]: 2})
    ),
    "margins": lambda names: made(Margins({("value",): np.arange(float(len(names)))}, ut.Domain({"value": names}))),
    "test": lambda names: made(RankTest(0.5, 0.01)),
    "density": lambda names: made(DensityCurve.on_grid([0, 1, 2], [0, 1, 0])),
    "fit": fit,
    "refusal": lambda names: refused(),
    "plan": planned,
}


@pytest.mark.parametrize("what", SHOWN)
def test_hostile_names_are_text_in_every_form(what):
    answer = SHOWN[what](HOSTILE)
    quiet(answer._repr_html_())
    for text in (repr(answer), answer.table().text()):
        assert all(c.isprintable() or c == "\n" for c in text)
    assert repr(answer) == repr(SHOWN[what](HOSTILE))  # and nothing but what was released is in it
    assert "0x" not in repr(answer)
    records = answer.records()
    for frame in (answer.to_pandas(), answer.to_polars()):
        assert frame.shape == (len(records), len(columns(records)))
        assert [str(name) for name in frame.columns] == list(columns(records))


def test_one_line_stays_one_line_and_long_answers_are_tables():
    assert repr(made(3.5)) == "Release(3.5, histogram, ε = 1.0 (substitute))"
    assert repr(made(np.arange(3.0))) == "Release([0.0, 1.0, 2.0], histogram, ε = 1.0 (substitute))"
    assert repr(made(Groups({"a": made(1.5), "b": refused()}), private=False)) == (
        "Release(Groups({'a': 1.5, 'b': ⊥}), histogram, ε = 1.0 (substitute), NOT PRIVATE: seeded randomness)"
    )
    text = repr(made(np.arange(20.0) / 3, labels=tuple(np.arange(20) / 20), notes=("a note",), private=False))
    assert text.startswith("Release: histogram\nfigure")
    assert "… and 8 more" in text
    assert text.endswith("ε = 1.0 (substitute)\na note\nNOT PRIVATE: seeded randomness")
    lines = text.splitlines()[1:14]
    assert len({len(line) for line in lines}) == 1


def test_a_release_in_a_notebook_says_all_that_is_known():
    x = np.random.default_rng(0).lognormal(3, 1, 4000)
    x[:300] = np.nan
    release = ut.mean(x, epsilon=1, missing="drop", entropy=SEED(1))
    text = quiet(release._repr_html_())
    low, high = release.interval()
    for said in ("95% interval", "ε = 1.0", release.mechanism, "NOT PRIVATE", release.notes[0][:40], str(release.rows)):
        assert said in text
    assert str(release.value) not in text  # it is rounded in what is shown, and nowhere else
    assert release.records()[0]["value"] == release.value
    assert (release.records()[0]["low"], release.records()[0]["high"]) == (low, high)
    shorter = ut.median(np.arange(2001.0), epsilon=2, interval=0.8, entropy=SEED(1))
    assert "80% interval" in quiet(shorter._repr_html_())
    said = quiet(ut.median([1.0, 2.0], epsilon=1)._repr_html_())
    assert "⊥" in said
    assert "a reply needs at least" in said


def test_data_frames_have_the_values_exactly():
    edges = ut.histogram(np.arange(1000.0), edges=[0, 250, 700, 1000], epsilon=1, entropy=SEED(1))
    frame = edges.to_pandas()
    assert list(frame.columns) == ["from", "to", "value", "low", "high", "epsilon", "delta", "note"]
    assert frame["value"].tolist() == edges.value.counts.tolist()
    assert (frame["low"].tolist(), frame["high"].tolist()) == edges.interval()
    assert frame["to"].tolist() == [250.0, 700.0, 1000.0]
    again = edges.to_polars()
    assert again.to_dict(as_series=False) == {name: frame[name].tolist() for name in frame.columns}
    groups = made(Groups({"a": made(1.25), None: made(2.5), "z": refused()}))
    frame, again = groups.to_pandas(), groups.to_polars()
    assert frame["value"].tolist()[:2] == again["value"].to_list()[:2] == [1.25, 2.5]
    assert np.isnan(frame["value"][2])
    assert again["value"][2] is None
    assert again["group"].to_list() == ["a", None, "z"]
    assert "at least 200 rows" in again["note"][2]
    levels = ut.quantile(np.arange(5001.0), [0.25, 0.5], epsilon=1, entropy=SEED(1))
    assert levels.to_polars()["figure"].to_list() == [0.25, 0.5]
    table = fit(["age"]).to_pandas()
    assert table["figure"].tolist() == ["intercept", "age"]
    assert table["standard_error"].tolist()[0] == 0.5
    assert table["note"].tolist() == ["", "not resolved"]


def test_mixed_types_become_labels_and_no_value_is_lost():
    records = [{"group": name, "value": v} for name, v in [(1, 1), ("1", 2**70), (None, None), ((2, "b"), 0.5)]]
    for frame in (data_frame(records, "pandas"), data_frame(records, "polars")):
        assert list(frame["group"])[:2] == ["1", "1"]
        assert list(frame["group"])[3] == "(2, b)"
        assert list(frame["value"])[:2] == [1.0, float(2**70)]
    assert data_frame([{"value": None, "note": "x"}], "polars")["value"].dtype == pl.Float64
    assert data_frame([{"value": None, "note": "x"}], "pandas")["value"].dtype == np.float64
    assert isinstance(data_frame([], "pandas"), pd.DataFrame)


def test_missing_libraries_are_named(monkeypatch):
    for name, call in (("pandas", "to_pandas"), ("polars", "to_polars")):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ut.UptackError, match=rf'{name}: pip install "uptack\[frames\]"'):
            getattr(made(1.0), call)()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for answer in (made(np.arange(3.0)), made(Histogram(("a",), np.array([1]))), planned(["x"]), fit(["x"])):
        with pytest.raises(ut.UptackError, match=r'pip install "uptack\[plots\]"'):
            answer.plot()


# ------------------------------------------------------------------------------------------------------------ pictures


def drawn(answer, **style):
    """A picture that matplotlib can make, on axes of its own and on given ones."""
    import matplotlib.pyplot as plt

    ax = answer.plot(**style)
    ax.figure.canvas.draw()
    other = plt.figure().subplots()
    assert answer.plot(ax=other, **style) is other
    texts = [label.get_text() for label in (*ax.get_yticklabels(), *ax.get_xticklabels())]
    plt.close("all")
    return texts


@pytest.mark.filterwarnings("ignore:Glyph")
def test_pictures_of_all_that_has_something_to_see():
    names = [name for name in HOSTILE if "\ud800" not in name]
    counts = Histogram(tuple(names), np.arange(len(names)))
    drawn(made(counts))
    assert drawn(counts)[5] == r"\$x^{\$"
    drawn(ut.histogram(np.arange(100.0), edges=[0, 50, 100], epsilon=1), alpha=0.5)
    groups = made(Groups({names[0]: made(2.5), "b": refused()}))
    assert drawn(groups)[1] == "b  ⊥"
    drawn(made(np.array([1.0, 2.0, 5.0]), labels=(0.1, 0.5, 0.9)), color="black")
    drawn(made(DensityCurve.on_grid([0, 1, 2], [0, 1, 0])), linewidth=3)
    drawn(made(CorrelationMatrix(tuple(names), np.eye(len(names)))))
    drawn(ut.ecdf(np.arange(5001.0), epsilon=1))
    assert drawn(fit([names[0]]), scale="errors")[1] == f"{names[0]}  (not resolved)"
    drawn(planned(names))
    with pytest.raises(ut.UptackError, match="has no plot"):
        made(3.5).plot()
    with pytest.raises(ut.NoReplyError):
        refused().plot()
    with pytest.raises(ut.UptackError, match="one by one"):
        made(Groups({"a": made(np.arange(3.0))})).plot()


def test_all_pictures_follow_one_convention():
    from uptack.kernels import Curve, FourierDensity, FunctionRelease
    from uptack.statistics.ecdf import Ecdf

    for kind in (Release, Histogram, Groups, Plan, DensityCurve, CorrelationMatrix, Ecdf, Curve, FourierDensity,
                 FunctionRelease, RegressionRelease):  # fmt: skip
        parameters = list(inspect.signature(kind.plot).parameters.values())
        assert (parameters[1].name, parameters[1].default) == ("ax", None)
        assert parameters[-1].kind is inspect.Parameter.VAR_KEYWORD


# ------------------------------------------------------------------------------------------------- sessions and budgets


def test_sessions_plans_and_ledgers_show_public_things(tmp_path):
    names = ["age", *HOSTILE[:3]]
    table = {name: np.arange(3000.0) + i for i, name in enumerate(names)}
    ledger = ut.Ledger(tmp_path / "budget.db", epsilon=2, delta=1e-6)
    session = ut.open(table, ledger=ledger, entropy=SEED(1), adjacency=ut.SUBSTITUTE)
    assert repr(session) == session.describe()
    plan = session.plan([ut.Request("median", name, epsilon=0.2) for name in names])
    assert not ledger.history()
    assert repr(plan).splitlines()[0] == "Plan: nothing is spent yet"
    assert plan.to_pandas()["epsilon"].tolist() == [0.2] * len(names)
    session[names[1]].median(epsilon=1)
    pages = [quiet(shown._repr_html_()) for shown in (session, plan, ledger)]
    assert "NOT PRIVATE" in pages[0]
    assert "3,000 rows" in pages[0]
    assert "left: ε = 1.0" in pages[2]
    assert repr(ledger).endswith("left ε = 1.0, δ = 1e-06 (substitute))")
    entries = ledger.to_polars()
    assert entries["kind"].to_list() == ["budget", "debit"]
    assert entries["epsilon"].to_list() == [2.0, 1.0]
    secret = ut.open(table, adjacency=ut.ADD_REMOVE)
    assert "000" not in secret._repr_html_() + repr(secret)
    (tmp_path / "budget.db").unlink()
    assert repr(ledger).startswith("Ledger(")


# -------------------------------------------------------------------------------------------------------------- reports


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 80, 3000),
            "wage": rng.lognormal(3, 1, 3000).round(2),
            "town": rng.choice(["a", "<script>alert(1)</script>"], 3000),
        }
    )


def test_a_report_in_python_is_that_of_the_command_line(people, tmp_path):
    people.to_parquet(tmp_path / "t.parquet")
    asked = ["--epsilon", "2", "--seed", "3", "--columns", "age", "--plausible", "age=0:120", "--share", "age=2"]
    main(["report", str(tmp_path / "t.parquet"), *asked, "-o", str(tmp_path / "a.json")])
    choices = {"columns": ["age"], "plausible": {"age": (0, 120)}, "shares": {"age": 2}, "title": "t.parquet"}
    made = ut.report(people, epsilon=2, entropy=SEED(3), **choices)
    assert isinstance(made, Profile)
    assert to_json(made) == made.to_json() == (tmp_path / "a.json").read_text("utf-8")
    again = ut.open(people, entropy=SEED(3))
    assert again.report(epsilon=2, **choices).to_json() == made.to_json()
    assert again.spent == made.spent
    assert ut.report.Profile is Profile
    assert "plausible" in inspect.signature(ut.report).parameters


def test_a_report_can_be_kept_in_every_form(people, tmp_path):
    made = ut.report(people, epsilon=3, entropy=SEED(1), target="wage", title=HOSTILE[0])
    for suffix, content in ((".html", made.to_html()), (".md", made.to_markdown()), (".json", made.to_json())):
        path = made.save(tmp_path / f"page{suffix}")
        assert path.read_text("utf-8") == content
    frame = parsed(made._repr_html_())
    assert frame.tags == {"iframe"}
    kept = dict(frame.attributes)
    assert kept["sandbox"] == ""
    assert kept["srcdoc"] == made.to_html() == html.unescape(html.escape(made.to_html()))
    inner = parsed(kept["srcdoc"])
    assert "script" not in inner.tags
    assert not [v for name, v in inner.attributes if name in ("src", "href") and not str(v).startswith("#")]
    quiet(made.table().html())
    table = made.to_pandas()
    assert list(table.columns)[:6] == ["column", "figure", "category", "value", "low", "high"]
    median = table[(table["column"] == "age") & (table["figure"] == "median")].iloc[0]
    assert median["value"] == made.columns[0]["median"].value
    fitted = table[table["figure"] == "coefficient"]
    assert np.allclose(fitted["low"], made.sections["regression"].figure.interval[0])
    towns = made.to_polars().filter(pl.col("figure") == "counts")
    assert set(towns["category"]) == {"a", "<script>alert(1)</script>"}
    assert made.to_polars().filter(pl.col("figure") == "coefficient")["category"].to_list() == ["intercept", "age"]
    assert "columns have results" in repr(made)
    json.dumps(made.to_dict())


# ------------------------------------------------------------------------------------------------ rows that were bought


X = np.where(np.arange(6000) % 10 == 0, np.nan, np.random.default_rng(1).normal(size=6000))
Y = X + np.random.default_rng(2).normal(size=6000)
BOUGHT = {
    "mean": lambda e: ut.mean(X, epsilon=1, missing="drop", entropy=e),
    "ptr": lambda e: ut.iqr(X, epsilon=2, delta=1e-6, method="ptr", missing="drop", entropy=e),
    "proportion": lambda e: ut.statistics.proportion(X, above=0, epsilon=1, missing="drop", entropy=e),
    "tau": lambda e: ut.kendall_tau(X, Y, epsilon=2, missing="drop", entropy=e),
    "correlations": lambda e: ut.correlation_matrix(np.c_[X, Y], epsilon=2, missing="drop", entropy=e),
    "signed ranks": lambda e: ut.signed_rank(X, epsilon=2, missing="drop", entropy=e),
    "scatter": lambda e: ut.scatter(np.c_[X, Y], epsilon=4, missing="drop", entropy=e),
    "scatter, add/remove": lambda e: ut.scatter(
        np.c_[X, Y], epsilon=4, missing="drop", adjacency=ut.ADD_REMOVE, entropy=e
    ),
    "regression": lambda e: ut.linear_regression(X[:, None], Y, epsilon=4, missing="drop", entropy=e),
    "superiority": lambda e: ut.superiority(
        X, np.repeat(["a", "b"], 3000), groups=("a", "b"), epsilon=2, missing="drop", entropy=e
    ),
}
LEFT = 5400


@pytest.mark.parametrize("what", BOUGHT)
def test_the_rows_that_were_paid_for_come_with_the_answer(what):
    release = BOUGHT[what](SEED(4))
    assert release
    low, high = release.rows.interval(1 - 1e-9)
    assert low <= LEFT <= high
    assert high - low < 1500
    assert release.rows.interval()[0] <= release.rows.value <= release.rows.interval()[1]
    assert release.to_dict()["rows"]["value"] == int(release.rows)
    assert release.rows.unit == "rows"
    assert release.privacy.epsilon in (1.0, 2.0, 4.0)  # no more than without


def test_there_are_none_where_none_were_bought():
    for release in (
        ut.median(X[1:10].repeat(200), epsilon=1),
        ut.median(X, epsilon=1, missing="drop"),  # ranks follow the secret number
        ut.mean(np.arange(3000.0), epsilon=1),
        ut.histogram([1, 2], keys=[1, 2], epsilon=1),
    ):
        assert release.rows is None
        assert release.to_dict()["rows"] is None


def test_people_are_counted_as_people():
    ids = np.arange(6000) // 3
    release = ut.mean(X, epsilon=1, missing="drop", person=ids, entropy=SEED(1))
    low, high = release.rows.interval(1 - 1e-9)
    assert release.rows.unit == "people"
    assert low <= 2000 <= high
    by_rows = ut.quantile(X, [0.25, 0.5], epsilon=1, missing="drop", person=ids, weights="rows", at_most=3)
    assert by_rows.rows is None or by_rows.rows.unit == "people's worth of rows"


def test_a_noisy_size_is_within_its_law():
    law = IntegerLaplace(10)
    size = NoisySize(50, law)
    off = law.cutoff(0.025) - 1
    assert size.interval(0.95) == (50 - off, 50 + off)
    assert NoisySize(0, law).interval(0.95) == (0, off)
    assert NoisySize(500, law, times=2).interval(0.95)[1] == 500 + 2 * (law.cutoff(0.0125) - 1)
    assert int(size) == 50
    assert str(size).startswith("about 50 rows (95%: ")
    draws = law.draw(4000, SEED(1))
    assert 0.93 < np.mean(np.abs(draws) <= off) < 0.99
    trace = TraceNoise(2, 5.0)  # two Gamma variables of shape 3
    gaps = np.diff(np.random.default_rng(0).gamma(3, 5.0, (2, 20_000)), axis=0)
    assert 0.02 < np.mean(gaps >= trace.cutoff(0.025) - 2) < 0.03
    account = Account.open("x", 1, entropy=SEED(1))
    account.through(loss.Partition).keep_size(7, law)
    assert account.close(Outcome(1.0, "")).rows is None


def test_tables_align():
    table = FigureTable("t", ("", "value"), (("a", "1"), ("bb", "1,000")), right=frozenset({1}))
    assert table.text() == "t\n    value\na       1\nbb  1,000"


def test_intervals_of_groups_state_their_confidence():
    x, ward = np.arange(4000.0), np.repeat(["a", "b"], 2000)
    for given, percent in (({}, "95%"), ({"interval": 0.9}, "90%")):
        statistic = ut.median if given else ut.mean
        made = statistic(x, by=ward, groups=["a", "b"], epsilon=4, entropy=ut.SeededEntropy(1), **given)
        assert made.table().head == ("group", "value", f"{percent} interval", *(made.table().head[3:]))


def test_a_printed_answer_shows_its_interval_and_a_table_shows_times_without_microseconds():
    days = np.datetime64("2020-01-01T00:00:00") + np.arange(4000) * np.timedelta64(6, "h")
    made = ut.open({"at": days}, entropy=ut.SeededEntropy(1)).median("at", epsilon=1, interval=0.95)
    lines = str(made).splitlines()
    assert str(made) == made.summary()
    assert re.fullmatch(r"2021-\d\d-\d\d +2021-\d\d-\d\d to 2021-\d\d-\d\d", lines[2]), lines[2]
    assert "⊥ (no reply)" in str(ut.median([1.0], epsilon=1))
