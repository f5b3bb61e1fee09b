"""Planted faults: what an audit must find, one line each.

Each is a change of one function, wherever it is bound, with the check that finds it and the case it is found on: of
`uptack.audit.moving_neighbours` for "inner", of the asks for "replay", of the cases of `uptack.audit.battery` for "drawn".
"""
# ruff: noqa: E501 - one line a fault

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from uptack.audit.fault_changes import (
    after,
    all_units_each,
    always,
    anew,
    bare_box,
    bare_width,
    before,
    both_rising,
    chosen_anew,
    count_of_one_row,
    counted_by_value,
    cut_by_ranks,
    direct,
    divide,
    fail,
    fail_behind,
    given,
    in_every_group,
    in_two_pairs,
    largest_shown,
    log,
    loud_look,
    narrow,
    note,
    paired_anew,
    rows_are_dealt,
    rows_change_slots,
    scaled_by_all,
    shares_of_a_bin,
    show,
    the_first,
    the_value,
    times,
    told,
    true_count,
    unbounded,
    warn,
    without_a_cap,
)
from uptack.audit.patches import patched
from uptack.discrete.categories import Capped
from uptack.privacy import ADD_REMOVE, Privacy
from uptack.reach.l_statistics import spread_ranks


@dataclass(frozen=True)
class PlantedFault:
    """A fault by its name, where it is, how it changes what is there, and which check finds it on which case."""

    name: str
    where: str
    how: Callable[[Any], Any]
    check: str
    case: str
    without: Callable[[], AbstractContextManager[None]] = nullcontext
    """A guard that would hide the fault, taken away."""

    @contextmanager
    def planted(self) -> Iterator[None]:
        """The library with the fault in it."""
        with self.without(), patched(self.where, self.how):
            yield


HALF = Fraction(1, 2)
ROOT_TWO = Fraction(14142136, 10**7)
INNER = "inner"


def twice(value: Any) -> Any:
    """Two times as much."""
    return 2 * value


def doubled(value: Any, *_: Any) -> Any:
    """The same of what a function returns."""
    return 2 * value


def half(value: Any) -> Any:
    """Half as much."""
    return value / 2


def narrower(law: Any) -> Any:
    """Half of the noise."""
    return type(law)(law.scale / 2)


def unguarded() -> AbstractContextManager[None]:
    """Releases that let warnings out."""
    return patched("uptack.registry.guard.SILENCE", lambda _: nullcontext())


FAULTS = (
    # -------------------------------------------------------------------------------------- order statistics
    PlantedFault("boxes: e^-ε for e^(-ε/2)", "uptack.mechanisms.inverse_sensitivity.decay", given(0, twice), INNER, "median"),
    PlantedFault("boxes: the true median", "uptack.mechanisms.inverse_sensitivity.Boxes.draw", the_first, INNER, "median"),
    PlantedFault("reach: rows a person ignored", "uptack.account.Account.rows", always(1), INNER, "median, 2 rows"),
    PlantedFault("chain: e^(-ε/4g) for e^(-ε/8g)", "uptack.mechanisms.quantile_chain.chain_decay", given(0, twice), INNER, "quartiles"),
    PlantedFault("chain: rows a person ignored", "uptack.mechanisms.quantile_chain.chain_decay", given(1, lambda g: 1), INNER, "quartiles, 2 rows"),
    PlantedFault("chain: digits of their own in each window", "uptack.statistics.rank_windows.WindowRows._digits", lambda f: anew, INNER, "many quantiles of one value"),
    PlantedFault("tree: digits of their own in each window", "uptack.statistics.rank_windows.WindowRows._digits", lambda f: anew, INNER, "quantiles of one value by a tree"),
    PlantedFault("tree: each tier at all of ε", "uptack.mechanisms.quantile_chain.chain_decay", given(0, twice), INNER, "quantiles by a tree"),
    PlantedFault("tree: rows a person ignored", "uptack.mechanisms.quantile_chain.chain_decay", given(1, lambda g: 1), INNER, "quantiles by a tree, 2 rows"),
    PlantedFault("tree: gaps that are shares of a bin's rows", "uptack.mechanisms.quantile_tree.Tree._bin", after(shares_of_a_bin), INNER, "quantiles by a tree"),
    PlantedFault("tree: bins that start at ranks, not at knots", "uptack.mechanisms.quantile_tree._drawn", after(cut_by_ranks), INNER, "quantiles by a tree"),
    PlantedFault("tree: rows up to a knot counted without their digits", "uptack.statistics.rank_windows.WindowRows.up_to", lambda f: counted_by_value, INNER, "quantiles of one value by a tree"),
    PlantedFault("ecdf: a replaced row counted as one move", "uptack.statistics.ecdf._moved", always(1), INNER, "distribution"),
    PlantedFault("ecdf: the same where rows are dropped", "uptack.statistics.ecdf._moved", always(1), INNER, "distribution, drop"),
    PlantedFault("ecdf: noise for blocks or single bins, not both", "uptack.statistics.running_noise.RunningNoise.of", after(lambda noise, *_: replace(noise, scale=noise.scale / 2)), INNER, "distribution, blocks"),
    PlantedFault("secret n: the true number of rows", "uptack.statistics.row_counts.noisy_size", true_count, INNER, "mean, add/remove"),
    PlantedFault("secret n: in a density", "uptack.statistics.row_counts.noisy_size", true_count, INNER, "density, add/remove"),
    PlantedFault("secret n: noise for one row a person", "uptack.statistics.row_counts.noisy_size", count_of_one_row, INNER, "medians, add/remove, 2 rows"),
    PlantedFault("secret n: ranks of a range that don't follow", "uptack.statistics.ranges.steady_ranks", lambda f: spread_ranks, INNER, "spread, add/remove"),
    PlantedFault("⊥: a secret weight that moves by three steps", "uptack.statistics.statistic.Statistic.room", after(lambda room, *_: 3 * room), INNER, "median, few rows"),
    PlantedFault("mean: sensitivity of one row a person", "uptack.mechanisms.integer_sums.noisy_sums", given(1, narrower), INNER, "mean, 2 rows"),
    PlantedFault("mean: noise at twice its ε", "uptack.mechanisms.integer_sums.noisy_sums", given(1, narrower), INNER, "mean"),
    PlantedFault("mean: an anchor at twice its ε", "uptack.statistics.frames.decay", given(0, twice), INNER, "mean"),
    PlantedFault("mean: rows a person ignored by the anchor", "uptack.statistics.frames.decay", given(0, twice), INNER, "mean, 2 rows"),
    PlantedFault("sum: a count that weighs nothing", "uptack.statistics.frame_sums.sensitivity", given(2, lambda count: 0), INNER, "sum, add/remove"),
    PlantedFault("variance: a fourth moment that may be 16", "uptack.statistics.variances.fourth_powers", after(lambda found, *_, **__: [16 * found[0]]), INNER, "variance"),
    PlantedFault("TM: a tenth of its noise", "uptack.mechanisms.dwork_lei.noisy_mean", given(1, lambda b: b / 100), INNER, "TM"),
    # ------------------------------------------------------------------------------------------ rank statistics
    PlantedFault("tau: noise for half of the pairs", "uptack.ranks.rank_options.with_noise", given(1, narrower), INNER, "tau"),
    PlantedFault("tau: a secret number of rows in the denominator only", "uptack.ranks.tau._whole", after(lambda made, *_: 2 * made), INNER, "tau, add/remove"),
    PlantedFault("superiority: a heavier weight", "uptack.ranks.superiority_weight.weight", after(lambda h, *_: 5 * h / 4), INNER, "superiority, down"),
    PlantedFault("superiority: labels that stay", "uptack.ranks.superiority.labels_are_public", always(True), INNER, "superiority, over"),
    PlantedFault("difference: rows that stay in their group", "uptack.ranks.contrast_draws.Contrast.together", lambda _: property(lambda found: False), INNER, "difference, both medians"),
    PlantedFault("shift: half of the pairs", "uptack.ranks.two_sample_shift.step", after(lambda made, *_: made / 2), INNER, "shift, down"),
    PlantedFault("several groups: noise for half of the move", "uptack.ranks.rank_options.with_noise", given(1, narrower), INNER, "several groups"),
    # ---------------------------------------------------------------------------------- propose, test, release
    PlantedFault("ptr: a threshold off by one", "uptack.mechanisms.ptr.Proposal.look", after(lambda k, *_: k - 1), INNER, "median, ptr"),
    PlantedFault("ptr: a cutoff for 10δ", "uptack.noise.integer_laws.IntegerLaw.cutoff", given(1, lambda d: min(10 * d, HALF)), INNER, "median, ptr"),
    PlantedFault("ptr: noise of scale ε", "uptack.mechanisms.ptr.Proposal.look", loud_look, INNER, "spread, ptr"),
    PlantedFault("ptr: no test", "uptack.mechanisms.ptr.diameter", always(lambda low, high: True), INNER, "median, ptr, a jump"),
    PlantedFault("A_dist: a lead for a distance", "uptack.reach.instability.gap_distance", lambda f: lambda gap, *_: int(gap), INNER, "mode"),
    PlantedFault("A_dist: a threshold off by one", "uptack.noise.integer_laws.IntegerLaw.cutoff", after(lambda t, *_: t - 1), "drawn", "release if stable: a tie"),
    # ---------------------------------------------------------------------------------------------- regression
    PlantedFault("Hampel: no test", "uptack.regression.hampel_test.passes", always(True), INNER, "robust, two lines"),
    PlantedFault("Hampel: noise ÷ 1000", "uptack.regression.hampel.noisy_vertex", given(2, lambda e: 1000 * e), INNER, "robust"),
    PlantedFault("Hampel: half its sensitivity", "uptack.regression.hampel_test.RowTest.sensitivity", lambda p: property(lambda t: p.fget(t) // 2), INNER, "robust, a clear fit"),
    PlantedFault("Hampel: rows scaled by all rows", "uptack.regression.hampel_fit.normalised", scaled_by_all, INNER, "robust, one row far away"),
    PlantedFault("short cut at 4ε", "uptack.mechanisms.inverse_sensitivity.decay", given(0, lambda e: 4 * e), INNER, "short cut"),
    PlantedFault("short cut: max|y| leaks under huber", "uptack.regression.block_fits.fit_blocks", largest_shown, INNER, "short cut, huber"),
    PlantedFault("short cut: blocks shuffled anew where rows come and go", "uptack.blocks.partition.chosen_blocks", lambda f: chosen_anew, INNER, "short cut, add/remove"),
    PlantedFault("standard errors at 3ε", "uptack.regression.block_ranges.draw", given(3, lambda e: 3 * e), INNER, "short cut, standard errors"),
    PlantedFault("matrix noise ÷ 2", "uptack.mechanisms.matrix_laplace.noisy_matrix", given(1, half), INNER, "scatter"),
    PlantedFault("linear: Gamma noise ÷ 4", "uptack.mechanisms.additive_noise.real_noise", given(2, lambda s: s / 4), INNER, "linear"),
    PlantedFault("linear: one row of three", "uptack.multivariate.bounded.moved", after(lambda m, *_: m // 3), INNER, "linear, 3 rows"),
    PlantedFault("linear: rows as long as they are", "uptack.multivariate.bounded.bounded", lambda f: unbounded, INNER, "linear"),
    PlantedFault("logistic: Gamma noise ÷ 20", "uptack.mechanisms.additive_noise.real_noise", given(2, lambda s: s / 20), INNER, "logistic"),
    PlantedFault("linear: pairs dealt anew where rows come and go", "uptack.multivariate.pairs.chosen", lambda f: paired_anew, INNER, "linear, add/remove"),
    # ------------------------------------------------------------------------------------ steps of a regression
    PlantedFault("fit: noise of the number of rows ÷ 2", "uptack.statistics.row_counts.noisy_size", given(1, narrower), INNER, "fit, rows"),
    PlantedFault("fit: units at 2ε", "uptack.mechanisms.inverse_sensitivity.decay", given(0, twice), INNER, "fit, units"),
    PlantedFault("fit: a row in two pairs", "uptack.multivariate.pairs.equal", after(in_two_pairs), INNER, "fit, units"),
    PlantedFault("fit: centres at 2ε", "uptack.mechanisms.inverse_sensitivity.decay", given(0, twice), INNER, "fit, centres"),
    PlantedFault("fit: the true centres", "uptack.mechanisms.inverse_sensitivity.Boxes.draw", the_first, INNER, "fit, centres"),
    PlantedFault("fit: noise of directions ÷ 2", "uptack.mechanisms.matrix_laplace.noisy_matrix", given(1, half), INNER, "fit, directions"),
    PlantedFault("fit: a quantile at 2ε", "uptack.mechanisms.inverse_sensitivity.decay", given(0, twice), INNER, "fit, quantile"),
    PlantedFault("fit: the true quantile", "uptack.mechanisms.inverse_sensitivity.Boxes.draw", the_first, INNER, "fit, quantile"),
    PlantedFault("fit: two quantiles at 2ε", "uptack.mechanisms.inverse_sensitivity.decay", given(0, twice), INNER, "fit, two quantiles"),
    PlantedFault("fit: a farther quantile at 2ε", "uptack.mechanisms.inverse_sensitivity.decay", given(0, twice), INNER, "fit, farther quantile"),
    PlantedFault("fit: noise of the scatter matrix ÷ 2", "uptack.mechanisms.matrix_laplace.noisy_matrix", given(1, half), INNER, "fit, scatter"),
    PlantedFault("fit: noise of the normal equations ÷ 2", "uptack.mechanisms.matrix_laplace.noisy_matrix", given(1, half), INNER, "fit, normal equations"),
    PlantedFault("fit: rows as long as they are", "uptack.multivariate.bounded.bounded", lambda f: unbounded, INNER, "fit, normal equations"),
    PlantedFault("fit: noise of the gradient ÷ 2", "uptack.mechanisms.additive_noise.real_noise", given(2, half), INNER, "fit, gradient"),
    PlantedFault("fit: noise of the number of gross errors ÷ 2", "uptack.mechanisms.matrix_laplace.noisy_matrix", given(1, half), INNER, "fit, gross errors"),
    PlantedFault("fit: a gradient for one row a person", "uptack.account.Account.rows", always(1), INNER, "fit, gradient, 2 rows"),
    PlantedFault("fit: noise of the variances ÷ 2", "uptack.regression.private_sums.noisy_whole", given(1, narrower), INNER, "fit, variances"),
    PlantedFault("fit: variances without noise", "uptack.regression.private_sums.noisy_whole", the_value, INNER, "fit, variances"),
    PlantedFault("fit: variances that count twice", "uptack.regression.private_sums.shares_of", after(doubled), INNER, "fit, variances"),
    # -------------------------------------------------------------------------------------------------- blocks
    PlantedFault("vector median at 8ε", "uptack.mechanisms.inverse_sensitivity.decay", given(0, lambda e: 8 * e), INNER, "vector median"),
    PlantedFault("blocks: rows in two blocks counted once", "uptack.blocks.subsample._task", given(2, lambda moves: 1), INNER, "block median, twice"),
    PlantedFault("blocks: rows are shared", "uptack.blocks.block_copies.fresh", lambda f: lambda data, rows: [data[i] for i in rows.tolist()], INNER, "blocks of records, trusted"),
    PlantedFault("blocks: the types of the whole table", "uptack.blocks.block_copies.fresh", lambda f: lambda data, rows: data[rows], INNER, "blocks of texts"),
    PlantedFault("blocks: state is kept", "uptack.blocks.process_isolation.apart", lambda f: lambda jobs, **_: [job.answer() for job in jobs], INNER, "blocks in turn"),
    PlantedFault("stable value: half its sensitivity", "uptack.mechanisms.stability.release_if_stable", told(sensitivity=lambda s: s // 2), INNER, "stable value"),
    PlantedFault("A_samp: a quarter of the subsamples of a row", "uptack.blocks.stable_values.released_mode", given(1, lambda m: m // 4), INNER, "A_samp"),
    # -------------------------------------------------------------------------------------- functions of points
    PlantedFault("density: half its sensitivity", "uptack.kernels.kernel_norms.KernelSum.sensitivity", after(lambda s, *_: s / 2), INNER, "density"),
    PlantedFault("density: without the root of 2", "uptack.kernels.kernel_norms.KernelSum.sensitivity", after(lambda s, *_: s / ROOT_TWO), INNER, "density"),
    PlantedFault("density: a bandwidth off the data", "uptack.densities.kernel_density._private_bandwidths", lambda f: bare_width, INNER, "density, private bandwidth"),
    PlantedFault("functions: half the noise", "uptack.mechanisms.additive_noise.calibrated_gaussian", after(lambda m, *_: (m[0], m[1], type(m[2])(m[2].variance / 4))), INNER, "function"),
    PlantedFault("spectral: half its sensitivity", "uptack.kernels.spectral_release.FourierBasis.sensitivity", after(lambda s, *_: s / 2), INNER, "spectral"),
    PlantedFault("ball noise ÷ 2", "uptack.densities.caratheodory.BallNoise.scale", times(HALF), INNER, "moments, Gamma noise"),
    PlantedFault("Carathéodory noise ÷ 10", "uptack.densities.caratheodory.CaratheodoryNoise.scale", times(Fraction(1, 10)), INNER, "moments, Carathéodory noise"),
    PlantedFault("moments: Laplace noise ÷ 3", "uptack.densities.caratheodory.LaplaceNoise.scale", times(Fraction(1, 3)), INNER, "moments, Laplace noise"),
    PlantedFault("moments: a box off the data", "uptack.densities.density_boxes.private_box", lambda f: bare_box, INNER, "moments, private box"),
    PlantedFault("kernel machine ÷ 2", "uptack.kernels.machine_release._released", given(1, half), INNER, "kernel machine"),
    # --------------------------------------------------------------------------------------------- noise, tables
    PlantedFault("Laplace noise at 2ε", "uptack.mechanisms.additive_noise.laplace", told(epsilon=twice), INNER, "count"),
    PlantedFault("Gaussian noise ÷ 2", "uptack.mechanisms.additive_noise.calibrated_gaussian", after(lambda m, *_: (m[0], m[1], type(m[2])(m[2].variance / 4))), INNER, "Gaussian noise"),
    PlantedFault("Gamma noise ÷ 2", "uptack.mechanisms.additive_noise.real_noise", given(2, half), INNER, "Gamma noise"),
    PlantedFault("exponential mechanism without the 2", "uptack.mechanisms.exponential._weighted", given(1, twice), INNER, "exponential mechanism"),
    PlantedFault("noisy max without the 2", "uptack.mechanisms.exponential._permute_and_flip", given(1, twice), INNER, "noisy max"),
    PlantedFault("histogram: half its scale under SUBSTITUTE", "uptack.discrete.count_noise.cell_noise", given(0, twice), INNER, "histogram"),
    PlantedFault("sparse cells: both sides at 0.7ε", "uptack.discrete.count_noise.cell_noise", lambda f: both_rising, INNER, "sparse cells"),
    PlantedFault("margins: each at all of ε", "uptack.discrete.margin_tables._Call.direct", direct, INNER, "margins"),
    PlantedFault("screen: a cap off by g", "uptack.discrete.categories.capped", after(lambda c, law, delta, g: Capped(law, max(c.most - g, 0))), INNER, "categories, 2 rows"),
    PlantedFault("groups: each at ε for ε/g", "uptack.grouping._one_row", lambda f: lambda epsilon, delta, relation: Privacy(epsilon, delta, ADD_REMOVE), INNER, "groups, 2 rows"),
    PlantedFault("coins: a digit twice, as of two threads", "uptack.noise.coins.Coin.digit", lambda f: lambda coin, place: f(coin, max(place - 1, 0)), INNER, "Laplace noise"),
    # -------------------------------------------------------------------------------------------------- people
    PlantedFault("people: rows that weigh one each", "uptack.table.unit.PrivacyUnit.weights", lambda f: all_units_each, INNER, "histogram, people"),
    PlantedFault("people: categories of rows that weigh one each", "uptack.table.unit.PrivacyUnit.weights", lambda f: all_units_each, INNER, "categories, people"),
    PlantedFault("people: a median of rows that weigh one each", "uptack.table.unit.PrivacyUnit.weights", lambda f: all_units_each, INNER, "median, people"),
    PlantedFault("people: densities of rows that weigh one each", "uptack.table.unit.PrivacyUnit.weights", lambda f: all_units_each, INNER, "density, people"),
    PlantedFault("people: moments of rows that weigh one each", "uptack.table.unit.PrivacyUnit.weights", lambda f: all_units_each, INNER, "moments, Laplace noise, people"),
    PlantedFault("people: a cap that is not applied", "uptack.table.memory.counts.up_to", lambda f: without_a_cap, INNER, "count of rows, people"),
    PlantedFault("people: counted by their rows", "uptack.table.memory.counts.up_to", lambda f: without_a_cap, INNER, "count, people"),
    PlantedFault("people: units of half a person", "uptack.discrete.count_noise.cell_noise", told(most=lambda m: m // 2), INNER, "histogram, people"),
    PlantedFault("people: a screen for half a person", "uptack.discrete.categories.capped", given(2, lambda g: g // 2), INNER, "categories, people"),
    PlantedFault("people: rows of one in two blocks", "uptack.blocks.people_blocks.rows_of", rows_are_dealt, INNER, "block median, people"),
    PlantedFault("people: rows of one in two blocks of a regression", "uptack.table.memory.rows.MemoryRows.deal", rows_change_slots, INNER, "short cut, people"),
    PlantedFault("people: gradients of rows that weigh one each", "uptack.table.unit.PrivacyUnit.weights", lambda f: all_units_each, INNER, "linear, people"),
    PlantedFault("people: directions of rows that weigh one each", "uptack.table.unit.PrivacyUnit.weights", lambda f: all_units_each, INNER, "scatter, people"),
    PlantedFault("people: a machine of rows that weigh one each", "uptack.kernels.machine_release._weights", after(lambda made, *_: made if made is None else made * 0 + 1), INNER, "kernel machine, people"),
    PlantedFault("people: ranks of rows", "uptack.table.memory.per_person.numbers", lambda f: lambda values, *_: values, INNER, "tau, people"),
    PlantedFault("people: in each of their groups", "uptack.table.memory.groups.favourites", in_every_group, INNER, "unknown groups, people"),
    # ------------------------------------------------------------------------------------------ what can be seen
    PlantedFault("a label is the first row's", "uptack.table.values.kinds.canonical", lambda f: lambda value: value, "replay", "uptack.histogram(epsilon=20, delta=0.01): equal decimals"),
    PlantedFault("a warning", "uptack.statistics.column_input.column", before(warn), "replay", "uptack.median(epsilon=20): 1e308", unguarded),
    PlantedFault("a row in an error", "uptack.statistics.column_input.column", before(fail), "replay", "uptack.median(epsilon=20): 1e308"),
    PlantedFault("an error of another library", "uptack.statistics.column_input.column", before(divide), "replay", "uptack.median(epsilon=20): 1e308"),
    PlantedFault("an error behind the error", "uptack.statistics.column_input.column", before(fail_behind), "replay", "uptack.median(epsilon=20): 1e308"),
    PlantedFault("a line in the log", "uptack.statistics.column_input.column", before(log), "replay", "uptack.median(epsilon=20): 1e308"),
    PlantedFault("a line on the screen", "uptack.statistics.column_input.column", before(show), "replay", "uptack.median(epsilon=20): 1e308"),
    PlantedFault("a dtype that follows one row", "uptack.statistics.quantiles.median", after(narrow), "replay", "uptack.median(epsilon=20): 1e308"),
    PlantedFault("a note", "uptack.statistics.quantiles.median", after(note), "replay", "uptack.median(epsilon=20): 1e308"),
    PlantedFault("a session shows a secret number of rows", "uptack.session.session.Session.describe", after(lambda text, s: f"{s.source.size} {text}"), "replay", "uptack.session.SessionColumn.median(epsilon=20, adjacency=Adjacency('add/remove'), missing='drop'): 2^53"),
    # ------------------------------------------------------------------------------------------------- samplers
    PlantedFault("noise that is not added", "uptack.noise.grid.Grid.move", lambda f: lambda grid, x, noise: f(grid, x, 0 * noise), "drawn", "count: 5 and 6"),
    PlantedFault("integer Laplace noise of half its scale", "uptack.noise.integer_laplace.IntegerLaplace.draw", lambda f: lambda law, size, e: f(type(law)(law.scale / 2), size, e), "drawn", "count: 5 and 6"),
    PlantedFault("Gaussian noise of a third of its scale", "uptack.noise.integer_gaussian.IntegerGaussian.draw", lambda f: lambda law, size, e: f(type(law)(law.variance / 9), size, e), "drawn", "integer Gaussian noise: one step"),
    PlantedFault("Laplace noise as a float", "uptack.noise.grid.Grid.move", lambda f: lambda grid, x, noise: x + noise * float(grid.step) * 1.1, "drawn", "Laplace noise: 0 and 1"),
    PlantedFault("a draw at four times its ε", "uptack.noise.exact_choice.pick", given(0, lambda logs: 4 * logs), "drawn", "median of integers: from 7 to 8"),
    PlantedFault("screen: a cutoff below the cap", "uptack.discrete.categories.Screen.cutoff", lambda p: property(lambda s: p.fget(s) - 4), "drawn", "histogram, unknown categories: a row of its own"),
)  # fmt: skip
