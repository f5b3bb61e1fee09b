"""Exact numbers: rationals in and out of floats, and reals known to any precision."""

from uptack.exact.rationals import Rational, read, round_down, round_up
from uptack.exact.reals import Real, ball, logarithm, lower, upper, working

__all__ = ["Rational", "Real", "ball", "logarithm", "lower", "read", "round_down", "round_up", "upper", "working"]
