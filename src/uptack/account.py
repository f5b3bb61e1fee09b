"""An account: what a release is made from, and where everything that it spends is written down.

A release opens one account with what it promises. Stages of it get parts (`split`), mechanisms say what they did
(`spend`), and the outermost function closes it once, into a `Release` or a `NoReply` that costs what was spent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Generic, TypeVar

from uptack import checks
from uptack.errors import InvalidArgument, UptackError
from uptack.exact import Rational
from uptack.noise import Entropy
from uptack.noise.entropy import source
from uptack.noisy_size import NoisySize, SizeLaw
from uptack.privacy import SUBSTITUTE, Adjacency, Privacy, cost, loss
from uptack.privacy.adjacency import adjacency as check_adjacency
from uptack.release import Advice, Noise, NoReply, Release

T = TypeVar("T")
Wrap = Callable[[loss.Loss], loss.Loss]
Show = Callable[[Any], Any]


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What a mechanism found: a value, or None for ⊥ with advice. What it cost is on the account that paid for it.

    `labels` are public names of the entries of a vector.
    """

    value: T | None
    how: str
    noise: Noise | None = None
    advice: Advice | None = None
    notes: tuple[str, ...] = ()
    labels: tuple[Any, ...] = ()

    def __bool__(self) -> bool:
        return self.value is not None

    @staticmethod
    def refusal(how: str, advice: Advice) -> Outcome[Any]:
        """⊥, and what would get a reply."""
        return Outcome(None, how, advice=advice)


@dataclass
class _Book:
    """What was promised for the whole release, and what has been spent so far."""

    promised: Privacy | None
    spent: list[loss.Loss] = field(default_factory=list)
    closed: bool = False
    rows: NoisySize | None = None


@dataclass(frozen=True)
class Account:
    """A part of what one release may spend. All parts of it write into one book.

    >>> from uptack.noise import SeededEntropy
    >>> account = Account.open("median", 1, entropy=SeededEntropy(1))
    >>> scale, rest = account.split(Fraction(1, 4), Fraction(3, 4))
    >>> scale.spend(loss.Pure(scale.epsilon))
    >>> rest.spend(loss.Pure(rest.epsilon / 3))
    >>> account.close(Outcome(5.0, "two stages"))
    Release(5.0, median by two stages, ε = 0.5 (substitute), NOT PRIVATE: seeded randomness)
    """

    name: str
    epsilon: Fraction
    delta: Fraction
    adjacency: Adjacency
    entropy: Entropy
    _book: _Book = field(repr=False)
    _wrap: Wrap | None = field(default=None, repr=False)
    _show: Show | None = field(default=None, repr=False)

    @staticmethod
    def open(
        name: str,
        epsilon: Rational,
        delta: Rational = 0,
        *,
        adjacency: Adjacency = SUBSTITUTE,
        rows_per_person: int = 1,
        entropy: Entropy | None = None,
        unit: str = "",
    ) -> Account:
        """The account of a whole release. Checks everything that is promised.

        In the papers ε is no total but what every stage spends; such a release names the argument in `unit`, and what
        it costs is what its theorem says.
        """
        eps, dlt = checks.epsilon(epsilon, unit or "epsilon"), checks.delta("delta", delta)
        relation = check_adjacency(adjacency, rows_per_person)
        promised = None if unit else Privacy(eps, dlt, relation)
        return Account(name, eps, dlt, relation, source(entropy), _Book(promised))

    @property
    def rows(self) -> int:
        """Rows per person: the ranks that one step moves."""
        return self.adjacency.rows_per_person

    def split(self, *shares: Rational) -> tuple[Account, ...]:
        """Accounts with such shares of ε and δ. The shares must add up to one: what is left over would be lost."""
        parts = [checks.nonnegative("share", share) for share in shares]
        if sum(parts) != 1:
            raise InvalidArgument("shares", "numbers that add up to 1", float(sum(parts)))
        return tuple(replace(self, epsilon=self.epsilon * part, delta=self.delta * part) for part in parts)

    def part(self, share: Rational) -> Account:
        """An account with one share, where the stages are taken one by one."""
        return self.split(share, 1 - checks.probability("share", share))[0]

    def allot(self, epsilon: Fraction, delta: Fraction = Fraction(0)) -> Account:
        """An account with so much of ε and δ, where a stage does not take equal shares of both."""
        if not (0 <= epsilon <= self.epsilon and 0 <= delta <= self.delta):
            raise InvalidArgument("epsilon and delta", "within the account", f"{float(epsilon):g}, {float(delta):g}")
        return replace(self, epsilon=epsilon, delta=delta)

    def through(self, wrap: Wrap) -> Account:
        """An account that writes `wrap(loss)` for every loss, such as `loss.Partition` for block results."""
        return replace(self, _wrap=wrap)

    def showing(self, show: Show) -> Account:
        """An account that is closed with `show(outcome)`: what was found in ticks is shown as a time, say."""
        return replace(self, _show=show)

    def spend(self, what: loss.Loss) -> None:
        """Write down what was done to the data."""
        if self._book.closed:
            raise UptackError(f"the account of this {self.name} is closed")
        self._book.spent.append(what if self._wrap is None else self._wrap(what))

    def bought(self, rows: int, law: SizeLaw, unit: str = "", times: int = 1) -> None:
        """Keep a noisy number of rows that has been paid for: it comes with the answer.

        **Theorem.** It is one of the outcomes whose losses are written down. By composition all outcomes together cost
        what is written down, so the value and the number of rows cost no more than the value alone. Of the results of
        blocks, which are no rows, it is not kept.
        """
        if self._wrap is None:
            self._book.rows = NoisySize(max(rows, 0), law, unit or self.adjacency.unit, times)

    @property
    def promised(self) -> Fraction:
        """The ε of the whole release; of a part of one that promises none, that of the part."""
        return self.epsilon if self._book.promised is None else self._book.promised.exact_epsilon

    @property
    def spent(self) -> tuple[loss.Loss, ...]:
        """What the whole release has spent so far."""
        return tuple(self._book.spent)

    def close(self, outcome: Outcome[Any]) -> Release[Any] | NoReply:
        """The release, or ⊥, with everything that was spent. A release that spent more than it promised is withheld."""
        if self._book.closed:
            raise UptackError(f"the account of this {self.name} is closed")
        self._book.closed = True
        outcome = outcome if self._show is None else self._show(outcome)
        spent, promised = self.spent, self._book.promised
        tree = None if not spent else spent[0] if len(spent) == 1 else loss.Composed(spent)
        price = Privacy(0, 0, self.adjacency) if tree is None else cost(tree, self.adjacency)
        if promised is not None and not price <= promised:
            raise UptackError(f"this {self.name} cost {price}, more than it promised; it is withheld")
        how = f"{self.name} by {outcome.how}" if outcome.how else self.name
        if outcome.value is None:
            assert outcome.advice is not None, "⊥ without advice"
            return NoReply(price, how, tree, outcome.advice, self.entropy.private)
        whole = loss.Pure(0) if tree is None else tree
        beside = (outcome.notes, self._book.rows, outcome.labels)
        return Release(outcome.value, price, how, whole, outcome.noise, self.entropy.private, *beside)
