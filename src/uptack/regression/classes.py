"""Where a fit of classes starts: an intercept alone, the log-odds of the second class.

**Theorem.** The share of the second class is ε'-differentially private for its part ε' of ε, whatever the rows.
*Proof.* A row adds an integer of [0, Λ], so one that is replaced, added or removed moves their sum by at most Λ, which
is what its noise is for (`uptack.regression.newton.noisy_mean`). The log-odds, and whether there are any, follow from
the share as it was released, and from public numbers. ∎
"""

from __future__ import annotations

import math

import numpy as np

from uptack.account import Account
from uptack.columns.table import Floats
from uptack.multivariate.bounded import LENGTH
from uptack.multivariate.rows import Rows
from uptack.multivariate.terms import Vectors
from uptack.regression.newton import noisy_mean

SEEN = 5
"""⊥ where a class has fewer rows than so many times the scale of noise in their number: it may have none."""


def log_odds(rows: Rows, n: float, account: Account) -> float | None:
    """log(π/(1 - π)) for the share π of the second class; None where noise would explain all rows of a class."""
    (total,) = rows.sums(lambda batch: [Vectors(np.rint(members(batch[-1]) * LENGTH))])
    least = SEEN * account.rows / (float(account.epsilon) * n)
    share = noisy_mean(total, n, account)
    return math.log(share / (1 - share)) if least < share < 1 - least else None


def members(y: Floats) -> Floats:
    """Whether rows are of the second class, in [0, 1] whatever y is."""
    return np.asarray(np.nan_to_num(np.clip(y, 0.0, 1.0)), np.float64)
