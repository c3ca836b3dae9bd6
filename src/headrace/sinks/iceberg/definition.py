"""The definition of the `iceberg` sink in headrace's registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.sinks.replicas.definition import ReplicaDefinition
from headrace.sinks.replicas.modes.mode import Mode
from headrace.sinks.replicas.options import mode_of

if TYPE_CHECKING:
    from headrace.config.properties.connector import ConnectorConfig
    from headrace.sinks.replicas.lake import LakeFormat


class IcebergDefinition(ReplicaDefinition):
    """Iceberg tables."""

    name = "iceberg"

    def format(self) -> LakeFormat:
        """See ReplicaDefinition."""
        from headrace.sinks.iceberg.format import FORMAT

        return FORMAT

    def own_options(self, config: ConnectorConfig) -> dict[str, str]:
        """See SinkDefinition. Replicas also accept the names of debezium-server-iceberg. Raises
        HeadraceError("iceberg.impossible_option")."""
        from headrace.sinks.iceberg.aliases import translated

        options = super().own_options(config)
        return options if mode_of(options) in (None, Mode.EVENTS) else translated(options)

    def written(self, config: ConnectorConfig, option: str) -> str:
        """See SinkDefinition. An option with the sink's name in it is one of
        debezium-server-iceberg."""
        named = f"{self.name}.{option}"
        if named in config.headrace_sink:
            return f"debezium.sink.{named}"
        return super().written(config, option)


DEFINITION = IcebergDefinition()
