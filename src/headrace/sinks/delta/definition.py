"""The definition of the `delta` sink in headrace's registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.sinks.replicas.definition import ReplicaDefinition

if TYPE_CHECKING:
    from headrace.sinks.replicas.lake import LakeFormat


class DeltaDefinition(ReplicaDefinition):
    """Delta tables."""

    name = "delta"

    def format(self) -> LakeFormat:
        """See ReplicaDefinition."""
        from headrace.sinks.delta.format import FORMAT

        return FORMAT


DEFINITION = DeltaDefinition()
