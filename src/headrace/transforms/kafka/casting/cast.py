"""Cast: converts values to another type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from headrace.config.kinds import ValueKind
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import connect_values, values
from headrace.connect.records import Column, Node, Records, Shape, Struct
from headrace.connect.schema import DECIMAL, SCHEMALESS, Schema, Type
from headrace.connect.trees import as_struct, fields, with_defaults, with_schema
from headrace.errors import HeadraceError
from headrace.transforms.example import Example
from headrace.transforms.kafka.casting.castings import TARGETS, TIMES, cast_one, cast_values
from headrace.transforms.kafka.nulls import NullsOptions
from headrace.transforms.kafka.schemas import rebuilt
from headrace.transforms.parts import PartTransform, RecordPart
from headrace.transforms.transform import Declaration, Ordering, PerShape, passing

_FREE: tuple[tuple[type, Type], ...] = (
    (bool, Type.BOOLEAN),
    (int, Type.INT64),
    (float, Type.FLOAT64),
    (str, Type.STRING),
)


class Casts(NamedTuple):
    """The type to which the whole part is cast, or the types of its fields."""

    whole: Type | None
    fields: Mapping[str, Type]


def _parse_casts(text: str) -> Casts:
    whole = None
    of_fields = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, colon, word = entry.rpartition(":")
        target = TARGETS.get(word.strip().lower())
        if target is None or ":" in name:
            raise ValueError(f"{entry!r} is not of the form field:type")
        if colon:
            of_fields[name.strip()] = target
        else:
            whole = target
    return Casts(whole, of_fields)


CASTS: ValueKind[Casts] = ValueKind(
    f"field:type,field:type or a type, of {', '.join(TARGETS)}", _parse_casts
)


class CastOptions(NullsOptions):
    """Options of Cast."""

    spec = Property(
        "spec",
        CASTS,
        REQUIRED,
        Group.CONVERTERS,
        "The fields and their new types, or the new type of the whole key or value.",
    )


class _Cast(NamedTuple):
    """A shape, and its columns with the nodes from which they are cast."""

    shape: Shape
    columns: tuple[tuple[Column, Node], ...]


class Cast:
    """See OF_VALUE."""

    def __init__(self, options: CastOptions, part: RecordPart) -> None:
        self._casts = options.spec
        self._defaults = options.replace_null_with_default
        self._side = part
        self._part = PartTransform(part, "Cast of fields")
        self._fields_cast = PerShape(self._with_fields)
        self._whole_cast = PerShape(self._as_whole)

    @property
    def ordering(self) -> Ordering:
        """Keys of another type may become equal."""
        return Ordering.NONE if self._side is RecordPart.KEY else Ordering.KEEPS_KEY

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. Raises HeadraceError("transforms.not_castable")."""
        if self._casts.whole is None:
            return self._part.apply(records, self._structs, self._maps)
        if self._side.node(records.shape) is None:
            return [records]
        return self._whole(records)

    def _whole(self, records: Records) -> Iterator[Records]:
        others = yield from passing(records, self._side.absent(records))
        if others is None:
            return
        records = others
        node = self._side.node(records.shape)
        assert node is not None
        assert self._casts.whole is not None
        if node.schema.type is not Type.ANY:
            yield from self._filled(records, self._whole_cast(records.shape))
            return
        shape, columns = self._whole_cast(records.shape)
        cast = [_free(value, self._casts.whole) for value in connect_values(records, node)]
        yield with_values(records, columns[0][0], cast).with_shape(shape)

    def _as_whole(self, shape: Shape) -> _Cast:
        node = self._side.node(shape)
        assert node is not None
        assert self._casts.whole is not None
        column = column_of(SCHEMALESS)
        if node.schema.type is not Type.ANY:
            is_connects = node.schema.name in (*TIMES, DECIMAL)
            schema = replace(
                _schema(node.schema, self._casts.whole),
                name=None if is_connects else node.schema.name,
                version=None if is_connects else node.schema.version,
                doc=node.schema.doc,
                parameters=() if is_connects else node.schema.parameters,
            )
            column = column_of(schema)
        return _Cast(self._side.in_shape(shape, column), ((column, node),))

    def _structs(self, records: Records, _struct: Struct) -> Iterator[Records]:
        yield from self._filled(records, self._fields_cast(records.shape))

    def _filled(self, records: Records, cast: _Cast) -> Iterator[Records]:
        for column, source in cast.columns:
            target = column.schema.type
            try:
                array = cast_values(source.schema, values(records, source), target)
            except ValueError as error:
                raise _not_castable(source.schema, target, error) from None
            records = with_values(records, column, array)
        yield records.with_shape(cast.shape)

    def _with_fields(self, shape: Shape) -> _Cast:
        struct = as_struct(self._side.node(shape))
        assert struct is not None
        columns: list[tuple[Column, Node]] = []
        members: list[tuple[str, Node]] = []
        for name, original in fields(struct).items():
            node = with_defaults(original) if self._defaults else original
            target = self._casts.fields.get(name)
            if target is not None:
                schema = _schema(node.schema, target)
                if node.schema.type is target:
                    node = with_schema(node, schema)
                else:
                    column = column_of(schema)
                    columns.append((column, node))
                    node = column
            members.append((name, node))
        cast_shape = self._side.in_shape(shape, rebuilt(struct, members))
        return _Cast(cast_shape, tuple(columns))

    def _maps(self, _records: Records, maps: list[Mapping[str, object]]) -> list[object]:
        targets = self._casts.fields
        # A missing field becomes null.
        return [
            {
                **entries,
                **{name: _free(entries.get(name), target) for name, target in targets.items()},
            }
            for entries in maps
        ]


def _schema(schema: Schema, target: Type) -> Schema:
    """The schema of cast values: as optional as before, with the default cast as well."""
    default = schema.default
    if default is not None:
        try:
            default = cast_one(schema, default, target)
        except ValueError as error:
            raise _not_castable(schema, target, error) from None
    return Schema(target, optional=schema.optional, default=default)


def _free(value: object, target: Type) -> object:
    """Cast a value without a schema."""
    if value is None:
        return None
    kind = next((kind for python, kind in _FREE if isinstance(value, python)), Type.MAP)
    try:
        if kind is Type.MAP:
            raise ValueError(type(value).__name__)
        return cast_one(Schema(kind), value, target)
    except ValueError as error:
        raise _not_castable(Schema(kind), target, error) from None


def _not_castable(schema: Schema, target: Type, error: ValueError) -> HeadraceError:
    name = schema.name or schema.type.value
    detail = f": {error}" if schema.type is not Type.STRING else ""
    return HeadraceError(
        "transforms.not_castable",
        f"a {name} cannot be cast to {target.value}{detail}",
        "Leave the field out of spec, or give the transform a predicate.",
    )


_MEANING = "Casts fields, or the whole key or value, to other types."
OF_KEY = Declaration("Cast$Key", _MEANING, CastOptions, partial(Cast, part=RecordPart.KEY))
OF_VALUE = Declaration(
    "Cast$Value",
    _MEANING,
    CastOptions,
    partial(Cast, part=RecordPart.VALUE),
    example=Example({"id": 1, "total": "12"}, {"spec": "id:string,total:int32"}),
)
