"""Counts, histograms and two-way tables, with integer noise on every cell."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property, partial
from numbers import Integral
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.account import Account
from uptack.discrete.categories import (
    SHARE,
    CellLimit,
    Screen,
    Table,
    category_counts,
    cell_noise,
    check_groups_per_person,
    counting_note,
    each_count,
    one_count,
)
from uptack.discrete.domains import KeyCells, binning_of, by_calendar, check_calendar, groups_of
from uptack.display import Ends, PlottedValue, Record, line
from uptack.display.plots import PLAIN, PRIVATE, axes, bars
from uptack.display.tabular import align_lines, data_frame
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.labels import label, printable
from uptack.mechanisms import laplace
from uptack.mechanisms.additive_noise import IntegerNoise
from uptack.noise import Entropy, IntegerLaw
from uptack.noise.integer_laws import Integers, refuse_tiny
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Adjacency, loss
from uptack.privacy.guarantee import adjacency as check_adjacency
from uptack.registry import release
from uptack.registry.options import PureGrouping
from uptack.release import LONG, NoReply, Release
from uptack.table.conditions import conditions
from uptack.table.memory.table import as_column
from uptack.table.names import group_key
from uptack.table.protocol import Column
from uptack.table.reads import CATEGORIES, FLAGS, GroupedData
from uptack.table.unit import ROW, PrivacyUnit
from uptack.table.values.entrance import flags
from uptack.table.values.kinds import in_order


@dataclass(frozen=True, eq=False)
class Histogram(PlottedValue, Mapping[Hashable, Any]):
    """Counts by cell: a mapping, and two sequences `cells` and `counts` in one order.

    A cell is a key, or a pair of edges. Counts of people who are divided among several cells need not be integers.
    """

    cells: tuple[Hashable, ...]
    counts: NDArray[Any]

    @cached_property
    def _places(self) -> Mapping[Hashable, int]:
        return {cell: i for i, cell in enumerate(self.cells)}

    def __getitem__(self, cell: Hashable) -> Any:
        return self.counts[self._places[cell]].item()

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)

    def __repr__(self) -> str:
        if len(self) > LONG:
            return self.table().text()
        pairs = zip(self.cells, self.counts.round(2).tolist(), strict=True)
        return printable(f"Histogram({{{', '.join(f'{cell!r}: {count}' for cell, count in pairs)}}})")

    def figures(self, ends: Ends = None) -> list[Record]:
        low, high = (itertools.repeat(None),) * 2 if ends is None else ends
        cells: tuple[Any, ...] = self.cells
        names = [{"from": cell[0], "to": cell[1]} for cell in cells] if self.of_edges else [{"cell": c} for c in cells]
        return [line(*figure) for figure in zip(names, self.counts.tolist(), low, high, strict=False)]

    @property
    def of_edges(self) -> bool:
        pairs = all(isinstance(c, tuple) and len(c) == 2 and all(isinstance(e, float) for e in c) for c in self.cells)
        return pairs and all(a[1] == b[0] for a, b in itertools.pairwise(self.cells))  # type: ignore[index]

    def plot(self, ax: Any = None, *, interval: Ends = None, **style: Any) -> Any:
        """Bars, with the ends of `interval` where it is given; those of edges are as wide as their cells.

        A release draws its value with its intervals. Further arguments go to matplotlib's `bar`, or to `barh` for keys.
        Returns the axes. It needs matplotlib: `pip install "uptack[plots]"`.
        """
        if not (self.of_edges and self.cells):
            return bars(self.cells, self.counts.tolist(), interval, ax, **style)
        edges, ax = np.array(self.cells, np.float64), axes(ax, figsize=(6, 3.2))
        look = {"color": PRIVATE, "alpha": 0.6, "edgecolor": "white", "linewidth": 0.5}
        ax.bar(edges[:, 0], self.counts, np.diff(edges)[:, 0], align="edge", **look | style)
        if interval is not None:
            ax.vlines(edges.mean(axis=1), *interval, color=PLAIN, linewidth=1.5)
        ax.set_ylabel("count")
        return ax


@dataclass(frozen=True)
class CountNoise:
    """Independent noise of one law on counts, which may have been post-processed since: `noisy` is how they were.

    Both are in units, of which `step` count for one.
    """

    law: IntegerLaw
    noisy: Integers
    step: int = 1

    def around(self, value: Any, confidence: Rational) -> tuple[NDArray[Any], NDArray[Any]]:
        """An interval for each count, without its part below 0."""
        low, high = self.law.interval(confidence)
        ends = np.maximum(self.noisy - high, 0), np.maximum(self.noisy - low, 0)
        return in_steps(ends[0], self.step), in_steps(ends[1], self.step)


def in_steps(units: Integers, step: int) -> NDArray[Any]:
    """Units divided by the number of units that count for one: floats, or unchanged if that is 1.

    Each is rounded once, as a Python integer, so that the result is the same for arrays of 64 bits and of objects.
    """
    return units if step == 1 else np.array([each / step for each in units.tolist()], np.float64)


def check_total(total: bool, relation: Adjacency, unit: PrivacyUnit) -> bool:
    """Whether counts are to add up to the total, which must be public."""
    checks.truth("total", total)
    if total and unit.share == "rows":
        raise InvalidArgument("total", "False if weights='rows'", "True", "The number of people's rows is secret.")
    if total and unit.share == "any" and unit.at_most != 1:
        fix = "People count in several categories. Pass weights='people' to divide each person among their categories."
        raise InvalidArgument("total", "False if weights='any'", "True", fix)
    if total and not relation.size_is_public:
        fix = "Under ADD_REMOVE the number of rows is secret."
        raise InvalidArgument("total", "False under ADD_REMOVE", "True", fix)
    return bool(total)


def fit_counts(noisy: NDArray[Any], total: int | None, nonnegative: bool) -> NDArray[Any]:
    """The nearest counts, in least squares, that are non-negative and add up to the total, if requested.

    Without `nonnegative` all cells move by the same amount; with it, the largest k do, for the largest k that leaves
    them above 0, and the others are 0. If counts are integers and the amount is not, the largest are rounded up.
    """
    if total is None:
        return np.maximum(noisy, 0) if nonnegative else noisy
    order = np.argsort(-noisy, kind="stable")
    excess = np.cumsum(noisy[order]) - total
    sizes = np.arange(1, noisy.size + 1)
    moved = int(np.sum(noisy[order] * sizes > excess)) if nonnegative else noisy.size
    out = np.zeros_like(noisy)
    if moved and noisy.dtype.kind == "f":
        out[order[:moved]] = noisy[order[:moved]] - excess[moved - 1] / moved
    elif moved:
        amount = -(-int(excess[moved - 1]) // moved)
        out[order[:moved]] = noisy[order[:moved]] - amount
        out[order[: moved * amount - int(excess[moved - 1])]] += 1
    return out


@release(
    reads=CATEGORIES,
    people=True,
    missing=None,
    plan=each_count,
    examples=({"edges": [0.0, 1.0, 2.0]}, {"keys": [0, 1]}, {"delta": 1e-6}),
)
def histogram(
    x: Any,
    *,
    edges: ArrayLike | None = None,
    keys: Sequence[Hashable] | int | None = None,
    every: str | None = None,
    epsilon: Rational,
    delta: Rational = 0,
    outside: str = "drop",
    nonnegative: bool = False,
    total: bool = False,
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[Histogram]:
    """A histogram: the number of rows in each of the public cells, ε-differentially private. Without cells: (ε, δ).

    **Theorem** (Hall, section 2.4, on the integers). One row is in at most one cell. Replacing it changes the counts by
    at most 2 in ℓ1, adding or removing it by 1, times `rows_per_person`. So independent integer Laplace noise of scale
    2g/ε (SUBSTITUTE) or g/ε (ADD_REMOVE) on every cell is ε-differentially private. What follows is post-processing.

    Cells are [e₀, e₁), [e₁, e₂), … from rising `edges`, the last one with its right end, or one for each of the `keys`
    (a list, or k for the integers below k). Both must be public. Rows outside all cells, and NaN, are not counted; with
    `outside="clamp"` values below the edges are in the first cell, values above them and NaN in the last.

    Edges of a column of times are times, such as dates; those of durations are durations. With `every`, "hour", "day",
    "week" (from Monday), "month" or "year", two edges are the ends of a range of such units, and each unit is a cell
    with its first day, or hour, as the key. See "Times and durations" in the docs.

    `nonnegative=True` and `total=True` (SUBSTITUTE only) give the nearest counts that are at least 0, and that add up
    to the number of rows; the latter is for cells that hold every row.

    With neither edges nor keys each value that occurs is a cell, or with `every` each unit of the calendar; missing
    values are the cell None. The cells with a noisy count of at least a public cutoff are shown, the largest first, and
    no others. This is (ε, δ)-differentially private, by the theorem of `uptack.discrete.categories.Screen`; `interval`
    holds for a cell chosen beforehand. (Running time is not protected.)

    With `person=` a cell counts the people who have at least one row in it, up to g cells of each person: those with
    most of her rows. g is `at_most`, or is chosen for a tenth of ε (`uptack.discrete.categories`); the notes state g.
    `weights="people"` divides each person among her cells, in parts that add up to one, so that counts are shares of
    people and not integers. `weights="rows", at_most=g` counts rows, up to g per person. The theorem is in
    `uptack.table.unit`.

    >>> from uptack import SeededEntropy
    >>> ages = [31, 44, 44, 52, 67, 95] * 50
    >>> release = histogram(ages, edges=[0, 40, 60, 80], epsilon=1, entropy=SeededEntropy(3))
    >>> release.value
    Histogram({(0.0, 40.0): 45, (40.0, 60.0): 154, (60.0, 80.0): 50})
    >>> release.interval(0.9)
    ([40, 149, 45], [50, 159, 55])
    >>> histogram(["flu"] * 300 + ["gout"] * 90 + ["rabies"], epsilon=1, delta=1e-6, entropy=SeededEntropy(3))
    Release(Histogram({'flu': 295, 'gout': 94}), histogram (unknown categories, cutoff 26), ε = 1.0, δ = 1e-06
    (substitute), NOT PRIVATE: seeded randomness)
    """
    eps, relation = checks.epsilon(epsilon), check_adjacency(adjacency, rows_per_person)
    checks.truth("total", total)
    lifted = checks.truth("nonnegative", nonnegative)
    column = as_column("x", x, None, "a one-dimensional column of categories")
    unit = column.unit
    check_calendar(x, column.kind, edges, keys, every)
    if edges is None and keys is None:
        failing, column = checks.delta("delta", delta), by_calendar(column, every)
        if failing == 0:
            fix = "They must be public: chosen before anybody looks at the data. Or pass delta=1e-6 to find categories."
            raise InvalidArgument("edges", "given, or keys=, if δ is 0", "neither", fix)
        for name, value, wanted in (("outside", outside, "drop"), ("total", total, False)):
            if value != wanted:  # no row is outside, and those that are listed need not hold all rows
                raise InvalidArgument(name, f"{wanted!r} without edges= and keys=", checks.describe(value))
        account = Account.open("histogram", eps, failing, adjacency=relation, entropy=entropy)
        people = partial(column.table.cells_per_person, column)
        return release_counts(account, unit, None, people, lambda own: category_counts(_of_unit(column, own)))
    checks.delta("delta", delta)
    binning, fixed = binning_of(column, edges, keys, every, outside), check_total(total, relation, unit)
    if fixed and edges is not None and outside != "clamp":
        raise InvalidArgument("outside", "'clamp' where total=True", "'drop'", "Every row must be in some cell.")
    cells = binning.cells
    account = Account.open("histogram", eps, adjacency=relation, entropy=entropy)

    def count_cells(own: PrivacyUnit) -> Table:
        exact = _of_unit(column, own)
        if not isinstance(binning, KeyCells):
            exact = exact.floats()  # keys are exact; between edges floats will do
        return cells, exact.table.cells(exact, binning.places, len(cells))

    people, size = partial(column.table.cells_per_person, column, binning.places), len(cells)
    total_rows = column.table.size if fixed else None
    return release_counts(account, unit, size, people, count_cells, total=total_rows, nonnegative=lifted)


def _of_unit(column: Column, unit: PrivacyUnit) -> Column:
    """The column, whose people share their rows so."""
    return column if unit == column.unit else column.sharing(unit.share, unit.at_most)


def release_counts(
    account: Account,
    unit: PrivacyUnit,
    public: int | None,
    people: Callable[[], Integers],
    count_cells: Callable[[PrivacyUnit], Table],
    *,
    what: str = "categories",
    total: int | None = None,
    nonnegative: bool = False,
) -> Release[Histogram]:
    """Noisy counts: of so many `public` cells, fitted to what is known of them, or of the unknown ones that stand out.

    If the number of cells per person is not stated, a part of ε chooses it, from `people()`. Then `count_cells(unit)`
    are the cells and their counts.
    """
    limit, left, relation = None, account.epsilon, account.adjacency
    if unit.share == "any" and unit.at_most is None:
        limit = CellLimit.of(left * SHARE, public)
        left -= 0 if limit.free else limit.epsilon
    largest = unit if limit is None else replace(unit, at_most=limit.limits[-1])
    cell_noise(left, relation, most=largest.most)  # refuses an ε that is too small, before rows are read
    if limit is not None:
        unit = replace(unit, at_most=limit.choose(people, account))
    note = counting_note(unit, limit, what)
    cells, counts = count_cells(unit)
    if public is None:
        return release_screened(Screen.of(left, account.delta, relation, unit), (cells, counts), account, (note,))
    law = cell_noise(left, relation, most=unit.most)
    noisy = account.draw(IntegerNoise(loss.Pure(left), law), counts)
    value = Histogram(tuple(cells), fit_counts(in_steps(noisy, unit.step), total, nonnegative))
    return account.release(value, CountNoise(law, noisy, unit.step), tuple(filter(None, (note,))))


def release_screened(screen: Screen, table: Table, account: Account, notes: tuple[str, ...] = ()) -> Release[Histogram]:
    """The categories that pass a screen, and their noisy counts. Cells are canonical values: see `category_counts`."""
    cutoff = screen.cutoff if screen.step == 1 else round(screen.cutoff / screen.step, 2)
    what = "categories" if account.name == "histogram" else "groups"
    how = f"{account.name} (unknown {what}, cutoff {cutoff})"
    note = f"{what.capitalize()} with fewer than about {math.ceil(cutoff):,} {screen.adjacency.unit} are not listed."
    cells, noisy = _by_value(*account.draw(screen, table))
    value = Histogram(cells, in_steps(noisy, screen.step))
    named = replace(account, name=how)
    return named.release(value, CountNoise(screen.law, noisy, screen.step), tuple(filter(None, (*notes, note))))


ORDERED = (int, float, date, timedelta)
"""Types of keys that are listed by value. Others, such as names, are listed by their counts."""


def _by_value(cells: tuple[Hashable, ...], counts: Integers) -> tuple[tuple[Hashable, ...], Integers]:
    """Numbers, dates and durations from low to high, missing values last: a function of what is shown."""
    if not all(isinstance(cell, ORDERED) or cell is None for cell in cells):
        return cells, counts
    order = sorted(range(len(cells)), key=lambda i: in_order(cells[i]))
    return tuple(cells[i] for i in order), counts[order]


class Crosstab(Histogram):
    """A contingency table: counts by pairs of values, printed with a line for each value of the first column.

    It is a mapping from pairs to counts. Pairs that were not listed are missing (⊥).
    """

    def levels(self, side: int) -> list[Any]:
        """The values of the first column (0), or of the second one (1), in their order."""
        return sorted({cell[side] for cell in self.cells}, key=in_order)  # type: ignore[index]

    def grid(self) -> list[list[Any]]:
        """The counts, a list for each value of the first column; None for a pair that was not listed."""
        known = dict(self.items())
        return [[known.get((row, column)) for column in self.levels(1)] for row in self.levels(0)]

    def to_pandas(self) -> Any:
        """The counts as `pandas.crosstab` has them. Pairs that were not listed are NaN; the release has a line each."""
        index, columns = self.levels(0), self.levels(1)
        frame = data_frame(
            [dict(zip(map(str, range(len(columns))), row, strict=True)) for row in self.grid()], "pandas"
        )
        return frame.set_axis(index, axis=0).set_axis(columns, axis=1)

    def __repr__(self) -> str:
        texts = [["⊥" if count is None else f"{round(count):,}" for count in counts] for counts in self.grid()]
        lines = [[label(row), *cells] for row, cells in zip(self.levels(0), texts, strict=True)]
        return "\n".join(align_lines([["", *map(label, self.levels(1))], *lines]))


def as_crosstab(reply: Release[Any] | NoReply) -> Release[Any] | NoReply:
    """Counts by pairs, shown as a two-way table: post-processing."""
    if isinstance(reply, NoReply):
        return reply
    return replace(
        reply, value=Crosstab(reply.value.cells, reply.value.counts), mechanism=f"crosstab ({reply.mechanism})"
    )


LARGEST = 1 << 52
"""Larger counts are clipped to this one, which moves no two of them further apart."""


def _unit(rows: Any) -> PrivacyUnit:
    """The unit of privacy of a column, a table or a plain count."""
    unit: PrivacyUnit = rows.unit if isinstance(rows, Column) or hasattr(rows, "trues") else ROW
    return unit


def _true_count(rows: Any, relation: Adjacency) -> int:
    """The count without noise. The type decides what is counted, never the content: else one row could change it."""
    if isinstance(rows, Integral) and not isinstance(rows, bool | np.bool_):
        return int(rows)
    if isinstance(rows, Column):
        unit, flagged = rows.unit, rows.kind in ("boolean", "any")
        if not flagged and unit.share != "rows":
            _check_secret(relation, "a column of truth values", rows.kind)
        return rows.table.trues(rows.name if flagged else None, _cap(unit))
    if hasattr(rows, "trues"):  # a table, of which all rows are counted
        counted: int = rows.trues(None, _cap(rows.unit))
        return counted
    if isinstance(rows, str | bytes) or not isinstance(rows, Sized) or getattr(rows, "ndim", 1) == 0:
        must = "an integer, a column of truth values or, under ADD_REMOVE, any table"
        raise InvalidArgument("rows", must, checks.outline(rows))
    truths = flags(rows)
    if truths is not None:
        return int(np.count_nonzero(truths))
    _check_secret(relation, "an integer or a column of truth values", checks.outline(rows))
    return len(rows)


def _cap(unit: PrivacyUnit) -> int:
    """How many rows of one person count."""
    return unit.at_most or 1 if unit.share == "rows" else 1


def _check_secret(relation: Adjacency, must: str, got: object) -> None:
    """Refuse to count rows if their number is public."""
    if relation.size_is_public:
        fix = f"The number of {relation.unit} is public; pass adjacency=ADD_REMOVE to count them privately."
        raise InvalidArgument("rows", must, got, fix)


def count_by_group(
    f: Any,
    data: GroupedData,
    *,
    epsilon: Rational,
    groups: Any = None,
    delta: Rational = 0,
    share: Any = None,
    groups_per_person: int | None = None,
    nonnegative: bool = False,
    rows_per_person: int = 1,
    adjacency: Adjacency = ADD_REMOVE,
    entropy: Entropy | None = None,
) -> Release[Histogram]:
    """The number of rows, or of people, in each group: the mechanism of a histogram of the columns of groups.

    **Theorem.** A row is in one group, so the counts are a table of cells (`uptack.discrete.histograms.histogram`).
    Public groups get integer noise on each of them, ε-private. Unknown ones are shown where their noisy count reaches a
    cutoff, (ε, δ)-private (`uptack.discrete.categories.Screen`): the count that is shown is the one that was compared,
    so no part of ε is set aside for a list. With `person=` a group counts the people who have a row in it, up to g
    groups of each person, as a histogram does.
    """
    eps, relation = checks.epsilon(epsilon), check_adjacency(adjacency, rows_per_person)
    lifted = checks.truth("nonnegative", nonnegative)
    fix = "The counts themselves decide which groups are listed; no part of ε is set aside for a list."
    checks.left_out("share", share, "for counts", fix)
    public = None if groups is None else groups_of(groups, data.groups.value_kinds)
    failing = checks.delta("delta", delta)
    if public is None and failing == 0:
        fix = "List the public groups, or pass delta=1e-6 to find the groups with enough rows."
        raise InvalidArgument("groups", "listed if δ is 0", "nothing", fix)
    (rows,) = data.arguments
    unit = _unit(rows)
    if unit.share != "any":
        fix = "A row is in one group." if not relation.person else "It goes with counts of people."
        checks.left_out("groups_per_person", groups_per_person, "here", fix)
    if groups_per_person is not None:
        unit = replace(unit, at_most=check_groups_per_person(groups_per_person))
    counted = data.groups if public is None else data.groups.among(public)
    if isinstance(rows, Column) and rows.kind in ("boolean", "any"):
        counted = counted.where(conditions({rows.name: True}, {rows.name: rows.kind}))
    account = Account.open("count per group", eps, failing, adjacency=relation, entropy=entropy)

    def count_groups(own: PrivacyUnit) -> Table:
        listed, many = counted.sizes(own)
        if public is None:
            return listed, many
        known = {group_key(group, counted.kinds): int(n) for group, n in zip(listed, many, strict=True)}
        return public, np.array([known.get(group_key(group, counted.kinds), 0) for group in public], many.dtype)

    size = None if public is None else len(public)
    return release_counts(account, unit, size, counted.per_person, count_groups, what="groups", nonnegative=lifted)


@release(reads=FLAGS, by=count_by_group, people=True, data=("rows",), missing=None, plan=one_count)
def count(
    rows: Any,
    *,
    epsilon: Rational,
    nonnegative: bool = False,
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
    **_: Unpack[PureGrouping],
) -> Release[int]:
    """The number of rows that are True, with two-sided geometric noise: ε-differentially private.

    `rows` is a column of truth values, or the count itself, or under `ADD_REMOVE` any other array or table, whose rows
    are counted. A list, or a column of Python objects, has no declared type and is read as truth values, row by row:
    what is not True is not counted.

    **Theorem.** A person with up to g rows moves a count by at most g, whether rows are replaced or added and removed.
    The count plus z with P(z = k) proportional to e^(-ε|k|/g) is ε-differentially private (Hall, Prop. 1.3.1, on the
    integers); E|z| = 1/sinh(ε/g), below g/ε. `nonnegative=True` lifts an answer below 0 to 0: post-processing.

    With `person=` people are counted who have a row that is True, or under `ADD_REMOVE` any row at all: one moves the
    count by 1. With `weights="rows", at_most=g` their rows are counted, Σ min(rows of a person, g): one moves it by g.
    With `by=` each group is counted, as in a histogram of its columns (`count_by_group`).

    >>> from uptack.noise import SeededEntropy
    >>> count([True, False, True] * 400, epsilon=1, entropy=SeededEntropy(7))
    Release(800, count, ε = 1.0 (substitute), NOT PRIVATE: seeded randomness)
    """
    eps, lifted = checks.epsilon(epsilon), checks.truth("nonnegative", nonnegative)
    relation = check_adjacency(adjacency, rows_per_person)
    sensitivity = relation.rows_per_person * _cap(_unit(rows))
    refuse_tiny(eps, sensitivity / eps, " here", "Pass a larger epsilon, or fewer rows per person.")
    noisy = laplace(
        min(max(_true_count(rows, relation), 0), LARGEST),
        sensitivity=sensitivity,
        epsilon=epsilon,
        granularity=1,
        adjacency=relation,
        entropy=entropy,
    )
    value = int(noisy.value)
    return replace(noisy, value=max(value, 0) if lifted else value, mechanism="count")
