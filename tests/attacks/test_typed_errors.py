"""Wrong arguments are errors of ours that name the argument, before anything is read or debited."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import uptack as ut
from uptack.audit.catalogue import catalogue
from uptack.audit.replay import TapeEntropy
from uptack.errors import InvalidArgument, UptackError
from uptack.registry import declared
from uptack.release import NoReply, Release

ROWS = pd.DataFrame(
    {"x": np.arange(600.0), "i": np.arange(600) % 7, "g": np.array(["a", "b", "c"])[np.arange(600) % 3]}
)
WORDS = np.array(["drop", "drop"])


@pytest.mark.parametrize("said", [3.5, [("x", 1)], 3, {"x"}, ROWS])
def test_conditions_that_are_no_mapping_are_refused_by_name(said):
    with pytest.raises(InvalidArgument, match=r"^where must be conditions by the names of columns"):
        ut.open(ROWS).where(said)


def test_a_duration_is_no_epsilon(tmp_path):
    ledger = ut.Ledger(tmp_path / "budget.db", 5)
    for ask in (lambda e: ut.median(ROWS.x, epsilon=e), lambda e: ut.open(ROWS, ledger=ledger)["x"].median(epsilon=e)):
        with pytest.raises(InvalidArgument, match=r"^epsilon must be a"):
            ask(np.timedelta64(1, "s"))
    with pytest.raises(InvalidArgument, match=r"^rows_per_person must be an integer"):
        ut.median(ROWS.x, epsilon=1, rows_per_person=np.timedelta64(1, "s"))
    assert ledger.spent().exact_epsilon == 0


ARRAYS = [
    ("median", ("x",), {}, "delta"),
    ("median", ("x",), {}, "missing"),
    ("median", ("x",), {}, "method"),
    ("mean", ("x",), {}, "missing"),
    ("histogram", ("x",), {"edges": [0, 300, 600]}, "every"),
    ("histogram", ("x",), {"edges": [0, 300, 600]}, "outside"),
    ("fourier_density", ("x",), {}, "noise"),
    ("mann_whitney", ("x", "g"), {"groups": ("a", "b")}, "alternative"),
    ("superiority", ("x", "g"), {"groups": ("a", "b")}, "missing"),
]


@pytest.mark.parametrize(
    "value", [WORDS, WORDS.tolist(), pd.Series(WORDS), {"drop": 1}], ids=lambda v: type(v).__name__
)
@pytest.mark.parametrize(("name", "columns", "options", "option"), ARRAYS)
def test_an_array_in_place_of_one_value_is_refused_by_name(name, columns, options, option, value, tmp_path):
    with pytest.raises(InvalidArgument, match=f"^{option} must be "):
        getattr(ut, name)(*(ROWS[column] for column in columns), epsilon=1, **options, **{option: value})
    ledger = ut.Ledger(tmp_path / "budget.db", 5)
    session = ut.open(ROWS, ledger=ledger)
    with pytest.raises(InvalidArgument, match=f"^{option} must be "):
        (
            getattr(session[columns[0]], name)
            if len(columns) == 1
            else lambda **k: getattr(session, name)(*columns, **k)
        )(epsilon=1, **options, **{option: value})
    assert ledger.spent().exact_epsilon == 0


def test_an_array_of_weights_is_refused_by_name():
    with pytest.raises(InvalidArgument, match=r"^weights must be 'people' or 'rows' or 'any', got ndarray"):
        ut.median(ROWS.x, person=ROWS.i, weights=WORDS, epsilon=1)


def test_a_session_refuses_an_array_of_missing_by_name():
    with pytest.raises(
        InvalidArgument, match=r"^missing must be 'error', 'drop', 'low', 'high' or a number, got ndarray"
    ):
        ut.open(ROWS, missing=WORDS)


def test_databases_that_cannot_be_reached_are_refused_without_their_password():
    with pytest.raises(InvalidArgument, match=r"^data must be the URL of a database that can be reached") as caught:
        ut.open("postgres://me:secret@127.0.0.1:1/base::t")
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None or "secret" not in str(caught.value.__context__)
    for url in ("foo://host/base::t", "util://host/base::t"):
        with pytest.raises(InvalidArgument, match=r"^data must be the URL of an engine that ibis supports"):
            ut.open(url)


def test_a_package_that_is_missing_is_named(monkeypatch):
    import ibis

    def connect(url):
        raise ImportError("no such driver")

    monkeypatch.setattr(ibis, "connect", connect)
    with pytest.raises(UptackError, match=r'pip install "ibis-framework\[mysql\]"'):
        ut.open("mysql://host/base::t")


@pytest.mark.parametrize("ending", ["arrow", "feather", "parquet", "duckdb"])
def test_files_of_another_format_are_refused_by_name(ending, tmp_path):
    place = tmp_path / f"rows.{ending}"
    with pa.ipc.new_stream(str(place), pa.schema([("x", pa.float64())])) as stream:
        stream.write_table(pa.table({"x": [1.0, 2.0]}))
    with pytest.raises(InvalidArgument, match=r"^data must be a") as caught:
        ut.open(place)
    assert ("stream of Arrow" in str(caught.value)) == (ending in ("arrow", "feather"))


@pytest.mark.parametrize("length", [10, 500, 980, 5000])
def test_a_ledger_keeps_guessed_types_of_columns_with_long_names(length, tmp_path):
    name, place = "ä" * length, tmp_path / "rows.csv"
    place.write_text(f"{name},b\n1,2\n3,4\n", encoding="utf-8")
    ledger = ut.Ledger(tmp_path / "budget.db", 5)
    assert ut.open(place, ledger=ledger, types="guess").source.kinds[name] == "integer"
    place.write_text(f"{name},b\n1,2\nx,4\n", encoding="utf-8")
    assert ut.open(place, ledger=ledger, types="guess").source.kinds[name] == "integer"


# ------------------------------------------------------------------------------------------------------------- pickling

HELD = {"uptack.kde", "uptack.kernels.release_function"}
"""Their values hold the data, and say themselves that they are saved in another way."""
ASKED = [one for name, one in catalogue().items() if not name.startswith("session: ") and one.function not in HELD]
FUNCTIONS = sorted({one.function for one in ASKED if not one.function.startswith("uptack.session")})


@pytest.mark.parametrize("function", FUNCTIONS)
def test_releases_can_be_pickled(function):
    for one in [other for other in ASKED if other.function == function and "workers" not in other.options][:4]:
        rows, _ = next(iter(one.pairs().values()))
        try:
            made = one.call(rows, TapeEntropy(1))
        except UptackError:
            continue
        if isinstance(made, Release | NoReply):
            again = pickle.loads(pickle.dumps(made))
            assert repr(again) == repr(made)


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("name", ["superiority", "rank_biserial"])
def test_a_share_of_pairs_keeps_its_interval_when_pickled(name, public):
    options = {"groups": ("a", "b"), "epsilon": 2, "public_labels": public, "entropy": ut.SeededEntropy(1)}
    made = getattr(ut, name)(ROWS.x, ROWS.g, **options)
    assert pickle.loads(pickle.dumps(made)).interval(0.9) == made.interval(0.9)


def test_every_declared_function_is_pickled_or_named():
    assert {made.path for made in declared().values() if made.path.startswith("uptack.")} <= {
        *HELD, *FUNCTIONS
    }  # fmt: skip


def test_numbers_of_rows_and_kernels_can_be_pickled():
    found = ut.median(np.arange(3000.0), epsilon=1, adjacency=ut.ADD_REMOVE, entropy=ut.SeededEntropy(1))
    assert str(pickle.loads(pickle.dumps(found)).rows) == str(found.rows)
    kernel = ut.kernels.GaussianKernel(1.0)
    assert pickle.loads(pickle.dumps(kernel)) == kernel
