"""Linear regression by bounded sums: pure ε, no bounds on the data, for columns of any scale and most correlations."""

from __future__ import annotations

from typing import Any, Unpack

from uptack.account import Account
from uptack.exact import Rational
from uptack.grouping import per_group
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency
from uptack.registry import release
from uptack.registry.options import Grouping
from uptack.regression.formulas import entered
from uptack.regression.formulas.formula_reads import FORMULA_DESIGN
from uptack.regression.least_squares_loss import LeastSquaresLoss
from uptack.regression.regression_calls import regress
from uptack.release import NoReply, Release
from uptack.table.exact_sum import Floats


@release(
    reads=FORMULA_DESIGN,
    by=per_group,
    people=True,
    data=("x", "y"),
    missing="ignore",
    also="regression",
    enter=entered,
    examples=({}, {"fit_intercept": False}),
)
def linear_regression(
    x: Any,
    y: Any = None,
    *,
    epsilon: Rational,
    delta: Rational = 0,
    fit_intercept: bool = True,
    binary: Any = None,
    formula: Any = None,
    levels: Any = None,
    standard_errors: bool = True,
    missing: str = "error",
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
    **_: Unpack[Grouping],
) -> Release[Floats] | NoReply:
    """Coefficients of a linear regression, intercept first, with no bounds on the data: ε-differentially private.

    **Theorem.** Every step sums contributions of rows that are bounded by construction, or draws by inverse
    sensitivity, and is private for its part of ε whatever the rows: see `uptack.regression.newton_steps`. The parts add
    up to at most ε on every path.

    It is a fit of Huber's loss in which rows far out in x count less (Mallows' weights), and with few rows its
    intercept is at the mean of clipped residuals (`uptack.regression.intercept_level`). Columns may be of any scale and
    correlated. A column that hardly ever varies has a coefficient of 0 and no standard error; declare columns that are
    0 or 1 by their numbers in `binary`, and they need no private scale.

    With a frame in place of X, `formula="price ~ log(carat) + C(cut)"` names the columns, and `levels` declares the
    levels of categories (`uptack.regression.formulas`). Where nobody declares them, `delta` finds those with enough
    rows for a tenth of ε: by composition the whole is (ε, δ)-private (`uptack.regression.regression_calls.regress`).

    `result.interval()` is an interval for the population's coefficients: sampling, however residuals spread for
    different x (`uptack.regression.sandwich`), privacy noise and the bias of a small ridge. It is infinite for a
    coefficient that hangs on directions of x that noise covers. With many rows and skewed residuals the intercept is
    where most of them are, and so is its interval: it need not hold that of their mean. `result.summary()` shows all of
    it. (`standard_errors` is there for callers of the short cut: a fit has them anyway.)

    `missing` is "error" (default) or "drop" ("ignore" is the same): a row without all its values contributes nothing.
    With `person=` a person adds the mean of what her rows would to every sum, so the fit is that of a random row of a
    random person, and one person moves it as one row does (`uptack.multivariate.steps`). Standard errors hold however
    the rows of one person hang together. Numbers of rows in what is said here are numbers of people.

    ⊥ by public numbers costs nothing, where the number of rows is public. ⊥ is also the answer, at the price of what
    was done, where the last step was too long to be a polish, or noise covers a third of the directions of x. With few
    rows for their noise, or where rows far out may be right, it is also ⊥ where the fit would not beat a constant if it
    were off by four spreads for all of those that it does not explain (`uptack.regression.residual_tails`), and with
    few rows where residuals are very skewed.

    >>> import numpy as np
    >>> from uptack.noise import SeededEntropy
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(20_000, 2)) * [1, 1000] + [0, 5000]
    >>> y = 3 + x @ [1.0, -0.002] + rng.normal(size=20_000)
    >>> found = linear_regression(x, y, epsilon=1, entropy=SeededEntropy(1))
    >>> bool(np.abs((found.value - [3, 1, -0.002]) * [0.1, 1, 1000]).max() < 0.1), found.privacy
    (True, Privacy(epsilon=1.0))
    """
    account = Account.open(
        "linear regression", epsilon, delta, adjacency=adjacency, rows_per_person=rows_per_person, entropy=entropy
    )
    told = {"fit_intercept": fit_intercept, "binary": binary, "missing": missing, "formula": formula, "levels": levels}
    return regress(LeastSquaresLoss(), x, y, account, told)
