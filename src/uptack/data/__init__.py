"""Where the rows are: arrays and frames in memory, files through DuckDB, any engine that ibis speaks to."""

from uptack.data.files import guess_types
from uptack.data.opening import source
from uptack.data.protocol import Source

__all__ = ["Source", "guess_types", "source"]
