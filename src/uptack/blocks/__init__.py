"""Any function of the rows, made private: computed on many random blocks, and the results aggregated."""

from uptack.blocks.stable import Plan, Vote, plan, stable_value
from uptack.blocks.subsample import subsample_aggregate

__all__ = ["Plan", "Vote", "plan", "stable_value", "subsample_aggregate"]
