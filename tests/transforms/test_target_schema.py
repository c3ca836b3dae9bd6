"""ExtractNewDocumentState with a declared schema: every record has it, and values are exact or a
conflict."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connect.json_records import read_records
from headrace.connect.json_values import load_schema, load_value
from headrace.connect.rows import Sequences
from headrace.converters.avro.schemas import AvroOptions
from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions
from headrace.converters.rows import SliceConverter
from headrace.documents.bson import DOCUMENT
from headrace.documents.target_schema.ddl import declared
from headrace.errors import HeadraceError
from headrace.transforms import apply_json
from headrace.transforms.json_form import read_chain
from tests.converters.registry_double import numbered_avro
from tests.documents.plain_bson import encode
from tests.documents.target_schema.plain_conversion import PlainConversion
from tests.golden.transforms.inputs.documents import ITEMS

TYPE = "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState"
SCHEMA = (
    "_id BIGINT, n INT, total DECIMAL(10,2), text STRING, at TIMESTAMP, inner STRUCT<b: DOUBLE, "
    "c: STRING>, lines ARRAY<STRUCT<x: DOUBLE, tags: ARRAY<STRING>>>, map MAP<STRING, INT>"
)
MODE = "delete.tombstone.handling.mode"
NUMBERS = st.one_of(
    st.integers(-(2**31), 2**31 - 1), st.integers(-400, 400).map(lambda n: n / 4), st.just("text")
)
LINES = st.lists(
    st.one_of(
        st.none(),
        st.fixed_dictionaries({}, optional={"x": NUMBERS, "tags": st.lists(st.text(max_size=3))}),
    ),
    max_size=3,
)
DOCUMENTS = st.fixed_dictionaries(
    {"_id": st.integers(0, 9)},
    optional={
        "n": NUMBERS,
        "total": NUMBERS,
        "text": st.one_of(st.text(max_size=5).filter(lambda t: "\0" not in t), NUMBERS),
        "inner": st.one_of(
            st.none(), NUMBERS, st.fixed_dictionaries({"b": NUMBERS}, optional={"c": st.just("é")})
        ),
        "lines": st.one_of(st.none(), LINES),
        "map": st.dictionaries(st.sampled_from("abc"), NUMBERS, max_size=2),
        "other": NUMBERS,
    },
)


def made(records: list[dict[str, Any]], **options: str) -> list[Any]:
    """The transform's result for records; `options` by their names after `target.schema`."""
    step_options = {"target.schema": SCHEMA} | options
    named = {f"transforms.t.{name}": text for name, text in step_options.items()}
    return apply_json({"transforms": "t", "transforms.t.type": TYPE, **named}, records)


def value(record: Any) -> Any:
    """The Connect value in a record of JSON."""
    part = record["value"]
    return load_value(load_schema(part["schema"]), part["payload"])


@settings(max_examples=60, deadline=None)
@given(st.lists(DOCUMENTS, min_size=1, max_size=4))
def test_records_are_what_plain_python_makes_of_their_documents(
    documents: list[dict[str, Any]],
) -> None:
    schema = declared(SCHEMA)
    plain = PlainConversion()
    expected = [plain.value(DOCUMENT, encode(document), schema) for document in documents]
    events = [ITEMS.event("c", document) for document in documents]
    null = made(events, **{"target.schema.conflict": "null"})
    assert [value(record) for record in null] == expected
    assert len({json.dumps(record["value"]["schema"]) for record in null}) == 1
    rests = made(events, **{"target.schema.conflict": "rest"})
    paths: list[str] = []
    for record, row in zip(rests, expected, strict=True):
        whole = value(record)
        paths += json.loads(whole.pop("__rest") or "{}")
        assert whole == row
    assert sorted(paths) == sorted([*plain.conflicts, *plain.unknown])
    failing = made(events)
    assert any("error" in record for record in failing) == bool(plain.conflicts)


def test_a_conflict_fails_its_record_alone() -> None:
    good, bad = ITEMS.event("c", {"_id": 1, "n": 2.0}), ITEMS.event("c", {"_id": 2, "n": 1.5})
    first, second = made([good, bad])
    assert value(first)["n"] == 2
    assert "the field n holds a value of type double that int32 cannot hold" in second["error"]


def test_fields_that_the_schema_lacks_fail_where_that_is_asked_for() -> None:
    event = ITEMS.event("c", {"_id": 1, "inner": {"z": 1}})
    (record,) = made([event])
    assert value(record)["inner"] == {"b": None, "c": None}
    (failed,) = made([event], **{"target.schema.unknown": "fail"})
    assert "no field inner.z" in failed["error"]


@pytest.mark.parametrize("mode", ["tombstone", "delete-to-tombstone", "drop"])
def test_deletes_have_keys_of_the_type_of_the_identifier(mode: str) -> None:
    (record,) = made([ITEMS.event("d", identifier=7)], **{MODE: mode})
    if mode == "drop":
        assert record is None
        return
    assert record["value"] is None
    assert record["key"]["payload"] == {"id": 7}
    assert record["key"]["schema"]["fields"][0]["type"] == "int64"


def test_rewritten_deletes_have_the_schema_too() -> None:
    options = {MODE: "rewrite", f"{MODE}.rewrite-with-id": "true", "add.fields": "op"}
    created, deleted = made(
        [ITEMS.event("c", {"_id": 7, "n": 1}), ITEMS.event("d", identifier=7)], **options
    )
    assert created["value"]["schema"] == deleted["value"]["schema"]
    row = value(deleted)
    assert (row["_id"], row["n"], row["__deleted"], row["__op"]) == (7, None, True, "d")
    assert value(created)["__deleted"] is False


def test_structs_are_flattened_and_names_adjusted_in_the_schema() -> None:
    schema = "_id INT, `a-b` STRUCT<`c.d`: ARRAY<STRUCT<`e f`: INT>>>"
    event = ITEMS.event("c", {"_id": 1, "a-b": {"c.d": [{"e f": 5}]}})
    options = {"target.schema": schema, "field.name.adjustment.mode": "avro"}
    (record,) = made([event], **options)
    assert value(record) == {"_id": 1, "a_b": {"c_d": [{"e_f": 5}]}}
    (flat,) = made([event], **options, **{"flatten.struct": "true"})
    assert value(flat) == {"_id": 1, "a_b_c_d": [{"e_f": 5}]}


def test_an_update_without_its_document_is_refused() -> None:
    event = ITEMS.event("u", None, None, ({"n": 1}, []), identifier=1)
    (record,) = made([event])
    assert "has no document, and target.schema needs one" in record["error"]


@pytest.mark.parametrize(
    ("option", "text", "named"),
    [
        ("target.schema", "a INTERVAL", r"transforms\.t\.target\.schema = 'a INTERVAL'"),
        ("target.schema", "a INT,", r"transforms\.t\.target\.schema = 'a INT,'"),
        ("target.schema.conflict", "other", r"transforms\.t\.target\.schema\.conflict = 'other'"),
        ("target.schema.unknown", "keep", r"transforms\.t\.target\.schema\.unknown = 'keep'"),
    ],
)
def test_wrong_options_are_refused_at_the_start(option: str, text: str, named: str) -> None:
    with pytest.raises(HeadraceError, match=named):
        made([], **{option: text})


def test_a_field_of_the_name_of_the_rest_is_refused_where_that_is_kept() -> None:
    options = {"target.schema": "__rest STRING", "target.schema.conflict": "rest"}
    with pytest.raises(HeadraceError, match="has a field __rest"):
        made([], **options)


def test_a_sampled_schema_needs_a_connector() -> None:
    (record,) = made([ITEMS.event("c", {"_id": 1})], **{"target.schema": "sampled"})
    assert "no connector was asked" in record["error"]


def test_typed_documents_are_read_from_avro_as_they_were_declared() -> None:
    document = {
        "_id": 1, "n": 5, "total": 2.5, "text": "é", "inner": {"b": 1.5, "c": "x"},
        "lines": [{"x": 1, "tags": ["a", "b"]}, None], "map": {"a": 1}, "other": 3,
    }  # fmt: skip
    options = {"type": TYPE, "target.schema": SCHEMA, "target.schema.conflict": "rest"}
    steps = {f"transforms.t.{name}": text for name, text in options.items()}
    chain = read_chain({"transforms": "t", **steps})
    records = chain(read_records([ITEMS.event("c", document), ITEMS.event("c", {"_id": 2})]))
    converter, registry = numbered_avro(AvroOptions())
    of_json = JsonConverter(JsonOptions(schemas_enable=False))
    (batch,) = SliceConverter(of_json, converter, of_json).convert(records, Sequences(1))
    (schema,) = registry.schemas  # of both records
    first, second = (
        fastavro.schemaless_reader(io.BytesIO(value[5:]), json.loads(schema))
        for value in batch.column("value").to_pylist()
    )
    del document["other"]
    assert first == document | {"total": Decimal("2.50"), "at": None, "__rest": '{"other": 3}'}
    assert second == dict.fromkeys(second) | {"_id": 2}
