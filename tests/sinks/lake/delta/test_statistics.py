"""Statistics of data files, vectors' names and the types of columns, without a JVM."""

from __future__ import annotations

import datetime as dt
import json
import math
import pickle
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.fs import LocalFileSystem
from pyroaring import BitMap

from headrace.errors import HeadraceError
from headrace.sinks.delta.format import FORMAT
from headrace.sinks.delta.locations import local_folder
from headrace.sinks.delta.schemas import ID, PHYSICAL_NAME, Field, delta_type
from headrace.sinks.delta.statistics import loosened, read_statistics
from headrace.sinks.delta.storage import DeltaStorage
from headrace.sinks.delta.vector_files import from_z85, z85
from headrace.sinks.replicas.lake import Column, DataFile, TableSchema

_TYPES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.float64(), st.floats()),
    (pa.float32(), st.floats(width=32)),
    (pa.decimal128(38, 10), st.decimals(-(10**20), 10**20, places=10, allow_nan=False)),
    (pa.string(), st.text(st.characters(codec="utf-8"), max_size=40)),
    (pa.string(), st.text(st.sampled_from("a\U0010ffff\ue000"), min_size=30, max_size=36)),
    (pa.date32(), st.dates()),
    (pa.timestamp("us"), st.datetimes()),
    (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(dt.UTC))),
    (pa.bool_(), st.booleans()),
    (pa.binary(), st.binary(max_size=5)),
]


@given(st.data())
def test_bounds_of_a_file_enclose_its_values_in_the_log_and_in_its_description(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    kind, values = data.draw(st.sampled_from(_TYPES))
    drawn = data.draw(st.lists(st.none() | values, min_size=1, max_size=6))
    rows = pa.table(
        {
            "v": pa.array(drawn, kind),
            "s": pa.array([{"m": v} for v in drawn], pa.struct([("m", kind)])),
        }
    )
    file, statistics = _written(tmp_path_factory.mktemp("stats"), rows)
    present = [value for value in rows["v"].to_pylist() if value is not None]

    description = json.loads(statistics, parse_float=Decimal)
    assert description["numRecords"] == file.rows == len(drawn)
    assert description["nullCount"] == {"p0": drawn.count(None), "p1": {"p2": drawn.count(None)}}
    assert ("p0" in description["minValues"]) == ("p0" in description["maxValues"])
    assert description["minValues"].get("p0") == description["minValues"].get("p1", {}).get("p2")
    for id_ in (1, 3):
        if id_ in file.bounds:
            least, greatest = file.bounds[id_]
            assert all(least <= value <= greatest for value in present)  # type: ignore[operator]
    if "p0" in description["minValues"] and kind == pa.string():
        least, greatest = description["minValues"]["p0"], description["maxValues"]["p0"]
        assert len(least) <= 32
        assert all(least.encode() <= v.encode() <= greatest.encode() for v in present)
    if any(isinstance(value, float) and not math.isfinite(value) for value in present):
        assert 1 not in file.bounds
    loose = json.loads(loosened(statistics), parse_float=Decimal)
    assert loose == {**description, "tightBounds": False}


def test_times_are_cut_to_milliseconds_downwards_and_upwards(tmp_path: Path) -> None:
    moment = dt.datetime(2024, 1, 1, 12, 0, 0, 1_500, tzinfo=dt.UTC)
    local = moment.replace(tzinfo=None)
    rows = pa.table(
        {
            "local": pa.array([local], pa.timestamp("us")),
            "at": pa.array([moment], pa.timestamp("us", "UTC")),
            "whole": pa.array([local.replace(microsecond=2000)], pa.timestamp("us")),
        }
    )
    description = json.loads(_written(tmp_path, rows)[1])
    assert description["minValues"] == {
        "p0": "2024-01-01T12:00:00.001",
        "p1": "2024-01-01T12:00:00.001Z",
        "p2": "2024-01-01T12:00:00.002",
    }
    assert description["maxValues"] == {
        "p0": "2024-01-01T12:00:00.002",
        "p1": "2024-01-01T12:00:00.002Z",
        "p2": "2024-01-01T12:00:00.002",
    }


def test_times_that_python_does_not_have_have_no_bounds(tmp_path: Path) -> None:
    far = pa.array([9_223_371_331_200_000_000, 0])  # PostgreSQL's infinity
    rows = pa.table(
        {"t": far.cast(pa.timestamp("us")), "d": pa.array([2**30, 0], pa.int32()).cast(pa.date32())}
    )
    file, statistics = _written(tmp_path, rows)
    assert file.bounds == {}
    assert json.loads(statistics)["minValues"] == {}


def test_statistics_of_others_are_read_and_their_times_taken_as_cut() -> None:
    schema = pa.schema(
        [pa.field("p", pa.timestamp("us", "UTC"), metadata={"PARQUET:field_id": "7"})]
    )
    text = (
        '{"numRecords":3,"minValues":{"p":"2024-01-01T01:00:00.000+01:00"},'
        '"maxValues":{"p":"2024-01-01T00:00:00.001Z"}}'
    )
    rows, bounds = read_statistics(text, schema)
    day = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    assert (rows, bounds) == (3, {7: (day, day + dt.timedelta(milliseconds=2))})
    assert read_statistics(None, schema) == (None, {})
    assert read_statistics('{"minValues":{"p":5},"maxValues":{"p":6}}', schema) == (None, {})


def test_a_column_beyond_those_with_statistics_has_some_where_it_is_of_the_key(
    tmp_path: Path,
) -> None:
    rows = pa.table({name: [1] for name in ("a", "b", "c")})
    _, statistics = _written(tmp_path, rows, indexed=1, key=("c",))
    assert json.loads(statistics)["minValues"] == {"p0": 1, "p2": 1}


@given(st.binary(max_size=64).map(lambda content: content[: len(content) // 4 * 4]))
def test_z85_of_any_bytes_is_read_back(content: bytes) -> None:
    assert from_z85(z85(content)) == content


def test_z85_is_that_of_its_specification() -> None:
    assert z85(bytes([0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B])) == "HelloWorld"
    for wrong in ("Hello!", '"""""', "%nSc1", "#####"):
        with pytest.raises(ValueError, match=re.escape(wrong)):
            from_z85(wrong)


@given(st.sets(st.integers(0, 2**32 - 1), max_size=50))
def test_vectors_are_read_back_also_inline_ones_of_others(
    tmp_path_factory: pytest.TempPathFactory, positions: set[int]
) -> None:
    root = tmp_path_factory.mktemp("vectors")
    storage = _storage(root, pa.table({"a": [1]}))
    file = DataFile("x", 1, 1, "{}")
    assert storage.read_vector(file) == BitMap()
    vector = storage.write_vector(file, BitMap(positions), "b1-f1-v")
    storage = pickle.loads(pickle.dumps(storage))
    assert storage.read_vector(DataFile("x", 1, 1, "{}", {}, vector)) == BitMap(positions)
    (written,) = root.glob("headrace-b1-f1-v/deletion_vector_*.bin")
    descriptor = json.loads(vector)
    body = written.read_bytes()[5:-4]
    assert (descriptor["sizeInBytes"], descriptor["cardinality"]) == (len(body), len(positions))
    padded = body + bytes(-len(body) % 4)
    inline = {"storageType": "i", "pathOrInlineDv": z85(padded), "sizeInBytes": len(body)}
    by_path = {**descriptor, "storageType": "p", "pathOrInlineDv": f"file://{written}"}
    for other in (inline, by_path):
        other_file = DataFile("x", 1, 1, "{}", {}, json.dumps(other))
        assert storage.read_vector(other_file) == BitMap(positions)


def test_files_of_a_batch_are_swept_and_those_of_others_are_left(tmp_path: Path) -> None:
    rows = pa.table({"a": [1]})
    storage = _storage(tmp_path, rows)
    assert storage.sweep("7-") == 0
    for batch in ("7", "77"):
        for attempt in "12":
            file = storage.write_rows(rows, f"{batch}-{attempt}-{uuid4()}")
            for _ in range(2):
                written = storage.write_vector(file, BitMap([0]), f"{batch}-{attempt}-{uuid4()}")
            if batch == "7":
                live = [replace(file, vector=written)]
    assert len(list(tmp_path.glob("headrace-7-1/deletion_vector_*.bin"))) == 2
    assert storage.sweep("7-", live) == 4
    assert storage.read_vector(live[0]) == BitMap([0])
    assert storage.sweep("7-") == 2
    assert storage.sweep("7-") == 0
    left = {path.name.partition("-")[2][:4] for path in tmp_path.iterdir()}
    assert left == {"77-1", "77-2"}
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 6


def test_a_vector_of_an_unknown_kind_is_named(tmp_path: Path) -> None:
    vector = json.dumps({"storageType": "z", "pathOrInlineDv": "ab", "sizeInBytes": 1})
    storage = _storage(tmp_path, pa.table({"a": [1]}))
    with pytest.raises(HeadraceError, match="its storage type is 'z'") as refused:
        storage.read_vector(DataFile("x", 1, 1, "{}", {}, vector))
    assert refused.value.code == "replicas.vector_not_understood"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ({}, "delta.path_missing", "headrace.sink.path is not set"),
        ({"path": "s3a://bucket/x"}, "delta.path_not_taken", "Iceberg tables can be on S3"),
        ({"path": "abfss://c@a/x"}, "delta.path_not_taken", "local folders"),
        ({"path": "file:lake"}, "delta.path_not_taken", "needs an absolute path"),
        (
            {"path": "/lake", "table.delta.columnMapping.mode": "none"},
            "delta.table_property",
            "headrace.sink.table.delta.columnMapping.mode cannot be 'none'",
        ),
        (
            {"path": "/lake", "table.headrace.key": "[]"},
            "delta.table_property",
            "headrace.sink.table.headrace.key",
        ),
    ],
)
def test_options_that_are_wrong_are_named(options: dict[str, str], code: str, said: str) -> None:
    with pytest.raises(HeadraceError, match=said) as refused:
        FORMAT.check(options)
    assert refused.value.code == code


def test_paths_and_file_uris_are_taken() -> None:
    for path in ("/lake", "file:/lake/", "file:///lake", " /lake "):
        FORMAT.check({"path": path, "table.delta.logRetentionDuration": "interval 7 days"})
    assert all(each.startswith("io.delta:") for each in FORMAT.packages({})[:3])


def test_a_relative_path_is_where_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert local_folder("lake/") == str(tmp_path / "lake")


def _written(
    root: Path, rows: pa.Table, *, indexed: int = 32, key: tuple[str, ...] = ()
) -> tuple[DataFile, str]:
    file = _storage(root, rows, indexed=indexed, key=key).write_rows(rows, "f1")
    statistics = json.loads(file.description)["stats"]
    assert isinstance(statistics, str)
    return file, statistics


def _storage(
    root: Path, rows: pa.Table, *, indexed: int = 32, key: tuple[str, ...] = ()
) -> DeltaStorage:
    """A table whose columns' physical names and ids are numbered."""
    numbers = iter(range(100))

    def field(name: str, kind: pa.DataType) -> Field:
        number = next(numbers)
        metadata = {ID: number + 1, PHYSICAL_NAME: f"p{number}"}
        field_type: Any = delta_type(name, kind)
        if pa.types.is_struct(kind):
            field_type = {
                "type": "struct",
                "fields": [field(each.name, each.type) for each in kind],
            }
        return {"name": name, "type": field_type, "nullable": True, "metadata": metadata}

    fields = [field(each.name, each.type) for each in rows.schema]
    columns = tuple(Column(each.name, each.type) for each in rows.schema)
    return DeltaStorage(str(root), TableSchema(columns, key), fields, indexed, LocalFileSystem())
