"""The audit accepts what is private and catches what is not: mechanisms with a wrong constant, on hostile neighbours.

All draws are seeded; the confidence of each bound leaves a false-alarm rate of 1e-7.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from tests.helpers import FALSE_ALARM
from uptack.audit import delta_lower_bound, epsilon_lower_bound
from uptack.engines import dwork_lei, laplace, ptr
from uptack.noise import IntegerLaplace, SeededEntropy
from uptack.papers import TM, M, S, Scale
from uptack.privacy import loss
from uptack.reach import InterquantileRange
from uptack.reach.order import quartiles

SURE = 1 - Fraction(str(FALSE_ALARM))
RUNS = 1500


def audit(mechanism, d, d_prime, delta, runs=RUNS):
    entropy = SeededEntropy(21)
    draws = [[mechanism(x, entropy) for _ in range(runs)] for x in (d, d_prime)]
    return epsilon_lower_bound(*draws, delta, SURE), draws


# ---------------------------------------------------------------------------------------------------- the audit itself


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_laplace_noise_is_accepted_and_half_of_it_is_not(epsilon):
    rng = np.random.default_rng(1)
    right = [rng.laplace(centre, 1 / epsilon, 200_000) for centre in (0, 1)]
    wrong = [rng.laplace(centre, 0.5 / epsilon, 200_000) for centre in (0, 1)]
    assert 0.85 * epsilon < epsilon_lower_bound(*right, 0, SURE) <= epsilon
    assert epsilon_lower_bound(*wrong, 0, SURE) > epsilon


def test_discrete_answers_and_no_replies():
    draws = [IntegerLaplace(1).sample(100_000, entropy=SeededEntropy(s)) + s for s in (0, 1)]
    assert 0.8 < epsilon_lower_bound(*draws, 0, SURE) <= 1
    rng = np.random.default_rng(2)
    single = [np.where(rng.random(50_000) < p, 5.0, rng.integers(0, 11, 50_000)).tolist() for p in (0.0, 0.3)]
    assert epsilon_lower_bound(*single, 0, SURE) > 1  # only the outcome 5 tells
    silent = [[None if u < p else 1.0 for u in rng.random(20_000)] for p in (0.9, 0.2)]
    assert math.log(3.5) < epsilon_lower_bound(*silent, 0, SURE) <= math.log(8)
    assert epsilon_lower_bound(*silent[::-1], 0, SURE) > math.log(3.5)
    assert epsilon_lower_bound(silent[0], silent[0], 0, SURE) == 0
    assert epsilon_lower_bound(*silent, 0.95, SURE) == 0


def test_the_bound_holds_as_often_as_it_says():
    """At a confidence of 0.9, 600 audits of a randomised response that is exactly tight."""
    rng, epsilon = np.random.default_rng(3), 1.0
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    above = 0
    for _ in range(600):
        draws = [(rng.random(400) < q).astype(float) for q in (p, 1 - p)]
        above += epsilon_lower_bound(*draws, 0, 0.9) > epsilon
    assert above / 600 < 0.1 + 6 * math.sqrt(0.09 / 600)


def test_delta_bounds():
    assert delta_lower_bound(0, 100) == 0
    assert delta_lower_bound(100, 100, SURE) > 0.8
    assert 0.1 < delta_lower_bound(2000, 10_000, SURE, epsilon=0.4, hits_prime=0, draws_prime=10_000) < 0.2
    rng, right = np.random.default_rng(4), 0
    for _ in range(500):
        right += delta_lower_bound(int(rng.binomial(300, 0.05)), 300, 0.9) <= 0.05
    assert right / 500 > 0.9 - 6 * math.sqrt(0.09 / 500)


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("delta", lambda: epsilon_lower_bound([1, 2], [1, 2], 1)),
        ("confidence", lambda: epsilon_lower_bound([1, 2], [1, 2], 0, 1)),
        ("draws_d", lambda: epsilon_lower_bound([None], [1, 2], 0)),
        ("draws_d_prime", lambda: epsilon_lower_bound([1, 2], [], 0)),
        ("hits", lambda: delta_lower_bound(5, 4)),
        ("draws", lambda: delta_lower_bound(0, 0)),
        ("hits_prime", lambda: delta_lower_bound(1, 4, hits_prime=9, draws_prime=8)),
        ("epsilon", lambda: delta_lower_bound(1, 4, epsilon=-1)),
    ],
)
def test_bad_arguments(argument, call):
    with pytest.raises(ut.InvalidArgument) as caught:
        call()
    assert caught.value.name == argument


# ------------------------------------------------------------------------------------------------- Algorithm 12's δ

EPSILON, DELTA = Fraction(1, 10), Fraction(1, 10**6)
# Ranks 3 and 6 of 8: a range of 0, and one more row at 1 makes it 1. The answer 0 is impossible on the second.
ZERO = np.array([0, 0, 0, 0, 0, 0, 1, 1.0])
ONE = np.array([0, 0, 0, 0, 0, 1, 1, 1.0])


def two_grids(x, test, cutoff, entropy):
    """Scale with a test and a threshold of our choice."""
    answer, width = loss.Answer(EPSILON), math.log(2)
    proposals = [
        ptr.Proposal(width, ptr.same_bin(ptr.log_grid(width, s)), test, answer, cutoff) for s in dwork_lei.SHIFTS
    ]

    def build(steps):
        return InterquantileRange(x, quartiles(x.size), min(steps, x.size))

    return ptr.attempt(build, proposals, ptr.release_scale(entropy), entropy, same_answer=True).value


def printed_scale(x, entropy):
    """Algorithm 12 as printed: ⊥ iff R ≤ 1 + ln(1/δ). Claimed to be (4ε, δ)."""
    cutoff = math.floor(math.log(1 / float(DELTA))) + 1
    return two_grids(x, loss.Test(EPSILON, DELTA / 2), cutoff, entropy)


def test_the_printed_threshold_of_algorithm_12_is_caught():
    found, draws = audit(printed_scale, ZERO, ONE, DELTA)
    assert found > 4 * EPSILON
    passes = sum(v == 0.0 for v in draws[0])
    assert sum(v == 0.0 for v in draws[1]) == 0
    assert delta_lower_bound(passes, RUNS, SURE) > 0.1
    assert delta_lower_bound(passes, RUNS, SURE, epsilon=4 * EPSILON, hits_prime=0, draws_prime=RUNS) > 1e4 * DELTA
    one_test = IntegerLaplace(1 / EPSILON).tail(14)
    assert abs(passes / RUNS - (1 - (1 - one_test) ** 2)) < 6 * math.sqrt(0.25 / RUNS)


def test_the_repaired_threshold_is_not():
    found, draws = audit(lambda x, e: Scale(x, EPSILON, DELTA, entropy=e).value, ZERO, ONE, DELTA)
    assert found <= 2 * EPSILON
    assert delta_lower_bound(sum(v is not None for v in draws[0]), RUNS, SURE) <= DELTA


def test_noise_of_scale_epsilon_in_place_of_one_over_epsilon_is_caught():
    """A test that hardly wavers: a table at the threshold passes or fails by one row."""
    epsilon = Fraction(1, 5)
    t = IntegerLaplace(1 / epsilon).cutoff(DELTA / 2)
    n = 4 * t
    d, d_prime = np.zeros(n), np.r_[np.zeros(n - 1), 1.0]  # t + 1 and t rows from leaving 0

    def found(rate):
        return audit(lambda x, e: two_grids(x, loss.Test(rate, DELTA / 2), t, e), d, d_prime, DELTA, runs=700)[0]

    assert found(1 / epsilon) > 2 * epsilon
    assert found(epsilon) <= 2 * epsilon


# ----------------------------------------------------------------------------------------- ours, on hostile neighbours

HALVES = [np.r_[np.zeros(60 - k), np.ones(k)] for k in (29, 30)]
FALSE_PASS = Fraction(1, 100)
HOSTILE = {
    "S, a range of 0 or 1": (S, ZERO, ONE, 2, 2),
    "S, a range of 1 or 0": (S, np.r_[np.zeros(24), np.ones(8)], np.r_[np.zeros(23), np.ones(9)], 2, 2),
    "S, a row sent away": (S, np.arange(60.0), np.r_[np.arange(59.0), -1e9], 2, 2),
    "M, the median jumps": (lambda x, n, eps, **o: M(x, n, eps, 1, **o), *HALVES, 2, 2),
    "M, after S": (M, np.zeros(60), np.r_[np.zeros(59), 1.0], 4, 4),
    "TM": (lambda x, n, eps, **o: TM(x, n, eps, 0.2, None, **o), *HALVES, 3, 3),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_papers_algorithms_keep_their_promise(name):
    mechanism, d, d_prime, epsilons, deltas = HOSTILE[name]

    def run(x, entropy):
        return mechanism(x, x.size, 1, delta=FALSE_PASS, entropy=entropy).value

    assert audit(run, d, d_prime, deltas * FALSE_PASS, runs=500)[0] <= epsilons


def test_the_printed_noise_of_the_trimmed_mean_is_caught():
    """Lap(1) in place of Lap(1/ε), with S's answer at its true value: at ε = 0.1 one row shows with ε = 1."""
    n, lo = 61, 7
    d, d_prime = (np.r_[np.zeros(n - k), np.ones(k)] for k in (30, 31))
    rows = n - 2 * lo - 1

    def second_stage(epsilon):
        def run(x, entropy):
            mean = np.sort(x)[lo : n - lo - 1].mean()
            return laplace(mean, sensitivity=1 / rows, epsilon=epsilon, entropy=entropy).value

        return run

    assert audit(second_stage(1), d, d_prime, DELTA, runs=2000)[0] > 3 * 0.1
    assert audit(second_stage(Fraction(1, 10)), d, d_prime, DELTA, runs=2000)[0] <= 0.1
