"""Linear regression by bounded sums: least squares or Huber's loss, pure ε, no bounds on the data."""

from __future__ import annotations

from typing import Any, Unpack

from uptack import checks
from uptack.account import Account
from uptack.exact import Rational
from uptack.grouping import per_group
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency
from uptack.registry import release
from uptack.registry.options import Grouping
from uptack.regression.formulas import entered
from uptack.regression.formulas.formula_reads import FORMULA_DESIGN
from uptack.regression.huber_loss import HuberLoss
from uptack.regression.least_squares_loss import LeastSquaresLoss
from uptack.regression.regression_calls import regress
from uptack.release import NoReply, Release
from uptack.table.exact_sum import Floats

LOSSES = {"squares": LeastSquaresLoss(), "huber": HuberLoss()}


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
    loss: str = "squares",
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
    """Least-squares coefficients, intercept first, with no bounds on the data: ε-differentially private.

    **Target.** The least-squares coefficients of the rows, without gross errors: a row with a value 300 units or more
    from the centre of its column, where a unit is the median difference of two rows, is left out. The noisy number of
    such rows is in the notes. With `loss="huber"` the target are the coefficients of Huber's loss, for which far
    residuals count less.

    **Theorem.** Every step sums contributions of rows that are bounded by construction, or draws by inverse
    sensitivity, and is private for its part of ε whatever the rows: see `uptack.regression.solver`. The parts add up to
    at most ε on every path.

    Columns may be of any scale and correlated. Declare columns that are 0 or 1 by their numbers in `binary`, and they
    need no private unit. With a frame in place of X, `formula="price ~ log(carat) + C(cut)"` names the columns, and
    `levels` declares the levels of categories (`uptack.regression.formulas`). Where nobody declares them, `delta` finds
    those with enough rows for a tenth of ε: by composition the whole is (ε, δ)-private
    (`uptack.regression.regression_calls.regress`).

    `result.interval()` is an interval for the population's coefficients. It allows for sampling, however residuals
    spread for different x (White's errors), for privacy noise, and for what clipping may lose. It is infinite for a
    coefficient that is not resolved: one on directions of x that noise hides. `result.summary()` shows all of it.
    (`standard_errors` is there for callers of the short cut: a fit has them anyway.)

    `missing` is "error" (default) or "drop" ("ignore" is the same): a row without all its values contributes nothing,
    and the number of complete rows is bought for 2% of ε. With `person=` a person adds the mean of what her rows would
    to every sum, so the fit is that of a random row of a random person, and one person moves it as one row does
    (`uptack.multivariate.steps`). Standard errors hold however the rows of one person depend on each other. Numbers of
    rows are then numbers of people.

    ⊥ by public numbers costs nothing, where the number of rows is public: about 3,300/ε rows are needed for three
    predictors. ⊥ is also the answer, at the price of what was done, where a column varies in too few rows, which is
    named, or where noise hides all slopes.

    >>> import numpy as np
    >>> from uptack.noise import SeededEntropy
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(20_000, 2)) * [1, 1000] + [0, 5000]
    >>> y = 3 + x @ [1.0, -0.002] + rng.normal(size=20_000)
    >>> found = linear_regression(x, y, epsilon=1, entropy=SeededEntropy(1))
    >>> bool(np.abs((found.value - [3, 1, -0.002]) * [0.1, 1, 1000]).max() < 0.1), found.privacy
    (True, Privacy(epsilon=1.0))
    """
    chosen = LOSSES[checks.choice("loss", loss, tuple(LOSSES))]
    account = Account.open(
        "linear regression", epsilon, delta, adjacency=adjacency, rows_per_person=rows_per_person, entropy=entropy
    )
    told = {"fit_intercept": fit_intercept, "binary": binary, "missing": missing, "formula": formula, "levels": levels}
    return regress(chosen, x, y, account, told)
