"""The key columns that a window compares are made once, whatever comes of its keys."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from headrace.connect.images import make_image
from headrace.connect.rows import ROW, TRANSACTION
from headrace.connectors.postgresql.visibility import VisibleTransactions
from headrace.relational.events import RelationFacts
from headrace.signals.progress import Pending
from headrace.snapshots.incremental.rows import ChunkRows, ReadChunk
from headrace.snapshots.incremental.window import ChunkWindow
from headrace.streaming.changes import key_columns
from tests.connectors.postgresql.facts import KEYS, column

COLUMNS = 100


def facts() -> RelationFacts:
    names = [f"c{number}" for number in range(COLUMNS)]
    columns = tuple(column(n, "text", 25) for n in names)
    return RelationFacts("public", "t", "s.public.t", columns, ("c0",))


def image(key: int) -> bytes:
    return make_image([str(key), *[None] * (COLUMNS - 1)])


def test_facts_are_not_hashed_per_row(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = range(1, 51)
    images = [image(key) for key in keys]
    rows = ChunkRows(
        facts(),
        np.frombuffer(b"".join(images), np.uint8),
        np.cumsum([0, *map(len, images)], dtype=np.int64),
        np.array(keys, np.uint64),
        KEYS,
    )
    window = ChunkWindow(
        ReadChunk(Pending("public.t", "s1"), rows, VisibleTransactions("10:10:"), 0), rows
    )
    events = np.zeros(len(images), ROW)
    events["hash"] = list(keys)
    events["new"] = list(keys)
    transactions = np.zeros(1, TRANSACTION)
    transactions["xid"] = 20
    version = facts()
    hashed = mock.Mock(side_effect=lambda _: 0)
    monkeypatch.setattr(RelationFacts, "__hash__", lambda self: hashed(self))
    with mock.patch.object(
        key_columns, "KeyColumns", wraps=key_columns.KeyColumns
    ) as key_columns_class:
        for row in events:
            window.events(
                row.reshape(1),
                transactions,
                lambda _: version,
                lambda address: memoryview(images[address - 1]),
                opened=True,
            )
    assert len(window.kept()) == 0
    assert hashed.call_count == 0
    assert key_columns_class.call_count == 1
