"""Mechanisms for a count in 0..n as tables of probabilities: exact, private by a check, and the best there are.

A mechanism is a table Q[i, j] = P(output j | count i). Rows add up to 1 and Q[i, j] ≤ e^ε·Q[i ± 1, j]: a polytope, over
which the Bayes risk is linear and the worst risk is the least t above every row's. The solver works in floats;
`repair` turns what it gives into a table that is exactly private.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.account import Account, Mechanism
from uptack.display.plots import axes
from uptack.errors import InvalidArgument, UptackError
from uptack.exact import Rational, Real, ball
from uptack.noise import Entropy
from uptack.noise.entropy import source
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.privacy.guarantee import adjacency as check_adjacency
from uptack.release import Release

Floats = NDArray[np.float64]
Weights = NDArray[np.int64]
TOTAL = 1 << 62
"""Probabilities are multiples of 2^-62: a row of weights adds up to this exactly."""
LEAST_EPSILON = Fraction(1, 10**4)
"""Below it a table of floats can't be distinguished from one that ignores the data."""


def growth(epsilon: Fraction) -> Fraction:
    """A rational at or below e^ε. From e^50 on it stops growing: weights of at least 1 never differ by more."""
    return Real(lambda: ball(min(epsilon, Fraction(50))).exp()).bounds()[0]


def is_private(weights: Weights, epsilon: Fraction) -> bool:
    """Whether neighbouring rows are within a factor e^ε of each other in every column, in exact arithmetic."""
    rise, exact = growth(epsilon), weights.astype(object)
    pairs = ((exact[:-1], exact[1:]), (exact[1:], exact[:-1]))
    return all(bool((rise.denominator * a <= rise.numerator * b).all()) for a, b in pairs)


def repair(table: Floats, epsilon: Fraction) -> Weights:
    """The table as exact probabilities that are exactly ε-private.

    A solution of a linear program in floats breaks some constraints by a little. Every weight gets the same floor,
    which is to mix the table with the uniform one, whose constraints all have room; the least power of two that makes
    all of them hold is taken. A table that breaks its constraints by v loses about v·(n + 1)/(e^ε - 1) to the mixture.
    """
    clipped = np.clip(table, 0, 1)
    clipped /= clipped.sum(axis=1, keepdims=True)
    for exponent in range(62):
        floor = min(1 << exponent, TOTAL // len(table))
        free = TOTAL - len(table) * floor
        weights = np.floor(clipped * free).astype(np.int64)
        weights[np.arange(len(table)), clipped.argmax(axis=1)] += free - weights.sum(axis=1)
        weights += floor
        if is_private(weights, epsilon):
            return weights
    raise ArithmeticError("no mixture of the table with the uniform one is private")


def check_prior(prior: ArrayLike | None, size: int) -> Floats:
    """Non-negative weights of the counts 0..n as probabilities; alike where none are given."""
    if prior is None:
        return np.full(size, 1 / size)
    weights = checks.numbers("prior", prior, dimensions=(1,))
    if weights.size != size or (weights < 0).any() or not 0 < weights.sum() < np.inf:
        must = f"{size} weights of at least 0, one for each count, not all of them 0"
        raise InvalidArgument("prior", must, checks.describe(weights))
    shares: Floats = weights / weights.sum()
    return shares


@dataclass(frozen=True)
class TableNoise:
    """An interval for the true count: the counts under which the released one is not unusual."""

    weights: Weights

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        """The hull of all counts under which P(output ≤ value) and P(output ≥ value) exceed (1 - confidence)/2.

        The true count is left out with probability at most 1 - confidence, whatever it is (Neyman's construction).
        """
        tail = (1 - checks.inside_unit("confidence", confidence)) / 2 * TOTAL
        below = self.weights[:, : value + 1].sum(axis=1)
        above = TOTAL - below + self.weights[:, value]
        kept = [i for i, (b, a) in enumerate(zip(below.tolist(), above.tolist(), strict=True)) if min(a, b) > tail]
        return (kept[0], kept[-1]) if kept else (value, value)


@dataclass(frozen=True, eq=False)
class CountMechanism:
    """P(output j | count i) = weights[i, j]/2^62 for i, j in 0..n: ε-differentially private.

    **Theorem.** For a count that moves by at most 1 between neighbours (either adjacency) the release is ε-private if
    and only if weights[i, j] ≤ e^ε·weights[i ± 1, j] for all i and j (Hall, section 1.3.5). That is checked here in
    exact integers against a rational below e^ε, so a table that is not private can't become a mechanism, and draws are
    exact. Where a person owns g rows it is gε-private. `losses[i, j]` is what output j costs under count i.
    """

    weights: Weights
    epsilon: Rational
    losses: Floats
    name: str = "count mechanism"

    def __post_init__(self) -> None:
        eps = checks.epsilon(self.epsilon)
        weights, losses = np.array(self.weights, np.int64), np.array(self.losses, np.float64)
        if weights.ndim != 2 or weights.shape[0] != weights.shape[1] or losses.shape != weights.shape:
            raise InvalidArgument("weights", "a square table, of the shape of losses", checks.describe(weights))
        if (weights < 0).any() or any(sum(row) != TOTAL for row in weights.tolist()):
            raise InvalidArgument("weights", "rows of integers of at least 0 that add up to 2^62", "others")
        if not is_private(weights, eps):
            fix = "Use repair(table, epsilon), which makes a table of floats exactly private."
            raise InvalidArgument("weights", f"a table that is private at ε = {float(eps)}", "one that is not", fix)
        for name, value in (("epsilon", eps), ("weights", weights), ("losses", losses)):
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    @property
    def n(self) -> int:
        return len(self.weights) - 1

    @property
    def table(self) -> Floats:
        return np.asarray(self.weights / TOTAL, np.float64)

    def probability(self, count: int, output: int) -> Fraction:
        """P(output | count), exactly."""
        return Fraction(int(self.weights[count, output]), TOTAL)

    @property
    def risks(self) -> Floats:
        return np.asarray((self.table * self.losses).sum(axis=1), np.float64)

    def risk(self, count: int) -> float:
        return float(self.risks[self._inside(count)])

    @property
    def worst_risk(self) -> float:
        return float(self.risks.max())

    def bayes_risk(self, prior: ArrayLike | None = None) -> float:
        """The expected loss over counts drawn with these weights; alike where none are given."""
        return float(check_prior(prior, self.n + 1) @ self.risks)

    def is_equalizer(self, tolerance: float = 1e-4) -> bool:
        """Whether all counts have the same risk, up to a part of it."""
        return bool(np.ptp(self.risks) <= tolerance * abs(self.worst_risk))

    def _inside(self, count: object) -> int:
        """The count, taken to the nearer end of 0..n where it lies outside: no two counts get further apart."""
        if isinstance(count, bool | np.bool_) or not isinstance(count, Integral):
            raise InvalidArgument("count", "an integer", checks.describe(count))
        return min(max(int(count), 0), self.n)

    @overload
    def sample(self, count: int, size: None = None, *, entropy: Entropy | None = None) -> int: ...
    @overload
    def sample(self, count: int, size: int, *, entropy: Entropy | None = None) -> Weights: ...

    def sample(self, count: int, size: int | None = None, *, entropy: Entropy | None = None) -> int | Weights:
        """One exact draw of the output, or a vector of them: a uniform integer below 2^62 among the summed weights."""
        row, bits = self.weights[self._inside(count)], source(entropy)
        many = 1 if size is None else checks.integer("size", size, least=0)
        draws = np.searchsorted(np.cumsum(row), bits.integers(TOTAL, many), side="right")
        return int(draws[0]) if size is None else draws.astype(np.int64)

    def release(self, count: int, *, adjacency: Adjacency = SUBSTITUTE, entropy: Entropy | None = None) -> Release[int]:
        """A draw with its price: gε where a person owns up to g rows."""
        relation = check_adjacency(adjacency)
        price = Fraction(self.epsilon) * relation.rows_per_person
        account = Account.open(self.name, price, adjacency=relation, entropy=entropy)
        value = account.draw(TableDraw(loss.Pure(price), self), self._inside(count))
        return account.release(value, TableNoise(self.weights))

    def plot(self, ax: Any = None) -> Any:
        """The table as a picture: a row for each count, a column for each output. Returns the axes."""
        ax = axes(ax)
        image = ax.imshow(self.table, origin="lower", cmap="Blues", vmin=0)
        ax.figure.colorbar(image, ax=ax, label="probability", fraction=0.046)
        ax.set(xlabel="output", ylabel="count", title=f"{self.name}, ε = {float(self.epsilon):g}")
        return ax

    def __repr__(self) -> str:
        return f"CountMechanism({self.name}, n={self.n}, ε={float(self.epsilon):g}, worst risk {self.worst_risk:.4g})"


@dataclass(frozen=True, eq=False)
class TableDraw(Mechanism[int, int]):
    """One draw from the row of a table that belongs to a count."""

    table: CountMechanism

    def draw(self, value: int, entropy: Entropy) -> int:
        return self.table.sample(value, entropy=entropy)

    def price(self, value: int, other: int, output: int) -> float:
        weights = self.table.weights
        return float(np.abs(np.log(weights[value].astype(float)) - np.log(weights[other].astype(float))).max())


LossFunction = str | Callable[[int, int], float]
LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "absolute": lambda i, j: abs(i - j),
    "squared": lambda i, j: (i - j) ** 2,
    "zero-one": lambda i, j: i != j,
}
LARGEST_N = 200
"""The program has (n + 1)² unknowns: some seconds at n = 70, a minute at 140, minutes at this size."""


@dataclass(frozen=True)
class Problem:
    """The checked arguments: counts 0..n, ε, and what output j costs under count i."""

    n: int
    epsilon: Fraction
    losses: Floats
    loss: str

    @staticmethod
    def of(n: object, epsilon: object, loss: object) -> Problem:
        """The arguments, checked."""
        size, eps = checks.integer("n", n, least=1), checks.epsilon(epsilon)
        if size > LARGEST_N:
            fix = "For larger counts uptack.count is nearly optimal and needs no table."
            raise InvalidArgument("n", f"at most {LARGEST_N}", size, fix)
        if eps < LEAST_EPSILON:
            raise InvalidArgument("epsilon", f"at least {float(LEAST_EPSILON)}", checks.describe(epsilon))
        function = LOSSES.get(loss, loss) if isinstance(loss, str) else loss
        if not callable(function):
            must = f"one of {', '.join(map(repr, LOSSES))} or a function of count and output"
            raise InvalidArgument("loss", must, checks.describe(loss))
        losses = np.array([[float(function(i, j)) for j in range(size + 1)] for i in range(size + 1)])
        if not (np.isfinite(losses) & (losses >= 0)).all():
            raise InvalidArgument("loss", "finite and at least 0 for every count and output", "one that is not")
        return Problem(size, eps, losses, loss if isinstance(loss, str) else getattr(loss, "__name__", "given"))

    def mechanism(self, table: Floats, kind: str) -> CountMechanism:
        """The table, made exactly private."""
        return CountMechanism(repair(table, self.epsilon), self.epsilon, self.losses, f"{kind} count, {self.loss} loss")


def optimal_table(problem: Problem, prior: Floats | None = None, equalizer: bool = False) -> tuple[Floats, float]:
    """The solver's table of least Bayes risk for a prior, with that risk.

    Without a prior it is the minimax table, with its worst risk t: risks ≤ t, or risks = t for an equalizer rule.

    Probabilities range over many powers of ten, and at times the solver breaks a constraint by far more than its
    tolerance. What it breaks is measured here; the first answer that breaks 2e-9 at most is taken, or else the closest.
    """
    from scipy import optimize, sparse

    n, size, fall = problem.n, problem.n + 1, math.exp(-problem.epsilon)
    scale = float(problem.losses.max()) or 1.0  # the solver's tolerances are made for coefficients of about 1
    here, above, one = sparse.eye(n, size), sparse.eye(n, size, k=1), sparse.identity(size)
    upper = sparse.kron(sparse.vstack([fall * here - above, fall * above - here]), one)  # e^-ε·Q[i, j] ≤ Q[i ± 1, j]
    equal, right = sparse.kron(one, np.ones((1, size))), np.ones(size)  # Σ_j Q[i, j] = 1
    if prior is not None:
        objective = (prior[:, None] * problem.losses / scale).ravel()
    else:  # t is one more unknown
        risks = sparse.block_diag([row[None, :] for row in problem.losses / scale])
        risks = sparse.hstack([risks, -np.ones((size, 1))])
        upper, equal = (sparse.hstack([a, sparse.csr_matrix((a.shape[0], 1))]) for a in (upper, equal))
        objective = np.append(np.zeros(size * size), 1.0)
        if equalizer:
            equal, right = sparse.vstack([equal, risks]), np.append(right, np.zeros(size))
        else:
            upper = sparse.vstack([upper, risks])
    upper, equal, answers = upper.tocsr(), equal.tocsr(), list[tuple[float, Any]]()
    for method, tolerance in (("highs-ds", 1e-10), ("highs-ds", 1e-9), ("highs-ipm", 1e-8)):
        options = {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
        answer = optimize.linprog(
            objective, upper, np.zeros(upper.shape[0]), equal, right, method=method, options=options
        )
        if answer.status == 0:
            broken = max(float((upper @ answer.x).max()), float(np.abs(equal @ answer.x - right).max()))
            answers.append((broken, answer))
            if broken <= 2e-9:
                break
    if not answers and answer.status == 2 and equalizer:
        raise InvalidArgument("loss", "one with an equalizer rule", problem.loss, "Leave equalizer out.")
    if not answers:
        raise UptackError(f"the linear program could not be solved: {answer.message}")
    answer = min(answers, key=lambda pair: pair[0])[1]
    return answer.x[: size * size].reshape(size, size), float(answer.fun) * scale


def optimal_count_mechanism(
    n: int, epsilon: Rational, loss: LossFunction = "absolute", prior: ArrayLike | None = None
) -> CountMechanism:
    """The ε-differentially private mechanism of least Bayes risk Σ_i prior[i]·E loss(i, output), for counts in 0..n.

    **Theorem** (Hall, section 1.3.5). The risk is linear in the table and privacy is a set of linear inequalities, so a
    linear program finds the minimum over all ε-private mechanisms with outputs in 0..n. The result is exactly private,
    under either adjacency, and its risk is above the program's by the solver's precision only. For losses that grow
    with |i - j| every such optimum is a remapping of one geometric mechanism (Ghosh, Roughgarden, Sundararajan 2009).

    >>> optimal_count_mechanism(5, 1, "zero-one", prior=[1, 0, 0, 0, 0, 0]).bayes_risk([1, 0, 0, 0, 0, 0]) < 1e-6
    True
    """
    problem = Problem.of(n, epsilon, loss)
    table, _ = optimal_table(problem, check_prior(prior, problem.n + 1))
    return problem.mechanism(table, "Bayes-optimal")


def minimax_count_mechanism(
    n: int, epsilon: Rational, loss: LossFunction = "absolute", *, equalizer: bool = False
) -> CountMechanism:
    """The ε-differentially private mechanism whose largest risk over the counts 0..n is least.

    **Theorem** (Hall, section 2.3.3). Minimise t under E loss(i, output) ≤ t for every count i and the constraints of
    privacy. With `equalizer=True` all risks are equal to t; for the absolute loss such rules exist (0 or n by a fair
    coin is one) and the best of them is minimax. Other losses may have none, which is an `InvalidArgument`.

    >>> minimax_count_mechanism(10, 1).worst_risk < 0.85092 < 1.0
    True
    """
    problem = Problem.of(n, epsilon, loss)
    return problem.mechanism(optimal_table(problem, equalizer=equalizer)[0], "minimax")


@dataclass(frozen=True, eq=False)
class RiskBody:
    """All pairs (risk at count 0, risk at count 1) of ε-private mechanisms for n = 1: a quadrangle."""

    epsilon: float
    vertices: Floats

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """The body as a polygon. Returns the axes."""
        ax = axes(ax, figsize=(4.5, 4.5))
        look = {"color": "#2f62a8", "alpha": 0.25, "label": f"ε = {self.epsilon:g}"}
        ax.fill(*self.vertices.T, **look | style)
        ax.set(xlabel="risk when the count is 0", ylabel="risk when the count is 1", aspect="equal")
        return ax


def risk_body(epsilon: Rational) -> RiskBody:
    """What pairs of risks an ε-private mechanism can have for a count of 0 or 1 (Hall, figure 2.1; absolute loss).

    **Theorem.** With a = P(1 | 0) and b = P(0 | 1) privacy says a ≤ e^ε(1 - b), 1 - b ≤ e^ε·a and the same with a and b
    exchanged: the quadrangle with the corners (0, 1), (1, 0) and the diagonal points 1/(1 + e^ε) and 1/(1 + e^-ε). Its
    lower left edges are the Bayes rules, the corner between them is the minimax rule.

    >>> risk_body(0).vertices.tolist()
    [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0], [0.5, 0.5]]
    """
    eps = float(checks.nonnegative("epsilon", epsilon))
    least = math.exp(-eps) / (1 + math.exp(-eps))
    return RiskBody(eps, np.array([[0, 1], [least, least], [1, 0], [1 - least, 1 - least]], np.float64))
