"""The public names of `uptack.table` and where they live."""

from .engine.files import guess_types as guess_types
from .memory.table import MemoryTable as MemoryTable
from .opening import open_table as open_table
from .protocol import Column as Column
from .protocol import Table as Table
