"""The options of the `file` sink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.config.properties.connector import ConnectorConfig
from headrace.errors import HeadraceError


@dataclass(frozen=True)
class FileOptions:
    """The output's absolute path, and whether commits wait for the disk."""

    path: Path
    sync: bool

    @classmethod
    def of(cls, options: Mapping[str, str]) -> FileOptions:
        """Raises HeadraceError("cli.sink_path_missing") and ("file.impossible_option")."""
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
                f"headrace.sink.sync = {sync!r} is not a valid value",
                "Use true or false for headrace.sink.sync.",
            )
        return cls(Path(options["path"]).absolute(), sync == "true")


def require_texts(config: ConnectorConfig) -> None:
    """Refuse converters that make neither JSON nor texts. Raises HeadraceError("file.column")."""
    for role in ("key", "value", "header"):
        if not config.is_text(role):
            name = f"{role}.converter"
            raise HeadraceError(
                "file.column",
                f"The events are written as lines of JSON, and JSON cannot represent the output "
                f"of {name}={config.converter(role).value}",
                f"Use {name}=json or {name}=string, or another sink, such as Kafka or Delta.",
            )
