"""How the call of a regression becomes a fit: of X and y, or of a formula whose categories have yet to be found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from uptack import checks
from uptack.account import Account, Outcome
from uptack.errors import InvalidArgument
from uptack.multivariate.entrance import read_design
from uptack.regression.fit_requests import FitRequest
from uptack.regression.fits import HOW, fit
from uptack.regression.formulas import DesignColumns, Draft, designed
from uptack.regression.formulas.grammar import MOST
from uptack.regression.losses import RegressionLoss
from uptack.release import NoReply, Release
from uptack.table.exact_sum import Floats

LISTING = Fraction(1, 10)
"""The part of ε that finds the levels of categories, where they are not declared. It takes all of δ."""

WIDEST = 1000
"""Where the number of rows is secret, it can't say before X is made that there are too few of them: X has at most so
many columns of found levels."""

FEW = "declared levels, or more rows in each category"


def regress(
    loss: RegressionLoss, x: Any, y: Any, account: Account, told: Mapping[str, Any]
) -> Release[Floats] | NoReply:
    """A fit, for what a regression was told beside its data: `fit_intercept`, `binary`, `missing`, `formula`, `levels`.

    **Theorem.** Without categories to be found it is that of `uptack.regression.solver`: ε, and δ is refused.
    With some a tenth of ε and all of δ finds their levels (`Draft.found`), the fit is 9ε/10-private given these, and by
    composition the whole is (ε, δ)-private. All of it is written down on one account.
    """
    if isinstance(x, Draft):
        return _listed(loss, x, account, told)
    if told["formula"] is not None and not isinstance(told["formula"], DesignColumns):  # a group, in a session
        x, y, public = designed(told["formula"], x, told["levels"], by=True)
        told = {**told, "formula": public}
    if account.delta:
        fix = "All groups, and all levels of categories, are given."
        must = "left out but for unknown groups, or unknown levels of categories"
        raise InvalidArgument("delta", must, checks.describe(account.delta), fix)
    design, response = read_design(x, y)
    return fit(design, response, FitRequest.of(loss, len(design), account, told))


def _listed(loss: RegressionLoss, draft: Draft, account: Account, told: Mapping[str, Any]) -> Release[Floats] | NoReply:
    """⊥ by public numbers, before any row is looked at; then the levels, and the fit with these."""
    listing = account.allot(account.epsilon * LISTING, account.delta)
    rest = account.allot(account.epsilon - listing.epsilon)
    least = draft.columns()
    asked, wide = FitRequest.of_call(loss, least, rest, told), max(len(least.names), 1)
    public_size = account.adjacency.size_is_public
    if public_size and draft.size < asked.least(wide, rest):
        return account.close(Outcome.refusal(HOW, asked.advice(wide)))
    account.begin()
    levels, notes = draft.found(listing)
    if (wide := draft.width(levels)) > MOST:  # before there are names
        return account.close(Outcome.refusal(HOW, replace(asked.advice(wide), other=FEW)))
    public = replace(draft.columns(levels), notes=notes)
    asked, wide = FitRequest.of_call(loss, public, rest, told), len(public.names)
    too_wide = draft.size < asked.least(wide, rest) if public_size else wide > WIDEST
    if not wide or too_wide:  # before X is made
        return account.close(Outcome.refusal(HOW, replace(asked.advice(max(wide, 1)), other=FEW)))
    x, y, _ = draft.made(levels)
    return fit(x, y, asked)
