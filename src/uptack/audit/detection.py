"""Which planted faults an audit finds, and by which check."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

from uptack.audit.catalogue import catalogue
from uptack.audit.draws import draws
from uptack.audit.exact_audit import ExactLaw
from uptack.audit.exact_laws import exact_laws
from uptack.audit.planted_faults import PlantedFault
from uptack.audit.price import price
from uptack.audit.replay import replay
from uptack.audit.scenario import Scenario
from uptack.audit.seam import Plant

CHECKS = ("price", "replay", "draws", "exact")
SEEDS = range(3)
"""Tapes that a fault is looked for on: a test that passes by chance hides what comes after it."""


@dataclass(frozen=True)
class Trace:
    """A planted fault, the check that found it, and what gave it away; both empty where it was missed."""

    name: str
    check: str
    sign: str

    @property
    def found(self) -> bool:
        """Whether it was found."""
        return bool(self.check)


def subject(fault: PlantedFault) -> Scenario | ExactLaw:
    """What a fault is looked for on."""
    if not isinstance(fault.scenario, str):
        return fault.scenario
    found = catalogue().get(fault.scenario)
    return found or next(law for law in exact_laws() if law.name == fault.scenario)


def trace(fault: PlantedFault) -> Trace:
    """Plant a fault, and look for it with one check after the other: those that need no statistics first."""
    where = subject(fault)
    if isinstance(where, Scenario):
        return Trace(fault.name, *_sign(where, fault.plant))
    with fault.plant():
        problems = where.problems
    return Trace(fault.name, "exact", problems[0]) if problems else Trace(fault.name, "", "")


def _sign(scenario: Scenario, plant: Plant) -> tuple[str, str]:
    pairs = scenario.pairs()
    for seed in SEEDS:
        for pair in pairs.values():
            rows = deepcopy(pair)  # a fault may change them
            with plant():
                found = price(scenario, rows, seed)
            if found:
                return "price", found[0]
    for check in (replay, draws) if scenario.draws else (replay,):
        for pair in pairs.values():
            rows = deepcopy(pair)
            with plant():
                found = check(scenario, rows)
            if found:
                return check.__name__, found[0]
    return "", ""
