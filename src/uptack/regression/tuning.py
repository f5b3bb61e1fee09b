"""Every tuning constant of regressions by bounded sums. None has a say in privacy: that follows from the sums alone.

Shares are parts of ε. The benchmark behind all of them is `benchmarks/coverage.py`: the error over that of the
estimator without privacy, and coverage of 95% intervals, on forty designs with n = 3,000 to 100,000 and ε = 1 and 3.
"""

from fractions import Fraction

UNITS, CENTRES, SCATTER, VARIANCES = Fraction(7, 100), Fraction(4, 100), Fraction(8, 100), Fraction(3, 100)
"""Shares of ε for units and centres of all columns, the scatter matrix and the variances of gradients. Each loss says
in its stages what Hessians and gradients get. The least that leaves units right to a factor of 4, and the edge of the
scatter matrix below `USELESS` where `UNITS` allow a fit."""

GROSS = 300.0
"""In units of a column, from its centre: a row with a value beyond is a gross error, and is left out. A unit is the
median difference of two rows that differ. So that is 450 standard deviations of a normal column; 1 in 10^4 rows of a
column with tails as heavy as those of t with 2 degrees of freedom is beyond 70."""

RANK = 12.0
"""Over the ε of a draw: the least number of rows beyond a far quantile. A quantile that is far too large then has a
chance of e^-6."""

EDGE, WIDTH = 1.67, 0.71
"""Times d, in units of the noise: the largest eigenvalue of matrix Laplace noise, and the root mean square of all."""

ROUND, LONGER = 0.02, 25.0
"""Rows of the scatter matrix are shortened to the length √d, or to a longer one while the noise's edge is below the
first part of its mean eigenvalue: at most to the second times d, squared."""

WIDER, WIDEST = 0.3, 3.0
"""The radius of rows in a Hessian is wider than its quantile while the noise's edge is below the first, at most by the
second."""

FIRST_CLIP = 2.0
"""Times p² over the ε of a gradient: rows that the first step clips where noise is loud."""

TAIL, FAR_TAIL = 6.0, 4.0
"""Times p over the ε of the last gradient: rows beyond the far quantile of lengths. The near one has so many times as
many."""

QUIET, NORMAL = 0.4, 2.2
"""A clip wider than the tail asks for is free while noise is below the first part of the sampling error. The near
quantile is about the second times √p spreads of residuals, for normal rows."""

HILL = 0.5
"""The largest index of a tail that is assumed: that of a law with a variance."""

LOST = 2.0
"""Over p: the part of the square of what clipping loses, if all clipped rows agree, that a variance allows for."""

HIDDEN, SHARE = 1.5, 0.1
"""In edges of its noise: eigenvalues of a Hessian below are hidden. A coefficient is not resolved where more than the
second part of it lies on hidden directions."""

USELESS = 0.6
"""⊥ by public numbers where the edge of the scatter matrix would exceed this part of its mean eigenvalue."""

CONVERGED = 0.5
"""⊥ where the last step is longer than this part of the stride of a loss: it may not have arrived."""

AMPLE = 1.2
"""Times the least n with a plan: what is advised after ⊥."""
