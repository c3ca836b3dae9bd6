"""Notifications and where they go: the log, and a topic."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

log = logging.getLogger("headrace.notifications")

INCREMENTAL = "Incremental Snapshot"
INITIAL = "Initial Snapshot"


@dataclass(frozen=True)
class Notification:
    """What happened to what; `timestamp` in milliseconds since 1970."""

    id: str
    type: str
    aggregate_type: str
    additional_data: Mapping[str, str]
    timestamp: int

    def to_json(self) -> dict[str, Any]:
        """For offsets; member names are those of the record."""
        return {
            "id": self.id,
            "type": self.type,
            "aggregate_type": self.aggregate_type,
            "additional_data": dict(self.additional_data),
            "timestamp": self.timestamp,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Notification:
        """The reverse of `to_json`."""
        return Notification(**data)


def write_to_log(notification: Notification) -> None:
    """The log channel."""
    log.info(
        "[Notification Service] { aggregateType='%s', type='%s', additionalData=%s, timestamp=%s}",
        notification.aggregate_type,
        notification.type,
        dict(notification.additional_data),
        notification.timestamp,
    )
