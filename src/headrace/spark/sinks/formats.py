"""Sinks that are formats of Spark: built in, or of a package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.config.properties.connector import ConnectorConfig
from headrace.errors import HeadraceError
from headrace.spark.sinks.definition import (
    Delivery,
    EventStream,
    Sink,
    SinkDefinition,
    SinkQuery,
)

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter


class FormatDefinition(SinkDefinition):
    """A sink that Spark finds by its name; its options are the format's, and are not checked."""

    name = ""  # declared in the class; each object has its own
    delivery = Delivery.AT_LEAST_ONCE

    def __init__(self, name: str, near: str | None = None) -> None:
        """`near` is the known sink that was probably meant if Spark does not find the name."""
        self.name, self._near = name, near

    def unknown_options(self, config: ConnectorConfig) -> list[str]:  # noqa: ARG002
        """Return no options: Spark knows the options of its formats."""
        return []

    def make(self, query: SinkQuery) -> Sink:
        """See SinkDefinition."""
        return FormatSink(self.name, self.own_options(query.config), self._near)


class FormatSink(Sink):
    """Writes rows by a format of Spark."""

    def __init__(
        self, name: str, options: Mapping[str, str], near: str | None = None, instead: str = ""
    ) -> None:
        """`near`: see FormatDefinition. `instead` is another remedy if Spark does not find the
        name."""
        self._name, self._options, self._near, self._instead = name, options, near, instead

    def writer(self, stream: EventStream) -> DataStreamWriter:
        """See Sink."""
        return stream.events().writeStream.format(self._name).options(**self._options)

    def start_error(self, error: Exception) -> Exception:
        """Return HeadraceError("cli.sink_not_found") for a format that Spark does not find."""
        if not is_not_found(error):
            return error
        return not_found(self._name, self._near, self._instead)


def is_not_found(error: Exception) -> bool:
    """Return whether Spark raised the error because it has no format of a name."""
    return any(sign in str(error) for sign in ("DATA_SOURCE_NOT_FOUND", "ClassNotFound"))


def not_found(name: str, near: str | None = None, instead: str = "") -> HeadraceError:
    """Return the error for a format that Spark does not find; see FormatSink."""
    return HeadraceError(
        "cli.sink_not_found",
        f"Spark knows no sink {name}" + (f"; did you mean {near}?" if near else ""),
        (f"Set headrace.sink.type to {near}" if near else instead or "Correct headrace.sink.type")
        + ", or name the package of a sink that is not Spark's own (spark.jars.packages).",
    )
