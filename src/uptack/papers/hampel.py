"""Robust regression (R_H of Dwork and Lei): Hampel's estimator H, a cell around it, a test, and noise of that size.

1. *Scales*, ε/5: the interquartile ranges of the fits in random blocks of p rows, drawn together by inverse
   sensitivity.
2. *Tests*, 2ε/5 and δ: a cell of widths h, in proportion to the scales, holds H and would hold it if a person's rows
   were others. That is the theorem below, for what is computed in floats. Where it fails,
   one wider proposal is tested.
3. *Answer*, 2ε/5: H with noise of the K-norm mechanism over the box of half-widths h. Where the test is right, H moves
   by at most h_d in each coordinate, so this costs ε once for all coordinates.

Propose-test-release: (ε_test + ε_answer, δ) for one proposal, and a cascade of two costs both tests and one answer.

**The test**: whether a fit stays in its cell of a grid, whatever a few rows become. Rows are what `normalise` makes of
them, floats u_i and y'_i, each from its own. Let T(D) be a minimiser of Σ|y'_i - u_i·β|, exact: the rational vertex of
`uptack.papers.hampel_fit`. Let Δ = 2g rows under SUBSTITUTE and g under ADD_REMOVE, for people with up to g rows.
Take any public family of cells, and let K(C, D) be the integer part of 1024·cert(C, D), cert the *computed* certificate
of `uptack.reach.hampel_certificate`. Let A(D) be the largest K(C, D) over the cells of the family that hold T(D), and 0
without any. Let S = 1024·Δ + 4.

**Theorem.** A(D) changes by at most S between neighbours; and if A(D) > S, then T(D') is in a cell with T(D) for every
neighbour D'.

*Proof.* By (b) and (c) there, for each C the values 1024·cert of D and D' differ by at most 1024·Δ + 1/2, so K by at
most 1024·Δ + 1. Let C attain A(D) > S. Then K(C, D') ≥ A(D) - S + 3 ≥ 4, so cert(C, D') ≥ 4/1024 = `DOUBT`: all
minimisers for D' are in C, also T(D'), whichever it is. Hence A(D') ≥ K(C, D') ≥ A(D) - S. For A(D) ≤ S the second
claim is void and the first one plain, as A ≥ 0. ∎

So integer Laplace noise z of scale S/ε and the threshold S + t with P(z ≥ t) ≤ δ make a test at (ε, δ) of the proposal
"T moves by at most a cell's width". One test serves all shifts of the grids, as the largest of several is taken.

*Cells.* Their ends are public floats with exact middles, T(D) is in them by a comparison of rationals, and no end is
further than 2^38 widths from 0: all that `Hyperplanes` asks for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from uptack import checks
from uptack.account import Account, AssumptionFailed, Mechanism, Outcome
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms.additive_noise import NormMechanism, NormNoise
from uptack.mechanisms.inverse_sensitivity import VECTOR_LATTICES, slack_needed, steps_needed
from uptack.noise import Box, Entropy, Grid, IntegerLaplace
from uptack.papers.block_fits import BlockedDesign, draw_ranges, fit_blocks, range_room, rows_needed
from uptack.papers.hampel_fit import minimiser, normalise
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.reach.hampel_certificate import DOUBT, LARGEST, GridCell, Hyperplanes
from uptack.registry import release
from uptack.regression.coefficients import coefficient_names
from uptack.release import Advice, NoReply, Release
from uptack.statistics.column_options import Question, public_size, read_question
from uptack.table.exact_sum import Floats
from uptack.table.reads import DESIGN

STEPS = 1024
"""A is counted in so many parts of a row, so that taking the integer part hardly costs anything."""

FINE, FAR = 12, 38
LONGER = Fraction(1, 1 << FINE)
"""By what part a cell's sides may differ from h, with room: ends are multiples of 2q ≤ 2^-13·h, off by q at most."""

MARGIN = 2.0**-4
"""By what part the box that decides which rows are far is wider than the cells: 1/32 would do, exactly."""


@dataclass(frozen=True)
class RowTest:
    """The test "A ≥ S + t - z" for Δ = `rows`, z drawn before the data are read."""

    test: loss.Test
    rows: int

    @property
    def sensitivity(self) -> int:
        """S, in steps."""
        return STEPS * self.rows + int(STEPS * DOUBT)

    @property
    def noise(self) -> IntegerLaplace:
        """The law of z."""
        return IntegerLaplace(self.sensitivity / Fraction(self.test.epsilon))

    def needs(self, entropy: Entropy) -> float:
        """Draw z; the rows that the certificate must come to for the test to pass."""
        threshold = self.sensitivity + self.noise.cutoff(self.test.delta) - self.noise.sample(entropy=entropy)
        return threshold / STEPS

    def typical(self) -> float:
        """The rows with which it passes but for one draw in 40."""
        return (self.sensitivity + self.noise.cutoff(self.test.delta) + 3 * float(self.noise.scale)) / STEPS


def cells(beta: Sequence[Fraction], widths: Floats, shifts: int) -> list[GridCell]:
    """The cells of shifted grids that hold a point, exactly, the ones with the point near the middle first.

    Where the point is further than 2^38 cells from 0 there is none.
    """
    ways = [sorted(_sides(Fraction(b), float(h), shifts)) for b, h in zip(beta, widths, strict=True)]
    family = sorted(itertools.product(*ways), key=lambda chosen: max(side[0] for side in chosen))
    return [
        GridCell(np.array([float(s[1]) for s in sides]), np.array([float(s[2]) for s in sides])) for sides in family
    ]


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


class FittedRows(NamedTuple):
    """Normalised rows, and their exact minimiser."""

    u: Floats
    y: Floats
    beta: Sequence[Fraction]

    @staticmethod
    def of(data: BlockedDesign) -> FittedRows:
        rows = data.in_memory()
        u, y = normalise(rows.x, rows.y)
        return FittedRows(u, y, minimiser(u, y))


@dataclass(frozen=True)
class CellProposal:
    """Cells of these widths, of grids with so many shifts to a coordinate, and the tests of "H stays in its cell".

    With one test it is the test of all cells together; with more, each cell has its own.
    """

    widths: tuple[float, ...]
    shifts: int
    tests: tuple[RowTest, ...]

    def family(self, beta: Sequence[Fraction]) -> list[GridCell]:
        return cells(beta, np.array(self.widths), self.shifts)

    def passes(self, rows: FittedRows, needed: Sequence[float]) -> bool:
        """Whether some cell is certified for as many rows as its test needs; a test without a cell has A = 0."""
        family = self.family(rows.beta)
        if min(needed) <= 0 or not family:
            return min(needed) <= 0
        planes = Hyperplanes(rows.u, rows.y, bounding_box(family))
        each = needed if len(needed) > 1 else [needed[0]] * len(family)
        return any(planes.holds(cell, least) for cell, least in zip(family, each, strict=False))

    def distance(self, rows: FittedRows) -> int:
        """A, in steps."""
        family = self.family(rows.beta)
        if not family:
            return 0
        planes = Hyperplanes(rows.u, rows.y, bounding_box(family))
        return max(int(STEPS * planes.certificate(cell)) for cell in family)


@dataclass(frozen=True)
class CellTest(Mechanism[FittedRows, int | None]):
    """Proposals tried in order: the number of the first that passes, or None. An answer must follow one that passes.

    The loss is that of a cascade of all tests, with the answer.
    """

    __test__ = False  # not a pytest class

    proposals: tuple[CellProposal, ...]

    def draw(self, value: FittedRows, entropy: Entropy) -> int | None:
        """Thresholds first, then the certificates."""
        needed = [[test.needs(entropy) for test in proposal.tests] for proposal in self.proposals]
        for place, (proposal, least) in enumerate(zip(self.proposals, needed, strict=True)):
            if proposal.passes(value, least):
                return place
        return None

    def spent(self, output: int | None) -> loss.Loss:
        """⊥ has cost the tests alone."""
        assert isinstance(self.loss, loss.Cascade)
        if output is not None:
            return self.loss
        return replace(self.loss, units=tuple(loss.Unit(unit.test, None) for unit in self.loss.units))

    def price(self, value: FittedRows, other: FittedRows, output: int | None) -> float:
        """Each test by how far A moves. Of tests with the same answer a reply shows one, ⊥ all."""
        prices = []
        for proposal in self.proposals:
            move = proposal.distance(other) - proposal.distance(value)
            for test in proposal.tests:
                prices.append(test.noise.price([move]))
                if prices[-1] > float(Fraction(test.test.epsilon)) * (1 + 1e-9):
                    raise AssumptionFailed(f"a test costs ε = {prices[-1]:.4g} of {float(test.test.epsilon):.4g}")
        assert isinstance(self.loss, loss.Cascade)
        return max(prices) if output is not None and self.loss.same_answer else sum(prices)


def bounding_box(family: Sequence[GridCell]) -> GridCell:
    """A box that holds all cells, with a margin on each side."""
    low, high = np.min([c.low for c in family], axis=0), np.max([c.high for c in family], axis=0)
    return GridCell(low - MARGIN * (high - low), high + MARGIN * (high - low))


HOW = "propose-test-release"
MOST = 4
"""Coefficients: facets and shifts grow exponentially in them."""

UNITS = "columns of similar size, centred near 0 by public numbers"
"""Advice where there are enough rows: the estimate depends on units."""

SHORTCUT = Advice(other=f"at most {MOST} coefficients, or short-cut regression, which has no such limit")

SHIFTS = {1: 8, 2: 8, 3: 4, 4: 3}
"""Grids to a coordinate, by p. The papers have 2; with more, some cell has the fit nearer its middle."""

YIELD = {1: 0.3, 2: 0.25, 3: 0.13, 4: 0.06}
"""Rows that a cell of widths s·k/n certifies, over k: about two thirds of what normal errors and regressors give."""

SCALES, RUNGS = Fraction(1, 5), ((Fraction(8, 25), 1.0), (Fraction(2, 25), 6.0))
"""The parts of ε that the scales, and the tests of two proposals get, with how much wider the second is. The rest, 2/5,
is for the answer."""

WIDTHS = 1e-100, 1e100
"""Cells are neither narrower nor wider: squares of such widths are floats."""

LARGER = {1: 2.2, 2: 2.7, 3: 3.0, 4: 3.2}
"""Scales of fits to p rows over those of fits to the larger blocks where the number of rows is secret, by p."""


@release(reads=DESIGN, data=("x", "y"), missing="drop", also="robust_regression", examples=({"delta": 1e-6},))
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
    """Robust regression: the β that minimises Σ|y_i - x_i·β|/‖x_i‖, with noise, or ⊥. An intercept comes first.

    No row counts for more than its distance to β, so neither a gross error in y nor one in x carries the fit away.

    **Theorem.** (ε, δ)-differentially private for any data: ε/5 for scales, 2ε/5 and δ for the tests of two proposals,
    2ε/5 for the answer (`uptack.papers.hampel` has the proof). Under ADD_REMOVE, and with `missing="drop"`,
    a tenth of ε is for the number of rows first.

    It is for up to 4 coefficients: for more the reply is ⊥, and costs nothing. H is not free of units: give columns of
    like size, centred near 0 where there is an intercept. With `missing="drop"` rows that are not finite take part in
    nothing. `result.interval()` is about H of these rows, for all coefficients at once.

    >>> from uptack import SeededEntropy
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 1)); y = 1 + 2 * X[:, 0] + rng.normal(size=20_000)
    >>> y[:1000] = 1e9
    >>> fit = hampel_regression(X, y, epsilon=1, delta=1e-6, entropy=SeededEntropy(1))
    >>> bool(np.abs(fit.value - [1, 2]).max() < 0.5), fit.privacy
    (True, Privacy(epsilon=1.0, delta=1e-06))
    """
    checks.choice("missing", missing, ("error", "drop"))
    promised = {"delta": delta, "rows_per_person": rows_per_person, "adjacency": adjacency, "entropy": entropy}
    question = read_question("robust regression", epsilon, {**promised, "method": "ptr", "missing": missing})
    data = BlockedDesign.of(x, y, bool(fit_intercept), missing)
    if data.n > LARGEST and not question.size_is_secret:
        raise InvalidArgument("X", f"a table of at most {LARGEST} rows", data.n)
    found, labels = _estimate(data, question), coefficient_names(data.p, bool(fit_intercept), x)
    return question.close(replace(found, labels=labels))


def _estimate(data: BlockedDesign, question: Question) -> Outcome[Floats]:
    """The scales of block fits, then the tests and the answer."""
    if data.p > MOST:
        return question.refuse(HOW, SHORTCUT)
    n, question = public_size(data.count_complete() if question.size_is_secret else data.n, question)
    if n > LARGEST // 2 and question.size_is_secret:  # with room for the noise: a table beyond LARGEST never gets here
        return question.refuse(HOW, SHORTCUT)
    scales = _scales(data, n, question)
    if scales is None:
        return question.refuse(HOW, Advice(n=_least_rows(data.p, question)))
    return _test_and_answer(data, n, scales, question)


def _scales(data: BlockedDesign, n: int, question: Question) -> Floats | None:
    """The interquartile ranges of block fits, private; None where there are too few blocks, or they tell too little."""
    epsilon, rows = question.epsilon * SCALES, rows_needed(data.p, question) if question.size_is_secret else data.p
    m = max(int(n / rows), 1)
    room = range_room(m, data.p, question.rows, epsilon, VECTOR_LATTICES)
    if room is None:
        return None
    data.count_complete()  # an error where rows lack values, after ⊥ by public numbers
    estimates = least_squares_in_blocks(data, n, m, question)
    account = question.allot(epsilon, question.delta).through(loss.Partition)
    ranges = draw_ranges(estimates, room, account)
    usual = LARGER[data.p] if question.size_is_secret else 1.0
    return None if ranges is None else ranges * usual


def least_squares_in_blocks(data: BlockedDesign, n: int, blocks: int, account: Account) -> Floats:
    """The least squares estimates of random blocks, a line each; the shortest ones of singular blocks."""
    parts = data.deal_rows(n, blocks, account)
    return np.vstack([fit_blocks(part.x, part.y, members, "ols", shortest=True) for part, members in parts])


def _test_and_answer(data: BlockedDesign, n: int, scales: Floats, question: Question) -> Outcome[Floats]:
    """The proposals in turn, from narrow to wide."""
    tests = _tests(question)
    answer = loss.Answer(question.epsilon * (1 - SCALES - sum(part for part, _ in RUNGS)))
    proposals, size = [], max(n, 1)
    for test, (_, times) in zip(tests, RUNGS, strict=True):  # for s = 0 any fixed positive width will do
        widths = np.where(scales > 0, scales * (times * tests[0].typical() / YIELD[data.p]) / size, size**-0.5)
        proposals.append(CellProposal(tuple(np.clip(widths, *WIDTHS)), SHIFTS[data.p], (test,)))
    cascade = loss.Cascade(tuple(loss.Unit(t.test, answer) for t in tests))
    rows = FittedRows.of(data)
    passed = question.draw(CellTest(cascade, tuple(proposals)), rows)
    if passed is None:
        return question.refuse(HOW, Advice(n=max(2 * n, _least_rows(data.p, question)), other=UNITS))
    box = Box(tuple(Fraction(float(h)) * (1 + LONGER) for h in proposals[passed].widths))
    noise = vertex_noise(box, Fraction(answer.epsilon))
    noisy = noise.grid.points(question.prepaid().draw(noise, rows.beta))
    return Outcome(noisy, HOW, NormNoise(box, float(noise.scale), float(Fraction(noise.grid.step)) / 2))


def _tests(question: Question) -> list[RowTest]:
    rows = question.rows * question.adjacency.moves_per_row
    share = question.delta / len(RUNGS)
    return [RowTest(loss.Test(question.epsilon * part, share), rows) for part, _ in RUNGS]


def vertex_noise(box: Box, epsilon: Fraction) -> NormMechanism:
    """K-norm noise over the box, of scale 1/ε, on a rational point: `k_norm`, without rounding the point first."""
    scale = 1 / epsilon
    grid = Grid.finer_than(scale * min(Fraction(w) for w in box.half_widths))
    return NormMechanism(loss.Pure(epsilon), box, scale, grid)


def _least_rows(p: int, question: Question) -> int:
    """From where on the scales have blocks enough and a cell of a quarter of the scale passes its test."""
    epsilon, rows = question.epsilon * SCALES, rows_needed(p, question) if question.size_is_secret else p
    steps = steps_needed(epsilon, VECTOR_LATTICES[-1].size ** p) + slack_needed(epsilon)
    typical = _tests(question)[0].typical()
    return math.ceil(max(4 * typical / YIELD[p], rows * (4 * question.rows * steps + 8)))
