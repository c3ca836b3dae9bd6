"""A real schema registry: ids, subjects, what it refuses, and what happens while it is away."""

from __future__ import annotations

import logging
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.config.properties.modes import SubjectStrategy
from headrace.connect.schema import Field, Schema, Type
from headrace.converters.avro.converter import AvroConverter, AvroSettings, subject_of
from headrace.converters.avro.schemas import AvroOptions, avro_text
from headrace.converters.configured import avro_converter
from headrace.errors import HeadraceError
from headrace.kafka import registry as client
from headrace.kafka.registry import Registry, registry_settings
from tests.servers.registry import RegistryServer
from tests.servers.registry_door import Door

OPTIONS = AvroOptions()


def record(name: str, **fields: Schema) -> Schema:
    described = tuple(Field(key, schema) for key, schema in fields.items())
    return Schema(Type.STRUCT, name=name, fields=described)


ONE = record("r.One", a=Schema(Type.INT32))
WIDER = record("r.One", a=Schema(Type.INT32), b=Schema(Type.STRING, optional=True))
OTHER = record("r.One", a=Schema(Type.STRING))


def converter(server: RegistryServer, **options: str) -> AvroConverter:
    named = {name.replace("_", "."): text for name, text in options.items()}
    properties = {"schema.registry.url": server.url, **named}
    return avro_converter("value.converter", properties, is_key=False)


def number(head: bytes) -> int:
    assert head[0] == 0
    return int.from_bytes(head[1:], "big")


def test_a_schema_gets_one_id_however_often_and_by_whom_it_is_registered(
    registry_server: RegistryServer,
) -> None:
    first = converter(registry_server).head("ids", ONE)
    assert converter(registry_server).head("ids", ONE) == first
    store = Registry(registry_settings({"schema.registry.url": registry_server.url}))
    assert store.by_id(number(first)) == avro_text(ONE, OPTIONS)
    assert store.latest("ids-value") == (number(first), avro_text(ONE, OPTIONS))
    assert converter(registry_server, auto_register_schemas="false").head("ids", ONE) == first


def test_subjects_are_named_by_the_strategy(registry_server: RegistryServer) -> None:
    store = Registry(registry_settings({"schema.registry.url": registry_server.url}))
    subjects = {
        "TopicNameStrategy": "named-value",
        "io.confluent.kafka.serializers.subject.RecordNameStrategy": "r.One",
        "TopicRecordNameStrategy": "named-r.One",
    }
    for strategy, subject in subjects.items():
        head = converter(registry_server, value_subject_name_strategy=strategy).head("named", ONE)
        assert store.latest(subject)[0] == number(head)
    with pytest.raises(HeadraceError) as raised:
        subject_of(SubjectStrategy.RECORD, "named", Schema(Type.INT64), is_key=False)
    assert raised.value.code == "avro.no_record_name"


def test_without_registering_an_unknown_schema_is_an_error(registry_server: RegistryServer) -> None:
    with pytest.raises(HeadraceError) as raised:
        converter(registry_server, auto_register_schemas="false").head("unknown", ONE)
    assert raised.value.code == "registry.not_registered"


def test_an_incompatible_schema_is_refused(registry_server: RegistryServer) -> None:
    registry_converter = converter(registry_server)
    registry_converter.head("evolving", ONE)
    request = urllib.request.Request(
        f"{registry_server.url}/config/evolving-value", b'{"compatibility": "BACKWARD"}',
        {"Content-Type": "application/vnd.schemaregistry.v1+json"}, method="PUT",
    )  # fmt: skip
    urllib.request.urlopen(request, timeout=60).close()
    assert number(registry_converter.head("evolving", WIDER)) != number(
        registry_converter.head("evolving", ONE)
    )
    with pytest.raises(HeadraceError, match="evolving-value") as raised:
        registry_converter.head("evolving", OTHER)
    assert raised.value.code == "registry.refused"


def test_the_latest_version_is_used_where_it_has_the_same_fields(
    registry_server: RegistryServer,
) -> None:
    documented = avro_text(ONE, OPTIONS).replace('"fields"', '"doc":"by hand","fields"')
    store = Registry(registry_settings({"schema.registry.url": registry_server.url}))
    by_hand = store.register("latest-value", documented, normalize=False)
    options = {"auto_register_schemas": "false", "use_latest_version": "true"}
    assert number(converter(registry_server, **options).head("latest", ONE)) == by_hand
    with pytest.raises(HeadraceError) as raised:
        converter(registry_server, **options).head("latest", WIDER)
    assert raised.value.code == "avro.other_schema"
    by_id = {"auto_register_schemas": "false", "use_schema_id": str(by_hand)}
    assert number(converter(registry_server, **by_id).head("latest", ONE)) == by_hand


@pytest.fixture
def door(registry_server: RegistryServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    monkeypatch.setattr(client, "_FIRST_WAIT_MS", 10)
    with Door(registry_server.url) as opened:
        yield opened


def through(door: Door, **options: str) -> AvroConverter:
    named = {name.replace("_", "."): text for name, text in options.items()}
    settings = registry_settings({"schema.registry.url": door.url, **named})
    return AvroConverter(AvroSettings(OPTIONS), Registry(settings), is_key=False)


USER = {"basic_auth_credentials_source": "USER_INFO", "basic_auth_user_info": "user:secret"}


def test_a_registry_that_is_away_is_asked_again(door: Door) -> None:
    door.failures = 3
    assert number(through(door, **USER).head("again", ONE)) > 0
    assert door.requests == 4


def test_a_registry_that_stays_away_is_a_clear_error_to_try_again(door: Door) -> None:
    door.failures = 1000
    with pytest.raises(HeadraceError, match="does not answer") as raised:
        through(door, **USER).head("away", ONE)
    assert raised.value.code == "registry.unreachable"
    assert raised.value.retriable
    nobody = Registry({"url": "http://127.0.0.1:9"})
    with pytest.raises(HeadraceError) as raised:
        nobody.register("s", "{}", normalize=False)
    assert raised.value.code == "registry.unreachable"


@pytest.mark.parametrize("settings", [USER, {}], ids=["apart", "in the URL"])
def test_a_login_is_in_no_log_at_any_level(
    door: Door, settings: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    url = door.url if settings else door.url.replace("//", "//user:secret@")
    options = {name.replace("_", "."): text for name, text in settings.items()}
    store = Registry(registry_settings({"schema.registry.url": url, **options}))
    with caplog.at_level(logging.DEBUG):
        store.register("logged", '"string"', normalize=False)
    assert "HTTP Request" in caplog.text
    assert "secret" not in caplog.text


def test_a_wrong_password_is_an_error_that_does_not_show_it(door: Door) -> None:
    wrong = USER | {"basic_auth_user_info": "user:wr0ng-secret"}
    with pytest.raises(HeadraceError) as raised:
        through(door, **wrong).head("closed", ONE)
    assert raised.value.code == "registry.not_allowed"
    assert "wr0ng" not in str(raised.value)


def test_settings_of_java_are_translated(tmp_path: Path) -> None:
    pem = tmp_path / "ca.pem"
    pem.write_text("-----BEGIN CERTIFICATE-----\n")
    settings = registry_settings(
        {
            "schema.registry.url": "https://user:word@host:1",
            "schema.registry.ssl.truststore.location": str(pem),
            "schema.registry.ssl.keystore.location": "both.pem",
            "schema.registry.ssl.keystore.type": "PEM",
            "schema.registry.ssl.key.password": "p",
        }
    )
    assert settings == {
        "url": "https://host:1", "basic.auth.user.info": "user:word", "ssl.ca.location": str(pem),
        "ssl.certificate.location": "both.pem", "ssl.key.location": "both.pem",
        "ssl.key.password": "p",
    }  # fmt: skip
    assert "word" not in Registry(settings).url
    for wrong in (
        {"schema.registry.ssl.truststore.location": "store.jks"},
        {"basic.auth.credentials.source": "SASL_INHERIT"},
    ):
        with pytest.raises(HeadraceError) as raised:
            registry_settings({"schema.registry.url": "http://h", **wrong})
        assert raised.value.code == "registry.setting"
    with pytest.raises(HeadraceError) as raised:
        registry_settings({})
    assert raised.value.code == "registry.no_url"
