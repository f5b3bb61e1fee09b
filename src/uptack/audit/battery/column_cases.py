"""Medians, quantiles, spreads and means of hostile columns, by every method."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from uptack.audit.audit_case import Case, Pair, family, released, said, with_interval
from uptack.audit.neighbours import changed, hostile, two_values
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy
from uptack.statistics import interquantile_range, iqr, mean, median, quantile, trimmed_mean, winsorized_mean

QUARTER, HALF = Fraction(1, 4), Fraction(1, 2)
FALSE_PASS = Fraction(1, 50)
TIES, HUGE, EDGE = "ties at the rank", "extreme magnitudes", "at the edge of the test"
TWO = Privacy(2)


def cases() -> list[Case]:
    """All of them."""
    return [*_medians(), *_quantiles(), *_spreads(), *_means(), *_tests()]


def _whole(n: int, rank: int, low: int, high: int) -> Pair:
    """An integer column where the order statistic jumps."""
    d, d_prime = two_values(n, rank, low=low, high=high)
    return d.astype(np.int64), d_prime.astype(np.int64)


def _medians() -> list[Case]:
    whole = {f"from {low} to {high}": _whole(100, 50, low, high) for low, high in ((0, 1), (7, 8))}
    pairs, some, both = hostile(100, 50), (TIES, "edges of the granularity"), SUBSTITUTE.per_person(2)
    plain, rounded = released(median, epsilon=2), released(median, epsilon=2, granularity=1)
    twice = released(median, epsilon=2, granularity=1, rows_per_person=2)
    secret = {"adjacency": ADD_REMOVE, "epsilon": 2}
    few = {"as few rows as get a reply": changed(np.arange(109.0), slice(0, 1), 0.0, ADD_REMOVE)}
    unknown = Privacy(2, 0, ADD_REMOVE)
    ends = with_interval(median, 0.9, epsilon=2, interval=0.9)
    return [
        *family("median", plain, pairs, TWO),
        *family("median of integers", plain, whole, TWO),
        *family("median, a granularity of 1", rounded, pairs, TWO, only=some),
        *family("median, 2 rows per person", twice, hostile(200, 100, both), Privacy(2, 0, both), only=some),
        *family("median, add/remove", released(median, **secret), hostile(140, 70, ADD_REMOVE), unknown, only=some),
        *family("median, add/remove, what ⊥ says", said(median, **secret), few, unknown),
        *family("median with an interval", ends, hostile(700, 350), TWO, only=(TIES, HUGE), share=0.5),
    ]


def _quantiles() -> list[Case]:
    lower, nested = hostile(200, 50), hostile(300, 120)
    boxes = released(quantile, [Fraction(2, 5), Fraction(3, 5)], epsilon=2, granularity=1)
    chain = released(quantile, [QUARTER, HALF, 3 * QUARTER], epsilon=2, granularity=1)
    return [
        *family("quantile 1/4", released(quantile, QUARTER, epsilon=2), lower, TWO, only=(TIES, "a gap", HUGE)),
        *family("quantiles by nested boxes", boxes, nested, TWO, only=(TIES, HUGE)),
        *family("quantiles by a chain", chain, hostile(900, 450), TWO, only=(TIES, HUGE), share=0.5),
    ]


def _spreads() -> list[Case]:
    range_ = released(interquantile_range, Fraction(1, 5), Fraction(4, 5), epsilon=2)
    rounded, pairs = released(iqr, epsilon=2, granularity=1), hostile(210, 158)
    return [
        *family("interquartile range", released(iqr, epsilon=2), pairs, TWO, only=(TIES, "a gap", HUGE)),
        *family("interquartile range, a granularity of 1", rounded, pairs, TWO, only=(TIES, HUGE)),
        *family("interquantile range", range_, hostile(300, 240), TWO, only=(TIES, "a gap")),
    ]


def _means() -> list[Case]:
    near, some = hostile(210, 105), (TIES, "one row far away", HUGE)
    return [
        *family("trimmed mean", released(trimmed_mean, QUARTER, epsilon=2), near, TWO, only=some),
        *family("Winsorized mean", released(winsorized_mean, QUARTER, epsilon=2), near, TWO, only=some),
        *family("mean", released(mean, epsilon=4), hostile(1000, 500), Privacy(4), only=some, share=0.2),
    ]


def _tests() -> list[Case]:
    """By propose-test-release and by the papers' grids: also where the test itself wavers between pass and fail."""
    several = released(quantile, [QUARTER, HALF], epsilon=2, delta=FALSE_PASS, method="ptr")
    loud, some = Privacy(2, FALSE_PASS), (TIES, "all equal")
    return [
        *family("quantiles, ptr", several, hostile(400, 100), loud, only=some, share=0.2),
        *_tested("ptr", 2, median_edge=144, spread_edge=126),
        *_tested("dwork-lei", 4, median_edge=125, spread_edge=123),
    ]


def _tested(method: str, epsilon: int, median_edge: int, spread_edge: int) -> list[Case]:
    """An edge is the number of equal rows, of 160, at which most tests pass and with one row fewer many fail."""
    options = {"epsilon": epsilon, "delta": FALSE_PASS, "method": method}
    claimed, near = Privacy(epsilon, FALSE_PASS), hostile(160, 80) | {EDGE: two_values(160, median_edge)}
    spread = hostile(160, 120) | {EDGE: two_values(160, spread_edge)}
    trimmed, winsorized = (released(f, QUARTER, **options) for f in (trimmed_mean, winsorized_mean))
    some = (TIES, "all equal", HUGE, EDGE)
    return [
        *family(f"median, {method}", with_interval(median, 0.9, **options), near, claimed, only=some, share=0.5),
        *family(f"interquartile range, {method}", released(iqr, **options), spread, claimed, only=some, share=0.5),
        *family(f"trimmed mean, {method}", trimmed, near, claimed, only=(TIES, EDGE), share=0.5),
        *family(f"Winsorized mean, {method}", winsorized, near, claimed, only=(TIES,), share=0.5),
    ]
