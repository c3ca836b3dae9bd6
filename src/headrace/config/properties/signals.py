"""Properties of signals and notifications, and of their channels."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.config.configuration import Configuration
from headrace.config.finding import PropertyFinding
from headrace.config.kinds import COMMA_LIST, PATH, TEXT, integer, milliseconds
from headrace.config.property import Group, PassThrough, Property


class SignalConfig(Configuration):
    """Properties of the signals to a running connector, and of its notifications."""

    signal_data_collection = Property(
        "signal.data.collection",
        TEXT,
        None,
        Group.SIGNALS,
        "The signal table, `schema.table`.",
    )
    signal_enabled_channels = Property(
        "signal.enabled.channels",
        COMMA_LIST,
        "source",
        Group.SIGNALS,
        "Channels that signals come from: `source` (signal.data.collection), `kafka` "
        "(signal.kafka.topic) and `file` (signal.file). JMX and in-process channels are refused.",
    )
    signal_poll_interval_ms = Property(
        "signal.poll.interval.ms",
        milliseconds(),
        "5000",
        Group.SIGNALS,
        "Polling interval of channels other than source.",
    )
    signal_kafka_topic = Property(
        "signal.kafka.topic",
        TEXT,
        None,
        Group.SIGNALS,
        "Topic of the kafka channel; by default `topic.prefix` and `-signal`. Messages with "
        "another key than `topic.prefix` are ignored.",
    )
    signal_kafka_bootstrap_servers = Property(
        "signal.kafka.bootstrap.servers",
        TEXT,
        None,
        Group.SIGNALS,
        "Brokers of the kafka channel.",
    )
    signal_kafka_groupId = Property(
        "signal.kafka.groupId",
        TEXT,
        "kafka-signal",
        Group.SIGNALS,
        "Consumer group of the kafka channel: a first start continues at the group's offset.",
    )
    signal_kafka_poll_timeout_ms = Property(
        "signal.kafka.poll.timeout.ms",
        milliseconds(),
        "100",
        Group.SIGNALS,
        "How long a poll of the kafka channel waits; this does not delay the stream.",
    )
    signal_file = Property(
        "signal.file",
        PATH,
        "file-signals.txt",
        Group.SIGNALS,
        "File of the file channel.",
    )
    signal_emit_failure_max_retries = Property(
        "signal.emit.failure.max.retries",
        integer(0),
        "0",
        Group.SIGNALS,
        "Retries of writing a watermark.",
    )
    signal_emit_failure_backoff_ms = Property(
        "signal.emit.failure.backoff.ms",
        milliseconds(),
        "10000",
        Group.SIGNALS,
        "Pause between retries of writing a watermark.",
    )
    notification_enabled_channels = Property(
        "notification.enabled.channels",
        COMMA_LIST,
        "",
        Group.SIGNALS,
        "Channels that notifications go to: `sink` (records of notification.sink.topic.name) and "
        "`log`. JMX is refused.",
    )
    notification_sink_topic_name = Property(
        "notification.sink.topic.name",
        TEXT,
        None,
        Group.SIGNALS,
        "Topic of the sink channel.",
    )
    signal_consumer = PassThrough(
        "signal.consumer.*",
        TEXT,
        Group.SIGNALS,
        "Settings of the kafka channel's client (librdkafka's, which are Kafka's with few "
        "exceptions).",
        case_matters=False,
        clients=r".+",
    )

    def signal_table(self) -> str | None:
        """The name of the signal table, `schema.table`, whose events are always captured."""
        return self.signal_data_collection or None

    def signal_brokers(self) -> str | None:
        """Return the brokers of the kafka channel."""
        brokers = self.signal_consumer.get("bootstrap.servers")
        return brokers or self.signal_kafka_bootstrap_servers

    def check(self) -> Iterator[PropertyFinding]:
        yield from super().check()
        yield from self._check_channels()

    def _check_channels(self) -> Iterator[PropertyFinding]:
        yield from _unknown("signal.enabled.channels", self.signal_enabled_channels, _SIGNALS)
        if "kafka" in self.signal_enabled_channels and not self.signal_brokers():
            yield PropertyFinding(
                "config.missing",
                "signal.kafka.bootstrap.servers",
                "signal.enabled.channels has kafka, but signal.kafka.bootstrap.servers is missing",
                "Set signal.kafka.bootstrap.servers to the brokers, host:port.",
            )
        if self.signal_data_collection and "c" in self.value_of("skipped_operations"):
            yield PropertyFinding(
                "config.impossible_value",
                "skipped.operations",
                "skipped.operations has c, but signals and watermarks of incremental snapshots are "
                "inserts into signal.data.collection",
                "Remove c from skipped.operations, or remove signal.data.collection: the channels "
                "kafka and file do not need it.",
            )
        channels = self.notification_enabled_channels
        yield from _unknown("notification.enabled.channels", channels, _NOTIFICATIONS)
        if "sink" in channels and not self.notification_sink_topic_name:
            yield PropertyFinding(
                "config.missing",
                "notification.sink.topic.name",
                "notification.enabled.channels has sink, but notification.sink.topic.name is "
                "missing",
                "Set notification.sink.topic.name to the topic that notifications go to.",
            )


_SIGNALS = ("source", "kafka", "file")
_NOTIFICATIONS = ("sink", "log")


def _unknown(
    name: str, channels: tuple[str, ...], supported: tuple[str, ...]
) -> Iterator[PropertyFinding]:
    wrong = [channel for channel in channels if channel not in supported]
    if wrong:
        yield PropertyFinding(
            "config.not_supported",
            name,
            f"{name}: {', '.join(wrong)} is not supported in this version",
            f"The channels are: {', '.join(supported)}.",
        )
