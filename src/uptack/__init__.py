"""uptack: differentially private robust statistics without bounds on the data.

The answer is private and close, or it is ⊥ ("no reply").

Names are loaded when they are first used, so that `import uptack` is quick. `__init__.pyi` lists them, also for type
checkers. Statistics and regressions need not be listed: they are public by their declarations.
"""

import difflib
import importlib
import importlib.util
from typing import Any

import lazy_loader as lazy

__version__ = "0.1.0"

_listed, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
_OPEN_ROOMS = ("uptack.statistics", "uptack.regression")
"""The packages whose release functions are public by their declarations."""


def __getattr__(name: str) -> Any:
    if name not in __all__ and not _is_hidden(name):
        for room in _OPEN_ROOMS:
            if name in (functions := _declared_in(room)):
                globals()[name] = function = functions[name]
                return function
    try:
        return _listed(name)
    except AttributeError:
        pass
    raise AttributeError(f"uptack has no {name!r}.{_hint(name)}", name=name)


def _declared_in(room: str) -> dict[str, Any]:
    """The release functions of a package, by their names."""
    importlib.import_module(room)
    return dict(importlib.import_module("uptack.registry.names").functions_of(room))


def _hint(name: str) -> str:
    """A suggestion for a misspelled name; "" if no name is similar, and for modules, which Python imports itself."""
    if _is_hidden(name):
        return ""
    words = importlib.import_module("uptack.registry.names").OTHER_WORDS
    if name in words:
        return f" {words[name]}"
    public = {*__all__, *(function for room in _OPEN_ROOMS for function in _declared_in(room))}
    near = difflib.get_close_matches(name, public, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _is_hidden(name: str) -> bool:
    """Whether the name is private or that of a module."""
    return name.startswith("_") or importlib.util.find_spec(f"uptack.{name}") is not None
