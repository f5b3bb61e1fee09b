"""Replay: one release on two neighbours with the same recorded randomness.

With its randomness fixed a release is a map from tables to what is seen. So one run on each side shows what a million
draws would not: a warning, an error, a label or a dtype that follows one row.
"""

from __future__ import annotations

from uptack.audit.observation import differences, flaws, observe
from uptack.audit.scenario import Pair, Scenario
from uptack.audit.tape import TapeEntropy


def replay(scenario: Scenario, pair: Pair, seed: int = 0) -> list[str]:
    """What tells the neighbours apart, and what no release may show on either."""
    d, d_prime = (observe(lambda data=data: scenario.call(data, TapeEntropy(seed))) for data in pair)  # type: ignore[misc]
    found = [*differences(d, d_prime, scenario.may), *flaws(d), *flaws(d_prime)]
    return list(dict.fromkeys(found))
