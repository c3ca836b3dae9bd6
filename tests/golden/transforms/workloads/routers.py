"""RegexRouter, TimestampRouter and ByLogicalTableRouter."""

from __future__ import annotations

from tests.golden.transforms.workloads.workload import (
    ABSENT,
    KAFKA,
    Option,
    Transform,
    Workload,
    workload,
)

TOPICS = tuple(f"topic_{number}" for number in range(8))
ROWS = ("pg_create", "pg_update_before", "pg_delete", "pg_tombstone", "ora_create", "db2_update",
        "pg_heartbeat", "pg_message", "empty")  # fmt: skip

REGEX = Transform(
    f"{KAFKA}RegexRouter",
    (
        Option("regex", (
            r"shop\.public\.(.*)", r"(.*)\.(.*)\.(.*)", "orders", "[A-Z]+", "(?i).*orders.*",
            r"(?<db>[^.]+)\.(?<rest>.*)", r"\p{L}+", ".*", "(",
            r"([a-z]+)\.public\.orders_(\d{2,})",
            r"^shop\.(public|sales)\..*$", r"a\$b\\c", "a|ORDERS|shop",
        )),
        Option("replacement", (
            "fixed", "$0", "$1", "x-$1-y", "${1}9", "$10", "", r"\$1", "pre.$1.$1", "$2",
        ), {"regex": r"shop\.(.*)"}),
        Option("replacement", ("${table}.${schema}", "${absent}", "$3_$2_$1"),
               {"regex": r"(?<db>[^.]+)\.(?<schema>[^.]+)\.(?<table>[^.]+)"}),
    ),
    TOPICS,
    {"regex": r"shop\.public\.(.*)", "replacement": "routed.$0"},
)  # fmt: skip


def regex_router() -> Workload:
    """Kafka's RegexRouter."""
    more = [
        REGEX.case("change events", {"regex": r"([^.]+)\.([^.]+)\.([^.]+)",
                                     "replacement": "$1_$3"}, ROWS),
        REGEX.case("a group that the expression lacks", {"regex": "[a-z]+", "replacement": "$1"}),
        REGEX.case("a group that takes no part", {"regex": "(a)|(.*)", "replacement": "$1-$2"}),
        REGEX.case("no replacement", {"replacement": ABSENT}),
        REGEX.case("no regex", {"regex": ABSENT}),
    ]  # fmt: skip
    return workload("RegexRouter", [REGEX], more)


TIMESTAMP = Transform(
    f"{KAFKA}TimestampRouter",
    (
        Option("topic.format", (
            "${topic}-${timestamp}", "${timestamp}", "fixed", "${topic}", "a.${topic}.${topic}",
            "${timestamp}_${timestamp}_${other}", "",
        )),
        Option("timestamp.format", (
            "yyyyMMdd", "yyyy-MM-dd", "yyyy/MM", "HH", "yyyyMMddHHmmss.SSS", "D", "'week'ww", "EEE",
            "yyyy'T'", "wrong", "yy.M.d", "h:mm a", "MMM yyyy", "Z", "",
        )),
    ),
    ("topic_0", "topic_3", "topic_7", "instants_2", "small_nulls", "small", "one_text", "empty"),
)  # fmt: skip


def timestamp_router() -> Workload:
    """Kafka's TimestampRouter."""
    more = [TIMESTAMP.case("change events", {}, ROWS)]
    return workload("TimestampRouter", [TIMESTAMP], more)


SHARDS = ("pg_shard_1", "pg_shard_2", "pg_shard_delete", "pg_shard_tombstone", "pg_create",
          "pg_heartbeat", "pg_keyless")  # fmt: skip
TABLES = Transform(
    "io.debezium.transforms.ByLogicalTableRouter",
    (
        Option("topic.regex", (
            r"(.*)shard_\d\.(.*)", r"(.*)", r"shop\.(.*)", "nothing", r"(.*)\.(.*)\.(.*)", "(",
        )),
        Option("topic.replacement", ("all", "$1all_shards.$2", "", "$2", "with space $1", "$9")),
        Option("key.enforce.uniqueness", ("true", "false")),
        Option("key.field.name", ("__dbz__physicalTableIdentifier", "shard", "id", "1 a-b", "")),
        Option("key.field.regex", (r"(.*)\.(shard_\d)\.(.*)", "nothing", "(.*)"),
               {"key.field.replacement": "$2"}),
        Option("key.field.regex", ("",)),
        Option("key.field.replacement", ("$2", "fixed", "", "$1-$3"),
               {"key.field.regex": r"(.*)\.(shard_\d)\.(.*)"}),
        Option("schema.name.adjustment.mode", ("none", "avro", "avro_unicode"),
               {"topic.replacement": "1.a b-$2.ä", "key.field.name": "phys-table"}),
        Option("logical.table.cache.size", ("16", "1")),
    ),
    SHARDS,
    {"topic.regex": r"(.*)\.shard_\d\.(.*)", "topic.replacement": "$1.$2"},
)  # fmt: skip


def logical_tables() -> Workload:
    """Debezium's ByLogicalTableRouter."""
    more = [
        TABLES.case("no replacement for the key's expression",
                    {"key.field.regex": "(.*)", "key.field.replacement": ABSENT}),
        TABLES.case("no expression", {"topic.regex": ABSENT}),
        TABLES.case("no replacement", {"topic.replacement": ABSENT}),
        TABLES.case("every type and database", {"topic.regex": ".*", "topic.replacement": "all"},
                    ("pg_types", "pg_types_delete", "ora_create", "ora_number", "ora_tombstone",
                     "db2_update", "ora_create_table", "pg_message", "pg_truncate", "pg_end")),
        TABLES.case("every type and database, keys as they are",
                    {"topic.regex": ".*", "topic.replacement": "all",
                     "key.enforce.uniqueness": "false"},
                    ("pg_types", "ora_create", "db2_update", "ora_create_table")),
        TABLES.case("records that are no change events",
                    {"topic.regex": ".*", "topic.replacement": "all"},
                    ("small", "tombstone", "no_schema", "one_text", "empty", "small_keyless")),
    ]  # fmt: skip
    return workload("ByLogicalTableRouter", [TABLES], more)
