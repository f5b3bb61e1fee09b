"""Reach: how far a statistic can move when k people's rows change. One statistic, or one family, per file."""

from uptack.reach.order import LStatistic, Segment
from uptack.reach.protocol import Reach
from uptack.reach.spread import InterquantileRange

__all__ = ["InterquantileRange", "LStatistic", "Reach", "Segment"]
