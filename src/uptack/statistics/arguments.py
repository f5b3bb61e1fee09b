"""The public side of a call, checked before any data is read, and the data as a plain column of numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypedDict

from uptack import checks, columns
from uptack.columns import Column
from uptack.columns.numeric import LARGEST
from uptack.data.arrays import numeric_column
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.noise import Entropy, IntegerLaplace
from uptack.noise.entropy import source
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.privacy.adjacency import adjacency as check_adjacency

METHODS = ("inverse", "ptr", "dwork-lei")
COUNT_SHARE = Fraction(1, 10)
"""The part of ε that goes into the number of rows where it is secret."""

EPSILONS = (Fraction(1, 10**12), Fraction(10**12))
"""The least and the most ε: with less no table has rows enough, and more is no privacy."""

STEPS = (Fraction(1, 10**75), Fraction(10**75))
"""The least and the most granularity: beyond, the lattices of candidates have no multiples of it, or nothing else."""

FINER = "Leave it out, or measure the column in other units."

LEAST_SHARE = Fraction(1, 10**12)
"""Rows that a quantile, or a cut, must leave on each side: no table has as many rows as a smaller share needs."""


@dataclass(frozen=True)
class Call:
    """What a caller asked for, but for the data."""

    name: str
    epsilon: Fraction
    delta: Fraction
    method: str
    adjacency: Adjacency
    granularity: Fraction | None
    missing: float | str | None
    entropy: Entropy
    spent: tuple[loss.Loss, ...] = ()

    @property
    def rows(self) -> int:
        """Rows a person: the ranks that one step moves."""
        return self.adjacency.rows_per_person

    @property
    def size_is_secret(self) -> bool:
        """Whether the number of rows that the statistic is of depends on people."""
        return not self.adjacency.size_is_public or self.missing == "drop"

    def share(self, part: Fraction) -> Call:
        """The same call with a part of its budget."""
        return replace(self, epsilon=self.epsilon * part, delta=self.delta * part)


def _missing(value: object) -> float | str | None:
    """What stands in for NaN: None to refuse it, ±the largest float for "low" and "high", a number, or "drop"."""
    fixed = {"error": None, "low": -LARGEST, "high": LARGEST, "drop": "drop"}
    must = "'error', 'drop', 'low', 'high' or a number"
    if isinstance(value, str):
        if value not in fixed:
            raise InvalidArgument("missing", must, repr(value))
        return fixed[value]
    number = checks.rational("missing", value, must)
    if abs(number) > Fraction(LARGEST):
        raise InvalidArgument("missing", must, checks.describe(value), "Beyond all floats there is 'low' or 'high'.")
    return float(number)


def _between(name: str, value: object, limits: tuple[Fraction, Fraction], fix: str = "") -> Fraction:
    """A positive number within public limits, which no data have a say in."""
    number, (least, most) = checks.positive(name, value), limits
    if not least <= number <= most:
        raise InvalidArgument(
            name, f"a number from {float(least):.0e} to {float(most):.0e}", checks.describe(value), fix
        )
    return number


def resolved(name: str, value: object, share: Fraction) -> None:
    """Refuses a share of rows that no table has a row in."""
    if share < LEAST_SHARE:
        must = f"a share that leaves at least {float(LEAST_SHARE)} of the rows on each side"
        raise InvalidArgument(name, must, checks.describe(value))


def level(name: str, value: object) -> Fraction:
    """The level of a quantile."""
    p = checks.inside_unit(name, value)
    resolved(name, value, min(p, 1 - p))
    return p


class Options(TypedDict, total=False):
    """What every statistic can be told.

    - `delta`: 0 for `method="inverse"`; the others need some, such as 1e-6.
    - `method`: "inverse" (default), "ptr" or "dwork-lei".
    - `rows_per_person`: how many rows one person may own (1).
    - `adjacency`: `SUBSTITUTE` (default; the number of rows is public) or `ADD_REMOVE` (it is secret).
    - `granularity`: a public step that all values are multiples of, and the answer will be; integer columns have 1 by
      themselves. With a step of 100 an answer of 20 comes out as 0. From 1e-75 to 1e75; for `method="inverse"` only.
    - `missing`: what to do with NaN and infinities. "error" (default) tells the curator; "low", "high" or a number
      replaces each such row by itself; "drop" leaves rows without a value out, at the price of a noisy number of rows.
    - `entropy`: the operating system's (default), or a `SeededEntropy` for tests.
    - `by`: a column with the group of every row, for one answer a group; `groups` are the public groups, or None for
      unknown ones, which need δ: see `uptack.per_group`.
    """

    delta: Rational
    method: str
    rows_per_person: int
    adjacency: Adjacency
    granularity: Rational | None
    missing: str | Rational
    entropy: Entropy | None
    by: Any
    groups: Any


def call(name: str, epsilon: Rational, options: Options) -> Call:
    """The checked arguments of a call."""
    if unknown := set(options) - set(Options.__annotations__):
        raise TypeError(f"unknown argument {unknown.pop()!r}; the options are {', '.join(Options.__annotations__)}")
    if options.get("groups") is not None:
        raise InvalidArgument("groups", "left out where there is no by", checks.describe(options["groups"]))
    method, delta = options.get("method", "inverse"), options.get("delta", 0)
    if method not in METHODS:
        raise InvalidArgument("method", "'inverse', 'ptr' or 'dwork-lei'", checks.describe(method))
    eps = checks.epsilon(epsilon)
    if method == "inverse":
        dlt = checks.delta("delta", delta)
    else:
        dlt = checks.inside_unit("delta", delta, f"method={method!r} needs δ > 0, such as 1e-6; 'inverse' does not.")
    granularity = options.get("granularity")
    step = None if granularity is None else _between("granularity", granularity, STEPS, FINER)
    if step is not None and method != "inverse":
        fix = "The other methods add noise to the answer, which is no multiple of anything."
        raise InvalidArgument("granularity", "left out but for method='inverse'", checks.describe(granularity), fix)
    relation = check_adjacency(options.get("adjacency", SUBSTITUTE), options.get("rows_per_person", 1))
    missing = _missing(options.get("missing", "error"))
    return Call(name, eps, dlt, method, relation, step, missing, source(options.get("entropy")))


def column(x: Any, request: Call, floats: bool = False) -> tuple[Column, Call]:
    """The data as a column of numbers without NaN or infinities, and the call with its granularity.

    Integer columns have a granularity of 1 by themselves, unless they are to be read as `floats`: that is their type,
    not their content. By default a value that is not a finite number is an error for the curator to see. With `missing`
    every such row is replaced by itself, NaN by the value asked for and ±inf by ±the largest float, which keeps
    neighbours neighbours.
    """
    data = x if isinstance(x, Column) else in_memory(x)
    if floats:
        data = data.floats()
    elif data.integers:
        request = replace(request, granularity=request.granularity or Fraction(1))
    if request.missing == "drop":
        return data.present(), request
    if isinstance(request.missing, float):
        return data.filled(request.missing), request
    if not data.finite():
        fix = "Pass missing='drop', or 'low', 'high' or a number to replace each such row."
        raise InvalidArgument("x", "free of NaN and infinities", "some", fix)
    return data, request


def in_memory(x: Any) -> Column:
    """Anything like a column, by its declared type: see `uptack.columns`."""
    return numeric_column(columns.column("x", x))


def public_size(n: int, request: Call) -> tuple[int, Call]:
    """The number of rows as everybody may know it, and what is left of the budget.

    Under SUBSTITUTE it is n. Under ADD_REMOVE it is n with integer Laplace noise, at a tenth of ε; ranks and weights
    that are worked out from it are then public constants, as the proofs for added and removed rows need them.

    The same where missing rows are dropped, also under SUBSTITUTE: there a replaced row may be one that stays, one that
    comes or one that goes. Each moves the number of rows by at most 1 and, at public ranks, every order statistic by at
    most one rank, so the reaches are those of the proofs.
    """
    if not request.size_is_secret:
        return n, request
    share = request.epsilon * COUNT_SHARE
    noisy = n + IntegerLaplace(request.rows / share).sample(entropy=request.entropy)
    spent = (*request.spent, loss.Pure(share))
    return max(noisy, 0), replace(request, epsilon=request.epsilon - share, spent=spent)


def count_noise(request: Call) -> IntegerLaplace:
    """The law of the noise in the number of rows, for a call that has paid for it."""
    first = request.spent[0] if request.spent else None
    share = Fraction(first.epsilon) if isinstance(first, loss.Pure) else request.epsilon
    return IntegerLaplace(request.rows / share)


def size_bounds(n: int, request: Call, failure: Fraction) -> tuple[int, int]:
    """Between which numbers the true number of rows lies: surely where n is public, else but for `failure`.

    With t the least integer with P(z ≥ t) ≤ failure/2, and so P(|z| ≥ t) ≤ failure, it is within t - 1 of n.
    """
    if not request.size_is_secret:
        return n, n
    off = count_noise(request).cutoff(failure / 2) - 1
    return max(n - off, 0), n + off
