"""Answers as JSON and back: what a server stores and sends, and what a client shows.

A release is a tree of frozen values. `encode` writes it as JSON, each value that JSON has no form for as an object with
the key "$": a tuple, a fraction, an array, or an instance of a class of uptack with its state. `decode` makes the same
tree again, so that an answer from a server has the intervals, the table and the plot of a local one.

**What decoding may do.** Only classes of this package are looked up, by their full names, and not in its parts that
read, write or run something (`APART`). Instances are those of data classes, made with `object.__new__` and their own
fields, so no method is added or replaced. Functions are those of a short list (`FUNCTIONS`): a value may call them
later, with arguments out of the same text. No constructor runs. So a text from somebody else can at worst make a value
that is wrong, or an error.
"""

from __future__ import annotations

import base64
import datetime as dt
import importlib
import json
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum, EnumType
from fractions import Fraction
from typing import Any

import numpy as np

from uptack.errors import UptackError
from uptack.exact import read as read_number

TYPE, CONTENT = "$", "of"
MOST_DEPTH = 200
"""How deep values may be nested: a release is less than 30 deep."""

TEXTS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "fraction": (Fraction, str, read_number),
    "datetime": (dt.datetime, dt.datetime.isoformat, dt.datetime.fromisoformat),
    "date": (dt.date, dt.date.isoformat, dt.date.fromisoformat),
    "time": (dt.time, dt.time.isoformat, dt.time.fromisoformat),
    "seconds": (dt.timedelta, lambda value: str(value // dt.timedelta(microseconds=1)),
                lambda text: dt.timedelta(microseconds=int(text))),
    "bytes": (bytes, lambda value: base64.b64encode(value).decode(), base64.b64decode),
    "complex": (complex, str, complex),
}  # fmt: skip
"""Values that are written as a text: their type, how they are written, and how they are read."""

LISTS: dict[str, tuple[Any, Callable[[Any], Any]]] = {"tuple": (tuple, tuple), "set": (frozenset, frozenset)}

APART = ("__main__", "audit", "blocks", "cli", "client", "ledger", "samples", "server", "session", "table.engine")
"""Parts of uptack that read or write something, or run what they are given."""
FUNCTIONS = ("float", "uptack.ranks.correlations:from_tau", "uptack.ranks.superiority:from_share")
"""Functions that an answer may name: the scales that intervals are shown on."""

DAMAGE = (
    *(ValueError, TypeError, LookupError, AttributeError),
    *(RecursionError, ImportError, ArithmeticError, SyntaxError),
)
"""What a text may raise that was not written by `encode`; SyntaxError comes from the name of a dtype."""


class NotOnWire(UptackError):
    """A value that can't be written, or a text that does not describe one."""


def dumps(value: Any) -> str:
    """A value as a JSON text."""
    return json.dumps(encode(value), separators=(",", ":"), allow_nan=False)


def loads(text: str | bytes) -> Any:
    """The value of a JSON text that `dumps` wrote."""
    try:
        written = json.loads(text)
    except (ValueError, RecursionError):
        raise NotOnWire("the answer can't be read: it is not JSON") from None
    return read(written)


def read(written: Any) -> Any:
    """The value that `encode` wrote, from somebody who need not be trusted."""
    try:
        return decode(written)
    except DAMAGE:
        raise NotOnWire("the answer can't be read: it was written by another version, or is damaged") from None


def encode(value: Any) -> Any:
    """A value as JSON has it."""
    if value is None or isinstance(value, bool | str) or type(value) is int:
        return value
    if isinstance(value, float) and not isinstance(value, np.floating):
        return value if math.isfinite(value) else {TYPE: "float", CONTENT: repr(value)}
    if isinstance(value, list):
        return [encode(one) for one in value]
    if isinstance(value, Enum):
        return {TYPE: "member", CONTENT: [_class_name(type(value)), value.name]}
    if isinstance(value, np.ndarray | np.generic):
        return _array(np.asarray(value), isinstance(value, np.generic))
    if isinstance(value, Mapping) and not _ours(type(value)):
        name = "mapping" if isinstance(value, types.MappingProxyType) else "dict"
        return {TYPE: name, CONTENT: [[encode(k), encode(v)] for k, v in value.items()]}
    for name, (kind, make) in LISTS.items():
        if type(value) is kind or (make is frozenset and isinstance(value, set)):
            return {TYPE: name, CONTENT: [encode(one) for one in value]}
    for name, (kind, write, _) in TEXTS.items():
        if isinstance(value, kind):
            return {TYPE: name, CONTENT: write(value)}
    if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        return {TYPE: "name", CONTENT: _function_name(value)}
    return _instance(value)


def _array(value: np.ndarray[Any, Any], scalar: bool) -> dict[str, Any]:
    shape = None if scalar else list(value.shape)
    if value.dtype == object:
        return {TYPE: "array", "dtype": "object", "shape": shape, CONTENT: [encode(one) for one in value.ravel()]}
    written = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
    return {TYPE: "array", "dtype": value.dtype.str, "shape": shape, CONTENT: written}


def _instance(value: Any) -> dict[str, Any]:
    """An instance of a class of uptack: its class and its state. One that refuses to be pickled is not sent either."""
    if not _ours(type(value)) or not _is_data(type(value)):
        raise NotOnWire(f"a {type(value).__name__} can't be sent")
    try:
        value.__reduce_ex__(2)
    except TypeError:
        raise NotOnWire(f"a {type(value).__name__} can't be sent") from None
    items = [encode(one) for one in value] if isinstance(value, tuple) else None
    state = {name: getattr(value, name) for name in _fields(type(value)) if hasattr(value, name)}
    return {TYPE: "instance", "class": _class_name(type(value)), "items": items, CONTENT: encode(state)}


def _fields(kind: type) -> tuple[str, ...]:
    """The names of a class's own fields. What it has cached tells what somebody has asked of it, and is not sent."""
    return tuple(one.name for one in fields(kind)) if is_dataclass(kind) else ()


def _ours(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "uptack"


def _is_data(kind: type) -> bool:
    return is_dataclass(kind) or issubclass(kind, tuple)


def _class_name(kind: type) -> str:
    name = f"{kind.__module__}:{kind.__qualname__}"
    if "<" in name:
        raise NotOnWire(f"a {kind.__qualname__} can't be sent")
    return name


def _function_name(function: Any) -> str:
    name = "float" if function is float else f"{function.__module__}:{function.__qualname__}"
    if name not in FUNCTIONS:
        raise NotOnWire(f"{function.__qualname__} can't be sent")
    return name


def decode(written: Any, depth: int = 0) -> Any:
    """The value that `encode` wrote."""
    if depth > MOST_DEPTH:
        raise NotOnWire("the answer can't be read: it is nested too deeply")
    if isinstance(written, list):
        return [decode(one, depth + 1) for one in written]
    if not isinstance(written, dict):
        return written
    kind: str = written[TYPE]
    content: Any = written.get(CONTENT)
    if kind in TEXTS:
        return TEXTS[kind][2](content)
    if kind in LISTS:
        return LISTS[kind][1](decode(one, depth + 1) for one in content)
    if kind == "float":
        return float(content)
    if kind in ("dict", "mapping"):
        held = {decode(k, depth + 1): decode(v, depth + 1) for k, v in content}
        return held if kind == "dict" else types.MappingProxyType(held)
    if kind == "member":
        return _find(content[0], EnumType)[content[1]]
    if kind == "array":
        return _read_array(written, depth)
    if kind == "name":
        if content not in FUNCTIONS:
            raise NotOnWire("the answer can't be read: it names a function that answers do not have")
        return float if content == "float" else _find(content, types.FunctionType)
    return _read_instance(written, depth)


def _read_array(written: dict[str, Any], depth: int) -> Any:
    shape = written["shape"]
    if written["dtype"] == "object":
        flat = np.empty(len(written[CONTENT]), object)
        flat[:] = [decode(one, depth + 1) for one in written[CONTENT]]
    else:
        flat = np.frombuffer(base64.b64decode(written[CONTENT]), np.dtype(written["dtype"]))
    if shape is None:
        return flat[0]
    whole = flat.reshape(shape)
    whole.setflags(write=False)
    return whole


def _find(name: str, kinds: Any) -> Any:
    """The class or function of uptack of that name, which is not in some parts of it."""
    module, _, path = name.partition(":")
    parts = *module.split("."), *path.split(".")
    if not module.startswith("uptack.") or not all(part.isidentifier() for part in parts):
        raise NotOnWire("the answer can't be read: it names something outside of uptack")
    if any(f"{module}.".startswith(f"uptack.{part}.") for part in APART):
        raise NotOnWire("the answer can't be read: it names something that answers do not have")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    if not isinstance(found, kinds) or found.__module__ != module:
        raise NotOnWire("the answer can't be read: it names something that is no class or function")
    return found


def _read_instance(written: dict[str, Any], depth: int) -> Any:
    kind, items = _find(written["class"], type), written["items"]
    if not _is_data(kind):
        raise NotOnWire("the answer can't be read: it has an instance of a class that answers do not have")
    made = object.__new__(kind) if items is None else tuple.__new__(kind, decode(items, depth + 1))
    for name, value in decode(written[CONTENT], depth + 1).items():
        if name not in _fields(kind):
            raise NotOnWire("the answer can't be read: it has an attribute that its class does not have")
        object.__setattr__(made, name, value)
    return made
