"""Transforms over what connectors stream and read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow.compute as pc
import pytest

from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import values
from headrace.connect.records import Column, Node, Records, Shape, Struct
from headrace.connect.schema import Schema, Type
from headrace.connect.trees import select, with_added
from headrace.transforms.transform import Ordering, PerShape, transform
from tests.contract.changes import EVERYTHING, MOVES, Event, Fill, apply
from tests.contract.run import Run, run_workload
from tests.contract.subject import Feature, Subject
from tests.contract.test_ranges import check_order

ITEMS = "items"
ROUTE = {
    "transforms": "route",
    "transforms_route_type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms_route_regex": "(.*)things",
    "transforms_route_replacement": "$1items",
}
_UNWRAP = ROUTE | {
    "transforms": "unwrap,length,route",
    "transforms_length_type": "tests.contract.test_transforms:with_length",
    "transforms_length_predicate": "things",
    "transforms_unwrap_delete_tombstone_handling_mode": "rewrite-with-tombstone",
    "transforms_unwrap_add_fields": "op,source.connector",
    "transforms_unwrap_add_headers": "op",
    "transforms_unwrap_predicate": "things",
    "predicates": "things",
    "predicates_things_type": "TopicNameMatches",
    "predicates_things_pattern": ".*things",
}


MERGE = {"transforms_route_regex": "(.*)(things|marks)"}


def unwrap(subject: Subject) -> dict[str, str]:
    """A chain with the transform that puts this database's rows in place of envelopes."""
    options = {f"transforms_unwrap_{name}": text for name, text in subject.unwrapping.items()}
    return _UNWRAP | options


def unwrapped(subject: Subject, record: Mapping[str, Any]) -> Event:
    """The event of a record after `unwrap`."""
    key = json.loads(record["key"])["id"]
    if record["value"] is None:
        return Event(None, key, None)
    value = json.loads(record["value"])
    assert str(value["__deleted"]).lower() == str(value["__op"] == "d").lower()
    assert value["__source_connector"]
    assert value[subject.identity] == key
    text = value.get("text")
    assert value.get("length") == (None if text is None else len(text))
    headers = {header["key"]: json.loads(header["value"]) for header in record["headers"]}
    assert headers["__op"] == value["__op"]
    return Event(value["__op"], key, None if value["__op"] == "d" else subject.text(text))


def _lengths(shape: Shape) -> tuple[Shape, Node, Column] | None:
    text = select(shape.value, "text")
    if text is None or not isinstance(shape.value, Struct):
        return None
    length = column_of(Schema(Type.INT32, optional=True))
    return replace(shape, value=with_added(shape.value, {"length": length})), text, length


_SHAPES = PerShape(_lengths)


@transform(ordering=Ordering.KEEPS_KEY)
def with_length(records: Records, _options: Mapping[str, str]) -> Iterable[Records]:
    """Adds the length of `text`."""
    extended_shape = _SHAPES(records.shape)
    if extended_shape is None:
        return [records]
    shape, text, length = extended_shape
    lengths = pc.utf8_length(values(records, text))
    return [with_values(records, length, lengths).with_shape(shape)]


@pytest.mark.parametrize("inline", [False, True])
def test_what_is_streamed_goes_through_the_chain_in_its_order(
    subject: Subject, inline: bool
) -> None:
    with Run.start(subject, inline=inline, headrace_slices=3, **ROUTE) as run:
        workload = EVERYTHING + (MOVES if Feature.KEY_CHANGES in subject.features else ())
        run_workload(subject, workload)
        run.deliver()
        assert run.collection_events() == []
        assert run.collection_events(ITEMS) == subject.events_of(workload)


def test_rows_take_the_place_of_envelopes(subject: Subject) -> None:
    with Run.start(subject, headrace_slices=3, **unwrap(subject)) as run:
        workload = EVERYTHING + (MOVES if Feature.KEY_CHANGES in subject.features else ())
        run_workload(subject, workload)
        run.deliver()
        events = [unwrapped(subject, record) for record in run.of(run.in_order(), ITEMS)]
        assert events == subject.events_of(workload)


@pytest.mark.parametrize(
    ("before", "is_shared"),
    [
        ("", True),
        ("io.debezium.transforms.SchemaChangeEventFilter", True),
        ("org.apache.kafka.connect.transforms.InsertHeader", False),
    ],
)
def test_a_tombstone_has_the_headers_of_its_delete_unless_it_was_made_again(
    subject: Subject, before: str, is_shared: bool
) -> None:
    chain = unwrap(subject) | {"transforms": "before,unwrap" if before else "unwrap"}
    if before:
        chain["transforms_before_type"] = before
    if before.endswith("InsertHeader"):
        chain |= {"transforms_before_header": "made", "transforms_before_value_literal": "again"}
    elif before:
        chain["transforms_before_schema_change_event_exclude_list"] = "ALTER"
    chain["transforms_unwrap_add_headers"] = "op,source.connector"
    with Run.start(subject, headrace_slices=3, **chain) as run:
        run_workload(subject, EVERYTHING)
        run.deliver()
        records = run.of(run.in_order(), "things")
    deletes = [r for r in records if r["value"] and json.loads(r["value"])["__op"] == "d"]
    tombstones = [r for r in records if r["value"] is None]
    assert len(deletes) == len(tombstones) > 0
    for delete, tombstone in zip(deletes, tombstones, strict=True):
        assert delete["key"] == tombstone["key"]
        added = [] if is_shared else ["__op", "__source_connector"]
        shared = [header for header in delete["headers"] if header["key"] not in added]
        assert tombstone["headers"][:-1] == shared
        operation = tombstone["headers"][-1]
        assert (operation["key"], json.loads(operation["value"])) == ("__op", "d")


@pytest.mark.needs(Feature.SNAPSHOTS)
def test_what_is_read_of_existing_rows_goes_through_the_chain(subject: Subject) -> None:
    run_workload(subject, EVERYTHING)
    rows = subject.rows("things")
    with Run.start(subject, snapshot_mode="initial", **ROUTE) as run:
        run.deliver()
        events = run.collection_events(ITEMS)
        assert {event.key: event.text for event in events} == rows
        assert {event.op for event in events} <= {"r"}


def test_equal_keys_of_topics_that_become_one_share_a_slice(subject: Subject) -> None:
    merged = ROUTE | MERGE
    with Run.start(subject, headrace_slices=3, **merged) as run:
        for first in range(1, 4000, 500):
            for collection in ("things", "marks"):
                subject.apply(collection, [Fill(first, first + 499, 1000)])
        delivered = pairs = most = 0
        while delivered < 2 * 4000:
            end = run.plan()
            slices = run.slices(end)
            check_order(slices, "key")
            items = [record["key"] for records in slices for record in run.of(records, ITEMS)]
            delivered += len(items)
            pairs += len(items) - len(set(items))
            most = max(most, len(slices))
            run.offsets.append(end)
        assert pairs > 0
        assert most > 1


def test_the_records_of_one_key_keep_their_order_where_topics_become_one(subject: Subject) -> None:
    merged = unwrap(subject) | MERGE | {"predicates_things_pattern": ".*(things|marks)"}
    expected: dict[int, list[Event]] = {}
    rows: dict[str, dict[int, str]] = {"things": {}, "marks": {}}
    with Run.start(subject, headrace_slices=3, **merged) as run:
        for transaction in EVERYTHING:
            for collection, table_rows in rows.items():
                subject.apply(collection, transaction.changes, rolled_back=transaction.rolled_back)
                if transaction.rolled_back:
                    continue
                events = subject.logged(apply(table_rows, transaction.changes))
                for event in events:
                    expected.setdefault(event.key, []).append(event)
        delivered: dict[int, list[Event]] = {}
        while sum(map(len, delivered.values())) < sum(map(len, expected.values())):
            end = run.plan()
            slices = run.slices(end)
            check_order(slices, "key")
            for records in slices:
                for record in run.of(records, ITEMS):
                    event = unwrapped(subject, record)
                    delivered.setdefault(event.key, []).append(event)
            run.offsets.append(end)
        assert delivered == expected
