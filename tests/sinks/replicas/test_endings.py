"""`headrace.replicate` releases what it holds for a query when this run of it ends; and the query's
status meanwhile."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

import headrace
from headrace.connect.deadline import Deadline
from headrace.sinks.replicas.replicating import _Ending
from tests.sinks.lake.readers import IN_TURN
from tests.sinks.replicas.replication import Replication


class Query:
    """One run of a query. A restart has the id of the run before, and an id of its run."""

    id, runId, isActive = "query", "second", True


def followed() -> tuple[Any, list[str]]:
    """The end of a run that is under way, and what was let go."""
    ending, gone, exit_stack = _Ending(MagicMock()), [], contextlib.ExitStack()
    exit_stack.callback(gone.append, "sink")
    ending.follow(Query(), exit_stack)  # type: ignore[arg-type]
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


@pytest.mark.spark
@pytest.mark.postgres
@pytest.mark.parametrize("replication", IN_TURN, indirect=True)
def test_the_status_of_a_replica_is_what_its_source_does(replication: Replication) -> None:
    """The source has other converters than the configuration names."""
    replication.database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    converter = {"value.converter": "json", "value.converter.schemas.enable": "false"}
    query = replication.start(converter, trigger="1 second")
    try:
        deadline = Deadline(120)
        while headrace.status(query).state != "streaming" and not deadline.is_over:
            deadline.pause(0.1)
        status = headrace.status(query)
        assert (status.state, status.error) == ("streaming", None), status
        assert status.since is not None
    finally:
        query.stop()
