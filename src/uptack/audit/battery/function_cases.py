"""Functions, kernel machines, robust regression, unknown categories and groups."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from uptack.audit.audit_case import Case, Pair, family
from uptack.audit.battery.block_cases import regressed
from uptack.audit.neighbours import changed, lines, two_values
from uptack.densities.fourier import fourier_density
from uptack.densities.kernel_density import kde
from uptack.discrete import histogram
from uptack.grouping import per_group
from uptack.kernels.machine_release import kernel_machine
from uptack.noise import Entropy
from uptack.privacy import ADD_REMOVE, Privacy
from uptack.regression.hampel import hampel_regression
from uptack.statistics import median

DELTA = Fraction(1, 50)
WHERE = np.array([0.0, 1.0])


def cases() -> list[Case]:
    """All of them."""
    return [*_densities(), *_machines(), *_categories()]


def seen_at(function: Any, options: dict[str, Any], rows: Any, entropy: Entropy) -> Any:
    """A released function at two points, or ⊥."""
    made = function(rows, **options, entropy=entropy)
    return made.value.at(WHERE) if made else None


def _densities() -> list[Case]:
    loud, pair = {"epsilon": 2, "delta": DELTA}, {"from 0 to 1": two_values(30, 15)}
    fixed, box = {**loud, "bandwidth": 0.5}, {"epsilon": 2, "low": -1.0, "high": 2.0, "degree": 2}
    public, secret = partial(seen_at, kde, fixed), partial(seen_at, kde, {**fixed, "adjacency": ADD_REMOVE})
    own, moments = partial(seen_at, kde, loud), partial(seen_at, fourier_density, box)
    claimed, unknown = Privacy(2, DELTA), Privacy(2, DELTA, ADD_REMOVE)
    ties, fewer = {"ties at the quartile": two_values(700, 525)}, {"one row fewer": two_values(30, 15, ADD_REMOVE)}
    return [
        *family("kernel density", public, pair, claimed, share=0.2),
        *family("kernel density, private bandwidth", own, ties, claimed, share=0.1),
        *family("kernel density, add/remove", secret, fewer, unknown, share=0.2),
        *family("Fourier density", moments, pair, Privacy(2), share=0.5),
    ]


def classified(data: Any, entropy: Entropy) -> Any:
    """What a support vector machine says at two points."""
    x, y = data
    made = kernel_machine(x, y, epsilon=2, delta=DELTA, regularization=1, frequencies=8, entropy=entropy)
    return made.value.at(WHERE[:, None]) if made else None


def _machines() -> list[Case]:
    x, (y, y_prime) = np.zeros((40, 1)), two_values(40, 20, low=-1.0)
    labels: dict[str, Pair] = {"another label": ((x, y), (x, y_prime))}
    fit = partial(regressed, hampel_regression, {"epsilon": 4, "delta": DELTA, "fit_intercept": False})
    loud = Privacy(4, DELTA)
    return [
        *family("kernel machine", classified, labels, Privacy(2, DELTA), share=0.1),
        *family("robust regression", fit, lines(300), loud, only=("a point of leverage",), share=0.1),
    ]


def listed(rows: Any, entropy: Entropy) -> list[int]:
    """Two categories that nobody listed, and the number of all that are shown."""
    found = histogram(rows, epsilon=1, delta=DELTA, entropy=entropy).value
    return [found.get(0, 0), found.get(1, 0), len(found)]


def grouped(groups: list[int] | None, data: Any, entropy: Entropy) -> list[float]:
    """The medians of two groups, -1 for ⊥ and -2 for a group that is not shown."""
    x, by = data
    options = {"groups": groups} if groups else {"delta": DELTA}
    found = per_group(median, x, by, epsilon=4, granularity=1, entropy=entropy, **options).value
    return [float(found[key].value or 0.0) if found.get(key) else -1.0 if key in found else -2.0 for key in (0, 1)]


def _categories() -> list[Case]:
    shown: dict[str, Pair] = {
        "a row of its own": changed(np.zeros(12), slice(0, 1), 1.0),
        "at the cutoff": two_values(20, 8),
    }
    x, x_prime = two_values(80, 40, ADD_REMOVE)
    jump = ((x, np.zeros(80, np.int64)), (x_prime, np.zeros(79, np.int64)))
    few = ((np.zeros(64), np.repeat([0, 1], [60, 4])), (np.zeros(63), np.repeat([0, 1], [60, 3])))
    known, unknown = partial(grouped, [0, 1]), partial(grouped, None)
    public, secret = Privacy(4, 0, ADD_REMOVE), Privacy(4, DELTA, ADD_REMOVE)
    return [
        *family("histogram, unknown categories", listed, shown, Privacy(1, DELTA)),
        *family("median per group", known, {"a median jumps": jump}, public, share=0.5),
        *family("median per unknown group", unknown, {"a small group": few}, secret, share=0.5),
    ]
