"""Audits: lower bounds on what a mechanism really costs, from its own answers on hostile neighbours."""

from uptack.audit.battery import cases
from uptack.audit.broken import controls
from uptack.audit.case import Case, ExactCase, family, released
from uptack.audit.command import main
from uptack.audit.estimate import delta_lower_bound, epsilon_lower_bound
from uptack.audit.exact import least_epsilon
from uptack.audit.neighbours import hostile
from uptack.audit.report import Finding, Report
from uptack.audit.run import run

__all__ = [
    "Case",
    "ExactCase",
    "Finding",
    "Report",
    "cases",
    "controls",
    "delta_lower_bound",
    "epsilon_lower_bound",
    "family",
    "hostile",
    "least_epsilon",
    "main",
    "released",
    "run",
]
