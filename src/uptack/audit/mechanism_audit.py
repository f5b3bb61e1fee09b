"""Inside a release: whether the mechanisms that it is made of get what their theorems ask for.

A release is a chain of mechanisms, each with a theorem: if what it is given moves by at most so much between
neighbours, its answer costs so much. An audit can see what they are given. The release is run on D and every mechanism
is recorded, with its answer. Then it is run on D', and each mechanism is made to *give the answer that it gave on D*:
so all that follows from answers is the same, and what the mechanisms are given can be compared step by step.

1. Each step has a price: what its theorem says for the move that is seen, with the noise that was really drawn. All
   prices together must not exceed what the release claims.
2. With the answers of all mechanisms fixed the result must be the same to the last bit. If it is not, something of the
   data reached it past the mechanisms.
3. Blocks: a person's rows change the results of as many blocks as they are in, and no others.

This needs one run on each table and no statistics. It can't see a sampler that draws from another law than it says:
that is for draws to find (`uptack.audit.audit_run`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.audit.mechanism_calls import (
    COINS,
    DIGITS,
    LINES,
    LOOKS,
    NOISE,
    OVERLAPPING,
    SPOTS,
    VALUES,
    Spot,
    coin_faults,
)
from uptack.audit.patches import all_patched
from uptack.audit.prices import Seen, as_drawn, noise_price
from uptack.audit.replay import Replay, Shown, TapeEntropy
from uptack.noise import Entropy
from uptack.privacy import Privacy
from uptack.release import NoReply, Release
from uptack.statistics.rank_windows import BITS

Plant = Callable[[], AbstractContextManager[Any]]
ERROR = "an error"
ROUNDING = 1e-6
"""By what part the sum of prices may be above a claim: they are computed in floats."""


class _CoupledTape(TapeEntropy):
    """A tape on which whole columns of random integers start alike wherever they are asked for.

    So the random digits of rows, and the blocks that rows go to, belong to the row and not to the order of questions.
    """

    def integers(self, bound: int, size: int) -> NDArray[np.int64]:
        """The first of one sequence for each bound."""
        stream = np.random.Generator(np.random.Philox(key=[self.seed, bound % (1 << 61)]))
        return stream.integers(bound, size=size, dtype=np.int64)


class Astray(Exception):
    """The second run came to another mechanism than the first: the course of events depends on the data."""


@dataclass
class Recorder:
    """What one run came by. With the steps of another run it repeats their answers."""

    tape: TapeEntropy
    repeats: list[Seen] | None = None
    steps: list[Seen] = field(default_factory=list)
    lines: list[tuple[str, Any]] = field(default_factory=list)
    flaws: list[str] = field(default_factory=list)
    waiting: list[Any] = field(default_factory=list)
    loose: list[Any] = field(default_factory=list)
    looks: list[Any] = field(default_factory=list)
    coins: dict[int, Any] = field(default_factory=dict)
    cells: dict[int, tuple[Any, dict[int, int]]] = field(default_factory=dict)
    current: Seen | None = None
    drawing: bool = False

    def step(self, name: str, state: Any, make: Callable[[], Any], repeated: Callable[[Seen], Any]) -> Any:
        """One mechanism: run it and write it down, or give the answer of the other run."""
        seen = Seen(name, state, loose=list(self.loose), looks=list(self.looks))
        if self.repeats is None:
            self.current = seen
            try:
                seen.output = make()
            finally:
                self.current = None
            seen.asked = self.tape.asked
        else:
            place = len(self.steps)
            other = self.repeats[place] if place < len(self.repeats) else None
            if other is None or other.name != name:
                raise Astray(f"{name} in the place of {other.name if other else 'the end'}")
            seen.output, self.tape.asked = repeated(other), other.asked
        self.steps.append(seen)
        return seen.output

    def ours(self, arguments: Iterable[Any]) -> bool:
        """Whether it is about the data: rehearsals on stand-ins have randomness of another kind, or none."""
        used = (getattr(one, "entropy", one) for one in arguments)
        return all(one is self.tape for one in used if isinstance(one, Entropy))

    def mechanism(self, spot: Spot) -> Callable[[Any], Any]:
        """A mechanism in whole: what goes on in it is its own."""

        def change(original: Any) -> Any:
            def call(*arguments: Any, **options: Any) -> Any:
                if self.current is not None or self.drawing or not self.ours((*arguments, *options.values())):
                    return original(*arguments, **options)
                state = spot.state(*arguments, **options)
                make = partial(original, *arguments, **options)
                return self.step(spot.path, state, make, lambda other: spot.seen(other.output))

            return call

        return change

    def noise(self, original: Any) -> Any:
        """A draw of noise. It belongs to the mechanism around it, or to the value that was last shown to us."""

        def draw(law: Any, *rest: Any) -> Any:
            if self.drawing or not self.ours(rest):
                return original(law, *rest)
            self.drawing = True
            try:
                if self.current is None and self.waiting:
                    return self._paid(original, law, rest)
                drawn = original(law, *rest)
                (self.loose if self.current is None else self.current.laws).append((law, drawn))
                return drawn
            finally:
                self.drawing = False

        return draw

    def _paid(self, original: Any, law: Any, rest: tuple[Any, ...]) -> Any:
        """Noise on a value: on the second run as much as makes up for the move, so that the sum is the same."""
        value = self.waiting.pop(0)
        state = (as_drawn(law), value)
        return self.step("noise", state, lambda: original(law, *rest), lambda o: o.output + (o.state[1] - value))

    def value(self, take: Callable[[Any], list[Any]]) -> Callable[[Any], Any]:
        """A function whose result gets noise next."""

        def change(original: Any) -> Any:
            def call(*arguments: Any, **options: Any) -> Any:
                result = original(*arguments, **options)
                if self.current is None and not self.drawing:
                    self.waiting[:] = take(result)
                return result

            return call

        return change

    def look(self, original: Any) -> Any:
        """A threshold that is drawn before the data are read."""

        def call(*arguments: Any, **options: Any) -> Any:
            found = original(*arguments, **options)
            (self.looks if self.current is None else self.current.notes).append((arguments[0], found))
            return found

        return call

    def digits(self, original: Any) -> Any:
        """The random digits of rows in cells, coupled as the theorem of `Windows` has it: each row keeps its own.

        The rows of a cell get the first digits of one sequence. So where a neighbour has one row more in a cell, all
        others have the same digits. Those who ask for a cell's digits a second time get others.
        """

        def draw(windows: Any, keys: NDArray[np.int64]) -> NDArray[np.int64]:
            if not self.ours([windows._entropy]):
                return original(windows, keys)  # type: ignore[no-any-return]
            asked = self.cells.setdefault(id(windows), (windows, {}))[1]
            digits = np.zeros(keys.size, np.int64)
            for key in np.unique(keys).tolist():
                asked[key], rows = asked.get(key, 0) + 1, keys == key
                stream = np.random.Generator(
                    np.random.Philox(key=[self.tape.seed + (asked[key] << 32), key % (1 << 63)])
                )
                digits[rows] = stream.integers(1 << BITS, size=np.count_nonzero(rows), dtype=np.int64)
            return digits

        return draw

    def line(self, path: str) -> Callable[[Any], Any]:
        """A function with one result for each block."""

        def change(original: Any) -> Any:
            def call(*arguments: Any, **options: Any) -> Any:
                result = original(*arguments, **options)
                self.lines.append((path, result))
                return result

            return call

        return change

    def coin(self, original: Any) -> Any:
        """A coin, whose digits must be those of its chance."""

        def flip(coin: Any, *rest: Any) -> Any:
            if id(coin) not in self.coins:
                self.coins[id(coin)] = coin
                self.flaws += coin_faults(coin)
            return original(coin, *rest)

        return flip


@contextmanager
def listening(recorder: Recorder, plant: Plant) -> Iterator[None]:
    """All mechanisms of the library, recorded. A planted fault is around them, and under the eyes of those who look."""

    def inmost() -> Iterator[tuple[str, Any]]:
        yield from ((path, recorder.noise) for path in NOISE)
        yield from ((path, recorder.digits) for path in DIGITS)
        yield from ((spot.path, recorder.mechanism(spot)) for spot in SPOTS)

    def outmost() -> Iterator[tuple[str, Any]]:
        yield from ((path, recorder.value(take)) for path, take in VALUES.items())
        yield from ((path, recorder.look) for path in LOOKS)
        yield from ((path, recorder.line(path)) for path in LINES)
        yield from ((path, recorder.coin) for path in COINS)

    with all_patched(inmost()), plant(), all_patched(outmost()):
        yield


def inner(case: Replay, seed: int = 0, plant: Plant = nullcontext) -> list[str]:
    """What is wrong inside of a release between two neighbours; nothing, if all theorems apply.

    `plant` is a context that it runs in: a planted fault.
    """
    tape = _CoupledTape(seed)
    first, results = Recorder(tape), []
    second = Recorder(tape, repeats=first.steps)
    for recorder, data in zip((first, second), case.pair, strict=True):
        tape.asked = 0
        with listening(recorder, plant):
            try:
                made = case.call(data, tape)
                results.append(made.result() if isinstance(made, Shown) else made)
            except Astray as astray:
                return [f"another course of events: {astray}"]
            except Exception as error:
                return [f"{ERROR}: {type(error).__name__}: {error}"]
    if not isinstance(getattr(results[0], "privacy", None), Privacy):
        return []  # random differential privacy speaks of other neighbours
    most = int(case.options.get("rows_per_person", 1)) * int(case.options.get("times", 1))
    found = [*first.flaws, *([] if case.function in OVERLAPPING else _lines(first.lines, second.lines, most))]
    found += _priced(first.steps, second.steps, results[0], case)
    if len(first.steps) != len(second.steps):
        found.append("another course of events: some mechanisms were not asked")
    elif _looks(results[0]) != _looks(results[1]):
        found.append("the result depends on the data past all mechanisms")
    return list(dict.fromkeys(found))


def _priced(steps: list[Seen], steps_prime: list[Seen], result: Any, case: Replay) -> Iterator[str]:
    """Whether the steps cost more than is claimed; and what is wrong with single ones."""
    claimed: Privacy = result.privacy
    total, delta, prices = 0.0, claimed.exact_delta, {spot.path: spot.price for spot in SPOTS}
    for d, e in zip(steps, steps_prime, strict=False):
        price, problem = prices.get(d.name, noise_price)(d, e, delta)
        total += price
        if problem:
            yield f"{d.name}: {problem}"
    asked = float(case.options.get("epsilon", claimed.epsilon))
    if claimed.epsilon > asked * (1 + ROUNDING) and claimed.adjacency.size_is_public:
        yield f"claims ε = {claimed.epsilon:.4g} where {asked:.4g} was asked for"
    if total > min(claimed.epsilon, asked) * (1 + ROUNDING) + 1e-12:
        yield f"costs ε = {total:.4g} of {min(claimed.epsilon, asked):.4g} claimed"


def _lines(lines: list[tuple[str, Any]], lines_prime: list[tuple[str, Any]], most: int) -> Iterator[str]:
    for (name, d), (_, e) in zip(lines, lines_prime, strict=False):
        moved = sum(_looks(a) != _looks(b) for a, b in zip(d, e, strict=False)) + abs(len(d) - len(e))
        if moved > most:
            yield f"{name}: {moved} blocks moved where {most} may"


def _looks(value: Any) -> Any:
    """A value by all that can be seen of it, exactly."""
    if isinstance(value, Release | NoReply):
        return type(value).__name__, _looks(value.value), value.privacy, value.mechanism, repr(value.loss)
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tolist() if value.dtype.kind == "O" else value.tobytes()
    if hasattr(value, "answers"):  # a released function: what it has answered
        return _looks(value.answers)
    if hasattr(value, "items"):
        return [(repr(key), _looks(entry)) for key, entry in value.items()]
    if is_dataclass(value) and not isinstance(value, type):
        return [_looks(getattr(value, f.name)) for f in fields(value)]
    if isinstance(value, list | tuple):
        return [_looks(part) for part in value]
    return type(value).__name__, repr(value)
