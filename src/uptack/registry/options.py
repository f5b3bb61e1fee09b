"""The options of release functions. An option is described once, for functions, sessions and commands alike.

The signature of a function decides which options it has. The table here adds what a signature can't say: a line of
help, and how the option is written on a command line.

**People.** `enter_people` is the one place where `person=` is accepted or refused.

    median(x, epsilon=1, person=ids)                                    # every person has the same weight
    median(x, epsilon=1, person=ids, weights="rows", at_most=10)        # every row, up to ten per person
    median(x, epsilon=1, person=ids, per_person="mean")                 # one number per person first

It takes `person` out of the call, makes the data columns of a table whose unit is people (`uptack.table.reads.Reads`),
and changes the adjacency to one by person. `@release(..., people=...)` states what is proved for people:

- `True`: the function, for people's rows; `"each"`: for one number per person only;
- `"share"`: the share of rows that are true, with the same weight for every person;
- `"stated"`: a mechanism whose sensitivity is an argument, and which takes no ids. The adjacency says whose it is.

All other functions refuse `person`. Every function refuses people's data without an adjacency by person, and the
reverse, so that people are never taken for rows.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Adjacency

if TYPE_CHECKING:
    from uptack.registry.declaration import Declaration

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
        """Whether it must be given."""
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
"""Options about people: see `enter_people`."""

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


# --------------------------------------------------------------------------------------------------------------- people


class EnterPeople(Protocol):
    """How the data arguments of a call become columns of one table, and which options about people apply."""

    @property
    def people(self) -> tuple[str, ...]:
        """The options about people besides `person`."""

    def enter(self, data: Mapping[str, Any], person: Any = None, order: Any = None, by: Any = None) -> Any:
        """The arguments by name (`arguments`), the table (`table`), and the names of the columns of groups (`by`)."""


Flag = bool | str | EnterPeople
"""Whether a function is proved for people: False, "stated", "each", "share", True, or how its data become people's."""

ORDER = "order"
"""The name of the column of order in the table of a call."""
STATED = "stated"
INSTEAD = {
    "hampel_regression": "linear_regression and shortcut_regression",
    "chi_square": "crosstab",
    "R_S": "shortcut_regression",
    "R_H": "linear_regression",
    "S": "iqr",
    "Scale": "iqr",
    "M": "median",
    "TM": "trimmed_mean",
    "A_dist": "stable_value",
    "A_samp": "stable_value",
}
"""Functions that are proved for people, in place of those that are not."""


def options_of(people: Flag, reads: Any) -> tuple[str, ...]:
    """The options about people that a function has."""
    if people in (False, STATED):
        return ()
    if people in ("each", "share"):
        return ("person", "per_person", "order")
    return ("person", *(reads if isinstance(people, bool | str) else people).people)


@dataclass(frozen=True)
class _PeopleOptions:
    """The options about people in one call."""

    person: Any = None
    per_person: str | None = None
    weights: str | None = None
    at_most: int | None = None
    order: Any = None

    @staticmethod
    def of(declaration: Declaration, given: Mapping[str, Any]) -> _PeopleOptions:
        """Those of a call. The weights of a person's rows turn truth values into their share, so it needs no mean."""
        found = _PeopleOptions(**{option: given[option] for option in PEOPLE if option in given})
        if declaration.people == "share" and found.per_person == "mean":
            return replace(found, per_person=None)
        default = getattr(declaration.reads, "weights", None)
        return replace(found, weights=default) if found.weights is None and default is not None else found

    def shape(self, name: str, data: Any, order: Any) -> Any:
        """Data with these weights, or these numbers per person; rows without owners unchanged. `order` is a column."""
        if not _of_people(data):
            return data
        if self.per_person is not None:
            if not hasattr(data, "per_person"):
                raise InvalidArgument("per_person", f"left out: {name} is not one column of numbers", "given")
            return data.per_person(self.per_person, order)
        return data if self.weights is None else data.sharing(self.weights, self.at_most)


def _of_people(data: Any) -> bool:
    """Whether rows have owners."""
    return bool(getattr(data, "of_people", False))


@dataclass(frozen=True)
class Call:
    """The arguments for the function itself, and the table that its data became columns of, if they did (`read`)."""

    arguments: tuple[Any, ...]
    given: dict[str, Any]
    read: Any = None

    def with_data(self, names: tuple[str, ...], data: Mapping[str, Any], read: Any = None) -> Call:
        """The call with other data arguments, which have these names."""
        arguments = tuple(data[key] for key, _ in zip(names, self.arguments, strict=False))
        given = {key: data.get(key, value) if key in names else value for key, value in self.given.items()}
        return Call(arguments + self.arguments[len(names) :], given, read)


def enter_people(declaration: Declaration, arguments: tuple[Any, ...], given: Mapping[str, Any], by: Any) -> Call:
    """The call without options about people, on people's data and under their adjacency; with `by`, on groups."""
    names, call = declaration.data, Call(arguments, {key: value for key, value in given.items() if key not in PEOPLE})
    wanted = _PeopleOptions.of(declaration, given)
    relation = call.given.get("adjacency", _default_adjacency(declaration, by))
    by_person = isinstance(relation, Adjacency) and relation.person
    data = dict(zip(names, arguments, strict=False)) | {key: given[key] for key in names if key in given}
    owned = any(map(_of_people, data.values()))
    if wanted.person is None and not owned and (declaration.people == STATED or not by_person):
        _refuse_without_person(given)
        if by is None:
            return call
        read = declaration.reads.enter(data, by=by)
        return call.with_data(names, read.arguments, read)
    _check_people(declaration, wanted)
    if wanted.person is not None:
        return _with_owners(declaration, replace(call, given={**call.given, "adjacency": relation}), data, wanted, by)
    if not owned:
        fix = "Pass person=, the column of ids, or open a session with person=."
        raise InvalidArgument("adjacency", "one about rows if no person is given", str(relation), fix)
    if not by_person:
        fix = "Pass adjacency=SUBSTITUTE.by_person(...)."
        raise InvalidArgument("adjacency", "one by person for people's data", checks.describe(relation), fix)
    _check_shaped(declaration, data)
    return call.with_data(names, {key: wanted.shape(key, value, wanted.order) for key, value in data.items()})


def in_groups(declaration: Declaration, data: Any, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A table in groups (`uptack.table.reads.GroupedData`) with the weights of people's rows, and the other options."""
    others = {key: value for key, value in given.items() if key not in PEOPLE}
    if not data.of_people:
        _refuse_without_person(given)
        return data, others
    wanted = _PeopleOptions.of(declaration, given)
    _check_people(declaration, wanted)
    return wanted.shape(declaration.name, data, wanted.order), others


def _refuse_without_person(given: Mapping[str, Any]) -> None:
    """Refuses options that only make sense with people."""
    for option in PEOPLE[1:]:
        if given.get(option) is not None:
            fix = SURVEY if option == "weights" else ""
            raise InvalidArgument(option, "left out without person=", checks.outline(given[option]), fix)


def _default_adjacency(declaration: Declaration, by: Any) -> Any:
    """The adjacency if none is given. In groups people are added and removed."""
    default = next((option.default for option in declaration.options if option.name == "adjacency"), None)
    return ADD_REMOVE if by is not None else default if isinstance(default, Adjacency) else SUBSTITUTE


def _check_people(declaration: Declaration, wanted: _PeopleOptions) -> None:
    """Refuses what is not proved for people, and options that contradict each other. Looks at no data."""
    name, people, per_person, weights = declaration.name, declaration.people, wanted.per_person, wanted.weights
    if people == STATED:
        fix = "State a sensitivity for people, and pass adjacency=SUBSTITUTE.by_person(...)."
        must = f"left out: {name} takes the sensitivity of its value as an argument"
        raise InvalidArgument("person", must, "one", fix)
    if people is False:
        instead = f"For people there is {INSTEAD[name]}. " if name in INSTEAD else ""
        rows = "To protect rows, open the table without person= (in the schema, too) and pass rows_per_person=."
        fix = instead + rows
        raise InvalidArgument("person", f"left out: {name} is not proved for people", "one", fix)
    if not declaration.takes_any:  # which passes them on to a function that refuses them itself
        _check_proved(declaration, wanted)
    if people == "each" and per_person is None:
        fix = "It reduces each person's rows to one number: per_person='mean' takes their mean."
        raise InvalidArgument("per_person", f"given with person= for {name}", "nothing", fix)
    if per_person is not None:
        checks.choice("per_person", per_person, SHARES if people == "share" else HOWS)
    if weights == "any" and "per_person" in options_of(people, declaration.reads):
        fix = "It counts people in cells. For one number per person pass per_person='mean'."
        raise InvalidArgument("weights", f"'people' or 'rows' for {name}", "'any'", fix)
    if weights is not None and not (isinstance(weights, str) and weights in WEIGHTS):
        raise InvalidArgument("weights", " or ".join(map(repr, WEIGHTS)), checks.outline(weights), SURVEY)
    if (per_person == "last") != (wanted.order is not None):
        got = "nothing" if wanted.order is None else "a column"
        fix = "It is the column that says which row is the last."
        raise InvalidArgument("order", "given with per_person='last', and only then", got, fix)
    if weights == "rows" and wanted.at_most is None:
        fix = "It is the number of rows of one person that count in full."
        raise InvalidArgument("at_most", "given with weights='rows'", "nothing", fix)
    if weights not in ("rows", "any") and wanted.at_most is not None:
        must = "given with weights='rows' or weights='any', and only then"
        raise InvalidArgument("at_most", must, checks.describe(wanted.at_most))
    if wanted.at_most is not None:
        checks.integer("at_most", wanted.at_most, least=1)
    if per_person is not None and weights == "rows":
        fix = "With one number per person, all people have the same weight."
        raise InvalidArgument("weights", "left out with per_person", repr(weights), fix)


def _check_proved(declaration: Declaration, wanted: _PeopleOptions) -> None:
    """Refuses options about people that a function does not have: its theorem is about rows that share units otherwise.

    A histogram of one number per person, say, would count units of rows with the noise of one person.
    """
    has, usual = options_of(declaration.people, declaration.reads), getattr(declaration.reads, "weights", None)
    for option in ("per_person", "weights", "at_most", "order"):
        value = getattr(wanted, option)
        if value is not None and option not in has and not (option == "weights" and value == usual):
            must = f"left out: {declaration.name} has no such option"
            fix = f"Its options about people are {', '.join(has)}."
            raise InvalidArgument(option, must, checks.outline(value), fix)


def _check_shaped(declaration: Declaration, data: Mapping[str, Any]) -> None:
    """The same of columns that were given numbers per person, or other weights, before they came here."""
    if declaration.takes_any or isinstance(declaration.people, str):
        return
    has, must = options_of(declaration.people, declaration.reads), f"left out: {declaration.name} has no such option"
    for value in data.values():
        for column in value if isinstance(value, tuple) else (value,):
            if getattr(column, "own", None) is not None and "per_person" not in has:
                raise InvalidArgument("per_person", must, "given")
            if getattr(getattr(column, "unit", None), "share", "") in ("rows", "any") and "weights" not in has:
                raise InvalidArgument("weights", must, "given")


def _with_owners(
    declaration: Declaration, call: Call, data: Mapping[str, Any], wanted: _PeopleOptions, by: Any
) -> Call:
    """The call on data whose rows have owners, under the adjacency by person."""
    relation = checks.instance("adjacency", call.given["adjacency"], Adjacency, "SUBSTITUTE or ADD_REMOVE")
    if relation.person or any(map(_of_people, data.values())):
        fix = "The data already say whose rows they are, so leave person= out."
        raise InvalidArgument("person", "given once", "it twice", fix)
    if call.given.get("rows_per_person", 1) != 1:
        fix = "However many rows a person has, they count as one; leave rows_per_person out."
        rows = checks.describe(call.given["rows_per_person"])
        raise InvalidArgument("rows_per_person", "1 if person is given", rows, fix)
    how: EnterPeople = declaration.reads if isinstance(declaration.people, bool | str) else declaration.people
    read = how.enter(data, wanted.person, wanted.order, by)
    order = None if wanted.order is None else ORDER
    shaped = {key: wanted.shape(key, value, order) for key, value in read.arguments.items()}
    call.given["adjacency"] = relation.by_person(*read.table.unit.ids)
    return call.with_data(declaration.data, shaped, read)
