"""ValueToKey: replaces the key by fields of the value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from headrace.config.kinds import COMMA_LIST
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import connect_values
from headrace.connect.records import Records, Shape, struct_of
from headrace.connect.schema import SCHEMALESS, Type
from headrace.connect.trees import as_struct, member, with_defaults
from headrace.errors import HeadraceError
from headrace.transforms.example import Example
from headrace.transforms.kafka.nulls import NullsOptions, require_part
from headrace.transforms.parts import RecordPart, kind_of
from headrace.transforms.transform import Declaration, Ordering, PerShape


class ValueToKeyOptions(NullsOptions):
    """Options of ValueToKey."""

    fields = Property(
        "fields", COMMA_LIST, REQUIRED, Group.CONVERTERS, "The fields of the new key, in order."
    )


class ValueToKey:
    """See DECLARATION."""

    ordering = Ordering.NONE

    def __init__(self, options: ValueToKeyOptions) -> None:
        self._fields = options.fields
        self._defaults = options.replace_null_with_default
        self._shapes = PerShape(self._keyed)
        self._schemaless = PerShape(lambda shape: replace(shape, key=column_of(SCHEMALESS)))

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. Raises HeadraceError("transforms.no_such_field") and
        ("transforms.not_a_struct")."""
        require_part(records, RecordPart.VALUE, "ValueToKey")
        value = records.shape.value
        if value is not None and value.schema.type is Type.ANY:
            return self._maps(records)
        return [records.with_shape(self._shapes(records.shape))]

    def _maps(self, records: Records) -> Iterator[Records]:
        assert records.shape.value is not None
        keys = []
        for value in connect_values(records, records.shape.value):
            if not isinstance(value, Mapping):
                raise _not_a_struct(records.shape, kind_of(value))
            keys.append({name: value.get(name) for name in self._fields})
        shape = self._schemaless(records.shape)
        yield with_values(records, shape.key, keys).with_shape(shape)  # type: ignore[arg-type]

    def _keyed(self, shape: Shape) -> Shape:
        struct = as_struct(shape.value)
        if struct is None:
            raise _not_a_struct(shape, shape.value.schema.type.value if shape.value else "null")
        names = {field.name for field in struct.schema.fields}
        absent = [name for name in self._fields if name not in names]
        if absent:
            raise HeadraceError(
                "transforms.no_such_field",
                f"the value of records of {shape.topic} has no field {absent[0]}",
                f"Leave {absent[0]} out of `fields`, or set a predicate, so that the transform "
                "gets only records with the field.",
            )
        members = {name: member(struct, name) for name in self._fields}
        if self._defaults:
            members = {name: with_defaults(node) for name, node in members.items()}
        return replace(shape, key=struct_of(None, members))


def _not_a_struct(shape: Shape, type_name: str) -> HeadraceError:
    return HeadraceError(
        "transforms.not_a_struct",
        f"the value of records of {shape.topic} is a {type_name}; ValueToKey needs structs",
        "Give the transform a predicate, or put it where its records are structs.",
    )


DECLARATION = Declaration(
    "ValueToKey",
    "Makes a key from fields of the value.",
    ValueToKeyOptions,
    ValueToKey,
    example=Example({"id": 1, "region": "eu"}, {"fields": "region,id"}),
)
