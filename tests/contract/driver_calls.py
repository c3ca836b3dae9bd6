"""The parts of a database's driver that a folder of sources uses, compared with the driver itself.

`uses` walks the syntax trees and follows the driver's objects through assignments, loops,
attributes of `self`, annotations and calls; `faults` compares what it finds with a table of
members, and with the classes of the installed driver. Nothing is connected to.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MODULE_LOADERS = frozenset({"import_module"})
_PASSING = frozenset({"iter", "next", "list", "tuple", "reversed", "sorted", "closing"})
"""Functions that give what they are given, or an item of it."""


@dataclass(frozen=True)
class Member:
    """An attribute of the driver that may be used. `gives` is the name of the driver's class that
    it is, has or returns, or of which it returns items; empty: a value that is not the driver's.
    `documented` has the signature of the manual, where `inspect` knows none: a function without a
    body."""

    gives: str = ""
    documented: Callable[..., object] | None = None


@dataclass(frozen=True)
class Driver:
    """A driver as a folder uses it.

    `classes` are its modules and classes by the names used here, a module by its import name;
    instances replace classes whose attributes only instances have. `members` has
    `Class.attribute`. `named` are, by file, variables and parameters without an annotation that
    hold an object of a class; `given` are functions of the folder that return one. `through`:
    functions of the folder that call what they are given, with the arguments after it."""

    classes: Mapping[str, Any]
    members: Mapping[str, Member]
    named: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    through: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Call:
    """Arguments of a call; `is_open`: there may be more of them than the source shows."""

    positional: int
    keywords: tuple[str, ...]
    is_open: bool


@dataclass(frozen=True)
class Use:
    """`where` is file:line. `call`: the member is called; `is_set`: it is assigned to."""

    where: str
    owner: str
    name: str
    call: Call | None = None
    is_set: bool = False

    @property
    def member(self) -> str:
        """The key of `Driver.members` for this call."""
        return f"{self.owner}.{self.name}"


def uses(driver: Driver, paths: Iterable[Path]) -> list[Use]:
    """Every attribute of the driver's objects that the sources use, in their order."""
    trees = {path: ast.parse(path.read_text()) for path in sorted(paths)}
    returned = _returned(driver, trees.values())
    driver_uses: list[Use] = []
    for path, tree in trees.items():
        walk = _Walk(driver, path.name, returned)
        walk.visit(tree)  # attributes of self are known after the methods that set them
        walk.found.clear()
        walk.visit(tree)
        driver_uses += dict.fromkeys(walk.found)
    return driver_uses


def faults(driver: Driver, driver_uses: Iterable[Use]) -> list[str]:
    """The entries that the table lacks, those that it does not need, and those that the installed
    driver does not have or accept."""
    problems: list[str] = []
    used: set[str] = set()
    for use in driver_uses:
        used.add(use.member)
        member = driver.members.get(use.member)
        if member is None:
            problems.append(f"{use.where}: {use.member} is not in the table")
        elif problem := _problem(driver, use, member):
            problems.append(f"{use.where}: {use.member} {problem}")
    unused = sorted(set(driver.members) - used)
    return problems + [f"{name} is in the table, but nothing uses it" for name in unused]


def _problem(driver: Driver, use: Use, member: Member) -> str | None:
    owner = driver.classes[use.owner]
    if not hasattr(owner, use.name):
        return "is no attribute of the driver"
    if use.is_set:
        attribute = inspect.getattr_static(owner, use.name)
        return (
            "cannot be set" if isinstance(attribute, property) and attribute.fset is None else None
        )
    if use.call is None:
        return None
    called = getattr(owner, use.name)
    shift = 0
    try:
        signature = inspect.signature(member.documented or called)
    except (TypeError, ValueError):
        return "has no signature: write the manual's into the table"
    if member.documented is None and inspect.isclass(owner):
        attribute = inspect.getattr_static(owner, use.name)
        shift = not isinstance(attribute, classmethod | staticmethod)
    arguments = [None] * (use.call.positional + shift)
    bind = signature.bind_partial if use.call.is_open else signature.bind
    try:
        bind(*arguments, **dict.fromkeys(use.call.keywords))
    except TypeError as error:
        return f"{signature}: {error}"
    return None


def _returned(driver: Driver, trees: Iterable[ast.Module]) -> dict[str, _Returned]:
    """Functions whose annotations say that they return an object of the driver, by their names;
    none of which there are several with other annotations."""
    by_name: dict[str, list[_Returned]] = {}
    for tree in trees:
        walk = _Walk(driver, "", {})
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                walk.visit(node)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                return_type = _Returned(walk.annotated(node.returns), *_taken(node.args))
                by_name.setdefault(node.name, []).append(return_type)
    unambiguous = {
        name: candidates
        for name, candidates in by_name.items()
        if len({m.kind for m in candidates}) == 1
    }
    returned = {
        name: candidates[0] for name, candidates in unambiguous.items() if candidates[0].kind
    }
    return returned | {name: _Returned(kind, 0, None) for name, kind in driver.given.items()}


@dataclass(frozen=True)
class _Returned:
    """The result of a function, and the number of its arguments, so that a method of that name of
    something else is not taken for it; `most` is None where there is no limit."""

    kind: str
    least: int
    most: int | None

    def takes(self, node: ast.Call) -> bool:
        count = len(node.args) + len(node.keywords)
        return self.least <= count and (self.most is None or count <= self.most)


def _taken(arguments: ast.arguments) -> tuple[int, int | None]:
    """The least and the largest number of arguments, without `self`."""
    positional = [*arguments.posonlyargs, *arguments.args]
    parameter_count = len(positional) - (
        positional[:1] != [] and positional[0].arg in ("self", "cls")
    )
    required = sum(default is None for default in arguments.kw_defaults)
    least = parameter_count - len(arguments.defaults) + required
    if arguments.vararg or arguments.kwarg:
        return least, None
    return least, parameter_count + len(arguments.kwonlyargs)


class _Walk(ast.NodeVisitor):
    """Follows the driver's objects through one file. `found` are the uses."""

    def __init__(self, driver: Driver, file: str, returned: Mapping[str, _Returned]) -> None:
        self._driver, self._file, self._given = driver, file, returned
        self._named = driver.named.get(file, {})
        self._names: list[dict[str, str]] = [dict(self._named)]
        self._attributes: dict[str, str] = {}
        """Types of self's attributes, in every class of the file."""
        self._dicts: dict[str, tuple[str, ...]] = {}
        self._calls: dict[ast.AST, Call] = {}
        """Calls by the attributes that are called."""
        self.found: list[Use] = []

    # -- what an expression is -------------------------------------------------------------------

    def kind(self, node: ast.AST | None) -> str:
        """The driver's class of an expression; empty: it has none."""
        if isinstance(node, ast.Name):
            return next((names[node.id] for names in reversed(self._names) if node.id in names), "")
        if isinstance(node, ast.Attribute):
            owner = self.kind(node.value)
            if owner:
                return self._gives(owner, node.attr)
            is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
            return self._attributes.get(node.attr, "") if is_own else ""
        if isinstance(node, ast.Call):
            return self._of_call(node)
        if isinstance(node, ast.Lambda):
            return self.kind(node.body)
        if isinstance(node, ast.Subscript | ast.Await | ast.Starred | ast.NamedExpr):
            return self.kind(node.value)
        if isinstance(node, ast.BoolOp | ast.IfExp):
            parts = node.values if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
            return next(filter(None, map(self.kind, parts)), "")
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
            return self.kind(node.elt)
        return ""

    def _of_call(self, node: ast.Call) -> str:
        name = _called(node)
        if name == "getattr" and (attribute := _text(node, 1)):
            owner = self.kind(node.args[0])
            return self._gives(owner, attribute) if owner else ""
        if name in MODULE_LOADERS and (module := _text(node, 0)) in self._driver.classes:
            return str(module)
        if (name in _PASSING or name in self._driver.through) and node.args:
            return self.kind(node.args[0])
        return_type = self._given.get(name)
        return (
            return_type.kind
            if return_type is not None and return_type.takes(node)
            else self.kind(node.func)
        )

    def _gives(self, owner: str, name: str) -> str:
        inner = f"{owner}.{name}"
        if inner in self._driver.classes:
            return inner
        member = self._driver.members.get(inner)
        return "" if member is None else member.gives

    def annotated(self, node: ast.AST | None) -> str:
        """The first of the driver's classes that an annotation names."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = ast.parse(node.value, mode="eval").body
        if node is None:
            return ""
        if isinstance(node, ast.Name | ast.Attribute):
            return self.kind(node)
        inner = map(self.annotated, ast.iter_child_nodes(node))
        return next(filter(None, inner), "")

    # -- what is used ----------------------------------------------------------------------------

    def _add(self, node: ast.AST, owner: str, name: str, *, is_set: bool = False) -> None:
        where = f"{self._file}:{getattr(node, 'lineno', 0)}"
        self.found.append(Use(where, owner, name, self._calls.get(node), is_set))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        owner = self.kind(node.value)
        if owner and f"{owner}.{node.attr}" not in self._driver.classes:
            self._add(node, owner, node.attr, is_set=isinstance(node.ctx, ast.Store))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = _called(node)
        called, arguments = node.func, node.args
        if name in self._driver.through and arguments:
            called, arguments = arguments[0], arguments[1:]
        attribute = _text(node, 1) if name in ("getattr", "hasattr") else None
        if attribute and (owner := self.kind(node.args[0])):
            self._add(node, owner, attribute)
        if isinstance(called, ast.Attribute):
            self._calls[called] = self._call(arguments, node.keywords)
        self.generic_visit(node)

    def _call(self, arguments: list[ast.expr], keywords: list[ast.keyword]) -> Call:
        names = [keyword.arg for keyword in keywords if keyword.arg]
        is_open = any(isinstance(argument, ast.Starred) for argument in arguments)
        for item in keywords:
            if item.arg is None:
                known = self._dicts.get(item.value.id) if isinstance(item.value, ast.Name) else None
                names += known or ()
                is_open = True
        count = sum(not isinstance(argument, ast.Starred) for argument in arguments)
        return Call(count, tuple(dict.fromkeys(names)), is_open)

    # -- what names hold -------------------------------------------------------------------------

    def _hold(self, target: ast.AST, kind: str, value: ast.AST | None = None) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for element, part in zip(target.elts, value.elts, strict=False):
                self._hold(element, self.kind(part), part)
        elif isinstance(target, ast.Name):
            if kind or self._named.get(target.id) is None:
                self._names[-1][target.id] = kind
            if isinstance(value, ast.Dict):
                keys = [key.value for key in value.keys if isinstance(key, ast.Constant)]
                self._dicts[target.id] = tuple(map(str, keys))
        elif isinstance(target, ast.Attribute) and kind:
            is_own = isinstance(target.value, ast.Name) and target.value.id == "self"
            if is_own:
                self._attributes[target.attr] = kind

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            top = alias.name if alias.asname else alias.name.partition(".")[0]
            if top in self._driver.classes:
                self._names[-1][alias.asname or top] = top

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if module not in self._driver.classes or node.level:
            return
        for alias in node.names:
            if f"{module}.{alias.name}" not in self._driver.classes:
                self._add(node, module, alias.name)
            self._names[-1][alias.asname or alias.name] = self._gives(module, alias.name)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            self._hold(target, self.kind(node.value), node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.generic_visit(node)
        self._hold(
            node.target, self.annotated(node.annotation) or self.kind(node.value), node.value
        )

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.generic_visit(node)
        self._hold(node.target, self.kind(node.value), node.value)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars is not None:
                self._hold(item.optional_vars, self.kind(item.context_expr))
        for statement in node.body:
            self.visit(statement)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self._hold(node.target, self.kind(node.iter))
        for statement in [*node.body, *node.orelse]:
            self.visit(statement)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            kind = next(filter(None, map(self.kind, kinds)), "")
            self._hold(ast.Name(node.name), kind)
        self.generic_visit(node)

    def _comprehended(self, node: Any) -> None:
        self._names.append({})
        for generator in node.generators:
            self.visit(generator.iter)
            self._hold(generator.target, self.kind(generator.iter))
        self.generic_visit(node)
        self._names.pop()

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehended

    def _function(self, node: Any) -> None:
        self._names.append({})
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        for argument in every:
            kind = self.annotated(getattr(argument, "annotation", None))
            if kind or argument.arg not in self._named:
                self._names[-1][argument.arg] = kind
        self.generic_visit(node)
        self._names.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function


def _called(node: ast.Call) -> str:
    """The last part of the name of what is called."""
    function = node.func
    return str(getattr(function, "id", None) or getattr(function, "attr", None) or "")


def _text(node: ast.Call, place: int) -> str | None:
    """The constant text of an argument."""
    argument = node.args[place] if len(node.args) > place else None
    value = argument.value if isinstance(argument, ast.Constant) else None
    return value if isinstance(value, str) else None


def sources(folder: Path) -> Iterator[Path]:
    """Every file of a folder and those in it."""
    return folder.rglob("*.py")
