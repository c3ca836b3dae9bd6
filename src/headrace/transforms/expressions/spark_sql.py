"""Conditions in Spark's SQL: read into a tree, never run."""

from __future__ import annotations

import re
from typing import Any

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from headrace.config.regex import Use, compile_java_regex, compile_like
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
    Match,
    MemberAccess,
    Negative,
    Not,
    Operator,
    Or,
    ScalarKind,
    Tree,
    Variable,
    balanced,
    decimal_literal,
    not_understood,
    text_literal,
)

_OPERATORS: dict[type[exp.Expression], Operator] = {
    exp.EQ: Operator.EQUAL,
    exp.NEQ: Operator.NOT_EQUAL,
    exp.LT: Operator.LESS,
    exp.LTE: Operator.LESS_OR_EQUAL,
    exp.GT: Operator.GREATER,
    exp.GTE: Operator.GREATER_OR_EQUAL,
}
_ARITHMETIC: dict[type[exp.Expression], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Mod: "%",
    exp.DPipe: "||",
}
_OTHER_OPERATORS: dict[type[exp.Expression], str] = {
    exp.Div: "/",
    exp.NullSafeEQ: "<=>",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.BitwiseNot: "~",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
}
_FUNCTIONS: dict[type[exp.Expression], str] = {
    exp.Lower: "toLowerCase",
    exp.Upper: "toUpperCase",
    exp.StartsWith: "startsWith",
    exp.EndsWith: "endsWith",
    exp.Contains: "contains",
}


_OPERATOR_WORDS = {
    "and", "or", "not", "in", "is", "null", "true", "false", "between", "like", "rlike", "regexp",
    "case", "when", "then", "else", "end", "escape",
}  # fmt: skip
_CALLED_WORDS = {
    "lower", "lcase", "upper", "ucase", "startswith", "endswith", "contains", "coalesce", "nvl",
    "ifnull", "concat", "if", "iff", "regexp_like",
}  # fmt: skip
_WORDS = _OPERATOR_WORDS | _CALLED_WORDS
"""Words that are allowed in addition to variables and the names of fields."""


def _check_words(text: str) -> None:
    """Reject words that no condition contains, before parsing: the parser takes extremely long for
    some of them if nested (`struct(struct(…`)."""
    tokens = sqlglot.tokenize(text, read="spark")
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        is_word = token.token_type is TokenType.VAR or token.text.isidentifier()
        is_quoted = token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
        if not is_word or is_quoted or (before and before.token_type is TokenType.DOT):
            continue
        if token.text in VARIABLES or token.text.lower() in _WORDS:
            continue
        is_called = after is not None and after.token_type is TokenType.L_PAREN
        reason = f"{token.text} is not a variable; the variables are {', '.join(VARIABLES)}"
        if is_called or token.token_type is not TokenType.VAR:
            reason = f"{token.text.upper()} is not supported"
        raise not_understood(text, token.start, reason)


def parse_spark_sql(text: str) -> Tree:
    """Return the tree of a condition.

    Raises HeadraceError("transforms.expression_not_understood") with the position of the error.
    """
    try:
        _check_words(text)
        parsed = sqlglot.parse(text, read="spark")
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        before = "".join(text.splitlines(keepends=True)[: int(first.get("line") or 1) - 1])
        end = len(before) + int(first.get("col") or 1)
        word = str(first.get("highlight") or "")
        reason = str(first.get("description") or "it is not an expression")
        raise not_understood(text, max(0, min(end - len(word), len(text))), reason) from None
    except (SqlglotError, RecursionError) as error:
        raise not_understood(
            text, 0, str(error).split("\n")[0] or "it is nested too deeply"
        ) from None
    if len(parsed) != 1 or parsed[0] is None:
        raise not_understood(text, 0, "one expression is expected")
    try:
        return _SqlTranslation(text).tree(parsed[0])
    except RecursionError:
        raise not_understood(text, 0, "it is nested too deeply") from None


class _SqlTranslation:
    def __init__(self, text: str) -> None:
        self.text = text

    def refuse(self, node: exp.Expression, reason: str) -> HeadraceError:
        return not_understood(self.text, self.start(node, 0), reason)

    def start(self, node: exp.Expression, default: int) -> int:
        """Return the place in the text of the first name or constant of a node."""
        starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
        return min(starts, default=default)

    def refuse_operator(self, node: exp.Expression) -> HeadraceError:
        sign = _OTHER_OPERATORS[type(node)]
        operand = node.this if isinstance(node, exp.Unary) else node.expression
        place = self.text.rfind(sign, 0, self.start(operand, len(self.text)))
        return not_understood(self.text, max(place, 0), f"the operator {sign} is not supported")

    def tree(self, node: Any) -> Tree:
        kind = type(node)
        if kind in _OPERATORS:
            return Comparison(_OPERATORS[kind], self.tree(node.this), self.tree(node.expression))
        if kind in _ARITHMETIC:
            return Calculation(_ARITHMETIC[kind], self.tree(node.this), self.tree(node.expression))
        if kind in _FUNCTIONS:
            arguments = () if node.expression is None else (self.literal(node.expression),)
            return Call(self.tree(node.this), _FUNCTIONS[kind], arguments)
        match node:
            case exp.Paren():
                return self.tree(node.this)
            case exp.Column():
                return self.column(node)
            case exp.Dot():
                return MemberAccess(self.tree(node.this), node.expression.name)
            case exp.Bracket():
                return self.indexed(node)
            case exp.Literal() | exp.Boolean() | exp.Null():
                return self.constant(node)
            case exp.Neg():
                return _negative(self.tree(node.this))
            case exp.And():
                return balanced(self.each(node), And)
            case exp.Or():
                return balanced(self.each(node), Or)
            case exp.Not():
                return Not(self.tree(node.this))
            case exp.If():
                return self.conditional(node.this, node.args["true"], node.args.get("false"))
        return self.predicate(node)

    def each(self, node: exp.And | exp.Or) -> list[Tree]:
        """Return the operands of a chain of AND or of OR."""
        return [self.tree(operand) for operand in node.flatten()]

    def predicate(self, node: Any) -> Tree:
        match node:
            case exp.Is() if isinstance(node.expression, exp.Null):
                return IsNull(self.tree(node.this))
            case exp.In() if node.expressions:
                return Contained(self.tree(node.this), tuple(map(self.tree, node.expressions)))
            case exp.Between():
                item = self.tree(node.this)
                low, high = self.tree(node.args["low"]), self.tree(node.args["high"])
                return And(
                    Comparison(Operator.GREATER_OR_EQUAL, item, low),
                    Comparison(Operator.LESS_OR_EQUAL, item, high),
                )
            case exp.Like():
                pattern = str(self.literal(node.expression).value)
                return Match(self.tree(node.this), compile_like(pattern), True)
            case exp.RegexpLike():
                return self.matched(node)
            case exp.Case():
                return self.case(node)
            case exp.Coalesce():
                coalesced = (
                    LiteralTree(None, None)
                    if not node.expressions
                    else self.tree(node.expressions[-1])
                )
                for argument in reversed([node.this, *node.expressions[:-1]]):
                    operand = self.tree(argument)
                    coalesced = Conditional(IsNull(operand), coalesced, operand)
                return coalesced
            case exp.Concat():
                first, *others = map(self.tree, node.expressions)
                for other in others:
                    first = Calculation("||", first, other)
                return first
        if type(node) in _OTHER_OPERATORS:
            raise self.refuse_operator(node)
        raise self.refuse(node, f"this kind of expression ({node.key.upper()}) is not supported")

    def column(self, node: exp.Column) -> Tree:
        first, *names = [part.name for part in node.parts]
        if first not in VARIABLES:
            raise self.refuse(
                node, f"{first} is not a variable; the variables are {', '.join(VARIABLES)}"
            )
        member: Tree = Variable(first)
        for name in names:
            member = MemberAccess(member, name)
        return member

    def indexed(self, node: exp.Bracket) -> Tree:
        if len(node.expressions) != 1:
            raise self.refuse(node, "one name is expected between brackets")
        return MemberAccess(self.tree(node.this), str(self.literal(node.expressions[0]).value))

    def literal(self, node: exp.Expression) -> LiteralTree:
        """A constant text."""
        if not isinstance(node, exp.Literal) or not node.is_string:
            raise self.refuse(node, "a constant text is expected")
        return self.constant(node)

    def constant(self, node: exp.Expression) -> LiteralTree:
        if isinstance(node, exp.Null):
            return LiteralTree(None, None)
        if isinstance(node, exp.Boolean):
            return LiteralTree(bool(node.this), ScalarKind.BOOLEAN)
        try:
            if node.is_string:
                return text_literal(node.name)
            if re.fullmatch(r"\d{1,19}", node.name) and int(node.name) < 2**63:
                return LiteralTree(int(node.name), ScalarKind.LONG)
            if "e" in node.name.lower():
                return LiteralTree(float(node.name), ScalarKind.DOUBLE)
            return decimal_literal(node.name)
        except ValueError as error:
            raise self.refuse(node, str(error)) from None

    def matched(self, node: exp.Expression) -> Tree:
        pattern = str(self.literal(node.expression).value)
        try:
            compiled = compile_java_regex(pattern, case_matters=True, use=Use.TEXTS)
        except ValueError as error:
            raise self.refuse(node, str(error)) from None
        return Match(self.tree(node.this), compiled, False)

    def case(self, node: exp.Case) -> Tree:
        result: Tree = LiteralTree(None, None)
        if node.args.get("default") is not None:
            result = self.tree(node.args["default"])
        subject = None if node.this is None else self.tree(node.this)
        for branch in reversed(node.args["ifs"]):
            test = self.tree(branch.this)
            if subject is not None:
                test = Comparison(Operator.EQUAL, subject, test)
            result = Conditional(test, self.tree(branch.args["true"]), result)
        return result

    def conditional(
        self, test: exp.Expression, then: exp.Expression, otherwise: exp.Expression | None
    ) -> Tree:
        other = LiteralTree(None, None) if otherwise is None else self.tree(otherwise)
        return Conditional(self.tree(test), self.tree(then), other)


def _negative(tree: Tree) -> Tree:
    if isinstance(tree, LiteralTree) and tree.kind in (
        ScalarKind.LONG,
        ScalarKind.DECIMAL,
        ScalarKind.DOUBLE,
    ):
        return LiteralTree(-tree.value, tree.kind)  # type: ignore[operator]
    return Negative(tree)
