"""People as the unit of a release: the one place where `person=` enters, and where it is refused.

    median(x, epsilon=1, person=ids)                                    # people weigh alike
    median(x, epsilon=1, person=ids, weights="rows", at_most=10)        # rows weigh alike, up to ten per person
    median(x, epsilon=1, person=ids, per_person="mean")                 # one number per person first

`person` is taken out of the call, the data become columns of a table whose unit is people (`uptack.table.reads.Reads`),
and the adjacency becomes one by person. A function says that it is proved for people with `@release(..., people=True)`;
with `people="each"` it is for one number per person only. A mechanism that is told a sensitivity says
`people="stated"`: its value is one for people where the adjacency says so, and it takes no ids. A share of truth values
says `people="share"`: people weigh alike, by the share of their rows that are true. Every other one refuses. So does
every one that is given people's data without a person's adjacency, or the other way round: people are never taken for
rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Adjacency
from uptack.registry.options import HOWS, PEOPLE, SHARES, SURVEY, Option


class Enter(Protocol):
    """How the data arguments of a call become columns of one table, and what can be said of people beside `person`."""

    @property
    def people(self) -> tuple[str, ...]:
        """The options of people that it takes."""
        ...

    def enter(self, data: Mapping[str, Any], person: Any = None, order: Any = None, by: Any = None) -> Any:
        """The arguments by name (`arguments`), the table (`table`), and the names of the columns of groups (`by`)."""
        ...


Flag = bool | str | Enter
"""Whether a function is proved for people: False, "stated", "each", "share", True, or how its data become people's."""

WEIGHTS = ("people", "rows", "any")
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
class _Asked:
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


class Declared(Protocol):
    """What of a declaration matters here."""

    @property
    def name(self) -> str:
        """The name of the function."""
        ...

    @property
    def data(self) -> tuple[str, ...]:
        """The names of the arguments that hold data."""
        ...

    @property
    def reads(self) -> Any:
        """What they are of a table."""
        ...

    @property
    def options(self) -> tuple[Option, ...]:
        """What it can be told."""
        ...

    @property
    def people(self) -> Flag:
        """Whether it is proved for people."""
        ...


def options_of(people: Flag, reads: Any) -> tuple[str, ...]:
    """What a function can be told of people."""
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


def entered(made: Declared, arguments: tuple[Any, ...], told: Mapping[str, Any], by: Any = None) -> Call:
    """A call without `person`, with people's data and their adjacency; with `by`, of a table in groups."""
    data, given = made.data, {key: value for key, value in told.items() if key not in PEOPLE}
    asked = _asked(made, told)
    relation = given.get("adjacency", _usual(made, by))
    unit = relation.person if isinstance(relation, Adjacency) else ()
    passed = dict(zip(data, arguments, strict=False)) | {key: given[key] for key in data if key in given}
    known = [key for key, value in passed.items() if _of_people(value)]
    if asked.person is None and not known and (made.people == STATED or not unit):
        _refuse_alone(told)
        return (
            Call(arguments, given) if by is None else _called(made, arguments, given, made.reads.enter(passed, by=by))
        )
    _proved(made, asked)
    asked.check()
    if asked.person is not None:
        return _owned(made, arguments, passed, asked, {**given, "adjacency": relation}, by)
    if not known:
        fix = "Pass person=, the column of ids, or open a session with person=."
        raise InvalidArgument("adjacency", "one about rows where no person is given", str(relation), fix)
    if not unit:
        fix = "Pass adjacency=SUBSTITUTE.by_person(...)."
        raise InvalidArgument("adjacency", "one by person for people's data", checks.describe(relation), fix)
    shaped = {key: _shaped(key, value, asked, asked.order) for key, value in passed.items()}
    return _renamed(made, arguments, given, shaped)


def _renamed(made: Declared, arguments: tuple[Any, ...], given: Mapping[str, Any], passed: Mapping[str, Any]) -> Call:
    """The call with other data arguments."""
    data = made.data
    changed = tuple(passed[key] for key, _ in zip(data, arguments, strict=False)) + arguments[len(data) :]
    return Call(changed, {key: passed.get(key, value) if key in data else value for key, value in given.items()})


def _called(made: Declared, arguments: tuple[Any, ...], given: Mapping[str, Any], read: Any) -> Call:
    """The call with columns of a table in place of data."""
    call = _renamed(made, arguments, given, read.arguments)
    return replace(call, read=read)


def proved(made: Declared, told: Mapping[str, Any]) -> None:
    """Refuses what is asked about people and is not proved for them, or does not go together. Looks at no data."""
    asked = _asked(made, told)
    _proved(made, asked)
    asked.check()


def in_groups(made: Declared, data: Any, told: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A table in groups (`uptack.table.reads.Grouped`) as a call wants people's rows, and the rest of the call."""
    rest = {key: value for key, value in told.items() if key not in PEOPLE}
    if not data.of_people:
        _refuse_alone(told)
        return data, rest
    proved(made, told)
    asked = _asked(made, told)
    return _shaped(made.name, data, asked, asked.order), rest


def _asked(made: Declared, told: Mapping[str, Any]) -> _Asked:
    """What a call says of people. The share of a person's rows is what their weights make of truth values."""
    found = _Asked(**{option: told[option] for option in PEOPLE if option in told})
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


def _usual(made: Declared, by: Any) -> Any:
    """The adjacency where none is given: in groups people come and go."""
    default = next((option.default for option in made.options if option.name == "adjacency"), None)
    return ADD_REMOVE if by is not None else default if isinstance(default, Adjacency) else SUBSTITUTE


def _proved(made: Declared, asked: _Asked) -> None:
    """Refuses what is not proved."""
    if made.people == STATED:
        fix = "State a sensitivity for people, and pass adjacency=SUBSTITUTE.by_person(...)."
        raise InvalidArgument("person", f"left out: {made.name} is told the sensitivity of its value", "one", fix)
    if made.people is False:
        instead = f"For people there is {INSTEAD[made.name]}. " if made.name in INSTEAD else ""
        fix = f"{instead}Rows can be the unit: state how many one person has at most, with rows_per_person."
        raise InvalidArgument("person", f"left out: {made.name} is not proved for people", "one", fix)
    if made.people == "each" and asked.per_person is None:
        fix = "It says which number each person counts with, such as per_person='mean' for the mean of her rows."
        raise InvalidArgument("per_person", f"given with person= for {made.name}", "nothing", fix)
    if asked.per_person is not None:
        checks.choice("per_person", asked.per_person, SHARES if made.people == "share" else HOWS)
    if asked.weights == "any" and "per_person" in options_of(made.people, made.reads):
        fix = "It counts people in cells. For one number per person pass per_person='mean'."
        raise InvalidArgument("weights", f"'people' or 'rows' for {made.name}", "'any'", fix)


def _owned(
    made: Declared,
    arguments: tuple[Any, ...],
    passed: Mapping[str, Any],
    asked: _Asked,
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
    how: Enter = made.reads if isinstance(made.people, bool | str) else made.people
    read = how.enter(passed, asked.person, asked.order, by)
    order = None if asked.order is None else ORDER
    shaped = {key: _shaped(key, value, asked, order) for key, value in read.arguments.items()}
    call = _renamed(made, arguments, {**given, "adjacency": relation.by_person(*read.table.unit.ids)}, shaped)
    return replace(call, read=read)


def _of_people(value: Any) -> bool:
    """Whether data say whose they are."""
    return bool(getattr(value, "of_people", False))


def _shaped(name: str, data: Any, asked: _Asked, order: Any) -> Any:
    """People's data with the weights, or the numbers per person, that were asked for; `order` names a column."""
    if not _of_people(data):
        return data
    if asked.per_person is not None:
        if not hasattr(data, "per_person"):
            raise InvalidArgument("per_person", f"left out: {name} is not one column of numbers", "given")
        return data.per_person(asked.per_person, order)
    return data if asked.weights is None else data.sharing(asked.weights, asked.at_most)
