"""Robust regression (R_H of Dwork and Lei): Hampel's estimator H, a cell around it, a test, and noise of that size.

**The test.** Rows are what `normalised` makes of them, floats u_i and y'_i, each from its own. Let Δ = 2g rows under
SUBSTITUTE and g under ADD_REMOVE, for people with up to g rows, and let T(D) be a minimiser of Σ|y'_i - u_i·β|, exact:
the rational vertex of `uptack.regression.vertex`. Take any public family of grids of cells. With cert(C, D) the
certificate of `uptack.reach.hampel` let A(D) be the largest cert(C, D) over the cells C of the family with T(D) in C,
and at least 0.

**Theorem.** A(D) changes by at most Δ between neighbours; and if A(D) > Δ, then T(D') is in the cell of T(D) for every
neighbour D'. *Proof.* Let C attain A(D) > Δ. Then cert(C, D') ≥ cert(C, D) - Δ > 0, so no point outside C is a
minimiser for D', and T(D'), whichever minimiser it is, is in C. Hence A(D') ≥ cert(C, D') ≥ A(D) - Δ. For A(D) ≤ Δ the
second claim is void and the first one plain, as A ≥ 0. ∎

**Rounding.** The proof uses of cert that for each C it is below φ, and that a row moves it by at most 1. Computed:

1. *Cells.* Their ends are public floats, with exact middles, and T(D) is in them by a comparison of rationals.
2. *Signs.* For a cell, an edge or sub-box and a point b on it, each row adds its derivative, if its sign is sure, or
   else a number of at most -|u_i·d|, at least -1. Which one depends on this row, the cell and b alone. So the least sum
   is below φ and moves by at most max‖u_i‖ ≤ 1 + 2^-50 with a row. The box `around` the cells does depend on T(D), and
   a row that is far from it is sure. It is sure for each cell anyway: the margin of 2^-4 of the width leaves it a
   residual above 2^-5·Σ|u_ij|·h_j on the cell, where the bound of the error is below 2^-48·|residual|
   + 2^-10·Σ|u_ij|·h_j, as |y'| ≤ |residual| + |u|·|β| and no end exceeds 2^38·h.
3. *Sums.* Each row is off by at most 2^-34 after that, which is taken off: the value is too small by at most 2^-33·n,
   which `RowTest` adds to Δ, for the most rows that there may be, as it does with the 2^-50 and the integer part.

So integer Laplace noise of scale Δ/ε_test on A and a threshold of Δ + t with P(z ≥ t) ≤ δ make a test of the proposal
"T moves by at most h_d in coordinate d", and noise of the K-norm mechanism over the box of half-widths h costs
ε_answer once for all coordinates. One test serves all shifts of the grids: (ε_test + ε_answer, δ).

**Status: not released, and not exported.** T(D) is an exact rational minimiser on every table
(`uptack.regression.vertex`). What is left is the rounding in the certificate, whose argument (`uptack.reach.hampel`)
must hold row by row for the Lipschitz property too, and has not been checked as the other theorems have. Until it is,
this is a study.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from uptack.engines.additive import NormNoise
from uptack.engines.inverse import VECTOR_LATTICES, boxes, decay, finest, steps_needed
from uptack.errors import InvalidArgument
from uptack.exact import Rational, ball
from uptack.noise import Box, Entropy, Grid, IntegerLaplace
from uptack.noise.continuous import gamma, nearest_integers
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.reach import InterquantileRange, Reach
from uptack.reach.hampel import ALLOWANCE, Cell, Hyperplanes
from uptack.reach.order import quartiles
from uptack.regression.arguments import Floats, Table, choice, table
from uptack.regression.blocks import equal_blocks, fit_blocks, independent_blocks
from uptack.regression.hampel_fit import minimiser, normalised
from uptack.release import Advice, NoReply, Release
from uptack.statistics.arguments import Call, call, public_size
from uptack.statistics.specification import answered, refused

HOW = "propose-test-release"
MOST = 4
"""Coefficients: facets and shifts grow exponentially in them."""

LARGEST = 1 << 26
"""Rows: up to here sums of gradients are exact."""

SHIFTS = {1: 8, 2: 8, 3: 4, 4: 3}
"""Grids to a coordinate, by p. The papers have 2; with more, some cell has the fit nearer its middle."""

YIELD = {1: 0.3, 2: 0.25, 3: 0.13, 4: 0.06}
"""Rows that a cell of widths s·k/n certifies, over k: about two thirds of what normal errors and regressors give."""

SCALES, RUNGS = Fraction(1, 5), ((Fraction(8, 25), 1.0), (Fraction(2, 25), 6.0))
"""The parts of ε that the scales, and the tests of two proposals get, with how much wider the second is. The rest, 2/5,
is for the answer."""

WIDTHS = 1e-100, 1e100
"""Cells are neither narrower nor wider: squares of such widths are floats."""

STEPS = 1024
"""A is counted in so many parts of a row, so that rounding it to an integer hardly costs anything."""


@dataclass(frozen=True)
class RowTest:
    """The test "A ≥ Δ + t - z", z drawn before the data are read. Rounding may add to the Δ of computed values: a step
    for the integer part, one for rows of length up to 1 + 2^-50, and as many as certificates of `LARGEST` rows, each
    off by up to 2^-33 rows per row, can differ by.
    """

    test: loss.Test
    rows: int

    @property
    def sensitivity(self) -> int:
        """Δ in steps."""
        return STEPS * self.rows + 2 + math.ceil(4 * STEPS * ALLOWANCE * LARGEST)

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
    if data.n > LARGEST:
        raise InvalidArgument("X", f"a table of at most {LARGEST} rows", data.n)
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
    tests = _tests(request)
    answer = loss.Answer(request.epsilon * (1 - SCALES - sum(part for part, _ in RUNGS)))
    needed = [test.needs(request.entropy) for test in tests]
    u, y = normalised(data.x, data.y)
    beta = minimiser(u, y)
    for rows, (_, times) in zip(needed, RUNGS, strict=True):
        widths = proposed(scales, n, times * tests[0].typical() / YIELD[data.p])
        if passes(u, y, beta, widths, rows, SHIFTS[data.p]):
            box = Box(tuple(Fraction(float(h)) * (1 + LONGER) for h in widths))
            noisy, noise = noisy_vertex(beta, box, Fraction(answer.epsilon), request.entropy)
            cascade = loss.Cascade(tuple(loss.Unit(t.test, answer) for t in tests))
            return answered(request, noisy, cascade, HOW, noise)
    cascade = loss.Cascade(tuple(loss.Unit(t.test, None) for t in tests))
    return refused(request, cascade, HOW, Advice(n=max(2 * n, _least_rows(data.p, request))))


def _tests(request: Call) -> list[RowTest]:
    """What each proposal is tested with."""
    rows = request.rows * (2 if request.adjacency.kind == "substitute" else 1)
    share = request.delta / len(RUNGS)
    return [RowTest(loss.Test(request.epsilon * part, share), rows) for part, _ in RUNGS]


def proposed(scales: Floats, n: int, k: float) -> Floats:
    """The widths h = s·k/n; for s = 0 the papers' n^(-1/2), where any fixed positive number will do."""
    return np.clip(np.where(scales > 0, scales * k / max(n, 1), max(n, 1) ** -0.5), *WIDTHS)


FINE, FAR = 12, 38
LONGER = Fraction(1, 1 << FINE)
"""By what part a cell's sides may differ from h, with room: ends are multiples of 2q ≤ 2^-13·h, off by q at most."""

MARGIN = 2.0**-4
"""By what part the box that decides which rows are far is wider than the cells: no row is far that a cell doubts."""


def cells(beta: Sequence[Fraction], widths: Floats, shifts: int) -> Iterator[Cell]:
    """The cells of shifted grids that hold a point, exactly, the ones with the point near the middle first.

    Where the point is further than 2^38 cells from 0 there is none.
    """
    ways = [sorted(_sides(Fraction(b), float(h), shifts)) for b, h in zip(beta, widths, strict=True)]
    for sides in sorted(itertools.product(*ways), key=lambda chosen: max(side[0] for side in chosen)):
        yield Cell(np.array([float(low) for _, low, _ in sides]), np.array([float(high) for _, _, high in sides]))


def _sides(beta: Fraction, width: float, shifts: int) -> Iterator[tuple[float, Fraction, Fraction]]:
    """How far the point is from the middle of its cell, and the ends of that.

    The ends (i + shift)·h are rounded to multiples of 2q, q a power of two. That keeps their order, so the cells of one
    shift still part the line and the point is in one of three. Ends, middle and half-width have at most 53 bits in
    units of q: they are floats.
    """
    h = Fraction(width)
    unit = Fraction(2) ** (math.frexp(width)[1] - 2 - FINE)  # 2q: h is from 2^(e-1) to 2^e
    if abs(beta) > h * (1 << FAR):
        return
    for shift in (Fraction(j, shifts) for j in range(shifts)):
        i = math.floor(beta / h - shift)
        ends = [unit * round((j + shift) * h / unit) for j in range(i - 1, i + 3)]
        low, high = next(pair for pair in itertools.pairwise(ends) if pair[0] <= beta < pair[1])
        middle = (low + high) / 2
        if max(abs(low), abs(high)) <= h * (1 << FAR):
            yield float(abs(beta - middle) / h), low, high


def passes(u: Floats, y: Floats, beta: Sequence[Fraction], widths: Floats, rows: float, shifts: int) -> bool:
    """Whether A is at least so many rows: whether the certificate of some cell is.

    `holds` is quick to say no, which is sure; its yes is confirmed by the certificate itself.
    """
    family = list(cells(beta, widths, shifts))
    if rows <= 0 or not family:
        return rows <= 0
    planes = Hyperplanes(u, y, around(family))
    return any(planes.holds(cell, rows) and planes.certificate(cell) >= rows for cell in family)


def around(family: Sequence[Cell]) -> Cell:
    """A box that holds all cells, with a margin on each side."""
    low, high = np.min([c.low for c in family], axis=0), np.max([c.high for c in family], axis=0)
    return Cell(low - MARGIN * (high - low), high + MARGIN * (high - low))


def noisy_vertex(beta: Sequence[Fraction], box: Box, epsilon: Fraction, entropy: Entropy) -> tuple[Floats, NormNoise]:
    """K-norm noise over the box, of scale 1/ε, on a rational point: `k_norm`, without rounding the point first."""
    scale, d = 1 / epsilon, box.dimension
    step = Grid.finer_than(scale * min(Fraction(w) for w in box.half_widths)).step
    centre, per_step, point = [b / Fraction(step) for b in beta], scale / Fraction(step), box.settled(entropy)

    def noisy(us: Any) -> list[arb]:
        radius = ball(per_step) * gamma(us[: d + 1])
        return [ball(c) + radius * v for c, v in zip(centre, point(us[d + 1 :]), strict=True)]

    steps = nearest_integers(noisy, d + 1 + box.uniforms, entropy)
    return Grid(step).points(steps), NormNoise(box, float(scale), float(Fraction(step)) / 2)


def _least_rows(p: int, request: Call) -> int:
    """From where on the scales have blocks enough and a cell of a quarter of the scale passes its test."""
    steps = steps_needed(request.epsilon * SCALES, VECTOR_LATTICES[-1].size ** p)
    typical = _tests(request)[0].typical()
    return max(math.ceil(4 * typical / YIELD[p]), p * (4 * request.rows * steps + 8))
