"""Releases on hostile neighbours with the same randomness: nothing but the value may tell them apart."""

import gc
import logging
import warnings
from decimal import Decimal

import numpy as np
import pytest

import uptack as ut
from uptack.audit import option_coverage
from uptack.audit.patches import patched, resolve
from uptack.audit.replay import Replay, Shown, TapeEntropy, differences, observe, replay
from uptack.audit.replay_request import Ask
from uptack.audit.replay_requests import asks
from uptack.registry import declared

EVERY = asks()


IN_SESSIONS = [ask for ask in EVERY if ask.function.startswith("uptack.session")]
HERE = [ask for ask in EVERY if not ask.function.startswith("uptack.session")][::4] + IN_SESSIONS[::12]
"""A quarter of what is asked directly, a twelfth of what sessions ask of the same functions: `make audit` has all."""


@pytest.mark.parametrize("ask", HERE, ids=lambda ask: ask.name)
def test_only_the_value_tells_neighbours_apart(ask):
    found = {case.name: replay(case) for case in ask.replays(every=False)}
    broken = {name: what for name, what in found.items() if what}
    assert not broken


def test_every_public_release_function_and_option_has_a_replay():
    assert option_coverage.uncovered(EVERY) == []


def test_what_is_not_covered_is_named():
    functions = {"uptack.median": {"interval", "colour"}, "uptack.mode": set()}
    assert option_coverage.uncovered(EVERY, functions) == ["uptack.median(colour=)", "uptack.mode"]
    rest = [ask for ask in EVERY if "standard_errors" not in ask.options]
    assert "uptack.shortcut_regression(standard_errors=)" in option_coverage.uncovered(rest)
    named = set(option_coverage.release_functions())
    for path in (
        "papers.A_samp",
        "papers.R_H",
        "kernels.release_function",
        "kernels.release_spectral",
        "per_group",
    ):
        assert f"uptack.{path}" in named
    assert {"uptack.random_dp.sensitivity_analysis", "uptack.session.SessionColumn.median"} <= named


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


# ------------------------------------------------------------------------------------------------------------ observing


def seen(f):
    return Replay("case", lambda data, _: f(data), (0, 1))


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
    "a log line": (lambda data: logging.getLogger("uptack.x").debug("%s", data), "logged"),
    "output": (lambda data: print(data), "printed"),
    "a type": (lambda data: answer(1 if data else 1.5), "form"),
    "a dtype": (lambda data: answer(np.zeros(2, "f4" if data else "f8")), "form"),
    "a shape": (lambda data: answer(np.zeros(2 + data)), "form"),
    "a label": (lambda data: answer({"a": 1} if data else {"b": 1}), "labels"),
    "an order": (lambda data: answer({"a": 1, "b": 1} if data else {"b": 1, "a": 1}), "labels"),
    "a reply": (lambda data: answer(1) if data else ut.median([1.0], epsilon=1), "a reply"),
    "a look": (lambda data: answer(Decimal("1.0") if data else Decimal("1.00")), "equal values"),
    "a session": (lambda data: Shown(lambda: None, lambda: data), "shown"),
}


@pytest.mark.parametrize("name", LEAKS)
def test_whatever_is_seen_is_found(name):
    leak, sign = LEAKS[name]
    assert any(sign in text for text in replay(seen(leak)))


def test_what_older_objects_say_when_they_go_is_nothing_that_the_call_said(caplog):
    class Loud:
        def __init__(self):
            self.me = self  # a cycle: it goes when garbage is collected

        def __del__(self):
            logging.getLogger("uptack").warning("gone")

    Loud()
    assert observe(lambda: [[] for _ in range(100_000)]).logged == ()  # enough to collect the young and the old
    gc.collect()
    assert caplog.messages == ["gone"]  # it was there
    assert gc.isenabled()


def test_what_other_libraries_of_the_process_log_is_not_heard():
    assert observe(lambda: logging.getLogger("py4j.clientserver").error("closing down")).logged == ()
    assert observe(lambda: logging.getLogger("uptack").debug("ours")).logged == ("DEBUG uptack: ours",)
    assert logging.getLogger("uptack").level == logging.NOTSET


def test_the_value_alone_is_no_difference():
    assert replay(seen(lambda data: answer(float(data)))) == []
    assert replay(seen(lambda data: answer(np.arange(3.0) + data))) == []


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
    assert callable(resolve("uptack.noise.coins.Coin.digit")[2])
    with pytest.raises(ModuleNotFoundError):
        resolve("nowhere.at.all")
    with pytest.raises(AttributeError):
        resolve("uptack.noise.coins.nothing")  # not None: that is bound to many names


def test_an_ask_by_its_options():
    ask = Ask("uptack.median", "numbers", {"epsilon": 20})
    assert ask.name == "uptack.median(epsilon=20)"
    assert len(ask.pairs(every=False)) < len(ask.pairs())
