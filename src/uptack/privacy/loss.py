"""The loss tree: frozen nodes that record which mechanisms ran. `uptack.privacy.cost` computes their cost.

The two are separate on purpose. A mechanism reports what it did. One interpreter, with one theorem per kind of node,
turns the report into (ε, δ).

`encode` and `decode` write trees as plain JSON values, for the records of a ledger. A node becomes an object with its
kind and its fields, a rational the text "p/q". Nothing is rounded, so the tree that is read equals the one written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from uptack import checks
from uptack.errors import InvalidArgument, UnknownLoss
from uptack.exact import Rational
from uptack.privacy.calibration import gaussian_delta


class Loss:
    """A node of a loss tree. Its fields are checked by their names (`CHECKS`), and numbers become rationals."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            check = CHECKS.get(field.name)
            if check is not None:
                object.__setattr__(self, field.name, check(field.name, getattr(self, field.name)))


@dataclass(frozen=True)
class Pure(Loss):
    """A mechanism that is ε-differentially private: Laplace, geometric, K-norm, report noisy max."""

    epsilon: Rational


@dataclass(frozen=True)
class BoundedRange(Loss):
    """A mechanism of bounded range ε: for any two neighbours, ln(P(y)/P'(y)) lies in *one interval of length ε*.

    Draws with weights that depend on a score: inverse sensitivity, the chain, the exponential mechanism. An ε-private
    mechanism has an interval of length 2ε, from -ε to ε. Here the length is ε, and the interval must hold 0, since
    neither law can be everywhere the likelier one. So bounded range ε is ε-private too, and many such draws cost less
    together than many pure ones (Durfee and Rogers 2019; Dong, Durfee and Rogers 2020).

    Post-processing keeps the range. A mechanism may also be a mixture of such draws, over randomness that is the same
    under both neighbours (digits that break ties, blocks, subsamples). The log-ratio of a mixture need not have the
    range, but all that is claimed for the node passes on to it: see `uptack.privacy.cost`, `zcdp` and `tight`.
    """

    epsilon: Rational


@dataclass(frozen=True)
class Approximate(Loss):
    """A mechanism that states its own guarantee (ε, δ)."""

    epsilon: Rational
    delta: Rational


@dataclass(frozen=True)
class Gaussian(Loss):
    """Gaussian noise of standard deviation `noise_multiplier` times the sensitivity, claimed to be (ε, δ).

    The claim is checked against the exact condition when the node is created. The noise multiplier is kept because many
    Gaussian releases together cost much less than the sum of their (ε, δ): see `uptack.privacy.tight`.
    """

    epsilon: Rational
    delta: Rational
    noise_multiplier: Rational

    def __post_init__(self) -> None:
        super().__post_init__()
        epsilon, delta = Fraction(self.epsilon), checks.inside_unit("delta", self.delta)
        if not gaussian_delta(self.noise_multiplier, epsilon) <= delta:
            must = f"large enough for ε = {float(epsilon)}, δ = {float(delta)}"
            raise InvalidArgument("noise_multiplier", must, checks.describe(self.noise_multiplier))


@dataclass(frozen=True)
class Zcdp(Loss):
    """A mechanism that is ρ-zCDP except with probability `failure` (Bun and Steinke 2016), stated as (ε, δ) at this δ.

    The ε follows from ρ, `failure` and δ (`uptack.privacy.cost`), and is at least `epsilon`. Those of a
    release with one δ are converted to (ε, δ) once, all together: see `uptack.privacy.cost`.
    """

    rho: Rational
    delta: Rational
    failure: Rational = 0
    epsilon: Rational = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not Fraction(self.failure) < checks.inside_unit("delta", self.delta):
            raise InvalidArgument("failure", "below delta", checks.describe(self.failure))


@dataclass(frozen=True)
class Test(Loss):
    """The test of a proposal. It is ε-private, and lets a wrong proposal pass with probability at most δ."""

    __test__ = False  # not a pytest class

    epsilon: Rational
    delta: Rational


@dataclass(frozen=True)
class Answer(Loss):
    """The release after a test: ε-private between neighbours if the proposal is right."""

    epsilon: Rational


@dataclass(frozen=True)
class Unit(Loss):
    """One propose-test-release step. `answer` is None if the test failed and nothing was released."""

    test: Test
    answer: Answer | None


@dataclass(frozen=True)
class Cascade(Loss):
    """Units tried in order until one answers.

    `same_answer` states that the law of the answer does not depend on which test passed, as in S, M and R_H.
    """

    units: tuple[Unit, ...]
    same_answer: bool = False


@dataclass(frozen=True)
class Composed(Loss):
    """Several mechanisms on the same data, each of which may depend on earlier answers. Their costs add.

    Dwork and Lei distinguish levels, parallel components and nested calls. All three cost the sum of their parts.
    """

    parts: tuple[Loss, ...]


@dataclass(frozen=True)
class Disjoint(Loss):
    """Mechanisms with independent randomness, each on the rows of one group, where a row is in at most one group.

    The group of a row must depend on that row only. The parameters of the parts are for *one added or removed row*,
    whatever the adjacency of the whole. A person is in up to `groups_per_person` groups, which depend on that person's
    rows only, and the parameters are for one added or removed person.
    """

    parts: tuple[Loss, ...]
    groups_per_person: int = 1


@dataclass(frozen=True)
class Partition(Loss):
    """A mechanism on the results of random blocks, with each row in at most `blocks_per_row` of them."""

    part: Loss
    blocks_per_row: int = 1


@dataclass(frozen=True)
class Subsample(Loss):
    """A mechanism on a random subsample.

    `rate` is the probability of a row to be sampled. It may be given for two kinds of sampling only: a sample of fixed
    size without replacement under SUBSTITUTE, or Poisson sampling (independent coins) under ADD_REMOVE. Without a rate
    the only claim is that neighbours stay neighbours.
    """

    part: Loss
    rate: Rational | None = None


def _node(name: str, value: object, kind: type = Loss) -> Any:
    return checks.instance(name, value, kind, f"a loss node of kind {kind.__name__}")


def _nodes(name: str, values: object, kind: type = Loss) -> tuple[Any, ...]:
    if not isinstance(values, tuple) or not values:
        raise InvalidArgument(name, "a tuple of at least one loss node", checks.describe(values))
    return tuple(_node(f"{name}[{i}]", value, kind) for i, value in enumerate(values))


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "epsilon": checks.nonnegative,
    "delta": checks.delta,
    "rho": checks.nonnegative,
    "failure": checks.delta,
    "noise_multiplier": checks.positive,
    "rate": lambda name, value: None if value is None else checks.probability(name, value),
    "groups_per_person": lambda name, value: checks.integer(name, value, least=1),
    "blocks_per_row": lambda name, value: checks.integer(name, value, least=1),
    "test": lambda name, value: _node(name, value, Test),
    "answer": lambda name, value: None if value is None else _node(name, value, Answer),
    "units": lambda name, value: _nodes(name, value, Unit),
    "part": _node,
    "parts": _nodes,
}
"""What each field of a node must be."""

# ---------------------------------------- as JSON

KINDS: dict[str, type[Any]] = {
    name: kind
    for name, kind in list(globals().items())
    if isinstance(kind, type) and issubclass(kind, Loss) and kind is not Loss
}
LONGEST = 12_000
"""Bits of a numerator or denominator that may be written: Python reads no integers of more than 4,300 digits."""


def rational_text(value: Fraction) -> str:
    """A rational as "p/q", in lowest terms.

    >>> rational_text(Fraction(3)), rational_text(Fraction(-2, 6))
    ('3/1', '-1/3')
    """
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > LONGEST:
        raise InvalidArgument("a rational", f"of at most {LONGEST} bits above and below its bar", "a longer one")
    return f"{value.numerator}/{value.denominator}"


def rational(text: object) -> Fraction:
    """The rational that `rational_text` wrote. Any other text raises `ValueError`."""
    if not isinstance(text, str) or "/" not in text:
        raise ValueError("not a rational of the form p/q")
    try:
        value = Fraction(text)
    except ZeroDivisionError as error:
        raise ValueError("not a rational of the form p/q") from error
    if rational_text(value) != text:
        raise ValueError("not a rational in lowest terms")
    return value


def encode(tree: Loss) -> dict[str, Any]:
    """A loss tree as plain JSON values.

    >>> encode(Unit(Test(0.1, 1e-6), None))
    {'kind': 'Unit', 'test': {'kind': 'Test', 'epsilon': '1/10', 'delta': '1/1000000'}, 'answer': None}
    """
    if KINDS.get(type(tree).__name__) is not type(tree):
        raise UnknownLoss(f"a {type(tree).__name__} is not a loss node that can be encoded")
    return {"kind": type(tree).__name__} | {f.name: _encode_field(getattr(tree, f.name)) for f in fields(tree)}  # type: ignore[arg-type]


def _encode_field(value: object) -> Any:
    if isinstance(value, Loss):
        return encode(value)
    if isinstance(value, tuple):
        return [_encode_field(part) for part in value]
    if isinstance(value, Fraction):
        return rational_text(value)
    if value is None or isinstance(value, bool | int):
        return value
    raise UnknownLoss(f"a loss node holds a {type(value).__name__}, which can't be encoded")


def decode(written: object) -> Loss:
    """The loss tree that `encode` wrote. The nodes check their parameters again.

    >>> decode({"kind": "Pure", "epsilon": "1/3"})
    Pure(epsilon=Fraction(1, 3))
    """
    if not isinstance(written, dict):
        raise UnknownLoss(f"a {type(written).__name__} is not an encoded loss node")
    name = str(written.get("kind"))
    kind = KINDS.get(name)
    if kind is None:
        raise UnknownLoss(f"unknown kind of loss node {written.get('kind')!r}; was it written by a newer version?")
    if written.keys() - {"kind"} != {f.name for f in fields(kind)}:
        raise UnknownLoss(f"an encoded {kind.__name__} can't have the fields {sorted(written.keys() - {'kind'})}")
    try:
        node: Loss = kind(**{f.name: _read(written[f.name]) for f in fields(kind)})
    except ValueError as error:
        raise UnknownLoss(f"an encoded {kind.__name__} is invalid: {error}") from error
    return node


def _read(value: Any) -> Any:
    if isinstance(value, dict):
        return decode(value)
    if isinstance(value, list):
        return tuple(_read(part) for part in value)
    return rational(value) if isinstance(value, str) else value
