"""Several order statistics for one ε: inverse sensitivity of the whole vector, by a chain.

Candidates are vectors v_1 ≤ ... ≤ v_m of lattice points. With i_j the number of rows up to v_j and r_j the rank aimed
at, let f_j = 2(i_j - r_j) + 1 and V = |f_1| + |f_2 - f_1| + ... + |f_m|: a quarter of V is about the number of rows
that must be replaced for v to be right. (It is the utility of JointExp, Gillenwater et al. 2021, seen as a distance.)

**Theorem.** Let q be a rational with e^(-ε/8g) ≤ q < 1. Drawing v with probability proportional to q^min(V, c), for a
public c and against any fixed measure, is ε-differentially private under SUBSTITUTE for people with up to g rows, and
under ADD_REMOVE for public ranks. *Proof.* Replacing a row at a by one at b changes i_j by the same ±1 for all j with
v_j between a and b, and those j are neighbours of each other; adding or removing one does so for all j from some j
on. So f changes by ±2 on one run of coordinates, and V by at most 4. With g rows, weights and their sum change by a
factor of at most q^(-4g) ≤ e^(ε/2). ∎

**Bounded range.** It has bounded range ε: with s = min(V, c), ln(P(v)/P'(v)) = (s' - s)·ln(1/q) + ln(Σ'/Σ), where the
sums Σ and Σ' of all weights don't depend on v, and |s' - s| ≤ 4g. So the log-ratio lies in an interval of length
8g·ln(1/q) ≤ ε. `inverse_loss` is what the draw reports.

All rows may first be changed by themselves, with randomness that is independent of the other rows: neighbours stay
neighbours. So ties are broken by random digits behind the lattice points, and values with a granularity are spread over
their cell. The draw is then a mixture over digits that neighbours may share, the replaced row's with those of the row
in its place: each draw in the mixture has bounded range ε, which is what the loss node asks for.

**The draw.** Only the rows within K of each rank are known; beyond, V ≥ c = 4K + 2. The law is a mixture: all vectors
alike, with weight q^c each, and those within the windows with weight (q^V - q^c)₊ on top. The second part is a Markov
chain in the windows' cells, drawn backwards from forward sums, with a coin for the subtracted part. Floats do it as
far as they are sure, and intervals where they are not (`uptack.noise.choice`): the draw is exact.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy.signal import lfilter

from uptack.exact import Real, ball, logarithm
from uptack.noise import Entropy
from uptack.noise.choice import pick
from uptack.noise.coins import Coin, exp_minus

Floats = NDArray[np.float64]
Number = TypeVar("Number", Fraction, arb)


def chain_decay(epsilon: Fraction, rows_per_person: int = 1) -> Fraction:
    """q: e^(-ε/8g) rounded up to a multiple of 2^-64."""
    return Fraction(exp_minus(epsilon / (8 * rows_per_person)).floor(64) + 1, 1 << 64)


@dataclass(frozen=True)
class Chain:
    """For each rank r_j the lattice points of the rows r_j - K, ..., r_j + K + 1, in windows that don't overlap.

    Cell c of window j holds the candidates from its row number c up to, but without, the next; all are 0..size-1.
    """

    edges: tuple[tuple[int, ...], ...]
    size: int
    q: Fraction

    @property
    def steps(self) -> int:
        """K."""
        return len(self.edges[0]) // 2 - 1

    @property
    def cap(self) -> int:
        """c = 4K + 2, the least V of a vector with a coordinate below its window; above it V is 4K + 6 or more."""
        return 4 * self.steps + 2

    @property
    def deviations(self) -> list[int]:
        """f in each cell of a window."""
        return [2 * (c - self.steps) + 1 for c in range(2 * self.steps + 1)]

    @cached_property
    def counts(self) -> list[list[int]]:
        """How many candidates each cell of each window has."""
        return [[b - a for a, b in itertools.pairwise(row)] for row in self.edges]

    def variation(self, cells: Sequence[int]) -> int:
        """V of vectors in these cells."""
        path = [0, *(self.deviations[c] for c in cells), 0]
        return sum(abs(b - a) for a, b in itertools.pairwise(path))

    def sums(self, q: Number, j: int) -> list[Number]:
        """Σ of q^(V so far) over all candidates of the windows up to j that end in cell c of window j, for each c.

        Exact for a rational q, balls for a ball.
        """
        current = [q ** abs(f) * n for n, f in zip(self.counts[0], self.deviations, strict=True)]
        for counts in self.counts[1 : j + 1]:
            current = [s * n for n, s in zip(counts, _joined_exactly(current, q * q), strict=True)]
        return current

    @cached_property
    def _float_sums(self) -> tuple[list[Floats], float]:
        """The same in floats, each window's divided by its largest, and the logarithm of all that was divided by."""
        q, scale, sums = float(self.q), 0.0, []
        current = np.array(self.counts[0], np.float64) * q ** np.abs(np.array(self.deviations, np.float64))
        for counts in [None, *self.counts[1:]]:
            if counts is not None:
                current = _joined(current, q * q) * np.array(counts, np.float64)
            largest = current.max() or 1.0
            scale += math.log(largest)
            current = current / largest
            sums.append(current)
        return sums, scale

    def draw(self, entropy: Entropy) -> list[int]:
        """A vector of candidates in increasing order, by the theorem above."""
        m, log_q = len(self.edges), logarithm(self.q)
        sums, scale = self._float_sums
        ends = np.abs(np.array(self.deviations, np.float64))
        with np.errstate(divide="ignore"):
            inside = np.log((sums[-1] * np.exp(log_q * ends)).sum()) + scale + math.lgamma(m + 1)
        whole = m * math.log(self.size) + self.cap * log_q
        while True:
            if pick(np.array([whole, inside]), lambda: self.parts(ball(self.q)), entropy, self._terms) == 0:
                return sorted(entropy.below(self.size) for _ in range(m))
            cells = self._cells(sums, log_q, entropy)
            if self._above_cap(cells, entropy):
                return [self.edges[j][c] + entropy.below(self.counts[j][c]) for j, c in enumerate(cells)]

    def _above_cap(self, cells: Sequence[int], entropy: Entropy) -> bool:
        """A coin with heads probability (q^V - q^c)₊/q^V = (1 - q^(c - V))₊."""
        spare = self.cap - self.variation(cells)
        return spare > 0 and bool(Coin(Real(lambda: 1 - ball(self.q) ** spare)).flip(1, entropy)[0])

    @property
    def _terms(self) -> int:
        """How many cells the float sums run over."""
        return len(self.edges) * (2 * self.steps + 1)

    def parts(self, q: Number) -> list[Number]:
        """The weights of the two parts of the mixture: all vectors alike, and those within the windows."""
        m, reached = len(self.edges), self.sums(q, len(self.edges) - 1)
        inside = sum((s * q ** abs(f) for s, f in zip(reached, self.deviations, strict=True)), q * 0)
        return [q**self.cap * self.size**m, inside * math.factorial(m)]

    def _cells(self, sums: list[Floats], log_q: float, entropy: Entropy) -> list[int]:
        """A path of cells, with probability proportional to its number of candidates times q^V: the last one first."""
        path: list[int] = []
        for j in range(len(sums) - 1, -1, -1):
            target = self.deviations[path[-1]] if path else 0
            away = np.abs(np.array(self.deviations) - target)
            with np.errstate(divide="ignore"):
                logs = np.log(sums[j]) + log_q * away
            balls = partial(self._cell_balls, j, target)
            path.append(pick(logs, balls, entropy, self._terms))
        return path[::-1]

    def _cell_balls(self, j: int, target: int) -> list[arb]:
        return self.cell_weights(ball(self.q), j, target)

    def cell_weights(self, q: Number, j: int, target: int) -> list[Number]:
        """The weight of each cell of window j where the next cell's deviation is `target`."""
        return [s * q ** abs(f - target) for s, f in zip(self.sums(q, j), self.deviations, strict=True)]


def _joined(sums: Floats, q: float) -> Floats:
    """Σ_c s_c·q^|c - d| for each d: what comes from the left, and from the right."""
    left = lfilter([1.0], [1.0, -q], sums)
    right = lfilter([1.0], [1.0, -q], sums[::-1])[::-1]
    joined: Floats = left + right - sums
    return joined


def _joined_exactly(sums: list[Number], q: Number) -> list[Number]:
    left, right = list(sums), list(sums)
    for c in range(1, len(sums)):
        left[c] += q * left[c - 1]
        right[-c - 1] += q * right[-c]
    return [a + b - s for a, b, s in zip(left, right, sums, strict=True)]
