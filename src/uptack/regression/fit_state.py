"""What a fit by bounded sums has come to: what its steps, what is said of it, and losses look at."""

from __future__ import annotations

from dataclasses import dataclass

from uptack.regression.fit_model import Model
from uptack.regression.hessian import Hessian
from uptack.regression.newton_steps import NewtonStep
from uptack.regression.sandwich import Sandwich


@dataclass(frozen=True, eq=False)
class FitState:
    """The model and the last step, the Hessian without curvatures and the one that the step was made with, the variance
    of gradients where it was measured, and what a reader should know.
    """

    model: Model
    step: NewtonStep
    first: Hessian
    curvature: Hessian
    measured: Sandwich | None = None
    notes: tuple[str, ...] = ()

    @property
    def meat(self) -> Hessian:
        """What a gradient's variance is a multiple of, where it was not measured: the Hessian of the curvatures, or the
        one without them where residuals spread alike for all x.
        """
        return self.first if self.model.loss.response else self.curvature
