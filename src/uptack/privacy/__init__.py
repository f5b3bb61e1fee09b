"""Guarantees, adjacencies, loss trees and their costs. Nothing here touches data or draws random numbers."""

from uptack.privacy import loss
from uptack.privacy.accounting import fair_scale, fair_shares, tight
from uptack.privacy.calibration import gaussian_delta, gaussian_epsilon, gaussian_noise_multiplier
from uptack.privacy.cost import Concentrated, concentrated_epsilon, concentrated_rho, cost, zcdp
from uptack.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Adjacency, Privacy, RandomPrivacy, total

__all__ = [
    "ADD_REMOVE",
    "SUBSTITUTE",
    "Adjacency",
    "Concentrated",
    "Privacy",
    "RandomPrivacy",
    "concentrated_epsilon",
    "concentrated_rho",
    "cost",
    "fair_scale",
    "fair_shares",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_noise_multiplier",
    "loss",
    "tight",
    "total",
    "zcdp",
]
