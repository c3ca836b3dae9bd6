"""The `iceberg` sink as headrace's registry knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.sinks.replicas.definition import ReplicaDefinition

if TYPE_CHECKING:
    from headrace.sinks.replicas.lake import LakeFormat


class IcebergDefinition(ReplicaDefinition):
    """Iceberg tables."""

    name = "iceberg"

    def format(self) -> LakeFormat:
        """See ReplicaDefinition."""
        from headrace.sinks.iceberg.format import FORMAT

        return FORMAT


DEFINITION = IcebergDefinition()
