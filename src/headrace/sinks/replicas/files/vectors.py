"""Deletion vectors in the format of Iceberg's and Delta's specifications, which use the same bytes.

A vector is a length (4 bytes, big-endian, of magic and bitmaps), magic, the bitmaps in Roaring's
portable 64-bit form, and a CRC-32 (big-endian) of magic and bitmaps. Data files have fewer than
2^32 rows here, so it has one 32-bit bitmap.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.sinks.replicas.files.bitmaps import bitmap, read_bitmap

if TYPE_CHECKING:
    from pyroaring import BitMap

_MAGIC = b"\xd1\xd3\x39\x64"
_COUNT_AND_KEY = struct.Struct("<qi")
_HEAD = 4 + len(_MAGIC) + _COUNT_AND_KEY.size


def encode_vector(positions: BitMap) -> bytes:
    """Encode positions as the bytes of a vector."""
    positions.run_optimize()
    body = _MAGIC + _COUNT_AND_KEY.pack(1, 0) + positions.serialize()
    return struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def decode_vector(content: bytes, file: str) -> BitMap:
    """Decode the positions of a vector; `file` names it in errors. Vectors of other writers may
    have several 32-bit bitmaps if only the first has positions.

    Raises HeadraceError("replicas.vector_not_understood").
    """
    body = content[4:-4]
    if len(content) < _HEAD + 4 or not body.startswith(_MAGIC):
        raise _not_understood(file, "it does not begin as a deletion vector does")
    if struct.unpack(">i", content[:4])[0] != len(body):
        raise _not_understood(file, "its length is not the one that it names")
    if struct.unpack(">I", content[-4:])[0] != zlib.crc32(body):
        raise _not_understood(file, "its checksum is wrong")
    (count,) = struct.unpack_from("<q", content, 8)
    if count == 0:
        return bitmap()
    _, key = _COUNT_AND_KEY.unpack_from(content, 8)
    if count != 1 or key != 0:
        raise _not_understood(file, "it has positions beyond 2^32 rows")
    try:
        return read_bitmap(content[_HEAD:-4])
    except ValueError:
        raise _not_understood(file, "its bitmap is not a Roaring bitmap") from None


def _not_understood(file: str, reason: str) -> HeadraceError:
    return HeadraceError(
        "replicas.vector_not_understood",
        f"The deletion vector in {file} cannot be read: {reason}",
        "Restore the file, or copy the table again into a new one.",
    )
