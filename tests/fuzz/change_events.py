"""Mutated events of change streams: the compiled pass against plain Python, in guarded memory."""

from __future__ import annotations

from random import Random

import bson
import numpy as np
from bson.codec_options import CodecOptions
from bson.int64 import Int64
from bson.raw_bson import RawBSONDocument

from headrace.connect.images import cells
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connectors.mongodb.events import CollectionFacts, MongoSource
from headrace.connectors.mongodb.streaming import event_parts, frames, index
from headrace.connectors.mongodb.streaming.known_collections import KnownCollections
from headrace.connectors.mongodb.streaming.replies import ReplyMember, each_member, members
from headrace.documents.bson import DOCUMENT, Kind
from headrace.documents.fields import FieldRules
from headrace.streaming.changes.kernels.frame_kernel import FRAME_HEAD
from headrace.streaming.changes.key_columns import KeyRendering
from headrace.streaming.facts import EventSettings
from tests.connectors.mongodb.streaming.scripted import event
from tests.fuzz.guarded import Guarded, read
from tests.fuzz.mutations import mutated
from tests.fuzz.recorded import change_events

_MOST = 3_000
_RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)
_SESSION = {"id": bson.Binary(b"s" * 16, 4), "uid": b"u" * 32}
_UPDATE = {
    "updatedFields": {"a.b": 1},
    "removedFields": ["c"],
    "truncatedArrays": [{"field": "d", "newSize": 2}],
}
_EVENTS = [
    bson.encode(change)
    for change in (
        event("insert", 5, fullDocument={"_id": 1, "text": "x" * 100}),
        event("update", 6, updateDescription=_UPDATE, wallTime=bson.DatetimeMS(7)),
        event("update", 7, fullDocument={}, fullDocumentBeforeChange={"a": 1}, txnNumber=Int64(2)),
        event("replace", 8, fullDocument={"_id": 1}, lsid=_SESSION, txnNumber=Int64(2)),
        event("delete", 9, key={"a": [1, 2.5, "s"]}, fullDocumentBeforeChange={"a": None}),
        event("invalidate", 10, ns=None, documentKey=None),
    )
]
_OPERATIONS = {b"insert": "c", b"update": "u", b"replace": "u", b"delete": "d"}


class ChangeEvents:
    """`one` runs one input; raises AssertionError when the two differ."""

    def __init__(self) -> None:
        self._input = Guarded(_MOST + 64 + PADDING)
        self._output = Guarded(4 * _MOST + PADDING)
        self._collections = KnownCollections(
            KeyRendering(EventSettings("p", MongoSource())),
            lambda _database, _name: True,
            lambda database, name: CollectionFacts(f"p.{database}.{name}", database, name),
            lambda _database, _name: FieldRules(()),
        )
        namespaces = {bson.encode(bson.decode(event, _RAW)["ns"]) for event in change_events()}
        for namespace in [bson.encode({"db": "d", "coll": "c"}), *sorted(namespaces)]:
            self._collections.add(namespace)
        self._parts = np.zeros(event_parts.PARTS_BYTES, np.uint8)
        self._state = np.zeros(index.STATE_WORDS, np.int64)

    def one(self, random: Random, planted: str | None) -> None:
        raw = mutated(random, random.choice(random.choice((_EVENTS, change_events()))))[:_MOST]
        array = b"\x030\0" + raw + b"\0"
        source = self._input.take(array + random.randbytes(PADDING))
        room = 4 * _MOST
        out = self._output.take(room + PADDING if planted != "overrun" else 1)
        self._state[:] = 0
        self._state[frames.AT] = source
        written = frames.write_frames(
            source + len(array) - 1, out, room,
            address_of(self._collections.namespaces), self._collections.mask,
            address_of(self._collections.table), address_of(self._collections.fields), 0,
            address_of(self._parts), address_of(self._parts), 0, address_of(self._state),
        )  # fmt: skip
        if not written:
            return
        bytes_written = read(out, written)
        # A mutation may make several events of one; each is a frame.
        size, kind = FRAME_HEAD.unpack_from(bytes_written)
        assert 0 < size <= written
        frame = bytes_written[:size]
        head = np.frombuffer(frame[: frames.FRAME_BYTES], np.int64)
        expected = _plain(raw)
        if planted == "wrong":
            expected = expected | {"token": b"wrong"}
        assert {"operation": chr(kind), **_shown(frame, head)} == expected, (raw, frame)


def _shown(frame: bytes, head: np.ndarray) -> dict[str, object]:
    """The content of a frame after its head."""
    token = int(head[frames.TOKEN])
    images = {
        name: cells(frame[int(head[word]) :]) if head[word] else None
        for name, word in (("old", frames.OLD), ("new", frames.NEW), ("extra", frames.EXTRA))
    }
    return {
        "time": int(head[frames.TIME]),
        "token": frame[token : token + int(head[frames.TOKEN_SIZE])],
        **images,
    }


def _plain(raw: bytes) -> dict[str, object]:
    """The members of an event; one that is missing or of a wrong type is None."""
    parts = members(raw)
    update = parts.get("updateDescription")
    inner = members(raw, update.begin) if update and update.kind == DOCUMENT else None
    # Nothing after `_id` in a documentKey is read.
    in_key = each_member(raw, parts["documentKey"].begin)
    key = next(member for name, member in in_key if name == "_id")
    operation = parts["operationType"]
    letter = _OPERATIONS[raw[operation.begin + 4 : operation.end - 1]]
    before, after = parts.get("fullDocumentBeforeChange"), parts.get("fullDocument")
    old = [_cell(raw, key, is_key=True), _cell(raw, before)]
    new = [_cell(raw, key, is_key=True), _cell(raw, after)]
    names = ("updatedFields", "removedFields", "truncatedArrays")
    token, time = parts["_id"], parts["clusterTime"]
    return {
        "operation": letter,
        "time": int.from_bytes(raw[time.begin : time.end], "little", signed=True),
        "token": raw[token.begin : token.end],
        "old": old if before is not None or letter == "d" else None,
        "new": None if letter == "d" else new,
        "extra": None if inner is None else [_cell(raw, inner.get(name)) for name in names],
    }


def _cell(raw: bytes, member: ReplyMember | None, *, is_key: bool = False) -> bytes | None:
    if member is None or (member.kind == Kind.NULL and not is_key):
        return None
    return bytes([member.kind]) + raw[member.begin : member.end]
