"""Deletion vectors as files of a Delta table, and their descriptors in its log."""

from __future__ import annotations

import json
import re
import struct
import zlib
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

from headrace.errors import HeadraceError
from headrace.sinks.delta.locations import file_path
from headrace.sinks.replicas.files.data_files import new_file
from headrace.sinks.replicas.files.s3 import answering
from headrace.sinks.replicas.files.vectors import decode_vector, encode_vector

if TYPE_CHECKING:
    import pyarrow.fs
    from pyroaring import BitMap

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_ID_LENGTH = 20
_NAMES = UUID("5b1c0e1e-7a4c-5d0e-9c37-6f2f6a3c9e11")
"""The namespace of ids (UUIDs) for vectors whose names do not end with one."""
_NAME_AND_ID = re.compile(r"(.+)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
FILES = "headrace-"
"""The prefix of the names of data files and of folders of vectors."""


def z85(content: bytes) -> str:
    """Bytes, a multiple of 4, as text of ZeroMQ's Base85 (RFC 32)."""
    groups = []
    for (word,) in struct.iter_unpack(">I", content):
        digits = [word // 85**place % 85 for place in (4, 3, 2, 1, 0)]
        groups.append("".join(_DIGITS[digit] for digit in digits))
    return "".join(groups)


def from_z85(text: str) -> bytes:
    """Decode text of ZeroMQ's Base85. Raises ValueError."""
    if len(text) % 5:
        raise ValueError(text)
    content = bytearray()
    try:
        for start in range(0, len(text), 5):
            word = 0
            for digit in text[start : start + 5]:
                word = word * 85 + _VALUES[digit]
            content += word.to_bytes(4, "big")
    except (KeyError, OverflowError):
        raise ValueError(text) from None
    return bytes(content)


def vector_place(name: str) -> tuple[str, UUID]:
    """The folder of a vector's file, within the table's folder, and its id; both follow from its
    name. Names that differ only in a UUID at their end have one folder."""
    match = _NAME_AND_ID.fullmatch(name)
    if match is None:
        return FILES + name, uuid5(_NAMES, name)
    return FILES + match[1], UUID(match[2])


def write_vector_file(
    filesystem: pyarrow.fs.FileSystem, root: str, positions: BitMap, name: str
) -> str:
    """Write a vector into a file of its own; returns its descriptor. Raises as `new_file`."""
    content = encode_vector(positions)
    folder, id_ = vector_place(name)
    with new_file(filesystem, f"{root}/{folder}/{_file(id_)}") as output:
        output.write(b"\x01" + content)
    descriptor = {
        "storageType": "u",
        "pathOrInlineDv": folder + z85(id_.bytes),
        "offset": 1,
        "sizeInBytes": len(content) - 8,
        "cardinality": len(positions),
    }
    return json.dumps(descriptor)


def read_vector_file(filesystem: pyarrow.fs.FileSystem, root: str, descriptor: str) -> BitMap:
    """Read the positions of a vector of this or another writer. Raises
    HeadraceError("replicas.vector_not_understood"), ("replicas.storage_failed"), OSError."""
    vector: dict[str, Any] = json.loads(descriptor)
    kind, stored = vector["storageType"], vector["pathOrInlineDv"]
    size = vector["sizeInBytes"]
    try:
        if kind == "i":
            body = from_z85(stored)[:size]
            content = struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))
            return decode_vector(content, root)
        path = vector_path(root, descriptor)
        if not path:
            raise ValueError(kind)
    except ValueError:
        raise HeadraceError(
            "replicas.vector_not_understood",
            f"The Delta table in {root} has a deletion vector that cannot be read: its storage "
            f"type is {kind!r}, its place {stored!r}",
            "Copy the table again into a new one.",
        ) from None
    with answering(path), filesystem.open_input_file(path) as file:
        file.seek(vector.get("offset") or 0)
        content = file.read(size + 8)
    return decode_vector(content, path)


def vector_path(root: str, descriptor: str) -> str:
    """Return the path of a vector's file; empty: it has none, or a place that is not understood."""
    vector: dict[str, Any] = json.loads(descriptor)
    kind, stored = vector["storageType"], vector["pathOrInlineDv"]
    if kind == "u":
        folder, text = stored[:-_ID_LENGTH], stored[-_ID_LENGTH:]
        try:
            name = _file(UUID(bytes=from_z85(text)))
        except ValueError:
            return ""
        return f"{root}/{folder}/{name}" if folder else f"{root}/{name}"
    return file_path(root, stored) if kind == "p" else ""


def _file(id_: UUID) -> str:
    """Delta's name of a vector's file."""
    return f"deletion_vector_{id_}.bin"
