"""Files of each format hold what the converters made, in files of bounded size."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connect.rows import NULL
from headrace.converters.avro.values import long
from headrace.errors import HeadraceError
from headrace.sinks.event_log.formats.avro import Avro
from headrace.sinks.event_log.formats.avro_rows import encode_events, longs
from headrace.sinks.event_log.formats.avro_schemas import RoleSchema, event_schema
from headrace.sinks.event_log.log import EventLog
from headrace.sinks.event_log.options import COMPRESSIONS, Limits
from headrace.sinks.lines import LineWriter
from tests.sinks.event_log.events import (
    HOUR_START_US,
    event_batch,
    form_of,
    log_options,
    records,
    stage,
    visible,
)

FORMATS = [
    (form, compression)
    for form, compressions in COMPRESSIONS.items()
    for compression in compressions
]


@pytest.mark.parametrize("form", ["json", "parquet", "avro"])
@pytest.mark.parametrize("limit", ["9000", "20000"])
def test_files_are_no_larger_than_their_bound_and_lose_nothing(tmp_path, form, limit) -> None:
    options = log_options(tmp_path / "log", format=form, file_max_bytes=limit)
    log = EventLog(options.path, tmp_path / "state")
    log.open()
    noise = np.random.default_rng(5).bytes(40_000).hex()
    values = [
        json.dumps(noise[40 * number : 40 * number + 40 + number % 300]) for number in range(900)
    ]
    log.commit(stage(log, options, "1-0-0", event_batch(range(900), values=values)), 1, "q")
    files = visible(options.path)
    sizes = [file.stat().st_size for file in files]
    assert max(sizes) <= int(limit)
    assert len(files) < 3 * sum(sizes) // int(limit) + 2
    event_values = [record["value"] for file in files for record in records(file)]
    assert (
        event_values == [json.loads(text) for text in values]
        if form == "json"
        else event_values == values
    )


@pytest.mark.parametrize("form", ["json", "parquet", "avro"])
def test_files_have_at_most_flush_size_records(tmp_path, form) -> None:
    options = log_options(tmp_path / "log", format=form, flush_size="16")
    log = EventLog(options.path, tmp_path / "state")
    log.open()
    log.commit(stage(log, options, "1-0-0", event_batch(range(100))), 1, "q")
    rows = [len(list(records(file))) for file in visible(options.path)]
    assert sum(rows) == 100
    assert max(rows) <= 16
    names = [int(file.name.split("-")[1]) for file in visible(options.path)]
    assert names == rows


@pytest.mark.parametrize(("form", "compression"), FORMATS)
def test_every_compression_is_read_by_others(tmp_path, form, compression) -> None:
    options = log_options(tmp_path / "log", format=form, compression=compression)
    log = EventLog(options.path, tmp_path / "state")
    log.open()
    log.commit(stage(log, options, "1-0-0", event_batch(range(3000))), 1, "q")
    (file,) = visible(options.path)
    assert [int(record["value"]) for record in records(file)] == list(range(3000))
    form_of(options).merge([file, file], merged := tmp_path / f"merged{file.suffix}")
    assert [int(record["value"]) for record in records(merged)] == [*range(3000), *range(3000)]


def test_lines_are_those_of_the_file_sink(tmp_path) -> None:
    options = log_options(tmp_path / "log")
    log = EventLog(options.path, tmp_path / "state")
    log.open()
    batch = event_batch(
        [1, 2], keys=['{"id":1}', None], headers=[[{"key": "h", "value": b'"x"'}], None]
    )
    log.commit(stage(log, options, "1-0-0", batch), 1, "q")
    (file,) = visible(options.path)
    assert file.read_bytes() == bytes(LineWriter().render(batch))


def test_parquet_has_typed_columns(tmp_path) -> None:
    options = log_options(tmp_path / "log", format="parquet")
    log = EventLog(options.path, tmp_path / "state")
    log.open()
    batch = event_batch([1, 2], topics=["a/b", "a/b"])
    log.commit(stage(log, options, "1-0-0", batch, [HOUR_START_US + 5, NULL]), 1, "q")
    (file,) = visible(options.path)
    assert file.parent.relative_to(options.path).parts == (
        "topic=a%2Fb", "date=2026-07-25", "hour=17",
    )  # fmt: skip
    table = pa.parquet.ParquetFile(file).read()
    assert {field.name: str(field.type) for field in table.schema} == {
        "topic": "string", "key": "string", "value": "string",
        "headers": "list<element: struct<key: string, value: binary>>",
        "sequence": "string", "commit_time": "timestamp[us, tz=UTC]",
    }  # fmt: skip
    assert table["topic"].to_pylist() == ["a/b", "a/b"]
    assert table["commit_time"].cast(pa.int64()).to_pylist() == [HOUR_START_US + 5, None]


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=20))
def test_longs_are_those_of_the_exact_encoder(values: list[int]) -> None:
    assert longs(np.array(values, np.int64)).to_pylist() == [long(value) for value in values]


def read_events(schema: bytes, rows: pa.Array) -> list[Any]:
    parsed = fastavro.parse_schema(json.loads(schema))
    return [fastavro.schemaless_reader(io.BytesIO(row), parsed) for row in rows.to_pylist()]


TEXT, BYTES = st.text(st.characters(codec="utf-8"), max_size=80), st.binary(max_size=80)
HEADER_LISTS = st.none() | st.lists(
    st.fixed_dictionaries({"key": TEXT, "value": st.none() | BYTES}), max_size=3
)


@given(st.data(), st.booleans())
@settings(max_examples=60)
def test_texts_and_bytes_come_back_from_avro(data, is_text: bool) -> None:
    cells = st.none() | (TEXT if is_text else BYTES)
    row = st.tuples(TEXT, cells, cells, HEADER_LISTS, st.none() | st.integers(0, 1 << 50))
    rows = data.draw(st.lists(row, min_size=1, max_size=12))
    topics, keys, values, headers, times = map(list, zip(*rows, strict=True))
    kind = pa.string() if is_text else pa.binary()
    batch = event_batch(
        range(len(rows)), topics=topics, keys=keys, values=values, headers=headers, kind=kind
    )
    commit_us = np.array([NULL if time is None else time for time in times], np.int64)
    cut = data.draw(st.integers(0, len(rows) - 1))  # buffers of a slice do not begin at its rows
    batch, commit_us, rows = batch.slice(cut), commit_us[cut:], rows[cut:]
    role = RoleSchema("string" if is_text else "bytes")
    read = read_events(event_schema(role, role), encode_events(batch, commit_us, role, role))
    for row, event in zip(rows, read, strict=True):
        assert (event["topic"], event["key"], event["value"]) == row[:3]
        assert event["headers"] == (row[3] or [])
        at = event["commit_time"]
        assert (None if at is None else round(at.timestamp() * 1e6)) == row[4]


KEY = {
    "type": "record",
    "name": "Key",
    "namespace": "s.t",
    "fields": [{"name": "id", "type": "int"}],
}
POINT = {
    "type": "record",
    "name": "Point",
    "namespace": "g",
    "fields": [{"name": "x", "type": "double"}],
}
VALUE = {
    "type": "record", "name": "Envelope", "namespace": "s.t",
    "fields": [
        {"name": "before", "type": ["null", {"type": "record", "name": "Value", "fields": [
            {"name": "id", "type": "int"}, {"name": "p", "type": ["null", POINT]},
        ]}]},
        {"name": "after", "type": ["null", "Value"]},
        {"name": "op", "type": {"type": "enum", "name": "Op", "symbols": ["c", "u"]}},
    ],
}  # fmt: skip
OTHER_VALUE = {**VALUE, "fields": [*VALUE["fields"], {"name": "ts", "type": "long"}]}


def confluent(number: int, schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return b"\0" + number.to_bytes(4, "big") + out.getvalue()


def avro_format(schemas: dict[int, Any]) -> Avro:
    kinds = {"key": "avro", "value": "avro"}
    return Avro("zstd", Limits(), kinds, lambda _role, number: json.dumps(schemas[number]))


def write_avro(form: Avro, batch: pa.RecordBatch, folder: Path) -> list[Path]:
    paths: dict[bytes, Any] = {}
    for piece in form.pieces(batch, np.full(batch.num_rows, HOUR_START_US, np.int64)):
        path = folder / f"{len(paths)}.avro"
        if piece.schema not in paths:
            paths[piece.schema] = path, form.open(path, piece.schema)
        paths[piece.schema][1].append(piece)
    for _, file in paths.values():
        file.close()
    return [path for path, _ in paths.values()]


def test_values_of_the_avro_converter_keep_their_schema(tmp_path) -> None:
    """A file for each pair of schemas; a tombstone is in that of the value before it."""
    rows = [
        {"before": None, "after": {"id": 1, "p": {"x": 1.5}}, "op": "c"},
        {"before": {"id": 1, "p": None}, "after": None, "op": "u"},
    ]
    other = confluent(3, OTHER_VALUE, {**rows[1], "ts": 4})
    ours = [confluent(2, VALUE, row) for row in rows]
    values = [None, ours[0], None, other, ours[1]]
    keys = [confluent(1, KEY, {"id": number}) for number in range(5)]
    batch = event_batch(range(5), keys=keys, values=values, kind=pa.binary())
    form = avro_format({1: KEY, 2: VALUE, 3: OTHER_VALUE})
    first, second = write_avro(form, batch, tmp_path)
    events = list(records(first))
    assert [event["value"] for event in events] == [None, rows[0], None, rows[1]]
    assert [event["key"]["id"] for event in events] == [0, 1, 2, 4]
    (of_other,) = records(second)
    assert of_other["value"] == {**rows[1], "ts": 4}
    # A micro-batch of tombstones alone has the schema that was last.
    (tombstones,) = write_avro(form, batch.slice(0, 1), tmp_path / "..")
    assert form.schema_of(tombstones) == form.schema_of(first)


def test_values_of_any_schema_at_the_top_come_back(tmp_path) -> None:
    optional = ["null", POINT]
    schemas = {1: "string", 2: "bytes", 3: optional, 4: {"type": "array", "items": "long"}}
    values = [
        b"\0\0\0\0\2raw bytes",
        confluent(3, optional, {"x": 2.5}),
        confluent(3, optional, None),
        None,
        confluent(4, schemas[4], [1, 2]),
        confluent(1, "string", "text"),
    ]
    keys = [confluent(3, optional, {"x": 1.0})] * len(values)
    form = avro_format(schemas)
    batch = event_batch(range(len(values)), keys=keys, values=values, kind=pa.binary())
    numbered_values = sorted(
        (event["sequence"], event["value"])
        for file in write_avro(form, batch, tmp_path)
        for event in records(file)
    )
    assert [value for _, value in numbered_values] == [
        b"raw bytes",
        {"x": 2.5},
        None,
        None,
        [1, 2],
        "text",
    ]


def test_a_type_that_key_and_value_share_is_defined_once() -> None:
    schema = json.loads(
        event_schema(RoleSchema(text=json.dumps(POINT)), RoleSchema(text=json.dumps(VALUE)))
    )
    text = json.dumps(schema)
    assert text.count('"double"') == 1
    fastavro.parse_schema(schema)


def test_different_types_of_one_name_in_key_and_value_are_refused() -> None:
    other = {**POINT, "fields": [{"name": "y", "type": "int"}]}
    with pytest.raises(HeadraceError) as caught:
        event_schema(RoleSchema(text=json.dumps(other)), RoleSchema(text=json.dumps(VALUE)))
    assert caught.value.code == "event_log.schema_names"
    assert "g.Point" in str(caught.value)


def test_files_of_another_writer_are_not_taken_for_ours(tmp_path) -> None:
    path = tmp_path / "x.avro"
    path.write_bytes(b"something else")
    with pytest.raises(ValueError, match="no container file"):
        form_of(log_options(tmp_path, format="avro")).schema_of(path)
