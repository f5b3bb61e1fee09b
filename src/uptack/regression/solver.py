"""Regression by bounded sums: one solver for every loss, pure ε, without bounds on the data.

1. *Units and centres* of all columns (`uptack.multivariate.standardise`).
2. *Scatter* Σaaᵀ of a = (1, x, y), rows cut to a length: coordinates z in which predictors are about round, and a start.
3. *Normal equations* Σvvᵀ of v = (√κ·z, c·ψ/√κ), rows cut to a length: the Hessian and a Newton step at once. A row that
   is cut counts less in both alike, so the step is whole.
4. Where curvatures differ between rows, the *Hessian* Σκ·zzᵀ again.
5. Two Newton steps by *gradients* Σ w²·z·ψ, in which each row's part is cut to the length T. Two private quantiles of
   lengths say how far out in their tail T is.
6. *Variances* Σ(eⱼᵀg)² in the direction of each coefficient: standard errors.

The gradient of a row is clipped by its length, and not its predictors and its residual apart. For normal rows the
length that leaves out a few hundred rows is half the product of both factors' ends. So a clip that touches hardly any
row is affordable, and what is estimated is the estimate without privacy, not one with other weights.

**Theorem.** Each sum is private for its part of ε, whatever the rows hold, given what was released before
(`uptack.regression.private_sums`). All else is computed from released numbers, and is fixed before rows are read again.
The parts add up to at most ε on every path. ∎
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account
from uptack.multivariate.bounded import moved
from uptack.multivariate.standardise import Frame
from uptack.multivariate.steps import Sample, lengths, products
from uptack.progress import Step as Show
from uptack.regression import tuning
from uptack.regression.fit_rows import FitRows, RowWeights, cut
from uptack.regression.losses import Loss, Moments
from uptack.regression.private_sums import (
    NoisyMatrix,
    NoisyVector,
    far_quantile,
    farther_quantile,
    gradient,
    second_moments,
    variances,
)
from uptack.table.exact_sum import Floats

Flags = NDArray[np.bool_]
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
SPREAD = Fraction(1, 100)
"""The part of ε for each of two spreads of residuals, of a loss that has one."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Standardised rows, about how many there are, a loss, and what may be spent."""

    rows: Sample
    frame: Frame
    intercept: bool
    loss: Loss
    n: float
    account: Account

    @property
    def last(self) -> Fraction:
        """The part of ε that the last gradient gets."""
        sums = tuning.SCATTER + 2 * tuning.RADIUS + tuning.NORMAL_EQUATIONS + tuning.SECOND + tuning.VARIANCES
        draws = tuning.UNITS + tuning.CENTRES + tuning.NEAR + tuning.FAR
        own = self.loss.curved + (tuning.RADIUS if self.loss.curved else 0) + (2 * SPREAD if self.loss.near else 0)
        return 1 - sums - draws - own

    def noise(self, share: Fraction) -> float:
        """The scale of the noise, at a part of ε, in the mean of vectors of length 1."""
        return moved(self.account) / (self.n * float(self.account.epsilon * share))

    def rank(self, share: Fraction, least: float, most: float) -> float:
        """How many rows are beyond a quantile at this part of ε: at least so many, at most such a part of all."""
        return min(max(tuning.RANK / float(self.account.epsilon * share), least), most * self.n)


@dataclass(frozen=True, eq=False)
class Start:
    """The first coordinates z = B·(1, x), in which second moments are 1, and the mean of z."""

    coordinates: Floats
    mean: Floats

    def turned(self, beta: Floats) -> Floats:
        """b for coefficients β = Bᵀb. Its length is the root mean square of η."""
        return np.asarray(np.linalg.solve(self.coordinates.T, beta), np.float64)


@dataclass(frozen=True, eq=False)
class Hessian:
    """Eigenvalues as they are used, which of them noise hides, the deviation of an entry, and the information there."""

    values: Floats
    hidden: Flags
    entry: float
    information: float


@dataclass(frozen=True)
class Tail:
    """Two far quantiles of the lengths of gradients, and the rows beyond the farther one."""

    near: float
    far: float
    beyond: float

    @property
    def excess(self) -> float:
        """How far rows are beyond, on average: that of an exponential tail through both."""
        return max(self.far - self.near, 0.2 * self.far) / math.log(tuning.NEARER)

    def lost(self, clip: float) -> float:
        """What rows have beyond a clip in all, by Hill's index."""
        index = min(math.log(max(self.far / self.near, 1.2)) / math.log(tuning.NEARER), tuning.HILL)
        return self.beyond * math.pow(self.far / clip, 1 / index) * index * clip


@dataclass(frozen=True, eq=False)
class State:
    """Where a fit is: the coordinates of rows, b, and the spread s."""

    model: FitRows
    b: Floats
    s: float
    start: Start
    hessian: Hessian

    @property
    def beta(self) -> Floats:
        """Coefficients of the standardised predictors."""
        return np.asarray(self.model.coordinates.T @ self.b)

    @property
    def information(self) -> float:
        """What it is on average, if η is normal: by released numbers alone."""
        b = self.start.turned(self.beta)
        middle = float(b @ self.start.mean)
        spread = math.sqrt(max(float(b @ b) - middle**2, 0.0))
        return float(WEIGHTS @ self.model.loss.information(middle + spread * NODES) / WEIGHTS.sum())

    @property
    def steeper(self) -> float:
        """How much larger the Hessian is by now than 1, as the information says."""
        return self.information / self.hessian.information

    def sizes(self, batch: Floats) -> Floats:
        """|√i·z| for the information i."""
        return self.model.sizes(batch, self.b)

    def gradients(self, batch: Floats) -> Floats:
        """Those of the rows here."""
        return self.model.gradients(batch, self.b, self.s)

    def moved(self, change: Floats) -> float:
        """The root mean square change of η for a change of b."""
        return float(np.linalg.norm(self.start.turned(self.model.coordinates.T @ change)))

    def turned(self, values: Floats, axes: Floats) -> State:
        """The same in coordinates in which a Hessian with these eigenvalues is 1."""
        model = replace(self.model, coordinates=(axes / np.sqrt(values)).T @ self.model.coordinates)
        return replace(self, model=model, b=np.sqrt(values) * (axes.T @ self.b))

    def stepped(self, change: Floats) -> State:
        """b after a step, which is no longer than the stride of the loss."""
        part = min(1.0, self.model.loss.stride / max(self.moved(change), 1e-300))
        return replace(self, b=self.b + part * change)


@dataclass(frozen=True, eq=False)
class NewtonStep:
    """The step that a gradient asks for, the part of it that was made, the deviation of its noise, and its clip."""

    change: Floats
    part: float
    noise: float
    clip: float


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients in units of the columns, the parts of their variances, and which of them noise hides.

    `sampling` is known to the deviation `unsure`. `other` is for what was clipped, not corrected, or blurred by the
    noise of the Hessian. `gross` is the number of gross errors and its deviation. `moved` is the root mean square change
    of η in the last step, noise apart.
    """

    beta: Floats
    sampling: Floats
    private: Floats
    other: Floats
    unsure: Floats
    hidden: Flags
    gross: tuple[float, float]
    moved: float

    def converged(self, loss: Loss) -> bool:
        """Whether the last step was short, for a loss that is no parabola."""
        return bool(self.moved <= tuning.CONVERGED * loss.stride)


def solve(problem: Problem, show: Show) -> Fit:
    """All steps after units and centres."""
    show("scatter matrix")
    state = spread(problem, begin(problem))
    show("normal equations")
    state = spread(problem, normal_equations(problem, state))
    state = measure_hessian(problem, state)
    show("Newton steps")
    tail = measure_tail(problem, state)
    state, _, gross = second_step(problem, state, tail)
    before = state
    state, step = last_step(problem, state, tail)
    show("standard errors")
    return finish(problem, before, state, step, tail, gross)


def begin(problem: Problem) -> State:
    """Second moments S of (1, x, y): coordinates z = B·(1, x) in which those of the predictors are 1, and a start."""
    frame, loss, d, first = problem.frame, problem.loss, problem.frame.width, int(not problem.intercept)
    rows = FitRows(frame, first, loss, np.eye(d - 1 - first))
    spare = tuning.LONG_ROWS / (tuning.EDGE * d**2 * problem.noise(tuning.SCATTER))
    longest = math.sqrt(d * min(max(spare, 1.0), tuning.LONGEST))
    found = second_moments(problem.rows, rows.scatter, longest, problem.n, problem.account.part(tuning.SCATTER))
    values, axes, _ = spectrum(found, d - 1)
    matrix = found.matrix.copy()
    matrix[:-1, :-1] = (axes * values) @ axes.T
    moments = Moments(matrix, first, float(frame.units[-1]), float(frame.centres[-1]))
    values, axes = np.linalg.eigh(matrix[first:-1, first:-1])
    whitening = (axes / np.sqrt(values)) @ axes.T
    start = Start(whitening, whitening @ matrix[first:-1, 0] / matrix[0, 0])
    hessian = Hessian(values, np.zeros(values.size, bool), 0.0, 1.0)
    return State(replace(rows, coordinates=whitening), start.turned(loss.start(moments)), 1.0, start, hessian)


def spread(problem: Problem, state: State) -> State:
    """The spread of residuals, of a loss that has one."""
    if not problem.loss.near:
        return state
    n, beyond = problem.n, float(1 - problem.loss.near) * problem.n
    part = problem.account.part(SPREAD)
    return replace(
        state, s=far_quantile(problem.rows, lambda batch: state.model.residuals(batch, state.b), beyond, n, 1.0, part)
    )


def normal_equations(problem: Problem, state: State) -> State:
    """The Hessian and a Newton step, from second moments of predictors and residuals together."""
    n, p, d, rows, account = problem.n, state.b.size, state.b.size + 1, problem.rows, problem.account
    usual = state.information * problem.loss.typical
    noise = problem.noise(tuning.NORMAL_EQUATIONS)
    beyond = problem.rank(tuning.RADIUS, p * d * noise * n / 2, 0.1)
    part = account.part(tuning.RADIUS)
    radius = far_quantile(rows, state.sizes, beyond, n, math.sqrt(p * state.information), part)
    score = far_quantile(rows, lambda batch: state.model.scores(batch, state.b, state.s), beyond, n, 1.0, part)
    balance = radius / score
    squared = tuning.BOTH * radius**2
    squared *= min(max(tuning.WIDER * state.information / (tuning.EDGE * d * noise * squared), 1.0), tuning.WIDEST)
    found = second_moments(
        rows,
        lambda batch: state.model.equations(batch, state.b, state.s, balance),
        math.sqrt(squared), n, account.part(tuning.NORMAL_EQUATIONS),
    )  # fmt: skip
    values, axes, hidden = spectrum(found, p)
    step = found.matrix[:p, p] / balance
    values, step, entry = values * problem.loss.typical, step, found.entry
    weights = RowWeights(state.model.coordinates, state.b, math.sqrt(squared))
    state = replace(state, model=replace(state.model, weights=weights))
    hessian = Hessian(values, hidden, entry * problem.loss.typical, state.information)
    change = (axes.T @ step) / np.sqrt(values)
    off = entry / balance * math.sqrt(float(np.sum(1 / values)))
    state = replace(state.turned(values, axes), hessian=hessian)
    return state.stepped(part_kept(change, off) * change)


def measure_hessian(problem: Problem, state: State) -> State:
    """The Hessian again at the new b, where curvatures differ between rows."""
    if not problem.loss.curved:
        return state
    n, p, rows, share = problem.n, state.b.size, problem.rows, problem.loss.curved
    noise = problem.noise(share)
    beyond = problem.rank(tuning.RADIUS, p**2 * noise * n / 2, 0.1)
    anchor = math.sqrt(p * state.steeper / problem.loss.typical)
    radius = far_quantile(rows, state.sizes, beyond, n, anchor, problem.account.part(tuning.RADIUS))
    squared = radius**2
    squared *= min(max(tuning.WIDER * state.steeper / (tuning.EDGE * p * noise * squared), 1.0), tuning.WIDEST)
    model = replace(state.model, weights=RowWeights(state.model.coordinates, state.b, math.sqrt(squared)))
    found = second_moments(
        rows, lambda batch: model.curved(batch, state.b, state.s), math.sqrt(squared), n, problem.account.part(share)
    )
    values, axes, hidden = spectrum(found, p)
    hessian = Hessian(values, hidden, found.entry, state.information)
    return replace(replace(state, model=model).turned(values, axes), hessian=hessian)


def measure_tail(problem: Problem, state: State) -> Tail:
    """Two far quantiles of the lengths of gradients."""
    n, p, account = problem.n, state.b.size, problem.account
    least = tuning.TAIL_ROWS * problem.noise(problem.last) * n * math.sqrt(p * (p + 1))
    beyond = problem.rank(tuning.FAR, least, 0.05)

    def sizes(batch: Floats) -> Floats:
        return lengths(state.gradients(batch))

    near = far_quantile(problem.rows, sizes, tuning.NEARER * beyond, n, math.sqrt(p), account.part(tuning.NEAR))
    return Tail(near, farther_quantile(problem.rows, sizes, beyond, n, near, account.part(tuning.FAR)), beyond)


def clip(problem: Problem, tail: Tail, p: int, share: Fraction) -> tuple[float, float]:
    """Where noise, and what clipping loses if all those rows agree, are least together; and the rows beyond."""
    n, noise = problem.n, problem.noise(share) * math.sqrt(p + 1)
    beyond = n * noise * math.sqrt(p * tail.far / tail.excess)
    quiet = tuning.QUIET / (math.sqrt(n) * noise) * tail.near / (tuning.NORMAL * math.sqrt(p))
    return max(tail.far + tail.excess * math.log(tail.beyond / beyond), tail.near, min(quiet, 3 * tail.far)), beyond


def second_step(problem: Problem, state: State, tail: Tail) -> tuple[State, NewtonStep, tuple[float, float]]:
    """A step by a gradient with one more coordinate, which counts gross errors; and their number with its deviation."""
    longest, beyond = clip(problem, tail, state.b.size, tuning.SECOND)
    found = gradient(
        problem.rows, lambda batch: state.model.counted(batch, state.b, state.s, longest),
        longest, problem.account.part(tuning.SECOND),
    )  # fmt: skip
    gross = float(found.total[-1]) / longest, found.deviation / longest
    step = newton(replace(found, total=found.total[:-1]), max(problem.n - beyond, problem.n / 2), state, longest)
    return state.stepped(step.part * step.change), step, gross


def last_step(problem: Problem, state: State, tail: Tail) -> tuple[State, NewtonStep]:
    """The step that decides on the error."""
    longest, _ = clip(problem, tail, state.b.size, problem.last)
    found = gradient(problem.rows, state.gradients, longest, problem.account.part(problem.last))
    step = newton(found, problem.n, state, longest)
    return state.stepped(step.part * step.change), step


def newton(found: NoisyVector, rows: float, state: State, longest: float) -> NewtonStep:
    """A step by a gradient of so many rows, for a Hessian that was 1."""
    change, noise = found.total / (rows * state.steeper), found.deviation / (rows * state.steeper)
    return NewtonStep(change, part_kept(change, noise * math.sqrt(change.size)), noise, longest)


def part_kept(change: Floats, noise: float) -> float:
    """How much of a step to make, whose noise has this root mean square length (James and Stein 1961)."""
    p = change.size
    return max(0.0, 1 - max(p - 2, 0) / p * noise**2 / max(float(change @ change), 1e-300))


def spectrum(found: NoisyMatrix, size: int) -> tuple[Floats, Floats, Flags]:
    """Of the first lines: eigenvalues drawn to their mean by the part of their variance that is noise (Ledoit and Wolf
    2004), with the edge of what is left as a floor; the axes; and which of them noise hides.
    """
    values, axes = np.linalg.eigh(found.matrix[:size, :size])
    part = noise_part(values, found.width)
    values, edge = (1 - part) * values + part * np.mean(values), (1 - part) * found.edge
    return np.maximum(values, edge), axes, values < tuning.HIDDEN * edge


def noise_part(values: Floats, noise: float) -> float:
    """The part of the variance of numbers that is noise, up to 0.9."""
    return min(0.9, noise**2 / max(float(np.var(values)), 1e-300))


def finish(
    problem: Problem, before: State, state: State, step: NewtonStep, tail: Tail, gross: tuple[float, float]
) -> Fit:
    """Coefficients D·b, and their variances.

    With eⱼ the direction of coefficient j, in coordinates in which the Hessian is 1, its sampling variance is
    |Dⱼ|²·Σ(eⱼᵀg)²/n² (White 1980), the gradients g cut at the far quantile. Others are the noise of the last gradient,
    what clipping may lose, the part of the last step that was not made, and the noise of the Hessian times that step.
    """
    frame, hessian, n, p = problem.frame, state.hessian, problem.n, state.b.size
    back = np.eye(p)
    if problem.intercept:
        back[0, 1:] = -frame.centres[:-1]
    lines = back @ state.model.coordinates.T
    length = np.linalg.norm(lines, axis=1)
    e = lines / length[:, None]
    most = float(np.linalg.eigvalsh(e.T @ e)[-1]) * tail.far**2  # Σⱼ (eⱼᵀg)² is at most this
    found, scale = variances(
        problem.rows, lambda batch: products(e, cut(before.gradients(batch), tail.far)) ** 2,
        most, n, problem.account.part(tuning.VARIANCES),
    )  # fmt: skip
    part = noise_part(found, math.sqrt(2) * scale)
    v = (np.maximum((1 - part) * found + part * np.mean(found), 0.0) + scale) / before.steeper**2
    change, curved = step.change, hessian.values
    blur = hessian.entry**2 / curved * (change**2 / curved + float(np.sum(change**2 / curved)))
    missing = (1 - step.part) ** 2 * np.maximum((lines @ change) ** 2, length**2 * float(np.mean(change**2)))
    lost = tuning.LOST / p * (tail.lost(step.clip) / n) ** 2
    beta = lines @ state.b
    if problem.intercept and problem.loss.scaled:
        beta[0] += frame.centres[-1]
    return Fit(
        beta,
        length**2 * v / n,
        length**2 * (step.part * step.noise) ** 2,
        length**2 * lost + missing + (lines**2 * blur).sum(axis=1),
        length**2 * scale / n,
        (e[:, hessian.hidden] ** 2).sum(axis=1) > tuning.SHARE,
        gross,
        max(state.moved(change) - 2 * state.moved(np.full(p, step.noise)), 0.0),
    )
