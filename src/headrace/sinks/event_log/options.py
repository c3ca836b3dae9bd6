"""The options of the `event-log` sink."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from zoneinfo import ZoneInfoNotFoundError

from headrace.config.properties.connector import ConnectorConfig
from headrace.errors import HeadraceError
from headrace.sinks.event_log.layout import HOUR_MS, HOURLY, Layout, parse_path_format
from headrace.sinks.texts import require_texts

NAME = "event-log"


class Format(StrEnum):
    """The format of the files."""

    JSON = "json"
    PARQUET = "parquet"
    AVRO = "avro"


COMPRESSIONS: Mapping[Format, tuple[str, ...]] = {
    Format.JSON: ("none", "gzip", "zstd"),
    Format.PARQUET: ("zstd", "none", "snappy", "gzip", "lz4"),
    Format.AVRO: ("snappy", "none", "deflate", "zstd"),
}
"""The compressions of a format; the first one is the default."""
OPTIONS = (
    "path", "format", "compression", "file.max.bytes", "flush.size", "partition.duration.ms",
    "path.format", "timezone", "compact", "compact.after.ms", "compact.keep.ms", "sync",
)  # fmt: skip
"""The names of the options, without `headrace.sink.`."""
_MOST = 1 << 62
_DAY_MS = 24 * HOUR_MS
_MINUTE_MS = 60_000
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


@dataclass(frozen=True)
class Limits:
    """The limits of a file: `bytes` on the disk, which a file of one record may exceed, and `rows`
    (0: no limit)."""

    bytes: int = 128 << 20
    rows: int = 0

    @property
    def piece_bytes(self) -> int:
        """The maximum bytes appended to a file at a time, before compression."""
        return max(1, min(4 << 20, self.bytes // 8))

    @property
    def piece_rows(self) -> int:
        """The maximum records appended to a file at a time."""
        return max(1, self.rows // 8) if self.rows else _MOST


@dataclass(frozen=True)
class Compaction:
    """The merging of small files: a folder is merged `after_ms` after its last file was added, if
    its period is over. Replaced files are kept for `keep_ms`."""

    is_enabled: bool = True
    after_ms: int = 10 * _MINUTE_MS
    keep_ms: int = 60 * _MINUTE_MS


@dataclass(frozen=True)
class EventLogOptions:
    """The validated options of the sink. `path` is the log's absolute folder; with `sync` commits
    wait for the disk. Picklable."""

    path: Path
    format: Format = Format.JSON
    compression: str = "none"
    limits: Limits = field(default_factory=Limits)
    layout: Layout = field(default_factory=lambda: Layout(parse_path_format(HOURLY)))
    compaction: Compaction = field(default_factory=Compaction)
    sync: bool = True

    @classmethod
    def of(cls, options: Mapping[str, str]) -> EventLogOptions:
        """Parse options without `headrace.sink.`. Raises HeadraceError("event_log.path_missing")
        and ("event_log.option_invalid")."""
        path = options.get("path", "").strip()
        if not path:
            raise HeadraceError(
                "event_log.path_missing",
                f"headrace.sink.type={NAME} needs headrace.sink.path",
                "Set headrace.sink.path to the folder of the log.",
            )
        if _SCHEME.match(path):
            raise _invalid("path", path, "Name a folder of this host's file system.")
        kind = Format(_choice(options, "format", tuple(Format)))
        return cls(
            Path(path).absolute(),
            kind,
            _choice(options, "compression", COMPRESSIONS[kind]),
            Limits(
                _number(options, "file.max.bytes", 128 << 20, least=1),
                _number(options, "flush.size", 0),
            ),
            _layout(options),
            Compaction(
                _flag(options, "compact"),
                _number(options, "compact.after.ms", 10 * _MINUTE_MS),
                _number(options, "compact.keep.ms", 60 * _MINUTE_MS),
            ),
            _flag(options, "sync"),
        )


def require_converters(config: ConnectorConfig, options: EventLogOptions) -> None:
    """Refuse converters whose values the format cannot store. Raises HeadraceError("file.column")
    and ("event_log.converter")."""
    if options.format is Format.JSON:
        require_texts(config)
    for role in ("key", "value"):
        if config.makes_columns(role):
            name = f"{role}.converter"
            raise HeadraceError(
                "event_log.converter",
                f"{name}={config.converter(role).value} makes columns of Spark's types, and the "
                f"sink {NAME} writes texts and bytes",
                f"Use {name}=json or {name}=avro, or headrace.sink.type=parquet, a format of "
                "Spark.",
            )


def _layout(options: Mapping[str, str]) -> Layout:
    text = options.get("path.format", HOURLY).strip()
    try:
        path_format = parse_path_format(text)
    except ValueError as error:
        remedy = f"Write letters of the time and texts in quotes, as in {HOURLY} ({error})."
        raise _invalid("path.format", text, remedy) from None
    duration = _number(options, "partition.duration.ms", HOUR_MS, least=_MINUTE_MS)
    if duration % _MINUTE_MS or (_DAY_MS % duration and duration % _DAY_MS):
        remedy = "Set it to minutes that divide a day, or to days, in milliseconds."
        raise _invalid("partition.duration.ms", str(duration), remedy)
    zone = options.get("timezone", "UTC").strip()
    try:
        Layout(path_format, duration, zone).time_folder(0)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        remedy = "Name a time zone of the IANA database, such as UTC or Europe/Berlin."
        raise _invalid("timezone", zone, remedy) from None
    return Layout(path_format, duration, zone)


def _choice(options: Mapping[str, str], name: str, values: tuple[str, ...]) -> str:
    text = options.get(name, values[0]).strip().lower()
    if text not in values:
        raise _invalid(name, options[name], f"Set it to {' or '.join(values)}.")
    return text


def _flag(options: Mapping[str, str], name: str) -> bool:
    return _choice(options, name, ("true", "false")) == "true"


def _number(options: Mapping[str, str], name: str, default: int, *, least: int = 0) -> int:
    text = options.get(name, str(default)).strip()
    if not text.isdecimal() or not least <= int(text) <= _MOST:
        raise _invalid(name, options[name], f"Set it to a whole number from {least} on.")
    return int(text)


def _invalid(name: str, text: str, remedy: str) -> HeadraceError:
    return HeadraceError(
        "event_log.option_invalid", f"headrace.sink.{name}={text} is not a valid value", remedy
    )
