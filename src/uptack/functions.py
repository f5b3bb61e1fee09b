"""Deprecated: `uptack.kernels` and `uptack.densities` are the names now."""

from uptack.deprecated import moved

__getattr__ = moved(__name__, "uptack.kernels", "uptack.densities")
