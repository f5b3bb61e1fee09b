"""Modules that are loaded when they are first used: the large parts of SciPy take longer to import than to run."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


class Later:
    """A module under another name, imported at its first use.

    >>> stats = Later("scipy.stats")
    >>> float(stats.norm.cdf(0))
    0.5
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


def names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose public names are loaded when they are first used, each from its module.

    >>> names("email", {"message_from_string": "email.parser"})("nothing")
    Traceback (most recent call last):
        ...
    AttributeError: module 'email' has no attribute 'nothing'
    """

    def found(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return found
