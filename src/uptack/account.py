"""An account: what a release may spend, and the one place where data meet randomness.

A release opens one account with what it promises. Stages of it get parts (`split`). Every draw is
`account.draw(mechanism, value)`: the account checks that the mechanism's loss is within the promise, draws, and writes
the loss down. The outermost function closes the account once, into a `Release` or a `NoReply` with what it cost.

Because there is only one such place, an audit needs to look nowhere else. `observed_by` gives it every mechanism, what
the mechanism was given, and the right to repeat an earlier answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeVar

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
    """Two inputs of a mechanism differ in something that its theorem takes to be public, or to be near."""


@dataclass(frozen=True)
class Mechanism(ABC, Generic[Value, T]):
    """A randomised answer to an input, as a frozen value. Its fields are public: the price, the law, the sensitivity.

    A mechanism states a theorem: if what it is given moves by at most so much between neighbours, a draw costs at most
    `loss`. `price` is that theorem for any two inputs, so an audit can check its assumption on the inputs that
    neighbours really give.
    """

    loss: Loss

    @abstractmethod
    def draw(self, value: Value, entropy: Entropy) -> T:
        """An exact draw from its law."""

    @abstractmethod
    def price(self, value: Value, other: Value, output: T) -> float:
        """The ε at which this output tells the two inputs apart.

        Raises `AssumptionFailed` where the two differ in something that must be public.
        """

    def spent(self, output: T) -> Loss:
        """What this output cost: `loss`, or less where the output shows that a part was not spent."""
        return self.loss

    def public(self, output: T) -> T:
        """What of the output may be shown. The rest depends on the data, and only later draws use it."""
        return output


class Observer(Protocol):
    """Sees every draw of a release: for audits."""

    def __call__(self, mechanism: Mechanism[Any, Any], value: Any, draw: Callable[[], Any]) -> Any:
        """The output to go on with: that of `draw()`, or one that was recorded before."""
        ...


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
    ...     made = laplace(1200, sensitivity=1, epsilon=1, granularity=1, entropy=SeededEntropy(7))
    Pure(epsilon=Fraction(1, 1)) [1200.]
    """
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


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
    """What was promised for the whole release, and what has been spent so far. A `limit` is in ρ."""

    promised: Privacy | None
    adjacency: Adjacency
    spent: list[Loss] = field(default_factory=list)
    closed: bool = False
    rows: NoisySize | None = None
    limit: Concentrated | None = None

    def tree(self, *more: Loss) -> Loss | None:
        """All that was spent, and more, as one node."""
        parts = (*self.spent, *more)
        return None if not parts else parts[0] if len(parts) == 1 else loss.Composed(parts)

    def admit(self, name: str, *more: Loss) -> Privacy:
        """The price of all that was spent, and of more. More than was promised is an error, before it is spent."""
        tree = self.tree(*more)
        if self.limit is not None and tree is not None:
            rho, failure = zcdp(tree, self.adjacency)
            if rho > self.limit.rho or failure > self.limit.delta:
                raise UptackError(f"this {name} would cost more ρ than it promised; it is withheld")
            return Privacy(0, 0, self.adjacency)  # paid for
        price = Privacy(0, 0, self.adjacency) if tree is None else cost(tree, self.adjacency)
        if self.promised is not None and not price <= self.promised:
            raise UptackError(f"this {name} would cost {price}, more than it promised; it is withheld")
        return price


@dataclass(frozen=True)
class Account:
    """A part of what one release may spend. All parts of it write into one book.

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
        eps, dlt = checks.epsilon(epsilon, unit or "epsilon"), checks.delta("delta", delta, checks.LEAST_DELTA)
        relation = check_adjacency(adjacency, rows_per_person)
        promised = None if unit else Privacy.implied(eps, dlt, relation)
        return Account(name, eps, dlt, relation, source(entropy), _Book(promised, relation))

    @staticmethod
    def elsewhere(name: str, entropy: Entropy | None) -> Account:
        """An account for draws that were paid for elsewhere, or whose price is no (ε, δ)."""
        opened = Account.open(name, 1, entropy=entropy, unit="epsilon")
        return opened.prepaid()

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

    def draw(self, mechanism: Mechanism[Value, T], value: Value) -> T:
        """What the mechanism answers to this value. Its loss is admitted first, and written down.

        Dry runs stop here: their randomness can't be asked for anything.
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
            self._book.spent.append(self._wrapped(mechanism.spent(output)))
        return output

    def begin(self) -> None:
        """Dry runs stop here: for releases that read rows before their first draw."""
        self.entropy.begin()

    def toss(self, f: Callable[[Entropy], T]) -> T:
        """Randomness that looks at no data, such as a partition of rows into blocks, or digits that break ties."""
        return f(self.entropy)

    def pay(self, what: Loss) -> Account:
        """Write down a loss for several draws together. The draws of the account that it returns are paid for.

        This is for mechanisms whose parts cost less together than one by one: cells of disjoint rows, the nodes of a
        tree of quantiles, a function that is asked online.
        """
        self._admit(what)
        self._book.spent.append(self._wrapped(what))
        return self.prepaid()

    def concentrated(self, rho: Fraction, failure: Fraction) -> Account:
        """Pay at once for draws that are `failure`-approximately ρ-zCDP together, at the account's δ.

        The account that is returned adds up what its draws cost, and refuses a draw that would exceed ρ or `failure`.

        **Theorem** (Feldman and Zrnic 2021; with `failure`, Whitehouse, Ramdas, Rogers and Wu 2023). Mechanisms, and
        their ρ_i, may depend on earlier outputs. If Σρ_i ≤ ρ whatever the outputs, all together are ρ-zCDP. *Proof.* By
        induction from the last draw: given the outputs so far ρ_1 is fixed, and the rest has E(P/P')^α of at most
        e^(α(α-1)(ρ-ρ_1)). The first draw's factor e^(α(α-1)ρ_1) makes that e^(α(α-1)ρ). ∎
        """
        self.pay(loss.Zcdp(rho, self.delta, failure, self.epsilon))
        return replace(self, _book=_Book(None, self.adjacency, limit=Concentrated(rho, failure)), _prepaid=False)

    def prepaid(self) -> Account:
        """An account for draws that an earlier loss has paid for, such as the answer after a test that passed."""
        return replace(self, _prepaid=True)

    def _admit(self, what: Loss) -> None:
        if self._book.closed:
            raise UptackError(f"the account of this {self.name} is closed")
        self._book.admit(self.name, self._wrapped(what))

    def _wrapped(self, what: Loss) -> Loss:
        return what if self._wrap is None else self._wrap(what)

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
    def spent(self) -> tuple[Loss, ...]:
        """What the whole release has spent so far."""
        return tuple(self._book.spent)

    def release(self, value: T, noise: Noise | None = None, notes: tuple[str, ...] = ()) -> Release[T]:
        """Close it with a value that was made in one way, which the name of the account says."""
        made = self.close(Outcome(value, "", noise, notes=notes))
        assert isinstance(made, Release)
        return made

    def close(self, outcome: Outcome[Any]) -> Release[Any] | NoReply:
        """The release, or ⊥, with everything that was spent. A release that spent more than it promised is withheld."""
        if self._book.closed:
            raise UptackError(f"the account of this {self.name} is closed")
        self._book.closed = True
        outcome = outcome if self._show is None else self._show(outcome)
        tree, price = self._book.tree(), self._book.admit(self.name)
        how = f"{self.name} by {outcome.how}" if outcome.how else self.name
        if outcome.advice is not None:
            return NoReply(price, how, tree, outcome.advice, self.entropy.private)
        whole = loss.Pure(0) if tree is None else tree
        beside = (outcome.notes, self._book.rows, outcome.labels)
        return Release(outcome.value, price, how, whole, outcome.noise, self.entropy.private, *beside)
