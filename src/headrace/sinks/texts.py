"""The requirement that sinks of JSON lines have on the converters."""

from __future__ import annotations

from headrace.config.properties.connector import ConnectorConfig
from headrace.errors import HeadraceError


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
