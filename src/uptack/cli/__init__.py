"""The command line: `uptack report`, single releases, ledgers, the audit."""

from uptack.cli.main import main, run

__all__ = ["main", "run"]
