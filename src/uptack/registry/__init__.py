"""The registry: one declaration per release function, and the rim around each of them."""

from uptack.registry.declaration import Declaration, release
from uptack.registry.names import declared, find
from uptack.registry.options import Option

__all__ = ["Declaration", "Option", "declared", "find", "release"]
