"""Notifications and their channels: the log, and a topic."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.config.properties.connector import ConnectorConfig

log = logging.getLogger("headrace.notifications")

Observer = Callable[[str, str, Mapping[str, str]], None]
"""A function that is called with the id of a signal, its outcome, and data about the outcome."""

APPLIED, IGNORED = "HEEDED", "IGNORED"
"""Outcomes besides the types of notifications: the signal was applied, or ignored. The data of an
applied one has `goes_on`: whether other outcomes follow."""

_observers: list[Observer] = []


def observe(observer: Observer) -> None:
    """Call `observer` with the outcome of every signal in this process from now on, whatever
    channels notifications have."""
    _observers.append(observer)


def report_outcome(identity: str, kind: str, data: Mapping[str, str]) -> None:
    """Report an outcome of the signal `identity` to the observers."""
    for observer in _observers:
        observer(identity, kind, data)


INCREMENTAL = "Incremental Snapshot"
INITIAL = "Initial Snapshot"


@dataclass(frozen=True)
class Notification:
    """An event of a snapshot, as Debezium notifies it; `timestamp` in milliseconds since 1970."""

    id: str
    type: str
    aggregate_type: str
    additional_data: Mapping[str, str]
    timestamp: int

    def to_json(self) -> dict[str, Any]:
        """Return the record's members, for offsets."""
        return {
            "id": self.id,
            "type": self.type,
            "aggregate_type": self.aggregate_type,
            "additional_data": dict(self.additional_data),
            "timestamp": self.timestamp,
        }


class Notifier:
    """A connector's notifications. This class writes to the log channel; the caller sends each
    notification to `topic`, that of the sink channel (None: no sink channel)."""

    def __init__(self, config: ConnectorConfig) -> None:
        channels = config.notification_enabled_channels
        self._connector = config.topic_prefix
        self._writes_log = "log" in channels
        self.topic = config.notification_sink_topic_name if "sink" in channels else None

    @property
    def enabled(self) -> bool:
        """Whether a channel is enabled."""
        return self._writes_log or self.topic is not None

    def notify(
        self, identity: str, kind: str, aggregate: str, data: Mapping[str, str]
    ) -> Notification:
        """Return a notification with the current time. `identity` is its id, `kind` the event
        (STARTED, …) of `aggregate`, `data` the additional data without the connector's name."""
        notification = Notification(
            identity,
            kind,
            aggregate,
            {"connector_name": self._connector, **data},
            time.time_ns() // 1_000_000,
        )
        if self._writes_log:
            log.info(
                "[Notification Service] { aggregateType='%s', type='%s', additionalData=%s, "
                "timestamp=%s}",
                notification.aggregate_type,
                notification.type,
                dict(notification.additional_data),
                notification.timestamp,
            )
        return notification
