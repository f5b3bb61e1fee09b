"""A uniform point of one box that is not in another."""

from __future__ import annotations

import math

from uptack.noise import Entropy


def uniform_between(inner: list[tuple[int, int]] | None, outer: list[tuple[int, int]], entropy: Entropy) -> list[int]:
    """A uniform point of the outer box that is not in the inner one.

    The difference is cut into slabs: in slab i the coordinates before i lie in the inner box, coordinate i does not,
    and those after it lie anywhere in the outer one. Inside a slab the point is one uniform integer, taken apart.
    """
    if inner is None:
        return [a + entropy.below(b - a + 1) for a, b in outer]
    core, free = ([b - a + 1 for a, b in box] for box in (inner, outer))
    slabs = [math.prod(core[:i]) * (free[i] - core[i]) * math.prod(free[i + 1 :]) for i in range(len(outer))]
    ticket, slab = entropy.below(sum(slabs)), 0
    while ticket >= slabs[slab]:
        ticket, slab = ticket - slabs[slab], slab + 1
    point = []
    for i, ((a, b), (c, _)) in enumerate(zip(outer, inner, strict=True)):
        size = core[i] if i < slab else free[i] - core[i] if i == slab else free[i]
        ticket, offset = divmod(ticket, size)
        if i == slab:  # skip the inner side
            point.append(a + offset if offset < c - a else a + offset + core[i])
        else:
            point.append((c if i < slab else a) + offset)
        assert a <= point[-1] <= b
    return point
