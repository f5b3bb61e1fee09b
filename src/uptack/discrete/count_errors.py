"""How far off a count will be: the exact law of its noise is public."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from uptack.discrete.count_noise import cell_noise
from uptack.noise import IntegerLaplace
from uptack.privacy import Privacy

LIKELY = Fraction(95, 100)


def one_count(given: Mapping[str, Any], cost: Privacy, rows: int) -> str:
    """The noise of a single count, with 95% confidence."""
    law = IntegerLaplace(cost.adjacency.rows_per_person / cost.exact_epsilon)
    return f"within ±{_cap(given) * law.interval(LIKELY)[1]}"


def each_count(given: Mapping[str, Any], cost: Privacy, rows: int) -> str:
    """The noise of each cell of a histogram, with 95% confidence."""
    return f"each count within ±{_cap(given) * cell_noise(cost.exact_epsilon, cost.adjacency).interval(LIKELY)[1]}"


def _cap(given: Mapping[str, Any]) -> int:
    """How many rows of one person count, or how many of her categories."""
    return int(given.get("at_most") or 1)
