"""Draws: whether a mechanism's sampler has the law that its price is about.

Replay and price see the inputs of mechanisms, and take for granted that they draw from the law that they state. So each
mechanism of a scenario is drawn many times, with its input on D and with its input on D', and the ε that an event of
its outputs shows must be at most the price of the move. The release itself runs once on each side.
"""

from __future__ import annotations

import contextlib
from fractions import Fraction
from typing import NamedTuple

from uptack.account import AssumptionFailed
from uptack.audit.price import prices
from uptack.audit.privacy_bounds import epsilon_lower_bound
from uptack.audit.scenario import Pair, Scenario
from uptack.noise import SeededEntropy
from uptack.privacy import cost

CONFIDENCE = 1 - Fraction(1, 10**7)
"""Of every bound: a hundred of them raise a false alarm with a probability of one in 100,000."""
PRICED = 16
"""Outputs on which a price is computed, where it depends on the output."""
DRAWS = 2000


class EmpiricalLoss(NamedTuple):
    """One mechanism of a scenario: what a move costs by its theorem, and a lower bound on ε from so many draws."""

    name: str
    price: float
    bound: float
    draws: int


def draws(scenario: Scenario, pair: Pair, seed: int = 0) -> list[str]:
    """The mechanisms that draw from another law than they say."""
    return violations(sample(scenario, pair, seed))


def violations(samples: list[EmpiricalLoss]) -> list[str]:
    """Those of which draws show more than the price."""
    above = [one for one in samples if one.bound > one.price]
    return [f"{one.name}: {one.draws:,} draws show ε = {one.bound:.3g} of {one.price:.3g}" for one in above]


def sample(scenario: Scenario, pair: Pair, seed: int = 0, count: int | None = None) -> list[EmpiricalLoss]:
    """All mechanisms of a scenario between two neighbours. What is wrong with prices is for `price` to say."""
    times, samples = count or scenario.draws or DRAWS, []
    for place, draw in enumerate(prices(scenario, pair, seed).draws):
        mechanism, sides = draw.mechanism, []
        for side, value in enumerate((draw.value, draw.other)):
            entropy = SeededEntropy(2 * (seed + place) + side)
            sides.append([mechanism.public(mechanism.draw(value, entropy)) for _ in range(times)])
        costs = [draw.price]
        for output in sides[0][:PRICED]:
            with contextlib.suppress(AssumptionFailed):  # a theorem that does not apply allows nothing
                costs.append(mechanism.price(draw.value, draw.other, output))
        bound = epsilon_lower_bound(sides[0], sides[1], cost(mechanism.loss).exact_delta, CONFIDENCE)
        samples.append(EmpiricalLoss(draw.name, max(costs), bound, times))
    return samples
