"""uptack: differentially private robust statistics without bounds on the data.

The answer is private and close, or it is ⊥ ("no reply").

Names are loaded when they are first used, so that `import uptack` is quick. They are listed once, in `__init__.pyi`,
where type checkers find them too.
"""

import ast
import importlib
import importlib.util
from pathlib import Path
from typing import Any

__version__ = "0.1.0"


def _homes() -> dict[str, tuple[str, str | None]]:
    """For every public name the module it is loaded from, and its name there; None for a module itself."""
    listed = ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8"))
    found: dict[str, tuple[str, str | None]] = {}
    for line in listed.body:
        if isinstance(line, ast.ImportFrom) and line.module and line.module.startswith("uptack"):
            for alias in line.names:  # a module that has the name of its function is called as the function
                module = line.module in ("uptack", f"uptack.{alias.name}")
                found[alias.name] = (f"uptack.{alias.name}", None) if module else (line.module, alias.name)
    return found


_HOMES = _homes()
_STATISTICS = "uptack.statistics"
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in ("aggregate", "engines", "functions"):  # deprecated: they say so when something is taken from them
        return importlib.import_module(f"uptack.{name}")
    if name not in _HOMES and not _is_statistic(name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, inside = _HOMES.get(name, (_STATISTICS, name))  # a statistic is public by its declaration
    loaded = importlib.import_module(module)
    globals()[name] = found = loaded if inside is None else getattr(loaded, inside)
    return found


def _is_statistic(name: str) -> bool:
    """Whether it is public by its declaration. Modules are not: Python looks for them itself."""
    if name.startswith("_") or importlib.util.find_spec(f"uptack.{name}") is not None:
        return False
    return hasattr(importlib.import_module(_STATISTICS), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
