"""Rank statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from uptack.audit import callers
from uptack.audit.moving_neighbours.table_pairs import case
from uptack.audit.replay import Replay
from uptack.privacy import ADD_REMOVE


def ranks() -> list[Replay]:
    """Rank statistics: a row that goes from above all others to below them, from one group to the other, or both."""
    n = 60
    x = np.arange(float(n))
    moved = np.r_[x[:-1], -1.0]
    label = np.repeat([0, 1], n // 2)
    over = np.r_[label[:-1], 0]
    groups: dict[str, Any] = {"groups": (1, 0)}
    far = (x, label), (moved, over)
    few = np.r_[np.zeros(50), np.full(5, 2), np.ones(5)].astype(int)
    odd, crossed = np.r_[x, 0.5], np.r_[label, 0]
    apart = (odd, crossed), (np.where(odd == 30, -9.0, odd), np.where(odd == 30, 0, crossed))  # one up, the other down
    two, square = callers.side_by_side, np.column_stack([x, x, -x])
    other = square.copy()
    other[-1] = -1.0, 99.0, 99.0
    return [
        case("tau", "uptack.kendall_tau", ((x, x), (x, moved)), two),
        case("tau, missing", "uptack.kendall_tau", ((x, x), (x, np.r_[x[:-1], np.nan])), two, missing="ignore"),
        case("tau, add/remove", "uptack.kendall_tau", ((x, moved), (x[:-1], x[:-1])), two, adjacency=ADD_REMOVE),
        case("correlations", "uptack.correlation_matrix", (square, other)),
        case("superiority, over", "uptack.superiority", far, two, **groups),
        case("superiority, down", "uptack.superiority", ((x, label), (moved, label)), two, **groups),
        case("superiority, public labels", "uptack.superiority", ((x, label), (moved, label)), two, **groups,
              public_labels=True),
        case("difference, over", "uptack.median_difference", far, two, **groups),
        case("difference, both medians", "uptack.median_difference", apart, two, **groups),
        case("shift, down", "uptack.hodges_lehmann", ((x, label), (moved, label)), two, **groups),
        case("difference, interval", "uptack.median_difference", far, two, interval=0.9, **groups),
        case("mean difference, over", "uptack.mean_difference", far, two, **groups),
        case("mean difference, add/remove", "uptack.mean_difference", ((x, label), (x[:-1], label[:-1])), two,
              adjacency=ADD_REMOVE, **groups),
        case("shift, over", "uptack.hodges_lehmann", far, two, **groups),
        case("shift, add/remove", "uptack.hodges_lehmann", ((x, label), (x[:-1], label[:-1])), two,
              adjacency=ADD_REMOVE, **groups),
        case("two groups", "uptack.mann_whitney", far, two, **groups),
        case("two groups as several", "uptack.kruskal_wallis", far, two, **groups),
        case("several groups", "uptack.kruskal_wallis", ((x, few), (moved, np.r_[few[:-1], 2])), two,
              groups=(0, 1, 2)),
        case("signed ranks", "uptack.signed_rank", (x + 1, np.r_[x[:-1] + 1, -99.0])),
    ]  # fmt: skip
