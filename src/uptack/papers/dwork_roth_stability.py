"""A_dist and A_samp of Dwork and Roth (section 7.3; Smith and Thakurta 2013)."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Unpack

import numpy as np

from uptack import checks, interrupts
from uptack.account import Account
from uptack.blocks.block_copies import Indices, number_of_rows
from uptack.blocks.block_evaluation import EvaluationOptions, Functions, accepting, attempt, evaluate, functions
from uptack.blocks.stable_values import lead_needed, release_mode
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms.stability import median_distance, mode_distance, outcome, release_if_stable, winner
from uptack.noise import Entropy
from uptack.noise.entropy import source
from uptack.privacy import SUBSTITUTE, Privacy, loss
from uptack.progress import track
from uptack.reach.l_statistics import quantile_rank
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.table.values.entrance import column_field

BUILT_IN = ("mode", "median")
LIMIT = 100_000
"""The most subsamples that A_samp takes unless `limit` allows more."""

WORD = 1 << 32


@release(data=("g", "x"), page="papers")
def A_dist(
    g: str | Callable[[Any], Any],
    x: Any,
    eps: Rational,
    delta: Rational,
    *,
    distance: Callable[[Any], int] | None = None,
    entropy: Entropy | None = None,
) -> Release[Any] | NoReply:
    """A_dist: g(x) if d + Lap(1/ε) is above ln(1/δ)/ε, d the distance to instability, or ⊥ (Algorithm 13).

    g is "mode" or "median", or any function with a `distance(x)` that is 0 where a row replaced in x can change g(x),
    and moves by at most 1 when one is. Both run in processes of their own: where g fails, or returns no plain hashable
    value, its value is None, and where `distance` fails or returns no integer, it is 0.

    **Theorem.** (ε, δ/2)-differentially private under SUBSTITUTE. Distances are integers and so is the noise: the
    threshold is the least t with P(z ≥ t) ≤ δ/2. (Twice the δ in print. With the gap g of a mode, d is
    max(0, ⌈g/2⌉ - 1).)

    >>> from uptack import SeededEntropy
    >>> A_dist("mode", "a" * 80 + "b" * 20, 1, 1e-6, entropy=SeededEntropy(1))
    Release('a', A_dist, ε = 1.0, δ = 5e-07 (substitute), NOT PRIVATE: seeded randomness)
    """
    half, bits = checks.inside_unit("delta", delta) / 2, source(entropy)
    checks.epsilon(eps, "eps")
    value, far = _value_and_distance(g, x, distance)
    reply = release_if_stable(value, far, epsilon=eps, delta=half, entropy=bits)
    return replace(reply, mechanism="A_dist")


def _value_and_distance(
    g: str | Callable[[Any], Any], x: Any, distance: Callable[[Any], int] | None
) -> tuple[Any, int]:
    if callable(g):
        if not callable(distance):
            fix = "Say how many rows must be replaced before g can change."
            raise InvalidArgument("distance", "a function of x, for a g of your own", checks.describe(distance), fix)
        steps = attempt(distance, (x,), operator.index, 0)
        return attempt(g, (x,), *accepting("outcome", None)), steps
    if g not in BUILT_IN or distance is not None:
        must = "'mode' or 'median' without a distance, or a function with one"
        raise InvalidArgument("g", must, checks.describe(g))
    if g == "mode":
        rows = [interrupts.attempt(partial(outcome, row), lambda: None) for row in x]  # one that can't be counted: None
        return winner(rows).value, mode_distance(rows)
    data = np.sort(np.nan_to_num(column_field("x", x).floats()) + 0.0)  # -0.0 and 0.0 tie, and must look alike
    return float(data[quantile_rank(Fraction(1, 2), data.size) - 1]), median_distance(data)


@dataclass(frozen=True, repr=False)
class SamplingPlan:
    """What A_samp takes: m subsamples, each row in each with probability q, none in more than `most` of them."""

    n: int
    q: Fraction
    m: int
    blocks: int
    privacy: Privacy

    @property
    def most(self) -> int:
        """⌊2mq⌋: A_samp halts if a row is in more subsamples."""
        return int(2 * self.m * self.q)

    def __repr__(self) -> str:
        size, q = float(self.q * self.n), float(self.q)
        return (
            f"m = {self.m:,} subsamples of about {size:,.1f} rows, q = {q:.3g}; {self.m * self.n:,} coins\n"
            f"f runs {self.m:,} times; stable_value runs it {self.blocks:,} times for the same ε and δ\n"
            f"cost: {self.privacy}"
        )


def sampling_plan(n: int, eps: Rational, delta: Rational) -> SamplingPlan:
    """q = ε/(64·ln(1/δ)), rounded down to a multiple of 2^-32, and m = ⌈ln(n/δ)/q²⌉."""
    epsilon, dlt = checks.epsilon(eps, "eps"), checks.inside_unit("delta", delta)
    rows = checks.integer("n", n, least=1)
    coin = math.floor(WORD * min(float(epsilon) / (64 * -math.log(dlt)), 1.0))
    if coin == 0:
        raise InvalidArgument("eps", "large enough for a q of at least 2^-32", checks.describe(eps))
    q = Fraction(coin, WORD)
    m = math.ceil((math.log(rows) - math.log(dlt)) / float(q) ** 2)
    return SamplingPlan(rows, q, m, 2 * lead_needed(epsilon, dlt), Privacy(epsilon, dlt / 2))


@release(data=("f", "data"), page="papers")
def A_samp(
    f: Functions,
    data: Any,
    eps: Rational,
    delta: Rational,
    *,
    dry_run: bool = False,
    limit: int | None = LIMIT,
    fallback: Any = None,
    entropy: Entropy | None = None,
    **options: Unpack[EvaluationOptions],
) -> Release[Any] | NoReply | SamplingPlan:
    """A_samp: the value that f has on most of m Poisson subsamples, by A_dist, or ⊥ (Algorithm 14).

    q = ε/(64·ln(1/δ)), m = ⌈ln(n/δ)/q²⌉; ⊥ if some row is in more than r = ⌊2mq⌋ subsamples; d = gap/(2r) - 1 with the
    lead of the most frequent value over the second.

    **Theorem.** (ε, δ/2)-differentially private under SUBSTITUTE, for any f. Given the subsamples, which do not depend
    on the data, one replaced row changes at most r results and the gap by at most 2r; where it changes the mode, the
    gap is at most 2r. The noise on gap - 2r is the integer Laplace law of scale 2r/ε. (Twice the δ in print.) If f has
    the same value on a subsample as on the data with a probability of 3/4, it is released with one of 1 - 3δ.

    The plan is printed (to standard error) before anything else happens, and `dry_run=True` returns it instead of
    starting. Where it takes more than `limit` subsamples the reply is ⊥ and free of charge; `limit=None` insists.

    >>> A_samp(len, np.zeros(10_000), 1, 1e-6, dry_run=True)
    m = 18,001,539 subsamples of about 11.3 rows, q = 0.00113; 180,015,390,000 coins
    f runs 18,001,539 times; stable_value runs it 68 times for the same ε and δ
    cost: ε = 1.0, δ = 5e-07 (substitute)
    """
    bits, scheme = source(entropy), sampling_plan(number_of_rows(data), eps, delta)
    most = scheme.m if limit is None else checks.integer("limit", limit, least=1)
    analysts, (accept, fixed) = functions(f, **options), accepting("outcome", fallback)
    if dry_run:
        return scheme
    print(scheme, file=sys.stderr)
    if scheme.m > most:
        way = f"limit={scheme.m:,}, with as many runs of f, or uptack.stable_value, with {scheme.blocks:,} runs"
        return NoReply(Privacy(0), "A_samp", None, Advice(other=way), bits.private)
    parts = Account.elsewhere("A_samp", bits).toss(
        lambda entropy: _subsamples(scheme, entropy, options.get("progress"))
    )
    if parts is None:
        tree = loss.Unit(loss.Test(scheme.privacy.exact_epsilon, scheme.privacy.exact_delta), None)
        again = Advice(other="another try: some row was in too many subsamples")
        return NoReply(scheme.privacy, "A_samp", tree, again, bits.private)
    results = evaluate(analysts, data, parts, accept, fixed, **options)
    eps, delta = scheme.privacy.exact_epsilon, scheme.privacy.exact_delta
    reply, _ = release_mode(results, scheme.most, epsilon=eps, delta=delta, adjacency=SUBSTITUTE, entropy=bits)
    return replace(reply, mechanism="A_samp")


def _subsamples(scheme: SamplingPlan, entropy: Entropy, progress: bool | None) -> list[Indices] | None:
    """m sets that each row is in with probability q, independently; None if one is in more than `most` of them."""
    coin, used, sets = int(scheme.q * WORD), np.zeros(scheme.n, np.int64), []
    for _ in track(range(scheme.m), "subsamples", show=progress):
        chosen = np.flatnonzero(entropy.words(scheme.n) < coin)
        used[chosen] += 1
        sets.append(chosen)
    return sets if used.max() <= scheme.most else None
