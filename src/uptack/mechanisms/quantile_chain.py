"""Several order statistics for one ε: inverse sensitivity of the whole vector, by a chain.

A bin (lo, hi] holds N rows. Candidates are vectors v_1 ≤ ... ≤ v_J of lattice points from lo up to, but without, hi.
With G_l the number of rows between v_l and v_(l+1), for v_0 = lo and v_(J+1) = hi, and public gaps γ_0, ..., γ_J in
half rows, let V = |2G_0 - γ_0| + ... + |2G_J - γ_J|. A quarter of V is about the number of rows that must be replaced
for v to be right. (For one bin of all rows it is the utility of JointExp, Gillenwater et al. 2021, seen as a distance.
There the number of rows up to v_j aims halfway between r_j - 1 and r_j: the gaps are 2r_1 - 1, 2(r_2 - r_1), ..., 2(n
- r_J) + 1.)

**Theorem.** Let q be a rational with e^(-ε/8g) ≤ q < 1, E = 2N - Σγ, and c a public number. Draw v with probability
proportional to q^min(V, |E| + c), against any fixed measure. That is ε-differentially private under SUBSTITUTE for
people with up to g rows, and also if the rows of a table lie in several disjoint bins and a vector is drawn for each
of them. *Proof.* A row that is replaced within a bin moves one G up by 1 and another one down, so V by at most 4, and
leaves E as it is. A row that goes from one bin to another moves one G by 1 in each of them, so V and |E| by at most 2
in each. The minimum moves no more than the larger of its two sides. So the sum of the exponents over all bins moves by
at most 4. With g rows, the product of the weights and the product of their sums change by a factor of at most q^(-4g)
≤ e^(ε/2) each. The sizes of bins are used, but nowhere told. ∎

**Bounded range.** All vectors together have bounded range ε: with s the sum of the exponents over all bins, ln(P/P') =
(s' - s)·ln(1/q) plus a number that does not depend on the vectors, and |s' - s| ≤ 4g. So the log-ratio lies in an
interval of length 8g·ln(1/q) ≤ ε. `inverse_loss` is what the draw reports.

**Other adjacencies.** Replace the table by its n least rows, filled up with rows at +∞ where there are fewer, for a
public n. Neighbours under ADD_REMOVE, or with rows dropped, become tables of n rows that differ in at most one row. ∎
All rows may first be changed by themselves, with randomness that is independent of the other rows: neighbours stay
neighbours. So ties are broken by random digits behind the lattice points, and values with a granularity are spread
over their cell. The draw is then a mixture over digits that neighbours may share, the replaced row's with those of the
row in its place: each draw in the mixture has bounded range ε, which is what the loss node asks for.

**The draw.** Let D_l be twice the number of rows up to v_l, minus the gaps before it. A path from D_0 = 0 to E has V =
|E| + V', where V' is twice what it moves against the direction of E. Only the rows within K of each target are known;
beyond, V' ≥ c = 4K + 2. The law is a mixture: all vectors alike, with weight q^c each, and those within the windows
with weight (q^V' - q^c)₊ on top. The second part is a Markov chain in the windows' cells, drawn backwards from forward
sums (`uptack.mechanisms.quantile_chain_sums`), with a coin for the subtracted part. Floats do it as far as they are
sure, and intervals where they are not (`uptack.noise.exact_choice`): the draw is exact.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from uptack.exact import Real, ball, logarithm
from uptack.mechanisms.quantile_chain_sums import ExactSums, FloatSums, Number
from uptack.noise import Entropy
from uptack.noise.coins import Coin, exp_minus
from uptack.noise.exact_choice import pick

Integers = NDArray[np.int64]
Places = Callable[[Integers], Integers]
"""The candidates at which rows of a bin lie, by their numbers from 1 to N."""

SURE = -600.0
"""Above e to this power a sum over all paths is far above what floats lose by underflow, of about e^-744."""

NEVER = 1 << 60
"""So many outcomes that `pick` leaves nothing to floats."""


def chain_decay(epsilon: Fraction, rows_per_person: int = 1) -> Fraction:
    """q: e^(-ε/8g) rounded up to a multiple of 2^-64."""
    return Fraction(exp_minus(epsilon / (8 * rows_per_person)).floor(64) + 1, 1 << 64)


@dataclass(frozen=True)
class Bin:
    """The candidates from `low` up to, but without, `high`, the number of rows in (low, high], and its targets.

    `targets` are in half rows counted from the lower end, all odd or all even; `total` is what the gaps add up to.
    """

    low: int
    high: int
    rows: int
    targets: tuple[int, ...]
    total: int

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return self.high - self.low

    @property
    def excess(self) -> int:
        """E: twice the rows that there are, less those that were aimed at."""
        return 2 * self.rows - self.total

    @property
    def parity(self) -> int:
        """1 where targets lie halfway between two numbers of rows."""
        return self.targets[0] % 2

    @property
    def bases(self) -> tuple[int, ...]:
        """For each target the number of rows up to it, rounded up: there D is 0 or 1."""
        return tuple((t + 1) // 2 for t in self.targets)

    def window(self, steps: int) -> range:
        """How far from its base each number of rows may be: K, or as much more as there are rows too many or too few.

        Numbers of rows below 0 or above N are left out where no target has others.
        """
        first, last = -steps + min(self.excess // 2, 0), steps + max(-(-self.excess // 2), 0)
        return range(max(first, -self.bases[-1]), min(last, self.rows - self.bases[0]) + 1)

    def ranks(self, steps: int) -> list[tuple[int, int]]:
        """For each target the first and the last row that its window needs; first > last where it needs none."""
        around = self.window(steps)
        return [(max(base + around.start, 1), min(base + around.stop, self.rows)) for base in self.bases]


@dataclass(frozen=True)
class Chain:
    """The law of the theorem for one bin. Cell t of target l holds the candidates with base_l + t rows up to them.

    `edges` has a row for each target: the candidates at which its cells start, and the end of the last.
    """

    bin: Bin
    steps: int
    q: Fraction
    edges: Integers

    @staticmethod
    def of(node: Bin, steps: int, q: Fraction, places: Places) -> Chain:
        """The chain of a bin that asks for the rows in its windows."""
        around = node.window(steps)
        rows = np.array(node.bases)[:, None] + np.arange(around.start, around.stop + 1)
        inside = (rows >= 1) & (rows <= node.rows)
        edges = np.where(rows < 1, node.low, node.high)
        edges[inside] = places(rows[inside])
        return Chain(node, steps, q, edges)

    @property
    def cap(self) -> int:
        """c = 4K + 2, the least V' of a vector with a coordinate below its window; above it V' is 4K + 4 or more."""
        return 4 * self.steps + 2

    @cached_property
    def volumes(self) -> Integers:
        """How many candidates each cell of each window has."""
        return np.diff(self.edges, axis=1)

    @property
    def first(self) -> int:
        """The first cell of all windows."""
        return self.bin.window(self.steps).start

    def variation(self, rows: Sequence[int]) -> int:
        """V' of vectors with such numbers of rows up to each coordinate."""
        away = (2 * i - t for i, t in zip(rows, self.bin.targets, strict=True))
        path = [0, *away, self.bin.excess]
        return sum(abs(b - a) for a, b in itertools.pairwise(path)) - abs(self.bin.excess)

    @cached_property
    def _floats(self) -> FloatSums:
        return FloatSums(self.bin, self.first, self.volumes, logarithm(self.q))

    def exact(self, q: Number) -> ExactSums[Number]:
        """All sums for a rational q, or balls around them for a ball."""
        return ExactSums(self.bin, self.first, self.volumes.tolist(), q)

    def parts(self, q: Number) -> list[Number]:
        """The weights of the two parts of the mixture: all vectors alike, and those within the windows."""
        count = len(self.bin.targets)
        return [q**self.cap * self.bin.size**count, sum(self.exact(q).last(), q * 0) * math.factorial(count)]

    def draw(self, entropy: Entropy) -> tuple[list[int], list[int] | None]:
        """A vector of candidates in increasing order, and how many rows there are up to each; None where that is not
        known, since they were drawn among all alike.
        """
        count, floats = len(self.bin.targets), self._floats
        parts = np.array([self.cap * floats.log_q, floats.total + math.lgamma(count + 1)])
        while True:
            if self._pick(parts, lambda: self.parts(ball(self.q)), entropy) == 0:
                return sorted(self.bin.low + entropy.below(self.bin.size) for _ in range(count)), None
            cells = self._cells(entropy)
            rows = [base + self.first + cell for base, cell in zip(self.bin.bases, cells, strict=True)]
            if self._above_cap(rows, entropy):
                return self._inside(cells, entropy), rows

    def _inside(self, cells: Sequence[int], entropy: Entropy) -> list[int]:
        """Uniform candidates of the cells; those that share one are in order, as its cells are."""
        drawn = (int(self.edges[j, c]) + entropy.below(int(self.volumes[j, c])) for j, c in enumerate(cells))
        return sorted(drawn)

    def _above_cap(self, rows: Sequence[int], entropy: Entropy) -> bool:
        """A coin with heads probability (q^V' - q^c)₊/q^V' = (1 - q^(c - V'))₊."""
        spare = self.cap - self.variation(rows)
        return spare > 0 and bool(Coin(Real(lambda: 1 - ball(self.q) ** spare)).flip(1, entropy)[0])

    def _pick(self, logs: NDArray[np.float64], balls: Callable[[], Any], entropy: Entropy) -> int:
        terms = self.volumes.size if self._floats.total > SURE else NEVER
        return pick(logs, balls, entropy, terms)

    def _cells(self, entropy: Entropy) -> list[int]:
        """The cells of all coordinates in their windows, with probability proportional to q^V': the last one first.

        A cell is drawn for the last coordinate that has none, then how many coordinates share it.
        """
        bases, floats, path = self.bin.bases, self._floats, list[int]()
        left = len(bases) - 1
        cell = self._pick(floats.last(), lambda: self.exact(ball(self.q)).last(), entropy)
        while True:
            shared = floats.shared(left, cell)
            k = 1 + (self._pick(shared, partial(self._shared_balls, left, cell), entropy) if shared.size > 1 else 0)
            path += [cell + bases[left] - bases[left - j] for j in range(k)]
            left -= k
            if left < 0:
                return path[::-1]
            cell = self._pick(floats.before(left, path[-1]), partial(self._cell_balls, left, path[-1]), entropy)

    def _shared_balls(self, coordinate: int, cell: int) -> list[arb]:
        return self.exact(ball(self.q)).shared(coordinate, cell)

    def _cell_balls(self, coordinate: int, following: int) -> list[arb]:
        return self.exact(ball(self.q)).before(coordinate, following)
