"""Checks that the signal channels exist."""

from __future__ import annotations

from headrace.config.properties.connector import ConnectorConfig
from headrace.errors import HeadraceError
from headrace.findings import Findings
from headrace.signals.kafka import check_topic


def check_channels(config: ConnectorConfig, findings: Findings) -> None:
    """Check that the signal topic exists. A retriable error is added as a warning, because the
    stream starts without Kafka, too; other errors are raised as HeadraceError."""
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
