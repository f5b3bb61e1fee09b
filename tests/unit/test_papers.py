"""The papers' algorithms under their own names: costs, answers, edges, and misuse."""

import math
from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from tests.helpers import CountingEntropy
from uptack.mechanisms.ptr import Level, log_width
from uptack.noise import IntegerLaplace
from uptack.papers import TM, M, S, Scale
from uptack.privacy import Privacy, cost

N = 20_000
NORMAL = np.random.default_rng(5).normal(size=N)
E6 = {"delta": 1e-6}
CALLS = {
    "S": lambda D, n=None, eps=1, **o: S(D, len(D) if n is None else n, eps, **o),
    "M": lambda D, n=None, eps=1, **o: M(D, len(D) if n is None else n, eps, **o),
    "TM": lambda D, n=None, eps=1, **o: TM(
        D, len(D) if n is None else n, eps, o.pop("alpha", 0.2), o.pop("kappa", 0.5), **o
    ),
    "Scale": lambda D, n=None, eps=1, **o: Scale(D, eps, o.pop("delta", 1e-6), **o),
}


def printed(eps, n):
    return Level.printed(Fraction(eps), n).delta


# ---------------------------------------------------------------------------------------------------------- the costs


@pytest.mark.parametrize("eps", [1, Fraction(1, 2)])
def test_costs_are_the_repaired_ones(eps):
    e, d = {"entropy": ut.SeededEntropy(3)}, printed(eps, N)
    assert S(NORMAL, N, eps, **e).privacy == Privacy(2 * eps, 2 * d)
    assert M(NORMAL, N, eps, **e).privacy == Privacy(4 * eps, 4 * d)
    assert M(NORMAL, N, eps, 1.3, **e).privacy == Privacy(2 * eps, 2 * d)
    assert S(NORMAL, N, eps, **E6, **e).privacy == Privacy(2 * eps, 2e-6)
    assert M(NORMAL, N, eps, **E6, **e).privacy == Privacy(4 * eps, 4e-6)
    assert M(NORMAL, N, eps, 0, **E6, **e).privacy == Privacy(2 * eps, 2e-6)
    assert TM(NORMAL, N, eps, 0.2, None, **E6, **e).privacy == Privacy(3 * eps, 3e-6)
    assert Scale(NORMAL, eps, 1e-6, **e).privacy == Privacy(2 * eps, 1e-6)


def test_the_failure_of_the_trimmed_mean_is_the_chance_of_a_scale_that_is_too_small():
    for eps, kappa in ((1, 0.3), (0.5, 0.5)):
        r = TM(NORMAL, N, eps, 0.2, kappa, entropy=ut.SeededEntropy(1))
        failure = r.privacy.delta - 2 * float(printed(Fraction(str(eps)), N))
        assert r.privacy.exact_epsilon == 3 * Fraction(str(eps))
        assert failure == pytest.approx(0.5 * math.exp(-eps * kappa * math.log(N) / log_width(N)), rel=1e-3)


def test_the_printed_threshold_gives_the_delta_of_its_exact_tail():
    noise = IntegerLaplace(1)
    for n in (3, 100, N):
        t = math.floor(math.log(n) ** 2) + 1
        assert noise.exact_tail(t) <= printed(1, n)
        assert float(printed(1, n)) == pytest.approx(noise.tail(t))


@pytest.mark.parametrize("name", CALLS)
def test_prices_come_from_the_loss_tree_and_seeds_are_stamped(name):
    for D in (NORMAL, NORMAL[:40]):
        r = CALLS[name](D, entropy=ut.SeededEntropy(2))
        assert r.privacy == cost(r.loss)
        assert not r.private
        assert "NOT PRIVATE" in repr(r) or not r
        assert CALLS[name](D).private


@pytest.mark.parametrize("name", ["M", "TM"])
def test_no_scale_no_answer_at_the_cost_of_the_scale(name):
    """Two rows more at 1 take the range from 0 to 1, and S says ⊥."""
    torn = np.r_[np.zeros(76), np.ones(24)]
    options = {"alpha": 0.5} if name == "TM" else {}
    r = CALLS[name](torn, **E6, **options, entropy=ut.SeededEntropy(1))
    assert not r
    assert r.privacy == Privacy(2, 2e-6)
    assert r.advice.n >= 200


def test_a_second_stage_that_fails_costs_both():
    """The quartiles stand firm, but the median can jump from -1 to 1."""
    D = np.r_[np.full(N // 2, -1.0), np.full(N // 2, 1.0)]
    r = M(D, N, 1, **E6, entropy=ut.SeededEntropy(1))
    assert not r
    assert r.privacy == Privacy(4, 4e-6)
    given = M(D, N, 1, 2, **E6, entropy=ut.SeededEntropy(2))
    assert not given
    assert given.privacy == Privacy(2, 2e-6)


# -------------------------------------------------------------------------------------------------------- the answers


def answers(call, runs=9):
    replies = [call(ut.SeededEntropy(seed)) for seed in range(runs)]
    assert all(replies), replies
    return np.array([r.value for r in replies])


@pytest.mark.parametrize("options", [{}, E6], ids=["printed", "explicit δ"])
def test_answers_are_close_on_normal_data(options):
    assert np.median(answers(lambda e: S(NORMAL, N, 1, entropy=e, **options))) == pytest.approx(1.349, rel=0.15)
    assert np.median(np.abs(answers(lambda e: M(NORMAL, N, 1, entropy=e, **options)))) < 0.15
    assert np.median(np.abs(answers(lambda e: M(NORMAL, N, 1, 1.35, entropy=e, **options)))) < 0.15
    assert np.median(np.abs(answers(lambda e: TM(NORMAL, N, 1, 0.2, 0.4, entropy=e, **options)))) < 0.05


def test_more_answers():
    assert np.median(np.log2(answers(lambda e: Scale(NORMAL, 1, 1e-6, entropy=e)) / 1.349)) == pytest.approx(0, abs=1.5)
    assert np.median(np.abs(answers(lambda e: TM(NORMAL, N, 1, 0.2, None, entropy=e, **E6)))) < 0.03
    far = answers(lambda e: M(NORMAL + 1e9, N, 1, entropy=e, **E6)) - 1e9
    assert np.median(np.abs(far)) < 0.15


def test_intervals_hold_the_truth():
    ordered = np.sort(NORMAL)
    truth = {"S": ordered[14_999] - ordered[5_000], "M": ordered[9_999], "TM": ordered[2_000:17_999].mean()}
    for name, value in truth.items():
        low, high = CALLS[name](NORMAL, **E6, entropy=ut.SeededEntropy(4)).interval(0.9999)
        assert low <= value <= high


# ----------------------------------------------------------------------------------------------- ties, zeros, extremes


def test_constant_data():
    for value in (0.0, 7.0, -1e10, 1e200):
        D = np.full(2000, value)
        assert S(D, 2000, 1, **E6).value == 0.0
        assert Scale(D, 1, 1e-6).value == 0.0
        assert TM(D, 2000, 1, 0.2, 0.5, **E6).value == pytest.approx(value, abs=1e-290)
        near = answers(lambda e, D=D: M(D, 2000, 1, entropy=e, **E6))
        assert np.median(np.abs(near - value)) < 4 * 2000**-0.5


def test_an_interquartile_range_of_zero_with_other_rows_about():
    D = np.r_[np.full(1400, 3.0), NORMAL[:300], 6 + NORMAL[300:600]]
    assert S(D, 2000, 1, **E6).value == 0.0
    assert M(D, 2000, 1, **E6).value == pytest.approx(3, abs=1)
    assert M(D, 2000, 1, s=0, **E6).value == pytest.approx(3, abs=1)


def test_ties():
    D = np.round(NORMAL)
    assert S(D, N, 1, **E6, entropy=ut.SeededEntropy(1)).value == pytest.approx(2, rel=0.5)
    assert TM(D, N, 1, 0.2, None, **E6, entropy=ut.SeededEntropy(1)).value == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-305, 1e304, 1.5e308])
@pytest.mark.parametrize("name", CALLS)
def test_the_ends_of_the_floats(name, size):
    """Any size of data gives a number or ⊥, never an error."""
    with np.errstate(all="ignore"):
        for D in (NORMAL[:3000] * size, np.r_[np.zeros(1500), np.full(1500, size)], np.full(3000, size)):
            r = CALLS[name](D, **E6, entropy=ut.SeededEntropy(1))
            assert r.value is None or math.isfinite(r.value)
            assert r.privacy == cost(r.loss)


def test_values_that_are_not_numbers_are_read_row_by_row():
    D = NORMAL.copy()
    D[:30], D[30:60], D[60:90] = np.nan, np.inf, -np.inf
    for name in CALLS:
        assert CALLS[name](D, **E6, entropy=ut.SeededEntropy(1)).value == pytest.approx(0.7, abs=1.5)


def test_a_scale_beyond_what_can_be_told_gives_no_trimmed_mean():
    """S's answers end near 1e304: noise worked out from them would not hide a range of 1e308."""
    D = np.r_[np.full(1000, -8e307), np.full(1000, 8e307)]
    r = TM(D, 2000, 1, 0.2, 0.5, **E6)
    assert not r
    assert r.privacy == Privacy(2, 2e-6)


def test_a_trimmed_mean_is_not_rounded_before_the_noise():
    """At 1e15 floats are 1/8 apart. A mean halfway between two must not show, by the side it falls on, a single row."""
    n, alpha = 2001, Fraction(1999, 10_000)  # lo = 200, N = 1600
    for ones in (301, 302):  # 100 or 101 of them inside: a mean of 1/16, or just above
        D = 1e15 + np.r_[np.zeros(n - ones), np.ones(ones)]
        found = {TM(D, n, 1, alpha, None, delta=1e-3, entropy=ut.SeededEntropy(k)).value - 1e15 for k in range(60)}
        assert found == {0.0, 0.125}


@pytest.mark.parametrize("name", CALLS)
def test_tiny_tables_and_tiny_epsilons(name):
    for n in (1, 2, 3):
        for D in (np.zeros(n), NORMAL[:n]):
            r = CALLS[name](D, **E6, entropy=ut.SeededEntropy(n))
            assert not r
            assert r.advice.n >= 3
            assert name == "Scale" or n == 3 or r.privacy == Privacy(0)
    assert not CALLS[name](NORMAL[:500], eps=1e-8, **E6, entropy=ut.SeededEntropy(1))


def test_a_delta_of_one_promises_nothing_and_gets_nothing():
    """The printed threshold at a small ε: a test passes as it likes, and δ' is nearly 1/2."""
    for r in (
        M(NORMAL, N, 1e-4),
        M(NORMAL, N, 1, delta=0.3),
        S(NORMAL, N, 1, delta=0.5),
        TM(NORMAL, N, 1, 0.2, 0.1, delta=0.5),
    ):
        assert not r
        assert r.privacy == Privacy(0)
        assert "delta" in str(r.advice)
    assert not TM(NORMAL, N, 1, 0.2, 1e-9, delta=0.4, entropy=ut.SeededEntropy(1))
    assert M(NORMAL, N, 1, 1.3, delta=0.3, entropy=ut.SeededEntropy(1)).privacy == Privacy(2, 0.6)


def test_a_trim_that_leaves_nothing():
    r = TM(NORMAL[:10], 10, 1, 0.95, 0.5)
    assert not r
    assert r.privacy == Privacy(0)
    assert TM(NORMAL[: r.advice.n], r.advice.n, 1, 0.95, 0.5).privacy != Privacy(0)


# ------------------------------------------------------------------------------------------------------------- misuse


@pytest.mark.parametrize(
    ("name", "argument", "options"),
    [
        *((name, "eps", {"eps": bad}) for name in CALLS for bad in (0, -1, float("nan"), float("inf"), None, 1e-12)),
        *((name, "n", {"n": bad}) for name in ("S", "M", "TM") for bad in (99, 0, -1, 100.0, True, "100")),
        *((name, "delta", {"delta": bad}) for name in CALLS for bad in (0, 1, -1e-9, "no")),
        *((name, "entropy", {"entropy": 7}) for name in CALLS),
        *(("TM", "alpha", {"alpha": bad}) for bad in (0, 1, -0.1, None)),
        *(("TM", "kappa", {"kappa": bad}) for bad in (0, 1, 2, None)),
        *(("M", "s", {"s": bad}) for bad in (-1, float("inf"), "wide", 10**301)),
    ],
)
def test_bad_arguments_are_named_before_anything_is_drawn(name, argument, options):
    entropy = CountingEntropy()
    with pytest.raises(ut.InvalidArgument) as caught:
        CALLS[name](NORMAL[:100], **{"entropy": entropy, **options})
    assert caught.value.name == argument
    assert entropy.taken == 0


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("D", [[], "abc", np.ones((2, 2)), np.array(["a", "b"]), np.array([1j])], ids=str)
def test_bad_data_is_named(name, D):
    entropy = CountingEntropy()
    with pytest.raises(ut.InvalidArgument) as caught:
        CALLS[name](D, n=len(D) or 1, entropy=entropy)
    assert caught.value.name == ("x" if name == "Scale" else "D")
    assert entropy.taken == 0
