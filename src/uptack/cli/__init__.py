"""The command line: `uptack report`, single releases, ledgers, the audit."""

import gc

_collecting = gc.isenabled()
gc.disable()  # what is imported stays, so nobody need look for what can go
try:
    from uptack.cli.main import main, run
finally:
    if _collecting:
        gc.enable()

__all__ = ["main", "run"]
