"""The registry: one declaration per release function, and the guard around each of them."""

from uptack.registry.declaration import Declaration, release
from uptack.registry.names import declared, find, in_tables, of_columns
from uptack.registry.options import Option

__all__ = ["Declaration", "Option", "declared", "find", "in_tables", "of_columns", "release"]
