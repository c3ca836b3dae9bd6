"""The definition of the MongoDB connector. Importing it loads no driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headrace.connectors.definition import (
    ConnectorDefinition,
    DatabaseMetric,
    Driver,
    NamedDefinition,
)

if TYPE_CHECKING:
    from headrace.offsets.offset import OffsetObject

_PLACE = ("sec", "ord", "ordinal")


class MongoDefinition(NamedDefinition):
    """Debezium's MongoDB connector."""

    name = "mongodb"
    classes: Sequence[str] = ("io.debezium.connector.mongodb.MongoDbConnector", "mongo")
    driver: Driver | None = Driver("pymongo", "headrace[mongodb]")
    database_metrics: Sequence[DatabaseMetric] = (
        DatabaseMetric(
            "oldest", "oplog_oldest_timestamp_seconds", "Time of the oplog's oldest entry."
        ),
        DatabaseMetric("window", "oplog_window_seconds", "The time that the oplog covers."),
        DatabaseMetric("age", "oplog_position_age_seconds", "Age of the query's position."),
        DatabaseMetric(
            "remaining",
            "oplog_remaining_seconds",
            "How long the oplog will still contain the query's position.",
        ),
    )
    change_order: Sequence[str] = ("ts_ms", "ord")
    kernels: Mapping[str, Sequence[str]] = {
        "headrace.connect.kernels.text": ("hash_bytes",),
        "headrace.connectors.mongodb.reading.document_images": (
            "measure_documents",
            "write_documents",
        ),
        "headrace.connectors.mongodb.streaming.frames": ("write_frames",),
        "headrace.connectors.mongodb.streaming.index": ("index_frame",),
        "headrace.streaming.changes.kernels.frame_kernel": ("index_frames",),
        "headrace.documents.kernels.value_sizes": ("value_size",),
        "headrace.documents.kernels.column_kernel": ("put_column",),
        "headrace.documents.kernels.field_kernel": ("filter_fields", "filter_names"),
        "headrace.documents.kernels.id_kernel": ("id_hash",),
        "headrace.documents.kernels.cells": ("put_document",),
        "headrace.documents.kernels.writer": ("put_cell",),
    }
    worker_modules: Sequence[str] = (
        "headrace.streaming.slices",
        "headrace.connectors.mongodb.reading.snapshot_reader",
    )
    configuration_class = "headrace.connectors.mongodb.config:MongoConfig"
    open_function = "headrace.connectors.mongodb.connector:open_connector"
    check_function = "headrace.connectors.mongodb.checks.deployment:check"
    shapes_function = "headrace.connectors.mongodb.event_shapes:event_shapes"
    schema_function = "headrace.connectors.mongodb.reading.sampled_schema:sampled_schema"
    signal_function = "headrace.connectors.mongodb.signal_collection:insert_signal"
    targets_function = "headrace.connectors.mongodb.checks.signals:signal_targets"
    rows_function = "headrace.connectors.mongodb.reading.current_rows:current_rows"
    demo_class = "headrace.connectors.mongodb.demo:ShopDemo"

    def caught_up(self, latest: OffsetObject, end: OffsetObject) -> bool:
        """Whether everything up to the server's last reported operation was received."""
        head, delivered = ([at.get(name, 0) for name in _PLACE] for at in (latest, end))
        return "sec" in latest and delivered >= head


DEFINITION: ConnectorDefinition = MongoDefinition()
