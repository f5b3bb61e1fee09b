"""Where the rows are: arrays and frames in memory, files through DuckDB, any engine that ibis speaks to."""

from uptack.data.protocol import Source
from uptack.data.sources import source
from uptack.table.engine.files import guess_types

__all__ = ["Source", "guess_types", "source"]
