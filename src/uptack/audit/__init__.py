"""Audits: every release on hostile neighbours, by replay, by price and by draws."""

from uptack.audit.price import draws, price, prices
from uptack.audit.privacy_bounds import delta_lower_bound, epsilon_lower_bound, least_epsilon
from uptack.audit.replay import replay
from uptack.audit.scenario import Scenario, hostile

__all__ = [
    "Scenario",
    "delta_lower_bound",
    "draws",
    "epsilon_lower_bound",
    "hostile",
    "least_epsilon",
    "price",
    "prices",
    "replay",
]
