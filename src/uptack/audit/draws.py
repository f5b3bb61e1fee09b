"""Draws: whether a mechanism's sampler has the law that its price is about.

Replay and price see what mechanisms are given, and take for granted that they draw from the law that they state. So
each mechanism of a scenario is drawn many times, with what it was given on D and with what it was given on D', and the
ε that an event of its outputs shows must be at most the price of the move. The release itself runs once on each side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from uptack.account import AssumptionFailed
from uptack.audit.price import PricedDraw, prices
from uptack.audit.privacy_bounds import witness
from uptack.audit.scenario import Pair, Scenario
from uptack.noise import SeededEntropy
from uptack.privacy import cost

CONFIDENCE = 1 - Fraction(1, 10**7)
"""Of every bound: a hundred of them raise a false alarm with a chance of one in 100,000."""
PRICED = 16
"""Outputs on which a price is looked at, where it depends on the output."""
DRAWS = 2000


@dataclass(frozen=True)
class Sampled:
    """One mechanism of a scenario: what a move costs by its theorem, and the ε that draws show."""

    name: str
    price: float
    found: float
    draws: int

    @property
    def refuted(self) -> bool:
        """Whether its sampler has another law."""
        return self.found > self.price


def sampled(scenario: Scenario, pair: Pair, seed: int = 0, count: int | None = None) -> list[Sampled]:
    """All mechanisms of a scenario between two neighbours. What is wrong with prices is for `price` to say."""
    made = prices(scenario, pair, seed)
    times = count or scenario.draws or DRAWS
    return [_sampled(draw, times, seed + place) for place, draw in enumerate(made.draws)]


def draws(scenario: Scenario, pair: Pair, seed: int = 0) -> list[str]:
    """The mechanisms that draw from another law than they say."""
    return [
        f"{one.name}: {one.draws:,} draws show ε = {one.found:.3g} of {one.price:.3g}"
        for one in sampled(scenario, pair, seed)
        if one.refuted
    ]


def _sampled(draw: PricedDraw, times: int, seed: int) -> Sampled:
    mechanism = draw.mechanism
    sides = []
    for side, value in enumerate((draw.value, draw.other)):
        entropy = SeededEntropy(2 * seed + side)
        sides.append([mechanism.public(mechanism.draw(value, entropy)) for _ in range(times)])
    delta = cost(mechanism.loss).exact_delta
    found = witness(*vectors(*sides), delta, CONFIDENCE).epsilon
    return Sampled(draw.name, max(draw.price, _dearest(draw, sides[0][:PRICED])), found, times)


def _dearest(draw: PricedDraw, outputs: Sequence[Any]) -> float:
    """The largest price of some outputs."""
    found = [0.0]
    for output in outputs:
        try:
            found.append(draw.mechanism.price(draw.value, draw.other, output))
        except AssumptionFailed:
            continue  # a theorem that does not apply allows nothing
    return max(found)


def vectors(one: Sequence[Any], other: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Outputs of any kind as vectors of one length: their numbers in order, and how many there are if that varies."""
    flat = [[None if output is None else _numbers(output) for output in side] for side in (one, other)]
    lengths = {len(row) for side in flat for row in side if row is not None}
    most = max(lengths, default=0)
    if len(lengths) > 1:
        flat = [
            [row if row is None else [float(len(row)), *row, *[0.0] * (most - len(row))] for row in side]
            for side in flat
        ]
    return flat[0], flat[1]


def _numbers(output: Any) -> list[float]:
    if output is None:
        return []
    if isinstance(output, np.ndarray):
        return [float(value) for value in output.ravel().tolist()]
    if isinstance(output, list | tuple):
        return [value for part in output for value in _numbers(part)]
    if isinstance(output, int | float | np.number):
        return [float(output)]
    if hasattr(output, "value"):  # an answer with the law of its noise
        return [float(output.value)]
    return [float(sum(map(ord, repr(output))))]
