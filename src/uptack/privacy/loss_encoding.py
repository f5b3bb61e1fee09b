"""Loss trees to and from plain JSON values, for the records of a ledger.

A node becomes an object with its kind and its fields. A rational becomes the text "p/q". Nothing is rounded, so the
tree that is read equals the one that was written. Every node of `uptack.privacy.loss` is known; others are refused.
"""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any

from uptack.errors import InvalidArgument, UnknownLoss
from uptack.privacy import loss
from uptack.privacy.guarantee import Adjacency

KINDS: dict[str, type[Any]] = {
    name: kind
    for name, kind in vars(loss).items()
    if isinstance(kind, type) and issubclass(kind, loss.Loss) and kind is not loss.Loss
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


def encode(tree: loss.Loss) -> dict[str, Any]:
    """A loss tree as plain JSON values.

    >>> encode(loss.Unit(loss.Test(0.1, 1e-6), None))
    {'kind': 'Unit', 'test': {'kind': 'Test', 'epsilon': '1/10', 'delta': '1/1000000'}, 'answer': None}
    """
    if KINDS.get(type(tree).__name__) is not type(tree):
        raise UnknownLoss(f"a {type(tree).__name__} is no node of a loss tree that can be written down")
    return {"kind": type(tree).__name__} | {f.name: _written(getattr(tree, f.name)) for f in fields(tree)}  # type: ignore[arg-type]


def _written(value: object) -> Any:
    if isinstance(value, loss.Loss):
        return encode(value)
    if isinstance(value, tuple):
        return [_written(part) for part in value]
    if isinstance(value, Fraction):
        return rational_text(value)
    if value is None or isinstance(value, bool | int):
        return value
    raise UnknownLoss(f"a loss node holds a {type(value).__name__}, which has no written form")


def decode(written: object) -> loss.Loss:
    """The loss tree that `encode` wrote. The nodes check their parameters again.

    >>> decode({"kind": "Pure", "epsilon": "1/3"})
    Pure(epsilon=Fraction(1, 3))
    """
    if not isinstance(written, dict):
        raise UnknownLoss(f"a {type(written).__name__} is not a written loss node")
    name = str(written.get("kind"))
    kind = KINDS.get(name)
    if kind is None:
        raise UnknownLoss(f"no loss node is of the kind {written.get('kind')!r}; was it written by a newer version?")
    if written.keys() - {"kind"} != {f.name for f in fields(kind)}:
        raise UnknownLoss(f"a {kind.__name__} is not written with the fields {sorted(written.keys() - {'kind'})}")
    try:
        node: loss.Loss = kind(**{f.name: _read(written[f.name]) for f in fields(kind)})
    except ValueError as error:
        raise UnknownLoss(f"a written {kind.__name__} is none: {error}") from error
    return node


def _read(value: Any) -> Any:
    if isinstance(value, dict):
        return decode(value)
    if isinstance(value, list):
        return tuple(_read(part) for part in value)
    return rational(value) if isinstance(value, str) else value


def encode_adjacency(relation: Adjacency) -> dict[str, Any]:
    """An adjacency as plain JSON values. One about rows is written as it was before there were people.

    >>> encode_adjacency(Adjacency("substitute", person=("id",)))
    {'kind': 'substitute', 'rows_per_person': 1, 'person': ['id']}
    """
    people = {"person": list(relation.person)} if relation.person else {}
    return {"kind": relation.kind, "rows_per_person": relation.rows_per_person, **people}


def decode_adjacency(written: Any) -> Adjacency:
    """The adjacency that `encode_adjacency` wrote; its fields are checked again."""
    return Adjacency(**{**written, "person": tuple(written.get("person", ()))})
