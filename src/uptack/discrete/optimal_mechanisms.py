"""The best private mechanisms for a count in 0..n, by linear programming (Hall, sections 1.3.5 and 2.3.3).

A mechanism is a table Q[i, j] = P(output j | count i). Rows add up to 1 and Q[i, j] ≤ e^ε·Q[i ± 1, j]: a polytope, over
which the Bayes risk is linear and the worst risk is the least t above every row's. The solver works in floats;
`uptack.discrete.count_mechanism.repair` turns what it gives into a table that is exactly private.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uptack import checks
from uptack.discrete.count_mechanism import LEAST_EPSILON, CountMechanism, Floats, check_prior, repair
from uptack.display.plots import axes
from uptack.errors import InvalidArgument, UptackError
from uptack.exact import Rational

LossFunction = str | Callable[[int, int], float]
LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "absolute": lambda i, j: abs(i - j),
    "squared": lambda i, j: (i - j) ** 2,
    "zero-one": lambda i, j: i != j,
}
LARGEST_N = 200
"""The program has (n + 1)² unknowns: some seconds at n = 70, a minute at 140, minutes at this size."""

ATTEMPTS = (("highs-ds", 1e-10), ("highs-ds", 1e-9), ("highs-ipm", 1e-8))
CLOSE = 2e-9


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

    @property
    def scale(self) -> float:
        """The largest loss: the solver's tolerances are made for coefficients of about 1."""
        return float(np.abs(self.losses).max()) or 1.0

    def privacy(self) -> Any:
        """e^-ε·Q[i, j] - Q[i ± 1, j] ≤ 0, for Q written row after row."""
        import scipy

        size, fall = self.n + 1, math.exp(-self.epsilon)
        here, above = scipy.sparse.eye(self.n, size), scipy.sparse.eye(self.n, size, k=1)
        both = scipy.sparse.vstack([fall * here - above, fall * above - here])
        return scipy.sparse.kron(both, scipy.sparse.identity(size), format="csr")

    def sums(self) -> Any:
        """Σ_j Q[i, j]."""
        import scipy

        return scipy.sparse.kron(scipy.sparse.identity(self.n + 1), np.ones((1, self.n + 1)), format="csr")

    def risks(self) -> Any:
        """Σ_j losses[i, j]·Q[i, j] over the largest loss."""
        import scipy

        return scipy.sparse.block_diag([row[None, :] for row in self.losses / self.scale], format="csr")

    def mechanism(self, table: Floats, kind: str) -> CountMechanism:
        """The table, made exactly private."""
        return CountMechanism(repair(table, self.epsilon), self.epsilon, self.losses, f"{kind} count, {self.loss} loss")


def _minimise(objective: Floats, upper: Any, equal: Any, right: Floats) -> Any:
    """The solver's answer to min objective·x with upper·x ≤ 0, equal·x = right, x ≥ 0; None where nothing fits.

    Probabilities range over many powers of ten, and at times the solver breaks a constraint by far more than its
    tolerance. What it breaks is measured here; the first answer that is `CLOSE` is taken, or else the closest.
    """
    import scipy

    found: list[tuple[float, Any]] = []
    for method, tolerance in ATTEMPTS:
        options = {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
        answer = scipy.optimize.linprog(
            objective, upper, np.zeros(upper.shape[0]), equal, right, method=method, options=options
        )
        if answer.status == 0:
            broken = max(float((upper @ answer.x).max()), float(np.abs(equal @ answer.x - right).max()))
            found.append((broken, answer))
            if broken <= CLOSE:
                break
    if not found and answer.status != 2:
        raise UptackError(f"the linear program could not be solved: {answer.message}")
    return min(found, key=lambda pair: pair[0])[1] if found else None


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
    weights = check_prior(prior, problem.n + 1)
    objective = (weights[:, None] * problem.losses / problem.scale).ravel()
    answer = _minimise(objective, problem.privacy(), problem.sums(), np.ones(problem.n + 1))
    return problem.mechanism(answer.x.reshape(problem.losses.shape), "Bayes-optimal")


def minimax_program(problem: Problem, equalizer: bool) -> tuple[Floats, float]:
    """The solver's minimax table, and its worst risk t: risks ≤ t, or risks = t for an equalizer rule."""
    import scipy

    size = problem.n + 1
    risks = scipy.sparse.hstack([problem.risks(), -np.ones((size, 1))])
    upper, equal = (
        scipy.sparse.hstack([a, scipy.sparse.csr_matrix((a.shape[0], 1))]) for a in (problem.privacy(), problem.sums())
    )
    right = np.ones(size)
    if equalizer:
        equal, right = scipy.sparse.vstack([equal, risks]), np.append(right, np.zeros(size))
    else:
        upper = scipy.sparse.vstack([upper, risks])
    answer = _minimise(np.append(np.zeros(size * size), 1.0), upper.tocsr(), equal.tocsr(), right)
    if answer is None:
        raise InvalidArgument("loss", "one with an equalizer rule", problem.loss, "Leave equalizer out.")
    return answer.x[:-1].reshape(size, size), float(answer.fun) * problem.scale


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
    return problem.mechanism(minimax_program(problem, equalizer)[0], "minimax")


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
        ax.spines[["top", "right"]].set_visible(False)
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
