"""Inverse sensitivity: draw an answer with probability falling in the number of rows that must change to get it.

Score a candidate y by the least k with y in interval k of a reach, K + 1 where there is none up to K. By the axioms of
a reach the score changes by at most one between neighbours. Candidates are the points of a finite lattice of machine
numbers, so no bounds are needed.

**Theorem.** Let ρ be a rational with e^(-ε/2) ≤ ρ < 1. Drawing y with probability proportional to ρ^score(y) over the
lattice is ε-differentially private, under the adjacency that the axioms hold for: between neighbours each weight, and
so also their sum, changes by a factor of at most 1/ρ ≤ e^(ε/2). The draw is exact (`uptack.noise.coins`).

**Bounded range.** It has bounded range ε (`uptack.privacy.loss.BoundedRange`): between neighbours the log-ratio
ln(P(y)/P'(y)) = (score'(y) - score(y))·ln(1/ρ) + ln(Σ'/Σ), where Σ and Σ' are the sums of all weights and don't depend
on y. The first term is between -ln(1/ρ) and ln(1/ρ), so the log-ratio lies in an interval of length 2·ln(1/ρ) ≤ ε. It
makes no difference which candidates there are, in how many dimensions, or by which public factors weights are
multiplied. So the draw is also ε²/8-zCDP.

**Accuracy.** With L candidates, P(score > k) ≤ L·ρ^(k+1): the sum of all weights is at least 1, that of T(D) itself.

**⊥ as a candidate.** Interval k says something as long as both its ends are inside the data: up to k = κ. Let ⊥ be one
more candidate, of weight W = L·ρ^(κ + 1)/f, or max(0, W - 1) where κ is public. κ may be secret if it changes by at
most one between neighbours. Unless L·ρ^(K + 1) ≤ f it is brought down to K.

**Theorem.** The draw is still ε-differentially private, and the chance of a reply from outside interval min(κ, K) is at
most f, whatever the data and however few they are. *Proof.* A public weight does not change between neighbours, and a
secret one changes by a factor of at most 1/ρ, as the others do. So each weight, and their sum, changes by a factor of
at most 1/ρ. For κ ≤ K, candidates outside interval κ weigh at most L·ρ^(κ + 1) together, and all candidates with ⊥ at
least L·ρ^(κ + 1)/f: ⊥ alone does where κ is secret, and ⊥ with T(D), which weighs 1, where it is public. For κ > K,
candidates outside interval K weigh at most L·ρ^(K + 1) ≤ f, and T(D) weighs 1. ∎

With enough rows a public W is 0, and nothing is refused. With fewer, ⊥ is drawn where its weight is more than that of
the candidates near T(D). So it counts how many candidates are near, not how many there are: most columns get a reply
with half of the rows that a rule by public numbers must ask for. A ⊥ that was drawn has cost its ε.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from uptack.account import AssumptionFailed, Mechanism
from uptack.exact import ball, exp_minus, logarithm
from uptack.mechanisms.plausible_range import Lattice
from uptack.noise import Entropy, MachineNumbers
from uptack.noise.coins import pick
from uptack.privacy import loss
from uptack.reach import LStatistic, Reach

Number = TypeVar("Number", Fraction, arb)
Key = TypeVar("Key")

LATTICES = tuple(MachineNumbers(mantissa_bits=bits) for bits in range(52, 39, -1))
"""Candidates from fine to coarse: numbers up to 1e77 with 52 to 40 bits of mantissa near 1, three fewer at 1e6."""
VECTOR_LATTICES = tuple(MachineNumbers(mantissa_bits=bits) for bits in range(52, 15, -1))
"""The same for vectors, whose guarantee pays for the bits of every coordinate: down to 16 of them."""

FAILURE = Fraction(1, 10**6)
"""The probability of a reply from outside interval K. If n is too small for it, the reply is ⊥."""
GENEROUS = Fraction(1, 8)
"""The share of the candidates that may be near the answer, per coordinate. Rows around 0 come to that, since all tiny
numbers are among them; others have less than a binade, one in 68. Where ⊥ weighs more than even that, hardly any data
would get a reply, and ⊥ is free."""
SPARE_BITS = 32
"""Mantissa bits if ⊥ is a candidate: enough for numbers such as 1e6 ± 1."""


def decay(epsilon: Fraction) -> Fraction:
    """ρ: e^(-ε/2) rounded up to a multiple of 2^-64."""
    return Fraction(exp_minus(epsilon / 2).floor(64) + 1, 1 << 64)


log_decay = lru_cache(maxsize=256)(logarithm)
"""ln ρ, which every draw at the same ε needs."""


def finest(
    room: int, epsilon: Fraction, dimension: int = 1, lattices: Sequence[Lattice] = LATTICES
) -> tuple[Lattice, int] | None:
    """The finest lattice whose guarantee needs no more than `room` steps, with these; None where there is none.

    The error of a typical answer hardly depends on the mantissa bits, but the guarantee pays for them. `room` must be
    public, so choosing costs nothing.
    """
    for lattice in lattices:
        if (steps := steps_needed(epsilon, lattice.size**dimension)) <= room:
            return lattice, steps
    return None


def choose_lattice(
    room: int, epsilon: Fraction, dimension: int = 1, lattices: Sequence[Lattice] = LATTICES
) -> tuple[Lattice, int] | None:
    """The lattice and K for data that are known to bear `room` steps; None where hardly any would get a reply.

    The finest lattice that never refuses, if there is one. Otherwise one of `SPARE_BITS`, or the coarsest if that has
    more, with ⊥ as a candidate: there the bits hardly count.
    """
    if (sure := finest(room, epsilon, dimension, lattices)) is not None:
        return sure
    spare = next((one for one in reversed(lattices) if one.mantissa_bits >= SPARE_BITS), lattices[0])
    return (spare, room) if worth_asking(room, epsilon, dimension) else None


def worth_asking(
    room: int, epsilon: Fraction, dimension: int = 1, failure: Fraction = FAILURE, near: Fraction = GENEROUS
) -> bool:
    """Whether ⊥ weighs less than this share of all candidates. It depends on public numbers, so asking is free."""
    return room >= 0 and (room + 1) * float(epsilon) / 2 > -math.log(failure) - dimension * math.log(near)


def steps_needed(epsilon: Fraction, candidates: int, failure: Fraction = FAILURE) -> int:
    """K: the least k with candidates·e^(-ε(k+1)/2) ≤ failure. It depends on public numbers alone."""
    needed = math.log(candidates) + math.log(failure.denominator) - math.log(failure.numerator)
    return max(math.ceil(2 * Fraction(needed) / epsilon) - 1, 1)


def slack_needed(epsilon: Fraction) -> int:
    """Steps beyond K that the data must allow, so that ⊥ of a secret weight is drawn at most once in 200 times."""
    return math.ceil(2 / float(epsilon) * math.log(200))


@dataclass(frozen=True)
class Refusal:
    """⊥ as a candidate. `bears` is κ, the number of steps for which both ends of the intervals are inside the data.

    Where it is `secret`, it must change by at most one between neighbours.
    """

    bears: int
    secret: bool = False
    failure: Fraction = FAILURE

    @property
    def _place(self) -> int:
        return max(self.bears, -1) + 1

    def weight(self, rho: Number, candidates: int) -> Number:
        """W = L·ρ^(κ + 1)/f; where κ is public, max(0, W - 1). Exact for a rational ρ, a ball for a ball."""
        weight = rho**self._place * (candidates * self.failure.denominator) / self.failure.numerator
        if self.secret:
            return weight
        return (weight - 1).max(arb(0)) if isinstance(weight, arb) else max(weight - 1, Fraction(0))

    def log_weight(self, log_rho: float, candidates: int) -> float:
        """ln of it in floats, from ln ρ; -inf for 0."""
        log = math.log(candidates) - math.log(self.failure) + self._place * log_rho
        if self.secret:
            return log
        return log + math.log(-math.expm1(-log)) if log > 0 else -math.inf


@dataclass(frozen=True)
class Boxes:
    """Nested boxes of lattice points, k = 0, ..., K, inside a box of all candidates: one row of ends per coordinate.

    They are scored candidates (`Scored`), and ⊥ is one more of them if there is a `refusal`.
    """

    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    whole: tuple[tuple[int, int], ...]
    refusal: Refusal | None = None

    @property
    def candidates(self) -> int:
        """L: how many there are."""
        return math.prod(b - a + 1 for a, b in self.whole)

    def ends(self, k: int) -> list[tuple[int, int]]:
        """The sides of box k; of the box of all candidates for k = K + 1."""
        if k == self.lows.shape[1]:
            return list(self.whole)
        return list(zip(self.lows[:, k].tolist(), self.highs[:, k].tolist(), strict=True))

    def shells(self) -> list[int]:
        """How many points have score 0, 1, ..., K + 1."""
        sides = np.column_stack([self.highs - self.lows, [b - a for a, b in self.whole]]) + 1
        volumes = sides.astype(object).prod(axis=0)  # beyond int64, of several coordinates
        counts: list[int] = np.diff(volumes, prepend=0).tolist()
        return counts

    def weights(self, rho: Number, refusal: Refusal | None = None) -> Iterator[Number]:
        """The total weight of each score, how many points times ρ^score, and then that of ⊥ if it is a candidate.

        Exact for a rational ρ, balls for a ball.
        """
        power = rho**0
        for count in self.shells():
            yield power * count
            power *= rho
        if refusal is not None:
            yield refusal.weight(rho, self.candidates)

    def cap(self, rho: Fraction, refusal: Refusal) -> Refusal:
        """The same with κ ≤ K, unless L·ρ^(K + 1) ≤ f, to within rounding. All this is public."""
        steps = self.lows.shape[1] - 1
        outside = math.log(self.candidates) + (steps + 1) * log_decay(rho)
        sure = outside <= math.log(refusal.failure) + 1e-9
        return refusal if sure else replace(refusal, bears=min(refusal.bears, steps))

    def draw(self, rho: Fraction, entropy: Entropy) -> list[int] | None:
        """First the score, then a uniform point that has it."""
        logs, log_rho = np.array([math.log(count) if count else -math.inf for count in self.shells()]), log_decay(rho)
        logs += log_rho * np.arange(logs.size)
        refusal = None if self.refusal is None else self.cap(rho, self.refusal)
        if refusal is not None:
            logs = np.append(logs, refusal.log_weight(log_rho, self.candidates))
        k = pick(logs, lambda: self.weights(ball(rho), refusal), entropy)
        if k > self.lows.shape[1]:
            return None
        return _uniform_between(self.ends(k - 1) if k else None, self.ends(k), entropy)

    def move(self, other: Boxes, rho: Fraction) -> int:
        """That of the boxes, and that of κ if it is secret."""
        move = score_move(self, other)
        if (self.refusal is None) != (other.refusal is None):
            raise AssumptionFailed("⊥ is a candidate on one side only")
        if self.refusal is None or other.refusal is None:
            return move
        one, two = self.cap(rho, self.refusal), other.cap(rho, other.refusal)
        if replace(one, bears=0) != replace(two, bears=0) or (one.bears != two.bears and not one.secret):
            raise AssumptionFailed("the weight of ⊥ depends on the data")
        return max(move, abs(max(one.bears, -1) - max(two.bears, -1)))


def boxes(
    reaches: list[Reach],
    steps: int,
    lattice: Lattice,
    *,
    widen: float = 0.0,
    nonnegative: bool = False,
) -> Boxes:
    """The reaches' intervals as boxes of lattice points, rounded outward, each first widened on both sides.

    Ends beyond the lattice are brought to its ends before they are widened. That keeps order, so the axioms hold for
    what comes out, and nothing can overflow, with rows at the largest float or none at all: `widen` must be a number
    inside the lattice.
    """
    lows, highs, largest = [], [], lattice.value(lattice.top)
    for reach in reaches:
        low, high = (np.clip(end, -largest, largest) for end in reach.intervals(steps))
        lows.append(lattice.floors(low - widen))
        highs.append(lattice.ceils(high + widen))
    least, most = lattice.floor(0.0 if nonnegative else -largest), lattice.ceil(largest)
    return Boxes(np.maximum(np.array(lows), least), np.array(highs), ((least, most),) * len(reaches))


def round_to(value: float, granularity: Fraction | None) -> float:
    """The multiple of a public granularity nearest to a drawn value: post-processing."""
    if granularity is None:
        return value
    return float(round(Fraction(value) / granularity) * granularity)


class Scored(Protocol):
    """Candidates with scores of whole numbers, which move by at most one between neighbours."""

    def draw(self, rho: Fraction, entropy: Entropy) -> Any:
        """A candidate with probability proportional to ρ^score times a public weight, or None for ⊥."""
        ...

    def move(self, other: Any, rho: Fraction) -> int:
        """By how much the score of some candidate moves. `AssumptionFailed` if what must be public is not equal."""
        ...


@dataclass(frozen=True)
class InverseDraw(Mechanism[Scored, Any]):
    """A candidate with probability proportional to ρ^score, or None for ⊥, by the theorems of this module."""

    rho: Fraction

    @staticmethod
    @lru_cache(maxsize=256)
    def of(epsilon: Fraction, rows: int = 1) -> InverseDraw:
        """The draw that costs ε if one person moves scores by at most `rows` steps. Worked out once for each ε."""
        return InverseDraw(loss.BoundedRange(epsilon), decay(epsilon / rows))

    def draw(self, value: Scored, entropy: Entropy) -> Any:
        return value.draw(self.rho, entropy)

    def price(self, value: Scored, other: Scored, output: Any) -> float:
        """2·ln(1/ρ) for each step by which the score of some candidate moves."""
        return 2 * value.move(other, self.rho) * -log_decay(self.rho)


def score_move(one: Boxes, other: Boxes) -> int:
    """By how much the score of some candidate moves: the least s with box k of either in box k + s of the other.

    Past its last box each has the box of all candidates. They may have looked at different numbers of steps: where rows
    are few, all candidates are reached before K.
    """
    width = int(max(one.lows.shape[1], other.lows.shape[1])) + 1
    if one.whole != other.whole:
        return width
    ends = [(_pad(b.lows, b.whole, 0, width), _pad(b.highs, b.whole, 1, width)) for b in (one, other)]
    for s in range(width):
        last = np.minimum(np.arange(width) + s, width - 1)
        inside = [(a[0] >= b[0][:, last]).all() and (a[1] <= b[1][:, last]).all() for a, b in (ends, ends[::-1])]
        if all(inside):
            return s
    return width


def _pad(ends: NDArray[np.int64], whole: Sequence[tuple[int, int]], side: int, width: int) -> NDArray[np.int64]:
    """Ends of boxes, and then of the box of all candidates up to this width."""
    last = np.array(whole, np.int64)[:, side : side + 1]
    return np.hstack([ends, np.repeat(last, width - ends.shape[1], axis=1)])


def _uniform_between(inner: list[tuple[int, int]] | None, outer: list[tuple[int, int]], entropy: Entropy) -> list[int]:
    """A uniform point of the outer box that is not in the inner one.

    The difference is cut into slabs: in slab i the coordinates before i lie in the inner box, coordinate i does not,
    and those after it lie anywhere in the outer one. Inside a slab the point is decoded from one uniform integer.
    """
    if inner is None:
        return [a + entropy.below(b - a + 1) for a, b in outer]
    core, free = ([b - a + 1 for a, b in box] for box in (inner, outer))
    slabs = [math.prod(core[:i]) * (free[i] - core[i]) * math.prod(free[i + 1 :]) for i in range(len(outer))]
    ticket, slab = entropy.below(sum(slabs)), 0
    while ticket >= slabs[slab]:
        ticket, slab = ticket - slabs[slab], slab + 1
    point = []
    for i, ((a, b), (c, _)) in enumerate(zip(outer, inner, strict=True)):
        size = core[i] if i < slab else free[i] - core[i] if i == slab else free[i]
        ticket, offset = divmod(ticket, size)
        if i == slab:  # skip the inner side
            point.append(a + offset if offset < c - a else a + offset + core[i])
        else:
            point.append((c if i < slab else a) + offset)
        assert a <= point[-1] <= b
    return point


# ------------------------------------------------------------------------------------------- medians of several columns


def median_room(rows: int, moves: int = 1) -> int:
    """How many people, with m rows each, may change before the median reaches an end of the rows: at least -1."""
    return ((rows + 1) // 2 - 1) // moves


def median_boxes(rows: NDArray[np.float64], given: tuple[Lattice, int], moves: int = 1) -> Boxes:
    """The boxes that the vector of the columns' medians is drawn from, on a lattice and with a number of steps.

    **Reach.** Replacing one row moves each median by at most one rank, so the product of the columns' intervals
    [x(r - mk), x(r + mk)] is a reach of the vector, where one person replaces up to m rows: each axiom holds coordinate
    by coordinate, and no coordinate pays for another.
    """
    (lattice, steps), rank = given, (len(rows) + 1) // 2
    reaches: list[Reach] = [LStatistic.quantile(np.ascontiguousarray(c), rank, steps, moves) for c in rows.T]
    return boxes(reaches, steps, lattice)


# ------------------------------------------------------------------------ countably many candidates with public weights


@dataclass(frozen=True)
class WeightedCandidates(Generic[Key]):
    """Candidates with their public weights and scores below K, and what all others weigh.

    **Theorem.** Let every candidate y have a public weight p(y), the sum of all p at most 1, and a score s(y) of whole
    numbers up to a public K that moves by at most 1 between neighbours. Let ρ be a rational with e^(-ε/2) ≤ ρ < 1.
    Drawing y with probability proportional to p(y)·ρ^s(y) is ε-differentially private and of bounded range ε
    (`uptack.privacy.loss.BoundedRange`): each weight, and so their sum, changes by a factor of at most 1/ρ. Then all
    candidates of score K are reported as one, ⊥: post-processing. ∎

    So only candidates of a lower score need be listed. The rest weighs ρ^K·(1 - Σp of those), whatever it consists of.
    The draw is exact (`uptack.noise.coins`).

    A weight that is a float is that rational. `rest` is Σp of the candidates that are not listed, each of score `most`,
    K; 0 where all are listed. `logs` are the logarithms of the weights, if they are known already.
    """

    keys: Sequence[Key]
    weights: Sequence[Fraction | float]
    scores: NDArray[np.int64]
    rest: Fraction = Fraction(0)
    most: int = 0
    logs: NDArray[np.float64] | None = None

    def log_weights(self, rho: Fraction) -> NDArray[np.float64]:
        """Their logarithms in floats, that of the rest last, if there is one."""
        logs = _logs(self.weights) if self.logs is None else self.logs
        listed = logs + log_decay(rho) * self.scores
        return np.append(listed, _logs((self.rest,)) + log_decay(rho) * self.most) if self.rest else listed

    def draw(self, rho: Fraction, entropy: Entropy) -> Key | None:
        """A candidate with probability proportional to p·ρ^score, or None for all those that are not listed."""

        def exactly() -> Iterator[arb]:
            for p, s in zip(self.weights, self.scores.tolist(), strict=True):
                yield ball(Fraction(p)) * ball(rho) ** s
            if self.rest:
                yield ball(self.rest) * ball(rho) ** self.most

        at = pick(self.log_weights(rho), exactly, entropy)
        return self.keys[at] if at < len(self.keys) else None

    def move(self, other: WeightedCandidates[Key], rho: Fraction) -> int:
        """The largest difference of two scores. What is not listed has the largest score."""
        if self.most != other.most:
            raise AssumptionFailed("the largest score depends on the data")
        one, two = (
            dict(zip(side.keys, zip(side.weights, side.scores.tolist(), strict=True), strict=True))
            for side in (self, other)
        )
        if any(one[key][0] != two[key][0] for key in one.keys() & two.keys()):
            raise AssumptionFailed("the weight of a candidate depends on the data")
        outside = (Fraction(0), self.most)
        return max((abs(one.get(key, outside)[1] - two.get(key, outside)[1]) for key in {**one, **two}), default=0)


def _logs(weights: Sequence[Fraction | float]) -> NDArray[np.float64]:
    """Logarithms of weights, which may be less than the least float."""
    ratios = (p.as_integer_ratio() for p in weights)
    return np.array([math.log(above) - math.log(below) for above, below in ratios], np.float64)
