"""Schemas in Spark's formats: DDL texts, and the JSON of a StructType."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from headrace.connect.schema import DECIMAL, Field, Schema, Type
from headrace.errors import HeadraceError

TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"
LOCAL_TIMESTAMP = "io.debezium.time.Timestamp"
"""Milliseconds since 1970-01-01, as TIMESTAMP, but without a time zone in Spark."""
TIMESTAMPS = (TIMESTAMP, LOCAL_TIMESTAMP)
DATE = "org.apache.kafka.connect.data.Date"
JSON = "io.debezium.data.Json"
PRECISION, SCALE = "connect.decimal.precision", "scale"
MAX_DIGITS = 38
"""The most digits of Spark's decimals."""

_SCALARS = {
    "BOOLEAN": Schema(Type.BOOLEAN, optional=True),
    "TINYINT": Schema(Type.INT8, optional=True),
    "SMALLINT": Schema(Type.INT16, optional=True),
    "INT": Schema(Type.INT32, optional=True),
    "BIGINT": Schema(Type.INT64, optional=True),
    "FLOAT": Schema(Type.FLOAT32, optional=True),
    "DOUBLE": Schema(Type.FLOAT64, optional=True),
    "STRING": Schema(Type.STRING, optional=True),
    "VARIANT": Schema(Type.STRING, optional=True, name=JSON, version=1),
    "BINARY": Schema(Type.BYTES, optional=True),
    "TIMESTAMP": Schema(Type.INT64, optional=True, name=TIMESTAMP, version=1),
    "TIMESTAMP_NTZ": Schema(Type.INT64, optional=True, name=LOCAL_TIMESTAMP, version=1),
    "DATE": Schema(Type.INT32, optional=True, name=DATE, version=1),
}
_WORDS = {schema: word for word, schema in _SCALARS.items()}
_OTHER_WORDS = {
    "BYTE": "TINYINT", "SHORT": "SMALLINT", "INTEGER": "INT", "LONG": "BIGINT", "REAL": "FLOAT",
    "TIMESTAMP_LTZ": "TIMESTAMP",
}  # fmt: skip
_TOKEN = re.compile(r"\s*(`(?:[^`]|``)+`|'(?:[^'\\]|\\.)*'|[^\W]+|[<>(),:])")
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")


def decimal(precision: int, scale: int) -> Schema:
    """Connect's Decimal with this number of digits, `scale` of them after the point."""
    if not 0 <= scale <= precision <= MAX_DIGITS:
        raise ValueError(f"DECIMAL({precision},{scale}) is not a type of Spark")
    parameters = ((SCALE, str(scale)), (PRECISION, str(precision)))
    return Schema(Type.BYTES, optional=True, name=DECIMAL, version=1, parameters=parameters)


def declared(text: str) -> Schema:
    """Return the struct that a DDL text (`_id STRING, lines ARRAY<STRUCT<sku: STRING>>`) or the
    JSON of a StructType declares; all its fields are optional.

    VARIANT is a text of Extended JSON. Raises HeadraceError `documents.schema_not_understood`.
    """
    try:
        if text.lstrip().startswith("{"):
            return _of_json(json.loads(text))
        tokens = _Tokens(text)
        schema = _struct(_fields(tokens, end=""))
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise HeadraceError(
            "documents.schema_not_understood",
            f"the schema {text[:200]!r} is not understood: {error}",
            "Declare columns as Spark's DDL does, such as `_id STRING, total DECIMAL(10,2)`, or "
            "as the JSON of a StructType. Types are BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, "
            "FLOAT, DOUBLE, DECIMAL, STRING, VARIANT, BINARY, TIMESTAMP, TIMESTAMP_NTZ, DATE, "
            "ARRAY, MAP and STRUCT.",
        ) from None
    return schema


def ddl(schema: Schema) -> str:
    """Return the DDL text of a struct's fields, in the form that `declared` reads."""
    return ", ".join(f"{_quoted(f.name)} {_type_text(f.schema)}" for f in schema.fields)


def scalar(word: str) -> Schema:
    """The optional schema of a scalar type of Spark, such as BIGINT."""
    return _SCALARS[word]


def word_of(schema: Schema) -> str:
    """The name of a scalar type, such as BIGINT; see `scalar`."""
    return _WORDS[schema]


def precision_and_scale(schema: Schema) -> tuple[int, int]:
    """The number of digits of a Decimal, and of those after its point."""
    parameters = dict(schema.parameters)
    return int(parameters[PRECISION]), int(parameters[SCALE])


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def _type_text(schema: Schema) -> str:
    if schema.type is Type.STRUCT:
        inner = ", ".join(f"{_quoted(f.name)}: {_type_text(f.schema)}" for f in schema.fields)
        return f"STRUCT<{inner}>"
    if schema.type is Type.ARRAY and schema.values is not None:
        return f"ARRAY<{_type_text(schema.values)}>"
    if schema.type is Type.MAP and schema.values is not None:
        return f"MAP<STRING, {_type_text(schema.values)}>"
    if schema.name == DECIMAL:
        return "DECIMAL({},{})".format(*precision_and_scale(schema))
    return _WORDS[schema]


class _Tokens:
    """The tokens of a DDL text."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    @property
    def next(self) -> str:
        """The next token; empty at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def take(self, *expected: str) -> str:
        """Return and skip the next token. Raises ValueError if it is not one of `expected`, if
        these are given."""
        token = self.next
        if not token or (expected and token.upper() not in expected):
            raise ValueError(f"{' or '.join(expected) or 'more'} is missing at {token!r}")
        self._at += 1
        return token

    def passed(self, *words: str) -> bool:
        """Whether these are the next tokens; if so, they are skipped."""
        here = [token.upper() for token in self._tokens[self._at : self._at + len(words)]]
        if here != list(words):
            return False
        self._at += len(words)
        return True


def _tokens(text: str) -> Iterator[str]:
    place = 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(f"{text[place : place + 10]!r} is not a part of a schema")
        place = match.end()
        yield match[1]


def _fields(tokens: _Tokens, end: str) -> list[Field]:
    fields = []
    while tokens.next != end:
        name = tokens.take()
        if name.startswith("`"):
            name = name[1:-1].replace("``", "`")
        elif not re.fullmatch(r"\w+", name):
            raise ValueError(f"{name!r} is not a name")
        tokens.passed(":")
        fields.append(Field(name, _type(tokens)))
        if tokens.passed("NOT", "NULL"):
            raise ValueError(f"{name} is NOT NULL, and documents may lack any field")
        if tokens.passed("COMMENT"):
            tokens.take()
        if tokens.next != end:
            tokens.take(",")
            if tokens.next == end:
                raise ValueError("a column is missing after the last comma")
    return fields


def _struct(fields: list[Field]) -> Schema:
    names = [field.name for field in fields]
    if not names or len(set(names)) < len(names):
        raise ValueError("a struct has no fields, or two of one name")
    return Schema(Type.STRUCT, optional=True, fields=tuple(fields))


def _map(values: Schema) -> Schema:
    return Schema(Type.MAP, optional=True, keys=Schema(Type.STRING), values=values)


def _type(tokens: _Tokens) -> Schema:
    word = tokens.take().upper()
    if word == "ARRAY":
        tokens.take("<")
        schema = Schema(Type.ARRAY, optional=True, values=_type(tokens))
        tokens.take(">")
        return schema
    if word == "MAP":
        tokens.take("<")
        tokens.take("STRING")
        tokens.take(",")
        schema = _map(_type(tokens))
        tokens.take(">")
        return schema
    if word == "STRUCT":
        tokens.take("<")
        schema = _struct(_fields(tokens, end=">"))
        tokens.take(">")
        return schema
    if word in ("DECIMAL", "NUMERIC", "DEC"):
        precision, scale = 10, 0
        if tokens.passed("("):
            precision = int(tokens.take())
            scale = int(tokens.take()) if tokens.passed(",") else 0
            tokens.take(")")
        return decimal(precision, scale)
    return _scalar(word)


def _scalar(word: str) -> Schema:
    word = _OTHER_WORDS.get(word, word)
    if word not in _SCALARS:
        raise ValueError(f"the type {word} is not supported for documents")
    return _SCALARS[word]


def _of_json(kind: object) -> Schema:
    """A type in the JSON of Spark's schemas."""
    if isinstance(kind, str):
        match = re.fullmatch(r"decimal\((\d+),\s*(-?\d+)\)", kind)
        return decimal(int(match[1]), int(match[2])) if match else _scalar(kind.upper())
    if not isinstance(kind, Mapping):
        raise TypeError(f"{kind!r} is not a type")
    match kind["type"]:
        case "struct":
            return _struct([Field(str(f["name"]), _of_json(f["type"])) for f in kind["fields"]])
        case "array":
            return Schema(Type.ARRAY, optional=True, values=_of_json(kind["elementType"]))
        case "map" if kind["keyType"] == "string":
            return _map(_of_json(kind["valueType"]))
    raise ValueError(f"the type {kind['type']} is not supported for documents")
