"""Several processes that spend from one ledger, and die: run as `python -m tests.backends.spenders`.

One parent forks the workers and kills them with SIGKILL at random moments; a killed worker is replaced. Each worker
debits and, only after that, writes what it released with the number and hash of the debit to a file of its own, synced
to the disk. It ends when the budget refuses it. The parent prints how many workers it killed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import time
from pathlib import Path

from uptack.errors import BudgetExceeded
from uptack.ledger import Ledger
from uptack.privacy import Privacy


def work(place: str, dataset: str, cost: str, notes: Path) -> None:
    """Release until the budget is used up."""
    ledger = Ledger(place, dataset=dataset, analyst=notes.stem)
    with notes.open("a") as file:
        while True:
            try:
                paid = ledger.debit(Privacy(cost), what="a release")
            except BudgetExceeded:
                return
            file.write(f"{paid.number} {paid.hash}\n")
            file.flush()
            os.fsync(file.fileno())


def start(place: str, dataset: str, cost: str, notes: Path) -> int:
    """Fork a worker; its process id. It leaves with 0 only where the budget refused it."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work(place, dataset, cost, notes)
            code = 0
        finally:
            os._exit(code)
    return child


def reap(running: dict[int, int]) -> None:
    """Take out the workers that have ended by themselves."""
    for child in list(running):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            del running[child]
            if status != 0:
                raise SystemExit("a worker failed")


def kill_at_random(place: str, dataset: str, cost: str, folder: Path, workers: int, seed: int) -> int:
    """Run the workers until each has been refused; how many were killed on the way.

    One of them is killed after every few releases, at a random moment: by progress and not by the clock, so that a
    busy machine kills as often as an idle one.
    """
    Ledger(place, dataset=dataset)  # imports once what every worker would have to
    chance, killed = random.Random(seed), 0
    running = {start(place, dataset, cost, folder / f"w{i}.txt"): i for i in range(workers)}
    while running:
        enough = released(folder) + chance.randint(2, 14)
        while running and released(folder) < enough:
            time.sleep(0.01)
            reap(running)
        if running:
            time.sleep(chance.uniform(0, 0.02))
            victim = chance.choice(list(running))
            os.kill(victim, signal.SIGKILL)
            i, status = running.pop(victim), os.waitpid(victim, 0)[1]
            if os.WIFSIGNALED(status):
                killed += 1
                running[start(place, dataset, cost, folder / f"w{i}.txt")] = i
    return killed


def released(folder: Path) -> int:
    """About how many releases were written down: a line is a number and a hash of 64 digits."""
    return sum(notes.stat().st_size for notes in folder.glob("w*.txt")) // 68


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("place", "dataset", "cost", "folder"):
        parser.add_argument(name)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    where = (options.place, options.dataset, options.cost, Path(options.folder))
    print(kill_at_random(*where, options.workers, options.seed))
