"""Functions on node trees: they find fields by path, and add, remove and rename fields.

They never change a node; the result shares the unchanged nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from headrace.connect.encoding import Encoding
from headrace.connect.records import Cell, Column, Constant, Guarded, Image, Node, Struct
from headrace.connect.schema import Field, Schema, Type


def fields(node: Node | None) -> dict[str, Node]:
    """Return the members of a struct by name, in order; empty if `node` is not a struct of
    nodes."""
    if not isinstance(node, Struct):
        return {}
    names = (field.name for field in node.schema.fields)
    return dict(zip(names, node.members, strict=True))


def select(node: Node | None, path: str) -> Node | None:
    """Return the node at a path such as `source.ts_ms`, usable at any place; None without such a
    node.

    A name may contain dots: the longest name that a struct has comes first. Nodes within a struct
    that may be null are null where the struct is null.
    """
    if node is None:
        return None
    names = path.split(".")
    for count in range(len(names), 0, -1):
        name, rest = ".".join(names[:count]), ".".join(names[count:])
        if name not in node.schema.places:
            continue
        inner = member(node, name)
        chosen = select(inner, rest) if rest else inner
        if chosen is not None:
            return chosen
    return None


def member(node: Node, name: str) -> Node:
    """Return the field `name` of a node whose schema is a struct that has it, usable at any place:
    null where `node` is null."""
    place = node.schema.places[name]
    match node:
        case Struct():
            return guarded(node.members[place], node.image, node.presence)
        case Guarded():
            return guarded(member(node.node, name), node.image, node.presence)
        case Cell() | Column() | Constant():
            return _inside(node, node.schema.fields[place].schema, name)
    raise TypeError(f"a {type(node).__name__} has no fields")


def entry(node: Node, name: str) -> Node:
    """Return the value of `name` in a map with texts as keys, or in a map without a schema; null
    where `node` is null and where the map has no such entry."""
    if isinstance(node, Guarded):
        return guarded(entry(node.node, name), node.image, node.presence)
    schema = node.schema if node.schema.values is None else node.schema.values.as_optional()
    if isinstance(node, Cell | Column | Constant):
        return _inside(node, schema, name)
    raise TypeError(f"a {type(node).__name__} has no entries")


def _inside(node: Cell | Column | Constant, schema: Schema, name: str) -> Node:
    """Return a part of values that are mappings."""
    if isinstance(node, Constant):
        return Constant(schema, _member_of(node.value, name))
    inner = replace(
        node,
        schema=schema,
        encoding=Encoding.PYTHON,
        parameter=0,
        decode=_member_decoder(node.decode, name),
        null=_member_of(node.null, name),
    )
    if isinstance(inner, Column):
        return inner
    return replace(inner, unavailable=_member_of(inner.unavailable, name))


def _member_of(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else None


def _member_decoder(decode: Callable[[bytes], object], name: str) -> Callable[[bytes], object]:
    return lambda raw: _member_of(decode(raw), name)


def guarded(node: Node, image: Image | None, presence: Cell | Column | None = None) -> Node:
    """Return `node`, null where the row lacks `image` or `presence` is null."""
    if isinstance(node, Cell) and image is not None and node.image is image:
        image = None  # a cell without its image is null anyway
    if image is None and presence is None:
        return node
    if isinstance(node, Guarded) and (node.image, node.presence) == (image, presence):
        return node
    return Guarded(node, image, presence)


def path_to(tree: Node, leaf: Node) -> str | None:
    """Return the path to a node of a tree: names joined by dots; None: the tree does not contain
    it."""
    if tree is leaf:
        return ""
    if isinstance(tree, Guarded):
        return path_to(tree.node, leaf)
    for name, inner in fields(tree).items():
        rest = path_to(inner, leaf)
        if rest is not None:
            return f"{name}.{rest}" if rest else name
    return None


def is_optional(node: Node) -> bool:
    """Return whether the node's schema allows null."""
    return node.schema.optional


def with_schema(node: Node, schema: Schema) -> Node:
    """Return the same values with another schema of the same type: its name, version, optionality,
    default, documentation and parameters."""
    if isinstance(node, Guarded):
        return replace(node, node=with_schema(node.node, schema))
    if node.schema == schema:
        return node
    return replace(node, schema=schema)


def with_fields(struct: Struct, members: Mapping[str, Node]) -> Struct:
    """Return the struct with exactly these members, in this order."""
    described = tuple(Field(name, node.schema) for name, node in members.items())
    schema = replace(struct.schema, fields=described)
    return replace(struct, schema=schema, members=tuple(members.values()))


def with_added(struct: Struct, members: Mapping[str, Node]) -> Struct:
    """Return the struct with more members after its own; a member of an equal name is replaced in
    its place."""
    return with_fields(struct, {**fields(struct), **members})


def renamed(struct: Struct, rename: Callable[[str], str | None]) -> Struct:
    """Return the struct with its members renamed by `rename`; None removes one. Of two that get one
    name the last one stays, at the place of the first."""
    members: dict[str, Node] = {}
    for name, node in fields(struct).items():
        renamed_to = rename(name)
        if renamed_to is not None:
            members[renamed_to] = node
    return with_fields(struct, members)


def as_struct(node: Node | None) -> Struct | None:
    """Return `node` as a struct of nodes: one that is a struct in a cell or a constant gets its
    fields as members. None if it is not a struct."""
    match node:
        case Struct():
            return node
        case Guarded():
            inner = as_struct(node.node)
            if inner is None:
                return None
            # Where the outer guard is null, the inner one is null, too.
            image = node.image if inner.image is None else inner.image
            presence = node.presence if inner.presence is None else inner.presence
            return replace(inner, image=image, presence=presence)
        case Cell() | Column() if node.schema.type is Type.STRUCT:
            described = node.schema.fields
            members = tuple(member(node, field.name) for field in described)
            return Struct(node.schema, members, presence=node)
        case Constant() if node.schema.type is Type.STRUCT and node.value is not None:
            described = node.schema.fields
            return Struct(node.schema, tuple(member(node, field.name) for field in described))
    return None


def in_image(node: Node, image: Image) -> Node:
    """Return the tree with its cells and structs read from another image of the row."""
    match node:
        case Cell():
            return replace(node, image=image)
        case Struct():
            members = tuple(in_image(inner, image) for inner in node.members)
            struct_image = None if node.image is None else image
            return replace(node, members=members, image=struct_image)
        case Guarded():
            struct_image = None if node.image is None else image
            return replace(node, node=in_image(node.node, image), image=struct_image)
    return node


def with_defaults(node: Node) -> Node:
    """Return the values with the schema's default in place of null; where a struct around them is
    null they stay null."""
    default = node.schema.default
    if default is None:
        return node
    match node:
        case Cell() | Column() if node.null is None:
            return replace(node, null=default)
        case Constant() if node.value is None:
            return replace(node, value=default)
        case Guarded():
            return replace(node, node=with_defaults(node.node))
    return node
