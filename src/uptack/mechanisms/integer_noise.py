"""Exact integer noise on whole numbers: counts, sums over rows, cells of a table.

**Theorem.** Let every row have a vector of whole numbers, worked out from that row alone, and let the vectors of any
two rows be at most Δ apart in ℓ1 (SUBSTITUTE), or all of length at most Δ (ADD_REMOVE). Then one person with up to g
rows moves the vector of sums by at most g·Δ, in any order and partition of the rows, and independent integer Laplace
noise of scale g·Δ/ε on every sum is ε-differentially private (`uptack.noise.IntegerLaplace`). ∎

The mechanism is the same for every law on the integers. What a move of the vector costs is the theorem of the law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account, Mechanism
from uptack.noise import Entropy, IntegerLaw
from uptack.privacy.loss import Pure


@dataclass(frozen=True)
class IntegerNoise(Mechanism[NDArray[Any], NDArray[Any]]):
    """An array of whole numbers with independent noise of one law on each. It may hold Python's own integers."""

    law: IntegerLaw

    def draw(self, value: NDArray[Any], entropy: Entropy) -> NDArray[Any]:
        """The array with noise."""
        noisy: NDArray[Any] = value + self.law.draw(value.size, entropy).reshape(value.shape)
        return noisy

    def price(self, value: NDArray[Any], other: NDArray[Any], output: NDArray[Any]) -> float:
        """What the move costs under the law."""
        move = [int(b) - int(a) for a, b in zip(value.flat, other.flat, strict=True)]
        return self.law.price(move, Fraction(getattr(self.loss, "delta", 0)))


def noisy_sums(sums: Sequence[int], law: IntegerLaw, account: Account) -> list[int]:
    """The sums with noise of a law that makes them ε-private for all the ε of the account. They may be of any size."""
    exact = np.array([int(total) for total in sums], object)
    return [int(total) for total in account.draw(IntegerNoise(Pure(account.epsilon), law), exact)]


def noisy_integer(value: int, law: IntegerLaw, account: Account) -> int:
    """The same for one number."""
    return noisy_sums([value], law, account)[0]
