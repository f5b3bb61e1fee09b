"""Exact integer noise on sums of whole numbers.

**Theorem.** Let every row have a vector of whole numbers, worked out from that row alone, and let the vectors of any
two rows be at most Δ apart in ℓ1 (SUBSTITUTE), or all of length at most Δ (ADD_REMOVE). Then one person with up to g
rows moves the vector of sums by at most g·Δ, in any order and partition of the rows, and independent integer Laplace
noise of scale g·Δ/ε on every sum is ε-differentially private (`uptack.noise.IntegerLaplace`). ∎
"""

from __future__ import annotations

from collections.abc import Sequence

from uptack.noise import Entropy, IntegerLaplace


def noisy_sums(sums: Sequence[int], law: IntegerLaplace, entropy: Entropy) -> list[int]:
    """The sums with independent noise of this law."""
    return [int(total) + int(z) for total, z in zip(sums, law.draw(len(sums), entropy), strict=True)]
