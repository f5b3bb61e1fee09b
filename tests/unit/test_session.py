"""Sessions: rehearse, debit, then look."""

import itertools
from decimal import Decimal

import numpy as np
import pytest

import uptack as ut
from uptack.registry import declared, in_tables
from uptack.session import Request
from uptack.table.memory.table import MemoryTable
from uptack.table.opening import open_table

KINDS = [declaration.also or name for name, declaration in declared().items() if in_tables(declaration)]

RNG = np.random.default_rng(8)
N = 6_000
TABLE = {
    "age": RNG.integers(18, 90, N),
    "cost": RNG.lognormal(5, 1, N),
    "noise": RNG.normal(size=N),
    "ill": RNG.random(N) < 0.25,
    "town": RNG.choice(["a", "b", "c"], N),
}
ASKED = {
    "median": ("age", {}),
    "quantile": ("age", {"p": 0.9}),
    "quantile_interval": ("age", {"p": 0.5, "around": 50}),
    "iqr": ("cost", {}),
    "interquantile_range": ("cost", {"low": 0.1, "high": 0.9}),
    "trimmed_mean": ("cost", {}),
    "winsorized_mean": ("cost", {}),
    "mean": ("cost", {}),
    "sum": ("cost", {}),
    "variance": ("cost", {}),
    "std": ("cost", {}),
    "completeness": ("cost", {}),
    "proportion": ("cost", {"above": 0}),
    "trimean": ("cost", {}),
    "midhinge": ("cost", {}),
    "mad": ("cost", {}),
    "ecdf": ("cost", {}),
    "count": ("ill", {}),
    "histogram": ("town", {"delta": 1e-6}),
    "kde": ("cost", {"delta": 1e-6}),
    "fourier_density": ("cost", {}),
    "regression": (("cost", "age"), {}),
    "shortcut_regression": (("cost", "age"), {}),
    "logistic_regression": (("cost", "age"), {}),
    "poisson_regression": (("cost", "age"), {}),
    "quantile_regression": (("cost", "age"), {"quantile": 0.5}),
    "scatter": (("cost", "age"), {}),
    "robust_regression": (("cost", "age"), {"delta": 1e-6}),
    "kernel_machine": (("cost", "age"), {"delta": 1e-6, "loss": "huber", "frequencies": 8}),
    "kendall_tau": (("cost", "age"), {}),
    "correlation": (("cost", "age"), {}),
    "correlation_matrix": (("cost", "age", "noise"), {}),
    "superiority": (("cost", "town"), {"groups": ("a", "b")}),
    "rank_biserial": (("cost", "ill"), {"groups": (True, False)}),
    "mean_difference": (("cost", "town"), {"groups": ("a", "b")}),
    "median_difference": (("cost", "town"), {"groups": ("a", "b")}),
    "quantile_difference": (("cost", "town"), {"p": 0.4, "groups": ("a", "b")}),
    "hodges_lehmann": (("cost", "town"), {"groups": ("a", "b")}),
    "mann_whitney": (("cost", "town"), {"groups": ("a", "b")}),
    "kruskal_wallis": (("cost", "town"), {"groups": ("a", "b", "c")}),
    "signed_rank": ("noise", {}),
    "synthetic": (("town", "ill"), {"delta": 1e-6}),
    "chi_square": (("town", "ill"), {"levels": (["a", "b", "c"], [False, True])}),
}


def request(name, epsilon=5.0, **more):
    columns, options = ASKED[name]
    return Request(name, *([columns] if isinstance(columns, str) else columns), epsilon=epsilon, **{**options, **more})


def seeded(table=TABLE, **options):
    return ut.open(table, entropy=ut.SeededEntropy(3), **options)


def test_every_kind_is_asked():
    assert set(ASKED) == set(KINDS)


class Watched:
    """A source that notes when its rows are asked for."""

    def __init__(self, source, book):
        self._source, self._book, self.read = source, book, []

    def __getattr__(self, name):
        if name in ("column", "counts", "trues", "matrix", "blocks", "restricted", "categories"):
            self.read.append((name, self._book.spent().epsilon))
        return getattr(self._source, name)


@pytest.mark.parametrize("name", KINDS)
def test_the_debit_comes_before_the_data_and_is_the_cost(name, tmp_path):
    book = ut.Ledger(tmp_path / "budget.db", epsilon=10, delta=1e-5)
    session = seeded(ledger=book)
    session.source = Watched(session.source, book)
    session.plan([request(name)])
    assert session.source.read == []
    made = session.run(request(name))
    assert session.source.read
    assert all(spent == 5.0 for _, spent in session.source.read)
    assert made.privacy <= book.spent() == session.spent == request(name).cost


def test_without_a_ledger_a_release_that_fails_is_counted_too():
    session = seeded()
    session.make_paid = lambda request: 1 / 0
    with pytest.raises(ZeroDivisionError):
        session.run(request("median"))
    assert session.spent == request("median").cost


@pytest.mark.parametrize("name", KINDS)
def test_a_request_beyond_the_budget_reads_nothing(name, tmp_path):
    book = ut.Ledger(tmp_path / "budget.db", epsilon=1, delta=1e-5)
    session = seeded(ledger=book)
    session.source = Watched(session.source, book)
    with pytest.raises(ut.BudgetExceeded):
        session.run(request(name))
    assert session.source.read == []
    assert session.spent == book.spent() == ut.Privacy(0)


def test_what_public_numbers_refuse_is_free(tmp_path):
    book = ut.Ledger(tmp_path / "budget.db", epsilon=1, delta=1e-5)
    session = seeded(ledger=book)
    refused = session["age"].median(epsilon=0.001)
    assert not refused
    assert refused.advice.n > N
    assert not session.regression("cost", epsilon=0.01)
    assert book.spent() == ut.Privacy(0)


def test_what_is_refused_after_a_look_has_been_paid_for(tmp_path):
    """With 100 equal rows that no lattice has, ⊥ is drawn: the debit was made before. With 50 it is free."""
    for n, rows_left, spent in ((100, "error", 1), (50, "error", 0), (50, "drop", 0)):
        book = ut.Ledger(tmp_path / f"{n}{rows_left}.db", epsilon=2)
        session = ut.open({"x": np.full(n, 0.1)}, ledger=book, missing=rows_left, entropy=ut.SeededEntropy(1))
        refused = session["x"].median(epsilon=1)
        assert not refused
        assert refused.privacy == book.spent() == ut.Privacy(spent)
    book = ut.Ledger(tmp_path / "secret.db", epsilon=2, adjacency=ut.ADD_REMOVE)
    session = ut.open({"x": np.full(50, 0.1)}, ledger=book, entropy=ut.SeededEntropy(1))
    assert not session["x"].median(epsilon=1, adjacency=ut.ADD_REMOVE)
    assert book.spent() == ut.Privacy(1, 0, ut.ADD_REMOVE)  # that there are few rows is secret


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda s: s["agee"], "age"),
        (lambda s: s["town"].median(epsilon=1), "text"),
        (lambda s: s["age"].median(epsilon=-1), "epsilon must be"),
        (lambda s: s["age"].median(epsilon=1, method="ptr"), "delta"),
        (lambda s: s["age"].median(epsilon=1, by="nowhere"), "nowhere"),
        (lambda s: s.regression("cost", ["town"], epsilon=1), "levels must be given"),
        (lambda s: s["cost"].kde(epsilon=1, delta=0), "delta"),
        (lambda s: Request("mode", "age", epsilon=1), "statistic"),
        (lambda s: Request("median", "age"), "epsilon"),
        (lambda s: s.run(Request("median", "age", "cost", epsilon=1)), "takes 1 column"),
        (lambda s: ut.open(TABLE, ledger=3), "ledger"),
    ],
)
def test_misuse_is_found_before_the_debit(wrong, said, tmp_path):
    book = ut.Ledger(tmp_path / "budget.db", epsilon=1)
    with pytest.raises((ut.InvalidArgument, TypeError), match=said):
        wrong(seeded(ledger=book))
    assert book.spent() == ut.Privacy(0)


def test_columns_answer():
    session = seeded()
    assert abs(session["age"].median(epsilon=2).value - np.median(TABLE["age"])) <= 3
    assert abs(session["ill"].count(epsilon=2).value - TABLE["ill"].sum()) < 30
    low, high = session["cost"].quantile([0.25, 0.75], epsilon=2).value
    assert low < high
    assert abs(session["cost"].iqr(epsilon=2).value / np.diff(np.quantile(TABLE["cost"], [0.25, 0.75]))[0] - 1) < 0.2
    edges = session["cost"].histogram(edges=[0, 100, 1000], epsilon=2).value
    assert abs(edges[(0.0, 100.0)] - np.sum(TABLE["cost"] < 100)) < 30
    assert set(session["town"].histogram(epsilon=2, delta=1e-6).value) == {"a", "b", "c"}
    assert session["cost"].fourier_density(epsilon=2).value.at(100.0) > 0
    assert session["noise"].interquantile_range(0.1, 0.9, epsilon=2)
    assert session["noise"].winsorized_mean(epsilon=2)
    assert session["noise"].trimmed_mean(epsilon=2)
    assert session["noise"].mean(epsilon=2)


def test_groups():
    session = seeded()
    known = session["age"].median(by="town", groups=["a", "z"], epsilon=4)
    assert known.value["a"]
    assert not known.value["z"]
    found = session["age"].median(by="town", epsilon=4, delta=1e-6)
    assert set(found.value) == {"a", "b", "c"}
    assert found.privacy == ut.Privacy(4, 1e-6)
    assert session.spent == ut.Privacy(8, 1e-6)  # what was asked for


def test_the_number_of_rows_under_add_remove():
    session = seeded(adjacency=ut.ADD_REMOVE)
    assert abs(session.count(epsilon=1).value - N) < 30
    assert "secret number of rows" in session.describe()


def test_plans(tmp_path):
    book = ut.Ledger(tmp_path / "budget.db", epsilon=1, delta=1e-6)
    plan = seeded(ledger=book).plan([request("median", 0.5), request("histogram", 0.4), request("iqr", 0.0001)])
    assert plan.total == ut.Privacy("0.9", 1e-6)
    assert plan.affordable
    assert "ranks" in plan.releases[0].error
    assert "each count within ±" in plan.releases[1].error
    assert plan.releases[2].refusal is not None
    assert "⊥" in str(plan)
    assert plan.to_dict()["releases"][2]["reply"] is False
    many = seeded().plan([request("median", 0.1)] * 60)
    assert many.tight(1e-6).epsilon < many.total.epsilon


def test_running_several_with_one_call():
    made = seeded().run_all([request("median"), request("iqr")], progress=False)
    assert all(made)


def test_seeded_results_are_marked():
    assert seeded()["age"].median(epsilon=1).private is False
    assert ut.open(TABLE)["age"].median(epsilon=1).private is True


def hostile(column):
    return ut.open({"name": column, "x": np.arange(len(column), dtype=float)}, entropy=ut.SeededEntropy(1))


ODD = ["a", 5, Decimal("1.5"), "1.5", [1, 2], ("t",), None, float("nan"), 10**400, b"bytes", object()]


@pytest.mark.parametrize("odd", ODD, ids=lambda v: type(v).__name__)
def test_no_row_of_a_text_column_can_raise(odd):
    column = np.empty(600, object)
    column[:] = "a"
    column[7] = odd
    session = hostile(column)
    assert session["name"].histogram(epsilon=5, delta=1e-6).value["a"] > 500
    assert session["x"].median(epsilon=5, by="name", delta=1e-6).value["a"]


def test_texts_are_not_counted_between_edges():
    with pytest.raises(ut.InvalidArgument, match="text"):
        hostile(np.array(["alice"] * 50))["name"].histogram(epsilon=1, edges=[0, 1])


def test_an_error_about_missing_values_is_for_curators_only(tmp_path):
    book = ut.Ledger(tmp_path / "budget.db", epsilon=10)
    holes = {"x": np.where(np.arange(N) == 5, np.nan, TABLE["cost"]), "y": TABLE["noise"]}
    with pytest.raises(ut.InvalidArgument, match="missing"):
        ut.open(holes, ledger=book)["x"].median(epsilon=1, missing="error")
    assert book.spent() == ut.Privacy(0)
    assert ut.open(holes, ledger=book).regression("x", epsilon=5)
    with pytest.raises(ut.InvalidArgument, match="free of NaN"):
        ut.open(holes, missing="error")["x"].median(epsilon=1)


def test_nothing_tells_a_secret_number_of_rows():
    session = seeded(adjacency=ut.ADD_REMOVE)
    plan = session.plan([request("median"), request("histogram")])
    assert "ranks" not in str(plan)
    assert f"{N:,}" not in str(plan)
    with pytest.raises(ut.errors.Incomparable):
        session["age"].median(epsilon=1e-6, adjacency=ut.SUBSTITUTE)


def test_a_plan_by_group_is_under_the_sessions_neighbours():
    plan = seeded().plan([Request("median", "age", by="town", groups=["a"], epsilon=1)])
    assert plan.total.epsilon == 1.0
    assert 0.95 < plan.tight(1e-6).epsilon <= 1.0
    assert plan.releases[0].error == ""  # how many rows a group has is secret


def test_requests_may_not_loosen_what_the_session_promises(tmp_path):
    session = seeded(rows_per_person=3)
    with pytest.raises(ut.InvalidArgument, match="rows_per_person"):
        session["age"].median(epsilon=1, rows_per_person=1)
    with pytest.raises(ut.InvalidArgument, match="ledger"):
        seeded(ledger=ut.Ledger(tmp_path / "one.db", epsilon=1), rows_per_person=3)
    many = ut.Ledger(tmp_path / "three.db", epsilon=5, adjacency=ut.SUBSTITUTE.per_person(3))
    assert seeded(ledger=many, rows_per_person=3)["age"].median(epsilon=5)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda s: s["age"].median(epsilon=1, by="town"),
        lambda s: s["age"].median(epsilon=1, by="town", groups=["a"], nonsense=1),
        lambda s: s["age"].median(epsilon=1, by="town", groups=["a"], groups_per_person=2),
        lambda s: s["town"].histogram(epsilon=1, delta=1e-6, by="ill"),
        lambda s: s["age"].median(epsilon=1, entropy=ut.SeededEntropy(1)),
    ],
)
def test_mistakes_by_group_are_found_before_the_debit(wrong, tmp_path):
    book = ut.Ledger(tmp_path / "budget.db", epsilon=5, delta=1e-5)
    with pytest.raises((ut.UptackError, TypeError)):
        wrong(seeded(ledger=book))
    assert book.spent() == ut.Privacy(0)


def test_advice_can_be_taken():
    """The ε that a free refusal names is enough, also where a tenth of it goes into the number of rows."""
    session = seeded()
    refused = session["cost"].trimmed_mean(epsilon=0.01)
    assert not refused
    assert session["cost"].trimmed_mean(epsilon=1.02 * refused.advice.epsilon)


def test_two_columns_and_a_bandwidth_need_data():
    made = seeded().run(Request("kde", "cost", "noise", epsilon=5, delta=1e-6, bandwidth=1.0))
    assert made


def test_a_long_request_fits_a_ledger(tmp_path):
    book = ut.Ledger(tmp_path / "budget.db", epsilon=5)
    seeded(ledger=book)["age"].histogram(keys=list(range(2000)), epsilon=1)
    assert len(book.history()[0].what) <= 300


def test_expected_errors_hold_on_hostile_data():
    x = np.concatenate([np.full(140, 1.2345), -np.logspace(60, 61, 1930), np.logspace(60, 61, 1930)])
    asked = Request("median", "x", epsilon=1)
    promised = int(ut.open({"x": x}).plan([asked]).releases[0].error.split()[1].replace(",", ""))
    session, off = ut.open({"x": x}, entropy=ut.SeededEntropy(2)), []
    for _ in range(60):
        value = session.run(asked).value
        off.append(max(np.sum(x < value) - 2000, 2000 - np.sum(x <= value), 0))
    assert np.mean(np.array(off) <= promised) >= 0.8


def test_a_list_is_read_without_any_row_deciding():
    for rows in ([1, 2, 3], [1, 2.5, None], [True, False], ["a", 1]):
        assert open_table({"x": rows}).kinds["x"] == "any"


def test_an_engines_error_shows_no_row(tmp_path):
    book = ut.Ledger(tmp_path / "budget.db", epsilon=5, delta=1e-5)
    session = seeded(ledger=book)

    class Broken(MemoryTable):
        def counts(self, columns):
            raise ValueError("the row of alice is broken")

    session.source = Broken(session.source.fields)
    with pytest.raises(ut.UptackError) as caught:
        session["town"].histogram(epsilon=1, delta=1e-6)
    assert "alice" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert book.spent().epsilon == 1.0


def test_by_none_is_as_if_it_had_not_been_said():
    """Else a release for a public number of rows would come out of a session where it is secret."""
    session = seeded(adjacency=ut.ADD_REMOVE)
    made = session["age"].median(epsilon=1, by=None)
    assert made.privacy == session.spent == ut.Privacy(1, 0, ut.ADD_REMOVE)
    assert not made.privacy.adjacency.size_is_public


def test_what_cost_more_than_was_debited_is_withheld(monkeypatch):
    session = seeded()
    dear = ut.median(TABLE["age"], epsilon=2)
    monkeypatch.setattr(Request, "make", lambda self, source, entropy: dear)
    with pytest.raises(ut.UptackError, match="withheld"):
        session["age"].median(epsilon=1)


@pytest.mark.parametrize("missing", ["low", "high", 0, "drop"])
def test_regressions_ignore_missing_rows_whatever_stands_in_for_them_elsewhere(missing):
    assert seeded(missing=missing).regression("cost", "age", epsilon=5)


def test_a_wrong_adjacency_is_named():
    with pytest.raises(ut.InvalidArgument, match="adjacency"):
        seeded()["age"].median(epsilon=1, adjacency="add")


@pytest.mark.parametrize(
    ("statistic", "column", "options"),
    [
        ("histogram", "town", {"keys": ["a", "b"]}),
        ("histogram", "age", {"edges": [0, 40, 100]}),
        ("median", "age", {"by": "town", "groups": ["a", "b"]}),
        ("median", "age", {"by": ["town"], "groups": ["a", "b"]}),
    ],
)
def test_what_can_be_read_only_once_is_not_refused_after_the_debit(statistic, column, options):
    class Fleeting(list):
        """A list that is empty when it is read again."""

        def __iter__(self):
            yield from [self.pop(0) for _ in range(len(self))]

    def released(form):
        session = ut.open(TABLE, entropy=ut.SeededEntropy(1))
        given = {name: form(value) if isinstance(value, list) else value for name, value in options.items()}
        return session.run(Request(statistic, column, epsilon=2, **given)).to_dict()

    assert released(Fleeting) == released(list)
    if not isinstance(options.get("by"), list):
        assert released(iter) == released(list)


def test_a_request_does_not_change_with_the_list_that_it_was_made_of():
    levels = [0.25, 0.75]
    request = Request("quantile", "age", epsilon=1, p=levels)
    levels.append("a word")
    assert request.given["p"] == [0.25, 0.75]
    with pytest.raises(ut.errors.InvalidArgument):
        Request("quantile", "age", epsilon=1, p=itertools.count())


@pytest.mark.parametrize(
    ("statistic", "columns", "options"),
    [
        ("kde", ("cost",), {"bandwidth": 1.0}),
        ("hampel_regression", ("cost", "age"), {}),
        ("kernel_machine", ("cost", "age"), {"loss": "huber"}),
    ],
)
def test_a_delta_that_is_too_small_for_parts_of_it_is_refused_before_the_debit(statistic, columns, options):
    for small in ("1e-300", "1e-299", "9e-201"):
        session = ut.open(TABLE)
        with pytest.raises(ut.errors.InvalidArgument, match=r"delta must be 0, or a number of at least 1e-200"):
            session.run(Request(statistic, *columns, epsilon=3, delta=small, **options))
        assert session.spent.exact_epsilon == 0


def test_a_description_has_types_as_declared_and_short_budgets(tmp_path):
    day = np.array(["2024-01-01", "2024-06-01"] * 50, "datetime64[D]")
    ledger = ut.Ledger(tmp_path / "budget.db", epsilon=2)
    session = ut.open({"day": day, "at": day.astype("datetime64[s]"), "x": np.arange(100)}, ledger=ledger)
    ledger.debit(ut.Privacy("1/3"), what="another release")
    lines = [" ".join(line.split()) for line in session.describe().splitlines()]
    assert {"day date", "at datetime"} < set(lines)
    assert lines[-2:] == ["spent in this session: ε = 0.0 (substitute)", "left in the ledger: ε = 1.666 (substitute)"]
    assert "left: ε = 1.666 (" in ledger.table().text()


def test_an_error_about_a_column_names_it():
    session = ut.open({"married": np.arange(100) % 2, "name": np.array(["a", "b"] * 50)})
    said = r"^column 'married' must be a column of truth values.*1 for a column of 0 and 1"
    with pytest.raises(ut.InvalidArgument, match=said):
        session.proportion("married", epsilon=1)


def test_a_request_names_the_value_it_counts_and_its_formula():
    assert repr(ut.Request("proportion", "death", equals=1, epsilon=0.2)) == "proportion of death, equals=1, ε = 0.2"
    fit = ut.Request("linear_regression", formula="y ~ a + b", epsilon=1)
    assert repr(fit) == "linear_regression of y ~ a + b, ε = 1.0"
