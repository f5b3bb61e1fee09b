"""Mechanisms that are broken on purpose, each with a promise that it does not keep: an audit that misses one is blind.

Most are printed constants that the papers got wrong, and mistakes that other libraries have shipped. None of them is
ever used; the repaired version of each is among the cases of `uptack.audit.battery`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from uptack.audit.audit_case import Case, Cells, ExactCase, Mechanism, Pair
from uptack.audit.exact_audit import either, passed, shifted, together
from uptack.audit.neighbours import two_values
from uptack.mechanisms import dwork_lei, laplace, ptr
from uptack.noise import Entropy, IntegerLaplace
from uptack.privacy import Privacy, loss
from uptack.reach import InterquantileRange
from uptack.reach.l_statistics import quartiles

LOW, DELTA = Fraction(1, 10), Fraction(1, 10**6)
FIFTH = Fraction(1, 5)
ZERO, ONE = np.array([0, 0, 0, 0, 0, 0, 1, 1.0]), np.array([0, 0, 0, 0, 0, 1, 1, 1.0])


def two_grids(test: loss.Test, answer: Fraction, cutoff: int, rows: Any, entropy: Entropy) -> float | None:
    """Scale with a test and a threshold of our choice."""
    width = math.log(2)
    proposals = [
        ptr.Proposal(width, ptr.same_bin(ptr.log_grid(width, s)), test, loss.Answer(answer), cutoff)
        for s in dwork_lei.SHIFTS
    ]

    def build(steps: int) -> InterquantileRange:
        return InterquantileRange(rows, quartiles(rows.size), min(steps, rows.size))

    return ptr.attempt(build, proposals, ptr.release_scale(entropy), entropy, same_answer=True).value


def printed_cutoff() -> int:
    """Algorithm 12 replies iff R > 1 + ln(1/δ), whatever ε is: for a wrong proposal noise of so much carries it."""
    return math.floor(math.log(1 / DELTA)) + 1


def noisy_vector(vector: Any, entropy: Entropy) -> Any:
    """R_H as printed: Lap(h/ε) on each of p coordinates, as if not all of them could move by h at once."""
    return laplace(vector, sensitivity=1, epsilon=1, entropy=entropy).value


TIED, TIED_DELTA = IntegerLaplace(Fraction(1, 2)), Fraction(12, 100)
"""ε = 2 and P(z ≥ 1) = 0.119: the threshold is 1, and with 0 in its place 0.881 pass."""


def stable(value: str, distance: int, entropy: Entropy) -> str | None:
    """A_dist as it should be: private for distances that are right."""
    return value if distance + TIED.sample(entropy=entropy) >= TIED.cutoff(TIED_DELTA) else None


def early(data: tuple[str, int], entropy: Entropy) -> str | None:
    """A_dist that replies iff d + z ≥ t - 1: off by one, the mass exactly at the threshold was forgotten."""
    value, distance = data
    return stable(value, distance + 1, entropy)


def lead_as_distance(votes: str, entropy: Entropy) -> str | None:
    """The mode with its lead as the distance to instability, where one replaced row can turn a lead of one around."""
    ahead = votes.count("a") - votes.count("b")
    return stable("a" if ahead > 0 else "b", abs(ahead), entropy)


def _bits(entropy: Entropy) -> np.random.Generator:
    return np.random.default_rng(entropy.below(1 << 62))


def floating(value: float, entropy: Entropy) -> float:
    """Laplace noise of the right scale added as a float: the last bits tell what it was added to (Mironov 2012)."""
    return value + float(_bits(entropy).laplace())


def unit_noise(mean: float, entropy: Entropy) -> float:
    """TM as printed: Lap(1) in place of Lap(1/ε), in units of what one row moves the mean by, at ε = 1/10."""
    return float(laplace(mean, sensitivity=1, epsilon=1, entropy=entropy).value)


def own_bounds(rows: Any, entropy: Entropy) -> float:
    """A mean whose bounds are read off the data."""
    width = float(rows.max() - rows.min())
    return float(laplace(rows.mean(), sensitivity=max(width, 1e-9) / rows.size, epsilon=1, entropy=entropy).value)


def controls() -> list[Case | ExactCase]:
    """All of them. Their names say what is wrong."""
    t = IntegerLaplace(1 / FIFTH).cutoff(DELTA / 2)
    half = DELTA / 2
    printed = partial(two_grids, loss.Test(LOW, half), LOW, printed_cutoff())
    loud = partial(two_grids, loss.Test(1 / FIFTH, half), FIFTH, t)  # noise of scale ε
    far = np.array([0.0] * 9 + [1.0])
    made: list[tuple[str, Mechanism, Pair, Privacy]] = [
        ("Algorithm 12, its printed threshold", printed, (ZERO, ONE), Privacy(4 * LOW, DELTA)),
        ("propose-test-release, noise of scale ε", loud, two_values(4 * t, 4 * t), Privacy(2 * FIFTH, DELTA)),
        ("R_H, its printed noise", noisy_vector, (8 * [0], 8 * [1]), Privacy(1)),
        ("A_dist, a threshold off by one", early, (("a", 0), ("b", 0)), Privacy(2, TIED_DELTA)),
        ("A_dist, a mode's lead as its distance", lead_as_distance, ("aaabb", "aabbb"), Privacy(2, TIED_DELTA)),
        ("TM, its printed noise", unit_noise, (0.0, 1.0), Privacy(LOW)),
        ("Laplace noise as a float", floating, (0.0, 1.0), Privacy(1)),
        ("mean, bounds read off the data", own_bounds, (np.zeros(10), far), Privacy(1)),
    ]
    drawn = [Case(name, mechanism, pair, claimed, broken=True) for name, mechanism, pair, claimed in made]
    return [*drawn, *exact_controls()]


def exact_controls() -> list[ExactCase]:
    """Those whose law is known."""
    law = IntegerLaplace(1 / LOW)

    def algorithm_12() -> Cells:
        chance = either(law.exact_tail(printed_cutoff()).expression())
        return passed(chance, chance, same=False)

    def off_by_one() -> Cells:
        chance = TIED.exact_tail(TIED.cutoff(TIED_DELTA) - 1).expression()
        return passed(chance, chance, same=False)

    each = partial(shifted, IntegerLaplace(1), 1)
    return [
        ExactCase("R_H, its printed noise", partial(together, each, each), Privacy(1), broken=True),
        ExactCase("Algorithm 12, its printed threshold", algorithm_12, Privacy(4 * LOW, DELTA), broken=True),
        ExactCase("A_dist, a threshold off by one", off_by_one, Privacy(2, TIED_DELTA), broken=True),
    ]
