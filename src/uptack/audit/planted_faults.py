"""Planted faults: what an audit must find, one line each: a name, the scenario that it is looked for on, and what is
wrong. A fault is planted at the account (`at`, `given`, `computed`) or by one patch; see `uptack.audit.seam`.
"""
# ruff: noqa: E501 - one line a fault

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack.audit import fault_changes as wrong
from uptack.audit.calls import ScenarioCall
from uptack.audit.edge_tables import person_ranked
from uptack.audit.exact_audit import ExactLaw
from uptack.audit.exact_laws import broken_laws
from uptack.audit.fit_faults import FIT_FAULTS
from uptack.audit.patches import patched
from uptack.audit.scenario import Scenario
from uptack.audit.seam import (
    Plant,
    always,
    argument,
    at,
    before,
    computed,
    following,
    given,
    less,
    narrower,
    patch,
    power,
    result,
    times,
)
from uptack.discrete.categories import Capped
from uptack.mechanisms import laplace
from uptack.noise import IntegerLaplace
from uptack.reach.l_statistics import spread_ranks


@dataclass(frozen=True)
class PlantedFault:
    """A fault by its name, the scenario on which it is looked for, and how it is planted."""

    name: str
    scenario: str | Scenario | ExactLaw
    plant: Plant = nullcontext


HALF, ROOT_TWO = Fraction(1, 2), Fraction(14142136, 10**7)
DECAY = "mechanisms.quantile_chain.chain_decay"
WEIGHTS = "table.unit.PrivacyUnit.weights"
COLUMN = "statistics.column_options.column"
FAVOURITES = "table.memory.counts.favourites"
CUTOFF = "noise.integer_laws.IntegerLaw.cutoff"


def _center(boxes: Any) -> list[int]:
    return [low for low, _ in boxes.boxes.ends(0)]


def _public_cutoff(proposals: Any) -> Any:
    """Algorithm 12: a threshold of 1 + ln(1/δ), whatever ε is."""
    return tuple(replace(p, cutoff=math.floor(math.log(1 / p.test.delta)) + 1) for p in proposals)


@contextmanager
def _unguarded() -> Iterator[None]:
    """A release that warns, and lets the warning out."""
    with patched("uptack.registry.declaration.SILENCE", lambda _: nullcontext()), before(COLUMN, wrong.warn)():
        yield


def _own_bounds(rows: Any, entropy: Any) -> Any:
    width = max(float(rows.max() - rows.min()), 1e-9)
    return laplace(rows.mean(), sensitivity=width / rows.size, epsilon=1, entropy=entropy)


def _printed_vector(vector: Any, entropy: Any) -> Any:
    return laplace(vector, sensitivity=1, epsilon=1, entropy=entropy)


FAR = np.array([0.0] * 9 + [1.0])
OWN_BOUNDS = Scenario("a mean of one's own", _own_bounds, lambda: {"": (np.zeros(10), FAR)})
EACH_COORDINATE = Scenario("a vector of one's own", _printed_vector, lambda: {"": (8 * [0.0], 8 * [1.0])})
RANKED_ROWS = Scenario(
    "superiority of people's rows",
    ScenarioCall("uptack.superiority", {"epsilon": 20, "groups": (1, 0)}),
    lambda: {"": person_ranked(label=True)},
)

# fmt: off
ORDER_STATISTICS = (
    PlantedFault("boxes: e^-ε for e^(-ε/2)", "median", at("InverseDraw", rho=power(2))),
    PlantedFault("boxes: the true median", "median", computed("InverseDraw", _center)),
    PlantedFault("boxes: ⊥ by the true number of rows", "median, few rows", given("InverseDraw", lambda v: v._replace(refusal=replace(v.refusal, bears=3 * v.refusal.bears)))),
    PlantedFault("reach: rows a person ignored", "median, 2 rows", always("account.Account.rows", 1)),
    PlantedFault("chain: e^(-ε/4g) for e^(-ε/8g)", "quartiles", argument(DECAY, 0, times(Fraction(2)))),
    PlantedFault("chain: rows a person ignored", "quartiles, 2 rows", argument(DECAY, 1, lambda g: 1)),
    PlantedFault("chain: digits of their own in each window", "many quantiles of one value", patch("statistics.quantile_trees.WindowRows._digits", lambda f: wrong.anew)),
    PlantedFault("chain: a vector that is not drawn", "quartiles", computed("ChainDraw", lambda chain: (sorted(int(e[1]) for e in chain.edges), None))),
    PlantedFault("tree: digits of their own in each window", "quantiles of one value by a tree", patch("statistics.quantile_trees.WindowRows._digits", lambda f: wrong.anew)),
    PlantedFault("tree: each tier at all of ε", "quantiles by a tree", argument(DECAY, 0, times(Fraction(2)))),
    PlantedFault("tree: rows a person ignored", "quantiles by a tree, 2 rows", argument(DECAY, 1, lambda g: 1)),
    PlantedFault("tree: gaps that are shares of a bin's rows", "quantiles by a tree", result("mechanisms.quantile_tree.Tree._bin", wrong.shares_of_a_bin)),
    PlantedFault("tree: bins that start at ranks, not at knots", "quantiles by a tree", result("mechanisms.quantile_tree._drawn", wrong.cut_by_ranks)),
    PlantedFault("tree: rows up to a knot counted without their digits", "quantiles of one value by a tree", patch("statistics.quantile_trees.WindowRows.up_to", lambda f: wrong.counted_by_value)),
    PlantedFault("ecdf: a replaced row counted as one move", "distribution", always("statistics.ecdf._moved", 1)),
    PlantedFault("ecdf: the same where rows are dropped", "distribution, drop", always("statistics.ecdf._moved", 1)),
    PlantedFault("ecdf: noise for blocks or single bins, not both", "distribution, blocks", result("statistics.ecdf.RunningNoise.of", lambda noise, *_: replace(noise, scale=noise.scale / 2))),
    PlantedFault("ecdf: running counts without noise", "distribution", computed("RunningCounts", lambda bins: (np.cumsum(bins)[: len(bins) // 2], np.cumsum(bins[::-1])[: len(bins) - 1 - len(bins) // 2]))),
    PlantedFault("secret n: the true number of rows", "mean, add/remove", patch("statistics.column_options.noisy_size", lambda f: lambda n, law, account: n)),
    PlantedFault("secret n: in a density", "density, add/remove", patch("statistics.column_options.noisy_size", lambda f: lambda n, law, account: n)),
    PlantedFault("secret n: noise for one row a person", "medians, add/remove, 2 rows", argument("statistics.column_options.noisy_size", 1, narrower())),
    PlantedFault("secret n: ranks of a range that don't follow", "spread, add/remove", patch("statistics.scales.steady_ranks", lambda f: spread_ranks)),
    PlantedFault("secret n: a scale of noise that follows it by a millionth", "mean, add/remove", following("IntegerNoise", "law")),
    PlantedFault("⊥: a secret weight that moves by three steps", "median, few rows", result("statistics.statistic.Statistic.room", lambda room, *_: 3 * room)),
    PlantedFault("mean: sensitivity of one row a person", "mean, 2 rows", at("IntegerNoise", law=narrower())),
    PlantedFault("mean: noise at twice its ε", "mean", at("IntegerNoise", law=narrower())),
    PlantedFault("mean: an anchor at twice its ε", "mean", at("WeightedDraw", rho=power(2))),
    PlantedFault("mean: rows a person ignored by the anchor", "mean, 2 rows", at("WeightedDraw", rho=power(2))),
    PlantedFault("mean: the best anchor, not drawn", "mean", computed("WeightedDraw", lambda v: v.keys[int(np.argmin(v.scores))])),
    PlantedFault("mean: sums without noise", "mean", computed("IntegerNoise", lambda v: v)),
    PlantedFault("sum: a count that weighs nothing", "sum, add/remove", argument("statistics.moments.sensitivity", 2, lambda count: 0)),
    PlantedFault("variance: a fourth moment that may be 16", "variance", patch("statistics.variances.fourth_powers", lambda f: lambda *a, **k: [16 * v for v in f(*a, **k)])),
    PlantedFault("variance: a fourth moment at 1.5 of its ε, which other stages leave", "variance", at("IntegerNoise", 5, law=narrower(Fraction(3, 2)))),
    PlantedFault("TM: a tenth of its noise", "TM", at("NoisyMean", bound=less(100))),
    PlantedFault("TM: Lap(1) whatever ε is, as printed", "TM", result("mechanisms.dwork_lei.NoisyMean.noise", lambda noise: replace(noise, law=IntegerLaplace(Fraction(1, 100) * noise.law.scale)))),
)
RANKS = (
    PlantedFault("tau: noise for half of the pairs", "tau", at("IntegerNoise", law=narrower())),
    PlantedFault("tau: a secret number of rows in the denominator only", "tau, add/remove", result("ranks.correlations._whole", lambda made, *_: 2 * made)),
    PlantedFault("superiority: a heavier weight", "superiority, down", result("ranks.superiority.weight", lambda h, *_: 5 * h / 4)),
    PlantedFault("superiority: labels that stay", "superiority, over", always("ranks.superiority.labels_are_public", True)),
    PlantedFault("difference: rows that stay in their group", "difference, both medians", always("ranks.contrasts.Contrast.together", False)),
    PlantedFault("shift: half of the pairs", "shift, down", result("ranks.contrasts.step", lambda made, *_: made / 2)),
    PlantedFault("several groups: noise for half of the move", "several groups", at("IntegerNoise", law=narrower())),
)
TESTS = (
    PlantedFault("ptr: a threshold off by one", "median, ptr", result("mechanisms.ptr.Proposal.threshold", lambda t: t - 1)),
    PlantedFault("ptr: a cutoff for 10δ", "median, ptr", argument(CUTOFF, 1, lambda d: min(10 * d, HALF))),
    PlantedFault("ptr: noise of scale ε", "spread, ptr", result("mechanisms.ptr.Proposal.noise", lambda law: IntegerLaplace(1 / Fraction(law.scale) / 100))),
    PlantedFault("ptr: noise of scale ε, at the edge of the test", "drawn: median, ptr", result("mechanisms.ptr.Proposal.noise", lambda law: IntegerLaplace(1 / Fraction(law.scale) / 100))),
    PlantedFault("ptr: no test", "median, ptr, a jump", always("mechanisms.ptr.diameter", lambda low, high: True)),
    PlantedFault("ptr: Algorithm 12's printed threshold", "drawn: spread, ptr", at("TestedAnswer", proposals=_public_cutoff)),
    PlantedFault("ptr: an answer without its noise", "median, ptr, a small move", patch("mechanisms.ptr.calibrated_laplace", lambda f: lambda bound, eps, size: (IntegerLaplace(Fraction(1, 10**6)), f(bound, eps, size)[1]))),
    PlantedFault("A_dist: a lead for a distance", "mode", patch("mechanisms.stability.gap_distance", lambda f: lambda gap, *_: int(gap))),
    PlantedFault("A_dist: a threshold off by one", "drawn: unstable value", result(CUTOFF, lambda t, *_: t - 1)),
    PlantedFault("A_dist: no test", "drawn: unstable value", computed("StabilityTest", lambda v: v[0])),
    PlantedFault("Hampel: no test", "robust, two lines", computed("CellTest", lambda v: 0)),
    PlantedFault("Hampel: noise ÷ 1000", "robust", at("NormMechanism", scale=less(1000))),
    PlantedFault("Hampel: half its sensitivity", "robust, a clear fit", result("regression.hampel_test.RowTest.sensitivity", lambda s: s // 2)),
    PlantedFault("Hampel: rows scaled by all rows", "robust, one row far away", patch("regression.hampel_fit.normalised", wrong.scaled_by_all)),
)
BLOCKS = (
    PlantedFault("vector median at 8ε", "vector median", at("InverseDraw", rho=power(8))),
    PlantedFault("blocks: rows in two blocks counted once", "block median, twice", argument("blocks.subsample._task", 2, lambda moves: 1)),
    PlantedFault("blocks: rows are shared", "blocks of records, trusted", patch("blocks.block_copies.fresh", lambda f: lambda data, rows: [data[i] for i in rows.tolist()])),
    PlantedFault("blocks: the types of the whole table", "blocks of texts", patch("blocks.block_copies.fresh", lambda f: lambda data, rows: data[rows])),
    PlantedFault("blocks: state is kept", "blocks in turn", patch("blocks.process_isolation.apart", lambda f: lambda jobs, **_: [job.answer() for job in jobs])),
    PlantedFault("stable value: half its sensitivity", "stable value", at("StabilityTest", sensitivity=lambda s: s // 2)),
    PlantedFault("A_samp: a quarter of the subsamples of a row", "A_samp", argument("blocks.stable_values.released_mode", 1, lambda m: m // 4)),
)
FUNCTIONS = (
    PlantedFault("density: half its sensitivity", "density", result("kernels.kernel.KernelSum.sensitivity", lambda s, *_: s / 2)),
    PlantedFault("density: without the root of 2", "density", result("kernels.kernel.KernelSum.sensitivity", lambda s, *_: s / ROOT_TWO)),
    PlantedFault("density: a bandwidth off the data", "density, private bandwidth", patch("densities.kernel_density._private_bandwidths", lambda f: wrong.bare_width)),
    PlantedFault("functions: half the noise", "function", result("mechanisms.additive_noise.calibrated_gaussian", lambda m, *_: replace(m, law=narrower()(m.law)))),
    PlantedFault("functions: coordinates without noise", "function", computed("NoisyCoordinates", lambda v: v)),
    PlantedFault("spectral: half its sensitivity", "spectral", result("kernels.spectral_release.FourierBasis.sensitivity", lambda s, *_: s / 2)),
    PlantedFault("ball noise ÷ 2", "moments, Gamma noise", result("densities.caratheodory.BallNoise.scale", times(HALF))),
    PlantedFault("Carathéodory noise ÷ 10", "moments, Carathéodory noise", result("densities.caratheodory.CaratheodoryNoise.scale", times(Fraction(1, 10)))),
    PlantedFault("moments: Laplace noise ÷ 3", "moments, Laplace noise", result("densities.caratheodory.LaplaceNoise.scale", times(Fraction(1, 3)))),
    PlantedFault("moments: sums without noise", "moments, Gamma noise", computed("NoisyMoments", lambda v: v)),
    PlantedFault("moments: a box off the data", "moments, private box", patch("densities.fourier.private_box", lambda f: wrong.bare_box)),
    PlantedFault("kernel machine ÷ 2", "kernel machine", argument("kernels.machine_release._released", 1, less())),
)
NOISE_AND_TABLES = (
    PlantedFault("Laplace noise at 2ε", "count", at("GridMechanism", law=narrower())),
    PlantedFault("Laplace noise that is left out", "Laplace noise", computed("GridMechanism", lambda v: v)),
    PlantedFault("Gaussian noise ÷ 2", "Gaussian noise", result("mechanisms.additive_noise.calibrated_gaussian", lambda m, *_: replace(m, law=narrower()(m.law)))),
    PlantedFault("Gamma noise ÷ 2", "Gamma noise", at("NormMechanism", scale=less())),
    PlantedFault("K-norm noise for another body", "K-norm noise", at("NormMechanism", scale=less(ROOT_TWO))),
    PlantedFault("matrix noise for half a sensitivity", "matrix noise", at("MatrixLaplace", theta=less())),
    PlantedFault("exponential mechanism without the 2", "exponential mechanism", at("NoisyChoice", rate=times(Fraction(2)))),
    PlantedFault("noisy max without the 2", "noisy max", at("NoisyChoice", rate=times(Fraction(2)))),
    PlantedFault("noisy max: the true one", "noisy max", computed("NoisyChoice", lambda scores: int(np.argmax(scores[::-1])))),
    PlantedFault("histogram: half its scale under SUBSTITUTE", "histogram", argument("discrete.count_noise.cell_noise", 0, times(Fraction(2)))),
    PlantedFault("sparse cells: both sides at 0.7ε", "sparse cells", patch("discrete.count_noise.cell_noise", lambda f: wrong.both_rising)),
    PlantedFault("sparse cells: noise ÷ 2", "sparse cells", at("SparseCells", law=narrower())),
    PlantedFault("margins: each at all of ε", "margins", at("IntegerNoise", law=narrower())),
    PlantedFault("optimal count: a row of the table off by one", "optimal count", given("TableDraw", lambda true: 2 * true - 4)),
    PlantedFault("screen: a cap off by g", "categories, 2 rows", result("discrete.categories.capped", lambda c, law, delta, g: Capped(law, max(c.most - g, 0)))),
    PlantedFault("screen: every category shown as it is", "categories", computed("Screen", lambda table: (tuple(table[0]), table[1]))),
    PlantedFault("groups: each at ε for ε/g", "groups, 2 rows", patch("grouping._Plan.each", lambda f: wrong.all_for_one_row)),
    PlantedFault("R_H: Lap(h/ε) on each coordinate, as printed", EACH_COORDINATE),
    PlantedFault("mean: bounds read off the data", OWN_BOUNDS),
)
PEOPLE = (
    PlantedFault("people: rows that weigh one each", "histogram of shares, people", patch(WEIGHTS, lambda f: wrong.all_units_each)),
    PlantedFault("people: categories of rows that weigh one each", "categories of shares, people", patch(WEIGHTS, lambda f: wrong.all_units_each)),
    PlantedFault("people: a median of rows that weigh one each", "median, people", patch(WEIGHTS, lambda f: wrong.all_units_each)),
    PlantedFault("people: densities of rows that weigh one each", "density, people", patch(WEIGHTS, lambda f: wrong.all_units_each)),
    PlantedFault("people: moments of rows that weigh one each", "moments, Laplace noise, people", patch(WEIGHTS, lambda f: wrong.all_units_each)),
    PlantedFault("people: a cap that is not applied", "count of rows, people", patch("table.memory.counts.up_to", lambda f: wrong.without_a_cap)),
    PlantedFault("people: counted by their rows", "count, people", patch("table.memory.counts.up_to", lambda f: wrong.without_a_cap)),
    PlantedFault("people: units of half a person", "histogram, people", argument("discrete.count_noise.cell_noise", "most", lambda m: m // 2)),
    PlantedFault("people: a screen for half a person", "categories, people", argument("discrete.categories.capped", 2, lambda g: g // 2)),
    PlantedFault("people: rows of one in two blocks", "block median, people", patch("blocks.partition.rows_of", wrong.rows_are_dealt)),
    PlantedFault("people: rows of one in two blocks of a regression", "short cut, people", patch("table.memory.rows.MemoryRows.deal", wrong.rows_change_slots)),
    PlantedFault("people: gradients of rows that weigh one each", "linear, people", patch(WEIGHTS, lambda f: wrong.all_units_each)),
    PlantedFault("people: directions of rows that weigh one each", "scatter, people", patch(WEIGHTS, lambda f: wrong.all_units_each)),
    PlantedFault("people: a machine of rows that weigh one each", "kernel machine, people", result("kernels.machine_release._weights", lambda made, *_: made if made is None else made * 0 + 1)),
    PlantedFault("people: ranks of rows", "tau, people", patch("table.memory.per_person.numbers", lambda f: lambda values, *_: values)),
    PlantedFault("people: in each of their groups", "unknown groups, one each, people", argument(FAVOURITES, 2, lambda g: 9)),
    PlantedFault("people: in each of their cells", "histogram, any, people", argument(FAVOURITES, 2, lambda g: 9)),
    PlantedFault("people: noise for one cell of several", "histogram, any, people", argument("discrete.count_noise.cell_noise", "most", lambda m: 1)),
    PlantedFault("people: all of ε in each of two groups", "groups, two each, people", argument("grouping._Plan.each", 1, lambda g: 1)),
    PlantedFault("people: a list of groups for one group each", "unknown groups, two each, people", argument("grouping._Plan.screen", 1, lambda g: 1)),
    PlantedFault("people: their number of cells chosen at 2ε", "histogram, people", at("CellLimit", epsilon=times(Fraction(2)))),
    PlantedFault("people: the fewest cells that anybody has", "histogram, people", computed("CellLimit", lambda people: int(np.flatnonzero(people)[0]))),
    PlantedFault("people: what is proved for one number each, of all their rows", RANKED_ROWS, always("registry.options._proved", None)),
)
HUGE = "uptack.median(epsilon=20) on numbers"
SECRET_SESSION = "session: uptack.median(epsilon=20, adjacency=Adjacency('add/remove')) on numbers"
OBSERVABLE = (
    PlantedFault("a label is the first row's", "uptack.histogram(delta=0.01, epsilon=20) on labels", patch("table.values.kinds.canonical", lambda f: lambda value: value)),
    PlantedFault("a warning", HUGE, _unguarded),
    PlantedFault("a row in an error", HUGE, before(COLUMN, wrong.fail)),
    PlantedFault("an error of another library", HUGE, before(COLUMN, wrong.divide)),
    PlantedFault("an error behind the error", HUGE, before(COLUMN, wrong.fail_behind)),
    PlantedFault("a line in the log", HUGE, before(COLUMN, wrong.log)),
    PlantedFault("a line on the screen", HUGE, before(COLUMN, wrong.show)),
    PlantedFault("a dtype that follows one row", HUGE, result("statistics.quantiles.median", wrong.narrow)),
    PlantedFault("a note", HUGE, result("statistics.quantiles.median", wrong.note)),
    PlantedFault("a session shows a secret number of rows", SECRET_SESSION, result("session.session.Session.describe", lambda text, s: f"{s.source.size} {text}")),
)
SAMPLERS = (
    PlantedFault("noise that is not added", "drawn: count", patch("noise.lattices.Grid.move", lambda f: lambda grid, x, noise: f(grid, x, 0 * noise))),
    PlantedFault("integer Laplace noise of half its scale", "drawn: count", patch("noise.integer_laplace.IntegerLaplace.draw", lambda f: lambda law, size, e: f(type(law)(law.scale / 2), size, e))),
    PlantedFault("Gaussian noise of a third of its scale", "drawn: Gaussian noise", patch("noise.integer_gaussian.IntegerGaussian.draw", lambda f: lambda law, size, e: f(type(law)(law.variance / 9), size, e))),
    PlantedFault("Laplace noise as a float", "drawn: Laplace noise", patch("noise.lattices.Grid.move", lambda f: lambda grid, x, noise: x + noise * float(grid.step) * 1.1)),
    PlantedFault("a draw at four times its ε", "drawn: median", argument("noise.coins.pick", 0, lambda logs: 4 * logs)),
    PlantedFault("screen: a cutoff below the cap", "drawn: categories", result("discrete.categories.Screen.cutoff", lambda t: t - 4)),
    PlantedFault("a Gamma variable of another shape", "drawn: Gamma noise", patch("mechanisms.additive_noise.gamma_variable", lambda f: lambda us: f(us[:1]))),
    PlantedFault("a matrix whose noise is halved", "drawn: matrix Laplace noise", patch("mechanisms.matrix_laplace.normals", lambda f: lambda us: [v / 2 for v in f(us)])),
    PlantedFault("noisy max: the first of those that say heads", "drawn: exponential mechanism", patch("mechanisms.exponential._coins", lambda f: lambda scores, rate, which, e: scores[which] == scores.max())),
    PlantedFault("a table of probabilities drawn from without its row", "drawn: minimax count", patch("discrete.count_mechanism.TableDraw.draw", lambda f: lambda self, true, e: true)),
)
EXACT = (
    PlantedFault("coins: a digit twice, as of two threads", "coins: e^-2 and 1", patch("noise.coins.Coin.digit", lambda f: lambda coin, place: f(coin, max(place - 1, 0)))),
    *(PlantedFault(law.name, law) for law in broken_laws()),
)

FAULTS = (
    *ORDER_STATISTICS, *RANKS, *TESTS, *BLOCKS, *FUNCTIONS, *NOISE_AND_TABLES, *PEOPLE, *OBSERVABLE, *SAMPLERS, *EXACT,
    *(PlantedFault(*line) for line in FIT_FAULTS),
)  # fmt: skip
