"""A number of rows with noise, which a release bought on its way to its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from uptack import checks
from uptack.display.numbers import SHOWN, between, number
from uptack.exact import Rational


class SizeLaw(Protocol):
    """The law of the noise in a number of rows."""

    def cutoff(self, failure: Rational) -> int:
        """The least t with P(z ≥ t) ≤ failure."""
        ...


@dataclass(frozen=True)
class NoisySize:
    """A number of rows, or of people, with noise: what a release bought on its way to its value.

    It was paid for as a part of the release, so to show it is post-processing and costs nothing more. `times` draws of
    noise of one law are in it, and it is brought to at least 0.
    """

    value: int
    law: SizeLaw
    unit: str = "rows"
    times: int = 1

    def interval(self, confidence: Rational = SHOWN) -> tuple[int, int]:
        """Between which numbers the true one lies, at this confidence.

        With t the least integer with P(z ≥ t) ≤ α/2k, each of the k draws is within t - 1 but for α/k, and so all of
        them together within k(t - 1) but for α. To bring the sum to 0 brings it no further from the true number.
        """
        failing = 1 - checks.inside_unit("confidence", confidence)
        off = self.times * (self.law.cutoff(failing / (2 * self.times)) - 1)
        return max(self.value - off, 0), self.value + off

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON, with the interval of 95%."""
        return {"value": self.value, "interval": list(self.interval()), "unit": self.unit}

    def __int__(self) -> int:
        return self.value

    def __str__(self) -> str:
        return f"about {number(self.value)} {self.unit} ({100 * SHOWN:g}%: {between(self.interval(), 0.0)})"

    def __repr__(self) -> str:
        return f"NoisySize({self})"
