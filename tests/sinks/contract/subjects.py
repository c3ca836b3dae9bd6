"""The sinks that the contract suite runs over: how each is configured, and what it holds.

A subject is added in three places: its class here, the fixture `subject` of conftest.py, which
makes it of its name, and test_contract.py: its name in `SINKS`, and its parameters and their id in
the last test.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from headrace.spark.sinks.definition import Delivery
from tests.servers.kafka import KafkaServer
from tests.sinks.event_log.events import records, visible
from tests.sinks.kafka.records import read_topic
from tests.sinks.lake.readers import ReadLake


class SinkSubject:
    """A sink under test. Keys are `{"id": N}`."""

    name: str
    delivery: Delivery
    waits = False
    """Whether a target that does not answer is waited for; otherwise the query ends with an
    error."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def properties(self) -> Mapping[str, str]:
        """The configuration of the sink."""
        return {}

    def ids(self) -> list[int]:
        """The ids of all events that arrived."""
        raise NotImplementedError

    def commits(self) -> int | None:
        """How many micro-batches with events the target has taken; None: it does not say it."""
        return None

    @contextmanager
    def unwritable(self) -> Iterator[Callable[[], None]]:
        """The target cannot be written meanwhile; the function ends it early."""
        raise NotImplementedError


def _id(key: str) -> int:
    return int(json.loads(key)["id"])


class _Files(SinkSubject):
    """A sink that keeps files in a folder."""

    def target(self) -> Path:
        """The folder without which nothing can be written."""
        raise NotImplementedError

    @contextmanager
    def unwritable(self) -> Iterator[Callable[[], None]]:
        """A file takes the folder's place: permissions do not bind every user."""
        target = self.target()
        aside = target.with_name("aside")
        target.rename(aside)
        target.write_text("")

        def repair() -> None:
            if aside.exists():
                target.unlink()
                aside.rename(target)

        yield repair
        repair()


class FileSubject(_Files):
    name = "file"
    delivery = Delivery.EXACTLY_ONCE

    def properties(self) -> Mapping[str, str]:
        return {"headrace.sink.path": str(self.folder / "out.jsonl")}

    def ids(self) -> list[int]:
        output = self.folder / "out.jsonl"
        lines = output.read_text().splitlines() if output.exists() else []
        return [int(json.loads(line)["key"]["id"]) for line in lines]

    def target(self) -> Path:
        return self.folder / "state" / "file"


class EventLogSubject(_Files):
    """Small files of the hours before are merged at once."""

    delivery = Delivery.EXACTLY_ONCE

    def __init__(self, folder: Path, form: str) -> None:
        super().__init__(folder)
        self.name, self._form = "event-log", form

    def properties(self) -> Mapping[str, str]:
        return {
            "headrace.sink.path": str(self.target()),
            "headrace.sink.format": self._form,
            "headrace.sink.file.max.bytes": "4000",
            "headrace.sink.compact.after.ms": "0",
        }

    def ids(self) -> list[int]:
        files = visible(self.target()) if self.target().exists() else []
        keys = [record["key"] for file in files for record in records(file)]
        return [_id(key) if isinstance(key, str) else int(key["id"]) for key in keys]

    def target(self) -> Path:
        return self.folder / "log"


class BatchFilesSubject(_Files):
    """The sink of docs/adding-a-sink.md."""

    name = "batch-files"
    delivery = Delivery.EXACTLY_ONCE

    def properties(self) -> Mapping[str, str]:
        return {"headrace.sink.batch-files.folder": str(self.target())}

    def ids(self) -> list[int]:
        files = sorted(self.target().glob("*.jsonl"))
        lines = [line for file in files for line in file.read_text().splitlines()]
        return [_id(json.loads(line)["key"]) for line in lines]

    def target(self) -> Path:
        return self.folder / "batches"


class ParquetSubject(_Files):
    """A format of Spark."""

    name = "parquet"
    delivery = Delivery.AT_LEAST_ONCE

    def properties(self) -> Mapping[str, str]:
        return {"headrace.sink.path": str(self.target())}

    def ids(self) -> list[int]:
        files = self.target().glob("*.parquet")
        return [_id(key) for file in files for key in pq.read_table(file)["key"].to_pylist()]

    def target(self) -> Path:
        return self.folder / "rows"


class ReplicaSubject(_Files):
    """Tables of a lake. A micro-batch that is applied twice adds its rows to a change log twice; in
    the other modes the rows may stay the same, but the table has one commit more."""

    delivery = Delivery.EXACTLY_ONCE

    def __init__(self, folder: Path, lake: ReadLake, mode: str = "replica") -> None:
        super().__init__(folder)
        self.name, self._lake, self._mode = lake.name, lake, mode

    def properties(self) -> Mapping[str, str]:
        return self._lake.properties() | {
            "headrace.sink.mode": self._mode,
            "headrace.sink.compact.commits": "1000",  # merged files would be commits
        }

    def ids(self) -> list[int]:
        return [int(row["id"]) for row in self._lake.rows("public", "t")]

    def commits(self) -> int | None:
        return self._lake.commits("public", "t")

    def target(self) -> Path:
        return self._lake.folder


class StandardOutputSubject(SinkSubject):
    """Lines that the test has captured."""

    name = "standard output"
    delivery = Delivery.AT_LEAST_ONCE

    def __init__(self, folder: Path, captured: Callable[[], str]) -> None:
        super().__init__(folder)
        self._captured, self._text = captured, ""

    def ids(self) -> list[int]:
        self._text += self._captured()
        return [int(json.loads(line)["key"]["id"]) for line in self._text.splitlines()]


class ConsoleSubject(StandardOutputSubject):
    name = "console"

    def ids(self) -> list[int]:
        self._text += self._captured()
        return [int(number) for number in re.findall(r"id=(\d+)", self._text)]


class KafkaSubject(SinkSubject):
    name = "kafka"
    delivery = Delivery.EXACTLY_ONCE
    waits = True

    def __init__(self, folder: Path, kafka: KafkaServer, prefix: str) -> None:
        super().__init__(folder)
        self._kafka, self._prefix = kafka, prefix

    def properties(self) -> Mapping[str, str]:
        return {
            "topic.prefix": self._prefix,
            "headrace.sink.kafka.producer.bootstrap.servers": self._kafka.address,
        }

    def ids(self) -> list[int]:
        topic = f"{self._prefix}.public.t"
        if topic not in self._kafka.topics():
            return []
        return [_id(record.key.decode()) for record in read_topic(self._kafka, topic) if record.key]

    @contextmanager
    def unwritable(self) -> Iterator[Callable[[], None]]:
        """The broker is gone."""
        self._kafka.stop()
        yield self._kafka.start
        self._kafka.start()
