"""A property that is declared as supported is read by some code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import headrace
from headrace.config.properties.connector import ConnectorConfig
from headrace.config.property import Support
from headrace.connectors.registry import definitions

SOURCES = Path(headrace.__file__).parent


def reads(tree: ast.AST, *, inside: bool = False) -> Iterator[str]:
    """Regular expressions of the attributes that code reads of a configuration, `inside` its class
    of itself, but not what the class reads only to refuse it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "check" and _refuses(node):
            continue
        match node:
            case ast.Attribute(value=owner, attr=name, ctx=ast.Load()):
                if _is_configuration(owner, inside=inside):
                    yield re.escape(name)
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.JoinedStr(parts), *_]):
                if _is_configuration(owner, inside=inside):
                    yield "".join(
                        re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"\w+"
                        for part in parts
                    )
            case ast.Call(
                func=ast.Attribute(value=owner, attr="get"), args=[ast.Constant(text), *_]
            ):
                if ast.unparse(owner) == "self.values":  # while it is being parsed
                    yield re.escape(str(text))
            case ast.ClassDef(name=name):
                yield from reads(node, inside=name.endswith("Config"))
                continue
        yield from reads(node, inside=inside)


def _is_configuration(owner: ast.expr, *, inside: bool) -> bool:
    text = ast.unparse(owner)
    return text.endswith("config") or (inside and text == "self")


def _refuses(function: ast.FunctionDef) -> bool:
    return function.returns is not None and "Finding" in ast.unparse(function.returns)


def _is_seen_by(connector: str, path: Path) -> bool:
    """Whether a file is the connector's own, or is above all connectors."""
    parts = path.relative_to(SOURCES).parts
    return parts[0] != "connectors" or len(parts) < 3 or parts[1] == connector


@cache
def _read_in(path: Path) -> frozenset[str]:
    return frozenset(reads(ast.parse(path.read_text())))


def read_by(connector: str) -> re.Pattern[str]:
    """The attributes that are read in a connector's own folder and in those of all."""
    paths = [path for path in SOURCES.rglob("*.py") if _is_seen_by(connector, path)]
    return re.compile("|".join(sorted({name for path in paths for name in _read_in(path)})))


def _declared(declarations: type[ConnectorConfig]) -> Iterator[tuple[str, str]]:
    """Names and attributes of what is supported and leaves a choice."""
    for name, declaration in declarations.properties().items():
        values = [v for v in declaration.kind.values if v not in declaration.refused_values]
        if declaration.status.support is Support.SUPPORTED and len(values) != 1:
            yield name, declaration.attribute
    for family in declarations.families().values():
        if family.status.support is Support.SUPPORTED:
            yield family.name, family.attribute


def test_some_code_reads_each_of_them() -> None:
    for definition in definitions():
        read, declared = read_by(definition.name), dict(_declared(definition.configuration()))
        assert len(declared) > 50
        unread = [name for name, attribute in declared.items() if not read.fullmatch(attribute)]
        assert not unread, (
            f"nothing reads {', '.join(unread)} for {definition.name}: read them, or declare them "
            "as not needed, or not at all"
        )


def test_a_property_that_nobody_reads_would_be_seen() -> None:
    check = "def check(self) -> Iterator[Finding]:\n  yield self.unread"
    for source in (
        "class C(Configuration):\n unread = Property()",
        f"class SomeConfig:\n {check}",
        "def f(config):\n config.unread = 1\n return found.unread",
    ):
        assert "unread" not in set(reads(ast.parse(source))), source
    for source in (
        "class SomeConfig:\n def rule(self):\n  return self.unread",
        "class Reader:\n def f(self):\n  return self._config.unread",
        "getattr(config, f'un{role}ad')",
    ):
        read_names = "|".join(reads(ast.parse(source)))
        assert re.fullmatch(read_names, "unread"), source


def test_properties_are_read_from_their_declarations() -> None:
    """A property that is read by name, with a default at the place, would have two defaults."""
    sources = SOURCES.rglob("*.py")
    aside = [str(path) for path in sources if re.search(r"getattr\(config, .*,", path.read_text())]
    aside = [
        path for path in aside if not path.endswith("connect/kernels/numba_internals.py")
    ]  # Numba's
    assert aside == []
