"""Formulas such as "price ~ log(carat) + C(cut) + x:y": how a table becomes X and y, row by row.

A formula is read (`grammar`), looks up its columns (`formula_columns`), and becomes columns of X (`term_coding`,
`formula_designs`). What a row becomes depends on no other row. So whatever holds for the rows of X and y holds for
those of the table.

*Categories* have levels: `levels={"cut": ["Fair", "Good"]}`, or the type of the column lists them (an Enum of polars).
Those of a Categorical of pandas may have been read off the rows, so they do not count as declared. Where none are
declared, `delta=1e-6` finds those with enough rows privately, for a tenth of ε (`levels`). As usual a category has one
column per level but the first, or for all of them where the rest of the formula leaves room for it.
"""

from uptack.regression.formulas.formula_columns import Named
from uptack.regression.formulas.formula_designs import DesignColumns, Draft, designed, drafted, entered, names
from uptack.regression.formulas.grammar import Formula, read
from uptack.regression.formulas.plain_designs import numbered
from uptack.regression.formulas.term_coding import margins

__all__ = [
    "DesignColumns",
    "Draft",
    "Formula",
    "Named",
    "designed",
    "drafted",
    "entered",
    "margins",
    "names",
    "numbered",
    "read",
]
