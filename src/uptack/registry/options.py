"""The options of release functions. An option is described once, for functions, sessions and commands alike.

The signature of a function decides which options it has. The table here adds what a signature can't say: a line of
help, and how the option is written on a command line.
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
    """The options about groups: see `uptack.per_group`.

    - `by`: a column with the group of every row, or a tuple of several, for one answer per group.
    - `groups`: the public groups, or None for unknown ones, which need δ. Groups of several columns are tuples. In a
      session {"ward": ["a", "b"], "sex": ["f", "m"]} stands for all combinations.
    - `share`: the part of ε that finds unknown ones.
    - `groups_per_person`: with `person=`, in how many groups one person counts at most; chosen privately if left out.
    """

    by: Any
    groups: Any
    share: Any
    groups_per_person: Any


class PureGrouping(Grouping, total=False):
    """The same for a function that needs no δ itself.

    - `delta`: the probability that the guarantee fails, for unknown groups; left out otherwise.
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
    def required(self) -> bool:
        return self.default is REQUIRED

    @property
    def shown_help(self) -> str:
        """The help text. An option that must be given has no default."""
        return self.help.partition(" [default:")[0] if self.required else self.help

    @property
    def must(self) -> str:
        """What an option with one value must be."""
        words = {"number": "one number", "flag": "True or False"}
        return " or ".join(map(repr, self.choices)) or words.get(self.form, "one value")


GROUPING = tuple(Grouping.__annotations__)
PURE_GROUPING = tuple(PureGrouping.__annotations__)

PEOPLE = ("person", "per_person", "weights", "at_most", "order")
"""Options about people: see `uptack.registry.declaration`."""

HOWS = ("mean", "sum", "median", "count", "min", "max", "last")
"""How the rows of a person become one number: see `uptack.table.protocol.PerPerson`."""

SHARES = ("mean", "any", "last")
"""The same for truth values: their share, whether any is true, and the last one."""

CALENDAR = ("hour", "day", "week", "month", "year")
"""Units of the calendar: see `uptack.table.values.times`."""

SURVEY = (
    "weights= says how the rows of one person count. Survey weights are not supported: no weighted estimate is proved "
    "private here. Unweighted answers describe the sample, not the population that weights stand for."
)
"""The answer to a column of survey weights."""

METHODS = ("inverse", "ptr", "dwork-lei")
WEIGHTS = ("people", "rows", "any")

KNOWN = {
    option.name: option
    for option in (
        Option("epsilon", "The privacy budget, such as 0.5.", "number"),
        Option("delta", "The chance that the guarantee fails, such as 1e-6.", "number"),
        Option("adjacency", "SUBSTITUTE: the number of rows is public; ADD_REMOVE: it is secret."),
        Option("rows_per_person", "How many rows one person may have.", "integer"),
        Option("entropy", "The operating system's randomness, or a SeededEntropy for tests."),
        Option("missing", "What to do with missing values."),
        Option("granularity", "A public step: all values are multiples of it, and so is the answer.", "step"),
        Option("plausible", "A guess LOW:HIGH of where values lie. It need not be right.", "range"),
        Option("by", "One answer for each value of this column, or combination of several, for one ε.", "words"),
        Option("groups", "A public group. May be repeated. [default: groups with enough rows, which needs δ]", "keys"),
        Option("share", "The part of ε that is spent on finding unknown groups.", "number"),
        Option("groups_per_person", "The largest number of groups in which one person counts. [default: chosen "
               "privately]", "integer"),
        Option("person", "The column, or columns, with the id of each row's person. People are then protected with all "
               "their rows."),
        Option("per_person", "Reduce each person's rows to one number first.", "choice", (*HOWS, "any")),
        Option("weights", "Equal weight for people or for rows; or count people with at least one row.", "choice",
               WEIGHTS, fix=SURVEY),
        Option("at_most", "With weights 'rows': the most rows of a person that count; with 'any': the most categories.",
               "integer"),
        Option("order", "With per_person 'last': the column that says which row is the last.", "word"),
        Option("public_labels", "Whether the label of each row is public.", "object"),
        Option("alternative", "The alternative hypothesis of the test.", "choice", ("two-sided", "greater", "less")),
        Option("equals", "A value that counts. May be repeated.", "keys"),
        Option("above", "Values above this one count.", "number"),
        Option("method", "The mechanism.", "choice", METHODS),
        Option("interval", "Also release an interval for the population at this confidence. It takes most of ε.",
               "number"),
        Option("p", "The levels of the quantiles, such as 0.25 0.75.", "numbers"),
        Option("low", "The lower level, or the low end of a range.", "number"),
        Option("high", "The upper level, or the high end of a range.", "number"),
        Option("cut", "The share of rows left out at each end.", "number"),
        Option("nonnegative", "Replace negative counts by 0.", "flag"),
        Option("total", "Make the counts add up to the public number of rows.", "flag"),
        Option("edges", "An edge of a bin, a number or a time, from low to high. May be repeated.", "edges"),
        Option("every", "For times: one bin per unit of the calendar.", "choice", CALENDAR),
        Option("keys", "A category. May be repeated. [default: categories with enough rows, which needs δ]", "keys"),
        Option("outside", "Whether rows outside all cells are left out or moved to the nearest.", "choice",
               ("drop", "clamp")),
        Option("bandwidth", "The bandwidth of the kernel.", "number"),
        Option("degree", "The number of frequencies of the series.", "integer"),
        Option("noise", "The distribution of the noise.", "choice", ("caratheodory", "gamma", "laplace")),
        Option("blocks", "How many random blocks the rows are split into.", "integer"),
        Option("block_fit", "How each block is fitted.", "choice", ("huber", "lad", "hampel", "ols")),
        Option("coordinates", "In which coordinates block medians are taken.", "choice", ("columns", "scatter")),
        Option("fit_intercept", "Whether there is an intercept."),
        Option("formula", "Response and predictors, such as 'price ~ log(carat) + x:y'.", "word"),
        Option("classes", "A class of the response, given twice: the odds are those of the second.", "keys"),
        Option("levels", "NAME=A,B,C: the levels of a categorical column. May be repeated. [default: levels with "
               "enough rows, which needs δ]", "levels"),
        Option("loss", "What is minimised.", "choice", ("squares", "huber")),
        Option("quantile", "The quantile whose plane is fitted.", "number"),
        Option("standard_errors", "Spend a third of ε on standard errors.", "flag"),
        Option("rows", "How many rows to draw. [default: as many as in the data]", "integer"),
        Option("progress", "Whether to show the progress of a long computation."),
    )
}  # fmt: skip
"""The options that several functions share, or that a command line can take."""

SINGLE = {option.name for option in KNOWN.values() if option.form in ("choice", "flag")} | {
    "share", "interval", "missing", "public_labels", "fit_intercept", "progress", "rule", "version", "through", "loss",
    "trusted",
}  # fmt: skip
"""Options that are one value in every function that has them: one word, a truth value or one number."""


def options_of_signature(function: Callable[..., Any], data: tuple[str, ...]) -> tuple[Option, ...]:
    """The options of a function: the parameters of its signature that are not data."""
    found = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            found += [replace(KNOWN.get(one, Option(one)), default=None) for one in unpacked_keys(function) or ()]
        elif name not in data:
            positional = parameter.kind is not inspect.Parameter.KEYWORD_ONLY
            known = KNOWN.get(name, Option(name))
            found.append(replace(known, default=parameter.default, positional=positional))
    return tuple(found)


def unpacked_keys(function: Callable[..., Any]) -> tuple[str, ...] | None:
    """The keys of `**options: Unpack[Options]`; () if `**options` can be anything, None without such a parameter."""
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            inner = typing.get_args(typing.get_type_hints(function, include_extras=True).get(name))
            return tuple(inner[0].__annotations__) if inner else ()
    return None
