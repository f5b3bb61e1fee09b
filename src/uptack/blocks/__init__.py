"""Any function of the rows, made private: computed on many random blocks, and the results aggregated."""

from uptack.blocks.stable_values import BlockPlan, Vote, plan, stable_value
from uptack.blocks.subsample import subsample_aggregate

__all__ = ["BlockPlan", "Vote", "plan", "stable_value", "subsample_aggregate"]
