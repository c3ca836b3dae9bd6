"""What must hold of the events of a workload: nothing lost, doubled or out of order, and the tables
that they make are those of the database."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from tests.chaos.workloads.database import KEY, MARK, Change, Place, RandomDatabase, Row
from tests.connectors.killed_reader import Record

_PLACEHOLDER = "__debezium_unavailable_value"
UNAVAILABLE = (_PLACEHOLDER, _PLACEHOLDER.encode().hex())
"""What stands for large values that a change does not tell of."""


class Event(NamedTuple):
    """A record's value, and where it is in the total order."""

    sequence: str
    table: str
    value: Mapping[str, Any]

    @property
    def change(self) -> Change:
        """See Change."""
        op = self.value["op"]
        row = self.value["before" if op == "d" else "after"] or {}
        return Change(self.table, op, int(row.get(KEY) or 0), int(row.get(MARK) or 0))


def events_of(records: Iterable[Record]) -> list[Event]:
    """The events of records in their order, tombstones left out."""
    events = [
        Event(record["sequence"], record["topic"].rpartition(".")[2], json.loads(record["value"]))
        for record in records
        if record["value"] is not None
    ]
    return sorted(event for event in events if "op" in event.value)


def check(
    database: RandomDatabase,
    records: list[Record],
    committed: list[tuple[Place, list[Change]]],
    first: Mapping[str, Any],
    before: Mapping[str, Mapping[int, Row]],
) -> int:
    """How many changes the log had behind the `first` offset, and the rows `before` it. Raises
    AssertionError."""
    sequences = Counter(record["sequence"] for record in records)
    doubled = [one for one, count in sequences.items() if count > 1]
    assert not doubled, f"{len(doubled)} records came twice, the first is {doubled[0]}"
    events = events_of(records)
    reads = [event for event in events if event.value["op"] == "r"]
    begin = database.begins_after([event.value["source"] for event in reads], first)
    behind = [
        (place, database.told(changes)) for place, changes in committed if place.number > begin
    ]
    behind.sort(key=lambda one: (one[0].number, one[0].second))
    wanted = [change for _, changes in behind for change in changes]
    streamed = [event for event in events if event.value["op"] != "r"]
    for event in streamed:
        database.check_source(event.value["source"])
    seen = [event.change for event in streamed]
    merged = database.merged
    check_order(*([one for one in those if one.table not in merged] for those in (seen, wanted)))
    check_merged([one for one in seen if one.table in merged], behind, merged)
    tables = folded(events, before)
    for table in database.tables:
        _compare_rows(table, tables.get(table, {}), database.rows(table))
    return len(seen)


def check_order(seen: list[Change], wanted: list[Change]) -> None:
    """The changes are those, in their order."""
    if seen == wanted:
        return
    have, want = Counter(seen), Counter(wanted)
    for word, those in (("lost", want - have), ("doubled, or never was", have - want)):
        assert not those, f"{word}: {those.total()} of {want.total()}, {list(those)[:5]}"
    place = next(n for n, pair in enumerate(zip(seen, wanted, strict=True)) if pair[0] != pair[1])
    raise AssertionError(
        f"out of order from {place} on: {seen[place : place + 4]}, not {wanted[place : place + 4]}"
    )


def check_merged(
    seen: list[Change], committed: list[tuple[Place, list[Change]]], merged: Collection[str]
) -> None:
    """Of tables whose changes may be merged: the last change of each transaction and row has an
    event, and no event tells of what never was."""
    told = Counter(map(_outcome, seen))
    possible: Counter[tuple[object, ...]] = Counter()
    for place, changes in committed:
        own = [change for change in changes if change.table in merged]
        possible.update(map(_outcome, own))
        last = {(change.table, change.key): change for change in own}
        lost = [change for change in last.values() if not told[_outcome(change)]]
        assert not lost, f"lost: {len(lost)} changes of one transaction, {lost[0]} at {place}"
    more = told - possible
    assert not more, f"doubled, or never was: {more.total()}, {list(more)[:5]}"


def _outcome(change: Change) -> tuple[object, ...]:
    """What is left of a change when others are put into it."""
    return change.table, change.key, change.mark, change.op == "d"


def folded(
    events: Iterable[Event], before: Mapping[str, Mapping[int, Row]]
) -> dict[str, dict[int, Row]]:
    """The rows of tables as the events make them of those `before`."""
    tables = {table: dict(rows) for table, rows in before.items()}
    for event in events:
        rows = tables.setdefault(event.table, {})
        op, old, after = (event.value.get(name) for name in ("op", "before", "after"))
        if op == "t":
            rows.clear()
        elif op == "d":
            assert old is not None
            gone = rows.pop(int(old[KEY]), None)
            assert gone is not None, f"nothing is there to be deleted: {event}"
        else:
            assert after is not None
            key = int(after[KEY])
            held = rows.get(key, {})
            assert (op == "u") == bool(held), f"{op} of a row that is{'' if held else ' not'} there"
            rows[key] = {
                name: held.get(name) if value in UNAVAILABLE else value
                for name, value in after.items()
            }
    return tables


def _compare_rows(table: str, seen: dict[int, Row], wanted: dict[int, Row]) -> None:
    lost, more = wanted.keys() - seen.keys(), seen.keys() - wanted.keys()
    assert not lost, f"{table}: {len(lost)} rows are lost, {sorted(lost)[:5]}"
    assert not more, f"{table}: {len(more)} rows are too many, {sorted(more)[:5]}"
    for key, row in wanted.items():
        for name, value in row.items():
            found = seen[key].get(name)
            assert found == value, f"{table}.{name} of {key}: {found!r}, not {value!r}"
