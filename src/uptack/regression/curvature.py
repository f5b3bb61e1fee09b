"""What curvatures do to a Hessian, if predictors are about normal: by released numbers alone, so it costs nothing.

Let η = (1, x)·β be normal, with mean m and deviation σ, and t = (η - m)/σ. A coordinate of x that is uncorrelated with
η is independent of it, so with E_κ for means weighed by the curvatures κ(η),

    E_κ aaᵀ = E aaᵀ   but for   E_κ (1, t)(1, t)ᵀ = [[1, E_κ t], [E_κ t, E_κ t²]]

in the place of the unit matrix (Stein 1981 has the same for a constant that is not there). m and σ follow from β and
from the matrix without curvatures. Where predictors are not normal, the Hessian that is measured at the last step says
so, as far as its noise allows: this is what it is compared with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from uptack.regression.fit_model import Model
from uptack.regression.fit_state import FitState
from uptack.regression.hessian import Hessian
from uptack.regression.link_functions import stretch
from uptack.regression.losses import within
from uptack.table.exact_sum import Floats

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
LITTLE = 1e-9

LONGER, SHORTER = 0.4, 0.2
"""The parts by which a step but the last makes η larger or smaller."""


@dataclass(frozen=True, eq=False)
class Predictor:
    """The mean and the deviation of η, where H = rootᵀ·root, and which axes a constant and η have there."""

    root: Floats
    axes: Floats
    mean: float
    spread: float

    @staticmethod
    def of(first: Hessian, model: Model, beta: Floats) -> Predictor:
        """By the Hessian without curvatures. Without an intercept there is no constant, and a mean of 0."""
        root = np.sqrt(first.values)[:, None] * first.vectors.T
        eta = root @ np.linalg.solve(model.whitening.T, beta)
        if not model.frame.leading:
            spread = float(np.linalg.norm(eta))
            return Predictor(root, eta[:, None] / max(spread, 1e-300), 0.0, spread)
        one = root @ np.linalg.solve(model.whitening.T, np.eye(model.p)[0])
        whole = float(np.linalg.norm(one))
        one /= whole
        mean = float(eta @ one)
        rest = eta - mean * one
        spread = float(np.linalg.norm(rest))
        axes = np.column_stack([one, rest / max(spread, 1e-300)])
        return Predictor(root, axes, mean / whole, spread / whole)


def curved_hessian(first: Hessian, model: Model, beta: Floats) -> Hessian:
    """The Hessian with the curvatures at β over their mean, from the one without them."""
    eta = Predictor.of(first, model, beta)
    if eta.spread < LITTLE:
        return first
    known = eta.axes.shape[1]
    moments = _moments(model, eta.mean, eta.spread)[-known:, -known:]
    found = eta.root.T @ (np.eye(model.p) + eta.axes @ (moments - np.eye(known)) @ eta.axes.T) @ eta.root
    values, vectors = np.linalg.eigh(found)
    return replace(first, vectors=vectors, values=np.maximum(values, first.values.min() * model.loss.least), raw=values)


def stretch_step(fit: FitState, _: Floats) -> Floats:
    """Where the first step of classes leads to (`uptack.regression.link_functions.stretch`)."""
    return np.asarray(fit.step.beta * stretch(fit.step.moved, fit.step.noise), np.float64)


def hold_step(fit: FitState, before: Floats) -> Floats:
    """Where a step from β leads to, if η becomes by at most a part larger or smaller as a whole.

    Where η is large, classes are nearly certain and curvatures small, along η more than elsewhere. So noise has its way
    there, and a step back from too large an η would go much too far.
    """
    b = np.linalg.solve(fit.model.whitening.T, before)
    along = fit.curvature.matrix @ b
    part = float(fit.step.change @ along) / max(float(b @ along), 1e-300)
    return np.asarray(fit.step.beta + (within(part, -SHORTER, LONGER) - part) * before, np.float64)


def _moments(model: Model, mean: float, spread: float) -> Floats:
    """E_κ (1, t)(1, t)ᵀ."""
    bend = model.loss.bend(NODES, mean + spread * NODES, np.ones_like(NODES), 1.0)
    weights = np.maximum(bend, model.loss.least) * WEIGHTS
    powers = np.vstack([np.ones_like(NODES), NODES])
    return np.asarray((powers * weights) @ powers.T / weights.sum(), np.float64)
