"""Cast and TimestampConverter of Kafka Connect."""

from __future__ import annotations

from tests.golden.transforms.workloads.workload import (
    ABSENT,
    Configured,
    Option,
    Transform,
    Workload,
    key_and_value,
    workload,
)

BOTH = ("true", "false")
TYPES = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")
LOGICAL = ("bytes", "date", "time", "timestamp", "decimal", "struct", "INT32", "integer", "")
ONE = ("one_i8", "one_i16", "one_i32", "one_i64", "one_f32", "one_f64", "one_flag", "one_text",
       "one_number_text", "one_bytes", "one_price", "one_date", "one_time", "one_at", "one_list",
       "one_map", "one_null", "tombstone")  # fmt: skip
KEYED = ("pg_create", "pg_types", "pg_tombstone", "pg_keyless", "ora_create", "ora_number",
         "db2_update", "db2_tombstone")  # fmt: skip
FIELDS = tuple(
    f"field_{name}{side}"
    for name in ("i8", "i16", "i32", "i64", "f32", "f64", "flag", "text", "bytes", "price", "date",
                 "time", "at", "inner", "list")
    for side in ("", "_2")
)  # fmt: skip


def cast() -> Workload:
    """Cast: single values and fields, from and to every type."""
    options = (
        Option("spec", (*TYPES, *LOGICAL), records=ONE),
        Option("spec", ("id:string", "n:int64,id:float32", "name:boolean", "secret:int32",
                        "absent:string", "id:string,n", "id:", "id:int32:int64", "n:int8,part:int8",
                        " id : string "),
               records=("small", "small_nulls", "tombstone", "null_with_schema")),
        Option("replace.null.with.default", BOTH, {"spec": "id:string,whole:string,flag:string"},
               ("small_nulls", "every_nulls", "pg_types_nulls")),
    )  # fmt: skip
    key, value = key_and_value("Cast", options, ONE, {"spec": "string"})
    more: list[Configured] = []
    defaulted = ("d_i32", "d_flag", "d_f64")
    for target in TYPES:
        more += [
            value.case(f"{kind} fields to {target}", {"spec": f"{name}:{target}"}, FIELDS)
            for name, kind in (("v", "required"), ("o", "optional"))
        ]
        more.append(value.case(f"fields with defaults to {target}",
                               {"spec": ",".join(f"{name}:{target}" for name in defaulted)},
                               ("every_nulls",)))  # fmt: skip
        more.append(value.case(f"no schema to {target}",
                               {"spec": f"id:{target},price:{target},ok:{target},none:{target}"},
                               ("no_schema",)))  # fmt: skip
    more += [
        value.case("no schema and no such field", {"spec": "id:string,absent:int32"},
                   ("no_schema", "small")),
        key.case("no specification", {"spec": ABSENT}),
        key.case("keys of change events", {"spec": "id:string,ID:int64"}, KEYED),
        key.case("keys of change events, whole", {}, KEYED),
        value.case("change events", {"spec": "op:string,ts_ms:string"},
                   ("pg_create", "pg_delete", "pg_tombstone", "ora_create", "db2_update")),
        value.case("no schema, a single value", {"spec": "string"}, ("no_schema_text",)),
    ]  # fmt: skip
    return workload("Cast", [key, value], more)


FORMATS = ("yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", "yyyyMMdd", "dd.MM.yy",
           "EEE, d MMM yyyy HH:mm:ss Z", "hh:mm a", "nonsense", "yyyy-MM-dd HH:mm:ssX",
           "yyyy-DDD", "S")  # fmt: skip
PRECISIONS = ("seconds", "milliseconds", "microseconds", "nanoseconds", "days")
TARGETS = ("string", "unix", "Date", "Time", "Timestamp", "date")
INSTANTS = ("instants", "instants_2", "tombstone")
FORMAT = FORMATS[0]
OLD_YEARS = tuple(f"old_year_{number}" for number in range(10))
OLD_DAYS = tuple(f"old_day_{number}" for number in range(11))
OLD_INSTANTS = tuple(f"old_instant_{number}" for number in range(8))
YEARS = tuple(f"year_{number}" for number in range(7))


def timestamp_converter() -> Workload:
    """TimestampConverter: each form of a time to each other."""
    options = (
        Option("field", ("", "at", "absent", "unix")),
        Option("target.type", TARGETS, {"format": FORMAT}),
        Option("format", FORMATS, {"target.type": "string"}),
        Option("unix.precision", PRECISIONS, {"target.type": "unix"}),
        Option("replace.null.with.default", BOTH, {"field": "d_at"}),
    )
    required = {"target.type": "unix", "field": "at"}
    key, value = key_and_value("TimestampConverter", options, INSTANTS, required)
    more: list[Configured] = _each_to_each(value)
    for side in (key, value):
        more += [
            side.case("no target", {"target.type": ABSENT}),
            side.case("a text without format", {"target.type": "string"}),
            *(
                side.case(f"single values to {target}",
                          {"target.type": target, "format": FORMAT, "field": ABSENT},
                          ("one_i64", "one_text", "one_date", "one_time", "one_at", "one_null_at",
                           "one_flag", "tombstone"))
                for target in TARGETS
            ),
        ]  # fmt: skip
    more += [
        value.case(f"texts of {form}", {"target.type": "Timestamp", "field": "text",
                                        "format": form})
        for form in FORMATS
    ]  # fmt: skip
    more += [
        value.case(f"years of {form}", {"target.type": "Timestamp", "field": "text",
                                        "format": form}, YEARS)
        for form in ("dd/MM/yy", "dd/MM/yyyy", "d/M/y", "d/M/yyy", "dd/MM/yyyyy")
    ]  # fmt: skip
    more += [
        value.case(
            f"old dates of {form} to {target}",
            {"target.type": target, "field": "text", "format": form},
            records,
        )
        for form, records in (("yyyy", OLD_YEARS), ("yyyy-MM-dd", OLD_DAYS))
        for target in ("Timestamp", "Date", "unix", "string")
    ]
    more += [
        value.case(
            f"old instants of {form}",
            {"target.type": "string", "field": "unix", "format": form},
            OLD_INSTANTS,
        )
        for form in (
            "yyyy-MM-dd HH:mm:ss",
            "yyyy",
            "dd.MM.yy",
            "EEE, d MMM yyyy HH:mm:ss Z",
            "yyyy-DDD",
            "G yyyy",
            "YYYY-'W'ww",
        )
    ]
    more += [
        value.case("a struct that is null", {"field": "id", "target.type": "Timestamp"},
                   ("null_with_schema", "small", "tombstone")),
        value.case("no schema", {"field": "id"}, ("no_schema",)),
        value.case("no schema to a text", {"field": "id", "target.type": "string",
                                           "format": FORMAT}, ("no_schema",)),
        *(
            key.case(f"keys of change events, {field} to {target}",
                     {"field": field, "target.type": target, "format": FORMAT}, KEYED)
            for field in ("id", "ID", "absent")
            for target in ("Timestamp", "string")
        ),
        value.case("change events", {"field": "ts_ms", "target.type": "Timestamp"},
                   ("pg_create", "ora_delete", "db2_update", "pg_tombstone")),
    ]  # fmt: skip
    return workload("TimestampConverter", [key, value], more)


def _each_to_each(value: Transform) -> list[Configured]:
    cases = []
    fields = ("unix", "o_unix", "text", "o_text", "date", "time", "at", "o_at", "d_at", "flag")
    for field in fields:
        cases += [
            value.case(f"{field} to {target}",
                       {"field": field, "target.type": target, "format": FORMAT})
            for target in TARGETS[:5]
        ]  # fmt: skip
    for precision in PRECISIONS[:4]:
        cases += [
            value.case(f"{precision} of {field} to {target}",
                       {"field": field, "target.type": target, "unix.precision": precision,
                        "format": FORMAT})
            for field in ("unix", "at")
            for target in ("unix", "Timestamp", "string")
        ]  # fmt: skip
    return cases
