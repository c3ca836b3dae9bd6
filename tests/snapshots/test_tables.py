"""Tables of a snapshot, as offsets list them."""

from __future__ import annotations

import json

import pytest

from headrace.snapshots.chunks import ChunkKind
from headrace.snapshots.tables import Leaf, ReadingOrder, SnapshotTable, TableId


def table(
    identity: TableId,
    rows: int,
    condition: str | None = None,
    key: str | None = None,
    parts: str | None = None,
) -> SnapshotTable:
    leaves = (Leaf(identity, "shop", str(identity), 1, rows),)
    name = str(identity)
    return SnapshotTable(
        identity, "shop", name, ChunkKind.KEY, leaves, False, condition, key, parts
    )


@pytest.mark.parametrize("identity", [16384, "shop.orders"])
@pytest.mark.parametrize("condition", [None, "id < 5"])
@pytest.mark.parametrize("key", [None, "1:23:0"])
@pytest.mark.parametrize("parts", [None, "16390:741,16391:741.742"])
def test_an_offset_holds_a_table_by_a_number_or_a_text(
    identity: TableId, condition: str | None, key: str | None, parts: str | None
) -> None:
    stored = table(identity, 3, condition, key, parts)
    assert SnapshotTable.from_json(json.loads(json.dumps(stored.to_json()))) == stored


def test_a_table_of_an_offset_of_an_earlier_version_has_no_key_to_compare() -> None:
    leaves = [[16384, "shop", "orders", 1, 3]]
    stored = [16384, "shop", "orders", "key", leaves, False]
    assert SnapshotTable.from_json(stored).key is None
    assert SnapshotTable.from_json([*stored, "id < 5"]).condition == "id < 5"
    assert SnapshotTable.from_json([*stored, "id < 5"]).key is None
    assert SnapshotTable.from_json(stored).to_json() == stored


def test_tables_with_text_ids_are_read_by_their_rows() -> None:
    tables = [table("a", 3), table("b", 1), table("c", 2)]
    order = ReadingOrder("ascending", chunk_bytes=1 << 20, page_bytes=8192)
    ordered = order.of(tables, lambda leaf: leaf.rows, lambda _: True)
    assert [each.id for each in ordered] == ["b", "c", "a"]
