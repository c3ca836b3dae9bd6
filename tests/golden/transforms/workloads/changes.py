"""Debezium's transforms of change events."""

from __future__ import annotations

from tests.golden.transforms.workloads.workload import (
    ABSENT,
    Configured,
    Option,
    Transform,
    Workload,
    workload,
)

ROWS = ("pg_create", "pg_read", "pg_update", "pg_update_before", "pg_update_same", "pg_delete_full",
        "pg_tombstone", "pg_truncate", "pg_types_update", "pg_types_nulls", "pg_heartbeat",
        "pg_message", "ora_update", "ora_delete", "db2_update")  # fmt: skip
OTHERS = ("small", "tombstone", "no_schema", "one_text", "empty")


def changed_state() -> Workload:
    """ExtractChangedRecordState: names of changed and of unchanged columns in headers."""
    changed, unchanged = "header.changed.name", "header.unchanged.name"
    transform = Transform(
        "io.debezium.transforms.ExtractChangedRecordState",
        (
            Option(changed, ("changed", "Changed columns", "")),
            Option(unchanged, ("unchanged", "")),
        ),
        ROWS,
    )
    more = [
        transform.case("both", {changed: "changed", unchanged: "unchanged"}),
        transform.case("both of one name", {changed: "c", unchanged: "c"}),
        transform.case("other records", {changed: "changed"}, OTHERS),
        transform.case("documents", {changed: "changed"}, ("doc_create", "doc_update_before")),
        transform.case(
            "zeros",
            {changed: "changed", unchanged: "unchanged"},
            ("zeros_to_minus", "minus_to_zeros", "minus_zeros"),
        ),
        transform.case("keyless", {changed: "changed"}, ("pg_keyless", "pg_keyless_update")),
    ]
    return workload("ExtractChangedRecordState", [transform], more)


def header_to_value() -> Workload:
    """HeaderToValue: headers copied or moved into the value."""
    transform = Transform(
        "io.debezium.transforms.HeaderToValue",
        (
            Option("headers", ("trace", "number", "none", "list", "place", "absent", "")),
            Option("fields", ("h", "id", "inner.h", "n.h", "", "after.h", "h?")),
            Option("operation", ("move", "copy", "MOVE", "drop")),
        ),
        ("small", "small_nulls", "small_other", "tombstone", "null_with_schema"),
        {"headers": "number", "fields": "h", "operation": "copy"},
    )
    context = "__debezium.context.taskId"
    three = {"headers": "number,trace,place", "fields": "number,trace,place"}
    more: list[Configured] = []
    for operation in ("move", "copy"):
        how = {"operation": operation}
        more += [
            transform.case(f"{operation} three", {**three, **how}),
            transform.case(f"{operation} with one that is absent",
                           {"headers": "absent,number", "fields": "a,b", **how}),
            transform.case(f"{operation} into the envelope",
                           {"headers": context, "fields": "task", **how},
                           ("pg_read", "pg_update_before", "pg_create", "pg_tombstone")),
            transform.case(f"{operation} into the row",
                           {"headers": context, "fields": "after.task", **how},
                           ("pg_read", "pg_update_before", "pg_shard_1")),
            transform.case(f"{operation} into a new struct",
                           {"headers": f"{context},__debezium.context.connectorName",
                            "fields": "meta.task,meta.connector", **how},
                           ("pg_read", "pg_update_before")),
            transform.case(f"{operation} into a null struct",
                           {"headers": context, "fields": "before.task", **how}, ("pg_read",)),
            transform.case(f"{operation} below a scalar",
                           {"headers": context, "fields": "op.task", **how}, ("pg_read",)),
            transform.case(f"{operation} three levels deep",
                           {"headers": context, "fields": "a.b.c", **how}, ("pg_read",)),
        ]  # fmt: skip
    more += [
        transform.case("fewer fields", {"headers": "number,trace"}),
        *(transform.case(f"no {name}", {name: ABSENT})
          for name in ("headers", "fields", "operation")),
        transform.case("no schema", {"headers": "free"}, ("no_schema",)),
    ]  # fmt: skip
    return workload("HeaderToValue", [transform], more)


ZONES = ("America/Toronto", "Europe/Warsaw", "UTC", "+05:30", "-09:00", "Asia/Kathmandu", "Z",
         "GMT", "Nowhere/City", "+25:00", "5", "", "PST", "EST", "MST", "HST", "ACT", "IST", "CST",
         "AET", "EST5EDT", "PST8PDT", "CET", "UT", "UTC+02:00", "GMT+2", "Etc/GMT-3", "utc", "z",
         "+8", "+08", "+0800", "+08:00:30", "-18:00", "+18:01", "SystemV/PST8",
         "US/Pacific-New")  # fmt: skip
TIMES = ("pg_types", "pg_types_update", "pg_types_nulls", "pg_types_delete", "ora_create",
         "ora_update", "db2_update", "pg_tombstone", "pg_heartbeat", "small")  # fmt: skip
RULES = (
    "source:types", "source:public.types", "source:CUSTOMERS", "topic:shop.public.types",
    "source:types:zoned", "source:types:at_ms", "source:types:at_us,source:types:at_ns",
    "topic:shop.public.types:zoned", "source:types:zoned_time", "source:types:date",
    "source:types:time_us", "source:types:text", "source:types:absent", "source:other",
    "topic:other", "types:zoned", "shop.public.types:zoned", "source:types:source.ts_ms",
    "source:types:source.ts_us,source:types:source.ts_ns", "source:types:before.zoned",
    "source:types:after.at_ms", "source:CUSTOMERS:SEEN,source:CUSTOMERS:CREATED",
    "topic:server1.INVENTORY.CUSTOMERS:CREATED", "source:", "zoned", "source:a:b:c", "",
)  # fmt: skip


def timezone_converter() -> Workload:
    """TimezoneConverter: times in another zone."""
    transform = Transform(
        "io.debezium.transforms.TimezoneConverter",
        (
            Option("converted.timezone", ZONES),
            Option("include.list", RULES, records=TIMES[:6]),
            Option("exclude.list", RULES, records=TIMES[:6]),
        ),
        TIMES,
        {"converted.timezone": "America/Toronto"},
    )
    more = [
        transform.case("no zone", {"converted.timezone": ABSENT}),
        transform.case("both lists", {"include.list": "source:types", "exclude.list": "source:b"}),
        transform.case("summer", {"converted.timezone": "Europe/Warsaw"}, ("summer", "winter")),
    ]
    return workload("TimezoneConverter", [transform], more)


ROUTED = ("pg_create", "pg_update_before", "pg_delete_full", "pg_tombstone", "pg_truncate",
          "pg_message", "pg_types", "pg_types_nulls", "pg_shard_1", "ora_create", "db2_update",
          "pg_heartbeat", "small")  # fmt: skip


def partition_routing() -> Workload:
    """PartitionRouting: the partition by a hash of fields."""
    transform = Transform(
        "io.debezium.transforms.partitions.PartitionRouting",
        (
            Option("partition.payload.fields", (
                "change.name", "after.name", "before.name", "change.id", "source.table", "op",
                "change.name,change.id", "change.absent", "change.absent,change.name",
                "source.lsn", "change.FIRST_NAME", "change.ID", "transaction.id", "absent",
                "change", "",
            )),
            Option("partition.topic.num", ("1", "2", "7", "100", "0", "-1", "x")),
            Option("partition.hash.function", ("java", "murmur", "JAVA", "md5")),
        ),
        ROUTED,
        {"partition.payload.fields": "change.name", "partition.topic.num": "100"},
    )  # fmt: skip
    columns = ("tiny", "small", "whole", "large", "single", "double", "flag", "text", "code",
               "price", "date", "at_us", "zoned", "uuid", "tags")  # fmt: skip
    # Java's hash of bytes and of structs is that of the object, another in every run.
    more = [
        transform.case(f"{name} by {function}",
                       {"partition.payload.fields": f"change.{name}",
                        "partition.hash.function": function},
                       ("pg_types", "pg_types_update", "pg_types_nulls", "pg_types_delete"))
        for name in columns
        for function in ("java", "murmur")
    ]  # fmt: skip
    more += [
        transform.case("no fields", {"partition.payload.fields": ABSENT}),
        transform.case("no number", {"partition.topic.num": ABSENT}),
    ]
    return workload("PartitionRouting", [transform], more)


def record_size() -> Workload:
    """EnforceRecordSize: long texts and bytes are cut."""
    sized = ("sized_short", "sized_long", "sized_wide", "sized_delete", "sized_tombstone",
             "sized_row", "sized_text", "pg_heartbeat", "pg_create")  # fmt: skip
    typed = ("sized_types", "sized_types_update", "sized_types_nulls", "sized_price",
             "sized_price_null", "sized_default", "sized_oracle", "sized_db2", "sized_headers",
             "sized_keyless", "sized_text_key")  # fmt: skip
    transform = Transform(
        "io.debezium.transforms.EnforceRecordSize",
        (
            Option("max.bytes", ("100", "500", "1000", "1500", "1600", "2000", "2500", "5000",
                                 "100000", "0", "-1", "x")),
            Option("compression.ratio", ("1.0", "0.5", "0.75", "2", "0.1", "0", "-1", "x"),
                   {"max.bytes": "1500"}),
            Option("min.field.size", ("0", "29", "30", "39", "40", "50", "350", "25000", "-1"),
                   {"max.bytes": "1500"}),
        ),
        sized,
        {"max.bytes": "1000", "min.field.size": "10"},
    )  # fmt: skip
    more = [
        transform.case("no size", {"max.bytes": ABSENT}),
        transform.case("only a size", {"min.field.size": ABSENT}),
        transform.case("every type", {"max.bytes": "100"}, ("pg_types", "ora_create", "every")),
        transform.case("no schema", {"max.bytes": "10"}, ("no_schema", "no_schema_text", "empty")),
        transform.case("no change events", {"max.bytes": "10"}, ("nested", "null_with_schema",
                                                                 "doc_create", "out_create")),
        *(
            transform.case(f"typed, {size} bytes", {"max.bytes": size, "min.field.size": "70"},
                           typed)
            for size in ("3000", "3333", "4444", "5001", "6000", "9000")
        ),
        transform.case("typed, compressed",
                       {"max.bytes": "3001", "min.field.size": "70", "compression.ratio": "0.7"},
                       typed),
        *(
            transform.case(f"halves of characters, {size} bytes", {"max.bytes": size},
                           ("sized_pairs",))
            for size in ("5000", "5001")
        ),
    ]  # fmt: skip
    return workload("EnforceRecordSize", [transform], more)


def schema_changes() -> Workload:
    """SchemaChangeEventFilter: schema change events by kind."""
    transform = Transform(
        "io.debezium.transforms.SchemaChangeEventFilter",
        (
            Option("schema.change.event.exclude.list", (
                "CREATE", "ALTER", "DROP", "CREATE,DROP", "create", " CREATE , ALTER ", "OTHER",
                "TRUNCATE", "",
            )),
        ),
        ("ora_create_table", "ora_alter_table", "ora_drop_table", "db2_alter_table", "ora_create",
         "pg_create", "pg_tombstone", "pg_heartbeat", "small", "no_schema"),
        {"schema.change.event.exclude.list": "ALTER"},
    )  # fmt: skip
    more = [transform.case("no list", {"schema.change.event.exclude.list": ABSENT})]
    return workload("SchemaChangeEventFilter", [transform], more)
