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
≤ e^(ε/2) each. The sizes of bins are used, but not released. ∎

**Bounded range.** All vectors together have bounded range ε: with s the sum of the exponents over all bins, ln(P/P') =
(s' - s)·ln(1/q) plus a number that does not depend on the vectors, and |s' - s| ≤ 4g. So the log-ratio lies in an
interval of length 8g·ln(1/q) ≤ ε.

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
sums (`FloatSums`), with a coin for the subtracted part. Floats do it as far as they are
sure, and intervals where they are not (`uptack.noise.coins`): the draw is exact.

**Many quantiles: a tree of chains.** A chain of m quantiles is a random walk from one to the next, so its error grows
like the root of m. A tree has two or more tiers, each with an equal part of ε. The first draws a few knots among all
rows. They cut the rows into bins, and the next draws a few more in every bin, and so on: a walk is never longer than a
node has targets.

**Theorem.** If tier t draws every node by the law of a chain at ε_t, in bins that earlier tiers released, with public
gaps, then the whole is Σε_t-differentially private, under every adjacency.
*Proof.* Fix the knots that earlier tiers released. The bins of a tier are disjoint and the gaps are public *numbers of
rows*, not shares of a bin's rows, which are secret. So the theorem of the chain holds for all nodes of a tier together,
at ε_t: a row that is replaced within a bin, or leaves one bin for another, costs no more than ε_t in all. Tiers are
adaptive compositions of such draws. Rows keep their random digits from tier to tier: fix the digits of the common rows,
and neighbours stay neighbours. ∎

**How far off.** A chain of J targets among L candidates has P(V' ≥ 4k) ≤ L^J·e^(-ε_t·k/2g): otherwise the number of
rows up to each target is off by at most k more than at the two ends of its bin, so what tiers are off by adds up. Bins
between two knots have an end on both sides, so nothing drawn there can leave them. At the two ends of the table the b
outermost targets of a node leave the rows altogether with a probability of at most L^b·e^(-ε_t(R - h)/2g), where R is
how many rows lie beyond the innermost of the b, given that the next target is not more than h rows too far out.
*Proof.* Compare each such vector with one that has these b where they would be h rows too far out. It is a vector of
the same chain, it has a V that is less by 4(R - h), and fewer than L^b vectors are compared with it. ∎ So every node
at an end keeps R above what makes this one in a million for h = 0; `Tree.fits` says so by public numbers. With few
quantiles R is enough for b = J: then the first bound alone keeps them all among the rows, whatever the data.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import methodcaller
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from uptack.account import Account, AssumptionFailed, Mechanism
from uptack.exact import Real, ball, exp_minus, logarithm
from uptack.mechanisms.inverse_sensitivity import FAILURE, steps_needed
from uptack.noise import Entropy
from uptack.noise.coins import Coin, pick
from uptack.privacy import loss

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Number = TypeVar("Number", Fraction, arb)
Numbers = NDArray[Any]
"""Floats, or as objects rationals or balls."""
Places = Callable[[Integers], Integers]
"""The candidates at which rows of a bin lie, by their numbers from 1 to N."""

SURE = -600.0
"""Above e to this power a sum over all paths is far above what floats lose by underflow, of about e^-744."""

NEVER = 1 << 60
"""So many outcomes that `pick` leaves nothing to floats."""
FAR = 1 << 40
"""Beyond every score, in audits."""


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
        return ExactSums(self.bin, self.first, self.volumes, q)

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
            if pick(parts, lambda: self.parts(ball(self.q)), entropy, self._terms) == 0:
                return sorted(self.bin.low + entropy.below(self.bin.size) for _ in range(count)), None
            cells = self._cells(entropy)
            rows = [base + self.first + cell for base, cell in zip(self.bin.bases, cells, strict=True)]
            if self._above_cap(rows, entropy):  # uniform candidates of the cells; those that share one are put in order
                at = ((int(self.edges[j, c]), int(self.volumes[j, c])) for j, c in enumerate(cells))
                return sorted(start + entropy.below(volume) for start, volume in at), rows

    def _above_cap(self, rows: Sequence[int], entropy: Entropy) -> bool:
        """A coin with heads probability (q^V' - q^c)₊/q^V' = (1 - q^(c - V'))₊."""
        spare = self.cap - self.variation(rows)
        return spare > 0 and bool(Coin(Real(lambda: 1 - ball(self.q) ** spare)).flip(1, entropy)[0])

    @property
    def _terms(self) -> int:
        """How many terms the floats of a pick were summed over."""
        return self.volumes.size if self._floats.total > SURE else NEVER

    def _pick(self, entropy: Entropy, weights: str, *where: int) -> int:
        """An outcome by such weights, in floats as far as they are sure, and else in balls."""
        ask = methodcaller(weights, *where)
        return pick(ask(self._floats), lambda: ask(self.exact(ball(self.q))), entropy, self._terms)

    def _cells(self, entropy: Entropy) -> list[int]:
        """The cells of all coordinates in their windows, with probability proportional to q^V': the last one first.

        A cell is drawn for the last coordinate that has none, then how many coordinates share it.
        """
        bases, path = self.bin.bases, list[int]()
        left = len(bases) - 1
        cell = self._pick(entropy, "last")
        while True:
            alone = len(self._floats.runs(left, cell)) == 1
            k = 1 if alone else 1 + self._pick(entropy, "weights_of", left, cell)
            path += [cell + bases[left] - bases[left - j] for j in range(k)]
            left -= k
            if left < 0:
                return path[::-1]
            cell = self._pick(entropy, "before", left, path[-1])


# ----------------------------------------------------------------------- the sums behind a chain, in floats and exactly
#
# For target l and cell t (base_l + t rows up to it) let
#
#     arrivals_l(t) = Σ of q^(V' so far) over all ways of the coordinates before l, all in lower cells,
#     sums_l(t)     = Σ_k volume^k/k!·(weight of k - 1 empty gaps)·arrivals_(l-k+1)(the same cell),
#
# the second over the number k of coordinates that share the cell. A step from t' to t costs q^4 for each row that it
# goes against the direction of E: down where there are rows enough, up where some are lacking. So, for a gap of d rows
# and rows enough,
#
#     arrivals_(l+1)(t) = Σ_(t' ≤ t) sums_l(t') + Σ_(t < t' < t + d) sums_l(t')·q^(4(t' - t)),
#
# and the same the other way round where some are lacking. (t' < t + d says that the cell of t' is a lower one.)
#
# **Floats.** Only numbers of one sign are added, so each sum is right to within a few units of 2^-53 for each term.
# Windows are added up by doubling: of two rows, of four, of eight. With volumes as shares of all candidates no sum is
# above e.


@dataclass(frozen=True)
class Sums(ABC):
    """The sums in floats or exactly: subclasses say what numbers are, and how they stay in their range.

    Floats are kept between 0 and 1, with the logarithm of what they were divided by: the scale of a row of cells. Other
    numbers have the scale 0.
    """

    bin: Bin
    first: int
    volumes: Integers

    @property
    @abstractmethod
    def shares(self) -> Numbers:
        """Volumes as numbers: whole, or as shares of all candidates."""

    @abstractmethod
    def powers(self, exponents: Any) -> Any:
        """q to these powers."""

    @abstractmethod
    def factors(self, exponents: Sequence[int], scales: Sequence[float]) -> tuple[Sequence[Any], float]:
        """q to these powers at these scales, and the scale that all of them then have."""

    @abstractmethod
    def rescale(self, x: Numbers, scale: float) -> tuple[Numbers, float]:
        """A row of cells within its range, and its scale."""

    @abstractmethod
    def weights(self, x: Any, exponents: Any, scales: Any = 0.0) -> Any:
        """The products of numbers at these scales and q to these powers: what is drawn from."""

    @property
    def _up(self) -> bool:
        return self.bin.excess >= 0

    @cached_property
    def _away(self) -> Integers:
        """D in each cell."""
        return 2 * np.arange(self.first, self.first + self.volumes.shape[1]) + self.bin.parity

    def _against(self, moved: Integers) -> Integers:
        """The exponents of q of moves of D."""
        return 2 * np.maximum(-moved if self._up else moved, 0)

    def _empty(self, rows: int) -> int:
        """The exponent of q of gaps without rows, where `rows` were the target: a move down by as many."""
        return 4 * rows if self._up else 0

    def runs(self, at: int, cell: int = 0) -> list[tuple[int, int]]:
        """For k = 1, 2, ...: the first of k coordinates up to `at` that share this cell, and how far its base is."""
        bases, cells = self.bin.bases, self.volumes.shape[1]
        apart = ((j, bases[at] - bases[j]) for j in range(at, -1, -1))
        return list(itertools.takewhile(lambda run: cell + run[1] < cells, apart))

    @cached_property
    def _tables(self) -> tuple[list[Numbers], list[float], list[Numbers], list[float]]:
        """arrivals and sums, each with its scales."""
        arrivals, entered = [self.powers(self._against(self._away))], [0.0]
        sums, reached = list[Numbers](), list[float]()
        bases, cells = self.bin.bases, self.volumes.shape[1]
        for at, share in enumerate(self.shares):
            runs, total, power = self.runs(at), np.zeros_like(share), 1
            factors, scale = self.factors([self._empty(apart) for _, apart in runs], [entered[j] for j, _ in runs])
            for k, ((j, apart), factor) in enumerate(zip(runs, factors, strict=True), 1):
                power = power * (share / k)
                total[: cells - apart] += power[: cells - apart] * arrivals[j][apart:] * factor
            total, scale = self.rescale(total, scale)
            sums.append(total)
            reached.append(scale)
            if at + 1 < len(bases):
                moved, scale = self.rescale(self._arrivals(total, bases[at + 1] - bases[at]), scale)
                arrivals.append(moved)
                entered.append(scale)
        return arrivals, entered, sums, reached

    def _arrivals(self, sums: Numbers, gap: int) -> Numbers:
        """arrivals from sums, by the formulas above."""
        out = np.zeros_like(sums)

        def decay(rows: int) -> Any:
            return self.powers(4 * rows)

        if self._up:
            out[0 if gap else 1 :] = np.cumsum(sums)[: sums.size if gap else -1]
            if gap > 1:
                out[:-1] += decay(1) * _windows(sums, gap - 1, decay)[1:]
            return out
        out[1:] = decay(1) * _windows(sums[::-1], sums.size, decay)[::-1][:-1]
        return out + _windows(sums, gap, lambda rows: 1)

    def last(self) -> Any:
        """For each cell of the last coordinate the weight of all paths that end there."""
        return self.weights(self._tables[2][-1], self._against(self.bin.excess - self._away))

    def before(self, at: int, following: int) -> Any:
        """The same for coordinate `at` where the next one's cell is known."""
        lower = self._tables[2][at].copy()
        lower[max(following + self.bin.bases[at + 1] - self.bin.bases[at], 0) :] = 0
        return self.weights(lower, self._against(self._away[0] + 2 * following - self._away))

    def weights_of(self, at: int, cell: int) -> Any:
        """For k = 1, 2, ... the weight of k coordinates up to `at` in this cell."""
        (arrivals, entered, *_), share = self._tables, self.shares[at][cell]
        runs = self.runs(at, cell)
        some = [share**k / math.factorial(k) * arrivals[j][cell + apart] for k, (j, apart) in enumerate(runs, 1)]
        return self.weights(some, [self._empty(apart) for _, apart in runs], [entered[j] for j, _ in runs])


@dataclass(frozen=True)
class FloatSums(Sums):
    """The sums in floats. Weights are logarithms."""

    log_q: float

    @cached_property
    def shares(self) -> Floats:
        return self.volumes / float(self.bin.size)

    def powers(self, exponents: Any) -> Any:
        """By the logarithm of q, which is next to 1."""
        return np.exp(self.log_q * exponents)

    def factors(self, exponents: Sequence[int], scales: Sequence[float]) -> tuple[Sequence[float], float]:
        logs = [self.log_q * exponent + scale for exponent, scale in zip(exponents, scales, strict=True)]
        return [math.exp(log - max(logs)) for log in logs], max(logs)

    def rescale(self, x: Floats, scale: float) -> tuple[Floats, float]:
        largest = float(x.max()) or 1.0
        return x / largest, scale + math.log(largest)

    def weights(self, x: Any, exponents: Any, scales: Any = 0.0) -> Floats:
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(x)
        logs += self.log_q * np.asarray(exponents)
        logs += scales
        return logs

    @cached_property
    def total(self) -> float:
        """The logarithm of the sum over all paths."""
        last = self.last()
        top = float(last.max())
        return -math.inf if top == -math.inf else top + math.log(np.exp(last - top).sum()) + self._tables[3][-1]


@dataclass(frozen=True)
class ExactSums(Sums, Generic[Number]):
    """The sums for a rational q, without rounding; for a ball q, balls around them. Volumes are whole numbers."""

    q: Number

    @cached_property
    def shares(self) -> Numbers:
        return np.array([[volume * self.q**0 for volume in row] for row in self.volumes.tolist()], object)

    def powers(self, exponents: Any) -> Any:
        power: Any = np.frompyfunc(lambda k: self.q ** int(k), 1, 1)
        return power(exponents)

    def factors(self, exponents: Sequence[int], scales: Sequence[float]) -> tuple[Sequence[Number], float]:
        return [self.q**exponent for exponent in exponents], 0.0

    def rescale(self, x: Numbers, scale: float) -> tuple[Numbers, float]:
        return x, scale

    def weights(self, x: Any, exponents: Any, scales: Any = 0.0) -> list[Number]:
        return list(np.array(x, object) * self.powers(np.asarray(exponents)))


def window_sums(x: Floats, width: int, log_decay: float) -> Floats:
    """Σ_(j < width) x(t + j)·e^(j·log_decay) for each t."""
    return _windows(x, width, lambda j: math.exp(j * log_decay))


def _windows(x: Numbers, width: int, decay: Callable[[int], Any]) -> Numbers:
    """Σ_(j < width) x(t + j)·decay(j) for each t: the sums of 1, 2, 4, ... terms that make up the width."""
    width, out, block, size, offset = min(width, x.size), np.zeros_like(x), x, 1, 0
    while True:
        if width & size:
            out[: x.size - offset] += decay(offset) * block[offset:]
            offset += size
        if 2 * size > width:
            return out
        if (step := decay(size)) == 0:  # as a float: what is further away adds nothing
            return block
        doubled = block.copy()
        doubled[:-size] += step * block[size:]
        block, size = doubled, 2 * size


# ------------------------------------------------------------- the draw as a mechanism, and by how much its scores move


@dataclass(frozen=True)
class ChainDraw(Mechanism[Chain, tuple[list[int], list[int] | None]]):
    """A vector of candidates by the law of a chain, and the rows up to each, which are not released."""

    q: Fraction

    def draw(self, value: Chain, entropy: Entropy) -> tuple[list[int], list[int] | None]:
        return value.draw(entropy)

    def public(self, output: tuple[list[int], list[int] | None]) -> tuple[list[int], None]:
        """The vector alone. A neighbour has numbers of rows of its own, and counts them where it knows none."""
        return output[0], None

    def price(self, value: Chain, other: Chain, output: tuple[list[int], list[int] | None]) -> float:
        """2·ln(1/q) for each step by which the score of some vector moves."""
        public = [(c.bin.low, c.bin.high, c.bin.targets, c.bin.total, c.steps, c.q) for c in (value, other)]
        if public[0] != public[1] or value.q != self.q:
            raise AssumptionFailed("gaps, bins or a decay that depend on the data")
        return 2 * largest_move(value, other) * -logarithm(self.q)


class _Cells(NamedTuple):
    """Stretches of candidates that both chains count alike: where each starts and ends, and D for both chains."""

    starts: Integers
    ends: Integers
    away: tuple[Integers, Integers]
    inside: tuple[NDArray[np.bool_], NDArray[np.bool_]]


def _cells(one: Chain, other: Chain) -> list[_Cells]:
    out = []
    for mine, theirs in zip(one.edges, other.edges, strict=True):
        points = np.unique(np.concatenate([[one.bin.low], mine, theirs, [one.bin.high]]))
        starts, seen = points[:-1], []
        for chain, edges in ((one, mine), (other, theirs)):
            cell = np.searchsorted(edges, starts, side="right") - 1
            seen.append((2 * (chain.first + cell) + chain.bin.parity, (cell >= 0) & (cell < edges.size - 1)))
        out.append(_Cells(starts, points[1:], (seen[0][0], seen[1][0]), (seen[0][1], seen[1][1])))
    return out


def largest_move(one: Chain, other: Chain) -> int:
    """The largest move of min(V, |E| + c) over all vectors of candidates, for two chains with the same public numbers.

    Where both windows hold all coordinates it is at most the largest |V - V'|, by dynamic programming over cells of
    both, or that of |E|. Where one does not, its score is |E| + c, and that less the least V of the other counts.
    """
    cells, excess, largest = _cells(one, other), (one.bin.excess, other.bin.excess), 0
    for d, e in ((0, 1), (1, 0)):
        limit = abs(excess[e]) + one.cap
        largest = max(largest, abs(excess[e]) - abs(excess[d]), _widest(cells, d, e, excess))
        largest = max(largest, limit - _least_outside(cells, d, e, excess[d]))
    return largest


def _can_follow(before: Integers, ends: Integers) -> NDArray[np.bool_]:
    """Which cells can follow which: some candidate of the one is at most some candidate of the other."""
    follows: NDArray[np.bool_] = before[None, :] < ends[:, None]
    return follows


def _widest(cells: list[_Cells], d: int, e: int, excess: tuple[int, int]) -> int:
    """The largest V' - V of vectors inside of both."""
    best, last = np.zeros(1, np.int64), (np.zeros(1, np.int64), np.zeros(1, np.int64))
    starts = np.array([-FAR])
    for cell in cells:
        both = cell.inside[0] & cell.inside[1]
        if not both.any():
            return 0
        here, there = cell.away[d][both], cell.away[e][both]
        gain = np.abs(np.subtract.outer(there, last[1])) - np.abs(np.subtract.outer(here, last[0]))
        allowed = _can_follow(starts, cell.ends[both])
        best = np.where(allowed, gain + best, -FAR).max(axis=1)
        last, starts = (here, there), cell.starts[both]
    return int((best + np.abs(excess[e] - last[1]) - np.abs(excess[d] - last[0])).max())


def _least_outside(cells: list[_Cells], d: int, e: int, excess: int) -> int:
    """The least V of vectors inside of the first of which the second does not hold all coordinates."""
    least = np.array([[0], [FAR]], np.int64)  # all inside so far, or not
    last, starts = np.zeros(1, np.int64), np.array([-FAR])
    for cell in cells:
        mine = cell.inside[d]
        if not mine.any():  # an empty window: every row of it is tied beyond the candidates
            return FAR
        here, held = cell.away[d][mine], cell.inside[e][mine]
        away = np.where(_can_follow(starts, cell.ends[mine]), np.abs(np.subtract.outer(here, last)), FAR)
        kept, lost = ((away + row).min(axis=1) for row in least)
        least = np.array([np.where(held, kept, FAR), np.minimum(lost, np.where(held, FAR, kept))])
        last, starts = here, cell.starts[mine]
    return int((least[1] + np.abs(excess - last)).min())


# ------------------------------------------------------------------------------------------------------ trees of chains


FEW = 14
"""Up to this many quantiles a single chain is best."""

WIDEST = 17
"""The most bins that a node splits its bin into."""


class RankedRows(Protocol):
    """n rows as candidates, looked at around some ranks only: `uptack.statistics.quantile_trees.WindowRows`."""

    n: int

    @property
    def size(self) -> int: ...

    def reveal(self, windows: Sequence[tuple[int, int]]) -> None: ...

    def places(self, ranks: Integers) -> Integers:
        """The candidates at which rows lie that have been looked at."""
        ...

    def up_to(self, candidate: int) -> int:
        """How many rows lie at this candidate or below."""
        ...


@dataclass(frozen=True)
class Node:
    """A bin between two targets, by their numbers from 0 to m + 1, and the targets in it that are drawn together."""

    low: int
    high: int
    chosen: tuple[int, ...]


@dataclass(frozen=True)
class Tier:
    """Nodes that are drawn together, and the ε that they cost."""

    epsilon: Fraction
    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class Tree:
    """What is drawn when, for increasing ranks of n rows among `size` candidates: made from public numbers alone.

    `slack` are the rows that the nearest candidate to a rank may be off, where digits don't tell tied rows apart.
    """

    ranks: tuple[int, ...]
    n: int
    size: int
    rows_per_person: int
    slack: int
    tiers: tuple[Tier, ...]

    @staticmethod
    def of(
        ranks: Sequence[int],
        n: int,
        size: int,
        epsilon: Fraction,
        rows_per_person: int = 1,
        slack: int = 0,
        depth: int | None = None,
    ) -> Tree:
        """So many tiers, or as many as keep nodes narrow, with about as many targets in each node."""
        if depth is None:
            few = len(ranks) <= FEW
            first = 1 if few else max(2, math.ceil(math.log(len(ranks) + 1) / math.log(WIDEST) - 1e-9))
            trees = (Tree.of(ranks, n, size, epsilon, rows_per_person, slack, d) for d in itertools.count(first))
            return next(tree for tree in trees if tree.widest <= 2 * WIDEST)
        tiers, known = list[Tier](), [0, len(ranks) + 1]
        width, part = (len(ranks) + 1) ** (1 / depth), epsilon / depth
        least = rows_per_person * steps_needed(part, size, FAILURE)
        for tier in range(depth):
            nodes = []
            for low, high in itertools.pairwise(known):
                chosen = _between(low, high, high - low if tier + 1 == depth else width)
                if tier == 0 and depth > 1:
                    chosen = _root(ranks, n, chosen, least)
                if chosen:
                    nodes.append(Node(low, high, chosen))
            tiers.append(Tier(part, tuple(nodes)))
            known = sorted({*known, *(j for node in nodes for j in node.chosen)})
        return Tree(tuple(ranks), n, size, rows_per_person, slack, tuple(tiers))

    @property
    def widest(self) -> int:
        """The most targets that a node has: more than planned where the root had to leave out some that were close."""
        return max(len(node.chosen) for tier in self.tiers for node in tier.nodes)

    @property
    def failure(self) -> Fraction:
        """What each node may fail with."""
        return FAILURE / sum(len(tier.nodes) for tier in self.tiers)

    @property
    def targets(self) -> list[int]:
        return [0, *(2 * rank - 1 for rank in self.ranks), 2 * self.n]

    def steps(self, tier: Tier, targets: int, candidates: int) -> int:
        """K of a node with these numbers of targets and candidates, in rows."""
        needed = steps_needed(tier.epsilon, max(candidates, 1) ** targets, self.failure)
        return self.rows_per_person * needed + self.slack * targets

    def fits(self, strict: bool = False) -> bool:
        """Whether enough rows lie beyond the outermost targets of every node that has an end of the table.

        Strictly, the outermost one must have enough rows beyond it for all targets of its node, whatever the data.
        """
        return all(self._inside(tier, node, strict) for tier in self.tiers for node in tier.nodes)

    def _inside(self, tier: Tier, node: Node, strict: bool) -> bool:
        at, count = (0, *self.ranks, self.n), len(node.chosen)
        needed = [self.steps(tier, count if strict else b, self.size) for b in range(1, count + 1)]
        low = node.low > 0 or all(at[j] > k for j, k in zip(node.chosen, needed, strict=True))
        last = node.high <= len(self.ranks)
        return low and (last or all(self.n - at[j] > k for j, k in zip(node.chosen[::-1], needed, strict=True)))

    def draw(self, rows: RankedRows, account: Account) -> list[int]:
        """A candidate for each rank, by the theorem above. The account has paid for all nodes together."""
        knots = {0: (0, 0), len(self.ranks) + 1: (self.size, self.n)}
        for tier in self.tiers:
            chain = ChainDraw(loss.BoundedRange(tier.epsilon), chain_decay(tier.epsilon, self.rows_per_person))
            bins = [(node, self._bin(node, knots), knots[node.low][1]) for node in tier.nodes]
            looked = [self.steps(tier, len(node.chosen), one_bin.size) for node, one_bin, _ in bins]
            windows = (
                (start + a, start + b)
                for (_, one_bin, start), steps in zip(bins, looked, strict=True)
                for a, b in one_bin.ranks(steps)
            )
            rows.reveal([(a, b) for a, b in windows if a <= b])
            for (node, one_bin, start), steps in zip(bins, looked, strict=True):
                drawn = _draw_knots(one_bin, steps, chain, rows, start, account)
                knots |= dict(zip(node.chosen, drawn, strict=True))
        return [knots[j][0] for j in range(1, len(self.ranks) + 1)]

    def _bin(self, node: Node, knots: dict[int, tuple[int, int]]) -> Bin:
        (low, before), (high, up_to), at = knots[node.low], knots[node.high], self.targets
        targets = tuple(at[j] - at[node.low] for j in node.chosen)
        return Bin(low, high, up_to - before, targets, at[node.high] - at[node.low])


def _draw_knots(
    one_bin: Bin, steps: int, chain: ChainDraw, rows: RankedRows, start: int, account: Account
) -> list[tuple[int, int]]:
    """Candidates of one bin, each with how many rows of the table there are up to it."""
    if one_bin.size == 0:  # two knots at one candidate
        return [(one_bin.low, start)] * len(one_bin.targets)
    drawn, inside = account.draw(chain, Chain.of(one_bin, steps, chain.q, lambda i: rows.places(start + i)))
    counts = [rows.up_to(v) for v in drawn] if inside is None else [start + i for i in inside]
    return list(zip(drawn, counts, strict=True))


def _between(low: int, high: int, parts: float) -> tuple[int, ...]:
    """Targets that split those between two others evenly."""
    count = min(max(round(parts), 2), high - low)
    return tuple(sorted({low + round(t * (high - low) / count) for t in range(1, count)}))


def _root(ranks: Sequence[int], n: int, wanted: Sequence[int], least: int) -> tuple[int, ...]:
    """Those of the wanted targets that are at least this many rows from each other and from the ends; at least one."""
    apart: list[int] = []
    for j in wanted:
        before = ranks[apart[-1] - 1] if apart else 0
        if ranks[j - 1] - before >= least and n - ranks[j - 1] >= least:
            apart.append(j)
    return tuple(apart) or ((len(ranks) + 1) // 2,)
