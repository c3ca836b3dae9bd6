"""Values without a schema: what converters make of them, and what those say that make nothing."""

from __future__ import annotations

import pytest

from headrace.connect.json_records import read_records
from headrace.connect.records import Records
from headrace.converters.binary.converters import BytesConverter
from headrace.converters.configured import avro_converter
from headrace.converters.converter import Converter
from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions
from headrace.converters.rows import SliceConverter
from headrace.errors import HeadraceError

JSON = JsonConverter(JsonOptions(schemas_enable=False))
PART = {"schema": None, "payload": {"a": [1, None, "x"]}}
AVRO = avro_converter("value.converter", {"schema.registry.url": "http://localhost"}, is_key=False)


def schemaless(role: str) -> Records:
    entry = {"topic": "s.orders", "key": None, "value": None, "headers": []}
    member = {"headers": [{"name": "h", **PART}]} if role == "header h" else {role: PART}
    (records,) = read_records([entry | member])
    return records


def of_role(role: str, converter: Converter) -> SliceConverter:
    roles = {"key": JSON, "value": JSON, "header h": JSON} | {role: converter}
    return SliceConverter(*roles.values())


def refusal(role: str, converter: Converter) -> HeadraceError:
    with pytest.raises(HeadraceError) as raised:
        list(of_role(role, converter).convert([schemaless(role)], lambda *_: None))
    return raised.value


@pytest.mark.parametrize("role", ["key", "value", "header h"])
def test_converters_that_need_a_schema_name_the_topic_and_what_to_do(role: str) -> None:
    for converter in (AVRO, BytesConverter(None)):
        error = refusal(role, converter)
        assert error.message.startswith(f"the {role} of a record of s.orders: ")
        assert "without a schema" in error.message
        assert "json" in error.remedy
