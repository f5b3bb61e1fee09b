"""Sessions on rows that meet conditions, and groups by several columns: the same in memory, in an engine, by hand."""

import json

import numpy as np
import pandas as pd
import pytest

import uptack as ut
from tests.answers import categories, matrix
from uptack.cli.main import main
from uptack.errors import InvalidArgument
from uptack.session import Request
from uptack.table.conditions import conditions
from uptack.table.memory import table as memory_table
from uptack.table.memory.table import rows_meeting
from uptack.table.opening import open_table

ROWS = 600


def table():
    rng = np.random.default_rng(4)
    made = pd.DataFrame(
        {
            "id": rng.integers(0, 500, ROWS),
            "age": pd.array(rng.integers(0, 90, ROWS), dtype="Int64"),
            "ward": rng.choice(["Surgery", "Maternity", "é漢", None], ROWS),
            "sex": rng.choice(["f", "m"], ROWS),
            "cost": rng.normal(100, 30, ROWS).round(1),
            "died": pd.array(rng.random(ROWS) < 0.3, dtype="boolean"),
        }
    )
    made.loc[::17, "age"], made.loc[::13, "cost"], made.loc[::11, "died"] = pd.NA, np.nan, pd.NA
    made.loc[5, "cost"], made.loc[6, "cost"] = np.inf, -0.0
    return made


TABLE = table()
CONDITIONS = {  # what is written, and the same by hand, for rows whose missing values are None
    "ward == 'Surgery'": ({"ward": "Surgery"}, lambda r: r["ward"] == "Surgery"),
    "ward == None": ({"ward": None}, lambda r: r["ward"] is None),
    "ward != 'Surgery'": ({"ward": ("!=", "Surgery")}, lambda r: r["ward"] not in ("Surgery", None)),
    "ward != None": ({"ward": ("!=", None)}, lambda r: r["ward"] is not None),
    "ward in ('Surgery', None)": ({"ward": ("in", {"Surgery", None})}, lambda r: r["ward"] in ("Surgery", None)),
    "ward not in ('é漢')": ({"ward": ("not in", ["é漢"])}, lambda r: r["ward"] not in ("é漢", None)),
    "ward > 'Surgery'": ({"ward": (">", "Surgery")}, lambda r: r["ward"] is not None and r["ward"] > "Surgery"),
    "age >= 17.5": ({"age": (">=", 17.5)}, lambda r: r["age"] is not None and r["age"] >= 18),
    "age between 18 and 65.5": (
        {"age": ("between", (18, 65.5))},
        lambda r: r["age"] is not None and 18 <= r["age"] <= 65,
    ),
    f"age < {10**30}": ({"age": ("<", 10**30)}, lambda r: r["age"] is not None),
    f"age == {10**30}": ({"age": ("==", 10**30)}, lambda r: False),
    "age != 17.5": ({"age": ("!=", 17.5)}, lambda r: r["age"] is not None),
    "cost > 100": ({"cost": (">", 100)}, lambda r: r["cost"] is not None and r["cost"] > 100),
    "cost <= 0": ({"cost": ("<=", 0)}, lambda r: r["cost"] is not None and r["cost"] <= 0),
    "cost == 0": ({"cost": 0}, lambda r: r["cost"] == 0),
    "cost == None": ({"cost": float("nan")}, lambda r: r["cost"] is None),
    "died == True": ({"died": True}, lambda r: r["died"] is not None and r["died"]),
    "died in (False, None)": ({"died": ("in", (False, None))}, lambda r: r["died"] in (False, None)),
    "sex == 'f' and age > 40": ({"sex": "f", "age": (">", 40)}, lambda r: r["sex"] == "f" and (r["age"] or 0) > 40),
}
NUMBERS = ["age", "cost", "died"]


def by_hand(meets):
    """Which rows meet a condition."""
    lists = {name: [None if pd.isna(v) else v for v in TABLE[name]] for name in TABLE}
    return np.array([bool(meets(dict(zip(lists, row, strict=True)))) for row in zip(*lists.values(), strict=True)])


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("where") / "t.parquet"
    TABLE.to_parquet(path)
    return path


def opened(data, **options):
    return ut.open(data, entropy=ut.SeededEntropy(3), **options)


@pytest.mark.parametrize("said", CONDITIONS)
def test_rows_that_do_not_meet_conditions_are_rows_without_values(said, file):
    """In memory and in an engine, to the last bit; and the conditions are named as they are meant."""
    given, meets = CONDITIONS[said]
    kept = by_hand(meets)
    whole = opened(TABLE)
    values = np.where(kept[:, None], matrix(whole.source, *NUMBERS), np.nan)
    wards = categories(opened(TABLE[kept]).source, "ward")
    for data in (TABLE, file):
        session = opened(data).where(given)
        assert session.source.size == ROWS
        assert np.array_equal(matrix(session.source, *NUMBERS), values, equal_nan=True)
        assert categories(session.source, "ward") == wards
        assert f"Only rows with {said} are used, and their number is secret." in session.describe()
    theirs = opened(TABLE, person="id").where(given).source
    assert theirs.size == TABLE.id.nunique()
    assert np.array_equal(matrix(theirs, *NUMBERS), values, equal_nan=True)
    assert theirs.trues(None) == TABLE.id[kept].nunique()


@pytest.mark.parametrize("person", [None, "id"])
def test_answers_are_those_of_a_table_with_missing_values(person):
    kept = by_hand(CONDITIONS["cost > 100"][1])
    hidden = TABLE.assign(**{name: TABLE[name].where(kept) for name in NUMBERS})
    made = []
    for session in (opened(hidden, person=person), opened(TABLE, person=person).where(cost=(">", 100))):
        made.append([session["cost"].median(epsilon=1), session["age"].quantile([0.25, 0.75], epsilon=1)])
        made[-1] += [session["cost"].mean(epsilon=3), session.regression("cost", "age", epsilon=9)]
        if person is None:
            made[-1].append(session.kendall_tau("age", "cost", epsilon=2))
    assert repr(made[0]) == repr(made[1])


def test_the_engine_counts_and_groups_the_rows_that_are_left(file):
    for person in (None, "id"):
        seen = []
        for data in (TABLE, file):
            s = opened(data, person=person).where(age=(">=", 30)).where({"ward": ("!=", None)})
            made = [
                s["cost"].median(epsilon=1),
                s.count(epsilon=1),
                s["died"].count(epsilon=1),
                s["ward"].histogram(epsilon=1, delta=1e-6),
                s["cost"].histogram(epsilon=1, edges=[0, 100], outside="clamp"),
                s.count(by=["ward", "sex"], groups=[("Surgery", "f"), ("é漢", "m"), ("Surgery", None)], epsilon=1),
                s["cost"].median(by=["sex", "ward"], groups=[("f", "Surgery"), ("m", "")], epsilon=9),
                s.regression("cost", ["age"], by="sex", groups=["f", "m"], epsilon=400),
                s["died"].proportion(
                    by="sex", groups=["f", "m"], epsilon=9, **({"per_person": "any"} if person else {})
                ),
            ]
            seen.append([repr(one) for one in made])
            assert list(made[5].value) == [("Surgery", "f"), ("é漢", "m"), ("Surgery", None)]
            assert made[7].value["f"].value.size == 2
        assert seen[0] == seen[1]


def test_a_condition_is_the_same_row_by_row_in_a_column_without_a_type():
    rows = [3, 3.0, True, "3", None, float("nan"), 2.5, b"x", 10**400, (1,), "é"]
    data = open_table({"x": rows})
    truth = {
        (3): {0, 1},
        ("!=", 3): {2, 3, 6, 7, 8, 9, 10},
        (">=", 2.5): {0, 1, 6, 8},
        (">", "3"): {10},
        ("in", ("3", None)): {3, 4, 5},
        True: {2},
    }
    for what, places in truth.items():
        (condition,) = conditions({"x": what}, {"x": "any"})
        assert set(np.flatnonzero(rows_meeting(data.fields, [condition])).tolist()) == places


def test_the_ledger_and_what_was_spent_are_shared(tmp_path):
    book = ut.Ledger(tmp_path / "b.db", epsilon=4)
    whole = opened(TABLE, ledger=book)
    part = whole.where(ward="Surgery")
    older = part.where(age=(">=", 18))
    older["cost"].median(epsilon=1)
    part["cost"].median(epsilon=0.5)
    assert whole.spent == part.spent == older.spent == book.spent() == ut.Privacy(1.5)
    lines = [entry.what for entry in book.history()]
    assert lines[-2] == "median of cost, missing='drop', ε = 1.0, where ward == 'Surgery' and age >= 18"
    assert older.to_dict()["where"] == ["ward == 'Surgery'", "age >= 18"]
    assert whole.to_dict()["where"] == []
    assert whole["cost"].median(epsilon=0.5).privacy == part["cost"].median(epsilon=0.5).privacy
    with pytest.raises(ut.BudgetExceeded):
        older["cost"].median(epsilon=2)


def test_nothing_is_read_before_it_is_paid_for(tmp_path, monkeypatch):
    session = opened(TABLE, ledger=ut.Ledger(tmp_path / "b.db", epsilon=1))
    monkeypatch.setattr(memory_table, "rows_meeting", lambda *_: pytest.fail("rows were read"))
    part = session.where(age=(">=", 18), ward="Surgery").where(died=None)
    part.describe(), part.plan([Request("median", "cost", epsilon=1)]), repr(part.source)
    with pytest.raises(ut.BudgetExceeded):
        part["cost"].median(epsilon=2)


MISUSE = {
    "no conditions": ({}, "where must be one or more conditions"),
    "no such column": ({"agee": 3}, "no column named 'agee'"),
    "a text for numbers": ({"age": "x"}, r"where\['age'\] must be a finite number, as the column is of type integer"),
    "a truth for numbers": ({"age": True}, "finite number"),
    "no finite number": ({"cost": (">", float("inf"))}, "finite number"),
    "a number for texts": ({"ward": 3}, "a text"),
    "a text nobody can hold": ({"ward": "a\0"}, "a text"),
    "truths in order": ({"died": (">", False)}, "truth values"),
    "a number for truths": ({"died": 1}, "True or False"),
    "missing in order": ({"age": (">", None)}, "A row without a value meets only"),
    "no such operation": ({"age": ("~", 3)}, "a pair of one of"),
    "a triple": ({"age": ("between", 3, 4)}, "a pair of one of"),
    "half a range": ({"age": ("between", 3)}, "a pair"),
    "no list": ({"ward": ("in", "Surgery")}, "a list of 1 to 1,000 values"),
    "an empty list": ({"ward": ("in", [])}, "a list of 1 to 1,000 values"),
    "too long a list": ({"age": ("in", range(1001))}, "a list of 1 to 1,000 values"),
    "ids": ({"id": 3}, "other than the ids"),
}


@pytest.mark.parametrize("name", MISUSE)
def test_misuse_is_found_by_names_and_kinds(name):
    given, message = MISUSE[name]
    with pytest.raises(InvalidArgument, match=message):
        opened(TABLE, person="id").where(given)


def test_what_would_tell_how_many_rows_are_left_is_refused():
    part = opened(TABLE).where(ward="Surgery")
    with pytest.raises(InvalidArgument, match=r"^total must be False in a session with conditions"):
        part["age"].histogram(epsilon=1, edges=[0, 90], outside="clamp", total=True)
    for missing in ("low", 3, "error"):
        with pytest.raises(InvalidArgument, match=r"^missing must be"):
            part["cost"].median(epsilon=1, missing=missing)
    with pytest.raises(InvalidArgument, match=r"^missing must be 'drop' in a session with conditions"):
        opened(TABLE, missing="low").where(ward="Surgery")
    assert part.spent == ut.Privacy(0)


# ------------------------------------------------------------------------------------------------------------- groups


def test_functions_take_several_columns_of_groups():
    ward, sex = TABLE.ward, TABLE.sex
    frame = ut.count(TABLE.died, by=TABLE[["ward", "sex"]], epsilon=5, delta=1e-6, entropy=ut.SeededEntropy(1))
    both = ut.count(TABLE.died, by=(ward, sex), epsilon=5, delta=1e-6, entropy=ut.SeededEntropy(1))
    assert repr(both) == repr(frame)
    assert list(both.value.counts) == sorted(both.value.counts, reverse=True)
    for (a, b), made in both.value.items():
        rows = TABLE.died[(ward.isna() if a is None else ward == a) & (sex == b)]
        assert abs(made - rows.fillna(False).sum()) < 12
    assert pd.MultiIndex.from_tuples(list(both.value)).nlevels == 2
    with pytest.raises(InvalidArgument, match=r"^by must be columns of equal length"):
        ut.count(TABLE.died, by=(ward, sex[:3]), epsilon=1, groups=[("a", "f")])
    with pytest.raises(InvalidArgument, match=r"^by must be"):
        ut.count(TABLE.died, by=("a", "b"), epsilon=1, groups=["a"])


@pytest.mark.parametrize("person", [False, True])
@pytest.mark.parametrize("fit", [ut.linear_regression, ut.shortcut_regression])
def test_regressions_take_groups(fit, person):
    rng = np.random.default_rng(1)
    x, group = rng.normal(size=(6000, 1)), np.array(["a", "b"] * 3000)
    y = np.where(group == "a", 2.0, -1.0) * x[:, 0] + rng.normal(size=6000)
    whose = {"person": np.arange(6000)} if person else {}
    made = fit(x, y=y, by=group, groups=["b", "a", "z"], epsilon=20, entropy=ut.SeededEntropy(1), **whose)
    assert list(made.value) == ["b", "a", "z"]
    assert made.privacy.epsilon == 20
    slopes = [float(made.value[g].value[1]) for g in "ab"]
    assert np.allclose(slopes, [2, -1], atol=0.2)
    assert not made.value["z"]


def test_delta_is_for_a_list_of_groups_where_a_function_has_no_use_for_it():
    for given in ({}, {"by": ["a"], "groups": ["a"]}):
        with pytest.raises(InvalidArgument, match=r"^delta must be left out unless groups are unknown"):
            ut.count([True], epsilon=1, delta=1e-6, **given)


def test_groups_of_a_session_are_names_and_tuples():
    session = opened(TABLE)
    for by, message in ((["ward", "ward"], "by"), ([], "by"), (["ward", "agee"], "column"), (["ward", 3], "by")):
        with pytest.raises(InvalidArgument, match=rf"^(no )?{message} (must be|named)"):
            session.count(by=by, epsilon=1, delta=1e-6)
    with pytest.raises(InvalidArgument, match=r"^groups must be a list of tuples of 2 values"):
        session.count(by=["ward", "sex"], groups=["Surgery"], epsilon=1)
    assert session.spent == ut.Privacy(0)


# ------------------------------------------------------------------------------------------------------ command line


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (["ward=Surgery", "age>=18"], {"ward": "Surgery", "age": (">=", 18)}),
        (["age=18..65"], {"age": ("between", (18, 65))}),
        (["ward=Surgery|é漢"], {"ward": ("in", ["Surgery", "é漢"])}),
        (["ward!=Surgery|é漢"], {"ward": ("not in", ["Surgery", "é漢"])}),
        (["ward="], {"ward": None}),
        ([" cost < 99.5 "], {"cost": ("<", 99.5)}),
        (["died==true"], {"died": True}),
    ],
)
def test_conditions_as_they_are_written(written, meant, file, capsys):
    options = [word for text in written for word in ("--where", text)]
    assert main(["median", str(file), "cost", "-e", "1", "--seed", "3", "--json", *options]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == opened(file).where(meant)["cost"].median(epsilon=1).value


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("age>=x", "--where 'age>=x' must be a number for a column of numbers"),
        ("foo=1", "no column named 'foo'"),
        ("age", "--where 'age' must be a condition such as"),
        ("died>true", "--where 'died>true' must be '==', '!=', 'in' or 'not in' for truth values"),
        ("ward>", "--where 'ward>' must be a value after >."),
    ],
)
def test_errors_name_the_option_and_nothing_is_spent(written, said, file, tmp_path, capsys):
    book = ut.Ledger(tmp_path / "b.db", epsilon=1)
    assert main(["median", str(file), "cost", "-e", "1", "--ledger", str(tmp_path / "b.db"), "--where", written]) == 2
    assert said in capsys.readouterr().err
    assert book.spent() == ut.Privacy(0)


def test_groups_of_several_columns_and_reports_as_they_are_written(file, tmp_path, capsys):
    by = ["--by", "ward", "--by", "sex", "--group", "Surgery,f", "--group", "Maternity,m"]
    assert main(["count", str(file), "-e", "1", *by, "--where", "age>30", "--seed", "3"]) == 0
    shown = capsys.readouterr().out
    assert "(Surgery, f)\t" in shown
    assert "(Maternity, m)\t" in shown
    assert main(["count", str(file), "-e", "1", *by[:4], "--group", "Surgery"]) == 2
    assert "2 values separated by commas" in capsys.readouterr().err
    report = tmp_path / "r.md"
    asked = ["report", str(file), "-e", "9", "--columns", "ward", "--where", "ward=Surgery", "--seed", "3"]
    assert main([*asked, "-o", str(report)]) == 0
    assert "Only rows with ward == 'Surgery' are used" in report.read_text()
    assert main(["describe", str(file), "--where", "ward=Surgery", "--curator"]) == 0


def test_times_are_compared_in_memory_and_in_an_engine(tmp_path):
    rng = np.random.default_rng(2)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, 900), unit="D")
    frame = pd.DataFrame({"day": days, "zoned": days.tz_localize("UTC"), "x": np.arange(900.0)})
    frame.loc[::7, ["day", "zoned"]] = pd.NaT
    frame.to_parquet(tmp_path / "t.parquet")
    known = frame["day"].notna()
    cases = {
        "between": (
            {"day": ("between", ("2024-03-01", "2024-04-30"))},
            frame["day"].between("2024-03-01", "2024-04-30"),
        ),
        "zoned": ({"zoned": ("<", "2024-06-01T00:00+02:00")}, frame["zoned"] < "2024-05-31T22:00+00:00"),
        "missing": ({"day": None}, ~known),
        "not": ({"day": ("!=", frame["day"].iloc[1])}, known & (frame["day"] != frame["day"].iloc[1])),
    }
    for given, left in cases.values():
        for data in (frame, tmp_path / "t.parquet"):
            held = matrix(ut.open(data).where(given).source, "x")[:, 0]
            np.testing.assert_array_equal(~np.isnan(held), left.to_numpy())
    for wrong in ({"day": ("<", 3)}, {"day": "2024-01-01T00:00+00:00"}, {"day": ("<", "soon")}):
        with pytest.raises(InvalidArgument, match="where"):
            ut.open(frame).where(wrong)
    words = ["--where", "day=2024-02-01..2024-11-01", "--where", "zoned>=2024-03-01", "-e", "9"]
    assert main(["median", str(tmp_path / "t.parquet"), "x", *words]) == 0


def test_a_report_does_not_call_rows_outside_the_conditions_missing():
    rows = {"age": np.arange(4000) % 80, "ward": np.array(["a", "b", "c", "d"] * 1000)}
    whole = ut.open(rows, entropy=ut.SeededEntropy(1))
    made = whole.where("age < 60").report(epsilon=8, delta=1e-6)
    for column in made.columns:
        assert [figure.label for figure in column.numbers] == ["n"]
        assert column.numbers[0].value == pytest.approx(3000, abs=100)
        assert "where the conditions are met" in column.part.card.view("a", column, "rows").size
    shares = [
        float(bar.percent.rstrip("%")) for bar in made.columns[1].part.card.view("b", made.columns[1], "rows").bars
    ]
    assert sum(shares) == pytest.approx(100, abs=0.2)
    assert "missing" not in made.to_html() + made.to_markdown() + repr(made)
    assert "missing" in repr(whole.report(epsilon=8, delta=1e-6))


def test_a_date_without_quotes_is_pointed_out():
    session = ut.open({"day": np.array(["2024-01-31"] * 50, "datetime64[D]")})
    with pytest.raises(ut.InvalidArgument, match=r"Put dates in quotes: day >= '2024-01-31'"):
        session.where("day >= 2024-01-31")
