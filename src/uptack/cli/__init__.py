"""The command line: `uptack report`, single releases, ledgers, the audit."""

import gc

_collecting, _frozen = gc.isenabled(), gc.get_freeze_count()
gc.disable()  # imported modules stay, so collecting garbage meanwhile is a waste of time
try:
    from uptack.cli.main import main, run
finally:
    if not _frozen:  # together they move all objects to the oldest generation, which is collected last
        gc.freeze()
        gc.unfreeze()
    if _collecting:
        gc.enable()

__all__ = ["main", "run"]
