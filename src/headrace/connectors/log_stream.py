"""The open log under the engine, and what a configuration says of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

from headrace.config.properties.common import ConnectorConfig
from headrace.connect.slices import Plan, Slice
from headrace.connectors.metrics import StreamState
from headrace.debezium.event_format import EventFormat
from headrace.debezium.transactions import MESSAGES
from headrace.offsets.offset import Offset, P
from headrace.signals.channels import has_channels
from headrace.streaming import row_kernel
from headrace.streaming.counts import TransactionCounts
from headrace.streaming.facts import EventSettings
from headrace.streaming.ranges import Limit
from headrace.streaming.streaming import Streaming, StreamOptions


class LogStream(Generic[P]):
    """See headrace.connectors.source.OpenStream. `shown` completes the end of a range with what is
    no function of the log; `closed` is called behind the end of the stream."""

    def __init__(
        self,
        streaming: Streaming[P],
        settings: EventSettings,
        *,
        shown: Callable[[Offset[P], Offset[P]], Offset[P]] = lambda _after, end: end,
        closed: Callable[[], None] = lambda: None,
    ) -> None:
        self.streaming = streaming
        self._settings, self._shown, self._closed = settings, shown, closed

    @property
    def start(self) -> Offset[P]:
        """See OpenStream."""
        return self.streaming.start

    def poll(
        self, after: Offset[P], seconds: float, target: int | None, *, moves: bool = False
    ) -> Offset[P]:
        """See OpenStream."""
        return self._shown(after, self.streaming.poll(after, seconds, target, moves=moves))

    def slices(self, start: Offset[P], end: Offset[P]) -> list[Slice]:
        """See OpenStream."""
        return self.streaming.slices(start, end, self._settings)

    def acknowledge(self, place: int) -> None:
        """See OpenStream."""
        self.streaming.acknowledge(place)

    def head(self) -> int:
        """See OpenStream."""
        return self.streaming.server_position()

    def state(self) -> StreamState:
        """See OpenStream."""
        streaming = self.streaming
        return StreamState(
            streaming.receiver.connected(),
            streaming.filtered(),
            *streaming.queue_bytes(),
            streaming.oldest_unacknowledged(),
        )

    def close(self) -> None:
        """See OpenStream."""
        self.streaming.close()
        self._closed()


def stream_options(
    config: ConnectorConfig, plan: Plan, orphaned: Callable[[], bool], *, inline: bool
) -> StreamOptions:
    """How a log becomes ranges and slices; see StreamOptions."""
    return StreamOptions(
        Limit(config.headrace_range_max_bytes, config.headrace_range_max_rows),
        plan,
        spool_bytes=config.headrace_spool_max_bytes,
        acknowledge_seconds=config.headrace_acknowledge_interval / 1000,
        orphaned=orphaned,
        inline=inline,
    )


def row_options(config: ConnectorConfig) -> int:
    """Which records changes make: the options word of `row_kernel`."""
    skipped = config.skipped_operations
    return (
        (row_kernel.TOMBSTONES if config.tombstones_on_delete else 0)
        | (row_kernel.SKIP_CREATE if "c" in skipped else 0)
        | (row_kernel.SKIP_UPDATE if "u" in skipped else 0)
        | (row_kernel.SKIP_DELETE if "d" in skipped else 0)
    )


def transaction_counts(
    config: ConnectorConfig, event_format: EventFormat
) -> TransactionCounts | None:
    """What counts the records of transactions; None: provide.transaction.metadata is not set."""
    if not config.provide_transaction_metadata:
        return None
    return TransactionCounts(() if event_format.counts_messages else (MESSAGES,))


def heeds_signals(config: ConnectorConfig, collection: str | None) -> bool:
    """Whether signals may come, or notifications go; `collection` is the signal collection."""
    return bool(collection is not None or config.notification_enabled_channels) or has_channels(
        config
    )
