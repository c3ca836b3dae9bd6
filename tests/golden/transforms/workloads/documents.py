"""ExtractNewDocumentState."""

from __future__ import annotations

from tests.golden.transforms.inputs.documents import ARRAYS, VALUES
from tests.golden.transforms.workloads.workload import (
    Configured,
    Option,
    Transform,
    Workload,
    workload,
)

MODE = "delete.tombstone.handling.mode"
MODES = ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")
PARTIAL = ("doc_partial", "doc_partial_paths", "doc_partial_removed", "doc_partial_only_removed",
           "doc_partial_empty", "doc_partial_truncated", "doc_partial_before",
           "doc_partial_values", "doc_partial_id")  # fmt: skip
DELETES = ("doc_delete", "doc_delete_id", "doc_delete_before", "doc_delete_before_nested",
           "doc_delete_before_no_id", "doc_vanished", "doc_tombstone",
           "doc_tombstone_id")  # fmt: skip
CHANGES = ("doc_create", "doc_read", "doc_small", "doc_update", "doc_update_before",
           "doc_replace")  # fmt: skip
OTHERS = ("doc_heartbeat", "doc_begin", "doc_end", "doc_old", "doc_wrong_text", "doc_no_key",
          "doc_text_key", "doc_row", "pg_create", "small", "empty")  # fmt: skip
NAMES = ("doc_dotted_names", "doc_empty_name", "doc_clashing_names", "doc_own_names", "doc_suffix",
         "doc_dotted_collection", "doc_only_id")  # fmt: skip
FEW = ("doc_create", "doc_small", "doc_update_before", "doc_partial", "doc_delete",
       "doc_delete_before", "doc_tombstone")  # fmt: skip
ADDED = (
    "op",
    "op,ts_ms,collection,source.db",
    "rs,collection",
    "ts_us,ts_ns",
    "source.ts_us,source.ts_ns,source.sequence",
    "source.snapshot,source.ord,source.lsid,source.txnNumber,source.wallTime",
    "transaction.id,transaction.total_order",
    "id,total_order,data_collection_order",
    "op:operation, source.collection:from , ts_ms:at",
    "op : operation",
    "version,connector,name",
    "updateDescription.updatedFields",
    "updateDescription.removedFields",
    "updateDescription.truncatedArrays",
    "updateDescription",
    "before",
    "after",
    "source",
    "absent",
    "foo.bar",
    "op:a:b",
    "",
)
ADJUSTMENTS = ("none", "avro", "avro_unicode")

DOCUMENTS = Transform(
    "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState",
    (
        Option(MODE, (*MODES, "none"), records=(*CHANGES, *PARTIAL, *DELETES)),
        Option(f"{MODE}.rewrite-with-id", ("true", "false"), {MODE: "rewrite"},
               (*DELETES, *PARTIAL, "doc_small")),
        Option("add.fields", ADDED, records=FEW),
        Option("add.headers", ADDED, records=FEW),
        Option("add.fields.prefix", ("", "__", "from."), {"add.fields": "op,source.db,ord:n"}),
        Option("add.headers.prefix", ("", "__", "h-"), {"add.headers": "op,source.db,ord:n"}),
        Option("array.encoding", ("array", "document", "wrong"),
               records=("doc_create", "doc_small", "doc_partial_values", "array_documents")),
        Option("flatten.struct", ("true", "false"),
               records=("doc_create", "doc_partial_paths", "bson_nested_document_field",
                        *NAMES, "doc_delete_before_nested")),
        Option("flatten.struct.delimiter", ("_", ".", "", "__"), {"flatten.struct": "true"},
               ("doc_create", "doc_partial_paths", "doc_clashing_names")),
        Option("field.name.adjustment.mode", ADJUSTMENTS,
               records=(*NAMES, "doc_create", "doc_partial_paths", "bson_reference_field",
                        "bson_empty_array_field")),
        Option("route.by.field", ("name", ""), records=FEW),
    ),
    FEW,
)  # fmt: skip
PLACES = ("field", "element", "inside", "id")


def _types() -> list[Configured]:
    cases = []
    for name in VALUES:
        records = tuple(f"bson_{name}_{place}" for place in PLACES)
        cases += [
            DOCUMENTS.case(f"the type {name}", {}, records),
            DOCUMENTS.case(f"the type {name}, arrays as documents",
                           {"array.encoding": "document"}, records[1:3]),
            DOCUMENTS.case(f"the type {name}, flattened, names for Avro",
                           {"flatten.struct": "true", "field.name.adjustment.mode": "avro"},
                           (records[0], records[3])),
        ]  # fmt: skip
    for name in ARRAYS:
        records = (f"array_{name}", f"array_{name}_inside")
        cases += [
            DOCUMENTS.case(f"an array of {name}", {}, records),
            DOCUMENTS.case(f"an array of {name} as document", {"array.encoding": "document"},
                           records),
        ]  # fmt: skip
    return cases


def _combined() -> list[Configured]:
    cases = []
    records = (*DELETES, "doc_small", "doc_update_before", "doc_partial")
    for mode in MODES:
        cases += [
            DOCUMENTS.case(f"{mode} with id", {MODE: mode, f"{MODE}.rewrite-with-id": "true"},
                           records),
            DOCUMENTS.case(f"{mode} with added fields and headers",
                           {MODE: mode, "add.fields": "op,collection,source.ts_ms",
                            "add.headers": "op,ts_ms,transaction.id"}, records),
            DOCUMENTS.case(f"{mode}, flattened",
                           {MODE: mode, "flatten.struct": "true", "add.fields": "op"}, records),
            DOCUMENTS.case(f"{mode}, other records", {MODE: mode, "add.headers": "op"}, OTHERS),
        ]  # fmt: skip
    arrays = ("doc_create", "array_documents", "array_arrays", "array_strings_inside",
              "bson_empty_array_field", "bson_empty_document_field")  # fmt: skip
    for encoding in ("array", "document"):
        for adjustment in ADJUSTMENTS:
            cases += [
                DOCUMENTS.case(
                    f"{encoding}, {adjustment}, {'flattened' if flat == 'true' else 'nested'}",
                    {"array.encoding": encoding, "field.name.adjustment.mode": adjustment,
                     "flatten.struct": flat}, (*arrays, "doc_dotted_names"))
                for flat in ("true", "false")
            ]  # fmt: skip
    empty = ("doc_empty", "doc_delete_before_empty")
    same = tuple(f"doc_one_name_in_avro{of}" for of in ("", "_before", "_partial", "_elements"))
    cases += [
        DOCUMENTS.case(f"empty documents, {mode}{suffix}", {MODE: mode, **added}, empty)
        for mode in MODES
        for suffix, added in (
            ("", {}),
            (", with more", {"add.fields": "op", "add.headers": "op", "flatten.struct": "true"}),
        )
    ]
    cases += [
        DOCUMENTS.case(f"names that are one in Avro, {adjustment}, {encoding}",
                       {"field.name.adjustment.mode": adjustment, "array.encoding": encoding,
                        MODE: "rewrite"}, same)
        for adjustment in ADJUSTMENTS
        for encoding in ("array", "document")
    ]  # fmt: skip
    cases += [
        DOCUMENTS.case("old options", {"drop.tombstones": "false", "operation.header": "true",
                                       "delete.handling.mode": "rewrite",
                                       "add.source.fields": "db", "sanitize.field.names": "true"}),
        DOCUMENTS.case("an added field of a document's name",
                       {"add.fields": "op:name", "add.fields.prefix": ""}),
        DOCUMENTS.case("own names", {"add.fields": "op", MODE: "rewrite"}, NAMES),
        DOCUMENTS.case("partial updates with added fields",
                       {"add.fields": "op,updateDescription.updatedFields,"
                                      "updateDescription.removedFields"}, PARTIAL),
        DOCUMENTS.case("partial updates, flattened",
                       {"flatten.struct": "true", "flatten.struct.delimiter": "-"}, PARTIAL),
        DOCUMENTS.case("partial updates, names for Avro",
                       {"field.name.adjustment.mode": "avro"}, PARTIAL),
        DOCUMENTS.case("partial updates, arrays as documents",
                       {"array.encoding": "document"}, PARTIAL),
    ]  # fmt: skip
    return cases


def documents() -> Workload:
    """ExtractNewDocumentState over every BSON type and every option."""
    return workload("ExtractNewDocumentState", [DOCUMENTS], [*_combined(), *_types()])
