"""The law of a chain in one bin, from its definition alone: what the theorem speaks of."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np

from uptack.mechanisms.quantile_chain import Bin, Chain


def inside(rows, low, high):
    """The rows of a bin, in order; those at the very first candidate belong to the first bin."""
    return sorted(r for r in rows if (low < r or low == 0) and r <= high)


def variation(rows, node, v):
    """V = Σ|2G - γ| of a sorted vector, counted row by row."""
    ends, at = (0, *(sum(r <= p for r in rows) for p in v), len(rows)), (0, *node.targets, node.total)
    gaps = zip(itertools.pairwise(ends), itertools.pairwise(at), strict=True)
    return sum(abs(2 * (b - a) - (d - c)) for (a, b), (c, d) in gaps)


def law(rows, node, steps, q):
    """The probability of every sorted vector of candidates; equal ones share one object."""
    size, out = len(node.targets), {}
    for v in itertools.combinations_with_replacement(range(node.low, node.high), size):
        score = min(variation(rows, node, v), abs(node.excess) + 4 * steps + 2) - abs(node.excess)
        orders = math.factorial(size) // math.prod(math.factorial(v.count(p)) for p in set(v))
        out[v] = orders, score
    weights = {key: key[0] * q ** key[1] for key in set(out.values())}
    total = sum((times * weights[key] for key, times in Counter(out.values()).items()), Fraction(0))
    chances = {key: weight / total for key, weight in weights.items()}
    return {v: chances[key] for v, key in out.items()}


def chain(rows, node, steps, q):
    """The chain as it is drawn from."""
    ordered = np.array(sorted(rows), np.int64)
    return Chain.of(node, steps, q, lambda i: ordered[i - 1])


def some_bins(seed, count):
    """Bins with rows too many, too few or none, tied or not, targets tied or not, aimed at rows or between them."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        low = int(rng.choice([0, 3]))
        high, half = low + int(rng.integers(1, 7)), int(rng.integers(0, 2))
        rows = sorted(rng.integers(low + (low > 0), high + 1, rng.integers(0, 9)).tolist())
        targets = tuple(sorted((2 * rng.integers(1, 6, rng.integers(1, 4)) - half).tolist()))
        yield rows, Bin(low, high, len(rows), targets, targets[-1] + int(rng.integers(0, 6))), int(rng.integers(1, 5))
