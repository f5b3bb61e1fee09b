"""Which columns the terms of a formula need, so that none follows from the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations, count

from uptack.regression.formulas.grammar import Formula, FormulaFactor

Margin = tuple[tuple[FormulaFactor, ...], dict[FormulaFactor, bool]]
"""A product of numbers, and of categories with all their levels (True) or all but the first."""


def margins(formula: Formula, categories: frozenset[str]) -> list[Margin]:
    """Which columns each term needs beside those of the terms before: none twice, so that none follows from others.

    A category is a constant and its levels but the first. So a product of categories is a sum over sets of them. Sets
    that are there already are left out; two that differ by one category make it one with all its levels.
    """
    seen: set[tuple[frozenset[FormulaFactor], frozenset[FormulaFactor]]] = set()
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


def _merged(sets: Iterable[frozenset[FormulaFactor]]) -> list[dict[FormulaFactor, bool]]:
    left = {_key(one): (place, one) for place, one in enumerate(dict.fromkeys(some, False) for some in sets)}
    factors = {factor for _, one in left.values() for factor in one}
    for place in count(len(left)):
        pair = _apart_by_one(left, factors)
        if pair is None:
            break
        short, factor = pair
        del left[_key(short)], left[_key({**short, factor: False})]
        left[_key({**short, factor: True})] = place, {**short, factor: True}
    return [one for _, one in left.values()]


Key = frozenset[tuple[FormulaFactor, bool]]


def _key(one: dict[FormulaFactor, bool]) -> Key:
    return frozenset(one.items())


def _apart_by_one(
    left: Mapping[Key, tuple[int, dict[FormulaFactor, bool]]], factors: Iterable[FormulaFactor]
) -> tuple[dict[FormulaFactor, bool], FormulaFactor] | None:
    """The first set, and what the first has more of those with one category more. Sets may be thousands: a look-up."""
    for key, (_, one) in left.items():
        more = [(left[larger][0], f) for f in factors if f not in one and (larger := key | {(f, False)}) in left]
        if more:
            return one, min(more, key=lambda pair: pair[0])[1]
    return None
