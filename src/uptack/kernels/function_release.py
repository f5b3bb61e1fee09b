"""A function released with Gaussian-process noise: asked at any points, in one batch or one by one, for one price."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
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
from uptack.kernels import function_storage
from uptack.kernels.covariance_factor import CoordinateNoise, CovarianceFactor
from uptack.kernels.function_curves import Curve, grid
from uptack.kernels.kernel import Floats, Kernel, points
from uptack.noise import Entropy, Grid, IntegerGaussian
from uptack.noise.integer_laws import Integers
from uptack.privacy.loss import Loss, Pure
from uptack.registry.guard import SILENCE

AHEAD = 256
"""Coordinates of noise that are drawn at a time."""
Function = Callable[[Floats], Any]


@dataclass(frozen=True)
class NoisyCoordinates(Mechanism[Floats, Floats]):
    """Whitened coordinates of a function with integer Gaussian noise, which was drawn some way ahead.

    All coordinates of one function together cost what one Gaussian mechanism does: see `release_function`.
    """

    noise: CoordinateNoise
    ahead: Callable[[int], Integers]

    def draw(self, value: Floats, entropy: Entropy) -> Floats:
        """The coordinates on their grid, moved by noise that does not depend on them."""
        return self.noise.grid.move(value, self.ahead(value.size))

    def price(self, value: Floats, other: Floats, output: Floats) -> float:
        """What the move costs at the δ of the loss."""
        move = self.noise.grid.steps(other) - self.noise.grid.steps(value)
        return self.noise.law.price([int(step) for step in move], Fraction(getattr(self.loss, "delta", 0)))


class FunctionRelease:
    """A private function. `at(points)` answers as often as one likes: asked again, a point has the same answer.

    All answers together have the law N(f, c²(K + τκI)), in whatever order the points came. To answer new points it
    keeps the curator's function, so it can be neither copied nor pickled: two copies would draw noise for the same
    directions twice. `save` writes a file for readers, or hands the right to answer over to a file; see there.
    """

    def __init__(
        self,
        f: Function | None,
        factor: CovarianceFactor,
        noise: CoordinateNoise,
        bound: float,
        most_points: int,
        account: Account,
        price: Loss,
    ) -> None:
        self.most_points, self.lives, self.can_resume = most_points, 1, True
        self.private = account.entropy.private
        self.window: Floats | None = None
        self._f, self._factor, self._noise, self._bound = f, factor, noise, bound
        self._account, self._loss = account, price
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
        return self._noise.scale

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
        asked = points("points", where, self.kernel.dimension)
        with self._lock:
            keys = [row.tobytes() for row in asked]
            fresh = {key: i for i, key in reversed([*enumerate(keys)]) if key not in self._places}
            if fresh:
                self._ask(asked[sorted(fresh.values())])
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
            self._secret = self._whitened(self._secret[:start], values)
            moved = self._account.draw(NoisyCoordinates(self._loss, self._noise, self._drawn), self._secret[start:])
            self._settle(new, np.append(self._coordinates[:start], moved))
        finally:
            self._factor.truncate(self._answers.size)  # an interrupted call leaves no rows behind

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            why = "this is a copy in a forked process, which would draw noise for the same directions again"
            raise UptackError(f"{why}; save it in the process that made it")

    def _drawn(self, size: int) -> Integers:
        """Independent noise, drawn some way ahead: exact draws by the hundred are as fast as one."""
        if self._ahead.size < size:
            self._ahead = self._account.toss(lambda entropy: self._noise.law.draw(max(size, AHEAD), entropy))
        drawn, self._ahead = self._ahead[:size], self._ahead[size:]
        return drawn

    def _values(self, where: Floats) -> Floats:
        """f at points, within its public bound: whatever is not a number is read as one, so no error tells of data.

        Warnings of f are kept back. Of an error of f only that there was one is told: its text may be about data.
        """
        assert self._f is not None
        values = _numbers(self._f, where)
        if values is None or values.size != len(where):
            got = "an error, or what is not numbers" if values is None else f"{values.size} for {len(where)}"
            raise InvalidArgument("f", "a function of points (k, d) with k values", got)
        return np.clip(np.nan_to_num(values), -self._bound, self._bound)

    def _whitened(self, known: Floats, values: Floats) -> Floats:
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
        asked = points("points", where, self.kernel.dimension)
        with self._lock:
            guess: Floats = self._factor.against(asked) @ self._coordinates
        return guess

    def band(self, where: ArrayLike, confidence: Rational = 0.95, *, together: bool = False) -> tuple[Floats, Floats]:
        """Where the curator's own values lie, by the law of the noise: each by itself, or all of them together."""
        import scipy

        level = float(checks.inside_unit("confidence", confidence))
        values = self.at(where)
        tail = (1 - level) / (2 * (max(values.size, 1) if together else 1))
        width = (
            -scipy.special.ndtri(tail) * self.scale * math.sqrt(float(self.kernel.largest) * (1 + self._factor.jitter))
        )
        return values - width, values + width

    def curve(self, where: ArrayLike, confidence: Rational = 0.95) -> Curve:
        """The values at points with their band, as a plain curve that holds no data."""
        level = float(checks.inside_unit("confidence", confidence))
        asked = points("points", where, self.kernel.dimension)
        return Curve(asked, self.at(asked), *self.band(asked, confidence), level)

    def on_grid(self, low: ArrayLike | None = None, high: ArrayLike | None = None, size: int = 200) -> Curve:
        """The curve on even points between public ends, `size` of them to a side.

        Without ends it is the window that the release came with, if it has one (`kde` without a bandwidth).
        """
        count = checks.integer("size", size, least=2)
        if low is None or high is None:
            if self.window is None:
                raise InvalidArgument("low", "given, and high", "None", "They must be public.")
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
        """Forget the curator's function: what was answered stays, new points are only predicted."""
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
                return function_storage.write(Path(path), self._state(resumable))
            if self._f is None:
                raise UptackError("this release holds no function, so it has no right to hand over; save it plain")
            if not self.can_resume:
                raise UptackError(
                    "a density estimate can't be taken up again; ask all its points first, or save it plain"
                )
            self._check_process()
            new = function_storage.prepared(Path(path), self._state(resumable))
            self._forget()  # before the file is there: an interrupt in between leaves one right at most
            os.replace(new, path)

    def _state(self, resumable: bool) -> function_storage.FunctionState:
        noise, factor = self._noise, self._factor
        return function_storage.FunctionState(
            kernel=self.kernel,
            jitter=factor.jitter,
            step=Fraction(noise.grid.step),
            variance=Fraction(noise.law.variance),
            bound=self._bound,
            most_points=self.most_points,
            lives=self.lives,
            points=factor.points,
            coordinates=self._coordinates,
            rows=factor.rows() if resumable else None,
            window=self.window,
            private=self.private,
        )

    @staticmethod
    def load(path: str | Path, f: Function | None = None, *, entropy: Entropy | None = None) -> FunctionRelease:
        """A saved release. With f, the same function of the same data, it goes on answering; that works once a file."""
        state = function_storage.read(Path(path)) if f is None else function_storage.take(Path(path))
        account = Account.elsewhere("function", entropy)
        factor = CovarianceFactor(state.kernel, state.jitter)
        function_storage.refill(factor, state)
        noise = CoordinateNoise(Grid(state.step), IntegerGaussian(state.variance))
        release = FunctionRelease(f, factor, noise, state.bound, state.most_points, account, Pure(0))
        release.lives, release.window = state.lives + (f is not None), state.window
        release.private = state.private and (f is None or account.entropy.private)
        release._settle(state.points, state.coordinates)
        if f is not None and factor.size:
            release._secret = release._whitened(np.empty(0), release._values(state.points))
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


def _numbers(f: Function, where: Floats) -> Floats | None:
    """What f returns, as numbers; None where that can't be."""

    def compute() -> Floats | None:
        try:
            with np.errstate(all="ignore"), SILENCE:
                return np.asarray(f(where.copy()), np.float64).reshape(-1)
        except BaseException:  # f knows the rows
            interrupts.check()
            return None

    return interrupts.watched(compute)
