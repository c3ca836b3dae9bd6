"""Checks of a workload's events: nothing is lost, doubled or out of order, and the tables that they
make are those of the database."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.chaos.workloads.database import Change, Place, RandomDatabase, Row, change_of
from tests.chaos.workloads.folding import Folding, Reading
from tests.connectors.killed_reader import Record


class Event(NamedTuple):
    """A record's value, and where it is in the total order."""

    sequence: str
    table: str
    value: Mapping[str, Any]

    @property
    def change(self) -> Change:
        """See Change."""
        return change_of(self.table, self.value)


@dataclass(frozen=True)
class Story:
    """The course of a workload: the changes that were committed, the `first` offset of the reader,
    the rows `before` it where it does not read them, and the place up to which everything was
    committed when the first snapshot was over (`settled`)."""

    committed: list[tuple[Place, list[Change]]]
    first: Mapping[str, Any]
    before: Mapping[str, Mapping[int, Row]]
    settled: int


class Counts(NamedTuple):
    """Numbers of the changes in the log, and of the rows that were read."""

    changes: int
    reads: int


def events_of(records: Iterable[Record], tables: Collection[str]) -> list[Event]:
    """The events of tables that records have, in their order, tombstones left out."""
    events = [
        Event(record["sequence"], table, json.loads(record["value"]))
        for record in records
        if (table := record["topic"].rpartition(".")[2]) in tables and record["value"] is not None
    ]
    return sorted(event for event in events if "op" in event.value)


def check(database: RandomDatabase, records: list[Record], story: Story) -> Counts:
    """Raises AssertionError where the events of the records are not what happened."""
    sequences = Counter(record["sequence"] for record in records)
    doubled = [sequence for sequence, count in sequences.items() if count > 1]
    assert not doubled, f"{len(doubled)} records came twice, the first is {doubled[0]}"
    events = events_of(records, database.tables)
    reads = [event for event in events if event.value["op"] == "r"]
    begin = database.begins_after([event.value["source"] for event in reads], story.first)
    later = [
        (place, database.logged(changes))
        for place, changes in story.committed
        if place.number > begin
    ]
    later.sort(key=lambda committed: (committed[0].number, committed[0].second))
    committed_changes = [change for _, changes in later for change in changes]
    streamed = [event for event in events if event.value["op"] != "r"]
    for event in streamed:
        database.check_source(event.value["source"])
    streamed_changes = [event.change for event in streamed]
    merged = database.merged
    check_order(
        *(
            [change for change in changes if change.table not in merged]
            for changes in (streamed_changes, committed_changes)
        )
    )
    check_merged([change for change in streamed_changes if change.table in merged], later, merged)
    reading = Reading.of(story.committed, begin)
    folding = Folding(database, story.before, reading, story.settled)
    for event in events:
        folding.take(event.table, event.value)
    for table in database.tables:
        folding.check(table, database.rows(table))
    reading.check_asked(database.signals.asked, folding)
    return Counts(len(streamed_changes), len(reads))


def check_order(streamed_changes: list[Change], committed_changes: list[Change]) -> None:
    """The changes are those, in their order."""
    if streamed_changes == committed_changes:
        return
    have, want = Counter(streamed_changes), Counter(committed_changes)
    for word, difference in (("lost", want - have), ("doubled, or never was", have - want)):
        assert not difference, (
            f"{word}: {difference.total()} of {want.total()}, {list(difference)[:5]}"
        )
    place = next(
        n
        for n, pair in enumerate(zip(streamed_changes, committed_changes, strict=True))
        if pair[0] != pair[1]
    )
    raise AssertionError(
        f"out of order from {place} on: {streamed_changes[place : place + 4]}, "
        f"not {committed_changes[place : place + 4]}"
    )


def check_merged(
    streamed_changes: list[Change],
    committed: list[tuple[Place, list[Change]]],
    merged: Collection[str],
) -> None:
    """Checks tables whose changes may be merged: the last change of each transaction and row has an
    event, and no event shows a change that never was."""
    outcomes = Counter(map(_outcome, streamed_changes))
    possible: Counter[tuple[object, ...]] = Counter()
    for place, changes in committed:
        merged_changes = [change for change in changes if change.table in merged]
        possible.update(map(_outcome, merged_changes))
        last = {(change.table, change.key): change for change in merged_changes}
        lost = [change for change in last.values() if not outcomes[_outcome(change)]]
        assert not lost, f"lost: {len(lost)} changes of one transaction, {lost[0]} at {place}"
    more = outcomes - possible
    assert not more, f"doubled, or never was: {more.total()}, {list(more)[:5]}"


def _outcome(change: Change) -> tuple[object, ...]:
    """The part of a change that remains when others are merged into it."""
    return change.table, change.key, change.mark, change.op == "d"
