"""Threads: concurrent releases draw from the right law, and what threads share stays right."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx

import uptack as ut
from tests.helpers import FALSE_ALARM, law_p_value
from uptack import exact, mechanisms
from uptack.densities.caratheodory import CaratheodoryNoise
from uptack.exact import Real, exp_minus
from uptack.noise import (
    BernoulliExp,
    Geometric,
    IntegerGaussian,
    IntegerLaplace,
    SeededEntropy,
    coins,
    integer_laws,
)
from uptack.noise.coins import Coin
from uptack.privacy import SUBSTITUTE, gaussian_noise_multiplier

THREADS = 8
PLACES = 12


@pytest.fixture(autouse=True)
def short_turns():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], object]) -> list[object]:
    """work(0), ..., work(7) in eight threads that start at once."""
    start, found = threading.Barrier(THREADS), [None] * THREADS

    def run(i: int) -> None:
        start.wait()
        try:
            found[i] = work(i)
        except BaseException as error:
            found[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in found:
        if isinstance(result, BaseException):
            raise result
    return found


class RacyCoin(Coin):
    """A coin as it was: two threads that see the same length append one digit twice.

    The pause stands for a slow machine: without it the same happens, but not in every run of a short test.
    """

    def __init__(self, heads: Real) -> None:
        super().__init__(heads)
        self._list: list[int] = []

    def digit(self, place: int) -> int:
        while len(self._list) <= place:
            digit = self.heads.floor(8 * len(self._list) + 8) & 255
            time.sleep(1e-4)
            self._list.append(digit)
        return self._list[place]


def forget() -> None:
    """Fresh coins for everybody, of which no digit is known."""
    for cache in (
        integer_laws._digit_coins,
        integer_laws._nonzero_coin,
        coins.exp_coin,
        integer_laws._rational_coin,
    ):
        cache.cache_clear()
    for scale in (Fraction(7, 2), Fraction(5), Fraction(6)):
        integer_laws._nonzero_coin(scale)
        coins.exp_coin((1 << len(integer_laws._digit_coins(scale))) / scale)
    coins.exp_coin(Fraction("5.548"))


@pytest.fixture
def fresh_coins():
    forget()
    yield
    forget()


@pytest.fixture
def racy_coins(monkeypatch, fresh_coins):
    monkeypatch.setattr(coins, "Coin", RacyCoin)
    monkeypatch.setattr(integer_laws, "Coin", RacyCoin)


# ------------------------------------------------------------------------------------------------------------- digits


def spoilt(kind: type[Coin], most: int) -> int:
    """How many coins have wrong digits after eight threads asked for them; 1 is enough to stop."""
    for k in range(1, most + 1):
        heads = exp_minus(Fraction(k, 7))
        coin = kind(heads)
        together(lambda i, coin=coin: [coin.digit(place) for place in range(PLACES)])
        right = heads.floor(8 * PLACES).to_bytes(PLACES, "big")
        if bytes(coin.digit(place) for place in range(PLACES)) != right:
            return 1
    return 0


def test_a_coins_digits_stay_right():
    assert spoilt(Coin, 40) == 0
    assert spoilt(RacyCoin, 100) == 1


# ---------------------------------------------------------------------------------------------------------------- laws


LAWS = [BernoulliExp("5.548"), IntegerLaplace("7/2"), Geometric(5), IntegerGaussian(30)]
"""The first has the digits 0, 255 to base 256: with 0 twice it is next to never 1."""


def p_values(rounds: int = 30, size: int = 2000) -> list[float]:
    """For each law, draws of eight threads that start at once and share its coins, fresh ones in each round."""
    draws: list[list[np.ndarray]] = [[] for _ in LAWS]
    for r in range(rounds):
        forget()
        made = together(lambda i, r=r: [law.draw(size, SeededEntropy(100 * r + i)) for law in LAWS])
        for k, _ in enumerate(LAWS):
            draws[k] += [each[k] for each in made]
    return [law_p_value(np.concatenate(d), law) for d, law in zip(draws, LAWS, strict=True)]


def test_laws_hold_under_threads(fresh_coins):
    assert min(p_values()) > FALSE_ALARM


def test_the_test_sees_a_racy_coin(racy_coins):
    assert min(p_values()) < FALSE_ALARM


# ------------------------------------------------------------------------------------------------------------ releases


ROWS = np.random.default_rng(1).normal(size=3000)
RELEASES = {
    "median": lambda e: ut.median(ROWS, epsilon=1, entropy=e).value,
    "quantile": lambda e: ut.quantile(ROWS, [0.25, 0.5, 0.75], epsilon=1, entropy=e).value,
    "iqr": lambda e: ut.iqr(ROWS, epsilon=1, delta=1e-6, method="ptr", entropy=e).value,
    "mean": lambda e: ut.mean(ROWS, epsilon=1, entropy=e).value,
    "laplace": lambda e: mechanisms.laplace(ROWS[:50], sensitivity=1, epsilon="1/3", entropy=e).value,
    "gaussian": lambda e: mechanisms.gaussian(ROWS[:50], sensitivity=1, epsilon=1, delta=1e-6, entropy=e).value,
    "gamma": lambda e: mechanisms.gamma(ROWS[:5], sensitivity=1, epsilon=1, entropy=e).value,
    "exponential": lambda e: mechanisms.exponential(range(9), range(9), sensitivity=1, epsilon=1, entropy=e).value,
    "count": lambda e: ut.count(ROWS > 0, epsilon="1/7", entropy=e).value,
    "histogram": lambda e: ut.histogram(ROWS, edges=[-1, 0, 1], epsilon=1, entropy=e).value.counts,
    "kde": lambda e: ut.kde(ROWS, epsilon=1, delta=1e-6, bandwidth=0.5, points=[0.0], entropy=e).value.answers,
    "moments": lambda e: CaratheodoryNoise(40, Fraction(1), SUBSTITUTE).draw(80, e),
    "few moments": lambda e: CaratheodoryNoise(3, Fraction(1), SUBSTITUTE).draw(6, e),
}


def test_releases_are_the_same_alone_and_among_others(fresh_coins):
    """With randomness of its own a release is a function: what other threads do must not change it."""
    names = list(RELEASES)
    alone = {name: RELEASES[name](SeededEntropy(5)) for name in names}
    forget()
    for turn in range(2):
        order = [names[(turn + 3 * i) % len(names) :] + names[: (turn + 3 * i) % len(names)] for i in range(THREADS)]
        made = together(lambda i, order=order: {name: RELEASES[name](SeededEntropy(5)) for name in order[i]})
        for each in made:
            for name in names:
                assert np.array_equal(each[name], alone[name]), name


def test_a_shared_seeded_source_gives_out_no_byte_twice():
    alone, shared = SeededEntropy(9), SeededEntropy(9)
    chunks = together(lambda i: [shared.bytes(16) for _ in range(500)])
    assert sorted(c for each in chunks for c in each) == sorted(alone.bytes(16) for _ in range(THREADS * 500))


def test_a_released_function_is_asked_and_read_at_once():
    made = ut.kde(ROWS, epsilon=1, delta=1e-6, bandwidth=0.5, entropy=SeededEntropy(2)).value

    def asked(i: int) -> None:
        for k in range(100):
            if i == 0:
                made.at([k / 10, k / 20 + 9])
            else:
                made.predicted([0.0, 1.0])
                shown = made.to_dict()
                assert len(shown["points"]) == len(shown["answers"])

    together(asked)
    assert np.array_equal(made.at(made.points), made.answers)


# ----------------------------------------------------------------------------------------------------------- precision


def precisions(tries: int) -> int:
    """How many rounds leave another working precision behind; 1 is enough to stop."""
    before = ctx.prec
    for k in range(1, tries + 1):
        right = exp_minus(Fraction(1, k)).floor(200)
        made = together(lambda i, k=k: [exp_minus(Fraction(1, k)).floor(200) for _ in range(20)])
        assert all(floor == right for each in made for floor in each)
        if ctx.prec != before:
            ctx.prec = before
            return 1
    return 0


def test_the_working_precision_is_left_as_it_was(monkeypatch):
    assert precisions(20) == 0
    monkeypatch.setattr(exact, "working", ctx.workprec)
    assert precisions(1000) == 1


def test_searches_at_many_precisions_agree():
    asked = [(Fraction(1, k), Fraction(1, 10**k)) for k in range(1, 7)]
    alone = [gaussian_noise_multiplier(*each) for each in asked]
    made = together(lambda i: [gaussian_noise_multiplier(*each) for each in asked])
    assert all(each == alone for each in made)


FORKS = """
import os, threading, time
from fractions import Fraction
from uptack.exact import exp_minus, working
stop = threading.Event()
def busy():
    while not stop.is_set():
        with working(100):
            time.sleep(0.002)
thread = threading.Thread(target=busy)
thread.start()
for k in range(1, 11):
    child = os.fork()
    if child == 0:
        os._exit(0 if exp_minus(Fraction(1, k)).floor(64) > 0 else 1)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
thread.join()
print("done")
"""


@pytest.mark.skipif(not hasattr(sys, "getswitchinterval") or sys.platform == "win32", reason="there is no fork")
def test_a_forked_child_does_not_wait_for_a_thread_it_lacks():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], capture_output=True, text=True, timeout=600)
    assert done.stdout == "done\n", done.stderr
