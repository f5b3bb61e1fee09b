"""Formulas such as "price ~ log(carat) + C(cut) + x:y": how a table becomes X and y, row by row.

A formula is read (`grammar`) and becomes columns of X (`formula_designs`). What a row becomes depends on no other row.
So whatever holds for the rows of X and y holds for those of the table.

*Categories* have levels: `levels={"cut": ["Fair", "Good"]}`, or the type of the column lists them (an Enum of polars).
Those of a Categorical of pandas may have been read off the rows, so they do not count as declared. Where none are
declared, `delta=1e-6` finds those with enough rows privately, for a tenth of ε (`category_levels`). As usual a category
has one column per level but the first, or for all of them where the rest of the formula leaves room for it.
"""

from uptack.regression.formulas.formula_designs import DesignColumns, build_design, draft_formula
from uptack.regression.formulas.grammar import read

__all__ = ["DesignColumns", "build_design", "draft_formula", "read"]
