"""The journal's reader under the shared receiver, as records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headrace.connect.records import group_by_shape
from headrace.connect.rows import RowTable, Sequences
from headrace.converters.json.values import JsonOptions
from headrace.errors import HeadraceError
from headrace.offsets.position import PlacePosition
from headrace.spool.extract import relocate
from headrace.spool.spool import Spool
from headrace.streaming.changes.kernels.row_kernel import TOMBSTONES
from headrace.streaming.changes.key_columns import KeyRendering
from headrace.streaming.facts import EventSettings
from headrace.streaming.receiver import Receiver
from headrace.streaming.relations import RelationVersions
from tests.connectors.harness import wait_for
from tests.contract.journal.events import JournalFacts, JournalSource
from tests.contract.journal.journal import GENERATION, Journal
from tests.contract.journal.log_reader import JournalReader
from tests.contract.journal.subject import commit, create
from tests.converters.json_converter import json_converter

FACTS = JournalFacts("s.things", "things")
SETTINGS = EventSettings("s", JournalSource())


def records_by_segment(journal: Journal) -> list[list[dict[str, Any]]]:
    """The records that a receiver indexes, by segment: each is read without the ones before it."""
    versions = RelationVersions(KeyRendering(SETTINGS), first=[FACTS])
    versions.append(JournalFacts("", "marks"), captured=False)
    reader = JournalReader(journal, "r", PlacePosition(), versions, TOMBSTONES)
    spool = Spool(reader.end_type, 256 << 20)
    receiver = Receiver(reader, spool, orphaned=lambda: False)
    receiver.start()
    try:
        end = journal.end()
        wait_for(lambda: receiver.received.complete == end or receiver.error)
    finally:
        receiver.close()
    assert receiver.error is None
    assert receiver.received.filtered == 1
    plain = JsonOptions(schemas_enable=False)
    convert = json_converter(plain, plain, plain).convert
    segments = []
    for piece in spool.pieces:
        rows, transactions = piece.index.rows_now().copy(), piece.index.transactions_now().copy()
        segment = piece.segment
        relocate(rows, transactions, segment.start, segment.end, segment.base - segment.start)
        records = group_by_shape(RowTable(rows, transactions), {0: FACTS.shape(SETTINGS)})
        batches = convert(records, Sequences(1))
        segments.append([record for batch in batches for record in batch.to_pylist()])
    spool.clear()
    return segments


def test_the_receivers_rows_become_events_with_texts_of_row_and_transaction(tmp_path: Path) -> None:
    journal = create(tmp_path)
    commit(journal, [(0, None, (1, "one")), (0, (1, "one"), (1, "uno")), (1, None, (9, "not"))])
    commit(journal, [(0, (1, "uno"), (2, "moved")), (0, (2, "moved"), None)])
    (records,) = records_by_segment(journal)
    values = [None if r["value"] is None else json.loads(r["value"]) for r in records]
    assert [value and value["op"] for value in values] == ["c", "u", "d", None, "c", "d", None]
    sources = [value["source"] for value in values if value]
    assert {source["txId"][:4] for source in sources} == {"txn:"}
    assert len({source["txId"] for source in sources}) == 2
    assert {source["position"].split(":")[0] for source in sources} == {str(GENERATION)}
    assert [record["sequence"] for record in records] == sorted({r["sequence"] for r in records})


def test_a_collection_with_more_columns_than_the_kernels_have_room_for_is_an_error() -> None:
    class Wide(JournalFacts):
        cell_names = tuple(f"c{number}" for number in range(4097))

    versions = RelationVersions(KeyRendering(SETTINGS))
    with pytest.raises(HeadraceError, match=r"things has 4097 columns") as error:
        versions.append(Wide("s.things", "things"))
    assert error.value.code == "streaming.too_many_columns"
    versions.append(Wide("s.things", "things"), captured=False)


def test_a_transactions_image_continues_in_every_segment(tmp_path: Path) -> None:
    journal = create(tmp_path)
    commit(journal, [(1, None, (9, "not")), *((0, None, (n, "x" * (6 << 20))) for n in range(8))])
    segments = records_by_segment(journal)
    assert len(segments) >= 3
    sources = [json.loads(r["value"])["source"] for records in segments for r in records]
    assert len(sources) == 8
    assert len({source["txId"] for source in sources}) == 1
    assert sources[0]["txId"].startswith("txn:")
