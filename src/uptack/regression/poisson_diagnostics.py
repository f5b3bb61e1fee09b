"""What is known of counts at the end of a fit: whether rates are theirs, how much they vary, and how many are clipped.

**Theorem.** Three means are each ε'-differentially private for their part ε' of ε, whatever the rows, given what was
released before. *Proof.* Contributions of rows are integers of an interval of length Λ with 0 in it, so a row that is
replaced, added or removed moves their sum by at most Λ, for which `uptack.regression.newton_steps.noisy_mean` has its
noise. ∎
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from uptack.account import Account
from uptack.multivariate.bounded import LENGTH
from uptack.multivariate.steps import Sample
from uptack.multivariate.terms import Vectors
from uptack.regression.fit_state import FitState
from uptack.regression.newton_steps import noisy_mean
from uptack.regression.sandwich import SAFE
from uptack.table.exact_sum import Floats

if TYPE_CHECKING:
    from uptack.regression.poisson_loss import PoissonLoss

OFF, UNSURE, CUT = 0.06, 0.05, 0.03
"""⊥ where mean counts and rates differ by the first beyond noise, or where that noise is above the second; a note where
clipped counts lack more than the third."""

PARTS = Fraction(3, 5), Fraction(1, 5), Fraction(1, 5)
"""Of what is spent at the end: for the mean of residuals, their variance, and how many are clipped."""


@dataclass(frozen=True)
class PoissonDiagnostics:
    """The variance of ψ. And over the mean of κ: how far the mean count is from the mean rate, the noise of that, and
    about how much counts beyond L have beyond it in all.
    """

    variance: float
    off: float
    noise: float
    beyond: float

    @property
    def wrong(self) -> bool:
        """Whether rates are not those of the counts."""
        return not (abs(self.off) <= OFF + self.noise and self.noise <= UNSURE)

    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        lost = f"the largest counts are clipped: rates may be too low, by about {self.beyond:.0%}"
        return (lost,) if self.beyond > CUT else ()


def known_ends(rows: Sample, fit: FitState, loss: PoissonLoss, account: Account) -> PoissonDiagnostics:
    """Three means over rows, each with its part of the account: y - μ cut to ±L, ψ², and whether a residual is beyond
    L. Of an exponential law those have a mean excess of L/4 where L is the 0.98-quantile, and less where it is a higher
    one.
    """
    model, step = fit.model, fit.step

    def sums(batch: Floats) -> list[Vectors]:
        _, y, eta, w = model.at(batch, step.beta)
        return [Vectors(np.rint(np.nan_to_num(each) * LENGTH)) for each in loss.ends(y, eta, model.near(w))]

    parts = [account.part(part) for part in PARTS]
    off, square, beyond = (noisy_mean(total, model.n, own) for total, own in zip(rows.sums(sums), parts, strict=True))
    scales = [own.rows / (model.n * float(own.epsilon)) for own in parts]
    over = loss.limit / step.bend
    square = max(square, math.sqrt(2) * scales[1])
    variance = loss.limit**2 * (square + SAFE * 2 * scales[1] ** 2 / square)
    return PoissonDiagnostics(variance, 2 * off * over, 2 * scales[0] * over, (beyond - 2 * scales[2]) * over / 4)
