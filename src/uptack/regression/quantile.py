"""Quantile regression by bounded sums: pure ε, no bounds on the data. The median is least absolute deviations."""

from __future__ import annotations

from typing import Any

from uptack import checks
from uptack.account import Account
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency
from uptack.registry import release
from uptack.regression.check_loss import CheckLoss
from uptack.regression.formulas import entered
from uptack.regression.formulas.formula_reads import FORMULA_DESIGN
from uptack.regression.regression_calls import regress
from uptack.release import NoReply, Release
from uptack.table.exact_sum import Floats

LEAST = 0.02
"""Quantiles nearer to 0 or 1 have too few rows beyond them for a density that the noise would not cover."""


@release(
    reads=FORMULA_DESIGN,
    people=True,
    data=("x", "y"),
    missing="ignore",
    enter=entered,
    examples=({}, {"quantile": 0.9}),
)
def quantile_regression(
    x: Any,
    y: Any = None,
    *,
    epsilon: Rational,
    delta: Rational = 0,
    quantile: float = 0.5,
    fit_intercept: bool = True,
    binary: Any = None,
    formula: Any = None,
    levels: Any = None,
    missing: str = "error",
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[Floats] | NoReply:
    """Coefficients of a conditional quantile, intercept first, without bounds on the data: ε-differentially private.

    **Target.** The coefficients that minimise the check loss of the rows, without gross errors
    (`uptack.linear_regression`): those of the conditional quantile where it is linear in x. `quantile` is from 0.02 to
    0.98. 0.5 is the median: least absolute deviations.

    **Theorem.** Every step sums contributions of rows that are bounded by construction, or draws by inverse
    sensitivity, and is private for its part of ε whatever the rows: see `uptack.regression.solver`. The parts add up to
    at most ε on every path.

    `result.interval()` and `result.summary()` allow for sampling, also where residuals spread differently for
    different x, for privacy noise, and for what clipping may lose. `fit_intercept`, `binary`, `formula`, `delta`,
    `missing`, `person` and ⊥ are as in `linear_regression`.

    >>> import numpy as np
    >>> from uptack.noise import SeededEntropy
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(20_000, 2)) * [1, 1000] + [0, 5000]
    >>> y = 3 + x @ [1.0, -0.002] + rng.standard_cauchy(size=20_000)
    >>> found = quantile_regression(x, y, epsilon=1, entropy=SeededEntropy(1))
    >>> bool(np.abs((found.value - [3, 1, -0.002]) * [0.1, 1, 1000]).max() < 0.1), found.privacy
    (True, Privacy(epsilon=1.0))
    """
    level = level_of(quantile)
    account = Account.open(
        "quantile regression", epsilon, delta, adjacency=adjacency, rows_per_person=rows_per_person, entropy=entropy
    )
    told = {"fit_intercept": fit_intercept, "binary": binary, "missing": missing, "formula": formula, "levels": levels}
    return regress(CheckLoss(level), x, y, account, told)


def level_of(quantile: Any) -> float:
    """A quantile that is not too near to 0 or 1."""
    level = float(checks.probability("quantile", quantile))
    if not LEAST <= level <= 1 - LEAST:
        raise InvalidArgument("quantile", f"from {LEAST} to {1 - LEAST}", level)
    return level
