"""Accounts: split, spent, closed once, and never overdrawn."""

from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from uptack.account import Account, Outcome, observed_by
from uptack.errors import InvalidArgument, UptackError
from uptack.mechanisms.additive_noise import IntegerNoise
from uptack.noise import IntegerLaplace
from uptack.privacy import loss
from uptack.release import Advice


def account(epsilon=1, delta=0, **options):
    return Account.open("trial", epsilon, delta, entropy=ut.SeededEntropy(1), **options)


def test_parts_add_up_and_share_one_book():
    whole = account(1, Fraction(1, 100))
    first, second = whole.split(Fraction(1, 4), Fraction(3, 4))
    assert (first.epsilon, first.delta) == (Fraction(1, 4), Fraction(1, 400))
    first.pay(loss.Pure(first.epsilon))
    second.pay(loss.Approximate(second.epsilon, second.delta))
    made = whole.close(Outcome(3.0, "parts"))
    assert made.loss == loss.Composed((loss.Pure(Fraction(1, 4)), loss.Approximate(Fraction(3, 4), Fraction(3, 400))))
    assert made.privacy.exact_epsilon == 1
    assert made.mechanism == "trial by parts"


@pytest.mark.parametrize("shares", [(0.5, 0.25), (1, 1), (), (Fraction(1, 3), 0.6666)])
def test_shares_that_do_not_add_up_are_refused(shares):
    with pytest.raises(InvalidArgument, match="add up to 1"):
        account().split(*shares)


def test_more_than_was_promised_is_withheld():
    first, second = account(1).split(0.5, 0.5)
    first.pay(loss.Pure(Fraction(51, 100)))
    noise = IntegerNoise(loss.Pure(Fraction(1, 2)), IntegerLaplace(2))
    for greedy in (lambda: second.pay(loss.Pure(Fraction(1, 2))), lambda: second.draw(noise, np.array([3]))):
        with pytest.raises(UptackError, match="withheld"):
            greedy()
    assert first.spent == (loss.Pure(Fraction(51, 100)),)


def test_every_draw_is_seen_and_written_down():
    whole, seen = account(1), []

    def observer(mechanism, value, draw):
        seen.append((mechanism, value.tolist()))
        return draw()

    noise = IntegerNoise(loss.Pure(Fraction(1, 2)), IntegerLaplace(2))
    with observed_by(observer):
        noisy = whole.draw(noise, np.array([3, 4]))
    assert seen == [(noise, [3, 4])]
    assert whole.spent == (noise.loss,)
    assert noise.price(np.array([3, 4]), np.array([4, 4]), noisy) == 0.5
    again = account(1).draw(noise, np.array([3, 4]))
    assert (noisy == again).all()


def test_an_observer_can_repeat_an_answer():
    noise = IntegerNoise(loss.Pure(1), IntegerLaplace(1))
    with observed_by(lambda mechanism, value, draw: np.array([17])):
        assert account(1).draw(noise, np.array([3])).tolist() == [17]


def test_a_draw_that_was_paid_for_is_not_paid_again():
    whole = account(1)
    paid = whole.pay(loss.Pure(1))
    for _ in range(3):
        paid.draw(IntegerNoise(loss.Pure(1), IntegerLaplace(1)), np.array([3]))
    assert whole.spent == (loss.Pure(1),)


def test_an_account_is_closed_once():
    whole = account()
    assert not whole.close(Outcome.refusal("nothing", Advice(n=10)))
    for call in (lambda: whole.close(Outcome(1.0, "again")), lambda: whole.pay(loss.Pure(0.1))):
        with pytest.raises(UptackError, match="closed"):
            call()


def test_a_refusal_that_looked_at_nothing_is_free_and_one_that_did_is_not():
    assert account().close(Outcome.refusal("nothing", Advice(n=10))).privacy.exact_epsilon == 0
    paid = account()
    paid.pay(loss.Test(Fraction(1, 2), 0))
    assert paid.close(Outcome.refusal("a test", Advice(n=10))).privacy.exact_epsilon == Fraction(1, 2)


def test_what_is_spent_on_blocks_is_wrapped():
    whole = account()
    whole.through(loss.Partition).pay(loss.Pure(1))
    assert whole.close(Outcome(1.0, "blocks")).loss == loss.Partition(loss.Pure(1))
