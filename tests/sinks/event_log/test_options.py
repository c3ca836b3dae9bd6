"""Options of the sink are checked before anything is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.config.formats import read_mapping
from headrace.config.properties.connector import ConnectorConfig
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.sinks.event_log.definition import DEFINITION
from headrace.sinks.event_log.options import EventLogOptions, Format

NEEDED = {
    "connector.class": "postgresql",
    "topic.prefix": "p",
    "database.hostname": "h",
    "database.user": "u",
    "database.dbname": "d",
    "headrace.sink.type": "event-log",
    "headrace.sink.path": "log",
}


def configuration(**more: str) -> ConnectorConfig:
    """A configuration with options whose names have `_` for `.`."""
    properties = {name.replace("_", "."): text for name, text in more.items()}
    return parse_configuration(read_mapping(NEEDED | properties))


def codes(**more: str) -> list[str]:
    """What `headrace check` says of such options."""
    return [finding.code for finding in DEFINITION.check(configuration(**more))]


def test_defaults_are_lines_by_hour_in_utc(tmp_path: Path) -> None:
    options = EventLogOptions.of({"path": str(tmp_path)})
    assert (options.format, options.compression) == (Format.JSON, "none")
    assert options.layout.time_folder(0) == "date=1970-01-01/hour=00"
    assert options.limits.bytes == 128 << 20
    assert options.compaction.is_enabled


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("format", "orc"),
        ("compression", "lzo"),
        ("compression", "snappy"),  # of JSON
        ("file.max.bytes", "0"),
        ("file.max.bytes", "1 MB"),
        ("flush.size", "-1"),
        ("partition.duration.ms", "420000"),
        ("partition.duration.ms", "90000"),
        ("path.format", "ww"),
        ("timezone", "Mars/Olympus"),
        ("compact", "maybe"),
        ("path", "s3://bucket/log"),
    ],
)
def test_an_option_that_is_not_valid_is_named(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(HeadraceError) as caught:
        EventLogOptions.of({"path": str(tmp_path), name: text})
    assert caught.value.code == "event_log.option_invalid"
    assert f"headrace.sink.{name}={text}" in str(caught.value)


def test_the_check_finds_what_a_start_refuses() -> None:
    assert codes() == ["event_log.options"]
    assert codes(headrace_sink_path="") == ["event_log.path_missing"]
    assert codes(headrace_sink_format="x") == ["event_log.option_invalid"]
    assert codes(value_converter="bytes") == ["file.column"]
    assert codes(headrace_sink_format="parquet", value_converter="bytes") == ["event_log.options"]
    assert codes(headrace_sink_format="parquet", value_converter="variant") == [
        "event_log.converter"
    ]


def test_a_misspelt_option_is_an_error() -> None:
    config = configuration(headrace_sink_flush_sizes="5")
    with pytest.raises(HeadraceError, match=r"did you mean headrace\.sink\.flush\.size\?"):
        DEFINITION.option_warnings(config)
