"""The transactions for which a reading of the catalogue is valid, and the names that the received
bytes have."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.postgresql.catalog.catalog import CatalogReading, CatalogTable
from headrace.connectors.postgresql.replication.logged_table import LoggedTables
from headrace.connectors.postgresql.replication.pgoutput_messages import (
    RelationColumn,
    RelationMessage,
    relations_ahead,
)
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.connectors.postgresql.visibility import VisibleTransactions

MESSAGE = RelationMessage(7, "public", "t", "d", (RelationColumn("id", 23, -1, True),))


@given(
    end=st.integers(3, 1 << 62),
    distance=st.integers(-(1 << 31), (1 << 31) - 1),
    running=st.sets(st.integers(1, 1 << 20), max_size=5),
)
def test_ids_of_the_log_are_compared_across_wrap_arounds(
    end: int, distance: int, running: set[int]
) -> None:
    xid = end + distance
    ids = sorted(end - back for back in running if end - back > 0)
    snapshot = f"{min([end, *ids])}:{end}:{','.join(map(str, ids))}"
    assert VisibleTransactions(snapshot).sees(xid & 0xFFFFFFFF) == (xid < end and xid not in ids)


def reading(snapshot: str) -> CatalogReading:
    table = CatalogTable("public", "t", (), ("id",), id=7)
    return CatalogReading({7: table}, {23: TypeFacts(23, "int4")}, snapshot)


class OneReading:
    """A catalogue that answers every question with one reading."""

    def __init__(self, snapshot: str) -> None:
        self.snapshot, self.reads, self.closed = snapshot, 0, False

    def read(self, *_: object, **__: object) -> CatalogReading:
        self.reads += 1
        return reading(self.snapshot)

    def cancel(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


def test_a_reading_holds_for_the_transactions_that_its_snapshot_sees() -> None:
    tables = LoggedTables(OneReading("1:1:"), reading("100:105:102"))  # type: ignore[arg-type]
    assert tables.known(MESSAGE, 101) is not None
    assert tables.known(MESSAGE, 102) is None
    assert tables.known(MESSAGE, 105) is None


def test_a_type_that_was_not_read_is_asked_for() -> None:
    tables = LoggedTables(OneReading("1:1:"), reading("100:105:"))  # type: ignore[arg-type]
    other = RelationMessage(7, "public", "t", "d", (RelationColumn("id", 25, -1, True),))
    assert tables.known(other, 101) is None


def test_a_transaction_that_stays_invisible_does_not_hold_up_the_stream() -> None:
    """A transaction that waits for a synchronous standby is an example."""
    catalog = OneReading("100:105:")
    tables = LoggedTables(catalog)  # type: ignore[arg-type]
    tables.ask([MESSAGE], 200)
    while not tables.answered(1):
        pass
    assert tables.known(MESSAGE, 200) is not None
    assert tables.known(MESSAGE, 201) is None
    assert catalog.reads > 1
    tables.close()
    assert catalog.closed


def test_a_table_that_is_gone_is_known_to_be_gone() -> None:
    tables = LoggedTables(OneReading("100:105:"))  # type: ignore[arg-type]
    gone = RelationMessage(8, "public", "u", "d", (RelationColumn("id", 23, -1, True),))
    tables.ask([gone], 101)
    while not tables.answered(1):
        pass
    known = tables.known(gone, 101)
    assert known is not None
    assert known.describe(8) is None


def frame(body: bytes) -> bytes:
    return b"d" + struct.pack("!I", len(body) + 4) + body


def data(body: bytes) -> bytes:
    return frame(b"w" + bytes(24) + body)


def relation(oid: int) -> bytes:
    return b"R" + struct.pack("!I", oid) + b"public\0t\0d" + struct.pack("!H", 0)


@given(st.lists(st.one_of(st.integers(1, 1 << 31), st.binary(max_size=40)), max_size=20), st.data())
def test_every_whole_relation_message_ahead_is_found(
    parts: list[int | bytes], chosen: st.DataObject
) -> None:
    frames = [
        data(relation(part)) if isinstance(part, int) else data(b"I" + part) for part in parts
    ]
    keepalive = frame(b"k" + bytes(17))
    raw = keepalive + b"".join(frames)
    end = chosen.draw(st.integers(0, len(raw)))
    expected, at = [], len(keepalive)
    for part, each in zip(parts, frames, strict=True):
        at += len(each)
        if isinstance(part, int) and at <= end:
            expected.append(part)
    assert [message.oid for message in relations_ahead(raw, 0, end)] == expected
