"""ExtractField: replaces the key or value by one of its fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from headrace.config.kinds import TRIMMED_TEXT, one_of
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.records import Records, Shape, Struct
from headrace.connect.schema import Type
from headrace.connect.trees import with_defaults
from headrace.errors import HeadraceError
from headrace.transforms.example import Example
from headrace.transforms.kafka.field_paths import node_at, parse_path, value_at
from headrace.transforms.kafka.nulls import NullsOptions
from headrace.transforms.parts import PartTransform, RecordPart
from headrace.transforms.transform import Declaration, Ordering, PerShape, WrongOption


class ExtractFieldOptions(NullsOptions):
    """Options of ExtractField."""

    field = Property(
        "field", TRIMMED_TEXT, REQUIRED, Group.CONVERTERS, "The field, or a path to it."
    )
    field_syntax_version = Property(
        "field.syntax.version",
        one_of("V1", "V2"),
        "V1",
        Group.CONVERTERS,
        "V1: `field` is a name; V2: `field` is a path, with dots between names and backticks "
        "around names that contain dots.",
    )


class ExtractField:
    """See OF_VALUE."""

    def __init__(self, options: ExtractFieldOptions, part: RecordPart) -> None:
        self._field = options.field
        self._path: tuple[str, ...] = (options.field,)
        if options.field_syntax_version == "V2":
            self._path = _parsed(options.field)
        self._defaults = options.replace_null_with_default
        self._part = PartTransform(part, "ExtractField")
        self._shapes = PerShape(self._extracted)

    @property
    def ordering(self) -> Ordering:
        """Keys with fewer fields may become equal."""
        return Ordering.NONE if self._part.part is RecordPart.KEY else Ordering.KEEPS_KEY

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. Raises HeadraceError("transforms.no_such_field")."""
        shape = records.shape
        node = self._part.part.node(shape)
        if node is not None and shape.null_has_schema and node.schema.type is Type.STRUCT:
            return [records.with_shape(self._shapes(shape))]
        return self._part.apply(records, self._structs, self._maps)

    def _structs(self, records: Records, _struct: Struct) -> Iterator[Records]:
        yield records.with_shape(self._shapes(records.shape))

    def _extracted(self, shape: Shape) -> Shape:
        whole = self._part.part.node(shape)
        assert whole is not None
        node = node_at(whole, self._path)
        if node is None:
            raise HeadraceError(
                "transforms.no_such_field",
                f"the {self._part.part} of records of {shape.topic} has no field {self._field}",
                "Name a field that it has, or give the transform a predicate.",
            )
        return self._part.part.in_shape(shape, with_defaults(node) if self._defaults else node)

    def _maps(self, _records: Records, maps: list[Mapping[str, object]]) -> list[object]:
        return [value_at(entries, self._path) for entries in maps]


def _parsed(text: str) -> tuple[str, ...]:
    try:
        return parse_path(text)
    except ValueError as error:
        raise WrongOption(
            "transforms.bad_path",
            "field",
            f" = {text!r}: {error}",
            "Write a backslash in front of a backtick that belongs to a name.",
        ) from None


_MEANING = "Replaces the key or value by one of its fields."
OF_KEY = Declaration(
    "ExtractField$Key",
    _MEANING,
    ExtractFieldOptions,
    partial(ExtractField, part=RecordPart.KEY),
    example=Example({"total": 5}, {"field": "id"}, key={"id": 1}),
)
OF_VALUE = Declaration(
    "ExtractField$Value",
    _MEANING,
    ExtractFieldOptions,
    partial(ExtractField, part=RecordPart.VALUE),
)
