"""The files of an Iceberg table, which tasks read and write without a JVM and a catalog."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.fs import LocalFileSystem

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.bounds import decode_bound, encode_bound
from headrace.sinks.iceberg.types import arrow_field
from headrace.sinks.replicas.files.bitmaps import bitmap
from headrace.sinks.replicas.files.data_files import (
    ColumnStatistics,
    WrittenFile,
    new_file,
    sweep_files,
    write_parquet,
)
from headrace.sinks.replicas.files.s3 import S3Access, answering, s3_path
from headrace.sinks.replicas.files.vectors import decode_vector, encode_vector
from headrace.sinks.replicas.lake import DataFile, TableSchema

if TYPE_CHECKING:
    import pyarrow.fs
    from pyroaring import BitMap

MEASURED_COLUMNS = 100
"""The number of columns with statistics in manifests, as in Iceberg's own writers; columns of the
key always have them."""
_MAGIC = b"PFA1"
_ROW_POSITION = 2147483645
"""The id that Iceberg's specification reserves for the field of positions."""


def file_path(location: str, s3: S3Access | None) -> str:
    """The path of a location in its file system. Local locations are `/a/b`, `file:/a/b` or
    `file:///a/b`, without percent-encoding, as in Hadoop.

    Raises HeadraceError("iceberg.storage_not_supported").
    """
    path = s3_path(location)
    if path is not None and s3 is not None:
        return path
    if path is not None:
        raise HeadraceError(
            "iceberg.storage_not_supported",
            f"The location s3://{path.partition('/')[0]} is on S3, and the sink's properties do "
            "not say so",
            "Set headrace.sink.catalog.client.region to the bucket's region, or "
            "headrace.sink.catalog.s3.endpoint.",
        )
    if s3 is not None:
        raise HeadraceError(
            "iceberg.storage_not_supported",
            f"The location {location} is not on S3, where the sink's other files are",
            "Let headrace keep a table of another name.",
        )
    if location.startswith("/"):
        return location
    parts = urlsplit(location)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        raise HeadraceError(
            "iceberg.storage_not_supported",
            f"The location {parts.scheme}://{parts.hostname or ''} is neither on a local file "
            "system nor on S3, and headrace writes Iceberg tables only there",
            "Set headrace.sink.warehouse to a path that this host and all workers have, or to "
            "s3://BUCKET/FOLDER.",
        )
    return location.removeprefix("file:").removeprefix("//localhost").replace("///", "/", 1)


@dataclass
class IcebergStorage:
    """See `headrace.sinks.replicas.lake.Storage`. `fields` is the JSON of the columns, `folder` the
    folder of data files in the form of metadata, and `s3` the access to them (None: they are
    local)."""

    table: str
    schema: TableSchema
    s3: S3Access | None
    folder: str
    fields: Sequence[Mapping[str, Any]]

    @property
    def filesystem(self) -> pyarrow.fs.FileSystem:
        """See Storage."""
        return LocalFileSystem() if self.s3 is None else self.s3.filesystem

    def field_id(self, column: str) -> int:
        """See Storage."""
        return next(int(field["id"]) for field in self.fields if field["name"] == column)

    def stored_type(self, column: str) -> pa.DataType:
        """See Storage: the type in the table."""
        stored = self.schema.column(column)
        assert stored is not None
        return stored.type

    def write_rows(self, rows: pa.Table, name: str) -> DataFile:
        """See Storage: the file is `NAME.parquet`."""
        fields = [arrow_field(field, self.table) for field in self.fields]
        columns = [rows.column(field.name).cast(field.type) for field in fields]
        written = write_parquet(
            self.filesystem,
            f"{file_path(self.folder, self.s3)}/{name}.parquet",
            pa.Table.from_arrays(columns, schema=pa.schema(fields)),
        )
        not_numbers = {
            int(field["id"]): pc.sum(pc.is_nan(column)).as_py() or 0
            for field, column in zip(self.fields, columns, strict=True)
            if field["type"] in ("float", "double")
        }
        content = self._description(written, f"{self.folder}/{name}.parquet", not_numbers)
        return self.data_file(content)

    def read_vector(self, file: DataFile) -> BitMap:
        """See Storage. Raises HeadraceError("replicas.vector_not_understood"),
        ("replicas.storage_failed"), OSError."""
        if file.vector is None:
            return bitmap()
        vector = json.loads(file.vector)
        path = file_path(vector["file-path"], self.s3)
        with answering(path), self.filesystem.open_input_file(path) as opened:
            content = opened.read_at(vector["content-size-in-bytes"], vector["content-offset"])
        return decode_vector(content, vector["file-path"])

    def write_vector(self, file: DataFile, positions: BitMap, name: str) -> str:
        """See Storage: the vector is a Puffin file, `NAME.puffin`."""
        data_file = json.loads(file.description)["file-path"]
        vector = encode_vector(positions)
        content = _puffin_file(vector, data_file, len(positions))
        location = f"{self.folder}/{name}.puffin"
        with new_file(self.filesystem, file_path(location, self.s3)) as output:
            output.write(content)
        return json.dumps(
            {
                "spec-id": 0,
                "content": "position-deletes",
                "file-path": location,
                "file-format": "puffin",
                "partition": {},
                "file-size-in-bytes": len(content),
                "record-count": len(positions),
                "referenced-data-file": data_file,
                "content-offset": len(_MAGIC),
                "content-size-in-bytes": len(vector),
            }
        )

    def sweep(self, prefix: str, live: Sequence[DataFile] = ()) -> int:
        """See Storage."""
        paths = {file.path for file in live}
        paths |= {json.loads(file.vector)["file-path"] for file in live if file.vector is not None}
        return sweep_files(self.filesystem, file_path(self.folder, self.s3), prefix, paths)

    def data_file(
        self, content: Mapping[str, Any], vector: Mapping[str, Any] | None = None
    ) -> DataFile:
        """A live file from its JSON and the JSON of its vector, with the bounds of the key."""
        return DataFile(
            file_path(content["file-path"], self.s3),
            content["record-count"],
            content["file-size-in-bytes"],
            json.dumps(content),
            self._bounds(content),
            None if vector is None else json.dumps(vector),
            0 if vector is None else vector["record-count"],
        )

    def _bounds(self, content: Mapping[str, Any]) -> dict[int, tuple[object, object]]:
        least, greatest = (
            dict(zip(content[name]["keys"], content[name]["values"], strict=True))
            if name in content
            else {}
            for name in ("lower-bounds", "upper-bounds")
        )
        bounds = {}
        for field in self.fields:
            number, kind = field["id"], field["type"]
            if field["name"] not in self.schema.key or not isinstance(kind, str):
                continue
            if number in least and number in greatest:
                both = [
                    decode_bound(bytes.fromhex(encoded[number]), kind)
                    for encoded in (least, greatest)
                ]
                if None not in both:
                    bounds[number] = (both[0], both[1])
        return bounds

    def _description(
        self, written: WrittenFile, location: str, not_numbers: Mapping[int, int]
    ) -> dict[str, Any]:
        kinds = {
            int(field["id"]): field["type"]
            for place, field in enumerate(self.fields)
            if place < MEASURED_COLUMNS or field["name"] in self.schema.key
        }
        inner = set(written.columns) - {int(field["id"]) for field in self.fields}
        measured = {
            number: statistics
            for number, statistics in written.columns.items()
            if number in kinds or (number in inner and len(self.fields) <= MEASURED_COLUMNS)
        }
        least, greatest = {}, {}
        for number, statistics in measured.items():
            kind = kinds.get(number)
            if not isinstance(kind, str) or not_numbers.get(number):
                continue
            lower, upper = _encoded(statistics, kind)
            if lower is not None:
                least[number] = lower.hex().upper()
            if upper is not None:
                greatest[number] = upper.hex().upper()
        nulls = {n: column.nulls for n, column in measured.items() if column.nulls is not None}
        return {
            "spec-id": 0,
            "content": "data",
            "file-path": location,
            "file-format": "parquet",
            "partition": {},
            "file-size-in-bytes": written.size,
            "record-count": written.rows,
            "column-sizes": _counted({n: column.size for n, column in measured.items()}),
            "value-counts": _counted({n: column.values for n, column in measured.items()}),
            "null-value-counts": _counted(nulls),
            "nan-value-counts": _counted({n: not_numbers[n] for n in not_numbers if n in kinds}),
            "lower-bounds": _counted(least),
            "upper-bounds": _counted(greatest),
            "split-offsets": list(written.split_offsets),
            "sort-order-id": 0,
        }


def _encoded(statistics: ColumnStatistics, kind: str) -> tuple[bytes | None, bytes | None]:
    if statistics.least is None or statistics.greatest is None:
        return None, None
    least = encode_bound(statistics.least, kind)
    return least, encode_bound(statistics.greatest, kind, upper=True)


def _counted(values: Mapping[int, Any]) -> dict[str, Any]:
    return {"keys": list(values), "values": list(values.values())}


def _puffin_file(vector: bytes, data_file: str, deleted: int) -> bytes:
    """The content of a Puffin file with only the vector of one data file, which begins after
    `_MAGIC`: some readers find only the first vector of a file."""
    blob = {
        "type": "deletion-vector-v1",
        "fields": [_ROW_POSITION],
        "snapshot-id": -1,
        "sequence-number": -1,
        "offset": len(_MAGIC),
        "length": len(vector),
        "properties": {"referenced-data-file": data_file, "cardinality": str(deleted)},
    }
    footer = json.dumps({"blobs": [blob], "properties": {"created-by": "headrace"}}).encode()
    flags = b"\0\0\0\0"
    return _MAGIC + vector + _MAGIC + footer + struct.pack("<i", len(footer)) + flags + _MAGIC
