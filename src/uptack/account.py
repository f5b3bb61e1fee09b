"""An account: what a release may spend, and the one place where data meet randomness.

A release opens one account with the guarantee that it promises. Its stages get parts of it (`split`). Every draw is
`account.draw(mechanism, value)`: the account checks that the mechanism's loss is within the promise, draws, and records
the loss. The outermost function closes the account once, into a `Release` or a `NoReply` with its cost.

Because there is only one such place, an audit needs to look nowhere else. `observed_by` shows it every mechanism and
its input, and lets it repeat an earlier output.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Generic, Self, TypeVar

from uptack import checks
from uptack.errors import InvalidArgument, UptackError
from uptack.exact import Rational
from uptack.noise import Entropy
from uptack.noise.entropy import source
from uptack.privacy import SUBSTITUTE, Adjacency, Concentrated, Privacy, cost, loss, zcdp
from uptack.privacy.guarantee import adjacency as check_adjacency
from uptack.privacy.loss import Loss
from uptack.release import Advice, Noise, NoisySize, NoReply, Release, SizeLaw

T = TypeVar("T")
Value = TypeVar("Value", contravariant=True)
Wrap = Callable[[Loss], Loss]
Show = Callable[[Any], Any]


class AssumptionFailed(Exception):
    """Two inputs of a mechanism differ in something that its theorem takes as public, or by more than it allows."""


@dataclass(frozen=True)
class Mechanism(ABC, Generic[Value, T]):
    """A randomised answer to an input, as a frozen value. Its fields are public: the loss, the law, the sensitivity.

    A mechanism states a theorem: if its input moves by at most so much between neighbours, a draw costs at most `loss`.
    `price` is that theorem for any two inputs, so that an audit can check the assumption on inputs of real neighbours.
    """

    loss: Loss

    @abstractmethod
    def draw(self, value: Value, entropy: Entropy) -> T:
        """An exact draw from its law."""

    @abstractmethod
    def price(self, value: Value, other: Value, output: T) -> float:
        """The ε at which this output distinguishes the two inputs.

        Raises `AssumptionFailed` if the two differ in something that must be public.
        """

    def spent(self, output: T) -> Loss:
        """The loss of this output: `loss`, or less if the output shows that a part was not spent."""
        return self.loss

    def public(self, output: T) -> T:
        """The part of the output that may be released. Only later draws use the rest, which depends on the data."""
        return output


Observer = Callable[[Mechanism[Any, Any], Any, Callable[[], Any]], Any]
"""Sees every draw of a release, for audits. `observer(mechanism, value, draw)` is the output to continue with: that of
`draw()`, or a recorded one."""

_OBSERVER: ContextVar[Observer | None] = ContextVar("observer", default=None)


@contextmanager
def observed_by(observer: Observer) -> Iterator[None]:
    """Every draw of the releases made inside goes through this observer.

    >>> from uptack import SeededEntropy
    >>> from uptack.mechanisms import laplace
    >>> def nosy(mechanism, value, draw):
    ...     print(mechanism.loss, value)
    ...     return draw()
    >>> with observed_by(nosy):
    ...     result = laplace(1200, sensitivity=1, epsilon=1, granularity=1, entropy=SeededEntropy(7))
    Pure(epsilon=Fraction(1, 1)) [1200.]
    """
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """The result of a mechanism: a value, or None for ⊥ with advice. The account has its cost.

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
        """⊥, with advice on what would give a reply."""
        return Outcome(None, how, advice=advice)


@dataclass
class _Book:
    """The promise of the whole release, and its spending so far. A `limit` is in ρ."""

    promised: Privacy | None
    adjacency: Adjacency
    spent: list[Loss] = field(default_factory=list)
    closed: bool = False
    rows: NoisySize | None = None
    limit: Concentrated | None = None
    priced: tuple[Loss | None, Privacy] | None = None

    def tree(self, *more: Loss) -> Loss | None:
        """All losses so far, and more, as one node."""
        parts = (*self.spent, *more)
        return None if not parts else parts[0] if len(parts) == 1 else loss.Composed(parts)

    def admit(self, name: str, *more: Loss) -> Privacy:
        """The cost of all losses so far, and of more. A cost above the promise is an error, before it is spent."""
        tree = self.tree(*more)
        if self.limit is not None and tree is not None:
            rho, failure = zcdp(tree, self.adjacency)
            if rho > self.limit.rho or failure > self.limit.delta:
                raise UptackError(f"this {name} would cost more ρ than it promised; it is withheld")
            return Privacy(0, 0, self.adjacency)  # paid for
        if self.priced is None or self.priced[0] != tree:  # what the last draw was priced at need not be priced again
            self.priced = tree, Privacy(0, 0, self.adjacency) if tree is None else cost(tree, self.adjacency)
        price = self.priced[1]
        if self.promised is not None and not price <= self.promised:
            raise UptackError(f"this {name} would cost {price}, more than it promised; it is withheld")
        return price


@dataclass(frozen=True)
class Account:
    """A part of the budget of one release. All parts write into one book.

    >>> from uptack.noise import SeededEntropy
    >>> account = Account.open("median", 1, entropy=SeededEntropy(1))
    >>> scale, rest = account.split(Fraction(1, 4), Fraction(3, 4))
    >>> _ = scale.pay(loss.Pure(scale.epsilon))
    >>> _ = rest.pay(loss.Pure(rest.epsilon / 3))
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
    _prepaid: bool = field(default=False, repr=False)

    @classmethod
    def open(
        cls,
        name: str,
        epsilon: Rational,
        delta: Rational = 0,
        *,
        adjacency: Adjacency = SUBSTITUTE,
        rows_per_person: int = 1,
        entropy: Entropy | None = None,
        unit: str = "",
    ) -> Self:
        """The account of a whole release. Checks all that it promises.

        In the papers ε is not a total but what each stage spends. Such a release names that argument in `unit`, and its
        cost follows from its theorem.
        """
        eps, dlt = checks.epsilon(epsilon, unit or "epsilon"), checks.delta("delta", delta, checks.LEAST_DELTA)
        relation = check_adjacency(adjacency, rows_per_person)
        promised = None if unit else Privacy.implied(eps, dlt, relation)
        return cls(name, eps, dlt, relation, source(entropy), _Book(promised, relation))

    @staticmethod
    def elsewhere(name: str, entropy: Entropy | None) -> Account:
        """An account for draws that were paid for elsewhere, or whose cost is not an (ε, δ)."""
        return Account.open(name, 1, entropy=entropy, unit="epsilon").prepaid()

    @property
    def rows(self) -> int:
        """Rows per person: the ranks that one step moves."""
        return self.adjacency.rows_per_person

    def split(self, *shares: Rational) -> tuple[Self, ...]:
        """Accounts with these shares of ε and δ. The shares must add up to 1, since the rest would be lost."""
        parts = [checks.nonnegative("share", share) for share in shares]
        if sum(parts) != 1:
            raise InvalidArgument("shares", "numbers that add up to 1", float(sum(parts)))
        return tuple(replace(self, epsilon=self.epsilon * part, delta=self.delta * part) for part in parts)

    def part(self, share: Rational) -> Self:
        """An account with one share, for stages that are opened one by one."""
        return self.split(share, 1 - checks.probability("share", share))[0]

    def allot(self, epsilon: Fraction, delta: Fraction = Fraction(0)) -> Self:
        """An account with this ε and δ, for a stage that does not take equal shares of both."""
        if not (0 <= epsilon <= self.epsilon and 0 <= delta <= self.delta):
            raise InvalidArgument("epsilon and delta", "within the account", f"{float(epsilon):g}, {float(delta):g}")
        return replace(self, epsilon=epsilon, delta=delta)

    def through(self, wrap: Wrap) -> Self:
        """An account that records `wrap(loss)` for every loss, such as `loss.Partition` for results of blocks."""
        return replace(self, _wrap=wrap)

    def showing(self, show: Show) -> Self:
        """An account that is closed with `show(outcome)`, which may show ticks as a time."""
        return replace(self, _show=show)

    def draw(self, mechanism: Mechanism[Value, T], value: Value) -> T:
        """The mechanism's output for this value. Its loss is checked first, and recorded.

        Dry runs stop here: their source of randomness has no bits.
        """
        self.begin()
        if not self._prepaid:
            self._admit(mechanism.loss)
        observer = _OBSERVER.get()
        if observer is None:
            output = mechanism.draw(value, self.entropy)
        else:
            output = observer(mechanism, value, lambda: mechanism.draw(value, self.entropy))
        if not self._prepaid:
            self._book.spent.append(self._entry(mechanism.spent(output)))
        return output

    def begin(self) -> None:
        """Stops dry runs, for releases that read rows before their first draw."""
        self.entropy.begin()

    def toss(self, f: Callable[[Entropy], T]) -> T:
        """Randomness that does not depend on data, such as a partition of rows into blocks, or tie-breaking digits."""
        return f(self.entropy)

    def pay(self, what: Loss) -> Self:
        """Record a loss for several draws together. Draws from the returned account are paid for.

        This is for mechanisms whose parts cost less together than one by one: cells of disjoint rows, the nodes of a
        tree of quantiles, online queries to a function.
        """
        self._admit(what)
        self._book.spent.append(self._entry(what))
        return self.prepaid()

    def concentrated(self, rho: Fraction, failure: Fraction) -> Self:
        """Pay at once for draws that are `failure`-approximately ρ-zCDP together, at the account's δ.

        The returned account adds up the losses of its draws, and refuses a draw that would exceed ρ or `failure`.

        **Theorem** (Feldman and Zrnic 2021; with `failure`, Whitehouse, Ramdas, Rogers and Wu 2023). Mechanisms, and
        their ρ_i, may depend on earlier outputs. If Σρ_i ≤ ρ whatever the outputs, all together are ρ-zCDP. *Proof.* By
        induction from the last draw: given the outputs so far ρ_1 is fixed, and the rest has E(P/P')^α of at most
        e^(α(α-1)(ρ-ρ_1)). The first draw's factor e^(α(α-1)ρ_1) makes that e^(α(α-1)ρ). ∎
        """
        self.pay(loss.Zcdp(rho, self.delta, failure, self.epsilon))
        return replace(self, _book=_Book(None, self.adjacency, limit=Concentrated(rho, failure)), _prepaid=False)

    def prepaid(self) -> Self:
        """An account for draws that an earlier loss has paid for, such as the answer after a test that passed."""
        return replace(self, _prepaid=True)

    def _admit(self, what: Loss) -> None:
        if self._book.closed:
            raise UptackError(f"the account of this {self.name} is closed")
        self._book.admit(self.name, self._entry(what))

    def _entry(self, what: Loss) -> Loss:
        return what if self._wrap is None else self._wrap(what)

    def keep_size(self, rows: int, law: SizeLaw, unit: str = "", times: int = 1) -> None:
        """Keep a noisy number of rows that has been paid for, to release it with the answer.

        **Theorem.** It is one of the outcomes whose losses are recorded. By composition all outcomes together cost the
        recorded losses, so the value and the number of rows cost no more than the value alone. The number of blocks is
        not kept, since blocks are not rows.
        """
        if self._wrap is None:
            self._book.rows = NoisySize(max(rows, 0), law, unit or self.adjacency.unit, times)

    @property
    def promised(self) -> Fraction:
        """The ε of the whole release, or of this part if the release promises none."""
        return self.epsilon if self._book.promised is None else self._book.promised.exact_epsilon

    @property
    def spent(self) -> tuple[Loss, ...]:
        """What the whole release has spent so far."""
        return tuple(self._book.spent)

    def release(self, value: T, noise: Noise | None = None, notes: tuple[str, ...] = ()) -> Release[T]:
        """Close the account with a value of a mechanism that its name describes."""
        released = self.close(Outcome(value, "", noise, notes=notes))
        assert isinstance(released, Release)
        return released

    def close(self, outcome: Outcome[Any]) -> Release[Any] | NoReply:
        """The release, or ⊥, with its cost. A release that cost more than it promised is withheld."""
        if self._book.closed:
            raise UptackError(f"the account of this {self.name} is closed")
        self._book.closed = True
        outcome = outcome if self._show is None else self._show(outcome)
        tree, price = self._book.tree(), self._book.admit(self.name)
        how = f"{self.name} by {outcome.how}" if outcome.how else self.name
        if outcome.advice is not None:
            advice = replace(outcome.advice, unit=outcome.advice.unit.replace("rows", self.adjacency.unit))
            return NoReply(price, how, tree, advice, self.entropy.private)
        whole = loss.Pure(0) if tree is None else tree
        beside = (outcome.notes, self._book.rows, outcome.labels)
        return Release(outcome.value, price, how, whole, outcome.noise, self.entropy.private, *beside)
