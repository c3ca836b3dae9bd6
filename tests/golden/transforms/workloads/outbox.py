"""The outbox transforms: EventRouter and MongoEventRouter."""

from __future__ import annotations

from tests.golden.transforms.inputs.outbox import outbox_documents, outbox_records
from tests.golden.transforms.workloads.workload import Option, Transform, Workload, workload

BOTH = ("true", "false")
PLACEMENTS = (
    "tenant:header",
    "tenant:header:customer",
    "tenant:envelope",
    "tenant:envelope:customer,type:envelope:eventType",
    "part:partition",
    "tenant:header,urgent:envelope:isUrgent,part:partition",
    "absent:header",
    "absent:envelope",
    "tenant:header:a:b",
    "tenant:nowhere",
    "tenant",
    "tenant:partition",
    "type:header,type:envelope",
    "",
)
TABLE = "table.field.event."
COLLECTION = "collection.field.event."
ROWS = ("out_create", "out_read", "out_other", "out_update", "out_delete", "out_tombstone",
        "out_binary", "out_struct", "out_payload_null", "out_payload_nested")  # fmt: skip
PAYLOADS = tuple(name for name in outbox_records() if name.startswith("out_payload_"))
UPPER = {f"{TABLE}id": "ID", f"{TABLE}key": "AGGREGATEID", f"{TABLE}type": "TYPE",
         f"{TABLE}payload": "PAYLOAD", "route.by.field": "AGGREGATETYPE"}  # fmt: skip


def event_router() -> Workload:
    """EventRouter of relational tables."""
    missing = "table.field.additional.missing"
    placement = "table.fields.additional.placement"
    transform = Transform(
        "io.debezium.transforms.outbox.EventRouter",
        (
            Option(f"{TABLE}id", ("id", "aggregateid", "absent", "")),
            Option(f"{TABLE}key", ("aggregateid", "tenant", "version", "absent", "")),
            Option(f"{TABLE}type", ("type", "tenant", "absent", "")),
            Option(f"{TABLE}payload", ("payload", "tenant", "version", "absent", "")),
            Option(f"{TABLE}timestamp", ("at", "at_us", "at_ns", "tenant", "version", "absent")),
            Option(placement, PLACEMENTS),
            Option(missing, ("error", "ignore", "wrong"), {placement: "absent:header"}),
            Option(f"{TABLE}schema.version", ("version", "tenant", "absent")),
            Option("table.op.invalid.behavior", ("warn", "error", "fatal", "wrong"),
                   records=("out_update", "out_create", "out_delete", "out_truncate")),
            Option("table.expand.json.payload", BOTH, records=(*PAYLOADS, "out_binary",
                                                               "out_struct")),
            Option("table.json.payload.null.behavior", ("ignore", "optional_bytes", "wrong"),
                   {"table.expand.json.payload": "true"}, PAYLOADS),
            Option("table.json.payload.empty.array.behavior", ("ignore", "optional_string"),
                   {"table.expand.json.payload": "true"}, PAYLOADS),
            Option("route.by.field", ("aggregatetype", "type", "tenant", "version", "absent", "")),
            Option("route.topic.regex", ("(?<routedByValue>.*)", "(?<first>.)(?<routedByValue>.*)",
                                         "cust(.*)", "(?i)order(?<routedByValue>.*)", "(", "(.*)",
                                         "(?<routedByValue>.*?)")),
            Option("route.topic.replacement", (
                "outbox.event.${routedByValue}", "fixed", "${routedByValue}.events", "$1", "",
            )),
            Option("route.tombstone.on.empty.payload", BOTH,
                   records=("out_payload_null", "out_payload_empty", "out_payload_json_null",
                            "out_payload_empty_object", "out_binary_null", "out_create")),
            Option("tracing.span.context.field", ("tracingspancontext", "tenant"),
                   records=("out_create", "out_traced")),
            Option("tracing.operation.name", ("debezium-read", "op"),
                   records=("out_create", "out_traced")),
            Option("tracing.with.context.field.only", BOTH, records=("out_create", "out_traced")),
        ),
        ROWS,
    )  # fmt: skip
    expanded = {"table.expand.json.payload": "true"}
    more = [
        transform.case("a missing member of the envelope, ignored",
                       {missing: "ignore", placement: "absent:envelope,tenant:envelope"}),
        transform.case("upper case", UPPER, ("out_oracle", "out_oracle_delete", "out_db2")),
        transform.case("upper case by default", {}, ("out_oracle", "out_db2")),
        transform.case("other records", {}, ("out_truncate", "pg_heartbeat", "pg_message", "small",
                                             "tombstone", "pg_create", "pg_end", "empty")),
        transform.case("every payload", {}, PAYLOADS),
        transform.case("everything placed", {
            placement: "tenant:header,version:envelope,part:partition,urgent:header:u",
            f"{TABLE}timestamp": "at", f"{TABLE}schema.version": "version", **expanded,
        }),
        transform.case("tombstones for expanded payloads",
                       {**expanded, "route.tombstone.on.empty.payload": "true"}, PAYLOADS),
        transform.case("tombstones and an envelope", {
            "route.tombstone.on.empty.payload": "true", placement: "tenant:envelope",
        }, ("out_payload_null", "out_payload_empty", "out_create")),
        transform.case("nulls and empty arrays", {
            **expanded, "table.json.payload.null.behavior": "optional_bytes",
            "table.json.payload.empty.array.behavior": "optional_string",
        }, PAYLOADS),
    ]  # fmt: skip
    return workload("EventRouter", [transform], more)


DOCUMENTS = ("outdoc_create", "outdoc_read", "outdoc_other", "outdoc_text_id", "outdoc_update",
             "outdoc_delete", "outdoc_tombstone", "outdoc_no_payload",
             "outdoc_payload_text")  # fmt: skip
DOCUMENT_PAYLOADS = tuple(name for name in outbox_documents() if "payload_" in name)


def document_event_router() -> Workload:
    """MongoEventRouter."""
    missing = "collection.field.additional.missing"
    placement = "collection.fields.additional.placement"
    transform = Transform(
        "io.debezium.connector.mongodb.transforms.outbox.MongoEventRouter",
        (
            Option(f"{COLLECTION}id", ("_id", "aggregateid", "absent", "")),
            Option(f"{COLLECTION}key", ("aggregateid", "tenant", "version", "absent", "")),
            Option(f"{COLLECTION}type", ("type", "tenant", "absent")),
            Option(f"{COLLECTION}payload", ("payload", "tenant", "version", "absent")),
            Option(f"{COLLECTION}timestamp", ("at", "date", "tenant", "absent")),
            Option(placement, PLACEMENTS),
            Option(missing, ("error", "ignore", "wrong"), {placement: "absent:header"}),
            Option(f"{COLLECTION}schema.version", ("version", "tenant", "absent")),
            Option("table.op.invalid.behavior", ("warn", "error", "fatal", "wrong"),
                   records=("outdoc_update", "outdoc_create", "outdoc_delete")),
            Option("collection.op.invalid.behavior", ("warn", "error", "fatal"),
                   records=("outdoc_update", "outdoc_create", "outdoc_delete")),
            Option("collection.expand.json.payload", BOTH, records=DOCUMENT_PAYLOADS),
            Option("route.by.field", ("aggregatetype", "type", "tenant", "version", "absent")),
            Option("route.topic.regex", ("(?<routedByValue>.*)", "(?<first>.)(?<routedByValue>.*)",
                                         "cust(.*)", "(", "(?<routedByValue>.*?)")),
            Option("route.topic.replacement", (
                "outbox.event.${routedByValue}", "fixed", "${routedByValue}.events",
            )),
            Option("route.tombstone.on.empty.payload", BOTH,
                   records=("outdoc_payload_null", "outdoc_payload_empty", "outdoc_payload_blank",
                            "outdoc_no_payload",
                            "outdoc_payload_empty_list", "outdoc_create")),
            Option("tracing.span.context.field", ("tracingspancontext", "tenant"),
                   records=("outdoc_create",)),
            Option("tracing.operation.name", ("debezium-read", "op"), records=("outdoc_create",)),
            Option("tracing.with.context.field.only", BOTH, records=("outdoc_create",)),
        ),
        DOCUMENTS,
    )  # fmt: skip
    more = [
        transform.case("a missing member of the envelope, ignored",
                       {missing: "ignore", placement: "absent:envelope,tenant:envelope"}),
        transform.case("with a key", {f"{COLLECTION}key": "aggregateid"}),
        transform.case("other records", {}, ("doc_heartbeat", "doc_begin", "small", "tombstone",
                                             "doc_create", "outdoc_few", "out_create", "empty",
                                             "doc_wrong_text")),
        transform.case("every payload with an envelope", {placement: "tenant:envelope"},
                       DOCUMENT_PAYLOADS),
        transform.case("everything placed", {
            placement: "tenant:header,version:envelope,part:partition,urgent:header:u",
            f"{COLLECTION}key": "aggregateid", f"{COLLECTION}timestamp": "at",
            f"{COLLECTION}schema.version": "version", "collection.expand.json.payload": "true",
        }),
    ]  # fmt: skip
    return workload("MongoEventRouter", [transform], more)
