"""Guarantees, adjacencies, loss trees and their costs. Nothing here touches data or draws random numbers."""

from uptack.privacy import loss
from uptack.privacy.accounting import tight
from uptack.privacy.adjacency import ADD_REMOVE, SUBSTITUTE, Adjacency
from uptack.privacy.calibration import gaussian_delta, gaussian_epsilon, gaussian_noise_multiplier, split
from uptack.privacy.cost import calibrate, cost
from uptack.privacy.guarantee import Privacy, RandomPrivacy, total

__all__ = [
    "ADD_REMOVE",
    "SUBSTITUTE",
    "Adjacency",
    "Privacy",
    "RandomPrivacy",
    "calibrate",
    "cost",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_noise_multiplier",
    "loss",
    "split",
    "tight",
    "total",
]
