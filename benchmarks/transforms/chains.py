"""Transforms over Records of 10,000 rows with ten columns: million records per second on one core.

`python -m benchmarks.transforms [NAME]` prints what the chain alone does, and what chain and JSON
converter do together, for each chain (or those whose name begins with NAME).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np

from benchmarks.records import EVENTS, TYPES, best, facts, stream
from headrace.connect.records import Records, group_by_shape
from headrace.connect.rows import RowTable, Sequences
from headrace.connectors.postgresql.source import PostgresSettings, PostgresSource
from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions
from headrace.converters.rows import SliceConverter
from headrace.streaming.facts import shape_of
from headrace.transforms.chain import Chain
from headrace.transforms.json_form import transforms_config
from headrace.transforms.reading import chain_of
from tests.connectors.postgresql.replication.pgoutput import Index

ROWS = 10_000
UNWRAP = {"type": "ExtractNewRecordState"}
MATCHING = {"type": "TopicNameMatches", "pattern": "bench.*"}
CHAINS: Mapping[str, list[Mapping[str, str]]] = {
    "none": [],
    "ExtractNewRecordState": [UNWRAP],
    "ExtractNewRecordState, rewrite and two fields": [
        UNWRAP
        | {"delete.tombstone.handling.mode": "rewrite", "add.fields": "op,source.ts_ms"}
    ],
    "ExtractNewRecordState, three headers": [UNWRAP | {"add.headers": "op,source.ts_ms,table"}],
    "ExtractNewRecordState, route by a column": [UNWRAP | {"route.by.field": "doc"}],
    "RegexRouter with a predicate": [
        {"type": "RegexRouter", "regex": "(.*)", "replacement": "$1-x", "predicate": "matching"}
    ],
    "unwrap, InsertField static": [
        UNWRAP, {"type": "InsertField$Value", "static.field": "s", "static.value": "v"}
    ],
    "unwrap, ReplaceField": [
        UNWRAP, {"type": "ReplaceField$Value", "exclude": "doc", "renames": "name:n"}
    ],
}  # fmt: skip


def chain(steps: list[Mapping[str, str]]) -> Chain:
    """The chain of these steps."""
    names = [f"t{number}" for number in range(len(steps))]
    properties = {
        f"transforms.{name}.{option}": text
        for name, step in zip(names, steps, strict=True)
        for option, text in step.items()
    }
    predicates = {f"predicates.matching.{option}": text for option, text in MATCHING.items()}
    properties |= {"transforms": ",".join(names), "predicates": "matching", **predicates}
    return chain_of(transforms_config(properties))


def slices() -> list[list[Records]]:
    """The events of benchmarks.records, ten thousand at a time."""
    index = Index(stream(1), [len(TYPES)])
    settings = PostgresSettings("bench", PostgresSource("shop"))
    shapes = {0: shape_of(facts(0), settings)}
    rows = index.real_rows()
    tables = [
        RowTable(np.ascontiguousarray(rows[first : first + ROWS]), index.transactions, (index,))
        for first in range(0, EVENTS, ROWS)
    ]
    return [group_by_shape(table, shapes) for table in tables]


def measure(steps: list[Mapping[str, str]], pieces: list[list[Records]]) -> tuple[float, float]:
    """Million records per second: the chain alone, and with the JSON converter behind it."""
    transforms = chain(steps)
    converter = SliceConverter(*[JsonConverter(JsonOptions()) for _ in range(3)])

    def transform() -> None:
        for records in pieces:
            transforms(records)

    def convert() -> int:
        return sum(
            batch.num_rows
            for records in pieces
            for batch in converter.convert(transforms(records), Sequences(1))
        )

    return 1000 / best(transform), 1000 / best(convert)


def main() -> None:
    """Print the table."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    pieces = slices()
    print(f"{'chain':46s}  chain M/s  with JSON M/s")
    for name, steps in CHAINS.items():
        if name.startswith(wanted):
            alone, together = measure(steps, pieces)
            print(f"{name:46s}  {alone:9.1f}  {together:13.2f}")


if __name__ == "__main__":
    main()
