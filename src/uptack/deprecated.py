"""Names of an earlier version, which go on working for one version and say what they are called now."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def _told(old: str, new: str) -> None:
    message = f"{old} is called {new} now; the old name goes with the next version"
    warnings.warn(message, DeprecationWarning, stacklevel=3)


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__` for names that are now others of the same module, or "package.module:name" elsewhere."""

    def found(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, new = names[name].rpartition(":")
        _told(f"{module}.{name}", f"{home or module}.{new}")
        return getattr(importlib.import_module(home or module), new)

    return found


def moved(module: str, *homes: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose public names are in other modules now."""

    def found(name: str) -> Any:
        for home in homes:
            target = importlib.import_module(home)
            if name in target.__all__:
                _told(f"{module}.{name}", f"{home}.{name}")
                return getattr(target, name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return found
