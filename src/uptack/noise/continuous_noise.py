"""Continuous noise without rounding errors: real numbers known to as many digits as it takes.

A noise vector is a function of independent uniform reals. Only the first digits of each uniform real are drawn. Ball
arithmetic then gives a box that is certain to contain the noise vector. If the box does not determine the nearest
integers, more digits are drawn. So the integers are exactly the rounding of an ideal real-valued draw. Rounding is
post-processing, so the privacy proof for real noise applies without a larger sensitivity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flint import arb

from uptack.exact import working
from uptack.noise.entropy import Entropy

Transform = Callable[[Sequence[arb]], Sequence[arb]]


def _uniforms(drawn: list[int], bits: int) -> list[arb]:
    """The intervals [d, d + 1]·2^-bits."""
    scale = arb(2) ** (-bits)
    return [arb(d + arb(0.5), 0.5) * scale for d in drawn]


def nearest_integers(transform: Transform, uniforms: int, entropy: Entropy) -> list[int]:
    """The integers nearest to `transform(u)`, for u a vector of so many independent uniform reals in (0, 1)."""
    bits, drawn = 0, [0] * uniforms
    while True:
        fresh = entropy.bytes(16 * uniforms)
        drawn = [d << 128 | int.from_bytes(fresh[16 * i : 16 * i + 16], "little") for i, d in enumerate(drawn)]
        bits += 128
        with working(bits + 64):
            rounded = [(x + arb(0.5)).floor().unique_fmpz() for x in transform(_uniforms(drawn, bits))]
        if all(k is not None for k in rounded):
            return [int(k) for k in rounded if k is not None]


def exponential(u: arb) -> arb:
    """An exponential variable of mean 1 from a uniform one."""
    return -u.log()


def laplace(u: arb) -> arb:
    """A Laplace variable of scale 1 from a uniform one."""
    v = 2 * u - 1
    return -v.sgn() * abs(v).log()


def gamma(us: Sequence[arb]) -> arb:
    """A Gamma variable of scale 1. Its shape is the number of uniform variables."""
    product = arb(1)
    for u in us:
        product *= u
    return -product.log()


def normals(us: Sequence[arb]) -> list[arb]:
    """Standard normal variables from an even number of uniform ones, by the Box-Muller transform."""
    out = []
    for u, v in zip(us[::2], us[1::2], strict=True):
        radius, (sine, cosine) = (2 * exponential(u)).sqrt(), (2 * v).sin_cos_pi()
        out += [radius * cosine, radius * sine]
    return out
