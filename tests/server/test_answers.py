"""Answers on the wire: what comes back is what was sent, and a hostile text can only make a wrong value."""

import contextlib
import datetime as dt
import json
import pickle
import sys
from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from uptack import SeededEntropy
from uptack.registry import declared, find, in_tables
from uptack.samples import load
from uptack.server.service import storable
from uptack.session import Request
from uptack.table.unit import PrivacyUnit
from uptack.wire import answers

SEED = {"entropy": SeededEntropy(3)}


NAMES = (
    *("number", "vector", "groups", "histogram", "crosstab", "no reply", "correlation", "matrix", "fit", "curve"),
    *("ecdf", "synthetic", "mean", "chi-square"),
)


@pytest.fixture(scope="module")
def releases():
    table = load("clinic")
    age, wait, ward = (np.asarray(table[name]) for name in ("age", "wait_minutes", "ward"))
    session = ut.open({"age": age, "wait": wait, "ward": ward}, entropy=SeededEntropy(3))
    return {
        "number": session["wait"].median(epsilon=1, interval=0.95),
        "vector": session["wait"].quantile([0.25, 0.5, 0.75], epsilon=1),
        "groups": session["wait"].median(epsilon=2, delta=1e-6, by="ward"),
        "histogram": session.histogram("ward", epsilon=1, delta=1e-6),
        "crosstab": session.crosstab("ward", "age", epsilon=1, delta=1e-6),
        "no reply": ut.median(wait[:20], epsilon=0.1),
        "correlation": session.kendall_tau("age", "wait", epsilon=1),
        "matrix": session.correlation_matrix("age", "wait", epsilon=1),
        "fit": ut.linear_regression(age[:, None].astype(float), wait.clip(0, 200), epsilon=3, **SEED),
        "curve": session["age"].fourier_density(epsilon=1),
        "ecdf": session["age"].ecdf(epsilon=1),
        "synthetic": session.synthetic("age", "ward", epsilon=2, delta=1e-6),
        "mean": session["wait"].mean(epsilon=1),
        "chi-square": session.chi_square(
            "ward", "age", epsilon=1, levels={"ward": ["Surgery", "Medicine"], "age": [40, 50]}
        ),
    }


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_comes_back_as_it_was_sent(name, releases):
    sent = releases[name]
    text = answers.dumps(sent)
    back = answers.loads(text)
    assert answers.dumps(back) == text
    assert repr(back) == repr(sent)
    assert json.dumps(back.to_dict(), default=str) == json.dumps(sent.to_dict(), default=str)
    if hasattr(sent, "table"):
        assert back.table().html() == sent.table().html()
    if sent and sent.noise is not None:
        assert repr(back.interval(0.95)) == repr(sent.interval(0.95))


@pytest.mark.parametrize(
    "value",
    [
        (1, (2.5, [None, True])),
        {("a", 1): Fraction(1, 3), "b": frozenset({1, 2})},
        float("inf"),
        dt.datetime(2024, 1, 2, tzinfo=dt.UTC),
        dt.date(2024, 1, 2),
        dt.timedelta(days=2, microseconds=3),
        np.float64(0.1),
        np.datetime64("2024-01-02"),
        b"\x00\xff",
        10**50,
    ],
)
def test_values_come_back_with_their_types(value):
    back = answers.loads(answers.dumps(value))
    assert back == value
    assert type(back) is type(value)


def test_a_function_that_draws_more_noise_is_not_sent():
    made = ut.kde(np.arange(2000.0), epsilon=1, delta=1e-6)
    with pytest.raises(answers.NotOnWire):
        answers.dumps(made)


def instance(name, **state):
    return {
        "$": "instance",
        "class": name,
        "items": None,
        "of": {"$": "dict", "of": [[k, v] for k, v in state.items()]},
    }


@pytest.mark.parametrize(
    "written",
    [
        instance("os:system"),
        instance("subprocess:Popen", args="touch /nowhere"),
        instance("uptack.audit.planting:subprocess.Popen"),
        instance("uptack.wire.answers:importlib.import_module"),
        instance("uptack.wire.answers:json"),
        {"$": "name", "of": "builtins:eval"},
        {"$": "name", "of": "uptack.wire.answers:json.loads"},
        {"$": "name", "of": "uptack..os:system"},
        {"$": "array", "dtype": "object", "shape": [3], "of": [1]},
        {"$": "array", "dtype": "O", "shape": [1], "of": "AAAAAAAAAAA="},
        {"$": "fraction", "of": "1/0"},
        {"$": "fraction", "of": "1e999999999"},
        {"$": "name", "of": "uptack.__main__:run"},
        {"$": "name", "of": "uptack.ledger.ledger:Ledger"},
        {"$": "name", "of": "uptack.server.app:serve"},
        {"$": "name", "of": "uptack.session:open"},
        instance("uptack.client:RemoteSession", _connection=1),
        instance("uptack.server.config:DatasetConfig"),
        instance("uptack.noise:SystemEntropy"),
        instance("uptack.release:Advice", to_dict={"$": "name", "of": "float"}),
        instance("uptack.release:Advice", __class__={"$": "name", "of": "float"}),
        instance("uptack.release:Advice", share=1),  # an attribute that the class does not have
        instance("uptack.blocks.process_isolation:Sealed"),
        {"$": "name", "of": "uptack.blocks.process_isolation:_loaded"},
        {"$": "name", "of": "uptack.table.opening:open_table"},
        {"$": "member", "of": ["uptack.release:Release", "x"]},
        {"$": "nonsense", "of": 1},
        {"of": 1},
        {"$": "tuple", "of": None},
        {"$": "member", "of": []},
        {"$": "array", "dtype": "<f8", "shape": None, "of": ""},
        {"$": "array", "dtype": "(1,2,i4", "shape": [1], "of": ""},
    ],
)
def test_a_hostile_text_is_refused(written):
    with pytest.raises(answers.NotOnWire):
        answers.loads(json.dumps(written))


def test_nothing_is_imported_but_modules_of_uptack():
    for name in ("this:s", "uptack_of_somebody:Release", "uptack:this", "uptack.this:s"):
        with pytest.raises(answers.NotOnWire):
            answers.loads(json.dumps(instance(name)))
    assert "this" not in sys.modules


class Payload:
    """What runs a statement where it is unpickled."""

    def __reduce__(self):
        return exec, ("raise SystemExit('code of somebody else ran')",)


def test_an_answer_runs_nothing_where_its_interval_is_worked_out():
    """The noise of this one calls pairs.share(pairs.sizes), and both were the sender's to choose."""
    pairs = instance(
        "uptack.release:Advice",
        secret=False,
        sizes=answers.encode(pickle.dumps(Payload())),
        share={"$": "name", "of": "uptack.blocks.process_isolation:_loaded"},
    )
    noise = instance("uptack.ranks.superiority:SuperiorityNoise", pairs=pairs, transform={"$": "name", "of": "float"})
    with pytest.raises(answers.NotOnWire):
        answers.loads(json.dumps(noise)).around(0.5, 0.95)


COLUMNS = (["x"], ["x", "k"], ["b", "x"], ["x", "b"], ["k", "b"], ["b"], ["t"], ["x", "y", "z"], [])


@pytest.fixture(scope="module")
def table():
    rng, n = np.random.default_rng(0), 2000
    numbers = {name: rng.normal(size=n) for name in "xyz"}
    whole = {"k": rng.integers(0, 3, n), "b": rng.random(n) < 0.5, "t": rng.choice(["a", "b"], n)}
    return ut.open({**numbers, **whole, "d": np.datetime64("2024-01-01", "us") + rng.integers(0, 10**9, n)}, **SEED)


@pytest.mark.parametrize("name", [name for name, one in declared().items() if in_tables(one)])
def test_the_answer_of_every_function_comes_back(name, table):
    """A server debits before it writes the answer: one that can't be sent would be lost."""
    for example in find(name, in_tables).examples:
        options = {key: value for key, value in example.items() if (name, key) != ("kde", "bandwidth")}
        for columns in COLUMNS:
            with contextlib.suppress(ut.UptackError):  # of columns that it does not take
                made = storable(table.run(Request(name, *columns, **{"epsilon": 50, **options})))
                if made:
                    break
        else:
            pytest.fail("no answer")
        text = answers.dumps(made)
        assert answers.dumps(answers.loads(text)) == text


def test_what_was_asked_of_a_value_is_not_sent():
    """A data set's public side is one value for everybody, and what it has cached tells what others do with it."""
    unit = PrivacyUnit()
    before = answers.dumps(unit)
    assert (unit.step, answers.dumps(unit)) == (1, before)
    with pytest.raises(answers.NotOnWire):
        answers.loads(json.dumps(instance("uptack.table.unit:PrivacyUnit", step=2)))


def test_deep_texts_are_refused():
    for text in ("[" * 100_000, '{"$":"tuple","of":[' * 500 + "1" + "]}" * 500):
        with pytest.raises(answers.NotOnWire):
            answers.loads(text)
