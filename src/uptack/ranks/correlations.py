"""Kendall's τ and correlations of elliptical data: of two columns, or of all pairs of columns for one ε."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any, Unpack

import numpy as np

from uptack.account import Account, Outcome
from uptack.display import Ends, Record, TabularValue, line
from uptack.display.plots import axes, caption
from uptack.errors import InvalidArgument
from uptack.exact import Rational, bisect, read
from uptack.labels import label
from uptack.mechanisms.additive_noise import NormMechanism, noisy_integer
from uptack.noise import Grid, IntegerLaplace, LInfBall
from uptack.privacy import Privacy, loss
from uptack.progress import track
from uptack.ranks.null_laws import half_width
from uptack.ranks.pair_counts import Floats, concordance, net_counts, square_sum
from uptack.ranks.rank_data import GRID, LARGEST_NOISE, RankOptions, complete_rows, open_account, sampling_note
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.table.memory.table import as_columns, side_by_side
from uptack.table.protocol import Rows
from uptack.table.reads import PAIR, WIDE

HOW = "integer noise on the count of pairs"
SPREAD_SHARE = Fraction(1, 5)
"""The part of ε that the interval's variance gets."""
MOVES = 4
"""How far n·τ moves where a row is replaced."""


@dataclass(frozen=True)
class TauNoise:
    """The error of a noisy τ: sampling with a plug-in variance, noise, and a noisy number of rows.

    `rows` is the number of rows, `scale` that of the Laplace noise on τ, `spread` a noisy mean of t_i², `blur` the
    scale of its noise, and `size` the law of the noise in the number of rows, if that is secret.
    """

    tau: float
    rows: int
    scale: float
    spread: float
    blur: float
    size: IntegerLaplace | None = None
    transform: Callable[[float], float] = float

    def around(self, value: Any, confidence: Rational) -> tuple[float, float]:
        """An interval for the population's τ, or for the function `transform` of it.

        The variance of τ is about 4ζ/n with ζ = mean t_i² - τ², and at most 2(1 - τ²)/n. Noise is allowed for once in ζ
        and exactly in τ. If the number of rows is noisy, a fifth of the error goes into a range of it.
        """
        failing, sizes = 1 - float(read(confidence)), (self.rows, self.rows)
        if self.size is not None:
            off = self.size.cutoff(Fraction(failing / 10)) - 1
            failing, sizes = 0.8 * failing, (max(self.rows - off, 2), self.rows + off)
        near = max(abs(self.tau) - self.scale, 0.0)
        zeta = self.spread + self.blur + 2 * self.scale * abs(self.tau) - self.tau**2
        variance = min(4 * max(zeta, 0.0), 2 * (1 - near**2)) / sizes[0]
        half = half_width(math.sqrt(variance), self.scale * self.rows / sizes[0], 1 - failing)
        ends = [self.tau * self.rows / size + sign * half for size in sizes for sign in (-1, 1)]
        return self.transform(max(min(ends), -1.0)), self.transform(min(max(ends), 1.0))


def tau_error(given: Mapping[str, Any], cost: Privacy, rows: int) -> str:
    """A 95% bound on the noise in τ: Laplace of scale 4g/(nε·4/5)."""
    if not cost.adjacency.size_is_public or rows < 2:
        return ""
    off = math.log(20) * 4 * cost.adjacency.rows_per_person / (rows * 0.8 * cost.epsilon)
    return f"noise within {off:.2g}" if off < 1 else ""


@release(reads=PAIR, people="each", data=("x", "y"), missing="drop", plan=tau_error, page="kendall_tau")
def kendall_tau(x: Any, y: Any, *, epsilon: Rational, **options: Unpack[RankOptions]) -> Release[float] | NoReply:
    """Kendall's rank correlation τ-a: the share of concordant pairs of rows less that of discordant ones. No bounds.

    With S = Σ over pairs i < j of sgn(x_i - x_j)·sgn(y_i - y_j) it is τ = S/(n(n-1)/2). A pair that ties in x or in y
    counts as neither, and stays in the denominator (τ-a): with many ties τ can't come near ±1.

    **Theorem.** The release is ε-differentially private. *If n is public*, a replaced row changes the signs of n - 1
    pairs, by 2 at most: S moves by at most 2(n - 1). Integer Laplace noise on S, of scale 2(n - 1)g/ε₁ for g rows per
    person, is ε₁-private.

    *If the number m of complete rows is secret*, A = 2S/(m - 1) = m·τ gets noise, and so does m. Let a row be added
    whose mean sign with the others is a. Then A moves by 2a - τ, at most 3, and m by 1. If a row is replaced, A moves
    by at most 4 and m does not. So (A, m) moves by at most 4 in ℓ1 either way: the number of rows is free.

    *The variance.* Let s_i = Σ_j sgn·sgn, t_i = s_i/(m - 1) and V = Σt_i². V moves by at most 4. *Proof, a replaced
    row.* Let e_i, e'_i be its signs with the N = n - 1 others, a, b their means, and u = |a + b|. As |s_i| ≤ N before
    and after, s_i² moves by at most 2N|e'_i - e_i| ≤ 2N(2 - |e_i + e'_i|), in all at most 2N²(2 - u); the row's own s²
    moves by N²|a - b|·u ≤ N²(2 - u)u. Together N²(4 - u²) ≤ 4N². *An added row.* t_i becomes t_i + (e_i - t_i)/m,
    so m·(t_i'² - t_i²) = 2t_i(e_i - t_i) + (e_i - t_i)²/m lies between -4 and 1/2 + 1/m, and the new row adds at most
    1. ∎ Fractions are rounded to multiples of 2^-16, which adds one unit to what they can move by.

    A fifth of ε pays for V: `result.interval()` is for the τ of the population that the rows are a sample of, by the
    normal limit of its law, and allows for the noise exactly.

    With `missing="drop"` rows that lack x or y are left out. Numbers are compared as floats of 64 bits.
    O(n log n). The options are listed in `uptack.ranks.rank_data.RankOptions`.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> x = np.arange(1000.0)
    >>> kendall_tau(x, x % 500, epsilon=1, entropy=SeededEntropy(1))
    Release(0.507..., Kendall's τ by integer noise on the count of pairs, ε = 1.0 (substitute), NOT PRIVATE: ...)
    """
    account, missing = open_account("Kendall's τ", epsilon, options)
    rows = complete_rows(side_by_side({"x": x, "y": y}), missing)
    return account.close(noisy_tau(rows, account, missing == "drop"))


@release(reads=PAIR, people="each", data=("x", "y"), missing="drop", plan=tau_error, page="kendall_tau")
def correlation(x: Any, y: Any, *, epsilon: Rational, **options: Unpack[RankOptions]) -> Release[float] | NoReply:
    """The correlation sin(πτ/2) of elliptical data, such as normal or Student's t, from Kendall's τ. No bounds.

    **Theorem.** ε-differentially private: it is a function of `kendall_tau`.

    For elliptical data sin(πτ/2) is the correlation of the population, even if variances are infinite (Lindskog,
    McNeil and Schmock 2003). For other data it is a measure of association of its own, between -1 and 1. Pearson's
    correlation can't be released without bounds: one row can change it completely. `result.interval()` is that of τ,
    transformed in the same way.
    """
    account, missing = open_account("correlation of elliptical data", epsilon, options)
    rows = complete_rows(side_by_side({"x": x, "y": y}), missing)
    return account.close(noisy_tau(rows, account, missing == "drop", transform=from_tau))


def from_tau(tau: float) -> float:
    """sin(πτ/2)."""
    return math.sin(math.pi / 2 * tau)


def noisy_tau(
    rows: Rows, account: Account, dropped: bool, transform: Callable[[float], float] = float
) -> Outcome[float]:
    """τ of the rows, or the function `transform` of it; ⊥ if the noise would drown it."""
    secret = dropped or not account.adjacency.size_is_public
    least = math.ceil(MOVES * account.rows / (account.epsilon * (1 - SPREAD_SHARE) * LARGEST_NOISE)) + 1
    advice = Advice(n=least)
    if account.adjacency.size_is_public and rows.size < least:
        return Outcome.refusal(HOW, advice)
    s = concordance(*rows.in_memory().lines)
    count, n, size = int(s.sum()) // 2, s.size, None
    first, second = account.split(1 - SPREAD_SHARE, SPREAD_SHARE)
    if secret:
        law = IntegerLaplace((MOVES * GRID + 1) * account.rows / first.epsilon)
        size = IntegerLaplace(Fraction(law.scale) / GRID)
        paid = first.pay(loss.Pure(first.epsilon))
        noisy = noisy_integer(_whole(2 * count, max(n - 1, 1)), law, paid)
        m = noisy_integer(n, size, paid)
        first.keep_size(m, size)
        per = Fraction(1, GRID * max(m, 1))
    else:
        law, m, per = IntegerLaplace(Fraction(2 * (n - 1) * account.rows) / first.epsilon), n, Fraction(2, n * (n - 1))
        noisy = noisy_integer(count, law, first)
    if m < max(least, 2):
        return Outcome.refusal(HOW, advice)
    tau, scale = min(max(float(noisy * per), -1.0), 1.0), float(Fraction(law.scale) * per)
    spread = _whole(square_sum(s), max(s.size - 1, 1) ** 2)
    law = IntegerLaplace((MOVES * GRID + 1) * account.rows / second.epsilon)
    noisy = noisy_integer(spread, law, second)
    blur = float(Fraction(law.scale)) / (GRID * m)
    noise = TauNoise(tau, m, scale, noisy / (GRID * m), blur, size, transform)
    return Outcome(transform(tau), HOW, noise, notes=sampling_note(account))


def _whole(numerator: int, denominator: int) -> int:
    """A fraction in units of 1/GRID, rounded."""
    return (2 * numerator * GRID + denominator) // (2 * denominator)


MATRIX_HOW = "ℓ∞ noise on the counts of pairs"
PARTS = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9)
"""Parts of an interval's error that may go to the noise: the one that gives the shortest interval does."""


@dataclass(frozen=True, eq=False)
class CorrelationMatrix(TabularValue):
    """Correlations by the names of their columns: a symmetric matrix `values` with ones on its diagonal."""

    names: tuple[str, ...]
    values: Floats

    def __getitem__(self, pair: tuple[str, str]) -> float:
        one, other = (self.names.index(name) for name in pair)
        return float(self.values[one, other])

    def __repr__(self) -> str:
        return f"CorrelationMatrix({', '.join(map(label, self.names))})"

    def figures(self, ends: Ends = None) -> list[Record]:
        low, high = (None, None) if ends is None else (np.asarray(end) for end in ends)
        return [
            line({"x": self.names[j], "y": self.names[k]}, self.values[j, k],
                 None if low is None else low[j, k], None if high is None else high[j, k])
            for j, k in combinations(range(len(self.names)), 2)
        ]  # fmt: skip

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """A heat map from -1 (blue) to 1 (red). Returns the axes. It needs matplotlib (`uptack[plots]`).

        Further arguments go to matplotlib's `imshow`.
        """
        size = len(self.names)
        ax = axes(ax, figsize=(2 + 0.6 * size, 1.4 + 0.55 * size))
        ax.imshow(self.values, **{"vmin": -1, "vmax": 1, "cmap": "RdBu_r"} | style)
        names = [caption(name) for name in self.names]
        ax.set_xticks(range(size), names, rotation=45, ha="right")
        ax.set_yticks(range(size), names)
        for (i, j), value in np.ndenumerate(self.values):
            ax.text(j, i, f"{value:.2f}", ha="center", va="center", color="white" if abs(value) > 0.6 else "black")
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        return ax


@release(reads=WIDE, people="each", missing="drop", page="correlation_matrix")
def correlation_matrix(
    x: Any, *, epsilon: Rational, **options: Unpack[RankOptions]
) -> Release[CorrelationMatrix] | NoReply:
    """The correlation matrix sin(πτ/2) of the columns of a table, for one ε, for elliptical data. No bounds.

    **Theorem.** The release is ε-differentially private. A replaced row moves each count of pairs S_jk by at most
    2(n - 1), so all of them by at most that in ℓ∞; noise with density proportional to exp(-ε‖z‖∞/2(n - 1)g) is the
    K-norm mechanism (`uptack.mechanisms.k_norm`). If the number m of complete rows is secret, 2S_jk/(m - 1) moves by
    at most 4 (`kendall_tau`) and m by 1, so 4m is one more coordinate. Fractions are rounded to multiples of 2^-16.

    **The cheapest norm.** Let σ be the signs of a row's d columns against another row's. S_jk has σ_j·σ_k for the two.
    If σ becomes σ', and they differ in k columns, k(d - k) of the products change, by 2. (Zeros are means of ±1 with
    the products' means, so ties are within the hull.) So in units of n·τ a replaced row moves p = d(d - 1)/2 numbers
    by up to 4⌊d²/4⌋ in ℓ1, by up to 2d in ℓ2, and by 4 in ℓ∞. The root mean square of the noise on one of them is then
    √2·4⌊d²/4⌋/ε for ℓ1, 2d·√(p + 1)/ε for ℓ2, and 4·√((p + 1)(p + 2)/3)/ε for ℓ∞. For d = 2 the three are equal; for
    more columns the last is the least: 1.15·d²/ε in the limit, where the others come to 1.41·d²/ε.

    A matrix with negative eigenvalues is replaced by a near one without, with ones on its diagonal. Each interval of
    `result.interval()` is for the population, by a bound on the variance of τ, and is for the correlation before that.
    With `missing="drop"` rows that lack a value in any column are left out.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> z = np.random.default_rng(0).normal(size=(5000, 3))
    >>> z[:, 2] += z[:, 0]
    >>> result = correlation_matrix(z, epsilon=1, entropy=SeededEntropy(1)).value
    >>> round(result["0", "2"], 1), result.values.shape
    (0.7, (3, 3))
    """
    account, missing = open_account("correlation matrix", epsilon, options)
    must = "a table of numbers with at least 2 columns"
    columns = as_columns("x", x, must)
    if len(columns) < 2:
        raise InvalidArgument("x", must, f"{len(columns)} of them")
    names = tuple(column.name for column in columns)
    return account.close(_estimate_matrix(complete_rows(columns, missing), names, account, missing == "drop"))


def spread(d: int, secret: bool) -> float:
    """The root mean square of the noise on one n·τ at ε = 1."""
    p = d * (d - 1) // 2 + secret
    return MOVES * math.sqrt((p + 1) * (p + 2) / 3)


def _estimate_matrix(rows: Rows, names: tuple[str, ...], account: Account, dropped: bool) -> Outcome[CorrelationMatrix]:
    d, secret = len(names), dropped or not account.adjacency.size_is_public
    least = math.ceil(spread(d, secret) * account.rows / (account.epsilon * LARGEST_NOISE)) + 1
    advice = Advice(n=least, other="fewer columns")
    if account.adjacency.size_is_public and rows.size < least:
        return Outcome.refusal(MATRIX_HOW, advice)
    lines = rows.in_memory().lines
    n, p = lines.shape[1], d * (d - 1) // 2
    counts = list(track(net_counts(lines.T), "pairs", total=p, inner=True))
    unit = MOVES * GRID + 1  # what a rounded A, and unit·m, move by
    if secret:
        counts = [(4 * count * GRID + max(n - 1, 1)) // (2 * max(n - 1, 1)) for count in counts] + [unit * n]
    moves = (unit if secret else 2 * (n - 1)) * account.rows
    body, noise_scale = LInfBall(len(counts)), Fraction(moves) / account.epsilon
    grid = Grid.finer_than(noise_scale)
    noisy_counts = NormMechanism(loss.Pure(account.epsilon), body, noise_scale, grid)
    noisy = grid.points(account.draw(noisy_counts, [Fraction(count) for count in counts]))
    m = max(round(float(noisy[-1]) / unit), 2) if secret else n
    if m < least:
        return Outcome.refusal(MATRIX_HOW, advice)
    per = 1 / (GRID * m) if secret else 2 / (n * (n - 1))
    taus = np.clip(noisy[:p] * per, -1, 1)
    scale = float(Fraction(moves) / account.epsilon)
    off = scale / unit if secret else 0.0
    noise = CorrelationNoise(d, tuple(taus.tolist()), m, scale * per, len(counts), off)
    if secret:
        account.keep_size(m, RowsNoise(len(counts), off))
    value = CorrelationMatrix(names, nearest(square(d, taus, from_tau)))
    return Outcome(value, MATRIX_HOW, noise, notes=sampling_note(account))


def square(d: int, upper: Any, transform: Callable[[float], float]) -> Floats:
    """The symmetric matrix with these numbers above its diagonal, and ones on it."""
    out = np.eye(d)
    for (j, k), value in zip(combinations(range(d), 2), upper, strict=True):
        out[j, k] = out[k, j] = transform(float(value))
    return out


def nearest(matrix: Floats) -> Floats:
    """A correlation matrix near this one: without its negative eigenvalues, and with ones on the diagonal again."""
    values, vectors = np.linalg.eigh(matrix)
    if values[0] >= 0:
        return matrix
    semidefinite = (vectors * np.maximum(values, 0)) @ vectors.T
    lengths = np.sqrt(np.diag(semidefinite))
    semidefinite = np.clip(semidefinite / np.outer(lengths, lengths), -1, 1)
    np.fill_diagonal(semidefinite, 1.0)
    even: Floats = (semidefinite + semidefinite.T) / 2
    return even


@dataclass(frozen=True)
class CorrelationNoise:
    """The error of a matrix of τ: each has noise r·U, r ~ Gamma(p + 1), U uniform on [-1, 1]."""

    d: int
    taus: tuple[float, ...]
    rows: int
    scale: float
    coordinates: int
    off: float

    def around(self, value: Any, confidence: Rational) -> tuple[Floats, Floats]:
        """For each pair of columns an interval for the population's sin(πτ/2)."""
        import scipy

        failing, m = 1 - float(read(confidence)), self.rows
        room = self.off * quantile(self.coordinates, failing / 5) if self.off else 0.0
        failing *= 0.8 if self.off else 1.0
        low, high = np.array(self.taus), np.array(self.taus)
        for i, tau in enumerate(self.taus):
            sd = math.sqrt(2 * (1 - max(abs(tau) - self.scale, 0.0) ** 2) / max(m - room, 2))
            half = min(
                self.scale * quantile(self.coordinates, part * failing)
                + sd * float(-scipy.special.ndtri((1 - part) * failing / 2))
                for part in PARTS
            )
            half += abs(tau) * room / max(m - room, 1)
            low[i], high[i] = max(tau - half, -1.0), min(tau + half, 1.0)
        return square(self.d, low, from_tau), square(self.d, high, from_tau)


@dataclass(frozen=True)
class RowsNoise:
    """The law of the noise in the number of rows, which is one of the coordinates: scale·r·U, rounded."""

    coordinates: int
    scale: float

    def cutoff(self, failure: Rational) -> int:
        """An integer t with P(z ≥ t) ≤ failure, from P(|r·U| > h) ≤ 2·failure and half a row for the rounding."""
        return math.ceil(self.scale * quantile(self.coordinates, 2 * float(read(failure))) + 0.5) + 1


@lru_cache(maxsize=256)  # all pairs of columns ask for the same
def quantile(p: int, outside: float) -> float:
    """The least h with P(|r·U| > h) = Q(p + 1, h) - h/p·Q(p, h) ≤ outside."""
    import scipy

    def rare(h: float) -> bool:
        beyond = float(scipy.special.gammaincc(p + 1, h)) - h / p * float(scipy.special.gammaincc(p, h))
        return beyond <= outside

    return bisect(rare, 0.0, 60.0 + 4 * p - 4 * math.log(outside), halvings=80)[1]
