"""The replicas of the tables that are captured, and the source tables whose rows they contain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.records import Shape, Struct
from headrace.connectors.registry import event_shapes
from headrace.errors import HeadraceError
from headrace.sinks.replicas import refusals
from headrace.sinks.replicas.changes.schemas import table_name, table_shape
from headrace.sinks.replicas.lake import TableName, TableSchema
from headrace.sinks.replicas.options import ReplicaOptions
from headrace.transforms.debezium.envelopes import envelope_of
from headrace.transforms.reading import chain_of


@dataclass(frozen=True)
class CapturedShape:
    """The shape of records of the source table `source` after the transforms, with their envelope,
    and the replica that they belong to."""

    replica: TableName
    source: str
    shape: Shape
    envelope: Struct


def captured_shapes(
    config: ConnectorConfig, options: ReplicaOptions, shapes: Iterable[Shape]
) -> Iterator[CapturedShape]:
    """Yield the captured shapes of tables with these shapes before any transform (`event_shapes`);
    records without an envelope are left out. Raises HeadraceError as the transforms do."""
    chain, prefix = chain_of(config), config.topic_prefix
    for before in shapes:
        origin = before.origin
        source = before.topic.removeprefix(f"{prefix}.") if origin is None else origin.name
        for shape in chain.expected(before):
            if (envelope := envelope_of(shape)) is not None:
                replica = options.placed(table_name(shape.topic, prefix))
                yield CapturedShape(replica, source, shape, envelope)


def captured_schema(
    config: ConnectorConfig, options: ReplicaOptions, captured: CapturedShape
) -> TableSchema:
    """Return the columns of the replica for these records. Raises HeadraceError as `table_shape`,
    ("replicas.no_document") for a replica that could not take updates, and ("replicas.no_key") for
    a key that does not identify a row."""
    documents = options.documents.of_topic(captured.shape.topic, config.topic_prefix)
    table = table_shape(captured.shape, captured.envelope, documents)
    if table.has_text and (setting := config.without_documents):
        raise refusals.no_document(setting, captured.replica)
    refusals.require_identifying(table.schema, options.modes.mode(table.schema.source))
    return table.schema


def replicas_of(
    config: ConnectorConfig, options: ReplicaOptions, tables: Sequence[str]
) -> dict[TableName, tuple[str, ...]]:
    """Return the replicas of these source tables, each with all tables whose rows it contains.
    Raises HeadraceError, also for a replica that contains rows of other tables."""
    sources: dict[TableName, dict[str, None]] = {}
    for captured in captured_shapes(config, options, event_shapes(config)):
        sources.setdefault(captured.replica, {})[captured.source] = None
    replicas = {name: tuple(of) for name, of in sources.items() if not of.keys().isdisjoint(tables)}
    for name, of in replicas.items():
        if others := [table for table in of if table not in tables]:
            raise HeadraceError(
                "replicas.copy_of_a_part",
                f"The replica {name} also has rows of {', '.join(others)}, which would be lost",
                "Name all of its tables by one regular expression: headrace resync FILE "
                f"'{'|'.join(of)}' --checkpoint STATE.",
            )
    if not replicas:
        raise HeadraceError(
            "cli.nothing_to_resync",
            f"There is no replica of {', '.join(tables)}",
            "To receive the rows as events again, send the signal execute-snapshot.",
        )
    return replicas
