"""What public numbers say about a regression by bounded sums, before any row is read: its parts of ε, and how wide it
clips; or that noise would be too much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

from uptack import checks
from uptack.account import Account
from uptack.multivariate.bounded import moved
from uptack.multivariate.entrance import COUNT, MISSING, binary_columns, rows_for_scales
from uptack.multivariate.signs import noise_edge
from uptack.regression.formulas import DesignColumns
from uptack.regression.hessian import covering
from uptack.regression.losses import NARROW, ROOM, RegressionLoss, Stage
from uptack.regression.residual_tails import LONG
from uptack.regression.sandwich import COVERS, enough, expected, tries
from uptack.release import Advice

SCALES, CENTRES, SCATTER = Fraction(8, 100), Fraction(4, 100), Fraction(36, 100)
"""The most that goes into scales and centres of all columns, and into all scatter matrices and Hessians. With more rows
than that needs, it is less."""

RADIUS, SPREAD, SLOPE, TAILS = Fraction(1, 100), Fraction(15, 1000), Fraction(5, 1000), Fraction(2, 100)
"""Parts of ε for the radius, for the spread and the slope of each step, and for the tails of residuals. Gradients get
the rest."""

MANY = 20_000
"""Where n·ε is larger, these parts fall with it, down to a quarter: they find a share of the rows, or a quantile. Not
so of a loss with curvatures, whose steps hang on them."""

ROUNDS = 3
USELESS, FINE = 0.5, 0.03
"""Fewer rounds where the noise's edge would exceed the first part of the mean eigenvalue, ⊥ where one would; less ε for
scatter matrices where it would be below the second."""

ONLY = Fraction(3, 2)
"""A Hessian that all steps are made with gets so many times the part of a round: what it is off by is left of the noise
of each step, times that noise."""

HEAVY, FINER, MORE, KNOWN = Fraction(3, 2), 0.2, Fraction(8, 100), Fraction(25, 100)
"""A Hessian with curvatures gets so many times the part of another one, since it is smaller, and all matrices of a loss
that has some are to be finer by this, for at most so much more; or for at most the last in all, where it is known what
normal predictors would have."""

AMPLE = 1.5
"""Times the rows that scales need, from which on they get less of ε."""

DROWNED = 0.5
"""⊥ where the noise's edge would exceed this part of a Hessian whose curvatures a fit can't do without."""

BLURRED = 0.25
"""R is as wide as leaves what noise covers in a Hessian at this part of its mean eigenvalue."""

FEW, SPARE = 2, 1.3
"""Of so few coefficients one direction that noise covers is ⊥: so it is where no R leaves it at that part, or rows are
fewer than so many times what scales need, since a scale that is off does the same."""

QUIET = 0.06
"""With a long tail, residuals are clipped as wide as leaves what the last gradient's noise moves predictions by at this
part of a spread."""

FIRM, WORTH, CLOSE = 500.0, Fraction(8, 100), 0.75
"""Where R is below the last of these times the quantile of |z|, or rows far out may be right, ⊥ if the fit may be worse
than a constant for them. The test gets the first over n, and up to the second part of ε."""

LEVER, MATTERS = Fraction(3, 100), 1.25
"""The part of ε for whether rows far out are right, where R could be by so much wider then."""

LEVEL, ONCE = Fraction(5, 100), 250.0
"""Where noise leaves no room to clip residuals as wide as a long tail asks for, their mean gets the second over n, and
up to the first part of ε, and tails are asked for once."""

LIKELY = Fraction(3, 2)
"""With the least n that has a plan, a third of all fits or fewer may have a reply where steps hang on curvatures, or
columns are many. With so many times as many rows most do: this is what is advised."""

NOISY = 3
"""Scales of the noise of a number of rows that is bought, which it is below by with a chance of 2.5%."""

GRAIN = 1000
"""Parts of ε are multiples of one over this."""


@dataclass(frozen=True)
class FitRequest:
    """What is asked of X and y: a loss, which columns are 0 or 1, whether there is an intercept."""

    loss: RegressionLoss
    binary: tuple[int, ...]
    leading: bool
    missing: str
    account: Account
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(loss: RegressionLoss, columns: int, account: Account, given: Mapping[str, Any]) -> FitRequest:
        """What a call says of so many columns, with a formula or without."""
        if isinstance(given["formula"], DesignColumns):
            return FitRequest.of_call(loss, given["formula"], account, given)
        missing, leading = checks.choice("missing", given["missing"], MISSING), bool(given["fit_intercept"])
        return FitRequest(loss, binary_columns(given["binary"], columns), leading, missing, account)

    @staticmethod
    def of_call(loss: RegressionLoss, public: DesignColumns, account: Account, given: Mapping[str, Any]) -> FitRequest:
        """What a call with a formula says."""
        missing, leading = checks.choice("missing", given["missing"], MISSING), bool(given["fit_intercept"])
        words = (public.names, public.notes)
        return FitRequest(loss, public.binary, leading and public.intercept, missing, account, *words)

    def planned(self, n: float, columns: int, account: Account | None = None) -> FitPlan | None:
        """The plan for so many rows and predictors; None where noise is too much."""
        drawn = columns + self.loss.response - len(self.binary)
        return planned(n, columns, drawn, account or self.account, self.leading, self.loss)

    def rows_needed(self, columns: int) -> int:
        """The least n with a plan. Where n is bought: for what that leaves of ε, with room for its noise."""
        account, room, high = self.account, 0, 1
        if not account.adjacency.size_is_public:
            room = math.ceil(NOISY * account.rows / (account.epsilon * COUNT))
            account = account.allot(account.epsilon * (1 - COUNT))
        while self.planned(high, columns, account) is None:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.planned(middle, columns, account) else (middle, high)
        return high + room

    def advice(self, columns: int, times: int = 1, other: str = "", known: int = 0) -> Advice:
        """What would likely get a reply, where a public number of rows, if there is one, did not."""
        least = max(Fraction(times), LIKELY)
        return Advice(n=math.ceil(least * max(self.rows_needed(columns), known)), other=other)


@dataclass(frozen=True)
class FitPlan:
    """What public numbers say before any row is read: parts of ε, how many rounds, and how wide to clip."""

    scales: Fraction
    scatter: Fraction
    rounds: int
    loss: RegressionLoss
    wide: float = 1.0
    leading: bool = True
    room: float = ROOM
    small: Fraction = Fraction(1)
    worth: Fraction = Fraction(0)
    lever: Fraction = Fraction(0)
    variance: Fraction = Fraction(0)
    level: Fraction = Fraction(0)

    @property
    def centres(self) -> Fraction:
        """The part of ε for centres."""
        return min(self.scales * 3 / 4, CENTRES)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The steps. Where the level is asked for at the end, tails are only before the first one."""
        first, *others = self.loss.stages
        return (first, *(replace(stage, tails=stage.tails and not self.level) for stage in others))

    @property
    def classes(self) -> Fraction:
        """The part of ε for where a fit starts, as the number of rows of the second class."""
        return self.small * self.loss.parts(self.leading)[0]

    def farther(self, p: int, n: float, account: Account) -> float:
        """How many times as wide R may be: as the noise of a Hessian, of the last gradient and its variance allow."""
        edge = noise_edge(p, n, account, float(account.epsilon * self.hessian(self.rounds))) * self.loss.far
        times = min(math.sqrt(BLURRED / (covering(p) * edge)) / self.wide, QUIET / self.room)
        if self.variance:
            off = expected(p, n, account, self.variance, (self.loss.limit, self.wide))
            times = min(times, math.sqrt(COVERS / off))
        return max(times, 1.0)

    def hessian(self, rounds: int) -> Fraction:
        """The part of ε for a Hessian after so many rounds, and half of what was saved."""
        return self.scatter * (first(self.loss) + (self.rounds - rounds) / (2 * hessians(self.loss)))

    @property
    def spread(self) -> Fraction:
        """The part of ε for each spread of residuals."""
        return self.small * SPREAD if self.loss.response else Fraction(0)

    def left(self, rounds: int) -> Fraction:
        """The part of ε that gradients get after so many rounds."""
        prepared = self.scales + self.centres + self.scatter * rounds + self.small * RADIUS + self.classes
        steps = sum(self.spread + self.small * (SLOPE + TAILS * stage.tails) for stage in self.stages)
        after = self.worth + self.lever + self.variance + self.level
        return 1 - prepared - hessians(self.loss) * self.hessian(rounds) - steps - after

    def last(self, epsilon: float) -> float:
        """The ε of the last gradient, after all rounds."""
        return epsilon * float(self.left(self.rounds) * self.loss.stages[-1].share)


def first(loss: RegressionLoss) -> Fraction:
    """The part of the first Hessian over that of a round."""
    return ONLY if hessians(loss) == 1 else Fraction(1)


def hessians(loss: RegressionLoss) -> Fraction:
    """How many parts Hessians get: one without curvatures first, and those with some."""
    return Fraction(1) + HEAVY * sum(stage.reweighted for stage in loss.stages)


def planned(
    n: float, columns: int, drawn: int, account: Account, leading: bool, loss: RegressionLoss
) -> FitPlan | None:
    """The plan for so many predictors, of which and the response `drawn` need a scale; None where noise is too much."""
    p, epsilon, n = columns + leading, float(account.epsilon), max(n, 1.0)
    scales = _part(AMPLE * rows_for_scales(drawn, account.epsilon, account) / n, SCALES)
    edge, more = noise_edge(p + loss.response, n, account, epsilon), hessians(loss)
    most = SCATTER if more == 1 else KNOWN if loss.bent < math.inf else SCATTER + MORE
    scatter = _part(edge * float(ROUNDS + more) / (FINE if more == 1 else FINE * FINER), most)
    rounds = min(int(USELESS * float(scatter) / edge - float(more)), ROUNDS)
    spare = SPARE if p <= FEW and loss.bent < math.inf else 1.0
    alone = USELESS * float(scatter / (1 + first(loss) * more))
    if rounds < 1 or edge > alone or n < spare * rows_for_scales(drawn, account.epsilon * scales, account):
        return None
    small = _part(MANY * account.rows / (n * epsilon), Fraction(1)) if more == 1 else Fraction(1)
    _, end = loss.parts(leading)
    ways = loss.ways(n, account.part(end))
    for tried, way in product(range(rounds, 0, -1), ways):  # with fewer rounds each matrix gets more
        matrix = scatter / (tried + first(loss) * more)
        plan = FitPlan(scales, matrix, tried, way, leading=leading, small=small, variance=end)
        if (found := _complete(plan, p, n, account)) is not None:
            return found
    return None


def _complete(plan: FitPlan, p: int, n: float, account: Account) -> FitPlan | None:
    """The plan with how wide it clips, and of a loss whose residuals are near or far with parts of ε for what they say;
    None where noise is too much.
    """
    total, splits = n * float(account.epsilon), plan.loss.splits
    if splits:
        plan = replace(plan, worth=_part(FIRM * account.rows / total, WORTH, Fraction(0)))
    plan = replace(plan, loss=_wide(plan, p, n, account)[0])  # how many steps there are hangs on it
    bare = _clipped(plan, p, n, account)
    if bare is None or not splits:
        return bare
    if bare.farther(p, n, account) > MATTERS:
        plan = replace(plan, lever=plan.small * LEVER)
        bare = _clipped(plan, p, n, account) or bare
    if plan.leading and QUIET * bare.loss.limit < LONG * bare.room:
        plan = replace(plan, level=_part(ONCE * account.rows / total, LEVEL, Fraction(0)))
        bare = _clipped(plan, p, n, account) or bare
    return _with_variance(plan, p, n, account) or bare


def _wide(plan: FitPlan, p: int, n: float, account: Account, louder: float = 1.0) -> tuple[RegressionLoss, float]:
    """How wide residuals and rows are clipped for the noise of the last gradient, or for a louder one."""
    return plan.loss.clipped(louder * moved(account) * p / (math.sqrt(n) * plan.last(float(account.epsilon))))


def _clipped(plan: FitPlan, p: int, n: float, account: Account, louder: float = 1.0) -> FitPlan | None:
    """The plan with rows clipped as wide as the last gradient's noise allows, or less; None where it is too much."""
    loss, m, epsilon = plan.loss, moved(account), float(account.epsilon)
    last, (clipped, wide) = plan.last(epsilon), _wide(plan, p, n, account, louder)
    if p <= FEW and loss.bent < math.inf:
        edge = noise_edge(p, n, account, epsilon * float(plan.hessian(plan.rounds))) * loss.far
        widest = math.sqrt(BLURRED / (covering(p) * edge))
        if widest < NARROW:
            return None
        wide = min(wide, widest)
    room = m * clipped.limit * wide * p**1.5 / (n * last * loss.expected[0])
    bent = noise_edge(p, n, account, epsilon * float(HEAVY * plan.scatter)) * max(wide, 1.0) ** 2 / loss.bent
    return replace(plan, loss=clipped, wide=wide, room=room) if room < loss.room and bent < DROWNED else None


def _with_variance(plan: FitPlan, p: int, n: float, account: Account) -> FitPlan | None:
    """The plan with a part of ε for the variance of gradients, as little as does; None where noise would cover it.

    Its noise grows with the fourth power of how wide rows are clipped, so they may be clipped less wide for it.
    """
    tried = tries(plan.left(plan.rounds))
    for part, louder in tried:
        found = _clipped(replace(plan, variance=part), p, n, account, louder)
        off = expected(p, n, account, part, (found.loss.limit, found.wide)) if found else math.inf
        if found is None or enough(off, found.wide, part == tried[-1][0]):
            break
    return found if off < COVERS else None


def _part(wanted: float, most: Fraction, least: Fraction = Fraction(1, 4)) -> Fraction:
    """A part of ε, of a quarter of the most up to all of it."""
    return min(max(Fraction(math.ceil(wanted * GRAIN), GRAIN), most * least), most)
