"""Planted faults: what an audit must find, one line each: a name, the scenario that it is looked for on, and what is
wrong. A fault is planted at the account (`at`, `on_input`, `no_draw`) or by one patch; see `uptack.audit.planting`.
Wrong code that takes more than a line comes first.
"""
# ruff: noqa: E501 - one line a fault

from __future__ import annotations

import logging
import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from uptack.audit import planting
from uptack.audit.calls import call_of
from uptack.audit.catalogue import catalogue
from uptack.audit.edge_scenarios import person_ranked
from uptack.audit.planting import always, argument, at, before, draw_by, narrower, no_draw, patch, power, result, times
from uptack.audit.scenario import Scenario
from uptack.blocks.partition import equal_blocks
from uptack.densities.fourier import DensityBox
from uptack.discrete.categories import Capped, SkewedLaplace
from uptack.errors import InvalidArgument
from uptack.mechanisms import laplace
from uptack.mechanisms.additive_noise import GridNoise
from uptack.multivariate.private_sums import LENGTH, bounded
from uptack.multivariate.row_sums import equal_pairs
from uptack.noise import IntegerLaplace
from uptack.privacy import Privacy
from uptack.reach.l_statistics import spread_ranks


class PlantedFault(NamedTuple):
    """A fault by its name, the scenario on which it is looked for, and where it is planted."""

    name: str
    scenario: str | Scenario
    plants: tuple[planting.Plant, ...] = ()

    @property
    def subject(self) -> Scenario:
        return catalogue()[self.scenario] if isinstance(self.scenario, str) else self.scenario

    @contextmanager
    def planted(self) -> Iterator[None]:
        """The code with the fault, for as long as this context is open."""
        with ExitStack() as stack:
            for plant in self.plants:
                stack.enter_context(plant())
            yield


# ------------------------------------------------------------------------------------- wrong code of more than one line


def _largest(data: Any) -> float:
    return float(np.max(np.nan_to_num(np.asarray(getattr(data, "values", data), np.float64)), initial=0.0))


def _if_large(act: Any) -> Any:
    """Something that only a large row sets off."""
    return lambda x, *_: act(x) if _largest(x) > 1e300 else None


def _fail(x: Any) -> None:
    raise InvalidArgument("x", "smaller", _largest(x))


def _fail_behind(x: Any) -> None:
    """An error whose text is harmless, with another one behind it."""
    try:
        _fail(x)
    except InvalidArgument:
        raise InvalidArgument("x", "other", "this") from None


def _redrawn_digits(windows: Any, key: int) -> Any:
    """The digits of a cell's rows, drawn again for every window that uses them."""
    return np.sort(windows._new_digits(np.full(windows._cell_counts[key][1], key)))


def _count_by_value(rows: Any, candidate: int) -> int:
    """How many rows lie up to a candidate, all rows that are tied with it among them, whatever their digits."""
    key = rows._cells.key_of(candidate)
    rows._count({key})
    return int(min(sum(rows._cell_counts[key]), rows._rows))


def _scale_by_value(mechanism: Any, value: Any, draw: Any) -> Any:
    """Noise whose scale follows what it is added to, by a millionth."""
    size, law = abs(int(sum(int(v) for v in value))), mechanism.law
    return draw(replace(mechanism, law=replace(law, scale=law.scale * (1 + Fraction(size % 1000, 10**6)))), value)


def _blocks_by_n(n: int, blocks: int, entropy: Any) -> Any:
    """Blocks that all n rows are dealt to evenly, so that one row more deals all of them anew."""
    members, block_of = equal_blocks(n, blocks, entropy), np.empty(n, np.int64)
    block_of[members[members >= 0]] = np.nonzero(members >= 0)[0]
    return block_of


def _pairs_by_n(n: int, slots: int, most: int, entropy: Any) -> Any:
    """Pairs of all n rows, so that one row more deals all of them anew."""
    places = equal_pairs(n, most, entropy)
    return np.arange(places.shape[1]), places


def _blocks_of_rows(original: Any) -> Any:
    """Blocks of rows in place of people: those of one person are in several."""

    def scatter(blocks: Any, codes: Any) -> Any:
        rows = np.concatenate(original(blocks, codes))
        return [rows[i :: len(blocks)] for i in range(len(blocks))]

    return scatter


def _slots_of_rows(original: Any) -> Any:
    """Rows have the slots of others: those of one person are in several blocks."""

    def deal(rows: Any, *how: Any) -> Any:
        for slots, lines in original(rows, *how):
            yield np.concatenate([slots[i::7] for i in range(7)]), lines

    return deal


def _rising_both_ways(epsilon: Any, relation: Any, rising: Any = Fraction(1, 2), most: int = 1) -> SkewedLaplace:
    """Both sides of skewed noise with the larger share of ε."""
    scale = 1 / (epsilon / (relation.rows_per_person * most) * max(rising, 1 - rising))
    return SkewedLaplace(scale, scale)


def _data_box(columns: Any, *_: Any) -> DensityBox:
    """A box read off the data."""
    ends = [(float(line.min()), float(line.max()) + 1) for line in columns.rows().in_memory().lines]
    return DensityBox(*(tuple(side) for side in zip(*ends, strict=True)))


def _unpaid(original: Any) -> Any:
    """What a list or counts cost, while the budget stays as it was."""

    def pay(budget: Any, *price: Any) -> Any:
        left = budget.left
        made = original(budget, *price)
        budget.rounds = getattr(budget, "rounds", 0) + 1
        budget.left = left if budget.rounds <= 30 else Fraction(0)  # else it would never run out
        return made

    return pay


def _data_edges(original: Any) -> Any:
    """Edges of buckets with the largest number as one more."""

    def buckets(column: Any, *rest: Any) -> Any:
        edges, *others = original(column, *rest)
        return np.append(edges, float(column.rows.in_memory().lines[0].max())), *others

    return buckets


def _data_bounds(rows: Any, entropy: Any) -> Any:
    width = max(float(rows.max() - rows.min()), 1e-9)
    return laplace(rows.mean(), sensitivity=width / rows.size, epsilon=1, entropy=entropy)


OWN_BOUNDS = Scenario("a mean of one's own", _data_bounds, lambda: {"": (np.zeros(10), np.array([0.0] * 9 + [1.0]))})
EACH_COORDINATE = Scenario(
    "a vector of one's own",
    lambda vector, entropy: laplace(vector, sensitivity=1, epsilon=1, entropy=entropy),
    lambda: {"": (8 * [0.0], 8 * [1.0])},
)
RANKED_ROWS = Scenario(
    "superiority of people's rows",
    call_of("uptack.superiority", {"epsilon": 20, "groups": (1, 0)}),
    lambda: {"": person_ranked(label=True)},
)


# ------------------------------------------------------------------------------------------------------------ the faults

HALF, ROOT_TWO = Fraction(1, 2), Fraction(14142136, 10**7)
DECAY = "mechanisms.chain_decay"
ALL_UNITS = patch("table.PrivacyUnit.weights", lambda f: lambda unit, m, least=None: m * 0 + unit.most)
"""Every row has all units of its person."""
TRUE_SIZE = patch("statistics.noisy_size", lambda f: lambda n, law, account: n)
COLUMN = "statistics.column"
FAVOURITES = "table.memory.counts.favourites"
CUTOFF = "noise.IntegerLaw.cutoff"
SIZE = "statistics.noisy_size"
DIGITS = "statistics.WindowRows._digits"
HUGE = "uptack.median(epsilon=20) on numbers"
SECRET_SESSION = "session: uptack.median(epsilon=20, adjacency=Adjacency('add/remove')) on numbers"
FIT_DRAWS = {"linear": 9, "Poisson": 13, "quantile": 15, "logistic": 13, "scatter": 5, "concentrated": 9}
"""How many draws each fit makes on the table of moves of `uptack.audit.edge_scenarios`."""

# fmt: off
SAMPLERS = (
    ("noise that is not added", "count", patch("noise.Grid.move", lambda f: lambda grid, x, noise: f(grid, x, 0 * noise))),
    ("integer Laplace noise of half its scale", "count", patch("noise.IntegerLaplace.draw", lambda f: lambda law, size, e: f(type(law)(law.scale / 2), size, e))),
    ("Gaussian noise of a third of its scale", "Gaussian noise", patch("noise.IntegerGaussian.draw", lambda f: lambda law, size, e: f(type(law)(law.variance / 9), size, e))),
    ("Laplace noise as a float", "Laplace noise", patch("noise.Grid.move", lambda f: lambda grid, x, noise: x + noise * float(grid.step) * 1.1)),
    ("a draw at four times its ε", "median, drawn", argument("noise.pick", 0, lambda logs: 4 * logs)),
    ("screen: a cutoff below the cap", "categories", result("discrete.Screen.cutoff", lambda t: t - 4)),
    ("a Gamma variable of another shape", "Gamma noise", patch("noise.gamma", lambda f: lambda us: f(us[:1]))),
    ("a matrix whose noise is halved", "matrix noise", patch("noise.normals", lambda f: lambda us: [v / 2 for v in f(us)])),
    ("noisy max: the first of those that say heads", "exponential mechanism", patch("mechanisms._coins", lambda f: lambda scores, rate, which, e: scores[which] == scores.max())),
    ("a table of probabilities drawn from without its row", "minimax count", patch("discrete.TableDraw.draw", lambda f: lambda self, true, e: true)),
)
"""Those that no price shows: samplers that draw from another law than they state."""
LINES: tuple[tuple[Any, ...], ...] = (
    # order statistics, sums and moments
    ("boxes: e^-ε for e^(-ε/2)", "median", at("InverseDraw", rho=power(2))),
    ("boxes: the true median", "median", no_draw("InverseDraw", lambda boxes: [low for low, _ in boxes.ends(0)])),
    ("boxes: ⊥ by the true number of rows", "median, few rows", planting.on_input("InverseDraw", lambda v: replace(v, refusal=replace(v.refusal, bears=3 * v.refusal.bears)))),
    *((f"interval: draw {k} at three times its ε", "median, an interval", at("InverseDraw", k, rho=power(3))) for k in (1, 2, 3)),
    ("interval: the end that was aimed at, not drawn", "median, an interval", no_draw("InverseDraw", lambda boxes: [low for low, _ in boxes.ends(0)])),
    ("interval: ⊥ by three times the rows beyond an end", "median, an interval, few rows", result("statistics.IntervalRanks.refusal", lambda made, *_: replace(made, bears=3 * made.bears))),
    ("interval: ends of one row of two", "median, an interval, 2 rows", always("statistics.Question.rows", 1)),
    ("reach: rows a person ignored", "median, 2 rows", argument("statistics.Statistic.reach", 4, lambda rows: 1)),
    ("chain: e^(-ε/4g) for e^(-ε/8g)", "quartiles", argument(DECAY, 0, times(2))),
    ("chain: rows a person ignored", "quartiles, 2 rows", argument(DECAY, 1, lambda g: 1)),
    ("chain: digits of their own in each window", "many quantiles of one value", patch(DIGITS, lambda f: _redrawn_digits)),
    ("chain: a vector that is not drawn", "quartiles", no_draw("ChainDraw", lambda chain: (sorted(int(e[1]) for e in chain.edges), None))),
    ("tree: digits of their own in each window", "quantiles of one value by a tree", patch(DIGITS, lambda f: _redrawn_digits)),
    ("tree: each tier at all of ε", "quantiles by a tree", argument(DECAY, 0, times(2))),
    ("tree: rows a person ignored", "quantiles by a tree, 2 rows", argument(DECAY, 1, lambda g: 1)),
    ("tree: gaps that are shares of a bin's rows", "quantiles by a tree", result("mechanisms.Tree._bin", lambda made, *_: replace(made, targets=tuple(2 * (t * made.rows // made.total) for t in made.targets), total=2 * made.rows))),
    ("tree: bins that start at ranks, not at knots", "quantiles by a tree", result("mechanisms._draw_knots", lambda knots, made, steps, chain, rows, start, *_: [(v, start + base) for (v, _), base in zip(knots, made.bases, strict=True)])),
    ("tree: rows up to a knot counted without their digits", "quantiles of one value by a tree", patch("statistics.WindowRows.up_to", lambda f: _count_by_value)),
    ("ecdf: a replaced row counted as one move", "distribution", always("statistics._bins_moved", 1)),
    ("ecdf: the same where rows are dropped", "distribution, drop", always("statistics._bins_moved", 1)),
    ("ecdf: noise for blocks or single bins, not both", "distribution, blocks", result("statistics.RunningCounts.of", lambda noise, *_: replace(noise, scale=noise.scale / 2))),
    ("ecdf: running counts without noise", "distribution", no_draw("RunningCounts", lambda bins: (np.cumsum(bins)[: len(bins) // 2], np.cumsum(bins[::-1])[: len(bins) - 1 - len(bins) // 2]))),
    ("secret n: the true number of rows", "mean, add/remove", TRUE_SIZE),
    ("secret n: in a density", "density, add/remove", TRUE_SIZE),
    ("secret n: ranks of an interval that move by nine", "median, an interval, add/remove", result("statistics.rank_bounds", lambda ranks, n, *_: (ranks[0] - 9 * (n % 2), ranks[1] + 9 * (n % 2)))),
    ("secret n: noise for one row a person", "medians, add/remove, 2 rows", argument(SIZE, 1, narrower())),
    ("secret n: ranks of a range that don't follow", "spread, add/remove", patch("statistics.steady_ranks", lambda f: spread_ranks)),
    ("secret n: a scale of noise that follows it by a millionth", "mean, add/remove", draw_by("IntegerNoise", _scale_by_value)),
    ("⊥: advice by the true number of rows", "uptack.median(epsilon=20, missing='drop') on small tables", result("statistics._inverse_advice", lambda made, room, n, *_: replace(made, n=n))),
    ("⊥: a secret weight that moves by three steps", "median, few rows", result("statistics.Statistic.room", lambda room, *_: 3 * room)),
    ("mean: sensitivity of one row a person", "mean, 2 rows", at("IntegerNoise", law=narrower())),
    ("mean: noise at twice its ε", "mean", at("IntegerNoise", law=narrower())),
    ("mean: an anchor at twice its ε", "mean", at("InverseDraw", rho=power(2))),
    ("mean: rows a person ignored by the anchor", "mean, 2 rows", at("InverseDraw", rho=power(2))),
    ("mean: the best anchor, not drawn", "mean", no_draw("InverseDraw", lambda v: v.keys[int(np.argmin(v.scores))])),
    ("mean: sums without noise", "mean", no_draw("IntegerNoise", lambda v: v)),
    ("sum: a count that weighs nothing", "sum, add/remove", argument("statistics.sensitivity", 2, lambda count: 0)),
    ("variance: a fourth moment that may be 16", "variance", patch("statistics.fourth_powers", lambda f: lambda *a, **k: [16 * v for v in f(*a, **k)])),
    ("variance: a fourth moment at 1.5 of its ε, which other stages leave", "variance", at("IntegerNoise", 5, law=narrower(Fraction(3, 2)))),
    ("TM: a tenth of its noise", "TM", at("IntegerNoise", law=narrower(100))),
    ("TM: Lap(1) whatever ε is, as printed", "TM", at("IntegerNoise", law=lambda law: IntegerLaplace(Fraction(1, 100) * law.scale))),
    # ranks
    ("tau: noise for half of the pairs", "tau", at("IntegerNoise", law=narrower())),
    ("tau: a secret number of rows in the denominator only", "tau, add/remove", result("ranks._whole", lambda made, *_: 2 * made)),
    ("superiority: a heavier weight", "superiority, down", result("ranks.weight", lambda h, *_: 5 * h / 4)),
    ("superiority: labels that stay", "superiority, over", always("ranks.labels_are_public", True)),
    ("difference: rows that stay in their group", "difference, both medians", always("ranks.Contrast.together", False)),
    ("shift: half of the pairs", "shift, down", result("ranks.step", lambda made, *_: made / 2)),
    ("several groups: noise for half of the move", "several groups", at("IntegerNoise", law=narrower())),
    # tests before a reply
    ("ptr: a threshold off by one", "median, ptr", result("mechanisms.Proposal.threshold", lambda t: t - 1)),
    ("ptr: a cutoff for 10δ", "median, ptr", argument(CUTOFF, 1, lambda d: min(10 * d, HALF))),
    ("ptr: noise of scale ε", "spread, ptr", result("mechanisms.Proposal.noise", lambda law: IntegerLaplace(1 / Fraction(law.scale) / 100))),
    ("ptr: noise of scale ε, at the edge of the test", "median, ptr, drawn", result("mechanisms.Proposal.noise", lambda law: IntegerLaplace(1 / Fraction(law.scale) / 100))),
    ("ptr: no test", "median, ptr, a jump", always("mechanisms.diameter", lambda low, high: True)),
    ("ptr: Algorithm 12's printed threshold", "spread, ptr, drawn", at("TestedAnswer", proposals=lambda every: tuple(replace(p, cutoff=math.floor(math.log(1 / p.test.delta)) + 1) for p in every))),
    ("ptr: an answer without its noise", "median, ptr, a small move", patch("mechanisms.calibrated_laplace", lambda f: lambda bound, eps, size: (IntegerLaplace(Fraction(1, 10**6)), f(bound, eps, size)[1]))),
    ("A_dist: a lead for a distance", "mode", patch("mechanisms.gap_distance", lambda f: lambda gap, *_: int(gap))),
    ("A_dist: a threshold off by one", "release if unstable", result(CUTOFF, lambda t, *_: t - 1)),
    ("A_dist: no test", "release if unstable", no_draw("StabilityTest", lambda v: v[0])),
    ("Hampel: no test", "robust, two lines", no_draw("CellTest", lambda v: 0)),
    ("Hampel: noise ÷ 1000", "robust", at("NormMechanism", scale=times(Fraction(1, 1000)))),
    ("Hampel: half its sensitivity", "robust, a clear fit", result("papers.RowTest.sensitivity", lambda s: s // 2)),
    ("Hampel: rows scaled by all rows", "robust, one row far away", patch("papers.normalise", lambda f: lambda x, y: f(x, y / np.abs(y).max()))),
    # blocks
    ("vector median at 8ε", "vector median", at("InverseDraw", rho=power(8))),
    ("blocks: rows in two blocks counted once", "block median, twice", argument("blocks._task", 2, lambda moves: 1)),
    ("blocks: rows are shared", "blocks of records, trusted", patch("blocks.fresh", lambda f: lambda data, rows: [data[i] for i in rows.tolist()])),
    ("blocks: the types of the whole table", "blocks of texts", patch("blocks.fresh", lambda f: lambda data, rows: data[rows])),
    ("blocks: state is kept", "blocks in turn", patch("blocks.apart", lambda f: lambda jobs, **_: [job.answer() for job in jobs])),
    ("stable value: half its sensitivity", "stable value", at("StabilityTest", sensitivity=lambda s: s // 2)),
    ("A_samp: a quarter of the subsamples of a row", "A_samp", argument("blocks.release_mode", 1, lambda m: m // 4)),
    # functions
    ("density: half its sensitivity", "density", result("kernels.KernelSum.sensitivity", lambda s, *_: s / 2)),
    ("density: without the root of 2", "density", result("kernels.KernelSum.sensitivity", lambda s, *_: s / ROOT_TWO)),
    ("density: a bandwidth off the data", "density, private bandwidth", patch("densities._private_bandwidths", lambda f: lambda columns, *_: ((float(np.std(columns.rows().in_memory().lines[0])) / 5,), np.array([[0.0, 1.0]])))),
    ("functions: half the noise", "function", result("mechanisms.calibrated_gaussian", lambda m, *_: replace(m, law=narrower()(m.law)))),
    ("functions: coordinates without noise", "function", no_draw("NoisyCoordinates", lambda v: v)),
    ("spectral: half its sensitivity", "spectral", result("kernels.FourierBasis.sensitivity", lambda s, *_: s / 2)),
    ("ball noise ÷ 2", "moments, Gamma noise", result("densities.BallNoise.scale", times(HALF))),
    ("Carathéodory noise ÷ 10", "moments, Carathéodory noise", result("densities.CaratheodoryNoise.scale", times(Fraction(1, 10)))),
    ("moments: Laplace noise ÷ 3", "moments, Laplace noise", result("densities.LaplaceNoise.scale", times(Fraction(1, 3)))),
    ("moments: sums without noise", "moments, Gamma noise", no_draw("IntegerNoise", lambda v: v)),
    ("moments: a box off the data", "moments, private box", patch("densities.private_box", lambda f: _data_box)),
    ("kernel machine ÷ 2", "kernel machine", argument("kernels._add_noise", 1, times(HALF))),
    # noise and tables of counts
    ("Laplace noise at 2ε", "count", at("GridMechanism", law=narrower())),
    ("Laplace noise: no step for rounding", "Laplace noise, rounded apart", at("GridMechanism", law=lambda law: replace(law, scale=law.scale * Fraction(131073, 131074)))),
    ("Gaussian noise: no step for rounding", "Gaussian noise, rounded apart", at("GridMechanism", law=lambda law: replace(law, variance=law.variance * Fraction(131073, 131074) ** 2))),
    ("Laplace noise that is left out", "Laplace noise", no_draw("GridMechanism", lambda v: v)),
    ("Gaussian noise ÷ 2", "Gaussian noise", result("mechanisms.calibrated_gaussian", lambda m, *_: replace(m, law=narrower()(m.law)))),
    ("Gamma noise ÷ 2", "Gamma noise", at("NormMechanism", scale=times(HALF))),
    ("K-norm noise for another body", "K-norm noise", at("NormMechanism", scale=times(1 / ROOT_TWO))),
    ("matrix noise for half a sensitivity", "matrix noise", at("MatrixLaplace", theta=times(HALF))),
    ("exponential mechanism without the 2", "exponential mechanism", at("NoisyChoice", rate=times(2))),
    ("noisy max without the 2", "noisy max", at("NoisyChoice", rate=times(2))),
    ("noisy max: the true one", "noisy max", no_draw("NoisyChoice", lambda scores: int(np.argmax(scores[::-1])))),
    ("histogram: half its scale under SUBSTITUTE", "histogram", argument("discrete.cell_noise", 0, times(2))),
    ("sparse cells: both sides at 0.7ε", "sparse cells, adaptive", patch("discrete.cell_noise", lambda f: _rising_both_ways)),
    ("sparse cells: noise ÷ 2", "sparse cells, adaptive", at("SparseCells", law=narrower())),
    ("independence: cells at 2ε", "independence", at("IntegerNoise", law=narrower())),
    ("margins: each at all of ε", "margins", at("IntegerNoise", law=narrower())),
    ("optimal count: a row of the table off by one", "minimax count", planting.on_input("TableDraw", lambda true: 2 * true - 4)),
    ("screen: a cap off by g", "categories, 2 rows", result("discrete.capped_law", lambda c, law, delta, g: Capped(law, max(c.most - g, 0)))),
    ("screen: every category shown as it is", "categories", no_draw("Screen", lambda table: (tuple(table[0]), table[1]))),
    ("groups: each at ε for ε/g", "groups, 2 rows", patch("grouping._Plan.each", lambda f: lambda plan, groups: Privacy(plan.answers.exact_epsilon, plan.answers.exact_delta, plan.adjacency.one_added))),
    ("R_H: Lap(h/ε) on each coordinate, as printed", EACH_COORDINATE),
    ("mean: bounds read off the data", OWN_BOUNDS),
    # people
    ("people: rows that weigh one each", "histogram of shares, people", ALL_UNITS),
    ("people: categories of rows that weigh one each", "categories of shares, people", ALL_UNITS),
    ("people: a median of rows that weigh one each", "median, people", ALL_UNITS),
    ("people: densities of rows that weigh one each", "density, people", ALL_UNITS),
    ("people: moments of rows that weigh one each", "moments, Laplace noise, people", ALL_UNITS),
    ("people: a cap that is not applied", "count of rows, people", patch("table.capped_sum", lambda f: lambda rows, most: int(rows.sum()))),
    ("people: counted by their rows", "count, people", patch("table.capped_sum", lambda f: lambda rows, most: int(rows.sum()))),
    ("people: units of half a person", "histogram, people", argument("discrete.cell_noise", "most", lambda m: m // 2)),
    ("people: a screen for half a person", "categories, people", argument("discrete.capped_law", 2, lambda g: g // 2)),
    ("people: rows of one in two blocks", "block median, people", patch("blocks.rows_of", _blocks_of_rows)),
    ("people: rows of one in two blocks of a regression", "short cut, people", patch("table.MemoryRows.deal", _slots_of_rows)),
    ("people: gradients of rows that weigh one each", "linear, people", ALL_UNITS),
    ("people: directions of rows that weigh one each", "scatter, people", ALL_UNITS),
    ("people: a machine of rows that weigh one each", "kernel machine, people", result("kernels._weights", lambda made, *_: made if made is None else made * 0 + 1)),
    ("people: ranks of rows", "tau, people", patch("table.memory.rows.person_numbers", lambda f: lambda values, *_: values)),
    ("people: in each of their groups", "unknown groups, one each, people", argument(FAVOURITES, 2, lambda g: 9)),
    ("people: in each of their cells", "histogram, any, people", argument(FAVOURITES, 2, lambda g: 9)),
    ("people: noise for one cell of several", "histogram, any, people", argument("discrete.cell_noise", "most", lambda m: 1)),
    ("people: all of ε in each of two groups", "groups, two each, people", argument("grouping._Plan.each", 1, lambda g: 1)),
    ("people: a list of groups for one group each", "unknown groups, two each, people", argument("grouping._Plan.screen", 1, lambda g: 1)),
    ("people: their number of cells chosen at 2ε", "histogram, people", at("CellLimit", epsilon=times(2))),
    ("people: the fewest cells that anybody has", "histogram, people", no_draw("CellLimit", lambda people: int(np.flatnonzero(people)[0]))),
    ("people: what is proved for one number each, of all their rows", RANKED_ROWS, always("registry._check_people", None)),
    # what an observer sees beside the value
    ("a label is the first row's", "uptack.histogram(delta=0.01, epsilon=20) on labels", patch("table.canonical", lambda f: lambda value: value)),
    ("a warning", HUGE, patch("interrupts.SILENCE", lambda _: nullcontext()), before(COLUMN, _if_large(lambda x: warnings.warn("overflow encountered", RuntimeWarning, stacklevel=2)))),
    ("a row in an error", HUGE, before(COLUMN, _if_large(_fail))),
    ("an error of another library", HUGE, before(COLUMN, _if_large(lambda x: 1 / 0))),
    ("an error behind the error", HUGE, before(COLUMN, _if_large(_fail_behind))),
    ("a line in the log", HUGE, before(COLUMN, lambda x, *_: logging.getLogger("uptack").debug("the largest row is %s", _largest(x)))),
    ("a line on the screen", HUGE, before(COLUMN, _if_large(lambda x: sys.stderr.write("a large row\n")))),
    ("a dtype that follows one row", HUGE, result("statistics.median", lambda made, x, *_: replace(made, value=np.float32(made.value)) if made and _largest(x) > 1e300 else made)),
    ("an interval around a row", HUGE, result("statistics.median", lambda made, x, *_: replace(made, noise=GridNoise(IntegerLaplace(1), _largest(x), 0.0)) if made else made)),
    ("a note", HUGE, result("statistics.median", lambda made, x, *_: replace(made, notes=(f"{_largest(x):.3g}",)) if made else made)),
    ("a session shows a secret number of rows", SECRET_SESSION, result("session.Session.describe", lambda text, s: f"{s.source.size} {text}")),
    *SAMPLERS,
    # fits
    ("short cut at 4ε", "short cut", at("InverseDraw", rho=power(4))),
    ("short cut: max|y| leaks under huber", "short cut, huber", patch("papers.fit_blocks", lambda f: lambda x, y, *rest, **options: f(x, y, *rest, **options) + np.abs(y).max())),
    ("short cut: blocks shuffled anew where rows come and go", "short cut, add/remove", patch("blocks.chosen_blocks", lambda f: _blocks_by_n)),
    ("short cut: standard errors at 3ε", "short cut, standard errors", at("InverseDraw", 2, rho=power(3))),
    ("linear: one row of three", "linear, 3 rows", result("multivariate.moved", lambda m, *_: m // 3)),
    ("linear: rows as long as they are", "linear, a row that moves", patch("multivariate.bounded", lambda f: lambda columns, radius=0.0: np.rint(np.clip(columns * (LENGTH / (radius or 1.0)), -4.0 * LENGTH, 4.0 * LENGTH)))),
    ("linear: both gradients as long as one may be", "linear, a row that moves", patch("multivariate.shared", lambda f: lambda u, v, longest: np.vstack([bounded(u, longest), bounded(v, longest)]))),
    ("linear: variances in a quarter of their unit", "linear, a row that moves", result("multivariate.shares_of", lambda whole, *_: 4 * whole)),
    ("linear: the true number of rows", "linear, add/remove", TRUE_SIZE),
    ("linear: lengths of one row of three", "linear, 3 rows", always("account.Account.rows", 1)),
    ("quantile: lengths of one row of three", "quantile, 3 rows", always("account.Account.rows", 1)),
    ("linear: pairs dealt anew where rows come and go", "linear, add/remove", patch("multivariate.choose_slots", lambda f: _pairs_by_n)),
    ("linear: a row in two pairs", "linear, a row that moves", result("multivariate.equal_pairs", lambda places, *_: np.hstack([places, [places[0], np.roll(places[0], 1)]]))),
    *((f"{fit}: noise of draw {k} ÷ 4", f"{fit}, a row that moves", planting.less_noise(k, 4)) for fit, most in FIT_DRAWS.items() for k in range(1, most + 1)),
    ("concentrated: sums of one row of three", "concentrated, 3 rows", at("GaussianSums", scale=times(Fraction(1, 3)))),
    ("concentrated: sums of one row of a person", "concentrated, people", ALL_UNITS),
    # synthetic tables
    ("synthetic: counts with half of their noise", "synthetic", at("IntegerNoise", law=narrower())),
    ("synthetic: counts of a second scan without noise", "synthetic", no_draw("IntegerNoise", lambda v: v)),
    ("synthetic: frequent values with half of their noise", "synthetic, add/remove", at("FrequentKeys", law=narrower())),
    ("synthetic: a cutoff off by one", "synthetic", at("FrequentKeys", cutoff=lambda t: t - 1)),
    ("synthetic: a cutoff for ten times its δ", "synthetic", argument("synthesis.noisy_counts.cutoff", 2, lambda d: 10 * d)),
    ("synthetic: every value shown", "synthetic", no_draw("FrequentKeys", lambda v: v)),
    ("synthetic: values without a cutoff, with noise", "synthetic", at("FrequentKeys", cutoff=lambda t: 1)),
    ("synthetic: a choice at twice its ε", "synthetic, pairs", at("ScoredChoice", rate=times(2))),
    ("synthetic: pairs that are scored for one replaced value", "synthetic, pairs", argument("synthesis.RhoBudget.choose", 2, lambda m: Fraction(m, 2))),
    ("synthetic: the best pair, not drawn", "synthetic, pairs", no_draw("ScoredChoice", lambda scores: int(np.argmax(scores)))),
    ("synthetic: rounds that are not debited", "synthetic", patch("synthesis.RhoBudget._pay", _unpaid), patch("account.Account.concentrated", lambda f: lambda account, rho, failure: f(account, rho, failure).prepaid())),
    ("synthetic: one row of two", "synthetic, 2 rows", always("account.Account.rows", 1)),
    ("synthetic: the true number of rows", "synthetic, add/remove", patch("synthesis.RhoBudget.counts", lambda f: lambda budget, units, rho: units / budget.step if units.size == 1 else f(budget, units, rho))),
    ("synthetic: cells of numbers off the data", "synthetic", patch("synthesis.measure._buckets", _data_edges)),
    ("synthetic: rows of people that weigh one each", "synthetic, people", ALL_UNITS),
    ("synthetic: units of half a person", "synthetic, people", patch("synthesis.RhoBudget.law", lambda f: lambda self, rho: narrower()(f(self, rho)))),
)
# fmt: on
FAULTS = tuple(PlantedFault(name, where, tuple(plants)) for name, where, *plants in LINES)
