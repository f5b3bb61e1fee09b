"""Robust regression (R_H of Dwork and Lei): Hampel's estimator H, a cell around it, a test, and noise of that size.

1. *Scales*, ε/5: the interquartile ranges of the fits in random blocks of p rows, drawn together by inverse
   sensitivity.
2. *Tests*, 2ε/5 and δ: a cell of widths h, in proportion to the scales, holds H and would hold it if a person's rows
   were others. That is the theorem of `uptack.regression.cells`, for what is computed in floats. Where it fails, one
   wider proposal is tested.
3. *Answer*, 2ε/5: H with noise of the K-norm mechanism over the box of half-widths h. Where the test is right, H moves
   by at most h_d in each coordinate, so this costs ε once for all coordinates.

Propose-test-release: (ε_test + ε_answer, δ) for one proposal, and a cascade of two costs both tests and one answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from uptack.errors import InvalidArgument
from uptack.exact import Rational, ball
from uptack.mechanisms.additive import NormNoise
from uptack.mechanisms.inverse import VECTOR_LATTICES, slack_needed, steps_needed
from uptack.noise import Box, Entropy, Grid
from uptack.noise.continuous import gamma, nearest_integers
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.reach.hampel import LARGEST
from uptack.registry import release
from uptack.registry.reads import DESIGN
from uptack.regression import spreads
from uptack.regression.arguments import Floats, Table, choice, table
from uptack.regression.cells import LONGER, RowTest, cells, passes
from uptack.regression.dealing import dealt, rows_needed
from uptack.regression.fits import fit_blocks
from uptack.regression.hampel_fit import minimiser, normalised
from uptack.release import Advice, NoReply, Release
from uptack.statistics.arguments import Call, call, public_size
from uptack.statistics.methods import answered, refused

HOW = "propose-test-release"
MOST = 4
"""Coefficients: facets and shifts grow exponentially in them."""

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


@release(reads=DESIGN, data=("x", "y"), missing="ignore", also="robust_regression", examples=({"delta": 1e-6},))
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

    **Theorem.** (ε, δ)-differentially private for any data: ε/5 for scales, 2ε/5 and δ for the tests of two proposals,
    2ε/5 for the answer (`uptack.regression.cells` has the proof). Under ADD_REMOVE, and with `missing="ignore"`, a
    tenth of ε is for the number of rows first.

    It is for up to 4 coefficients: for more the reply is ⊥, and costs nothing. H is not free of units: give columns of
    like size, centred near 0 where there is an intercept. With `missing="ignore"` rows that are not finite take part in
    nothing. `result.interval()` is about H of these rows, for all coefficients at once.

    >>> from uptack import SeededEntropy
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 1)); y = 1 + 2 * X[:, 0] + rng.normal(size=20_000)
    >>> y[:1000] = 1e9
    >>> fit = hampel_regression(X, y, epsilon=1, delta=1e-6, entropy=SeededEntropy(1))
    >>> bool(np.abs(fit.value - [1, 2]).max() < 0.5), fit.privacy
    (True, Privacy(epsilon=1.0, delta=1e-06))
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
            "missing": "drop" if kind == "ignore" else "error",
            "entropy": entropy,
        },
    )
    data = table(x, y, fit_intercept=fit_intercept, missing=kind)
    if data.n > LARGEST and not request.size_is_secret:
        raise InvalidArgument("X", f"a table of at most {LARGEST} rows", data.n)
    if data.p > MOST:
        return refused(request, None, HOW, SHORTCUT)
    n, request = public_size(int(data.complete.sum()), request)
    if n > LARGEST // 2 and request.size_is_secret:  # with room for the noise: a table beyond LARGEST never gets here
        return refused(request, None, HOW, SHORTCUT)
    scales, tree = _scales(data, n, request)
    if scales is None or tree is None:
        return refused(request, tree, HOW, Advice(n=_least_rows(data.p, request)))
    return _tested(data, n, scales, replace(request, spent=(*request.spent, tree)))


def _scales(data: Table, n: int, request: Call) -> tuple[Floats | None, loss.Loss | None]:
    """The interquartile ranges of block fits, private, and what they cost; nothing where there are too few blocks."""
    epsilon, rows = request.epsilon * SCALES, rows_needed(data.p, request) if request.size_is_secret else data.p
    m = max(int(n / rows), 1)
    room = spreads.room(m, data.p, request.rows, epsilon, VECTOR_LATTICES)
    if room is None:
        return None, None
    estimates = fit_blocks(data.x, data.y, dealt(data, n, m, request), "ols", shortest=True)
    ranges = spreads.draw(estimates, room, request.rows, epsilon, request.entropy)
    usual = LARGER[data.p] if request.size_is_secret else 1.0
    return None if ranges is None else ranges * usual, loss.Partition(loss.Pure(epsilon))


def _tested(data: Table, n: int, scales: Floats, request: Call) -> Release[Floats] | NoReply:
    """The proposals in turn, from narrow to wide."""
    tests = _tests(request)
    answer = loss.Answer(request.epsilon * (1 - SCALES - sum(part for part, _ in RUNGS)))
    needed = [test.needs(request.entropy) for test in tests]
    u, y = normalised(data.x, data.y)
    beta, shifts = minimiser(u, y), SHIFTS[data.p]
    for rows, (_, times) in zip(needed, RUNGS, strict=True):
        widths = proposed(scales, n, times * tests[0].typical() / YIELD[data.p])
        if passes(u, y, cells(beta, widths, shifts), [rows] * shifts**data.p):
            box = Box(tuple(Fraction(float(h)) * (1 + LONGER) for h in widths))
            noisy, noise = noisy_vertex(beta, box, Fraction(answer.epsilon), request.entropy)
            cascade = loss.Cascade(tuple(loss.Unit(t.test, answer) for t in tests))
            return answered(request, noisy, cascade, HOW, noise)
    cascade = loss.Cascade(tuple(loss.Unit(t.test, None) for t in tests))
    return refused(request, cascade, HOW, Advice(n=max(2 * n, _least_rows(data.p, request))))


def _tests(request: Call) -> list[RowTest]:
    """What each proposal is tested with."""
    rows = request.rows * request.adjacency.moves_per_row
    share = request.delta / len(RUNGS)
    return [RowTest(loss.Test(request.epsilon * part, share), rows) for part, _ in RUNGS]


def proposed(scales: Floats, n: int, k: float) -> Floats:
    """The widths h = s·k/n; for s = 0 the papers' n^(-1/2), where any fixed positive number will do."""
    return np.clip(np.where(scales > 0, scales * k / max(n, 1), max(n, 1) ** -0.5), *WIDTHS)


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
    epsilon, rows = request.epsilon * SCALES, rows_needed(p, request) if request.size_is_secret else p
    steps = steps_needed(epsilon, VECTOR_LATTICES[-1].size ** p) + slack_needed(epsilon)
    typical = _tests(request)[0].typical()
    return math.ceil(max(4 * typical / YIELD[p], rows * (4 * request.rows * steps + 8)))
