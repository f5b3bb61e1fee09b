"""The price of a release between two neighbours: whether its mechanisms get what their theorems ask for.

A release is a chain of mechanisms, each with a theorem: if its input moves by at most so much between neighbours, a
draw costs at most its loss. All of them draw at one place (`uptack.account.Account.draw`), so an audit sees their
inputs. The release is run on D, and every draw is recorded. Then it is run on D', where each mechanism *repeats what of
its output is public*. So all that follows from outputs is the same, and inputs can be compared step by step.

1. The mechanisms are the same, with the same law, sensitivity and loss: these are public numbers.
2. Each move has a price by the theorem of its mechanism, which is at most the loss that was stated for it.
3. All prices together are at most what the release claims.
4. The result is the same to the last bit, with its interval, its notes and the advice of a ⊥. If not, something of the
   data reached it past the mechanisms.

This needs one run on each table and no statistics. It takes for granted that samplers draw from the law that their
mechanism states. `draws` looks at that: each mechanism of a scenario is drawn many times, with its input on D and with
its input on D', and the ε that an event of its outputs shows must be at most the price of the move.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uptack.account import AssumptionFailed, Mechanism, observed_by
from uptack.audit.privacy_bounds import epsilon_lower_bound
from uptack.audit.replay import TapeEntropy
from uptack.audit.scenario import Pair, Scenario
from uptack.errors import Failed, UptackError
from uptack.noise import SeededEntropy
from uptack.privacy import Privacy, cost, gaussian_epsilon, gaussian_noise_multiplier, zcdp
from uptack.privacy.loss import Composed, Gaussian, Loss, Zcdp

ROUNDING = 1e-6
"""The relative excess of a price that is allowed: prices are computed in floats."""


@dataclass(frozen=True)
class PricedDraw:
    """A draw of one release on two neighbours: both inputs, and the price of the move."""

    mechanism: Mechanism[Any, Any]
    value: Any
    other: Any
    price: float

    @property
    def name(self) -> str:
        return type(self.mechanism).__name__


@dataclass(frozen=True)
class Prices:
    """What a release costs between two neighbours, draw by draw, and what is wrong with it."""

    draws: tuple[PricedDraw, ...] = ()
    total: float = 0.0
    claimed: float = 0.0
    problems: tuple[str, ...] = ()
    error: str = ""


def price(scenario: Scenario, pair: Pair, seed: int = 0) -> list[str]:
    """What is wrong with the mechanisms inside of a release between these neighbours; nothing, if all theorems apply.

    An error is no problem of theirs, and replays see it; but where D has an answer, the same outputs must not break D'.
    """
    return list(prices(scenario, pair, seed).problems)


def prices(scenario: Scenario, pair: Pair, seed: int = 0) -> Prices:
    """What a scenario costs between these neighbours."""
    tape = CoupledTape(seed)
    first = Recorder(tape)
    second = Recorder(tape, repeats=first.draws)
    results: list[Any] = []
    for recorder, data in zip((first, second), pair, strict=True):
        tape.rewind()
        error = ""
        with observed_by(recorder):
            try:
                results.append(scenario.result(data, tape))
            except Exception as raised:
                error = f"{type(raised).__name__}: {raised}"
                if results and (isinstance(raised, Failed) or not isinstance(raised, UptackError)):
                    recorder.diverged = recorder.diverged or "the same outputs make it fail on the neighbour"
        if recorder.diverged:
            return Prices(problems=(f"another course of events: {recorder.diverged}",))
        if error:
            return Prices(error=error)
    claims = claims_of(results[0])
    if claims is None:
        return Prices()  # random differential privacy is about other neighbours
    claimed = min(sum(claim.epsilon for claim in claims), scenario.epsilon)
    problems, priced = [], []
    for place, (one, other) in enumerate(zip(first.draws, second.draws, strict=False)):
        where = f"draw {place + 1}, {type(one.mechanism).__name__}"
        allowed = cost(one.mechanism.loss, claims[0].adjacency).epsilon
        try:
            with np.errstate(all="ignore"):
                move = one.mechanism.price(one.value, other.value, one.output)
        except AssumptionFailed as failed:
            problems.append(f"{where}: {failed}")
            continue
        except OverflowError:  # further than floats go
            move = math.inf
        priced.append(PricedDraw(one.mechanism, one.value, other.value, move))
        if not _within(move, allowed):
            problems.append(f"{where}: costs ε = {move:.4g} of {allowed:.4g}")
    total = _total(priced, getattr(results[0], "loss", None), claims[0])
    if not _within(total, claimed):
        problems.append(f"costs ε = {total:.4g} of {claimed:.4g} claimed")
    if len(first.draws) != len(second.draws):
        problems.append("another course of events: some mechanisms were not drawn")
    elif fingerprint(results[0]) != fingerprint(results[1]):
        problems.append("the result depends on the data past all mechanisms")
    return Prices(tuple(priced), total, claimed, tuple(dict.fromkeys(problems)))


def _within(price: float, allowed: float) -> bool:
    return price <= allowed * (1 + ROUNDING) + 1e-12


def _total(priced: Sequence[PricedDraw], whole: Any, claim: Privacy) -> float:
    """The ε of all draws: the sum of prices, or where a release adds up ρ, what the stated losses come to at its δ.

    Gaussian draws of one loss are one Gaussian vector, of which squared moves add up.
    """
    if isinstance(whole, Zcdp) and priced:
        spent = zcdp(Composed(tuple(draw.mechanism.loss for draw in priced)), claim.adjacency)
        below = spent.delta < claim.exact_delta
        return cost(replace(whole, rho=spent.rho, failure=spent.delta)).epsilon if below else math.inf
    vectors: dict[Loss, list[float]] = {}
    for draw in priced:
        vectors.setdefault(draw.mechanism.loss, []).extend([draw.price] if draw.price else [])
    total = 0.0
    for loss, parts in vectors.items():
        if not isinstance(loss, Gaussian) or len(parts) < 2 or math.inf in parts:
            total += sum(parts)
        else:
            squares = sum(1 / gaussian_noise_multiplier(part, loss.delta) ** 2 for part in parts)
            total += float(gaussian_epsilon(1 / math.sqrt(squares), loss.delta))
    return total


def claims_of(result: Any) -> list[Privacy] | None:
    """What a result, or each of several, claims; None where it is no (ε, δ)."""
    if isinstance(result, list | tuple) and result and not hasattr(result, "_fields"):
        parts = [claims_of(part) for part in result]
        return None if None in parts else [claim for part in parts if part for claim in part]
    claim = getattr(result, "privacy", None)
    return [claim] if isinstance(claim, Privacy) else None


# ----------------------------------------------------------------------------------------------------------- recording


class Draw(NamedTuple):
    """One draw: the mechanism, its input and its output, and how far the tape was read after it."""

    mechanism: Mechanism[Any, Any]
    value: Any
    output: Any
    requests: int


@dataclass
class Recorder:
    """An observer that writes every draw down. With the draws of another run it repeats their outputs.

    `diverged` says where the second run came to another mechanism than the first: the course of events then depends on
    the data.
    """

    tape: CoupledTape
    repeats: Sequence[Draw] | None = None
    draws: list[Draw] = field(default_factory=list)
    diverged: str = ""

    def __call__(self, mechanism: Mechanism[Any, Any], value: Any, draw: Callable[[], Any]) -> Any:
        copy = value.copy() if isinstance(value, np.ndarray) else value  # the release may go on to change it
        output = draw() if self.repeats is None else self._repeat(mechanism, self.repeats)
        self.draws.append(Draw(mechanism, copy, output, self.tape.requests))
        return output

    def _repeat(self, mechanism: Mechanism[Any, Any], repeats: Sequence[Draw]) -> Any:
        place, kind = len(self.draws), type(mechanism).__name__
        first = repeats[place] if place < len(repeats) else None
        if first is None or type(first.mechanism) is not type(mechanism):
            self.diverged = f"{kind} in the place of {type(first.mechanism).__name__ if first else 'the end'}"
        elif fingerprint(first.mechanism) != fingerprint(mechanism):
            pairs = [(f.name, getattr(first.mechanism, f.name), getattr(mechanism, f.name)) for f in fields(mechanism)]
            other = "; ".join(f"{name} is {a} or {b}" for name, a, b in pairs if fingerprint(a) != fingerprint(b))
            self.diverged = f"draw {place + 1}, {kind}: {other[:200]}"
        if first is None or self.diverged:
            raise RuntimeError(self.diverged)  # the run ends here, and the rim may hide why
        self.tape.requests = first.requests
        return mechanism.public(first.output)


class CoupledTape(TapeEntropy):
    """A tape on which random columns belong to rows, as the theorems about them couple neighbours.

    Columns of random integers start alike wherever they are drawn: the blocks that rows go to. The rows of a cell get
    the first digits of one sequence, so where a neighbour has one row more in a cell, all others have the same digits.
    The digits of a cell that are drawn a second time are others.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._cells: dict[int, int] = {}

    def rewind(self) -> None:
        """Begin again, for the run on the neighbour."""
        self.requests = 0
        self._cells.clear()

    def integers(self, bound: int, size: int) -> NDArray[np.int64]:
        stream = np.random.Generator(np.random.Philox(key=[self.seed, bound % (1 << 61)]))
        return stream.integers(bound, size=size, dtype=np.int64)

    def digits(self, bound: int, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        digits = np.zeros(keys.size, np.int64)
        for key in np.unique(keys).tolist():
            times, rows = self._cells.get(key, 0), keys == key
            self._cells[key] = times + 1
            stream = np.random.Generator(np.random.Philox(key=[self.seed + ((times + 1) << 32), key % (1 << 63)]))
            digits[rows] = stream.integers(bound, size=np.count_nonzero(rows), dtype=np.int64)
        return digits


def fingerprint(value: Any) -> Any:
    """A value by all that can be seen of it, exactly. A function is its code and what it was made with."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tolist() if value.dtype.kind == "O" else value.tobytes()
    if hasattr(value, "answers"):  # a released function: what it has answered
        return fingerprint(value.answers)
    if hasattr(value, "items"):
        return [(repr(key), fingerprint(entry)) for key, entry in value.items()]
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, *(fingerprint(getattr(value, f.name)) for f in fields(value))]
    if isinstance(value, list | tuple):
        return [fingerprint(part) for part in value]
    if callable(value) and not isinstance(value, type):
        cells = getattr(value, "__closure__", None) or ()
        name = getattr(value, "__qualname__", type(value).__name__)
        return name, *(fingerprint(cell.cell_contents) for cell in cells)
    text = repr(value)
    if " object at 0x" in text and hasattr(value, "__dict__"):
        return type(value).__name__, fingerprint(vars(value))
    return type(value).__name__, text


# --------------------------------------------------------------------------------------------------------------- draws

CONFIDENCE = 1 - Fraction(1, 10**7)
"""Of every bound: a hundred of them raise a false alarm with a probability of one in 100,000."""
PRICED = 16
"""Outputs on which a price is computed, where it depends on the output."""
DRAWS = 2000


class EmpiricalLoss(NamedTuple):
    """One mechanism of a scenario: what a move costs by its theorem, and a lower bound on ε from so many draws."""

    name: str
    price: float
    bound: float
    draws: int


def draws(scenario: Scenario, pair: Pair, seed: int = 0) -> list[str]:
    """The mechanisms that draw from another law than they say."""
    return violations(sample(scenario, pair, seed))


def violations(samples: list[EmpiricalLoss]) -> list[str]:
    """Those of which draws show more than the price."""
    above = [one for one in samples if one.bound > one.price]
    return [f"{one.name}: {one.draws:,} draws show ε = {one.bound:.3g} of {one.price:.3g}" for one in above]


def sample(scenario: Scenario, pair: Pair, seed: int = 0, count: int | None = None) -> list[EmpiricalLoss]:
    """All mechanisms of a scenario between two neighbours. What is wrong with prices is for `price` to say."""
    times, samples = count or scenario.draws or DRAWS, []
    for place, draw in enumerate(prices(scenario, pair, seed).draws):
        mechanism, sides = draw.mechanism, []
        for side, value in enumerate((draw.value, draw.other)):
            entropy = SeededEntropy(2 * (seed + place) + side)
            sides.append([mechanism.public(mechanism.draw(value, entropy)) for _ in range(times)])
        costs = [draw.price]
        for output in sides[0][:PRICED]:
            with contextlib.suppress(AssumptionFailed):  # a theorem that does not apply allows nothing
                costs.append(mechanism.price(draw.value, draw.other, output))
        bound = epsilon_lower_bound(sides[0], sides[1], cost(mechanism.loss).exact_delta, CONFIDENCE)
        samples.append(EmpiricalLoss(draw.name, max(costs), bound, times))
    return samples
