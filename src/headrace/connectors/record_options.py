"""The options of a log's records, by the configuration."""

from __future__ import annotations

import uuid
from typing import Any, TypeVar

from headrace.config.properties.connector import ConnectorConfig
from headrace.connectors.naming import name_adjustment
from headrace.debezium.event_format import FORMATS, EventFormat
from headrace.debezium.transactions import MESSAGES
from headrace.signals.channels import has_channels
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.counts import TransactionCounts
from headrace.streaming.facts import EventSettings, SourceBlock

S = TypeVar("S", bound=EventSettings)


def event_settings(
    settings: type[S], config: ConnectorConfig, source: SourceBlock, **own: Any
) -> S:
    """Return the settings that all events of a run share, of a connector's own class `settings`;
    `own` are the fields that only this class has."""
    event_format = FORMATS[str(config.event_format_version)]
    with_context = config.extended_headers_enabled and event_format.context_headers
    return settings(
        config.topic_prefix,
        source,
        str(uuid.uuid4()) if with_context else "",
        counted=config.provide_transaction_metadata,
        format=event_format,
        names=name_adjustment(config),
        **own,
    )


def row_options(config: ConnectorConfig, *, splits_keys: bool = True) -> int:
    """Return which records a change produces: the options word of `row_kernel`. `splits_keys`:
    False if the server itself leaves out updates that are skipped, including updates of keys."""
    skipped = config.skipped_operations
    return (
        (row_kernel.TOMBSTONES if config.tombstones_on_delete else 0)
        | (row_kernel.SPLITS_KEYS if splits_keys else 0)
        | (row_kernel.SKIP_CREATE if "c" in skipped else 0)
        | (row_kernel.SKIP_UPDATE if "u" in skipped else 0)
        | (row_kernel.SKIP_DELETE if "d" in skipped else 0)
    )


def transaction_counts(
    config: ConnectorConfig, event_format: EventFormat
) -> TransactionCounts | None:
    """Return the counter of the records of transactions; None: provide.transaction.metadata is not
    set."""
    if not config.provide_transaction_metadata:
        return None
    return TransactionCounts(() if event_format.counts_messages else (MESSAGES,))


def uses_signals(config: ConnectorConfig, collection: str | None) -> bool:
    """Whether signals may arrive or notifications are sent; `collection` is the signal
    collection."""
    notifies = bool(config.notification_enabled_channels)
    return collection is not None or notifies or has_channels(config)
