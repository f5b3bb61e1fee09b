"""Histograms of huge, mostly empty domains, at a cost proportional to the number of occupied cells.

Counts are estimated from noisy counts by empirical Bayes. That is post-processing: it depends on the noisy counts, the
public number of cells and the law of the noise, so floats will do and it costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.account import Account, Mechanism
from uptack.discrete.categories import SkewedLaplace, binomial, cell_noise, stated_unit, table_moves
from uptack.discrete.domains import Domain, check_size, places
from uptack.discrete.histograms import CountNoise, in_steps
from uptack.display import Ends, Record, TabularValue, line, unreserved_names
from uptack.errors import InvalidArgument
from uptack.exact import Rational, Real, ball
from uptack.noise import Entropy
from uptack.noise.integer_laws import Integers
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.privacy.guarantee import adjacency as check_adjacency
from uptack.registry import release
from uptack.release import Release
from uptack.table.reads import OwnedData, OwnedRows
from uptack.table.unit import ROW

Floats = NDArray[np.float64]
ROUNDS = 40
"""Steps of the fit. Stopping early keeps the estimate smooth. Half or twice as many, or as much of the two
constants below, change the error by 0.2% at most (`benchmarks/constants.py`)."""
FINENESS = 6
"""Steps of the grid of counts within the smaller scale of the noise."""
FAR = 12
"""Counts up to so many of the larger scale above the cutoff are estimated; larger ones are not from empty cells."""


def _abundance(seen: Floats, density: Floats, cells: float) -> Floats:
    """The number of cells with each count: the maximum of the Poisson likelihood by Richardson and Lucy's iteration.

    `seen` is the frequency of each noisy value and density[v, θ] its probability given a count θ, the first of which is
    0. The number of empty cells is set to that of all cells: it is public, and hardly larger.
    """
    share = density.sum(axis=0)
    abundance = np.ones(share.size)
    abundance[0] = cells
    for _ in range(ROUNDS):
        abundance[1:] *= (density.T @ (seen / (density @ abundance)) / share)[1:]
    return abundance


def posterior_medians(noisy: Integers, cutoff: int, law: SkewedLaplace, cells: int) -> Integers:
    """The best guess, for absolute error, of each count whose noisy value reached the cutoff.

    With m_θ cells of count θ a noisy value v comes from a count θ with probability proportional to m_θ·P(z = v - θ).
    The m_θ are fitted to the noisy values themselves, and the median of that law is the guess. It is 0 where more than
    half of the cells with this noisy value are expected to be empty: a local false discovery rate above 1/2.

    >>> law = SkewedLaplace(2, 2)
    >>> posterior_medians(np.array([10, 10, 11, 14, 500]), 10, law, cells=10_000).tolist()
    [0, 0, 0, 0, 500]
    """
    small, large = sorted((float(law.up), float(law.down)))
    step = max(1, math.floor(small / FINENESS))
    size = math.ceil(FAR * large / step) + FAR
    place = np.minimum((noisy - cutoff) // step, size).astype(np.int64)  # noisy counts may be beyond 64 bits
    near = place < size
    values = cutoff + step * np.arange(size, dtype=np.float64) + (step - 1) / 2
    counts = np.concatenate(([0.0], np.arange(max(1.0, step // 2), values[-1] + FAR * small + 1, step)))
    z = values[:, None] - counts
    exponent = np.where(z >= 0, -z / float(law.up), z / float(law.down))
    density = step * (law.pmf(0) * np.exp(np.maximum(exponent, -600)))  # P(noise = z), without underflow
    abundance = _abundance(np.bincount(place[near], minlength=size).astype(float), density, float(cells))
    weight = np.cumsum(density * abundance, axis=1)
    median = counts[np.argmax(weight >= weight[:, -1:] / 2, axis=1)]
    shift = np.where(median > 0, values - median, np.inf)
    seen = noisy.astype(np.float64)
    guess = seen - float(law.quantile("1/2"))
    guess[near] = seen[near] - shift[place[near]]
    whole = np.rint(np.maximum(guess, 0))
    return np.array([int(v) for v in whole.tolist()], object) if noisy.dtype.kind == "O" else whole.astype(np.int64)


RISING = Fraction(7, 10)
"""The share of ε that hides a rising count, under the adaptive rule: see `uptack.discrete.categories.SkewedLaplace`.

A constant, the best of 0.5, 0.6, 0.7, 0.75, 0.8, 0.85 and 0.9 on the table of the thesis's figure 2.4 at ε = 1."""
SCREENED = 1 << 12
"""The expected number of empty cells that the adaptive rule examines."""
MOST_EMPTY = 1 << 22
"""How many empty cells may pass a cutoff, on average, before it is refused."""


Cells = tuple[Integers, Integers]
"""Occupied cells in their order, and their counts."""


@dataclass(frozen=True, eq=False)
class SparseHistogram(TabularValue, Mapping[int, Any]):
    """The cells that a release keeps, in their order, and their counts. Every other cell counts 0.

    As a mapping it iterates over the kept cells, but any cell of the domain may be looked up. Counts of people who are
    divided among several cells need not be integers.
    """

    cells: Integers
    counts: NDArray[Any]
    domain_size: int
    domain: Domain | None = None

    def __getitem__(self, cell: int) -> Any:
        if not 0 <= cell < self.domain_size:
            raise KeyError(cell)
        i = int(np.searchsorted(self.cells, cell))
        return self.counts[i].item() if i < len(self) and self.cells[i] == cell else 0

    def __iter__(self) -> Iterator[int]:
        return iter(self.cells.tolist())

    def __len__(self) -> int:
        return len(self.cells)

    def __repr__(self) -> str:
        return f"SparseHistogram({len(self)} of {self.domain_size} cells kept)"

    def columns(self) -> dict[str, NDArray[Any]]:
        """The kept cells as columns of categories, for a structured domain."""
        if self.domain is None:
            fix = "Pass Domain({...}) as domain_size."
            raise InvalidArgument("domain_size", "a Domain if the cells are columns", self.domain_size, fix)
        return self.domain.decode(self.cells)

    def figures(self, ends: Ends = None) -> list[Record]:
        own = {"cell": self.cells} if self.domain is None else self.columns()
        cells = zip(*(column.tolist() for column in own.values()), strict=True)
        names = [dict(zip(own, cell, strict=True)) for cell in cells]
        low, high = (repeat(None),) * 2 if ends is None else ends
        return [
            line(unreserved_names(name), *figure)
            for name, *figure in zip(names, self.counts.tolist(), low, high, strict=False)
        ]

    def to_dict(self) -> dict[str, Any]:
        plain = {"cells": self.cells.tolist(), "counts": self.counts.tolist(), "domain_size": self.domain_size}
        named = {} if self.domain is None else {name: column.tolist() for name, column in self.columns().items()}
        return plain | ({"columns": named} if named else {})


def printed_cutoff(size: int, law: SkewedLaplace) -> int:
    """The least integer above τ = s·ln p for p cells and noise of scale s (Hall, (2.4)): s = 2/ε under SUBSTITUTE.

    >>> printed_cutoff(65_536, cell_noise(Fraction(1), SUBSTITUTE))
    23
    """
    return 1 if size == 1 else Real(lambda: ball(Fraction(law.up)) * ball(size).log()).floor() + 1


def _random_subset(count: int, below: int, entropy: Entropy) -> Integers:
    """A uniform random set of `count` distinct integers, in their order.

    Repeated draws are drawn again, so all sets of that size are equally likely. If more than half of all are wanted,
    the complement is drawn.
    """
    if 2 * count > below:
        return np.setdiff1d(np.arange(below), _random_subset(below - count, below, entropy))
    subset = np.empty(0, np.int64)
    while subset.size < count:
        subset = np.union1d(subset, entropy.integers(below, count - subset.size))
    return subset


@dataclass(frozen=True)
class SparseCells(Mechanism[Cells, Cells]):
    """The cells whose count and noise reach the cutoff, in their order, and these noisy counts.

    **Theorem.** For a cutoff of at least 1 the result has the law of this: independent noise z on each of all `size`
    cells, then keep those at or above the cutoff t.

    *Proof.* `cells` are the occupied ones, and they are treated so. Of the others, N in number, each passes by itself
    with probability P(z ≥ t). So how many pass is binomial; given how many, each set of them is as likely as any
    other; and given which, their values are independent with the law of z given z ≥ t, which is t plus a geometric
    variable for t ≥ 0. The cells are then sorted, which does not show which were occupied. ∎
    """

    law: SkewedLaplace
    size: int
    cutoff: int

    def draw(self, value: Cells, entropy: Entropy) -> Cells:
        """In time and memory for the occupied cells."""
        (cells, counts), law = value, self.law
        noisy = counts + law.draw(cells.size, entropy)
        kept = noisy >= self.cutoff
        others = self.size - cells.size
        rank = _random_subset(binomial(others, law.exact_tail(self.cutoff), entropy), others, entropy)
        empty = rank + np.searchsorted(cells - np.arange(cells.size), rank, side="right")
        cells_kept = np.concatenate((cells[kept], empty))
        values = np.concatenate((noisy[kept], self.cutoff + law.beyond(empty.size, entropy)))
        order = np.argsort(cells_kept)
        return cells_kept[order], values[order]

    def price(self, value: Cells, other: Cells, output: Cells) -> float:
        (cells, counts), (others, other_counts) = value, other
        return self.law.price(table_moves((cells.tolist(), counts), (others.tolist(), other_counts)))


def _occupied_cells(keys: Any, size: int, domain: Domain | None) -> tuple[Integers, Integers]:
    """The occupied cells in their order, and their counts: of rows, or of units of people."""
    data = keys.data if isinstance(keys, OwnedRows) else keys
    try:
        cell = places(domain.encode(data) if domain else data, size)
    except InvalidArgument as error:
        if domain:
            raise
        got, fix = error.got, "Give structured data as columns, with a Domain as domain_size."
        raise InvalidArgument("keys", "a one-dimensional column of integers", got, fix) from None
    if not isinstance(keys, OwnedRows):
        cells, counts = np.unique(cell[cell >= 0], return_counts=True)
        return cells, counts.astype(np.int64)
    cells, place = np.unique(cell, return_inverse=True)
    outside = int(np.count_nonzero(cells < 0))
    units = keys.units(place.reshape(-1) - outside, cells.size - outside)
    return cells[outside:][units > 0], units[units > 0]


def _check_cutoff(cutoff: int | None, rule: str, size: int, law: SkewedLaplace, step: int) -> int:
    """The least noisy count that is looked at, in units of which so many count for one."""
    checks.choice("rule", rule, ("printed", "adaptive"))
    if cutoff is None and rule == "printed":
        return printed_cutoff(size, law)
    if cutoff is None:  # the least one that at most SCREENED cells are expected to reach by noise alone
        return 1 if size <= SCREENED else max(1, law.cutoff(Fraction(SCREENED, size)))
    given = checks.integer("cutoff", cutoff, least=1) * step
    if size > MOST_EMPTY and not law.exact_tail(given) <= Fraction(MOST_EMPTY, size):
        least = -(-law.cutoff(Fraction(MOST_EMPTY, size)) // step)
        raise InvalidArgument(
            "cutoff", f"at least {least}; below that, millions of empty cells would be kept", given // step
        )
    return given


@release(data=("keys",), people=OwnedData(("keys",), ("weights", "at_most")), examples=({"domain_size": 64},))
def sparse_histogram(
    keys: Any,
    domain_size: int | Domain,
    epsilon: Rational,
    *,
    cutoff: int | None = None,
    rule: str = "printed",
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[SparseHistogram]:
    """A histogram of a domain of up to 2^62 cells of which few are occupied: ε-differentially private.

    `keys` are integers from 0 to domain_size - 1, or a table of columns if `domain_size` is a `Domain`. Rows outside
    the domain are not counted.

    `rule="printed"`. **Theorem** (Hall, Prop. 2.4.3, on the integers). Integer Laplace noise of scale s = 2g/ε
    (SUBSTITUTE; g/ε under ADD_REMOVE) on every cell, g the rows a person may own, is ε-private; setting noisy counts of
    at most τ = s·ln p to 0 is post-processing. `cutoff` is the least noisy count that is kept, ⌊τ⌋ + 1 unless given.

    `rule="adaptive"`. **Theorem.** ε-private too, with nothing of ε set aside. The noise is `SkewedLaplace`, under
    SUBSTITUTE with rates 0.7ε/g upwards and 0.3ε/g downwards, which add up to ε/g; under ADD_REMOVE with ε/g both ways.
    The noisy counts at or above a low public cutoff, which about 4,096 empty cells reach, are private; the choice of
    those worth keeping, and the estimates of their counts (`uptack.discrete.sparse_histograms`), use nothing else.

    Both have exactly the law of noise on all p cells (`SparseCells`), in time and memory for occupied ones. (Running
    time is not protected.) `interval` holds for a cell chosen beforehand.

    With `person=` people are counted, as in `histogram`: both theorems with units in place of rows.

    >>> from uptack import SeededEntropy
    >>> visits = np.repeat([3, 2**40, 2**61], [400, 90, 2])
    >>> release = sparse_histogram(visits, 2**62, epsilon=1, entropy=SeededEntropy(1))
    >>> release.value, dict(release.value), release.value[5]
    (SparseHistogram(2 of 4611686018427387904 cells kept), {3: 400, 1099511627776: 90}, 0)
    """
    eps, relation = checks.epsilon(epsilon), check_adjacency(adjacency, rows_per_person)
    unit = stated_unit(keys.unit) if isinstance(keys, OwnedRows) else ROW
    domain = domain_size if isinstance(domain_size, Domain) else None
    size = domain.size if domain else check_size("domain_size", domain_size)
    law = cell_noise(eps, relation, RISING if rule == "adaptive" else Fraction(1, 2), unit.most)
    least = _check_cutoff(cutoff, rule, size, law, unit.step)
    name = f"sparse histogram ({rule} cutoff)"
    account = Account.open(name, eps, adjacency=relation, entropy=entropy)
    cells, noisy = account.draw(SparseCells(loss.Pure(eps), law, size, least), _occupied_cells(keys, size, domain))
    guess = posterior_medians(noisy, least, law, size) if rule == "adaptive" else noisy
    kept = guess > 0
    value = SparseHistogram(cells[kept], in_steps(guess[kept], unit.step), size, domain)
    return account.release(value, CountNoise(law, noisy[kept], unit.step))
