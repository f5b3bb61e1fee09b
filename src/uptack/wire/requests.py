"""Requests as JSON: what a client sends, how a server reads it, and the JSON Schema of every release function.

    {"columns": ["age"], "where": ["ward == 'Surgery'"], "options": {"epsilon": 0.1, "interval": 0.95}}

Which options there are, and of which form, is what `uptack.registry` declares. Options that JSON has no form for, and
those that are the curator's to choose (adjacency, person, randomness), are not part of a request.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument, UnknownOption
from uptack.exact import read as read_number
from uptack.exact import round_up
from uptack.registry import Declaration, Option
from uptack.session import Request, Session

Schema = dict[str, Any]

SCALAR: Schema = {"type": ["string", "number", "boolean", "null"]}
NUMBER: Schema = {"anyOf": [{"type": "number"}, {"type": "string", "description": "an exact number, such as '1/3'"}]}
SCHEMAS: dict[str, Schema] = {
    "number": NUMBER,
    "numbers": {"anyOf": [NUMBER, {"type": "array", "items": NUMBER}]},
    "integer": {"type": "integer"},
    "flag": {"type": "boolean"},
    "word": {"type": "string"},
    "words": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    "choice": {"type": "string"},
    "range": {"type": "array", "items": SCALAR, "minItems": 2, "maxItems": 2},
    "step": {"anyOf": [{"type": "number"}, {"type": "string"}]},
    "edges": {"type": "array", "items": SCALAR},
    "keys": {"type": "array", "items": {"anyOf": [SCALAR, {"type": "array", "items": SCALAR}]}},
    "levels": {"type": "object", "additionalProperties": {"type": "array", "items": SCALAR}},
}
"""The JSON Schema of each form of an option (`uptack.registry.options.Form`)."""

OTHERS: dict[str, Schema] = {
    "missing": {"anyOf": [{"type": "string", "enum": ["drop", "low", "high"]}, {"type": "number"}]},
    "fit_intercept": {"type": "boolean"},
    "public_labels": {"type": "boolean"},
    "equals": {"anyOf": [SCALAR, SCHEMAS["keys"]]},
    "groups": {"anyOf": [SCHEMAS["keys"], SCHEMAS["levels"]]},
}
"""Options that have another form in JSON than on a command line, or none there."""

CURATOR = ("adjacency", "rows_per_person", "person", "entropy", "progress")
"""Options that the curator sets for a whole data set, or that belong to one process."""

LONGEST_LIST = 100_000
"""Entries of a list in a request."""
LONGEST_TEXT = 5_000
"""Characters of a text in a request, such as a formula."""
LONGEST_NUMBER = 2_000
"""Bits of an exact number above and below its bar. Products of a few of them are still written out in full."""


def wire_options(declaration: Declaration) -> tuple[Option, ...]:
    """The options of a release function that a request can have."""
    return tuple(
        option
        for option in declaration.options
        if option.name not in CURATOR and (option.form != "object" or option.name in OTHERS)
    )


def option_schema(option: Option) -> Schema:
    """The JSON Schema of an option."""
    schema = dict(OTHERS.get(option.name) or SCHEMAS[option.form])
    if option.choices:
        schema["enum"] = list(option.choices)
    return {**schema, "description": option.help} if option.help else schema


def request_schema(declaration: Declaration) -> Schema:
    """The JSON Schema of a request for a release function."""
    named = {"type": "array", "items": {"type": "string"}, "minItems": declaration.reads.least}
    if declaration.reads.most is not None:
        named["maxItems"] = declaration.reads.most
    if "formula" in declaration.allowed:
        named["minItems"] = 0
    columns = {**named, "description": "names of columns, in the order that the function takes them"}
    return body_schema(wire_options(declaration), columns=columns)


def body_schema(options: Iterable[Option], **parts: Schema) -> Schema:
    """The JSON Schema of a request with these options, and other parts."""
    options, about = tuple(options), 'conditions on rows, such as "age >= 18" or {"age": [">=", 18]}'
    where = {"type": "array", "items": {"type": ["string", "object"]}, "description": about}
    required = [option.name for option in options if option.required or option.name == "epsilon"]
    named = object_schema({option.name: option_schema(option) for option in options}, required)
    return object_schema({**parts, "where": where, "options": named}, ["options"])


def object_schema(properties: Mapping[str, Schema], required: Iterable[str]) -> Schema:
    """The JSON Schema of an object with these properties and no others."""
    return {"type": "object", "required": [*required], "additionalProperties": False, "properties": {**properties}}


# ------------------------------------------------------------------------------------------------------- on the server


def read_request(session: Session, declaration: Declaration, body: object) -> tuple[Session, Request]:
    """The request that a body describes, and the session on the rows that it is about.

    Whatever is wrong with it raises `InvalidArgument`. It reads no data.
    """
    parts = read_object("the request", body, ("columns", "where", "options"))
    listed = read_list("columns", parts.get("columns", []))
    columns = [checks.instance("columns", name, str, "names of columns") for name in listed]
    given = read_options(declaration.name, wire_options(declaration), parts.get("options", {}))
    return narrow(session, parts.get("where", [])), Request(declaration.name, *columns, **given)


def read_options(function: str, options: Iterable[Option], value: object) -> dict[str, Any]:
    """The options of a function, from a JSON object."""
    given, known = read_object("options", value), {option.name: option for option in options}
    for name in given:
        if name not in known:
            raise UnknownOption(name, function, f"Its options are {', '.join(known)}.")
    return {name: read_option(known[name], one) for name, one in given.items() if one is not None}


def narrow(session: Session, conditions: object) -> Session:
    """The session on the rows that meet conditions, each a text or an object as in `Session.where`."""
    for one in read_list("where", conditions):
        if not isinstance(one, str):
            one = {name: as_tuple(value) for name, value in read_object("where", one).items()}
        session = session.where(one)
    return session


def read_object(name: str, value: object, keys: Iterable[str] | None = None) -> Mapping[str, Any]:
    """A JSON object with no other keys than these."""
    given: Mapping[str, Any] = checks.instance(name, value, Mapping, "an object")
    for key in given if keys is not None else ():
        if key not in (keys or ()):
            raise UnknownOption(str(key), name, f"It has {', '.join(keys or ())}.")
    return given


def read_list(name: str, value: object) -> list[Any]:
    """A JSON list that is not too long."""
    entries: list[Any] = checks.instance(name, value, list, "a list")
    checks.few(name, len(entries), LONGEST_LIST, "entries", "Ask in several requests.")
    return entries


def read_option(option: Option, value: Any) -> Any:
    """The value of an option, from JSON."""
    form = option.form
    if form == "number":
        return _number(option.name, value)
    if form == "numbers":
        return [_number(option.name, one) for one in value] if isinstance(value, list) else _number(option.name, value)
    if form == "integer" and (isinstance(value, bool) or not isinstance(value, int)):
        raise InvalidArgument(option.name, "a whole number", checks.describe(value))
    if form in ("flag", "word", "choice"):
        kind = bool if form == "flag" else str
        if isinstance(value, str):
            fix = "To parse a formula takes the square of its length."
            checks.few(option.name, len(value), LONGEST_TEXT, "characters", fix)
        return checks.instance(option.name, value, kind, "true or false" if kind is bool else "a text")
    if form == "words" and not isinstance(value, str | list):
        raise InvalidArgument(option.name, "a text or a list of texts", checks.describe(value))
    if form == "levels" or (option.name == "groups" and isinstance(value, Mapping)):
        levels = read_object(option.name, value)
        return {name: [as_tuple(one) for one in read_list(option.name, listed)] for name, listed in levels.items()}
    if option.name == "equals" and not isinstance(value, list | dict):
        return value
    if form in ("edges", "keys", "range"):
        entries = [as_tuple(one) for one in read_list(option.name, value)]
        return tuple(entries) if form == "range" else entries
    if isinstance(value, dict):
        raise InvalidArgument(option.name, "a value or a list", "an object")
    return value


def _number(name: str, value: object) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InvalidArgument(name, "a number", checks.describe(value))
    if not isinstance(value, str):
        return value
    try:
        return _short(name, read_number(value))
    except (ValueError, ArithmeticError):
        raise InvalidArgument(name, "a number", repr(value[:40])) from None


def _short(name: str, value: Fraction) -> Fraction:
    """The number, unless it is too long to be computed with, and shown."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > LONGEST_NUMBER:
        raise InvalidArgument(name, "a number of at most 600 digits", "a longer one")
    return value


def as_tuple(value: Any) -> Any:
    """Lists inside a list as tuples: a group of several columns, or a condition."""
    return tuple(value) if isinstance(value, list) else value


# -------------------------------------------------------------------------------------------------------- on the client

WRITTEN: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (Fraction, lambda value: _decimal(_short("a number", value))),
    (dt.timedelta, lambda value: str(value)),
    ((dt.date, dt.time, np.datetime64, np.timedelta64), lambda value: str(value).replace(" ", "T")),
    (np.generic, lambda value: value.item()),
    (np.ndarray, lambda value: [plain(one) for one in value.tolist()]),
)


def _decimal(value: Fraction) -> float | str:
    """A number as a float if that is read as the same one, else as p/q."""
    near = round_up(value)
    return near if math.isfinite(near) and read_number(near) == value else str(value)


def plain(value: Any) -> Any:
    """An option's value as JSON has it: dates, and fractions that no decimal is, are texts, and tuples are lists."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    for kind, write in WRITTEN:
        if isinstance(value, kind):
            return write(value)
    if isinstance(value, Iterable):
        return [plain(one) for one in value]
    raise InvalidArgument("options", "values that JSON can hold", checks.describe(value))


def write_request(request: Request, conditions: Iterable[Any]) -> dict[str, Any]:
    """The body of a request. The inverse of `read_request`."""
    allowed = {option.name for option in wire_options(request.declaration)}
    for name in request.given:
        if name not in allowed:
            fix = "The curator sets it for the whole data set." if name in CURATOR else ""
            raise InvalidArgument(name, "left out of a request to a server", "given", fix)
    options = {name: plain(value) for name, value in request.given.items()}
    columns = [] if "formula" in options else list(request.columns)  # a formula names them
    return {"columns": columns, "where": [plain(one) for one in conditions], "options": options}
