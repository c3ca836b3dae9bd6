"""The reference page of errors, from the places in the sources that raise them.

The package's modules are parsed for every call that makes an error or a finding of a check: its
code, its message and its remedy. Words in capitals stand for values that are known only at run
time.
"""

from __future__ import annotations

import ast
import difflib
import gc
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import headrace
from headrace.cli.describe.placeholders import (
    BEGIN,
    END,
    filled,
    in_template,
    is_word,
    marked,
    unmarked,
    variable_of,
    word_of,
)
from headrace.errors import HeadraceError

SOURCES = Path(headrace.__file__).parent
_STAND_INS = "headrace_demo"
"""A package of another distribution, which is parsed if it is installed."""

_HEAD = """# Errors and warnings

Generated from the sources by `headrace describe errors --markdown`.

Every error has a code, a message and a remedy. The command line prints all three and ends with
status 1; in Python `HeadraceError` has `code`, `message` and `remedy`, and `headrace.error(query)`
returns the error that ended a query. Codes are stable; their first part says where an error comes
from. The list also contains the findings of `headrace check`, and warnings of a configuration.

Words in capitals are values that are known only at run time; `CONNECTOR` in a code is the name of
the connector. If the message is empty here, the error has the message of the server.
"""
_CODE = re.compile(r"[a-zA-Z][a-zA-Z_0-9]*(?:\.[a-z_0-9]+)+")
_STATEMENT = re.compile(r"(?:ALTER|CREATE|GRANT|DROP|CALL|SELECT|SET) [A-Z]")
_ANY_MESSAGE = "The text of the server, or of the component that failed."
_ANY_REMEDY = "The error has the statement or the value that corrects it."
_WORD = re.compile(r"[a-z_0-9]+")
_PLACE = re.compile(r"(?<!\$)\{([a-z_]+)\}")
"""A placeholder of a text that is formatted at run time."""
_FILLED = {"user": "DATABASE_USER"}
_LEVELS = ("ok", "warning", "error")


@dataclass(frozen=True, order=True)
class Reported:
    """A form in which a code is reported. `place` is the module and the line."""

    code: str
    message: str
    remedy: str
    place: str


@dataclass(frozen=True)
class _Form:
    """The positions of a call's arguments: the code, the message (None: the server's message) and
    the remedy."""

    message: int | None
    remedy: int
    code: int = 0


_FORMS = {
    "HeadraceError": _Form(1, 2),
    "PropertyFinding": _Form(2, 3),
    "Finding": _Form(2, 3),
    "add": _Form(2, 3),
    "problem": _Form(2, 3),
    "warn": _Form(1, 2),
    "refuse": _Form(1, 2),
    "foresee": _Form(1, 2),
    "error": _Form(1, 2),
    "Wording": _Form(1, 2),
    "Refusal": _Form(None, 1),
}
_OF_CONNECTOR = ("warn", "refuse", "foresee", "Wording", "Refusal")
"""Calls whose codes do not have the connector's name."""

_METHODS = ("warn", "refuse", "foresee", "error")


def reference(names: Sequence[str] = ()) -> str:
    """Return the page; with `names`, which are codes or first parts of codes, only of these. Raises
    HeadraceError("describe.unknown_code")."""
    parts = [_HEAD] if not names else []
    area = ""
    row_of = ""
    for reported in forms_of(names):
        code, message, remedy = reported.code, reported.message, reported.remedy
        if code.partition(".")[0] != area:
            area = code.partition(".")[0]
            parts.append(f"\n## {area}\n\n| Code | Message | Remedy |\n|---|---|---|\n")
        name = f"`{code}`" if code != row_of else ""
        row_of = code
        cells = name, _cell(message, _ANY_MESSAGE), _cell(remedy, _ANY_REMEDY)
        parts.append(f"| {' | '.join(cells)} |\n")
    return "".join(parts).lstrip("\n")


def forms_of(names: Sequence[str]) -> Sequence[Reported]:
    """Return the different messages and remedies of codes, in order; of all codes without `names`.
    Raises HeadraceError as `reference`."""
    chosen = reported_forms() if not names else [form for name in names for form in _named(name)]
    return sorted({replace(form, place="") for form in chosen})


def _named(name: str) -> Sequence[Reported]:
    """Return the forms in which a code is reported, or those of all codes of an area. A connector's
    name may be used in place of CONNECTOR."""
    lowered = name.lower()
    chosen = [
        form for form in reported_forms() if lowered in (form.code, form.code.partition(".")[0])
    ]
    if "." in lowered:
        of_connectors = f"CONNECTOR.{lowered.partition('.')[2]}"
        chosen += [form for form in reported_forms() if form.code == of_connectors]
    if chosen:
        return chosen
    near = difflib.get_close_matches(lowered, sorted(codes()), n=3)
    raise HeadraceError(
        "describe.unknown_code",
        f"{name} is not the code of an error"
        + (f"; did you mean {' or '.join(near)}?" if near else ""),
        f"headrace describe errors {near[0]}"
        if near
        else "`headrace describe errors` lists all of them.",
    )


def codes() -> frozenset[str]:
    """Return all codes of the page."""
    return frozenset(form.code for form in reported_forms())


@cache
def reported_forms() -> tuple[Reported, ...]:
    """Return every error and finding of the sources."""
    return tuple(
        replace(reported, message=unmarked(reported.message), remedy=unmarked(reported.remedy))
        for reported in with_marks()
    )


@cache
def with_marks() -> tuple[Reported, ...]:
    """Return them as `reported_forms`, with each placeholder word between `BEGIN` and `END` of
    `placeholders`."""
    return tuple(form for module in _modules() for form in module.reported_forms())


def passed_on() -> frozenset[str]:
    """Return the places that make an error whose code is another error's, or a parameter."""
    return frozenset(place for module in _modules() for place in module.passed_on())


@contextmanager
def _without_collector() -> Iterator[None]:
    """Suspend the garbage collector: syntax trees are millions of objects that stay, and scanning
    them takes as long as making them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@cache
@_without_collector()
def _modules() -> tuple[_Module, ...]:
    roots = [SOURCES]
    if (stand_ins := find_spec(_STAND_INS)) is not None and stand_ins.origin is not None:
        roots.append(Path(stand_ins.origin).parent)
    root_of = {path: root for root in roots for path in sorted(root.rglob("*.py"))}
    texts = {path: path.read_text() for path in root_of}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    dotted = {path: _dotted(path.relative_to(root.parent)) for path, root in root_of.items()}
    constants = {dotted[path]: _constants(tree) for path, tree in trees.items()}
    purposes = {
        name: {
            keyword.arg or "": str(ast.literal_eval(keyword.value)) for keyword in value.keywords
        }
        for tree in trees.values()
        for name, value in _assigned(tree.body)
        if isinstance(value, ast.Call) and _name_of(value.func) == "Purpose"
    }
    return tuple(
        _Module(
            path.relative_to(root_of[path]), tree, _known(tree, dotted[path], constants), purposes
        )
        for path, tree in trees.items()
        if any(f"{form}(" in texts[path] for form in _FORMS)
    )


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _constants(tree: ast.Module) -> Mapping[str, str]:
    """Return the texts and whole numbers that a module and its classes define as constants."""
    bodies = [("", tree.body)]
    bodies += [
        (f"{statement.name}.", statement.body)
        for statement in tree.body
        if isinstance(statement, ast.ClassDef)
    ]
    return {
        owner + name: str(value.value)
        for owner, body in bodies
        for name, value in _assigned(body)
        if isinstance(value, ast.Constant) and type(value.value) in (str, int)
    }


def _known(
    tree: ast.Module, module: str, constants: Mapping[str, Mapping[str, str]]
) -> Mapping[str, str]:
    """Return the constants that a module defines or imports."""
    imported = {
        (alias.asname or alias.name) + name.removeprefix(alias.name): text
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module in constants
        for alias in node.names
        for name, text in constants[node.module].items()
        if name.partition(".")[0] == alias.name
    }
    return {**imported, **constants[module]}


class _Module:
    """The errors of one module. `constants` are those that it names or imports, `purposes` what
    Kafka's clients are for, by name: the first part of their codes (`area`), and words of their
    messages."""

    def __init__(
        self,
        path: Path,
        tree: ast.Module,
        constants: Mapping[str, str],
        purposes: Mapping[str, Mapping[str, str]],
    ) -> None:
        self._path = path
        self._constants = constants
        self._purposes = purposes
        self._calls = list(_calls(tree))
        self._returned = {
            function.name: [
                node.value for node in ast.walk(function) if isinstance(node, ast.Return)
            ]
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef)
            and isinstance(function.returns, ast.Name)
            and function.returns.id == "str"
        }

    def reported_forms(self) -> Iterator[Reported]:
        for call, scope in self._calls:
            form = _FORMS[_name_of(call.func)]
            if not self._is_reported(call, form):
                continue
            locals_ = dict(_assigned(scope))
            message = "" if form.message is None else self._argument(call, form.message, locals_)
            if _name_of(call.func) == "Wording":
                message = f"SERVER {message}"
            remedy = self._argument(call, form.remedy, locals_)
            for code in self._codes(call):
                if _CODE.fullmatch(code):
                    said, advised = (self._of_area(code, text) for text in (message, remedy))
                    yield Reported(code, said, advised, self._place(call))

    def passed_on(self) -> Iterator[str]:
        for call, _ in self._calls:
            if _name_of(call.func) == "HeadraceError" and not list(self._codes(call)):
                yield self._place(call)

    def _place(self, call: ast.Call) -> str:
        return f"{self._path}: {ast.unparse(call.args[0]) if call.args else ''}"

    def _is_reported(self, call: ast.Call, form: _Form) -> bool:
        """Return whether the call reports an error or warning; an `ok` of a check does not."""
        if len(call.args) <= form.code:
            return False
        if _name_of(call.func) in _METHODS:
            return isinstance(call.func, ast.Attribute) and len(call.args) > form.remedy
        if form.message == 2 and _name_of(call.func) in ("add", "Finding"):
            level = call.args[1] if len(call.args) > 1 else None
            return not isinstance(level, ast.Constant) or level.value in _LEVELS[1:]
        return True

    def _codes(self, call: ast.Call) -> Iterator[str]:
        name, code = _name_of(call.func), call.args[0] if call.args else None
        text = code.value if isinstance(code, ast.Constant) else None
        if name in _OF_CONNECTOR or name == "error":
            if isinstance(text, str) and _WORD.fullmatch(text):
                yield from (f"{area}.{text}" for area in self._areas_of(call))
            return
        if isinstance(code, ast.Name):
            text = self._constants.get(code.id)
        elif isinstance(code, ast.JoinedStr):
            text = _code_with_connector(code)
        if isinstance(text, str):
            yield text

    def _areas_of(self, call: ast.Call) -> Sequence[str]:
        if _name_of(call.func) == "error":
            receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
            purpose = self._purposes.get(_name_of(receiver) if receiver is not None else "")
            purposes = [purpose] if purpose else self._purposes.values()
            return sorted({defaults["area"] for defaults in purposes})
        parts = self._path.parts
        return [parts[1] if parts[0] == "connectors" and len(parts) > 2 else "CONNECTOR"]

    def _of_area(self, code: str, text: str) -> str:
        """A text with the words that the purpose of a client of Kafka has for its messages."""
        for purpose in self._purposes.values():
            if purpose["area"] == code.partition(".")[0]:
                for name, words in purpose.items():
                    text = text.replace(marked(f"PURPOSE.{name.upper()}"), words)
        return text

    def _argument(self, call: ast.Call, place: int, named: Mapping[str, ast.expr]) -> str:
        if len(call.args) <= place:
            return ""
        return filled(" ".join(self._text(call.args[place], named, 0).split()))

    def _text(self, tree: ast.expr | None, named: Mapping[str, ast.expr], depth: int) -> str:
        """Return the text of an expression, with a word in capitals for what is not constant."""
        match tree:
            case ast.Constant(value=str(text)):
                return in_template(text)
            case ast.Constant(value=int(number)) if type(number) is int:
                return str(number)
            case ast.JoinedStr(values=parts):
                return self._joined(parts, named, depth)
            case ast.FormattedValue(value=value):
                return self._text(value, named, depth)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._sum(left, right, named, depth)
            case ast.BinOp(left=left, op=ast.Mult()):  # `text * bool` is optional
                return "" if isinstance(left, ast.JoinedStr) else self._text(left, named, depth)
            case ast.IfExp(body=body, orelse=orelse):
                # An optional text is left out; a value is used if it has a name.
                texts = [
                    self._text(expression, named, depth)
                    for expression in (body, orelse)
                    if not _is_none(expression)
                ]
                return texts[0] if all(texts) else next(filter(is_word, texts), "")
            case ast.BoolOp(values=[first, *_]):
                return self._text(first, named, depth)
            case ast.Name(id=name) if depth < 4 and name in named:
                text = self._text(named[name], {**named, name: ast.Name("_")}, depth + 1)
                return variable_of(name, text)
            case ast.Name(id=name) if name in self._constants:
                return in_template(self._constants[name])
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if (
                f"{owner}.{name}" in self._constants
            ):
                return self._constants[f"{owner}.{name}"]
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in self._purposes:
                return self._purposes[owner][name]
            case ast.Attribute(value=ast.Name(id="purpose"), attr=name):
                return marked(f"PURPOSE.{name.upper()}")
            case ast.Call(
                func=ast.Name(id="quoted") | ast.Attribute(attr="quoted"),
                args=[*_, ast.Constant(value=str(text))],
            ):
                return text
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if depth < 4:
                returned = (
                    self._text(expression, {}, depth + 1)
                    for expression in self._returned.get(name, ())
                )
                text = next(
                    (expression for expression in returned if _says_something(expression)), ""
                )
                return text or marked(word_of(tree))
        return marked(word_of(tree))

    def _sum(
        self, left: ast.expr, right: ast.expr, named: Mapping[str, ast.expr], depth: int
    ) -> str:
        """Return two texts one after the other. A sum of numbers, or of placeholders, is
        represented by its first operand."""
        text, more = (self._text(operand, named, depth) for operand in (left, right))
        if text.startswith(BEGIN) and (more.startswith(BEGIN) or more.isdecimal()):
            return more if unmarked(text) == "PREFIX" else text
        return text + more

    def _joined(self, parts: Sequence[ast.expr], named: Mapping[str, ast.expr], depth: int) -> str:
        """Return the text of an f-string. Of adjacent values only the first is named: the others
        are details of it, such as its place; a prefix means nothing without the value after it."""
        texts: list[str] = []
        is_word = False
        for part in parts:
            text = self._text(part, named, depth)
            was_word, is_word = is_word, isinstance(part, ast.FormattedValue) and _is_word(text)
            if was_word and is_word:
                if unmarked(texts[-1]) == "PREFIX":
                    texts[-1] = text
                continue
            texts.append(text)
        return "".join(texts)


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, Sequence[ast.stmt]]]:
    """Yield the calls that may make an error, in the order of the text, each with the statements of
    its function."""
    waiting: list[tuple[ast.AST, ast.FunctionDef | None]] = [(tree, None)]
    while waiting:
        node, function = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            function = node
        if isinstance(node, ast.Call) and _name_of(node.func) in _FORMS:
            inner = () if function is None else ast.walk(function)
            yield node, [child for child in inner if isinstance(child, ast.stmt)]
        waiting += [(child, function) for child in ast.iter_child_nodes(node)][::-1]


def _assigned(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """Yield names that are assigned once by plain statements, with their values."""
    values_of: dict[str, list[ast.expr]] = {}
    for statement in body:
        if not isinstance(statement, ast.Assign):
            continue
        for target in statement.targets:
            match target, statement.value:
                case ast.Name(id=name), value:
                    values_of.setdefault(name, []).append(value)
                case ast.Tuple(elts=names), ast.Tuple(elts=values):
                    for element, value in zip(names, values, strict=False):
                        values_of.setdefault(_name_of(element), []).append(value)
    yield from ((name, values[0]) for name, values in values_of.items() if len(values) == 1)


def _name_of(tree: ast.expr) -> str:
    match tree:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return name
    return ""


def _code_with_connector(code: ast.JoinedStr) -> str | None:
    """Return the code of an f-string such as `f"{self._connector}.no_tables"`; None for others."""
    match code.values:
        case [ast.FormattedValue(value=value), ast.Constant(value=str(rest))]:
            if _name_of(value).strip("_") == "connector":
                return f"CONNECTOR{rest}"
    return None


def _is_none(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Constant) and tree.value is None


def _is_word(text: str) -> bool:
    """Return whether a text begins and ends with placeholder words."""
    return text.startswith(BEGIN) and text.endswith(END)


def _says_something(text: str) -> bool:
    """Return whether a text is more than a placeholder word: a sentence, or a statement."""
    text = unmarked(text)
    return re.search("[a-z]", text) is not None or _STATEMENT.match(text) is not None


def _cell(text: str, otherwise: str) -> str:
    """Return a table's cell; `otherwise` if the sources do not have its text."""
    if text and not _says_something(text):
        text = otherwise
    text = _PLACE.sub(lambda match: _FILLED.get(match[1], match[1].upper()), text)
    text = text.replace("|", "\\|").replace("<", "\\<")
    return text.replace("*", "\\*") if text.count("*") > 1 else text
