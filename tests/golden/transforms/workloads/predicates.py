"""The predicates, and chains of three transforms."""

from __future__ import annotations

from collections.abc import Mapping

from tests.golden.transforms.workloads.workload import (
    KAFKA,
    Configured,
    Option,
    Workload,
    chain,
)

RECORDS = ("small", "small_nulls", "small_other", "tombstone", "tombstone_other",
           "null_with_schema", "pg_create", "pg_read", "pg_tombstone", "pg_drop_listed",
           "ora_update", "ora_tombstone", "db2_delete", "pg_heartbeat", "topic_6",
           "empty")  # fmt: skip
MARK = {"type": f"{KAFKA}InsertHeader", "header": "marked", "value.literal": "yes"}


def _predicate(name: str, options: tuple[Option, ...], required: Mapping[str, str]) -> Workload:
    java_class = f"{KAFKA}predicates.{name}"
    cases = []
    configured = [("as required", dict(required))]
    configured += [(f"{option.name}={value}", {**required, option.name: value})
                   for option in options for value in option.values]  # fmt: skip
    for label, settings in configured:
        predicate = {"type": java_class, **settings}
        for negate in ("absent", "false", "true", "TRUE", "maybe"):
            if negate in ("TRUE", "maybe") and label != "as required":
                continue
            step = MARK | {"predicate": "p"} | ({} if negate == "absent" else {"negate": negate})
            cases.append(Configured(f"{label}, negate={negate}", chain(step, p=predicate), RECORDS))
    two = {**MARK, "header": "second", "predicate": "p", "negate": "true"}
    both = chain(MARK | {"predicate": "p"}, two, MARK | {"header": "third"},
                 p={"type": java_class, **required})  # fmt: skip
    cases.append(Configured("one predicate of two transforms", both, RECORDS))
    cases += [
        Configured(f"documents, negate={negate}",
                   chain(MARK | {"predicate": "p", "negate": negate},
                         p={"type": java_class, **required}), DOCUMENTS)
        for negate in ("true", "false")
    ]  # fmt: skip
    cases.append(Configured(
        "a predicate that nobody names",
        chain(MARK, p={"type": java_class, **required}), RECORDS[:3],
    ))  # fmt: skip
    return Workload(name, {java_class: options}, tuple(cases))


def topic_name_matches() -> Workload:
    """TopicNameMatches: the whole topic."""
    options = (
        Option("pattern", ("plain", r"shop\..*", "shop", ".*other.*", ".*", "(?i)PLAIN", r"\p{L}+",
                           "(", "plain|other.topic", "")),
    )  # fmt: skip
    return _predicate("TopicNameMatches", options, {"pattern": "plain"})


def has_header_key() -> Workload:
    """HasHeaderKey: a header of that name."""
    options = (Option("name", ("trace", "none", "absent", "Trace", "kept", "dropped",
                               "__debezium.context.taskId", "")),)  # fmt: skip
    return _predicate("HasHeaderKey", options, {"name": "trace"})


def record_is_tombstone() -> Workload:
    """RecordIsTombstone: the value is null."""
    return _predicate("RecordIsTombstone", (), {})


UNWRAP = {"type": "io.debezium.transforms.ExtractNewRecordState"}
ROUTE = {"type": f"{KAFKA}RegexRouter", "regex": r"([^.]+)\.([^.]+)\.([^.]+)",
         "replacement": "$1_$3"}  # fmt: skip
TABLES = {"type": "io.debezium.transforms.ByLogicalTableRouter",
          "topic.regex": r"(.*)\.shard_\d\.(.*)", "topic.replacement": "$1.$2"}  # fmt: skip
TOMBSTONE = {"type": f"{KAFKA}predicates.RecordIsTombstone"}
ROWS = ("pg_create", "pg_update_before", "pg_delete", "pg_delete_full", "pg_tombstone",
        "pg_truncate", "pg_shard_1", "pg_shard_delete", "pg_heartbeat", "ora_create", "ora_update",
        "ora_delete", "ora_tombstone", "db2_create", "db2_update", "db2_delete",
        "db2_tombstone")  # fmt: skip
DOCUMENTS = ("doc_create", "doc_update_before", "doc_partial", "doc_delete", "doc_delete_before",
             "doc_tombstone", "doc_heartbeat")  # fmt: skip


def chains() -> Workload:
    """Chains of three transforms and more."""
    drop = {"type": f"{KAFKA}Filter"}
    rewrite = UNWRAP | {
        "delete.tombstone.handling.mode": "rewrite",
        "add.fields": "op,source.ts_ms",
    }
    of_shop = {"type": f"{KAFKA}predicates.TopicNameMatches", "pattern": r"shop\..*"}
    cases = {
        "unwrap, route, drop tombstones": chain(
            UNWRAP | {"add.headers": "op"}, ROUTE, drop | {"predicate": "gone"}, gone=TOMBSTONE
        ),
        "rewrite, rename, cast": chain(
            rewrite,
            {"type": f"{KAFKA}ReplaceField$Value", "renames": "__op:op,ID:id", "exclude": "email"},
            {"type": f"{KAFKA}Cast$Value", "spec": "id:string,__source_ts_ms:string"},
        ),
        "tables, unwrap, insert": chain(
            TABLES,
            UNWRAP,
            {"type": f"{KAFKA}InsertField$Value", "topic.field": "topic", "static.field": "origin",
             "static.value": "here", "predicate": "live", "negate": "true"},
            live=TOMBSTONE,
        ),
        "unwrap some, hoist the others": chain(
            UNWRAP | {"predicate": "shop"},
            {"type": f"{KAFKA}HoistField$Value", "field": "event", "predicate": "shop",
             "negate": "true"},
            ROUTE,
            shop=of_shop,
        ),
        "unwrap, value to key, extract the key": chain(
            UNWRAP | {"predicate": "customers"},
            {"type": f"{KAFKA}ValueToKey", "fields": "name", "predicate": "live", "negate": "true"},
            {"type": f"{KAFKA}ExtractField$Key", "field": "name", "predicate": "live",
             "negate": "true"},
            customers={"type": f"{KAFKA}predicates.TopicNameMatches",
                       "pattern": r"shop\.public\.customers"},
            live=TOMBSTONE,
        ),
        "changed fields, headers to values, unwrap": chain(
            {"type": "io.debezium.transforms.ExtractChangedRecordState",
             "header.changed.name": "changed", "header.unchanged.name": "unchanged"},
            {"type": "io.debezium.transforms.HeaderToValue", "headers": "changed",
             "fields": "after.changed", "operation": "copy"},
            UNWRAP | {"add.headers": "op"},
        ),
        "flatten, mask, metadata": chain(
            {"type": f"{KAFKA}Flatten$Value", "delimiter": "_"},
            {"type": f"{KAFKA}MaskField$Value", "fields": "source_db,op"},
            {"type": f"{KAFKA}SetSchemaMetadata$Value", "schema.name": "flat",
             "schema.version": "2"},
        ),
        "headers from fields, dropped, inserted": chain(
            {"type": f"{KAFKA}HeaderFrom$Value", "fields": "op,ts_ms", "headers": "op,at",
             "operation": "move"},
            {"type": f"{KAFKA}DropHeaders", "headers": "at"},
            {"type": f"{KAFKA}InsertHeader", "header": "n", "value.literal": "3"},
        ),
        "a time, a date and a topic": chain(
            UNWRAP | {"add.fields": "source.ts_ms:at"},
            {"type": f"{KAFKA}TimestampConverter$Value", "field": "__at", "target.type": "string",
             "format": "yyyy-MM-dd HH:mm:ss.SSS"},
            ROUTE | {"replacement": "$3"},
        ),
        "dropped first": chain(drop, UNWRAP, ROUTE),
    }  # fmt: skip
    configured = [Configured(name, properties, ROWS) for name, properties in cases.items()]
    documents = chain(
        {"type": "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState",
         "add.fields": "op,collection", "delete.tombstone.handling.mode": "rewrite"},
        {"type": f"{KAFKA}Flatten$Value", "delimiter": "_", "predicate": "gone", "negate": "true"},
        ROUTE,
        gone=TOMBSTONE,
    )  # fmt: skip
    twice = {
        **chain(
            {"type": f"{KAFKA}InsertHeader", "header": "n", "value.literal": "3"},
        ),
        "transforms": "t,t",
    }
    configured.append(Configured("one alias twice", twice, ROWS[:3]))
    configured.append(Configured("documents, flatten, route", documents, DOCUMENTS))
    return Workload("chains", {}, tuple(configured))
