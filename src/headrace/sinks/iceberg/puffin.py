"""Puffin files with one deletion vector each: some readers find only the first of several."""

from __future__ import annotations

import json
import struct

MAGIC = b"PFA1"
_ROW_POSITION = 2147483645
"""The id that Iceberg's specification reserves for the field of positions."""


def puffin_file(vector: bytes, data_file: str, deleted: int) -> bytes:
    """The content of a file with the vector of a data file, which begins after `MAGIC`."""
    blob = {
        "type": "deletion-vector-v1",
        "fields": [_ROW_POSITION],
        "snapshot-id": -1,
        "sequence-number": -1,
        "offset": len(MAGIC),
        "length": len(vector),
        "properties": {"referenced-data-file": data_file, "cardinality": str(deleted)},
    }
    footer = json.dumps({"blobs": [blob], "properties": {"created-by": "headrace"}}).encode()
    flags = b"\0\0\0\0"
    return MAGIC + vector + MAGIC + footer + struct.pack("<i", len(footer)) + flags + MAGIC
