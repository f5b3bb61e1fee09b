"""What noisy counts say about the counts: empirical Bayes for tables that are mostly empty.

All of this is post-processing of a private release: it sees noisy counts, the public number of cells and the law of the
noise, so floats will do and nothing here costs privacy.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from uptack.discrete.count_noise import SkewedLaplace
from uptack.noise.integer_laws import Integers

Floats = NDArray[np.float64]
ROUNDS = 40
"""Steps of the fit. More of them would follow the noise: stopping early is what keeps the estimate smooth."""
FINENESS = 6
"""Steps of the grid of counts within the smaller scale of the noise."""
FAR = 12
"""How many of the larger scale above the cutoff a count is estimated; beyond that it is surely not an empty cell's."""


def _density(law: SkewedLaplace, z: Floats) -> Floats:
    """P(noise = z), but not so small that floats lose it."""
    exponent = np.where(z >= 0, -z / float(law.up), z / float(law.down))
    density: Floats = law.pmf(0) * np.exp(np.maximum(exponent, -600))
    return density


def _abundance(seen: Floats, density: Floats, cells: float) -> Floats:
    """How many cells hold each count: the Poisson likelihood's maximum by Richardson and Lucy's iteration.

    `seen` says how often each noisy value was seen and density[v, θ] how likely it is from a count θ, the first of
    which is 0. The empty cells are taken to be all cells: their number is public, and hardly fewer.
    """
    share = density.sum(axis=0)
    held = np.ones(share.size)
    held[0] = cells
    for _ in range(ROUNDS):
        held[1:] *= (density.T @ (seen / (density @ held)) / share)[1:]
    return held


def posterior_medians(noisy: Integers, cutoff: int, law: SkewedLaplace, cells: int) -> Integers:
    """The best guess, for absolute error, of each count whose noisy value reached the cutoff.

    With m_θ cells of count θ a noisy value v comes from a count θ with probability proportional to m_θ·P(z = v - θ).
    The m_θ are fitted to the noisy values themselves, and the median of that law is the guess. It is 0 where more than
    half of the cells with this noisy value are expected to be empty: a local false discovery rate above 1/2.

    >>> law = SkewedLaplace(2, 2)
    >>> posterior_medians(np.array([10, 10, 11, 14, 500]), 10, law, cells=10_000).tolist()
    [0, 0, 0, 0, 500]
    """
    small, large = sorted((float(law.up), float(law.down)))
    step = max(1, math.floor(small / FINENESS))
    size = math.ceil(FAR * large / step) + FAR
    place = np.minimum((noisy - cutoff) // step, size).astype(np.int64)  # noisy counts may be beyond 64 bits
    near = place < size
    values = cutoff + step * np.arange(size, dtype=np.float64) + (step - 1) / 2
    counts = np.concatenate(([0.0], np.arange(max(1.0, step // 2), values[-1] + FAR * small + 1, step)))
    density = step * _density(law, values[:, None] - counts)
    held = _abundance(np.bincount(place[near], minlength=size).astype(float), density, float(cells))
    weight = np.cumsum(density * held, axis=1)
    median = counts[np.argmax(weight >= weight[:, -1:] / 2, axis=1)]
    shift = np.where(median > 0, values - median, np.inf)
    seen = noisy.astype(np.float64)
    guess = seen - float(law.quantile("1/2"))
    guess[near] = seen[near] - shift[place[near]]
    return _whole(np.rint(np.maximum(guess, 0)), noisy)


def _whole(guess: Floats, noisy: Integers) -> Integers:
    """Integers like those given: of 64 bits, or Python's own."""
    return np.array([int(v) for v in guess.tolist()], object) if noisy.dtype.kind == "O" else guess.astype(np.int64)
