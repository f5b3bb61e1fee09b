"""What answers have in common: lines of figures, data frames, HTML, pictures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from uptack.display.figure_table import FigureTable
from uptack.display.records import Ends, Record, to_pandas, to_polars


class Tabular(ABC):
    """An answer of one or more figures. What is shown of it is made of released values and public numbers alone."""

    @abstractmethod
    def records(self) -> list[Record]:
        """One plain line per figure: what it is of, `value`, `low` and `high`, what it cost, and a note."""

    @abstractmethod
    def table(self) -> FigureTable:
        """The same for people."""

    def to_pandas(self) -> Any:
        """The lines of `records` as a data frame of pandas. It needs pandas: `pip install "uptack[frames]"`."""
        return to_pandas(self.records())

    def to_polars(self) -> Any:
        """The lines of `records` as a data frame of Polars. It needs Polars: `pip install "uptack[frames]"`."""
        return to_polars(self.records())

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.table().html()


class TabularValue(Tabular):
    """A released value of several figures. The release around it has their intervals."""

    @abstractmethod
    def figures(self, ends: Ends = None) -> list[Record]:
        """One line per figure, with the ends of its interval."""

    def records(self) -> list[Record]:
        """One line per figure."""
        return self.figures()

    def table(self) -> FigureTable:
        """The same for people."""
        return FigureTable.of(self.figures(), type(self).__name__)


class PlottedValue(TabularValue):
    """A value whose picture shows the intervals of the release around it."""

    @abstractmethod
    def plot(self, ax: Any = None, *, interval: Ends = None, **style: Any) -> Any:
        """Draw it, and return the axes."""
