"""All errors of a chain and its converters are reported at the start, at once, by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import headrace
from headrace.cli import main
from headrace.errors import HeadraceError

CONNECTOR = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "topic.prefix": "s",
    "database.hostname": "127.0.0.1",
    "database.port": "1",
    "database.user": "u",
    "database.password": "hidden-word",
    "database.dbname": "d",
}
WRONG = {
    "snapshot.mode": "sometimes",
    "transforms": "unknown,regex,lacking,mode",
    "predicates": "p",
    "predicates.p.type": "TopicNameMatches",
    "predicates.p.pattern": "orders[",
    "transforms.unknown.type": "io.debezium.transforms.Nothing",
    "transforms.regex.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.regex.regex": "(.*",
    "transforms.regex.replacement": "$1",
    "transforms.lacking.type": "io.debezium.transforms.Filter",
    "transforms.lacking.language": "jsr223.groovy",
    "transforms.lacking.predicate": "nobody",
    "transforms.mode.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.mode.delete.tombstone.handling.mode": "perhaps",
    "value.converter": "protobuffer",
}
NAMED = (
    "snapshot.mode",
    "predicates.p.pattern",
    "transforms.unknown.type",
    "transforms.regex.regex",
    "transforms.lacking.condition",
    "transforms.lacking.predicate",
    "transforms.mode.delete.tombstone.handling.mode",
    "value.converter",
)


def written(folder: Path, properties: dict[str, str]) -> str:
    file = folder / "connector.properties"
    file.write_text("".join(f"{name}={text}\n" for name, text in properties.items()))
    return str(file)


@pytest.mark.parametrize("verb", ["run", "check"])
def test_a_verb_names_everything_that_is_wrong(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, written(tmp_path, CONNECTOR | WRONG)]) != 0
    printed = capsys.readouterr()
    everything = printed.out + printed.err
    assert [
        name for name in NAMED if f"{name} " not in everything and f"{name}:" not in everything
    ] == []
    assert "hidden-word" not in everything
    assert "postgresql.unreachable" not in everything


@pytest.mark.spark
def test_loading_a_stream_names_everything_that_is_wrong(spark: SparkSession) -> None:
    headrace.register(spark)
    with pytest.raises((PySparkException, HeadraceError)) as raised:
        spark.readStream.format("headrace").options(**headrace.options(CONNECTOR | WRONG)).load()
    message = str(raised.value)
    assert [name for name in NAMED if f"{name} " not in message and f"{name}:" not in message] == []
    assert "hidden-word" not in message


REGISTRY = "http://registry:8081"
SHOWN_NOT = [
    *((role, name) for role in ("key", "value") for name in ("avro", "bytes", "variant", "row")),
    ("header", "avro"),
    ("header", "bytes"),
]


@pytest.mark.parametrize("to", ["file", "standard output"])
@pytest.mark.parametrize(("role", "name"), SHOWN_NOT)
def test_events_refuses_converters_that_cannot_be_shown_in_json(
    role: str, name: str, to: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    converter = {f"{role}.converter": name}
    if name == "avro":
        converter[f"{role}.converter.schema.registry.url"] = REGISTRY
    output, state = str(tmp_path / "out.jsonl"), str(tmp_path / "state")
    file = written(tmp_path, CONNECTOR | converter)
    output = output if to == "file" else "-"
    assert main(["events", file, "--output", output, "--state", state]) != 0
    printed = capsys.readouterr().err
    assert "[file.column]" in printed
    assert f"JSON cannot represent the output of {role}.converter={name}" in printed
    assert f"{role}.converter=json" in printed
    assert not Path(state).exists()
