"""Avro's object container files."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.converters.avro.values import long
from headrace.converters.reading.avro_schemas import read_long
from headrace.sinks.event_log.formats.avro_rows import HEAD_BYTES, encode_events
from headrace.sinks.event_log.formats.avro_schemas import RoleSchema, event_schema
from headrace.sinks.event_log.formats.byte_files import ByteFile
from headrace.sinks.event_log.formats.file_format import (
    FASTEST,
    FileFormat,
    LogFile,
    Piece,
    cut,
    sequence_of,
)
from headrace.sinks.event_log.options import Limits

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_BLOCK = 1 << 20
"""The maximum bytes of a block before compression; a larger record is a block of its own."""
_FRAME = 40
_CODECS = {"none": "null", "deflate": "deflate", "snappy": "snappy", "zstd": "zstandard"}
SchemaText = Callable[[str, int], str]
"""A function that returns the text of a schema of a role (key or value), by its id in the role's
registry. Raises HeadraceError."""


class Avro(FileFormat):
    """Avro files. `kinds` are the types of keys and values: string, bytes, or avro, whose schemas
    `text_of` returns: then key and value have the types of the registry in a file."""

    extension = ".avro"

    def __init__(
        self, compression: str, limits: Limits, kinds: dict[str, str], text_of: SchemaText
    ) -> None:
        self._compression = compression
        self._limits = replace(limits, bytes=min(limits.bytes, 8 * _BLOCK))
        self._kinds, self._text_of = kinds, text_of

    @cached_property
    def _schemas(self) -> dict[tuple[str, bytes], RoleSchema]:
        """The schemas by role and head."""
        return {}

    @cached_property
    def _last(self) -> dict[tuple[str, str], bytes]:
        """The last head by role and topic, which keys and values that are null get."""
        return {}

    @cached_property
    def _events(self) -> dict[tuple[RoleSchema, RoleSchema], bytes]:
        return {}

    def pieces(self, batch: pa.RecordBatch, commit_us: np.ndarray) -> Iterator[Piece]:
        """See FileFormat. Raises HeadraceError("event_log.schema_names"), and errors of a
        registry."""
        key_heads, keys = self._heads(batch, "key")
        value_heads, values = self._heads(batch, "value")
        pairs, which = np.unique(keys * len(value_heads) + values, return_inverse=True)
        for number, pair in enumerate(pairs):
            part, times = batch, commit_us
            if len(pairs) > 1:
                rows = np.flatnonzero(which == number)
                part, times = batch.take(pa.array(rows)), commit_us[rows]
            key, value = divmod(int(pair), len(value_heads))
            roles = (self._role("key", key_heads[key]), self._role("value", value_heads[value]))
            if roles not in self._events:
                self._events[roles] = event_schema(*roles)
            yield from self._blocks(part, encode_events(part, times, *roles), self._events[roles])

    def _blocks(self, batch: pa.RecordBatch, events: pa.Array, schema: bytes) -> Iterator[Piece]:
        _, offsets, data = events.buffers()
        places = np.frombuffer(offsets, np.int64, count=events.offset + len(events) + 1)
        ends = places[events.offset + 1 :] - places[events.offset]
        begin = int(places[events.offset])
        for first, last in cut(ends, self._limits):
            end = int(places[events.offset + last])
            content = _compressed(memoryview(data)[begin:end], self._compression)
            size = len(content) + _FRAME
            yield Piece(content, last - first, size, sequence_of(batch, first), schema)
            begin = end

    def _heads(self, batch: pa.RecordBatch, role: str) -> tuple[list[bytes], np.ndarray]:
        """The heads of keys or values, and for each record the index of its head. A null has the
        head of the record before it."""
        column = batch.column(role)
        if self._kinds[role] != "avro":
            return [b""], np.zeros(len(column), np.int64)
        coded = pc.binary_slice(column, 0, HEAD_BYTES).dictionary_encode()
        heads: list[bytes] = coded.dictionary.to_pylist()
        codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        topic = str(batch.column("topic")[0])
        present = codes >= 0
        if not present.all():
            before = np.maximum.accumulate(np.where(present, np.arange(len(codes)), -1))
            codes = np.where(before >= 0, codes[before], -1)
            if codes[0] < 0:
                first = int(np.argmax(present)) if present.any() else -1
                last = self._last.get((role, topic), b"")
                head = heads[int(codes[first])] if first >= 0 else last
                heads.append(head)
                codes[codes < 0] = heads.index(head)
        self._last[role, topic] = heads[int(codes[-1])]
        return heads, codes

    def _role(self, role: str, head: bytes) -> RoleSchema:
        kind = self._kinds[role]
        if (role, head) not in self._schemas:
            schema = RoleSchema(kind)
            if kind == "avro":
                number = int.from_bytes(head[1:], "big")
                schema = (
                    RoleSchema(text=self._text_of(role, number)) if head else RoleSchema("null")
                )
            self._schemas[role, head] = schema
        return self._schemas[role, head]

    def open(self, path: Path, schema: bytes) -> LogFile:
        """See FileFormat."""
        return _Container(path, schema, self._compression)

    def schema_of(self, path: Path) -> bytes:
        """See FileFormat."""
        with path.open("rb") as file:
            return _Reader(file).schema

    def merge(self, sources: Sequence[Path], target: Path) -> None:
        """See FileFormat. Blocks are joined to larger ones, and compressed again."""
        merged = _Container(target, self.schema_of(sources[0]), self._compression)
        try:
            block, rows = b"", 0
            for source in sources:
                with source.open("rb") as file:
                    for count, content in _Reader(file).blocks():
                        if block and len(block) + len(content) > _BLOCK:
                            merged.add(rows, _compressed(memoryview(block), self._compression))
                            block, rows = b"", 0
                        block += content
                        rows += count
            if rows:
                merged.add(rows, _compressed(memoryview(block), self._compression))
        finally:
            merged.close()


class _Container(ByteFile):
    def __init__(self, path: Path, schema: bytes, compression: str) -> None:
        self._sync = os.urandom(_SYNC_BYTES)
        codec = _CODECS[compression].encode()
        members = ((b"avro.schema", schema), (b"avro.codec", codec))
        entries = b"".join(_text(name) + _text(text) for name, text in members)
        super().__init__(path, _MAGIC + long(len(members)) + entries + long(0) + self._sync)

    def append(self, piece: Piece) -> None:
        """See LogFile."""
        self.add(piece.rows, piece.content)

    def add(self, rows: int, content: bytes) -> None:
        """Write a block."""
        self.write(long(rows) + long(len(content)))
        self.write(content)
        self.write(self._sync)


def _text(content: bytes) -> bytes:
    return long(len(content)) + content


class _Block(NamedTuple):
    rows: int
    content: bytes


class _Reader:
    """A reader of files of this module. Raises ValueError for other files."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError(f"{file.name} is no container file of Avro")
        members: dict[bytes, bytes] = {}
        while count := self._long():
            if count < 0:
                raise ValueError(f"{file.name} was not written by headrace")
            for _ in range(count):
                name = self._read(self._long())
                members[name] = self._read(self._long())
        self.schema = members[b"avro.schema"]
        self._codec = members.get(b"avro.codec", b"null").decode()
        self._sync = self._read(_SYNC_BYTES)

    def blocks(self) -> Iterator[_Block]:
        """Yield the blocks: the number of records and their uncompressed bytes."""
        while (count := self._long()) >= 0:
            content = self._read(self._long())
            if self._read(_SYNC_BYTES) != self._sync:
                raise ValueError(f"{self._file.name} is damaged")
            yield _Block(count, _decompressed(content, self._codec))

    def _read(self, count: int) -> bytes:
        content = self._file.read(count) if count >= 0 else b""
        if len(content) != count:
            raise ValueError(f"{self._file.name} is damaged")
        return content

    def _long(self) -> int:
        """Read the next long; -1 at the end of the file."""
        raw = self._file.read(1)
        if not raw:
            return -1
        while raw[-1] & 0x80:
            raw += self._read(1)
        return read_long(raw, 0)[0]


def _compressed(content: memoryview, compression: str) -> bytes:
    if compression == "none":
        return bytes(content)
    if compression == "deflate":
        deflate = zlib.compressobj(FASTEST, wbits=-zlib.MAX_WBITS)
        return deflate.compress(content) + deflate.flush()
    compressed: bytes = pa.compress(pa.py_buffer(content), codec=compression, asbytes=True)
    if compression == "snappy":
        compressed += zlib.crc32(content).to_bytes(4, "big")
    return compressed


def _decompressed(content: bytes, codec: str) -> bytes:
    match codec:
        case "null":
            return content
        case "deflate":
            return zlib.decompress(content, wbits=-zlib.MAX_WBITS)
        case "snappy":
            size = _snappy_size(content)
            return bytes(pa.decompress(content[:-4], size, codec="snappy", asbytes=True))
        case "zstandard":
            with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
                return bytes(stream.read())
    raise ValueError(f"the codec {codec} is not known")


def _snappy_size(content: bytes) -> int:
    """The uncompressed size at the start of a Snappy block: seven bits per byte, lowest first."""
    size = shift = 0
    for byte in content:
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            return size
        shift += 7
    raise ValueError("a block of Snappy has no size")
