"""Any function of the rows, made private: computed on many random blocks, and the results aggregated."""

from uptack.aggregate.stable import Plan, Vote, plan, stable_value
from uptack.aggregate.subsample import subsample_aggregate

__all__ = ["Plan", "Vote", "plan", "stable_value", "subsample_aggregate"]
