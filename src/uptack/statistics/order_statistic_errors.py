"""How far off an order statistic will be, worked out from public numbers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.mechanisms.inverse_sensitivity import inverse_loss, steps_needed
from uptack.privacy import Privacy, loss
from uptack.reach.l_statistics import quantile_rank
from uptack.statistics import quantile_trees
from uptack.statistics.column_options import COUNT_SHARE, FOLLOWED

LIKELY = Fraction(1, 20)


def listed(p: object) -> Sequence[Any]:
    """Several levels as a sequence; () for one."""
    return list(p) if isinstance(p, list | tuple | np.ndarray) and np.ndim(p) == 1 else ()


def buys_size(given: Mapping[str, Any]) -> bool:
    """Whether an order statistic first buys a noisy number of rows where that is secret: see `methods.measured`."""
    several = len(listed(given.get("p"))) > FOLLOWED
    capped = given.get("weights") == "rows"
    return capped or several or given.get("interval") is not None or given.get("method", "inverse") != "inverse"


def ranks(given: Mapping[str, Any], cost: Privacy, rows: int) -> str:
    """A bound on ranks that holds with 95% confidence and whatever the data: P(more than k ranks) ≤ L·e^(-ε(k+1)/2).

    L is the most candidates that there may be. Where the number of rows is secret, nothing is said.
    """
    capped = given.get("weights") == "rows"  # where the size is not that of the table
    if given.get("method", "inverse") != "inverse" or not cost.adjacency.size_is_public or capped:
        return ""
    kept = 1 - COUNT_SHARE if given.get("missing") == "drop" and buys_size(given) else 1
    left = cost.exact_epsilon * kept / (2 if given.get("interval") else 1)
    parts = max(len(listed(given.get("p"))), 1)
    off = cost.adjacency.rows_per_person * steps_needed(left, (1 << 62) ** parts, LIKELY)
    return f"within {off:,} of {rows:,} ranks" if off < rows else ""


def secret_size(given: Mapping[str, Any], cost: Privacy) -> bool:
    """Whether the number of rows that a statistic is of is secret."""
    return given.get("missing") == "drop" or given.get("weights") == "rows" or not cost.adjacency.size_is_public


def one_draw(given: Mapping[str, Any], cost: Privacy, rows: int) -> loss.Loss | None:
    """The loss of an order statistic that is drawn at once, which is known before it is; None for any other.

    Several quantiles of a public number of rows are drawn by the tiers of a tree, which is public too.
    """
    if given.get("method", "inverse") != "inverse" or buys_size(given):
        return None
    of_people = bool(cost.adjacency.person) and given.get("per_person") is None  # weighted rows have boxes
    if len(listed(given.get("p"))) > 1 and not secret_size(given, cost) and not of_people:
        levels = [checks.rational("p", p, "a number") for p in given["p"]]
        aimed = [quantile_rank(p, rows) for p in levels]
        found = quantile_trees.planned(rows, aimed, cost.exact_epsilon, cost.adjacency.rows_per_person)
        if found is not None:
            return quantile_trees.tree_loss(found[1])
    return inverse_loss(cost.exact_epsilon)
