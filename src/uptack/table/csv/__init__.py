"""CSV files: how they are written, what a cell holds, and a copy that an engine can read."""
