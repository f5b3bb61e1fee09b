"""How far off a rank statistic will be, worked out from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from uptack.privacy import Privacy


def tau_error(given: Mapping[str, Any], cost: Privacy, rows: int) -> str:
    """What noise adds to τ at most with 95% confidence: Laplace of scale 4g/(nε·4/5)."""
    if not cost.adjacency.size_is_public or rows < 2:
        return ""
    off = math.log(20) * 4 * cost.adjacency.rows_per_person / (rows * 0.8 * cost.epsilon)
    return f"noise within {off:.2g}" if off < 1 else ""
