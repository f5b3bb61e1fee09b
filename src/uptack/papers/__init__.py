"""The papers' algorithms under the papers' names and with their arguments, from the parts that the library is made of.

They follow the printed text to the letter but for the constants that are wrong in print. The neighbours are tables with
one row replaced (SUBSTITUTE), the number of rows n is public, and all noise is drawn exactly.
"""

from uptack.papers.dwork_lei_estimates import TM, M, S, Scale
from uptack.papers.dwork_lei_regression import R_H, R_S
from uptack.papers.dwork_roth_stability import A_dist, A_samp

__all__ = ["R_H", "R_S", "TM", "A_dist", "A_samp", "M", "S", "Scale"]
