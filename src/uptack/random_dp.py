"""Random differential privacy (Hall, chapter 5): weaker than differential privacy, and of another type.

(α, β, γ)-random differential privacy: the rows are independent draws of one population, and with probability at least
1 - γ over n + 1 of them (α, β)-differential privacy holds between the n rows and those with the last one exchanged.
**A row that is unusual in its population may be published as it is**; that is where the gain comes from. Nothing is
promised where rows are dependent, or to those who know that the sample is an unlikely one.

Releases carry a `RandomPrivacy`, which can't be added to a `Privacy`, and a loss that no ordinary account can price.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.account import Account
from uptack.blocks.block_evaluation import accepting, attempt
from uptack.errors import InvalidArgument
from uptack.exact import Rational, round_up
from uptack.mechanisms import laplace
from uptack.mechanisms.additive_noise import IntegerNoise, noisy_integer
from uptack.noise import Entropy, IntegerLaplace
from uptack.privacy import SUBSTITUTE, Privacy, RandomPrivacy
from uptack.privacy.loss import Loss, Pure
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.table.values.entrance import flags, numbers

Law = Callable[[tuple[Any, ...]], Mapping[Hashable, float]]
WEAKER = (
    "Random differential privacy is weaker than differential privacy: it protects rows that are typical of the "
    "population they were drawn from, and may publish an unusual row as it is."
)
MOST_MOVE = 1e200
"""The largest value of h. Larger ones count as this."""
ASYMPTOTIC = "The guarantee is asymptotic only: it is approached as the number of rows grows, and proved for none."


@dataclass(frozen=True)
class RandomLoss(Loss):
    """What a random-differentially private release did. `uptack.privacy.cost` has no price for it, and refuses it."""

    privacy: RandomPrivacy


def weaken(privacy: Privacy) -> RandomPrivacy:
    """(ε, δ)-differential privacy as (ε, δ, 0)-random differential privacy, so that the two can be added.

    It needs a guarantee for one replaced row; one for added and removed rows is converted first.

    >>> print(weaken(Privacy(1)) + RandomPrivacy(1, 0, 0.05))
    α = 2.0, β = 0.0, γ = 0.05 (random differential privacy)
    """
    given = checks.instance("privacy", privacy, Privacy, "a Privacy").under(SUBSTITUTE)
    return RandomPrivacy(given.exact_epsilon, given.exact_delta, 0)


def _release(value: Any, guarantee: RandomPrivacy, account: Account, *notes: str) -> Release[Any]:
    private = account.entropy.private
    return Release(value, guarantee, account.name, RandomLoss(guarantee), None, private, (WEAKER, *notes))


def proportion_is_bare(successes: int, n: int, gamma: Fraction) -> bool:
    """Whether (5.1) releases the proportion without noise: 2(m + 1)/n ≤ γ, m the smaller of the two counts."""
    return 2 * (min(successes, n - successes) + 1) <= gamma * n


@release(data=("rows",), page="random_dp")
def binomial_proportion(
    rows: ArrayLike, *, epsilon: Rational, gamma: Rational, entropy: Entropy | None = None
) -> Release[float]:
    """The share of True rows, among all rows: (ε, 0, γ)-randomly differentially private.

    **Theorem** (Hall, (5.1) and Prop. 5.2.1). With m rows of the rarer kind among n: the share itself if
    2(m + 1)/n ≤ γ, else with integer Laplace noise of scale 1/ε on the count. Privacy fails only where the two
    exchanged rows differ and one of the shares is bare. Given n + 1 rows with s of the rarer kind, that needs
    2s ≤ γn, and two of them at random differ with probability 2s(n + 1 - s)/(n(n + 1)) ≤ 2s/n ≤ γ. (The text speaks of
    few 1s; few 0s are alike.)
    """
    eps, share = checks.epsilon(epsilon), checks.inside_unit("gamma", gamma)
    account, truths = Account.elsewhere("binomial proportion", entropy), flags(rows)
    if truths is None or not truths.size:
        raise InvalidArgument("rows", "a column of truth values with at least one row", checks.outline(rows))
    n, successes = truths.size, int(np.count_nonzero(truths))
    if not proportion_is_bare(successes, n, share):
        successes = noisy_integer(successes, IntegerLaplace(1 / eps), account)
    return _release(successes / n, RandomPrivacy(eps, 0, share), account)


def bare_cells(counts: NDArray[np.int64], gamma: Fraction, version: str) -> NDArray[np.bool_]:
    """Which cells get no noise: with "empty" those at 0, if 2d ≤ γn; with "rare" those with (c + 1)/n ≤ γ/2d."""
    n, d = int(counts.sum()), counts.size
    most = math.floor(gamma * n / (2 * d)) - 1  # (c + 1) ≤ γn/2d
    if version == "empty":
        most = min(most, 0)  # 2d ≤ γn says that a cell at 0 is rare
    return np.asarray(counts <= most)


@release(data=("counts",), page="random_dp")
def random_sparse_histogram(
    counts: ArrayLike, *, epsilon: Rational, gamma: Rational, version: str = "rare", entropy: Entropy | None = None
) -> Release[NDArray[np.int64]]:
    """The counts of d cells, with noise in the full ones only: (ε, 0, γ)-randomly differentially private.

    **Theorem** (Hall, (5.2) and (5.3), Props. 5.2.2 and 5.2.3). Of n rows c_j are in cell j. Cells that are bare are
    released as they are, the others with integer Laplace noise of scale 2/ε. `version="empty"`: cell j is bare if
    c_j = 0 and 2d ≤ γn. `version="rare"`: if (c_j + 1)/n ≤ γ/2d, which holds for every such cell and further ones.
    Privacy fails only where one of the two exchanged rows is in a cell with at most γn/2d of the n + 1 rows; there are
    at most γn/2 of those, and one of two random rows is among them with probability below γ.
    """
    eps, share = checks.epsilon(epsilon), checks.inside_unit("gamma", gamma)
    if version not in ("empty", "rare"):
        raise InvalidArgument("version", "'empty' or 'rare'", checks.describe(version))
    name, cells = f"random sparse histogram ({version} cells bare)", np.asarray(counts)
    account = Account.elsewhere(name, entropy)
    if cells.dtype.kind not in "iu" or cells.ndim != 1 or not cells.size:
        raise InvalidArgument("counts", "a one-dimensional array of integers", checks.describe(cells))
    true = np.clip(cells, 0, 1 << 31).astype(np.int64)
    noisy = np.flatnonzero(~bare_cells(true, share, version))
    out = true.copy()
    out[noisy] = account.draw(IntegerNoise(Pure(eps), IntegerLaplace(2 / eps)), out[noisy])
    return _release(out, RandomPrivacy(eps, 0, share), account)


def _pair_moves(result: Any, size: int) -> NDArray[np.float64]:
    """One number for each pair: the largest where h gives none."""
    moves = np.asarray(result, np.float64)
    if moves.shape != (size,):
        raise ValueError
    return np.nan_to_num(moves, nan=MOST_MOVE, posinf=MOST_MOVE)


@release(data=("statistic", "h", "rows"), page="random_dp")
def sensitivity_analysis(
    statistic: Callable[[Any], float],
    h: Callable[[Any, Any], ArrayLike],
    rows: ArrayLike,
    *,
    epsilon: Rational,
    gamma: Rational,
    fallback: float = 0.0,
    entropy: Entropy | None = None,
) -> Release[float] | NoReply:
    """A statistic with noise for the differences that rows usually make: **asymptotically** randomly private.

    Exchanging row x for x' must move the statistic by at most h(x, x')/n: |x - x'| for a mean. `h` gets two halves of
    the rows and returns one number for each pair. Both functions run in processes of their own, and whether they fail
    is not revealed: a statistic that is not a finite number becomes the `fallback`, and a failed h becomes 1e200.

    **Claim** (Hall, section 5.3; s = ĥ/n). Let ĥ be a quantile of h over the n/2 pairs of rows, of a level that by the
    inequality of Dvoretzky, Kiefer, Wolfowitz and Massart puts it above the true 1 - γ/2 quantile with probability
    1 - γ/2. The statistic with Laplace noise of scale 2ĥ/(nε) is (ε, e^(-ε·sqrt(n)/2), γ)-randomly differentially
    private *in the limit* n → ∞: that neighbours have scales within a factor e^(1/sqrt(n)) is shown for large n only,
    and no n is known from which it holds. If n is too small for the level, the answer is ⊥, at no cost.
    """
    eps, share = checks.epsilon(epsilon), checks.inside_unit("gamma", gamma)
    account = Account.elsewhere("sensitivity analysis", entropy)
    for name, function in (("statistic", statistic), ("h", h)):
        checks.instance(name, function, Callable, "a function")  # type: ignore[arg-type]
    accept, fixed = accepting("number", fallback)
    try:
        table = np.asarray(rows)
    except ValueError:  # they form no array: as objects, so that no error reveals a single row
        table = np.fromiter(rows, object, len(rows))  # type: ignore[arg-type]
    if table.ndim == 0:
        raise InvalidArgument("rows", "a table of rows", checks.describe(rows))
    pairs = len(table) // 2  # and the rank among their h above the 1 - γ/2 quantile with probability 1 - γ/2 (DKW)
    level = 1 - float(share) / 2 + math.sqrt(math.log(2 / share) / (2 * max(pairs, 1)))
    rank = math.ceil(level * pairs) if pairs else 1
    if rank > pairs:
        needed = 2 * math.ceil(2 * math.log(2 / share) / float(share) ** 2) + 2
        nothing = RandomPrivacy(0, 0, 0)
        return NoReply(nothing, "sensitivity analysis", RandomLoss(nothing), Advice(n=needed), account.entropy.private)
    halves = table[:pairs], table[pairs : 2 * pairs]
    moves = attempt(h, halves, partial(_pair_moves, size=pairs), np.full(pairs, MOST_MOVE))
    usual = float(np.clip(np.partition(moves, rank - 1)[rank - 1], 1 / MOST_MOVE, MOST_MOVE))
    value = attempt(statistic, (table,), accept, fixed)
    noisy = laplace(value, sensitivity=2 * Fraction(usual) / len(table), epsilon=eps, entropy=account.entropy)
    beta = Fraction(round_up(Fraction(math.exp(-float(eps) * math.sqrt(len(table)) / 2))))
    guarantee = RandomPrivacy(eps, beta, share)
    return replace(_release(noisy.value, guarantee, account, ASYMPTOTIC), noise=noisy.noise)


def _breaks(p: Mapping[Hashable, float], q: Mapping[Hashable, float], rise: float) -> bool:
    return any(mass > rise * q.get(output, 0.0) * (1 + 1e-9) for output, mass in p.items())


def failure_probability(law: Law, rows: Sequence[Any], epsilon: Rational) -> Fraction:
    """For n + 1 rows in random order: the probability that ε-privacy fails when the last two are exchanged.

    `law` gives the probability of each output for a table of n rows whose order it doesn't look at. A mechanism is
    (ε, 0, γ)-randomly differentially private if this is at most γ for all n + 1 rows (Hall, section 5.2.1): on small
    universes that can be checked in full. Both directions of the inequality count.
    """
    rise, n = math.exp(min(float(checks.epsilon(epsilon)), 700.0)), len(rows) - 1
    failed = 0
    for i, j in itertools.combinations(range(n + 1), 2):
        first, second = (law(tuple(r for k, r in enumerate(rows) if k != left)) for left in (i, j))
        failed += _breaks(first, second, rise) or _breaks(second, first, rise)
    return Fraction(failed, math.comb(n + 1, 2))


def prediction_interval(x: ArrayLike, gamma: Rational) -> tuple[float, float]:
    """[x(a), x(n + 1 - a)] with a = ⌊γ(n + 1)/2⌋: it holds the next row with probability at least 1 - γ.

    That is so in any population. **Not private**: it is made of rows. The real line where n + 1 < 2/γ.
    """
    share, values = checks.inside_unit("gamma", gamma), np.sort(numbers("x", x, dimensions=(1,)))
    a = math.floor(share * (values.size + 1) / 2)
    return (float(values[a - 1]), float(values[-a])) if a else (-math.inf, math.inf)


def is_predictive(
    law: Law, tables: Iterable[Sequence[Any]], region: Callable[[tuple[Any, ...]], Iterable[Any]], epsilon: Rational
) -> bool:
    """Whether a mechanism is (ε, γ)-predictively differentially private on these tables (Hall, Definition 5.4.1).

    For every table D and every D' in which one row is exchanged for a value of D's prediction region, of coverage
    1 - γ: P_D(A) ≤ e^ε·P_D'(A) for all A. The text names no mechanism with this property that is not ε-private anyway;
    bare cells and bare shares don't have it, since a lone row may also be the one that is exchanged for a usual one.
    """
    rise = math.exp(min(float(checks.epsilon(epsilon)), 700.0))
    for table in map(tuple, tables):
        here = law(table)
        neighbours = ((*table[:i], x, *table[i + 1 :]) for x in region(table) for i in range(len(table)))
        if any(_breaks(here, law(other), rise) for other in neighbours):
            return False
    return True
