"""Mechanisms: how a value leaves the curator's hands."""

from uptack.mechanisms.additive_noise import gamma, gaussian, k_norm, laplace, matrix_laplace
from uptack.mechanisms.exponential import exponential, report_noisy_max
from uptack.mechanisms.stability import release_if_stable

__all__ = [
    "exponential",
    "gamma",
    "gaussian",
    "k_norm",
    "laplace",
    "matrix_laplace",
    "release_if_stable",
    "report_noisy_max",
]
