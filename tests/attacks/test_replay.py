"""Releases on hostile neighbours with the same randomness: nothing but the value may tell them apart."""

import gc
import itertools
import logging
import warnings
from decimal import Decimal

import numpy as np
import pytest

import uptack as ut
from uptack.audit import Scenario, price, replay
from uptack.audit.catalogue import catalogue, release_functions, scenarios_of, uncovered
from uptack.audit.hostile_tables import RETYPED
from uptack.audit.planting import owner_of, patched
from uptack.audit.price import CoupledTape
from uptack.audit.replay import TapeEntropy, differences, observe
from uptack.audit.scenario import SessionCall
from uptack.registry import declared

SOME = list(catalogue().values())[::29]
"""A part of the catalogue, on two pairs each: `make audit` has all."""


@pytest.mark.parametrize("scenario", SOME, ids=lambda one: one.name)
def test_only_the_value_tells_neighbours_apart(scenario):
    for name, pair in itertools.islice(scenario.pairs().items(), 2):
        assert replay(scenario, pair) == [], name
        if scenario.priced and name not in RETYPED:
            assert price(scenario, pair) == [], name


def test_every_release_function_and_option_has_a_scenario():
    ours = {path: options for path, options in release_functions().items() if path.startswith("uptack.")}
    assert uncovered(catalogue().values(), ours) == []  # other tests declare functions of their own


def test_what_is_not_covered_is_named():
    every = list(catalogue().values())
    functions = {"uptack.median": {"interval", "colour"}, "uptack.mode": set()}
    assert uncovered(every, functions) == ["uptack.median(colour=)", "uptack.mode"]
    rest = [one for one in every if "blocks" not in one.options]
    assert "uptack.shortcut_regression(blocks=)" in uncovered(rest)
    named = set(release_functions())
    for path in ("papers.A_samp", "papers.R_H", "kernels.release_function", "per_group", "session.open", "report"):
        assert f"uptack.{path}" in named


def test_a_function_is_audited_by_being_declared():
    """What `docs/adding-a-statistic.md` promises: rows, people, groups and sessions follow from the declaration."""
    names = " ".join(one.name for one in scenarios_of(declared()["trimean"]))
    for text in ("on numbers", "on containers", "person='ids'", "by=True", "session: ", "per_person='mean'", "'ptr'"):
        assert text in names


def test_a_hole_that_only_the_declaration_shows():
    """weights="any" counted every row of a person in full, in statistics of a column."""
    rows, ids = np.arange(9.0), np.arange(9) // 3
    with pytest.raises(ut.InvalidArgument, match="weights must be 'people' or 'rows'"):
        ut.median(rows, epsilon=1, person=ids, weights="any")
    with pytest.raises(ut.InvalidArgument, match="weights must be 'people' or 'rows'"):
        ut.open({"x": rows, "id": ids}, person="id")["x"].mean(epsilon=1, weights="any")


# ------------------------------------------------------------------------------------------------------------ the tape


def test_a_tape_says_the_same_whatever_was_asked_before():
    one, other = TapeEntropy(3), TapeEntropy(3)
    one.bytes(5)
    other.integers(10, 7)
    assert one.bytes(9) == other.bytes(9)
    assert one.integers(1 << 40, 9)[:4].tolist() == other.integers(1 << 40, 4).tolist()
    assert one.below(6) == other.below(6) < 6
    assert TapeEntropy(3).bytes(9) != TapeEntropy(4).bytes(9)


def test_a_tape_gives_numbers_of_their_laws():
    tape = TapeEntropy(1)
    drawn = np.array([tape.below(6) for _ in range(6000)])
    assert np.abs(np.bincount(drawn, minlength=6) - 1000).max() < 6 * np.sqrt(1000)


def test_a_coupled_tape_gives_common_rows_the_same_digits():
    tape = CoupledTape(1)
    first = tape.digits(1 << 40, np.array([5, 7, 5, 5]))
    again = tape.digits(1 << 40, np.array([5, 7]))
    tape.rewind()
    fewer = tape.digits(1 << 40, np.array([5, 5, 7]))
    assert fewer.tolist() == [first[0], first[2], first[1]]
    assert set(again.tolist()).isdisjoint(first.tolist())


# ------------------------------------------------------------------------------------------------------------ observing


def seen(f):
    return Scenario("case", lambda data, _: f(data), dict), (0, 1)


def answer(value):
    made = ut.count(5, epsilon=1, entropy=TapeEntropy(1))
    return ut.Release(value, made.privacy, made.mechanism, made.loss)


def warn(data):
    if data:
        warnings.warn("one", RuntimeWarning, stacklevel=2)


def fail(data):
    if data:
        raise ut.InvalidArgument("x", "this", "that")


def chain(data):
    try:
        raise KeyError("a row")
    except KeyError:
        raise ut.UptackError("no") from None


LEAKS = {
    "a warning": (warn, "warned"),
    "a warning of NumPy": (lambda data: np.float64(1e308) * (10 if data else 1), "warned"),
    "an error": (fail, "error"),
    "an error behind": (chain, "an error behind the error: KeyError: 'a row'"),
    "an error of another library": (lambda data: 1 // 0, "not ours"),
    "an exit": (lambda data: exit() if data else None, "error"),
    "a log line": (lambda data: logging.getLogger("uptack.x").info("%s", data), "logged"),
    "output": (lambda data: print(data), "printed"),
    "a type": (lambda data: answer(1 if data else 1.5), "form"),
    "a dtype": (lambda data: answer(np.zeros(2, "f4" if data else "f8")), "form"),
    "a shape": (lambda data: answer(np.zeros(2 + data)), "form"),
    "a label": (lambda data: answer({"a": 1} if data else {"b": 1}), "labels"),
    "an order": (lambda data: answer({"a": 1, "b": 1} if data else {"b": 1, "a": 1}), "labels"),
    "a reply": (lambda data: answer(1) if data else ut.median([1.0], epsilon=1), "a reply"),
    "a look": (lambda data: answer(Decimal("1.0") if data else Decimal("1.00")), "equal values"),
    "a session": (lambda data: SessionCall(lambda: None, lambda: data), "session"),
}


@pytest.mark.parametrize("name", LEAKS)
def test_whatever_is_seen_is_found(name):
    leak, sign = LEAKS[name]
    assert any(sign in text for text in replay(*seen(leak)))


def test_what_older_objects_say_when_they_go_is_nothing_that_the_call_said(caplog):
    class Loud:
        def __init__(self):
            self.me = self  # a cycle: it goes when garbage is collected

        def __del__(self):
            logging.getLogger("uptack.x").warning("gone")

    Loud()
    assert observe(lambda: [[] for _ in range(100_000)]).logged == ()  # enough to collect the young and the old
    gc.collect()
    assert caplog.messages == ["gone"]  # it was there
    assert gc.isenabled()


def test_what_other_libraries_log_is_nothing_that_the_call_said():
    assert replay(*seen(lambda data: logging.getLogger("py4j").warning("%s", data))) == []


def test_the_value_alone_is_no_difference():
    assert replay(*seen(lambda data: answer(float(data)))) == []
    assert replay(*seen(lambda data: answer(np.arange(3.0) + data))) == []


def test_what_is_part_of_the_value_may_differ():
    one, other = (observe(lambda d=d: answer({d: 1})) for d in ("a", "b"))
    assert differences(one, other)
    assert differences(one, other, frozenset({"labels"})) == []
    zero, minus = (observe(lambda d=d: answer({d: 1})) for d in (Decimal("1.0"), Decimal("1.00")))
    assert differences(zero, minus, frozenset({"labels"}))  # equal ones must look alike all the same


# ------------------------------------------------------------------------------------------------------------- patching


def test_a_patch_is_everywhere_and_goes_away():
    original = ut.median
    with patched("uptack.statistics.quantiles.median", lambda _: len):
        assert ut.median is len
        assert ut.statistics.median is len
        assert declared()["median"].public is original  # frozen: sessions keep what they have
    assert ut.median is ut.statistics.median is original
    with patched("uptack.statistics.quantiles.median", lambda _: lambda: None):
        del ut.median
        assert ut.median is not original  # loaded while it is patched
    assert ut.median is original
    mean = ut.mean
    with patched("uptack.statistics.quantiles.median", lambda _: mean):
        assert ut.median is mean
    assert (ut.median, ut.mean) == (original, mean)
    with pytest.raises(RuntimeError), patched("uptack.noise.coins.Coin.digit", lambda _: None):
        raise RuntimeError
    owner, name = owner_of("uptack.noise.coins.Coin.digit")
    assert callable(getattr(owner, name))
    with pytest.raises(ModuleNotFoundError):
        owner_of("nowhere.at.all")
    with pytest.raises(AttributeError), patched("uptack.noise.coins.nothing", lambda _: None):
        pass  # not None: that is bound to many names
