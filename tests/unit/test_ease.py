"""The short way to ask: names of columns, formulas and conditions as texts, and ⊥ that answers like an answer."""

import inspect
import io
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import uptack as ut
from uptack.cli import main
from uptack.errors import BudgetExceeded, InvalidArgument, LedgerError, NoInterval
from uptack.privacy import Privacy
from uptack.registry import declared, in_tables
from uptack.release import WITH_INTERVAL, Advice, NoReply, Release
from uptack.table.conditions import parse_conditions

N = 4000
AGE = np.arange(N) % 80
COST = AGE * 2 + 5 + np.random.default_rng(1).normal(0, 5, N).round(1)
ROWS = {"age": AGE, "cost": COST, "ward": np.where(np.arange(N) % 3, "A", "B")}


@pytest.fixture
def session():
    return ut.open(pd.DataFrame(ROWS).astype({"ward": "string"}), entropy=ut.SeededEntropy(1))


@pytest.fixture
def path(tmp_path):
    pd.DataFrame(ROWS).to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def test_a_file_needs_no_option_but_its_name(path):
    session = ut.open(str(path))
    assert session.inferred == {"age": "integer", "cost": "number", "ward": "text"}
    assert session["age"].median(epsilon=1)
    made = ut.report(str(path), epsilon=2)
    assert [column.part.name for column in made.columns] == ["age", "cost", "ward"]
    assert made.columns[0]["median"].value is not None


def test_functions_take_names_of_columns(session):
    same = ut.open(pd.DataFrame(ROWS), entropy=ut.SeededEntropy(1))
    assert session.median("age", epsilon=1).value == same["age"].median(epsilon=1).value
    assert session.quantile("age", [0.25, 0.75], epsilon=1).value == pytest.approx(
        same["age"].quantile([0.25, 0.75], epsilon=1).value
    )
    assert session.histogram("ward", keys=["A", "B"], epsilon=1).value
    assert session.median("age", by="ward", groups=["A", "B"], epsilon=1).value.keys() == {"A", "B"}
    assert "median" in dir(session)
    with pytest.raises(InvalidArgument, match="Did you mean 'age'"):
        session.median("agee", epsilon=1)
    with pytest.raises(AttributeError, match="Did you mean 'median'"):
        session.medain("age", epsilon=1)


def test_every_function_of_columns_can_be_called_by_its_name(session):
    for name, declaration in declared().items():
        assert callable(getattr(session, name, None)) or not in_tables(declaration), name


def test_a_formula_is_a_first_argument(session, path, capsys):
    frame = pd.DataFrame(ROWS)
    wanted = ut.linear_regression(frame, formula="cost ~ age", epsilon=4, entropy=ut.SeededEntropy(2)).value
    for given in (("cost ~ age", frame), ("cost ~ age",)):
        data = {} if len(given) == 2 else {"data": frame}
        made = ut.linear_regression(*given, **data, epsilon=4, entropy=ut.SeededEntropy(2))
        assert made.value.tolist() == wanted.tolist()
    for regression in (session.linear_regression, session.regression):
        assert regression("cost ~ age", epsilon=4).value == pytest.approx([5, 2], abs=3)
    with pytest.raises(InvalidArgument, match="formula must be given once"):
        session.linear_regression("cost ~ age", formula="cost ~ ward", epsilon=4)
    with pytest.raises(InvalidArgument, match="formula must be given once"):
        ut.linear_regression("cost ~ age", frame, formula="cost ~ age", epsilon=4)
    assert main(["regression", str(path), "cost ~ age", "--epsilon", "4"]) == 0
    assert "age" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("age >= 18 and ward == 'A'", [("age", (">=", 18)), ("ward", ("==", "A"))]),
        ("18 <= age < 65", [("age", (">=", 18)), ("age", ("<", 65))]),
        ("age = -1.5e1", [("age", ("==", -15.0))]),
        ('ward != "it\'s" and x == None', [("ward", ("!=", "it's")), ("x", ("==", None))]),
        ("ward in ['A', \"B\"] and ward not in ('C')", [("ward", ("in", ["A", "B"])), ("ward", ("not in", ["C"]))]),
        ("x is None and y is not None", [("x", ("==", None)), ("y", ("!=", None))]),
        ("`wait (min)` > 3 and größe==True", [("wait (min)", (">", 3)), ("größe", ("==", True))]),
        ("ward == 'a and b or `c`'", [("ward", ("==", "a and b or `c`"))]),
    ],
)
def test_conditions_are_parsed(text, wanted):
    assert parse_conditions(text) == wanted


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "the end of the text"),
        ("age", "expected a comparison"),
        ("age >= 18 or age < 5", "'or' is not supported"),
        ("not age >= 18", "'not' is only used in"),
        ("age >= 18 and", "the end of the text"),
        ("age >= eighteen", "a text in quotes"),
        ("age >= __import__('os')", "a text in quotes"),
        ("age in 3", "a list such as"),
        ("age in [1, 2", "','"),
        ("age >= 18 18", "expected 'and'"),
        ("(age >= 18)", "'\\('"),
        ("18 == age", "one of <"),
        ("x" * 30_000, "at most 20,000 characters"),
        ("age >= 3x", "'3'"),
        ("ward == 'A", "'"),
    ],
)
def test_what_is_no_condition_is_refused(session, text, hint):
    with pytest.raises(InvalidArgument, match=hint):
        session.where(text)
    assert not session.spent.epsilon


def test_a_text_narrows_as_arguments_do(session, path, capsys):
    text = session.where("20 <= age < 60 and ward in ['A'] and cost is not None")
    named = session.where(age=("between", (20, 59)), ward=("in", ["A"]), cost=("!=", None))
    assert text.source.column("age").drop().count() == named.source.column("age").drop().count()
    assert "age >= 20 and age < 60 and ward in ('A')" in text.whose
    assert session.where("age >= 20", ward="A").conditions == session.where("age >= 20 and ward == 'A'").conditions
    with pytest.raises(InvalidArgument, match="as the column is of type text"):
        session.where("ward >= 3")
    assert main(["count", str(path), "-e", "1", "--where", "age >= 20 and ward == 'A'"]) == 0
    capsys.readouterr()
    assert main(["describe", str(path), "--json", "--where", "ward == 'A'", "--where", "age=20..30"]) == 0
    assert '"ward == \'A\'", "age between 20 and 30"' in capsys.readouterr().out


def subclasses(kind):
    return [kind, *(inner for one in kind.__subclasses__() for inner in subclasses(one))]


def test_no_reply_has_every_method_of_an_answer():
    declared()  # imports all that return answers
    reply = NoReply(Privacy(0), "median", None, Advice(n=200))
    public = {name for kind in subclasses(Release) for name in dir(kind) if not name.startswith("_")}
    fields = {name for kind in subclasses(Release) for name in inspect.signature(kind).parameters}
    made_by = {"of"}  # constructors of a class
    for name in (public | fields) - made_by:
        assert hasattr(reply, name), name
    assert reply.summary().startswith("median")
    assert "⊥" in reply.summary(["age"], confidence=0.9)
    assert reply.named("age") is reply


def test_a_median_without_an_interval_names_the_option(session):
    with pytest.raises(NoInterval, match="pass interval="):
        session.median("age", epsilon=1).interval()
    assert session.median("age", epsilon=4, interval=0.95).interval()
    assert {name for name, made in declared().items() if "interval" in made.allowed} == set(WITH_INTERVAL)


def test_help_groups_its_commands(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    places = [
        shown.index(text) for text in ("Start here:", "  report", "Statistics of one column:", "  median", "Ledgers")
    ]
    assert places == sorted(places)
    assert "..." not in shown.partition("Commands")[0].partition("Start here:")[2]


# --------------------------------------------------------------------------------- calls that are not as they should be

WRONG_CALLS = {
    "a name beside a frame": (
        lambda frame, _: ut.median(frame, "age", epsilon=1),
        r"median takes 1 positional argument \(x\), got 2\. .*uptack\.open\(data\)\.median\('age', \.\.\.\)",
    ),
    "two names beside a frame": (
        lambda frame, _: ut.chi_square(frame, "ward", "ward", epsilon=1, delta=1e-6),
        r"chi_square takes 2 positional arguments .*, got 3\. .*chi_square\('ward', 'ward', \.\.\.\)",
    ),
    "a name in place of a level": (
        lambda frame, _: ut.quantile(frame, "age", p=0.5, epsilon=1),
        r"quantile takes p once, .*uptack\.open",
    ),
    "too many arrays": (
        lambda *_: ut.median(AGE, AGE, epsilon=1),
        r"median takes 1 positional argument \(x\), got 2\.$",
    ),
    "an unknown option": (
        lambda _, session: session.median("age", epsilonn=1),
        "unknown option 'epsilonn' of median. Did you mean 'epsilon'",
    ),
    "an option of another function": (
        lambda _, session: session.histogram("ward", bins=3, epsilon=1),
        "unknown option 'bins' of histogram. Did you mean 'edges'. It takes public edges, as in edges=",
    ),
    "no epsilon": (lambda _, session: session.median("age"), "given for every release, such as epsilon=1."),
    "a column too many": (lambda _, session: session.median("age", "cost", epsilon=1), "median takes 1 column, got 2"),
    "a column too few": (lambda _, session: session.correlation("age", epsilon=1), "takes 2 columns, got 1"),
    "an array in place of δ": (
        lambda _, session: session.margins("ward", "age", epsilon=1, delta=np.array([1e-6, 1e-6])),
        "delta must be one number",
    ),
    "by of a cross table": (
        lambda _, session: session.crosstab("ward", "age", by="ward", epsilon=1, delta=1e-6),
        "by must be left out of crosstab",
    ),
    "by of margins": (
        lambda _, session: session.margins("ward", "age", by="ward", epsilon=1, delta=1e-6),
        "by must be left out of margins",
    ),
    "one side of a cross table": (
        lambda _, session: session.crosstab("ward", epsilon=1),
        "crosstab takes 2 columns, got 1",
    ),
    "three sides of a cross table": (
        lambda _, session: session.crosstab("ward", "age", "cost", epsilon=1),
        "crosstab takes 2 columns, got 3. For more columns use histogram",
    ),
    "no column for margins": (lambda _, session: session.margins(epsilon=1), "margins takes 1 or more columns, got 0"),
    "no epsilon for a method": (lambda _, session: session.count(), "such as epsilon=1."),
    "a misspelt one": (
        lambda _, session: session.count(eps=1),
        "unknown option 'eps' of count. Did you mean 'epsilon'",
    ),
    "no epsilon for a report": (lambda _, session: session.report(), "epsilon must be given, such as epsilon=1"),
    "a misspelt one of a report": (
        lambda _, session: session.report(epsilonn=1),
        "unknown option 'epsilonn' of report. Did you mean 'epsilon'",
    ),
    "a number in place of a column": (
        lambda _, session: session.median(3, epsilon=1),
        "columns must be names of columns, got 3",
    ),
    "a level twice": (lambda _, session: session.quantile("age", 0.5, p=0.5, epsilon=1), "takes p once"),
    "a place too many": (
        lambda _, session: session["age"].median(1, 2, epsilon=1),
        "median of a column takes no positional arguments, got 2",
    ),
    "no response": (
        lambda _, session: session.shortcut_regression(epsilon=1),
        "shortcut_regression takes 2 or more columns, got 0",
    ),
    "an option that no report has": (
        lambda _, session: session.report(epsilon=1, sections=["x"]),
        "unknown option 'sections' of report. Its options are epsilon",
    ),
    "the same of a frame": (
        lambda frame, _: ut.report(frame, epsilon=1, adjacancy=ut.SUBSTITUTE),
        "unknown option 'adjacancy' of report. Did you mean 'adjacency'",
    ),
    "an option of the session": (
        lambda _, session: session.report(epsilon=1, noun="visit"),
        "noun must be left out of a session's report. Pass it where the session is opened",
    ),
    "far too few": (lambda _, session: session.scatter("age", epsilon=1), "scatter takes 2 or more columns, got 1"),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_says_what_is_wrong(session, name):
    call, message = WRONG_CALLS[name]
    with pytest.raises(InvalidArgument, match=message) as caught:
        call(pd.DataFrame(ROWS), session)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert not session.spent.epsilon


def test_tables_of_counts_take_names_in_a_list(session):
    listed = session.crosstab(["ward", "age"], epsilon=1, delta=1e-6, by=None)
    assert type(listed.value) is type(session.crosstab("ward", "age", epsilon=1, delta=1e-6).value)
    assert session.crosstab(rows="ward", columns="age", epsilon=1, delta=1e-6)
    assert session.margins(["ward", "age"], epsilon=1, delta=1e-6).keys() == {("ward",), ("age",)}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("medain", "No such command 'medain'. Did you mean 'median'?"),
        ("liner-regression", "No such command 'liner-regression'. Did you mean 'linear-regression'?"),
        ("crosstab", "Use `uptack count TABLE --by ROWS --by COLUMNS --delta 1e-6`."),
        ("ldger", "Did you mean 'ledger'?"),
        ("nonsense-of-all-kinds", "No such command 'nonsense-of-all-kinds'.\n"),
    ],
)
def test_a_wrong_command_gets_a_hint(name, hint, capsys):
    assert main([name, "rows.csv", "-e", "1"]) == 2
    assert hint in capsys.readouterr().err


def test_commands_may_be_written_as_functions_are(path, capsys):
    assert main(["trimmed_mean", str(path), "age", "-e", "1"]) == 0
    assert "trimmed mean" in capsys.readouterr().out
    assert main(["linear-regression", str(path), "cost ~ age", "-e", "3"]) == 0
    assert "linear regression" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("mean-difference", "TABLE COLUMN LABELS"),
        ("kendall-tau", "TABLE COLUMN COLUMN"),
        ("chi-square", "TABLE COLUMN COLUMN"),
        ("correlation-matrix", "TABLE [COLUMN]..."),
        ("regression", "TABLE [TARGET] [PREDICTORS]..."),
        ("median", "TABLE COLUMN"),
    ],
)
def test_help_names_the_columns_that_a_command_takes(name, usage, capsys):
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[0].endswith(usage)
    example = shown.partition("Example:")[2]
    assert ("--group A --group B" in example) == (name == "mean-difference")


def test_a_group_that_must_be_named_has_no_default(capsys):
    assert main(["mean-difference", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "A public group. May be repeated.  [required]" in shown
    assert main(["median", "--help"]) == 0
    assert "[default: groups" in " ".join(capsys.readouterr().out.split())


def test_a_command_of_two_columns_says_how_many_it_takes(path, capsys):
    assert main(["kendall-tau", str(path), "age", "-e", "1"]) == 2
    assert "kendall_tau takes 2 columns, got 1" in capsys.readouterr().err
    assert main(["correlation-matrix", str(path), "-e", "1"]) == 0  # of all numeric columns
    assert "cost" in capsys.readouterr().out


def test_every_answer_has_a_summary(session):
    answer = session.mean("cost", epsilon=1)
    assert "95% interval" in answer.summary()
    assert str(answer.privacy) in answer.summary()
    groups = session.mean("cost", by="ward", groups=["A", "B"], epsilon=2)
    assert [line.split()[0] for line in groups.summary().splitlines()[2:4]] == ["A", "B"]
    counts = session.crosstab("ward", "age", epsilon=1, delta=1e-6)
    assert repr(counts).splitlines()[0].startswith("Release: crosstab")
    assert "synthetic rows" in session.synthetic("ward", "age", epsilon=1, delta=1e-6).summary()


def test_groups_have_an_interval_each(session):
    groups = session.mean("cost", by="ward", groups=["A", "B", "none"], epsilon=2)
    lows, highs = groups.interval(0.9)
    assert (lows["A"], highs["A"]) == groups.value["A"].interval(0.9)
    assert (lows["none"], highs["none"]) == (None, None)
    with pytest.raises(NoInterval, match="depends on the data"):
        session.median("cost", by="ward", groups=["A"], epsilon=1).interval()


def test_a_column_without_a_type_is_pointed_out():
    session = ut.open(pd.DataFrame(ROWS).astype({"ward": object}), entropy=ut.SeededEntropy(1))
    assert "ward  any" in " ".join(session.describe().split("\n")).replace("    ", "  ")
    assert "types={'ward': 'text'}" in session.describe()
    refused = session.median("ward", epsilon=1)
    assert isinstance(refused, NoReply)
    assert "ward has no declared type" in refused.reason
    declared_as_text = ut.open(pd.DataFrame(ROWS), types={"ward": "text"})
    assert "any" not in declared_as_text.describe()
    with pytest.raises(InvalidArgument, match="got text"):
        declared_as_text.median("ward", epsilon=1)


def test_a_budget_that_is_missing_says_how_to_make_one(tmp_path):
    with pytest.raises(LedgerError, match=r"uptack.Ledger\(PLACE, epsilon=\.\.\., delta=\.\.\.\)"):
        ut.open(pd.DataFrame(ROWS), ledger=tmp_path / "none.db")


def test_every_needs_times(session):
    with pytest.raises(InvalidArgument, match=r"types=\{'age': 'date:%d.%m.%Y'\}"):
        session.histogram("age", every="year", epsilon=1)


def test_the_epsilon_that_a_regression_asks_for_is_enough():
    x = np.random.default_rng(1).normal(size=(900, 2))
    y = x[:, 0] + np.random.default_rng(2).normal(size=900)
    refused = ut.linear_regression(x, y, epsilon=0.5)
    assert refused.advice.epsilon == pytest.approx(0.5 * refused.advice.n / 900, abs=0.002)
    assert ut.linear_regression(x, y, epsilon=refused.advice.epsilon, entropy=ut.SeededEntropy(1))
    secret = ut.linear_regression(x, y, epsilon=0.5, adjacency=ut.ADD_REMOVE)
    assert secret.advice.epsilon is None


def test_messages_name_options_as_the_command_line_does(path, capsys):
    assert main(["median", str(path), "age", "-e", "1", "--by", "ward"]) == 2
    assert "--group must be listed if δ is 0" in (shown := capsys.readouterr().err)
    assert "pass --delta 1e-6 to find" in shown


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("medain", "uptack has no 'medain'. Did you mean 'median'?"),
        ("chisquare", "uptack has no 'chisquare'. Did you mean 'chi_square'?"),
        ("midhnge", "Did you mean 'midhinge'?"),
        ("_nothing", "uptack has no '_nothing'."),
    ],
)
def test_a_wrong_name_gets_a_hint(name, hint):
    with pytest.raises(AttributeError) as caught:
        getattr(ut, name)
    assert str(caught.value).endswith(hint)
    assert not hasattr(ut, name)


def test_a_column_is_not_an_attribute_of_a_session():
    session = ut.open({"age": np.arange(50), "mean": np.arange(50)})
    with pytest.raises(AttributeError, match=r"write session\['age'\]"):
        _ = session.age
    assert callable(session.mean)  # a statistic, although a column has its name


def test_a_budget_says_that_only_delta_is_short():
    short_of_delta = str(BudgetExceeded(ut.Privacy(1, 1e-6), ut.Privacy(2)))
    assert "ε would be enough, δ is not" in short_of_delta
    assert "Pass a smaller epsilon=" in str(BudgetExceeded(ut.Privacy(3, 1e-6), ut.Privacy(2)))
    assert "The budget is used up" in str(BudgetExceeded(ut.Privacy(3), ut.Privacy(0)))
    assert "left of the budget: ε = 0.1428 (" in str(BudgetExceeded(ut.Privacy(3), ut.Privacy("1/7")))


def test_init_without_anybody_to_ask_points_to_yes(tmp_path, capsys, monkeypatch):
    rows = tmp_path / "rows.csv"
    rows.write_text("age\n31\n47\n")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["init", str(rows)]) == 2
    assert "Pass --yes" in capsys.readouterr().err


def test_words_of_other_libraries_lead_to_ours():
    session = ut.open({"age": np.arange(50), "ward": np.repeat(["a", "b"], 25)})
    for wrong, said in (
        (lambda: session.groupby("ward"), r"Pass by= to a statistic"),
        (lambda: session["ward"].value_counts(), "Use histogram"),
        (lambda: session["age"].max(epsilon=1), "the value of one row"),
        (lambda: session.spearman("age", "ward"), "Use correlation or kendall_tau"),
        (lambda: session.columns, "lists the columns"),
        (lambda: ut.ttest_ind, "Use mean_difference"),
    ):
        with pytest.raises(AttributeError, match=said):
            wrong()
    frame = {"y": np.arange(50.0), "x": np.arange(50.0)}
    for wrong, said in (
        (lambda: ut.linear_regression(data=frame, epsilon=1), "The data are the second argument"),
        (lambda: ut.mean_difference(frame["y"], by=frame["x"], epsilon=1), "Groups are the second argument"),
        (lambda: ut.kde(frame["y"], epsilon=1), r"delta must be given to kde, such as delta=1e-6\."),
        (lambda: ut.median(frame["y"]), r"epsilon must be given to median, such as epsilon=1\."),
        (lambda: ut.mean(frame["y"], person="id", epsilon=1), r"uptack.open\(data, person='id'\)"),
        (lambda: ut.mean(frame["y"], by="x", epsilon=1), "Names of columns belong to a session"),
    ):
        with pytest.raises(ut.InvalidArgument, match=said):
            wrong()
    assert repr(session["age"]) == "column 'age' of type integer"
    assert not ut.linear_regression(formula="y ~ x", data=frame, epsilon=1)  # as statsmodels has it; too few rows


def test_other_words_are_not_ours():
    from uptack.registry import declared
    from uptack.registry.names import OTHER_WORDS

    assert not set(OTHER_WORDS) & {*declared(), *ut.__all__, *dir(ut.open({"age": np.arange(3)}))}


def test_a_file_that_is_not_there_is_looked_for_by_its_name(tmp_path):
    (tmp_path / "patients.csv").write_text("age\n3\n")
    with pytest.raises(ut.InvalidArgument, match=r"Did you mean 'patients\.csv'"):
        ut.open(tmp_path / "patient.csv")
    with pytest.raises(ut.InvalidArgument) as error:
        ut.open(tmp_path / "rows.csv")  # of which only the ending is alike
    assert "Did you mean" not in str(error.value)
    (tmp_path / "rows.txt").write_text("age\tn\n3\t1\n")
    assert ut.open(tmp_path / "rows.txt").inferred == {"age": "integer", "n": "integer"}


def test_a_session_has_one_column_at_a_time(session):
    for names in (["age", "cost"], ("age", "cost")):
        with pytest.raises(ut.InvalidArgument, match=r"the name of one column.*session\.scatter"):
            session[names]


def test_a_ledger_for_rows_says_how_to_make_one_for_people(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("id,x\n" + "".join(f"{i // 3},{i}\n" for i in range(900)))
    for person in ([], ["--person", "id"]):
        book = str(tmp_path / f"{len(person)}.db")
        assert main(["ledger", "create", book, "--epsilon", "1", *person]) == 0
    assert main(["median", str(path), "x", "-e", "1", "--person", "id", "--ledger", str(tmp_path / "0.db")]) == 2
    assert "`uptack ledger create PLACE --person id`" in capsys.readouterr().err
    assert main(["median", str(path), "x", "-e", "1", "--person", "id", "--ledger", str(tmp_path / "2.db")]) == 0


def test_init_takes_the_ids_of_people_and_says_which_columns_repeat(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("code,x\n" + "".join(f"{i // 3},{i % 7}\n" for i in range(900)))
    assert main(["init", str(path), "--yes"]) == 0
    assert "code: 300 values in 900 rows, at most 3 rows per value" in capsys.readouterr().out
    for made in tmp_path.glob("rows.csv.*"):
        made.unlink()
    assert main(["init", str(path), "--yes", "--person", "code"]) == 0
    assert ut.open(path).adjacency.person == ("code",)
    assert main(["count", str(path), "-e", "1"]) == 0  # from the ledger of people that it made
    (tmp_path / "rows.csv.uptack.toml").unlink()
    capsys.readouterr()
    assert main(["init", str(path), "--yes", "--person", "cod"]) == 2
    assert "Did you mean 'code'" in capsys.readouterr().err


def test_an_answer_is_read_as_its_value():
    x = np.arange(1001)
    options = {"epsilon": 1, "entropy": ut.SeededEntropy(1)}
    median, deciles = ut.median(x, **options), ut.quantile(x, [0.1, 0.5], **options)
    assert f"{median:.1f}" == f"{median.value:.1f}"
    assert f"{median}" == str(median)
    assert float(median) == median.value
    assert deciles[1] == deciles.value[1]
    assert list(deciles) == deciles.value.tolist()
    assert ut.histogram(x % 2, keys=[0, 1], **options)[1] > 0
    nothing = ut.median(x[:20], **options)
    assert f"{nothing:.1f}" == "⊥"
    for read in (float, lambda answer: answer[0]):
        with pytest.raises(ut.NoReplyError):
            read(nothing)
    with pytest.raises(TypeError):
        float(deciles)


def test_a_two_way_table_of_any_size_is_shown_as_one():
    rows = {"a": np.arange(4000) % 5, "b": np.arange(4000) // 5 % 3}
    table = ut.open(rows, entropy=ut.SeededEntropy(1)).crosstab("a", "b", epsilon=1, delta=1e-6)
    lines = repr(table).splitlines()
    assert lines[1].split() == ["0", "1", "2"]
    assert [line.split()[0] for line in lines[2:7]] == ["0", "1", "2", "3", "4"]
    assert "not listed" in repr(table)


def test_following_the_advice_of_a_mean_that_is_mostly_zero():
    visits = np.where(np.random.default_rng(1).random(4000) < 0.06, 3, 0)
    reply = ut.mean(visits, epsilon=1, entropy=ut.SeededEntropy(1))
    assert "a proportion with above=0" in reply.reason
    share = ut.proportion(visits, above=0, epsilon=1, entropy=ut.SeededEntropy(1))
    low, high = share.interval()
    assert low < 0.06 < high


def test_the_command_line_says_what_an_answer_lacks(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("x,name\n" + "".join(f"{i % 50},{i}\n" for i in range(900)))
    assert main(["median", str(path), "x", "-e", "1", "--by", "name", "--delta", "1e-6"]) == 0
    assert "nothing is frequent enough to be listed" in capsys.readouterr().out
    assert main(["quantile", str(path), "x", "0.25", "0.75", "-e", "1", "--interval", "0.95"]) == 2
    assert "got 0.95" in capsys.readouterr().err
    assert main(["ledger", "create", str(tmp_path / "b.db"), "--epsilon", "0.1"]) == 0
    assert main(["median", str(path), "x", "-e", "1", "--ledger", str(tmp_path / "b.db")]) == 2
    assert "what is left of the budget: ε = 0.1" in capsys.readouterr().err
    tail = np.exp(np.abs(np.random.default_rng(1).standard_t(1, 3000)).clip(0, 200))
    path.write_text("x\n" + "".join(f"{v}\n" for v in tail))
    assert main(["sum", str(path), "x", "-e", "1"]) in (0, 3)
    assert " inf" not in capsys.readouterr().out


def test_margins_take_the_values_of_all_columns_at_once():
    session = ut.open({"a": np.repeat(["x", "y"], 500), "b": np.tile(["p", "q"], 500)})
    listed = {"a": ["x", "y"], "b": ["p", "q"]}
    one_way = session.margins("a", "b", groups=listed, epsilon=1)
    assert {table: list(made.value) for table, made in one_way.items()} == {("a",): ["x", "y"], ("b",): ["p", "q"]}
    assert len(session.margins("a", "b", which=2, groups=listed, epsilon=1)["a", "b"].value) == 4
    spent = session.spent
    for wrong, said in (({**listed, "z": [1]}, "no column named 'z'"), ({"a": ["x"]}, "none for 'b'")):
        with pytest.raises(ut.InvalidArgument, match=said):
            session.margins("a", "b", groups=wrong, epsilon=1)
    assert session.spent == spent


def test_plans_write_numbers_as_people_do(tmp_path, capsys):
    session = ut.open({"age": np.arange(3000), "y": np.arange(3000.0)})
    shown = str(session.plan([ut.Request("quantile", "age", p=[Fraction(1, 2)], epsilon=Fraction(1, 7))]))
    assert "p=[0.5], ε = 0.1429:" in shown
    rows = tmp_path / "rows.csv"
    rows.write_text("x,y\n" + "\n".join(f"{i % 7},{i}" for i in range(3000)) + "\n")
    assert main(["plan", str(rows), "regression:y ~ x:3"]) == 0
    assert "regression of y ~ x, " in capsys.readouterr().out


def test_a_crosstab_is_a_frame_as_that_of_pandas():
    rng = np.random.default_rng(1)
    table = {"ward": rng.choice(["A", "B"], 4000), "age": rng.choice([30, 40, 50], 4000, p=[0.6, 0.395, 0.005])}
    made = ut.open(table, entropy=ut.SeededEntropy(1)).crosstab("ward", "age", epsilon=1, delta=1e-6)
    frame, exact = made.value.to_pandas(), pd.crosstab(table["ward"], table["age"])
    assert list(frame.index) == ["A", "B"]
    assert list(frame.columns) == [30, 40]  # too few people are 50
    assert np.abs(frame - exact[[30, 40]]).max(axis=None) < 20
    assert {"cell", "value", "low", "high"} < set(made.to_pandas())
    nothing = ut.open({"a": ["x"], "b": ["y"]}).crosstab("a", "b", epsilon=1, delta=1e-6)
    assert nothing.value.to_pandas().shape == (0, 0)
