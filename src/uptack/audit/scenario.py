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
"""Where the number of rows is secret, ⊥ and its advice follow from a released number."""
LABELS = frozenset({"labels", "type"})


class PersonRows(NamedTuple):
    """Rows, and the person whom each belongs to."""

    rows: Any
    ids: Any


class SessionCall(NamedTuple):
    """A call that is made by `result`, and what a session or a ledger shows afterwards, whatever came of it."""

    result: Callable[[], Any]
    show: Callable[[], Any]


@dataclass(frozen=True, eq=False)
class Scenario:
    """A release, `call(data, entropy)`, and pairs of neighbours by name.

    `may` names what is part of the value: "⊥" where a test decides whether there is a reply, "labels" and "type" where
    they are released, "stamps" where they follow from a released number of rows. `function` and `options` say what the
    scenario covers. `draws` is the number of draws of each mechanism on each side, where samplers are audited too.
    `priced` is False where neighbours are further apart than the caller has stated.
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
        """The ε of the request; infinite where only the result states one."""
        return float(self.options.get("epsilon", math.inf))

    def result(self, data: Any, entropy: Entropy) -> Any:
        """The result of the call; of a call in a session, that of the request."""
        result = self.call(data, entropy)
        return result.result() if isinstance(result, SessionCall) else result
