"""Vector medians, subsamples, functions, standard errors, random differential privacy, and what sessions release."""

from __future__ import annotations

import contextlib
import io
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from uptack import session
from uptack.audit.audit_case import Case, Pair, family
from uptack.audit.battery.block_cases import regressed
from uptack.audit.neighbours import changed, hostile, two_values
from uptack.blocks import subsample_aggregate
from uptack.kernels import FourierBasis, GaussianKernel, release_function, release_spectral
from uptack.noise import Entropy
from uptack.papers import R_H, A_samp
from uptack.privacy import ADD_REMOVE, Privacy
from uptack.random_dp import binomial_proportion, random_sparse_histogram
from uptack.regression import shortcut_regression

DELTA = Fraction(1, 50)
TIES = "ties at the rank"
POINTS = np.array([0.0, 1.0])


def cases() -> list[Case]:
    """All of them."""
    return [*_blocks(), *_functions(), *_regressions(), *_random(), *_sessions()]


def _pair(rows: Any) -> list[float]:
    return [float(rows[0]), -float(rows[0])]


def _peak(rows: Any) -> float:
    return float(np.max(rows, initial=0.0))


def vector(rows: Any, entropy: Entropy) -> Any:
    """The medians of two coordinates of blocks of one row."""
    return subsample_aggregate(
        _pair,
        rows,
        blocks=len(rows),
        aggregate="vector_median",
        fallback=[0.0, 0.0],
        epsilon=2,
        trusted=True,
        entropy=entropy,
    )


def sampled(rows: Any, entropy: Entropy) -> Any:
    """The largest row of most subsamples; A_samp prints its plan, which is public."""
    with contextlib.redirect_stderr(io.StringIO()):
        return A_samp(_peak, rows, 30, Fraction(1, 10), trusted=True, entropy=entropy)


def _blocks() -> list[Case]:
    spread: dict[str, Pair] = {"one row is largest": changed(np.zeros(54), slice(0, 1), 2.0)}
    return [
        *family("vector median of blocks", vector, hostile(240, 120), Privacy(2), only=(TIES,), share=0.2),
        *family("A_samp", sampled, spread, Privacy(30, Fraction(1, 20)), share=0.02),
    ]


def bumps(rows: Any, entropy: Entropy) -> Any:
    """A mean of bumps around the rows, at two points."""

    def f(where: Any) -> Any:
        return np.exp(-2 * (where - rows[None, :]) ** 2).mean(axis=1)

    kernel = GaussianKernel(0.5)
    options: dict[str, Any] = {"sensitivity": Fraction(99, 70) / rows.size, "norm": 1, "error": Fraction(1, 10**12)}
    made = release_function(f, kernel=kernel, epsilon=2, delta=DELTA, most_points=4, entropy=entropy, **options)
    return made.value.at(POINTS)


def waves(rows: Any, entropy: Entropy) -> Any:
    """The coordinates of an embedding."""
    basis = FourierBasis(0.1, 2)
    made = release_spectral(
        basis.mean(rows[:, None]), basis=basis, sensitivity=basis.sensitivity(rows.size), error=basis.rounding,
        epsilon=2, delta=DELTA, entropy=entropy,
    )  # fmt: skip
    return made.value.coordinates


def _functions() -> list[Case]:
    apart, sides = {"from 0 to 1": two_values(20, 10)}, {"to the other side": two_values(20, 10, high=0.5)}
    return [
        *family("function", bumps, apart, Privacy(2, DELTA), share=0.1),
        *family("spectral function", waves, sides, Privacy(2, DELTA), share=0.1),
    ]


def _regressions() -> list[Case]:
    x, (y, y_prime) = np.ones((300, 1)), two_values(300, 150)
    lines: dict[str, Pair] = {"two lines": ((x, y), (x, y_prime))}
    errors = {"epsilon": 6, "fit_intercept": False, "standard_errors": True, "block_fit": "ols", "blocks": 300}
    printed = partial(regressed, R_H, {"eps": 1, "delta": DELTA})
    return [
        *family("standard errors", partial(with_errors, errors), lines, Privacy(6), share=0.2),
        *family("R_H", printed, lines, Privacy(4, 4 * DELTA), share=0.1),
    ]


def with_errors(options: dict[str, Any], data: Any, entropy: Entropy) -> Any:
    """Coefficients and their standard errors."""
    made = shortcut_regression(*data, **options, entropy=entropy)
    return [*made.value.tolist(), *made.noise.standard_errors] if made else None  # type: ignore[union-attr]


def proportion(rows: Any, entropy: Entropy) -> Any:
    """A share of many rows of either kind: there it has noise."""
    return binomial_proportion(rows, epsilon=1, gamma=Fraction(1, 10), entropy=entropy).value


def cells(counts: Any, entropy: Entropy) -> Any:
    """Cells with many rows: there they have noise."""
    return random_sparse_histogram(counts, epsilon=1, gamma=Fraction(1, 10), entropy=entropy).value


def _random() -> list[Case]:
    """Random differential privacy, between tables of which neither is unusual."""
    flags: dict[str, Pair] = {"one flag": (np.arange(40) < 20, np.arange(40) < 21)}
    counts: dict[str, Pair] = {"from cell to cell": (np.array([9, 9]), np.array([10, 8]))}
    return [
        *family("binomial proportion", proportion, flags, Privacy(1)),
        *family("random sparse histogram", cells, counts, Privacy(1)),
    ]


def in_session(rows: Any, entropy: Entropy) -> Any:
    """A median of a session's column."""
    return session.open({"x": rows}, missing="low", entropy=entropy)["x"].median(epsilon=2, granularity=1)


def by_group(data: Any, entropy: Entropy) -> list[float]:
    """The medians of two groups of a session, one of which nobody is in."""
    x, by = data
    opened = session.open({"x": x, "by": by}, missing="low", adjacency=ADD_REMOVE, entropy=entropy)
    found = opened["x"].median(epsilon=4, granularity=1, by="by", groups=[0, 1]).unwrap()
    return [float(found[key].value or 0.0) if found[key] else -1.0 for key in (0, 1)]


def _sessions() -> list[Case]:
    x, x_prime = two_values(80, 40, ADD_REMOVE)
    jump: dict[str, Pair] = {"a median jumps": ((x, np.zeros(80, np.int64)), (x_prime, np.zeros(79, np.int64)))}
    return [
        *family("median in a session", in_session, hostile(100, 50), Privacy(2), only=(TIES,), share=0.5),
        *family("groups in a session", by_group, jump, Privacy(4, 0, ADD_REMOVE), share=0.2),
    ]
