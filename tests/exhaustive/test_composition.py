"""The composition theorems, checked on mechanisms small enough to write their whole law down.

A PTR function here is given by its laws under two neighbours: P(pass) on each side, and the law of its answer. The
inequality P(S) ≤ e^ε·P'(S) + δ over all sets S is the hockey-stick sum Σ(P - e^ε·P')₊ ≤ δ. With e^ε replaced by a
rational everything is exact.
"""

import itertools
import random
from fractions import Fraction

import pytest

E_TEST, E_ANSWER = Fraction(2), Fraction(3)  # e^ε of the test and of the answer
DELTA = Fraction(1, 50)


def excess(p: dict, q: dict, factor: Fraction) -> Fraction:
    return sum((max(Fraction(0), p[k] - factor * q.get(k, Fraction(0))) for k in p), Fraction(0))


def random_tests(rng: random.Random, count: int, good: bool) -> list[tuple[Fraction, Fraction]]:
    """Pass probabilities under D and D' within a factor E_TEST both ways, for passing and for failing."""
    out = []
    while len(out) < count:
        p = Fraction(rng.randint(0, 60), 60) if good else Fraction(rng.randint(0, 60), 60) * DELTA
        q = Fraction(rng.randint(0, 600), 600) if good else Fraction(rng.randint(0, 60), 60) * DELTA
        close = all(a <= E_TEST * b and b <= E_TEST * a for a, b in ((p, q), (1 - p, 1 - q)))
        if close:
            out.append((p, q))
    return out


def answers(rng: random.Random, good: bool) -> tuple[list[Fraction], list[Fraction]]:
    """Laws of the answer on two values: within E_ANSWER of each other where the proposal is right, anything else."""
    if not good:
        return [Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]
    while True:
        a, b = Fraction(rng.randint(1, 19), 20), Fraction(rng.randint(1, 19), 20)
        if max(a / b, b / a, (1 - a) / (1 - b), (1 - b) / (1 - a)) <= E_ANSWER:
            return [a, 1 - a], [b, 1 - b]


def cascade_law(passes: list[Fraction], laws: list[list[Fraction]], reveal: bool) -> dict:
    out: dict = {}
    still = Fraction(1)
    for j, (p, law) in enumerate(zip(passes, laws, strict=True)):
        for y, w in enumerate(law):
            key = (j, y) if reveal else y
            out[key] = out.get(key, Fraction(0)) + still * p * w
        still *= 1 - p
    out["⊥"] = still
    return out


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_cascade_costs_all_tests_and_one_answer(count):
    """Theorem 29: e^(Σ tests + largest answer), Σδ, also where the answer reveals which test passed."""
    for seed in range(40):
        rng = random.Random(seed)
        good = [rng.random() < 0.7 for _ in range(count)]
        tests = [random_tests(rng, 1, g)[0] for g in good]
        laws = [answers(rng, g) for g in good]
        for side in (0, 1):
            p = cascade_law([t[side] for t in tests], [law[side] for law in laws], reveal=True)
            q = cascade_law([t[1 - side] for t in tests], [law[1 - side] for law in laws], reveal=True)
            assert excess(p, q, E_TEST**count * E_ANSWER) <= DELTA * good.count(False)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_cascade_with_one_answer_law_costs_less(count):
    """The repaired count: max(Σ tests, largest test + answer), where the answer's law ignores which test passed."""
    for seed in range(40):
        rng = random.Random(seed)
        right = rng.random() < 0.7
        tests = random_tests(rng, count, right)
        law = answers(rng, right)
        factor = max(E_TEST**count, E_TEST * E_ANSWER)
        for side in (0, 1):
            p = cascade_law([t[side] for t in tests], [law[side]] * count, reveal=False)
            q = cascade_law([t[1 - side] for t in tests], [law[1 - side]] * count, reveal=False)
            assert excess(p, q, factor) <= (0 if right else count * DELTA)


def test_the_repaired_count_is_not_for_answers_that_tell():
    """Where the answer reveals which test passed, the smaller count is false: the flag must be earned."""
    tests = [(Fraction(1, 2), Fraction(3, 4))] * 2 + [(Fraction(2, 3), Fraction(1, 3))]
    factor = max(E_TEST**3, E_TEST * E_ANSWER)
    p, q = ([t[side] for t in tests] for side in (0, 1))
    laws = [[[Fraction(3, 4), Fraction(1, 4)]] * 3, [[Fraction(1, 4), Fraction(3, 4)]] * 3]
    revealed = excess(cascade_law(p, laws[0], True), cascade_law(q, laws[1], True), factor)
    merged = excess(cascade_law(p, laws[0], False), cascade_law(q, laws[1], False), factor)
    assert revealed > 0 == merged


def test_substitution_is_two_steps_of_add_remove():
    """Two steps apart is e^2ε and (1 + e^ε)δ, and for some law no less."""
    step = Fraction(2)
    laws = [{0: Fraction(4, 7), 1: Fraction(2, 7), 2: Fraction(1, 7)}]
    laws.append({0: Fraction(2, 7), 1: Fraction(4, 7), 2: Fraction(1, 7)})
    laws.append({0: Fraction(1, 7), 1: Fraction(4, 7), 2: Fraction(2, 7)})
    for a, b in itertools.pairwise(laws):
        assert excess(a, b, step) == 0 == excess(b, a, step)
    assert excess(laws[0], laws[2], step**2) == 0
    assert excess(laws[0], laws[2], step) > 0
