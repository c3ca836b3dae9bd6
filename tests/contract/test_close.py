"""Close at any moment: no thread, socket or memory file of the connector is left."""

from __future__ import annotations

import gc
import os
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.connectors.harness import wait_for
from tests.contract.changes import Fill, Insert
from tests.contract.run import THINGS, Run
from tests.contract.subject import Feature, Subject

ROWS = 1000


@pytest.fixture(autouse=True)
def what_was_before() -> Iterator[None]:
    """A collection of garbage looks at what the test made, and not at all that a run of the suite
    has in memory."""
    gc.freeze()
    yield
    gc.unfreeze()


def held(subject: Subject) -> Counter[str]:
    """The open resources of this process, by kind: threads, sockets by their peers, memory files,
    mappings of them, other descriptors. Sockets of other servers are not counted: clients that
    tests share (MongoDB's monitors, Spark's gateway) open and close theirs at any time."""
    gc.collect()
    addresses = " ".join(subject.properties("any").values())
    counts = Counter(threads=threading.active_count())
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue  # the folder's own
        kind = target.partition(":")[0]
        if kind == "socket":
            port = peer_port(int(number))
            if port and not re.search(rf"\b{port}\b", addresses):
                continue
            kind = f"socket to {port or 'this process'}"
        counts["memfd" if "memfd" in kind else "files" if kind.startswith("/") else kind] += 1
    maps = Path("/proc/self/maps").read_text().splitlines()
    counts["mappings"] = sum("memfd:" in line or "/dev/shm" in line for line in maps)
    return counts


def peer_port(descriptor: int) -> int | None:
    """The port at a socket's other end; none for pairs, listeners and sockets without a peer."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as copy:
            peer = copy.getpeername()
    except OSError:
        return None
    return peer[1] if isinstance(peer, tuple) else None


def begin(run: Run) -> None:
    run.step_until(lambda: len(run.offsets) > 1)


def stream(run: Run) -> None:
    begin(run)
    run.subject.apply(THINGS, [Insert(ROWS + 1, "new")])
    run.step_until(lambda: ROWS + 1 in [event.key for event in run.collection_events()])


def plan(run: Run) -> None:
    end = run.plan()
    if end != run.offsets[-1]:
        run.open().slices(run.offsets[-1], end)


def chunks(run: Run) -> None:
    for _ in range(3):
        run.step()


def inside(run: Run) -> None:
    """Reads to the middle of a transaction that is larger than the spool."""
    stream(run)
    run.subject.apply(THINGS, [Fill(ROWS + 100, ROWS + 4500, 1900)])
    count = len(run.offsets)
    run.step_until(lambda: len(run.offsets) > count + 1)


def incremental(run: Run) -> None:
    stream(run)
    run.signal("execute-snapshot", data_collections=[run.subject.identifier(THINGS)])
    count = len(run.records)
    run.step_until(lambda: len(run.records) > count)


MOMENTS: dict[str, Callable[[Run], Any]] = {
    "nothing": lambda run: None,
    "opened": lambda run: run.open(),
    "validated": lambda run: run.open().validate(None),
    "begun": begin,
    "inside of a snapshot": chunks,
    "planned chunks": lambda run: (chunks(run), plan(run)),
    "streaming": stream,
    "planned": lambda run: (stream(run), run.subject.apply(THINGS, [Insert(0, "")]), plan(run)),
    "inside of a transaction": inside,
    "inside of an incremental snapshot": incremental,
    "a metric": lambda run: (stream(run), run.open().metrics(), run.open().latest()),
}


SNAPSHOTS = {"inside of a snapshot", "planned chunks"}


@pytest.fixture
def properties(subject: Subject, tmp_path: Path) -> dict[str, Any]:
    reads = Feature.SNAPSHOTS in subject.features
    return {
        "snapshot_mode": "initial" if reads else "no_data",
        "headrace_snapshot_chunk_bytes": "13kB",
        "headrace_range_max_bytes": "1MB",
        "headrace_spool_max_bytes": "3MB",
        "heartbeat_interval_ms": "50",
        "signal_enabled_channels": "file",
        "signal_file": str(tmp_path / "signals.jsonl"),
        "signal_poll_interval_ms": "0",
        "incremental_snapshot_chunk_size": "10",
    }


@pytest.mark.parametrize("moment", MOMENTS)
def test_nothing_is_left_of_a_connector_that_was_closed(
    subject: Subject, properties: dict[str, Any], moment: str
) -> None:
    if moment in SNAPSHOTS and Feature.SNAPSHOTS not in subject.features:
        pytest.skip(Feature.SNAPSHOTS.value)
    if "incremental" in moment and Feature.SIGNALS not in subject.features:
        pytest.skip(Feature.SIGNALS.value)
    subject.apply(THINGS, [Fill(1, ROWS, 300)])
    with Run.start(subject, **properties) as first:  # what a process keeps for ever
        chunks(first)
    before = held(subject)
    run = Run.start(subject, begins=False, **properties)
    MOMENTS[moment](run)
    connector = run.open()
    connector.close()
    connector.close()  # a second time is nothing
    run.connector = connector = None
    left: Counter[str] = Counter()

    def is_nothing_left() -> bool:
        nonlocal left
        left = held(subject) - before
        return not left

    with suppress(AssertionError):
        wait_for(is_nothing_left, 60)
    assert left == Counter(), threading.enumerate()
    run.end()


def test_close_raises_nothing_when_the_database_is_gone(
    subject: Subject, properties: dict[str, Any]
) -> None:
    with Run.start(subject, **properties) as run:
        stream(run)
        before = threading.active_count()
        with subject.stopped():
            run.stop()
        assert threading.active_count() < before
