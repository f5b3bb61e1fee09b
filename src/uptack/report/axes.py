"""Axes whose labels fit."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from uptack.display.numbers import number as number

WIDTH = 420
LEFT = RIGHT = 14
LETTER = 8.3
"""The width of a letter of a label, at most, in the units of a picture."""

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def ticks(low: float, high: float, about: int = 5, whole: bool = False) -> list[float]:
    """Round numbers between two ends: multiples of 1, 2 or 5 times a power of ten, for integers `whole` ones.

    >>> ticks(-3.2, 17.0)
    [0.0, 5.0, 10.0, 15.0]
    >>> ticks(0.9, 3.1), ticks(0.9, 3.1, whole=True)
    ([1.0, 1.5, 2.0, 2.5, 3.0], [1.0, 2.0, 3.0])
    """
    rough = max((high - low) / about, 1.0 if whole else 0.0)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def powers(text: str) -> str:
    """A power of ten as people print it.

    >>> powers("1.5e-9 to 2e12"), powers("2013")
    ('1.5 × 10⁻⁹ to 2 × 10¹²', '2013')
    """
    return re.sub(r"(?<=\d)e(-?\d+)", lambda found: f" × 10{found[1].translate(RAISED)}", text)


class Tick(NamedTuple):
    """A place on an axis, as a share of it, and what is written there."""

    share: float
    text: str


def labelled_ticks(low: float, high: float, room: float = WIDTH - LEFT - RIGHT, whole: bool = False) -> list[Tick]:
    """As many round numbers as fit side by side in so many units of a picture; both ends where no two of them do.

    >>> [tick.text for tick in labelled_ticks(0, 4e9)]
    ['0', '2,000,000,000', '4,000,000,000']
    >>> [tick.text for tick in labelled_ticks(1e9 - 1e-4, 1e9 + 1e-4)]
    ['999,999,999.9999', '1,000,000,000.0001']
    """
    found: list[Tick] = []
    for about in (6, 5, 4, 3, 2, 1):
        places = ticks(low, high, about, whole)
        step = places[1] - places[0] if len(places) > 1 else high - low
        found = [Tick((place - low) / (high - low), powers(number(place, step))) for place in places]
        if sum(len(tick.text) * LETTER + 2 * LETTER for tick in found) <= room:
            break
    ends = [Tick(share, powers(number(end, high - low))) for share, end in ((0.0, low), (1.0, high))]
    return found if len(found) > 1 else ends


class Scale:
    """Numbers to horizontal places on a picture."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def __call__(self, value: float) -> float:
        """Where a number is; one beyond the axis is at its end."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.place(share)

    @staticmethod
    def place(share: float) -> float:
        """Where a share of the axis is."""
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 2)

    def axis(self, at: float, marks: Sequence[Tick] | None = None) -> str:
        """The axis at a height, with labels that stay inside the picture."""
        found = labelled_ticks(self.low, self.high) if marks is None else marks
        line = f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>'
        return line + "".join(self._mark(tick, at) for tick in found)

    def _mark(self, tick: Tick, at: float) -> str:
        x, half = self.place(tick.share), len(tick.text) * LETTER / 2
        middle = min(max(x, half), WIDTH - half)
        return (
            f'<line class="tick" x1="{x}" x2="{x}" y1="{at}" y2="{at + 4}"/>'
            f'<text class="label" x="{middle}" y="{at + 18}" text-anchor="middle">{tick.text}</text>'
        )
