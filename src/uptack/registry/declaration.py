"""One declaration per release function, beside its code. Everything else about the function is derived from it.

    @release(reads=COLUMN, by=per_group, plan=ranks)
    def trimean(x: Any, *, epsilon: Rational, **options: Unpack[Options]) -> Release[float] | NoReply: ...

Its options are those of its signature. The session's method, the request, the plan, the command, the audit's cases, the
contract tests and the line in the reference follow from the declaration. A user's package declares a function in the
same way. It is found through the entry point group `uptack.statistics`, or when its module is imported.

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

import functools
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, Protocol, TypeVar

from uptack import checks
from uptack.errors import InvalidArgument, UnknownOption
from uptack.interrupts import guard
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Adjacency, Privacy
from uptack.privacy.loss import Loss
from uptack.registry import names, options
from uptack.registry.options import HOWS, PEOPLE, SHARES, SURVEY, WEIGHTS, Option

P = ParamSpec("P")
T = TypeVar("T")
Call = dict[str, Any]
"""The arguments of a call, all by their names."""

EXAMPLES = {
    "epsilon": "Such as epsilon=1.",
    "delta": "Such as delta=1e-6.",
    "p": "Such as p=0.9.",
    "groups": "Such as groups=('a', 'b').",
}
"""What an error adds about a missing argument."""

OTHER_NAMES = {
    **dict.fromkeys(("bins", "range", "breaks"), "edges"),
    **dict.fromkeys(("eps", "budget"), "epsilon"),
    **dict.fromkeys(("q", "probs", "quantiles"), "p"),
    **dict.fromkeys(("groupby", "group_by", "group"), "by"),
    **dict.fromkeys(("confidence", "confidence_level", "conf_level", "ci", "level"), "interval"),
    **dict.fromkeys(("bounds", "limits", "lower", "upper"), "plausible"),
    **dict.fromkeys(("seed", "random_state", "rng"), "entropy"),
    **dict.fromkeys(("na_rm", "skipna", "dropna", "nan_policy"), "missing"),
    **dict.fromkeys(("id", "ids", "user", "user_id", "privacy_unit"), "person"),
    **dict.fromkeys(("categories", "values"), "keys"),
    **dict.fromkeys(("freq", "step", "resample"), "every"),
    "value": "equals",
    "trim": "cut",
    "proportiontocut": "cut",
}
"""Names that other libraries have for our options."""

Planner = Callable[[Mapping[str, Any], Privacy, int], str]
"""The expected error in words, from the given options, the highest cost and the public number of rows; "" if it depends
on the data."""

Spender = Callable[[Mapping[str, Any], Privacy, int], Loss | None]
"""The loss of a release from the same arguments, before it is made; None if only its cost is known."""

SECTIONS = {
    "statistics": "Statistics of one column",
    "discrete": "Counts",
    "ranks": "Comparisons and correlations",
    "multivariate": "Regression and other models",
    "regression": "Regression and other models",
    "papers": "Regression and other models",
    "blocks": "Regression and other models",
    "kernels": "Regression and other models",
    "densities": "Densities",
}
"""Where `uptack --help` and the pages of a server list the functions of each folder."""
OTHER = "Other releases"
CLAUSE = ", with |, without |, which |: |; |, or ⊥"
"""Where the first clause of a summary ends. Lists of functions show no more of it."""


@dataclass(frozen=True)
class Declaration:
    """A release function, with what sessions, plans, commands, the audit and the reference need to know about it.

    - `data` names the arguments that hold data. `reads` says which columns of a table they are; it is None for a
      function that takes something else (a value, a user's function).
    - `by` runs the function for each group, if that is possible: `uptack.grouping.per_group`, which is not imported.
    - `missing` says whether missing values may be replaced ("replace") or only left out ("drop"); None if the function
      has no such option.
    - `plan` and `spends` describe the error and the loss of a release before it is made.
    - `examples` are calls without their data. The audit makes its cases from them.
    - `page` is its page in the docs, that of its name if there is none. `also` is a shorter name in sessions and
      commands.
    - `statistic` describes it for `uptack.influence`, from its levels.
    - `people` says whether it is proved for people: see the module.
    - `public` is the guarded function, as users call it.
    """

    function: Callable[..., Any]
    data: tuple[str, ...] = ("x",)
    reads: Any = None
    by: Callable[..., Any] | None = None
    missing: str | None = "replace"
    plan: Planner | None = None
    examples: tuple[Mapping[str, Any], ...] = ({},)
    page: str = ""
    also: str = ""
    statistic: Callable[..., Any] | None = None
    spends: Spender | None = None
    people: Flag = False
    public: Callable[..., Any] = field(init=False, repr=False)

    @property
    def name(self) -> str:
        return self.function.__name__

    @functools.cached_property
    def options(self) -> tuple[Option, ...]:
        """Its options, from its signature, with those about groups and people that it supports."""
        added = (*(options.GROUPING if self.by else ()), *options_of(self.people, self.reads))
        unsupported = {*options.GROUPING, *PEOPLE} - {*added, *self._parameters}
        own = [
            option
            for option in options.options_of_signature(self.function, self.data)
            if option.name not in unsupported
        ]
        names = {option.name for option in own}
        return (*own, *(options.KNOWN[name] for name in added if name not in names))

    @functools.cached_property
    def allowed(self) -> tuple[str, ...]:
        return tuple(option.name for option in self.options)

    @functools.cached_property
    def grouping(self) -> tuple[str, ...]:
        """The options about groups, which the function itself does not get."""
        pure = options.unpacked_keys(self.function) == options.PURE_GROUPING
        return () if not self.by else options.PURE_GROUPING if pure else options.GROUPING

    @functools.cached_property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.function).parameters

    @functools.cached_property
    def positional(self) -> tuple[str, ...]:
        return tuple(name for name, p in self._parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD)

    @functools.cached_property
    def takes_any(self) -> bool:
        """Whether it passes unknown options on to another function."""
        return options.unpacked_keys(self.function) == ()

    @functools.cached_property
    def required(self) -> tuple[str, ...]:
        """The names of its arguments without a default."""
        variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return tuple(name for name, p in self._parameters.items() if p.default is p.empty and p.kind not in variable)

    def bind(self, arguments: Sequence[Any], given: Call) -> Call:
        """All arguments by their names. Too many are refused, and one that is given twice. Their number is public."""
        placed = dict(zip(self.positional, arguments, strict=False))
        if len(placed) == len(arguments) and placed.keys().isdisjoint(given):
            return placed | given
        (table, names), fix = (arguments[:1], arguments[1:]), ""
        is_table = any(isinstance(one, str | Mapping) or hasattr(one, "columns") for one in table)
        if self.reads is not None and is_table and names and all(isinstance(name, str) for name in names):
            call = f"{self.name}({', '.join(map(repr, names))}, ...)"
            fix = f"Columns are named in a session: uptack.open(data).{call}."
        elif "epsilon" in self.allowed and "epsilon" not in given:
            fix = "Pass options by name, such as epsilon=1."
        return checks.positional(self.name, self.positional, arguments, given, fix=fix)

    def check_required(self, call: Call) -> None:
        """Refuses a call without a required argument, by name."""
        for name in self.required:
            if name not in call:
                raise InvalidArgument(name, f"given to {self.name}", "nothing", EXAMPLES.get(name, ""))

    @property
    def path(self) -> str:
        """Where users find it: "uptack.median", or in its room, "uptack.mechanisms.laplace"."""
        package, *rooms = self.function.__module__.split(".")
        top = package != "uptack" or hasattr(importlib.import_module(package), self.name)
        return ".".join([package, self.name] if top else [package, rooms[0], self.name])

    @property
    def section(self) -> str:
        """The topic that it is listed under, for people."""
        package, *rooms = self.function.__module__.split(".")
        return SECTIONS.get(rooms[0], OTHER) if package == "uptack" and rooms else OTHER

    @property
    def summary(self) -> str:
        return (self.function.__doc__ or "").strip().partition("\n")[0]

    def check(self, given: Mapping[str, Any]) -> None:
        """Refuses unknown options by name, and arrays in place of one value."""
        for name in () if self.takes_any else given:
            if name not in self.allowed and name not in self.data and name not in PEOPLE:
                ours = OTHER_NAMES.get(str(name), "")
                near = f"Did you mean {ours!r}?" if ours in self.allowed else checks.did_you_mean(name, self.allowed)
                fix = near or f"Its options are {', '.join(self.allowed)}."
                if name in ("data", "df") and "formula" in self.allowed:
                    fix = f"The data are the second argument: {self.name}('y ~ x', data, ...)."
                elif name in ("data", "df"):
                    fix = f"Columns are named in a session: uptack.open(data).{self.name}(...)."
                elif name in ("by", "groupby", "group_by") and "labels" in self.data:
                    place = ("first", "second", "third")[self.positional.index("labels")]
                    fix = f"Groups are the {place} argument, and groups= lists them."
                elif ours == "plausible" and "low" not in self.allowed:
                    guess = f"; {ours}= takes a guess, which may be wrong" if ours in self.allowed else ""
                    fix = f"No bounds are needed{guess}."
                elif ours == "edges" and ours in self.allowed:
                    fix += " It takes public edges, as in edges=[0, 20, 40, 60]; list categories with keys=."
                raise UnknownOption(str(name), self.name, fix)
        for name, value in given.items():
            if name in options.SINGLE and name not in self.data and not isinstance(value, str | float | int | None):
                option = options.KNOWN.get(name) or Option(str(name))
                checks.single(name, value, option.must, option.fix)


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


def enter_people(declaration: Declaration, given: Call, by: Any) -> tuple[Call, Any]:
    """The call without options about people, on people's data and under their adjacency; with `by`, on groups. And the
    table that its data became columns of, if they did (`uptack.table.reads.EnteredData`)."""
    call = {key: value for key, value in given.items() if key not in PEOPLE}
    wanted = _PeopleOptions.of(declaration, given)
    relation = call.get("adjacency", _default_adjacency(declaration, by))
    by_person = isinstance(relation, Adjacency) and relation.person
    data = {key: given[key] for key in declaration.data if key in given}
    owned = any(map(_of_people, data.values()))
    if wanted.person is None and not owned and (declaration.people == STATED or not by_person):
        _refuse_without_person(given)
        read = None if by is None else declaration.reads.enter(data, by=by)
        return call if read is None else call | read.arguments, read
    _check_people(declaration, wanted)
    if wanted.person is not None:
        return _with_owners(declaration, call, relation, data, wanted, by)
    if not owned:
        fix = "Pass person=, the column of ids, or open a session with person=."
        raise InvalidArgument("adjacency", "one about rows if no person is given", str(relation), fix)
    if not by_person:
        fix = "Pass adjacency=SUBSTITUTE.by_person(...)."
        raise InvalidArgument("adjacency", "one by person for people's data", checks.describe(relation), fix)
    _check_shaped(declaration, data)
    return call | {key: wanted.shape(key, value, wanted.order) for key, value in data.items()}, None


def in_groups(declaration: Declaration, data: Any, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A table in groups (`uptack.table.reads.GroupedData`) with the weights of people's rows, and the other options."""
    others = {key: value for key, value in given.items() if key not in PEOPLE}
    declaration.check_required(dict.fromkeys(declaration.data) | others)
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
    declaration: Declaration, call: Call, relation: Any, data: Call, wanted: _PeopleOptions, by: Any
) -> tuple[Call, Any]:
    """The call on data whose rows have owners, under the adjacency by person."""
    checks.instance("adjacency", relation, Adjacency, "SUBSTITUTE or ADD_REMOVE")
    if relation.person or any(map(_of_people, data.values())):
        fix = "The data already say whose rows they are, so leave person= out."
        raise InvalidArgument("person", "given once", "it twice", fix)
    if call.get("rows_per_person", 1) != 1:
        fix = "However many rows a person has, they count as one; leave rows_per_person out."
        rows = checks.describe(call["rows_per_person"])
        raise InvalidArgument("rows_per_person", "1 if person is given", rows, fix)
    how: EnterPeople = declaration.reads if isinstance(declaration.people, bool | str) else declaration.people
    read = how.enter(data, wanted.person, wanted.order, by)
    order = None if wanted.order is None else ORDER
    shaped = {key: wanted.shape(key, value, order) for key, value in read.arguments.items() if key in data}
    return call | shaped | {"adjacency": relation.by_person(*read.table.unit.ids)}, read


# ------------------------------------------------------------------------------------------------------------ declaring


def release(
    *, enter: Callable[[Call], Call] | None = None, **stated: Any
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Declare a release function by the fields of its `Declaration`. Returns the guarded function.

    With `by=per_group` it also takes `by`, `groups` and `share` (`uptack.grouping`). `enter` gets the arguments of
    every call first, before rows get their owners, and may transform the data row by row.
    """

    def declare(function: Callable[P, T]) -> Callable[P, T]:
        declaration = Declaration(function, **stated)

        @functools.wraps(function)
        def public(*arguments: Any, **given: Any) -> Any:
            if "formula" in declaration.allowed:
                arguments, given = _with_formula(arguments, given)
            declaration.check(given)
            call = declaration.bind(arguments, given)
            call = call if enter is None else enter(call)
            grouping = {name: call.pop(name, None) for name in declaration.grouping}
            call, read = enter_people(declaration, call, grouping.get("by"))
            declaration.check_required(call)
            return _per_group(declaration, call, read, grouping) if declaration.by else declaration.function(**call)

        behind = guard(public)
        object.__setattr__(declaration, "public", behind)
        behind.declaration = declaration  # type: ignore[attr-defined]
        names.enter(declaration)
        return behind

    return declare


def _with_formula(arguments: tuple[Any, ...], given: Call) -> tuple[tuple[Any, ...], Call]:
    """A call with its formula as an option and the data in front, however they are given: `f("y ~ x", frame)`,
    `f("y ~ x", data=frame)` and `f(formula="y ~ x", data=frame)`."""
    if not arguments and "data" in given and given.get("formula") is not None:
        return (given["data"],), {name: value for name, value in given.items() if name != "data"}
    if not arguments or not isinstance(arguments[0], str) or "~" not in arguments[0]:
        return arguments, given
    if given.get("formula") is not None:
        raise InvalidArgument("formula", "given once", "two formulas")
    data = (given["data"],) if "data" in given else ()
    others = {name: value for name, value in given.items() if name != "data"}
    return (*data, *arguments[1:]), {**others, "formula": arguments[0]}


def _per_group(declaration: Declaration, call: Call, read: Any, grouping: Call) -> Any:
    """The function once for each group, or once if there is no `by`."""
    by, given = grouping["by"], {name: v for name, v in grouping.items() if name != "by" and v is not None}
    if "delta" in given and (by is None or given.get("groups") is not None):
        fix = f"{declaration.name} itself needs no δ."
        raise InvalidArgument("delta", "left out unless groups are unknown", checks.describe(given["delta"]), fix)
    if by is None:
        for name, value in given.items():
            raise InvalidArgument(name, "left out without by=", checks.describe(value))
        return declaration.function(**call)
    assert declaration.by is not None
    data = tuple(call.pop(name) for name in declaration.data if name in call)
    return declaration.by(declaration.function, read.grouped(data), **call, **given)
