"""Subsample and aggregate (Nissim, Raskhodnikova and Smith; Dwork and Roth, section 7.1).

**Theorem.** Compute f on m random blocks with each row in t of them, and hand the m results to a mechanism that is
(ε, δ)-differentially private when any t·g of the results are replaced. The whole is (ε, δ)-differentially private for
people with up to g rows, whatever f is: given the blocks, a person changes at most t·g results
(`uptack.blocks.block_evaluation`). The number of blocks is public, so this holds under SUBSTITUTE and ADD_REMOVE alike.

The aggregators that are built in count t·g results as one step, so their own ε is that of a person. A guarantee about
fewer replaced results is grown to t·g of them by `uptack.privacy.loss.Partition`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Unpack

import numpy as np

from uptack import checks, statistics
from uptack.account import Account, Outcome
from uptack.blocks.block_evaluation import EvaluationOptions, Functions, accepting, evaluate, functions
from uptack.blocks.partition import check_times, random_blocks, units
from uptack.blocks.stable_values import ShareNoise, Vote, lead_needed, release_mode
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms import inverse_sensitivity as inverse
from uptack.mechanisms.additive_noise import laplace
from uptack.mechanisms.exponential import report_noisy_max
from uptack.mechanisms.inverse_sensitivity import InverseDraw, Refusal
from uptack.noise import Entropy, SystemEntropy
from uptack.noise.entropy import source
from uptack.privacy import SUBSTITUTE, Adjacency, Privacy, cost, loss
from uptack.privacy.guarantee import adjacency as check_adjacency
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.table.reads import OwnedData

Aggregator = Callable[[Any], Release[Any] | NoReply]
NUMERIC: dict[str, Callable[..., Release[float] | NoReply]] = {
    "median": statistics.median,
    "trimmed_mean": partial(statistics.trimmed_mean, cut=Fraction(1, 4)),
    "winsorized_mean": partial(statistics.winsorized_mean, cut=Fraction(1, 4)),
}
AGGREGATES = (*NUMERIC, "vector_median", "mode")
SHARE = Fraction(1, 4)
"""The part of ε that the estimate of the winner's share gets."""


@dataclass(frozen=True)
class Task:
    """The aggregate of the blocks' results: public, and checked before the data are read."""

    aggregate: str | Aggregator
    blocks: int
    moves: int
    epsilon: Fraction
    delta: Fraction
    candidates: tuple[Any, ...] | None
    entropy: Entropy

    @property
    def results(self) -> Adjacency:
        """Neighbours among the results: one person can replace so many."""
        return SUBSTITUTE.per_person(self.moves)


@release(data=("f", "data"), people=OwnedData(("data",)), examples=({"blocks": 100},))
def subsample_aggregate(
    f: Functions,
    data: Any,
    *,
    blocks: int,
    epsilon: Rational,
    aggregate: str | Aggregator = "median",
    delta: Rational = 0,
    candidates: Sequence[Any] | None = None,
    times: int = 1,
    fallback: Any = 0.0,
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
    **options: Unpack[EvaluationOptions],
) -> Release[Any] | NoReply:
    """f on many random blocks of the rows, and a private aggregate of the results: (ε, δ)-differentially private.

    The theorem is in `uptack.blocks.subsample`. f takes the rows of a block, in the form of the data.
    `uptack.blocks.block_evaluation` says what f sees, what it must not do, and what happens if it fails; it also
    explains `trusted` and `timeout`.

    - "median" (default), "trimmed_mean", "winsorized_mean" (a quarter at each end): f returns a number. δ = 0.
    - "vector_median": f returns a vector as long as `fallback`; the medians of all coordinates for one ε, δ = 0.
    - "mode": f returns a plain hashable value, and the value is a `Vote(winner, share)`. With a public list of
      `candidates`, noisy arg-max, δ = 0; without one A_dist, which needs δ > 0 and may reply ⊥. A quarter of ε goes
      into the share, and `interval()` is about it.
    - a function of all results (an array of numbers or vectors like `fallback`, or else a list) that returns a
      `Release` or `NoReply` of its own: the guarantee it states must be about replaced results. It is grown to what a
      person can replace, and must then be within ε and δ.

    With `person=` people are assigned to blocks, each with all her rows (`uptack.blocks.partition`), so that one person
    moves `times` results, however many rows she has.

    `times`: every row is in so many blocks, which are so many times larger; a person then moves as many results.
    `workers=4` works on four blocks at a time.

    >>> from uptack import SeededEntropy
    >>> x = np.random.default_rng(0).lognormal(size=20_000)
    >>> spread = subsample_aggregate(lambda rows: rows.std(), x, blocks=60, epsilon=2, entropy=SeededEntropy(1))
    >>> 1.2 < spread.value < 2.2, spread.privacy
    (True, Privacy(epsilon=2.0))
    """
    analysts, m = functions(f, **options), checks.integer("blocks", blocks, least=1)
    t, relation = check_times(times, m), check_adjacency(adjacency, rows_per_person)
    task = _task(aggregate, m, t * relation.rows_per_person, epsilon, delta, candidates, source(entropy))
    if isinstance(aggregate, str):
        kind = "number" if aggregate in NUMERIC else {"vector_median": "vector"}.get(aggregate, "outcome")
    else:  # an aggregate of the user's own: the fallback shows what results are
        plain = np.asarray(fallback).dtype.kind in "fiu"
        kind = "outcome" if not plain else "vector" if np.ndim(fallback) else "number"
    accept, fixed = accepting(kind, fallback)
    n = units(data)
    if relation.size_is_public and m > t * n:
        raise InvalidArgument("blocks", f"at most times·{relation.unit}, {t * n}", m)
    if advice := _unfit(task, fixed):
        advice = replace(advice, unit=relation.unit)
        return NoReply(Privacy(0, 0, relation), _name(task), None, advice, task.entropy.private)
    deal = partial(random_blocks, n, m, times=t, substitute=relation.size_is_public)
    assigned = Account.elsewhere(_name(task), task.entropy).toss(deal)
    results = evaluate(analysts, data, assigned, accept, fixed, **options)
    return _price(_aggregate(task, results if kind == "outcome" else np.array(results)), task, relation)


def _task(
    aggregate: str | Aggregator,
    blocks: int,
    moves: int,
    epsilon: Rational,
    delta: Rational,
    candidates: Sequence[Any] | None,
    entropy: Entropy,
) -> Task:
    if not callable(aggregate) and aggregate not in AGGREGATES:
        must = ", ".join(map(repr, AGGREGATES)) + " or a function that returns a Release"
        raise InvalidArgument("aggregate", must, checks.describe(aggregate))
    eps, dlt = checks.epsilon(epsilon), checks.delta("delta", delta)
    if aggregate != "mode":
        checks.left_out("candidates", candidates, "unless aggregate='mode'")
    if aggregate == "mode" and candidates is None and dlt == 0:
        fix = "Give a public list of candidates to vote on, or a δ such as 1e-6."
        raise InvalidArgument("delta", "above 0 if candidates= is not given", checks.describe(delta), fix)
    if candidates is None:
        return Task(aggregate, blocks, moves, eps, dlt, None, entropy)
    try:  # in the form that results have
        chosen = tuple(accepting("outcome", candidate)[1] for candidate in candidates)
    except (TypeError, InvalidArgument):
        chosen = ()
    if len(chosen) < 2 or len(set(chosen)) < len(chosen):
        must = "a list of at least two different plain hashable values"
        raise InvalidArgument("candidates", must, checks.describe(candidates))
    return Task(aggregate, blocks, moves, eps, dlt, chosen, entropy)


def _name(task: Task) -> str:
    name = task.aggregate if isinstance(task.aggregate, str) else "user-defined aggregate"
    return f"{name.replace('_', ' ')} of {task.blocks} blocks"


def _unfit(task: Task, fallback: Any) -> Advice | None:
    """What must change before a reply is possible at all: public, so it is checked before f runs and free."""
    if task.aggregate == "mode" and task.candidates is None:
        needed = lead_needed(task.epsilon * (1 - SHARE), task.delta, task.moves)
        return Advice(other=f"at least {needed:,} blocks") if task.blocks < needed else None
    if callable(task.aggregate) or task.aggregate == "mode":
        return None
    trial = _aggregate(replace(task, entropy=SystemEntropy()), np.array([fallback] * task.blocks))  # nobody's data
    # a ⊥ that depends on results does not count: results of data may be more spread out
    return _of_blocks(trial.advice) if isinstance(trial, NoReply) and trial.loss is None else None


def _of_blocks(advice: Advice) -> Advice:
    """An advice on the number of results, for blocks."""
    return Advice(epsilon=advice.epsilon, other=f"at least {advice.n:,} blocks")


def _aggregate(task: Task, results: Any) -> Release[Any] | NoReply:
    """The aggregate, with a guarantee about replaced results."""
    if callable(task.aggregate):
        reply = task.aggregate(results)
        if not isinstance(reply, Release | NoReply) or not isinstance(reply.privacy, Privacy):
            fix = "Return what an uptack function returned, or build a Release with the loss of your mechanism."
            must = "a function that returns a Release or NoReply with an (ε, δ)"
            raise InvalidArgument("aggregate", must, type(reply).__name__, fix)  # its value would tell of the data
        return reply
    if task.aggregate in NUMERIC:
        release = NUMERIC[task.aggregate]
        return release(results, epsilon=task.epsilon, adjacency=task.results, entropy=task.entropy)
    if task.aggregate == "vector_median":
        return _vector_median(task, results)
    return _vote(task, results)


def _vector_median(task: Task, results: Any) -> Release[Any] | NoReply:
    """The vector of coordinate medians, from nested boxes: the product of the coordinates' reaches is its reach."""
    m, p = results.shape
    account = Account.open("inverse sensitivity", task.epsilon, adjacency=task.results, entropy=task.entropy)
    advice = Advice(n=2 * task.moves * inverse.steps_needed(task.epsilon, inverse.VECTOR_LATTICES[-1].size ** p) + 1)
    room = inverse.median_room(m, task.moves)
    draw = inverse.choose_lattice(room, task.epsilon, p, inverse.VECTOR_LATTICES)
    if draw is None:
        return account.close(Outcome.refusal("", advice))
    candidates = replace(inverse.median_boxes(results, draw, task.moves), refusal=Refusal(room))
    drawn = account.draw(InverseDraw.of(task.epsilon), candidates)
    return account.close(Outcome.refusal("", advice)) if drawn is None else account.release(draw[0].values(drawn))


def _vote(task: Task, results: list[Any]) -> Release[Any] | NoReply:
    """The most frequent outcome, and how frequent it is."""
    part = task.epsilon * (1 - SHARE)
    if task.candidates is None:
        reply, top = release_mode(
            results, task.moves, epsilon=part, delta=task.delta, adjacency=task.results, entropy=task.entropy
        )
        counts = {top.value: top.votes}
        tree: loss.Loss = loss.Unit(loss.Test(part, task.delta), loss.Answer(task.epsilon - part))
    else:
        counts = {candidate: results.count(candidate) for candidate in task.candidates}
        reply = report_noisy_max(
            task.candidates, list(counts.values()), sensitivity=task.moves, epsilon=part, entropy=task.entropy
        )
        tree = loss.Composed((loss.Pure(part), loss.Pure(task.epsilon - part)))
    if not reply:
        return reply
    noisy = laplace(
        counts[reply.value], sensitivity=task.moves, epsilon=task.epsilon - part, granularity=1, entropy=task.entropy
    )
    share = min(max(noisy.value / task.blocks, 0.0), 1.0)
    noise = ShareNoise(noisy.noise, task.blocks) if noisy.noise else None
    return replace(reply, value=Vote(reply.value, share), privacy=cost(tree, task.results), loss=tree, noise=noise)


def _price(reply: Release[Any] | NoReply, task: Task, relation: Adjacency) -> Release[Any] | NoReply:
    """The result with what it costs a person; an aggregate of the user's own must keep to ε and δ."""
    assert isinstance(reply.privacy, Privacy)
    if reply.loss is None:
        return replace(reply, privacy=Privacy(0, 0, relation), mechanism=_name(task))
    tree = loss.Partition(reply.loss, reply.privacy.adjacency.steps_to(task.results))
    price = cost(tree, relation)
    if not price <= Privacy(task.epsilon, task.delta, relation):
        fix = f"One person changes up to {task.moves} results: spend less, or pass rows_per_person={task.moves} to it."
        raise InvalidArgument("aggregate", f"within ε = {float(task.epsilon):g}, δ = {float(task.delta):g}", price, fix)
    how = f"{_name(task)} ({reply.mechanism})"
    if isinstance(reply, NoReply) and task.aggregate in (*NUMERIC, "vector_median"):
        reply = replace(reply, advice=_of_blocks(reply.advice))
    reply = replace(reply, rows=None) if isinstance(reply, Release) else reply  # results of blocks are no rows
    return replace(reply, privacy=price, loss=tree, mechanism=how)
