"""ExtractNewRecordState."""

from __future__ import annotations

from tests.golden.transforms.workloads.workload import (
    KAFKA,
    Configured,
    Option,
    Transform,
    Workload,
    chain,
    workload,
)

MODES = ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")
ROWS = ("pg_create", "pg_update_before", "pg_delete", "pg_tombstone", "ora_update", "db2_delete")
CHANGES = (
    "pg_create", "pg_read", "pg_update", "pg_update_before", "pg_delete", "pg_delete_full",
    "pg_delete_nothing", "pg_tombstone", "pg_truncate", "pg_keyless", "pg_types_nulls",
    "ora_create", "ora_read", "ora_update", "ora_delete", "ora_tombstone", "ora_truncate",
    "db2_create", "db2_update", "db2_delete", "db2_tombstone",
)  # fmt: skip
OTHERS = ("pg_heartbeat", "pg_begin", "pg_end", "pg_message", "ora_create_table", "small", "empty")
DROPPED = ("pg_drop_listed", "pg_drop_key", "pg_drop_delete", "pg_drop_delete_more",
           "pg_drop_delete_nothing", "pg_drop_delete_key", "pg_drop_wrong", "pg_create",
           "pg_tombstone")  # fmt: skip
NAMED = {"type": f"{KAFKA}SetSchemaMetadata$Value", "schema.name": "q.Envelope"}
NO_ENVELOPES = ("small", "small_nulls", "tombstone", "pg_heartbeat", "pg_begin", "field_inner")
MODE = "delete.tombstone.handling.mode"
ADDED = (
    "op",
    "op,table,lsn,source.ts_ms",
    "ts_ms,ts_us,ts_ns",
    "source.snapshot,source.db,source.schema,source.sequence",
    "scn,commit_scn,source.ssn,txSeq,source.user_name",
    "change_lsn,source.commit_lsn",
    "transaction.id,transaction.total_order,transaction.data_collection_order",
    "id,total_order,data_collection_order",
    "op:operation, source.table:from , ts_ms:at",
    "op : operation",
    "absent,source.absent",
    "foo.bar",
    "version,connector,name",
    "after",
    "source",
    "op:a:b",
    "",
)
ROUTE = ("pg_create", "pg_update", "pg_delete_full", "pg_tombstone", "ora_create", "db2_delete")

UNWRAP = Transform(
    "io.debezium.transforms.ExtractNewRecordState",
    (
        Option(MODE, (*MODES, "none"), records=(*CHANGES, *OTHERS)),
        Option("add.fields", ADDED, records=ROWS),
        Option("add.headers", ADDED, records=ROWS),
        Option("add.fields.prefix", ("", "__", "from."), {"add.fields": "op,source.table,db:base"}),
        Option("add.headers.prefix", ("", "__", "h-"), {"add.headers": "op,source.table,db:base"}),
        Option("route.by.field", ("name", "email", "FIRST_NAME", "id", "absent", ""),
               records=ROUTE),
        Option("drop.fields.header.name", ("dropped", "none"), records=DROPPED),
        Option("drop.fields.from.key", ("true", "false"), {"drop.fields.header.name": "dropped"},
               DROPPED),
        Option("drop.fields.keep.schema.compatible", ("true", "false"),
               {"drop.fields.header.name": "dropped", "drop.fields.from.key": "true"}, DROPPED),
        Option("replace.null.with.default", ("true", "false"), {MODE: "rewrite"},
               ("pg_update", "pg_types_nulls", "pg_types_update", "pg_delete", "ora_update")),
    ),
    ROWS,
)  # fmt: skip


def _more() -> list[Configured]:
    def without(image: str) -> dict[str, str]:
        return {"type": f"{KAFKA}ReplaceField$Value", "exclude": image}

    cases = [
        UNWRAP.case("every type", {MODE: mode}, ("pg_types", "pg_types_update", "pg_types_nulls",
                                                 "pg_types_delete", "pg_shard_1"))
        for mode in ("tombstone",)
    ]  # fmt: skip
    for mode in MODES:
        cases += [
            UNWRAP.case(f"{mode} with added fields and headers", {
                MODE: mode, "add.fields": "op,table,source.ts_ms,transaction.id",
                "add.headers": "op,db,ts_ms"}, (*ROWS, "pg_delete_full", "pg_truncate")),
            UNWRAP.case(f"{mode} with a route", {MODE: mode, "route.by.field": "name"}, ROUTE),
            UNWRAP.case(f"{mode} with dropped fields and a compatible schema", {
                MODE: mode, "drop.fields.header.name": "dropped", "add.fields": "op"}, DROPPED),
            UNWRAP.case(f"{mode} with fields dropped from the key, too", {
                MODE: mode, "drop.fields.header.name": "dropped",
                "drop.fields.from.key": "true"}, DROPPED),
            UNWRAP.case(f"{mode} with dropped fields", {
                MODE: mode, "drop.fields.header.name": "dropped",
                "drop.fields.keep.schema.compatible": "false", "add.fields": "op"}, DROPPED),
        ]  # fmt: skip
    defaulted = ("pg_types", "pg_types_nulls", "pg_types_delete")
    for mode in ("drop", "rewrite", "rewrite-with-tombstone"):
        cases += [
            UNWRAP.case(f"{mode} with a route by {column}, defaults {defaults}", {
                MODE: mode, "route.by.field": column, "replace.null.with.default": defaults},
                defaulted)
            for column, defaults in (("text", "true"), ("text", "false"), ("__deleted", "true"))
        ]  # fmt: skip
    for mode in MODES:
        step = {"type": UNWRAP.type, MODE: mode}
        cases.append(
            Configured(f"{mode}, no envelope but its name", chain(NAMED, step), NO_ENVELOPES)
        )
        cases += [
            Configured(f"{mode}, no image {image}", chain(without(image), step), ROWS)
            for image in ("before", "after", "op")
        ]
    cases += [
        UNWRAP.case("rewrite every type", {MODE: "rewrite"},
                    ("pg_types", "pg_types_nulls", "pg_types_delete")),
        UNWRAP.case("rewrite every type, nulls kept",
                    {MODE: "rewrite", "replace.null.with.default": "false"},
                    ("pg_types", "pg_types_nulls", "pg_types_delete")),
        UNWRAP.case("an added field of a column's name",
                    {"add.fields": "name,db", "add.fields.prefix": ""}),
        UNWRAP.case("an added header of a name that is there",
                    {MODE: "rewrite-with-tombstone", "add.headers": "op:dropped,op:kept",
                     "add.headers.prefix": ""}, (*ROWS, *DROPPED)),
        *(UNWRAP.case(f"zeros, {mode}", {MODE: mode},
                      ("zeros_to_minus", "minus_to_zeros", "minus_zeros"))
          for mode in ("drop", "rewrite")),
        UNWRAP.case("everything else", {"add.fields": "op", "add.headers": "op"}, OTHERS),
        UNWRAP.case("an old option", {"drop.tombstones": "false",
                                      "delete.handling.mode": "rewrite"}),
        UNWRAP.case("letters of a mode", {MODE: "Rewrite"}, ROWS[:3]),
    ]  # fmt: skip
    return cases


def unwrap() -> Workload:
    """ExtractNewRecordState over all that relational connectors emit."""
    return workload("ExtractNewRecordState", [UNWRAP], _more())
