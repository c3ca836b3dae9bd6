"""A reader of a subject's changes, and what its records say."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from headrace.connectors.registry import send_signal
from tests.connectors.harness import ConnectorReader
from tests.contract.changes import Event, Insert, Transaction
from tests.contract.subject import Subject

THINGS, MARKS = "things", "marks"
_numbers = itertools.count(1)


@dataclass
class Run(ConnectorReader):
    """Made by `start`."""

    subject: Subject = field(kw_only=True)
    name: str = field(kw_only=True)
    _events: dict[str, tuple[Mapping[str, Any], Event]] = field(default_factory=dict, kw_only=True)

    @classmethod
    def start(
        cls,
        subject: Subject,
        *,
        inline: bool = False,
        bounded: bool = False,
        begins: bool = True,
        **more: Any,
    ) -> Self:
        """A reader of its own name whose first range is over: its place in the log is found,
        unless it is not to `begin`. `more` are properties with `_` for `.`; without
        `snapshot_mode` only what changes from now on is read."""
        name = f"reader_{next(_numbers)}"
        changed = {name.replace("_", "."): str(value) for name, value in more.items()}
        properties = subject.properties(name) | {"snapshot.mode": "no_data"} | changed
        run = cls(properties, inline, bounded, subject=subject, name=name)
        if begins:
            run.step_until(lambda: len(run.offsets) > 1)
        return run

    def end(self) -> None:
        """The reader stops, and its place in the database is given up."""
        self.stop()
        self.subject.forget(self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def collection_events(self, collection: str = THINGS) -> list[Event]:
        """The events of the collection's records, in total order."""
        return [self._event(record) for record in self.of(self.in_order(), collection)]

    def _event(self, record: Mapping[str, Any]) -> Event:
        """The event of a record of this run; conditions call this after each micro-batch."""
        sequence = record["sequence"]
        parsed_record, event = self._events.get(sequence, (None, None))
        if (
            parsed_record is not record or event is None
        ):  # one that is read again has the same sequence
            event = self.subject.event(record)
            self._events[sequence] = record, event
        return event

    def of(
        self, records: Iterable[Mapping[str, Any]], collection: str = THINGS
    ) -> list[Mapping[str, Any]]:
        """The records of the collection."""
        return [record for record in records if record["topic"].endswith(f".{collection}")]

    def deliver(self) -> Self:
        """Micro-batches until everything is delivered that was committed before this call."""
        mark = next(_numbers)
        self.subject.apply(MARKS, [Insert(mark, "mark")])
        return self.step_until(lambda: Event("c", mark, "mark") in self.collection_events(MARKS))

    def signal(self, kind: str, **data: Any) -> str:
        """Ask the connector for something; `data` has `_` for `-`. Returns the signal's id."""
        members = {name.replace("_", "-"): value for name, value in data.items()}
        return send_signal(self.config, kind, members)


def run_workload(subject: Subject, workload: Sequence[Transaction]) -> None:
    """All transactions, one after the other."""
    for transaction in workload:
        subject.apply(THINGS, transaction.changes, rolled_back=transaction.rolled_back)


def repeatable(slices: Iterable[Iterable[Mapping[str, Any]]]) -> list[list[tuple[Any, ...]]]:
    """The parts of the records that must be the same whenever their range is read: all but
    processing times and the run's id."""
    return [[without_clock(record) for record in records] for records in slices]


def without_clock(record: Mapping[str, Any]) -> tuple[Any, ...]:
    value = record["value"]
    if value is not None:
        value = {
            name: member
            for name, member in json.loads(value).items()
            if name not in ("ts_ms", "ts_us", "ts_ns")
        }
    headers = [h for h in record["headers"] or () if not h["key"].endswith("runId")]
    return record["sequence"], record["topic"], record["key"], json.dumps(value), str(headers)
