"""Flatten, ExtractField, HoistField, ValueToKey and SetSchemaMetadata of Kafka Connect."""

from __future__ import annotations

from tests.golden.transforms.workloads.workload import (
    ABSENT,
    KAFKA,
    Option,
    Transform,
    Workload,
    key_and_value,
    workload,
)

BOTH = ("true", "false")
PLAIN = ("small", "small_nulls", "small_other", "tombstone", "null_with_schema")
NO_SCHEMA = ("no_schema", "no_schema_text")
ROWS = ("pg_create", "pg_update_before", "pg_delete", "pg_tombstone", "ora_create", "db2_update",
        "pg_heartbeat")  # fmt: skip
NESTED = ("nested", "nested_null", "unmapped", "unmapped_nulls", "every", "tombstone")


def flatten() -> Workload:
    """Flatten: structs inside of structs, and what stays."""
    options = (Option("delimiter", (".", "_", "", "__", "-", " ", " _ "), records=NESTED),)
    key, value = key_and_value("Flatten", options, NESTED, {})
    more = []
    for side in (key, value):
        more += [
            side.case("no schema", {}, NO_SCHEMA),
            side.case("no schema and no arrays", {"delimiter": "_"}, ("no_schema_map",)),
            side.case("single values", {}, ("one_text", "one_map", "empty", "null_with_schema")),
            side.case("change events", {"delimiter": "_"}, ROWS),
            side.case("every type of a row", {}, ("pg_types", "pg_types_delete")),
            side.case("a name that occurs twice", {"delimiter": "."}, ("clash",)),
        ]
    return workload("Flatten", [key, value], more)


def extract_field() -> Workload:
    """ExtractField: a field, or a path to one."""
    options = (
        Option("field", ("id", "name", "absent", "a", "b.c", "n", "")),
        Option("replace.null.with.default", BOTH, {"field": "name"}, ("small_nulls", "small")),
        Option("field.syntax.version", ("V1", "V2", "v2", "V3"), {"field": "a.x"}, NESTED),
    )
    key, value = key_and_value("ExtractField", options, (*PLAIN, "nested"), {"field": "id"})
    paths = ("a.deep.z", "`b.c`", "id.part", "a.absent.z", "l.x", "inner.deep.z", "o_inner.y",
             "`a.x", "a..x")  # fmt: skip
    more = []
    for side in (key, value):
        more += [
            side.case("no field", {"field": ABSENT}),
            side.case("no schema", {"field": "id"}, NO_SCHEMA),
            side.case("no schema, a path", {"field": "inner.x", "field.syntax.version": "V2"},
                      NO_SCHEMA),
            side.case("single values", {"field": "x"}, ("one_text", "one_map", "empty")),
            side.case("change events", {"field": "after"}, ROWS),
            side.case("change events, the key", {"field": "ID"}, ROWS),
            *(side.case(f"the path {path}", {"field": path, "field.syntax.version": "V2"}, NESTED)
              for path in paths),
        ]  # fmt: skip
    more += [
        value.case(f"the field {name}", {"field": name}, ("every", "every_nulls"))
        for name in ("o_i8", "o_f32", "bytes", "o_price", "date", "at", "inner", "o_inner", "list",
                     "o_rows", "map", "pairs", "d_i32", "d_text", "d_at")
    ]  # fmt: skip
    return workload("ExtractField", [key, value], more)


def hoist_field() -> Workload:
    """HoistField: everything under one name."""
    options = (Option("field", ("wrapped", "id", "a.b", "")),)
    key, value = key_and_value("HoistField", options, PLAIN, {"field": "wrapped"})
    more = []
    for side in (key, value):
        more += [
            side.case("no field", {"field": ABSENT}),
            side.case("no schema", {}, NO_SCHEMA),
            side.case("single values", {},
                      ("one_i8", "one_text", "one_price", "one_at", "one_map", "one_null")),
            side.case("change events", {"field": "event"}, ROWS),
            side.case("every type", {}, ("every", "every_nulls")),
        ]  # fmt: skip
    return workload("HoistField", [key, value], more)


def value_to_key() -> Workload:
    """ValueToKey: fields of the value as key."""
    copied = Transform(
        f"{KAFKA}ValueToKey",
        (
            Option("fields", ("id", "n,id", "name", "absent", "id,absent", "secret,name,n,id",
                              "id,id")),
            Option("replace.null.with.default", BOTH, {"fields": "name,id"},
                   ("small_nulls", "small")),
        ),
        (*PLAIN, "small_keyless"),
        {"fields": "id"},
    )  # fmt: skip
    more = [
        copied.case("no fields", {"fields": ABSENT}),
        copied.case("no schema", {"fields": "id,none,absent"}, NO_SCHEMA),
        copied.case("single values", {}, ("one_text", "empty")),
        copied.case("change events", {"fields": "op"}, ROWS),
        copied.case("whole structs", {"fields": "after,source"}, ROWS),
        copied.case("every type", {"fields": "i8,f32,price,at,inner,list,map,o_text,d_text,d_at"},
                    ("every", "every_nulls")),
    ]  # fmt: skip
    return workload("ValueToKey", [copied], more)


def set_schema_metadata() -> Workload:
    """SetSchemaMetadata: the schema's name and version."""
    options = (
        Option("schema.name", ("renamed", "a.b.C", "", "ä b")),
        Option("schema.version", ("1", "7", "-1", "0", "x", "")),
        Option(
            "replace.null.with.default",
            BOTH,
            {"schema.name": "renamed"},
            ("small_nulls", "every_nulls", "small"),
        ),
    )
    key, value = key_and_value("SetSchemaMetadata", options, PLAIN, {})
    more = []
    for side in (key, value):
        more += [
            side.case("both", {"schema.name": "renamed", "schema.version": "2"}),
            side.case("no schema", {"schema.name": "renamed"}, NO_SCHEMA),
            side.case("single values", {"schema.name": "renamed", "schema.version": "3"},
                      ("one_i8", "one_text", "one_at", "one_map", "one_list", "one_null", "empty")),
            side.case("change events", {"schema.name": "event", "schema.version": "5"}, ROWS),
            side.case("every type", {"schema.name": "renamed"}, ("every", "every_nulls")),
        ]  # fmt: skip
    return workload("SetSchemaMetadata", [key, value], more)
