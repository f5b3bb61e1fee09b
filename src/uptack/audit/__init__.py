"""Audits: lower bounds on what a mechanism really costs, from its own answers on hostile neighbours."""

from uptack.audit.audit_case import Case, ExactCase, family, released
from uptack.audit.audit_command import main
from uptack.audit.audit_report import Finding, Report
from uptack.audit.audit_run import run
from uptack.audit.battery import cases
from uptack.audit.broken_mechanisms import controls
from uptack.audit.exact_audit import least_epsilon
from uptack.audit.neighbours import hostile
from uptack.audit.privacy_bounds import delta_lower_bound, epsilon_lower_bound

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
