"""Debezium's transforms of columns of some types, and of what their schema says of them."""

from __future__ import annotations

from tests.golden.transforms.inputs.typed_rows import GEOMETRIES
from tests.golden.transforms.workloads.workload import Option, Transform, Workload, workload

OTHERS = ("small", "small_nulls", "tombstone", "null_with_schema", "no_schema", "one_text", "empty",
          "pg_heartbeat", "pg_begin", "pg_message", "ora_create_table", "doc_create")  # fmt: skip
TYPES = ("pg_types", "pg_types_update", "pg_types_nulls", "pg_types_delete")
CHANGES = ("pg_create", "pg_update", "pg_delete_full", "pg_truncate", "pg_tombstone", "ora_update",
           "db2_delete")  # fmt: skip
VECTORS = ("vector_create", "vector_update", "vector_delete", "vector_tombstone", "vector_row",
           "vector_null")  # fmt: skip
PLACES = ("place_nothing", "place_no_srid", "place_other_srid", "place_default_srid",
          "place_everywhere", "place_delete", "place_tombstone", "place_geography",
          "place_row", "place_itself")  # fmt: skip
TYPED = ("typed_create", "typed_update", "typed_delete", "typed_truncate", "typed_tombstone",
         "typed_oracle")  # fmt: skip
UNWRAPPED = {"type": "io.debezium.transforms.ExtractNewRecordState"}


def vectors() -> Workload:
    """VectorToJsonConverter."""
    transform = Transform("io.debezium.transforms.VectorToJsonConverter", (), VECTORS)
    more = [
        *(transform.case(name, {}, (name,)) for name in VECTORS),
        transform.case("other records", {}, OTHERS),
        transform.case("every type", {}, TYPES),
        transform.case("change events", {}, CHANGES),
    ]
    return workload("VectorToJsonConverter", [transform], more)


def geometries() -> Workload:
    """SwapGeometryCoordinates."""
    transform = Transform(
        "io.debezium.transforms.SwapGeometryCoordinates",
        (
            Option("srids", ("4326", "3857,25832", " 4326 , 3857 ", "", "x", "4326,", "-1",
                             "4326,4326")),
        ),
        PLACES,
    )  # fmt: skip
    more = [
        transform.case("every geometry", {}, tuple(f"geometry_{name}" for name in GEOMETRIES)),
        transform.case("other records", {}, OTHERS),
        transform.case("every type", {}, TYPES),
        transform.case("change events", {}, CHANGES),
        transform.case("nulls in maps", {}, ("place_null_in_map", "place_null_geometry_in_map")),
    ]
    return workload("SwapGeometryCoordinates", [transform], more)


def source_schemas() -> Workload:
    """ExtractSchemaToNewRecord."""
    mode = "schema.name.adjustment.mode"
    transform = Transform(
        "io.debezium.transforms.ExtractSchemaToNewRecord",
        (Option(mode, ("none", "avro", "avro_unicode", "AVRO", "wrong", "")),),
        TYPED,
    )
    more = [
        transform.case("other records", {}, OTHERS),
        transform.case("columns that say nothing", {}, (*CHANGES, *TYPES)),
        transform.case("columns that say too little", {},
                       ("typed_half", "typed_no_name", "typed_wrong_length")),
    ]  # fmt: skip
    return workload("ExtractSchemaToNewRecord", [transform], more)
