"""Every tuning constant of regressions by bounded sums. None has a say in privacy: that follows from the sums alone.

The benchmark behind all of them is `benchmarks/coverage.py`: error over that of the estimator without privacy, and
coverage of 95% intervals, on the designs of `benchmarks/regression_designs.py` with n = 3,000 to 100,000, ε = 1 and 3.
"""

from fractions import Fraction

SHARES = {step: Fraction(percent, 100) for step, percent in {
    "units": 6, "centres": 3, "scatter": 8, "radii": 3, "equations": 16, "spread": 3,
    "radius": 3, "hessian": 9, "second": 12, "near": 5, "far": 6, "variances": 3,
}.items()}  # fmt: skip
"""Parts of ε: for the units of all columns, the scatter matrix, the normal equations, and quantiles of the lengths of
gradients; centres, other quantiles and variances get 3% each. A loss whose curvature differs between rows
has the Hessian again, and a gradient more. The last gradient gets the rest: half for least squares. Units decide from
how many rows on there is a reply."""

UNIT_ROWS = 35
"""Over the ε of units: the rows that units need for each column that has a private one, and for two columns more. With
fewer, one fit in a hundred has a unit that is off by more than a factor of 4."""

GROSS = 300.0
"""In units of a column, from its centre: a row with a value beyond is a gross error, and is left out. A unit is the
median difference of two rows that differ, 0.95 standard deviations of a normal column. ⊥ where most rows are such."""

RANK = 12.0
"""Over the ε of a draw: the least number of rows beyond a far quantile. One that is drawn alone is far too large with a
chance of e^-6."""

MOST = 0.1
"""The largest part of the rows that are beyond a far quantile: with few rows, instead of that number."""

WIDER = 0.05
"""Rows of a matrix are cut to a length, or farther out while the edge of its noise is below this part of its mean
eigenvalue."""

BALANCE = 0.6
"""Normal equations: what the largest residual weighs beside the largest predictors. About 1/√3 makes the noise of the
Hessian times the step least. With 1 "10% dummy" has 2.6 times the error at n = 3,500."""

NEARER, STEEP = 4.0, 0.8
"""Rows beyond the near quantile of lengths, over those beyond the far one; and how much of the far one the near one is
at most: both are drawn on levels that are 4% apart."""

FAR = 2.0
"""How long the part of a gradient may be that the weight of a row far out leaves out, in clips. The other part is cut
for that, if it has to be, to no less than 1 - 1/2 of a clip. With n = 3,500 98% of the intervals hold the intercept of
"bend", and 91% with 3. The error of "2% dummy" at n = 20,000 is 2.8 in place of 2.5."""

HELD = 0.5
"""Where gradients that are cut at the far quantile hold less than this part of what the normal equations say of all,
the few rows beyond are taken to hold the rest. At n = 3,500 intervals hold 97% of the intercepts of logistic "rare",
and 27% without it; of the slopes of "no logit" 96%, and 85%."""

SHAPES = (0.2, 0.5)
"""The least and the largest shape of a tail that is assumed. An estimate is uncertain by about the first. The second is
that of a law that hardly has a variance. From 0 on 94% of the intervals hold the intercept of "no logit" at n = 3,500,
with this 98%."""

NOISE_WEIGHT = 6.0
"""How much the square of the noise counts beside that of what clipping loses at worst, where the clip is chosen: there
is noise in every fit, and clipped rows rarely all agree. With 1 intervals of "lognormal errors" at n = 20,000 are
0.8 times as long, and the error is 2.1 in place of 1.6."""

AGREE = 4.0
"""How many coefficients a fit may have for all clipped rows to agree. Up to that many, over p, is the part of the
square of what clipping loses that a variance allows for. With more, rows lie in many directions. For 3 coefficients a
part of 2/3 covers "no logit" in 89% of the runs at n = 3,500, and 1 in 92%."""

NOISE = 0.9
"""Eigenvalues are drawn to their mean by at most this part: what is left has an edge of noise, and so a floor."""

HIDDEN, SHARE, DOUBT = 1.25, 0.1, 0.75
"""In edges of the noise, whose largest eigenvalue may be larger: smaller eigenvalues of a Hessian are hidden. A
coefficient is not resolved where more than the second part of it lies on hidden directions. The third is how many edges
an eigenvalue may be too large by: those at the edge so much that the last step is four times too short. It was 3.5
times for wages on years and their squares with 3,500 rows. Eigenvalues that noise has lifted above 1.25 edges are about
twice too large: without this 87% of the intervals held "2% dummy" at n = 3,000 and ε = 3."""

SURE = 3.0
"""All of a Hessian is hidden where its mean eigenvalue is below so many deviations of that. With one edge of the noise
in place of it 62% of the quantile regressions on three predictors are ⊥ at n = 5,600, with this 18%."""

CONVERGED = 0.5
"""⊥ where the last step is longer than this part of the stride of a loss: it may not have arrived."""

USELESS, AMPLE = 0.6, 1.2
"""⊥ by public numbers where the edge of the scatter matrix would exceed the first part of its mean eigenvalue. What is
advised is the second times the least n."""
