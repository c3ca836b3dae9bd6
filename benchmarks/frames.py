"""`headrace.transforms.apply` without Spark around it: batches of 10,000 events of ten columns are
read, unwrapped and written again, on one core.

`python -m benchmarks.frames` prints thousand records per second of CPU time for JSON with and
without schemas and for Avro: reading alone, and the whole way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from benchmarks.records import TYPES, facts, stream
from headrace.connect.records import Records, group_by_shape
from headrace.connect.rows import RowTable, Sequences
from headrace.connectors.postgresql.source import PostgresSettings, PostgresSource
from headrace.converters.avro.converter import AvroConverter, AvroSettings
from headrace.converters.avro.schemas import AvroOptions
from headrace.converters.converter import Converter
from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions
from headrace.converters.reading.avro import AvroReader
from headrace.converters.reading.binary import BytesReader
from headrace.converters.reading.json import JsonReader
from headrace.converters.reading.part import Reader
from headrace.converters.reading.records import RecordReader
from headrace.converters.rows import SliceConverter
from headrace.streaming.facts import shape_of
from headrace.transforms.json_form import read_chain
from tests.connectors.postgresql.replication.pgoutput import Index
from tests.converters.registry_double import Numbered

ROWS, PASSES = 10_000, 7
CHAINS: Mapping[str, Mapping[str, str]] = {
    "no chain": {},
    "unwrap, two fields": {
        "transforms": "u",
        "transforms.u.type": "ExtractNewRecordState",
        "transforms.u.add.fields": "op,source.lsn",
    },
}


class Known(Numbered):
    """Its schemas by id."""

    def by_id(self, number: int) -> str:
        return {known: text for text, known in self.schemas.items()}[number]


def events() -> list[Records]:
    """The first events of benchmarks.records."""
    index = Index(stream(1), [len(TYPES)])
    shapes = {0: shape_of(facts(0), PostgresSettings("bench", PostgresSource("shop")))}
    rows = np.ascontiguousarray(index.real_rows()[:ROWS])
    return group_by_shape(RowTable(rows, index.transactions, (index,)), shapes)


def forms() -> dict[str, tuple[Callable[[], Converter], Callable[[], Reader]]]:
    """A writer and a reader by name."""
    registry = Known()
    plain, described = JsonOptions(), JsonOptions(schemas_enable=True)
    return {
        "JSON without schemas": (lambda: JsonConverter(plain), lambda: JsonReader(plain, "")),
        "JSON with schemas": (lambda: JsonConverter(described), lambda: JsonReader(described, "")),
        "Avro": (
            lambda: AvroConverter(AvroSettings(AvroOptions()), registry, is_key=False),
            lambda: AvroReader(registry),
        ),
    }


def best(work: Callable[[], object]) -> float:
    """Seconds of CPU time of the fastest pass."""
    passes = []
    for _ in range(PASSES):
        begin = time.process_time()
        work()
        passes.append(time.process_time() - begin)
    return min(passes)


def measure(
    converter: Callable[[], Converter],
    reader: Callable[[], Reader],
    batch: pa.RecordBatch,
    properties: Mapping[str, str],
) -> tuple[float, float]:
    """Thousand records per second: read, and read, transformed and written."""
    records = RecordReader(reader(), reader(), BytesReader())
    out = SliceConverter(converter(), converter(), converter())
    chain = read_chain(properties)

    def read() -> list[Records]:
        return records.read(batch, "").records

    def whole() -> int:
        return sum(b.num_rows for b in out.convert(chain(read()), Sequences(1)))

    assert whole() == ROWS
    return ROWS / best(read) / 1000, ROWS / best(whole) / 1000


def main() -> None:
    """Print the table."""
    written = events()
    print(f"{'':42s} bytes/value   read k/s   whole k/s")
    for name, (converter, reader) in forms().items():
        writer = SliceConverter(converter(), converter(), converter())
        (converted,) = writer.convert(written, Sequences(1))
        columns = {each: converted.column(each).cast(pa.binary()) for each in ("key", "value")}
        batch = pa.record_batch({"topic": converted.column("topic"), **columns})
        size = sum(len(value) for value in columns["value"].to_pylist()) // ROWS
        for title, properties in CHAINS.items():
            reading, together = measure(converter, reader, batch, properties)
            print(f"{name + ', ' + title:42s} {size:11d} {reading:10.0f} {together:11.0f}")


if __name__ == "__main__":
    main()
