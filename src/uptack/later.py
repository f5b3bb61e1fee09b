"""Modules that are loaded when they are first used: the large parts of SciPy take longer to import than to run."""

from __future__ import annotations

import importlib
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
