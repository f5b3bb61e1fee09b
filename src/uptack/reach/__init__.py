"""Reach: how far a statistic can move when k people's rows change. One statistic, or one family, a file."""

from uptack.reach.columns import ArrayColumn, Column
from uptack.reach.order import LStatistic, Segment
from uptack.reach.protocol import Reach
from uptack.reach.selection import OrderStatistics
from uptack.reach.spread import InterquantileRange

__all__ = ["ArrayColumn", "Column", "InterquantileRange", "LStatistic", "OrderStatistics", "Reach", "Segment"]
