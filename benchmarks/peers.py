"""Quantiles by OpenDP and by diffprivlib, which must be told bounds."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import opendp.prelude as dp
from common import without_package
from numpy.typing import NDArray

CANDIDATES = 10_000

Bounds = tuple[float, float]

dp.enable_features("contrib")
diffprivlib, accountant = map(without_package, ("diffprivlib.tools.quantiles", "diffprivlib.accountant"))


@lru_cache(maxsize=256)
def opendp_quantile(
    n: int, bounds: Bounds, level: float, epsilon: float, candidates: int = CANDIDATES, concentrated: bool = False
) -> Any:
    """A measurement that costs ε for one row replaced, which is a symmetric distance of 2; or ε²/8 in zCDP.

    It chooses among candidates that are evenly spaced between the bounds.
    """
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=n)
    measure = dp.zero_concentrated_divergence() if concentrated else dp.max_divergence()
    values = np.linspace(*bounds, candidates).tolist()
    made = dp.m.make_private_quantile(domain, dp.symmetric_distance(), measure, values, level, 2 / epsilon)
    assert abs(made.map(2) - (epsilon**2 / 8 if concentrated else epsilon)) < 1e-9
    return made


def opendp_share(epsilon: float, delta: float, draws: int) -> tuple[float, bool]:
    """What each of so many quantiles may cost, and whether in zCDP: by OpenDP's own composition, whichever is more."""

    def total(each: float) -> float:
        one = opendp_quantile(2, (0.0, 1.0), 0.5, each, 2, concentrated=True)
        whole = dp.c.make_zCDP_to_approxDP(dp.c.make_composition([one] * draws))
        return float(whole.map(2).epsilon(delta))

    low, high = 0.0, epsilon
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if total(middle) <= epsilon else (low, middle)
    return (low, True) if low > epsilon / draws else (epsilon / draws, False)


def diffprivlib_share(epsilon: float, delta: float, draws: int) -> float:
    """The same by diffprivlib's accountant."""
    return float(accountant.BudgetAccountant(epsilon, delta, slack=delta).remaining(draws)[0])


def diffprivlib_quantile(x: NDArray[Any], level: float, epsilon: float, bounds: Bounds) -> float | None:
    """None where it fails: on large tables of tied rows all its weights underflow."""
    try:
        with np.errstate(invalid="ignore"):
            return float(diffprivlib.quantile(x, level, epsilon=epsilon, bounds=bounds))
    except RuntimeError:
        return None
