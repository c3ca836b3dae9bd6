"""The compiled counters against a plain model."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connect.rows import BEGIN, ENDING, ROW
from headrace.debezium.java_collections import java_hash
from headrace.spool.index import SegmentIndex
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.counts import TransactionCounts
from tests.examples import examples

NAMES = ['public."quoted"', "public.ä", "s.𝄞", *(f"public.t{i}" for i in range(60))]
TRANSACTIONS = st.lists(st.lists(st.integers(0, len(NAMES) - 1), max_size=80), max_size=6)


def hash_map_order(names: list[str]) -> list[str]:
    """The order in which a java.util.HashMap of these keys, put in this order, lists them."""
    size = 16
    while len(names) > size * 0.75:
        size *= 2
    return sorted(names, key=lambda name: java_hash(name) % size)


@settings(max_examples=examples(150), deadline=None)
@given(TRANSACTIONS, st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_counts_are_those_of_a_plain_model(transactions: list[list[int]], steps: list[int]) -> None:
    operations, relations, expected, endings = [], [], [], []
    for tables in transactions:
        operations += [BEGIN, *(ord("c") for _ in tables), ENDING]
        relations += [0, *tables, 0]
        events_by_table: Counter[str] = Counter()
        expected.append((0, 0))
        for total, table in enumerate(tables, 1):
            events_by_table[NAMES[table]] += 1
            expected.append((total, events_by_table[NAMES[table]]))
        expected.append((len(tables), None))
        endings.append(
            [(name, events_by_table[name]) for name in hash_map_order(list(events_by_table))]
        )
    index = SegmentIndex(row_kernel.END)
    rows = np.zeros(len(operations), ROW)
    rows["operation"], rows["relation"], rows["kind"] = operations, relations, 2
    index.rows[: len(rows)] = rows
    counts = TransactionCounts()
    counts.know(NAMES)
    counted = 0
    while counted < len(rows):
        # Rows come in pieces of any size.
        step = min(steps[counted % len(steps)], len(rows) - counted)
        counts.count(index, counted, counted + step)
        counted += step
    index.row_count = len(rows)
    orders = index.orders[: index.row_count]
    read_counts = [
        (int(o["total"]), None if operation == ENDING else int(o["collection"]))
        for o, operation in zip(orders, operations, strict=True)
    ]
    assert read_counts == expected
    size = counts.endings_size(index, rows, orders)
    memory = np.zeros(size + 64, np.uint8)
    used = counts.write_endings(index, rows, orders, memory, 1000, 0)
    assert used <= size
    texts = []
    for row in rows[rows["operation"] == ENDING]:
        raw = memory[int(row["new"]) - 1000 :][: int(row["size"])].tobytes()
        assert raw[:3] == b"\0\1t"
        assert int.from_bytes(raw[3:7], "big") == len(raw) - 7
        texts.append([(c["data_collection"], c["event_count"]) for c in json.loads(raw[7:])])
    assert texts == endings


def test_hashes_are_those_of_java() -> None:
    # "Aa" and "BB" are Java's classic collision; 2112 << 0 after spreading.
    assert java_hash("Aa") == java_hash("BB") == 2112
    assert java_hash("public.t8") & 15 == 4
