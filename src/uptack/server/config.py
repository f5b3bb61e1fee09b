"""What a server serves: data sets, where its ledger and releases are kept, and who may ask.

`uptack serve patients.parquet --epsilon 3` is a configuration of one data set. A file in TOML describes more; there is
one in `docs/server.md`.
"""

from __future__ import annotations

import ipaddress
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from uptack import checks
from uptack.errors import InvalidArgument, UnknownOption
from uptack.privacy import ADD_REMOVE, SUBSTITUTE
from uptack.table.engine.files import DIALECT
from uptack.wire import answers

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""Names of data sets are parts of addresses."""
OPENING = ("table", "person", "adjacency", "rows_per_person", "noun", "types", *DIALECT)
"""Options of `uptack.open` that a configuration may have."""
ADJACENCIES = {"substitute": SUBSTITUTE, "add-remove": ADD_REMOVE}


@dataclass(frozen=True)
class DatasetConfig:
    """One data set: its source, its budget, and how it is opened."""

    name: str
    source: Any
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    title: str = ""
    approve_above: Fraction | None = None
    seconds: float | None = None
    opening: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise InvalidArgument("the name of a data set", "letters, digits, '_', '-' and '.'", repr(self.name))
        for name in ("epsilon", "delta", "approve_above"):
            if (given := getattr(self, name)) is not None:
                exact = given if isinstance(given, bool | Fraction) else str(given)
                object.__setattr__(self, name, checks.nonnegative(f"{name} of {self.name}", exact))
        if self.seconds is not None:
            object.__setattr__(self, "seconds", float(checks.positive(f"seconds of {self.name}", self.seconds)))
        checks.instance(f"title of {self.name}", self.title, str, "a text")


@dataclass(frozen=True)
class ServerConfig:
    """All of a server."""

    datasets: tuple[DatasetConfig, ...]
    store: str
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    slots: bool = True
    requests_per_second: float = 20.0
    requests_at_once: int = 4
    largest_body: int = 262_144
    proxy_header: str | None = None
    proxy_addresses: tuple[str, ...] = ()
    proxy_curators: tuple[str, ...] = ()
    certificate: str | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        for name in ("port", "workers", "requests_at_once", "largest_body"):
            checks.integer(name, getattr(self, name), least=1)
        checks.positive("requests_per_second", self.requests_per_second)
        checks.instance("slots", self.slots, bool, "true or false")
        for name in ("store", "host", "certificate", "key", "proxy_header"):
            if (given := getattr(self, name)) is not None and (not isinstance(given, str) or not given):
                raise InvalidArgument(name.replace("_", "."), "a text", checks.describe(given))
        names = [one.name for one in self.datasets]
        if not names or len(set(names)) < len(names):
            raise InvalidArgument("datasets", "one or more, each with a name of its own", names or "none")
        if (self.proxy_header is None) != (not self.proxy_addresses):
            fix = "The header is believed only if the request comes from one of the addresses."
            raise InvalidArgument("proxy", "a header together with addresses", "one without the other", fix)
        for address in self.proxy_addresses:
            try:
                ipaddress.ip_address(address)
            except ValueError:
                raise InvalidArgument("proxy.addresses", "IP addresses", repr(address)) from None
        if (self.certificate is None) != (self.key is None):
            raise InvalidArgument("key", "given together with certificate", "one without the other")

    def to_text(self) -> str:
        """The configuration as a text, for the worker processes of the server."""
        return answers.dumps({**vars(self), "datasets": [vars(one) for one in self.datasets]})

    @classmethod
    def from_text(cls, text: str) -> ServerConfig:
        written = answers.loads(text)
        return cls(**{**written, "datasets": tuple(DatasetConfig(**one) for one in written["datasets"])})

    @property
    def url(self) -> str:
        host = "localhost" if self.host in ("127.0.0.1", "0.0.0.0", "::") else self.host
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}"


def read_config(path: str | Path) -> ServerConfig:
    """The configuration in a TOML file. Paths in it are relative to the file."""
    place = Path(path)
    try:
        content = tomllib.loads(place.read_text("utf-8"), parse_float=Decimal)
    except OSError as error:
        got = f"{place.name}: {error.strerror}"
        raise InvalidArgument("the configuration", "a file that can be read", got) from None
    except ValueError as error:
        raise InvalidArgument("the configuration", "TOML", f"{place.name}: {error}") from None
    datasets, proxy = content.pop("datasets", {}), content.pop("proxy", {})
    names = {one.name for one in fields(ServerConfig)} - {"datasets"}
    signing = {name for name in names if name.startswith("proxy_")}
    _refuse_unknown("the configuration", content, names - signing)
    _refuse_unknown("proxy", proxy, {name.removeprefix("proxy_") for name in signing})
    if "store" not in content:
        raise InvalidArgument("store", "given: a path or the URL of a PostgreSQL database", "nothing")
    given: dict[str, Any] = {
        name: float(value) if isinstance(value, Decimal) else value for name, value in content.items()
    }
    given |= {name: relative(given[name], place.parent) for name in ("store", "certificate", "key") if name in given}
    made = tuple(read_dataset(name, one, place.parent) for name, one in datasets.items())
    for name, listed in proxy.items():  # a text would be taken for a list of letters
        if name != "header" and not (isinstance(listed, list) and all(isinstance(one, str) and one for one in listed)):
            raise InvalidArgument(f"proxy.{name}", 'a list of texts, such as ["dr.chen"]', checks.describe(listed))
        given[f"proxy_{name}"] = listed if name == "header" else tuple(listed)
    return ServerConfig(made, **given)


def read_dataset(name: str, given: Mapping[str, Any], folder: Path) -> DatasetConfig:
    """One data set of a configuration."""
    own = {one.name for one in fields(DatasetConfig)} - {"name", "opening"}
    _refuse_unknown(f"data set {name}", given, own | set(OPENING))
    if "source" not in given:
        raise InvalidArgument(f"source of {name}", "given", "nothing", "It is a path, or the URL of a database.")
    opening = {key: given[key] for key in OPENING if key in given}
    if "adjacency" in opening:
        word = checks.choice("adjacency", opening["adjacency"], tuple(ADJACENCIES))
        opening["adjacency"] = ADJACENCIES[word]
    values = {key: given[key] for key in own if key in given}
    values["source"] = relative(values["source"], folder)
    return DatasetConfig(name, opening=opening, **values)


def relative(place: Any, folder: Path) -> Any:
    """A path relative to a folder; URLs and other values as they are."""
    return place if not isinstance(place, str) or "://" in place else str(folder / os.path.expanduser(place))


def one_file(path: str, *, store: str | None = None, **given: Any) -> ServerConfig:
    """The configuration of `uptack serve FILE`: one data set, with its store beside it unless given."""
    place = Path(path)
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", place.name.split(".")[0]).strip("-") or "data"
    own = {one.name for one in fields(DatasetConfig)}
    described = DatasetConfig(name, path, **{key: given.pop(key) for key in own & given.keys()})
    beside = str(place.with_name(f"{place.name}.uptack.db"))
    return ServerConfig((described,), beside if store is None else store, **given)


def _refuse_unknown(where: str, given: Any, names: set[str]) -> None:
    for name in checks.instance(where, given, Mapping, "a table of TOML"):
        if name not in names:
            raise UnknownOption(name, where, f"It has {', '.join(sorted(names))}.")
