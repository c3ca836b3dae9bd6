"""The Avro schema of events: a record whose key and value have the schemas of their converters."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from headrace.converters.avro.values import long
from headrace.errors import HeadraceError

EVENT, HEADER = "HeadraceEvent", "HeadraceHeader"
_TIME = {"type": "long", "logicalType": "timestamp-micros"}
_NAMED = ("record", "error", "enum", "fixed")


@dataclass(frozen=True)
class RoleSchema:
    """The schema of keys or values. `text` is the schema of their converter, as JSON; without it
    they are of `kind` (string, bytes, or null if no record has a value)."""

    kind: str = "bytes"
    text: str = ""

    @cached_property
    def described(self) -> Any:
        """The schema of the field."""
        if not self.text:
            return "null" if self.kind == "null" else ["null", self.kind]
        parsed = json.loads(self.text)
        if not isinstance(parsed, list):
            return ["null", parsed]
        return parsed if any(map(_is_null, parsed)) else [*parsed, "null"]

    @cached_property
    def is_union(self) -> bool:
        """Whether a value of the converter begins with the number of its branch."""
        return bool(self.text) and isinstance(json.loads(self.text), list)

    @cached_property
    def has_length(self) -> bool:
        """Whether a value is text or bytes, which need a length before them. Confluent's serializer
        writes a whole value of type bytes without one."""
        if not self.text:
            return self.kind != "null"
        parsed = json.loads(self.text)
        return parsed == "bytes" or (isinstance(parsed, dict) and parsed.get("type") == "bytes")

    @cached_property
    def absent(self) -> bytes:
        """The encoding of a null key or value."""
        if self.described == "null":
            return b""
        return long(next(i for i, branch in enumerate(self.described) if _is_null(branch)))


def _is_null(branch: object) -> bool:
    return branch == "null" or (isinstance(branch, dict) and branch.get("type") == "null")


def event_schema(key: RoleSchema, value: RoleSchema) -> bytes:
    """The schema of events, as JSON. Raises HeadraceError("event_log.schema_names") if key and
    value have different types of one name, which Avro does not allow."""
    names = _Names()
    header = [
        {"name": "key", "type": "string"},
        {"name": "value", "type": ["null", "bytes"]},
    ]
    headers = {"type": "record", "name": HEADER, "fields": header}
    fields = {
        "topic": "string",
        "key": names.once(key.described, ""),
        "value": names.once(value.described, ""),
        "headers": {"type": "array", "items": headers},
        "sequence": "string",
        "commit_time": ["null", _TIME],
    }
    members = [{"name": name, "type": kind} for name, kind in fields.items()]
    schema = {"type": "record", "name": EVENT, "fields": members}
    return json.dumps(schema, separators=(",", ":")).encode()


@dataclass
class _Names:
    """The named types of a schema, each of which may be defined once."""

    defined: dict[str, Any] = field(default_factory=dict)

    def once(self, schema: Any, space: str) -> Any:
        """Return the schema with names in place of types that were defined before."""
        if isinstance(schema, list):
            return [self.once(branch, space) for branch in schema]
        if not isinstance(schema, dict):
            return schema
        kind = schema.get("type")
        if kind in _NAMED:
            name, space = _full(schema, space)
            if name in self.defined:
                if self.defined[name] != schema:
                    raise HeadraceError(
                        "event_log.schema_names",
                        f"The key and the value of a record have different types of the name "
                        f"{name}, and a schema of Avro defines a name once",
                        "Give one of them another name (SetSchemaMetadata), or use "
                        "headrace.sink.format=parquet.",
                    )
                return name
            self.defined[name] = schema
            if kind in ("record", "error"):
                return {**schema, "fields": list(self._fields(schema["fields"], space))}
            return schema
        inner = {
            name: self.once(schema[name], space) for name in ("items", "values") if name in schema
        }
        if isinstance(kind, dict | list):
            inner["type"] = self.once(kind, space)
        return {**schema, **inner}

    def _fields(self, fields: Iterable[dict[str, Any]], space: str) -> Iterable[dict[str, Any]]:
        for member in fields:
            yield {**member, "type": self.once(member["type"], space)}


def _full(schema: dict[str, Any], space: str) -> tuple[str, str]:
    """The full name of a type, and the namespace of the types in it."""
    name = str(schema["name"])
    if "." in name:
        return name, name.rpartition(".")[0]
    own_space = str(schema.get("namespace", space))
    return (f"{own_space}.{name}" if own_space else name), own_space
