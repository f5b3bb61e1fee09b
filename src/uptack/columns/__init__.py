"""What data look like: the one entrance for columns, whatever holds them, and the plain form of every value."""

from uptack.columns.numeric import ArrayColumn, Column
from uptack.columns.selection import OrderStatistics
from uptack.table.values.entrance import column, field, flags, indexed, matrix, numbers
from uptack.table.values.field import Field
from uptack.table.values.kinds import NUMERIC, Kind, canonical, in_order, labelled, whole

__all__ = [
    "NUMERIC",
    "ArrayColumn",
    "Column",
    "Field",
    "Kind",
    "OrderStatistics",
    "canonical",
    "column",
    "field",
    "flags",
    "in_order",
    "indexed",
    "labelled",
    "matrix",
    "numbers",
    "whole",
]
