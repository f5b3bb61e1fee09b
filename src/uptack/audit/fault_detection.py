"""Which planted faults an audit finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from copy import deepcopy
from dataclasses import dataclass
from functools import cache

from uptack.audit.audit_case import Case
from uptack.audit.audit_run import run
from uptack.audit.battery import cases
from uptack.audit.mechanism_audit import ERROR, inner
from uptack.audit.moving_neighbours import moving
from uptack.audit.planted_faults import FAULTS, PlantedFault
from uptack.audit.replay import Replay, replay
from uptack.audit.replay_requests import asks
from uptack.errors import Failed

Planted = Callable[[], AbstractContextManager[None]]
SEEDS = range(3)
"""Tapes that a fault is looked for on: a test that passes by chance hides what comes after it."""


@dataclass(frozen=True)
class Trace:
    """A planted fault, and what gave it away: nothing where it was missed."""

    fault: PlantedFault
    how: tuple[str, ...]

    @property
    def found(self) -> bool:
        """Whether it was found."""
        return bool(self.how)


@cache
def _asked(name: str) -> Replay:
    """One replay of the asks, by its name."""
    return next(r for ask in asks() if name.startswith(f"{ask.name}: ") for r in ask.replays() if r.name == name)


def trace(fault: PlantedFault, draws: int = 2000) -> Trace:
    """Plant a fault, look for it with the check that is to find it, and take it out again."""
    return Trace(fault, tuple(_signs(fault, draws, fault.planted)))


def clean(fault: PlantedFault, draws: int = 2000) -> bool:
    """Whether the same check on the same case finds nothing where nothing is planted."""
    return not _signs(fault, draws, fault.without)


def _signs(fault: PlantedFault, draws: int, planted: Planted) -> list[str]:
    if fault.check == "inner":
        case = deepcopy(moving()[fault.case])  # a fault may change the rows, and f
        return next(filter(None, (_told(case, seed, planted) for seed in SEEDS)), [])
    if fault.check == "replay":
        with planted():
            return replay(_asked(fault.case))
    drawn = next(case for case in cases() if isinstance(case, Case) and case.name == fault.case)
    with planted():
        (finding,) = run([drawn], draws=draws, confidence=1 - 1e-6).findings
    return [f"found ε = {finding.epsilon:.3g} of {finding.claimed.epsilon:.3g}"] if finding.refuted else []


def _told(case: Replay, seed: int, planted: Planted) -> list[str]:
    """What is found inside. That the fault itself breaks down is no find."""
    return [text for text in inner(case, seed, planted) if not text.startswith(f"{ERROR}: {Failed.__name__}")]


def traces(faults: Iterable[PlantedFault] = FAULTS) -> list[Trace]:
    """All of them."""
    return [trace(fault) for fault in faults]
