"""Audits: lower bounds on what a mechanism really costs, from its own answers on hostile neighbours."""

from uptack.audit.estimate import delta_lower_bound, epsilon_lower_bound

__all__ = ["delta_lower_bound", "epsilon_lower_bound"]
