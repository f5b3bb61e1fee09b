"""Columns: what data look like, wherever they are kept."""

from uptack.columns.column import ArrayColumn, Column
from uptack.columns.selection import OrderStatistics

__all__ = ["ArrayColumn", "Column", "OrderStatistics"]
