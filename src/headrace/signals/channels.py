"""The signal channels other than the log: the file and the Kafka topic."""

from __future__ import annotations

from dataclasses import replace

from headrace.config.properties.connector import ConnectorConfig
from headrace.signals.files import SignalFile
from headrace.signals.progress import SignalProgress
from headrace.signals.signal import Signal
from headrace.signals.topic import SignalTopic


def has_channels(config: ConnectorConfig) -> bool:
    """Whether a channel other than the log is enabled."""
    return not {"file", "kafka"}.isdisjoint(config.signal_enabled_channels)


class Channels:
    """The file and Kafka channels of a configuration; true if one is enabled. The progress contains
    how far each was read, so that a signal is applied once, whenever the process dies."""

    def __init__(self, config: ConnectorConfig) -> None:
        enabled = config.signal_enabled_channels
        self._file = self._topic = None
        if "file" in enabled:
            interval = config.signal_poll_interval_ms / 1000
            self._file = SignalFile(config.signal_file, interval)
        if "kafka" in enabled:
            self._topic = SignalTopic(config)

    def __bool__(self) -> bool:
        return self._file is not None or self._topic is not None

    def acknowledge(self, stored_progress: SignalProgress) -> None:
        """Note that the checkpoint contains `stored_progress`."""
        if self._file is not None:
            self._file.forget(stored_progress.file)
        if self._topic is not None:
            self._topic.acknowledge(stored_progress.kafka)

    def take(self, progress: SignalProgress) -> tuple[list[Signal], SignalProgress]:
        """Return the signals after `progress` that were not applied yet, and the progress after
        them."""
        new_signals: list[Signal] = []
        if self._file is not None:
            signals, number = self._file.take(progress.file)
            new_signals += signals
            progress = replace(progress, file=number)
        if self._topic is not None:
            signals, places = self._topic.take(progress.kafka)
            new_signals += signals
            progress = replace(progress, kafka=places)
        return new_signals, progress

    def close(self) -> None:
        """Close the channels. Never raises."""
        if self._topic is not None:
            self._topic.close()
