"""What a configuration says of its sink (`headrace.sink.*`), in the words of the sink."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.config.suggestions import distance
from headrace.errors import HeadraceError

# Sinks of Debezium Server that Spark has no format for.
_NOT_SUPPORTED = ("http", "kinesis", "pubsub", "pulsar")
_OWN = ("console", "file", "kafka")
_OF_SPARK = (
    *("avro", "csv", "delta", "hudi", "iceberg", "json", "memory", "noop", "orc", "parquet"),
    *("rate", "socket", "text", "xml"),
)
"""Formats of Spark and of usual packages; Spark finds others by itself."""

_SHORT = 4
"""Letters of a name, without which one that is near is not meant."""

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
    has, ("cli.sink_misspelled") for a name that is nearly that of one."""
    if sink in _NOT_SUPPORTED:
        raise HeadraceError(
            "cli.sink_not_supported",
            f"The sink {sink} is not in this version",
            "Use console, file, kafka, or a format name of Spark.",
        )
    meant = _meant(sink)
    if meant is not None:
        raise HeadraceError(
            "cli.sink_misspelled",
            f"There is no sink {sink}; did you mean {meant}?",
            f"headrace.sink.type={meant}; a sink of a package of Spark that is so near to another "
            "one's name has a class, which can be named.",
        )


def _meant(sink: str) -> str | None:
    """The sink that a name is all but equal to: in another case, or with one letter more, less,
    wrong or out of place. Spark's formats have no case."""
    lowered = sink.lower()
    if sink in _OWN or lowered in _OF_SPARK or "." in sink:
        return None
    if lowered in _OWN:
        return lowered
    near = (name for name in (*_OWN, *_OF_SPARK) if distance(lowered, name, 1) <= 1)
    return next(near, None) if len(sink) >= _SHORT else None
