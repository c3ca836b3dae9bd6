"""Conditions in Groovy: the subset that reads a record and creates no objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from headrace.config.regex import Expression, Use, compile_java_regex, compile_java_replacement
from headrace.errors import HeadraceError
from headrace.transforms.expressions.groovy_tokens import Token, integer, tokens
from headrace.transforms.expressions.methods import METHODS, Method
from headrace.transforms.expressions.tree import (
    DEEPEST,
    VARIABLES,
    After,
    And,
    Calculation,
    Call,
    Comparison,
    Conditional,
    Contained,
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
    not_understood,
)

_CONSTANTS = {
    "true": LiteralTree(True, ScalarKind.BOOLEAN),
    "false": LiteralTree(False, ScalarKind.BOOLEAN),
    "null": LiteralTree(None, None),
}
_EQUALITY = {"==": Operator.EQUAL, "!=": Operator.NOT_EQUAL}
_ORDER = {
    "<": Operator.LESS,
    "<=": Operator.LESS_OR_EQUAL,
    ">": Operator.GREATER,
    ">=": Operator.GREATER_OR_EQUAL,
}
_NOT_READ = {"instanceof", "as", "new", "def", "if", "for", "while", "return", "assert", "import"}
_GETTERS = {"get", "getString", "getBoolean", "getStruct", "getMap", "getArray", "getBytes",
            "getInt8", "getInt16", "getInt32", "getInt64", "getFloat32", "getFloat64"}  # fmt: skip
_JAVA_PROPERTIES = ("class", "metaClass", "properties", "values")


def parse_groovy(text: str) -> Tree:
    """Return the tree of a condition.

    Raises HeadraceError("transforms.expression_not_understood") with the position of the error.
    """
    return _Parser(text).whole()


@dataclass(frozen=True)
class _Return:
    """Ends the script with a value."""

    value: Tree


@dataclass(frozen=True)
class _If:
    """An `if` statement with its branches."""

    condition: Tree
    then: tuple[_Statement, ...]
    otherwise: tuple[_Statement, ...]


_Statement = Tree | _Return | _If


def _in_order(statements: Sequence[_Statement], rest: Tree | None) -> Tree:
    """Return the value of a script that runs statements, followed by `rest` if it has not returned.
    The value of the last statement is that of the script."""
    value = rest
    for statement in reversed(statements):
        match statement:
            case _Return():
                value = statement.value
            case _If():
                then, otherwise = (
                    _in_order(branch, value) for branch in (statement.then, statement.otherwise)
                )
                value = Conditional(statement.condition, then, otherwise)
            case _:
                value = statement if value is None else After(statement, value)
    return _CONSTANTS["null"] if value is None else value


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(tokens(text))
        self.at = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def whole(self) -> Tree:
        statements = self.statements()
        if self.at < len(self.tokens) - 1:
            raise self.refuse(f"{self.shown()} is not expected")
        if not statements:
            raise self.refuse(f"a value is expected, not {self.shown()}")
        return _in_order(statements, None)

    def statements(self) -> list[_Statement]:
        """Parse the statements up to the end of the text or of the block."""
        parsed: list[_Statement] = []
        while True:
            while self.taken(";"):
                pass
            if self.at == len(self.tokens) - 1 or self.token.symbol == "}":
                return parsed
            parsed.append(self.statement())
            ends = self.token.symbol in (";", "}") or self.token.new_line
            if not ends and self.at < len(self.tokens) - 1:
                # A block ends its statement: `if (a) { b } c`.
                before = self.tokens[self.at - 1].symbol
                if not (isinstance(parsed[-1], _If) and before == "}"):
                    raise self.refuse(f"{self.shown()} is not expected")

    def statement(self) -> _Statement:
        token = self.token
        if token.name == "if":
            self.at += 1
            return self.choice()
        if token.name == "return":
            self.at += 1
            is_bare = self.token.new_line or self.token.symbol in (";", "}")
            if is_bare or self.at == len(self.tokens) - 1:
                return _Return(_CONSTANTS["null"])
            return _Return(self.expression())
        return self.expression()

    def choice(self) -> _If:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.refuse("it is nested too deeply")
        self.expect("(")
        condition = self.expression()
        self.expect(")")
        then, otherwise = self.block(), []
        before = self.at
        while self.taken(";"):
            pass
        if self.token.name == "else":
            self.at += 1
            otherwise = self.block()
        else:
            self.at = before
        self.depth -= 1
        return _If(condition, tuple(then), tuple(otherwise))

    def block(self) -> list[_Statement]:
        if not self.taken("{"):
            return [self.statement()]
        statements = self.statements()
        self.expect("}")
        return statements

    def refuse(self, reason: str, token: Token | None = None) -> HeadraceError:
        return not_understood(self.text, (token or self.token).offset, reason)

    def shown(self) -> str:
        token = self.token
        end = self.tokens[min(self.at + 1, len(self.tokens) - 1)].offset
        return self.text[token.offset : end].strip() or "the end"

    def taken(self, symbol: str) -> bool:
        if self.token.symbol != symbol:
            return False
        self.at += 1
        return True

    def expect(self, symbol: str) -> None:
        if not self.taken(symbol):
            raise self.refuse(f"{symbol} is expected, not {self.shown()}")

    def expression(self) -> Tree:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.refuse("it is nested too deeply")
        tree = self.disjunction()
        if self.taken("?"):
            then = self.expression()
            self.expect(":")
            tree = Conditional(tree, then, self.expression())
        elif self.taken("?:"):
            tree = Conditional(tree, tree, self.expression())
        self.depth -= 1
        return tree

    def disjunction(self) -> Tree:
        trees = [self.conjunction()]
        while self.taken("||"):
            trees.append(self.conjunction())
        return balanced(trees, Or)

    def conjunction(self) -> Tree:
        trees = [self.equality()]
        while self.taken("&&"):
            trees.append(self.equality())
        return balanced(trees, And)

    def equality(self) -> Tree:
        tree = self.relation()
        while True:
            symbol = self.token.symbol
            if symbol in _EQUALITY:
                self.at += 1
                tree = Comparison(_EQUALITY[symbol], tree, self.relation())
            elif symbol in ("==~", "=~"):
                self.at += 1
                tree = self.matched(tree, symbol == "==~")
            else:
                return tree

    def matched(self, tree: Tree, whole: bool) -> Tree:
        token = self.token
        pattern = self.relation()
        if not isinstance(pattern, LiteralTree) or pattern.kind is not ScalarKind.TEXT:
            raise self.refuse("an expression is expected as text, as in /a.*/", token)
        return Match(tree, self.compiled(pattern, token, whole), whole)

    def compiled(self, pattern: LiteralTree, token: Token, whole: bool) -> Expression:
        use = Use.WHOLE_TEXTS if whole else Use.TEXTS
        try:
            return compile_java_regex(str(pattern.value), case_matters=True, use=use)
        except ValueError as error:
            raise self.refuse(str(error), token) from None

    def relation(self) -> Tree:
        tree = self.sum()
        while True:
            symbol = self.token.symbol
            if symbol in _ORDER:
                self.at += 1
                tree = Comparison(_ORDER[symbol], tree, self.sum())
            elif self.token.name == "in":
                self.at += 1
                tree = self.contained(tree)
            elif symbol == "!" and self.tokens[self.at + 1].name == "in":
                self.at += 2
                tree = Not(self.contained(tree))
            elif self.token.name in ("instanceof", "as"):
                raise self.refuse(f"{self.token.name} is not supported")
            else:
                return tree

    def contained(self, item: Tree) -> Tree:
        if self.taken("["):
            options = []
            while not self.taken("]"):
                options.append(self.expression())
                if self.token.symbol != "]":
                    self.expect(",")
            return Contained(item, tuple(options))
        raise self.refuse("a list such as ['c', 'r'] is expected after in")

    def sum(self) -> Tree:
        return self.chain(("+", "-"), self.product)

    def product(self) -> Tree:
        return self.chain(("*", "%"), self.unary)

    def chain(self, symbols: tuple[str, ...], operand: Callable[[], Tree]) -> Tree:
        tree = operand()
        while self.token.symbol in symbols:
            if self.token.new_line and self.token.symbol in "+-":
                raise self.refuse("a line that begins with + or - is another statement in Groovy")
            symbol = self.token.symbol
            self.at += 1
            tree = Calculation(symbol, tree, operand())
        return tree

    def unary(self) -> Tree:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.refuse("it is nested too deeply")
        if self.taken("!"):
            tree: Tree = Not(self.unary())
        elif self.taken("-"):
            tree = _negative(self.unary())
        else:
            tree = self.postfix()
        self.depth -= 1
        return tree

    def postfix(self) -> Tree:
        tree = self.primary()
        while True:
            token = self.token
            if token.symbol in (".", "?."):
                self.at += 1
                tree = self.dotted(tree, token.symbol == "?.")
            elif token.symbol == "[" and not token.new_line:
                self.at += 1
                tree = self.indexed(tree)
            else:
                return tree

    def dotted(self, of: Tree, safe: bool) -> Tree:
        token = self.token
        if token.literal is not None and token.literal.kind is ScalarKind.TEXT:
            name = str(token.literal.value)
        elif token.name:
            name = token.name
        else:
            raise self.refuse(f"a name is expected, not {self.shown()}")
        self.at += 1
        if self.token.symbol == "(" and not self.token.new_line:
            return self.called(of, name, safe, token)
        if name in _JAVA_PROPERTIES:
            raise self.refuse(f"{name} is a property of Java's objects; write get('{name}')", token)
        return MemberAccess(of, name, safe)

    def indexed(self, of: Tree) -> Tree:
        token = self.token
        name = self.expression()
        self.expect("]")
        if not isinstance(name, LiteralTree) or name.kind is not ScalarKind.TEXT:
            raise self.refuse("a field's name as text is expected, as in value['op']", token)
        return MemberAccess(of, str(name.value))

    def called(self, of: Tree, name: str, safe: bool, token: Token) -> Tree:
        self.expect("(")
        places, arguments = [], []
        while not self.taken(")"):
            places.append(self.token)
            arguments.append(self.expression())
            if self.token.symbol != ")":
                self.expect(",")
        if name == "equals" and len(arguments) == 1:
            return Contained(of, (arguments[0],))  # an int never equals a long
        constants = []
        for place, argument in zip(places, arguments, strict=True):
            if not isinstance(argument, LiteralTree):
                raise self.refuse(f"{name} takes constants only", place)
            constants.append(argument)
        if name in _GETTERS and len(constants) == 1 and constants[0].kind is ScalarKind.TEXT:
            return MemberAccess(of, str(constants[0].value), safe, is_property=False)
        method = METHODS.get(name)
        if method is None:
            known = ", ".join(sorted([*METHODS, "equals", "get"]))
            raise self.refuse(f"{name} is not a supported method: use one of {known}", token)
        self.check(name, method, constants, token)
        if name == "matches":
            return Match(
                Call(of, "itself", safe=safe), self.compiled(constants[0], places[0], True), True
            )
        if name in ("replaceAll", "replaceFirst"):
            self.check_replacement(constants, places)
        return Call(of, name, tuple(constants), safe)

    def check_replacement(self, constants: list[LiteralTree], places: list[Token]) -> None:
        pattern = self.compiled(constants[0], places[0], False)
        try:
            compile_java_replacement(str(constants[1].value), pattern)
            pattern.require_replaceable()
        except ValueError as error:
            raise self.refuse(str(error), places[1]) from None

    def check(self, name: str, method: Method, constants: list[LiteralTree], token: Token) -> None:
        kinds = [constant.kind for constant in constants]
        if len(kinds) != method.arguments:
            raise self.refuse(f"{name} takes {method.arguments} arguments, not {len(kinds)}", token)
        if not method.any_kind and any(kind is not ScalarKind.TEXT for kind in kinds):
            raise self.refuse(f"{name} takes texts", token)

    def primary(self) -> Tree:
        token = self.token
        if token.literal is not None:
            self.at += 1
            return token.literal
        if self.taken("("):
            tree = self.expression()
            self.expect(")")
            return tree
        if token.name in _CONSTANTS:
            self.at += 1
            return _CONSTANTS[token.name]
        if token.name in VARIABLES:
            self.at += 1
            if self.token.symbol == "(":
                raise self.refuse(f"{token.name} is not a method", token)
            return Variable(token.name)
        if token.name in _NOT_READ:
            raise self.refuse(f"{token.name} is not supported")
        if token.name:
            raise self.refuse(
                f"{token.name} is not a variable; the variables are {', '.join(VARIABLES)}"
            )
        raise self.refuse(f"a value is expected, not {self.shown()}")


def _negative(tree: Tree) -> Tree:
    if isinstance(tree, LiteralTree):
        if isinstance(tree.value, Decimal):
            number = -tree.value
            return integer(int(number)) if number == -(2**63) else replace(tree, value=number)
        if tree.kind is ScalarKind.LONG and tree.value == 2**31:
            return LiteralTree(-(2**31), ScalarKind.INT)
        if isinstance(tree.value, int | float) and not isinstance(tree.value, bool):
            return replace(tree, value=-tree.value)
    return Negative(tree)
