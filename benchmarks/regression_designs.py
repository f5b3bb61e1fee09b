"""Simulated regressions with known targets: forty for least squares, and some for each other loss.

A design is a function of n and a generator. The target of a loss is its own estimate, without privacy, from a million
rows or more: also where the model is wrong, the coefficients that minimise the loss are what is estimated. Gross errors
are rows whose value the design has made up; they are no part of the target.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Floats = NDArray[np.float64]
Generator = np.random.Generator
MILLION = 1_000_000
MILLIONTH = 1e-6
QUANTILE, STEP = 0.75, 1.05


@dataclass(frozen=True)
class Drawn:
    """Rows of a design, the columns that are 0 or 1, and which rows are no gross errors."""

    x: Floats
    y: Floats
    binary: tuple[int, ...] = ()
    right: NDArray[np.bool_] | None = None


Design = Callable[[int, Generator], Drawn]


def normal(p: int) -> Callable[[int, Generator], tuple[Floats, Floats]]:
    """Normal predictors and a plane."""
    slopes = np.array([1, -0.5, 0.2, 0.5, 0])

    def made(n: int, rng: Generator) -> tuple[Floats, Floats]:
        x = rng.normal(size=(n, p))
        return x, 1 + x @ np.resize(slopes, p)

    return made


def with_errors(p: int, errors: Callable[[Floats, Generator], Floats]) -> Design:
    """A plane and errors that may depend on x."""

    def made(n: int, rng: Generator) -> Drawn:
        x, plane = normal(p)(n, rng)
        return Drawn(x, plane + errors(x, rng))

    return made


def gross(column: int | None, value: float, share: float) -> Design:
    """A share of the responses, or of the values of a column, is made up."""

    def made(n: int, rng: Generator) -> Drawn:
        x, plane = normal(3)(n, rng)
        y, wrong = plane + rng.normal(size=n), rng.random(n) < share
        if column is None:
            y[wrong] = value
        else:
            x[wrong, column] = value
        return Drawn(x, y, right=~wrong)

    return made


def dummy(share: float) -> Design:
    """A column that is 1 in a share of the rows, with an effect of 5."""

    def made(n: int, rng: Generator) -> Drawn:
        x = rng.normal(size=(n, 3))
        x[:, 2] = rng.random(n) < share
        return Drawn(x, 1 + x @ [1, -0.5, 5] + rng.normal(size=n), (2,))

    return made


def _chance(t: Floats) -> Floats:
    return 1 / (1 + np.exp(-t))


def _ar(n: int, rng: Generator, p: int = 12, rho: float = 0.8) -> Floats:
    x = rng.normal(size=(n, p))
    for j in range(1, p):
        x[:, j] = rho * x[:, j - 1] + np.sqrt(1 - rho**2) * x[:, j]
    return x


def ar(n: int, rng: Generator) -> Drawn:
    x = _ar(n, rng)
    return Drawn(x, 1 + x @ (np.arange(12) % 3 * 0.5) + rng.normal(size=n))


def mixed(n: int, rng: Generator) -> Drawn:
    x = rng.normal(size=(n, 3))
    slopes = np.where(rng.random(n) < 0.3, 5, 1)
    return Drawn(x, 1 + x[:, 0] * slopes + x[:, 1:] @ [0.5, 0.2] + rng.normal(size=n))


def multiplied(shape: float) -> Design:
    def made(n: int, rng: Generator) -> Drawn:
        x = rng.random((n, 3))
        return Drawn(x, (1 + x @ [2, 1, 0.5]) * rng.gamma(shape, 1 / shape, n))

    return made


def lognormal_multiplied(n: int, rng: Generator) -> Drawn:
    x = rng.random((n, 2))
    return Drawn(x, (1 + x @ [3, 1]) * np.exp(rng.normal(size=n) - 0.5))


def half_zeros(n: int, rng: Generator) -> Drawn:
    x = rng.normal(size=(n, 2))
    return Drawn(x, (rng.random(n) < _chance(x[:, 0])) * np.exp(3 + x @ [0.3, 0.2] + rng.normal(size=n)))


def clipped(n: int, rng: Generator) -> Drawn:
    x = rng.normal(size=(n, 2))
    return Drawn(x, np.clip(0.9 + x @ [0.2, 0.1] + 0.2 * rng.normal(size=n), 0, 1))


def likert(n: int, rng: Generator) -> Drawn:
    x = rng.normal(size=(n, 2))
    return Drawn(x, np.clip(np.rint(4 + x @ [0.5, 0.3] + rng.normal(size=n)), 1, 5))


def classes(level: float) -> Design:
    def made(n: int, rng: Generator) -> Drawn:
        x = rng.normal(size=(n, 2))
        return Drawn(x, (rng.random(n) < _chance(x @ [1, 0.5] - level)).astype(float))

    return made


def tied(n: int, rng: Generator) -> Drawn:
    x = rng.normal(size=(n, 3))
    x[:, 2] = x[:, 0] > 2.0537
    return Drawn(x, 1 + x @ [1, -0.5, 5] + rng.normal(size=n), (2,))


def zeros(n: int, rng: Generator) -> Drawn:
    x = np.column_stack([rng.normal(size=n), np.where(rng.random(n) < 0.05, rng.normal(size=n) * 5, 0)])
    return Drawn(x, 1 + x @ [1, 1] + rng.normal(size=n))


def skewed_zeros(n: int, rng: Generator) -> Drawn:
    x = np.column_stack([rng.normal(size=n), np.where(rng.random(n) < 0.05, np.exp(2 + rng.normal(size=n)), 0)])
    x[:, 0] += 0.1 * x[:, 1]
    return Drawn(x, 1 + x @ [1, 0.3] + rng.normal(size=n))


def bend(n: int, rng: Generator) -> Drawn:
    a = rng.gamma(1, 1, n)
    x = np.column_stack([a, rng.normal(size=n)])
    return Drawn(x, np.minimum(a, 2) * 2 + x[:, 1] * 0.5 + 0.5 * rng.normal(size=n))


def far_predictors(draw: Callable[[int, Generator], Floats]) -> Design:
    def made(n: int, rng: Generator) -> Drawn:
        x = draw(n, rng)
        return Drawn(x, 1 + x @ [1, 0.5] + rng.normal(size=n))

    return made


def collinear(n: int, rng: Generator) -> Drawn:
    x = rng.normal(size=(n, 3))
    x[:, 1] = 0.999 * x[:, 0] + np.sqrt(1 - 0.999**2) * x[:, 1]
    return Drawn(x, 1 + x @ [1, 1, 0.5] + rng.normal(size=n))


def offset(n: int, rng: Generator) -> Drawn:
    x = rng.normal((1e6, 0, 0), size=(n, 3))
    return Drawn(x, 1 + (x - [1e6, 0, 0]) @ [1, 0.5, 0] + rng.normal(size=n))


def lumpy(n: int, rng: Generator) -> Drawn:
    x = rng.integers(0, 4, (n, 2)) * 1.0
    return Drawn(x, 1 + x @ [1, 0.5] + np.where(rng.random(n) < 0.6, 0, rng.normal(size=n) * 3))


def precise(n: int, rng: Generator) -> Drawn:
    x, plane = normal(3)(n, rng)
    return Drawn(x, 100 * plane + rng.normal(size=n))


def rare_response(n: int, rng: Generator) -> Drawn:
    x = rng.normal(size=(n, 2))
    return Drawn(x, (rng.random(n) < 0.05 * np.exp(0.3 * x[:, 0])) * np.exp(1 + 0.5 * rng.normal(size=n)))


# ------------------------------------------------------------------------------------------------------ ten new ones


def cubic(n: int, rng: Generator) -> Drawn:
    t = rng.uniform(0, 10, n)
    return Drawn(np.column_stack([t, t**2, t**3]), np.sin(t) + 0.5 * rng.normal(size=n))


def interaction(n: int, rng: Generator) -> Drawn:
    x = rng.normal((3, 0), size=(n, 2))
    x = np.column_stack([x, x[:, 0] * x[:, 1]])
    return Drawn(x, 1 + x @ [0.5, 0.3, 0.2] + rng.normal(size=n))


def region(n: int, rng: Generator) -> Drawn:
    level = rng.choice(8, n, p=[0.4, 0.2, 0.1, 0.1, 0.08, 0.06, 0.04, 0.02])
    x = np.column_stack([rng.normal(size=n), *(level == k for k in range(1, 8))]).astype(float)
    return Drawn(x, 1 + x @ [0.5, *np.linspace(-1, 1, 7)] + rng.normal(size=n), tuple(range(1, 8)))


def wages(n: int, rng: Generator) -> Drawn:
    school, years = np.rint(np.clip(rng.normal(13, 3, n), 0, 21)), rng.integers(0, 45, n) * 1.0
    x = np.column_stack([school, years, years**2 / 100])
    return Drawn(x, 4.5 + x @ [0.1, 0.07, -0.1] + rng.normal(size=n) * 0.5 - rng.gamma(0.5, 0.4, n))


def delays(n: int, rng: Generator) -> Drawn:
    late = rng.random(n) < 0.25
    x = np.where(late, rng.gamma(0.6, 70, n), rng.normal(-3, 4, n))[:, None]
    return Drawn(x, x[:, 0] - 4 + 12 * rng.standard_t(4, n))


def round_values(n: int, rng: Generator) -> Drawn:
    x = np.rint(rng.gamma(2, 20, (n, 1)) / 5) * 5
    return Drawn(x, np.rint(2 + 0.3 * x[:, 0] + 4 * rng.normal(size=n)))


def trend(n: int, rng: Generator) -> Drawn:
    x = np.column_stack([rng.integers(1950, 2020, n) * 1.0, rng.normal(size=n)])
    return Drawn(x, 0.02 * (x[:, 0] - 1980) + x[:, 1] * 0.3 + rng.normal(size=n))


def bimodal(n: int, rng: Generator) -> Drawn:
    x, plane = normal(3)(n, rng)
    return Drawn(x, plane + 8 * (rng.random(n) < _chance(x[:, 0] - 1.5)) + rng.normal(size=n))


def incomes(n: int, rng: Generator) -> Drawn:
    x = np.column_stack([rng.normal(45, 12, n), rng.random(n) < 0.3])
    return Drawn(x, np.exp(9 + x @ [0.01, 0.4] + 0.8 * rng.normal(size=n)), (1,))


def cosine(n: int, rng: Generator) -> Drawn:
    x = rng.uniform(-3, 3, (n, 4))
    return Drawn(x, np.cos(x[:, 0]) + x @ [0.0, 0.3, -0.2, 0.1] + 0.3 * rng.normal(size=n))


LINEAR: dict[str, Design] = {
    "normal, p = 3": with_errors(3, lambda x, rng: rng.normal(size=len(x))),
    "normal, p = 5": with_errors(5, lambda x, rng: rng.normal(size=len(x))),
    "normal, p = 20": with_errors(20, lambda x, rng: rng.normal(size=len(x))),
    "AR, p = 12": ar,
    "t(3)": with_errors(3, lambda x, rng: rng.standard_t(3, len(x))),
    "1% of y at 1e9": gross(None, 1e9, 0.01),
    "1% of x at 1e6": gross(0, 1e6, 0.01),
    "effects that differ": mixed,
    "gamma errors": with_errors(3, lambda x, rng: rng.gamma(1, 1, len(x))),
    "lognormal errors": with_errors(3, lambda x, rng: np.exp(rng.normal(size=len(x)))),
    "gamma times mean": multiplied(0.5),
    "lognormal times mean": lognormal_multiplied,
    "half zeros": half_zeros,
    "clipped y": clipped,
    "Likert": likert,
    "y is 0 or 1": classes(1.0),
    "y is 0 or 1, rare": classes(2.5),
    "2% dummy": dummy(0.02),
    "5% dummy": dummy(0.05),
    "10% dummy": dummy(0.1),
    "tied dummy": tied,
    "95% zeros": zeros,
    "95% zeros, skewed": skewed_zeros,
    "bend": bend,
    "lognormal x": far_predictors(lambda n, rng: np.exp(rng.normal(size=(n, 2)))),
    "Pareto x": far_predictors(lambda n, rng: rng.pareto(1.5, (n, 2))),
    "collinear, 0.999": collinear,
    "offset of 1e6": offset,
    "errors as |x|": with_errors(3, lambda x, rng: np.abs(x[:, 0]) * rng.normal(size=len(x))),
    "bimodal": bimodal,
    "lumpy": lumpy,
    "R² of 0.9999": precise,
    "y is 0 in 95%": rare_response,
    "cubic": cubic,
    "interaction": interaction,
    "eight regions": region,
    "wages": wages,
    "delays": delays,
    "rounded": round_values,
    "years": trend,
    "incomes": incomes,
    "cosine": cosine,
}
"""Up to "y is 0 in 95%" those that constants were chosen on. Those after it came later."""


def logit(p: int, level: float, size: float = 1.0) -> Design:
    def made(n: int, rng: Generator) -> Drawn:
        x, plane = normal(p)(n, rng)
        return Drawn(x, (rng.random(n) < _chance(size * (plane - 1) + level)).astype(float))

    return made


def logit_dummy(n: int, rng: Generator) -> Drawn:
    x = np.column_stack([rng.normal(size=n), rng.random(n) < 0.02]).astype(float)
    return Drawn(x, (rng.random(n) < _chance(x @ [1, 2] - 1)).astype(float), (1,))


def logit_skewed(n: int, rng: Generator) -> Drawn:
    x = np.column_stack([rng.gamma(1, 1, n), rng.integers(0, 5, n)])
    return Drawn(x, (rng.random(n) < _chance(x @ [0.8, -0.3] - 1)).astype(float))


def logit_wrong(n: int, rng: Generator) -> Drawn:
    x = rng.normal(size=(n, 2))
    return Drawn(x, (rng.random(n) < 0.1 + 0.8 * (x @ [1, 0.5] > 0.5)).astype(float))


LOGISTIC: dict[str, Design] = {
    "p = 2": logit(2, 0.5),
    "p = 5": logit(5, 0.0),
    "rare": logit(2, -3.0),
    "strong": logit(3, 0.0, 3.0),
    "2% dummy": logit_dummy,
    "skewed x": logit_skewed,
    "no logit": logit_wrong,
}


def rates(p: int, level: float, size: float = 1.0) -> Design:
    def made(n: int, rng: Generator) -> Drawn:
        x, plane = normal(p)(n, rng)
        return Drawn(x, rng.poisson(np.exp(level + 0.5 * size * (plane - 1))).astype(float))

    return made


def rates_dummy(n: int, rng: Generator) -> Drawn:
    x = np.column_stack([rng.normal(size=n), rng.random(n) < 0.02]).astype(float)
    return Drawn(x, rng.poisson(np.exp(0.5 + x @ [0.4, 1])).astype(float), (1,))


def overdispersed(n: int, rng: Generator) -> Drawn:
    x = rng.normal(size=(n, 2))
    return Drawn(x, rng.poisson(np.exp(1 + x @ [0.4, -0.2]) * rng.gamma(1, 1, n)).astype(float))


def visits(n: int, rng: Generator) -> Drawn:
    x = np.column_stack([rng.gamma(2, 1, n), rng.random(n) < 0.4]).astype(float)
    return Drawn(x, (rng.random(n) < 0.5) * rng.poisson(np.exp(x @ [0.3, 0.5])).astype(float), (1,))


POISSON: dict[str, Design] = {
    "p = 2": rates(2, 0.5),
    "p = 5": rates(5, 1.0),
    "low": rates(2, -1.5),
    "high": rates(2, 5.0),
    "varied": rates(2, 0.0, 2.0),
    "2% dummy": rates_dummy,
    "overdispersed": overdispersed,
    "half zeros": visits,
}

ROBUST = (
    "normal, p = 3",
    "normal, p = 5",
    "t(3)",
    "gamma errors",
    "errors as |x|",
    "2% dummy",
    "1% of y at 1e9",
    "lognormal x",
    "wages",
    "incomes",
)
"""Designs of least squares that quantiles and Huber's loss are tried on."""


# ---------------------------------------------------------------------------------------------- without privacy


def least_squares(x: Floats, y: Floats) -> Floats:
    return weighed(_whole(x), y, np.ones(len(y)))


def weighed(design: Floats, y: Floats, w: Floats) -> Floats:
    """Weighted least squares in columns of mean square 1."""
    size = np.sqrt(np.mean(design**2, axis=0))
    middle = np.append(0.0, np.mean(design[:, 1:], axis=0))
    turned = (design - middle) / np.append(1.0, np.maximum(np.std(design[:, 1:], axis=0), 1e-9 * size[1:]))
    found = np.linalg.solve((turned * w[:, None]).T @ turned, (turned * w[:, None]).T @ y)
    found[1:] /= np.maximum(np.std(design[:, 1:], axis=0), 1e-9 * size[1:])
    found[0] -= middle[1:] @ found[1:]
    return found


def _whole(x: Floats) -> Floats:
    return np.column_stack([np.ones(len(x)), x])


def maximum_likelihood(
    x: Floats, y: Floats, mean: Callable[[Floats], Floats], slope: Callable[[Floats], Floats], level: float
) -> Floats:
    design = _whole(x)
    beta = np.append(level, np.zeros(x.shape[1]))
    for _ in range(40):
        eta = np.clip(design @ beta, -30, 30)
        w = np.maximum(slope(mean(eta)), 1e-10)
        new = weighed(design, eta + (y - mean(eta)) / w, w)
        beta, before = new, beta
        if np.max(np.abs(design @ (beta - before))) < 1e-9:
            break
    return beta


def logistic_fit(x: Floats, y: Floats) -> Floats:
    return maximum_likelihood(x, y, _chance, lambda m: m * (1 - m), float(np.log(y.mean() / (1 - y.mean()))))


def poisson_fit(x: Floats, y: Floats) -> Floats:
    return maximum_likelihood(x, y, np.exp, lambda m: m, float(np.log(y.mean())))


def huber_fit(x: Floats, y: Floats, cutoff: float) -> Floats:
    """By Newton steps, each of which is the least-squares fit of the rows whose residuals are within the cutoff."""
    design, beta = _whole(x), least_squares(x, y)
    for _ in range(20):
        r = y - design @ beta
        inside = (np.abs(r) < cutoff).astype(float)
        step = weighed(design, np.where(inside, r, np.sign(r) * cutoff / MILLIONTH), np.maximum(inside, MILLIONTH))
        beta = beta + step
        if np.max(np.abs(design @ step)) < 1e-9 * cutoff:
            break
    return beta


def quantile_fit(x: Floats, y: Floats, q: float) -> Floats:
    """By Newton steps of a check loss that is smoothed less and less."""
    design, beta = _whole(x), least_squares(x, y)
    r = y - design @ beta
    beta[0] += np.quantile(r, q)
    for h in np.std(r) * np.geomspace(0.5, min(0.5, len(y) ** -0.35), 8):
        for _ in range(6):
            r = y - design @ beta
            w = np.exp(-((r / h) ** 2) / 2) / (h * np.sqrt(2 * np.pi)) + 1e-6 / h
            step = weighed(design, (ndtr(r / h) - (1 - q)) / w, w)
            beta = beta + step
            if np.sqrt(np.mean((design @ step) ** 2)) < 1e-3 * h:
                break
    return beta


@dataclass(frozen=True)
class Case:
    """A loss with a design, and what it estimates without privacy."""

    loss: str
    design: str

    @property
    def draw(self) -> Design:
        """Rows of the design."""
        return {"logistic": LOGISTIC, "Poisson": POISSON}.get(self.loss, LINEAR)[self.design]

    def estimate(self, rows: Drawn, cutoff: float = 0.0) -> Floats:
        """Without privacy, and without gross errors; by Huber's loss with this cutoff."""
        right = np.ones(len(rows.y), bool) if rows.right is None else rows.right
        fit = {"logistic": logistic_fit, "Poisson": poisson_fit, "linear": least_squares,
               "Huber": lambda x, y: huber_fit(x, y, cutoff),
               "quantile": lambda x, y: quantile_fit(x, y, QUANTILE)}[self.loss]  # fmt: skip
        return fit(rows.x[right], rows.y[right])

    def target(self, n: int, cutoff: float = 0.0) -> Floats:
        """What is estimated: the mean of estimates from a million rows each, a hundred times n in all.

        Its own error is the same in all runs of a cell, so it has to be small beside that of n rows: it is a tenth.
        Were it a seventh, 80% of the intervals of logistic "skewed x" would hold it, of which 92% hold the true value.
        For Huber's loss it lies on the line between the targets of two cutoffs that are 5% apart.
        """
        draws = max(1, 100 * n // MILLION)
        if not cutoff:
            return np.mean([_estimate(self, draw, 0.0) for draw in range(draws)], axis=0)
        place = np.log(cutoff) / np.log(STEP)
        low = math.floor(place)
        ends = [np.mean([_estimate(self, draw, STEP**k) for draw in range(draws)], axis=0) for k in (low, low + 1)]
        return ends[0] + (place - low) * (ends[1] - ends[0])


@cache
def _estimate(case: Case, draw: int, cutoff: float) -> Floats:
    return case.estimate(case.draw(MILLION, np.random.default_rng(12345 + draw)), cutoff)


CASES = (
    *(Case("linear", name) for name in LINEAR),
    *(Case("Huber", name) for name in ROBUST),
    *(Case("quantile", name) for name in ROBUST),
    *(Case("logistic", name) for name in LOGISTIC),
    *(Case("Poisson", name) for name in POISSON),
)
