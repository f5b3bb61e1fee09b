"""Reach: how far a statistic can move when k people's rows change. One statistic, or one family, per file."""

from uptack.reach.interquantile_range import InterquantileRange
from uptack.reach.l_statistics import LStatistic, Segment
from uptack.reach.protocol import Reach

__all__ = ["InterquantileRange", "LStatistic", "Reach", "Segment"]
