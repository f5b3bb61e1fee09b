"""Noise on numbers, noisy choices, counts and tables of counts."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from uptack.audit.audit_case import Case, Pair, family, released
from uptack.discrete import (
    CountMechanism,
    Domain,
    count,
    histogram,
    margins,
    minimax_count_mechanism,
    optimal_count_mechanism,
    sparse_histogram,
)
from uptack.mechanisms import exponential, gamma, gaussian, k_norm, laplace, matrix_laplace, report_noisy_max
from uptack.noise import Entropy, IntegerGaussian, LInfBall
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy, gaussian_noise_multiplier

ONE = Privacy(1)
SECRET = Privacy(1, 0, ADD_REMOVE)
TWO_ROWS = SUBSTITUTE.per_person(2)
DELTA = 0.01
LOUD, MOVE = Privacy(2, Fraction(1, 100)), 30


def cases() -> list[Case]:
    """All of them."""
    return [*_numbers(), *_samplers(), *_choices(), *_counts(), *_tables()]


def gaussian_draw(centre: int, entropy: Entropy) -> int:
    """An integer with noise of a law that is worked out once."""
    return centre + IntegerGaussian(_variance()).sample(entropy=entropy)


@lru_cache(maxsize=1)
def _variance() -> Fraction:
    return gaussian_noise_multiplier(LOUD.exact_epsilon, LOUD.exact_delta) ** 2 * MOVE**2


def _samplers() -> list[Case]:
    """The law itself: at a larger ε a scale that is off by half shows with few draws."""
    return family("integer Gaussian noise", gaussian_draw, {"one step": (0, MOVE)}, LOUD)


def _numbers() -> list[Case]:
    scalar: dict[str, Pair] = {"0 and 1": (0.0, 1.0), "signed zeros": (-0.0, 0.0), "far from 0": (1e15, 1e15 + 1)}
    plane: dict[str, Pair] = {"along an axis": ([0, 0], [1, 0]), "off the grid": ([0.1, 0.1], [0.7, 0.9])}
    square: dict[str, Pair] = {"to a corner": ([0, 0], [1, 1])}
    replaced: dict[str, Pair] = {"a row": (np.diag([1.0, 0.0]), np.diag([0.0, 1.0]))}
    halves: dict[str, Pair] = {"both coordinates": ([0, 0], [0.5, 0.5])}
    last = float(np.nextafter(1e300, np.inf))
    huge = released(laplace, sensitivity=last - 1e300, epsilon=1)
    normal = released(gaussian, sensitivity=1, epsilon=1, delta=DELTA)
    return [
        *family("Laplace noise", released(laplace, sensitivity=1, epsilon=1), scalar | halves, ONE),
        *family("Laplace noise", huge, {"at 1e300": (1e300, last)}, ONE),
        *family("Gaussian noise", normal, {"0 and 1": (0.0, 1.0)} | plane, Privacy(1, DELTA), share=0.5),
        *family("Gamma noise", released(gamma, sensitivity=1, epsilon=1), plane, ONE),
        *family("K-norm noise", released(k_norm, body=LInfBall(2), sensitivity=1, epsilon=1), square, ONE),
        *family("matrix Laplace noise", released(matrix_laplace, sensitivity=2, epsilon=1), replaced, ONE),
    ]


def _choices() -> list[Case]:
    apart: dict[str, Pair] = {"a tie broken": ([3, 3, 0], [4, 2, 0]), "a small score": ([9, 5, 5], [8, 6, 6])}
    rising: dict[str, Pair] = {"one score rises": ([2, 2, 2, 2, 2], [3, 2, 2, 2, 2])}
    found = []
    for name, choice in (("exponential mechanism", exponential), ("report noisy max", report_noisy_max)):
        plain = partial(chosen, choice, False)
        found += family(name, plain, apart, ONE) + family(
            f"{name}, monotone", partial(chosen, choice, True), rising, ONE
        )
    return found


def chosen(choice: Any, monotone: bool, scores: list[int], entropy: Entropy) -> Any:
    """Which of some candidates a mechanism chooses by these scores."""
    names = [f"candidate {i}" for i in range(len(scores))]
    return choice(names, scores, sensitivity=1, epsilon=1, monotone=monotone, entropy=entropy)


def _counts() -> list[Case]:
    flags = np.arange(9) < 4
    rows = released(count, epsilon=1)
    two = released(count, epsilon=1, rows_per_person=2)
    return [
        *family("count", rows, {"5 and 6": (5, 6), "at 0": (0, 1), "flags": (flags, np.arange(9) < 5)}, ONE),
        *family("count, 2 rows per person", two, {"5 and 7": (5, 7)}, Privacy(1, 0, TWO_ROWS)),
        *family(
            "count, add/remove",
            released(count, epsilon=1, adjacency=ADD_REMOVE),
            {"one row fewer": (np.zeros(4), np.zeros(3))},
            SECRET,
        ),
        *family("minimax count", partial(tabled, "minimax"), {"0 and 1": (0, 1), "4 and 5": (4, 5)}, ONE),
        *family("optimal count", partial(tabled, "optimal"), {"0 and 1": (0, 1), "4 and 5": (4, 5)}, ONE),
    ]


@lru_cache(maxsize=4)
def mechanism(kind: str) -> CountMechanism:
    """A table of probabilities for counts up to 8, at ε = 1."""
    return minimax_count_mechanism(8, 1) if kind == "minimax" else optimal_count_mechanism(8, 1)


def tabled(kind: str, true: int, entropy: Entropy) -> Any:
    """A draw from such a table."""
    return mechanism(kind).release(true, entropy=entropy)


SPARSE = (np.repeat([3, 7], [6, 3]), np.repeat([3, 7], [5, 4]))
REMOVED = (np.repeat([3, 7], [6, 3]), np.repeat([3, 7], [5, 3]))
BOX = Domain({"a": 2, "b": 2})


def _tables() -> list[Case]:
    edges = {"edges": [0.0, 1.0, 2.0], "epsilon": 1}
    at_edge = np.array([0.5, 1.0, 1.0, 2.0])
    pairs: dict[str, Pair] = {
        "from cell to cell": (np.array([0.5, 0.5, 1.5]), np.array([0.5, 1.5, 1.5])),
        "at the edges": (at_edge, np.r_[at_edge[:3], np.nextafter(2.0, 3.0)]),
        "to nowhere": (np.array([0.5, 1.5]), np.array([np.nan, 1.5])),
    }
    fixed = released(histogram, **edges, total=True, nonnegative=True, outside="clamp")
    pair = ({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, {"a": [1, 0, 1, 1], "b": [1, 1, 0, 1]})
    found = [
        *family("histogram", released(histogram, **edges), pairs, ONE),
        *family("histogram with a total", fixed, pairs, ONE, only=("from cell to cell",)),
        *family(
            "histogram, add/remove",
            released(histogram, **edges, adjacency=ADD_REMOVE),
            {"one row fewer": (at_edge, at_edge[:3])},
            SECRET,
        ),
    ]
    for rule in ("printed", "adaptive"):
        options = {"cutoff": 4} if rule == "printed" else {}
        found += family(
            f"sparse histogram, {rule}", partial(cells, ONE.adjacency, rule, options), {"two cells": SPARSE}, ONE
        )
    found += family(
        "sparse histogram, add/remove",
        partial(cells, ADD_REMOVE, "printed", {"cutoff": 4}),
        {"one cell": REMOVED},
        SECRET,
    )
    for way in ("direct", "table", "sparse"):
        found += family(f"margins, {way}", partial(sums, way), {"across the table": pair}, ONE, share=0.5)
    return found


def cells(relation: Any, rule: str, options: dict[str, Any], keys: Any, entropy: Entropy) -> list[int]:
    """The two cells in question and the number of all that were kept."""
    found = sparse_histogram(keys, 16, 1, rule=rule, adjacency=relation, entropy=entropy, **options).value
    return [found[3], found[7], len(found)]


def sums(way: str, columns: Any, entropy: Entropy) -> Any:
    """All margins of one column, one after the other."""
    found = margins(columns, 1, domain=BOX, epsilon=1, through=way, entropy=entropy).value
    return np.concatenate([found["a"], found["b"]])
