"""Answers of servers while the golden workloads ran, as first inputs: `tests/golden`."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import bson
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument

from tests.golden.archive import ROOT, kept

_LONGEST = 2_000  # bytes; a longer one takes too long
_RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)
_CHANGES = ("insert", "update", "replace", "delete")


def _folder(database: str) -> Path:
    return ROOT / "tests/golden" / database


@cache
def copies() -> list[tuple[int, bytes]]:
    """The answers to COPY of PostgreSQL: how many columns, and the messages with the rows."""
    distinct_copies: set[tuple[int, bytes]] = set()
    for answer in _answers("postgresql"):
        columns, rows = 0, b""
        for message in _messages(answer):
            if message[:1] == b"H":
                (columns,) = struct.unpack_from("!H", message, 6)
            elif message[:1] == b"d":
                rows += message
        if rows and len(rows) < _LONGEST:
            distinct_copies.add((columns, rows))
    return sorted(distinct_copies)


@cache
def transactions() -> list[list[bytes]]:
    """The messages of transactions in PostgreSQL's streams, without those on relations."""
    transactions_by_bytes: dict[bytes, list[bytes]] = {}
    for workload in kept(_folder("postgresql")).values():
        for messages in workload.conversation.streams.values():
            transaction: list[bytes] = []
            for _, message in messages:
                body = message[30:] if message[5:6] == b"w" else b""
                transaction = [] if body[:1] == b"B" else transaction
                if body[:1] not in b"RY":
                    transaction.append(message)
                raw = b"".join(transaction)
                if body[:1] == b"C" and len(raw) < _LONGEST:
                    transactions_by_bytes[raw] = transaction
    return [transactions_by_bytes[raw] for raw in sorted(transactions_by_bytes)]


@cache
def change_events() -> list[bytes]:
    """The changes in MongoDB's change streams."""
    distinct_events = {
        event.raw
        for workload in kept(_folder("mongodb")).values()
        for messages in workload.conversation.streams.values()
        for _, message in messages
        for event in bson.decode(message[5:], _RAW).get("cursor", {}).get("nextBatch", ())
        if event.get("operationType") in _CHANGES and len(event.raw) < _LONGEST
    }
    return sorted(distinct_events)


@cache
def documents() -> list[bytes]:
    """The documents that are whole in these changes."""
    events = (bson.decode(event, _RAW) for event in change_events())
    full_documents = [event.get("fullDocument") for event in events]
    return sorted(
        {document.raw for document in full_documents if isinstance(document, RawBSONDocument)}
    )


def _answers(database: str) -> Iterator[bytes]:
    for workload in kept(_folder(database)).values():
        for entries in workload.conversation.answers.values():
            yield from (text for _, text in entries)


def _messages(answer: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(answer):
        end = place + 1 + int.from_bytes(answer[place + 1 : place + 5], "big")
        yield answer[place:end]
        place = end
