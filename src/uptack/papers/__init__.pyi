"""The public names of `uptack.papers` and where they live."""

from .dwork_lei_estimates import R_H as R_H
from .dwork_lei_estimates import R_S as R_S
from .dwork_lei_estimates import TM as TM
from .dwork_lei_estimates import M as M
from .dwork_lei_estimates import S as S
from .dwork_lei_estimates import Scale as Scale
from .dwork_roth_stability import A_dist as A_dist
from .dwork_roth_stability import A_samp as A_samp
from .hampel import hampel_regression as hampel_regression
from .regression_estimators import HampelRegression as HampelRegression
from .regression_estimators import ShortcutRegression as ShortcutRegression
from .shortcut import shortcut_regression as shortcut_regression
