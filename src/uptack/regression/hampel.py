"""Robust regression (R_H of Dwork and Lei): Hampel's estimator H, a cell around it, a test, and noise of that size.

**The test.** Let Δ = 2g rows under SUBSTITUTE and g under ADD_REMOVE, for people with up to g rows, and let T(D) be a
point where the sum that H minimises has a subgradient of length at most τ = 1/4 (0 for an exact minimiser). Take any
public family of grids of cells. With cert(C, D) the certificate of `uptack.reach.hampel` let A(D) be the largest
cert(C, D) - τ over the cells C of the family with T(D) in C, and at least 0.

**Theorem.** A(D) changes by at most Δ between neighbours; and if A(D) > Δ, then T(D') is in the cell of T(D) for every
neighbour D'. *Proof.* Let C attain A(D) > Δ. Then cert(C, D') ≥ cert(C, D) - Δ > τ, so no point outside C has a
subgradient as short as τ, and T(D') is in C. Hence A(D') ≥ cert(C, D') - τ ≥ A(D) - Δ. For A(D) ≤ Δ the second claim is
void and the first one plain, as A ≥ 0. ∎

So integer Laplace noise of scale Δ/ε_test on A and a threshold of Δ + t with P(z ≥ t) ≤ δ make a test of the proposal
"T moves by at most h_d in coordinate d", and noise of the K-norm mechanism over the box of half-widths h costs
ε_answer once for all coordinates. One test serves all shifts of the grids: (ε_test + ε_answer, δ).

**Status: not released, and not exported.** The theorem asks for a fit with a subgradient of length at most τ on *every*
table. `uptack.regression.hampel_fit` computes in floats, and on tables with entries from 1e-9 to 1e9 it has been seen
to miss τ, once in thousands. A table that it misses is not covered, and ⊥ would not repair that, since its neighbours
may not be missed. An exact vertex solver would; until there is one, this is a study and makes no promise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack.engines.additive import k_norm
from uptack.engines.inverse import VECTOR_LATTICES, boxes, decay, finest, steps_needed
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.noise import Box, Entropy, IntegerLaplace
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.reach import InterquantileRange, Reach
from uptack.reach.hampel import ALLOWANCE, Cell, Hyperplanes
from uptack.reach.order import quartiles
from uptack.regression.arguments import Floats, Table, choice, table
from uptack.regression.blocks import equal_blocks, fit_blocks, independent_blocks
from uptack.regression.hampel_fit import GAP, Fit, minimise, normalised
from uptack.release import Advice, NoReply, Release
from uptack.statistics.arguments import Call, call, public_size
from uptack.statistics.specification import answered, refused

HOW = "propose-test-release"
MOST = 4
"""Coefficients: facets and shifts grow exponentially in them."""

SHIFTS = {1: 8, 2: 8, 3: 4, 4: 3}
"""Grids to a coordinate, by p. The papers have 2; with more, some cell has the fit nearer its middle."""

YIELD = {1: 0.3, 2: 0.25, 3: 0.13, 4: 0.06}
"""Rows that a cell of widths s·k/n certifies, over k: about two thirds of what normal errors and regressors give."""

SCALES, RUNGS = Fraction(1, 5), ((Fraction(8, 25), 1.0), (Fraction(2, 25), 6.0))
"""The parts of ε that the scales, and the tests of two proposals get, with how much wider the second is. The rest, 2/5,
is for the answer."""

STEPS = 1024
"""A is counted in so many parts of a row, so that rounding it to an integer hardly costs anything."""


@dataclass(frozen=True)
class RowTest:
    """The test "A ≥ Δ + t - z", z drawn before the data are read. Rounding may add to the Δ of computed values: a step
    for the integer part, and one for certificates off by up to 2^-33·n rows.
    """

    test: loss.Test
    rows: int
    n: int

    @property
    def sensitivity(self) -> int:
        """Δ in steps."""
        return STEPS * self.rows + 2 + math.ceil(4 * STEPS * ALLOWANCE * self.n)

    @property
    def noise(self) -> IntegerLaplace:
        """The law of z."""
        return IntegerLaplace(self.sensitivity / Fraction(self.test.epsilon))

    def needs(self, entropy: Entropy) -> float:
        """Draw z; the rows that A must measure for the test to pass."""
        threshold = self.sensitivity + self.noise.cutoff(self.test.delta) - self.noise.sample(entropy=entropy)
        return threshold / STEPS

    def typical(self) -> float:
        """The rows with which it passes but for one draw in 40."""
        return (self.sensitivity + self.noise.cutoff(self.test.delta) + 3 * float(self.noise.scale)) / STEPS


def hampel_regression(
    x: Any,
    y: Any,
    *,
    epsilon: Rational,
    delta: Rational,
    fit_intercept: bool = True,
    missing: str = "error",
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[Floats] | NoReply:
    """The β that minimises Σ|y_i - x_i·β|/‖x_i‖, with noise, or ⊥; the intercept first, if there is one.

    No row counts for more than its distance to β, so neither a gross error in y nor one in x carries the fit away.

    **Theorem.** (ε, δ)-differentially private for any data. The scales of the proposal are the interquartile ranges of
    fits in random blocks of p rows, drawn together by inverse sensitivity, ε/5; then up to two proposals, each tested
    as this module proves.

    It is for up to 4 coefficients. H is not free of units: give columns of like size, centred near 0 where there is an
    intercept. `missing="ignore"` turns rows that are not finite into rows of zeros, which take part in no fit.
    """
    kind = choice("missing", missing, ("error", "ignore"))
    request = call(
        "robust regression",
        epsilon,
        {
            "delta": delta,
            "method": "ptr",
            "rows_per_person": rows_per_person,
            "adjacency": adjacency,
            "entropy": entropy,
        },
    )
    data = table(x, y, fit_intercept=fit_intercept, missing=kind)
    if data.p > MOST:
        fix = "shortcut_regression has no such limit."
        raise InvalidArgument("X", f"a table with at most {MOST} coefficients, the intercept included", data.p, fix)
    n, request = public_size(data.n, request)
    widths = _widths(data, n, request)
    if widths is None:
        return refused(request, None, HOW, Advice(n=_least_rows(data.p, request)))
    tree = loss.Partition(loss.Pure(request.epsilon * SCALES))
    return _tested(data, n, widths, replace(request, spent=(*request.spent, tree)))


def _widths(data: Table, n: int, request: Call) -> Floats | None:
    """The interquartile ranges of block fits, private; None where there are too few blocks, which is public."""
    m, epsilon = max(n // data.p, 1), request.epsilon * SCALES
    low, high = quartiles(m)
    chosen = finest(
        lambda k: low - request.rows * k >= 1 and high + request.rows * k <= m, epsilon, data.p, VECTOR_LATTICES
    )
    if chosen is None:
        return None
    part = equal_blocks if request.adjacency.kind == "substitute" else independent_blocks
    estimates = fit_blocks(data.x, data.y, part(data.n, m, request.entropy), "ols")
    lattice, steps = chosen
    reaches: list[Reach] = [InterquantileRange(c, (low, high), steps, request.rows) for c in estimates.T]
    drawn = boxes(reaches, steps, lattice, nonnegative=True).draw(decay(epsilon), request.entropy)
    return np.array([lattice.value(o) for o in drawn])


def _tested(data: Table, n: int, scales: Floats, request: Call) -> Release[Floats] | NoReply:
    """The proposals in turn, from narrow to wide."""
    tests = _tests(n, request)
    answer = loss.Answer(request.epsilon * (1 - SCALES - sum(part for part, _ in RUNGS)))
    needed = [test.needs(request.entropy) for test in tests]
    u, y = normalised(data.x, data.y)
    fit = minimise(u, y)
    for rows, (_, times) in zip(needed, RUNGS, strict=True):
        widths = proposed(scales, n, times * tests[0].typical() / YIELD[data.p])
        if passes(u, y, fit, widths, rows, SHIFTS[data.p]):
            box = Box(tuple(Fraction(float(h)) * (1 + LONGER) for h in widths))
            noisy = k_norm(fit.beta, body=box, sensitivity=1, epsilon=answer.epsilon, entropy=request.entropy)
            cascade = loss.Cascade(tuple(loss.Unit(t.test, answer) for t in tests))
            return answered(request, noisy.value, cascade, HOW, noisy.noise)
    cascade = loss.Cascade(tuple(loss.Unit(t.test, None) for t in tests))
    return refused(request, cascade, HOW, Advice(n=max(2 * n, _least_rows(data.p, request))))


def _tests(n: int, request: Call) -> list[RowTest]:
    """What each proposal is tested with."""
    rows = request.rows * (2 if request.adjacency.kind == "substitute" else 1)
    share = request.delta / len(RUNGS)
    return [RowTest(loss.Test(request.epsilon * part, share), rows, n) for part, _ in RUNGS]


def proposed(scales: Floats, n: int, k: float) -> Floats:
    """The widths h = s·k/n; for s = 0 the papers' n^(-1/2), where any fixed positive number will do."""
    return np.clip(np.where(scales > 0, scales * k / max(n, 1), max(n, 1) ** -0.5), 1e-250, 1e250)


LONGER = Fraction(1, 1 << 20)
"""By what part a cell's sides may differ from h, since their ends are floats."""


def cells(beta: Floats, widths: Floats, shifts: int) -> Iterator[Cell]:
    """The cells of shifted grids that hold a point, the ones with the point near the middle first.

    Where floats are too coarse for cells of this width there is none.
    """
    ways = [sorted(_sides(float(b), float(h), shifts)) for b, h in zip(beta, widths, strict=True)]
    for sides in sorted(itertools.product(*ways), key=lambda chosen: max(side[0] for side in chosen)):
        yield Cell(np.array([low for _, low, _ in sides]), np.array([high for _, _, high in sides]))


def _sides(beta: float, width: float, shifts: int) -> Iterator[tuple[float, float, float]]:
    """How far the point is from the middle of [(i + shift)·h, (i + 1 + shift)·h), and the ends as floats."""
    h = Fraction(width)
    for shift in (Fraction(j, shifts) for j in range(shifts)):
        i = math.floor(Fraction(beta) / h - shift)
        low, high = float((i + shift) * h), float((i + 1 + shift) * h)
        if low <= beta < high and abs(Fraction(high) - Fraction(low) - h) <= LONGER * h:
            yield abs(float(Fraction(beta) / h - shift - i) - 0.5), low, high


def passes(u: Floats, y: Floats, fit: Fit, widths: Floats, rows: float, shifts: int) -> bool:
    """Whether A is at least so many rows: whether the certificate of some cell is."""
    family = list(cells(fit.beta, widths, shifts))
    if rows <= 0 or not family:
        return rows <= 0
    around = Cell(np.min([c.low for c in family], axis=0), np.max([c.high for c in family], axis=0))
    planes = Hyperplanes(u, y, around)
    return any(planes.holds(cell, rows + GAP) for cell in family)


def _least_rows(p: int, request: Call) -> int:
    """From where on the scales have blocks enough and a cell of a quarter of the scale passes its test."""
    steps = steps_needed(request.epsilon * SCALES, VECTOR_LATTICES[-1].size ** p)
    typical = _tests(1, request)[0].typical()
    return max(math.ceil(4 * typical / YIELD[p]), p * (4 * request.rows * steps + 8))
