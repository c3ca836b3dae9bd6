"""Renders declarations as the reference page and as rows for a terminal."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.config.configuration import Configuration
from headrace.config.property import Family, Group, Property, Support


class Row(NamedTuple):
    """A property as text. `default` is "required", or empty if the property has no default."""

    group: str
    name: str
    default: str
    values: str
    meaning: str
    status: str


def describe_rows(declarations: type[Configuration]) -> list[Row]:
    """Return all properties of a connector, by group, in the order of declaration."""
    declared: list[Property[Any] | Family[Any]] = [
        *declarations.properties().values(),
        *declarations.families().values(),
    ]
    groups = list(Group)
    return [
        _row(declaration)
        for declaration in sorted(declared, key=lambda declaration: groups.index(declaration.group))
    ]


def describe_markdown(declarations: type[Configuration], *, title: str) -> str:
    """Return the reference page: a table per group."""
    rows = describe_rows(declarations)
    out = [
        f"# {title}",
        "",
        "Generated from the declarations by `headrace describe --markdown`.",
        "",
        "Names are Debezium's if Debezium has the property. Lists are separated by commas; "
        "expressions match the whole name and are case-insensitive. Values may contain "
        "references: `${env:NAME}`, `${file:path:key}`, `${dir:path:file}`. An empty value is the "
        "same as no value, except for options of transforms and predicates. Capitals and `*` in a "
        "name are its variable part.",
        "",
        "*Refused*: only the default is accepted.",
    ]
    for group in Group:
        members = [row for row in rows if row.group == group]
        if not members:
            continue
        out += ["", f"## {group}", "", "| Property | Default | Values | Meaning | Status |"]
        out.append("|---|---|---|---|---|")
        out += [
            f"| `{row.name}` | {_code(row.default)} | {_cell(row.values)} | {_cell(row.meaning)} "
            f"| {_cell(row.status)} |"
            for row in members
        ]
    return "\n".join(out) + "\n"


def _row(declaration: Property[Any] | Family[Any]) -> Row:
    default = ""
    status = declaration.status.support.value
    if declaration.status.reason and declaration.status.support is not Support.SUPPORTED:
        status += f": {declaration.status.reason}"
    if isinstance(declaration, Property):
        default = "required" if declaration.is_required else declaration.default_text or ""
        if declaration.refused_values:
            status += f"; refused: {', '.join(declaration.refused_values)}"
        if declaration.aliases:
            former = (
                f"{alias} (read as {current})" for alias, current in declaration.aliases.items()
            )
            status += f"; former values: {', '.join(former)}"
    return Row(
        declaration.group.value,
        declaration.name,
        default,
        declaration.kind.expects,
        declaration.meaning,
        status,
    )


def _code(text: str) -> str:
    if text == "required":
        return "*required*"
    return f"`{text}`" if text else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
