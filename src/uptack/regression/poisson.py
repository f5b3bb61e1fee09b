"""Poisson regression by bounded sums: rates of counts, pure ε, no bounds on the data."""

from __future__ import annotations

from typing import Any

from uptack.account import Account
from uptack.exact import Rational
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency
from uptack.registry import release
from uptack.regression.formulas import entered
from uptack.regression.formulas.formula_reads import FORMULA_DESIGN
from uptack.regression.poisson_loss import PoissonLoss
from uptack.regression.regression_calls import regress
from uptack.release import NoReply, Release
from uptack.table.exact_sum import Floats


@release(
    reads=FORMULA_DESIGN,
    people=True,
    data=("x", "y"),
    missing="ignore",
    enter=entered,
    examples=({}, {"fit_intercept": False}),
)
def poisson_regression(
    x: Any,
    y: Any = None,
    *,
    epsilon: Rational,
    delta: Rational = 0,
    fit_intercept: bool = True,
    binary: Any = None,
    formula: Any = None,
    levels: Any = None,
    missing: str = "error",
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[Floats] | NoReply:
    """Coefficients of the logarithm of a rate, intercept first, without bounds on the data: ε-differentially private.

    **Target.** The maximum likelihood estimate of the rows, without gross errors (`uptack.linear_regression`). It is
    that of the mean, E[y|x] = e^η, also where y varies more than Poisson's law has it. y are counts, or other numbers
    of 0 or more; those below count as 0.

    **Theorem.** Every step sums contributions of rows that are bounded by construction, or draws by inverse
    sensitivity, and is private for its part of ε whatever the rows: see `uptack.regression.solver`. The parts add up to
    at most ε on every path.

    `fit_intercept`, `binary`, `formula`, `delta`, `missing`, `person`, `result.interval()` and ⊥ are as in
    `linear_regression`. ⊥ is also the answer where the last step is a long one.

    >>> import numpy as np
    >>> from uptack.noise import SeededEntropy
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(20_000, 2)) * [1, 1000] + [0, 5000]
    >>> y = rng.poisson(np.exp(3 + x @ [0.5, -0.0004]))
    >>> found = poisson_regression(x, y, epsilon=1, entropy=SeededEntropy(1))
    >>> bool(np.abs((found.value - [3, 0.5, -0.0004]) * [0.1, 1, 1000]).max() < 0.1), found.privacy
    (True, Privacy(epsilon=1.0))
    """
    account = Account.open(
        "Poisson regression", epsilon, delta, adjacency=adjacency, rows_per_person=rows_per_person, entropy=entropy
    )
    told = {"fit_intercept": fit_intercept, "binary": binary, "missing": missing, "formula": formula, "levels": levels}
    return regress(PoissonLoss(), x, y, account, told)
