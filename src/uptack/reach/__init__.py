"""Reach: how far a statistic can move when k people's rows change. One statistic, or one family, per file."""

from uptack.reach.differences import InterquantileRange
from uptack.reach.l_statistics import LStatistic, Reach, Segment

__all__ = ["InterquantileRange", "LStatistic", "Reach", "Segment"]
