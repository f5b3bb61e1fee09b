"""Planted faults of regressions. They are apart, since they know how fits are made."""
# ruff: noqa: E501 - one line a fault

from __future__ import annotations

from typing import Any

import numpy as np

from uptack.audit import fault_changes as wrong
from uptack.audit.seam import Plant, always, at, halved, patch, power, result
from uptack.multivariate.private_sums import LENGTH
from uptack.multivariate.row_sums import equal

FIT_DRAWS = {"linear": 9, "Poisson": 12, "quantile": 14, "logistic": 12, "scatter": 5}
"""How many draws each fit makes on the table of `uptack.audit.edge_tables.moves`."""
STILL = {("quantile", 11)}
"""Draws that none of its moves reaches: how far lengths are beyond a quantile, where they hardly differ."""


def _paired_anew(n: int, slots: int, most: int, entropy: Any) -> Any:
    """Pairs of all n rows, so that one row more deals all of them anew."""
    places = equal(n, most, entropy)
    return np.arange(places.shape[1]), places


def _in_two_pairs(places: Any, *_: Any) -> Any:
    """Each pair, and all of their first rows once more with those of the next pair."""
    return np.hstack([places, [places[0], np.roll(places[0], 1)]])


def _unbounded(columns: Any, radius: float = 0.0) -> Any:
    """Rows as integers, up to four times as long as they may be."""
    return np.rint(np.clip(columns * (LENGTH / (radius or 1.0)), -4.0 * LENGTH, 4.0 * LENGTH))


FIT_FAULTS: tuple[tuple[str, str, Plant], ...] = (
    ("short cut at 4ε", "short cut", at("InverseDraw", rho=power(4))),
    ("short cut: max|y| leaks under huber", "short cut, huber", patch("regression.block_fits.fit_blocks", wrong.largest_shown)),
    ("short cut: blocks shuffled anew where rows come and go", "short cut, add/remove", patch("blocks.partition.chosen_blocks", lambda f: wrong.chosen_anew)),
    ("short cut: standard errors at 3ε", "short cut, standard errors", at("InverseDraw", 2, rho=power(3))),
    ("linear: one row of three", "linear, 3 rows", result("multivariate.bounded.moved", lambda m, *_: m // 3)),
    ("linear: rows as long as they are", "linear, a row that moves", patch("multivariate.bounded.bounded", lambda f: _unbounded)),
    ("linear: variances in a quarter of their unit", "linear, a row that moves", result("regression.private_sums.shares_of", lambda whole, *_: 4 * whole)),
    ("linear: the true number of rows", "linear, add/remove", patch("statistics.column_options.noisy_size", lambda f: lambda n, law, account: n)),
    ("linear: lengths of one row of three", "linear, 3 rows", always("account.Account.rows", 1)),
    ("quantile: lengths of one row of three", "quantile, 3 rows", always("account.Account.rows", 1)),
    ("linear: pairs dealt anew where rows come and go", "linear, add/remove", patch("multivariate.pairs.chosen", lambda f: _paired_anew)),
    ("linear: a row in two pairs", "linear, a row that moves", result("multivariate.pairs.equal", _in_two_pairs)),
    *((f"{fit}: noise of draw {k} ÷ 4", f"{fit}, a row that moves", halved(k, 4)) for fit, most in FIT_DRAWS.items() for k in range(1, most + 1) if (fit, k) not in STILL),
)  # fmt: skip
