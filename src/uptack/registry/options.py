"""What release functions can be told. An option is described once, for functions, sessions and commands alike.

Which options a function has is said by its signature, and nowhere else. This table adds what a signature can't say: a
line of help, and how the option is written on a command line.

**People.** `entered` is the one place where `person=` enters, and where it is refused.

    median(x, epsilon=1, person=ids)                                    # people weigh alike
    median(x, epsilon=1, person=ids, weights="rows", at_most=10)        # rows weigh alike, up to ten per person
    median(x, epsilon=1, person=ids, per_person="mean")                 # one number per person first

`person` is taken out of the call, the data become columns of a table whose unit is people (`uptack.table.reads.Reads`),
and the adjacency becomes one by person. A function says that it is proved for people with `@release(..., people=True)`;
with `people="each"` it is for one number per person only. A mechanism that takes a sensitivity says
`people="stated"`: its value is one for people where the adjacency says so, and it takes no ids. A share of truth values
says `people="share"`: people weigh alike, by the share of their rows that are true. Every other one refuses. So does
every one that is given people's data without a person's adjacency, or the other way round: people are never taken for
rows.
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
    """What a function that can be asked per group is told of groups: see `uptack.per_group`.

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
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED


GROUPING = ("by", "groups", "share", "groups_per_person")
"""What a release by group can be told beside."""

PEOPLE = ("person", "per_person", "weights", "at_most", "order")
"""Options of a release that is proved for people: see `entered`."""

HOWS = ("mean", "sum", "median", "count", "min", "max", "last")
"""What can be made of a person's rows: see `uptack.table.protocol.HOWS`."""

SHARES = ("mean", "any", "last")
"""What can be made of the truth values of a person's rows: their share, whether any is true, and the last one."""

CALENDAR = ("hour", "day", "week", "month", "year")
"""Units of the calendar: see `uptack.table.values.times`."""

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
        Option("rows", "How many rows are drawn; as many as the data have unless given.", "integer"),
        Option("progress", "Whether to show how far a long computation is."),
    )
}  # fmt: skip
"""The options that several functions share, or that a command line can take."""

SINGLE = {option.name for option in KNOWN.values() if option.form in ("choice", "flag")} | {
    "share", "interval", "missing", "public_labels", "fit_intercept", "progress", "rule", "version", "through", "loss",
    "trusted",
}  # fmt: skip
"""Options that are one value in every function that has them: one word, a truth value or one number."""


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


# --------------------------------------------------------------------------------------------------------------- people


class EnterPeople(Protocol):
    """How the data arguments of a call become columns of one table, and what can be said of people beside `person`."""

    @property
    def people(self) -> tuple[str, ...]:
        """The options of people that it takes."""
        ...

    def enter(self, data: Mapping[str, Any], person: Any = None, order: Any = None, by: Any = None) -> Any:
        """The arguments by name (`arguments`), the table (`table`), and the names of the columns of groups (`by`)."""
        ...


Flag = bool | str | EnterPeople
"""Whether a function is proved for people: False, "stated", "each", "share", True, or how its data become people's."""

ORDER = "order"
"""The name that the column of order has in the table of a call."""
STATED = "stated"
INSTEAD = {
    "hampel_regression": "linear_regression and shortcut_regression",
    "R_S": "shortcut_regression",
    "R_H": "linear_regression",
    "S": "iqr",
    "Scale": "iqr",
    "M": "median",
    "TM": "trimmed_mean",
    "A_dist": "stable_value",
    "A_samp": "stable_value",
}
"""What is proved for people where a function is not."""


@dataclass(frozen=True)
class _PeopleOptions:
    """What was said of people in a call."""

    person: Any = None
    per_person: str | None = None
    weights: str | None = None
    at_most: int | None = None
    order: Any = None

    def check(self) -> None:
        """Whether it goes together. Looks at no data."""
        if self.weights is not None and not (isinstance(self.weights, str) and self.weights in WEIGHTS):
            raise InvalidArgument("weights", " or ".join(map(repr, WEIGHTS)), checks.outline(self.weights), SURVEY)
        if (self.per_person == "last") != (self.order is not None):
            fix = "It is the column that says which row is the last."
            got = "nothing" if self.order is None else "a column"
            raise InvalidArgument("order", "given with per_person='last', and only then", got, fix)
        if self.weights == "rows" and self.at_most is None:
            fix = "It is how many rows of one person count in full."
            raise InvalidArgument("at_most", "given with weights='rows'", "nothing", fix)
        if self.weights not in ("rows", "any") and self.at_most is not None:
            must = "given with weights='rows' or weights='any', and only then"
            raise InvalidArgument("at_most", must, checks.describe(self.at_most))
        if self.at_most is not None:
            checks.integer("at_most", self.at_most, least=1)
        if self.per_person is not None and self.weights == "rows":
            fix = "With one number per person all weigh alike."
            raise InvalidArgument("weights", "left out with per_person", repr(self.weights), fix)


def options_of(people: Flag, reads: Any) -> tuple[str, ...]:
    """Options about people."""
    if people in (False, STATED):
        return ()
    if people in ("each", "share"):
        return ("person", "per_person", "order")
    return ("person", *(reads if isinstance(people, bool | str) else people).people)


@dataclass(frozen=True)
class Call:
    """The call that the function itself is to have, and where its data were made columns of a table, what they are."""

    arguments: tuple[Any, ...]
    given: dict[str, Any]
    read: Any = None


def entered(made: Declaration, arguments: tuple[Any, ...], told: Mapping[str, Any], by: Any = None) -> Call:
    """A call without `person`, with people's data and their adjacency; with `by`, of a table in groups."""
    data, given = made.data, {key: value for key, value in told.items() if key not in PEOPLE}
    wanted = _people_options(made, told)
    relation = given.get("adjacency", _usual(made, by))
    unit = relation.person if isinstance(relation, Adjacency) else ()
    passed = dict(zip(data, arguments, strict=False)) | {key: given[key] for key in data if key in given}
    known = [key for key, value in passed.items() if _of_people(value)]
    if wanted.person is None and not known and (made.people == STATED or not unit):
        _refuse_alone(told)
        if by is None:
            return Call(arguments, given)
        read = made.reads.enter(passed, by=by)
        return _renamed(made, arguments, given, read.arguments, read)
    _proved(made, wanted)
    wanted.check()
    if wanted.person is not None:
        return _owned(made, arguments, passed, wanted, {**given, "adjacency": relation}, by)
    if not known:
        fix = "Pass person=, the column of ids, or open a session with person=."
        raise InvalidArgument("adjacency", "one about rows where no person is given", str(relation), fix)
    if not unit:
        fix = "Pass adjacency=SUBSTITUTE.by_person(...)."
        raise InvalidArgument("adjacency", "one by person for people's data", checks.describe(relation), fix)
    shaped = {key: _shaped(key, value, wanted, wanted.order) for key, value in passed.items()}
    return _renamed(made, arguments, given, shaped)


def _renamed(
    made: Declaration, arguments: tuple[Any, ...], given: Mapping[str, Any], passed: Mapping[str, Any], read: Any = None
) -> Call:
    """The call with other data arguments."""
    data = made.data
    changed = tuple(passed[key] for key, _ in zip(data, arguments, strict=False)) + arguments[len(data) :]
    return Call(changed, {key: passed.get(key, value) if key in data else value for key, value in given.items()}, read)


def proved(made: Declaration, told: Mapping[str, Any]) -> None:
    """Refuses options of people that are not proved, or do not go together. Looks at no data."""
    wanted = _people_options(made, told)
    _proved(made, wanted)
    wanted.check()


def in_groups(made: Declaration, data: Any, told: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A table in groups (`uptack.table.reads.Grouped`) as a call wants people's rows, and the rest of the call."""
    rest = {key: value for key, value in told.items() if key not in PEOPLE}
    if not data.of_people:
        _refuse_alone(told)
        return data, rest
    proved(made, told)
    wanted = _people_options(made, told)
    return _shaped(made.name, data, wanted, wanted.order), rest


def _people_options(made: Declaration, told: Mapping[str, Any]) -> _PeopleOptions:
    """What a call says of people. The share of a person's rows is what their weights make of truth values."""
    found = _PeopleOptions(**{option: told[option] for option in PEOPLE if option in told})
    if made.people == "share" and found.per_person == "mean":
        return replace(found, per_person=None)
    usual = getattr(made.reads, "weights", None)
    return replace(found, weights=usual) if found.weights is None and usual is not None else found


def _refuse_alone(told: Mapping[str, Any]) -> None:
    """Without people there is nothing to weigh."""
    for option in PEOPLE[1:]:
        if told.get(option) is not None:
            fix = SURVEY if option == "weights" else ""
            raise InvalidArgument(option, "left out without person=", checks.outline(told[option]), fix)


def _usual(made: Declaration, by: Any) -> Any:
    """The adjacency where none is given: in groups people come and go."""
    default = next((option.default for option in made.options if option.name == "adjacency"), None)
    return ADD_REMOVE if by is not None else default if isinstance(default, Adjacency) else SUBSTITUTE


def _proved(made: Declaration, wanted: _PeopleOptions) -> None:
    """Refuses what is not proved."""
    if made.people == STATED:
        fix = "State a sensitivity for people, and pass adjacency=SUBSTITUTE.by_person(...)."
        raise InvalidArgument(
            "person", f"left out: {made.name} takes the sensitivity of its value as an argument", "one", fix
        )
    if made.people is False:
        instead = f"For people there is {INSTEAD[made.name]}. " if made.name in INSTEAD else ""
        fix = f"{instead}Rows can be the unit: leave person out, and pass rows_per_person, the most rows of one person."
        raise InvalidArgument("person", f"left out: {made.name} is not proved for people", "one", fix)
    if made.people == "each" and wanted.per_person is None:
        fix = "It says which number each person counts with, such as per_person='mean' for the mean of her rows."
        raise InvalidArgument("per_person", f"given with person= for {made.name}", "nothing", fix)
    if wanted.per_person is not None:
        checks.choice("per_person", wanted.per_person, SHARES if made.people == "share" else HOWS)
    if wanted.weights == "any" and "per_person" in options_of(made.people, made.reads):
        fix = "It counts people in cells. For one number per person pass per_person='mean'."
        raise InvalidArgument("weights", f"'people' or 'rows' for {made.name}", "'any'", fix)


def _owned(
    made: Declaration,
    arguments: tuple[Any, ...],
    passed: Mapping[str, Any],
    wanted: _PeopleOptions,
    given: Mapping[str, Any],
    by: Any,
) -> Call:
    """Data with owners in place of rows, and the adjacency by person."""
    relation = checks.instance("adjacency", given["adjacency"], Adjacency, "SUBSTITUTE or ADD_REMOVE")
    if relation.person or any(map(_of_people, passed.values())):
        fix = "Where the data say whose they are, leave person= out."
        raise InvalidArgument("person", "said once", "twice", fix)
    if given.get("rows_per_person", 1) != 1:
        fix = "However many rows a person has, they count as one; leave rows_per_person out."
        rows = checks.describe(given["rows_per_person"])
        raise InvalidArgument("rows_per_person", "1 where person is given", rows, fix)
    how: EnterPeople = made.reads if isinstance(made.people, bool | str) else made.people
    read = how.enter(passed, wanted.person, wanted.order, by)
    order = None if wanted.order is None else ORDER
    shaped = {key: _shaped(key, value, wanted, order) for key, value in read.arguments.items()}
    own = {**given, "adjacency": relation.by_person(*read.table.unit.ids)}
    return _renamed(made, arguments, own, shaped, read)


def _of_people(value: Any) -> bool:
    """Whether data say whose they are."""
    return bool(getattr(value, "of_people", False))


def _shaped(name: str, data: Any, wanted: _PeopleOptions, order: Any) -> Any:
    """People's data with the weights, or the numbers per person, of the options; `order` names a column."""
    if not _of_people(data):
        return data
    if wanted.per_person is not None:
        if not hasattr(data, "per_person"):
            raise InvalidArgument("per_person", f"left out: {name} is not one column of numbers", "given")
        return data.per_person(wanted.per_person, order)
    return data if wanted.weights is None else data.sharing(wanted.weights, wanted.at_most)
