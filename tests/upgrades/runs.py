"""Runs of `headrace`, whose state is stored in the middle of a snapshot and of the stream."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import psutil

from tests.chaos.run import processes_of
from tests.resident.resident import Resident
from tests.upgrades.databases import (
    INSERTED,
    Change,
    StoredDatabase,
    changes_of,
    pack,
    rows_after,
    unpack,
)

SNAPSHOT, STREAM, KAFKA, REPLICA = "snapshot_run", "stream_run", "kafka_run", "replica_run"
"""A run that was killed within its snapshot; one that was killed while it streamed, into a file;
one that was killed while it streamed into Kafka; one that was killed while a replica followed."""

_LEFT_ALONE_S = 1200
_PROPERTIES = {
    "value.converter.schemas.enable": "false",
    "key.converter.schemas.enable": "false",
    # A snapshot of several micro-batches.
    "headrace.snapshot.chunk.bytes": "10kB",
    "headrace.range.max.rows": "200",
}


class CheckpointRun:
    """One state folder and one output in `folder`. `resident` is the `headrace` that runs it; None:
    one that is started for it, and can be killed with all of its processes."""

    def __init__(
        self,
        database: StoredDatabase,
        name: str,
        folder: Path,
        resident: Resident | None = None,
        **more: str,
    ) -> None:
        self.database, self.name, self.folder = database, name, folder
        self.state, self.output = folder / "state", folder / "out.jsonl"
        self.topic_prefix = name.replace("_", "")
        self._program = [sys.executable, "-m", "headrace.cli"]
        if resident is not None:
            self._program = [str(resident.program)]
        self._more: dict[str, str] = {}
        self.use(**more)
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def use(self, **more: str) -> None:
        """Add properties, whose names have `_` for `.`."""
        self._more |= {key.replace("_", "."): value for key, value in more.items()}

    def start(self, *words: str) -> None:
        """Start the command; `words` follow its own."""
        properties = {
            **_PROPERTIES,
            "topic.prefix": self.topic_prefix,
            **self.database.properties(self.name),
            **self._more,
        }
        file = self.folder / "connector.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        command = ["events", str(file), "--output", str(self.output), "--state", str(self.state)]
        if self.name in (KAFKA, REPLICA):
            command = ["run", str(file), "--checkpoint", str(self.state)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._program, *command, *words, "--seconds", str(_LEFT_ALONE_S)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until `condition` holds, while the command runs."""
        assert self._process is not None
        deadline = time.monotonic() + 600
        while not condition():
            assert self._process.poll() is None, self.tail()
            assert time.monotonic() < deadline, self.tail()
            time.sleep(0.01)

    def kill_when(self, condition: Callable[[], bool]) -> None:
        """SIGKILL for every process, once `condition` holds."""
        self.wait_for(condition)
        self.close()

    def finish(self, events: Callable[[], Iterable[dict[str, Any]]], block: int) -> None:
        """Run until the last change of `block` is among `events`, and end in good order."""
        last = changes_of(block)[-1][2]

        def is_delivered() -> bool:
            time.sleep(0.3)
            inserted = (event for event in events() if event["op"] == "c")
            try:
                return sum(last in json.dumps(event["after"]) for event in inserted) >= INSERTED
            except json.JSONDecodeError:
                return False  # what a killed run left is cut off, and written again, meanwhile

        self.finish_when(is_delivered)

    def finish_when(self, condition: Callable[[], bool]) -> None:
        """Run until `condition` holds, and end in good order."""
        self.start()
        self.wait_for(condition)
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(_LEFT_ALONE_S) == 0, self.tail()

    def close(self) -> None:
        """Leave nothing running."""
        if self._process is not None:
            for process in processes_of(self._process.pid):
                with contextlib.suppress(psutil.Error):
                    process.kill()
            self._process.wait()

    def tail(self) -> str:
        """The end of what the command wrote."""
        log = self.folder / "log"
        return log.read_text(errors="replace")[-3000:] if log.exists() else ""

    def rows(self) -> int:
        """Lines of finished micro-batches in the output."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            return int(json.loads((self.state / "file" / "state.json").read_text())["rows"])
        return 0

    def store(self, archive: Path) -> None:
        """Write state and output to `archive`."""
        (self.folder / "log").unlink(missing_ok=True)
        (self.folder / "connector.properties").unlink(missing_ok=True)
        pack(self.folder, archive)

    def restore(self, archive: Path) -> None:
        """Read state and output from `archive`."""
        shutil.rmtree(self.folder)
        unpack(archive, self.folder)

    def events(self) -> Iterator[dict[str, Any]]:
        """Values of the output's changes, each with its key as the member `key`."""
        with self.output.open() as lines:
            for line in lines:
                if not line.endswith("\n"):
                    return  # it is being written
                event = json.loads(line)
                if event["value"] is not None and "op" in event["value"]:
                    yield event["value"] | {"key": event["key"]}


def check(database: StoredDatabase, events: Iterator[dict[str, Any]], blocks: list[int]) -> None:
    """Each row was read at most once, the changes of `blocks` came exactly once and in their
    order, and the rows that follow from a snapshot and all of them are those of the table.
    `blocks` are those that were committed after the run had its position; all blocks up to the
    last of them have happened."""
    expected = [change for block in blocks for change in changes_of(block)]
    read: list[int] = []
    streamed: list[Change] = []
    rows: dict[int, str] = {}
    for event in events:
        operation = event["op"]
        image = event["before"] if operation == "d" else event["after"]
        if isinstance(image, str):
            image = json.loads(image)
        number, name = database.id_and_name(image) if image else (_key(event), "")
        if operation == "r":
            read.append(number)
        else:
            streamed.append((operation, number, "" if operation == "d" else name))
        if operation == "d":
            rows.pop(number, None)
        else:
            rows[number] = name
    assert len(read) == len(set(read)), "a row was read twice"
    assert streamed == expected, _difference(streamed, expected)
    all_blocks = range(max(blocks) + 1) if database.rows_change else blocks
    if not read:
        return
    assert rows == rows_after(change for block in all_blocks for change in changes_of(block))


def _key(event: dict[str, Any]) -> int:
    """The id that only the key of an event has (a delete in MongoDB)."""
    return int(event["key"]["id"])


def _difference(streamed: list[Change], expected: list[Change]) -> str:
    lost = [change for change in expected if change not in streamed]
    return f"{len(streamed)} changes of {len(expected)}; lost {lost[:5]}, last {streamed[-3:]}"
