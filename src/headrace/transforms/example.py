"""A small example of a transform: a record and options."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_SCALARS = {
    bool: "boolean",
    int: "int64",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "string",
}


@dataclass(frozen=True)
class Example:
    """A record and a transform's options.

    `key` and `value` are JSON values; their schemas are inferred: integers are int64, and every
    field is optional. `names` are names of schemas by path: `value` and `value.after`; `parameters`
    are parameters of scalars' schemas by path. `headers` are texts by name.
    """

    value: object
    options: Mapping[str, str] = field(default_factory=dict)
    key: object = None
    topic: str = "orders"
    headers: Mapping[str, object] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    partition: int | None = None
    timestamp: int | None = None

    def record(self) -> dict[str, Any]:
        """The record in Kafka Connect's JSON form."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "timestamp": self.timestamp,
            "key": self._part("key", self.key),
            "value": self._part("value", self.value),
            "headers": [
                {"name": name, "schema": self._schema(name, text), "payload": text}
                for name, text in self.headers.items()
            ],
        }

    def _part(self, path: str, value: object) -> dict[str, Any] | None:
        if value is None:
            return None
        schema = self._schema(path, value) | {"optional": False}
        return {"schema": schema, "payload": _payload(value)}

    def _schema(self, path: str, value: object) -> dict[str, Any]:
        named = {"name": self.names[path]} if path in self.names else {}
        if isinstance(value, Mapping):
            fields = [
                self._schema(f"{path}.{name}", item) | {"field": name}
                for name, item in value.items()
            ]
            struct: dict[str, Any] = {"type": "struct", "optional": True, "fields": fields}
            return struct | named
        if isinstance(value, list):
            items = self._schema(f"{path}[]", value[0] if value else "")
            return {"type": "array", "optional": True, "items": items} | named
        said = {"parameters": dict(self.parameters[path])} if path in self.parameters else {}
        return {"type": _SCALARS[type(value)], "optional": True} | named | said


def _payload(value: object) -> object:
    """Return a value in Kafka Connect's JSON form: bytes in Base64."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {name: _payload(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_payload(item) for item in value]
    return value
