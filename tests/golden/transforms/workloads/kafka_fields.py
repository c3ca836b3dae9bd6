"""InsertField, ReplaceField and MaskField of Kafka Connect."""

from __future__ import annotations

from tests.golden.transforms.workloads.workload import (
    ABSENT,
    Option,
    Workload,
    key_and_value,
    workload,
)

PLAIN = ("small", "small_nulls", "small_other", "tombstone", "null_with_schema")
NO_SCHEMA = ("no_schema", "no_schema_text")
ROWS = ("pg_create", "pg_update", "pg_delete", "pg_tombstone", "ora_create", "db2_update",
        "pg_heartbeat")  # fmt: skip
BOTH = ("true", "false")


def insert_field() -> Workload:
    """InsertField: topic, partition, timestamp and a static value."""
    named = ("{}", "{}!", "{}?")

    def names(name: str) -> tuple[str, ...]:
        return tuple(form.format(name) for form in named)

    options = (
        Option("topic.field", names("topic")),
        Option("partition.field", names("partition")),
        Option("offset.field", names("offset")),
        Option("timestamp.field", names("at")),
        Option("static.field", names("fixed"), {"static.value": "here"}),
        Option("static.value", ("text", "1", "", " x ", "ä€😀"), {"static.field": "fixed"}),
        Option("replace.null.with.default", BOTH, {"topic.field": "topic"},
               ("small_nulls", "every_nulls", "pg_update", "pg_types_nulls")),
    )  # fmt: skip
    key, value = key_and_value("InsertField", options, PLAIN, {})
    more = []
    for side in (key, value):
        more += [
            side.case("everything", {"topic.field": "t", "partition.field": "p",
                                     "timestamp.field": "ts!", "static.field": "s?",
                                     "static.value": "v"}, (*PLAIN, "small_keyless", "every")),
            side.case("a static field without a value", {"static.field": "s"}),
            side.case("no name but required", {"topic.field": "!"}, PLAIN),
            side.case("no name", {"topic.field": "?"}, PLAIN),
            side.case("a name that is there", {"topic.field": "id"}),
            side.case("one name twice", {"topic.field": "x", "static.field": "x",
                                         "static.value": "v"}),
            side.case("no schema", {"topic.field": "t", "timestamp.field": "ts",
                                    "static.field": "s", "static.value": "v"}, NO_SCHEMA),
            side.case("single values", {"topic.field": "t"}, ("one_text", "one_list", "empty")),
            side.case("change events", {"topic.field": "t", "static.field": "s",
                                        "static.value": "v"}, ROWS),
        ]  # fmt: skip
    return workload("InsertField", [key, value], more)


def replace_field() -> Workload:
    """ReplaceField: left out, kept and renamed fields."""
    options = (
        Option("exclude", ("id", "secret,n", "absent", "id,name,n,secret", "id,part")),
        Option("include", ("id", "secret,n", "absent", "n,id,part", "")),
        Option("renames", ("id:key", "n:m,name:title", "absent:x", "id:n", "n:id", "id", "id:",
                           "a:b:c", "id:part,part:id", "")),
        Option("replace.null.with.default", BOTH, {"exclude": "absent"},
               ("small_nulls", "every_nulls", "pg_update", "pg_types_nulls")),
    )  # fmt: skip
    key, value = key_and_value("ReplaceField", options, PLAIN, {})
    more = []
    for side in (key, value):
        more += [
            side.case("excluded and included", {"exclude": "n", "include": "n,id"}),
            side.case("included and renamed", {"include": "id,n", "renames": "id:key,secret:s"}),
            side.case("excluded and renamed", {"exclude": "id", "renames": "id:key,n:id"}),
            side.case("no schema", {"exclude": "n,inner", "renames": "id:key"}, NO_SCHEMA),
            side.case("no schema, included", {"include": "id,none"}, NO_SCHEMA),
            side.case("single values", {"exclude": "id"}, ("one_text", "one_list", "empty")),
            side.case("change events", {"exclude": "before,transaction,ID",
                                        "renames": "after:row,id:pk"}, ROWS),
            side.case("a former option", {"blacklist": "name"}),
            side.case("the other former option", {"whitelist": "id"}),
            side.case("a former option beside its successor",
                      {"blacklist": "name", "exclude": "n"}),
            side.case("every type", {"renames": "i8:a,inner:b,o_rows:c,d_at:d"},
                      ("every", "every_nulls")),
        ]  # fmt: skip
    return workload("ReplaceField", [key, value], more)


def mask_field() -> Workload:
    """MaskField: fields made empty or replaced."""
    options = (
        Option("fields", ("secret", "id", "id,name,n,secret,part", "absent")),
        Option("replacement", ("***", "0", "12", "-1.5", "text", "")),
        Option("replace.null.with.default", BOTH, {},
               ("small_nulls", "every_nulls", "pg_update", "pg_types_nulls")),
    )  # fmt: skip
    key, value = key_and_value("MaskField", options, PLAIN, {"fields": "id"})
    every = ("i8", "i16", "i32", "i64", "f32", "f64", "flag", "text", "bytes", "price", "date",
             "time", "at", "inner", "list", "rows", "map", "pairs")  # fmt: skip
    fields = tuple(f"field_{name}{side}" for name in every for side in ("", "_2"))
    more = [
        value.case(
            f"every type: {name}, {replacement_name}", {"fields": name, **replacement}, fields
        )
        for name in ("v", "o")
        for replacement_name, replacement in (
            ("empty", {}),
            ("7", {"replacement": "7"}),
            ("text", {"replacement": "text"}),
            ("300", {"replacement": "300"}),
            ("-1.5", {"replacement": "-1.5"}),
        )
    ]
    for side in (key, value):
        more += [
            side.case("no fields", {"fields": ABSENT}),
            side.case("no schema", {"fields": "id,name,price,ok,none,inner"}, NO_SCHEMA),
            side.case("no schema, replaced", {"fields": "id,name", "replacement": "1"}, NO_SCHEMA),
            side.case("single values", {}, ("one_text", "empty")),
            side.case("change events", {"fields": "op,after,ts_ms"}, ROWS),
        ]
    more.append(value.case("defaults", {"fields": "d_i32,d_text,d_flag,d_f64,d_required"},
                           ("every", "every_nulls")))  # fmt: skip
    return workload("MaskField", [key, value], more)
