"""The logistic curve and the exponential, to the last bit the same in every batch and on every machine."""

from __future__ import annotations

import math

import numpy as np

from uptack.table.exact_sum import Floats

SLACK, LONGEST = 2.45, 3.0


def stretch(moved: float, noise: float) -> float:
    """How much longer the first step of a logistic fit should be.

    From β = (logit π, 0) a step leads to coefficients of linear discrimination, with predictors of variance v₁. Let
    those of the model be normal with mean m and variance v. By Stein's lemma, and with a normal law's curve in place of
    the logistic one, v₁ = v/(1 + v/c) and logit π = m/sqrt(1 + v/c): all coefficients are too small by one and the same
    factor. For the logistic curve itself c is 2 to 2.55 if π = 1/2. A part of the step's length is noise, and too
    long is worse than too short.
    """
    return 1 / math.sqrt(max(1 - max(moved - noise, 0.0) ** 2 / SLACK, LONGEST**-2))


LOG2E, LN2 = 1.4426950408889634, 0.6931471805599453
FARTHEST = 700.0
_TERMS = tuple(1.0 / np.prod(np.arange(1.0, k + 1)) for k in range(13, -1, -1))


def logistic(t: Floats) -> Floats:
    """1/(1 + e^-t), to about 15 digits, by products, sums, a division and a power of two."""
    small = _falling(np.abs(t))
    return np.asarray(np.where(t < 0, small, 1.0) / (1 + small), np.float64)


def exponential(t: Floats) -> Floats:
    """e^t, as exactly, for t up to 700: beyond it is that of 700, and of its reciprocal."""
    small = _falling(np.abs(t))
    return np.asarray(np.where(t < 0, small, 1 / small), np.float64)


def _falling(t: Floats) -> Floats:
    """e^-t for t of 0 or more."""
    away = np.minimum(t, FARTHEST)
    power = np.rint(np.where(away <= FARTHEST, away, 0.0) * LOG2E)  # NaN stays NaN by what follows
    rest = power * LN2 - away  # within ln 2/2 of 0
    total = np.zeros_like(rest)
    for term in _TERMS:
        total = total * rest + term
    return np.asarray(np.ldexp(total, -power.astype(np.int64)), np.float64)
