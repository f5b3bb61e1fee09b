"""How answers are shown to people: as aligned text, as a table of HTML, as a data frame, as a picture.

Everything here is made of released values and public numbers, so it costs nothing: post-processing. There is one
neutral form, a list of lines with one figure each (`records`), and all else is made from it. Names out of data are
hostile: each passes through `uptack.labels`.
"""

from uptack.display.tabular import (
    Ends,
    FigureTable,
    PlottedValue,
    Record,
    Tabular,
    TabularValue,
    line,
    named,
    of_value,
)

__all__ = ["Ends", "FigureTable", "PlottedValue", "Record", "Tabular", "TabularValue", "line", "named", "of_value"]
