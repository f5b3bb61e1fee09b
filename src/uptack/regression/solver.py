"""Regression by bounded sums: one solver for every loss, pure ε, without bounds on the data.

1. *Units and centres* of all columns (`uptack.multivariate.standardise`).
2. *Scatter* Σaaᵀ of a = (1, x, y), rows cut to a length: coordinates in which predictors are about round, and a start.
3. For each stage of the loss, what it measures anew: the *spread* of residuals; the *radius* of rows and the *Hessian*,
   and coordinates in which that is 1; the *clip* T. Then a Newton step by the *gradient* Σ w²·z·ψ, in which each row's
   part is cut to the length T.
4. *Variances* Σ(eⱼᵀg)² in the direction of each coefficient: standard errors.

The gradient of a row is clipped by its length, and not its predictors and its residual apart. For normal rows the
length that leaves out a few hundred rows is half the product of both factors' ends. So a clip that touches hardly any
row is affordable, and what is estimated is the estimate without privacy, not one with other weights.

**Theorem.** Each sum is private for its share of ε, whatever the rows hold, given what was released before
(`uptack.regression.private_sums`). All else is computed from released numbers, and is fixed before rows are read again.
Shares add up to at most ε on every path. ∎
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
from uptack.regression.fit_rows import FitRows, RowWeights, cut
from uptack.regression.losses import Loss, Moments, Stage
from uptack.regression.private_sums import NoisyMatrix, NoisyVector, far_quantile, gradient, second_moments, variances
from uptack.regression.tuning import (
    CONVERGED,
    EDGE,
    FAR_TAIL,
    FIRST_CLIP,
    HIDDEN,
    HILL,
    LONGER,
    LOST,
    NORMAL,
    QUIET,
    RANK,
    ROUND,
    SCATTER,
    SHARE,
    TAIL,
    VARIANCES,
    WIDER,
    WIDEST,
)
from uptack.table.exact_sum import Floats

Flags = NDArray[np.bool_]
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)


@dataclass(frozen=True, eq=False)
class Problem:
    """Standardised rows, about how many there are, a loss, and what may be spent."""

    rows: Sample
    frame: Frame
    intercept: bool
    loss: Loss
    n: float
    account: Account

    def noise(self, share: Fraction) -> float:
        """The scale of the noise, at a share of ε, in the sum of vectors of length 1."""
        return moved(self.account) / float(self.account.epsilon * share)

    def far(self, share: Fraction) -> float:
        """The least number of rows beyond a quantile at this share of ε."""
        return RANK / float(self.account.epsilon * share)


@dataclass(frozen=True, eq=False)
class State:
    """Where a fit is: coordinates of rows, b, the spread s, and what is known of the Hessian and the tail."""

    model: FitRows
    b: Floats
    s: float
    start: Start
    hessian: Hessian
    tail: Tail

    def information(self, loss: Loss) -> float:
        """What it is on average, if η is normal."""
        b = self.start.turned(self.beta)
        middle = float(b @ self.start.mean)
        spread = math.sqrt(max(float(b @ b) - middle**2, 0.0))
        return float(WEIGHTS @ loss.information(middle + spread * NODES) / WEIGHTS.sum())

    def gradients(self, batch: Floats) -> Floats:
        """Those of the rows here."""
        return self.model.gradients(batch, self.b, self.s)

    def moved(self, change: Floats) -> float:
        """The root mean square of η for a change of b."""
        return float(np.linalg.norm(self.start.turned(self.model.coordinates.T @ change)))

    @property
    def beta(self) -> Floats:
        """Coefficients of the standardised predictors."""
        return np.asarray(self.model.coordinates.T @ self.b)


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
    """Eigenvalues as they are used, which of them noise hides, and the scale of the noise."""

    values: Floats
    hidden: Flags
    scale: float


@dataclass(frozen=True)
class Tail:
    """Two far quantiles of the lengths of gradients, and the rows beyond the farther one."""

    near: float
    far: float
    beyond: float

    @property
    def excess(self) -> float:
        """How far rows are beyond, on average: that of an exponential tail through both."""
        return max(self.far - self.near, 0.2 * self.far) / math.log(FAR_TAIL)

    def lost(self, clip: float) -> float:
        """What rows have beyond a clip in all, by Hill's index."""
        index = min(math.log(max(self.far, 1.2 * self.near) / self.near) / math.log(FAR_TAIL), HILL)
        return self.beyond * (self.far / clip) ** (1 / index) * index * clip


@dataclass(frozen=True, eq=False)
class NewtonStep:
    """The step that the gradient asks for, the part of it that was made, the deviation of its noise, its clip, and the
    number of gross errors with its deviation.
    """

    change: Floats
    part: float
    noise: float
    clip: float
    gross: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients in units of the columns, the parts of their variances, and which of them noise hides.

    `sampling` is known to the deviation `unsure`. `other` is for what was clipped, not corrected, or blurred by the
    noise of the Hessian. `moved` is the root mean square change of η in the last step, noise apart.
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
        return self.moved <= CONVERGED * loss.stride


def solve(problem: Problem, show: Show) -> Fit:
    """All steps after units and centres."""
    show("scatter matrix")
    state = begin(problem)
    gross = (0.0, math.inf)
    for number, stage in enumerate(problem.loss.stages):
        show("Newton steps")
        before = measure(problem, state, stage, first=number == 0)
        step = newton(problem, before, stage, first=number == 0)
        gross = min(gross, step.gross, key=lambda counted: counted[1])
        state = advance(problem, before, step)
    show("standard errors")
    return finish(problem, before, state, step, gross)


def begin(problem: Problem) -> State:
    """Second moments S of (1, x, y): coordinates z = B·(1, x) in which S is 1, with β = Bᵀb, and a start."""
    frame, loss, n, d = problem.frame, problem.loss, problem.n, problem.frame.width
    first = int(not problem.intercept)
    spare = ROUND * n / (EDGE * d**2 * problem.noise(SCATTER))
    longest = math.sqrt(d * min(max(spare, 1.0), LONGER))
    rows = FitRows(frame, first, loss, np.eye(d - 1 - first))
    values, axes, hidden = spectrum(
        second_moments(problem.rows, rows.scatter, longest, n, problem.account.part(SCATTER))
    )
    moments = Moments((axes * values) @ axes.T, first, float(frame.units[-1]), float(frame.centres[-1]))
    values, axes = np.linalg.eigh(moments.matrix[first:-1, first:-1])
    whitening = (axes / np.sqrt(values)) @ axes.T
    start = Start(whitening, whitening @ moments.matrix[first:-1, 0] / moments.matrix[0, 0])
    b, hessian = start.turned(loss.start(moments)), Hessian(values, hidden[:0], 0.0)
    return State(replace(rows, coordinates=whitening), b, 1.0, start, hessian, Tail(1.0, 1.0, 1.0))


def measure(problem: Problem, state: State, stage: Stage, *, first: bool) -> State:
    """What a stage measures anew before its step."""
    rows, n, account = problem.rows, problem.n, problem.account
    if stage.spread:
        level, normal = problem.loss.spread
        beyond, now = float(1 - level) * n, state
        s = far_quantile(
            rows, lambda batch: now.model.residuals(batch, now.b), beyond, n, 1.0, account.part(stage.spread)
        )
        state = replace(state, s=s / normal)
    if stage.hessian:
        state = curve(problem, state, stage.hessian)
    if stage.clip:
        state = replace(state, tail=(narrow_tail if first else far_tail)(problem, state, stage))
    return state


def curve(problem: Problem, state: State, share: Fraction) -> State:
    """The radius of rows and the Hessian, and the coordinates in which that is 1."""
    rows, n, account, p = problem.rows, problem.n, problem.account, state.b.size
    small, large = share / 4, share * 3 / 4
    usual = state.information(problem.loss)
    beyond = min(max(problem.far(small), p**2 / float(account.epsilon * large)), n / 10)
    now = state
    radius = far_quantile(
        rows, lambda batch: now.model.sizes(batch, now.b), beyond, n, math.sqrt(p * usual), account.part(small)
    )
    spare = math.sqrt(WIDER * usual * n / (EDGE * p * problem.noise(large)))
    radius *= min(max(spare / radius, 1.0), WIDEST)
    model = replace(state.model, weights=RowWeights(state.model.coordinates, state.b, radius))
    found = second_moments(rows, lambda batch: model.curved(batch, now.b, now.s), radius, n, account.part(large))
    values, axes, hidden = spectrum(found)
    model = replace(model, coordinates=(axes / np.sqrt(values)).T @ model.coordinates)
    hessian = Hessian(values, hidden, found.scale)
    return replace(state, model=model, b=np.sqrt(values) * (axes.T @ state.b), hessian=hessian)


def narrow_tail(problem: Problem, state: State, stage: Stage) -> Tail:
    """Where the first step clips: it leaves out more rows, for less noise."""
    p, n = state.b.size, problem.n
    beyond = min(
        max(problem.far(stage.clip), FIRST_CLIP * p**2 / float(problem.account.epsilon * stage.gradient)), n / 4
    )
    clip = far_quantile(
        problem.rows,
        lambda batch: lengths(state.gradients(batch)),
        beyond,
        n,
        math.sqrt(p),
        problem.account.part(stage.clip),
    )
    return Tail(clip, clip, beyond)


def far_tail(problem: Problem, state: State, stage: Stage) -> Tail:
    """Two far quantiles of the lengths of gradients."""
    p, n, account = state.b.size, problem.n, problem.account
    small, large = stage.clip * 3 / 8, stage.clip * 5 / 8
    last = float(account.epsilon * problem.loss.stages[-1].gradient)
    beyond = min(max(problem.far(large), TAIL * p / last), n / 20)
    near = far_quantile(
        problem.rows,
        lambda batch: lengths(state.gradients(batch)),
        FAR_TAIL * beyond,
        n,
        math.sqrt(p),
        account.part(small),
    )
    far = far_quantile(
        problem.rows, lambda batch: lengths(state.gradients(batch)), beyond, n, near, account.part(large)
    )
    return Tail(near, max(far, near), beyond)


def clip_of(problem: Problem, tail: Tail, p: int, stage: Stage) -> tuple[float, float]:
    """Where noise, and what clipping loses if all those rows agree, are least together; and the rows beyond."""
    noise = problem.noise(stage.gradient) * math.sqrt(p + 1)
    beyond = noise * math.sqrt(p * tail.far / tail.excess)
    quiet = QUIET * math.sqrt(problem.n) / noise * tail.near / (NORMAL * math.sqrt(p))
    clip = max(tail.far + tail.excess * math.log(tail.beyond / beyond), tail.near, min(quiet, 3 * tail.far))
    return clip, beyond


def newton(problem: Problem, state: State, stage: Stage, *, first: bool) -> NewtonStep:
    """One step. All but the first and the last count gross errors on the way, in one more coordinate."""
    rows, n, p, account = problem.rows, problem.n, state.b.size, problem.account.part(stage.gradient)
    last = stage is problem.loss.stages[-1]
    clip, beyond = (state.tail.far, state.tail.beyond) if first else clip_of(problem, state.tail, p, stage)
    gross = (0.0, math.inf)
    if first or last:
        found = gradient(rows, state.gradients, clip, account)
    else:
        counted = gradient(rows, lambda batch: state.model.counted(batch, state.b, state.s, clip), clip, account)
        gross = float(counted.total[-1]) / clip, counted.deviation / clip
        found = NoisyVector(counted.total[:-1], counted.scale)
    inside = n if last else max(n - beyond, n / 2)
    return NewtonStep(found.total / inside, part_kept(found), found.deviation / inside, clip, gross)


def part_kept(found: NoisyVector) -> float:
    """How much of a step to make, so that noise does not make it longer (James and Stein 1961)."""
    noise = max(found.total.size - 2, 0) * found.deviation**2
    return max(0.0, 1 - noise / max(float(found.total @ found.total), 1e-300))


def advance(problem: Problem, state: State, step: NewtonStep) -> State:
    """b after a step, which is no longer than the stride of the loss."""
    change = step.part * step.change
    far = state.moved(change)
    return replace(state, b=state.b + change * min(1.0, problem.loss.stride / max(far, 1e-300)))


def spectrum(found: NoisyMatrix) -> tuple[Floats, Floats, Flags]:
    """Eigenvalues drawn to their mean by the part of their variance that is noise (Ledoit and Wolf 2004), with the edge
    of what is left as a floor; the axes; and which of them noise hides.
    """
    values, axes = np.linalg.eigh(found.matrix)
    part = noise_part(values, found.width)
    values, edge = (1 - part) * values + part * np.mean(values), (1 - part) * found.edge
    return np.maximum(values, edge), axes, values < HIDDEN * edge


def noise_part(values: Floats, noise: float) -> float:
    """The part of the variance of numbers that is noise, up to 0.9."""
    return min(0.9, noise**2 / max(float(np.var(values)), 1e-300))


def finish(problem: Problem, before: State, state: State, step: NewtonStep, gross: tuple[float, float]) -> Fit:
    """Coefficients D·b, and their variances.

    With eⱼ the direction of coefficient j, in coordinates in which the Hessian is 1, its sampling variance is
    |Dⱼ|²·Σ(eⱼᵀg)²/n² (White 1980), the gradients g cut at the far quantile. Others are the noise of the last gradient,
    what clipping may lose, the part of the last step that was not made, and the noise of the Hessian times that step.
    """
    frame, tail, hessian, n, p = problem.frame, state.tail, state.hessian, problem.n, state.b.size
    back = np.eye(p)
    if problem.intercept:
        back[0, 1:] = -frame.centres[:-1]
    lines = back @ state.model.coordinates.T
    length = np.linalg.norm(lines, axis=1)
    e = lines / length[:, None]
    most = float(np.linalg.eigvalsh(e.T @ e)[-1]) * tail.far**2  # Σⱼ (eⱼᵀg)² is at most this
    found, scale = variances(
        problem.rows,
        lambda batch: products(e, cut(before.gradients(batch), tail.far)) ** 2,
        most, n, problem.account.part(VARIANCES),
    )  # fmt: skip
    part = noise_part(found, math.sqrt(2) * scale)
    v = np.maximum((1 - part) * found + part * np.mean(found), 0.0) + scale
    change, l = step.change, hessian.values
    blur = (p + 1) / 2 * hessian.scale**2 / l * (change**2 / l + float(np.sum(change**2 / l)))
    missing = (1 - step.part) ** 2 * np.maximum((lines @ change) ** 2, length**2 * float(np.mean(change**2)))
    lost = LOST / p * (tail.lost(step.clip) / n) ** 2
    beta = lines @ state.b
    if problem.intercept and problem.loss.scaled:
        beta[0] += frame.centres[-1]
    return Fit(
        beta,
        length**2 * v / n,
        length**2 * (step.part * step.noise) ** 2,
        length**2 * lost + missing + (lines**2 * blur).sum(axis=1),
        length**2 * scale / n,
        (e[:, hessian.hidden] ** 2).sum(axis=1) > SHARE,
        gross,
        max(state.moved(step.change) - 2 * state.moved(np.full(p, step.noise)), 0.0),
    )
