"""How answers are shown to people: as aligned text, as a table of HTML, as a data frame, as a picture.

Everything here is computed from released values and public numbers, so it costs nothing: post-processing. There is one
neutral form, a list of records with one figure each (`records`). All other forms are made from it. Names from the data
may be hostile, so each passes through `uptack.labels`.
"""

from uptack.display.tabular import (
    Ends,
    FigureTable,
    PlottedValue,
    Record,
    ReleasedValue,
    Tabular,
    TabularValue,
    line,
    of_value,
    unreserved_names,
)

__all__ = [
    "Ends",
    "FigureTable",
    "PlottedValue",
    "Record",
    "ReleasedValue",
    "Tabular",
    "TabularValue",
    "line",
    "of_value",
    "unreserved_names",
]
