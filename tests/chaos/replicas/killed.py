"""`headrace` in a process that kills itself at a place between two steps of a micro-batch:

    python -m tests.chaos.replicas.killed written|table|committed COUNT WORDS…

after the files of COUNT commits were written and before the last one of them is committed
(`written`), after COUNT tables were committed (`table`), or after COUNT micro-batches with changes
were committed to all their tables, before Spark knows it (`committed`). WORDS are of the command.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from headrace.cli import main
from headrace.sinks.replicas.applying import batches
from headrace.sinks.replicas.replica import Replica
from headrace.sinks.replicas.sink import ReplicaSink

PLACES = {
    "written": (batches, "apply_batch"),
    "table": (Replica, "apply"),
    "committed": (ReplicaSink, "_commit"),
}


def _killing(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """A function that kills its process when it was called so often."""
    calls = 0

    def called(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        made = function(*arguments, **named)
        calls += 1
        if calls == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return made

    return called


if __name__ == "__main__":
    place, count, *words = sys.argv[1:]
    owner, name = PLACES[place]
    setattr(owner, name, _killing(getattr(owner, name), int(count)))
    sys.exit(main(words))
