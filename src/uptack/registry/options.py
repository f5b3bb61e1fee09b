"""What release functions can be told. An option is described once, for functions, sessions and commands alike.

Which options a function has is said by its signature, and nowhere else. This table adds what a signature can't say: a
line of help, and how the option is written on a command line.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

Form = Literal[
    "number", "numbers", "integer", "flag", "word", "words", "choice", "range", "step", "edges", "keys", "levels",
    "object",
]  # fmt: skip
"""How an option is written on a command line. "words" are names of columns, once for each. "keys" are values of a
column, "levels" are NAME=VALUE,VALUE, a "range" is LOW:HIGH, a "step" a number or a word such as day, and "edges" are
numbers or dates. An "object" can't be written there."""

REQUIRED: Any = inspect.Parameter.empty
"""The default of an option that has none."""


class Grouping(typing.TypedDict, total=False):
    """What a function that can be asked per group is told of groups: see `uptack.per_group`.

    - `by`: a column with the group of every row, or a tuple of several, for one answer per group.
    - `groups`: the public groups, or None for unknown ones, which need δ. Groups of several columns are tuples.
    - `share`: the part of ε that finds unknown ones.
    - `groups_per_person`: with `person=`, in how many groups one person counts at most; chosen privately if left out.
    """

    by: Any
    groups: Any
    share: Any
    groups_per_person: Any


class PureGrouping(Grouping, total=False):
    """The same for a function that has no use for δ itself.

    - `delta`: the chance that the guarantee fails, for a list of unknown groups; left out otherwise.
    """

    delta: Any


@dataclass(frozen=True)
class Option:
    """One option of a release function."""

    name: str
    help: str = ""
    form: Form = "object"
    choices: tuple[str, ...] = ()
    default: Any = None
    positional: bool = False
    fix: str = ""

    @property
    def single(self) -> bool:
        """Whether it is one word or a truth value, in every function that has it."""
        return self.form in ("choice", "flag") or self.name in SINGLE

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED


PROMISE = ("epsilon", "delta", "adjacency", "rows_per_person", "entropy")
"""What every release promises, and to whom."""

GROUPING = ("by", "groups", "share", "groups_per_person")
"""What a release by group can be told beside."""

PEOPLE = ("person", "per_person", "weights", "at_most", "order")
"""What a release that is proved for people can be told beside: see `uptack.registry.person_options`."""

HOWS = ("mean", "sum", "median", "count", "min", "max", "last")
"""What can be made of a person's rows: see `uptack.table.protocol.HOWS`."""

SHARES = ("mean", "any", "last")
"""What can be made of the truth values of a person's rows: their share, whether any is true, and the last one."""

CALENDAR = ("hour", "day", "week", "month", "year")
"""Units of the calendar: see `uptack.table.values.calendar`."""

SINGLE = (
    "share", "interval", "missing", "public_labels", "fit_intercept", "progress", "rule", "version",
    "through", "loss", "trusted",
)  # fmt: skip
"""Options that are one value, whose form on a command line does not say so."""

SURVEY = (
    "weights= says how the rows of one person count. Survey weights are not supported: no weighted estimate is proved "
    "private here. Unweighted answers describe the sample, not the population that weights stand for."
)
"""What is said to somebody who passes a column of weights."""

METHODS = ("inverse", "ptr", "dwork-lei")
WEIGHTS = ("people", "rows", "any")

KNOWN = {
    option.name: option
    for option in (
        Option("epsilon", "The privacy budget, such as 0.5.", "number"),
        Option("delta", "The chance that the guarantee fails, such as 1e-6.", "number"),
        Option("adjacency", "SUBSTITUTE: the number of rows is public; ADD_REMOVE: it is secret."),
        Option("rows_per_person", "How many rows one person may own.", "integer"),
        Option("entropy", "The operating system's randomness, or a SeededEntropy for tests."),
        Option("missing", "What to do with missing values."),
        Option("granularity", "A public step that all values are multiples of, and the answer will be.", "step"),
        Option("plausible", "A guess LOW:HIGH of where values lie. It need not be right.", "range"),
        Option("by", "One answer for each value of this column, or combination of several, for one ε.", "words"),
        Option("groups", "A public group, once for each. Without any: those with enough rows (needs δ).", "keys"),
        Option("share", "The part of ε that buys the list of groups where it is not public.", "number"),
        Option("groups_per_person", "In how many groups one person counts at most; without it, chosen privately.",
               "integer"),
        Option("person", "Whose rows they are: a column of ids, or several. People are then the unit."),
        Option("per_person", "One number per person first: this of her rows.", "choice", (*HOWS, "any")),
        Option("weights", "People weigh alike, or their rows do; or count people with at least one row.", "choice",
               WEIGHTS, fix=SURVEY),
        Option("at_most", "With weights 'rows': rows of one person that count; with 'any': her categories.", "integer"),
        Option("order", "With per_person 'last': the column that says which row is the last.", "word"),
        Option("public_labels", "Whether everybody may know which row has which label.", "object"),
        Option("alternative", "Which way a test looks.", "choice", ("two-sided", "greater", "less")),
        Option("equals", "Rows with this value count.", "keys"),
        Option("above", "Rows with a value above this one count.", "number"),
        Option("method", "How the answer is found.", "choice", METHODS),
        Option("interval", "Spend half on an interval for the population, at this confidence.", "number"),
        Option("p", "The levels of the quantiles, such as 0.25 0.75.", "numbers"),
        Option("low", "The lower level, or where a range begins.", "number"),
        Option("high", "The upper level, or where a range ends.", "number"),
        Option("cut", "The share of rows taken off each end.", "number"),
        Option("nonnegative", "Lift counts below 0 to 0.", "flag"),
        Option("total", "Make the counts add up to the public number of rows.", "flag"),
        Option("edges", "An edge of a bin, for numbers or times, from low to high, once for each.", "edges"),
        Option("every", "For times: one bin per unit of the calendar.", "choice", CALENDAR),
        Option("keys", "A category, once for each. Without any: whatever there is (needs δ).", "keys"),
        Option("outside", "Whether rows outside all cells are left out or moved to the nearest.", "choice",
               ("drop", "clamp")),
        Option("bandwidth", "The width of the bumps.", "number"),
        Option("degree", "How many frequencies the series has.", "integer"),
        Option("noise", "The law of the noise.", "choice", ("caratheodory", "gamma", "laplace")),
        Option("blocks", "How many random blocks the rows are dealt into.", "integer"),
        Option("block_fit", "How each block is fitted.", "choice", ("huber", "lad", "hampel", "ols")),
        Option("coordinates", "In which coordinates block medians are taken.", "choice", ("columns", "scatter")),
        Option("fit_intercept", "Whether there is an intercept."),
        Option("formula", "Response and predictors, such as 'price ~ log(carat) + x:y'.", "word"),
        Option("classes", "The two classes of the response, once for each: the odds are those of the second.", "keys"),
        Option("levels", "NAME=A,B,C: the levels of a category; more than once for several. Without: those with "
               "enough rows (needs δ).", "levels"),
        Option("loss", "What is minimised.", "choice", ("squares", "huber")),
        Option("quantile", "The quantile whose plane is fitted.", "number"),
        Option("standard_errors", "Spend a third on standard errors. (A fit by bounded sums has them anyway.)", "flag"),
        Option("progress", "Whether to show how far a long computation is."),
    )
}  # fmt: skip
"""The options that several functions share, or that a command line can take."""


def read(function: Callable[..., Any], data: tuple[str, ...]) -> tuple[Option, ...]:
    """The options of a function: what its signature takes beside the data."""
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            found += [_described(name, None) for name in _unpacked(function, parameter.name)]
        elif parameter.name not in data:
            positional = parameter.kind is not inspect.Parameter.KEYWORD_ONLY
            found.append(replace(_described(parameter.name, parameter.default), positional=positional))
    return tuple(found)


def grouping(function: Callable[..., Any]) -> tuple[str, ...]:
    """What a function is told of groups and does not see itself: δ too, where it has no use for it."""
    words = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.VAR_KEYWORD]
    pure = tuple(PureGrouping.__annotations__)
    return pure if any(_unpacked(function, name) == pure for name in words) else GROUPING


def takes_any(function: Callable[..., Any]) -> bool:
    """Whether a function passes on whatever else it is told, as one does that calls another."""
    kinds = {p.name: p.kind for p in inspect.signature(function).parameters.values()}
    return any(k is inspect.Parameter.VAR_KEYWORD and not _unpacked(function, name) for name, k in kinds.items())


def _described(name: str, default: Any) -> Option:
    return replace(KNOWN.get(name, Option(name)), default=default)


def _unpacked(function: Callable[..., Any], name: str) -> tuple[str, ...]:
    """The keys of `**options: Unpack[Options]`."""
    hint = typing.get_type_hints(function, include_extras=True).get(name)
    inner = typing.get_args(hint)
    return tuple(inner[0].__annotations__) if inner else ()
