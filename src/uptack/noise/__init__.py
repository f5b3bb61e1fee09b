"""Exact noise: entropy, integer laws, bodies and lattices. Nothing here touches data or privacy budgets."""

from uptack.noise.continuous_noise import Body, Box, Ellipsoid, L1Ball, L2Ball, LInfBall, SampledBody
from uptack.noise.entropy import Entropy, SeededEntropy, SystemEntropy
from uptack.noise.integer_laws import (
    Bernoulli,
    BernoulliExp,
    Geometric,
    IntegerGaussian,
    IntegerLaplace,
    IntegerLaw,
    UniformInteger,
)
from uptack.noise.lattices import Grid, MachineNumbers

__all__ = [
    "Bernoulli",
    "BernoulliExp",
    "Body",
    "Box",
    "Ellipsoid",
    "Entropy",
    "Geometric",
    "Grid",
    "IntegerGaussian",
    "IntegerLaplace",
    "IntegerLaw",
    "L1Ball",
    "L2Ball",
    "LInfBall",
    "MachineNumbers",
    "SampledBody",
    "SeededEntropy",
    "SystemEntropy",
    "UniformInteger",
]
