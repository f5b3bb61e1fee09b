"""Margins of tables of categorical columns, with noise, made consistent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.account import Account
from uptack.discrete.categories import SkewedLaplace, cell_noise, stated_unit
from uptack.discrete.domains import Domain
from uptack.discrete.histograms import CountNoise, check_total, histogram, in_steps
from uptack.discrete.sparse_histograms import sparse_histogram
from uptack.display import Ends, Record, TabularValue, line, unreserved_names
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.labels import label
from uptack.mechanisms.additive_noise import IntegerNoise
from uptack.noise import Entropy
from uptack.noise.integer_laws import Integers
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.privacy.guarantee import adjacency as check_adjacency
from uptack.registry import release
from uptack.release import Release
from uptack.table.reads import OwnedData, OwnedRows
from uptack.table.unit import ROW

Names = tuple[str, ...]
Floats = NDArray[np.float64]


def _component(array: Floats, keep: Sequence[int]) -> Floats:
    """The part of an array that belongs to the interaction of these axes: its means over the others, centred."""
    others = tuple(axis for axis in range(array.ndim) if axis not in keep)
    part: Floats = array.mean(axis=others, keepdims=True)
    for axis in keep:
        part = part - part.mean(axis=axis, keepdims=True)
    return part


def reconcile(noisy: Mapping[Names, NDArray[Any]], total: int | None = None) -> dict[Names, Floats]:
    """The nearest margins, in least squares, that one table has; and one of this total, where it is given.

    **Theorem.** Let margin S of a table have N_S cells. It is the sum over T ⊆ S of interactions a_T/N_S, orthogonal
    to each other, where a_T depends on the table and not on S. So the sum of squares splits by T, and is least at
    a_T = Σ ĝ_ST / Σ 1/N_S, sums over the margins S that contain T, with ĝ_ST the interaction T of the noisy margin S.

    Columns must come in one order in all margins.

    >>> fit = reconcile({("a", "b"): np.array([[4, 1], [2, 3]]), ("a",): np.array([8, 2])})
    >>> fit["a", "b"].sum(axis=1) - fit["a",]
    array([0., 0.])
    """
    parts: dict[Names, Floats] = {}
    shares: dict[Names, float] = {}
    for names, array in noisy.items():
        for size in range(len(names) + 1):
            for keep in itertools.combinations(range(len(names)), size):
                own = tuple(names[axis] for axis in keep)
                part = _component(np.asarray(array, np.float64), keep).reshape([array.shape[axis] for axis in keep])
                parts[own] = parts.get(own, 0.0) + part
                shares[own] = shares.get(own, 0.0) + 1 / array.size
    fits = {own: part / shares[own] for own, part in parts.items()}
    if total is not None:
        fits[()] = np.array(float(total))
    margins = {names: np.zeros(array.shape) for names, array in noisy.items()}
    for names, out in margins.items():  # margin S is the sum of its interactions a_T/N_S
        for size in range(len(names) + 1):
            for own in itertools.combinations(names, size):
                out += fits[own].reshape([fits[own].shape[own.index(n)] if n in own else 1 for n in names]) / out.size
    return margins


LARGEST_MARGIN = 1 << 20
"""Cells of a margin, or of a table that gets noise in all its cells."""


class Margins(TabularValue, Mapping[Names, Floats]):
    """Arrays of counts by the names of their columns; the axes are the columns, in that order."""

    def __init__(self, arrays: Mapping[Names, NDArray[Any]], domain: Domain) -> None:
        for array in arrays.values():
            array.setflags(write=False)
        self.domain, self._arrays = domain, MappingProxyType(dict(arrays))

    def __getitem__(self, names: Names | str) -> Floats:
        return self._arrays[(names,) if isinstance(names, str) else tuple(names)]

    def __iter__(self) -> Iterator[Names]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        return Margins, (dict(self), self.domain)

    def __repr__(self) -> str:
        return f"Margins({len(self)} of the columns {', '.join(map(label, self.domain.columns))})"

    def figures(self, ends: Ends = None) -> list[Record]:
        levels = {
            name: range(values) if isinstance(values, int) else values for name, values in self.domain.columns.items()
        }
        records = []
        for names, array in self.items():
            for at, value in np.ndenumerate(array):
                cell = {name: levels[name][i] for name, i in zip(names, at, strict=True)}
                bounds = (None, None) if ends is None else (end[names][at] for end in ends)
                records.append(line({"margin": ", ".join(map(label, names)), **unreserved_names(cell)}, value, *bounds))
        return records

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: names joined by commas."""
        return {",".join(names): array.tolist() for names, array in self.items()}


@dataclass(frozen=True)
class MarginNoise:
    """Noise of one law on every cell of every margin; `noisy` is how they were before they were made to agree."""

    law: SkewedLaplace
    noisy: Mapping[Names, Integers]
    step: int = 1

    def around(self, value: Margins, confidence: Rational) -> tuple[Margins, Margins]:
        """Bounds for each cell by itself."""
        noises = {names: CountNoise(self.law, array, self.step) for names, array in self.noisy.items()}
        ends = {names: noise.around(None, confidence) for names, noise in noises.items()}
        low, high = ({names: pair[side].astype(np.float64) for names, pair in ends.items()} for side in (0, 1))
        return Margins(low, value.domain), Margins(high, value.domain)


def _requested_margins(which: int | Sequence[Sequence[str]], domain: Domain) -> list[Names]:
    """The requested margins, with their columns in the order of the domain."""
    names = tuple(domain.columns)
    if isinstance(which, int | np.integer):
        if not 1 <= checks.integer("which", which, least=1) <= len(names):
            raise InvalidArgument("which", f"from 1 to the number of columns, {len(names)}", which)
        chosen = list(itertools.combinations(names, int(which)))
    else:
        must = "a number of columns, or a list of distinct tuples of their names"
        requests = [(m,) if isinstance(m, str) else tuple(m) for m in which] if isinstance(which, Sequence) else []
        chosen = [tuple(name for name in names if name in m) for m in requests]
        if (
            isinstance(which, str)
            or not requests
            or any(len(c) != len(m) for c, m in zip(chosen, requests, strict=True))
        ):
            raise InvalidArgument("which", must, checks.describe(which), f"The columns are {', '.join(names)}.")
        if len(set(chosen)) < len(chosen) or () in chosen:
            raise InvalidArgument("which", must, "an empty tuple, or one twice")
    return chosen


def _best_route(sizes: Sequence[int], cells: int, scale: float, rows: int | None) -> str:
    """The way with the least expected ℓ1 error, from public numbers alone; `rows` is None if it is secret.

    Direct: every cell has noise of scale s·k, for k margins. Through the table: a margin of c cells out of p has sums
    of p/c noises of scale s. The sparse table has no such noise but loses the small cells, by an unknown amount: it is
    used if the others are off by half of the rows or more.
    """
    direct = scale * len(sizes) * sum(sizes)
    table = scale * sum(c * max(1.0, math.sqrt(4 / math.pi * cells / c)) for c in sizes)
    if cells <= LARGEST_MARGIN and table < direct:
        direct, way = table, "table"
    else:
        way = "direct"
    return "sparse" if rows is not None and 2 * direct > rows * len(sizes) else way


@release(data=("columns",), people=OwnedData(("columns",), ("weights", "at_most")))
def margins(
    columns: Any,
    which: int | Sequence[Sequence[str]] = 1,
    *,
    domain: Domain,
    epsilon: Rational,
    through: str = "auto",
    total: bool = False,
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[Margins]:
    """Margins of a contingency table: all those of k columns (`which=k`), or a list. ε-differentially private.

    `columns` is a mapping of names to columns, or a data frame, and `domain` their public categories. Rows with another
    value are not counted.

    - `through="direct"`: **theorem** (Hall, section 2.4.2). Each of m margins is a histogram, so integer Laplace noise
      of scale 2gm/ε (SUBSTITUTE) or gm/ε (ADD_REMOVE), g the rows a person may own, makes it ε/m-private, and all of
      them together ε-private. They are then made to agree, by least squares: post-processing (`reconcile`).
    - `"table"`: noise of scale 2g/ε (g/ε) on every cell of the whole table, which is summed: better for small tables.
    - `"sparse"`: the sums of a `sparse_histogram` by its adaptive rule: better for many margins of many columns.
    - `"auto"`: the one with the least expected error, from public numbers.

    `total=True` (SUBSTITUTE only) makes all margins add up to the number of rows, for tables with every row in the
    domain. Margins may be fractional, and below 0: rounding them would undo the agreement.

    With `person=` people are counted, as in `histogram`: the same theorems with units of people in place of rows
    (`uptack.table.unit`).

    >>> from uptack import SeededEntropy
    >>> ward = {"sex": ["f", "m", "m", "f"] * 200, "smokes": [0, 1, 0, 0] * 200}
    >>> domain = Domain({"sex": ["f", "m"], "smokes": 2})
    >>> release = margins(ward, 1, domain=domain, epsilon=1, total=True, entropy=SeededEntropy(1))
    >>> release.value["sex"].tolist(), release.mechanism
    ([398.0, 402.0], 'margins (table)')
    """
    eps, relation = checks.epsilon(epsilon), check_adjacency(adjacency, rows_per_person)
    space: Domain = checks.instance("domain", domain, Domain, "a Domain of public categories")
    people = columns if isinstance(columns, OwnedRows) else None
    unit = ROW if people is None else stated_unit(people.unit)
    levels = dict(zip(space.columns, space.shape, strict=True))
    shapes = {names: tuple(levels[name] for name in names) for names in _requested_margins(which, space)}
    sizes = [math.prod(shape) for shape in shapes.values()]
    checks.choice("through", through, ("auto", "direct", "table", "sparse"))
    if through == "table" and space.size > LARGEST_MARGIN:
        raise InvalidArgument("through", "'direct' or 'sparse' for a table of more than 2^20 cells", "'table'")
    if max(sizes) > LARGEST_MARGIN:
        raise InvalidArgument("which", "margins of at most 2^20 cells each", f"one of {max(sizes)}")
    fixed = check_total(total, relation, unit)
    scale = float(cell_noise(eps / len(sizes), relation).up) / len(sizes) * unit.most / unit.step
    places, inside = space.indices(columns if people is None else people.data)
    public = (inside.size if people is None else people.whose.people) if relation.size_is_public else None
    goal = public if fixed else None
    way = _best_route(sizes, space.size, scale, public) if through == "auto" else through
    account = Account.open(f"margins ({way})", eps, adjacency=relation, entropy=entropy)

    def sums(at: Sequence[Integers], count: Callable[[Integers, int], Any]) -> dict[Names, NDArray[Any]]:
        """All margins of rows with these places in the columns: `count(cells, size)` counts those of a margin."""
        place = dict(zip(space.columns, at, strict=True))
        cells = {names: np.ravel_multi_index([place[n] for n in names], shape) for names, shape in shapes.items()}
        return {names: count(cells[names], math.prod(shape)).reshape(shape) for names, shape in shapes.items()}

    if way == "direct":  # noise on each margin, at an equal share of ε
        share = eps / len(sizes)
        law = cell_noise(share, relation, most=unit.most)
        if people is None:
            counts = sums([place[inside] for place in places], lambda cells, size: np.bincount(cells, None, size))
        else:
            counts = sums(places, lambda cells, size: people.units(np.where(inside, cells, -1), size))
        noisy = {names: account.draw(IntegerNoise(loss.Pure(share), law), array) for names, array in counts.items()}
        fit = reconcile({names: in_steps(array, unit.step) for names, array in noisy.items()}, goal)
        return account.release(Margins(fit, space), MarginNoise(law, noisy, unit.step))
    account.pay(loss.Pure(eps))  # noise on the cells of the whole table, all of them or those that stand out; then sums
    options: dict[str, Any] = {"adjacency": relation, "entropy": account.entropy}
    cells = np.where(inside, space.ravel(places), -1)
    if way == "table":
        rows = cells if people is None else people.column(cells)
        options |= {} if people is None else {"weights": unit.share, "at_most": unit.at_most}
        whole = histogram(rows, keys=space.size, epsilon=eps, total=fixed, **options).value
        occupied, weights = np.arange(space.size), whole.counts
    else:
        keys = cells if people is None else replace(people, data=cells)
        table = sparse_histogram(keys, space.size, eps, rule="adaptive", **options).value
        rows_kept = float(table.counts.sum())
        occupied, weights = table.cells, table.counts * (1.0 if goal is None or not rows_kept else goal / rows_kept)
    margins = sums(space.unravel(occupied), lambda cells, size: np.bincount(cells, weights, size))
    return account.release(Margins(margins, space), None)
