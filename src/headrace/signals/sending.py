"""Signals that this package sends itself: checked before they travel."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from headrace.config.properties.common import ConnectorConfig
from headrace.errors import HeadraceError
from headrace.signals.files import append_line
from headrace.signals.kafka import produce
from headrace.signals.signal import Signal, WindowMark, parse_action, unread_members

log = logging.getLogger(__name__)


def make_signal(kind: str, data: str | Mapping[str, Any], name: str | None) -> Signal:
    """A signal that a connector will heed. Raises HeadraceError("signals.invalid")."""
    text = data if isinstance(data, str) else json.dumps(data)
    signal = Signal(name or str(uuid.uuid4()), kind, text or "{}")
    try:
        action = parse_action(signal)
    except ValueError as problem:
        raise HeadraceError(
            "signals.invalid",
            f"The signal {kind} is wrong: {problem}",
            "See Debezium's manual, Sending signals to a Debezium connector.",
        ) from None
    if isinstance(action, WindowMark) or len(signal.id) > 36:
        raise HeadraceError(
            "signals.invalid",
            f"The signal {kind} with the id {signal.id} is not one to send",
            "Watermarks are the connector's own; an id has at most 36 characters.",
        )
    for name in unread_members(signal):
        log.warning("the signal %s has a member that nobody reads: %s", kind, name)
    return signal


def send(
    config: ConnectorConfig,
    signal: Signal,
    channel: str | None,
    insert: Callable[[str, Signal], None],
) -> None:
    """By `channel`, or the first that there is: the signal table (`insert`), Kafka, the file.

    Raises HeadraceError("signals.no_channel"), or what the channel has to say.
    """
    enabled = config.signal_enabled_channels
    table = config.signal_table()
    if channel in (None, "source") and table is not None and "source" in enabled:
        insert(table, signal)
    elif channel in (None, "kafka") and "kafka" in enabled:
        produce(config, signal)
    elif channel in (None, "file") and "file" in enabled:
        append_line(config.signal_file, signal)
    else:
        raise HeadraceError(
            "signals.no_channel",
            "The configuration has no channel that the signal could take",
            "Set signal.data.collection to a signal table, or add kafka or file to "
            "signal.enabled.channels.",
        )
