"""A function released with Gaussian-process noise: asked at any points, in one batch or one by one, for one price.

Its noise has a covariance with a factor L, which gets a row for each point. Floats cost some sensitivity.

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

import json
import math
import os
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from uptack import checks, interrupts
from uptack.account import Account, Mechanism
from uptack.errors import InvalidArgument, UptackError
from uptack.exact import Rational
from uptack.interrupts import SILENCE
from uptack.kernels.curves import Curve, grid
from uptack.kernels.kernel import UNIT, Floats, Kernel, kernel_of, points, root_above
from uptack.mechanisms.additive_noise import GridMechanism, calibrated_gaussian
from uptack.noise import Entropy, Grid, IntegerGaussian
from uptack.noise.integer_laws import Integers
from uptack.privacy import SUBSTITUTE, Adjacency
from uptack.privacy.loss import Pure
from uptack.registry import release
from uptack.release import Release

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
        return self._points[: self.size]

    def row(self, i: int) -> Floats:
        """L_i0, ..., L_ii."""
        return np.asarray(self._panels[i // PANEL][i % PANEL, : i + 1])

    def rows(self) -> Floats:
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


AHEAD = 256
"""Coordinates of noise that are drawn at a time."""
Function = Callable[[Floats], Any]


@dataclass(frozen=True)
class NoisyCoordinates(Mechanism[Floats, Floats]):
    """Whitened coordinates of a function with integer Gaussian noise, which is drawn in advance.

    All coordinates of one function together cost what one Gaussian mechanism does: see `release_function`.
    """

    noise: GridMechanism
    ahead: Callable[[int], Integers]

    def draw(self, value: Floats, entropy: Entropy) -> Floats:
        return self.noise.grid.move(value, self.ahead(value.size))

    def price(self, value: Floats, other: Floats, output: Floats) -> float:
        return self.noise.price(value, other, output)


class FunctionRelease:
    """A private function. `at(points)` may be called any number of times; a point always has the same answer.

    All answers together have the law N(f, c²(K + τκI)), in whatever order the points came. To answer new points it
    keeps the curator's function, so it can be neither copied nor pickled: two copies would draw noise for the same
    directions twice. `save` writes a file for readers, or transfers the right to answer to a file.
    """

    def __init__(
        self,
        f: Function | None,
        factor: CovarianceFactor,
        noise: GridMechanism,
        bound: float,
        most_points: int,
        account: Account,
    ) -> None:
        self.most_points, self.lives, self.can_resume = most_points, 1, True
        self.private = account.entropy.private
        self.window: Floats | None = None
        self._f, self._factor, self._noise, self._bound = f, factor, noise, bound
        self._account = account
        self._secret, self._coordinates, self._answers = np.empty(0), np.empty(0), np.empty(0)
        self._places: dict[bytes, int] = {}
        self._ahead: Integers = np.empty(0, np.int64)
        self._lock, self._process = threading.Lock(), os.getpid()

    @property
    def kernel(self) -> Kernel:
        """The covariance of the noise, up to c²."""
        return self._factor.kernel

    @property
    def scale(self) -> float:
        """c: a value at x has noise of standard deviation c·sqrt(K(x, x) + τκ)."""
        return self._noise.standard_deviation

    @property
    def points(self) -> Floats:
        """The points asked so far, in the order of their first asking."""
        with self._lock:
            return self._factor.points.copy()

    @property
    def answers(self) -> Floats:
        """The answers to them."""
        return self._answers.copy()

    @property
    def remaining(self) -> int:
        """How many new points may still be asked."""
        return self.most_points - self._answers.size if self._f is not None else 0

    def at(self, where: ArrayLike) -> Floats:
        """The private function at points of shape (k, d), or a list of numbers in one dimension."""
        x = points("points", where, self.kernel.dimension)
        with self._lock:
            keys = [row.tobytes() for row in x]
            fresh = {key: i for i, key in reversed([*enumerate(keys)]) if key not in self._places}
            if fresh:
                self._ask(x[sorted(fresh.values())])
            return self._answers[[self._places[key] for key in keys]]

    def _ask(self, new: Floats) -> None:
        """Whitened coordinates w̃ of new points, with noise; the answers are L·w̃."""
        if self._f is None:
            fix = "Use predicted(points), or load the curator's file with f."
            raise UptackError(f"this release holds no data and can't answer points that were not asked before. {fix}")
        self._check_process()
        if len(new) > self.remaining:
            fix = "Make the release with a larger most_points, or use predicted(points)."
            raise UptackError(f"{len(new)} new points, but only {self.remaining} of {self.most_points} are left. {fix}")
        values, start = self._values(new), self._answers.size
        try:
            self._factor.extend(new)
            self._secret = self._whiten(self._secret[:start], values)
            noisy = NoisyCoordinates(self._noise.loss, self._noise, self._draw_ahead)
            moved = self._account.draw(noisy, self._secret[start:])
            self._settle(new, np.append(self._coordinates[:start], moved))
        finally:
            self._factor.truncate(self._answers.size)  # an interrupted call leaves no rows behind

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            why = "this is a copy in a forked process, which would draw noise for the same directions again"
            raise UptackError(f"{why}; save it in the process that made it")

    def _draw_ahead(self, size: int) -> Integers:
        """Independent noise, drawn in advance: hundreds of exact draws are as fast as one."""
        if self._ahead.size < size:
            self._ahead = self._account.toss(lambda entropy: self._noise.law.draw(max(size, AHEAD), entropy))
        drawn, self._ahead = self._ahead[:size], self._ahead[size:]
        return drawn

    def _values(self, where: Floats) -> Floats:
        """f at points, clipped to its public bound; NaN is read as 0.

        Warnings of f are silenced, and the text of an error is not shown: both may reveal data.
        """
        f = self._f
        assert f is not None

        def compute() -> Floats | None:
            try:
                with np.errstate(all="ignore"), SILENCE:
                    return np.asarray(f(where.copy()), np.float64).reshape(-1)
            except BaseException:  # f knows the rows
                interrupts.check()
                return None

        values = interrupts.watched(compute)
        if values is None or values.size != len(where):
            got = "an error, or values that are not numbers" if values is None else f"{values.size} for {len(where)}"
            raise InvalidArgument("f", "a function of points (k, d) with k values", got)
        return np.clip(np.nan_to_num(values), -self._bound, self._bound)

    def _whiten(self, known: Floats, values: Floats) -> Floats:
        """The coordinates by forward substitution, from those known on."""
        w = np.append(known, np.empty(values.size))
        for i, value in enumerate(values.tolist(), start=known.size):
            w[i] = self._factor.coordinate(w[:i], value)
        return w

    def _settle(self, new: Floats, coordinates: Floats) -> None:
        rows = range(self._answers.size, self._answers.size + len(new))
        fresh = [float(self._factor.row(i) @ coordinates[: i + 1]) for i in rows]
        places = self._places | {row.tobytes(): i for row, i in zip(new, rows, strict=True)}
        answers = np.append(self._answers, fresh)
        self._coordinates, self._places, self._answers = coordinates, places, answers

    def predicted(self, where: ArrayLike) -> Floats:
        """The best guess at any points from the answers given, K(x, X)(K + τκI)⁻¹·answers: post-processing."""
        x = points("points", where, self.kernel.dimension)
        with self._lock:
            guess: Floats = self._factor.against(x) @ self._coordinates
        return guess

    def band(self, where: ArrayLike, confidence: Rational = 0.95, *, together: bool = False) -> tuple[Floats, Floats]:
        """Where the curator's own values lie, by the law of the noise: each by itself, or all of them together."""
        import scipy

        level = float(checks.inside_unit("confidence", confidence))
        values = self.at(where)
        tail = (1 - level) / (2 * (max(values.size, 1) if together else 1))
        root = math.sqrt(float(self.kernel.largest) * (1 + self._factor.jitter))
        width = -scipy.special.ndtri(tail) * self.scale * root
        return values - width, values + width

    def curve(self, where: ArrayLike, confidence: Rational = 0.95) -> Curve:
        """The values at points with their band, as a plain curve that holds no data."""
        level = float(checks.inside_unit("confidence", confidence))
        x = points("points", where, self.kernel.dimension)
        return Curve(x, self.at(x), *self.band(x, confidence), level)

    def on_grid(self, low: ArrayLike | None = None, high: ArrayLike | None = None, size: int = 200) -> Curve:
        """The curve on even points between public ends, `size` of them to a side.

        Without ends it is the window that the release came with, if it has one (`kde` without a bandwidth).
        """
        count = checks.integer("size", size, least=2)
        if low is None or high is None:
            if self.window is None:
                fix = "They are the public ends of the axis, such as low=0, high=100."
                raise InvalidArgument("low", "given with high", "None", fix)
            return self.curve(grid(self.window, count))
        ends = [np.broadcast_to(checks.numbers(n, v), self.kernel.dimension) for n, v in (("low", low), ("high", high))]
        if not (ends[0] < ends[1]).all():
            raise InvalidArgument("high", "above low", checks.describe(high))
        return self.curve(grid(np.column_stack(ends), count))

    def plot(self, ax: Any = None, low: ArrayLike | None = None, high: ArrayLike | None = None, **style: Any) -> Any:
        """The curve of `on_grid`, which asks its points, with its band; for one column. Returns the axes."""
        return self.on_grid(low, high).plot(ax, **style)

    def curators_own(self, where: ArrayLike) -> Floats:
        """The function itself, without noise. **Not private**: for the eyes of the curator."""
        if self._f is None:
            raise UptackError("this release holds no data any more")
        return self._values(points("points", where, self.kernel.dimension))

    def close(self) -> None:
        """Forget the curator's function: old answers stay, new points are only predicted."""
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        self._f, self._secret, self._ahead = None, np.empty(0), np.empty(0, np.int64)

    # ------------------------------------------------------------------------------------------------- save and load

    def save(self, path: str | Path, *, resumable: bool = False) -> None:
        """Write points, answers and public parameters to a file, never data.

        The plain file is for readers: `load(path)` knows the old points and predicts others. With `resumable` it is
        also the right to answer new points, which exists once: this object gives it up, and `load(path, f)` takes it.
        The whitened values of f are not in the file; they are computed again from f.

        A resumable file is the curator's own: a copy of it is a second right, with which the noise can be averaged
        away, and whoever can write to it can take the noise away altogether.
        """
        with self._lock:
            if not resumable:
                return os.replace(_write_beside(Path(path), self._content(resumable)), path)
            if self._f is None or not self.can_resume:
                why = "a density estimate can't be resumed; evaluate all points first, or"
                why = "this release holds no function and can't answer new points;" if self._f is None else why
                raise UptackError(f"{why} save it without resumable=True")
            self._check_process()
            new = _write_beside(Path(path), self._content(resumable))
            self._forget()  # before the file is there: an interrupt in between leaves one right at most
            os.replace(new, path)

    def _content(self, resumable: bool) -> dict[str, Any]:
        """All that a release is, but for the function: points asked, coordinates released, parameters.

        The factor L goes with it only where the release may be taken up again: new coordinates must go with the very
        factor that the old ones were made with.
        """
        noise, factor = self._noise, self._factor
        meta = {
            "uptack": "function",
            "kernel": self.kernel.to_dict(),
            "jitter": factor.jitter,
            "step": str(noise.grid.step),
            "variance": str(Fraction(noise.law.variance)),  # type: ignore[attr-defined]
            "bound": self._bound,
            "most_points": self.most_points,
            "lives": self.lives,
            "private": self.private,
            "window": None if self.window is None else self.window.tolist(),
        }
        content = {"meta": meta, "points": factor.points, "coordinates": self._coordinates}
        return content | ({"rows": factor.rows()} if resumable else {})

    @staticmethod
    def load(path: str | Path, f: Function | None = None, *, entropy: Entropy | None = None) -> FunctionRelease:
        """A saved release. With f, the same function of the same data, it goes on answering; that works once a file."""
        content = _read(Path(path)) if f is None else _take(Path(path))
        meta, where = content["meta"], content["points"]
        factor = CovarianceFactor(kernel_of(meta["kernel"]), meta["jitter"])
        factor.extend(where, content.get("rows"))
        noise = GridMechanism(Pure(0), IntegerGaussian(meta["variance"]), Grid(meta["step"]))
        account = Account.elsewhere("function", entropy)
        release = FunctionRelease(f, factor, noise, meta["bound"], meta["most_points"], account)
        release.lives = meta["lives"] + (f is not None)
        release.window = None if meta["window"] is None else np.array(meta["window"])
        release.private = meta["private"] and (f is None or account.entropy.private)
        release._settle(where, content["coordinates"])
        if f is not None and factor.size:
            release._secret = release._whiten(np.empty(0), release._values(where))
        return release

    def __reduce__(self) -> NoReturn:
        raise TypeError("a FunctionRelease can't be copied or pickled: use save(path) and FunctionRelease.load(path)")

    def to_dict(self) -> dict[str, Any]:
        """What was released, as plain values for JSON."""
        names = {"kernel": self.kernel.to_dict(), "jitter": self._factor.jitter, "scale": self.scale}
        names["private"] = self.private
        with self._lock:
            return names | {"points": self._factor.points.tolist(), "answers": self._answers.tolist()}

    def __repr__(self) -> str:
        stamp = "" if self.private else ", NOT PRIVATE: seeded randomness"
        return f"FunctionRelease({self._factor.size} points asked, {self.kernel}, scale {self.scale:.3g}{stamp})"


# ---------------------------------------------------------------------------------------------------------------- files


def _write_beside(path: Path, content: dict[str, Any]) -> Path:
    """A new file beside this one with all that it is to hold, ready to take its place at once or not at all."""
    new = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    with new.open("wb") as file:
        np.savez(file, **content | {"meta": np.array(json.dumps(content["meta"]))})
    return new


def _read(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            content = dict(arrays)
        content["meta"] = json.loads(str(content["meta"]))
        if content["meta"]["uptack"] != "function" or not {"points", "coordinates"} <= content.keys():
            raise ValueError
    except FileNotFoundError:
        raise
    except (ValueError, KeyError, OSError) as error:
        raise UptackError(f"{path} is not the file of a released function") from error
    return content


def _take(path: Path) -> dict[str, Any]:
    """Take the right to answer new points out of the file, which stays behind as one for readers.

    Renaming is what only one of two processes can do. It acts on names, so a file with several of them is refused.
    """
    path = path.resolve(strict=True)
    if path.stat().st_nlink != 1:
        raise UptackError(f"{path} has several hard links; keep one, because only one copy may answer new points")
    _check_right(path, _read(path))
    claimed = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    os.rename(path, claimed)
    content = _read(claimed)
    os.replace(_write_beside(path, {name: part for name, part in content.items() if name != "rows"}), path)
    os.remove(claimed)
    _check_right(path, content)  # what was read first may have been taken in between
    return content


def _check_right(path: Path, content: dict[str, Any]) -> None:
    if "rows" not in content or content["meta"]["lives"] >= LIVES:
        why = "can't be resumed, or was resumed already" if "rows" not in content else f"was resumed {LIVES - 1} times"
        raise UptackError(f"{path} {why}: load it without f, or make a new release")


# ---------------------------------------------------------------------------------------------------------- the release


MOST_POINTS = 10_000
ERROR = Fraction(1, 1 << 44)
"""How far a computed value of a user's function may be from the exact one, over norm·sqrt(sup K)."""
_EXTREME = Fraction(10) ** 100


@dataclass(frozen=True)
class ProcessNoise:
    """The noise of a function, as a release knows it."""

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        return value.band(value.points, confidence)  # type: ignore[no-any-return]


@release(data=("f",), people="stated", page="kde")
def release_function(
    f: Function,
    *,
    kernel: Kernel,
    sensitivity: Rational,
    norm: Rational,
    epsilon: Rational,
    delta: Rational,
    error: Rational = ERROR,
    dimension: int | None = None,
    adjacency: Adjacency = SUBSTITUTE,
    most_points: int = MOST_POINTS,
    entropy: Entropy | None = None,
) -> Release[FunctionRelease]:
    """A function of the data, released as a whole: (ε, δ)-differentially private for all questions together.

    **Theorem.** Let f_D lie in the RKHS of the kernel K with ‖f_D‖ ≤ `norm`, ‖f_D - f_D'‖ ≤ Δ = `sensitivity` for
    neighbours, and let computed values be within `error`·norm·sqrt(sup K) of f_D. Then all answers at up to
    `most_points` points, each chosen by anybody in view of the answers before, are (ε, δ)-differentially private.

    *Proof.* What is released are the coordinates w = L⁻¹f(X) with noise; answers L·w̃ are post-processing. A new point
    adds a row to L and a coordinate to w, and changes none before. Whatever the points, the computed coordinates of
    neighbours are within Δ' of each other (Lemmas 1 to 3), in steps of the grid
    within s = Δ'/g + sqrt(most_points). Let s_i be the difference in coordinate i, known from the answers before it,
    with one more coordinate that fills Σs_i² up to s² exactly. With real noise Z_i of variance (m·s)² the log-ratio of
    densities is Σs_i·Z_i/(m·s)² + 1/2m², and Σs_i·Z_i is normal of variance m²s⁴: taking the last coordinate first,
    E exp(iθΣs_i·Z_i + θ²(m·s)²Σs_i²/2) = 1. So the loss has exactly the law of one Gaussian mechanism with
    multiplier m, which is (ε, δ)-private. Integer noise of variance (m·s)² + 9 costs a factor 1 ± 2^-250 a
    coordinate more, by the smoothing lemma of `uptack.mechanisms.gaussian`, which applies given the answers before. ∎

    Hall (Prop. 3.2.2 and 3.2.5) draws each answer given those before, at the same joint law N(f, c²K); the printed
    constant is replaced by the exact one. The jitter τ lets points be close, or equal up to rounding.

    >>> import numpy as np
    >>> from uptack.kernels import GaussianKernel
    >>> from uptack.noise import SeededEntropy
    >>> result = release_function(
    ...     lambda x: np.sin(x[:, 0]), kernel=GaussianKernel(1.0), sensitivity=0.01, norm=3, epsilon=1, delta=1e-6,
    ...     entropy=SeededEntropy(1),
    ... )
    >>> result.value.at([0.0, 1.5])
    array([...])
    >>> bool(result.value.at([1.5])[0] == result.value.at([0.0, 1.5])[1])
    True
    """
    if not callable(f):
        raise InvalidArgument("f", "a function of points (k, d)", checks.describe(f))
    shape: Kernel = checks.instance("kernel", kernel, Kernel, "a kernel of uptack.kernels", "Try GaussianKernel(0.1).")
    if dimension is not None and checks.integer("dimension", dimension, least=1) != shape.dimension:
        fix = "A kernel has its own: GaussianKernel(0.1, dimension=2), or a product of kernels."
        raise InvalidArgument("dimension", f"that of the kernel, {shape.dimension}", dimension, fix)
    bound, largest = checks.positive("sensitivity", sensitivity), checks.positive("norm", norm)
    eps, slip = checks.epsilon(epsilon), checks.nonnegative("error", error)
    dlt = checks.inside_unit("delta", delta, "Gaussian noise needs δ > 0, such as 1e-6.")
    account = Account.open("Gaussian-process noise", eps, dlt, adjacency=adjacency, entropy=entropy)
    most = checks.integer("most_points", most_points, least=1)
    for name, number in (("sensitivity", bound), ("norm", largest), ("kernel.largest", shape.largest)):
        if not 1 / _EXTREME <= number <= _EXTREME:
            raise InvalidArgument(name, "between 1e-100 and 1e100", f"{float(number):.3g}", "Choose other units.")
    return account.release(noisy_function(f, shape, bound, largest, slip, most, account), ProcessNoise())


def noisy_function(
    f: Function,
    kernel: Kernel,
    sensitivity: Fraction,
    norm: Fraction,
    error: Fraction,
    most_points: int,
    account: Account,
) -> FunctionRelease:
    """The function with noise for all that the account has left, by the theorem of `release_function`."""
    jitter, widened = plan(kernel, most_points, sensitivity, norm, error)
    noise = calibrated_gaussian(widened, account.epsilon, account.delta, most_points)
    bound, factor = float(norm * root_above(kernel.largest)), CovarianceFactor(kernel, jitter)
    return FunctionRelease(f, factor, noise, bound, most_points, account.pay(noise.loss))
