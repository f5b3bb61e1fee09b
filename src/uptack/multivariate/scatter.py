"""A robust scatter matrix without bounds on the data, and coordinates in which rows are about round.

With a = (1, x, ...) standardised and A a public lower triangular matrix, u = A·a/|A·a| has length 1 whatever the row.
So Σuuᵀ, the sign covariance of the rows in the coordinates of A, gets matrix Laplace noise and is ε-private
(`uptack.multivariate.private_sums`). Its trace is the number of rows, which needs no count of its own where it is
secret. With the Cholesky factor LLᵀ of what comes out, A ← L⁻¹·A are rounder coordinates. The fixed point is Tyler's
(1987) scatter matrix, for which the tails of the rows do not matter. Directions show d/(d + 2) of what is not round,
where little is (for d = 2 the root of it, always), so eigenvalues are taken to the power of (d + 2)/d. Before, they are
brought to at least the noise's edge: so no direction is blown up by more than it should be, and the next round goes on
from there.

*Lumps.* Of a column that is 0 in all rows but a share f of them, directions never show more than f·d, however far it is
blown up, and Tyler's matrix has no room for it. A fit only needs coordinates that are round to a small factor. So
`gentle` coordinates leave a direction as it is, from that eigenvalue on, and blow up others by so much less.

Triangular matrices do what symmetric ones would, as signs and noise have no preferred directions. They halve the work,
and the first coordinates are those of the first columns alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uptack import checks
from uptack.account import Account, Outcome
from uptack.display import Ends, Record, TabularValue, line
from uptack.display.plots import PRIVATE, caption
from uptack.display.plots import axes as new_axes
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms.additive_noise import TraceNoise, deviation, edge
from uptack.multivariate.entrance import (
    MISSING,
    Sized,
    complete_rows,
    estimate_frame,
    read_columns,
    read_size,
    rows_for_scales,
)
from uptack.multivariate.private_sums import LENGTH, bounded, moved, noisy_moments
from uptack.multivariate.row_sums import Sample, Squares, Step, products
from uptack.multivariate.standardise import Frame
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency
from uptack.progress import steps
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.table.exact_sum import Floats
from uptack.table.reads import COLUMNS
from uptack.table.values import entrance

HOW = "directions of rows"
SHARES = (Fraction(3, 20), Fraction(3, 20), Fraction(7, 10))
"""Parts of ε for scales, centres and directions."""

WRITTEN = 12
"""Columns up to which a map of correlations has them in figures, too."""

ROUNDS = 3
LEAST = float(np.finfo(np.float64).tiny)
"""⊥ where a variance is less, or one is beyond all floats."""

USELESS = 0.5
"""⊥ where the noise's edge would exceed this part of the mean eigenvalue even with one round; fewer rounds where each
would."""


@dataclass(frozen=True, eq=False)
class Scatter(TabularValue):
    """A centre and a scatter matrix, which for normal rows are their mean and covariance matrix.

    Columns that rarely vary have no scale: `dropped` names them, and their entries are NaN. `unresolved` counts
    the directions whose spread is hidden by noise: there the matrix is too large, never too small. `names`
    are those of the columns, where they have some.
    """

    centre: Floats
    matrix: Floats
    dropped: tuple[int, ...] = ()
    unresolved: int = 0
    names: tuple[str, ...] = ()

    def named(self, *names: str) -> Scatter:
        """The same with names for its columns."""
        if len(names) != self.centre.size:
            raise InvalidArgument("names", f"{self.centre.size} names, one per column", f"{len(names)} of them")
        return replace(self, names=names)

    @property
    def correlation(self) -> Floats:
        """The robust correlation matrix: from -1 to 1, with ones on its diagonal but for columns without a scale."""
        scale = np.sqrt(np.diag(self.matrix))
        found: Floats = np.clip(self.matrix / np.outer(scale, scale), -1, 1)
        found[self._kept(), self._kept()] = 1.0
        return found

    def _kept(self) -> list[int]:
        return [i for i in range(self.centre.size) if i not in self.dropped]

    def principal_axes(self, standardised: bool = False) -> tuple[Floats, Floats]:
        """Variances in falling order, and the axes, one per line: of the matrix, or of the correlations."""
        chosen = self.correlation if standardised else self.matrix
        kept = self._kept()
        values, vectors = np.linalg.eigh(chosen[np.ix_(kept, kept)])
        out = np.zeros((len(kept), self.centre.size))
        out[:, kept] = vectors.T[::-1]
        return values[::-1], out

    def mahalanobis(self, x: ArrayLike) -> Floats:
        """How far points are from the centre, in standard deviations. Distances of private rows are not private."""
        kept = self._kept()
        points = np.atleast_2d(checks.numbers("x", x, dimensions=(1, 2)))
        if points.shape[1] != self.centre.size:
            raise InvalidArgument("x", f"points of {self.centre.size} numbers", checks.outline(points))
        away = (points - self.centre)[:, kept]
        solved = np.linalg.solve(self.matrix[np.ix_(kept, kept)], away.T)
        found: Floats = np.sqrt(np.maximum((away.T * solved).sum(axis=0), 0.0))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "centre": _plain(self.centre),
            "matrix": [_plain(line) for line in self.matrix],
            "dropped": list(self.dropped),
            "unresolved": self.unresolved,
            "names": list(self.names),
        }

    def figures(self, ends: Ends = None) -> list[Record]:
        """The centre of each column, and the covariances of all pairs: a line each, by names or numbers of columns."""
        called: Sequence[Any] = self.names or range(self.centre.size)
        centre = [line({"figure": "centre", "x": c}, v) for c, v in zip(called, _plain(self.centre), strict=True)]
        pairs = [(i, j) for i in range(self.centre.size) for j in range(i, self.centre.size)]
        entries = [_plain(row) for row in self.matrix]
        return centre + [line({"figure": "scatter", "x": called[i], "y": called[j]}, entries[i][j]) for i, j in pairs]

    def plot(self, ax: Any = None, *, names: Any = None, **style: Any) -> Any:
        """An ellipse that holds 95% of normal rows for two columns, a map of correlations for more. Returns the axes.

        Further arguments go to matplotlib's `plot`, or to `imshow`. It needs matplotlib: `pip install "uptack[plots]"`.
        """
        given = self.names or [f"x{i}" for i in range(self.centre.size)] if names is None else names
        labels = [caption(name) for name in given]
        if len(labels) != self.centre.size:
            raise InvalidArgument("names", f"{self.centre.size} names, one per column", f"{len(labels)} of them")
        ax = new_axes(ax, figsize=(5, 4.4))
        drawn = self._ellipse if self.centre.size == 2 and not self.dropped else self._map
        return drawn(ax, labels, style)

    def _ellipse(self, ax: Any, labels: list[str], style: dict[str, Any]) -> Any:
        import scipy

        turn = np.linspace(0, 2 * np.pi, 200)
        circle = np.sqrt(scipy.stats.chi2.ppf(0.95, 2)) * np.array([np.cos(turn), np.sin(turn)])
        ax.plot(*(self.centre[:, None] + np.linalg.cholesky(self.matrix) @ circle), **{"color": PRIVATE} | style)
        ax.plot(*self.centre, "+", color=PRIVATE)
        ax.set(xlabel=labels[0], ylabel=labels[1])
        return ax

    def _map(self, ax: Any, labels: list[str], style: dict[str, Any]) -> Any:
        drawn = ax.imshow(self.correlation, **{"cmap": "RdBu_r", "vmin": -1, "vmax": 1} | style)
        ax.set_xticks(range(len(labels)), labels, rotation=90)
        ax.set_yticks(range(len(labels)), labels)
        ax.figure.colorbar(drawn, ax=ax, label="correlation")
        for i, j in itertools.product(range(len(labels)), repeat=2) if len(labels) <= WRITTEN else ():
            if not math.isnan(value := self.correlation[i, j]):
                ax.text(j, i, f"{value:.2f}", ha="center", va="center", color="white" if abs(value) > 0.6 else "black")
        return ax


def _plain(line: Floats) -> list[float | None]:
    return [None if math.isnan(v) else v for v in line.tolist()]


@release(reads=COLUMNS, people=True, missing="drop", page="scatter")
def scatter(
    x: Any,
    *,
    epsilon: Rational,
    missing: str = "error",
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[Scatter] | NoReply:
    """A centre and a robust scatter matrix of several columns, with no bounds on the data: ε-differentially private.

    **Theorem.** Three kinds of steps, each private for its part of ε whatever the rows: scales and centres of all
    columns, drawn by inverse sensitivity (`uptack.multivariate.standardise`), and up to three sums Σuuᵀ of directions u
    of rows, with matrix Laplace noise (`uptack.multivariate.scatter`). The parts add up to at most ε.

    Up to noise it is the location and scatter of the multivariate Cauchy law, scaled so that normal rows get their
    covariance matrix: tails and outliers hardly count. `value.correlation`, `value.principal_axes()`,
    `value.mahalanobis(points)` and `value.plot()` follow from it and cost nothing.

    `missing` is "error" (default) or "drop": a row without all its values contributes nothing.
    With `person=` a person adds the mean of what her rows would, and numbers of rows are numbers of people
    (`uptack.multivariate.row_sums`).

    ⊥, which costs nothing where the number of rows is public, where the noise would be as large as the answer.

    >>> from uptack.noise import SeededEntropy
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(20_000, 2)) @ [[1.0, 0.8], [0.0, 0.6]] * [1.0, 1000.0]
    >>> found = scatter(rows, epsilon=1, entropy=SeededEntropy(1))
    >>> bool(abs(found.value.correlation[0, 1] - 0.8) < 0.05), found.privacy
    (True, Privacy(epsilon=1.0))
    """
    how = checks.choice("missing", missing, MISSING)
    account = Account.open("scatter", epsilon, adjacency=adjacency, rows_per_person=rows_per_person, entropy=entropy)
    columns, names = read_columns("x", x, least=2), entrance.names(x)
    if account.adjacency.size_is_public and rounds_for(columns.table.size, len(columns), account) == 0:
        return account.close(Outcome.refusal(HOW, rows_advised(len(columns), account)))
    account.begin()
    made = account.close(_estimate(complete_rows(columns, how), how, account))
    return replace(made, value=made.value.named(*names)) if names and isinstance(made, Release) else made


def _estimate(rows: Sample, missing: str, account: Account) -> Outcome[Scatter]:
    size = read_size(rows, missing, account)
    rounds = rounds_for(size.rows, rows.width, size.account)
    if rounds == 0:
        return Outcome.refusal(HOW, rows_advised(rows.width, account))
    for_scales, for_centres, for_signs = size.account.split(*SHARES)
    frame = estimate_frame(rows, size, (), (for_scales, for_centres))
    if len(frame.kept) < 2:
        return Outcome.refusal(HOW, Advice(other="columns that vary"))
    return _estimate_shape(rows, frame, size, rounds, for_signs)


def _estimate_shape(rows: Sample, frame: Frame, size: Sized, rounds: int, account: Account) -> Outcome[Scatter]:
    shape = whiten(rows, frame, size.n, rounds, account)
    if shape.edge > 2 * USELESS:
        return Outcome.refusal(HOW, rows_advised(rows.width, account))
    centre, matrix = location_and_scatter(shape, frame, rows.width)
    sizes = np.diag(matrix)[list(frame.kept)]
    if not (np.isfinite(matrix[np.ix_(frame.kept, frame.kept)]).all() and (sizes >= LEAST).all()):
        return Outcome.refusal(HOW, Advice(other="columns in other units"))
    dropped = tuple(c for c in range(rows.width) if c not in frame.kept)
    unresolved = int((shape.eigenvalues < shape.edge).sum())
    return Outcome(Scatter(centre, matrix, dropped, unresolved), HOW)


def location_and_scatter(shape: Shape, frame: Frame, width: int) -> tuple[Floats, Floats]:
    """The centre and the matrix of all columns, in their own units, from S = the scatter of (1, x).

    The centre is S_x1/S_11 and the matrix S_xx/S_11 minus its square, over what it is for standard normal rows.
    """
    s, kept = shape.scatter, list(frame.kept)
    middle = s[1:, 0] / s[0, 0]
    inner = (s[1:, 1:] / s[0, 0] - np.outer(middle, middle)) / normal_size(len(kept))
    centre, matrix = np.full(width, np.nan), np.full((width, width), np.nan)
    centre[kept] = (frame.centres + middle) * frame.units
    matrix[np.ix_(kept, kept)] = inner * np.outer(frame.units, frame.units)
    return centre, matrix


@lru_cache(maxsize=256)
def normal_size(columns: int) -> float:
    """The k with E[1/(1 + |x|²/k)] = 1/(q + 1) for standard normal x: the Cauchy law's scatter of such rows is k·I."""
    import scipy

    law = scipy.stats.chi2(columns)

    def excess(log_k: float) -> float:
        k = math.exp(log_k)
        mean = scipy.integrate.quad(lambda v: law.pdf(v) / (1 + v / k), 0, np.inf, limit=200)[0]
        return float(mean) - 1 / (columns + 1)

    return math.exp(float(scipy.optimize.brentq(excess, -8.0, 4.0, xtol=1e-9)))


def rounds_for(n: int, columns: int, account: Account) -> int:
    """How many rounds there can be, by public numbers; 0 for none."""
    part = account.epsilon * SHARES[0]
    if n < rows_for_scales(columns, part, account):
        return 0
    edge = noise_edge(columns + 1, max(n, 1), account, float(account.epsilon * SHARES[2]))
    return min(int(USELESS / edge), ROUNDS)


def rows_advised(columns: int, account: Account) -> Advice:
    """From how many rows on there is a round, with a little room."""
    scales = rows_for_scales(columns, account.epsilon * SHARES[0], account)
    signs = noise_edge(columns + 1, USELESS, account, float(account.epsilon * SHARES[2]))
    return Advice(n=math.ceil(1.05 * max(scales, signs)))


# ------------------------------------------------------------------------------------------------------- directions


@dataclass(frozen=True, eq=False)
class Shape:
    """Coordinates A, A without gentleness, how many rounds led there, and the last round's eigenvalues and edge."""

    coordinates: Floats
    full: Floats
    rounds: int
    eigenvalues: Floats
    edge: float

    @property
    def scatter(self) -> Floats:
        """A⁻¹A⁻ᵀ, up to a factor: rows are round in the coordinates of A."""
        inverse = np.linalg.inv(self.full)
        found: Floats = inverse @ inverse.T
        return found


def noise_edge(dimension: int, rows: float, account: Account, epsilon: float) -> float:
    """The largest eigenvalue of the noise in d/n·Σuuᵀ, whose eigenvalues have a mean of 1."""
    return edge(dimension) * dimension * moved(account) / (rows * epsilon)


def floor_spectrum(matrix: Floats, least: float) -> tuple[Floats, Floats, Floats]:
    """Eigenvalues drawn to their mean, by the part of their variance that is noise (Ledoit and Wolf 2004), and brought
    to at least the edge of their noise; the vectors; and the eigenvalues as they were.
    """
    raw, vectors = np.linalg.eigh(matrix)
    noise = least * deviation(len(matrix)) / edge(len(matrix))
    part = min(1.0, noise**2 / max(float(np.var(raw)), 1e-300))
    return np.maximum((1 - part) * raw + part * float(np.mean(raw)), least), vectors, raw


def _gentle(values: Floats, gentle: float, least: float) -> Floats:
    """Eigenvalues from `gentle` to 1 as 1, smaller ones over it; those at the edge of the noise as they are."""
    held = np.where(values > 1, values, np.minimum(values / gentle, 1.0))
    return np.asarray(np.where(values <= 1.2 * least, np.minimum(values, held), held), np.float64)


def whiten(rows: Sample, frame: Frame, n: float | None, rounds: int, account: Account, *, gentle: float = 1.0) -> Shape:
    """Up to so many rounds, each with an equal part of the account; fewer where all eigenvalues are above `gentle`.

    n is the number of rows where it is public, and else what the trace says.
    """
    d, part = frame.width, account.part(Fraction(1, rounds))
    power, coordinates = (d + 2) / d, np.eye(d)
    with steps("round", rounds, inner=True) as show:
        for done in range(1, rounds + 1):
            show()
            (total,) = rows.sums(directions(frame, coordinates))
            found = noisy_moments(total, part)
            size = max(float(np.trace(found)), 1.0) if n is None else n
            least = noise_edge(d, size, account, float(part.epsilon))
            values, vectors, raw = floor_spectrum(found * d / size, least)
            full = _rounder_coordinates(coordinates, values**power, vectors)
            coordinates = _rounder_coordinates(coordinates, _gentle(values, gentle, least) ** power, vectors)
            if done == rounds or raw[0] > max(gentle, least):
                break
    if n is None and frame.leading:
        record_count(size, d, part)
    return Shape(coordinates, full, done, raw, least)


def directions(frame: Frame, coordinates: Floats) -> Step:
    """uuᵀ of every row, in integers."""
    return lambda batch: [Squares(bounded(products(coordinates, frame.standardised(batch))))]


def record_count(trace: float, dimension: int, part: Account) -> None:
    """The number of complete rows, which the trace of a released matrix tells: it comes with the answer.

    With an intercept every row has a direction u, of length (Λ - d)/Λ but for the rounding of its entries, which moves
    the number by less than one row in 50,000 and is left out.
    """
    rows = round(trace * (LENGTH / (LENGTH - dimension)) ** 2)
    part.keep_size(rows, TraceNoise(dimension, float(moved(part) / part.epsilon)))


def _rounder_coordinates(coordinates: Floats, values: Floats, vectors: Floats) -> Floats:
    """L⁻¹·A for LLᵀ with these eigenvalues."""
    matrix = (vectors * values) @ vectors.T
    return np.tril(np.linalg.solve(np.linalg.cholesky((matrix + matrix.T) / 2), coordinates))
