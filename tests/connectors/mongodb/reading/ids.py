"""Values of `_id` of every type that MongoDB takes."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import bson
from bson.code import Code

MIXED = [
    bson.MinKey(),
    None,
    float("nan"),
    -5,
    2.5,
    bson.Int64(7),
    bson.Decimal128("8.5"),
    float("inf"),
    "",
    "$x",
    "abc",
    {"a": 1},
    {"a": "$b"},
    {"z": {"y": 1}},
    bson.Binary(b"x"),
    bson.Binary(b"xx", 128),
    uuid.UUID(int=5),
    bson.ObjectId("0123456789abcdef01234567"),
    False,
    True,
    datetime(2020, 1, 1, tzinfo=UTC),
    bson.Timestamp(1, 2),
    Code("f()"),
    Code("f()", {"a": 1}),
    bson.MaxKey(),
]
"""Ids of all types in the server's order."""


def raw_ids() -> list[bytes]:
    """Type byte and bytes of each of MIXED."""
    codec: bson.CodecOptions[dict[str, object]] = bson.CodecOptions(
        uuid_representation=bson.binary.UuidRepresentation.STANDARD
    )
    documents = (bson.encode({"_id": value}, codec_options=codec) for value in MIXED)
    return [raw[4:5] + raw[9:-1] for raw in documents]
