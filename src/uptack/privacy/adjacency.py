"""Adjacency: which tables count as neighbours in a guarantee."""

from __future__ import annotations

from dataclasses import dataclass, replace

from uptack import checks
from uptack.errors import Incomparable, InvalidArgument
from uptack.labels import label

_KINDS = ("substitute", "add/remove")


MOST_ROWS = 1 << 40
"""Rows that one person may be said to have. More would be more than tables hold, and too much for the noise."""


@dataclass(frozen=True)
class Adjacency:
    """Neighbours are tables that differ in the data of one person.

    - `SUBSTITUTE`: at most `rows_per_person` rows are replaced. The number of rows is public.
    - `ADD_REMOVE`: one table has at most `rows_per_person` rows more than the other. The number of rows is secret.

    `person` names the columns that say whose row each row is, and () where rows are the unit. With a person, all rows
    of one id count as one, however many they are, and the number of rows is secret:

    - `SUBSTITUTE.by_person("id")`: all rows of one person are replaced by others of the same person, one or more. The
      number of people is public.
    - `ADD_REMOVE.by_person("id")`: one table has one person more than the other. The number of people is secret too.

    >>> SUBSTITUTE.per_person(3)
    Adjacency('substitute', rows_per_person=3)
    >>> print(SUBSTITUTE.by_person("patient_id"))
    substitute, people by patient_id
    """

    kind: str
    rows_per_person: int = 1
    person: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            fix = "Use uptack.SUBSTITUTE or uptack.ADD_REMOVE."
            raise InvalidArgument("adjacency", "'substitute' or 'add/remove'", checks.describe(self.kind), fix)
        if checks.integer("rows_per_person", self.rows_per_person, least=1) > MOST_ROWS:
            fix = "It is how many rows one person has at most; with person= nothing need be said."
            raise InvalidArgument(
                "rows_per_person", f"at most {MOST_ROWS:,}", checks.describe(self.rows_per_person), fix
            )
        if not isinstance(self.person, tuple) or not all(isinstance(name, str) and name for name in self.person):
            raise InvalidArgument("person", "a tuple of names of columns", checks.describe(self.person))
        if self.person and self.rows_per_person != 1:
            fix = "However many rows a person has, they count as one; leave rows_per_person out."
            raise InvalidArgument("rows_per_person", "1 where people are the unit", self.rows_per_person, fix)

    @property
    def size_is_public(self) -> bool:
        """Whether the number of units is public: they are replaced, and neither added nor removed."""
        return self.kind == "substitute"

    @property
    def moves_per_row(self) -> int:
        """The ℓ1 sensitivity of a histogram to one row: 2 if it is replaced, 1 if it is added or removed."""
        return 2 if self.size_is_public else 1

    @property
    def unit(self) -> str:
        """What is counted: "rows" or "people"."""
        return "people" if self.person else "rows"

    @property
    def one_added(self) -> Adjacency:
        """One unit, a row or a person, added or removed: what happens to one of several disjoint parts."""
        return Adjacency("add/remove", person=self.person)

    def per_person(self, rows: int) -> Adjacency:
        """The same relation for people with up to so many rows."""
        return replace(self, rows_per_person=rows)

    def by_person(self, *names: str) -> Adjacency:
        """The same relation for people: all rows that agree in the columns of these names are one person's."""
        if not names:
            raise InvalidArgument("person", "the name of one column or more", "none")
        return replace(self, person=tuple(names))

    def steps_to(self, wider: Adjacency) -> int:
        """How many steps of this relation are enough to connect two neighbours under another one.

        Replacing h rows is removing h and adding h. A guarantee for tables of one size says nothing about tables of
        another, so `SUBSTITUTE` implies nothing about `ADD_REMOVE`. Nor does one about rows imply one about people, who
        may have any number of them; one about people says nothing where a row may change its owner.
        """
        if self.person != wider.person:
            raise Incomparable(
                f"a guarantee about {self._whose} can't be turned into one about {wider._whose}; ask for the release "
                "itself with another person="
            )
        if self.size_is_public and not wider.size_is_public:
            raise Incomparable(
                "a guarantee under SUBSTITUTE takes the number of rows as public and can't be turned into one under "
                "ADD_REMOVE; ask for the release itself with adjacency=ADD_REMOVE"
            )
        rounds = -(-wider.rows_per_person // self.rows_per_person)
        return rounds if self.kind == wider.kind else 2 * rounds

    def __repr__(self) -> str:
        rows = "" if self.rows_per_person == 1 else f", rows_per_person={self.rows_per_person}"
        return f"Adjacency({self.kind!r}{rows}{f', person={self.person!r}' if self.person else ''})"

    def __str__(self) -> str:
        rows = "" if self.rows_per_person == 1 else f", {self.rows_per_person} rows per person"
        return self.kind + rows + (f", {self._whose}" if self.person else "")

    @property
    def _whose(self) -> str:
        return f"people by {' and '.join(map(label, self.person))}" if self.person else "rows"


SUBSTITUTE = Adjacency("substitute")
ADD_REMOVE = Adjacency("add/remove")


def adjacency(value: object, rows_per_person: int = 1) -> Adjacency:
    """The argument as an adjacency, for so many rows per person."""
    fix = "Use uptack.SUBSTITUTE or uptack.ADD_REMOVE."
    relation: Adjacency = checks.instance("adjacency", value, Adjacency, "SUBSTITUTE or ADD_REMOVE", fix)
    return relation.per_person(relation.rows_per_person * checks.integer("rows_per_person", rows_per_person, least=1))
