"""Regression by bounded sums: one solver for every loss, without bounds on the data.

1. *Units and centres* of all columns (`uptack.multivariate.standardise`).
2. *Scatter* Σaaᵀ of a = (1, x, y), rows cut to a length: coordinates z in which predictors are about round; a start.
3. *Normal equations* Σvvᵀ of v = (√κ·z, c·ψ/√κ), rows cut to a length: the Hessian and a Newton step at once. A row
   that is cut counts less in both alike, so the step is whole. One more coordinate counts gross errors.
4. Where curvatures differ between rows, a Newton step by a gradient, and the *Hessian* Σκ·zzᵀ again where that ends.
5. A Newton step by the *gradient* Σ w²·z·ψ, in which each row's part is cut to the length T. Three private quantiles
   of lengths say what the tail beyond T holds: T is where noise and that loss are least together. With this gradient
   comes, for the same price, what the weights w² left of it: `last_newton`.
6. *Variances* Σ(eⱼᵀg)² in the direction of each coefficient: standard errors.

The gradient of a row is clipped by its length, and not its predictors and its residual apart. For normal rows the
length that leaves out a few hundred rows is half the product of both factors' ends. So a clip that touches hardly any
row is affordable, and what is estimated is the estimate without privacy, not one with other weights.

**Rows.** A row (x, y) is standardised to a = (1, x, y) in units of its columns. A row with a value beyond `GROSS` units
is a gross error and contributes nothing. In the coordinates z = B·(1, x) it has a weight w², with w = min(1, R/|u|) and
u = z·√i for the information i at an earlier fit: a function of x alone. Then

    H = Σ κ·w²·zzᵀ,   g = Σ w²·z·ψ(y, η) cut to the length T,   η = zᵀb.

All of it is elementwise arithmetic, so that what one row contributes does not depend on others in its batch.

**Theorem.** Each sum is private for its part of ε, whatever the rows hold, given what was released before
(`uptack.multivariate.private_sums`). All else is computed from released numbers, and is fixed before rows are read
again. The parts add up to at most ε on every path. With δ > 0 they may be parts of ρ: see `FitBudget`. ∎
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account
from uptack.multivariate.private_sums import (
    EDGE,
    NEAR_SIZES,
    NEXT_SIZES,
    Allowance,
    NoisyMatrix,
    far_quantiles,
    gradient,
    second_moments,
    two_gradients,
    variances,
)
from uptack.multivariate.row_sums import Sample, lengths, products
from uptack.multivariate.standardise import Frame
from uptack.privacy import concentrated_rho, loss, zcdp
from uptack.progress import Step as Show
from uptack.regression import tuning
from uptack.regression.losses import RegressionLoss, ScatterMoments
from uptack.table.exact_sum import Floats

Flags = NDArray[np.bool_]
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)


@dataclass(frozen=True, eq=False)
class RowWeights:
    """w² of a row: from R, its coordinates and an earlier fit."""

    coordinates: Floats
    b: Floats
    radius: float


@dataclass(frozen=True, eq=False)
class FitRows:
    """Standardised rows in the coordinates B, for a loss. `first` is 0 with an intercept and 1 without."""

    frame: Frame
    first: int
    loss: RegressionLoss
    coordinates: Floats
    weights: RowWeights | None = None

    def standardised(self, batch: Floats) -> tuple[Floats, Flags]:
        """a, with zeros for gross errors, and which rows these are."""
        a = self.frame.standardised(batch)
        gross: Flags = np.any(np.abs(a[1:]) > tuning.GROSS, axis=0)
        return np.asarray(np.where(gross, 0.0, a)) if gross.any() else a, gross

    def scatter(self, batch: Floats) -> Floats:
        """(1, x, y)."""
        return self.standardised(batch)[0]

    def _split(self, batch: Floats) -> tuple[Floats, Floats, Floats, Flags]:
        """(1, x), z, y and gross errors."""
        a, gross = self.standardised(batch)
        y = a[-1] if self.loss.scaled else np.where(gross, 0.0, batch[-1])
        return a[self.first : -1], products(self.coordinates, a[self.first : -1]), y, gross

    def _squared(self, predictors: Floats) -> Floats:
        """w²."""
        if self.weights is None:
            return np.ones(predictors.shape[1])
        u = _information_lengths(self.loss, products(self.weights.coordinates, predictors), self.weights.b)
        return np.asarray(np.minimum(1.0, self.weights.radius / np.maximum(u, 1e-300)) ** 2)

    def sizes(self, batch: Floats, b: Floats) -> Floats:
        """|u|."""
        return _information_lengths(self.loss, self._split(batch)[1], b)

    def residuals(self, batch: Floats, b: Floats) -> Floats:
        """|y - η|."""
        _, z, y, _ = self._split(batch)
        return np.asarray(np.abs(y - products(b[None], z)[0]))

    def scores(self, batch: Floats, b: Floats, s: float) -> Floats:
        """|ψ|/√i."""
        _, z, y, _ = self._split(batch)
        eta = products(b[None], z)[0]
        return np.asarray(np.abs(self.loss.score(y, eta, s)) / np.sqrt(np.maximum(self.loss.information(eta), 1e-300)))

    def equations(self, batch: Floats, b: Floats, s: float, balance: float, longest: float) -> Floats:
        """v = (√i·z, balance·ψ/√i), whose second moments are normal equations; with a line more that has the largest
        length for gross errors, which are 0 else.
        """
        _, z, y, gross = self._split(batch)
        eta = products(b[None], z)[0]
        root = np.sqrt(np.maximum(self.loss.information(eta), 1e-300))
        score = np.where(gross, 0.0, self.loss.score(y, eta, s) / root)
        return np.vstack([z * root, balance * score, np.where(gross, longest, 0.0)])

    def hessian_vectors(self, batch: Floats, b: Floats, s: float) -> Floats:
        """w·z·√κ, whose second moments are H."""
        predictors, z, y, _ = self._split(batch)
        curvature = self.loss.curvature(y, products(b[None], z)[0], s)
        return np.asarray(z * np.sqrt(np.maximum(curvature, 0.0) * self._squared(predictors)))

    def gradients(self, batch: Floats, b: Floats, s: float) -> Floats:
        """w²·z·ψ."""
        predictors, z, y, _ = self._split(batch)
        return np.asarray(z * (self.loss.score(y, products(b[None], z)[0], s) * self._squared(predictors)))

    def split_gradients(self, batch: Floats, b: Floats, s: float, longest: float) -> tuple[Floats, Floats]:
        """w²·z·ψ, and what that leaves of z·ψ, over `FAR`.

        Where w < 1 the first is cut so that both lengths add up to the longest, but not below 1 - 1/`FAR` of it. What
        that takes away is in the second.
        """
        predictors, z, y, _ = self._split(batch)
        score, squared = self.loss.score(y, products(b[None], z)[0], s), self._squared(predictors)
        whole, far = z * score, tuning.FAR
        room = np.maximum((far * longest - lengths(whole)) / (far - 1), (1 - 1 / far) * longest)
        near = cut(whole * squared, np.where(squared < 1, room, longest))
        return near, np.asarray((whole - near) / far)


def _information_lengths(loss: RegressionLoss, z: Floats, b: Floats) -> Floats:
    return np.asarray(lengths(z) * np.sqrt(loss.information(products(b[None], z)[0])))


def cut(vectors: Floats, longest: float | Floats) -> Floats:
    """Vectors of at most this length."""
    return np.asarray(vectors * np.minimum(1.0, longest / np.maximum(lengths(vectors), 1e-300)))


def free_length(length: float, mean: float, noise: float) -> float:
    """Where to cut the rows of a matrix with this mean eigenvalue and noise: there, or farther out where that is free.

    `noise` is the deviation of an entry, of rows of length 1, times the number of lines.
    """
    return math.sqrt(max(length**2, tuning.WIDER * mean / (EDGE * noise)))


SUMS = ("scatter", "equations", "hessian", "second", "last", "variances")
"""Steps that are sums of vectors or matrices. The others are draws by inverse sensitivity."""

TWICE = frozenset({"spread", "near"})
"""Draws of which there are two, where the curvature differs between rows."""


@dataclass(frozen=True)
class FitBudget:
    """What each step of a fit may spend: a share of ε. With ρ > 0 sums share ρ, at the δ of the account.

    **Theorem.** All steps together are ε-private, or (ε, δ)-private. *Proof.* Shares of ε add up to 1. With δ, let
    R-zCDP imply (ε, δ) (`uptack.privacy.concentrated_rho`). A draw at its share s of ε has bounded range s·ε, and is
    (s·ε)²/8-zCDP. Of a step in `twice` there are two draws, at s/2 each: ε·s together, and half of that ρ. Sums share
    what is left of R in proportion to s. So all steps together are R-zCDP. ∎
    """

    account: Account
    shares: Mapping[str, Fraction]
    twice: frozenset[str] = frozenset()
    rho: Fraction = Fraction(0)

    @staticmethod
    def of(loss: RegressionLoss, coefficients: int, account: Account) -> FitBudget:
        """That of a loss. δ is used where it makes the last gradient less noisy, which public numbers say."""
        unused = {*(() if loss.near else ("spread",)), *(() if loss.curved else ("radius", "hessian", "second"))}
        shares = {step: share for step, share in tuning.SHARES.items() if step not in unused}
        shares["last"] = 1 - sum(shares.values(), Fraction(0))
        pure = FitBudget(account, shares, TWICE if loss.curved else frozenset())
        if not account.delta:
            return pure
        draws = (share**2 / (1 + (step in pure.twice)) for step, share in shares.items() if step not in SUMS)
        left = concentrated_rho(account.epsilon, account.delta) - account.epsilon**2 * sum(draws) / 8
        if left <= 0:
            return pure
        made = replace(pure, rho=left / sum(share for step, share in shares.items() if step in SUMS))
        noise = [budget.sum("last").vector_noise(coefficients) for budget in (made, pure)]
        return made if noise[0] < noise[1] else pure

    def draw(self, step: str) -> Account:
        """The account of a draw, which has half the share of a step that is made twice."""
        part = self.account.allot(self.account.epsilon * self.shares[step] / (1 + (step in self.twice)))
        if not self.rho:
            return part
        rho = zcdp(loss.BoundedRange(part.epsilon)).rho
        return part.through(lambda what: loss.Zcdp(rho, self.account.delta))

    def sum(self, step: str) -> Allowance:
        """What a sum may spend."""
        delta = self.account.delta if self.rho else Fraction(0)
        return Allowance(
            self.account.allot(self.account.epsilon * self.shares[step], delta), self.rho * self.shares[step]
        )


@dataclass(frozen=True, eq=False)
class FitProblem:
    """Standardised rows, about how many there are, a loss, and what may be spent."""

    rows: Sample
    frame: Frame
    intercept: bool
    loss: RegressionLoss
    n: float
    budget: FitBudget

    def rank(self, step: str, least: float = 0.0) -> float:
        """How many rows are beyond a quantile at this step: at least so many, at most a tenth of all."""
        part = self.budget.draw(step)
        return min(max(tuning.RANK * part.rows / float(part.epsilon), least), tuning.MOST * self.n)


@dataclass(frozen=True, eq=False)
class Start:
    """The first coordinates z = B·(1, x), in which second moments are 1, the mean of z, and the deviation of residuals
    of least squares, in units of y.
    """

    coordinates: Floats
    mean: Floats
    rest: float

    def in_coordinates(self, beta: Floats) -> Floats:
        """b for coefficients β = Bᵀb. Its length is the root mean square of η."""
        return np.asarray(np.linalg.solve(self.coordinates.T, beta), np.float64)


@dataclass(frozen=True, eq=False)
class Hessian:
    """Eigenvalues as they are used, what they would be of rows that are not cut, which of them noise hides, the edge of
    their noise and the deviation of an entry, the information there, and the part of the rows that are cut.
    """

    values: Floats
    whole: float
    hidden: Flags
    edge: float
    entry: float
    information: float
    cut: float

    @property
    def short(self) -> Floats:
        """By how much of its length a step along each axis may be too short: eigenvalues may be too large by a part of
        the edge, those next to it most of all.
        """
        doubt = tuning.DOUBT * self.edge
        return np.asarray(doubt / np.maximum(self.values - doubt, 1e-300))


@dataclass(frozen=True)
class Tail:
    """The tail of the lengths of gradients: a generalised Pareto law through three quantiles (Pickands 1975).

    `middle`, `near` and `far` are lengths that about `within`, `NEARER`·`beyond` and `beyond` rows exceed.
    """

    middle: float
    near: float
    far: float
    within: float
    beyond: float

    @property
    def shape(self) -> float:
        """ξ, by which the mean excess over a length grows with the length: 0 for an exponential tail."""
        step, all_steps = math.log(tuning.NEARER), math.log(self.within / self.beyond)
        growth = (self.far - self.near) / step / ((self.near - self.middle) / (all_steps - step))
        least, most = tuning.SHAPES
        return min(max(2 * math.log(growth) / all_steps, least), most)

    def excess(self, length: float) -> float:
        """What rows have beyond a length in all: as many as the law has there, times their mean excess."""
        shape = self.shape
        scale = shape * (self.far - self.near) / (1 - math.pow(tuning.NEARER, -shape))
        farther = max(1 + shape * (length - self.far) / scale, 1e-9)
        return self.beyond * math.pow(farther, -1 / shape) * scale * farther / (1 - shape)

    def most_excess(self, length: float, squares: float) -> float:
        """What rows may have beyond a length at most, if their squares beyond that of the far one add up to this.

        By Cauchy and Schwarz k rows have most where all are alike; k is the number with most, up to `beyond`.
        """
        rows = self.beyond * np.exp2(-np.arange(40) / 4)
        return float(np.max(rows * (np.sqrt(self.far**2 + squares / rows) - length)))


@dataclass(frozen=True, eq=False)
class FitState:
    """Where a fit is: the coordinates of rows, b, and the spread s.

    ψ²/information is at least `square`·s² on average. `hidden` are coefficients of which too much lies on directions
    that noise hides, in the last Hessian or in one before that told directions apart.
    """

    model: FitRows
    b: Floats
    s: float
    start: Start
    hessian: Hessian
    hidden: Flags
    square: float = 0.0

    @property
    def beta(self) -> Floats:
        """Coefficients of the standardised predictors."""
        return np.asarray(self.model.coordinates.T @ self.b)

    @property
    def information(self) -> float:
        """What it is on average, if η is normal: by released numbers alone."""
        b = self.start.in_coordinates(self.beta)
        middle = float(b @ self.start.mean)
        spread = math.sqrt(max(float(b @ b) - middle**2, 0.0))
        return float(WEIGHTS @ self.model.loss.information(middle + spread * NODES) / WEIGHTS.sum())

    @property
    def steeper(self) -> float:
        """How much larger the Hessian is by now than 1, as the information says."""
        return self.information / self.hessian.information

    @property
    def mean_square(self) -> float:
        """What |g|² is at least on average, for a gradient g: p·ψ²/information, where the Hessian is 1."""
        return self.b.size * self.square * self.s**2 * self.steeper

    def sizes(self, batch: Floats) -> Floats:
        """|√i·z| for the information i."""
        return self.model.sizes(batch, self.b)

    def gradients(self, batch: Floats) -> Floats:
        """Those of the rows here."""
        return self.model.gradients(batch, self.b, self.s)

    def gradient_lengths(self, batch: Floats) -> Floats:
        """|g|."""
        return lengths(self.gradients(batch))

    def rms_change(self, change: Floats) -> float:
        """The root mean square change of η for a change of b."""
        return float(np.linalg.norm(self.start.in_coordinates(self.model.coordinates.T @ change)))

    def whiten(self, values: Floats, axes: Floats) -> FitState:
        """The same in coordinates in which a Hessian with these eigenvalues is 1."""
        model = replace(self.model, coordinates=(axes / np.sqrt(values)).T @ self.model.coordinates)
        return replace(self, model=model, b=np.sqrt(values) * (axes.T @ self.b))

    def step(self, change: Floats) -> FitState:
        """b after a step, which is no longer than the stride of the loss."""
        part = min(1.0, self.model.loss.stride / max(self.rms_change(change), 1e-300))
        return replace(self, b=self.b + part * change)


@dataclass(frozen=True, eq=False)
class NewtonStep:
    """The step that a gradient asks for, the part of it that was made, the deviation of its noise, and its clip; and
    how much farther rows with less weight seem to go.
    """

    change: Floats
    part: float
    noise: float
    clip: float
    far: Floats


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients in units of the columns, the parts of their variances, and which of them noise hides.

    `sampling` is known to the deviation `unsure`. `other` is for what was clipped, not corrected, or blurred by the
    noise of the Hessian. `gross` is the number of gross errors and its deviation. `last_step` is how far it
    moved η, without its noise, as a root mean square in which rows count by their information. `spread` is that of
    residuals, for a loss that has one.
    """

    beta: Floats
    sampling: Floats
    private: Floats
    other: Floats
    unsure: Floats
    hidden: Flags
    gross: tuple[float, float]
    last_step: float
    spread: float

    def converged(self, loss: RegressionLoss) -> bool:
        """Whether the last step was short, for a loss that is no parabola."""
        return bool(self.last_step <= tuning.CONVERGED * loss.stride)


def solve(problem: FitProblem, show: Show) -> Fit:
    """All steps after units and centres."""
    show("scatter matrix")
    state = spread(problem, begin(problem))
    show("normal equations")
    state, gross = normal_equations(problem, state)
    show("Newton steps")
    if problem.loss.curved:
        state = newton(problem, spread(problem, state))
        state = measure_hessian(problem, state)
    before, tail = state, measure_tail(problem, state)
    state, step = last_newton(problem, state, tail)
    show("standard errors")
    return finish(problem, before, state, step, tail, gross)


def begin(problem: FitProblem) -> FitState:
    """Second moments S of (1, x, y): coordinates z = B·(1, x) in which those of the predictors are 1, and a start."""
    frame, loss, d, first = problem.frame, problem.loss, problem.frame.width, int(not problem.intercept)
    rows = FitRows(frame, first, loss, np.eye(d - 1 - first))
    part = problem.budget.sum("scatter")
    longest = free_length(math.sqrt(d), 1.0, d * part.matrix_noise(d, problem.n))
    noisy = second_moments(problem.rows, rows.scatter, longest, problem.n, part)
    values, axes, _, _ = spectrum(noisy, d - 1)
    matrix = noisy.matrix.copy()
    matrix[:-1, :-1] = (axes * values) @ axes.T
    moments = ScatterMoments(matrix, first, float(frame.units[-1]), float(frame.centres[-1]), noisy.entry)
    values, axes = np.linalg.eigh(matrix[first:-1, first:-1])
    whitening = (axes / np.sqrt(values)) @ axes.T
    start = Start(whitening, whitening @ matrix[first:-1, 0] / matrix[0, 0], moments.rest)
    none = np.zeros(values.size, bool)
    model, b = replace(rows, coordinates=whitening), start.in_coordinates(loss.start(moments))
    return FitState(model, b, 1.0, start, Hessian(values, 1.0, none, 0.0, 0.0, 1.0, 0.0), none)


def spread(problem: FitProblem, state: FitState) -> FitState:
    """The spread of residuals, of a loss that has one."""
    if not problem.loss.near:
        return state
    part, beyond = problem.budget.draw("spread"), float(1 - problem.loss.near)
    (s,) = far_quantiles(problem.rows, lambda batch: [state.model.residuals(batch, state.b)], (beyond,), part)
    return replace(state, s=s)


def normal_equations(problem: FitProblem, state: FitState) -> tuple[FitState, tuple[float, float]]:
    """The Hessian and a Newton step, from second moments of predictors and residuals together; and the number of gross
    errors with its deviation, from one more coordinate.
    """
    n, p, rows, budget, loss = problem.n, state.b.size, problem.rows, problem.budget, problem.loss
    noise = budget.sum("equations").matrix_noise(p + 2, n)
    beyond = problem.rank("radii", p * (p + 1) * noise * n / 2)
    usual, least = math.sqrt(p * state.information), loss.far_score(state.start.rest, state.s)

    def sizes(batch: Floats) -> list[Floats]:
        return [state.sizes(batch), state.model.scores(batch, state.b, state.s)]

    radius, score = far_quantiles(rows, sizes, (beyond / n,) * 2, budget.draw("radii"), (usual, least), NEAR_SIZES)
    score = max(score, least)
    balance = tuning.BALANCE * radius / score
    longest = free_length(radius * math.hypot(1, tuning.BALANCE), state.information, (p + 2) * noise)
    noisy = second_moments(
        rows, lambda batch: state.model.equations(batch, state.b, state.s, balance, longest),
        longest, n, budget.sum("equations"),
    )  # fmt: skip
    gross = float(noisy.matrix[-1, -1]) * n / longest**2, noisy.entry * math.sqrt(2) * n / longest**2
    values, axes, hidden, edge = spectrum(noisy, p)
    typical, information = loss.typical, state.information
    hessian = Hessian(
        values * typical, information * typical, hidden, edge * typical, noisy.entry * typical, information, beyond / n
    )
    change = axes.T @ noisy.matrix[:p, p] / balance / np.sqrt(hessian.values)
    off = noisy.entry / balance * math.sqrt(float(np.sum(1 / hessian.values)))
    weights = RowWeights(state.model.coordinates, state.b, longest)
    left = (float(noisy.matrix[p, p]) - 2 * math.sqrt(2) * noisy.entry) / balance**2  # at least: its noise is √2 entry
    square = max(0.0, left - typical * float(change @ change)) / state.s**2
    state = replace(state, model=replace(state.model, weights=weights), square=square).whiten(hessian.values, axes)
    return with_hessian(problem, state, hessian).step(shrinkage(change, off) * change), gross


def coefficient_lines(problem: FitProblem, model: FitRows) -> Floats:
    """D: coefficients of the columns, from their centres, are D·b."""
    back = np.eye(len(model.coordinates))
    if problem.intercept:
        back[0, 1:] = -problem.frame.centres[:-1]
    return np.asarray(back @ model.coordinates.T)


def with_hessian(problem: FitProblem, state: FitState, hessian: Hessian) -> FitState:
    """The same with a Hessian that is 1 in its coordinates, and the coefficients that it hides."""
    lines = coefficient_lines(problem, state.model) ** 2
    hidden: Flags = lines[:, hessian.hidden].sum(axis=1) > tuning.SHARE * lines.sum(axis=1)
    return replace(state, hessian=hessian, hidden=hidden | state.hidden)


def measure_hessian(problem: FitProblem, state: FitState) -> FitState:
    """The Hessian again at the new b, of a loss whose curvature differs between rows."""
    n, p, rows, budget = problem.n, state.b.size, problem.rows, problem.budget
    noise = budget.sum("hessian").matrix_noise(p, n)
    beyond = problem.rank("radius", p**2 * noise * n / 2)
    anchor = math.sqrt(p * state.steeper / problem.loss.typical)
    part = budget.draw("radius")
    (radius,) = far_quantiles(rows, lambda batch: [state.sizes(batch)], (beyond / n,), part, (anchor,))
    longest = free_length(radius, state.steeper, p * noise)
    model = replace(state.model, weights=RowWeights(state.model.coordinates, state.b, longest))
    noisy = second_moments(
        rows, lambda batch: model.hessian_vectors(batch, state.b, state.s),
        longest, n, budget.sum("hessian"),
    )  # fmt: skip
    values, axes, hidden, edge = spectrum(noisy, p)
    hessian = Hessian(values, state.steeper, hidden, edge, noisy.entry, state.information, beyond / n)
    if noisy.edge < tuning.USELESS * float(np.trace(noisy.matrix)) / p:  # else noise hides which direction is which
        state = replace(state, hidden=np.zeros(p, bool))
    return with_hessian(problem, replace(state, model=model).whiten(values, axes), hessian)


def near_lengths(problem: FitProblem, state: FitState) -> tuple[float, float]:
    """Two lengths of gradients in one draw: half of the rows or fewer exceed the first, `NEARER` times those beyond the
    far one exceed the second.
    """
    near = tuning.NEARER * problem.rank("far")
    within, anchor = min(tuning.NEARER * near, problem.n / 2), math.sqrt(state.b.size)
    shares, part = (within / problem.n, near / problem.n), problem.budget.draw("near")
    first, second = far_quantiles(
        problem.rows, lambda batch: [state.gradient_lengths(batch)] * 2, shares, part, (anchor, anchor)
    )
    return first, second


def measure_tail(problem: FitProblem, state: FitState) -> Tail:
    """The tail of the lengths of gradients, at the last b.

    If nearly all gradients are shorter than they are on average, as where y hardly ever differs from 0, the rows beyond
    the near quantile hold the rest, and the far one is looked for where that puts them.
    """
    middle, near = near_lengths(problem, state)
    beyond = problem.rank("far")
    rest = problem.n * max(0.0, state.mean_square - near**2)
    anchor = max(near, math.sqrt(rest / (tuning.NEARER * beyond)))
    part, share = problem.budget.draw("far"), beyond / problem.n
    (far,) = far_quantiles(
        problem.rows, lambda batch: [state.gradient_lengths(batch)], (share,), part, (anchor,), NEXT_SIZES
    )
    near = min(near, tuning.STEEP * far)
    within = min(tuning.NEARER**2 * beyond, problem.n / 2)
    return Tail(min(middle, tuning.STEEP * near), near, far, within, beyond)


def directions(p: int) -> float:
    """In how many groups of directions rows are that agree: p coefficients over `AGREE`."""
    return max(1.0, p / tuning.AGREE)


def clip(problem: FitProblem, tail: Tail, p: int) -> float:
    """Where noise, and what clipping loses if some of those rows agree, are least together."""
    n, noise = problem.n, problem.budget.sum("last").vector_noise(p, problem.n)

    def error(longest: float) -> float:
        lost = tail.excess(longest) / (n * directions(p))
        return float(tuning.NOISE_WEIGHT * p * (noise * longest) ** 2 + tuning.AGREE * lost**2)

    return min((tail.middle * math.exp2(step / 16) for step in range(161)), key=error)


def newton(problem: FitProblem, state: FitState) -> FitState:
    """A step by a gradient of clipped rows, for a Hessian that was 1."""
    near = near_lengths(problem, state)[1]
    longest = near * math.pow(tuning.NEARER, tuning.SHAPES[1])  # about the far length, or beyond
    rows = problem.n * state.steeper
    total, deviation = gradient(problem.rows, state.gradients, longest, problem.budget.sum("second"))
    change, noise = total / rows, deviation / rows
    return state.step(shrinkage(change, noise * math.sqrt(change.size)) * change)


def last_newton(problem: FitProblem, state: FitState, tail: Tail) -> tuple[FitState, NewtonStep]:
    """The last step, and how far it would go on if all rows had their full weight.

    A step by weighted rows is whole, since the Hessian has the same weights. Where the model is wrong, it ends where
    these weights say. So what they leave of the gradients is summed as well, over `FAR`, in what is left of the clip of
    each row: a line that bends is decided by rows whose weighted gradients alone would fill it. Were the model right,
    that sum would be (M - 1)·step, for the Hessian M of rows that are not cut. What lies outside of all between 0 and
    that counts in the error: its length, less the part that is noise on average. It is clipped too, so it counts as if
    it had the heaviest tail that is assumed, in which rows beyond a length are 1/(1 - ξ) times as long on average. It
    does not correct the step: M is known from the scatter matrix, roughly, and of columns that are 0 in most rows it is
    several times too small.
    """
    p = state.b.size
    longest, rows = clip(problem, tail, p), problem.n * state.steeper
    near, far, deviation = two_gradients(
        problem.rows, lambda batch: state.model.split_gradients(batch, state.b, state.s, longest),
        longest, problem.budget.sum("last"),
    )  # fmt: skip
    change, left, noise = near / rows, tuning.FAR * far / rows, deviation / rows
    expected = np.maximum(state.hessian.whole / state.hessian.values - 1, 0.0) * change
    beyond = left - np.clip(left, np.minimum(expected, 0.0), np.maximum(expected, 0.0))
    beyond *= beyond_noise(beyond, tuning.FAR * noise) / (1 - tuning.SHAPES[1])
    step = NewtonStep(change, shrinkage(change, noise * math.sqrt(p)), noise, longest, beyond)
    return state.step(step.part * change), step


def beyond_noise(vector: Floats, deviation: float) -> float:
    """The part of the length of a vector that is left without its noise, which adds to the square of the length."""
    return math.sqrt(max(0.0, 1 - vector.size * deviation**2 / max(float(vector @ vector), 1e-300)))


def shrinkage(change: Floats, noise: float) -> float:
    """How much of a step to make, whose noise has this root mean square length (James and Stein 1961)."""
    p = change.size
    return max(0.0, 1 - max(p - 2, 0) / p * noise * noise / max(float(change @ change), 1e-300))


def spectrum(noisy: NoisyMatrix, size: int) -> tuple[Floats, Floats, Flags, float]:
    """Of the first lines: eigenvalues drawn to their mean by the part of their variance that is noise (Ledoit and Wolf
    2004), with the edge of what is left as a floor; the axes; which of them noise hides: all, if it hides the mean, of
    which the deviation is √(2/size) times that of an entry; and that edge.
    """
    raw, axes = np.linalg.eigh(noisy.matrix[:size, :size])
    part, mean = noise_part(raw, noisy.width), float(np.mean(raw))
    values, edge = (1 - part) * raw + part * mean, (1 - part) * noisy.edge
    least = min(noisy.edge, tuning.SURE * noisy.entry * math.sqrt(2 / size))
    return np.maximum(values, edge), axes, (values < tuning.HIDDEN * edge) | (mean < least), edge


def noise_part(values: Floats, noise: float) -> float:
    """The part of the variance of numbers that is noise, up to `NOISE`."""
    return min(tuning.NOISE, noise * noise / max(float(np.var(values)), 1e-300))


def finish(
    problem: FitProblem, before: FitState, state: FitState, step: NewtonStep, tail: Tail, gross: tuple[float, float]
) -> Fit:
    """Coefficients D·b, and their variances.

    With eⱼ the direction of coefficient j, in coordinates in which the Hessian is 1, its sampling variance is
    |Dⱼ|²·Σ(eⱼᵀg)²/n² (White 1980), the gradients g cut at the far quantile. Others are the noise of the last gradient,
    what clipping may lose, the part of the last step that was not made, and the noise of the Hessian times that step.

    Where ψ² is the information on average, squares of whole gradients add up to about n·p, and each variance is at
    least 1/n. Of any loss they add up to what the normal equations say, at least. If gradients that are cut hold less
    than `HELD` of that, the few rows beyond hold the rest, as rare events do: `Tail.most_excess` is what they lose.
    """
    frame, hessian, n, p = problem.frame, state.hessian, problem.n, state.b.size
    lines = coefficient_lines(problem, state.model)
    length = np.linalg.norm(lines, axis=1)
    e = lines / length[:, None]
    most = float(np.linalg.eigvalsh(e.T @ e)[-1]) * tail.far**2  # Σⱼ (eⱼᵀg)² is at most this
    noisy, scale = variances(
        problem.rows, lambda batch: products(e, cut(before.gradients(batch), tail.far)) ** 2,
        most, n, problem.budget.sum("variances"),
    )  # fmt: skip
    part = noise_part(noisy, math.sqrt(2) * scale)
    least = before.steeper if problem.loss.likelihood else 0.0
    v = (np.maximum((1 - part) * noisy + part * np.mean(noisy), least) + scale) / before.steeper**2
    change, curved = step.change, hessian.values
    blur = hessian.entry**2 / curved * (change**2 / curved + float(np.sum(change**2 / curved)))
    missing = (1 - step.part) ** 2 * np.maximum((lines @ change) ** 2, length**2 * float(np.mean(change**2)))
    missing += hessian.cut**2 * (lines @ change) ** 2  # the Hessian may be too small by so much
    missing += lines**2 @ (hessian.short * change) ** 2
    missing += (lines @ step.far) ** 2
    lost = tail.excess(step.clip)
    whole, seen = max(before.mean_square, p * least), max(p * float(np.mean(noisy)), 0.0)
    if seen < tuning.HELD * whole:
        lost = max(lost, tail.most_excess(step.clip, n * (whole - seen)))
    beta = lines @ state.b
    if problem.intercept and problem.loss.scaled:
        beta[0] += frame.centres[-1]
    return Fit(
        beta,
        length**2 * v / n,
        length**2 * (step.part * step.noise) ** 2,
        length**2 * tuning.AGREE / (p * directions(p)) * (lost / n) ** 2 + missing + (lines**2 * blur).sum(axis=1),
        length**2 * scale / n,
        state.hidden,
        gross,
        beyond_noise(change, step.noise) * float(np.linalg.norm(change)) / math.sqrt(max(before.information, 1e-300)),
        state.s,
    )
