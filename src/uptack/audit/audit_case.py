"""What is audited: a mechanism, two neighbours, and what it promises between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from flint import arb

from uptack.noise import Entropy
from uptack.privacy import Privacy

Mechanism = Callable[[Any, Entropy], Any]
Pair = tuple[Any, Any]
Cells = list[tuple[arb, arb]]


@dataclass(frozen=True, eq=False)
class Case:
    """A mechanism to be run many times on each of two neighbours.

    `mechanism(data, entropy)` returns a `Release`, a `NoReply`, or what there is to look at: a number, a vector,
    anything that prints, None for ⊥. `broken` marks one that was made to fail, which the audit must find out. `share`
    is for slow ones: the part of the draws that they get.
    """

    name: str
    mechanism: Mechanism
    pair: Pair
    claimed: Privacy
    broken: bool = False
    share: float = 1.0


@dataclass(frozen=True, eq=False)
class ExactCase:
    """A mechanism whose law is known: `cells()` are the chances of its outcomes on D and on D', as balls.

    Outcomes may be taken together where both chances are multiplied by the same.
    """

    name: str
    cells: Callable[[], Cells]
    claimed: Privacy
    broken: bool = False


def released(function: Callable[..., Any], *arguments: Any, **options: Any) -> Mechanism:
    """The mechanism `function(data, *arguments, **options)`. It can be sent to another process if the function can."""
    return partial(_released, function, arguments, options)


def _released(
    function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any], data: Any, entropy: Entropy
) -> Any:
    return function(data, *arguments, **options, entropy=entropy)


def family(
    name: str,
    mechanism: Mechanism,
    pairs: Mapping[str, Pair],
    claimed: Privacy,
    *,
    only: Iterable[str] | None = None,
    share: float = 1.0,
) -> list[Case]:
    """One case for each pair of neighbours, or for some of them.

    >>> from uptack.mechanisms import laplace
    >>> family("sum", released(laplace, sensitivity=1, epsilon=2), {"one row": (3, 4)}, Privacy(2))[0].name
    'sum: one row'
    """
    chosen = list(pairs) if only is None else list(only)
    return [Case(f"{name}: {what}", mechanism, pairs[what], claimed, share=share) for what in chosen]


def with_interval(function: Callable[..., Any], confidence: float, *arguments: Any, **options: Any) -> Mechanism:
    """The same where the interval is looked at too: whatever a reader can ask of a result must be private."""
    return partial(_with_interval, released(function, *arguments, **options), confidence)


def _with_interval(mechanism: Mechanism, confidence: float, data: Any, entropy: Entropy) -> Any:
    result = mechanism(data, entropy)
    return [result.value, *result.interval(confidence)] if result else None


def said(function: Callable[..., Any], *arguments: Any, **options: Any) -> Mechanism:
    """The same where a refusal's own words are looked at, and of a reply only that there is one."""
    return partial(_said, released(function, *arguments, **options))


def _said(mechanism: Mechanism, data: Any, entropy: Entropy) -> str:
    result = mechanism(data, entropy)
    return "a reply" if result else repr(result)
