"""The number of rows, as everybody may know it: as it is, or with noise that is paid for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from uptack.account import Account
from uptack.mechanisms.integer_noise import noisy_integer
from uptack.noise import IntegerLaplace
from uptack.statistics.column_options import Question

COUNT_SHARE = Fraction(1, 10)
"""The part of ε that goes into the number of rows where it is secret."""

WORTH = "people's worth of rows"
"""What is counted where rows weigh alike: rows over the most that one person has (`uptack.table.unit`)."""


def public_size(n: int, question: Question) -> tuple[int, Question]:
    """The number of rows as everybody may know it, and what is left of the budget.

    Under SUBSTITUTE it is n. Under ADD_REMOVE it is n with integer Laplace noise, at a tenth of ε; ranks and weights
    that are worked out from it are then public constants, as the proofs for added and removed rows need them.

    The same where missing rows are dropped, also under SUBSTITUTE: there a replaced row may be one that stays, one that
    comes or one that goes. Each moves the number of rows by at most 1 and, at public ranks, every order statistic by at
    most one rank, so the reaches are those of the proofs.

    The noisy number is an outcome that has been paid for, and comes with the answer (`Account.bought`).
    """
    if not question.size_is_secret:
        return n, question
    share = question.epsilon * COUNT_SHARE
    law = IntegerLaplace(question.rows / share)
    noisy = noisy_size(n, law, question.account.allot(share))
    question.account.bought(noisy, law, WORTH if question.capped else "")
    return noisy, replace(question.worth(question.epsilon - share, question.delta), count=law)


def noisy_size(n: int, law: IntegerLaplace, account: Account) -> int:
    """A number of rows with noise of this law, at least 0. Spends all of the account."""
    return max(noisy_integer(n, law, account), 0)


def size_bounds(n: int, question: Question, failure: Fraction) -> tuple[int, int]:
    """Between which numbers the true number of rows lies: surely where n is public, else but for `failure`.

    With t the least integer with P(z ≥ t) ≤ failure/2, and so P(|z| ≥ t) ≤ failure, it is within t - 1 of n.
    """
    if not question.size_is_secret:
        return n, n
    off = question.count_noise.cutoff(failure / 2) - 1
    return max(n - off, 0), n + off
