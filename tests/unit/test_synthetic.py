"""Synthetic tables: types, sources, people, refusals, what is kept."""

import datetime as dt
import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import uptack as ut
from uptack.account import Account
from uptack.cli import main
from uptack.errors import InvalidArgument, UptackError
from uptack.ledger import Ledger
from uptack.noise import SeededEntropy
from uptack.privacy import ADD_REMOVE
from uptack.privacy.loss import BoundedRange, Zcdp
from uptack.synthesis import measure, noisy_counts
from uptack.synthesis.cells import ColumnCells, keys_of, numbers_of
from uptack.synthesis.fit import rake, simplex, transport
from uptack.synthesis.measure import BucketCounts
from uptack.synthesis.noisy_counts import ScoredChoice
from uptack.table.values.entrance import field as entered_field

N = 6000
ASKED = {"epsilon": 4, "delta": 1e-6}


def frame(n=N):
    rng = np.random.default_rng(0)
    age = rng.integers(20, 60, n)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(age % 7 * 30, "D")
    return pd.DataFrame(
        {
            "age": age,
            "price": np.round(rng.gamma(3, 20, n), 2),
            "height": rng.normal(170, 10, n),
            "smokes": age % 3 == 0,
            "ward": np.array(["north", "south", "west"])[age % 3],
            "day": day.date,
            "at": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**6, n), "s"),
            "seen": pd.Series(day).dt.tz_localize("UTC"),
            "wait": pd.to_timedelta(rng.integers(1, 90, n) * 60, "s"),
        }
    )


def made(table, seed=1, **options):
    return ut.synthetic(table, **{**ASKED, **options}, entropy=SeededEntropy(seed)).value


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    frame().drop(columns="wait").to_parquet(path, coerce_timestamps="us")  # engines have no type for durations
    return path


def test_types_pass_through_parquet(file, tmp_path):
    """From a file to a file: pandas reads the same types from both."""
    found = made(str(file))
    assert found.rows == N
    read, again = pd.read_parquet(file), pd.read_parquet(found.to_parquet(tmp_path / "out.parquet"))
    kinds = {name: dtype.kind for name, dtype in read.dtypes.items()}
    assert {name: dtype.kind for name, dtype in again.dtypes.items()} == kinds
    assert list(again) == list(read)
    assert again["seen"].dt.tz is not None
    assert isinstance(again["day"].iloc[0], dt.date)
    assert set(again["ward"]) == {"north", "south", "west"}
    assert np.isclose(again["price"] * 100, (again["price"] * 100).round(), atol=1e-6).mean() > 0.99, "decimals stay"
    assert (again["at"].dt.microsecond == 0).mean() > 0.99, "whole seconds stay"
    assert again["age"].between(15, 65).mean() > 0.99
    assert abs(again["height"].median() - 170) < 2
    assert set(again["day"]) <= set(pd.to_datetime(read["day"]).dt.date) | set(again["day"])
    held = json.loads(found.to_arrow().schema.metadata[b"uptack.synthetic"])
    assert {one["name"] for one in held["columns"]} == set(read)


def test_gaps_keep_their_types_through_parquet(tmp_path):
    gone, table = np.arange(N) % 5 == 0, frame()[["age", "smokes", "ward"]].copy()
    table["age"] = table["age"].astype("Int64").mask(gone)
    table["smokes"] = table["smokes"].astype("boolean").mask(gone)
    found = made(table)
    read = pd.read_parquet(found.to_parquet(tmp_path / "out.parquet"))
    assert (str(read["age"].dtype), str(read["smokes"].dtype)) == ("Int64", "boolean")
    pd.testing.assert_frame_equal(read, found.to_pandas())


def test_durations_stay_durations(tmp_path):
    found = made(frame()[["wait", "smokes"]])
    read = pd.read_parquet(found.to_parquet(tmp_path / "out.parquet"))
    assert read["wait"].dtype.kind == "m"
    assert (read["wait"].dt.total_seconds() % 60 == 0).mean() > 0.99
    assert pd.read_csv(found.to_csv(tmp_path / "out.csv"))["wait"].iloc[0].count(":") == 2


def test_files_and_memory_give_the_same_rows(file):
    whole = ["age", "price", "smokes", "ward", "height"]
    memory = made(frame()[whole])
    engine = ut.open(str(file), entropy=SeededEntropy(1)).synthetic(*whole, **ASKED).value
    for name in whole:
        np.testing.assert_array_equal(memory.columns[name], engine.columns[name])
    assert memory.pairs == engine.pairs


def test_people_and_filters_give_the_same_rows_in_files_and_memory(tmp_path):
    table = frame().drop(columns="wait").assign(id=np.arange(N) // 3)
    path = tmp_path / "people.parquet"
    table.to_parquet(path, coerce_timestamps="us")
    found = []
    for source in (pq.read_table(path), str(path)):
        session = ut.open(source, person="id", entropy=SeededEntropy(1)).where("age >= 25")
        found.append(session.synthetic("age", "price", "day", "at", "ward", **ASKED).value)
    for name in found[0].columns:
        np.testing.assert_array_equal(found[0].columns[name], found[1].columns[name])


def test_buckets_do_not_depend_on_batches():
    x = np.random.default_rng(4).normal(size=3000)
    ones = np.ones(x.size, np.int64)
    whole = BucketCounts.of(x, ones, 64, 5, 200)
    assert whole.level < 64
    assert len(whole.keys) < 200
    for size in (1, 7, 1000):
        few = range(0, 300 if size == 1 else x.size, size)
        parts = [BucketCounts.of(x[i : i + size], ones[i : i + size], 64, 5, 200) for i in few]
        together = BucketCounts.of(x[: few.stop], ones[: few.stop], 64, 5, 200)
        added = sum(parts[1:], start=parts[0])
        assert added.level == together.level
        np.testing.assert_array_equal(added.keys, together.keys)
        np.testing.assert_array_equal(added.units, together.units)


def test_what_scores_are_made_of_moves_by_a_row_at_most():
    """min(S, most) at every level, for rows that are added one by one."""
    x = np.random.default_rng(5).normal(size=400)
    before = None
    for n in range(300, 400):
        made = BucketCounts.of(x[:n], np.ones(n, np.int64), 64, 3, 150)
        scores = np.array([made.capped_sum(level) for level in measure.LEVELS])
        assert before is None or ((scores >= before) & (scores <= before + 1)).all()
        before = scores


def test_many_rows_are_held_in_few_buckets_and_values(monkeypatch):
    """With room for 500 values and buckets, a column of 6,000 different numbers is still told."""
    monkeypatch.setattr(noisy_counts, "KEYS", 500)
    monkeypatch.setattr(measure, "KEYS", 500)
    found = made(frame()[["height", "age"]]).columns["height"]
    assert abs(np.median(found) - 170) < 2
    assert abs(np.quantile(found, 0.9) - 182.8) < 3


def test_finer_buckets_than_are_held_are_counted_again(monkeypatch):
    """A level that was too fine to be held may be chosen, however improbably."""
    right, first = noisy_counts.RhoBudget.choose, []

    def choose(self, scores, moves, rho):
        place = right(self, scores, moves, rho)
        if len(scores) == len(measure.LEVELS):
            first.append(place)
            return len(scores) - 1
        return place

    monkeypatch.setattr(measure, "KEYS", 500)
    monkeypatch.setattr(noisy_counts.RhoBudget, "choose", choose)
    assert made({"x": np.random.default_rng(6).normal(size=N)}).rows == N
    assert first


def test_pairs_are_kept():
    table = frame()[["age", "smokes", "ward"]]
    rows = made(table).to_pandas()
    true, found = (pd.crosstab(one["ward"], one["smokes"], normalize=True) for one in (table, rows))
    assert np.abs(true - found).to_numpy().sum() / 2 < 0.03
    assert {"smokes", "ward"} in [set(one.names) for one in made(table).pairs]


def test_missing_values_are_a_value():
    table = {"x": np.where(np.arange(N) % 4 == 0, np.nan, np.arange(N) % 5), "n": pd.array([1, None, 3] * (N // 3))}
    found = made(pd.DataFrame(table))
    assert abs(found.missing["x"].mean() - 0.25) < 0.02
    assert abs(found.missing["n"].mean() - 1 / 3) < 0.02
    assert str(found.to_pandas()["n"].dtype) == "Int64"
    assert set(found.to_pandas()["n"].dropna()) == {1, 3}


def test_units_and_far_values_do_not_matter():
    x = np.random.default_rng(2).normal(size=N)
    far = np.where(np.arange(N) % 100 == 0, 1e300, x)
    plain, spoiled, scaled = (made({"x": one}).columns["x"] for one in (x, far, 1e6 * x))
    assert abs(np.median(spoiled)) < 0.2
    assert abs(np.quantile(plain, 0.9) - 1.28) < 0.15
    assert abs(np.quantile(scaled, 0.9) / 1e6 - 1.28) < 0.15
    assert abs((np.abs(spoiled) > 1e200).mean() - 0.01) < 0.005


def test_integers_and_ids_are_exact():
    x = np.where(np.arange(N) % 2 == 0, 2**62 + 1, -(2**63))
    assert set(made({"x": x}).columns["x"].tolist()) == {2**62 + 1, -(2**63)}


def test_rare_categories_are_not_shown():
    names = np.where(np.arange(N) < N - 3, "common", [f"person {i}" for i in range(N)])
    found = made({"name": names}).columns["name"]
    assert set(found) <= {"common", "(other)"}


def test_public_levels_cost_nothing_to_find():
    table = {"ward": np.array(["a"] * N + ["c"] * 5, object)}
    found = made(table, levels={"ward": ["a", "b"]})
    assert set(found.columns["ward"]) <= {"a", "b", "(other)"}
    assert (found.columns["ward"] == "a").mean() > 0.98


@pytest.mark.parametrize("of", ["arrow", "duckdb"])
def test_public_levels_of_times(file, of):
    """As texts or as what they are; texts once failed after the debit, and dates of an engine were in no level."""
    table = str(file) if of == "duckdb" else pq.read_table(file)
    levels = {"day": ["2020-01-01", dt.date(2020, 1, 31)], "at": ["2024-01-01"], "seen": ["2020-01-01T00:00:00Z"]}
    found = made(table, levels=levels)
    first, second = (int(dt.datetime(2020, 1, d, tzinfo=dt.UTC).timestamp()) * 10**6 for d in (1, 31))
    for name, places in (("day", (first, second)), ("seen", (first,))):
        there = found.columns[name][~found.missing[name]]
        assert set(there) == set(places)
        assert abs(there.size / N - len(places) / 7) < 0.02
    shown = next(one for one in found.margins if one.name == "day")
    assert shown.labels[:2] == ("2020-01-01", "2020-01-31")
    assert found.to_arrow()["day"].to_pylist().count(dt.date(2020, 1, 31)) > N / 8


# ------------------------------------------------------------------------------------------------------------- people


def test_people_weigh_one_however_many_rows_they_have():
    ids = np.concatenate([np.arange(N), np.zeros(5 * N, int)])
    x = np.concatenate([np.arange(N) % 4, np.full(5 * N, 9)])
    for relation in (ut.SUBSTITUTE, ADD_REMOVE):
        found = made({"x": x, "id": ids}, person="id", adjacency=relation)
        assert list(found.columns) == ["x"]
        assert abs(found.rows - N) < 100
        assert (found.columns["x"] == 9).mean() < 0.01


def test_a_secret_number_of_rows():
    found = made({"x": np.arange(N) % 4}, adjacency=ADD_REMOVE)
    assert found.size != N
    assert abs(found.rows - N) < 100


def test_where_is_as_secret(file):
    session = ut.open(str(file), entropy=SeededEntropy(1))
    found = session.where("age >= 40").synthetic("age", "ward", **ASKED).value
    true = int((frame()["age"] >= 40).sum())
    assert 0 < abs(found.size - true) < 100  # it is bought, as under ADD_REMOVE
    assert (found.columns["age"] >= 40).mean() > 0.99


# ---------------------------------------------------------------------------------------------------- refusals, debits

WRONG = [
    {"delta": 0},
    {"rows": 0},
    {"rows": 10**9},
    {"rows": 2.5},
    {"levels": {"agee": [1]}},
    {"levels": {"age": []}},
    {"levels": {"age": ["x"]}},
    {"levels": {"age": [1, 1]}},
    {"levels": {"age": range(10**9)}},
    {"levels": {"at": ["noon"]}},
    {"levels": {"at": [5]}},
    {"levels": {"at": ["2024-01-01", dt.date(2024, 1, 1)]}},
    {"levels": {"at": ["2024-01-01T00:00:00Z"]}},
    {"levels": {"at": [dt.timedelta(hours=1)]}},
    {"levels": {"day": [None]}},
    {"levels": ["age"]},
    {"epsilon": 1e-9},
    {"bounds": (0, 1)},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_wrong_arguments_are_refused_before_the_debit(wrong, file, tmp_path):
    ledger = Ledger(tmp_path / "budget.db", epsilon=10, delta=1e-3)
    with pytest.raises(InvalidArgument):
        ut.open(str(file), ledger=ledger).synthetic(**{**ASKED, **wrong})
    assert ledger.spent().epsilon == 0


def test_one_debit(file, tmp_path):
    ledger = Ledger(tmp_path / "budget.db", epsilon=10, delta=1e-3)
    release = ut.open(str(file), ledger=ledger).synthetic("age", "ward", **ASKED)
    assert release.privacy.epsilon == ledger.spent().epsilon == 4
    assert len(ledger.entries()) == 2  # with the one that created it


def test_too_few_rows_are_refused_for_free(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", epsilon=10, delta=1e-3)
    reply = ut.open({"x": np.arange(20)}, ledger=ledger).synthetic(epsilon=1, delta=1e-6)
    assert not reply
    assert reply.advice.n > 20
    assert ledger.spent().epsilon == 0


@pytest.mark.parametrize("person", [None, "id"])
def test_a_secret_number_of_rows_decides_nothing_for_free(person):
    """Else whoever is refused without a debit knows that there are few rows."""
    session = ut.open({"x": np.arange(20), "id": np.arange(20)}, person=person, adjacency=ADD_REMOVE)
    assert session.synthetic("x", epsilon=1, delta=1e-6)
    assert session.spent.epsilon == 1


def test_many_columns_and_few_rows_are_margins_only():
    rng = np.random.default_rng(3)
    table = {f"x{i}": rng.integers(0, 3, 600) for i in range(20)}
    found = made(table, epsilon=1)
    assert found.pairs == ()
    assert "Drawn without regard to other columns" in found.summary()


def test_an_account_refuses_more_rho_than_it_paid_for():
    account = Account.open("rows", 1, 1e-6, entropy=SeededEntropy(1))
    paid = account.concentrated(Fraction(1, 100), Fraction(1, 10**8))
    choice = ScoredChoice(BoundedRange(Fraction(1, 5)), Fraction(1, 10))
    assert paid.draw(choice, (1, 2)) in (0, 1)
    with pytest.raises(UptackError, match="more ρ"):
        paid.draw(ScoredChoice(BoundedRange(Fraction(1, 4)), Fraction(1, 10)), (1, 2))
    assert account.spent == (Zcdp(Fraction(1, 100), Fraction(1, 10**6), Fraction(1, 10**8), 1),)


# ------------------------------------------------------------------------------------------------------------ its parts


def test_the_choice_has_its_law():
    choice, entropy = ScoredChoice(BoundedRange(1), Fraction(1, 2)), SeededEntropy(5)
    drawn = np.bincount([choice.draw((0, 2, 4), entropy) for _ in range(4000)], minlength=3) / 4000
    weights = np.exp([0, 1, 2])
    np.testing.assert_allclose(drawn, weights / weights.sum(), atol=0.04)


def test_cells_are_a_partition():
    x = np.array([-1e308, -2.5, -0.0, 0.0, 1.0, 1.5, 2.0, 1e308])
    cells = ColumnCells.of_numbers("number", np.array([1.0]), np.array([0.0, 2.0]), None)
    codes = cells.encode(entered_field("x", np.append(x, np.nan)))
    assert codes[-1] == cells.size - 1
    assert codes[4] == 0
    assert codes[2] == codes[3]
    assert (np.diff(np.delete(codes[:-1], 4)) >= 0).all()
    np.testing.assert_array_equal(numbers_of(keys_of(x)), x + 0.0)


def test_fits_have_their_margins():
    rng = np.random.default_rng(1)
    rows, columns = rng.dirichlet(np.ones(4)) * 100, rng.dirichlet(np.ones(3)) * 100
    assert np.allclose(simplex(rng.normal(size=(1, 4)), np.array([7.0])).sum(), 7)
    for t in (transport(rng.normal(8, 9, (4, 3)), rows, columns), rake(rng.random((4, 3)), rows, columns)):
        assert (t >= 0).all()
        np.testing.assert_allclose(t.sum(0), columns, atol=1e-6)
        np.testing.assert_allclose(t.sum(1), rows, atol=2)


# -------------------------------------------------------------------------------------------------------- command line


def test_the_command_writes_rows_and_a_page(file, tmp_path, capsys):
    out, page = tmp_path / "out.csv", tmp_path / "out.html"
    options = ["-e", "4", "-o", str(out), "--page", str(page), "--seed", "1", "--rows", "50"]
    options += ["--levels", "ward=north,south"]
    assert main(["synthetic", str(file), "age", "ward", *options]) == 0
    read = pd.read_csv(out)
    assert len(read) == 50
    assert list(read) == ["age", "ward"]
    assert "NOT PRIVATE" in page.read_text("utf-8")
    assert "synthetic rows" in capsys.readouterr().out


@pytest.mark.parametrize("output", ["out.xlsx", "missing/out.csv"])
def test_the_command_knows_beforehand_where_to_write(output, file, tmp_path):
    ledger = tmp_path / "budget.db"
    main(["ledger", "create", str(ledger), "-e", "9", "--delta", "1e-3"])
    asked = ["synthetic", str(file), "-e", "4", "-o", str(tmp_path / output), "--ledger", str(ledger)]
    assert main(asked) == 2
    assert Ledger(ledger).spent().epsilon == 0


def test_summaries_and_values_are_plain():
    found = made(frame()[["age", "ward"]], rows=10)
    assert "10 synthetic rows" in found.summary()
    plain = json.loads(json.dumps(found.to_dict()))
    assert len(plain["values"]["age"]) == 10
    assert found.to_polars().shape == (10, 2)
    assert repr(found) == "SyntheticTable(10 rows of age, ward)"
