"""`headrace` in a process that kills itself at a place between two steps of a micro-batch:

    python -m tests.chaos.replicas.killed written|table|committed|expired|… COUNT WORDS…

after the files of COUNT commits were written and before the last one of them is committed
(`written`), after COUNT tables were committed (`table`), or after COUNT micro-batches with changes
were committed to all their tables, before Spark knows it (`committed`), and their older snapshots
were expired (`expired`). Where deletes become soft or hard, after the files of COUNT tables were
written for that (`filled`, `unmarked`), or after these were committed (`changed`). WORDS are of
the command.
"""

from __future__ import annotations

import datetime as dt
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from headrace.cli import main
from headrace.sinks.iceberg.table import IcebergTable
from headrace.sinks.replicas import replica
from headrace.sinks.replicas.applying import batches, deleted_rows
from headrace.sinks.replicas.replica import Replica
from headrace.sinks.replicas.sink import ReplicaSink

PLACES = {
    "written": (batches, "apply_batch"),
    "table": (Replica, "apply"),
    "committed": (ReplicaSink, "_commit"),
    "expired": (ReplicaSink, "_commit"),
    "filled": (deleted_rows, "fill"),
    "unmarked": (deleted_rows, "_removal"),
    "changed": (replica, "change_deletes"),
}


def _expire(sink: ReplicaSink) -> None:
    """The last snapshots of Iceberg's tables are left."""
    for each in sink._replicas.values():
        table = each._table
        assert isinstance(table, IcebergTable)
        table.expire(dt.datetime.now(dt.UTC) + dt.timedelta(minutes=1))


def _killing(place: str, function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """A function that kills its process when it was called so often."""
    calls = 0

    def called(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        returned = function(*arguments, **named)
        calls += 1
        if calls == count:
            if place == "expired":
                _expire(*arguments[:1])
            os.kill(os.getpid(), signal.SIGKILL)
        return returned

    return called


if __name__ == "__main__":
    place, count, *words = sys.argv[1:]
    owner, name = PLACES[place]
    setattr(owner, name, _killing(place, getattr(owner, name), int(count)))
    sys.exit(main(words))
