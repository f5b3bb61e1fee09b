"""Synthetic tables.

The module can be called: `uptack.synthetic(table, epsilon=1, delta=1e-6)` is `uptack.synthetic.synthetic(...)`.
"""

import sys
from types import ModuleType

from uptack.synthetic.private_rows import synthetic
from uptack.synthetic.synthetic_page import to_html
from uptack.synthetic.synthetic_table import ColumnFit, PairFit, SyntheticTable

__all__ = ["ColumnFit", "PairFit", "SyntheticTable", "synthetic", "to_html"]


class _Called(ModuleType):
    """A module that has the name of its main function: `uptack.synthetic` is the one, and is called as the other."""

    __call__ = staticmethod(synthetic)


sys.modules[__name__].__class__ = _Called
