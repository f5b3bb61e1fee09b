"""The price of a release between two neighbours: whether its mechanisms get what their theorems ask for.

A release is a chain of mechanisms, each with a theorem: if what it is given moves by at most so much between
neighbours, a draw costs at most its loss. All of them draw at one place (`uptack.account.Account.draw`), so an audit
can see what they are given. The release is run on D, and every draw is recorded. Then it is run on D', and each
mechanism is made to *repeat what of its output is public*. So all that follows from outputs is the same, and what the
mechanisms are given can be compared step by step.

1. The mechanisms are the same, with the same law, sensitivity and loss: these are public numbers.
2. Each move has a price by the theorem of its mechanism, which is at most the loss that was stated for it.
3. All prices together are at most what the release claims.
4. The result is the same to the last bit. If not, something of the data reached it past the mechanisms.

This needs one run on each table and no statistics. It can't see a sampler that draws from another law than its
mechanism says: that is for `uptack.audit.draws`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from uptack.account import AssumptionFailed, Mechanism, observed_by
from uptack.audit.scenario import Pair, Scenario
from uptack.audit.tape import CoupledTape
from uptack.privacy import Privacy, cost
from uptack.release import NoReply, Release

ROUNDING = 1e-6
"""By what part a price may be above what is claimed: prices are computed in floats."""


class OtherCourse(Exception):
    """The second run came to another mechanism than the first: the course of events depends on the data."""


@dataclass(frozen=True)
class Draw:
    """One draw: the mechanism, what it was given, what came out, and how far the tape was read after it."""

    mechanism: Mechanism[Any, Any]
    value: Any
    output: Any
    asked: int

    @property
    def name(self) -> str:
        """The kind of the mechanism."""
        return type(self.mechanism).__name__


@dataclass
class Recorder:
    """An observer that writes every draw down. With the draws of another run it repeats their outputs."""

    tape: CoupledTape
    repeats: Sequence[Draw] | None = None
    draws: list[Draw] = field(default_factory=list)
    astray: str = ""

    def __call__(self, mechanism: Mechanism[Any, Any], value: Any, draw: Callable[[], Any]) -> Any:
        """The output to go on with."""
        held = value.copy() if isinstance(value, np.ndarray) else value  # the release may go on to change it
        output = draw() if self.repeats is None else self._repeat(mechanism)
        self.draws.append(Draw(mechanism, held, output, self.tape.asked))
        return output

    def _repeat(self, mechanism: Mechanism[Any, Any]) -> Any:
        assert self.repeats is not None
        place = len(self.draws)
        first = self.repeats[place] if place < len(self.repeats) else None
        if first is None or type(first.mechanism) is not type(mechanism):
            self.astray = f"{type(mechanism).__name__} in the place of {first.name if first else 'the end'}"
            raise OtherCourse(self.astray)
        if look(first.mechanism) != look(mechanism):
            self.astray = f"draw {place + 1}, {first.name}: {_difference(first.mechanism, mechanism)}"
            raise OtherCourse(self.astray)
        self.tape.asked = first.asked
        return mechanism.public(first.output)


@dataclass(frozen=True)
class PricedDraw:
    """A draw of one release on two neighbours: both inputs, the price of the move and the ε that it may cost."""

    mechanism: Mechanism[Any, Any]
    value: Any
    other: Any
    price: float
    allowed: float

    @property
    def name(self) -> str:
        """The kind of the mechanism."""
        return type(self.mechanism).__name__


@dataclass(frozen=True)
class Prices:
    """What a release costs between two neighbours, draw by draw, and what is wrong with it."""

    draws: tuple[PricedDraw, ...] = ()
    claimed: float = 0.0
    problems: tuple[str, ...] = ()
    error: str = ""

    @property
    def total(self) -> float:
        """The sum of all prices."""
        return sum(draw.price for draw in self.draws)


def prices(scenario: Scenario, pair: Pair, seed: int = 0) -> Prices:
    """What a scenario costs between these neighbours."""
    tape = CoupledTape(seed)
    first = Recorder(tape)
    second = Recorder(tape, repeats=first.draws)
    results: list[Any] = []
    for recorder, data in zip((first, second), pair, strict=True):
        tape.rewind()
        with observed_by(recorder):
            try:
                results.append(scenario.result(data, tape))
            except Exception as error:
                if recorder.astray:
                    return Prices(problems=(f"another course of events: {recorder.astray}",))
                return Prices(error=f"{type(error).__name__}: {error}")
            if recorder.astray:
                return Prices(problems=(f"another course of events: {recorder.astray}",))
    claims = claims_of(results[0])
    if claims is None:
        return Prices()  # random differential privacy is about other neighbours
    return _priced(first.draws, second.draws, claims, results, scenario)


def price(scenario: Scenario, pair: Pair, seed: int = 0) -> list[str]:
    """What is wrong with the mechanisms inside of a release between these neighbours; nothing, if all theorems apply.

    An error is no problem of theirs: it is for replays to see.
    """
    return list(prices(scenario, pair, seed).problems)


def _priced(
    draws: list[Draw], draws_prime: list[Draw], claims: list[Privacy], results: list[Any], scenario: Scenario
) -> Prices:
    claimed = min(sum(claim.epsilon for claim in claims), scenario.epsilon)
    problems, priced = [], []
    for place, (one, other) in enumerate(zip(draws, draws_prime, strict=False)):
        mechanism, where = one.mechanism, f"draw {place + 1}, {one.name}"
        allowed = cost(mechanism.loss, claims[0].adjacency).epsilon
        try:
            with np.errstate(all="ignore"):
                found = mechanism.price(one.value, other.value, one.output)
        except AssumptionFailed as failed:
            problems.append(f"{where}: {failed}")
            continue
        except OverflowError:  # further than floats go
            found = math.inf
        priced.append(PricedDraw(mechanism, one.value, other.value, found, allowed))
        if not found <= allowed * (1 + ROUNDING) + 1e-12:
            problems.append(f"{where}: costs ε = {found:.4g} of {allowed:.4g}")
    total = sum(draw.price for draw in priced)
    if not total <= claimed * (1 + ROUNDING) + 1e-12:
        problems.append(f"costs ε = {total:.4g} of {claimed:.4g} claimed")
    if len(draws) != len(draws_prime):
        problems.append("another course of events: some mechanisms were not asked")
    elif look(results[0]) != look(results[1]):
        problems.append("the result depends on the data past all mechanisms")
    return Prices(tuple(priced), claimed, tuple(dict.fromkeys(problems)))


def claims_of(result: Any) -> list[Privacy] | None:
    """What a result, or each of several, claims; None where it is no (ε, δ)."""
    if isinstance(result, list | tuple) and result and not hasattr(result, "_fields"):
        parts = [claims_of(part) for part in result]
        return None if None in parts else [claim for part in parts if part for claim in part]
    claim = getattr(result, "privacy", None)
    return [claim] if isinstance(claim, Privacy) else None


# ------------------------------------------------------------------------------------------------- what can be seen


def look(value: Any) -> Any:
    """A value by all that can be seen of it, exactly. A function is its code and what it was made with."""
    if isinstance(value, Release | NoReply):
        return type(value).__name__, look(value.value), value.privacy, value.mechanism, repr(value.loss)
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tolist() if value.dtype.kind == "O" else value.tobytes()
    if hasattr(value, "answers"):  # a released function: what it has answered
        return look(value.answers)
    if hasattr(value, "items"):
        return [(repr(key), look(entry)) for key, entry in value.items()]
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, *(look(getattr(value, f.name)) for f in fields(value))]
    if isinstance(value, list | tuple):
        return [look(part) for part in value]
    if callable(value) and not isinstance(value, type):
        return getattr(value, "__qualname__", type(value).__name__), *_closure(value)
    text = repr(value)
    if " object at 0x" in text and hasattr(value, "__dict__"):
        return type(value).__name__, look(vars(value))
    return type(value).__name__, text


def _closure(function: Any) -> Iterable[Any]:
    cells = getattr(function, "__closure__", None) or ()
    return [look(cell.cell_contents) for cell in cells]


def _difference(one: Any, other: Any) -> str:
    return "; ".join(_differences(one, other))[:200]


def _differences(one: Any, other: Any) -> Iterator[str]:
    for f in fields(one):
        a, b = getattr(one, f.name), getattr(other, f.name)
        if look(a) != look(b):
            yield f"{f.name} is {a} or {b}"
