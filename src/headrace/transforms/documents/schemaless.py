"""Adds the schemas that transforms need to events of documents without schemas, as in JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from headrace.connect.evaluation import gathering
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.json_objects import cells_at, in_table, is_json, loaded, members
from headrace.connect.records import Cell, Column, Node, Records, Shape, Struct, struct_of
from headrace.connect.schema import SCHEMALESS, Schema, Type
from headrace.transforms.schemaless_events import SchemalessEvents, texts_in
from headrace.transforms.transform import PerShape

_TEXT = Schema(Type.STRING, optional=True)
_TEXTS = ("before", "after", "patch")
_UPDATE = "updateDescription"
_REMOVED = Schema(Type.ARRAY, optional=True, values=Schema(Type.STRING))


@dataclass(frozen=True, eq=False)
class _Parts:
    """Columns of the contents of an event's texts; `asked` are additional fields that transforms
    use, by struct and name."""

    key: Shape
    event: Shape
    identifier: Column
    texts: tuple[Column, ...]
    updated: Column
    removed: Column
    is_update: Column
    asked: dict[tuple[str, str], Column]


class SchemalessDocuments:
    """Converts records without schemas to events of documents; `added_fields` are the structs and
    names of fields that a transform adds."""

    def __init__(self, added_fields: Iterable[tuple[str, str]]) -> None:
        self._added_fields = tuple(dict.fromkeys(added_fields))
        self._parts = PerShape(self._parts_of)

    @staticmethod
    def are_in(shape: Shape) -> bool:
        """Whether records of this shape have keys without schemas, and values without schemas or no
        values."""
        key, value = shape.key, shape.value
        return (
            key is not None
            and key.schema.type is Type.ANY
            and is_json(key)
            and (value is None or value.schema.type is Type.ANY)
        )

    def opened(self, records: Records) -> tuple[Records | None, Records | None]:
        """Return the events and tombstones among records, with schemas, and the other records."""
        key, value = records.shape.key, records.shape.value
        assert isinstance(key, Cell | Column)
        (identifiers,) = members(cells_at(records, key), ["id"])
        if value is None:
            with_id, others = _split(records, gathering.has_values(identifiers))
            identifiers = identifiers[gathering.has_values(identifiers)]
            return None if with_id is None else self._with_key(with_id, identifiers), others
        present = gathering.has_values(identifiers)
        events, is_event = SchemalessEvents.of(records, value)
        passing = is_event & present
        events = events.with_rows(present[is_event])
        _, others = _split(records, passing)
        if not len(events.records):
            return None, others
        with_schema = self._with_parts(events)
        return self._with_key(with_schema, identifiers[passing], is_event=True), others

    def _with_key(
        self, records: Records, identifiers: np.ndarray, *, is_event: bool = False
    ) -> Records:
        parts = self._parts(records.shape)
        with_identifier = with_values(records, parts.identifier, _strings(identifiers))
        return with_identifier.with_shape(parts.event if is_event else parts.key)

    def _with_parts(self, events: SchemalessEvents) -> Records:
        parts = self._parts(events.records.shape)
        records = events.records
        *texts, update = members(events.texts, [*_TEXTS, _UPDATE])
        for column, cells in zip(parts.texts, texts, strict=True):
            records = with_values(records, column, _strings(cells))
        updated, removed = members(update, ["updatedFields", "removedFields"])
        is_update = pa.array(np.ones(len(records), np.bool_), mask=~gathering.has_values(update))
        records = with_values(records, parts.is_update, is_update)
        records = with_values(records, parts.updated, _strings(updated))
        records = with_values(records, parts.removed, loaded(removed))
        for (struct, name), column in parts.asked.items():
            field_cells = in_table(records, events.field(struct, name), ())
            records = records.with_column(column.identity, field_cells)
        return records

    def _parts_of(self, shape: Shape) -> _Parts:
        identifier = column_of(Schema(Type.STRING))
        key = replace(shape, key=struct_of(f"{shape.topic}.Key", {"id": identifier}))
        texts = tuple(column_of(_TEXT) for _ in _TEXTS)
        updated, removed = column_of(_TEXT), column_of(_REMOVED)
        is_update = column_of(Schema(Type.BOOLEAN, optional=True))
        described = struct_of(None, {"updatedFields": updated, "removedFields": removed},
                              optional=True)  # fmt: skip
        envelope: dict[str, Node] = dict(zip(_TEXTS, texts, strict=True))
        envelope[_UPDATE] = replace(described, presence=is_update)
        added_columns = {
            place: column_of(SCHEMALESS) for place in self._added_fields if place[0] != _UPDATE
        }
        structs: dict[str, dict[str, Node]] = {"source": {}, "transaction": {}}
        for (struct, name), column in added_columns.items():
            if struct:
                structs.setdefault(struct, {})[name] = column
            elif name not in envelope:
                envelope[name] = column
        envelope |= {name: struct_of(None, inner) for name, inner in structs.items()}
        value: Struct = struct_of(f"{shape.topic}.Envelope", envelope)
        event = replace(key, value=value)
        return _Parts(key, event, identifier, texts, updated, removed, is_update, added_columns)


def _split(records: Records, mask: np.ndarray) -> tuple[Records | None, Records | None]:
    """Return the records of the mask, and the others; None for an empty part."""
    chosen, others = records.with_rows(mask), records.with_rows(~mask)
    return (chosen if len(chosen) else None), (others if len(others) else None)


def _strings(cells: np.ndarray) -> pa.Array:
    return pa.array(texts_in(cells), pa.large_string())
