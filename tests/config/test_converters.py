"""The converters that a configuration may name, and the options that they need."""

from __future__ import annotations

import pytest

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.converters.avro.converter import AvroConverter
from headrace.converters.binary.converters import BytesConverter, SimpleConverter, StringConverter
from headrace.converters.cloudevents import CloudEventsConverter
from headrace.converters.configured import converter_of
from headrace.converters.json.converter import JsonConverter
from headrace.errors import HeadraceError
from headrace.spark.data_source import columns

NEEDED = {
    "connector.class": "postgresql",
    "topic.prefix": "t",
    "database.hostname": "h",
    "database.user": "u",
    "database.dbname": "d",
    "slot.name": "s",
}
REGISTRY = {"value.converter.schema.registry.url": "http://registry:8081"}


def parsed(**options: str) -> PostgresConfig:
    named = {name.replace("_", "."): text for name, text in options.items()}
    return PostgresConfig.parse(NEEDED | named)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("json", JsonConverter),
        ("JsonByteArray", JsonConverter),
        ("org.apache.kafka.connect.storage.StringConverter", StringConverter),
        ("SimpleString", StringConverter),
        ("org.apache.kafka.connect.storage.SimpleHeaderConverter", SimpleConverter),
        ("org.apache.kafka.connect.converters.ByteArrayConverter", BytesConverter),
        ("io.confluent.connect.avro.AvroConverter", AvroConverter),
        ("io.debezium.converters.CloudEventsConverter", CloudEventsConverter),
    ],
)
def test_a_converter_is_found_by_its_class_and_by_its_short_name(name: str, made: type) -> None:
    config = PostgresConfig.parse(NEEDED | REGISTRY | {"value.converter": name})
    assert isinstance(converter_of(config, "value"), made)
    assert isinstance(converter_of(config, "key"), JsonConverter)


@pytest.mark.parametrize("name", ["protobuf"])
def test_a_converter_that_is_not_there_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(
        HeadraceError, match=rf"value\.converter = {name} is not supported"
    ) as raised:
        parsed(value_converter=name)
    assert raised.value.code == "config.not_supported"


def test_cloudevents_are_values() -> None:
    with pytest.raises(HeadraceError, match=r"key\.converter = cloudevents is for values only"):
        parsed(key_converter="cloudevents")


@pytest.mark.parametrize("name", ["variant", "row"])
def test_columns_of_spark_are_keys_and_values(name: str) -> None:
    with pytest.raises(HeadraceError, match=rf"header\.converter = {name} is for keys and values"):
        parsed(header_converter=name)
    assert parsed(value_converter="variant", key_converter="variant").makes_columns("key")


def test_what_becomes_of_unknown_fields_is_fail_or_drop() -> None:
    with pytest.raises(HeadraceError, match=r"value\.converter\.fields\.unknown = 'guess'"):
        parsed(value_converter="row", value_converter_fields_unknown="guess")


@pytest.mark.parametrize(
    "options",
    [
        {"value_converter": "avro"},
        {"value_converter": "cloudevents", "value_converter_serializer_type": "avro",
         "value_converter_data_serializer_type": "avro"},
    ],
)  # fmt: skip
def test_avro_needs_a_registry(options: dict[str, str]) -> None:
    with pytest.raises(HeadraceError, match=r"value\.converter\.(avro\.)?schema\.registry\.url"):
        parsed(**options)


def test_columns_are_texts_or_bytes_as_the_converters_make_them() -> None:
    assert "key string, value string" in columns(parsed(key_converter="string"))
    avro = PostgresConfig.parse(NEEDED | REGISTRY | {"value.converter": "avro"})
    assert "key string, value binary" in columns(avro)
    assert "key binary, value string" in columns(parsed(key_converter="bytes"))
    assert "key string, value variant" in columns(parsed(value_converter="variant"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("auto.register.schemas", "maybe"),
        ("use.schema.id", "first"),
        ("value.subject.name.strategy", "MyStrategy"),
    ],
)
def test_an_option_of_avro_that_cannot_be_is_refused_at_the_start(name: str, text: str) -> None:
    options = {"value.converter": "avro", f"value.converter.{name}": text}
    _, (problem,) = PostgresConfig.examine(NEEDED | REGISTRY | options)
    assert (problem.code, problem.property) == (
        "config.impossible_value",
        f"value.converter.{name}",
    )
    assert f"value.converter.{name} = '{text}': expected " in problem.message


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("use.latest.versoin", "config.unknown_property"),
        ("schemas.enabel", "config.unknown_property"),
        ("basic.auth.credentials.source", "registry.setting"),
        ("schema.registry.ssl.truststore.location", "registry.setting"),
    ],
)
def test_what_a_registrys_client_cannot_take_and_misspelt_options_are_refused(
    name: str, code: str
) -> None:
    options = {"value.converter": "avro", f"value.converter.{name}": "store"}
    _, (problem,) = PostgresConfig.examine(NEEDED | REGISTRY | options)
    assert (problem.code, problem.property) == (code, f"value.converter.{name}")
    assert f"value.converter.{name}" in problem.message


def test_a_password_of_a_registry_is_not_resolved_a_second_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REGISTRY_LOGIN", "user:${env:NOWHERE}")
    login = {
        "value.converter": "avro",
        "value.converter.basic.auth.credentials.source": "USER_INFO",
        "value.converter.basic.auth.user.info": "${env:REGISTRY_LOGIN}",
    }
    config = PostgresConfig.parse(NEEDED | REGISTRY | login)
    assert config.converter_options("value")["basic.auth.user.info"] == "user:${env:NOWHERE}"
    assert isinstance(converter_of(config, "value"), AvroConverter)


def test_the_converter_of_bytes_leaves_other_records_to_its_delegate() -> None:
    name = "value_converter_delegate_converter_type"
    config = parsed(
        value_converter="bytes", **{name: "org.apache.kafka.connect.json.JsonConverter"}
    )
    assert isinstance(converter_of(config, "value"), BytesConverter)
    with pytest.raises(HeadraceError, match=r"delegate\.converter\.type"):
        parsed(value_converter="bytes", **{name: "avro"})
