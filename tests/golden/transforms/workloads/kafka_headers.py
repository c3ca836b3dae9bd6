"""DropHeaders, InsertHeader, HeaderFrom and Filter of Kafka Connect."""

from __future__ import annotations

from tests.golden.transforms.workloads.workload import (
    ABSENT,
    KAFKA,
    Configured,
    Option,
    Transform,
    Workload,
    chain,
    key_and_value,
    workload,
)

BOTH = ("true", "false")
HEADED = ("small", "small_nulls", "small_other", "tombstone", "null_with_schema", "no_schema",
          "pg_read", "pg_tombstone", "empty")  # fmt: skip
PLAIN = ("small", "small_nulls", "small_other", "tombstone", "null_with_schema")


def drop_headers() -> Workload:
    """DropHeaders: by name."""
    dropped = Transform(
        f"{KAFKA}DropHeaders",
        (Option("headers", ("trace", "number", "trace,none,place", "absent", "Trace", "kept",
                            "__debezium.context.taskId", "")),),
        HEADED,
        {"headers": "trace"},
    )  # fmt: skip
    return workload("DropHeaders", [dropped], [dropped.case("no names", {"headers": ABSENT})])


def insert_header() -> Workload:
    """InsertHeader: a literal, whose type it says itself."""
    literals = ("text", "1", "300", "70000", "5000000000", "99999999999999999999", "1.5", "1e400",
                "-7", "true", "false", "null", "", " 3 ", "2023-11-14", "2023-11-14T22:13:20.123Z",
                "22:13:20.123Z", '"quoted"', "[1,2,3]", '["a","b"]', "[]", '{"a":1}', "{}",
                '{"a":[1]}', "[1,\"a\"]", "[1,", "ä€😀", "0x10", "1,2", "[1.5,2]", "[1,300]",
                "\\", 'say "x"', "NaN", "TRUE", "[1,null]", '{"a":1,"b":null}', '{"a":[1,null]}',
                '["a",null]', "1e30", "3.4028236e38", "-1e39", "1.5e400", "2024-02-30",
                '[1,"a",true]', "[null]", "[[1],[2]]", '[[1],["a"]]', "[[],[]]",
                "[[]]", '[{"a":1}]', "[1.5,true]", "[1,70000]", "[9223372036854775807,1]", " [ ] ",
                '["2024-01-01","a"]', "[2024-01-01,1]", '[1,"a",null]', "[,]", "[1 2]",
                "[a,b]")  # fmt: skip
    inserted = Transform(
        f"{KAFKA}InsertHeader",
        (
            Option("header", ("added", "trace", "", "a.b")),
            Option("value.literal", literals, records=("small_nulls", "tombstone")),
        ),
        HEADED,
        {"header": "added", "value.literal": "text"},
    )
    more = [
        inserted.case("no name", {"header": ABSENT}),
        inserted.case("no literal", {"value.literal": ABSENT}),
    ]
    return workload("InsertHeader", [inserted], more)


def header_from() -> Workload:
    """HeaderFrom: fields copied or moved to headers."""
    options = (
        Option("fields", ("id", "id,n", "absent", "id,name", "secret,name")),
        Option("headers", ("h", "trace", "h,i", "")),
        Option("operation", ("move", "copy", "MOVE", "drop")),
        Option("replace.null.with.default", BOTH, {"fields": "name", "operation": "move"},
               ("small_nulls", "small", "every_nulls")),
    )  # fmt: skip
    required = {"fields": "id", "headers": "h", "operation": "copy"}
    key, value = key_and_value("HeaderFrom", options, PLAIN, required)
    more: list[Configured] = []
    for side in (key, value):
        for operation in ("move", "copy"):
            more += [
                side.case(f"{operation} two", {"fields": "id,name", "headers": "a,b",
                                               "operation": operation}, (*PLAIN, "small_keyless")),
                side.case(f"{operation} without schema", {"fields": "id,none", "headers": "a,b",
                                                          "operation": operation}, ("no_schema",)),
                side.case(f"{operation} of change events", {"fields": "op", "headers": "op",
                                                            "operation": operation},
                          ("pg_create", "pg_delete", "pg_tombstone", "ora_update", "db2_read")),
                side.case(f"{operation} of nulls, kept",
                          {"fields": "name", "operation": operation,
                           "replace.null.with.default": "false"}, ("small_nulls", "every_nulls")),
            ]  # fmt: skip
        more += [
            side.case("no operation", {"operation": ABSENT}),
            side.case("every type", {"fields": "i8,price,at,inner,list,map,o_f64,d_text",
                                     "headers": "a,b,c,d,e,f,g,h", "operation": "move"},
                      ("every", "every_nulls")),
            side.case("single values", {}, ("one_text", "empty")),
        ]  # fmt: skip
    return workload("HeaderFrom", [key, value], more)


def kafka_filter() -> Workload:
    """Filter: drops all, or what a predicate matches."""
    records = ("small", "small_other", "tombstone", "pg_create", "pg_tombstone", "ora_create",
               "db2_tombstone", "pg_heartbeat", "empty", "no_schema")  # fmt: skip
    dropped = Transform(f"{KAFKA}Filter", (), records)
    predicates = {
        "orders": {"type": f"{KAFKA}predicates.TopicNameMatches", "pattern": r"shop\..*"},
        "headed": {"type": f"{KAFKA}predicates.HasHeaderKey", "name": "trace"},
        "gone": {"type": f"{KAFKA}predicates.RecordIsTombstone"},
    }
    more = [
        Configured(f"{name}, negate={negate}",
                   chain({"type": dropped.type, "predicate": name, **(
                       {} if negate == "absent" else {"negate": negate})}, **{name: predicate}),
                   records)
        for name, predicate in predicates.items()
        for negate in ("true", "false", "absent")
    ]  # fmt: skip
    return workload("KafkaFilter", [dropped], more)
