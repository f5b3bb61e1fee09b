"""A scenario: a release function with its options, and neighbours on which an audit looks at it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from uptack.noise import Entropy

Pair = tuple[Any, Any]
Pairs = dict[str, Pair]
MAY_REFUSE = frozenset({"⊥"})
COUNTED = frozenset({"⊥", "stamps"})
"""Where the number of rows is secret, ⊥ and what it advises follow from a released one."""
LABELS = frozenset({"labels", "type"})


class Shown(NamedTuple):
    """A call that is made by `result`, and what a session or a ledger has to show afterwards, whatever came of it."""

    result: Callable[[], Any]
    show: Callable[[], Any]


@dataclass(frozen=True, eq=False)
class Scenario:
    """A release, `call(data, entropy)`, and pairs of neighbours by name.

    `may` names what is part of the value: "⊥" where a test decides whether there is a reply, "labels" and "type" where
    they are what is released, "stamps" where they are worked out from a released number of rows. `function` and
    `options` say what it covers. `draws` is how many draws of each mechanism are made on each side where its sampler is
    to be looked at. `priced` is False where neighbours are further apart than the caller has stated.
    """

    name: str
    call: Callable[[Any, Entropy], Any]
    pairs: Callable[[], Pairs]
    may: frozenset[str] = frozenset()
    function: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    draws: int = 0
    priced: bool = True

    @property
    def epsilon(self) -> float:
        """The ε that was asked for; infinite where the claim is all there is."""
        asked = self.options.get("epsilon")
        return math.inf if asked is None else float(asked)

    def result(self, data: Any, entropy: Entropy) -> Any:
        """What comes of the call; of a session's, what the request gets."""
        made = self.call(data, entropy)
        return made.result() if isinstance(made, Shown) else made
