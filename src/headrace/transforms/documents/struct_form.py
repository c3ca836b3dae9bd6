"""Documents as Connect structs: the schemas of structures, and the nodes of their leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from headrace.connect.encoding import Encoding
from headrace.connect.evaluation.columns import form_of
from headrace.connect.json_values import MAX_CELLS, Allowance
from headrace.connect.records import Column, ColumnIdentity, Constant, Node, Struct
from headrace.connect.schema import Field, Schema, Type
from headrace.debezium.naming.names import NameAdjustment, NameAdjustmentMode
from headrace.documents.bson import Kind
from headrace.documents.cells import decoder
from headrace.documents.splitting import SplitForm, Structure
from headrace.documents.types import POINTER_FIELDS, REGEX, TEXT, plain_value, scalar_type
from headrace.documents.values import SCALARS, elements_of
from headrace.errors import HeadraceError
from headrace.transforms.documents.compatibility import (
    COMPATIBLE_SCALARS,
    check_elements,
    check_field,
    check_numbered,
    one_field,
)
from headrace.transforms.path_lengths import PathLengths

_CONSTANTS = (Kind.NULL, Kind.MIN_KEY, Kind.MAX_KEY)
_CONTAINERS = (Kind.DOCUMENT, Kind.ARRAY)


class ArrayEncoding(StrEnum):
    """Handling of arrays."""

    ARRAY = "array"
    """Arrays, whose elements have the same schema."""
    DOCUMENT = "document"
    """Structs with the fields `_0`, `_1`, …"""


@dataclass(frozen=True)
class StructForm:
    """Options for converting documents to structs. `is_debezium_compatible`: like Debezium 3.6,
    including its rejections. `most_cells` is the limit for the values of an array whose elements
    have the fields of all elements."""

    arrays: ArrayEncoding = ArrayEncoding.ARRAY
    adjustment: NameAdjustmentMode = NameAdjustmentMode.NONE
    is_debezium_compatible: bool = False
    most_cells: int = MAX_CELLS

    def split_form(self, *, small_longs: bool) -> SplitForm:
        """Return the form in which values are split for it."""
        numbered = self.arrays is ArrayEncoding.DOCUMENT
        return SplitForm(small_longs, numbered, signed_seconds=self.is_debezium_compatible)

    def field(self, name: str) -> str:
        """A field's name, adjusted."""
        return NameAdjustment(fields=self.adjustment).field(name)

    @property
    def adjusts(self) -> bool:
        """Whether names are adjusted; if so, empty arrays are null."""
        return self.adjustment is not NameAdjustmentMode.NONE

    def schema_name(self, name: str) -> str:
        """Return a schema's name, with each part adjusted like a field."""
        return ".".join(map(self.field, name.split(".")))


def differing(path: str) -> HeadraceError:
    """The error of an array whose elements have no common schema."""
    return HeadraceError(
        "transforms.array_of_several_types",
        f"the array {path} has elements of different types",
        "Set array.encoding=document, or write elements of one type.",
    )


def empty_name(parent: str) -> HeadraceError:
    """The error of a field without a name."""
    return HeadraceError(
        "transforms.field_without_name",
        f"a document of {parent} has a field with an empty name, which a struct cannot have",
        "Rename the field with field.renames, or leave it out with field.exclude.list.",
    )


def one_name(parent: str | None) -> HeadraceError:
    """The error of fields with different names that become equal by the adjustment."""
    return HeadraceError(
        "transforms.field_name_twice",
        f"two fields of {parent or 'a document'} have one name after the adjustment",
        "Set field.name.adjustment.mode=avro_unicode, which keeps names distinct.",
    )


@dataclass
class Leaves:
    """Collects the nodes of a value's leaves, in their order, while its structure is walked."""

    form: StructForm
    columns: list[ColumnIdentity] = field(default_factory=list)
    lengths: PathLengths = field(default_factory=PathLengths)

    def members(
        self, structure: Structure, parent: str, *, in_array: bool = False
    ) -> dict[str, Node]:
        """Return the members of a document by their original names; undefined ones have no node."""
        nodes = {}
        for name, inner in structure.members:
            if not name:
                raise empty_name(parent)
            path = self.lengths.take(f"{parent}.{self.form.field(name)}")
            node = self.node(inner, path, in_array=in_array)
            if node is not None:
                nodes[name] = node
        return nodes

    def node(self, structure: Structure, name: str, *, in_array: bool = False) -> Node | None:
        """Return the node of a value; `name` is the name of its schema if it has one. None:
        undefined.

        `in_array`: the value is in an array whose elements are fields, in which empty documents
        have names.
        """
        kind = structure.kind
        if self.form.is_debezium_compatible:
            check_field(structure, name, in_array=in_array)
        if kind is Kind.UNDEFINED:
            return None
        if kind in _CONSTANTS:
            return Constant(scalar_type(kind), SCALARS[kind](b""))
        if kind is Kind.REGEX:
            return Struct(REGEX, (self._text(), self._text()))
        if kind is Kind.DB_POINTER:
            return self.struct(
                name, {pointer_field: self._text() for pointer_field in POINTER_FIELDS}
            )
        if kind is Kind.CODE_WITH_SCOPE:
            code = self._text()
            scope = self.struct(f"{name}.scope", self.members(structure, f"{name}.scope"))
            return self.struct(name, {"code": code, "scope": scope})
        if kind is Kind.DOCUMENT:
            members = self.members(structure, name, in_array=in_array)
            is_named = bool(structure.members) or in_array
            return self.struct(name if is_named else None, members, in_array=in_array)
        if kind is Kind.ARRAY:
            return self._array(structure, name)
        return self._column(scalar_type(kind))

    def struct(
        self,
        name: str | None,
        members: dict[str, Node],
        *,
        optional: bool = True,
        in_array: bool = False,
    ) -> Struct:
        """Return a struct with these members, whose names are adjusted.

        Raises HeadraceError("transforms.field_name_twice").
        """
        adjusted = {self.form.field(member_name): node for member_name, node in members.items()}
        if len(adjusted) < len(members):
            if not self.form.is_debezium_compatible:
                raise one_name(name)
            named = ((self.form.field(member_name), node) for member_name, node in members.items())
            adjusted = one_field(named, name, in_array=in_array)
        fields = tuple(Field(member_name, node.schema) for member_name, node in adjusted.items())
        schema = Schema(Type.STRUCT, optional=optional, name=name, fields=fields)
        return Struct(schema, tuple(adjusted.values()))

    def _array(self, structure: Structure, name: str) -> Node:
        elements = structure.elements
        if self.form.arrays is ArrayEncoding.DOCUMENT:
            if self.form.is_debezium_compatible:
                check_numbered(structure, name, self.form.adjustment)
            if not elements and self.form.adjusts:
                return Constant(Schema(Type.STRUCT, optional=True, name=name), None)
            members: dict[str, Node] = {}
            for index, element in enumerate(elements):
                path = self.lengths.take(f"{name}._{index}")
                node = self.node(element, path, in_array=True)
                if node is not None:
                    members[f"_{index}"] = node
            # These names are headrace's own, and valid in Avro.
            fields = tuple(Field(member_name, node.schema) for member_name, node in members.items())
            schema = Schema(Type.STRUCT, optional=True, name=name, fields=fields)
            return Struct(schema, tuple(members.values()))
        merging = ElementMerging(self.form, self.lengths)
        schema = merging.array(elements, name, is_outermost=True)
        if all(part.kind is Kind.STRING for part in elements) and elements:
            return self._column(schema, Encoding.BSON_TEXTS, decoder(Encoding.BSON_TEXTS))
        node = self._column(schema, Encoding.PYTHON, partial(merging.decoded, schema))
        if elements:
            return node
        return Constant(schema, None if self.form.adjusts else [])

    def _text(self) -> Column:
        return self._column(TEXT)

    def _column(
        self,
        schema: Schema,
        encoding: Encoding | None = None,
        decode: Callable[[bytes], object] | None = None,
    ) -> Column:
        parameter = 0
        if encoding is None or decode is None:
            encoding, parameter, decode = form_of(schema)
        column = Column(schema, ColumnIdentity(), encoding, parameter, decode)
        self.columns.append(column.identity)
        return column


@dataclass(frozen=True)
class ElementMerging:
    """The common schema of the elements of an array, and the conversion of their values."""

    form: StructForm
    lengths: PathLengths = field(default_factory=PathLengths)

    def array(
        self, elements: Sequence[Structure], name: str, *, is_outermost: bool = False
    ) -> Schema:
        """Return the schema of an array of these elements. Raises HeadraceError for elements
        without a common schema."""
        if not elements:
            return Schema(Type.ARRAY, optional=True, values=TEXT)
        values = self.element(elements, name, is_outermost=is_outermost)
        return Schema(Type.ARRAY, optional=True, values=values)

    def element(
        self, structures: Sequence[Structure], name: str | None, *, is_outermost: bool = False
    ) -> Schema:
        """Return the common schema of values of all these structures."""
        if self.form.is_debezium_compatible:
            check_elements(structures, name or "of arrays", is_outermost=is_outermost)
        known = [
            structure
            for structure in structures
            if structure.kind not in (Kind.NULL, Kind.UNDEFINED)
        ]
        if not self.form.is_debezium_compatible and known:
            structures = known
        kinds = {structure.kind for structure in structures}
        if kinds == {Kind.DOCUMENT}:
            return self._document(structures, name)
        if kinds == {Kind.ARRAY}:
            inner = [
                element_structure for array in structures for element_structure in array.elements
            ]
            if not inner:
                return Schema(Type.ARRAY, optional=True, values=TEXT)
            # Documents in arrays of arrays have no names.
            return (
                self.array(inner, "") if name is None or is_outermost else self.array(inner, name)
            )
        schemas = {self._scalar(structure, name) for structure in structures}
        if len(schemas) > 1:
            raise differing(name or "of arrays")
        return schemas.pop()

    def _document(self, structures: Sequence[Structure], name: str | None) -> Schema:
        members: dict[str, list[Structure]] = {}
        own_names: dict[str, str] = {}
        for structure in structures:
            for field_name, inner in structure.members:
                if not field_name:
                    raise empty_name(name or "an array")
                if inner.kind is Kind.UNDEFINED:
                    continue
                adjusted = self.form.field(field_name)
                if own_names.setdefault(adjusted, field_name) != field_name and not (
                    self.form.is_debezium_compatible
                ):
                    raise one_name(name)
                members.setdefault(adjusted, []).append(inner)
        fields = []
        for adjusted, inner_structures in members.items():
            inner_name = self.lengths.take(f"{name}.{adjusted}") if name else None
            fields.append(Field(adjusted, self._field(inner_structures, inner_name)))
        return Schema(
            Type.STRUCT,
            optional=True,
            name=(name or None) if fields else None,
            fields=tuple(fields),
        )

    def _field(self, structures: Sequence[Structure], name: str | None) -> Schema:
        """Return the schema of a field that occurs in several documents."""
        parts = [structure for structure in structures if structure.kind in _CONTAINERS]
        if parts and self.form.is_debezium_compatible:
            last = self.one(parts[-1], name)
            if any(not _is_part(self.one(part, name), last) for part in parts):
                raise differing(name or "of arrays")
            return last
        known = [
            structure for structure in structures if structure.kind is not Kind.NULL
        ] or structures
        if {structure.kind for structure in known} == {Kind.ARRAY}:
            inner = [element for array in known for element in array.elements]
            return self.array(inner, name or "", is_outermost=True)
        return self.element(structures, name)

    def one(self, structure: Structure, name: str | None) -> Schema:
        """Return the schema of one value."""
        if structure.kind is Kind.ARRAY:
            return self.array(structure.elements, name or "", is_outermost=True)
        return self.element([structure], name)

    def _scalar(self, structure: Structure, name: str | None) -> Schema:
        kind = structure.kind
        if kind in _CONTAINERS:
            raise differing(name or "of arrays")
        if kind is Kind.REGEX:
            return REGEX
        if kind is Kind.DB_POINTER:
            names = map(self.form.field, POINTER_FIELDS)
            fields = tuple(Field(field_name, TEXT) for field_name in names)
            return Schema(Type.STRUCT, optional=True, name=name or None, fields=fields)
        if kind is Kind.CODE_WITH_SCOPE:
            scope = self._document([structure], f"{name}.scope" if name else None)
            fields = (Field("code", TEXT), Field("scope", scope))
            return Schema(Type.STRUCT, optional=True, name=name or None, fields=fields)
        return scalar_type(kind)

    def decoded(self, schema: Schema, cell: bytes) -> object:
        """Return the values in an array's cell: its type byte and its bytes.

        Raises HeadraceError("connect.too_many_cells").
        """
        values = self._array_values(cell[1:], is_outermost=True)
        Allowance(self.form.most_cells, 0).take_value(schema, values)
        return values

    def _array_values(self, array: bytes, *, is_outermost: bool = False) -> list[object]:
        elements: Iterator[tuple[int, str, bytes]] = elements_of(array)
        if self.form.is_debezium_compatible and is_outermost:
            # The released format has no empty arrays within arrays.
            elements = (
                element
                for element in elements
                if element[0] != Kind.ARRAY or any(elements_of(element[2]))
            )
        return [self._value(kind, value, is_element=True) for kind, _, value in elements]

    def _value(self, kind: int, value: bytes, *, is_element: bool = False) -> object:
        if kind == Kind.ARRAY and is_element:
            return self._array_values(value)
        scalars = COMPATIBLE_SCALARS if self.form.is_debezium_compatible else SCALARS
        return plain_value(kind, value, self.form.field, self._field_values, scalars)

    def _field_values(self, array: bytes) -> list[object] | None:
        """Return the values of an array that is a field."""
        values = self._array_values(array, is_outermost=True)
        return None if not values and self.form.adjusts else values


def _is_part(schema: Schema, whole: Schema) -> bool:
    """Whether values of `schema` fit the schema `whole`."""
    if schema.type is not Type.STRUCT or whole.type is not Type.STRUCT:
        return schema == whole or (
            schema.type is Type.ARRAY and whole.type is Type.ARRAY and schema.values == TEXT
        )
    fields = {whole_field.name: whole_field.schema for whole_field in whole.fields}
    return all(
        own_field.name in fields and _is_part(own_field.schema, fields[own_field.name])
        for own_field in schema.fields
    )
