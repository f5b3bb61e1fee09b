"""Tight composition of many losses, and how large each part of a plan may be that pays for all its parts together.

Losses are composed as privacy loss distributions on a grid, or by zCDP. Tails are as exact as the middle.

A *loss distribution* has the probability p(x) of each loss x, a multiple of a step, and the rest of 1 at x = ∞. It
stands for two laws P and P' with P(y)/P'(y) = e^x, where y is of P. Independent losses add up, and at a given ε

    δ(ε) = p(∞) + Σ_{x > ε} p(x)·(1 - e^(ε - x)).

**Tilting.** δ is small, and an error of a Fourier transform is as large in the tail as in the middle. So p(x) is
transformed as q(x) = p(x)·e^(sx - K(s)), where K(s) = ln Σ p(x)·e^(sx). The tilted laws of independent losses are those
of their sum. With the s that is best for a bound of δ by K, the middle of q is near ε: an error of u in q is one of
about u·δ in δ.

**Theorem.** What `least_epsilon` returns is at least the least ε with δ(ε) ≤ δ, but for rounding in floats. *Proof.*
The transform is of a circle of m steps: to q(x) it adds q(x + km) for all k ≠ 0, which is not negative. So each p(x) of
the window is at least what it should be, and so is their sum in δ(ε). Losses above the window are counted as infinite,
with Chernoff's bound on their probability. Losses below it are below the ε that is returned, and are not counted. ∎
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache, cached_property, lru_cache, reduce
from operator import mul
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational, bisect, read
from uptack.privacy import loss
from uptack.privacy.calibration import boundary, gaussian_epsilon, largest
from uptack.privacy.cost import basic_total, cost, over, zcdp, zcdp_total
from uptack.privacy.guarantee import SUBSTITUTE, Adjacency, Privacy

Floats = NDArray[np.float64]
Spectrum = NDArray[np.complex128]

STEP = 1e-4
"""Losses are multiples of it."""

LOST = 1e-12
"""The largest part of δ for losses above the window, and of the tilted law for losses below it."""

ROUNDED = 1e-10
"""The part of δ that covers rounding in floats: a transform of a million steps has errors of about 1e-15."""

LARGEST_LOG = 600.0
"""Far below the middle of the window a probability is only rounding error, and is not used. It must be finite."""

STEEPEST = 1e6
"""The largest tilt that is tried. Any tilt gives a valid answer."""

LONGEST = 1 << 24
"""Steps that a window may have."""

FURTHEST = 14.0
"""Standard deviations beyond which a Gaussian loss counts as infinite: that has a probability of 8e-45."""


@dataclass(frozen=True, eq=False)
class Losses:
    """Probabilities of the losses `top`, `top - apart`, `top - 2·apart`, ... in steps, and of an infinite one."""

    top: int
    masses: Floats
    infinite: float = 0.0
    apart: int = 1

    @cached_property
    def places(self) -> Floats:
        return self.top - self.apart * np.arange(float(self.masses.size))

    @cached_property
    def _logs(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self.masses)

    def cumulant(self, tilt: float) -> tuple[float, float]:
        """K(s), and its derivative, the mean loss of the tilted law."""
        tilted, whole = self._tilt(tilt)
        return whole, STEP * float((tilted * self.places).sum())  # `@` would start threads

    def _tilt(self, tilt: float) -> tuple[Floats, float]:
        """The tilted probabilities, and K(s)."""
        logs = self._logs + (tilt * STEP) * self.places
        highest = float(logs.max())
        weights = np.exp(logs - highest)
        total = float(weights.sum())
        return weights / total, highest + math.log(total)

    def spectrum(self, tilt: float, size: int) -> Spectrum:
        """The transform of the tilted law on a circle of `size` steps."""
        around = np.bincount(self.places.astype(np.int64) % size, self._tilt(tilt)[0], minlength=size)
        return np.fft.rfft(around)


Many = Sequence[tuple[Losses, int]]
"""Independent losses, each with its number of repetitions."""


def bounded_range(steps: int, step: float = STEP) -> Losses:
    """The losses of a bounded range of this many steps.

    **Theorem.** Bounded range ε is (x, δ(x))-private with δ(x) = (1 - e^((x-ε)/2))²/(1 - e^-ε) for all -ε ≤ x ≤ ε.
    *Proof.* Let the log-ratio lie in [t - ε, t]. δ is the mean of the convex function (r - e^x)₊ of the ratio r under
    P', where r has the mean 1. So it is largest for two values of r, the ends of the interval, where it comes to
    (1 - e^(t-ε))·(1 - e^(x-t))/(1 - e^-ε); and t = (ε + x)/2 makes that largest. A mixture has at most the mean. ∎

    So the two laws with this δ(x) dominate the mechanism, in compositions too (Zhu, Dong and Wang 2022). Between
    multiples of a step d, "connecting the dots" (Doroshenko et al. 2022) rounds δ up, which leaves at the loss x the
    mass 2·tanh(d/4)·e^((x-ε)/2)/(1 - e^-ε), and half of that at both ends.
    """
    below = np.arange(2 * steps + 1)
    masses = 2 * math.tanh(step / 4) * np.exp(-below * (step / 2)) / -math.expm1(-steps * step)
    masses[[0, -1]] /= 2
    return Losses(steps, masses)


def worst_case(epsilon: Fraction, delta: float) -> Losses:
    """The losses of whatever is (ε, δ)-private: ±ε and ∞ (Kairouz, Oh and Viswanath 2015), rounded up to steps."""
    steps = epsilon / read(STEP)
    top, bottom, size = math.ceil(steps), -math.floor(steps), float(epsilon)
    if top == bottom:
        return Losses(0, np.array([1 - delta]), delta)
    ends = np.array([1 / (1 + math.exp(-size)), 1 / (1 + math.exp(size))])
    return Losses(top, ends * (1 - delta), delta, apart=top - bottom)


def gaussian(square: float) -> Losses:
    """The losses of Gaussian noises with Σ1/σ² = `square`, σ the noise multipliers, rounded up to steps.

    **Theorem** (Dong, Roth and Su 2022). Together they are one Gaussian mechanism, which has the log-ratio
    N(μ²/2, μ²) for μ² = Σ1/σ², also where one depends on the answers before. So all of them are rounded only once.
    """
    from scipy.special import ndtr

    mean, root = square / 2, math.sqrt(square)
    top, bottom = math.ceil((mean + FURTHEST * root) / STEP), math.floor((mean - FURTHEST * root) / STEP)
    places = (STEP * np.arange(bottom, top + 1.0) - mean) / root
    below, above = ndtr(places), ndtr(-places)  # the smaller one of both is exact
    masses = np.where(places[1:] > 0, above[:-1] - above[1:], below[1:] - below[:-1])
    return Losses(top, np.append(masses[::-1], below[0]), float(above[-1]))


def least_epsilon(parts: Many, delta: float) -> float | None:
    """About the least ε at which independent losses are together within δ, rounded up; None where no ε will do."""
    left = delta + math.expm1(sum(times * math.log1p(-part.infinite) for part, times in parts))
    if left * LOST <= 0:  # also where that is below all floats
        return None
    tilt, _ = _best(parts, left)
    bottom, top = _window(parts, tilt, left)
    size = 1 << (top - bottom).bit_length()
    if size > LONGEST:
        return None
    around = reduce(mul, (_power(part.spectrum(tilt, size), times) for part, times in parts))
    tilted = np.roll(np.maximum(np.fft.irfft(around, size), 0.0), -bottom % size)[: top - bottom + 1]
    losses = STEP * np.arange(bottom, top + 1.0)
    masses = tilted * np.exp(np.minimum(_cumulant(parts, tilt)[0] - tilt * losses, LARGEST_LOG))
    return _epsilon_at(losses, masses, left * (1 - LOST - ROUNDED))


def _cumulant(parts: Many, tilt: float) -> tuple[float, float]:
    cumulants = [(part.cumulant(tilt), times) for part, times in parts]
    return sum(times * k for (k, _), times in cumulants), sum(times * mean for (_, mean), times in cumulants)


def _best(parts: Many, chance: float) -> tuple[float, float]:
    """A tilt s for this δ, and a loss that is exceeded with a chance of at most δ.

    (1 - e^-y)₊ ≤ c·e^(sy) with c = s^s/(1 + s)^(1 + s), so δ(ε) ≤ c·e^(K(s) - sε) (Canonne, Kamath and Steinke 2020).
    The s for which the ε of this bound is least has s·K'(s) - K(s) + ln(1 + s) = -ln δ; the left side grows with s.
    """
    needed, low, high = -math.log(chance), 0.0, 1.0

    def past(tilt: float) -> bool:
        whole, mean = _cumulant(parts, tilt)
        return tilt * mean - whole + math.log1p(tilt) > needed

    while high < STEEPEST and not past(high):
        low, high = high, 2 * high
    _, high = bisect(past, low, high, halvings=12)
    return high, (_cumulant(parts, high)[0] + needed) / high


def _window(parts: Many, tilt: float, delta: float) -> tuple[int, int]:
    """The losses in steps between which nearly all of the tilted law is, and below which all but a small part of δ is.

    Below a place b it has a chance of at most e^(K(s - r) - K(s) + rb), for any r > 0: Chernoff's bound.
    """
    most = sum(times * part.top for part, times in parts)
    top = min(math.ceil(_best(parts, delta * LOST)[1] / STEP), most)
    whole = _cumulant(parts, tilt)[0]
    far = (whole - _cumulant(parts, tilt / 2)[0] + math.log(LOST)) * 2 / tilt
    return max(min(math.floor(far / STEP), -1 if top < 1 else top - 1), -most), top


def _power(values: Spectrum, times: int) -> Spectrum:
    """The power by squaring: more exact for complex numbers than one by logarithms."""
    product = None
    while times:
        if times & 1:
            product = values if product is None else product * values
        values, times = (values * values, times >> 1) if times > 1 else (values, 0)
    assert product is not None
    return product


def _epsilon_at(losses: Floats, masses: Floats, delta: float) -> float:
    """The least ε ≥ 0 at which Σ_{x > ε} p(x)·(1 - e^(ε - x)) ≤ δ, by sums from above."""
    above, weighted = (np.cumsum(values[::-1])[::-1] for values in (masses, masses * np.exp(-losses)))
    excess = above - np.exp(losses) * weighted - delta
    (over,) = np.nonzero(excess > 0)  # δ(x) at each loss x; it falls with x
    first = min(int(over[-1]) + 1, losses.size - 1) if over.size else 0  # rounding may leave some δ at the last loss
    within = float(losses[first])
    if first == 0 or above[first] <= delta:
        return max(within, 0.0)
    return max(min(math.log((above[first] - delta) / weighted[first]), within), 0.0)


LARGEST_COMPOSED = 500
"""For a larger sum of ε, floats can't hold the distributions, and tight composition gains nothing."""

LARGEST_RANGE = 20
"""A longer bounded range is composed as a pure loss, which it also is."""

MOST_DIFFERENT = 32
"""The most different losses that are composed numerically, with one transform each. Beyond it, losses are grouped."""

MARGIN = Fraction(1, 1 << 30)
"""Added to the numerical result, which is rounded up, but in floats."""


def _pieces(tree: loss.Loss) -> Iterator[loss.Loss]:
    """The parts of a tree that compose one after the other, each with a guarantee of its own."""
    if isinstance(tree, loss.Composed):
        for part in tree.parts:
            yield from _pieces(part)
    else:
        yield tree


def _losses(piece: loss.Loss, adjacency: Adjacency) -> Losses:
    """The loss distribution of one piece: that of its kind, or else the worst case of its (ε, δ)."""
    if isinstance(piece, loss.BoundedRange) and 0 < Fraction(piece.epsilon) <= LARGEST_RANGE:
        return bounded_range(math.ceil(Fraction(piece.epsilon) / read(STEP)))
    guarantee = cost(piece, adjacency)
    return worst_case(guarantee.exact_epsilon, guarantee.delta)


@lru_cache(64)
def _numerically(pieces: frozenset[tuple[loss.Loss, int]], bound: Fraction, adjacency: Adjacency) -> Privacy | None:
    """The guarantee at this δ by composing distributions; None where no ε will do. A plan is priced several times."""
    fixed = sorted(pieces, key=lambda item: (*_place(item[0], adjacency), item[1]))
    normal = [times / Fraction(one.noise_multiplier) ** 2 for one, times in fixed if isinstance(one, loss.Gaussian)]
    parts = [(_losses(one, adjacency), times) for one, times in fixed if not isinstance(one, loss.Gaussian)]
    parts += [(gaussian(float(sum(normal)) * (1 + 1e-12)), 1)] if normal else []
    epsilon = least_epsilon(parts, float(bound) * (1 - 1e-12))
    return None if epsilon is None else Privacy(read(epsilon) + MARGIN, bound, adjacency)


def _place(piece: loss.Loss, adjacency: Adjacency) -> tuple[str, Fraction, Fraction, Fraction]:
    """By which pieces are put in order, so that a set of them has one price to the last bit."""
    guarantee, noise = cost(piece, adjacency), Fraction(getattr(piece, "noise_multiplier", 0))
    return type(piece).__name__, guarantee.exact_epsilon, guarantee.exact_delta, noise


def _alike(pieces: Counter[loss.Loss]) -> Counter[loss.Loss]:
    """The pieces, grouped into fewer different ones if there are many. The result is an upper bound.

    **Theorem.** A loss that is ε-private, (ε, δ)-private, or of a range of length ε, is so for every larger ε. So each
    piece may be replaced by one of its kind with a larger ε, and what covers those covers these. Pieces of one kind,
    with one δ, are put in the order of ε and cut into runs. The largest ε of a run stands for all of it.
    """
    if len(pieces) <= MOST_DIFFERENT:
        return pieces
    kinds: dict[tuple[type, Fraction], list[loss.Loss]] = {}
    grouped: Counter[loss.Loss] = Counter()
    for piece in pieces:
        if isinstance(piece, loss.Pure | loss.BoundedRange | loss.Approximate):
            kinds.setdefault((type(piece), Fraction(getattr(piece, "delta", 0))), []).append(piece)
        else:
            grouped[piece] += pieces[piece]
    run = math.ceil(len(pieces) / max((MOST_DIFFERENT - len(grouped) - len(kinds)), 1))
    for same in kinds.values():
        same.sort(key=lambda piece: Fraction(piece.epsilon), reverse=True)  # type: ignore[attr-defined]
        for start in range(0, len(same), run):
            grouped[same[start]] += sum(pieces[piece] for piece in same[start : start + run])
    return grouped


def tight(trees: Iterable[loss.Loss], delta: Rational, adjacency: Adjacency = SUBSTITUTE) -> Privacy:
    """An ε that covers all the trees together at the given δ. It is never above basic composition, where that holds.

    Three ways, each a theorem about losses that are fixed beforehand, and the best of them is returned:

    - the plain sum, where its δ is at most the given one;
    - numerical composition of privacy loss distributions (Koskela et al. 2020, Doroshenko et al. 2022);
    - zCDP (`uptack.privacy.zcdp`), which is better for many draws of bounded range.

    >>> from uptack.privacy.loss import Pure
    >>> tight([Pure(0.1)] * 100, 1e-6).epsilon < 6
    True
    """
    bound = checks.delta("delta", delta)
    whole = list(trees)
    pieces = Counter(piece for tree in whole for piece in _pieces(tree))
    every, basic = list(pieces.elements()), basic_total(whole, adjacency)
    if not pieces or bound == 0:
        return basic
    ways = [basic if basic.exact_delta <= bound else None, zcdp_total(every, bound, adjacency)]
    alike = _alike(pieces)
    if basic.exact_epsilon <= LARGEST_COMPOSED and len(alike) <= MOST_DIFFERENT:
        ways.append(_numerically(frozenset(alike.items()), bound, adjacency))
    known = [way for way in ways if way is not None]
    if not known:
        fix = f"Basic composition of these losses has δ = {basic.delta}."
        raise InvalidArgument("delta", "large enough for some ε to cover the losses", checks.describe(delta), fix)
    return min(known, key=lambda way: way.exact_epsilon)


# ---------------------------------------------------------------------------------------------------------------- plans


Tree = TypeVar("Tree", bound=loss.Loss)

HALVINGS = 10
"""Bits of the search by `tight`: its answer is within a 2^-10 part of the best that it would admit."""

SLACK = Fraction(1, 1 << 20)
"""What that search leaves of ε, so that the same plan is within the budget on another machine too."""

SMALLEST = Fraction(1, 1 << 40)


def fair_shares(draws: Sequence[Tree], budget: Privacy) -> tuple[Tree, ...]:
    """The draws at the largest common scale at which all of them together are within the budget.

    Each draw is given as a loss node at its relative size: `BoundedRange(2)` gets twice the ε of `BoundedRange(1)`.
    For draws that are fixed before the first of them runs; what they are charged is `tight(shares, budget.delta)`.

    >>> shares = fair_shares([loss.BoundedRange(1)] * 15, Privacy(2, 1e-6))
    >>> round(float(shares[0].epsilon), 3)
    0.217
    """
    parts = tuple(draws)
    scale = fair_scale(lambda s: [scale_losses(part, s) for part in parts], budget)
    return tuple(scale_losses(part, scale) for part in parts)


def scale_losses(tree: Tree, scale: Fraction) -> Tree:
    """The tree with every ε multiplied by the scale, and Gaussian noise divided by it; δ's stay.

    >>> scale_losses(loss.Composed((loss.Pure(1), loss.BoundedRange(2))), Fraction(1, 4))
    Composed(parts=(Pure(epsilon=Fraction(1, 4)), BoundedRange(epsilon=Fraction(1, 2))))
    """
    if isinstance(tree, loss.Gaussian):
        multiplier = Fraction(tree.noise_multiplier) / scale
        epsilon = gaussian_epsilon(multiplier, tree.delta)
        return replace(tree, epsilon=epsilon, noise_multiplier=multiplier)

    def scaled(name: str, value: Any) -> Any:
        if isinstance(value, loss.Loss):
            return scale_losses(value, scale)
        if isinstance(value, tuple):
            return tuple(scale_losses(part, scale) for part in value)
        return value * {"epsilon": scale, "rho": scale**2}[name] if name in ("epsilon", "rho") else value

    changed: dict[str, Any] = {f.name: scaled(f.name, getattr(tree, f.name)) for f in fields(tree)}  # type: ignore[arg-type]
    return replace(tree, **changed)  # type: ignore[type-var]


def fair_scale(build: Callable[[Fraction], Sequence[loss.Loss]], budget: Privacy) -> Fraction:
    """The largest s found for which the trees `build(s)` together are within the budget, as a fixed plan.

    `build` must cost more for a larger s. First the best of the plain sum and zCDP, both exact, to a 2^-40 part. Then
    larger ones are tried with `tight`. Whichever s is returned, `tight(build(s), budget.delta)` is within the budget.
    """
    budget = checks.instance("budget", budget, Privacy, "a Privacy")
    checks.positive("budget.epsilon", budget.exact_epsilon)
    unit = basic_total(build(Fraction(1)), budget.adjacency)
    guess = budget.exact_epsilon / checks.positive("the cost of build(1)", unit.exact_epsilon)

    @cache
    def price(scale: Fraction) -> float:
        """How far the plan is over the budget, by the better of both ways."""
        trees = build(scale)
        ways = (basic_total(trees, budget.adjacency), zcdp_total(trees, budget.exact_delta, budget.adjacency))
        return min(over(way, budget) for way in ways if way is not None)

    if price(guess) > 0 and price(guess * SMALLEST) > 0:
        least = basic_total(build(guess * SMALLEST), budget.adjacency)
        fix = "Give the parts of build a smaller δ."
        raise InvalidArgument("budget", f"at least what build takes at the smallest scale, {least}", budget, fix)
    low = largest(price, guess)
    if budget.pure:
        return low
    strict = Privacy(budget.exact_epsilon * (1 - SLACK), budget.exact_delta, budget.adjacency)
    return boundary(
        lambda s: over(tight(build(s), strict.exact_delta, strict.adjacency), strict), low, 2 * low, HALVINGS
    )


class LinearLoss(NamedTuple):
    """A loss at scale s whose ε's are proportional to s: (s·ε, δ)-private, and δ-approximately s²·ρ-zCDP."""

    epsilon: float
    rho: float
    delta: float = 0.0

    @staticmethod
    def of(tree: loss.Loss, adjacency: Adjacency) -> LinearLoss:
        plain, curve = cost(tree, adjacency), zcdp(tree, adjacency)
        return LinearLoss(plain.epsilon, float(curve.rho), float(curve.delta))


def rough_scale(losses: Iterable[LinearLoss], epsilon: float, delta: float) -> float:
    """About the largest s at which linear losses are together (ε, δ)-private, in floats: for a first choice.

    It is the better of the plain sum, s = ε/Σε_i, and of zCDP, s = √(ρ/Σρ_i) with the largest ρ that is (ε, δ)-private.
    At the best order, ρ = (ln(1/δ) - ln(1 + u))/u² and ε = ρ·(1 + 2u) - ln(1 + 1/u) (`concentrated_epsilon`), and ε
    falls in u.

    >>> round(rough_scale([LinearLoss(1, 1 / 8)] * 15, 2, 1e-6), 3)
    0.217
    """
    parts = list(losses)
    if not parts:
        return math.inf
    taken = sum(one.delta for one in parts)
    plain = epsilon / sum(one.epsilon for one in parts) if taken <= delta else 0.0
    if delta <= taken:
        return plain
    needed = -math.log((delta - taken) / (1 - taken))
    low, high = 1e-9, min(math.expm1(min(needed, 300.0)), 1e100)
    for _ in range(80):
        u = math.sqrt(low * high)
        rho = (needed - math.log1p(u)) / u**2
        low, high = (u, high) if rho * (1 + 2 * u) - math.log1p(1 / u) > epsilon else (low, u)
    return max(plain, math.sqrt(max(needed - math.log1p(high), 0.0) / high**2 / sum(one.rho for one in parts)))
