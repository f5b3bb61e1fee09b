"""Accounts: split, spent, closed once, and never overdrawn."""

from fractions import Fraction

import pytest

import uptack as ut
from uptack.account import Account, Outcome
from uptack.errors import InvalidArgument, UptackError
from uptack.privacy import loss
from uptack.release import Advice


def account(epsilon=1, delta=0, **options):
    return Account.open("trial", epsilon, delta, entropy=ut.SeededEntropy(1), **options)


def test_parts_add_up_and_share_one_book():
    whole = account(1, Fraction(1, 100))
    first, second = whole.split(Fraction(1, 4), Fraction(3, 4))
    assert (first.epsilon, first.delta) == (Fraction(1, 4), Fraction(1, 400))
    first.spend(loss.Pure(first.epsilon))
    second.spend(loss.Approximate(second.epsilon, second.delta))
    made = whole.close(Outcome(3.0, "parts"))
    assert made.loss == loss.Composed((loss.Pure(Fraction(1, 4)), loss.Approximate(Fraction(3, 4), Fraction(3, 400))))
    assert made.privacy.exact_epsilon == 1
    assert made.mechanism == "trial by parts"


@pytest.mark.parametrize("shares", [(0.5, 0.25), (1, 1), (), (Fraction(1, 3), 0.6666)])
def test_shares_that_do_not_add_up_are_refused(shares):
    with pytest.raises(InvalidArgument, match="add up to 1"):
        account().split(*shares)


def test_more_than_was_promised_is_withheld():
    whole = account(1)
    for part in whole.split(0.5, 0.5):
        part.spend(loss.Pure(Fraction(51, 100)))
    with pytest.raises(UptackError, match="withheld"):
        whole.close(Outcome(1.0, "greed"))


def test_an_account_is_closed_once():
    whole = account()
    assert not whole.close(Outcome.refusal("nothing", Advice(n=10)))
    for call in (lambda: whole.close(Outcome(1.0, "again")), lambda: whole.spend(loss.Pure(0.1))):
        with pytest.raises(UptackError, match="closed"):
            call()


def test_a_refusal_that_looked_at_nothing_is_free_and_one_that_did_is_not():
    assert account().close(Outcome.refusal("nothing", Advice(n=10))).privacy.exact_epsilon == 0
    paid = account()
    paid.spend(loss.Test(Fraction(1, 2), 0))
    assert paid.close(Outcome.refusal("a test", Advice(n=10))).privacy.exact_epsilon == Fraction(1, 2)


def test_what_is_spent_on_blocks_is_wrapped():
    whole = account()
    whole.through(loss.Partition).spend(loss.Pure(1))
    assert whole.close(Outcome(1.0, "blocks")).loss == loss.Partition(loss.Pure(1))
