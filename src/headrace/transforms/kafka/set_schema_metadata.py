"""SetSchemaMetadata: sets the name or version of a schema."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from headrace.config.kinds import INT_MAX, TRIMMED_TEXT, integer
from headrace.config.property import Group, Property
from headrace.connect.records import Records, Shape
from headrace.connect.schema import Type
from headrace.connect.trees import as_struct, fields, with_defaults, with_fields, with_schema
from headrace.errors import HeadraceError
from headrace.transforms.example import Example
from headrace.transforms.kafka.nulls import NullsOptions
from headrace.transforms.parts import RecordPart
from headrace.transforms.transform import Declaration, Ordering, PerShape, WrongOption


class SetSchemaMetadataOptions(NullsOptions):
    """Options of SetSchemaMetadata."""

    schema_name = Property(
        "schema.name",
        TRIMMED_TEXT,
        None,
        Group.CONVERTERS,
        "The schema's name; if it is empty, the name does not change.",
    )
    schema_version = Property(
        "schema.version",
        integer(-INT_MAX - 1),
        None,
        Group.CONVERTERS,
        "The schema's version; if it is empty, the version does not change.",
    )


class SetSchemaMetadata:
    """See OF_VALUE."""

    ordering = Ordering.KEEPS_KEY

    def __init__(self, options: SetSchemaMetadataOptions, part: RecordPart) -> None:
        if options.schema_name is None and options.schema_version is None:
            raise WrongOption(
                "transforms.nothing_to_set",
                "schema.name",
                " is missing, and schema.version is, too",
                "Set one of them, or take the transform out.",
            )
        self._options = options
        self._part = part
        self._shapes = PerShape(self._shape)

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. Raises HeadraceError("transforms.no_schema")."""
        node = self._part.node(records.shape)
        if node is None:
            return [records]
        if node.schema.type is Type.ANY:
            if self._part.absent(records).all():
                return [records]
            raise HeadraceError(
                "transforms.no_schema",
                f"the {self._part} of records of {records.shape.topic} has no schema to be named",
                "Give the transform a predicate, or convert its records with schemas.",
            )
        return [records.with_shape(self._shapes(records.shape))]

    def _shape(self, shape: Shape) -> Shape:
        options = self._options
        node = self._part.node(shape)
        assert node is not None
        struct = as_struct(node)
        if struct is not None and options.replace_null_with_default:
            members = {name: with_defaults(member) for name, member in fields(struct).items()}
            node = with_fields(struct, members)
        schema = node.schema
        if options.schema_name is not None:
            schema = replace(schema, name=options.schema_name)
        if options.schema_version is not None:
            schema = replace(schema, version=options.schema_version)
        return self._part.in_shape(shape, with_schema(node, schema))


_MEANING = "Gives the schema of the key or value another name or version."
OF_KEY = Declaration(
    "SetSchemaMetadata$Key",
    _MEANING,
    SetSchemaMetadataOptions,
    partial(SetSchemaMetadata, part=RecordPart.KEY),
)
OF_VALUE = Declaration(
    "SetSchemaMetadata$Value",
    _MEANING,
    SetSchemaMetadataOptions,
    partial(SetSchemaMetadata, part=RecordPart.VALUE),
    example=Example({"id": 1}, {"schema.name": "shop.Order", "schema.version": "2"}),
)
