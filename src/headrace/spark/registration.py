"""Schemas registered in the source process, so that tasks need not call the registry."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.records import Shape
from headrace.connect.slices import Slice
from headrace.errors import HeadraceError
from headrace.kafka.schema_ids import SchemaIds, SchemaKey
from headrace.spark.task import chain

if TYPE_CHECKING:
    from headrace.converters.shapes import Converters

log = logging.getLogger(__name__)


class SchemaRegistration:
    """Registers the known schemas of slices before they are read: once per relation version and
    process. Schemas that depend on values are looked up by the tasks."""

    def __init__(self, config: ConnectorConfig, ids: SchemaIds) -> None:
        """`ids` are those of the process. Raises HeadraceError for invalid options of
        converters."""
        self._ids = ids
        self._converters = _converters(config, ids) if config.asks_registry() else None
        self._chain = chain(config)[0]
        self._known: weakref.WeakKeyDictionary[Shape, Mapping[SchemaKey, int]] = (
            weakref.WeakKeyDictionary()
        )

    def ids_of(self, part: Slice) -> dict[SchemaKey, int]:
        """Return the ids that a slice carries.

        Raises HeadraceError `registry.unreachable`. Other errors of a schema are left to the task
        that has a record of it.
        """
        ids: dict[SchemaKey, int] = {}
        if self._converters is None:
            return ids
        for shape in part.shapes():
            known = self._known.get(shape)
            if known is None:
                known = self._known[shape] = self._registered(shape)
            ids |= known
        return ids

    def _registered(self, shape: Shape) -> dict[SchemaKey, int]:
        from headrace.converters.shapes import CompiledShape

        assert self._converters is not None
        with self._ids.used() as used:
            for expected in self._chain.expected(shape):
                try:
                    CompiledShape(expected, self._converters, {})
                except HeadraceError as error:
                    if error.retriable:
                        raise
                    log.debug("schemas of %s are left to tasks: %s", expected.topic, error)
        return used


def _converters(config: ConnectorConfig, ids: SchemaIds) -> Converters:
    """Most source processes do without the code of converters."""
    from headrace.converters.configured import converters_of

    return converters_of(config, ids)
