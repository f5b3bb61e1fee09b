"""Peers of linear regression: those that must be told bounds, and those without privacy.

They are apart from `peers.py`, which loads a part of diffprivlib's tools in place of all of them: so a program that
needs both imports this one first.
"""

from __future__ import annotations

import warnings

import numpy as np
from common import without_package
from numpy.typing import NDArray

Floats = NDArray[np.float64]
diffprivlib = without_package("diffprivlib.models.linear_regression")


def ada_ssp(x: Floats, y: Floats, epsilon: float, delta: float, rng: np.random.Generator) -> Floats:
    """AdaSSP (Wang, UAI 2018), for a design with its own column of ones. (ε, δ)-private given the bounds.

    XᵀX and Xᵀy with Gaussian noise, and a ridge from the noisy least eigenvalue. Its bounds are the true ones: columns
    are divided by their largest entries, then rows by the largest length, and y by its largest value.
    """
    columns, top = np.maximum(np.abs(x).max(axis=0), 1e-300), max(float(np.abs(y).max()), 1e-300)
    scaled = x / columns
    length = float(np.sqrt((scaled * scaled).sum(axis=1).max()))
    scaled, p, log = scaled / length, x.shape[1], np.log(6 / delta)
    gram, scale = scaled.T @ scaled, float(np.sqrt(log)) / (epsilon / 3)
    least = max(float(np.linalg.eigvalsh(gram)[0]) + scale * rng.normal() - log / (epsilon / 3), 0.0)
    ridge = max(float(np.sqrt(p * log * np.log(2 * p * p / 0.05))) / (epsilon / 3) - least, 0.0)
    noise = np.triu(rng.normal(size=(p, p)))
    gram = gram + scale * (noise + np.triu(noise, 1).T) + ridge * np.eye(p)
    moment = scaled.T @ (y / top) + scale * rng.normal(size=p)
    found: Floats = np.linalg.lstsq(gram, moment, rcond=None)[0] * top / (columns * length)
    return found


def diffprivlib_regression(x: Floats, y: Floats, epsilon: float, width: float = 1.0) -> Floats:
    """Coefficients, intercept first, of predictors between their true bounds, or bounds so many times as wide."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        bounds = {"bounds_X": (width * x.min(axis=0), width * x.max(axis=0)), "bounds_y": (y.min(), y.max())}
        made = diffprivlib.LinearRegression(epsilon=epsilon, **bounds).fit(x, y)
    return np.concatenate([[made.intercept_], made.coef_])


def least_squares(x: Floats, y: Floats) -> Floats:
    """Without privacy, by standardised columns: scales need not be alike. For a design with its own column of ones."""
    size = np.maximum(np.sqrt((x * x).mean(axis=0)), 1e-300)
    found: Floats = np.linalg.lstsq(x / size, y, rcond=None)[0] / size
    return found


def huber(x: Floats, y: Floats, rounds: int = 20) -> Floats:
    """Huber's fit without privacy, for a design with its own column of ones."""
    size = np.maximum(np.sqrt((x * x).mean(axis=0)), 1e-300)
    scaled, beta = x / size, least_squares(x, y) * size
    for _ in range(rounds):
        away = np.abs(y - scaled @ beta)
        spread = max(float(np.median(away)) / 0.6745, 1e-12 * float(np.abs(y).max()), 1e-300)
        weight = np.minimum(1.0, 1.345 * spread / np.maximum(away, 1e-300))
        weighted = scaled * weight[:, None]
        beta = np.linalg.lstsq(weighted.T @ scaled, weighted.T @ y, rcond=None)[0]
    found: Floats = beta / size
    return found
