"""Secrets are in nothing that is said of a configuration: findings, warnings, its text."""

from __future__ import annotations

import pytest

from headrace.config.hidden import HiddenTexts
from headrace.connectors.registry import examine
from headrace.errors import HeadraceError

SECRET = "hunter2x"
MONGO = {"connector.class": "mongodb", "topic.prefix": "p"}
PLAIN = {
    "connector.class": "postgresql",
    "topic.prefix": "p",
    "database.hostname": "h",
    "database.user": "u",
    "database.dbname": "d",
}
FILTER = {
    "transforms": "a",
    "transforms.a.type": "Filter",
    "transforms.a.language": "jsr223.groovy",
}
AVRO = {"value.converter": "io.confluent.connect.avro.AvroConverter"}


def said(properties: dict[str, str]) -> str:
    """All that is said of a configuration."""
    config, problems = examine(properties)
    return "\n".join(map(str, (*problems, *config.warnings, config, config.hidden)))


@pytest.mark.parametrize(
    "properties",
    [
        MONGO | {"mongodb.hosts": f"rs0/u:{SECRET}@h:1"},
        MONGO | {"mongodb.hosts": f"mongodb://u:{SECRET}@h:1"},
        MONGO | {"mongodb.connection.string": f"mongodb://u:{SECRET}/x@h:1"},
        MONGO
        | {
            "mongodb.connection.string": f"mongodb://u:{SECRET}@h:1/",
            "cursor.pipeline": f'[{{"$match": {{"password": "{SECRET}"}}}}',
        },
        PLAIN
        | {"connector.class": "oracle", "database.url": f"jdbc:oracle:thin:u/{SECRET}@//h:1/s"},
        PLAIN | {"connector.class": "db2", "driver.SSLTRUSTSTORE": f"x;PWD={SECRET}"},
        PLAIN | {"signal.consumer.ssl.keystore.key": f"-----BEGIN {SECRET}"},
        PLAIN | {"signal.consumer.sasl.jaas.config": f'x required password="{SECRET}";'},
        PLAIN | AVRO | {"value.converter.schema.registry.url": f"http://u:{SECRET}@h"},
        PLAIN | {"heartbeat.action.query": f"SELECT dblink('host=h password={SECRET}')"},
        PLAIN | {"snapshot.select.statement.overrides": f"password={SECRET}("},
        PLAIN | FILTER | {"transforms.a.condition": f"value.password = '{SECRET}' &&"},
        PLAIN | {"table.include.list": f"password={SECRET}("},
        PLAIN | {"database.initial.statements": f"ALTER ROLE r PASSWORD '{SECRET}'; x"},
        PLAIN | {"message.key.columns": f"secret={SECRET}"},
    ],
    ids=lambda properties: list(properties)[-1],
)
def test_a_secret_is_in_nothing_that_is_said_of_a_property(properties: dict[str, str]) -> None:
    assert SECRET not in said(properties)


@pytest.mark.parametrize("password", ["e", "is", "none", "not", "mode", "slot"])
def test_a_short_password_of_another_property_changes_no_remark(password: str) -> None:
    wrong = PLAIN | {"snapshot.mode": "sometimes", "table.include.list": "(", "slot.name": "A"}
    plain = [str(problem) for problem in examine(wrong)[1]]
    assert len(plain) == 3
    problems = examine(wrong | {"database.password": password})[1]
    assert [str(problem) for problem in problems] == plain


def test_the_name_of_an_environment_hides_no_table_that_begins_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STAGE", "prod")
    config, _ = examine(
        {
            "connector.class": "postgresql",
            "topic.prefix": "t",
            "database.hostname": "h",
            "database.dbname": "d",
            "database.user": "u",
            "database.password": "p",
            "transforms": "r",
            "transforms.r.type": "org.apache.kafka.connect.transforms.RegexRouter",
            "transforms.r.regex": "(.*)",
            "transforms.r.replacement": "${env:STAGE}.$1",
        }
    )
    answer = "permission denied for table products"
    assert config.hidden.in_error(answer) == answer


def test_parts_and_remedies_of_a_raised_error_hide_what_its_message_hides() -> None:
    hidden = HiddenTexts.of_settings({"password": SECRET})
    part = HeadraceError("a.part", f"refused {SECRET}", f"Do not use {SECRET}.")
    error = HeadraceError("a.b", f"refused {SECRET}", f"Change {SECRET}.", parts=[part])
    safe = hidden.in_raised(error)
    assert [each.code for each in safe.parts] == ["a.part"]
    assert SECRET not in f"{safe} {safe.parts[0]}"
    assert safe.remedy.startswith("Change ")
