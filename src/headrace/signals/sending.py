"""Signals that this package sends itself: checked before they are sent."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.config.properties.connector import ConnectorConfig
from headrace.config.secret import without_passwords
from headrace.errors import HeadraceError
from headrace.signals.data_collections import named
from headrace.signals.files import append_line
from headrace.signals.kafka import produce
from headrace.signals.signal import (
    ExecuteSnapshot,
    Signal,
    WindowMark,
    parse_action,
    unread_members,
)

log = logging.getLogger(__name__)

_EXAMPLE = """headrace signal FILE execute-snapshot '{"data-collections": ["inventory.orders"]}'"""


@dataclass(frozen=True)
class SignalTargets:
    """The names that a signal may use at present: the names of all existing `collections` (tables,
    `schema.table`), those that are `captured`, and, with a remedy for each, the captured ones whose
    changes never arrive. `qualifier` may precede each name."""

    collections: Sequence[str]
    captured: Sequence[str]
    silent: Mapping[str, str] = field(default_factory=dict)
    qualifier: str = ""


def check_targets(signal: Signal, targets: SignalTargets) -> None:
    """Check that every collection of an execute-snapshot can be read and followed; other signals
    name no collection that must exist. Raises HeadraceError("signals.no_collection"),
    ("signals.not_captured"), ("signals.not_published")."""
    action = parse_action(signal)
    if not isinstance(action, ExecuteSnapshot):
        return
    for expression in action.collections:
        names = captured_names(expression, targets)
        silent = [name for name in names if name in targets.silent]
        if silent:
            raise HeadraceError(
                "signals.not_published",
                f"{silent[0]} is captured, but its changes will not arrive",
                targets.silent[silent[0]],
            )


def captured_names(expression: str, targets: SignalTargets) -> list[str]:
    """Return the captured collections that an expression of a signal names. Raises
    HeadraceError("signals.no_collection"), ("signals.not_captured")."""
    names = named(expression, targets.captured, targets.qualifier)
    if not names:
        raise _nobody(expression, named(expression, targets.collections, targets.qualifier))
    return names


def _nobody(expression: str, present: Sequence[str]) -> HeadraceError:
    if present:
        return HeadraceError(
            "signals.not_captured",
            f"{present[0]} exists, but is not captured",
            "Add it to the include list of the running configuration, and start that again.",
        )
    return HeadraceError(
        "signals.no_collection",
        f"{expression} does not exist: no table or collection has that name",
        "Check data-collections: schema.table or database.collection, or a regular "
        "expression that matches the whole name.",
    )


def make_signal(kind: str, data: str | Mapping[str, Any], name: str | None) -> Signal:
    """Return a signal that a connector can apply. Raises HeadraceError("signals.invalid")."""
    text = data if isinstance(data, str) else json.dumps(data)
    signal = Signal(name or str(uuid.uuid4()), kind, text or "{}")
    try:
        action = parse_action(signal)
    except ValueError as problem:
        raise HeadraceError(
            "signals.invalid",
            f"The signal {kind} is wrong: {without_passwords(str(problem), text)}",
            f"For example: {_EXAMPLE}; `headrace signal --help` has more.",
        ) from None
    if isinstance(action, WindowMark) or len(signal.id) > 36:
        raise HeadraceError(
            "signals.invalid",
            f"The signal {kind} with the id {signal.id} cannot be sent",
            "Watermarks are the connector's own; an id has at most 36 characters.",
        )
    for name in unread_members(signal):
        log.warning("the signal %s has an unknown member: %s", kind, name)
    return signal


def channel_of(config: ConnectorConfig, channel: str | None) -> str:
    """Return `channel`, or the first enabled one of source (the signal table), kafka, file. Raises
    HeadraceError("signals.no_channel")."""
    enabled = config.signal_enabled_channels
    present: list[str] = [name for name in ("kafka", "file") if name in enabled]
    if config.signal_table() is not None and "source" in enabled:
        present.insert(0, "source")
    for name in present:
        if channel in (None, name):
            return name
    raise HeadraceError(
        "signals.no_channel",
        "The configuration has no channel that the signal could take",
        "Set signal.data.collection to a signal table, or add kafka or file to "
        "signal.enabled.channels.",
    )


def send(
    config: ConnectorConfig,
    signal: Signal,
    channel: str,
    insert: Callable[[str, Signal], None],
) -> None:
    """Send a signal by a channel of `channel_of`: the signal table (`insert`), Kafka, the file.
    Raises the channel's errors."""
    match channel:
        case "source":
            table = config.signal_table()
            assert table is not None, "channel_of"
            insert(table, signal)
        case "kafka":
            produce(config, signal)
        case _:
            append_line(config.signal_file, signal)
