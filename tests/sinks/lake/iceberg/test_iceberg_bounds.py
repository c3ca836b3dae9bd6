"""Bounds of columns in manifests: never narrower than the values, and as PyIceberg reads them."""

from __future__ import annotations

import datetime as dt
import io
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.conversions import from_bytes, to_bytes
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.bounds import LONGEST_BOUND, decode_bound, encode_bound
from headrace.sinks.iceberg.storage import MEASURED_COLUMNS, IcebergStorage
from headrace.sinks.iceberg.types import iceberg_schema
from headrace.sinks.replicas.lake import Column, TableSchema

_TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
_MOMENTS = st.datetimes(dt.datetime.fromisoformat("0001-01-02T00:00:00"))
TYPES: list[tuple[str, PrimitiveType, st.SearchStrategy[Any]]] = [
    ("boolean", BooleanType(), st.booleans()),
    ("int", IntegerType(), st.integers(-(2**31), 2**31 - 1)),
    ("long", LongType(), st.integers(-(2**63), 2**63 - 1)),
    ("float", FloatType(), st.floats(width=32, allow_nan=False)),
    ("double", DoubleType(), st.floats(allow_nan=False)),
    ("date", DateType(), st.dates()),
    ("timestamp", TimestampType(), _MOMENTS),
    ("timestamptz", TimestamptzType(), _MOMENTS.map(lambda at: at.replace(tzinfo=dt.UTC))),
    ("string", StringType(), st.text(st.characters(exclude_categories=("Cs",)), max_size=16)),
    ("binary", BinaryType(), st.binary(max_size=16)),
    (
        "decimal(38, 10)",
        DecimalType(38, 10),
        st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal(f"{n}E-10")),
    ),
]


@pytest.mark.parametrize(("kind", "theirs", "values"), TYPES, ids=[kind for kind, *_ in TYPES])
def test_a_value_has_the_bytes_that_pyiceberg_gives_it(
    kind: str, theirs: PrimitiveType, values: st.SearchStrategy[Any]
) -> None:
    @given(values)
    def check(value: Any) -> None:
        content = encode_bound(value, kind)
        assert content is not None
        if not isinstance(value, Decimal) or len(value.as_tuple().digits) <= 28:  # PyIceberg's most
            assert content == to_bytes(theirs, value)
            read = from_bytes(theirs, content)
            if not isinstance(read, int) or isinstance(value, int):
                assert read == value
        assert decode_bound(content, kind) == value

    check()


@given(_TEXTS)
def test_bounds_of_texts_are_short_and_never_narrower(text: str) -> None:
    least = encode_bound(text, "string")
    greatest = encode_bound(text, "string", upper=True)
    assert least is not None
    assert len(least.decode()) <= LONGEST_BOUND
    assert least.decode() <= text
    if greatest is None:
        assert set(text[:LONGEST_BOUND]) == {chr(0x10FFFF)}
    else:
        assert len(greatest.decode()) <= LONGEST_BOUND
        assert greatest >= text.encode()


@given(st.text("a\ud7ff\uffff\U0010ffff", min_size=17, max_size=20))
def test_bounds_of_texts_at_the_ends_of_unicode_are_texts(text: str) -> None:
    greatest = encode_bound(text, "string", upper=True)
    assert greatest is None or greatest > text.encode()


@given(st.lists(st.sampled_from([0, 254, 255]), max_size=20).map(bytes))
def test_bounds_of_bytes_are_short_and_never_narrower(content: bytes) -> None:
    least = encode_bound(content, "binary")
    greatest = encode_bound(content, "binary", upper=True)
    assert least is not None
    assert len(least) <= LONGEST_BOUND
    assert least <= content
    assert greatest is None or (greatest >= content and len(greatest) <= LONGEST_BOUND)
    assert (greatest is None) == (
        len(content) > LONGEST_BOUND and set(content[:LONGEST_BOUND]) == {255}
    )


def test_numbers_of_narrower_types_are_read() -> None:
    assert decode_bound(encode_bound(-7, "int") or b"", "long") == -7
    assert decode_bound(encode_bound(0.5, "float") or b"", "double") == 0.5
    narrow = encode_bound(Decimal("-1.50"), "decimal(6, 2)") or b""
    assert decode_bound(narrow, "decimal(12, 2)") == Decimal("-1.50")


def storage(schema: TableSchema, folder: Path) -> IcebergStorage:
    fields = json.loads(iceberg_schema(schema))["fields"]
    return IcebergStorage("t", schema, None, f"{folder}/data", fields)


def bounds_of(kind: pa.DataType, values: list[Any], folder: Path) -> tuple[Any, Any]:
    schema = TableSchema((Column("v", kind),), ("v",))
    file_storage = storage(schema, folder)
    file = file_storage.write_rows(pa.table({"v": pa.array(values, kind)}), "f")
    return file.bounds.get(file_storage.field_id("v"), (None, None))


def test_a_column_with_nan_has_no_bounds_and_says_how_many(tmp_path: Path) -> None:
    schema = TableSchema((Column("v", pa.float64()), Column("w", pa.float64())), ("w",))
    rows = pa.table({"v": [1.0, math.nan, None], "w": [1.0, -2.0, None]})
    content = json.loads(storage(schema, tmp_path).write_rows(rows, "f").description)
    assert content["nan-value-counts"] == {"keys": [1, 2], "values": [1, 0]}
    assert content["null-value-counts"] == {"keys": [1, 2], "values": [1, 1]}
    assert content["value-counts"] == {"keys": [1, 2], "values": [3, 3]}
    assert content["lower-bounds"]["keys"] == content["upper-bounds"]["keys"] == [2]


def test_infinite_moments_are_written_without_bounds(tmp_path: Path) -> None:
    """Databases have moments that Python has not."""
    beyond = pa.array([0, 9_223_371_331_199_999_999], pa.timestamp("us"))
    schema = TableSchema((Column("at", pa.timestamp("us")),), ("at",))
    file = storage(schema, tmp_path).write_rows(pa.table({"at": beyond}), "f")
    assert file.bounds == {}
    assert pa.parquet.read_table(file.path).column("at").combine_chunks().equals(beyond)


def test_bounds_are_those_of_all_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.sinks.replicas.files.data_files.ROW_GROUP", 2)
    assert bounds_of(pa.int32(), [5, 3, None, None, 9, -1], tmp_path) == (-1, 9)
    assert bounds_of(pa.string(), ["é", "z", "a" * 17, None], tmp_path) == ("a" * 16, "é")
    assert bounds_of(pa.string(), [None, None], tmp_path) == (None, None)


def test_wide_tables_have_statistics_of_the_first_columns_and_the_key(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(MEASURED_COLUMNS + 20)]
    schema = TableSchema(tuple(Column(name, pa.int64()) for name in names), (names[-1],))
    rows = pa.table({name: pa.array([1], pa.int64()) for name in names})
    file = storage(schema, tmp_path).write_rows(rows, "f")
    content = json.loads(file.description)
    expected = [*range(1, MEASURED_COLUMNS + 1), MEASURED_COLUMNS + 20]
    assert content["lower-bounds"]["keys"] == expected
    assert content["column-sizes"]["keys"] == expected
    assert file.bounds == {MEASURED_COLUMNS + 20: (1, 1)}


def test_storage_can_be_pickled(tmp_path: Path) -> None:
    import pickle

    schema = TableSchema((Column("v", pa.list_(pa.int32())),), ("v",))
    sent = pickle.loads(pickle.dumps(storage(schema, tmp_path)))
    file = sent.write_rows(
        pa.table({"v": pa.array([[1], None])}).cast(pa.schema([("v", pa.list_(pa.int32()))])), "f"
    )
    with sent.filesystem.open_input_file(file.path) as opened:
        assert pa.parquet.read_table(io.BytesIO(opened.read())).num_rows == 2


def test_a_failed_write_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = TableSchema((Column("v", pa.int64()),), ("v",))
    file_storage = storage(schema, tmp_path)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    with pytest.raises(HeadraceError, match="No space left"):
        file_storage.write_rows(pa.table({"v": [1]}), "f")
    assert list((tmp_path / "data").iterdir()) == []
