"""All workloads, by the name of their recording."""

from __future__ import annotations

from collections.abc import Callable

from tests.golden.transforms.workloads.changes import (
    changed_state,
    header_to_value,
    partition_routing,
    record_size,
    schema_changes,
    timezone_converter,
)
from tests.golden.transforms.workloads.columns import geometries, source_schemas, vectors
from tests.golden.transforms.workloads.documents import documents
from tests.golden.transforms.workloads.kafka_fields import insert_field, mask_field, replace_field
from tests.golden.transforms.workloads.kafka_headers import (
    drop_headers,
    header_from,
    insert_header,
    kafka_filter,
)
from tests.golden.transforms.workloads.kafka_shapes import (
    extract_field,
    flatten,
    hoist_field,
    set_schema_metadata,
    value_to_key,
)
from tests.golden.transforms.workloads.kafka_values import cast, timestamp_converter
from tests.golden.transforms.workloads.outbox import document_event_router, event_router
from tests.golden.transforms.workloads.predicates import (
    chains,
    has_header_key,
    record_is_tombstone,
    topic_name_matches,
)
from tests.golden.transforms.workloads.routers import (
    logical_tables,
    regex_router,
    timestamp_router,
)
from tests.golden.transforms.workloads.scripting import content_based_router, scripted_filter
from tests.golden.transforms.workloads.unwrap import unwrap
from tests.golden.transforms.workloads.workload import Workload

WORKLOADS: dict[str, Callable[[], Workload]] = {
    "ExtractNewRecordState": unwrap,
    "RegexRouter": regex_router,
    "InsertField": insert_field,
    "ReplaceField": replace_field,
    "ByLogicalTableRouter": logical_tables,
    "ExtractNewDocumentState": documents,
    "Filter": scripted_filter,
    "ContentBasedRouter": content_based_router,
    "TimestampRouter": timestamp_router,
    "MaskField": mask_field,
    "Cast": cast,
    "TimestampConverter": timestamp_converter,
    "Flatten": flatten,
    "ExtractField": extract_field,
    "HoistField": hoist_field,
    "ValueToKey": value_to_key,
    "SetSchemaMetadata": set_schema_metadata,
    "DropHeaders": drop_headers,
    "InsertHeader": insert_header,
    "HeaderFrom": header_from,
    "KafkaFilter": kafka_filter,
    "TopicNameMatches": topic_name_matches,
    "HasHeaderKey": has_header_key,
    "RecordIsTombstone": record_is_tombstone,
    "chains": chains,
    "ExtractChangedRecordState": changed_state,
    "HeaderToValue": header_to_value,
    "TimezoneConverter": timezone_converter,
    "PartitionRouting": partition_routing,
    "EnforceRecordSize": record_size,
    "SchemaChangeEventFilter": schema_changes,
    "EventRouter": event_router,
    "MongoEventRouter": document_event_router,
    "VectorToJsonConverter": vectors,
    "SwapGeometryCoordinates": geometries,
    "ExtractSchemaToNewRecord": source_schemas,
}
