"""The weight of Mann and Whitney's count where the sizes of both groups are secret.

Let S = Σ sgn(x_i - y_j) over the n₁·n₀ pairs of two groups, N = n₁ + n₀, L the larger size and s the smaller. Take

    F = h·S,  h = 1/L for L ≥ 8s/3,  h = (7/4 - 9L/(64s))/N otherwise,  F = 0 without rows.

Both pieces meet at L = 8s/3 with equal slopes. As a function of q = L/N, φ = N·h is concave in the inner piece, and its
tangent there is that of the convex 1/q. So φ ≤ 1/q everywhere, h ≤ 1/L, and φ falls in q.

**Theorem.** F moves by at most

1. 2, where a row gets another value in its group;
2. 7/4, where a row moves to the other group, with any value;
3. 3/2, where a row comes to a group, or goes.

*Proof.* 1. S moves by at most 2L, and h·2L ≤ 2.

2. The sizes go from (u + 1, v) to (u, v + 1). The pairs without the row are u·v, and S has v pairs with it before and u
after. So F moves by at most B = |h₂ - h₁|uv + h₁v + h₂u. B is the same for the way back, so let u ≥ v: then h₂ ≥ h₁, or
u = v, h₁ = h₂ and B < 7/4. Inner piece: N(h₂ - h₁) = (9/64)·N/(v(v + 1)), and all of it adds up to B = 7/4 - (7/4 +
9/64)/N. Outer piece: B = 2v/(u + 1) + 1 ≤ 7/4. Between the two h₁ = 1/(u + 1) is more than the inner formula says, and
its factor in B, v(1 - u), is not positive: so B is at most what the inner piece gives.

3. The sizes go from (u, v) to (u + 1, v), and F moves by at most A = |h₂ - h₁|uv + h₂v. If u ≥ v: inner piece, with
q = u/(u + v), A ≤ (7/4)(1 - q²) - (9/64)q² < 1.28; outer piece A = 2v/(u + 1) ≤ 3/4; in between as in 2. If u < v and
h₂ ≥ h₁: A = h₂v(u + 1) - h₁uv ≤ (7/4 + 9/64)·q² ≤ 1 with q = v/(u + v) ≤ 8/11 (inner), and 1 (outer). If u < v and
h₂ ≤ h₁: the larger share falls, φ rises, so h₂ ≥ h₁N/(N + 1), and A ≤ h₁v(u/(N + 1) + 1) ≤ φ·q·(2 - q) ≤ 2 - q. ∎

So (F, (n₁ - n₀)/8, 3N/8) moves by at most 2 in ℓ1, whatever one row becomes: the sizes are free. For balanced groups φ
is 1.61: the noise is as if S had a sensitivity of 1.24·N.
"""

from __future__ import annotations

from fractions import Fraction

MOVES = 2
"""What (F, (n₁ - n₀)/8, 3N/8) moves by at most."""
DIFFERENCE, TOTAL = Fraction(1, 8), Fraction(3, 8)
"""The weights of n₁ - n₀ and of N."""


def weight(first: int, second: int) -> Fraction:
    """h(n₁, n₀), exactly.

    >>> weight(3, 8), weight(5, 5), weight(0, 0)
    (Fraction(1, 8), Fraction(103, 640), Fraction(0, 1))
    """
    large, small = max(first, second), min(first, second)
    if large == 0:
        return Fraction(0)
    if 3 * large >= 8 * small:
        return Fraction(1, large)
    return (Fraction(7, 4) - Fraction(9 * large, 64 * small)) / (large + small)
