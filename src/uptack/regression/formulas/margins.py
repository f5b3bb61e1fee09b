"""Which columns the terms of a formula need, so that none follows from the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from uptack.regression.formulas.grammar import Factor, Formula

Margin = tuple[tuple[Factor, ...], dict[Factor, bool]]
"""A product of numbers, and of categories with all their levels (True) or all but the first."""


def margins(formula: Formula, categories: frozenset[str]) -> list[Margin]:
    """Which columns each term needs beside those of the terms before: none twice, so that none follows from others.

    A category is a constant and its levels but the first. So a product of categories is a sum over sets of them. Sets
    that are there already are left out; two that differ by one category make it one with all its levels.
    """
    seen: set[tuple[frozenset[Factor], frozenset[Factor]]] = set()
    if formula.intercept:
        seen.add((frozenset(), frozenset()))
    found: list[Margin] = []
    for term in formula.terms:
        several = tuple(f for f in term if f.category or f.column in categories)
        plain = tuple(f for f in term if f not in several)
        sets = [frozenset(s) for k in range(len(several) + 1) for s in combinations(several, k)]
        new = [s for s in sets if (frozenset(plain), s) not in seen]
        seen.update((frozenset(plain), s) for s in sets)
        found += [(plain, {f: one[f] for f in several if f in one}) for one in _merged(new)]
    return found


def _merged(sets: Iterable[frozenset[Factor]]) -> list[dict[Factor, bool]]:
    left = [dict.fromkeys(one, False) for one in sets]
    while (pair := _apart_by_one(left)) is not None:
        short, long, factor = pair
        left = [one for one in left if one is not long and one is not short] + [{**short, factor: True}]
    return left


def _apart_by_one(sets: Sequence[dict[Factor, bool]]) -> tuple[dict[Factor, bool], dict[Factor, bool], Factor] | None:
    pairs = ((a, b, f) for a in sets for b in sets for f in b if f not in a and {**a, f: False} == b)
    return next(pairs, None)
