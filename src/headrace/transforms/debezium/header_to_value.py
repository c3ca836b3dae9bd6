"""HeaderToValue: copies or moves headers into the value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from headrace.config.configuration import Configuration
from headrace.config.kinds import COMMA_LIST, one_of
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.evaluation.values import carries, nulls, tombstones
from headrace.connect.records import Header, Node, Records, Shape, Struct, struct_of
from headrace.connect.trees import as_struct, fields, with_defaults, with_fields, with_schema
from headrace.errors import HeadraceError
from headrace.transforms.example import Example
from headrace.transforms.transform import Declaration, Ordering, PerShape, WrongOption, passing


class HeaderToValueOptions(Configuration):
    """Options of HeaderToValue."""

    headers = Property(
        "headers", COMMA_LIST, REQUIRED, Group.CONVERTERS, "The names of the headers."
    )
    fields = Property(
        "fields",
        COMMA_LIST,
        REQUIRED,
        Group.CONVERTERS,
        "The field for each header, in the same order; `after.trace` is a field of the struct "
        "`after`, which is created if it does not exist.",
    )
    operation = Property(
        "operation",
        one_of("move", "copy"),
        REQUIRED,
        Group.CONVERTERS,
        "`move` removes the headers from the record, `copy` leaves them.",
    )


@dataclass
class _Addition:
    """The additions to a struct: nodes, and structs with their own additions, by name, in order."""

    parts: dict[str, Node | _Addition] = field(default_factory=dict)

    def add(self, path: Sequence[str], node: Node) -> None:
        """Add a node at a path."""
        name, *rest = path
        if not rest:
            self.parts[name] = node
            return
        inner = self.parts.get(name)
        if not isinstance(inner, _Addition):
            inner = self.parts[name] = _Addition()
        inner.add(rest, node)


@dataclass(frozen=True)
class _Extended:
    """A shape with its headers in its value, and the structs that this requires to be present."""

    shape: Shape
    entered: tuple[tuple[str, Struct], ...]


class HeaderToValue:
    """See DECLARATION. Records without a value, or without any of the headers, pass unchanged."""

    ordering = Ordering.KEEPS_KEY

    def __init__(self, options: HeaderToValueOptions) -> None:
        if len(options.headers) != len(options.fields):
            raise WrongOption(
                "transforms.lists_of_different_lengths",
                "fields",
                f" has {len(options.fields)} names, but headers has {len(options.headers)}",
                "Give each header the name of its field.",
            )
        self._paths = tuple(
            (header, path.split("."))
            for header, path in zip(options.headers, options.fields, strict=True)
        )
        self._names = frozenset(options.headers)
        self._moves = options.operation == "move"
        self._extended: PerShape[dict[tuple[int, ...], _Extended]] = PerShape(lambda _shape: {})

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. Raises HeadraceError("transforms.not_a_struct"),
        ("transforms.field_of_another_type") and ("transforms.struct_is_null")."""
        others = yield from passing(records, tombstones(records))
        if others is None:
            return
        records = others
        headers = records.shape.headers
        named = [place for place, header in enumerate(headers) if header.name in self._names]
        on = np.array([carries(records, headers[place]) for place in named], np.bool_)
        on = on.reshape(len(named), len(records))
        if on.all():
            yield self._with_headers(records, tuple(named))
            return
        for carried in np.unique(on, axis=1).T if named else [np.zeros(0, np.bool_)]:
            mask = (on == carried[:, None]).all(axis=0)
            matching = records.with_rows(mask)
            places = tuple(place for place, is_on in zip(named, carried, strict=True) if is_on)
            yield self._with_headers(matching, places)

    def _with_headers(self, records: Records, places: tuple[int, ...]) -> Records:
        """Return the records with the headers at these places in their value."""
        shape = records.shape
        value = as_struct(shape.value)
        if value is None:
            kind = "null" if shape.value is None else shape.value.schema.type.value
            raise HeadraceError(
                "transforms.not_a_struct",
                f"the value of records of {shape.topic} is of type {kind}, not a struct",
                "Give the transform a predicate, or put it where its records are structs.",
            )
        if not places:
            return records
        extensions = self._extended(shape)
        if places not in extensions:
            extensions[places] = self._extend(shape, value, places)
        extended = extensions[places]
        for path, struct in extended.entered:
            if nulls(records, struct).any():
                raise HeadraceError(
                    "transforms.struct_is_null",
                    f"{path} of a record of {shape.topic} is null, so headrace cannot add a field "
                    f"to it",
                    "Name a struct that every record has, or give the transform a predicate.",
                )
        return records.with_shape(extended.shape)

    def _extend(self, shape: Shape, value: Struct, places: tuple[int, ...]) -> _Extended:
        addition = _Addition()
        for place in places:
            header = shape.headers[place]
            for name, path in self._paths:
                if name == header.name:
                    addition.add(path, header.node)
        entered: list[tuple[str, Struct]] = []
        extended = _extended(value, addition, "", entered)
        headers = shape.headers
        if self._moves:
            headers = tuple(_left(headers, places))
        return _Extended(replace(shape, value=extended, headers=headers), tuple(entered))


def _left(headers: Sequence[Header], places: tuple[int, ...]) -> Iterator[Header]:
    return (header for place, header in enumerate(headers) if place not in places)


def _extended(
    struct: Struct, addition: _Addition, path: str, entered: list[tuple[str, Struct]]
) -> Struct:
    """Return the struct with the additional fields; like every rebuilt struct it is not optional,
    and its nulls become their defaults."""
    members = {name: with_defaults(node) for name, node in fields(struct).items()}
    for name, part in addition.parts.items():
        place = f"{path}{name}"
        former = fields(struct).get(name)
        if isinstance(part, _Addition):
            members[name] = _entered(former, part, place, entered)
        elif former is None:
            members[name] = part
        elif former.schema.type is not part.schema.type:
            raise _another_type(place, former)
        else:
            members[name] = with_schema(part, former.schema)
    rebuilt = with_fields(struct, members)
    return replace(rebuilt, schema=replace(rebuilt.schema, optional=False, default=None))


def _entered(
    former: Node | None, addition: _Addition, path: str, entered: list[tuple[str, Struct]]
) -> Struct:
    """Return a field that is a struct with additions; a new struct if the field does not exist."""
    if former is None:
        new = {
            name: _entered(None, part, f"{path}.{name}", entered)
            if isinstance(part, _Addition)
            else part
            for name, part in addition.parts.items()
        }
        return struct_of(None, new, optional=True)
    struct = as_struct(former)
    if struct is None:
        raise _another_type(path, former)
    entered.append((path, struct))
    return _extended(struct, addition, f"{path}.", entered)


def _another_type(path: str, former: Node) -> HeadraceError:
    return HeadraceError(
        "transforms.field_of_another_type",
        f"the value has a field {path} of type {former.schema.type.value} already",
        "Choose another name in fields.",
    )


DECLARATION = Declaration(
    "HeaderToValue",
    "Copies or moves headers into the value.",
    HeaderToValueOptions,
    HeaderToValue,
    example=Example(
        {"id": 1},
        {"headers": "trace-id", "fields": "trace", "operation": "move"},
        headers={"trace-id": "t-1"},
    ),
)
