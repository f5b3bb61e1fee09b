"""The command line: `uptack report`, single releases, ledgers, the audit."""

import gc

_collecting, _frozen = gc.isenabled(), gc.get_freeze_count()
gc.disable()  # what is imported stays, so nobody need look for what can go
try:
    from uptack.cli.main import main, run
finally:
    if not _frozen:  # both together put what there is among what is old: nobody looks through it at once
        gc.freeze()
        gc.unfreeze()
    if _collecting:
        gc.enable()

__all__ = ["main", "run"]
