"""What a rank statistic can be told, and the account that pays for it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from uptack import checks
from uptack.account import Account
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.statistics.column_options import Promises

GRID = 1 << 16
"""Fractions are rounded to multiples of 1/GRID, which costs less than a part in 60,000 of the noise."""

LOUDEST = Fraction(1, 5)
"""The largest scale of noise on a τ or on a probability that is worth a reply. With more there is ⊥."""


class RankOptions(Promises, total=False):
    """What a rank statistic can be told beside what it promises.

    - `missing`: "error" (default) tells the curator of NaN and infinities. With "ignore" a row that lacks a value takes
      part in nothing, and how many do is secret; ±inf is read as ±the largest float.
    """

    missing: str


class LabelOptions(RankOptions, total=False):
    """The same where rows have labels.

    - `public_labels`: True where everybody may know which row has which label. Neighbours then keep their labels, and
      only values are protected. By default a label is as secret as the value beside it. Sessions have no public labels.
    """

    public_labels: bool


def open_account(name: str, epsilon: Rational, options: Mapping[str, Any]) -> tuple[Account, str]:
    """The checked account of a release, and what is done with missing values."""
    promised = {key: options[key] for key in Promises.__annotations__ if key in options}
    missing = checks.choice("missing", options.get("missing", "error"), ("error", "ignore"))
    return Account.open(name, epsilon, **promised), missing


def labels_are_public(account: Account, options: Mapping[str, Any], in_table: bool) -> bool:
    """Whether labels are public: only where the number of rows is, and never in a session."""
    if not options.get("public_labels", False):
        return False
    if account.adjacency.person:
        fix = "A person with other rows may have other labels too."
        raise InvalidArgument("public_labels", "False where people are the unit", "True", fix)
    if not account.adjacency.size_is_public:
        fix = "Adding or removing a row would also add or remove its label."
        raise InvalidArgument("public_labels", "False under ADD_REMOVE", "True", fix)
    if in_table:
        fix = "A request can't make a column public. Call the function itself on public labels."
        raise InvalidArgument("public_labels", "False in a session", "True", fix)
    return True


PUBLIC_LABELS = "The labels are taken to be public, so only the values are protected."


DEPENDENT = "Intervals and p-values assume that all rows are independent, including rows of one person."


def sampling_note(account: Account) -> tuple[str, ...]:
    """What a reader must know where one person may have several rows."""
    return (DEPENDENT,) if account.rows > 1 else ()
