"""Tables in a schema history: Debezium's description of a table and its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TableId = tuple[str, ...]
"""Catalog, schema and table; parts that a database does not have are left out."""


@dataclass(frozen=True)
class HistoryColumn:
    """A column. `jdbc_type` is the number of its type in java.sql.Types, `native_type` the
    database's own number; `length` and `scale` None: the type has none. `type_expression` is the
    type as the table declares it (None: its name). `position` counts from 1. `default` is the
    expression of its default; `has_default` without `default`: the default is null."""

    name: str
    jdbc_type: int
    type_name: str
    position: int
    optional: bool
    type_expression: str | None = None
    native_type: int | None = None
    charset: str | None = None
    length: int | None = None
    scale: int | None = None
    auto_incremented: bool = False
    generated: bool = False
    comment: str | None = None
    has_default: bool = False
    default: str | None = None
    enum_values: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Debezium's JSON object, its members in Debezium's order."""
        members: dict[str, Any] = {"name": self.name, "jdbcType": self.jdbc_type}
        if self.native_type is not None:
            members["nativeType"] = self.native_type
        members |= {
            "typeName": self.type_name,
            "typeExpression": self.type_name
            if self.type_expression is None
            else self.type_expression,
            "charsetName": self.charset,
        }
        if self.length is not None:
            members["length"] = self.length
        if self.scale is not None:
            members["scale"] = self.scale
        members |= {
            "position": self.position,
            "optional": self.optional,
            "autoIncremented": self.auto_incremented,
            "generated": self.generated,
            "comment": self.comment,
            "hasDefaultValue": self.has_default,
        }
        if self.default is not None:
            members["defaultValueExpression"] = self.default
        return {**members, "enumValues": list(self.enum_values)}

    @staticmethod
    def from_json(members: Mapping[str, Any]) -> HistoryColumn:
        """The inverse of `to_json`; members that older releases do not write may be missing. Raises
        KeyError, TypeError and ValueError."""
        default, expression = members.get("defaultValueExpression"), members.get("typeExpression")
        name = _text(members["typeName"])
        return HistoryColumn(
            name=_text(members["name"]),
            jdbc_type=_number(members["jdbcType"]),
            type_name=name,
            position=_number(members["position"]),
            optional=bool(members["optional"]),
            type_expression=None if expression == name else _optional_text(expression),
            native_type=_optional_number(members.get("nativeType")),
            charset=_optional_text(members.get("charsetName")),
            length=_optional_number(members.get("length")),
            scale=_optional_number(members.get("scale")),
            auto_incremented=bool(members.get("autoIncremented")),
            generated=bool(members.get("generated")),
            comment=_optional_text(members.get("comment")),
            has_default=bool(members.get("hasDefaultValue", default is not None)),
            default=_optional_text(default),
            enum_values=tuple(map(_text, members.get("enumValues") or ())),
        )


@dataclass(frozen=True)
class HistoryTable:
    """A table. `key` are the names of its key columns, in key order; `attributes` are additional
    facts of a connector, as name and text."""

    id: TableId
    columns: tuple[HistoryColumn, ...] = ()
    key: tuple[str, ...] = ()
    charset: str | None = None
    comment: str | None = None
    attributes: tuple[tuple[str, str | None], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Debezium's JSON object of the table, which contains neither its id nor its comment."""
        return {
            "defaultCharsetName": self.charset,
            "primaryKeyColumnNames": list(self.key),
            "columns": [column.to_json() for column in self.columns],
            "attributes": [{"name": name, "value": text} for name, text in self.attributes],
        }

    @staticmethod
    def from_json(
        identity: TableId, members: Mapping[str, Any], comment: str | None = None
    ) -> HistoryTable:
        """The inverse of `to_json`. Raises KeyError, TypeError and ValueError."""
        return HistoryTable(
            identity,
            tuple(map(HistoryColumn.from_json, members["columns"])),
            tuple(map(_text, members.get("primaryKeyColumnNames") or ())),
            _optional_text(members.get("defaultCharsetName")),
            comment,
            tuple(
                (_text(attribute["name"]), _optional_text(attribute.get("value")))
                for attribute in members.get("attributes") or ()
            ),
        )


def quoted_id(identity: TableId) -> str:
    """Return `"DB"."SCHEMA"."TABLE"`; quotes in a name are doubled. As in Debezium, a name that
    ends with a quote is left unchanged if it can be parsed again."""
    return ".".join(map(_quoted, identity))


def _quoted(part: str) -> str:
    if part.endswith('"') and not part.startswith('"') and "." not in part:
        return part
    return '"' + part.replace('"', '""') + '"'


def parsed_id(text: str) -> TableId:
    """The inverse of `quoted_id`; parts without quotes are taken literally. Raises ValueError."""
    parts: list[str] = []
    at = 0
    while True:
        part, at = _part(text, at)
        parts.append(part)
        if at == len(text):
            return tuple(parts)
        if text[at] != ".":
            raise ValueError(f"{text!r} is not a table's id")
        at += 1


def _part(text: str, at: int) -> tuple[str, int]:
    """Return the part that begins at `at`, and its end."""
    if text[at : at + 1] != '"':
        end = text.find(".", at)
        end = len(text) if end < 0 else end
        if end == at:
            raise ValueError(f"{text!r} is not a table's id")
        return text[at:end], end
    part = ""
    at += 1
    while True:
        end = text.find('"', at)
        if end < 0:
            raise ValueError(f"{text!r} is not a table's id")
        part += text[at:end]
        if text[end + 1 : end + 2] != '"':
            return part, end + 1
        part, at = part + '"', end + 2


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a {type(value).__name__} instead of a text")
    return value


def _optional_text(value: object) -> str | None:
    return None if value is None else _text(value)


def _number(value: object) -> int:
    if type(value) is not int:
        raise TypeError(f"a {type(value).__name__} instead of a whole number")
    return value


def _optional_number(value: object) -> int | None:
    return None if value is None else _number(value)
