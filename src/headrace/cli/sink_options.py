"""What a configuration says of its sink (`headrace.sink.*`), in the words of the sink."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import HeadraceError

# Sinks of Debezium Server that Spark has no format for.
_NOT_SUPPORTED = ("http", "kinesis", "pubsub", "pulsar")
_OPTIONS: dict[str, tuple[str, ...]] = {"console": (), "file": ("path", "sync")}


@dataclass(frozen=True)
class FileOptions:
    """Options of the sink `file`: the output's absolute path, and whether it is forced to the
    disk."""

    path: Path
    sync: bool


def sink_options(sink: str, properties: Mapping[str, str]) -> dict[str, str]:
    """The options of `sink`, which `properties` names behind `headrace.sink.`; Debezium Server's
    `sink.kafka.X` become `X`."""
    options = {}
    for name, text in properties.items():
        option = name
        if sink == "kafka" and option.startswith("producer."):
            # Debezium Server's producer.X is kafka.X in Spark.
            option = f"kafka.{option.removeprefix('producer.')}"
        elif sink and option.startswith(f"{sink}.producer."):
            option = f"kafka.{option.removeprefix(f'{sink}.producer.')}"
        elif sink != "kafka" and sink and option.startswith(f"{sink}."):
            option = option.removeprefix(f"{sink}.")
        options[option] = text
    return options


def unknown_options(sink: str, options: Iterable[str]) -> Iterator[str]:
    """Those of `options` that `sink` does not have; Spark's own sinks are not looked at."""
    return (name for name in options if name not in _OPTIONS.get(sink, (name,)))


def file_options(options: Mapping[str, str]) -> FileOptions:
    """Those of the sink `file`. Raises HeadraceError("cli.sink_path_missing") and
    ("file.impossible_option")."""
    if not options.get("path"):
        raise HeadraceError(
            "cli.sink_path_missing",
            "headrace.sink.type=file needs headrace.sink.path",
            "Set headrace.sink.path to the output file.",
        )
    sync = options.get("sync", "true").lower()
    if sync not in ("true", "false"):
        raise HeadraceError(
            "file.impossible_option",
            f"headrace.sink.sync = {sync!r}: the file sink does not know it",
            "Use true or false for headrace.sink.sync.",
        )
    return FileOptions(Path(options["path"]).absolute(), sync == "true")


def check_supported(sink: str) -> None:
    """Raises HeadraceError("cli.sink_not_supported") for a sink that neither Spark nor headrace
    has."""
    if sink in _NOT_SUPPORTED:
        raise HeadraceError(
            "cli.sink_not_supported",
            f"The sink {sink} is not in this version",
            "Use console, file, or a format name of Spark.",
        )
