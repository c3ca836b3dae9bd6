"""What `headrace.replicate` holds for a query is let go when this run of it ends."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

from headrace.sinks.replicas.replicating import _Ending


class Query:
    """One run of a query. A restart has the id of the run before, and an id of its run."""

    id, runId, isActive = "query", "second", True


def followed() -> tuple[Any, list[str]]:
    """The end of a run that is under way, and what was let go."""
    ending, gone, held = _Ending(MagicMock()), [], contextlib.ExitStack()
    held.callback(gone.append, "sink")
    ending.follow(Query(), held)  # type: ignore[arg-type]
    return ending, gone


def test_the_end_of_the_former_run_which_comes_late_lets_nothing_go() -> None:
    ending, gone = followed()
    ending.onQueryTerminated(SimpleNamespace(id="query", runId="first"))
    assert gone == []


def test_the_end_of_the_run_itself_lets_everything_go_once() -> None:
    ending, gone = followed()
    for _ in range(2):
        ending.onQueryTerminated(SimpleNamespace(id="query", runId="second"))
        ending.end_if_over()
    assert gone == ["sink"]
