"""What is asked of a regression by bounded sums, and what public numbers say of it before any row is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from uptack import checks
from uptack.account import Account
from uptack.multivariate.bounded import moved
from uptack.multivariate.entrance import COUNT, MISSING, binary_columns
from uptack.regression.formulas import DesignColumns
from uptack.regression.losses import RegressionLoss
from uptack.regression.tuning import AMPLE, COLUMN_ROWS, EDGE, OTHER_ROWS, SCATTER, UNITS, USELESS
from uptack.release import Advice

NOISY = 3
"""Scales of the noise of a number of rows that is bought, which it is below by with a chance of 2.5%."""


@dataclass(frozen=True)
class FitRequest:
    """What is asked of X and y: a loss, which columns are 0 or 1, whether there is an intercept."""

    loss: RegressionLoss
    binary: tuple[int, ...]
    intercept: bool
    missing: str
    account: Account
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(loss: RegressionLoss, columns: int, account: Account, given: Mapping[str, Any]) -> FitRequest:
        """What a call says of so many columns, with a formula or without."""
        if isinstance(given["formula"], DesignColumns):
            return FitRequest.of_call(loss, given["formula"], account, given)
        missing, intercept = checks.choice("missing", given["missing"], MISSING), bool(given["fit_intercept"])
        return FitRequest(loss, binary_columns(given["binary"], columns), intercept, missing, account)

    @staticmethod
    def of_call(loss: RegressionLoss, public: DesignColumns, account: Account, given: Mapping[str, Any]) -> FitRequest:
        """What a call with a formula says."""
        missing, intercept = checks.choice("missing", given["missing"], MISSING), bool(given["fit_intercept"])
        words = (public.names, public.notes)
        return FitRequest(loss, public.binary, intercept and public.intercept, missing, account, *words)

    @property
    def counted(self) -> bool:
        """Whether the number of complete rows is secret, and has to be bought."""
        return self.missing != "error" or not self.account.adjacency.size_is_public

    def rows_needed(self, columns: int) -> int:
        """The least n with a fit. Where n is bought: for what that leaves of ε, with room for its noise."""
        if not self.counted:
            return self.least(columns, self.account)
        room = math.ceil(NOISY * self.account.rows / (self.account.epsilon * COUNT))
        return self.least(columns, self.account.allot(self.account.epsilon * (1 - COUNT))) + room

    def least(self, columns: int, account: Account) -> int:
        """The least n with a fit of so many columns: units are right, and noise does not cover the scatter matrix."""
        drawn, d = columns + (not self.loss.binary) - len(self.binary), columns + 2
        units = math.ceil((COLUMN_ROWS * drawn + OTHER_ROWS) * account.rows / (account.epsilon * UNITS))
        return max(units, math.ceil(EDGE * d**2 * moved(account) / float(account.epsilon * SCATTER) / USELESS))

    def advice(self, columns: int, other: str = "", known: int = 0) -> Advice:
        """What would likely get a reply, where a public number of rows, if there is one, did not."""
        return Advice(n=max(math.ceil(AMPLE * self.rows_needed(columns)), known), other=other)
