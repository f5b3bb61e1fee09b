"""Linear regression by bounded sums: least squares or Huber's loss, without bounds on the data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from uptack import checks
from uptack.exact import Rational
from uptack.grouping import per_group
from uptack.registry import release
from uptack.registry.options import Grouping
from uptack.regression.fits import FIT, FitOptions, regress
from uptack.regression.formulas.formula_designs import enter_formula
from uptack.regression.losses import RegressionLoss
from uptack.release import NoReply, Release
from uptack.table.exact_sum import Floats

CUTOFF = 1.345 / 0.6744897501960817
"""In medians of |residual|: 1.345 spreads of normal ones, for 95% of the efficiency of least squares (Huber 1964)."""


@dataclass(frozen=True)
class LeastSquaresLoss(RegressionLoss):
    """ψ = y - η, of curvature 1."""

    target = "the least-squares coefficients of the rows, without gross errors"

    def far_score(self, rest: float, s: float) -> float:
        """That deviation."""
        return rest

    def score(self, y: Floats, eta: Floats, s: float) -> Floats:
        """The residual."""
        return y - eta


@dataclass(frozen=True)
class HuberLoss(RegressionLoss):
    """ψ = y - η, brought to within ±1.345/0.6745·s."""

    target = "the coefficients of Huber's loss, with a cutoff of about 1.345 spreads of the residuals"
    curved, near, typical = True, Fraction(1, 2), 0.8

    def target_at(self, spread: float) -> str:
        """With the cutoff that was used: where residuals are skewed, the coefficients depend on it."""
        return f"the coefficients of Huber's loss with a cutoff of {CUTOFF * spread:.6g}"

    def far_score(self, rest: float, s: float) -> float:
        """The largest."""
        return CUTOFF * s

    def score(self, y: Floats, eta: Floats, s: float) -> Floats:
        """The residual, clipped."""
        return np.clip(y - eta, -CUTOFF * s, CUTOFF * s)

    def curvature(self, y: Floats, eta: Floats, s: float) -> Floats:
        """1 for residuals inside."""
        return (np.abs(y - eta) < CUTOFF * s).astype(np.float64)


LOSSES = {"squares": LeastSquaresLoss(), "huber": HuberLoss()}


class LinearOptions(FitOptions, Grouping, total=False):
    """Those of every regression by bounded sums, and of groups."""


@release(
    **FIT,
    by=per_group,
    also="regression",
    enter=enter_formula,
    examples=({}, {"fit_intercept": False}),
)
def linear_regression(
    x: Any, y: Any = None, *, epsilon: Rational, loss: str = "squares", **options: Unpack[LinearOptions]
) -> Release[Floats] | NoReply:
    """Least-squares coefficients, intercept first, with no bounds on the data: ε-differentially private.

    **Target.** The least-squares coefficients of the rows, without gross errors: a row with a value 300 units or more
    from the centre of its column, where a unit is the median difference of two rows, is left out. The noisy number of
    such rows is in the notes. With `loss="huber"` the target is the coefficients of Huber's loss, which gives large
    residuals less weight, at the cutoff that the notes state.

    **Theorem.** Every step sums contributions of rows that are bounded by construction, or draws by inverse
    sensitivity, and is private for its part of ε whatever the rows: see `uptack.regression.solver`. The parts add up to
    at most ε on every path.

    **With δ > 0** and enough coefficients (from 9 on at ε = 1 and δ = 1e-6) sums get Gaussian noise, and all steps
    compose as ρ-zCDP: (ε, δ)-private, and less noisy. With fewer coefficients δ is not used: pure noise is less.

    Columns may be of any scale and correlated. Declare columns that are 0 or 1 by their numbers in `binary`, and they
    need no private unit. With a frame in place of X, `formula="price ~ log(carat) + C(cut)"` names the columns, and
    `levels` declares the levels of categories (`uptack.regression.formulas`). Where nobody declares them, `delta` finds
    those with enough rows for a tenth of ε: by composition the whole is (ε, δ)-private
    (`uptack.regression.fits.regress`).

    `result.interval()` is an interval for the population's coefficients. It allows for sampling, however residuals
    spread for different x (White's errors), for privacy noise, and for what clipping may lose. It is infinite for a
    coefficient that is not resolved: one on directions of x that noise hides. `result.summary()` shows all of it.

    `missing` is "error" (default) or "drop": a row without all its values contributes nothing,
    and the number of complete rows is bought for 2% of ε. With `person=` a person adds the mean of what her rows would
    to every sum, so the fit is that of a random row of a random person, and one person moves it as one row does
    (`uptack.multivariate.row_sums`). Standard errors hold however the rows of one person depend on each other. Numbers
    of rows are then numbers of people.

    ⊥ by public numbers costs nothing, where the number of rows is public: about 3,500/ε rows are needed for three
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
    return regress("linear regression", LOSSES[checks.choice("loss", loss, tuple(LOSSES))], x, y, epsilon, options)
