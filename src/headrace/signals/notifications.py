"""Notifications and where they go: the log, and a topic."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.config.properties.connector import ConnectorConfig

log = logging.getLogger("headrace.notifications")

Observer = Callable[[str, str, Mapping[str, str]], None]
"""Called with the id of a signal, what became of it, and what is to be said of that."""

HEEDED, IGNORED = "HEEDED", "IGNORED"
"""Outcomes beside the types of notifications. HEEDED says with `goes_on` whether others follow."""

_observers: list[Observer] = []


def observe(observer: Observer) -> None:
    """From now on `observer` receives the outcome of signals in this process, whatever channels
    notifications have."""
    _observers.append(observer)


def tell(identity: str, kind: str, data: Mapping[str, str]) -> None:
    """Tell the observers what became of the signal `identity`."""
    for observer in _observers:
        observer(identity, kind, data)


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
        """The record's members, for offsets."""
        return {
            "id": self.id,
            "type": self.type,
            "aggregate_type": self.aggregate_type,
            "additional_data": dict(self.additional_data),
            "timestamp": self.timestamp,
        }


class Notifier:
    """A connector's notifications. The log channel is written here; the caller sends the
    notification to `topic`, the sink channel's (None: no sink channel)."""

    def __init__(self, config: ConnectorConfig) -> None:
        channels = config.notification_enabled_channels
        self._connector = config.topic_prefix
        self._writes_log = "log" in channels
        self.topic = config.notification_sink_topic_name if "sink" in channels else None

    @property
    def enabled(self) -> bool:
        """Whether there is a channel."""
        return self._writes_log or self.topic is not None

    def notify(
        self, identity: str, kind: str, aggregate: str, data: Mapping[str, str]
    ) -> Notification:
        """A notification of this moment. `identity` is its id, `kind` what happened (STARTED, …)
        to `aggregate`, `data` the additional data without the connector's name."""
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
