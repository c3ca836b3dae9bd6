"""Conditions in Python's syntax: read into a tree, never run."""

from __future__ import annotations

import ast
import math
import warnings

from headrace.errors import HeadraceError
from headrace.transforms.expressions.tree import (
    VARIABLES,
    And,
    Calculation,
    Call,
    Comparison,
    Conditional,
    Contained,
    IsNull,
    LiteralTree,
    MemberAccess,
    Negative,
    Not,
    Operator,
    ScalarKind,
    Tree,
    Variable,
    balanced,
    decimal_literal,
    not_understood,
    text_literal,
)

_OPERATORS: dict[type[ast.cmpop], Operator] = {
    ast.Eq: Operator.EQUAL,
    ast.NotEq: Operator.NOT_EQUAL,
    ast.Lt: Operator.LESS,
    ast.LtE: Operator.LESS_OR_EQUAL,
    ast.Gt: Operator.GREATER,
    ast.GtE: Operator.GREATER_OR_EQUAL,
}
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Mod: "%",
}
_OTHER_OPERATORS: dict[type[ast.AST], str] = {
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.UAdd: "+",
    ast.Invert: "~",
}
_METHODS = {
    "startswith": ("startsWith", 1),
    "endswith": ("endsWith", 1),
    "upper": ("toUpperCase", 0),
    "lower": ("toLowerCase", 0),
    "replace": ("replace", 2),
    "name": ("name", 0),
    "version": ("version", 0),
}


def parse_python(text: str) -> Tree:
    """Return the tree of a condition.

    Raises HeadraceError("transforms.expression_not_understood") with the position of the error.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            parsed = ast.parse(text, mode="eval")
        return _PythonTranslation(text).tree(parsed.body)
    except SyntaxError as error:
        line, column = error.lineno or 1, error.offset or 1
        before = "".join(text.splitlines(keepends=True)[: line - 1])
        # Python's offset is 0 at the end of the text.
        offset = min(len(before) + column - 1, len(text)) if error.offset else len(text)
        raise not_understood(text, offset, error.msg) from None
    except (RecursionError, MemoryError, ValueError) as error:
        raise not_understood(text, 0, str(error) or "it is nested too deeply") from None


class _PythonTranslation:
    def __init__(self, text: str) -> None:
        self.text = text

    def refuse(self, node: ast.expr, reason: str) -> HeadraceError:
        return not_understood(self.text, self.offset(node.lineno, node.col_offset), reason)

    def offset(self, line: int, column: int) -> int:
        """Return the place in the text of a line and a column of `ast`, which counts bytes."""
        lines = self.text.splitlines(keepends=True)
        before = lines[line - 1].encode()[:column].decode()
        return sum(map(len, lines[: line - 1])) + len(before)

    def refuse_operator(self, node: ast.BinOp | ast.UnaryOp) -> HeadraceError:
        sign = _OTHER_OPERATORS[type(node.op)]
        operand = node.right if isinstance(node, ast.BinOp) else node.operand
        end = self.offset(operand.lineno, operand.col_offset)
        return not_understood(
            self.text, self.text.rfind(sign, 0, end), f"the operator {sign} is not supported"
        )

    def tree(self, node: ast.expr) -> Tree:
        match node:
            case ast.Constant():
                return self.constant(node)
            case ast.Name(id=name):
                if name not in VARIABLES:
                    raise self.refuse(
                        node, f"{name} is not a variable; the variables are {', '.join(VARIABLES)}"
                    )
                return Variable(name)
            case ast.Attribute(value=of, attr=name):
                return MemberAccess(self.tree(of), name)
            case ast.Subscript(value=of, slice=ast.Constant(value=str(name))):
                return MemberAccess(self.tree(of), name, is_property=False)
            case ast.BoolOp(op=op, values=values):
                return self.junction(op, [self.tree(value) for value in values])
            case ast.UnaryOp(op=ast.Not(), operand=of):
                return Not(self.tree(of))
            case ast.UnaryOp(op=ast.USub(), operand=of):
                return self.negative(self.tree(of))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return Conditional(self.tree(test), self.tree(body), self.tree(orelse))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                return Calculation(_ARITHMETIC[type(op)], self.tree(left), self.tree(right))
            case ast.Compare():
                return self.comparison(node)
            case ast.Call():
                return self.call(node)
            case ast.BinOp() | ast.UnaryOp():
                raise self.refuse_operator(node)
        raise self.refuse(node, f"this kind of expression ({type(node).__name__}) is not supported")

    def constant(self, node: ast.Constant) -> LiteralTree:
        value = node.value
        try:
            match value:
                case None:
                    return LiteralTree(None, None)
                case bool():
                    return LiteralTree(value, ScalarKind.BOOLEAN)
                case int():
                    if -(2**63) <= value < 2**63:
                        return LiteralTree(value, ScalarKind.LONG)
                    return decimal_literal(str(value))
                case float():
                    segment = ast.get_source_segment(self.text, node) or repr(value)
                    if (math.isfinite(value) and 1e-30 < abs(value) < 1e30) or value == 0:
                        return decimal_literal(segment.replace("_", ""))
                    return LiteralTree(value, ScalarKind.DOUBLE)
                case str():
                    return text_literal(value)
        except ValueError as error:
            raise self.refuse(node, str(error)) from None
        raise self.refuse(node, f"constants of the type {type(value).__name__} are not supported")

    def junction(self, op: ast.boolop, trees: list[Tree]) -> Tree:
        """Return the tree of `and` or `or`, whose value is one of their operands."""
        if isinstance(op, ast.And):
            return balanced(trees, lambda left, right: Conditional(left, right, left))
        return balanced(trees, lambda left, right: Conditional(left, left, right))

    def negative(self, tree: Tree) -> Tree:
        if isinstance(tree, LiteralTree) and tree.kind in (
            ScalarKind.LONG,
            ScalarKind.DECIMAL,
            ScalarKind.DOUBLE,
        ):
            return LiteralTree(-tree.value, tree.kind)  # type: ignore[operator]
        return Negative(tree)

    def comparison(self, node: ast.Compare) -> Tree:
        left, chain = node.left, None
        left_operand = self.tree(left)
        for op, right in zip(node.ops, node.comparators, strict=True):
            other = self.operand(op, right)
            step = self.compared(node, left_operand, op, right, other)
            chain = step if chain is None else And(chain, step)
            if other is not None:
                left_operand = other
        assert chain is not None
        return chain

    def operand(self, op: ast.cmpop, right: ast.expr) -> Tree | None:
        is_list = isinstance(op, ast.In | ast.NotIn) and isinstance(
            right, ast.List | ast.Tuple | ast.Set
        )
        return None if is_list else self.tree(right)

    def compared(
        self, node: ast.Compare, left: Tree, op: ast.cmpop, right: ast.expr, other: Tree | None
    ) -> Tree:
        if other is not None and type(op) in _OPERATORS:
            return Comparison(_OPERATORS[type(op)], left, other)
        if isinstance(op, ast.Is | ast.IsNot):
            if not isinstance(other, LiteralTree) or other.kind is not None:
                raise self.refuse(right, "`is` can only compare with None")
            return IsNull(left) if isinstance(op, ast.Is) else Not(IsNull(left))
        if len(node.ops) > 1:
            raise self.refuse(right, "in cannot be used in a chain of comparisons")
        if isinstance(right, ast.List | ast.Tuple | ast.Set):
            inside: Tree = Contained(left, tuple(map(self.tree, right.elts)))
        elif isinstance(left, LiteralTree) and other is not None:
            inside = Call(other, "contains", (left,))
        else:
            raise self.refuse(
                right, "a list of values is expected after in, or a constant before it"
            )
        return inside if isinstance(op, ast.In) else Not(inside)

    def call(self, node: ast.Call) -> Tree:
        if node.keywords:
            raise self.refuse(node, "named arguments are not supported")
        if isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
            return Call(self.tree(node.args[0]), "size")
        if not isinstance(node.func, ast.Attribute):
            raise self.refuse(node, "len is the only function")
        name, of = node.func.attr, self.tree(node.func.value)
        arguments = [self.tree(argument) for argument in node.args]
        literals = [argument for argument in arguments if isinstance(argument, LiteralTree)]
        if len(literals) < len(arguments) or any(
            literal.kind is not ScalarKind.TEXT for literal in literals
        ):
            raise self.refuse(node, f"the arguments of {name} must be string literals")
        if name == "get" and len(literals) == 1:
            return MemberAccess(of, str(literals[0].value), is_property=False)
        if name not in _METHODS or len(literals) != _METHODS[name][1]:
            known = ", ".join(sorted([*_METHODS, "get"]))
            raise self.refuse(
                node, f"{name} with {len(literals)} texts is not supported: use one of {known}"
            )
        return Call(of, _METHODS[name][0], tuple(literals))
