"""Every error that uptack raises has one root, and carries what it is about as attributes.

Exceptions are for misuse. A refusal to answer (⊥) is a value: see `uptack.NoReply`.
"""

from __future__ import annotations

import re
from decimal import ROUND_DOWN, ROUND_UP, Context
from functools import partial
from typing import Any, Self

LONG = re.compile(r"\d+\.\d{6,}(?:e-?\d+)?")
"""A number with more digits than a reader wants."""


class UptackError(Exception):
    """The root of all errors of this library. It can be pickled: it keeps the arguments that it was made with."""

    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        """An error that remembers its arguments. Its `args` are the message."""
        error = super().__new__(cls, *arguments)
        error._made_with = arguments, named
        return error

    def __reduce__(self) -> tuple[Any, ...]:
        arguments, named = self._made_with
        return partial(type(self), **named), arguments


class InvalidArgument(UptackError, ValueError):
    """An argument is not what it must be. Raised before any data is read and before anything is spent."""

    def __init__(self, name: str, must: str, got: object, fix: str = "") -> None:
        self.name, self.must, self.got, self.fix = name, must, got, fix
        plain = must.startswith(("left out", "given", "listed")) or str(got) in ("nothing", "some", "one that is not")
        text = f"{name} must be {must}" + ("." if plain else f", got {got}.") + (f" {fix}" if fix else "")
        super().__init__(text.replace(". Such as ", ", such as ", 1) if plain else text)


class UnknownName(InvalidArgument):
    """There is no column, or no table, of that name. Nothing was read and nothing was spent."""

    def __init__(self, what: str, got: str, fix: str = "") -> None:
        super().__init__(what, f"the name of a {what}", got, fix)
        self.args = (f"no {what} named {got}." + (f" {fix}" if fix else ""),)


class UnknownOption(InvalidArgument, TypeError):
    """A function has no option of that name. Nothing was read and nothing was spent."""

    def __init__(self, option: str, function: str, fix: str = "") -> None:
        super().__init__(option, f"an option of {function}", "an unknown one", fix)
        self.function = function
        self.args = (f"unknown option {option!r} of {function}." + (f" {fix}" if fix else ""),)


class WrongArguments(InvalidArgument, TypeError):
    """A function takes another number of arguments or columns. Nothing was read and nothing was spent."""

    def __init__(self, function: str, takes: str, got: object, fix: str = "") -> None:
        super().__init__(function, takes, got, fix)
        self.args = (f"{function} takes {takes}, got {got}." + (f" {fix}" if fix else ""),)


class Failed(UptackError):
    """A release could not be made. The reason may reveal something about the rows, so it is not shown."""

    def __init__(self, release: str) -> None:
        self.release = release
        super().__init__(
            f"{release} failed while it read the data. The reason may reveal something about the rows, so it is not "
            "shown. The curator can set UPTACK_DEBUG=1 to see it."
        )


class NoReplyError(UptackError):
    """A value was needed, and there is none: ⊥. The refused result is the attribute `reply`."""

    def __init__(self, reply: object) -> None:
        self.reply = reply
        super().__init__(f"there is no value: {reply}")


class NoInterval(UptackError):
    """The release has no interval."""


class UnknownLoss(UptackError, TypeError):
    """A loss tree holds a node that the interpreter has no theorem for."""


class Incomparable(UptackError, TypeError):
    """Two guarantees speak about different neighbours, or of different kinds of privacy."""


class BudgetExceeded(UptackError):
    """A request exceeds what is left of a budget. Nothing was debited, and no data were read.

    `requested` and `remaining` are the guarantees, each a `Privacy`; `whose` names the budget.
    """

    def __init__(self, requested: object, remaining: object, whose: str = "the budget") -> None:
        self.requested, self.remaining, self.whose = requested, remaining, whose
        short_of_delta = getattr(requested, "delta", 0) > getattr(remaining, "delta", 0)
        left = getattr(remaining, "epsilon", 0)
        fix = "Pass a smaller epsilon=." if left > 0 else "The budget is used up."
        if short_of_delta and getattr(requested, "epsilon", 0) <= left:
            fix = "ε would be enough, δ is not: pass a smaller delta=."
        asked, rest = shorter(requested, ROUND_UP), shorter(remaining, ROUND_DOWN)
        super().__init__(f"{asked} exceeds what is left of {whose}: {rest}. {fix} Spent budget cannot be recovered.")


def shorter(cost: object, rounding: str) -> str:
    """A guarantee in words, with four digits of the numbers that have many.

    >>> shorter("ε = 0.10042586286239888, δ = 1e-06", ROUND_DOWN)
    'ε = 0.1004, δ = 1e-06'
    """
    return LONG.sub(lambda m: f"{Context(4, rounding).create_decimal(m[0]):f}", str(cost))


class LedgerError(UptackError):
    """A ledger can't be opened, read or written. `where` says which one, `problem` what is wrong, `fix` what to do."""

    def __init__(self, where: str, problem: str, fix: str = "") -> None:
        self.where, self.problem, self.fix = where, problem, fix
        super().__init__(f"{where} {problem}." + (f" {fix}" if fix else ""))


class LedgerCorrupt(LedgerError):
    """A ledger is inconsistent: an entry was changed or lost. `fault` says where."""

    def __init__(self, where: str, fault: object) -> None:
        self.fault = fault
        super().__init__(
            where, f"is damaged: {fault}", "Restore it from a copy. Until then nothing can be spent from it."
        )
