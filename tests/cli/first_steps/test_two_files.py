"""A worker's file and a connector's, as connect-standalone takes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cli import main
from headrace.cli.messages import Messages
from headrace.cli.pipeline import read_pipeline
from headrace.sinks.kafka.options import KafkaOptions
from tests.cli.first_steps.configurations import SHOP, written

WORKER = {
    "bootstrap.servers": "localhost:9092",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "offset.storage.file.filename": "/tmp/offsets",
    "plugin.path": "/opt/plugins",
}


@pytest.mark.parametrize("connector_first", [False, True])
def test_the_workers_converters_are_those_of_a_connector_that_has_none(
    tmp_path: Path, connector_first: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    connector = {**SHOP, "value.converter.schemas.enable": "true"}
    files = [written(tmp_path / "w", WORKER), written(tmp_path / "c", connector)]
    config = read_pipeline(files[::-1] if connector_first else files, {}, Messages()).config
    assert config.converter("key").value == "string"
    assert config.value_converter_schemas_enable is True
    warning, _remedy = capsys.readouterr().err.splitlines()
    for name in ("plugin.path", "offset.storage.file.filename"):
        assert name in warning
    assert "bootstrap.servers" not in warning


def test_records_go_to_the_workers_brokers_with_its_producers_settings(tmp_path: Path) -> None:
    worker = {**WORKER, "producer.linger.ms": "5", "consumer.fetch.min.bytes": "2"}
    files = [written(tmp_path / "w", worker), written(tmp_path / "c", SHOP)]
    config = read_pipeline(files, {}, Messages()).config
    options = KafkaOptions.of_configuration(config)
    assert config.headrace_sink_type == "kafka"
    assert options.brokers == "localhost:9092"
    assert options.settings["linger.ms"] == "5"
    assert config.converter("header").value == "simple"


@pytest.mark.parametrize(
    ("connector", "brokers"),
    [
        ({"producer.override.bootstrap.servers": "other:1"}, "other:1"),
        ({"headrace.sink.type": "console"}, None),
    ],
)
def test_the_connectors_own_sink_wins(
    tmp_path: Path, connector: dict[str, str], brokers: str | None
) -> None:
    files = [written(tmp_path / "w", WORKER), written(tmp_path / "c", {**SHOP, **connector})]
    config = read_pipeline(files, {}, Messages()).config
    assert (KafkaOptions.of_configuration(config).brokers if brokers else None) == brokers
    assert config.headrace_sink_type == connector.get("headrace.sink.type", "kafka")


def test_a_slip_in_the_connectors_own_file_is_still_an_error(tmp_path: Path) -> None:
    connector = {**SHOP, "tabel.include.list": "x"}
    files = [written(tmp_path / "w", WORKER), written(tmp_path / "c", connector)]
    with pytest.raises(Exception, match=r"did you mean table\.include\.list"):
        read_pipeline(files, {}, Messages())


@pytest.mark.parametrize(("given", "count"), [((WORKER, WORKER), 0), ((SHOP, SHOP), 2)])
def test_two_files_are_a_worker_and_a_connector(
    tmp_path: Path,
    given: tuple[dict[str, str], dict[str, str]],
    count: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = [written(tmp_path / str(number), content) for number, content in enumerate(given)]
    assert main(["check", *files]) == 1
    assert f"{count} of the 2 files have connector.class" in capsys.readouterr().err
