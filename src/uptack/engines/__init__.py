"""Mechanisms: how a value leaves the curator's hands."""

from uptack.engines.additive import gamma, gaussian, k_norm, laplace
from uptack.engines.exponential import exponential, report_noisy_max

__all__ = ["exponential", "gamma", "gaussian", "k_norm", "laplace", "report_noisy_max"]
