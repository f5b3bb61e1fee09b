"""Statistics per group. A row is in one group, so all groups together cost as much as one of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account
from uptack.discrete.categories import SHARE as CHOICE
from uptack.discrete.categories import CellLimit, Screen, check_groups_per_person
from uptack.discrete.domains import groups_of
from uptack.discrete.histograms import Histogram, release_screened
from uptack.display import Ends, PlottedValue, Record
from uptack.display.numbers import is_number
from uptack.display.plots import dots
from uptack.errors import InvalidArgument, UptackError
from uptack.exact import Rational, Real, ball, read
from uptack.labels import lines
from uptack.noise import Entropy
from uptack.noise.entropy import source
from uptack.privacy import ADD_REMOVE, Adjacency, Privacy, cost, loss
from uptack.privacy.guarantee import adjacency as check_adjacency
from uptack.progress import track
from uptack.registry import release
from uptack.release import LONG, NoReply, Release
from uptack.table.memory.table import MemoryTable
from uptack.table.protocol import Table
from uptack.table.reads import MOMENTS, EnteredData, GroupedData, category_fields
from uptack.table.unit import ROW, PrivacyUnit
from uptack.table.values.entrance import field, indexable
from uptack.table.values.kinds import in_order

SHARE = Fraction(1, 10)
"""The part of ε that finds the groups. At δ = 1e-6 it finds groups of half the rows that a median needs: 110/ε."""
DEPENDENT = (
    "Intervals for the population assume that all rows are independent, including rows of one person. With person= "
    "they are for the population of people."
)
"""A note for groups if people may have several rows: the statistic treats rows as independent."""
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
        values = {group: reply.value if reply else "⊥" for group, reply in self.items()}
        texts = [repr(v) if isinstance(v, str) and self[group] else str(v) for group, v in values.items()]
        each = ", ".join(f"{group!r}: {text}" for group, text in zip(values, texts, strict=True))
        return lines(f"Groups({{{each}}})")

    def named(self, *names: Any) -> Groups:
        """The same replies, with other names for the last entries of their values (`Release.named`)."""
        named = {group: reply.named(*names) if reply.labels else reply for group, reply in self.items()}
        return replace(self, replies=named)

    def figures(self, ends: Ends = None) -> list[Record]:
        """The figures of every group, with their intervals; a line without a value where there is no reply."""
        return [{"group": group, **figure} for group, reply in self.items() for figure in reply.records()]

    def plot(self, ax: Any = None, *, interval: Ends = None, **style: Any) -> Any:
        """One dot per group, with its interval where it has one; ⊥ beside the name of a group without a reply.

        Every group must have one number. Further arguments go to matplotlib's `plot`. Returns the axes. It needs
        matplotlib: `pip install "uptack[plots]"`.
        """
        lines = self.figures()
        if len(lines) != len(self) or not all(one["value"] is None or is_number(one["value"]) for one in lines):
            raise UptackError("only groups with one number each can be plotted; plot the replies one by one")
        ends = [one["low"] for one in lines], [one["high"] for one in lines]
        return dots(list(self), [one["value"] for one in lines], ends, ax, **style)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        sizes = {} if self.sizes is None else {"sizes": self.sizes.to_dict()}
        return {"groups": list(self), "replies": [reply.to_dict() for reply in self.values()]} | sizes


# ------------------------------------------------------------------------------------------------------------- budget


@dataclass(frozen=True)
class _Plan:
    """The budget of every stage, computed before any data is read: the choice of g, the list of groups, all answers.

    `public` are the groups, if they are public. `stated` is g, if it need not be chosen.
    """

    adjacency: Adjacency
    answers: Privacy
    listing: Privacy | None = None
    public: tuple[Hashable, ...] | None = None
    stated: int | None = 1
    limit: CellLimit | None = None

    def each(self, groups: int) -> Privacy:
        """The budget of a group, for one row or person added or removed, if each person is in so many groups.

        With h = `rows_per_person`, twice that if rows or people are replaced, and g groups: ε' = ε/(g·h) and
        δ' = δ/g/(1 + e^ε' + ... + e^((h-1)ε')). That is (ε, δ) for all of them (`uptack.privacy.cost`, Disjoint).
        """
        relation = self.adjacency
        steps = relation.moves_per_row * relation.rows_per_person
        whole, delta = self.answers.exact_epsilon / groups, self.answers.exact_delta / groups
        step = whole / steps
        if steps > 1 and delta > 0:
            factor = Real(lambda: ball(whole).expm1() / ball(step).expm1())
            delta = delta / factor.bounds()[1] * (1 - Fraction(1, 1 << 40))  # room for δ to be rounded up
        return Privacy(step, delta, relation.one_added)

    def screen(self, groups: int) -> Screen:
        """How a list of groups is found."""
        assert self.listing is not None
        unit = PrivacyUnit(self.adjacency.person, "any", groups) if self.adjacency.person else ROW
        return Screen.of(self.listing.exact_epsilon, self.listing.exact_delta, self.adjacency, unit)


def _plan(
    epsilon: Rational,
    delta: Rational,
    public: tuple[Hashable, ...] | None,
    share: Rational,
    groups_per_person: Any,
    relation: Adjacency,
    own_delta: bool,
) -> _Plan:
    """The budget of every stage. A statistic that needs δ of its own (`own_delta`) gets half of it beside a list."""
    eps, dlt = checks.epsilon(epsilon), checks.delta("delta", delta)
    part = checks.inside_unit("share", share)
    if not relation.person:
        checks.left_out("groups_per_person", groups_per_person, "without person=", "A row is in one group.")
    choice = CellLimit.of(eps * CHOICE, None if public is None else len(public))
    chosen = groups_per_person is None and relation.person and not choice.free
    limit, stated = (
        (choice, None)
        if chosen
        else (None, check_groups_per_person(1 if groups_per_person is None else groups_per_person))
    )
    left = eps if limit is None else eps - limit.epsilon
    if public is not None:
        return _Plan(relation, Privacy(left, dlt, relation), None, public, stated, limit)
    if dlt == 0:
        fix = "List the public groups, or pass delta=1e-6 to find the groups with enough rows."
        raise InvalidArgument("groups", "listed if δ is 0", "nothing", fix)
    own = dlt / 2 if own_delta else Fraction(0)
    answers, listing = Privacy(left * (1 - part), own, relation), Privacy(left * part, dlt - own, relation)
    return _Plan(relation, answers, listing, None, stated, limit)


# --------------------------------------------------------------------------------------------------------- the function


@dataclass(frozen=True)
class _OwnedGroups:
    """How x and by become people in groups."""

    people: tuple[str, ...] = ()

    def enter(self, data: Mapping[str, Any], person: Any = None, order: Any = None, by: Any = None) -> EnteredData:
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
    groups_per_person: int | None = None,
    rows_per_person: int = 1,
    adjacency: Adjacency = ADD_REMOVE,
    entropy: Entropy | None = None,
    **options: Any,
) -> Release[Groups]:
    """One reply per group of rows: f(rows, epsilon=..., adjacency=ADD_REMOVE, entropy=..., **options) for each group.

    `by` is a column with the group of every row of x, or a tuple of several columns, whose groups are tuples; rows
    without a group are the group None. `groups` are the public groups, in the order of the answer. Rows of other groups
    are ignored. A group without rows gets the reply of f to no rows, usually ⊥.

    **Theorem.** Let f be (ε', δ')-differentially private for an added or removed row, and let neighbours differ in h
    added or removed rows: h = `rows_per_person`, or twice that under SUBSTITUTE, where a replaced row may change its
    group. With ε' = ε/h and δ' = δ/(1 + e^ε' + ... + e^((h-1)ε')) the answers for all public groups together are
    (ε, δ)-private, whatever the number of groups (`uptack.privacy.cost`, Disjoint). f is run at these parameters: what
    is requested is what it costs. (It would not be enough that f is ε-private for h rows per person in each group: a
    person with one row in each of h groups could lose ε in each.)

    f sees rows, not people, so its intervals for the population assume independent rows, and the reply says so.
    With `person=` intervals are about people.

    **Unknown groups** (`groups=None`) need δ. A `share` of ε pays for a list of the groups whose noisy number of rows
    reaches a cutoff (`uptack.discrete.categories.Screen`), which is (share·ε, δ)-private. f gets the rest of ε. The
    notes say which groups are not listed. By composition the total is (ε, δ). The groups come in the order of their
    values. All of δ goes into the list, or half of it if a `method` other than "inverse" needs some. With public groups
    f gets all of δ.

    **People.** With `person=` each person counts in up to g groups with all her rows there: those with most of her rows
    (`uptack.table.protocol.GroupedTable`). One person who is added or removed changes up to g groups, each by one
    person, so ε' and δ' are divided by g (`uptack.privacy.cost`, Disjoint). g is `groups_per_person`, or is chosen for
    a tenth of ε (`uptack.discrete.categories`); the notes say which g it is. f gets the rows of a group's people
    as people's data.

    f must stay within the ε and δ that it is given. It is first run without rows. This finds wrong options, and
    statistics that need rows, whatever the data. x may also be a table in groups (`uptack.table.reads.GroupedData`),
    without `by`.

    >>> from uptack import SeededEntropy, median
    >>> ward, stay = ["a", "b", "b", "c"] * 500, [3, 8, 8, 1] * 500
    >>> release = per_group(median, stay, ward, groups=["a", "b", "z"], epsilon=1, entropy=SeededEntropy(1))
    >>> release.value, release.privacy
    (Groups({'a': 3.0, 'b': 8.0, 'z': ⊥}), Privacy(epsilon=1.0, adjacency=Adjacency('add/remove')))
    >>> release.value["z"]
    ⊥ (median by inverse sensitivity, ε = 1.0 (add/remove); no value stands out from the noise; a reply needs at least
    203 rows (n·ε ≈ 203))
    """
    relation, bits = check_adjacency(adjacency, rows_per_person), source(entropy)
    own_delta = options.get("method", "inverse") != "inverse"
    data = as_groups(x, by)
    public = None if groups is None else groups_of(groups, data.groups.value_kinds)
    plan = _plan(epsilon, delta, public, share, groups_per_person, relation, own_delta)
    _run(f, data.of(data.groups.nothing()), plan.each(plan.stated or plan.limit.limits[-1]), options, bits)  # type: ignore[union-attr]
    g, counted = 1, data.groups
    if relation.person:
        counted = counted if plan.public is None else counted.among(plan.public)
        if plan.limit is not None:
            account = Account.open("groups of a person", plan.limit.epsilon, adjacency=relation, entropy=bits)
        g = plan.stated or plan.limit.choose(counted.per_person, account)  # type: ignore[union-attr]
        counted = counted.within(g)
    each, screen, sizes = plan.each(g), None if plan.listing is None else plan.screen(g), None
    if plan.listing is not None and screen is not None:
        promised = plan.listing.exact_epsilon, plan.listing.exact_delta
        account = Account.open("histogram", *promised, adjacency=plan.adjacency, entropy=bits)
        sizes = release_screened(screen, counted.sizes(), account)
    by_value = [(group if isinstance(group, tuple) else (group,), group) for group in (sizes.value if sizes else ())]
    chosen = plan.public or [group for _, group in sorted(by_value, key=lambda pair: [*map(in_order, pair[0])])]
    times = float(read(epsilon) / each.exact_epsilon)
    replies = {
        group: _for_all_groups(_run(f, data.of(counted.part(group)), each, options, bits), relation, times)
        for group in track(chosen, "groups")
    }
    tree = _loss(plan.limit, sizes, replies.values(), g)
    name = getattr(f, "__name__", "statistic").replace("_", " ")
    how = f"{name} per group" + (f" (unknown groups, cutoff {screen.cutoff})" if screen else "")
    notes: tuple[str, ...] = ()
    if relation.person and (plan.public is None or len(plan.public) > g):
        groups_of_one = "the group" if g == 1 else f"the {g} groups"
        chosen_g = "" if plan.limit is None else f" ({g} was chosen privately; set it with groups_per_person=)"
        notes = (f"Each person counts in {groups_of_one} with most of their rows{chosen_g}.",)
    if screen:
        notes += (f"Groups with fewer than about {screen.cutoff:,} {relation.unit} are not listed.",)
    return Release(Groups(replies, sizes), cost(tree, relation), how, tree, None, bits.private, notes)


def _run(
    f: Callable[..., Reply], rows: tuple[Any, ...], each: Privacy, options: dict[str, Any], bits: Entropy
) -> Reply:
    """The reply of one group, which must stay within its budget."""
    budget: dict[str, Any] = {"epsilon": each.exact_epsilon, "adjacency": each.adjacency, "entropy": bits}
    if not each.pure:
        budget["delta"] = each.exact_delta
    return _within(f(*rows, **budget, **options), each)


def _for_all_groups(reply: Reply, relation: Adjacency, times: float) -> Reply:
    """The reply of a group, with a note on what its interval assumes, or advice on the ε of all groups together.

    That is so many times the ε of a group.
    """
    if isinstance(reply, NoReply):
        advice = reply.advice
        epsilon, at = (None if e is None else float(f"{times * e:.4g}") for e in (advice.epsilon, advice.at))
        return replace(reply, advice=replace(advice, epsilon=epsilon, at=at))
    if relation.person or relation.rows_per_person == 1 or reply.noise is None:
        return reply
    return replace(reply, notes=(*reply.notes, DEPENDENT))


@dataclass(frozen=True, eq=False)
class _PickedRows:
    """Plain data whose rows are selected by a column of places, so that a group gets its rows in the same form."""

    data: Any
    table: MemoryTable

    def of(self, part: Table) -> Any:
        return self.data[part.column(PLACE).rows.in_memory().values[0]]


PLACE = "place"
"""The name of the column with the place of each row."""


def as_groups(x: Any, by: Any) -> GroupedData:
    """Rows, or people, in groups."""
    if by is None and isinstance(x, GroupedData):
        return x
    data, fields = indexable("x", x), category_fields(by)
    if next(iter(fields.values())).size != len(data):
        raise InvalidArgument("by", "a column of one group for every row of x", "another length")
    table = MemoryTable.of({**fields, PLACE: field(PLACE, np.arange(len(data)))})
    return GroupedData(table.groups(tuple(fields)), (_PickedRows(data, table),), False)


def _within(reply: Any, each: Privacy) -> Reply:
    """The reply, if it is within its budget: else the theorem does not hold."""
    if isinstance(reply, Release | NoReply):
        price = reply.privacy
        if isinstance(price, Privacy) and price.adjacency == each.adjacency and price <= each:
            return reply
    got = str(reply.privacy) if isinstance(reply, Release | NoReply) else type(reply).__name__
    fix = "It must pass epsilon, delta, adjacency and entropy on."
    raise InvalidArgument("f", f"a statistic whose reply costs at most {each}", got, fix)


def _loss(limit: CellLimit | None, sizes: Release[Histogram] | None, replies: Iterable[Reply], g: int) -> loss.Loss:
    """The choice of g and the list of groups, where they were bought, and then the groups side by side."""
    parts = tuple(dict.fromkeys(reply.loss for reply in replies if reply.loss is not None))  # equal parts once
    choice = (limit.loss,) if limit is not None else ()
    listing = (sizes.loss,) if sizes else ()
    stages = (*choice, *listing, *([loss.Disjoint(parts, g)] if parts else []))
    return loss.Composed(stages) if len(stages) > 1 else stages[0] if stages else loss.Pure(0)
