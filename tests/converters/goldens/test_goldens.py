"""Every case through the compiled pass: byte for byte what the real converters wrote."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest

from headrace.connect.records import Header, Records, Shape
from headrace.connect.rows import Sequences
from headrace.converters.avro.schemas import AvroOptions
from headrace.converters.binary.converters import BytesConverter, SimpleConverter, StringConverter
from headrace.converters.converter import Converter
from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions
from headrace.converters.rows import SliceConverter
from tests.converters.goldens.cases import CASES, Case
from tests.converters.registry_double import numbered_avro
from tests.converters.value_trees import ValueRow

RECORDED = json.loads((Path(__file__).parent / "recordings" / "converters.json").read_text())
TEXT = StringConverter()
FIRST = np.zeros(1, np.int64)


def raw(recorded: str | None) -> bytes | None:
    return None if recorded is None else base64.b64decode(recorded)


def converted(
    case: Case, converter: Converter, *, null_has_schema: bool = False
) -> tuple[bytes | None, bytes | None]:
    """The value, and the same as a header."""
    row = ValueRow(case.schema, case.value)
    header = Header("name", row.tree)
    shape = Shape("t", None, row.tree, (header,), null_has_schema=null_has_schema)
    records = Records(shape, row.table, FIRST, FIRST)
    slice_converter = SliceConverter(TEXT, converter, converter)
    (batch,) = slice_converter.convert([records], Sequences(1))
    (record,) = batch.to_pylist()
    value = record["value"]
    (header_record,) = record["headers"]
    assert header_record["key"] == "name"
    return (value.encode() if isinstance(value, str) else value), header_record["value"]


@pytest.mark.parametrize("recorded", RECORDED["avro"], ids=lambda r: str(r["options"]))
def test_avro_is_byte_for_byte_confluents(recorded: dict[str, dict[str, str]]) -> None:
    avro_options = recorded["options"]
    options = AvroOptions(
        connect_metadata=avro_options.get("connect.meta.data", "true") == "true",
        enhanced=avro_options.get("enhanced.avro.schema.support", "false") == "true",
    )
    for case, expected in zip(CASES, recorded["cases"], strict=True):
        avro, registry = numbered_avro(options)
        value, header = converted(case, avro)
        assert value == raw(expected["bytes"]), case.name  # type: ignore[index]
        assert header == value
        if value is not None:
            assert next(iter(registry.schemas)) == expected["schema"], case.name  # type: ignore[index]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_strings_are_those_of_java_but_for_bytes(case: Case) -> None:
    value, header = converted(case, TEXT)
    expected = raw(RECORDED["string"][case.name])
    if expected is not None and b"[B@" in expected:
        assert value is not None
        pattern = re.escape(expected.decode()).replace(r"\[B@", "[A-Za-z0-9+/=]*@")
        pattern = re.sub(r"\[A-Za-z0-9\+/=\]\*@[0-9a-f]+", "[A-Za-z0-9+/=]*", pattern)
        assert re.fullmatch(pattern, value.decode()), (value, pattern)
    else:
        assert value == expected
    assert header == value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_simple_headers_are_those_of_connect(case: Case) -> None:
    value, header = converted(case, SimpleConverter())
    assert value == header == raw(RECORDED["simple"][case.name])


@pytest.mark.parametrize("schemas", [True, False])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_json_is_that_of_connect(case: Case, schemas: bool) -> None:
    options = JsonOptions(schemas_enable=schemas)
    value, _ = converted(case, JsonConverter(options), null_has_schema=True)
    assert value == raw(RECORDED[f"json, schemas {str(schemas).lower()}"][case.name])


def test_bytes_are_passed_on_and_nothing_else_is() -> None:
    for case in CASES:
        if case.name.endswith("bytes"):
            assert converted(case, BytesConverter())[0] == case.value
