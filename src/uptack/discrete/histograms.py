"""Histograms over public cells, with integer noise on every cell, and over unknown categories."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.account import Account
from uptack.discrete.binning import Edges, KeyCells, binning_of
from uptack.discrete.categories import Screen, Table, tallied
from uptack.discrete.cells_per_person import SHARE, CellLimit, counting
from uptack.discrete.count_errors import each_count
from uptack.discrete.count_noise import cell_noise
from uptack.discrete.time_binning import TimeEdges, by_calendar, check_by_itself, check_every
from uptack.display import Ends, PlottedValue, Record, line
from uptack.display.plots import PLAIN, PRIVATE, axes, bars
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.labels import printable
from uptack.mechanisms.additive_noise import IntegerNoise
from uptack.noise import Entropy, IntegerLaw
from uptack.noise.integer_laws import Integers
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.privacy.guarantee import adjacency as check_adjacency
from uptack.registry import release
from uptack.release import LONG, Release
from uptack.table.arguments import as_column
from uptack.table.protocol import Column
from uptack.table.reads import CATEGORIES
from uptack.table.unit import PrivacyUnit


@dataclass(frozen=True, eq=False)
class Histogram(PlottedValue, Mapping[Hashable, Any]):
    """Counts by cell: a mapping, and two sequences `cells` and `counts` in one order.

    A cell is a key, or a pair of edges. Counts of people who are divided among several cells need not be whole numbers.
    """

    cells: tuple[Hashable, ...]
    counts: NDArray[Any]

    def __post_init__(self) -> None:
        self.counts.setflags(write=False)

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
        """One line per cell: its key, or its edges, and its count."""
        low, high = (itertools.repeat(None),) * 2 if ends is None else ends
        cells: tuple[Any, ...] = self.cells
        names = [{"from": cell[0], "to": cell[1]} for cell in cells] if self.of_edges else [{"cell": c} for c in cells]
        return [line(*figure) for figure in zip(names, self.counts.tolist(), low, high, strict=False)]

    @property
    def of_edges(self) -> bool:
        """Whether cells are pairs of rising edges, each the right one of the cell before."""
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
        ax.spines[["top", "right"]].set_visible(False)
        return ax

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"cells": list(self.cells), "counts": self.counts.tolist()}


@dataclass(frozen=True)
class CountNoise:
    """Independent noise of one law on counts, which may have been post-processed since: `noisy` is how they were.

    Both are in units, of which `step` count for one.
    """

    law: IntegerLaw
    noisy: Integers
    step: int = 1

    def around(self, value: Any, confidence: Rational) -> tuple[NDArray[Any], NDArray[Any]]:
        """What the noise allows for, cell by cell, cut off at 0, below which no count lies."""
        low, high = self.law.interval(confidence)
        ends = np.maximum(self.noisy - high, 0), np.maximum(self.noisy - low, 0)
        return in_steps(ends[0], self.step), in_steps(ends[1], self.step)


def in_steps(units: Integers, step: int) -> NDArray[Any]:
    """Units as what they count for: as they are where each counts for one, else as floats.

    Each is rounded once, as integers of Python are, so that it is the same whether there was room for 64 bits or not.
    """
    return units if step == 1 else np.array([each / step for each in units.tolist()], np.float64)


def check_total(total: bool, relation: Adjacency, unit: PrivacyUnit) -> bool:
    """The total may be fixed where everybody knows it."""
    checks.truth("total", total)
    if total and unit.share == "rows":
        raise InvalidArgument("total", "False where weights='rows'", "True", "The number of people's rows is secret.")
    if total and unit.share == "any" and unit.at_most != 1:
        fix = "People count in several categories. Pass weights='people' to divide each person among hers."
        raise InvalidArgument("total", "False where weights='any'", "True", fix)
    if total and not relation.size_is_public:
        fix = "Under ADD_REMOVE the number of rows is secret."
        raise InvalidArgument("total", "False under ADD_REMOVE", "True", fix)
    return bool(total)


def fitted(noisy: NDArray[Any], total: int | None, nonnegative: bool) -> NDArray[Any]:
    """The nearest counts, in least squares, that are non-negative and add up to the total, where this is asked for.

    Without signs to mind all cells move by the same amount; with them, the largest k do, for the largest k that leaves
    them above 0, and the others are 0. Where counts are whole and the amount is not, the largest are rounded up.
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
    """How many rows lie in each of the public cells: ε-differentially private. Without cells: (ε, δ).

    **Theorem** (Hall, section 2.4, on the integers). One row is in at most one cell. Replacing it changes the counts by
    at most 2 in ℓ1, adding or removing it by 1, times `rows_per_person`. So independent integer Laplace noise of scale
    2g/ε (SUBSTITUTE) or g/ε (ADD_REMOVE) on every cell is ε-differentially private. What follows is post-processing.

    Cells are [e₀, e₁), [e₁, e₂), … from rising `edges`, the last one with its right end, or one for each of the `keys`
    (a list, or k for the integers below k). Both must be public. A row outside all cells, NaN too, is counted nowhere;
    with `outside="clamp"` what is below the edges goes to the first cell, what is above them and NaN to the last.

    Edges of a column of times are times, such as dates; those of durations are durations. With `every`, "hour", "day",
    "week" (from Monday), "month" or "year", two edges are the ends of a range of such units, and each unit is a cell
    with its first day, or hour, as the key. See "Times and durations" in the docs.

    `nonnegative=True` and `total=True` (SUBSTITUTE only) give the nearest counts that are at least 0, and that add up
    to the number of rows; the latter is for cells that hold every row.

    With neither edges nor keys each value that occurs is a cell, or with `every` each unit of the calendar. The missing
    ones together are None, and the cells with a noisy count of at least a public cutoff are shown, the largest first.
    Nothing is said about the others. This is (ε, δ)-differentially private, by the theorem of
    `uptack.discrete.categories.Screen`; `interval` holds for each cell by itself, had one chosen it beforehand. (How
    long it takes is not protected.)

    With `person=` a cell counts the people who have at least one row in it, up to g cells of each person: those with
    most of her rows. g is `at_most`, or is chosen for a tenth of ε (`uptack.discrete.cells_per_person`); the notes say
    which g it is. `weights="people"` divides each person among her cells, in parts that add up to one, so that counts
    are shares of people and no whole numbers. `weights="rows", at_most=g` counts rows, up to g per person. The theorem
    is in `uptack.table.unit`.

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
    check_every(every, keys, column.kind)
    check_by_itself(x, edges, keys, every)
    if edges is None and keys is None:
        failing, column = _check_unlisted(delta, outside, total), by_calendar(column, every)
        limit, left = check_limit(unit, eps)
        Screen.of(left, failing, relation, largest(unit, limit))  # refuses an ε that is too small
        account = Account.open("histogram", eps, failing, adjacency=relation, entropy=entropy)
        column = settle(column, limit, account)
        note = counting(column.unit, limit)
        return shown_by(Screen.of(left, failing, relation, column.unit), tallied(column), account, (note,))
    checks.delta("delta", delta)
    binning, fixed = binning_of(column, edges, keys, every, outside), check_total(total, relation, unit)
    if fixed and edges is not None and outside != "clamp":
        raise InvalidArgument("outside", "'clamp' where total=True", "'drop'", "Every row must be in some cell.")
    cells = binning.cells
    limit, left = check_limit(unit, eps, len(cells))
    cell_noise(left, relation, most=largest(unit, limit).most)  # refuses an ε that is too small
    account = Account.open("histogram", eps, adjacency=relation, entropy=entropy)
    column = settle(column, limit, account, binning.places)
    unit = column.unit
    law = cell_noise(left, relation, most=unit.most)
    noisy = account.draw(IntegerNoise(loss.Pure(left), law), _counted(binning, column))
    value = Histogram(cells, fitted(in_steps(noisy, unit.step), column.table.size if fixed else None, lifted))
    return account.release(value, CountNoise(law, noisy, unit.step), said(counting(unit, limit)))


# ------------------------------------------------------------------------------------ in how many cells people count


def check_limit(unit: PrivacyUnit, epsilon: Fraction, cells: int | None = None) -> tuple[CellLimit | None, Fraction]:
    """How the number of cells of one person is chosen, if it is not stated, and the ε that is left for counts."""
    if unit.share != "any" or unit.at_most is not None:
        return None, epsilon
    limit = CellLimit.of(epsilon * SHARE, cells)
    return limit, epsilon if limit.free else epsilon - limit.epsilon


def largest(unit: PrivacyUnit, limit: CellLimit | None) -> PrivacyUnit:
    """The unit with the largest number of cells that can be chosen."""
    return unit if limit is None else replace(unit, at_most=limit.limits[-1])


def settle(column: Column, limit: CellLimit | None, account: Account, place: Any = None) -> Column:
    """The column of people who count in up to so many cells, a number that is stated or chosen."""
    if limit is None:
        return column
    return column.sharing("any", limit.choose(partial(column.table.cells_per_person, [column], place), account))


def said(*notes: str) -> tuple[str, ...]:
    """The notes that say something."""
    return tuple(note for note in notes if note)


def _counted(binning: Edges | KeyCells | TimeEdges, column: Column) -> Integers:
    """How many rows, or units of people, lie in each cell. Between edges floats are enough; keys are exact."""
    exact = column if isinstance(binning, KeyCells) else column.floats()
    return column.table.cells([exact], binning.places, len(binning.cells))


def _check_unlisted(delta: Rational, outside: str, total: bool) -> Fraction:
    """δ, without which there is no list of categories. No row is outside all, and those shown don't hold every row."""
    failing = checks.delta("delta", delta)
    if failing == 0:
        fix = "They must be public: chosen before anybody looks at the data. Or pass delta=1e-6 for unknown categories."
        raise InvalidArgument("edges", "given, or keys, where δ is 0", "neither", fix)
    for name, value, wanted in (("outside", outside, "drop"), ("total", total, False)):
        if value != wanted:
            raise InvalidArgument(name, f"{wanted!r} where neither edges nor keys are given", checks.describe(value))
    return failing


def frequent(screen: Screen, table: Table, entropy: Entropy | None) -> Release[Histogram]:
    """The categories that pass a screen, and their noisy counts. The cells are distinct plain values: see `tallied`."""
    assert isinstance(screen.loss, loss.Approximate)
    promised = (screen.loss.epsilon, screen.loss.delta)
    return shown_by(screen, table, Account.open("histogram", *promised, adjacency=screen.adjacency, entropy=entropy))


def shown_by(screen: Screen, table: Table, account: Account, notes: tuple[str, ...] = ()) -> Release[Histogram]:
    """The same from an account, which may have paid for something else before."""
    cutoff = screen.cutoff if screen.step == 1 else round(screen.cutoff / screen.step, 2)
    what = "categories" if account.name == "histogram" else "groups"
    how = f"{account.name} (unknown {what}, cutoff {cutoff})"
    note = f"{what.capitalize()} with fewer than about {math.ceil(cutoff):,} {screen.adjacency.unit} are not listed."
    shown, noisy = account.draw(screen, table)
    value = Histogram(shown, in_steps(noisy, screen.step))
    named = replace(account, name=how)
    return named.release(value, CountNoise(screen.law, noisy, screen.step), said(*notes, note))
