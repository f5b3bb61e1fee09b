"""Sources of randomness: one explicit object, created at the top and passed down."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from uptack import checks


class Entropy(ABC):
    """A source of independent fair bits.

    `private` says whether the bits are unpredictable to everybody. If it is False, releases from this source are
    stamped "not private". Threads may share a source: no byte may be given out twice.
    """

    private: bool

    @abstractmethod
    def bytes(self, count: int) -> bytes:
        """`count` random bytes."""

    def begin(self) -> None:
        """Said before data are read for a draw. A source for dry runs, which must read none, stops them here."""
        return

    def octets(self, size: int) -> NDArray[np.uint8]:
        """A vector of random bytes."""
        return np.frombuffer(self.bytes(size), np.uint8)

    def words(self, size: int) -> NDArray[np.uint32]:
        """A vector of random 32-bit words."""
        return np.frombuffer(self.bytes(4 * size), np.uint32)

    def signs(self, size: int) -> NDArray[np.int64]:
        """A vector of fair signs ±1."""
        bits = np.unpackbits(self.octets(-(-size // 8)), count=size)
        return 2 * bits.astype(np.int64) - 1

    def below(self, bound: int) -> int:
        """A uniform integer in [0, bound): as many bits as the bound has, redrawn if they reach it."""
        bits = (bound - 1).bit_length()
        size = -(-bits // 8)
        while True:
            drawn = int.from_bytes(self.bytes(size), "little") >> (8 * size - bits)
            if drawn < bound:
                return drawn

    def integers(self, bound: int, size: int) -> NDArray[np.int64]:
        """A vector of uniform integers in [0, bound), for a bound of at most 2^63."""
        bits = (bound - 1).bit_length()
        width = next(w for w in (1, 2, 4, 8) if bits <= 8 * w)
        mask = np.array((1 << bits) - 1, f"u{width}")

        def candidates(count: int) -> NDArray[np.int64]:
            raw = np.frombuffer(self.bytes(width * count), f"u{width}") & mask
            return np.asarray(raw, np.int64)

        out = candidates(size)
        while (beyond := np.flatnonzero(out >= bound)).size:
            out[beyond] = candidates(beyond.size)
        return out

    def digits(self, bound: int, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """A uniform integer in [0, bound) for each row. Keys say which cell a row is in.

        They make no difference to the law. An audit uses them, to give the common rows of neighbours the same digits.
        """
        return self.integers(bound, keys.size)


class SystemEntropy(Entropy):
    """The operating system's random bytes: the default, and the only built-in source that gives privacy."""

    private = True

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)

    def __repr__(self) -> str:
        return "SystemEntropy()"


class SeededEntropy(Entropy):
    """A reproducible source for tests and studies. **Anyone who knows the seed can subtract the noise.**

    Every result drawn from it is stamped "not private".

    >>> SeededEntropy(1).bytes(4) == SeededEntropy(1).bytes(4)
    True
    """

    private = False

    def __init__(self, seed: int) -> None:
        self.seed = checks.integer("seed", seed, least=0)
        self._generator = np.random.Generator(np.random.Philox(self.seed))

    def bytes(self, count: int) -> bytes:
        """The next bytes of the sequence that the seed determines. NumPy's generator has a lock of its own."""
        return self._generator.bytes(count)

    def __repr__(self) -> str:
        return f"SeededEntropy({self.seed})"


def source(entropy: Entropy | None) -> Entropy:
    """The given source, or the operating system's."""
    if entropy is None:
        return SystemEntropy()
    fix = "Leave it out for the system's own randomness, or pass SeededEntropy(seed) in tests."
    checked: Entropy = checks.instance("entropy", entropy, Entropy, "an uptack.noise.Entropy or None", fix)
    return checked
