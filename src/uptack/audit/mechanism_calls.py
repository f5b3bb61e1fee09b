"""The mechanisms that releases are made of: where they are, and what each is given.

Every path of the library that the audit looks into is named here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from uptack.audit import prices, scores
from uptack.audit.prices import Price, Seen


def whole(answer: Any) -> Any:
    """An answer of which all may be seen."""
    return answer


def vector(answer: tuple[list[int], Any]) -> tuple[list[int], None]:
    """The vector that a chain draws, which is released. The rows up to it are counted for a tree, and told to nobody.

    A neighbour has numbers of its own, and counts them where it is told none. With those of the other table each of
    its bins would start a row too early or too late: all bins between the two that a row leaves and enters would move,
    and be paid for.
    """
    return answer[0], None


class Spot(NamedTuple):
    """A mechanism by its path, what of its arguments depends on the data, and the price of a move of that.

    `seen` is what of its answer a neighbour is made to repeat: all that is released, and nothing else.
    """

    path: str
    state: Callable[..., Any]
    price: Callable[[Seen, Seen, Fraction], Price]
    seen: Callable[[Any], Any] = whole


def coin_faults(coin: Any) -> list[str]:
    """Whether the first digits of a coin are those of its chance."""
    heads = coin._heads
    wrong = any(coin.digit(k) != heads.floor(8 * k + 8) & 255 for k in range(3)) if heads.exact != 1 else False
    return ["a coin whose digits are not those of its chance"] if wrong else []


SPOTS = (
    Spot("uptack.statistics.row_counts.noisy_size", lambda n, law, _: int(n), prices.counted),
    Spot("uptack.regression.private_sums.noisy_whole", lambda value, law, _: int(value), prices.counted),
    Spot("uptack.ranks.rank_options.with_noise", lambda value, law, _: int(value), prices.counted),
    Spot("uptack.mechanisms.additive_noise.laplace", lambda value, **told: (value, prices.public(told)), prices.added),
    Spot("uptack.mechanisms.additive_noise.gaussian", lambda value, **told: (value, prices.public(told)), prices.added),
    Spot("uptack.mechanisms.additive_noise.real_noise", lambda x, body, scale, *_: (x, body, scale), prices.stretched),
    Spot("uptack.mechanisms.matrix_laplace.noisy_matrix", lambda value, theta, *_: (value, theta), prices.nuclear),
    Spot("uptack.regression.hampel.noisy_vertex", lambda beta, box, *_: (beta, box), prices.vertex),
    Spot("uptack.mechanisms.dwork_lei.noisy_mean", lambda value, *_: value, prices.mean),
    Spot("uptack.noise.grid.Grid.move", lambda grid, x, noise: (grid, np.array(x)), prices.moved),
    Spot("uptack.mechanisms.inverse_sensitivity.Boxes.draw",
         lambda boxes, rho, _, bottom=None: (boxes, rho, bottom), scores.drawn),
    Spot("uptack.mechanisms.weighted_candidates.WeightedCandidates.draw",
         lambda made, rho, _: (made, rho), scores.weighed),
    Spot("uptack.mechanisms.integer_sums.noisy_sums", lambda sums, law, _: (list(sums), law), prices.whole),
    Spot("uptack.mechanisms.quantile_chain.Chain.draw", lambda chain, _: chain, scores.chained, vector),
    Spot("uptack.statistics.running_noise.running_counts", lambda bins, noise, _: (bins, noise), scores.running),
    Spot("uptack.mechanisms.exponential._weighted", lambda scores, rate, _: (scores, rate), scores.scored),
    Spot("uptack.mechanisms.exponential._permute_and_flip", lambda scores, rate, _: (scores, rate), scores.scored),
    Spot("uptack.mechanisms.ptr.attempt", scores.reaches, scores.proposed),
    Spot(
        "uptack.mechanisms.stability.release_if_stable",
        lambda value, distance, **told: (value, int(distance), prices.public(told)),
        scores.stable,
    ),
    Spot("uptack.regression.hampel_test.passes", scores.certified, scores.hampel),
    Spot(
        "uptack.discrete.categories.Screen.shown",
        lambda screen, cells, counts, _: (screen.law, prices.by_cell(cells, counts), Fraction(screen.loss.delta)),
        prices.shown,
    ),
    Spot(
        "uptack.discrete.sparse_histograms.passing",
        lambda cells, counts, size, cutoff, law, _: (law, prices.by_cell(cells, counts), Fraction(0)),
        prices.shown,
    ),
    Spot(
        "uptack.discrete.count_mechanism.CountMechanism.sample",
        lambda made, count, *_, **__: (made.weights, int(count)),
        prices.tabled,
    ),
)  # fmt: skip


NOISE = (
    "uptack.noise.integer_laplace.IntegerLaplace.draw",
    "uptack.noise.integer_gaussian.IntegerGaussian.draw",
    "uptack.discrete.count_noise.SkewedLaplace.draw",
    "uptack.discrete.categories.Capped.draw",
    "uptack.densities.caratheodory.LaplaceNoise.draw",
    "uptack.densities.caratheodory.BallNoise.draw",
    "uptack.densities.caratheodory.CaratheodoryNoise.draw",
)
VALUES: dict[str, Callable[[Any], list[Any]]] = {
    "uptack.discrete.histograms._counted": lambda found: [np.asarray(found)],
    "uptack.discrete.margin_tables._Call.counted": lambda found: [array.ravel() for array in found.values()],
    "uptack.densities.trigonometric_moments.moment_sums": lambda found: [found],
}
LOOKS = ("uptack.mechanisms.ptr.Proposal.look", "uptack.regression.hampel_test.RowTest.needs")
LINES = (
    "uptack.regression.block_fits.fit_blocks",
    "uptack.regression.block_fits.fit_people",
    "uptack.blocks.block_evaluation.evaluate",
)
DIGITS = ("uptack.statistics.rank_windows.WindowRows._drawn",)
COINS = ("uptack.noise.coins.Coin.flip",)
OVERLAPPING = ("uptack.papers.A_samp",)
"""A row is in many of its subsamples, by chance: how many it moves is priced, not counted."""
