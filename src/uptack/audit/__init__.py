"""Audits: lower bounds on what a mechanism really costs, from its own answers on hostile neighbours."""


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
