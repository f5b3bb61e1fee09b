"""Rows as vectors of integers whose length is certified: what their sums can move by, whatever a row holds.

**Lemma.** `bounded` gives vectors u of integers with |u| ≤ Λ = 2^18, checked in integers. So replacing one row moves
Σuuᵀ by at most 2Λ² in the nuclear norm and Σu by at most 2Λ in length, and adding or removing one moves them by at most
Λ² and Λ. Floats say which u a row gets, but not how long it is.

Of people's rows each is weighed by its part of the person, exactly, so that one person moves sums as one row does
(`uptack.multivariate.steps`).

Sums of u and of uuᵀ are exact: see `uptack.multivariate.terms`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from uptack.account import Account
from uptack.mechanisms.additive_noise import NormMechanism
from uptack.mechanisms.matrix_laplace import MatrixLaplace
from uptack.multivariate.steps import Step, Whole, lengths, squares
from uptack.multivariate.terms import Squares
from uptack.noise import Grid, L2Ball
from uptack.privacy import loss
from uptack.table.exact_sum import Floats

BITS = 18
LENGTH = 1 << BITS
"""Λ."""

FINE = 12
"""Noise is rounded to a grid of at least 2^12 steps to its scale."""


def bounded(columns: Floats, radius: float = 0.0) -> Floats:
    """The rows as vectors of integers near Λ·v/max(|v|, radius), none longer than Λ.

    A row that came out too long, which rounding can't do unless floats are broken, is 0. So is one without a direction.

    Squares of entries up to Λ, and their sums up to Λ², are whole numbers that floats have: there nothing is rounded.
    Rounding is monotone, so a longer vector has a sum above Λ², or infinity, or NaN, and none of these is at most Λ².
    """
    near = columns * ((LENGTH - len(columns)) / np.maximum(lengths(columns), radius))
    np.rint(near, out=near)
    short = squares(near) <= float(LENGTH) ** 2
    return near if short.all() else np.where(short, near, 0.0)


def second_moments(vectors: Callable[[Floats], Sequence[Whole]]) -> Step:
    """uuᵀ of the rows of a batch, for the only thing that a function gives, u."""
    return partial(_second_moments, vectors)


def _second_moments(vectors: Callable[[Floats], Sequence[Whole]], batch: Floats) -> list[Squares]:
    (u,) = vectors(batch)
    return [Squares(u)]


def noisy_moments(total: Whole, account: Account) -> Floats:
    """Σuuᵀ/Λ² with matrix Laplace noise: spends all of the account, which is pure ε by `matrix_laplace`."""
    (found,) = noisy_blocks([total], account)
    return found


def noisy_blocks(totals: Sequence[Whole], account: Account) -> list[Floats]:
    """The same for several sums, where a row adds to one of them only. It costs what one of them does.

    The nuclear norms of blocks add up to that of the matrix that has them on its diagonal, which a row moves as it
    would one sum; and so do the logarithms of what their noises' densities change by.
    """
    theta = moved(account) * LENGTH**2 / account.epsilon
    grid = Grid.finer_than(theta, FINE)
    blocks = [[[Fraction(v) for v in line] for line in np.asarray(total, object)] for total in totals]
    price = loss.Pure(account.epsilon)
    paid, noise = account.pay(price), MatrixLaplace(price, theta, grid)
    return [paid.draw(noise, block) / float(LENGTH) ** 2 for block in blocks]


def noisy_total(total: Whole, account: Account) -> Floats:
    """Σu/Λ with noise of density e^(-|v|/scale): spends all of the account, which is pure ε by `gamma`."""
    scale = moved(account) * LENGTH / account.epsilon
    grid = Grid.finer_than(scale, FINE)
    exact = [Fraction(v) for v in np.asarray(total, object)]
    noise = NormMechanism(loss.Pure(account.epsilon), L2Ball(len(exact)), scale, grid)
    return grid.points(account.draw(noise, exact)) / LENGTH


def moved(account: Account) -> int:
    """How many vectors of a sum one person can add or take away: both for each row that is replaced."""
    return account.adjacency.moves_per_row * account.rows
