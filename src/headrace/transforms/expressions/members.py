"""Members and elements of structs, maps, headers and schemas."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from headrace.connect.evaluation.values import carries, connect_values
from headrace.connect.records import Node, Records
from headrace.connect.schema import Schema, Type
from headrace.connect.trees import as_struct, entry, fields, member, with_defaults
from headrace.transforms.expressions.operands import (
    FieldList,
    FieldObject,
    HeaderObject,
    Headers,
    Operand,
    SchemaObject,
    Thing,
    booleans,
    chosen,
    constant,
    kind_of,
    none_of,
    of_node,
    of_thing,
)
from headrace.transforms.expressions.tree import LiteralTree, Rules, ScalarKind


def variable(records: Records, name: str) -> Operand:
    """Return the value of a variable."""
    shape, count = records.shape, len(records)
    match name:
        case "topic":
            return constant(count, ScalarKind.TEXT, shape.topic)
        case "header":
            return of_thing(count, Headers())
        case "key" | "value":
            node = shape.key if name == "key" else shape.value
            operand = of_node(records, node)
            return operand if name == "key" else operand.where(~_are_tombstones(records))
    # keySchema, valueSchema
    node = shape.key if name == "keySchema" else shape.value
    if node is None or node.schema.type is Type.ANY:
        return Operand(count)
    has_schema = ~_are_tombstones(records) if name == "valueSchema" else ~none_of(count)
    if not shape.null_has_schema:
        has_schema &= ~of_node(records, node).null
    return of_thing(count, SchemaObject(node.schema), has_schema)


def _are_tombstones(records: Records) -> np.ndarray:
    """Return which records are tombstones of the log (bool, one per record). Other records with a
    null value do not count: they may have a schema."""
    return np.asarray(records.table.rows["operation"][records.rows] == 0)


def member_of(
    records: Records, owner: Operand, name: str, rules: Rules, *, safe: bool, is_property: bool
) -> Operand:
    """Return a member of each value of `owner`; access to a member of null fails unless `safe`."""
    operand = Operand(owner.count)
    covered = owner.failed
    for mask, thing in owner.things:
        operand = chosen(mask, _member(records, thing, name, rules, is_property), operand)
        covered = covered | mask
    missing = ~covered
    if safe:
        missing = missing & ~owner.null
    operand = operand.failing_as(owner)
    return operand.failing(missing, f"the value is null or has no fields, so it has no {name}")


def _member(records: Records, thing: Thing, name: str, rules: Rules, is_property: bool) -> Operand:
    count = len(records)
    match thing:
        case SchemaObject():
            if name in ("name", "version"):
                return schema_value(count, thing.schema, name)
            return _missing(count, f"a schema has no {name}")
        case FieldObject():
            return _field_object_member(count, thing, name)
        case FieldList():
            return _missing(count, f"a list has no {name}")
        case Headers():
            return _header(records, name)
        case HeaderObject():
            if name == "value":
                return of_node(records, thing.header.node)
            if name == "key":
                return constant(count, ScalarKind.TEXT, thing.header.name)
            if name == "schema":
                return of_thing(count, SchemaObject(thing.header.node.schema))
            return _missing(count, f"a header has no {name}")
    if thing.schema.type is Type.STRUCT:
        if rules is Rules.GROOVY and is_property and name == "schema":
            return of_thing(count, SchemaObject(thing.schema))
        return _struct_field_value(records, thing, name)
    if thing.schema.type is Type.ARRAY:
        return _missing(count, f"an array has no {name}")
    operand = of_node(records, entry(thing, name))
    if thing.schema.type is Type.ANY:
        is_map = [isinstance(value, Mapping) for value in connect_values(records, thing)]
        return operand.failing(~np.array(is_map, np.bool_), f"a list has no {name}")
    return operand


def _struct_field_value(records: Records, node: Node, name: str) -> Operand:
    described = {field.name for field in node.schema.fields}
    if name not in described:
        return _missing(len(records), f"{name} is not a field of {node.schema.name or 'a struct'}")
    struct = as_struct(node)
    inner = member(node, name) if struct is None else member(struct, name)
    if struct is not None and fields(struct)[name].schema.default is not None:
        inner = with_defaults(inner)
    return of_node(records, inner)


def _missing(count: int, reason: str) -> Operand:
    return Operand(count).failing(~none_of(count), reason)


def _header(records: Records, name: str) -> Operand:
    operand = Operand(len(records))
    for header in records.shape.headers:
        if header.name == name:
            has_header = carries(records, header)
            header_object = of_thing(len(records), HeaderObject(header), has_header)
            operand = chosen(has_header, header_object, operand)
    return operand


def schema_value(count: int, schema: Schema, name: str) -> Operand:
    """A schema's name or version."""
    if name == "name":
        return constant(count, None if schema.name is None else ScalarKind.TEXT, schema.name)
    return constant(count, None if schema.version is None else ScalarKind.INT, schema.version)


def _schema_fields(
    count: int, schema: Schema, method: str, arguments: tuple[LiteralTree, ...]
) -> Operand:
    """Return the field with a name, null if it does not exist, or all fields."""
    if schema.type is not Type.STRUCT:
        return _missing(count, f"a schema of {schema.type.value} has no fields")
    if method == "fields":
        return of_thing(count, FieldList(schema.fields))
    for index, field in enumerate(schema.fields):
        if field.name == arguments[0].value:
            return of_thing(count, FieldObject(field, index))
    return Operand(count)


def _field_object_member(count: int, thing: FieldObject, name: str) -> Operand:
    match name:
        case "name":
            return constant(count, ScalarKind.TEXT, thing.field.name)
        case "index":
            return constant(count, ScalarKind.INT, thing.index)
        case "schema":
            return of_thing(count, SchemaObject(thing.field.schema))
    return _missing(count, f"a field of a schema has no {name}")


def called(
    records: Records, thing: Thing, method: str, arguments: tuple[LiteralTree, ...], rules: Rules
) -> Operand:
    """Return the result of a method of a thing, for all records."""
    count = len(records)
    match thing:
        case SchemaObject():
            if method in ("name", "version"):
                return schema_value(count, thing.schema, method)
            if method in ("field", "fields"):
                return _schema_fields(count, thing.schema, method, arguments)
        case FieldObject():
            return _field_object_member(count, thing, method)
        case FieldList():
            return _sized(method, np.full(count, len(thing.fields), np.int64), count)
        case HeaderObject():
            if method == "schema":
                return of_thing(count, SchemaObject(thing.header.node.schema))
        case Headers():
            return _of_headers(records, method, arguments)
        case _:
            if method == "schema" and thing.schema.type is Type.STRUCT:
                return of_thing(count, SchemaObject(thing.schema))
            if thing.schema.type in (Type.ARRAY, Type.MAP, Type.ANY):
                return _of_elements(records, thing, method, arguments, rules)
    return _missing(count, f"{method} is not a method of this value")


def _of_headers(records: Records, method: str, arguments: tuple[LiteralTree, ...]) -> Operand:
    count = len(records)
    by_name: dict[str, np.ndarray] = {}
    for header in records.shape.headers:
        is_carried = by_name.get(header.name, none_of(count))
        by_name[header.name] = is_carried | carries(records, header)
    if method == "containsKey":
        return booleans(by_name.get(str(arguments[0].value), none_of(count)))
    sizes = np.sum(list(by_name.values()), axis=0) if by_name else np.zeros(count, np.int64)
    return _sized(method, sizes, count)


def _of_elements(
    records: Records, node: Node, method: str, arguments: tuple[LiteralTree, ...], rules: Rules
) -> Operand:
    objects = connect_values(records, node)
    if method in ("contains", "containsKey"):
        argument = arguments[0]
        inner = node.schema.values if method == "contains" else node.schema.keys
        strict = rules is Rules.GROOVY and inner is not None and argument.kind is not None
        if strict and inner is not None and kind_of(inner) is not argument.kind:
            return booleans(none_of(len(objects)))
        wrong = Mapping if method == "contains" else list
        holds = [
            isinstance(value, list | dict)
            and any(type(e) is type(argument.value) and e == argument.value for e in value)
            for value in objects
        ]
        failed = np.array([isinstance(value, wrong) for value in objects], np.bool_)
        operand = booleans(np.array(holds, np.bool_))
        return operand.failing(failed, f"{method} is not a method of this value")
    sizes = [len(value) if isinstance(value, list | dict) else 0 for value in objects]
    return _sized(method, np.array(sizes, np.int64), len(objects))


def _sized(method: str, sizes: np.ndarray, count: int) -> Operand:
    if method == "isEmpty":
        return booleans(np.asarray(sizes == 0))
    if method == "size":
        return Operand(count, {ScalarKind.INT: pa.array(sizes.astype(np.int32))})
    return _missing(count, f"{method} is not a method of this value")
