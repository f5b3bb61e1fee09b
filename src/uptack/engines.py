"""Deprecated: `uptack.mechanisms` is the name now."""

from uptack.deprecated import moved

__getattr__ = moved(__name__, "uptack.mechanisms")
