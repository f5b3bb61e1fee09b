"""Times and durations out of an account: what was found in ticks, in the form of its column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from uptack.account import Outcome
from uptack.display.numbers import SHOWN
from uptack.exact import Rational
from uptack.release import Noise
from uptack.table.values.times import Form


@dataclass(frozen=True)
class ShownNoise:
    """What is known of the error of a number of ticks, shown as the value is."""

    noise: Noise
    ticks: Any
    form: Form

    @property
    def confidence(self) -> Rational:
        """The confidence of what is shown: the one that an interval was paid for at, where it was."""
        found: Rational = getattr(self.noise, "confidence", SHOWN)
        return found

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        """The ends, rounded outward to what the form can show."""
        low, high = self.noise.around(self.ticks, confidence)
        if getattr(low, "ndim", 0) == 0:
            return self.form.show(float(low), -1), self.form.show(float(high), 1)
        return [self.form.show(float(end), -1) for end in low], [self.form.show(float(end), 1) for end in high]


def in_form(form: Form, found: Outcome[Any]) -> Outcome[Any]:
    """What a mechanism found in ticks, in the form of the column: post-processing."""
    if found.value is None:
        return found
    noise = None if found.noise is None else ShownNoise(found.noise, found.value, form)
    return replace(found, value=form.shown(found.value), noise=noise)
