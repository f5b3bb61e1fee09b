"""uptack: differentially private robust statistics without bounds on the data.

The answer is private and close, or it is ⊥ ("no reply").

Names are loaded when they are first used, so that `import uptack` is quick. They are listed once, in `__init__.pyi`,
where type checkers find them too.
"""

import difflib
import importlib
import importlib.util
from typing import Any

import lazy_loader as lazy

__version__ = "0.1.0"

_listed, __dir__, __all__ = lazy.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name not in __all__ and _is_statistic(name):
        globals()[name] = value = getattr(importlib.import_module("uptack.statistics"), name)
        return value
    try:
        return _listed(name)
    except AttributeError:
        pass
    raise AttributeError(f"uptack has no {name!r}.{_hint(name)}", name=name)


def _hint(name: str) -> str:
    """The name that may be meant; "" where none is like it, and for modules, which Python then looks for itself."""
    if _is_hidden(name):
        return ""
    words = importlib.import_module("uptack.registry.other_words").OTHER_WORDS
    if name in words:
        return f" {words[name]}"
    near = difflib.get_close_matches(name, {*__all__, *importlib.import_module("uptack.statistics").__all__}, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _is_hidden(name: str) -> bool:
    """Whether it is private, or a module."""
    return name.startswith("_") or importlib.util.find_spec(f"uptack.{name}") is not None


def _is_statistic(name: str) -> bool:
    """Whether it is public by its declaration. Modules are not: Python looks for them itself."""
    if _is_hidden(name):
        return False
    return hasattr(importlib.import_module("uptack.statistics"), name)
