from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy, cost, loss, total

rates = st.fractions(0, 5, max_denominator=1000)
chances = st.fractions(0, Fraction(1, 100), max_denominator=10**9)
guarantees = st.builds(Privacy, rates, chances)
units = st.builds(
    lambda test, chance, answer: loss.Unit(loss.Test(test, chance), loss.Answer(answer)), rates, chances, rates
)


@given(guarantees, guarantees, guarantees)
def test_order_and_sum_agree(a, b, c):
    assert a <= a + b
    assert (a + b) + c == a + (b + c)
    if a <= b and b <= c:
        assert a <= c
    if a <= b and b <= a:
        assert a == b
    if a <= b:
        assert a + c <= b + c


@given(guarantees, st.integers(1, 5), st.integers(1, 5))
def test_larger_groups_are_protected_less(a, k, j):
    assert a.group(k) <= a.group(k + j)
    wide = a.under(SUBSTITUTE.per_person(k))
    assert (wide.exact_epsilon, wide.exact_delta) == (a.group(k).exact_epsilon, a.group(k).exact_delta)


@given(rates, chances)
def test_a_substitution_is_a_removal_and_an_addition(epsilon, delta):
    one = Privacy(epsilon, delta, ADD_REMOVE)
    assert one.under(SUBSTITUTE).exact_epsilon == one.group(2).exact_epsilon


@given(guarantees, st.fractions(0, 1, max_denominator=1000))
def test_an_attack_is_never_better_than_the_guarantee(a, size):
    power = Fraction(a.power(size))
    assert size * Fraction(99, 100) <= power <= 1
    assert a.power(0) <= a.power(size)


@given(st.lists(units, min_size=1, max_size=5))
def test_a_cascade_never_costs_more_than_its_units_one_by_one(parts):
    cascade = cost(loss.Cascade(tuple(parts)))
    assert cascade <= total(cost(u) for u in parts)
    assert cost(loss.Cascade(tuple(parts), same_answer=True)) <= cascade
