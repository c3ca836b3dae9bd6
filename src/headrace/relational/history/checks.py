"""Checks that the schema history can be stored as configured."""

from __future__ import annotations

from headrace.config.properties.history import HistoryKind, SchemaHistoryConfig
from headrace.findings import Findings
from headrace.relational.history.configured import kafka_store


def check_history(config: SchemaHistoryConfig, findings: Findings) -> None:
    """Ask Kafka for the topic of the schema history; files and memory need no check. Nothing is
    created."""
    if config.history_kind() is not HistoryKind.KAFKA:
        return

    def ask() -> None:
        store = kafka_store(config)
        try:
            partitions = store.partitions()
        finally:
            store.close()
        state = "is there" if partitions else "will be made"
        findings.add("relational.history", "ok", f"The schema history, {store.name}, {state}")

    findings.guard(ask)
