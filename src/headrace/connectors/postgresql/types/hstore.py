"""hstore, the extension's map of texts."""

from __future__ import annotations

import re

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema, Type
from headrace.connectors.postgresql.types import values
from headrace.connectors.postgresql.types.options import PostgresTypeOptions
from headrace.debezium.java_collections import java_hash, java_order, json_text
from headrace.relational.types.declaration import TypeDeclaration, text_of
from headrace.relational.types.texts import refuse

_JSON = Schema(Type.STRING, name="io.debezium.data.Json", version=1)
_MAP = Schema(Type.MAP, keys=Schema(Type.STRING), values=Schema(Type.STRING, optional=True))


def hstore(_typmod: int, options: PostgresTypeOptions) -> TypeDeclaration:
    """Return the declaration of hstore, as JSON text or as a map (hstore.handling.mode)."""
    if options.hstore_handling_mode == "map":
        return TypeDeclaration(_MAP, Encoding.PYTHON, hstore_map, {}, unavailable=_placeholder_map)
    return TypeDeclaration(_JSON, Encoding.PYTHON, hstore_json, "{}", unavailable=_placeholder_json)


def _placeholder_map(placeholder: bytes) -> dict[str, str | None]:
    return {text_of(placeholder): text_of(placeholder)}


def _placeholder_json(placeholder: bytes) -> str:
    return json_text(_placeholder_map(placeholder))


# "key"=>"value" or "key"=>NULL; quotes and backslashes are escaped by a backslash.
_PAIR = re.compile(
    r'"([^"\\]*(?:\\.[^"\\]*)*)"=>(?:"([^"\\]*(?:\\.[^"\\]*)*)"|NULL)(?:, (?=")|$)', re.DOTALL
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def hstore_map(raw: bytes) -> dict[str, str | None]:
    """The pairs, in the order of the Java map in which Debezium has them."""
    text = values.string(raw)
    pairs: dict[str, str | None] = {}
    place = 0
    while place < len(text):
        pair = _PAIR.match(text, place)
        if pair is None:
            refuse("hstore")
        value = pair[2]
        pairs[_ESCAPE.sub(r"\1", pair[1])] = None if value is None else _ESCAPE.sub(r"\1", value)
        place = pair.end()
    return {key: pairs[key] for key in java_order(pairs, java_hash, 16)}


def hstore_json(raw: bytes) -> str:
    """The pairs as compact JSON text."""
    return json_text(hstore_map(raw))
