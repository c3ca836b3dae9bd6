import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import options
from headrace.config.formats import read_file, read_mapping, read_text
from headrace.connectors.registry import parse_configuration, parse_options
from headrace.errors import HeadraceError
from tests.config.properties_text import format_properties

CONFIGURATION = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "topic.prefix": "fulfillment",
    "database.hostname": "db.example",
    "database.port": "5433",
    "database.user": "capture",
    "database.password": " hunter2 ",
    "database.dbname": "shop",
    "database.tcpKeepAlive": "false",
    "table.include.list": "inventory\\..*,shop.a{1,2}",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
SERVER = {
    (
        "debezium.format.value"
        if name == "value.converter"
        else name.replace("value.converter.", "debezium.format.value.")
        if name.startswith("value.")
        else f"debezium.source.{name}"
    ): text
    for name, text in CONFIGURATION.items()
}
EXPECTED = parse_configuration(CONFIGURATION)


@pytest.mark.parametrize(
    "text",
    [
        format_properties(CONFIGURATION.items()),
        format_properties(SERVER.items()),
        json.dumps(CONFIGURATION),
        json.dumps(SERVER),
        json.dumps({"name": "shop", "config": CONFIGURATION}),
    ],
)
def test_every_file_spelling_gives_the_same_configuration(text: str, tmp_path: Path) -> None:
    file = tmp_path / "connector"
    file.write_text(text)
    config = parse_configuration(read_file(file))
    assert config.fingerprint() == EXPECTED.fingerprint() or config.name == "shop"
    assert config.database_password.reveal() == " hunter2 "
    assert config.table_include_list == ("inventory\\..*", "shop.a{1,2}")
    for given_options in (
        {"headrace.config": text},
        {"headrace.config": str(file)},
        {"HEADRACE.CONFIG": text},
    ):
        assert parse_options(given_options) == config


def test_packed_and_lower_cased_spark_options_give_the_same_configuration() -> None:
    assert parse_options(options(CONFIGURATION)) == EXPECTED
    assert parse_options({name.lower(): text for name, text in CONFIGURATION.items()}) == EXPECTED


def test_a_bare_option_overrides_the_packed_one() -> None:
    config = parse_options({**options(CONFIGURATION), "headrace.slice.order": "position"})
    assert config.headrace_slice_order == "position"
    assert config.database_port == 5433


VALUES = st.text(min_size=1).filter(lambda text: "${" not in text)


@given(VALUES, VALUES)
def test_any_value_survives_every_spelling(password: str, query: str) -> None:
    properties = {**CONFIGURATION, "database.password": password, "driver.options": query}
    expected = parse_configuration(properties)
    assert expected.database_password.reveal() == password
    assert parse_configuration(read_text(format_properties(properties.items()))) == expected
    assert parse_configuration(read_text(json.dumps(properties))) == expected
    assert parse_options(options(properties)) == expected


def test_packed_values_may_be_numbers_and_booleans_and_none() -> None:
    config = parse_options(
        options({**CONFIGURATION, "database.port": 1, "tombstones.on.delete": False, "name": None})
    )
    assert (config.database_port, config.tombstones_on_delete, config.name) == (1, False, None)


def test_a_list_is_refused_by_name() -> None:
    with pytest.raises(HeadraceError, match=r"table\.include\.list holds a list"):
        options({"table.include.list": ["a"]})


@pytest.mark.parametrize(
    "name", ["column.mask.hash.sha-256.with.salt.czq", "driver.gssencmode", "headrace.sink.path"]
)
def test_a_bare_option_whose_case_is_lost_is_refused_with_the_remedy(name: str) -> None:
    with pytest.raises(HeadraceError, match=r"headrace\.options") as raised:
        parse_options({**CONFIGURATION, name: "x"})
    assert "czq" not in str(raised.value)


def test_aliases_get_their_case_back_from_the_list_that_names_them() -> None:
    with pytest.raises(HeadraceError) as raised:
        parse_options({**CONFIGURATION, "transforms": "Unwrap", "transforms.unwrap.type": "x"})
    assert raised.value.code == "config.invalid"
    assert "transforms.Unwrap.type: 'x' is not a transform" in raised.value.message


def test_general_format_properties_yield_to_those_of_one_converter() -> None:
    read = read_text(
        "debezium.format.key.schemas.enable=true\ndebezium.format.schemas.enable=false\n"
    )
    assert read["key.converter.schemas.enable"] == "true"
    assert read["value.converter.schemas.enable"] == "false"
    assert read["header.converter.schemas.enable"] == "false"


def test_settings_of_the_server_process_are_ignored_with_a_note() -> None:
    read = read_text("quarkus.log.level=INFO\ndebezium.sink.type=kafka")
    assert dict(read) == {"headrace.sink.type": "kafka"}
    assert [note.property for note in read.notes] == ["quarkus.log.level"]


@pytest.mark.parametrize("text", ["a=1\na=2", '{"a":1,"a":2}', '{"config":{"a":1,"a":2}}'])
def test_a_repeated_property_is_noted_and_the_last_counts(text: str) -> None:
    read = read_text(text)
    assert dict(read) == {"a": "2"}
    assert [note.code for note in read.notes] == ["config.repeated"]


def test_log_mining_is_the_connectors_and_not_the_servers_logging() -> None:
    read = read_text("log.level=INFO\nlog.mining.read.only=true")
    assert dict(read) == {"log.mining.read.only": "true"}
    assert [note.property for note in read.notes] == ["log.level"]


def test_json_numbers_keep_their_text_and_null_is_unset() -> None:
    assert dict(read_text('{"a": 1.50, "b": true, "c": null}')) == {"a": "1.50", "b": "true"}


def test_broken_json_names_the_line_and_shows_no_content() -> None:
    with pytest.raises(HeadraceError, match=r"x\.json, line 2 is not JSON") as raised:
        read_text('{"database.password": "hunter2",\n oops}', origin="x.json")
    assert "hunter2" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_missing_file_is_named() -> None:
    with pytest.raises(HeadraceError, match=r"/nowhere/x\.properties .*config\.unreadable_file"):
        parse_options({"headrace.config": "/nowhere/x.properties"})


def test_repr_of_properties_shows_names_only() -> None:
    assert "hunter2" not in repr(read_mapping(CONFIGURATION))


def test_errors_name_the_line_of_a_property() -> None:
    text = format_properties(CONFIGURATION.items()) + "debezium.source.database.port=x\n"
    with pytest.raises(HeadraceError, match=r"app, line 12, as debezium\.source\.database\.port"):
        parse_configuration(read_text(text, origin="app"))
