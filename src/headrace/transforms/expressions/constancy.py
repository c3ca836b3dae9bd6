"""Conditions that can be decided without values: the parts that are equal for all records of a
shape."""

from __future__ import annotations

from headrace.connect.records import Constant, Node, Records, Shape, Struct
from headrace.connect.trees import as_struct, fields
from headrace.transforms.expressions.evaluation import TreeEvaluation
from headrace.transforms.expressions.operands import true
from headrace.transforms.expressions.tree import (
    And,
    MemberAccess,
    Not,
    Or,
    Rules,
    ScalarKind,
    Tree,
    Variable,
    children,
)


def is_never_true(tree: Tree, records: Records, rules: Rules) -> bool:
    """Whether a condition cannot hold for records of this shape, whatever their values are."""
    return _decided(tree, records, rules) is False


def _decided(tree: Tree, records: Records, rules: Rules) -> bool | None:
    """Return the result of the condition for all records of this shape; None if it depends on
    values, or fails."""
    match tree:
        case Not():
            inner = _decided(tree.of, records, rules)
            return None if inner is None else not inner
        case And() | Or():
            sides = {_decided(side, records, rules) for side in (tree.left, tree.right)}
            deciding = isinstance(tree, Or)
            if deciding in sides:
                return deciding
            return None if None in sides else not deciding
    if not is_constant(tree, records.shape):
        return None
    operand = TreeEvaluation(records, rules).of(tree)
    array = operand.scalars.get(ScalarKind.BOOLEAN)
    if array is None or operand.failure is not None or operand.null.any():
        return None
    return bool(true(array).all())


def is_constant(tree: Tree, shape: Shape) -> bool:
    """Whether a tree has one value for all records of the shape."""
    waiting, visited = [tree], set()
    while waiting:
        node = waiting.pop()
        if id(node) in visited:  # a tree may occur in several places
            continue
        visited.add(id(node))
        match node:
            case Variable(name="topic"):
                continue
            case Variable():
                return False
            case MemberAccess():
                if not isinstance(_node(node, shape), Constant):
                    return False
            case _:
                waiting += children(node)
    return True


def _node(tree: Tree, shape: Shape) -> Node | None:
    """The node that a variable or one of its members shows; None if it depends on records."""
    match tree:
        case Variable(name="value"):
            return shape.value
        case Variable(name="key"):
            return shape.key
        case MemberAccess():
            struct = as_struct(_node(tree.of, shape))
            # The members of a struct that may be null depend on records.
            if isinstance(struct, Struct) and struct.image is None and struct.presence is None:
                return fields(struct).get(tree.name)
    return None
