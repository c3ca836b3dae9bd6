"""Kafka's settings as Debezium's users write them, in librdkafka's words."""

from __future__ import annotations

import pytest

from headrace.errors import HeadraceError
from headrace.kafka.client import not_allowed, open_producer, unreachable
from headrace.kafka.settings import (
    Purpose,
    client_settings,
    connection_settings,
    offset_reset,
)

PURPOSE = Purpose("area", "the test", "the test has kafka", "some.consumer", "some.brokers")


def translated(**properties: str) -> dict[str, str]:
    names = {name.replace("_", "."): text for name, text in properties.items()}
    return client_settings(PURPOSE, names, "broker:9092")


def test_settings_without_a_meaning_here_are_left_out() -> None:
    assert translated(key_deserializer="org.x.Y", max_poll_records="5", client_id="c") == {
        "bootstrap.servers": "broker:9092",
        "client.id": "c",
    }


def test_names_are_the_same_in_any_case() -> None:
    assert translated(CLIENT_ID="c")["client.id"] == "c"


@pytest.mark.parametrize("module", ["plain.PlainLoginModule", "scram.ScramLoginModule"])
def test_javas_login_becomes_user_and_password(module: str) -> None:
    jaas = f'org.apache.kafka.{module} required username="us\\"er" password="a=b \\\\ c";'
    settings = translated(sasl_jaas_config=jaas)
    assert settings["sasl.username"] == 'us"er'
    assert settings["sasl.password"] == "a=b \\ c"
    assert "sasl.jaas.config" not in settings


@pytest.mark.parametrize(
    "jaas", ["com.x.Krb5LoginModule required;", 'x.PlainLoginModule required username="u";']
)
def test_another_login_is_refused_and_not_shown(jaas: str) -> None:
    with pytest.raises(HeadraceError, match="librdkafka") as raised:
        translated(sasl_jaas_config=jaas)
    assert raised.value.code == "area.kafka_setting"
    assert "some.consumer.sasl.jaas.config" in raised.value.message
    assert "LoginModule" not in str(raised.value)


def test_certificates_in_pem_are_handed_on() -> None:
    settings = translated(
        ssl_truststore_type="PEM",
        ssl_truststore_location="/ca.pem",
        ssl_keystore_type="pem",
        ssl_keystore_location="/client.pem",
        ssl_key_password="p",
    )
    assert settings["ssl.ca.location"] == "/ca.pem"
    assert settings["ssl.certificate.location"] == settings["ssl.key.location"] == "/client.pem"
    assert settings["ssl.key.password"] == "p"
    texts = translated(ssl_truststore_certificates="-----BEGIN", ssl_keystore_key="-----KEY")
    assert texts["ssl.ca.pem"] == "-----BEGIN"
    assert texts["ssl.key.pem"] == "-----KEY"


def test_other_spellings_are_translated() -> None:
    assert translated(auto_offset_reset="none")["auto.offset.reset"] == "error"
    none = translated(ssl_endpoint_identification_algorithm="")
    assert none["ssl.endpoint.identification.algorithm"] == "none"
    for text, meaning in (("Smallest", "earliest"), ("end", "latest"), ("error", "error")):
        assert offset_reset({"auto.offset.reset": text}) == meaning
    assert offset_reset({}) == "earliest"


def test_a_producer_takes_the_connection_only() -> None:
    settings = {"bootstrap.servers": "b", "sasl.username": "u", "fetch.min.bytes": "1"}
    assert connection_settings(settings) == {"bootstrap.servers": "b", "sasl.username": "u"}


def test_what_the_client_refuses_is_named_without_secrets() -> None:
    pytest.importorskip("confluent_kafka")
    with pytest.raises(HeadraceError, match=r"some\.consumer") as raised:
        open_producer(PURPOSE, {"sasl.oauthbearer.client.secret": "hunter2", "none.such": "1"})
    assert raised.value.code == "area.kafka_setting"
    with pytest.raises(HeadraceError) as raised:
        open_producer(PURPOSE, {"password.none.such": "hunter2"})
    assert "hunter2" not in str(raised.value)


def test_what_the_client_refuses_is_readable_whatever_the_passwords_are() -> None:
    pytest.importorskip("confluent_kafka")
    for password in ("e", "conf", "such"):
        with pytest.raises(HeadraceError) as raised:
            open_producer(PURPOSE, {"sasl.password": password, "none.such": "1"})
        assert 'configuration property: "none.' in raised.value.message
    login = 'PlainLoginModule required username="ann" password="hunter2-of-ann";'
    with pytest.raises(HeadraceError) as raised:
        open_producer(PURPOSE, {"security.protocol": login})
    assert "security.protocol" in raised.value.message
    assert "hunter2" not in str(raised.value)


def test_brokers_answers_show_no_password_of_a_url() -> None:
    error = OSError('cannot get a token from "https://ann:hunter2@idp/token"')
    assert "hunter2" not in str(unreachable(PURPOSE, "b:9092", error))
    assert "hunter2" not in str(not_allowed(PURPOSE, "b:9092", str(error)))
