"""Margins of tables of categorical columns, with noise, made consistent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.account import Account
from uptack.discrete.categories import stated_unit
from uptack.discrete.count_noise import SkewedLaplace, cell_noise
from uptack.discrete.domains import Domain
from uptack.discrete.histograms import CountNoise, check_total, histogram, in_steps
from uptack.discrete.sparse_histograms import sparse_histogram
from uptack.display import Ends, Record, TabularValue, line, named
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
from uptack.table.arguments import Owned
from uptack.table.reads import OwnedData
from uptack.table.unit import ROW, PrivacyUnit

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
    made = {names: np.zeros(array.shape) for names, array in noisy.items()}
    for names, out in made.items():  # margin S is the sum of its interactions a_T/N_S
        for size in range(len(names) + 1):
            for own in itertools.combinations(names, size):
                out += fits[own].reshape([fits[own].shape[own.index(n)] if n in own else 1 for n in names]) / out.size
    return made


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
        """One line per cell of each margin: the names of its columns, and the category of each of them."""
        levels = {
            name: range(found) if isinstance(found, int) else found for name, found in self.domain.columns.items()
        }
        made = []
        for names, array in self.items():
            for at, value in np.ndenumerate(array):
                cell = {name: levels[name][i] for name, i in zip(names, at, strict=True)}
                bounds = (None, None) if ends is None else (end[names][at] for end in ends)
                made.append(line({"margin": ", ".join(map(label, names)), **named(cell)}, value, *bounds))
        return made

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


Made = tuple[Margins, MarginNoise | None]


@dataclass(frozen=True)
class _Call:
    """The request, without the data."""

    chosen: Sequence[Names]
    domain: Domain
    epsilon: Fraction
    adjacency: Adjacency
    people: Owned | None = None

    @property
    def unit(self) -> PrivacyUnit:
        """Whose rows they are, and how much they count for."""
        return ROW if self.people is None else self.people.unit

    def shape(self, names: Names) -> tuple[int, ...]:
        """The lengths of a margin's axes."""
        levels = dict(zip(self.domain.columns, self.domain.shape, strict=True))
        return tuple(levels[name] for name in names)

    def sums(self, places: Sequence[Integers], count: Callable[[Integers, int], Any]) -> dict[Names, NDArray[Any]]:
        """All margins of rows with these places in the columns: `count(cells, size)` counts those of a margin."""
        at, out = dict(zip(self.domain.columns, places, strict=True)), {}
        for names in self.chosen:
            shape = self.shape(names)
            cells = np.ravel_multi_index([at[name] for name in names], shape)
            out[names] = count(cells, math.prod(shape)).reshape(shape)
        return out

    def direct(
        self, places: Sequence[Integers], inside: NDArray[np.bool_], total: int | None, account: Account
    ) -> Made:
        """Noise on each margin, at an equal share of ε."""
        share, unit = self.epsilon / len(self.chosen), self.unit
        law = cell_noise(share, self.adjacency, most=unit.most)
        if (people := self.people) is None:
            counts = self.sums([place[inside] for place in places], lambda cells, size: np.bincount(cells, None, size))
        else:
            counts = self.sums(places, lambda cells, size: people.units(np.where(inside, cells, -1), size))
        noisy = {m: account.draw(IntegerNoise(loss.Pure(share), law), a) for m, a in counts.items()}
        fit = reconcile({names: in_steps(array, unit.step) for names, array in noisy.items()}, total)
        return Margins(fit, self.domain), MarginNoise(law, noisy, unit.step)

    def joint(self, cells: Integers, way: str, total: int | None, account: Account) -> Made:
        """Noise on the cells of the whole table, all of them or those that stand out, and then sums."""
        account.pay(loss.Pure(self.epsilon))
        options: dict[str, Any] = {"adjacency": self.adjacency, "entropy": account.entropy}
        size = self.domain.size
        if way == "table":
            rows = cells if self.people is None else self.people.column(cells)
            options |= {} if self.people is None else {"weights": self.unit.share, "at_most": self.unit.at_most}
            whole = histogram(rows, keys=size, epsilon=self.epsilon, total=total is not None, **options).value
            kept, weights = np.arange(size), whole.counts
        else:
            keys = cells if self.people is None else self.people.of(cells)
            table = sparse_histogram(keys, size, self.epsilon, rule="adaptive", **options).value
            found = float(table.counts.sum())
            kept, weights = table.cells, table.counts * (1.0 if total is None or not found else total / found)
        places = self.domain.unravel(kept)
        return Margins(self.sums(places, lambda cells, size: np.bincount(cells, weights, size)), self.domain), None


def _requested_margins(which: int | Sequence[Sequence[str]], domain: Domain) -> list[Names]:
    """The requested margins, with their columns in the order of the domain."""
    names = tuple(domain.columns)
    if isinstance(which, int | np.integer):
        if not 1 <= checks.integer("which", which, least=1) <= len(names):
            raise InvalidArgument("which", f"from 1 to the number of columns, {len(names)}", which)
        chosen = list(itertools.combinations(names, int(which)))
    else:
        must = "a number of columns, or a list of distinct tuples of their names"
        asked = [(m,) if isinstance(m, str) else tuple(m) for m in which] if isinstance(which, Sequence) else []
        chosen = [tuple(name for name in names if name in m) for m in asked]
        if isinstance(which, str) or not asked or any(len(c) != len(m) for c, m in zip(chosen, asked, strict=True)):
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
    people = columns if isinstance(columns, Owned) else None
    if people is not None:
        stated_unit(people.unit)
    call = _Call(_requested_margins(which, space), space, eps, relation, people)
    sizes = [math.prod(call.shape(names)) for names in call.chosen]
    checks.choice("through", through, ("auto", "direct", "table", "sparse"))
    if through == "table" and space.size > LARGEST_MARGIN:
        raise InvalidArgument("through", "'direct' or 'sparse' for a table of more than 2^20 cells", "'table'")
    if max(sizes) > LARGEST_MARGIN:
        raise InvalidArgument("which", "margins of at most 2^20 cells each", f"one of {max(sizes)}")
    fixed = check_total(total, relation, call.unit)
    scale = float(cell_noise(eps / len(sizes), relation).up) / len(sizes) * call.unit.most / call.unit.step
    places, inside = space.indices(columns if people is None else people.data)
    public = (inside.size if people is None else people.whose.people) if relation.size_is_public else None
    goal = public if fixed else None
    way = _best_route(sizes, space.size, scale, public) if through == "auto" else through
    account = Account.open(f"margins ({way})", eps, adjacency=relation, entropy=entropy)
    if way == "direct":
        return account.release(*call.direct(places, inside, goal, account))
    return account.release(*call.joint(np.where(inside, space.ravel(places), -1), way, goal, account))
