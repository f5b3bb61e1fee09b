"""One catalogue of scenarios: every release function with its options, on neighbours.

A declared function is in it by its declaration. What a declaration can't say is listed beside it.
"""

from __future__ import annotations

from functools import cache

from uptack.audit.catalogue.declared_scenarios import declared_scenarios
from uptack.audit.catalogue.draw_scenarios import draw_scenarios
from uptack.audit.catalogue.edge_scenarios import edge_scenarios
from uptack.audit.catalogue.other_scenarios import other_scenarios
from uptack.audit.scenario import Scenario


@cache
def catalogue() -> dict[str, Scenario]:
    """All scenarios by name."""
    made = [*edge_scenarios(), *draw_scenarios(), *declared_scenarios(), *other_scenarios()]
    return {one.name: one for one in made}
