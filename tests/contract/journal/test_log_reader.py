"""The journal's reader under the shared receiver, as records."""

from __future__ import annotations

import json
from pathlib import Path

from headrace.connect.records import group_by_shape
from headrace.connect.rows import RowTable, Sequences
from headrace.converters.json.values import JsonOptions
from headrace.converters.rows import JsonConverter
from headrace.spool.extract import relocate
from headrace.spool.spool import Spool
from headrace.streaming.facts import EventSettings
from headrace.streaming.receiver import Receiver
from headrace.streaming.row_kernel import TOMBSTONES
from tests.connectors.harness import wait_for
from tests.contract.journal.events import JournalFacts, JournalSource
from tests.contract.journal.journal import GENERATION, Journal
from tests.contract.journal.log_reader import JournalPosition, JournalReader, place_of


def test_the_receivers_rows_become_events_with_texts_of_row_and_transaction(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.commit([(0, None, (1, "one")), (0, (1, "one"), (1, "uno")), (1, None, (9, "not"))])
    journal.commit([(0, (1, "uno"), (2, "moved")), (0, (2, "moved"), None)])
    end = journal.file.stat().st_size
    reader = JournalReader(journal, "r", JournalPosition(), ["s.things", None], TOMBSTONES)
    spool = Spool(reader.end_type, 64 << 20)
    receiver = Receiver(reader, spool, orphaned=lambda: False)
    receiver.start()
    try:
        wait_for(lambda: receiver.received.complete == place_of(end) or receiver.error)
    finally:
        receiver.close()
    assert receiver.error is None
    assert receiver.received.filtered == 1
    (piece,) = spool.pieces
    rows, transactions = piece.index.rows_now().copy(), piece.index.transactions_now().copy()
    segment = piece.segment
    relocate(rows, transactions, segment.start, segment.end, segment.base - segment.start)
    shape = JournalFacts("s.things", "things").shape(EventSettings("s", JournalSource()))
    plain = JsonOptions(schemas_enable=False)
    convert = JsonConverter(plain, plain, plain).convert
    records = [
        record
        for batch in convert(group_by_shape(RowTable(rows, transactions), {0: shape}), Sequences(1))
        for record in batch.to_pylist()
    ]
    spool.clear()
    values = [None if r["value"] is None else json.loads(r["value"]) for r in records]
    assert [value and value["op"] for value in values] == ["c", "u", "d", None, "c", "d", None]
    sources = [value["source"] for value in values if value]
    assert {source["txId"][:4] for source in sources} == {"txn:"}
    assert len({source["txId"] for source in sources}) == 2
    assert {source["position"].split(":")[0] for source in sources} == {str(GENERATION)}
    assert [record["sequence"] for record in records] == sorted({r["sequence"] for r in records})
