"""Workload after workload, each by a seed of its own:

    python -m tests.chaos.workloads oracle|db2 SECONDS [SEED]

prints a line for each: its seed, what it was, and whether all was well. SEED repeats one. The
status is 1 if one failed; its files are kept.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.chaos.workloads.database import RandomDatabase
from tests.chaos.workloads.workload import Workload

STEPS = (150, 400, 1000)
Open = Callable[[int], RandomDatabase]


@contextmanager
def opened(name: str) -> Iterator[Open]:
    """A function that makes a fresh database by a seed, on one server."""
    if name == "oracle":
        from headrace_demo.oracle.server import OracleServer
        from tests.chaos.workloads.oracle import RandomOracle

        with OracleServer() as server:
            yield lambda seed: RandomOracle(server, seed)
        return
    if name == "db2":
        from headrace_demo.db2.derby import DerbyServer
        from headrace_demo.db2.peculiarities import Peculiarities
        from tests.chaos.workloads.db2 import USERS, RandomDb2

        with ExitStack() as running:
            servers: dict[str, DerbyServer] = {}

            def opening(seed: int) -> RandomDatabase:
                zone = Peculiarities.drawn(seed).zone
                if zone not in servers:
                    server = DerbyServer({**USERS, "user.timezone": zone})
                    servers[zone] = running.enter_context(server)
                return RandomDb2(servers[zone], seed)

            yield opening
        return
    raise SystemExit(f"no database of random workloads: {name}")


def one(opening: Open, seed: int) -> bool:
    """A workload; whether all was well."""
    folder, began = Path(tempfile.mkdtemp(prefix=f"headrace-workload-{seed}-")), time.monotonic()
    database = opening(seed)
    try:
        figures = Workload(database, seed, folder, STEPS[seed % len(STEPS)]).run()
    except Exception:  # noqa: BLE001 - the next seed is tried
        print(f"SEED={seed} {database.name} FAILED, its files are in {folder}; {database}")
        print(traceback.format_exc(), flush=True)
        return False
    finally:
        database.close()
    shutil.rmtree(folder)
    seconds = time.monotonic() - began
    print(f"SEED={seed} {database.name} passed: {figures}; {seconds:.0f} s; {database}", flush=True)
    return True


def main(name: str, seconds: float, seed: int | None = None) -> int:
    """Workloads for so many seconds, or one of a seed."""
    until, next_seed = time.monotonic() + seconds, int(time.time()) if seed is None else seed
    failed: list[int] = []
    count = 0
    with opened(name) as opening:
        while count == 0 or (seed is None and time.monotonic() < until):
            if not one(opening, next_seed):
                failed.append(next_seed)
            count, next_seed = count + 1, next_seed + 1
    print(f"{name}: {count} workloads, {len(failed)} failed {failed or ''}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    database, limit, *rest = sys.argv[1:]
    sys.exit(main(database, float(limit), *map(int, rest)))
