"""Checks that the signal channels exist."""

from __future__ import annotations

from headrace.config.properties.connector import ConnectorConfig
from headrace.errors import HeadraceError
from headrace.findings import Findings
from headrace.signals.kafka import check_topic


def check_channels(config: ConnectorConfig, findings: Findings) -> None:
    """Without Kafka the stream starts all the same. Raises HeadraceError where it does not."""
    if "kafka" not in config.signal_enabled_channels:
        return
    try:
        check_topic(config)
    except HeadraceError as error:
        if not error.retriable:
            raise
        findings.add_error(error, "warning")
    else:
        findings.add("signals.topic", "ok", f"The signal topic {config.signal_topic()} exists")
