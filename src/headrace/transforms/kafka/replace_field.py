"""ReplaceField: removes and renames fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from headrace.config.kinds import COMMA_LIST, ValueKind
from headrace.config.property import Group, Property
from headrace.connect.records import Node, Records, Shape, Struct
from headrace.connect.trees import as_struct, fields, with_defaults
from headrace.errors import HeadraceError
from headrace.transforms.example import Example
from headrace.transforms.kafka.nulls import NullsOptions
from headrace.transforms.kafka.schemas import rebuilt
from headrace.transforms.parts import PartTransform, RecordPart
from headrace.transforms.transform import Declaration, Ordering, PerShape


def _parse_renames(text: str) -> tuple[tuple[str, str], ...]:
    pairs = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        parts = entry.split(":")
        if len(parts) != 2 or not parts[1]:
            raise ValueError(f"{entry!r} is not of the form old:new")
        pairs.append((parts[0], parts[1]))
    return tuple(pairs)


RENAMES: ValueKind[tuple[tuple[str, str], ...]] = ValueKind("old:new,old:new", _parse_renames)


class ReplaceFieldOptions(NullsOptions):
    """Options of ReplaceField."""

    exclude = Property(
        "exclude",
        COMMA_LIST,
        "",
        Group.CONVERTERS,
        "Fields to leave out.",
        formerly=("blacklist",),
    )
    include = Property(
        "include",
        COMMA_LIST,
        "",
        Group.CONVERTERS,
        "Fields to keep; if the list is empty, all. A field that is also in `exclude` is left out.",
        formerly=("whitelist",),
    )
    renames = Property(
        "renames", RENAMES, "", Group.CONVERTERS, "Fields to rename, each as `old:new`."
    )


class ReplaceField:
    """See OF_VALUE."""

    def __init__(self, options: ReplaceFieldOptions, part: RecordPart) -> None:
        self._exclude = frozenset(options.exclude)
        self._include = frozenset(options.include)
        self._renames = dict(options.renames)
        self._defaults = options.replace_null_with_default
        self._part = PartTransform(part, "ReplaceField")
        self._shapes = PerShape(self._shape)

    @property
    def ordering(self) -> Ordering:
        """Keys may become equal if fields are removed, or if two fields get the same name."""
        names = self._renames.values()
        leaves_out = self._exclude or self._include or len(set(names)) < len(names)
        is_of_key = self._part.part is RecordPart.KEY
        return Ordering.NONE if is_of_key and leaves_out else Ordering.KEEPS_KEY

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform."""
        return self._part.apply(records, self._structs, self._maps)

    def _name(self, name: str) -> str | None:
        """Return the new name of a field; None if it is left out."""
        if name in self._exclude or (self._include and name not in self._include):
            return None
        return self._renames.get(name, name)

    def _structs(self, records: Records, _struct: Struct) -> Iterator[Records]:
        yield records.with_shape(self._shapes(records.shape))

    def _shape(self, shape: Shape) -> Shape:
        struct = as_struct(self._part.part.node(shape))
        assert struct is not None
        names = fields(struct)
        members: list[tuple[str, Node]] = []
        for old, new in self._renames.items():
            if self._name(new) == new and new in names and new not in self._renames:
                raise HeadraceError(
                    "transforms.field_name_twice",
                    f"renames = {old}:{new}: records of {shape.topic} have a field {new} already",
                    f"Choose another name for {old}, or exclude {new}.",
                )
        for name, node in names.items():
            renamed = self._name(name)
            if renamed is not None:
                members.append((renamed, with_defaults(node) if self._defaults else node))
        return self._part.part.in_shape(shape, rebuilt(struct, members))

    def _maps(self, _records: Records, maps: list[Mapping[str, object]]) -> list[object]:
        return [
            {renamed: value for name, value in entries.items() if (renamed := self._name(name))}
            for entries in maps
        ]


_MEANING = "Leaves out fields, keeps only some fields, or renames them."
OF_KEY = Declaration(
    "ReplaceField$Key", _MEANING, ReplaceFieldOptions, partial(ReplaceField, part=RecordPart.KEY)
)
OF_VALUE = Declaration(
    "ReplaceField$Value",
    _MEANING,
    ReplaceFieldOptions,
    partial(ReplaceField, part=RecordPart.VALUE),
    example=Example(
        {"id": 1, "name": "Ann", "secret": "s3"}, {"exclude": "secret", "renames": "id:key"}
    ),
)
