"""The factor L of the noise covariance, one row for each point, and what floats cost in sensitivity.

**Lemma 1 (the factor).** Let K be the kernel matrix of k public points, κ = sup K(x, x), u the unit roundoff, ρκ the
error of a computed entry of K, γ = 2(k + 4)u/(1 - 2(k + 4)u) and 2k(2γ + ρ + 2u) ≤ τ ≤ 1/2. Then Cholesky's method on
the computed K + τκI comes to its end, and its computed factor L has L·Lᵀ ⪰ K + (τ/2)κI and ‖L‖_F² ≤ 2kκ.

*Proof.* L·Lᵀ is the computed matrix plus E with |E| ≤ γ|L||L|ᵀ, in whatever order and blocks the sums are taken
(Higham, Accuracy and Stability of Numerical Algorithms, Theorem 10.3; the 2 in γ is room for reciprocals in place of
divisions). So ‖E‖ ≤ γ‖L‖_F², where ‖L‖_F² = tr(L·Lᵀ) ≤ k(1 + τ + ρ + 2u)κ + γ‖L‖_F² gives ‖L‖_F² ≤ 2kκ, and the
computed matrix differs from K + τκI by at most k(ρ + 2u)κ. Together at most k(2γ + ρ + 2u)κ ≤ (τ/2)κ in norm. It comes
to its end as the least eigenvalue is above kγ/(1 - γ) times the largest diagonal entry (Theorem 10.7). ∎

**Lemma 2 (the coordinates).** Let w solve L·w = f(X) and let ŵ be computed by rows from values f̂ with |f̂ - f| ≤ e, as
ŵ_i = (f̂_i - Σ_j L_ij·ŵ_j)/L_ii with the sum rounded once (`math.fsum`). Then with a = 3u·sqrt(2k)·sqrt(2/τ) < 1
and ‖f‖ ≤ B in the space of the kernel, ‖ŵ - w‖ ≤ (a·B + sqrt(k)·e·sqrt(2/τκ))/(1 - a).

*Proof.* Each product errs by a factor within 1 ± u, the sum and the quotient by two more: (L + E)ŵ = f̂ with
|E| ≤ 3u|L|. So ŵ - w = L⁻¹(f̂ - f - Eŵ), where ‖L⁻¹‖ ≤ sqrt(2/τκ), ‖E‖ ≤ 3u·‖L‖_F, and ‖ŵ‖ ≤ ‖w‖ + ‖ŵ - w‖ with
‖w‖ ≤ B by Lemma 3. ∎

**Lemma 3 (sensitivity).** For f and f' with ‖f - f'‖ ≤ Δ the coordinates w, w' have ‖w - w'‖ ≤ Δ.

*Proof.* With g = f - f' and Lemma 1: ‖w - w'‖² = g(X)ᵀ(L·Lᵀ)⁻¹g(X) ≤ g(X)ᵀ(K + (τ/2)κI)⁻¹g(X) ≤ g(X)ᵀK⁺g(X), which is
the squared norm of the projection of g to the span of the K(x_i, ·) (Hall, Prop. 3.2.3). ∎
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from uptack.errors import InvalidArgument
from uptack.kernels.kernel import UNIT, Floats, Kernel, root_above

PANEL = 256
"""Rows that are kept in one piece of memory: large enough for fast products, small enough to waste little."""
LIVES = 16
"""How many lives a release may have, by being saved and taken up again: each has rounding errors of its own."""
AIM = Fraction(1, 100)
"""The share of the sensitivity that rounding may take, where a small jitter allows for it."""


def plan(
    kernel: Kernel, most_points: int, sensitivity: Fraction, norm: Fraction, error: Fraction
) -> tuple[float, Fraction]:
    """The jitter τ, and Δ widened by 2·sqrt(LIVES) times the bound of Lemma 2, for |f̂ - f| ≤ error·norm·sqrt(κ).

    The widening is C·Δ/sqrt(τ). Take the least τ of Lemma 1 if that keeps it within AIM, else the τ that does, but no
    more than C^(2/3), where the loss by widening and the loss by jitter balance.
    """
    k, room = most_points, 2 * (most_points + 4) * UNIT
    least = 2 * k * (2 * room / (1 - room) + kernel.rounding + 2 * UNIT)
    per_root = 2 * root_above(Fraction(LIVES)) * root_above(Fraction(2 * k)) * (6 * UNIT + error) * norm / sensitivity
    c = float(per_root)
    mantissa, exponent = math.frexp(max(float(least), min((c / float(AIM)) ** 2, c ** (2 / 3))))
    jitter = math.ldexp(1.0, exponent - (mantissa == 0.5))  # the least power of two from there on
    a = 3 * UNIT * root_above(Fraction(2 * k)) * root_above(2 / Fraction(jitter))
    if jitter > 0.5 or a > Fraction(1, 2):
        fix = "Ask for fewer points, or for a function with a larger sensitivity in relation to its norm."
        raise InvalidArgument("most_points", "few enough for floating-point accuracy", most_points, fix)
    widening = per_root * root_above(1 / Fraction(jitter)) / (1 - a)
    return jitter, sensitivity * (1 + widening)


class CovarianceFactor:
    """L with L·Lᵀ = K(X, X) + τκI up to rounding, extended row by row as points arrive and never rebuilt."""

    def __init__(self, kernel: Kernel, jitter: float) -> None:
        self.kernel, self.jitter = kernel, jitter
        self.size = 0
        self._points = np.empty((0, kernel.dimension))
        self._panels: list[Floats] = []
        self._corners: list[Floats] = []  # the last square of each panel, as BLAS wants it

    @property
    def points(self) -> Floats:
        """X, in the order of the rows."""
        return self._points[: self.size]

    def row(self, i: int) -> Floats:
        """L_i0, ..., L_ii."""
        return np.asarray(self._panels[i // PANEL][i % PANEL, : i + 1])

    def rows(self) -> Floats:
        """All of L."""
        whole = np.zeros((self.size, self.size))
        for panel, start, end in self._pieces():
            whole[start:end, :end] = panel[: end - start, :end]
        return whole

    def _pieces(self) -> Iterator[tuple[Floats, int, int]]:
        for i, panel in enumerate(self._panels):
            yield panel, PANEL * i, min(PANEL * (i + 1), self.size)

    def against(self, new: Floats) -> Floats:
        """V with V·Lᵀ = K(new, X), by forward substitution: a row for each new point."""
        import scipy

        cross = self.kernel.matrix(new, self.points)
        for (panel, start, end), corner in zip(self._pieces(), self._corners, strict=True):
            width = end - start
            rest = cross[:, start:end] - cross[:, :start] @ panel[:width, :start].T
            cross[:, start:end] = scipy.linalg.blas.dtrsm(1.0, corner[:width, :width], rest.T, lower=True).T
        return cross

    def extend(self, new: Floats, known: Floats | None = None) -> None:
        """Rows for new points: [L 0; V M] with M·Mᵀ = K(new, new) + τκI - V·Vᵀ. Of an empty factor, all known rows."""
        for start in range(0, len(new), PANEL):
            part = new[start : start + PANEL]
            if known is not None:
                self._append(part, known[start : start + PANEL, : start + len(part)])
                continue
            room = PANEL - self.size % PANEL
            for piece in (part[:room], part[room:]):
                if len(piece):
                    gram = self.kernel.matrix(piece, piece)
                    gram[np.diag_indices_from(gram)] += self.jitter * float(self.kernel.largest)
                    cross = self.against(piece)
                    self._append(piece, np.hstack([cross, np.linalg.cholesky(gram - cross @ cross.T)]))

    def truncate(self, size: int) -> None:
        """Forget the rows from this one on."""
        self.size = size
        del self._panels[-(-size // PANEL) :], self._corners[-(-size // PANEL) :]

    def _append(self, new: Floats, rows: Floats) -> None:
        """Keep rows that lie within one panel."""
        start, end = self.size, self.size + len(new)
        if start % PANEL == 0:
            self._panels.append(np.zeros((PANEL, start + PANEL)))
            self._corners.append(np.zeros((PANEL, PANEL), order="F"))
        place = slice(start % PANEL, start % PANEL + len(new))
        self._panels[-1][place, :end] = rows
        self._corners[-1][place] = self._panels[-1][place, -PANEL:]
        if end > len(self._points):
            self._points = np.vstack([self._points, np.empty((max(end, PANEL), self.kernel.dimension))])
        self._points[start:end] = new
        self.size = end

    def coordinate(self, w: Floats, value: float) -> float:
        """The next ŵ_i = (f̂_i - Σ_j L_ij·ŵ_j)/L_ii, the sum rounded once."""
        row = self.row(w.size)
        return math.fsum([value, *(-row[:-1] * w).tolist()]) / float(row[-1])
