"""Statistics per group. A row lies in one group, so all groups together cost as much as one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.discrete.categories import Screen
from uptack.discrete.domains import Domain
from uptack.discrete.histograms import Histogram, frequent
from uptack.display import Ends, PlottedValue, Record
from uptack.display.numbers import is_number
from uptack.display.plots import dots
from uptack.errors import InvalidArgument, UptackError
from uptack.exact import Rational, Real, ball
from uptack.labels import lines
from uptack.noise import Entropy
from uptack.noise.entropy import source
from uptack.privacy import ADD_REMOVE, Adjacency, Privacy, cost, loss
from uptack.privacy.adjacency import adjacency as check_adjacency
from uptack.progress import track
from uptack.registry import release
from uptack.release import LONG, NoReply, Release
from uptack.table.arguments import category_fields
from uptack.table.memory.groups import MemoryGroups
from uptack.table.memory.table import MemoryTable
from uptack.table.names import distinct
from uptack.table.reads import MOMENTS, Entered, Grouped
from uptack.table.values.entrance import field, indexed
from uptack.table.values.kinds import in_order

SHARE = Fraction(1, 10)
"""The part of ε that buys a list of groups. At δ = 1e-6 it finds groups of half the rows that a median needs: 110/ε."""
MOST_GROUPS = 10_000
"""Public groups in one request: each is a release of its own."""
DEPENDENT = (
    "an interval for the population takes rows for independent of each other, also those of one person; "
    "with person= it is about people"
)
"""What a reader of a group must know where people have several rows: the statistic is asked about single rows."""
Reply = Release[Any] | NoReply
__all__ = ["Groups", "per_group"]

# ------------------------------------------------------------------------------------------------------------ results


@dataclass(frozen=True, eq=False)
class Groups(PlottedValue, Mapping[Hashable, Reply]):
    """The replies of a statistic: a mapping from groups to releases and ⊥s.

    `sizes` holds the noisy numbers of rows if the list of groups came from the data. It is None if the list is public.
    """

    replies: Mapping[Hashable, Reply]
    sizes: Release[Histogram] | None = None

    def __getitem__(self, group: Hashable) -> Reply:
        return self.replies[group]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.replies)

    def __len__(self) -> int:
        return len(self.replies)

    def __repr__(self) -> str:
        if len(self) > LONG:
            return self.table().text()
        shown = [f"{group!r}: {_shown(reply.value) if reply else '⊥'}" for group, reply in self.items()]
        return lines(f"Groups({{{', '.join(shown)}}})")

    def figures(self, ends: Ends = None) -> list[Record]:
        """The figures of every group, with their intervals; a line without a value where there is no reply."""
        return [{"group": group, **figure} for group, reply in self.items() for figure in reply.records()]

    def plot(self, ax: Any = None, *, interval: Ends = None, **style: Any) -> Any:
        """One dot per group, with its interval where it has one; ⊥ beside the name of a group without a reply.

        Every group has one number for that. Further arguments go to matplotlib's `plot`. Returns the axes. It needs
        matplotlib: `pip install "uptack[plots]"`.
        """
        lines = self.figures()
        if len(lines) != len(self) or not all(one["value"] is None or is_number(one["value"]) for one in lines):
            raise UptackError("groups are drawn where each has one number: draw the replies one by one")
        ends = [one["low"] for one in lines], [one["high"] for one in lines]
        return dots(list(self), [one["value"] for one in lines], ends, ax, **style)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        sizes = {} if self.sizes is None else {"sizes": self.sizes.to_dict()}
        return {"groups": list(self), "replies": [reply.to_dict() for reply in self.values()]} | sizes


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, str) else str(value)


# ------------------------------------------------------------------------------------------------------------- budget


@dataclass(frozen=True)
class _Plan:
    """Who gets what, worked out before any data is read: `each` group, for one row, and the `screen` of unknown groups.

    `public` are the groups where they are public.
    """

    adjacency: Adjacency
    each: Privacy
    public: tuple[Hashable, ...] | None = None
    screen: Screen | None = None


def _one_row(epsilon: Fraction, delta: Fraction, relation: Adjacency) -> Privacy:
    """What one row, or person, may cost so that g cost (ε, δ): (ε/g, δ/(1 + e^(ε/g) + ... + e^((g-1)ε/g)))."""
    rows = relation.rows_per_person
    step = epsilon / rows
    if rows > 1 and delta > 0:
        factor = Real(lambda: ball(epsilon).expm1() / ball(step).expm1())
        delta = delta / factor.bounds()[1] * (1 - Fraction(1, 1 << 40))  # room for δ to be rounded up when g are added
    return Privacy(step, delta, relation.per_person(1))


def _public(groups: Any) -> tuple[Hashable, ...]:
    checks.few("groups", groups, MOST_GROUPS, "groups", "Ask about some of them at a time.")
    try:
        levels = Domain({"groups": groups}).columns["groups"]
    except InvalidArgument as error:
        fix = "They must be public: fixed before the data are seen. None stands for groups that are not known."
        raise InvalidArgument("groups", error.must, error.got, fix) from None
    return tuple(range(levels) if isinstance(levels, int) else levels)


def _plan(
    epsilon: Rational, delta: Rational, groups: Any, share: Rational, relation: Adjacency, own_delta: bool
) -> _Plan:
    """The budget of every stage. A statistic that needs δ of its own (`own_delta`) gets half of it beside a list."""
    if relation.size_is_public:
        fix = "The sizes of groups are secret. What that implies under SUBSTITUTE says privacy.under(SUBSTITUTE)."
        raise InvalidArgument("adjacency", "ADD_REMOVE for statistics per group", str(relation), fix)
    eps, dlt = checks.epsilon(epsilon), checks.delta("delta", delta)
    part = checks.inside_unit("share", share)
    if groups is not None:
        return _Plan(relation, _one_row(eps, dlt, relation), public=_public(groups))
    if dlt == 0:
        fix = "List the public groups, or pass δ, such as 1e-6, to find those with enough rows."
        raise InvalidArgument("groups", "given where δ is 0", "None", fix)
    own = dlt / 2 if own_delta else Fraction(0)
    each = _one_row(eps * (1 - part), own, relation)
    return _Plan(relation, each, screen=Screen.of(eps * part, dlt - own, relation))


# --------------------------------------------------------------------------------------------------------- the function


@dataclass(frozen=True)
class _OwnedGroups:
    """How x and by become people in groups."""

    people: tuple[str, ...] = ()

    def enter(self, data: Mapping[str, Any], person: Any = None, order: Any = None, by: Any = None) -> Entered:
        """x in groups, in place of both."""
        read = MOMENTS.enter({"x": data["x"]}, person, by=data["by"])
        arguments = {"f": data["f"], "x": read.grouped((read.arguments["x"],)), "by": None}
        return replace(read, arguments=arguments)


@release(data=("f", "x", "by"), people=_OwnedGroups())
def per_group(
    f: Callable[..., Reply],
    x: Any,
    by: Any = None,
    *,
    epsilon: Rational,
    groups: Sequence[Hashable] | int | None = None,
    delta: Rational = 0,
    share: Rational = SHARE,
    rows_per_person: int = 1,
    adjacency: Adjacency = ADD_REMOVE,
    entropy: Entropy | None = None,
    **options: Any,
) -> Release[Groups]:
    """One reply per group of rows: f(rows, epsilon=..., adjacency=ADD_REMOVE, entropy=..., **options) for each group.

    `by` is a column with the group of every row of x, or a tuple of several columns, whose groups are tuples; rows
    without a group are the group None. `groups` are the public groups, in the order of the answer. Rows of other groups
    are ignored. A group without rows gets the reply of f to no rows, usually ⊥. The guarantee is for added or removed
    rows, since the sizes of groups are secret.

    **Theorem.** Let f be (ε/g, δ/S)-differentially private for an added or removed row, S = 1 + e^(ε/g) + ... +
    e^((g-1)ε/g), and let a person own up to g rows, in any groups. Then the answers for all public groups together are
    (ε, δ)-private, whatever the number of groups (`uptack.privacy.cost`, Disjoint). f is run at these parameters. (It
    would not be enough that f is ε-private for g rows per person in each group: a person with one row in each of g
    groups could lose ε in each.) It is asked about single rows, so an interval that it makes for the population takes
    them for independent of each other, which the reply says. With `person=` intervals are about people.

    **Unknown groups** (`groups=None`) need δ. A `share` of ε pays for a list of the groups whose noisy number of rows
    reaches a cutoff (`uptack.discrete.categories.Screen`), which is (share·ε, δ)-private. f gets the rest of ε. Nothing
    is said about other groups. By composition the total is (ε, δ). The groups come in the order of their values. All of
    δ goes into the list, or half of it if a `method` other than "inverse" needs some. With public groups f gets all of
    δ.

    **People.** With `person=` each person counts in one of her groups only, that of most of her rows
    (`uptack.table.protocol.GroupedTable`). Then one person who is added or removed changes one group, by one person,
    and the theorem holds with people in place of rows and g = 1. f gets the rows of a group's people as people's data,
    and `adjacency=ADD_REMOVE.by_person(...)`.

    f must stay within the ε and δ that it is given. It is first run without rows. This finds wrong options, and
    statistics that need rows, whatever the data. x may also be a table in groups (`uptack.table.reads.Grouped`),
    without `by`.

    >>> from uptack import SeededEntropy, median
    >>> ward, stay = ["a", "b", "b", "c"] * 500, [3, 8, 8, 1] * 500
    >>> release = per_group(median, stay, ward, groups=["a", "b", "z"], epsilon=1, entropy=SeededEntropy(1))
    >>> release.value, release.privacy
    (Groups({'a': 3.0, 'b': 8.0, 'z': ⊥}), Privacy(epsilon=1.0, adjacency=Adjacency('add/remove')))
    >>> release.value["z"]
    ⊥ (median by inverse sensitivity, ε = 1.0 (add/remove); a reply needs n of at least 203)
    """
    relation, bits = check_adjacency(adjacency, rows_per_person), source(entropy)
    plan = _plan(epsilon, delta, groups, share, relation, options.get("method", "inverse") != "inverse")
    budget: dict[str, Any] = {"epsilon": plan.each.exact_epsilon, "adjacency": plan.each.adjacency, "entropy": bits}
    if not plan.each.pure:
        budget["delta"] = plan.each.exact_delta

    def run(rows: tuple[Any, ...]) -> Reply:
        reply = _within(f(*rows, **budget, **options), plan.each)
        if relation.rows_per_person == 1 or not isinstance(reply, Release) or reply.noise is None:
            return reply
        return replace(reply, notes=(*reply.notes, DEPENDENT))

    data = _grouped(x, by)
    if plan.public is not None:
        distinct("groups", plan.public, data.groups.kinds, "a list of groups that rows can tell apart")
    run(data.nothing())
    sizes = None if plan.screen is None else frequent(plan.screen, data.sizes(), bits)
    chosen = plan.public or sorted(sizes.value if sizes else (), key=_order)
    replies = {group: run(data.rows(group)) for group in track(chosen, "groups")}
    tree = _loss(sizes, replies.values())
    name = getattr(f, "__name__", "statistic").replace("_", " ")
    how = f"{name} per group" + (f" (unknown groups, cutoff {plan.screen.cutoff})" if plan.screen else "")
    return Release(Groups(replies, sizes), cost(tree, relation), how, tree, None, bits.private)


def _order(group: Hashable) -> list[Any]:
    """The order of groups: that of their values, column by column."""
    return [in_order(part) for part in (group if isinstance(group, tuple) else (group,))]


@dataclass(frozen=True, eq=False)
class PlainGroups:
    """Rows of plain data in groups: each group gets its rows in the form that all of them have."""

    data: Any
    groups: MemoryGroups

    of_people = False

    @staticmethod
    def of(x: Any, by: Any) -> PlainGroups:
        """Rows that can be picked, and the group of each."""
        data, fields = indexed("x", x), category_fields(by)
        if next(iter(fields.values())).size != len(data):
            raise InvalidArgument("by", "a column of one group for every row of x", "another length")
        table = MemoryTable.of({**fields, PLACE: field(PLACE, np.arange(len(data)))})
        return PlainGroups(data, table.groups(tuple(fields)))

    def sizes(self) -> tuple[Sequence[Hashable], NDArray[np.int64]]:
        """The groups that occur, and their numbers of rows."""
        return self.groups.sizes()

    def rows(self, group: Hashable) -> tuple[Any]:
        """The rows of a group, in the order of the table."""
        return (self.data[self.groups.part(group).fields[PLACE].numbers()[0]],)

    def nothing(self) -> tuple[Any]:
        """No rows, with the type of the data."""
        return (self.data[:0],)


PLACE = "place"
"""The name of the column that says where a row is."""


def _grouped(x: Any, by: Any) -> Grouped | PlainGroups:
    """Rows, or people, in groups."""
    return x if by is None and isinstance(x, Grouped) else PlainGroups.of(x, by)


def _within(reply: Any, each: Privacy) -> Reply:
    """The reply of a statistic that kept to its budget: else the theorem does not hold."""
    if isinstance(reply, Release | NoReply):
        price = reply.privacy
        if isinstance(price, Privacy) and price.adjacency == each.adjacency and price <= each:
            return reply
    got = str(reply.privacy) if isinstance(reply, Release | NoReply) else type(reply).__name__
    fix = "It must pass epsilon, delta, adjacency and entropy on."
    raise InvalidArgument("f", f"a statistic whose reply costs at most {each}", got, fix)


def _loss(sizes: Release[Histogram] | None, replies: Iterable[Reply]) -> loss.Loss:
    """The list of groups, where it was bought, and then the groups side by side. Equal parts are named once."""
    parts = tuple(dict.fromkeys(reply.loss for reply in replies if reply.loss is not None))
    listing = (sizes.loss,) if sizes else ()
    stages = (*listing, loss.Disjoint(parts)) if parts else listing
    return loss.Composed(stages) if stages else loss.Pure(0)
