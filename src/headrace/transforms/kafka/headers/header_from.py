"""HeaderFrom: copies or moves fields to headers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from headrace.config.kinds import COMMA_LIST, one_of
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import connect_values
from headrace.connect.records import Column, Header, Records, Shape
from headrace.connect.schema import SCHEMALESS, Type
from headrace.connect.trees import as_struct, fields, member, with_defaults
from headrace.errors import HeadraceError
from headrace.transforms.example import Example
from headrace.transforms.kafka.nulls import NullsOptions, require_part
from headrace.transforms.kafka.schemas import rebuilt
from headrace.transforms.parts import RecordPart, kind_of
from headrace.transforms.transform import Declaration, Ordering, PerShape, WrongOption


class HeaderFromOptions(NullsOptions):
    """Options of HeaderFrom."""

    fields = Property(
        "fields", COMMA_LIST, REQUIRED, Group.CONVERTERS, "The fields that become headers."
    )
    headers = Property(
        "headers", COMMA_LIST, REQUIRED, Group.CONVERTERS, "The headers' names, in the same order."
    )
    operation = Property(
        "operation",
        one_of("move", "copy"),
        REQUIRED,
        Group.CONVERTERS,
        "`move` removes the fields from the key or value, `copy` leaves them.",
    )


class HeaderFrom:
    """Copies or moves fields of the key or value to headers."""

    def __init__(self, options: HeaderFromOptions, part: RecordPart) -> None:
        if len(options.fields) != len(options.headers):
            raise WrongOption(
                "transforms.lists_of_different_lengths",
                "headers",
                f" has {len(options.headers)} names, but fields has {len(options.fields)}",
                "Give each field the name of its header.",
            )
        self._names = tuple(zip(options.fields, options.headers, strict=True))
        self._moves = options.operation == "move"
        self._defaults = options.replace_null_with_default
        self._part = part
        self._shapes = PerShape(self._shape)
        self._schemaless = PerShape(self._schemaless_shape)

    @property
    def ordering(self) -> Ordering:
        """Keys that lose fields may become equal: their order is not known then."""
        is_of_key = self._part is RecordPart.KEY
        return Ordering.NONE if is_of_key and self._moves else Ordering.KEEPS_KEY

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. Raises HeadraceError("transforms.no_such_field") and
        ("transforms.not_a_struct")."""
        require_part(records, self._part, "HeaderFrom")
        node = self._part.node(records.shape)
        assert node is not None
        if node.schema.type is Type.ANY:
            return self._maps(records)
        return [records.with_shape(self._shapes(records.shape))]

    def _shape(self, shape: Shape) -> Shape:
        node = self._part.node(shape)
        struct = as_struct(node)
        if struct is None:
            raise self._not_a_struct(shape, node.schema.type.value if node else "null")
        members = fields(struct)
        headers = list(shape.headers)
        for name, header in self._names:
            if name not in members:
                raise HeadraceError(
                    "transforms.no_such_field",
                    f"the {self._part} of records of {shape.topic} has no field {name}",
                    f"Leave {name} out of `fields`, or set a predicate, so that the transform gets "
                    "only records with the field.",
                )
            field = member(struct, name)
            headers.append(Header(header, with_defaults(field) if self._defaults else field))
        with_headers = replace(shape, headers=tuple(headers))
        if not self._moves:
            return with_headers
        moved_names = {name for name, _ in self._names}
        remaining = [
            (name, with_defaults(member_node) if self._defaults else member_node)
            for name, member_node in members.items()
            if name not in moved_names
        ]
        return self._part.in_shape(with_headers, rebuilt(struct, remaining))

    def _schemaless_shape(self, shape: Shape) -> tuple[Shape, tuple[Column, ...]]:
        columns = tuple(column_of(SCHEMALESS) for _ in self._names)
        added = [Header(name, node) for (_, name), node in zip(self._names, columns, strict=True)]
        with_headers = replace(shape, headers=(*shape.headers, *added))
        return self._part.in_shape(with_headers, column_of(SCHEMALESS)), columns

    def _maps(self, records: Records) -> Iterator[Records]:
        node = self._part.node(records.shape)
        assert node is not None
        maps: list[Mapping[str, object]] = []
        for value in connect_values(records, node):
            if not isinstance(value, Mapping):
                raise self._not_a_struct(records.shape, kind_of(value))
            maps.append(value)
        shape, columns = self._schemaless(records.shape)
        for (name, _), column in zip(self._names, columns, strict=True):
            records = with_values(records, column, [entries.get(name) for entries in maps])
        moved_names = {name for name, _ in self._names} if self._moves else set()
        remaining = [{k: v for k, v in entries.items() if k not in moved_names} for entries in maps]
        whole = self._part.node(shape)
        yield with_values(records, whole, remaining).with_shape(shape)  # type: ignore[arg-type]

    def _not_a_struct(self, shape: Shape, type_name: str) -> HeadraceError:
        return HeadraceError(
            "transforms.not_a_struct",
            f"the {self._part} of records of {shape.topic} is a {type_name}; HeaderFrom "
            "takes structs",
            "Give the transform a predicate, or put it where its records are structs.",
        )


_MEANING = "Copies or moves fields of the key or value to headers."
OF_KEY = Declaration(
    "HeaderFrom$Key", _MEANING, HeaderFromOptions, partial(HeaderFrom, part=RecordPart.KEY)
)
OF_VALUE = Declaration(
    "HeaderFrom$Value",
    _MEANING,
    HeaderFromOptions,
    partial(HeaderFrom, part=RecordPart.VALUE),
    example=Example(
        {"id": 1, "trace": "t-1"},
        {"fields": "trace", "headers": "trace-id", "operation": "move"},
    ),
)
