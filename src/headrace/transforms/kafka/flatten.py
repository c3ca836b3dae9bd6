"""Flatten: lifts fields of nested structs into the outer struct."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from headrace.config.configuration import Configuration
from headrace.config.kinds import TRIMMED_TEXT
from headrace.config.property import Group, Property
from headrace.connect.records import Node, Records, Shape, Struct
from headrace.connect.schema import Type
from headrace.connect.trees import as_struct, member, with_defaults, with_schema
from headrace.errors import HeadraceError
from headrace.transforms.example import Example
from headrace.transforms.kafka.schemas import rebuilt
from headrace.transforms.parts import PartTransform, RecordPart
from headrace.transforms.path_lengths import PathLengths
from headrace.transforms.transform import Declaration, Ordering, PerShape


class FlattenOptions(Configuration):
    """Options of Flatten."""

    delimiter = Property(
        "delimiter",
        TRIMMED_TEXT,
        ".",
        Group.CONVERTERS,
        "The separator between the names of a path.",
    )


class Flatten:
    """See OF_VALUE."""

    ordering = Ordering.KEEPS_KEY

    def __init__(self, options: FlattenOptions, part: RecordPart) -> None:
        self._delimiter = options.delimiter
        self._part = PartTransform(part, "Flatten")
        self._shapes = PerShape(self._flattened)

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform."""
        return self._part.apply(records, self._structs, self._maps)

    def _structs(self, records: Records, _struct: Struct) -> Iterator[Records]:
        yield records.with_shape(self._shapes(records.shape))

    def _flattened(self, shape: Shape) -> Shape:
        struct = as_struct(self._part.part.node(shape))
        assert struct is not None
        is_optional = struct.schema.optional
        default = struct.schema.default
        leaves = flattened(struct, self._delimiter, is_optional=is_optional, default=default)
        members = list(leaves)
        return self._part.part.in_shape(shape, rebuilt(struct, members))

    def _maps(self, _records: Records, maps: list[Mapping[str, object]]) -> list[object]:
        return [dict(self._entries(entries, "", PathLengths())) for entries in maps]

    def _entries(
        self, entries: Mapping[str, object], prefix: str, lengths: PathLengths
    ) -> Iterator[tuple[str, object]]:
        for name, value in entries.items():
            path = lengths.take(f"{prefix}{self._delimiter}{name}" if prefix else name)
            if isinstance(value, Mapping):
                yield from self._entries(value, path, lengths)
            else:
                yield path, value


def flattened(
    node: Node,
    delimiter: str,
    prefix: str = "",
    *,
    is_optional: bool,
    default: object = None,
    lengths: PathLengths | None = None,
) -> Iterator[tuple[str, Node]]:
    """Yield the leaves of a struct by their paths; leaves inside an optional struct are optional.

    Raises HeadraceError("transforms.paths_too_long") and ("transforms.map_not_flattened").
    """
    lengths = PathLengths() if lengths is None else lengths
    for field in node.schema.fields:
        name = lengths.take(f"{prefix}{delimiter}{field.name}" if prefix else field.name)
        inner = member(node, field.name)
        schema = field.schema
        optional = is_optional or schema.optional
        field_default = default.get(field.name) if isinstance(default, Mapping) else None
        field_default = schema.default if field_default is None else field_default
        if schema.type is Type.MAP:
            raise HeadraceError(
                "transforms.map_not_flattened",
                f"the field {name} is a map, whose keys are not known beforehand",
                "Leave the field out with ReplaceField before Flatten.",
            )
        if schema.type is Type.STRUCT:
            yield from flattened(
                inner, delimiter, name, is_optional=optional, default=field_default, lengths=lengths
            )
        else:
            described = replace(schema, optional=optional, default=field_default)
            yield name, with_defaults(with_schema(inner, described))


_MEANING = "Moves the fields of inner structs to the outer struct, named by their paths."
OF_KEY = Declaration("Flatten$Key", _MEANING, FlattenOptions, partial(Flatten, part=RecordPart.KEY))
OF_VALUE = Declaration(
    "Flatten$Value",
    _MEANING,
    FlattenOptions,
    partial(Flatten, part=RecordPart.VALUE),
    example=Example({"id": 1, "address": {"city": "Łódź", "zip": None}}, {"delimiter": "_"}),
)
