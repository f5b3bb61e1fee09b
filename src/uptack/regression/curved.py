"""What curvatures do to a Hessian, if predictors are about normal: by released numbers alone, so it costs nothing.

Let η = (1, x)·β be normal, with mean m and deviation σ, and t = (η - m)/σ. A coordinate of x that is uncorrelated with
η is independent of it, so with E_κ for means weighed by the curvatures κ(η),

    E_κ aaᵀ = E aaᵀ   but for   E_κ (1, t)(1, t)ᵀ = [[1, E_κ t], [E_κ t, E_κ t²]]

in the place of the unit matrix (Stein 1981 has the same for a constant that is not there). m and σ follow from β and
from the matrix without curvatures. Where predictors are not normal, the Hessian that is measured at the last step says
so, as far as its noise allows: this is what it is compared with.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from uptack.columns.table import Floats
from uptack.regression.newton import Hessian, Model

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)


def curved(first: Hessian, model: Model, beta: Floats) -> Hessian:
    """The Hessian with the curvatures at β over their mean, from the one without them."""
    root = np.sqrt(first.values)[:, None] * first.vectors.T  # H = rootᵀ·root
    eta = root @ np.linalg.solve(model.whitening.T, beta)
    axes, mean, whole = [], 0.0, 1.0
    if model.frame.leading:
        one = root @ np.linalg.solve(model.whitening.T, np.eye(model.p)[0])
        whole = float(np.linalg.norm(one))
        axes.append(one / whole)
        mean = float(eta @ axes[0])
        eta = eta - mean * axes[0]
    spread = float(np.linalg.norm(eta))
    if spread < 1e-9 * whole:
        return first
    axes.append(eta / spread)
    moments = _moments(model, mean / whole, spread / whole)[-len(axes) :, -len(axes) :]
    across = np.column_stack(axes)
    found = root.T @ (np.eye(model.p) + across @ (moments - np.eye(len(axes))) @ across.T) @ root
    values, vectors = np.linalg.eigh(found)
    return replace(first, vectors=vectors, values=np.maximum(values, first.values.min() * model.loss.least), raw=values)


def _moments(model: Model, mean: float, spread: float) -> Floats:
    """E_κ (1, t)(1, t)ᵀ."""
    bend = model.loss.bend(NODES, mean + spread * NODES, np.ones_like(NODES), 1.0)
    weights = np.maximum(bend, model.loss.least) * WEIGHTS
    powers = np.vstack([np.ones_like(NODES), NODES])
    return np.asarray((powers * weights) @ powers.T / weights.sum(), np.float64)
