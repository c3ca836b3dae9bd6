"""The journal as a subject of the conformance suite."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from headrace.connect.images import cells, make_image
from headrace.connectors.connector import OffsetObject
from tests.contract.changes import Change, Delete, Fill, Insert, Move, Update
from tests.contract.journal.journal import BEGIN, COLLECTIONS, GENERATION, HEAD, Journal
from tests.contract.subject import Feature, Subject

Row = tuple[int, str]
_numbers = itertools.count(1)


def create(folder: Path) -> Journal:
    """A database without rows in an empty folder."""
    (folder / "first").write_text("0")
    journal = Journal(folder)
    journal.file.touch()
    return journal


def commit(journal: Journal, changes: Iterable[tuple[int, Row | None, Row | None]]) -> None:
    """One transaction: collection, row before and row after of each change."""
    identity = make_image([f"txn:{next(_numbers)}:{time.time_ns():x}"])
    body = b"".join(
        _frame(
            "u" if old and new else "c" if new else "d",
            collection,
            b"".join(make_image([str(row[0]), row[1]]) for row in (old, new) if row),
        )
        for collection, old, new in changes
    ) + _frame("E", 0, b"")
    with journal.file.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        begin = HEAD.size + BEGIN.size + len(identity)
        end = file.seek(0, 2) + begin + len(body)
        head = BEGIN.pack(GENERATION, end - HEAD.size, time.time_ns() // 1000)
        file.write(_frame("B", 0, head + identity) + body)


def _frame(kind: str, collection: int, body: bytes) -> bytes:
    return HEAD.pack(HEAD.size + len(body), ord(kind), collection) + body


class JournalSubject(Subject):
    """A journal in a fresh folder."""

    features = frozenset(Feature)

    def __init__(self, folder: Path) -> None:
        self._journal = create(folder)
        self._rows: dict[str, dict[int, str]] = {name: {} for name in COLLECTIONS}

    def properties(self, reader: str) -> dict[str, str]:
        return {
            "connector.class": "journal",
            "topic.prefix": "headrace",
            "journal.folder": str(self._journal.folder),
            "journal.reader": reader,
            "errors.max.retries": "0",
        }

    def apply(
        self, collection: str, changes: Sequence[Change], *, rolled_back: bool = False
    ) -> None:
        rows, number = dict(self._rows[collection]), COLLECTIONS.index(collection)
        logged = [(number, *pair) for change in changes for pair in _apply(rows, change)]
        if not rolled_back:
            commit(self._journal, logged)
            self._rows[collection] = rows

    def rows(self, collection: str) -> dict[int, str]:
        images = self._journal.rows(collection, self._journal.end())
        return {key: (cells(image)[1] or b"").decode() for key, image in images.items()}

    def identifier(self, collection: str) -> str:
        return collection

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        away = self._journal.file.rename(self._journal.folder / "stopped")
        try:
            yield
        finally:
            away.rename(self._journal.file)

    def forget(self, reader: str) -> None:
        self._journal.acknowledged(reader).unlink(missing_ok=True)

    def acknowledged(self, reader: str) -> Any:
        return int(self._journal.acknowledged(reader).read_text(), 16)

    def place(self, offset: OffsetObject) -> Any:
        return offset["committed"]

    def lose(self, reader: str) -> None:
        (self._journal.folder / "first").write_text(str(self._journal.file.stat().st_size))


def _apply(rows: dict[int, str], change: Change) -> Iterator[tuple[Row | None, Row | None]]:
    match change:
        case Insert(key, text):
            yield None, (key, text)
            rows[key] = text
        case Update(key, text):
            yield (key, rows[key]), (key, text)
            rows[key] = text
        case Delete(key):
            yield (key, rows.pop(key)), None
        case Move(key, to):
            rows[to] = text = rows.pop(key)
            yield (key, text), (to, text)
        case Fill(first, last, _):
            for key in range(first, last + 1):
                yield from _apply(rows, Insert(key, change.text))
