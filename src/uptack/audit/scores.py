"""The price of choices and tests: by how much the scores of candidates, and what tests look at, move."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack.audit.chain_scores import largest_move
from uptack.audit.prices import Floats, Price, Seen, above, first_law
from uptack.mechanisms.inverse_sensitivity import Boxes
from uptack.noise import IntegerLaplace
from uptack.reach.hampel_certificate import Hyperplanes
from uptack.regression.hampel_test import STEPS, around

FURTHEST = 256
"""Steps of a reach that are looked at to find where a proposal fails."""


def score_move(d: Boxes, e: Boxes) -> int:
    """By how much the score of some candidate moves: the least s with box k of either in box k + s of the other."""
    if d.lows.shape != e.lows.shape or d.whole != e.whole:
        return int(d.lows.shape[1]) + 1
    boxes = [[np.column_stack([b.lows, np.array(b.whole)[:, 0]]), np.column_stack([b.highs, np.array(b.whole)[:, 1]])]
             for b in (d, e)]  # fmt: skip
    width = int(boxes[0][0].shape[1])
    for s in range(width):
        last = np.minimum(np.arange(width) + s, width - 1)
        inside = [(a[0] >= b[0][:, last]).all() and (a[1] <= b[1][:, last]).all() for a, b in (boxes, boxes[::-1])]
        if all(inside):
            return s
    return width


def drawn(d: Seen, e: Seen, delta: Fraction) -> Price:
    """A draw by scores, ρ^score, with ⊥ as a candidate or without."""
    (boxes, rho, refusal), (other, rho_prime, refusal_prime) = d.state, e.state
    if rho != rho_prime:
        return math.inf, "a decay that depends on the data"
    move = score_move(boxes, other)
    if refusal is not None and refusal_prime is not None:
        one, two = boxes.bounded(rho, refusal), other.bounded(rho, refusal_prime)
        if replace(one, bears=0) != replace(two, bears=0) or (one.bears != two.bears and not one.secret):
            return math.inf, "a weight of ⊥ that depends on the data"
        move = max(move, abs(max(one.bears, -1) - max(two.bears, -1)))
    elif refusal is not refusal_prime:
        return math.inf, "⊥ is a candidate on one side only"
    return 2 * move * -math.log(rho), ""


def weighed(d: Seen, e: Seen, delta: Fraction) -> Price:
    """A draw by public weights and scores, where what is not listed has the largest score: the largest log-ratio."""
    (made, rho), (other, rho_prime) = d.state, e.state
    if (rho, made.most) != (rho_prime, other.most):
        return math.inf, "a decay or a largest score that depends on the data"
    one, two = (dict(zip(m.keys, zip(m.weights, m.scores.tolist(), strict=True), strict=True)) for m in (made, other))
    if any(one[key][0] != two[key][0] for key in one.keys() & two.keys()):
        return math.inf, "a weight that depends on the data"
    moves = [abs(one.get(key, (0, made.most))[1] - two.get(key, (0, made.most))[1]) for key in {**one, **two}]
    return 2 * max(moves, default=0) * -math.log(rho), ""


def chained(d: Seen, e: Seen, delta: Fraction) -> Price:
    """A draw by a chain, q^V."""
    move = largest_move(d.state, e.state)
    if move == math.inf:
        return math.inf, "gaps, bins or a decay that depend on the data"
    return 2 * move * -math.log(d.state.q), ""


def running(d: Seen, e: Seen, delta: Fraction) -> Price:
    """Running counts, by what is counted for them."""
    (bins, noise), (other, noise_prime) = d.state, e.state
    if noise != noise_prime:
        return math.inf, "noise that depends on the data"
    moved = sum(int(np.abs(a - b).sum()) for a, b in zip(noise.parts(bins), noise.parts(other), strict=True))
    return moved / float(noise.scale), ""


def scored(d: Seen, e: Seen, delta: Fraction) -> Price:
    """Noisy choices."""
    (scores, rate), (other, _) = d.state, e.state
    move = np.asarray(other) - np.asarray(scores)
    one_way = (move >= 0).all() or (move <= 0).all()
    return float((1 if one_way else 2) * float(rate) * np.abs(move).max()), ""


def reaches(build: Any, proposals: Sequence[Any], *_: Any, same_answer: bool = False) -> tuple[list[int], float, bool]:
    """A for each proposal, the first interval on which it fails; the value; and whether all have one answer."""
    reach = build(FURTHEST)

    def first(proposal: Any) -> int:
        return bisect.bisect_left(range(FURTHEST), True, key=lambda k: not proposal.holds(*reach.interval(k)))

    return [first(p) for p in proposals], float(reach.value), same_answer


def proposed(d: Seen, e: Seen, delta: Fraction) -> Price:
    """Propose-test-release: the tests by A, the answer by how far it moves.

    Where all proposals have one answer nobody sees which of them passed: a reply costs the dearest test and the answer,
    ⊥ all tests.
    """
    (near, value, same), (far, other, _) = d.state, e.state
    tests, passed = [], None
    for i, ((proposal, look), (law, z)) in enumerate(zip(d.notes, d.laws, strict=False)):
        tests.append(abs(near[i] - far[i]) / float(law.scale))
        if problem := above(tests[-1], float(proposal.test.epsilon)):
            return sum(tests), f"a test {problem}"
        if not law.exact_tail(look + int(z[0])) <= Fraction(proposal.test.delta):
            return sum(tests), "a wrong proposal passes with a chance above δ"
        passed = i if passed is None and (look <= 0 or near[i] > look) else passed
    if passed is None or d.output.value is None:
        return sum(tests), ""
    spent = max(tests) if same else sum(tests)
    if value == other or max(near[passed], far[passed]) <= 1:  # the second: only a false pass lets it through
        return spent, ""
    noise = getattr(d.output.noise, "logarithm", d.output.noise)
    if noise is not d.output.noise:
        if not value or not other:
            return math.inf, "a scale of 0 and another one, both through the test"
        value, other = math.log(value), math.log(other)
    return spent + abs(other - value) / (noise.step * float(noise.law.scale)), ""


def stable(d: Seen, e: Seen, delta: Fraction) -> Price:
    """A_dist."""
    (value, far, told), (other, near, _) = d.state, e.state
    law = first_law(d)
    price = abs(far - near) / float(law.scale) if law else math.inf
    if not np.array_equal(value, other) and max(far, near) > 0:
        return price, "a neighbour has another value at a distance above 0"
    return price, above(price, float(told["epsilon"]))


def certified(u: Floats, y: Floats, family: Sequence[Any], needed: Sequence[float]) -> tuple[int, set[float]]:
    """Hampel's A, in parts of a row: the best certificate of a cell that holds the fit; and what the tests ask for."""
    if not family:
        return 0, set(needed)
    planes = Hyperplanes(u, y, around(family))
    return max(int(STEPS * planes.certificate(cell)) for cell in family), set(needed)


def hampel(d: Seen, e: Seen, delta: Fraction) -> Price:
    """Each test, with the noise that its threshold was drawn with; a reply shows one of them, ⊥ all."""
    (near, needed), (far, _) = d.state, e.state
    laws = [law for law, _ in d.loose if isinstance(law, IntegerLaplace)]
    drawn = [(law, test) for law, (test, rows) in zip(laws, d.looks, strict=False) if rows in needed]
    prices = [abs(near - far) / float(law.scale) for law, _ in drawn]
    if near != far and not drawn:
        return math.inf, "a test without noise"
    problem = next(
        filter(None, (above(p, float(test.test.epsilon)) for p, (_, test) in zip(prices, drawn, strict=True))), ""
    )
    return max(prices, default=0.0) if d.output else sum(prices), problem
