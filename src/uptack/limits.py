"""Lower bounds on the expected error of every ε-differentially private method.

The bounds hold for pure ε-differential privacy under SUBSTITUTE (one row replaced, n public), after any
post-processing. A method that is ε-private under ADD_REMOVE is 2ε-private under SUBSTITUTE. Errors are absolute, summed
over cells.

Hall's chapter 2 gives the orders of magnitude, with constants for counts only. Here every bound has a constant. Those
of the histograms rest on one lemma.

**Lemma.** Let b laws be within a factor E of each other, and let law c belong to the vector η·e_c. Any estimate from
one draw has a mean ℓ1 error over the b laws of at least η·min(1, 2(b - 1)/(b - 1 + E)).

*Proof.* At a point with densities p_1..p_b of sum S, the best vector has the error η·Σ_c min(p_c, S - p_c), coordinate
by coordinate. That is ηS, or 2η(S - p) if some p exceeds S/2. The other densities are at least p/E, so
S - p ≥ S·(b - 1)/(b - 1 + E). Integrate: S has mass b, and the mean over the laws divides by b. ∎
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.discrete.count_mechanism import LossFunction, Problem, optimal_table
from uptack.errors import InvalidArgument
from uptack.exact import Rational

Floats = NDArray[np.float64]
LARGEST_EXPONENT = 700.0
"""e to this power is still a float."""


def _best(bound: Callable[[Floats], Floats], most: int, epsilon: float, spread: float) -> float:
    """The largest of a bound over shifts of 1..most rows, of which those up to about spread/ε matter.

    Every shift gives a valid bound, and 0 is one, so it does no harm that only some 2,000 are looked at where there are
    more, and none whose e^(ε·shift) is not a float.
    """
    if most < 1 or epsilon > LARGEST_EXPONENT:
        return 0.0
    last = min(most, math.ceil(spread / epsilon), math.floor(LARGEST_EXPONENT / epsilon))
    return float(bound(np.unique(np.geomspace(1, last, 2000).round())).max())


def _epsilon(value: object) -> float:
    return float(checks.epsilon(value))


def _at_least(name: str, value: int, least: float, why: str) -> None:
    if value < least:
        raise InvalidArgument(name, f"at least {math.ceil(least)} {why}", value)


def count_minimax(n: int, epsilon: Rational) -> float:
    """e^-2/ε: the worst-case expected error of any ε-private count is at least this (Hall, Prop. 2.3.1).

    **Conditions.** ε < 2 and n ≥ 6/ε. The text omits the second one, without which its proof leaves the range of
    counts. As n·ε goes to 0 the claim is false: the constant answer n/2 has an error of at most n/2. `count` is sharper
    and has no conditions.

    >>> round(count_minimax(70, 0.1), 4)
    1.3534
    """
    rows, eps = checks.integer("n", n, least=1), _epsilon(epsilon)
    if eps >= 2:
        raise InvalidArgument("epsilon", "below 2", checks.describe(epsilon), "uptack.limits.count holds for any ε.")
    _at_least("n", rows, 6 / eps, "(6/ε); uptack.limits.count holds for any n")
    return math.exp(-2) / eps


def count(n: int, epsilon: Rational) -> float:
    """A bound for any ε-private count in 0..n: the maximum over d ≤ n of d/(1 + e^(εd)), about 0.278/ε.

    **Theorem.** The worst-case expected error is at least this. For the counts 0 and d the two errors of an answer sum
    to at least d. The two laws are within a factor e^(εd), so their overlap is at least 2/(1 + e^(εd)). There is no
    condition on n or ε.

    >>> round(count(70, 0.1), 3), round(count(1, 1), 4)  # at n = 1 it is the minimax risk itself
    (2.784, 0.2689)
    """
    rows, eps = checks.integer("n", n, least=1), _epsilon(epsilon)
    return _best(lambda d: d / (1 + np.exp(eps * d)), rows, eps, 4.0)


def count_uniform(n: int, epsilon: Rational, worst_risk: Rational) -> float:
    """A bound at *every* input, for a count whose expected error is never above `worst_risk` (Hall, Prop. 2.3.2).

    **Theorem** (repaired). With c = ε·worst_risk, τ = ⌈4c/ε⌉ and n ≥ 2τ - 1 the expected error is at least
    (c/ε)e^(-4c - ε) at every input. By Markov's inequality the answer is within τ/2 of the truth with probability
    1 - 2c/(ετ) ≥ 1/2. A table τ rows away gives the same answers, now wrong by τ/2, with probability at least
    e^(-ετ)/2. (The text has 1 - c/(ετ) there, and the bound (c/2ε)e^(-2c - ε), which does not follow.)
    """
    rows, eps = checks.integer("n", n, least=1), _epsilon(epsilon)
    worst = float(checks.positive("worst_risk", worst_risk))
    steps = math.ceil(4 * worst)
    _at_least("n", rows, 2 * steps - 1, "(2·⌈4·worst_risk⌉ - 1)")
    return worst * math.exp(-4 * eps * worst - eps)


def _blocks(blocks: int, size: int, rows: int, eps: float) -> float:
    """The lemma in disjoint blocks of `size` cells, one cell of each holding η rows: their errors add up."""
    if blocks < 1 or size < 2:
        return 0.0
    others, spread = size - 1, 2 * math.log(size) + 4

    def block(eta: Floats) -> Floats:
        return np.asarray(eta * np.minimum(1, 2 * others / (others + np.exp(eps * eta))), np.float64)

    return blocks * _best(block, rows // blocks, eps, spread)


def histogram(n: int, cells: int, epsilon: Rational) -> float:
    """About 0.3·p/ε: a bound on the worst-case expected ℓ1 error of an ε-private histogram of p cells and n rows.

    **Theorem** (Hall, Prop. 2.4.2: of order (p - 1)/ε): `sparse_histogram` with all cells occupied. With many rows,
    blocks of 3 cells give the best bound. With few rows the bound is of order n.

    >>> round(histogram(10_000, 64, 0.1), 1)
    194.4
    """
    return sparse_histogram(n, cells, checks.integer("cells", cells, least=2), epsilon)


def sparse_histogram(n: int, cells: int, occupied: int, epsilon: Rational) -> float:
    """The same if at most q cells are known to be occupied: about (q - 1)·ln((p - 1)/(q - 1))/ε for q far below p.

    **Theorem** (Hall, Prop. 2.4.4: of order q·ln((p - 1)/q)/ε). There are two constructions. In the first, k < q cells
    hold 0 or τ rows each, and the argument of `count` applies to each: k·τ/(1 + e^(ετ)) for kτ ≤ n. In the second, each
    of k < q blocks of b cells has one cell, anywhere, with η rows: k·η·min(1, 2(b - 1)/(b - 1 + e^(εη))) for kη ≤ n, by
    the lemma. In both, one further cell holds the other rows. Every choice of k, b, τ and η is a valid bound, and the
    best of many is returned.

    >>> round(sparse_histogram(21_574, 2**16, 3_152, 1))
    9190
    """
    rows, size, eps = checks.integer("n", n, least=1), checks.integer("cells", cells, least=2), _epsilon(epsilon)
    filled, free = checks.integer("occupied", occupied, least=2), size - 1
    if filled > size:
        raise InvalidArgument("occupied", f"at most cells, {size}", filled)
    most = filled - 1  # and whole numbers up to it, each about a tenth above the one before
    numbers = sorted({min(round(1.1**i), most) for i in range(math.ceil(math.log(most) / math.log(1.1)) + 1)})
    blocks = (_blocks(min(k, free // b), b, rows, eps) for k in numbers for b in (2, 3, free // k) if b <= free)
    cubes = (k * _best(lambda d: d / (1 + np.exp(eps * d)), rows // k, eps, 4.0) for k in numbers)
    return max(*cubes, *blocks, 0.0)


def margins(n: int, columns: int, epsilon: Rational) -> float:
    """Above 0.04·k²/ε: a bound on the worst-case expected ℓ1 error of all one-way margins of k binary columns.

    **Theorem** (Hall, Prop. 2.4.5: of order k²/ε). Put τ ≤ n rows into one of the 2^k cells, σ, and the others into
    cell 0. The margins are τσ, and all 2^k laws are within a factor E = e^(ετ). At a point with densities p_σ the error
    is at least τ·Σ|σ|p_σ, with every column counted from its likelier side. As a share of Σp_σ this is least if p = E
    on {|σ| ≤ t} and 1 elsewhere. So with X binomial(k, 1/2) the risk is at least
    τ·min over t of (k/2 + (E - 1)·E[X; X ≤ t])/(1 + (E - 1)·P(X ≤ t)).

    >>> round(margins(10_000, 16, 1), 1), round(margins(70, 1, 0.1), 3)  # one column is a count
    (22.6, 2.784)
    """
    import scipy

    rows, k, eps = checks.integer("n", n, least=1), checks.integer("columns", columns, least=1), _epsilon(epsilon)
    if k > 1000:
        raise InvalidArgument("columns", "at most 1000", k, "A bound for fewer columns holds for more.")
    t = np.arange(k + 1)
    mass, partial = scipy.stats.binom.cdf(t, k, 0.5), np.cumsum(t * scipy.stats.binom.pmf(t, k, 0.5))

    def bound(shift: Floats) -> Floats:
        excess = np.expm1(eps * shift)[:, None]
        return np.asarray(shift * ((k / 2 + excess * partial) / (1 + excess * mass)).min(axis=1), np.float64)

    return _best(bound, rows, eps, math.log(2) * k + 4)


def threshold_ceiling(cells: int, occupied: int, epsilon: Rational) -> float:
    """(2q + 1)(ln p + 1)/ε: an *upper* bound for noise with the threshold (2/ε)·ln p (Hall, Prop. 2.4.3).

    It bounds the expected ℓ1 error of Laplace noise of scale 2/ε in each of p cells, of which at most q are occupied,
    if cells at or below the threshold become 0. Under SUBSTITUTE.
    """
    size, filled = checks.integer("cells", cells, least=1), checks.integer("occupied", occupied, least=0)
    if filled > size:
        raise InvalidArgument("occupied", f"at most cells, {size}", filled)
    return (2 * filled + 1) * (math.log(size) + 1) / _epsilon(epsilon)


def computed_minimax_risk(n: int, epsilon: Rational, loss: LossFunction = "absolute") -> float:
    """The minimax risk of ε-private mechanisms for a count in 0..n, by linear programming (Hall, section 2.3.3).

    This is the minimax risk itself and not a bound, to the relative precision of the solver, about 1e-6. For the
    absolute loss it increases with n to 1/sinh(ε), the risk of the two-sided geometric mechanism.

    >>> round(computed_minimax_risk(1, 1), 4)
    0.2689
    """
    return optimal_table(Problem.of(n, epsilon, loss))[1]
