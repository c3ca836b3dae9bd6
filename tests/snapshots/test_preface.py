"""Records before the first chunk of a snapshot: a range of their own, once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from headrace.connect.images import make_image
from headrace.connect.rows import RowKind
from headrace.connect.slices import Plan
from headrace.converters.json.values import JsonOptions
from headrace.offsets.offset import Offset
from headrace.offsets.position import PlacePosition
from headrace.snapshots.slices import PREFACE_ORDINAL, PrefaceRecord
from headrace.snapshots.snapshot import Snapshot
from headrace.snapshots.tables import SnapshotTable
from headrace.streaming.changes.key_columns import KeyRendering
from headrace.streaming.facts import EventSettings, NotificationFacts
from tests.contract.journal.connector import JournalConfig
from tests.contract.journal.events import JournalFacts, JournalSource
from tests.contract.journal.reading import JournalSnapshot, RowChunks, State
from tests.contract.journal.subject import commit, create
from tests.converters.json_converter import json_converter

SETTINGS = EventSettings("s", JournalSource())


class Prefaced(JournalSnapshot):
    """A journal whose snapshots begin with two notifications, and whose rows show a text."""

    is_prefaced = True
    empty = False

    def tables(self, conditions: Mapping[str, str | None] | None = None) -> list[SnapshotTable]:
        return [] if self.empty else super().tables(conditions)

    def preface(self, position: PlacePosition) -> Sequence[PrefaceRecord]:
        images = (make_image([n, "T", str(position.committed), "{}", "7"]) for n in "ab")
        return [
            PrefaceRecord(NotificationFacts("notifications"), ord("n"), image) for image in images
        ]

    def transaction_image(self, position: PlacePosition, kind: int) -> bytes:
        return make_image([f"at {position.committed}, {RowKind(kind).name}"])


def snapshot_of(folder: Path, *, empty: bool = False, mode: str = "initial") -> Any:
    journal = create(folder)
    commit(journal, [(0, None, (1, "one")), (0, None, (2, "two"))])
    config = JournalConfig.parse(
        {
            "topic.prefix": "s",
            "journal.folder": str(folder),
            "journal.reader": "r",
            "snapshot.mode": mode,
        }
    )
    facts = {"things": JournalFacts("s.things", "things"), "marks": JournalFacts("s.marks", "m")}
    source = Prefaced(RowChunks(journal, facts, KeyRendering(SETTINGS)))
    source.empty = empty
    return Snapshot[PlacePosition, State](config, source, Plan(2, "key"), SETTINGS)


def ranges(snapshot: Any) -> list[Offset[PlacePosition]]:
    """The offsets of a snapshot, the one before it and the one after it included."""
    offsets = [snapshot.begin(Offset("s", PlacePosition(5), 1))]
    while offsets[-1].snapshot is not None:
        offsets.append(snapshot.poll(offsets[-1]))
    return offsets


def read(slices: Iterable[Any]) -> list[dict[str, Any]]:
    plain = JsonOptions(schemas_enable=False)
    convert = json_converter(plain, plain, plain).convert
    batches = [
        batch
        for piece in slices
        for records in piece.read()
        for batch in convert(records, piece.sequences)
    ]
    return [record for batch in batches for record in batch.to_pylist()]


def test_the_first_range_has_them_and_its_records_stand_before_the_rows(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path)
    offsets = ranges(snapshot)
    ranges_read = [
        read(snapshot.slices(a, b)) for a, b in pairwise(offsets) if b.snapshot is not None
    ]
    assert [record["topic"] for record in ranges_read[0]] == ["notifications", "notifications"]
    assert [json.loads(r["value"])["id"] for r in ranges_read[0]] == ["a", "b"]
    assert json.loads(ranges_read[0][0]["value"])["aggregate_type"] == "5"
    rows = [record for records in ranges_read[1:] for record in records]
    assert [json.loads(r["value"])["after"]["text"] for r in rows] == ["one", "two"]
    sources = [json.loads(r["value"])["source"] for r in rows]
    assert {source["txId"] for source in sources} == {"at 5, SNAPSHOT"}
    sequences = [record["sequence"] for records in ranges_read for record in records]
    assert sequences == sorted(set(sequences))


def test_another_process_continues_after_them(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path)
    before, after = ranges(snapshot)[:2]
    place = after.snapshot.after
    assert place["ordinal"] == PREFACE_ORDINAL + 1
    (again,) = snapshot.slices(before, after)
    assert len(read([again])) == 2
    snapshot.close()
    following = snapshot.poll(after)
    assert following.snapshot.chunks
    assert [r["topic"] for r in read(snapshot.slices(after, following))] == ["s.things"] * 2


def test_a_snapshot_without_tables_has_them_too_whatever_the_mode(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path, empty=True, mode="no_data")
    offsets = ranges(snapshot)
    assert len(offsets) == 3
    assert len(read(snapshot.slices(*offsets[:2]))) == 2


def test_a_blocking_snapshot_has_none(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path)
    begun = snapshot.begin(Offset("s", PlacePosition(5), 1))
    blocking = replace(begun, snapshot=replace(begun.snapshot, blocking=True))
    assert snapshot.poll(blocking).snapshot.chunks
