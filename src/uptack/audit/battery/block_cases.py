"""Stable values, functions of blocks, regressions, and the papers' own algorithms."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from uptack.audit.audit_case import Case, Pair, family
from uptack.audit.neighbours import changed, hostile, lines, two_values
from uptack.blocks import stable_value, subsample_aggregate
from uptack.mechanisms import release_if_stable
from uptack.noise import Entropy
from uptack.papers import R_S, TM, A_dist, M, S, Scale
from uptack.privacy import SUBSTITUTE, Privacy
from uptack.regression import shortcut_regression

DELTA = Fraction(1, 50)
TIED = Fraction(12, 100)
EDGE = "at the edge of the test"
ZERO, ONE = np.array([0, 0, 0, 0, 0, 0, 1, 1.0]), np.array([0, 0, 0, 0, 0, 1, 1, 1.0])
"""Ranks 3 and 6 of 8: a range of 0, and one more row at 1 makes it 1."""


def cases() -> list[Case]:
    """All of them."""
    return [*_stable(), *_blocks(), *_regressions(), *_papers()]


def stable(data: tuple[str, int], entropy: Entropy) -> Any:
    """A value at a distance from instability, if it is told."""
    value, distance = data
    return release_if_stable(value, distance, epsilon=1, delta=DELTA, entropy=entropy)


def tied(data: tuple[str, int], entropy: Entropy) -> Any:
    """The same where the threshold has 0.76 of all mass just below it: one step off, and most wrong values pass."""
    value, distance = data
    return release_if_stable(value, distance, epsilon=2, delta=TIED, entropy=entropy)


def first(rows: Any) -> Any:
    """A function of a block."""
    return rows[0]


def _stable() -> list[Case]:
    claimed = Privacy(1, DELTA)
    pairs: dict[str, Pair] = {
        "another value": (("a", 0), ("b", 0)),
        "at the cutoff": (("a", 3), ("a", 4)),
        "just below it": (("a", 1), ("a", 2)),
    }
    votes, tie = _edge(28, 20), {"a tie": (("a", 0), ("b", 0))}
    return [
        *family("release if stable", stable, pairs, claimed),
        *family("release if stable", tied, tie, Privacy(2, TIED)),
        *family(
            "stable value",
            released_on(first, stable_value, epsilon=1, delta=DELTA, blocks=28, trusted=True),
            votes,
            claimed,
            share=0.5,
        ),
    ]


def released_on(f: Any, function: Any, **options: Any) -> Any:
    """The mechanism `function(f, data, **options)`. f keeps no state, so it may run in this process."""
    return partial(_on, f, function, {"trusted": True, **options})


def _on(f: Any, function: Any, options: dict[str, Any], data: Any, entropy: Entropy) -> Any:
    return function(f, data, **options, entropy=entropy)


def _blocks() -> list[Case]:
    both, ties = SUBSTITUTE.per_person(2), ("ties at the rank",)
    median = released_on(first, subsample_aggregate, blocks=110, epsilon=2, trusted=True)
    twice = released_on(first, subsample_aggregate, blocks=210, epsilon=2, rows_per_person=2, trusted=True)
    vote = {"blocks": 12, "epsilon": 1, "aggregate": "mode", "candidates": [0.0, 1.0], "fallback": 0.0}
    mode = released_on(first, subsample_aggregate, **vote, trusted=True)
    two_rows = hostile(210, 105, both)
    return [
        *family("median of blocks", median, hostile(110, 55), Privacy(2), only=ties, share=0.2),
        *family("median of blocks, 2 rows per person", twice, two_rows, Privacy(2, 0, both), only=ties, share=0.2),
        *family("mode of blocks", mode, {"a tie broken": two_values(12, 6)}, Privacy(1), share=0.5),
    ]


def regressed(function: Any, options: dict[str, Any], data: Any, entropy: Entropy) -> Any:
    """A regression of y on X."""
    return function(*data, **options, entropy=entropy)


def _regressions() -> list[Case]:
    options = {"epsilon": 1, "block_fit": "ols", "fit_intercept": False}
    printed = {"eps": 1, "delta": DELTA}
    return [
        *family(
            "short-cut regression", partial(regressed, shortcut_regression, options), lines(320), Privacy(1), share=0.5
        ),
        *family("R_S", partial(regressed, R_S, printed), lines(60), Privacy(4, 4 * DELTA), share=0.5),
    ]


def of_size(function: Any, options: dict[str, Any], rows: Any, entropy: Entropy) -> Any:
    """An algorithm of Dwork and Lei, which is told the number of rows."""
    return function(rows, rows.size, 1, **options, delta=DELTA, entropy=entropy)


def _papers() -> list[Case]:
    spreads: dict[str, Pair] = {
        "a range of 0 or 1": (ZERO, ONE),
        "a range of 1 or 0": two_values(32, 24),
        "one row far away": changed(np.arange(60.0), slice(59, 60), -1e9),
    }
    near, both = hostile(60, 30), ("ties at the rank", "extreme magnitudes")
    votes: dict[str, Pair] = {"a tie broken": ("aaabbb", "aabbbb"), "a clear lead": (11 * "a", 10 * "a" + "b")}
    scale, located = partial(_scale, Fraction(1)), partial(of_size, M, {"s": 1})
    trimmed = partial(of_size, TM, {"alpha": Fraction(1, 5), "kappa": None})
    return [
        *family("S", partial(of_size, S, {}), spreads | _edge(40, 34), Privacy(2, 2 * DELTA)),
        *family("Scale", scale, spreads | _edge(40, 35), Privacy(2, DELTA)),
        *family("M", partial(of_size, M, {}), near | _edge(60, 49), Privacy(4, 4 * DELTA), only=(*both, EDGE)),
        *family("M with a public scale", located, near | _edge(60, 34), Privacy(2, 2 * DELTA), only=(*both, EDGE)),
        *family("TM", trimmed, near | _edge(60, 58), Privacy(3, 3 * DELTA), only=(*both, EDGE)),
        *family("A_dist", partial(_dist, "mode"), votes, Privacy(1, DELTA / 2)),
    ]


def _edge(n: int, lower: int) -> dict[str, Pair]:
    """Where nine of ten tests pass, and one more row makes it about half of them."""
    return {EDGE: two_values(n, lower)}


def _scale(epsilon: Fraction, rows: Any, entropy: Entropy) -> Any:
    return Scale(rows, epsilon, DELTA, entropy=entropy)


def _dist(g: str, rows: Any, entropy: Entropy) -> Any:
    return A_dist(g, rows, 1, DELTA, entropy=entropy)
