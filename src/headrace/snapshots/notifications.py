"""Notifications of a snapshot: decided with its chunks, and written by their tasks."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.signals.notifications import INITIAL, Notifier
from headrace.snapshots.chunks import Chunk


def announcements(
    notifier: Notifier, names: Sequence[str], chunks: Sequence[Chunk], *, begins: bool
) -> tuple[dict[str, Any], ...]:
    """Return the notifications that tasks write with a range of chunks, as JSON objects: each with
    the number of its chunk in the range and whether it follows the chunk's rows ("behind"). `names`
    are all tables; `begins`: the snapshot begins with this range."""
    if not notifier.enabled:
        return ()
    listed = ",".join(names)
    written: list[dict[str, Any]] = []

    def announce(number: int, kind: str, *, follows: bool, **data: str) -> None:
        notification = notifier.notify(str(uuid.uuid4()), kind, INITIAL, data)
        written.append({"chunk": number, "behind": follows, "notification": notification.to_json()})

    for number, chunk in enumerate(chunks):
        name = names[chunk.table]
        if chunk.first:
            if begins and number == 0:
                announce(number, "STARTED", follows=False)
            announce(
                number,
                "IN_PROGRESS",
                follows=False,
                current_collection_in_progress=name,
                data_collections=listed,
            )
        if chunk.last:
            announce(
                number,
                "TABLE_SCAN_COMPLETED",
                follows=True,
                scanned_collection=name,
                data_collections=listed,
                status="SUCCEEDED",
            )
            if chunk.last == "run":
                announce(number, "COMPLETED", follows=True)
    return () if notifier.topic is None else tuple(written)


@dataclass(frozen=True)
class ChunkAnnouncements:
    """The notifications before and after the rows of one chunk, for `topic`."""

    topic: str
    before: tuple[dict[str, Any], ...] = ()
    after: tuple[dict[str, Any], ...] = ()

    @staticmethod
    def of(
        topic: str | None, notifications: Sequence[dict[str, Any]], chunk: int
    ) -> ChunkAnnouncements | None:
        """Return the notifications of the chunk with this number, out of those of its range; None
        if it has no notification."""
        around = [entry for entry in notifications if entry["chunk"] == chunk]
        if not around or topic is None:
            return None
        return ChunkAnnouncements(
            topic,
            tuple(entry["notification"] for entry in around if not entry["behind"]),
            tuple(entry["notification"] for entry in around if entry["behind"]),
        )
