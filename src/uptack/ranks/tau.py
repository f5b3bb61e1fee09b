"""Kendall's τ, and the correlation of elliptical data that follows from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack

from uptack.account import Account, Outcome
from uptack.exact import Rational, read
from uptack.mechanisms.additive_noise import noisy_integer
from uptack.noise import IntegerLaplace
from uptack.privacy import Privacy, loss
from uptack.ranks.concordant_pairs import concordance, square_sum
from uptack.ranks.normal_laplace import half_width
from uptack.ranks.rank_data import complete_rows
from uptack.ranks.rank_options import GRID, LOUDEST, RankOptions, open_account, sampling_note
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.table.arguments import side_by_side
from uptack.table.protocol import Rows
from uptack.table.reads import PAIR

HOW = "integer noise on the count of pairs"
SPREAD_SHARE = Fraction(1, 5)
"""The part of ε that the interval's variance gets."""
MOVES = 4
"""How far n·τ moves where a row is replaced."""


@dataclass(frozen=True)
class TauNoise:
    """What is known of the error of a noisy τ: sampling with a plug-in variance, noise, and the rows if they are noisy.

    `rows` is the number of rows, `scale` that of the Laplace noise on τ, `spread` a noisy mean of t_i², `blur` its
    noise, and `size` the law of the noise in the number of rows where that is secret.
    """

    tau: float
    rows: int
    scale: float
    spread: float
    blur: float
    size: IntegerLaplace | None = None
    seen: Callable[[float], float] = float

    def around(self, value: Any, confidence: Rational) -> tuple[float, float]:
        """An interval for the population's τ, or for what is made of it.

        The variance of τ is about 4ζ/n with ζ = mean t_i² - τ², and at most 2(1 - τ²)/n. Noise is allowed for once in ζ
        and exactly in τ. Where the number of rows is noisy, a fifth of the error goes into a range of it.
        """
        failing, sizes = 1 - float(read(confidence)), (self.rows, self.rows)
        if self.size is not None:
            off = self.size.cutoff(Fraction(failing / 10)) - 1
            failing, sizes = 0.8 * failing, (max(self.rows - off, 2), self.rows + off)
        near = max(abs(self.tau) - self.scale, 0.0)
        zeta = self.spread + self.blur + 2 * self.scale * abs(self.tau) - self.tau**2
        variance = min(4 * max(zeta, 0.0), 2 * (1 - near**2)) / sizes[0]
        half = half_width(math.sqrt(variance), self.scale * self.rows / sizes[0], 1 - failing)
        ends = [self.tau * self.rows / size + sign * half for size in sizes for sign in (-1, 1)]
        return self.seen(max(min(ends), -1.0)), self.seen(min(max(ends), 1.0))


def tau_error(given: Mapping[str, Any], cost: Privacy, rows: int) -> str:
    """What noise adds to τ at most with 95% confidence: Laplace of scale 4g/(nε·4/5)."""
    if not cost.adjacency.size_is_public or rows < 2:
        return ""
    off = math.log(20) * 4 * cost.adjacency.rows_per_person / (rows * 0.8 * cost.epsilon)
    return f"noise within {off:.2g}" if off < 1 else ""


@release(reads=PAIR, people="each", data=("x", "y"), missing="ignore", plan=tau_error, page="kendall_tau")
def kendall_tau(x: Any, y: Any, *, epsilon: Rational, **options: Unpack[RankOptions]) -> Release[float] | NoReply:
    """Kendall's τ-a: the share of concordant pairs of rows less that of discordant ones. It needs no bounds.

    With S = Σ over pairs i < j of sgn(x_i - x_j)·sgn(y_i - y_j) it is τ = S/(n(n-1)/2). A pair that ties in x or in y
    counts as neither, and stays in the denominator (τ-a): with many ties τ can't come near ±1.

    **Theorem.** The release is ε-differentially private. *Where n is public*, a replaced row changes the signs of n - 1
    pairs, by 2 at most: S moves by at most 2(n - 1). Integer Laplace noise on S, of scale 2(n - 1)g/ε₁ for g rows per
    person, is ε₁-private.

    *Where the number m of complete rows is secret*, A = 2S/(m - 1) = m·τ gets noise beside m. Let a row come whose mean
    sign with the others is a. Then A moves by 2a - τ, at most 3, and m by 1. If a row is replaced, A moves by at most 4
    and m does not. So (A, m) moves by at most 4 in ℓ1 either way: the number of rows is free.

    *The variance.* Let s_i = Σ_j sgn·sgn, t_i = s_i/(m - 1) and V = Σt_i². V moves by at most 4. *Proof, a replaced
    row.* Let e_i, e'_i be its signs with the N = n - 1 others, a, b their means, and u = |a + b|. As |s_i| ≤ N before
    and after, s_i² moves by at most 2N|e'_i - e_i| ≤ 2N(2 - |e_i + e'_i|), in all at most 2N²(2 - u); the row's own s²
    moves by N²|a - b|·u ≤ N²(2 - u)u. Together N²(4 - u²) ≤ 4N². *A row that comes.* t_i becomes t_i + (e_i - t_i)/m,
    so m·(t_i'² - t_i²) = 2t_i(e_i - t_i) + (e_i - t_i)²/m lies between -4 and 1/2 + 1/m, and the new row adds at most
    1. ∎ Fractions are rounded to multiples of 2^-16, which adds one unit to what they can move by.

    A fifth of ε pays for V: `result.interval()` is for the τ of the population that the rows are a sample of, by the
    normal limit of its law, and allows for the noise exactly.

    `missing="ignore"`: a row that lacks x or y takes part in nothing. Numbers are compared as floats of 64 bits.
    O(n log n). The options are listed in `uptack.ranks.rank_options.RankOptions`.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> x = np.arange(1000.0)
    >>> kendall_tau(x, x % 500, epsilon=1, entropy=SeededEntropy(1))
    Release(0.507..., Kendall's τ by integer noise on the count of pairs, ε = 1.0 (substitute), NOT PRIVATE: ...)
    """
    account, missing = open_account("Kendall's τ", epsilon, options)
    rows = complete_rows(side_by_side({"x": x, "y": y}), missing)
    return account.close(noisy_tau(rows, account, missing == "ignore"))


@release(reads=PAIR, people="each", data=("x", "y"), missing="ignore", plan=tau_error, page="kendall_tau")
def correlation(x: Any, y: Any, *, epsilon: Rational, **options: Unpack[RankOptions]) -> Release[float] | NoReply:
    """sin(πτ/2): the correlation of elliptical data, such as normal or Student's t, from Kendall's τ.

    **Theorem.** It is ε-differentially private: it is made of `kendall_tau`, which see, and of nothing else.

    For elliptical data sin(πτ/2) is the correlation of the population, also where there are no variances (Lindskog,
    McNeil and Schmock 2003). For other data it is a number of its own, between -1 and 1. Pearson's correlation can't be
    had without bounds: one row can carry it away. `result.interval()` is that of τ, seen through the same function.
    """
    account, missing = open_account("correlation of elliptical data", epsilon, options)
    rows = complete_rows(side_by_side({"x": x, "y": y}), missing)
    return account.close(noisy_tau(rows, account, missing == "ignore", seen=from_tau))


def from_tau(tau: float) -> float:
    """sin(πτ/2)."""
    return math.sin(math.pi / 2 * tau)


def least_rows(account: Account) -> int:
    """From how many rows on the noise on τ is worth a reply; public."""
    return math.ceil(MOVES * account.rows / (account.epsilon * (1 - SPREAD_SHARE) * LOUDEST)) + 1


def noisy_tau(rows: Rows, account: Account, dropped: bool, seen: Callable[[float], float] = float) -> Outcome[float]:
    """τ of the rows, or what `seen` makes of it; ⊥ where the noise would drown it."""
    least, secret = least_rows(account), dropped or not account.adjacency.size_is_public
    advice = Advice(n=least)
    if account.adjacency.size_is_public and rows.size < least:
        return Outcome.refusal(HOW, advice)
    s = concordance(*rows.in_memory().lines)
    first, second = account.split(1 - SPREAD_SHARE, SPREAD_SHARE)
    tau, m, scale, size = (_beside_rows if secret else _of_rows)(int(s.sum()) // 2, s.size, first)
    if tau is None or m < least:
        return Outcome.refusal(HOW, advice)
    spread = _whole(square_sum(s), max(s.size - 1, 1) ** 2)
    law = IntegerLaplace((MOVES * GRID + 1) * account.rows / second.epsilon)
    noisy = noisy_integer(spread, law, second)
    blur = float(Fraction(law.scale)) / (GRID * m)
    noise = TauNoise(tau, m, scale, noisy / (GRID * m), blur, size, seen)
    return Outcome(seen(tau), HOW, noise, notes=sampling_note(account))


def _of_rows(count: int, n: int, account: Account) -> tuple[float | None, int, float, IntegerLaplace | None]:
    """τ of a public number of rows, and the scale of its noise."""
    law = IntegerLaplace(Fraction(2 * (n - 1) * account.rows) / account.epsilon)
    noisy = noisy_integer(count, law, account)
    pairs = n * (n - 1) // 2
    return min(max(noisy / pairs, -1.0), 1.0), n, float(Fraction(law.scale) / pairs), None


def _beside_rows(count: int, m: int, account: Account) -> tuple[float | None, int, float, IntegerLaplace | None]:
    """τ of a secret number of rows, that number with noise, and the scale of the noise on τ."""
    law = IntegerLaplace((MOVES * GRID + 1) * account.rows / account.epsilon)
    size = IntegerLaplace(Fraction(law.scale) / GRID)
    paid = account.pay(loss.Pure(account.epsilon))
    noisy = noisy_integer(_whole(2 * count, max(m - 1, 1)), law, paid)
    rows = noisy_integer(m, size, paid)
    account.bought(rows, size)
    if rows < 2:
        return None, rows, 0.0, size
    return min(max(noisy / (GRID * rows), -1.0), 1.0), rows, float(Fraction(law.scale)) / (GRID * rows), size


def _whole(numerator: int, denominator: int) -> int:
    """A fraction in units of 1/GRID, rounded."""
    return (2 * numerator * GRID + denominator) // (2 * denominator)
